//! What a release costs where every integer has a noise of its own whose tails fall by one ratio from each integer to the next: the sum of what the integers
//! cost alone.
//!
//! **Bound.** Of the noises beyond `t` a proportion `p` is beyond `t + h`. A shift of `h` thus changes the probability of being out there by `1/p`, so
//! every whole step costs at least `−ln p̄ / h`, with `p̄` Clopper and Pearson's upper bound. The noises of one measurement have one law; that noises of
//! different integers are independent is tested, and nothing is added up where they are not.

use super::chances::at_most;
use super::samples::{Column, Sample};
use margins::law::normal_upper_quantile as normal;

/// A whole step of one integer of a measurement.
#[derive(Debug, Clone, Copy)]
struct Step {
    estimate: f64,
    least: f64,
    /// The standard error of the estimate, in parts of it.
    error: f64,
}

/// What the integers of a release cost alone, added up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Added {
    pub estimate: f64,
    pub least: f64,
    /// The least cost that would have been found above the claim with the power that was asked for.
    pub detected: f64,
}

/// Two numbers of a release whose noises are not independent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dependence {
    pub columns: (usize, usize),
    /// The correlation, of the noises or of their sizes.
    pub correlation: f64,
}

/// Noises of many releases, around each dataset's own mean; a column for each number.
pub(super) struct Noises {
    pub columns: Vec<Vec<f64>>,
    /// How far from its true place the middle of a column may be.
    unsure: Vec<f64>,
}

impl Noises {
    /// From samples of several datasets.
    pub(super) fn of(samples: &[&Sample]) -> Noises {
        let width = samples.first().map_or(0, |s| s.width);
        let (mut columns, mut unsure) = (vec![Vec::new(); width], vec![0.0f64; width]);
        for sample in samples {
            let (means, n) = (sample.means(), sample.len() as f64);
            for (c, &mean) in means.iter().enumerate() {
                let own = || sample.rows().map(|row| row[c]);
                let variance = own().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
                // Counts are whole, and so are the middles of their noises.
                let error = 5.0 * (variance / n).sqrt();
                let (middle, error) = if error < 0.5 { (mean.round(), 0.0) } else { (mean, error) };
                unsure[c] = unsure[c].max(error);
                columns[c].extend(own().map(|x| x - middle));
            }
        }
        Noises { columns, unsure }
    }

    /// The same, with each number of a copy replaced by its step from the copy before.
    pub(super) fn steps(&self, before: &[Option<usize>]) -> Noises {
        let step = |(own, before): (&Vec<f64>, &Option<usize>)| match before {
            None => own.clone(),
            Some(b) => own.iter().zip(&self.columns[*b]).map(|(x, y)| x - y).collect(),
        };
        Noises { columns: self.columns.iter().zip(before).map(step).collect(), unsure: self.unsure.clone() }
    }

