//! How probabilities are computed, as the lab's verbs let one choose.

use margins::law::Method;

/// How probabilities are computed.
#[derive(clap::Args)]
pub(crate) struct How {
    /// How probabilities are computed [default: exactly where that is cheap]
    #[arg(long, value_enum)]
    method: Option<Way>,
    /// Of the probability calculation: the mass that its convolutions may lose, which is added to the tails
    #[arg(long, value_name = "G", default_value_t = 1e-9)]
    gamma: f64,
    /// Of the simulation: how many errors are drawn
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(100..=100_000_000))]
    sample: u32,
    /// Of the simulation: the same seed gives the same figures
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Way {
    /// By inversion of the characteristic function, however long it takes
    Exact,
    /// Discrete probability calculation: convolution
    Pc,
    /// Monte Carlo: simulated errors, upper confidence limits
    Mc,
}

impl How {
    pub(crate) fn method(&self) -> Method {
        match self.method {
            None => Method::Auto,
            Some(Way::Exact) => Method::Exact,
            Some(Way::Pc) => Method::Pc { gamma: self.gamma },
            Some(Way::Mc) => Method::Mc { draws: self.sample, seed: self.seed },
        }
    }
}
