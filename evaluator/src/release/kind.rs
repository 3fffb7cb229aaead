//! What sections hold, and their tags.

use std::fmt;

/// The first format version. It stays readable for ever, and nothing is added to it.
pub const FIRST_FORMAT: u32 = 1;
/// Set in a tag when a reader that does not know the section must refuse the file.
pub(crate) const CRITICAL: u32 = 1 << 31;

/// What a section holds. Closed, with fixed tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The dimensions, their levels and labels.
    Domain,
    /// Who is protected, what is measured, at which scale.
    Plan,
    /// The spec file, byte for byte.
    Spec,
    /// A file the spec refers to, byte for byte.
    Attachment,
    /// Noisy integers.
    Measurements,
    /// A table published without noise.
    Exact,
    /// A condition whose cells are empty whatever the data.
    Zero,
    /// How a projection's integers were made: there instead of tables, at most once.
    Projection,
    /// How many units had more rows than count, with noise: at most once. Critical, as a reader that does not
    /// know it would not say that rows are missing. Since format 2.
    CutUnits,
    /// What is asked of the plan's tables beyond their cells: at most once. Optional, as every answer is the same without it.
    /// Since format 2.
    Workload,
    /// Which copy of a measuring with several recipients it is: at most once. Critical, as a reader that does not know it would
    /// take another law of the noise. Since format 2.
    Copies,
    /// A number that rows have: a channel beside rows, with its plan and its noisy integers. Critical, as a reader that does not know it
    /// would not reckon with what it costs. Since format 2.
    Sums,
}

impl Kind {
    /// Every kind, in the order their sections have in a file.
    pub(crate) const ALL: [Kind; 12] = [
        Kind::Domain,
        Kind::Plan,
        Kind::Spec,
        Kind::Attachment,
        Kind::Measurements,
        Kind::Exact,
        Kind::Zero,
        Kind::Projection,
        Kind::CutUnits,
        Kind::Workload,
        Kind::Copies,
        Kind::Sums,
    ];

    /// The fixed tag, with the critical bit.
    pub const fn tag(self) -> u32 {
        match self {
            Kind::Domain => CRITICAL | 1,
            Kind::Plan => CRITICAL | 2,
            Kind::Spec => 3,
            Kind::Attachment => 4,
            Kind::Measurements => CRITICAL | 5,
            Kind::Exact => CRITICAL | 6,
            Kind::Zero => CRITICAL | 7,
            Kind::Projection => CRITICAL | 8,
            Kind::CutUnits => CRITICAL | 9,
            Kind::Workload => 10,
            Kind::Copies => CRITICAL | 11,
            Kind::Sums => CRITICAL | 12,
        }
    }

    /// The name in the manifest.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Kind::Domain => "domain",
            Kind::Plan => "plan",
            Kind::Spec => "spec",
            Kind::Attachment => "attachment",
            Kind::Measurements => "measurements",
            Kind::Exact => "exact",
            Kind::Zero => "zero",
            Kind::Projection => "projection",
            Kind::CutUnits => "truncation",
            Kind::Workload => "workload",
            Kind::Copies => "copies",
            Kind::Sums => "sums",
        }
    }

    /// Whether a release has exactly one section of this kind.
    pub(crate) const fn single(self) -> bool {
        matches!(self, Kind::Domain | Kind::Plan | Kind::Spec)
    }

    /// Whether a release may have several sections of this kind.
    pub const fn repeats(self) -> bool {
        matches!(self, Kind::Attachment | Kind::Measurements | Kind::Exact | Kind::Zero | Kind::Sums)
    }

    /// The format version that introduced the kind.
    pub(crate) const fn since(self) -> u32 {
        match self {
            Kind::CutUnits | Kind::Workload | Kind::Copies | Kind::Sums => 2,
            _ => FIRST_FORMAT,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
