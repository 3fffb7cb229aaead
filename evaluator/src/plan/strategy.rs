//! The list of strategies: the only place that names them all.
//!
//! From it come the enum [`Measure`] and the names of its variants, the tags in a release (`release::wire`), the words of a spec
//! and their help in its schema (`spec`), and which file of `planner/strategy/` is asked what to measure.
//!
//! To add a strategy: a line here, with a tag that was never used, and its file.

use super::{Asks, Table};
use serde::{Deserialize, Serialize};

/// Hands the list to the macro `$with`. A line is a strategy's help, its name here, its tag in the format of releases, its word in
/// specs, and its file.
#[macro_export]
macro_rules! strategies {
    ($with:ident) => {
        $with! {
            /// The contrasts that each table adds to the coarser ones: optimal under Gaussian noise, where groups have one size.
            Residual = 1 "residual" residual;
            /// The tables asked for, as they are.
            Queries = 2 "queries" queries;
            /// Only the finest table of all dimensions.
            Base = 3 "base" base;
            /// Every table below those asked for, at every level in use.
            Hierarchy = 4 "hierarchy" hierarchy;
            /// The tables asked for, merged in pairs while that lowers the error.
            Cluster = 5 "cluster" cluster;
            /// The best tables and budget shares that a search finds.
            Tables = 6 "tables" tables;
            /// Exactly the tables in `shares`.
            Given = 7 "given" given;
            /// The Haar wavelet over the categories.
            Wavelet = 8 "wavelet" wavelet;
            /// Walsh–Hadamard coefficients of categories coded in bits.
            Fourier = 9 "fourier" fourier;
            /// Your own linear queries, given in `rows`.
            Matrix = 10 "matrix" matrix;
            /// Bases made for the ranges, prefixes or intervals in `ask`.
            Bases = 11 "bases" bases;
            /// Rows over all cells at once, made for all that is asked together: where questions tell few kinds of cells apart.
            Together = 12 "together" together;
        }
    };
}
pub use strategies;

macro_rules! measure {
    ($($(#[$help:meta])* $name:ident = $tag:literal $word:literal $file:ident;)+) => {
        /// How the tables to be measured are chosen.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Measure {
            $($(#[$help])* #[serde(rename = $word)] $name),+
        }

        impl Measure {
            /// Every strategy, in the order of the list.
            pub const ALL: &'static [Measure] = &[$(Measure::$name),+];

            /// The name in specs and tables.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Measure::$name => $word),+
                }
            }
        }
    };
}

strategies!(measure);

impl Measure {
    /// Whether the strategy works on halves of halves of the categories, for such tables: see [`crate::cube::Refined`].
    pub fn refines(self, workload: &[Table]) -> bool {
        match self {
            Measure::Wavelet => true,
            Measure::Hierarchy => asks_sums(workload),
            // Of one dimension all halves of halves are candidates, too.
            Measure::Tables => asks_sums(workload) && is_one_dimension(workload),
            _ => false,
        }
    }
}

/// Whether sums along some dimension are asked for.
pub fn asks_sums(workload: &[Table]) -> bool {
    workload.iter().any(|t| matches!(&t.asks, Asks::Product(of) if !of.is_empty()))
}

/// Whether all that is asked for is about one dimension.
pub fn is_one_dimension(workload: &[Table]) -> bool {
    let mut of = workload.iter().flat_map(|t| t.cuboid.iter()).map(|l| l.dimension);
    let first = of.next();
    first.is_some_and(|first| of.all(|d| d == first))
}
