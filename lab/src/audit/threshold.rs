//! What two datasets' releases show on either side of a threshold: bounds that hold whatever the law of the noise.
//!
//! A statistic, a threshold and a side are chosen on one half of the releases; the other half is counted.

use super::chances::{at_least, at_most};
use margins::law::normal_upper_quantile as normal;

/// What is claimed of the two datasets.
#[derive(Debug, Clone, Copy)]
pub(super) enum Claimed {
    /// ε, of so many units.
    Epsilon(f64),
    /// ρ, of so many units.
    Rho(f64),
    /// δ at this ε.
    Delta(f64),
}

impl Claimed {
    /// The least that is compatible with an event of probability `p` at least under one dataset and `q` at most under the other.
    fn least(self, p: f64, q: f64) -> f64 {
        match self {
            Claimed::Delta(epsilon) => (p - libm::exp(epsilon) * q).max(0.0),
            _ if p <= q => 0.0,
            Claimed::Epsilon(units) => libm::log(p / q) / units,
            // Divergences of order α of ρ-zCDP are at most αρ, also of what is told of a release.
            Claimed::Rho(units) => {
                let order = |i: i32| 1.0 + libm::exp2(0.5 * f64::from(i) - 6.0);
                let bound = |alpha: f64| {
                    let term = |p: f64, q: f64| alpha * libm::log(p) + (1.0 - alpha) * libm::log(q);
                    let (a, b) = (term(p, q), term(1.0 - p, 1.0 - q));
                    let top = a.max(b);
                    (top + libm::log(libm::exp(a - top) + libm::exp(b - top))) / (alpha * (alpha - 1.0))
                };
                (0..=24).map(|i| bound(order(i))).filter(|x| x.is_finite()).fold(0.0, f64::max)
                    / (units * units)
            }
        }
    }
}

/// No bound is above this, were two datasets told apart by every one of so many releases, half of which are counted.
pub(super) fn most(claimed: Claimed, releases: usize, alpha: f64) -> f64 {
    let n = releases - releases / 2;
    claimed.least(at_least(n, n, 0.5 * alpha), at_most(0, n, 0.5 * alpha))
}

/// What a statistic says of the releases of two datasets.
pub(super) type Told = [Vec<f64>; 2];

/// A threshold, whether what is above it counts, and whether the second dataset is the one that is there more often.
#[derive(Debug, Clone, Copy)]
struct Event {
    from: f64,
    above: bool,
    swapped: bool,
}

impl Event {
    /// How often releases are there of the dataset that is there more often, and of the other; with how many there are.
    fn counted(self, told: &Told) -> [(usize, usize); 2] {
        let inside = |x: &&f64| if self.above { **x >= self.from } else { **x < self.from };
        let [first, second] = [&told[0], &told[1]].map(|of| (of.iter().filter(inside).count(), of.len()));
        if self.swapped { [second, first] } else { [first, second] }
    }

    fn least(self, told: &Told, claimed: Claimed, alpha: f64) -> f64 {
        let [often, seldom] = self.counted(told);
        claimed.least(at_least(often.0, often.1, 0.5 * alpha), at_most(seldom.0, seldom.1, 0.5 * alpha))
    }

    /// About the same, for the choice among many.
    fn guess(self, told: &Told, claimed: Claimed, sigmas: f64) -> f64 {
        let near = |(k, n): (usize, usize), sigmas: f64| {
            let (p, n) = (k as f64 / n as f64, n as f64);
            (p + sigmas * (sigmas / (2.0 * n) + ((p * (1.0 - p) + sigmas * sigmas / (4.0 * n)) / n).sqrt()))
                / (1.0 + sigmas * sigmas / n)
        };
        let [often, (k, n)] = self.counted(told);
        claimed.least(1.0 - near((often.1 - often.0, often.1), sigmas), near((k, n), sigmas))
    }
}

/// So many thresholds are tried.
const TRIED: usize = 48;

/// A lower bound of what is claimed, too large with probability `alpha` at most: of the statistics that are given on a first half of the releases and
/// on the second.
pub(super) fn least(statistics: &[(Told, Told)], claimed: Claimed, alpha: f64) -> f64 {
    let (mut best, sigmas): (Option<(f64, usize, Event)>, f64) = (None, normal(0.5 * alpha));
    for (which, (first, _)) in statistics.iter().enumerate() {
        let mut all: Vec<f64> = first.iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        let step = all.len().div_ceil(TRIED).max(1);
        for &from in all.iter().step_by(step).chain(all.last()) {
            for (above, swapped) in [(true, false), (true, true), (false, false), (false, true)] {
                let event = Event { from, above, swapped };
                let found = event.guess(first, claimed, sigmas);
                if best.is_none_or(|b| found > b.0) {
                    best = Some((found, which, event));
                }
            }
        }
    }
    best.map_or(0.0, |(_, which, event)| event.least(&statistics[which].1, claimed, alpha))
}
