//! How far families of tables are from each other.

/// How far apart two families of tables are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Norm {
    /// The sum of the absolute differences of all that was measured
    L1,
    /// The largest absolute difference of anything that was measured
    Linf,
}

impl Norm {
    /// The name on the command line and in JSON.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Norm::L1 => "l1",
            Norm::Linf => "linf",
        }
    }

    /// What people call it.
    pub(super) const fn symbol(self) -> &'static str {
        match self {
            Norm::L1 => "L1",
            Norm::Linf => "L∞",
        }
    }

    /// The distance of two families of tables of the same shapes.
    pub(super) fn distance(self, a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
        let differences = a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs());
        match self {
            Norm::L1 => differences.sum(),
            Norm::Linf => differences.fold(0.0, f64::max),
        }
    }
}
