//! What a release costs where every integer has a noise of its own whose tails fall by one ratio from each integer to the next: the sum of what the integers
//! cost alone.
//!
//! **Bound.** Of the noises beyond `t` a proportion `p` is beyond `t + h`. A shift of `h` thus changes the probability of being out there by `1/p`, so
//! every whole step costs at least `−ln p̄ / h`, with `p̄` Clopper and Pearson's upper bound. The noises of one measurement have one law; that noises of
//! different integers are independent is tested, and nothing is added up where they are not.
//!
//! **Where tails begin.** Around a mean of the same noises tails would seem to fall faster, by one part in their number. So they begin at a number of the
//! sample itself, found by its rank: given which noises are nearer to the middle, those beyond it are as independent as ever.
//!
//! The tests of independence and of shifts hold for every law and for few releases: noise that is hardly ever there is far from a normal law, whatever
//! the number of releases.

use super::chances::{at_most, binomial_quantile, hypergeometric_above};
use super::samples::{Column, Part, Sample};
use margins::law::normal_upper_quantile as normal;

/// In what Laplace noise is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paid {
    Epsilon,
    Rho,
}

impl Paid {
    /// What a whole step costs where tails fall by `e^−rate` from each integer to the next. ρ is at least the divergence of order 1, the mean loss.
    fn step(self, rate: f64) -> f64 {
        match self {
            Paid::Epsilon => rate,
            Paid::Rho => rate * libm::tanh(0.5 * rate),
        }
    }

    /// How much faster tails fall where everything costs so many times as much.
    fn faster(self, times: f64) -> f64 {
        match self {
            Paid::Epsilon => times,
            Paid::Rho => times.sqrt(),
        }
    }
}

/// How fast the noises of a measurement fall from each integer to the next.
#[derive(Debug, Clone, Copy)]
struct Rate {
    estimate: f64,
    least: f64,
}

/// What the integers of a release cost alone, added up.
#[derive(Debug, Clone)]
pub(super) struct Added {
    pub estimate: f64,
    pub least: f64,
    moved: Vec<Moved>,
    /// The probability of error of each measurement's rate.
    each: f64,
    paid: Paid,
}

/// The integers of a measurement that a unit moves.
#[derive(Debug, Clone)]
struct Moved {
    columns: Vec<usize>,
    /// How fast their tails fall, by the estimate.
    rate: f64,
    /// How far they surely move together.
    sure: f64,
}

/// Two numbers of a release whose noises are not independent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dependence {
    pub columns: (usize, usize),
    /// The correlation, of the noises or of their sizes.
    pub correlation: f64,
}

/// For each column of a copy the one that has its integer in the nearest copy before it of which that is looked at: it was made of that one by further
/// noise, in one step or in several.
pub(super) fn before(columns: &[Column], parts: &[Part]) -> Vec<Option<usize>> {
    // Where each part's integers begin.
    let starts: Vec<usize> =
        parts.iter().scan(0, |at, p| Some(std::mem::replace(at, *at + p.integers))).collect();
    let place = |column: &Column| {
        let part = &parts[column.part];
        (part.copy, (part.measurement, column.terms[0].0 - starts[column.part]))
    };
    let places: Vec<_> = columns.iter().map(place).collect();
    let one = |&(copy, which): &(usize, (usize, usize))| {
        let earlier = (0..places.len()).filter(|&c| places[c].1 == which && places[c].0 < copy);
        earlier.max_by_key(|&c| places[c].0)
    };
    places.iter().map(one).collect()
}

/// Noises of many releases, around each dataset's own mean; a column for each number.
pub(super) struct Noises {
    pub columns: Vec<Vec<f64>>,
    /// Whether a column's middles are sure, and its noises whole.
    whole: Vec<bool>,
    /// How many releases each sample has.
    sizes: Vec<usize>,
    /// Where two releases of one dataset stand one after the other; no release stands in two of these.
    pairs: Vec<usize>,
}