    /// The two columns that depend on each other most, if any do: beyond what independent ones reach with probability `alpha`.
    pub(super) fn dependence(&self, alpha: f64) -> Option<Dependence> {
        let count = self.columns.first().map_or(0, Vec::len) as f64;
        let standard = |column: Vec<f64>| -> Option<Vec<f64>> {
            let mean = column.iter().sum::<f64>() / count;
            let variance = column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
            let scale = variance.sqrt();
            (scale > 0.0).then(|| column.iter().map(|x| (x - mean) / scale).collect())
        };
        let spread = |column: &Vec<f64>| {
            let mean = column.iter().map(|x| x.abs()).sum::<f64>() / count;
            // Far ones count as three times as far as the mean, so that few releases decide nothing.
            let cut = move |x: f64| x.clamp(-3.0 * mean, 3.0 * mean);
            let plain: Vec<f64> = column.iter().map(|&x| cut(x)).collect();
            let sizes: Vec<f64> = plain.iter().map(|x| x.abs()).collect();
            [standard(plain), standard(sizes)]
        };
        let all: Vec<[Option<Vec<f64>>; 2]> = self.columns.iter().map(spread).collect();
        let pairs = (all.len() * all.len().saturating_sub(1)) as f64;
        let limit = normal(0.5 * alpha / pairs.max(1.0)) / count.sqrt();
        let mut worst: Option<Dependence> = None;
        for (i, own) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate().take(i) {
                for (a, b) in own.iter().zip(other) {
                    let (Some(a), Some(b)) = (a, b) else { continue };
                    let correlation = a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>() / count;
                    if correlation.abs() > worst.map_or(limit, |w| w.correlation.abs()) {
                        worst = Some(Dependence { columns: (j, i), correlation });
                    }
                }
            }
        }
        worst
    }

    /// What a whole step of the integers of one part costs.
    fn step(&self, of: &[usize], alpha: f64) -> Step {
        let own = || of.iter().flat_map(|&c| self.columns[c].iter().copied());
        let count = own().count().max(1) as f64;
        let scale = (own().map(f64::abs).sum::<f64>() / count).max(0.5);
        let wide = (1.6 * scale).round().max(1.0);
        let unsure = of.iter().map(|&c| self.unsure[c]).fold(0.0, f64::max).ceil();
        // Nothing is on both sides.
        let first = |from: f64, side: f64| if side > 0.0 { from } else { from.max(1.0) };
        let beyond = |from: f64, side: f64| own().filter(|x| x * side >= from).count();
        let ends = |from: f64, side: f64| {
            let from = first(from, side);
            (beyond(from, side), beyond(from + wide, side))
        };
        let (up, down) = (ends(unsure, 1.0), ends(unsure, -1.0));
        let (n, k) = (up.0 + down.0, up.1 + down.1);
        let least = |n: usize, k: usize, alpha: f64| match n {
            0 => 0.0,
            _ => -libm::log(at_most(k, n, alpha)) / wide,
        };
        // Both tails together tell most; each by itself, from further and further out, tells a tail that falls sooner.
        let single = [0.0, 1.0, 2.5].map(|out: f64| unsure + (out * scale).round());
        let each = single.iter().flat_map(|&from| [ends(from, 1.0), ends(from, -1.0)]);
        let least = each.map(|(n, k)| least(n, k, alpha / 12.0)).fold(least(n, k, 0.5 * alpha), f64::max);
        let p = (k as f64).max(0.5) / n.max(1) as f64;
        let error = ((1.0 - p) / (p * n.max(1) as f64)).sqrt() / -libm::log(p).min(-1e-9);
        Step { estimate: -libm::log(p) / wide, least: least.max(0.0), error }
    }

    /// What integers cost that differ so between two datasets, at least by `short`, between each of which and the other there are `group` units.
    pub(super) fn added(
        &self,
        columns: &[Column],
        shift: (&[f64], &[f64]),
        (claim, alpha, power): (f64, f64, f64),
    ) -> Added {
        let (difference, short) = shift;
        let mut parts: Vec<usize> = columns.iter().map(|c| c.part).collect();
        parts.dedup();
        let moved = |c: &usize| (difference[*c].abs() - short[*c]).max(0.0);
        let of = |part: usize| (0..columns.len()).filter(|&c| columns[c].part == part).collect::<Vec<_>>();
        let parts: Vec<Vec<usize>> =
            parts.into_iter().map(of).filter(|p| p.iter().any(|c| moved(c) > 0.0)).collect();
        let each = alpha / parts.len().max(1) as f64;
        let sigmas = normal(0.5 * each) + normal(1.0 - power);
        let mut added = Added { estimate: 0.0, least: 0.0, detected: 0.0 };
        for part in &parts {
            let step = self.step(part, each);
            let way: f64 = part.iter().map(|&c| difference[c].abs()).filter(|d| *d > 0.0).sum();
            let sure: f64 = part.iter().map(moved).sum();
            added.estimate += step.estimate * way;
            added.least += step.least * sure;
            // As if each part had its share of a cost that is just found.
            added.detected += step.estimate * sure * (1.0 - sigmas * step.error).max(0.0);
        }
        added.detected =
            if added.detected > 0.0 { claim * added.estimate / added.detected } else { f64::INFINITY };
        added
    }
}