impl Noises {
    /// From samples of several datasets.
    pub(super) fn of(samples: &[&Sample]) -> Noises {
        let width = samples.first().map_or(0, |s| s.width);
        let (mut columns, mut whole) = (vec![Vec::new(); width], vec![true; width]);
        let (mut pairs, mut begin) = (Vec::new(), 0);
        for sample in samples {
            pairs.extend((begin + 1..begin + sample.len()).step_by(2).map(|second| second - 1));
            begin += sample.len();
            let (means, n) = (sample.means(), sample.len() as f64);
            for (c, &mean) in means.iter().enumerate() {
                let own = || sample.rows().map(|row| row[c]);
                let variance = own().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
                let sure = sure(variance, n);
                whole[c] &= sure;
                let middle = if sure { mean.round() } else { mean };
                columns[c].extend(own().map(|x| x - middle));
            }
        }
        Noises { columns, whole, sizes: samples.iter().map(|s| s.len()).collect(), pairs }
    }

    /// The same, with each number of a copy replaced by its step from a copy before.
    pub(super) fn steps(&self, before: &[Option<usize>]) -> Noises {
        let step = |(own, before): (&Vec<f64>, &Option<usize>)| match before {
            None => own.clone(),
            Some(b) => own.iter().zip(&self.columns[*b]).map(|(x, y)| x - y).collect(),
        };
        let columns = self.columns.iter().zip(before).map(step).collect();
        let whole = |(own, before): (&bool, &Option<usize>)| *own && before.is_none_or(|b| self.whole[b]);
        let whole = self.whole.iter().zip(before).map(whole).collect();
        Noises { columns, whole, sizes: self.sizes.clone(), pairs: self.pairs.clone() }
    }

    /// The two columns that depend on each other most, if any do: beyond what independent ones reach with probability `alpha`, whatever their laws.
    ///
    /// **Proof.** Let `d` be how far two releases of one dataset are apart in one column, and `e` in the other. If the columns are independent, the two
    /// releases may change places in one column alone: that is as likely, and turns the sign of `d·e`. So, given all sizes, the signs of the
    /// products are independent and fair, and `Σde` is beyond `t·√Σd²e²` with probability `2·exp(−t²/2)` at most (Hoeffding 1963). What is made of a
    /// number first (its size; a cut) depends on its column's numbers, but not on their order.
    pub(super) fn dependence(&self, alpha: f64) -> Option<Dependence> {
        let spread = |column: &Vec<f64>| {
            let mean = column.iter().map(|x| x.abs()).sum::<f64>() / column.len() as f64;
            // Far ones count as three times as far as the mean, so that few releases decide nothing.
            let cut = |at: usize| column[at].clamp(-3.0 * mean, 3.0 * mean);
            let apart = |of: &dyn Fn(f64) -> f64| -> Vec<f64> {
                self.pairs.iter().map(|&at| of(cut(at)) - of(cut(at + 1))).collect()
            };
            [apart(&|x| x), apart(&f64::abs)]
        };
        let all: Vec<[Vec<f64>; 2]> = self.columns.iter().map(spread).collect();
        // Of every two columns the noises and their sizes.
        let tests = (all.len() * all.len().saturating_sub(1)).max(1) as f64;
        let mut limit = (2.0 * libm::log(2.0 * tests / alpha)).sqrt();
        let mut worst = None;
        for (i, own) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate().take(i) {
                for (a, b) in own.iter().zip(other) {
                    let (mut sum, mut squares) = (0.0, 0.0);
                    for product in a.iter().zip(b).map(|(d, e)| d * e) {
                        sum += product;
                        squares += product * product;
                    }
                    if squares > 0.0 && sum.abs() > limit * squares.sqrt() {
                        limit = sum.abs() / squares.sqrt();
                        let size = |all: &Vec<f64>| all.iter().map(|x| x * x).sum::<f64>().sqrt();
                        worst = Some(Dependence { columns: (j, i), correlation: sum / (size(a) * size(b)) });
                    }
                }
            }
        }
        worst
    }

    /// How far noises of these columns are beyond where their tails begin, upwards and downwards: no noise is on both sides.
    fn tails(&self, of: &[usize]) -> [Vec<f64>; 2] {
        let mut out = [Vec::new(), Vec::new()];
        for &c in of {
            let mut rest = &self.columns[c][..];
            for &n in self.sizes.iter().filter(|n| **n > 0) {
                let (own, after) = rest.split_at(n);
                rest = after;
                let begin = if self.whole[c] { [0.0, -1.0] } else { ranked(own) };
                for ((out, begin), side) in out.iter_mut().zip(begin).zip([1.0, -1.0]) {
                    let far = own.iter().map(|x| ((x - begin) * side).round());
                    out.extend(far.filter(|far| *far >= 0.0));
                }
            }
        }
        out
    }

    /// How fast the noises of one part fall.
    fn rate(&self, of: &[usize], alpha: f64) -> Rate {
        let own = || of.iter().flat_map(|&c| self.columns[c].iter().copied());
        let count = own().count().max(1) as f64;
        let scale = (own().map(f64::abs).sum::<f64>() / count).max(0.5);
        let wide = (1.6 * scale).round().max(1.0);
        let tails = self.tails(of);
        let beyond = |side: &[f64], from: f64| side.iter().filter(|x| **x >= from).count();
        let ends = |side: &[f64], from: f64| (beyond(side, from), beyond(side, from + wide));
        let [up, down] = tails.each_ref().map(|side| ends(side, 0.0));
        let (n, k) = (up.0 + down.0, up.1 + down.1);
        let least = |n: usize, k: usize, alpha: f64| match n {
            0 => 0.0,
            _ => -libm::log(at_most(k, n, alpha)) / wide,
        };
        // Both tails together tell most; each by itself, from further and further out, tells a tail that falls sooner.
        let single = [0.0, 1.0, 2.5].map(|out: f64| (out * scale).round());
        let each = single.iter().flat_map(|&from| tails.each_ref().map(|side| ends(side, from)));
        let least = each.map(|(n, k)| least(n, k, alpha / 12.0)).fold(least(n, k, 0.5 * alpha), f64::max);
        let p = (k as f64).max(0.5) / n.max(1) as f64;
        Rate { estimate: -libm::log(p) / wide, least: least.max(0.0) }
    }

    /// What [`Noises::rate`] finds at the least with this power, were the noises of `of` so that they fall by `rate`.
    fn reach(&self, of: &[usize], rate: f64, alpha: f64, power: f64) -> f64 {
        let ratio = libm::exp(-rate);
        let count: f64 = of.iter().map(|&c| self.columns[c].len() as f64).sum();
        let scale = (2.0 * ratio / (1.0 - ratio * ratio)).max(0.5);
        let wide = (1.6 * scale).round().max(1.0);
        let releases = self.sizes.iter().copied().min().unwrap_or(0);
        let beyond = |from: f64| libm::exp(-rate * from) / (1.0 + ratio);
        let there = match sure(2.0 * ratio / ((1.0 - ratio) * (1.0 - ratio)), releases as f64) {
            true => beyond(0.0) + beyond(1.0),
            false => {
                let share = 1.0 - inside(releases) as f64 / releases.max(1) as f64;
                2.0 * beyond((-libm::log(share * (1.0 + ratio)) / rate).ceil().max(0.0))
            }
        };
        let n = count * there - normal(1.0 - power) * (count * there * (1.0 - there).max(0.0)).sqrt();
        if n < 1.0 {
            return 0.0;
        }
        let k = binomial_quantile(power, n as usize, libm::exp(-rate * wide));
        -libm::log(at_most(k, n as usize, 0.5 * alpha)) / wide
    }

    /// What integers cost that differ so between two datasets, at least by the difference without `short`: with an error of probability `alpha` at most.
    pub(super) fn added(
        &self,
        columns: &[Column],
        shift: (&[f64], &[f64]),
        (paid, alpha): (Paid, f64),
    ) -> Added {
        let (difference, short) = shift;
        let mut parts: Vec<usize> = columns.iter().map(|c| c.part).collect();
        parts.dedup();
        let moved = |c: &usize| (difference[*c].abs() - short[*c]).max(0.0);
        let each = alpha / parts.len().max(1) as f64;
        let mut added = Added { estimate: 0.0, least: 0.0, moved: Vec::new(), each, paid };
        for part in parts {
            let own: Vec<usize> = (0..columns.len()).filter(|&c| columns[c].part == part).collect();
            let sure: f64 = own.iter().map(moved).sum();
            if sure > 0.0 {
                let rate = self.rate(&own, each);
                let all: f64 = own.iter().map(|&c| difference[c].abs()).sum();
                added.estimate += paid.step(rate.estimate) * all;
                added.least += paid.step(rate.least) * sure;
                added.moved.push(Moved { columns: own, rate: rate.estimate, sure });
            }
        }
        added
    }

    /// The least cost from which on every one is found above the claim with this power, were all noises smaller alike; infinite where there is none, because
    /// noise that is never seen looks alike however little there is.
    pub(super) fn detected(&self, added: &Added, claim: f64, power: f64) -> f64 {
        // By chance an estimate may be above the claim: then the claim is what there is.
        let own = (claim / added.estimate.max(1e-300)).min(1.0);
        let found = |times: f64| {
            let faster = added.paid.faster(own * times);
            let one = |m: &Moved| {
                m.sure * added.paid.step(self.reach(&m.columns, faster * m.rate, added.each, power))
            };
            added.moved.iter().map(one).sum::<f64>() > claim
        };
        let at = |i: i32| libm::pow(1.1, f64::from(i));
        let Some(last) = (0..=TIMES).rev().find(|&i| !found(at(i))).filter(|&i| i < TIMES) else {
            return if found(1.0) { claim } else { f64::INFINITY };
        };
        let (mut low, mut high) = (at(last), at(last + 1));
        for _ in 0..10 {
            let middle = 0.5 * (low + high);
            if found(middle) { high = middle } else { low = middle }
        }
        claim * high
    }
}

/// Costs up to `1.1^TIMES` times the claim are tried: some thousand times.
const TIMES: i32 = 73;

/// Whether the middle of a law is surely the whole number that is nearest to a mean: counts are whole, and so are the middles of their noises.
fn sure(variance: f64, releases: f64) -> bool {
    5.0 * (variance / releases).sqrt() < 0.5
}

/// So many of a sample's noises: more than there are, surely (by five standard errors), on one side of their law's middle.
fn inside(releases: usize) -> usize {
    let n = releases as f64;
    ((0.5 * n + 2.5 * n.sqrt()).ceil() as usize).min(releases)
}

/// The places beyond those noises of a sample that are nearer to its middle, by their ranks; upwards and downwards.
fn ranked(sample: &[f64]) -> [f64; 2] {
    let (n, rank) = (sample.len(), inside(sample.len()));
    let mut own = sample.to_vec();
    let up = *own.select_nth_unstable_by(rank - 1, f64::total_cmp).1;
    let down = *own.select_nth_unstable_by(n - rank, f64::total_cmp).1;
    [up + 1.0, down - 1.0]
}

/// How far the second of two samples, sorted, is surely beyond the first: a whole number that is too large with probability `alpha` at most, whatever the
/// law of the noise, where both have one law and whole middles.
///
/// **Proof.** Were it `d`, then with `d` taken off the second sample all orders of both together would be as likely: of the greatest numbers, as many as
/// the second sample has, a hypergeometric number is the second's. Of equal numbers the first's are taken first, which only lowers it. So
/// `d` is refused with probability `alpha` at most. Who refuses a distance refuses all that are less: the fewer are taken off, the
/// higher the second sample ranks.
fn beyond(first: &[f64], second: &[f64], alpha: f64) -> f64 {
    let (all, top) = (first.len() + second.len(), second.len());
    let refused = |d: f64| {
        // The j-th greatest of the second is among the top if not too many stand before it.
        let among = |j: usize| {
            let own = second[second.len() - 1 - j] - d;
            first.len() - first.partition_point(|x| *x < own) + j < top
        };
        let (mut low, mut high) = (0, second.len());
        while low < high {
            let middle = (low + high) / 2;
            if among(middle) { low = middle + 1 } else { high = middle }
        }
        hypergeometric_above(low, (all, second.len(), top)) <= alpha
    };
    if !refused(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while refused(high) {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 1.0 {
        let middle = (0.5 * (low + high)).floor();
        if refused(middle) { low = middle } else { high = middle }
    }
    high
}

/// How far two samples are surely apart, in either direction.
pub(super) fn apart(mut first: Vec<f64>, mut second: Vec<f64>, alpha: f64) -> f64 {
    first.sort_by(f64::total_cmp);
    second.sort_by(f64::total_cmp);
    let turned = |all: &[f64]| -> Vec<f64> { all.iter().rev().map(|x| -x).collect() };
    let up = beyond(&first, &second, 0.5 * alpha);
    if up > 0.0 { up } else { beyond(&turned(&first), &turned(&second), 0.5 * alpha) }
}
