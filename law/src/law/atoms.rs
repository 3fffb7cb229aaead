//! Few atoms: noises that are mostly 0, or only a few of them, by listing what their sum can be.
//!
//! The noises are dealt into two halves; each half's values are listed with their probabilities, and
//! `P(X + Y > x) = Σ_i P(X = x_i) P(Y > x − x_i)` is one walk along both lists. So a quarter of a million values stand for sixty
//! thousand millions, and no characteristic function is needed: dense atoms are where it never decays.
//!
//! Values too improbable to matter are left out. Their probability in all, [`Atoms::lost`], is counted as lying beyond every interval.

use super::{Group, NoiseLaw};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

/// The sum's values in two halves.
#[derive(Debug, Clone)]
pub(super) struct Atoms {
    /// Ascending, with their probabilities.
    first: Vec<(f64, f64)>,
    /// Ascending, with the probability of more.
    second: Vec<(f64, f64)>,
    second_total: f64,
    /// The probability of all that was left out.
    pub lost: f64,
}

/// The most values of a half, and of a single noise.
const MOST: usize = 1 << 17;
const MOST_OF_ONE: usize = 1 << 12;
/// The most products of probabilities.
const MOST_PAIRS: usize = 1 << 21;
/// The most noises to deal out.
const MOST_NOISES: u64 = 1 << 12;

impl Atoms {
    /// `None` when there are too many values, more than so many products, or when more than `lost` would be left out.
    pub(super) fn new(groups: &[Group], lost: f64, pairs: usize) -> Option<Atoms> {
        let noises: u64 = groups.iter().try_fold(0u64, |n, g| n.checked_add(g.copies))?;
        if noises > MOST_NOISES || groups.iter().any(|g| !g.noise.is_discrete()) {
            return None;
        }
        let each = 0.1 * lost / noises as f64;
        let mut left_out = 0.0;
        let mut lists: Vec<Vec<(f64, f64)>> = Vec::new();
        for g in groups {
            let many = Many::of(&g.noise, g.copies, each)?;
            left_out += many.left_out;
            let many = &many.masses;
            let middle = (many.len() / 2) as f64;
            lists.push(
                many.iter().enumerate().map(|(i, m)| ((i as f64 - middle) * g.coefficient, *m)).collect(),
            );
        }
        // The longest first, always to the half that is shorter.
        lists.sort_by_key(|l| std::cmp::Reverse(l.len()));
        let mut halves = [vec![(0.0, 1.0)], vec![(0.0, 1.0)]];
        let threshold = lost / (4 * MOST) as f64;
        let mut pairs = pairs.min(MOST_PAIRS);
        for list in lists {
            let to = usize::from(halves[1].len() < halves[0].len());
            left_out += multiply(&mut halves[to], &list, threshold, &mut pairs)?;
        }
        if left_out > lost {
            return None;
        }
        let [mut first, mut second] = halves;
        sort(&mut first);
        sort(&mut second);
        let mut above = 0.0;
        for value in second.iter_mut().rev() {
            let mass = value.1;
            value.1 = above;
            above += mass;
        }
        Some(Atoms { first, second, second_total: above, lost: left_out })
    }

    /// `P(E > x)` of what is listed.
    pub(crate) fn above(&self, x: f64) -> f64 {
        // As the first value grows, what the second must exceed falls.
        let mut at = self.second.len();
        let mut sum = 0.0;
        for (value, mass) in &self.first {
            let rest = x - value;
            while at > 0 && self.second.get(at - 1).is_some_and(|s| s.0 > rest) {
                at -= 1;
            }
            // `at` values of the second half are at most `rest`; those from `at` on are more.
            sum +=
                mass * if at == 0 { self.second_total } else { self.second.get(at - 1).map_or(0.0, |s| s.1) };
        }
        sum
    }
}

/// The masses of a sum of equal noises at −r … r.
#[derive(Debug, Clone)]
struct Many {
    masses: Arc<[f64]>,
    /// What they fall short of one by.
    left_out: f64,
}

/// A noise by its name and parameter, how many there are, what each may lose.
type Key = (u8, u64, u64, u64);

/// The sums that were listed last, or could not be: the laws of one ratio, and of its neighbours, differ in nothing but coefficients.
const KEPT: usize = 24;
thread_local! {
    static LISTED: RefCell<VecDeque<(Key, Option<Many>)>> = const { RefCell::new(VecDeque::new()) };
}

impl Many {
    /// Of so many copies, losing at most `2 · each` of every one. `None` when there are too many values.
    fn of(noise: &NoiseLaw, copies: u64, each: f64) -> Option<Many> {
        let (name, parameter) = match *noise {
            NoiseLaw::Uniform { reach } => (0, reach),
            NoiseLaw::DiscreteGaussian { variance } => (1, variance),
            NoiseLaw::DiscreteLaplace { scale } => (2, scale),
            NoiseLaw::Gaussian { .. } | NoiseLaw::Laplace { .. } => return None,
        };
        let key = (name, parameter.to_bits(), copies, each.to_bits());
        let known = LISTED.with_borrow(|l| l.iter().find(|k| k.0 == key).map(|k| k.1.clone()));
        known.unwrap_or_else(|| {
            let new = Many::listed(noise, copies, each);
            LISTED.with_borrow_mut(|listed| {
                listed.truncate(KEPT - 1);
                listed.push_front((key, new.clone()));
            });
            new
        })
    }

    /// By doubling, from the highest binary digit of `copies` down: a sum of 2n noises is one of n and another of n.
    fn listed(noise: &NoiseLaw, copies: u64, each: f64) -> Option<Many> {
        let one = masses(noise, each)?;
        let digits = u64::BITS - copies.leading_zeros();
        // Twice as many noises lose twice as much, and what is cut off anew at each of the doublings: in all not `each` a noise.
        let share = each / f64::from(2 * digits);
        let (mut many, mut left_out, mut n) = (vec![1.0], 0.0, 0u64);
        for digit in (0..digits).rev() {
            if n > 0 {
                many = convolve(&many, &many)?;
                n *= 2;
                left_out = 2.0 * left_out + trim(&mut many, share * n as f64);
            }
            if copies >> digit & 1 == 1 {
                many = convolve(&many, &one)?;
                n += 1;
                left_out += each + trim(&mut many, share * n as f64);
            }
        }
        Some(Many { masses: many.into(), left_out })
    }
}

/// The masses of a noise at −r … r, all but `lose`.
fn masses(noise: &NoiseLaw, lose: f64) -> Option<Vec<f64>> {
    if let NoiseLaw::Uniform { reach } = *noise {
        let n = 2.0 * reach + 1.0;
        return (n <= MOST_OF_ONE as f64).then(|| vec![1.0 / n; n as usize]);
    }
    let weight = |k: f64| match *noise {
        NoiseLaw::DiscreteGaussian { variance } => libm::exp(-k * k / (2.0 * variance)),
        NoiseLaw::DiscreteLaplace { scale } => libm::exp(-k / scale),
        _ => 0.0,
    };
    let norm = libm::exp(noise.ln_zero());
    let mut half = vec![norm];
    loop {
        let m = norm * weight(half.len() as f64);
        // What follows is a geometric series or falls faster.
        let ratio = weight(half.len() as f64 + 1.0) / weight(half.len() as f64);
        if !(ratio > 0.0) || 2.0 * m / (1.0 - ratio) <= lose {
            break;
        }
        half.push(m);
        if half.len() > MOST_OF_ONE / 2 {
            return None;
        }
    }
    Some(half.iter().skip(1).rev().chain(&half).copied().collect())
}

fn convolve(a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    let length = a.len() + b.len() - 1;
    if length > MOST_OF_ONE {
        return None;
    }
    let mut out = vec![0.0; length];
    for (i, x) in a.iter().enumerate() {
        let row = &mut out[i..i + b.len()];
        for j in 0..b.len() {
            row[j] += x * b[j];
        }
    }
    Some(out)
}

/// Cuts off equally many masses at both ends, less than `most` in all, and says how much that was.
fn trim(masses: &mut Vec<f64>, most: f64) -> f64 {
    let mut cut = 0.0;
    let mut ends = 0;
    while masses.len() > 2 * ends + 1 {
        let next = cut + 2.0 * masses.get(ends).copied().unwrap_or(0.0);
        if next > most {
            break;
        }
        cut = next;
        ends += 1;
    }
    masses.truncate(masses.len() - ends);
    masses.drain(..ends);
    cut
}

/// All sums of a value of each list, in runs that ascend where the lists do; returns what was left out as less probable than `threshold`.
fn multiply(
    half: &mut Vec<(f64, f64)>,
    list: &[(f64, f64)],
    threshold: f64,
    pairs: &mut usize,
) -> Option<f64> {
    *pairs = pairs.checked_sub(half.len().checked_mul(list.len())?)?;
    let mut out = Vec::with_capacity((half.len() * list.len()).min(MOST));
    let mut left_out = 0.0;
    // The shorter one outside: few long runs that ascend.
    let (outer, inner) = if half.len() < list.len() { (&half[..], list) } else { (list, &half[..]) };
    for (x, p) in outer {
        for (y, q) in inner {
            let mass = p * q;
            if mass < threshold {
                left_out += mass;
            } else {
                out.push((x + y, mass));
            }
        }
        if out.len() > MOST {
            return None;
        }
    }
    *half = out;
    Some(left_out)
}

/// Sorts by value, equals in their order: dealt into as many buckets as there are values, each of which is sorted by itself. Values of a sum
/// lie about evenly, so that few share a bucket.
fn sort(values: &mut [(f64, f64)]) {
    let (low, high) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v.0), h.max(v.0)));
    let last = values.len().saturating_sub(1);
    let scale = last as f64 / (high - low);
    if !(scale > 0.0 && scale.is_finite()) {
        return values.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    // Rounding keeps the order: no value is in a bucket behind that of a larger one.
    let bucket = |x: f64| (((x - low) * scale) as usize).min(last);
    let mut ends = vec![0u32; values.len()];
    for v in &*values {
        ends[bucket(v.0)] += 1;
    }
    let mut all = 0;
    for end in &mut ends {
        all += std::mem::replace(end, all);
    }
    let mut dealt = vec![(0.0, 0.0); values.len()];
    for v in &*values {
        let at = &mut ends[bucket(v.0)];
        dealt[*at as usize] = *v;
        *at += 1;
    }
    let mut start = 0;
    for end in ends {
        dealt[start..end as usize].sort_by(|a, b| a.0.total_cmp(&b.0));
        start = end as usize;
    }
    values.copy_from_slice(&dealt);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By buckets and by comparing: the same places, those of equals and of zeros of either sign among them.
    #[test]
    fn buckets_sort_as_comparing_does() {
        let lattice = |n: u64, step: f64| {
            (0..n).map(move |i| (i.wrapping_mul(2_654_435_761) % 4096) as f64 * step - 700.0 * step)
        };
        let lists: [Vec<f64>; 7] = [
            vec![],
            vec![-0.0],
            vec![2.0, -0.0, 0.0, -0.0, 0.0, -2.0, 0.0, -0.0],
            vec![0.1; 9],
            lattice(20_000, 0.1).collect(),
            lattice(20_000, -0.3).chain(lattice(3000, 1e-9)).chain([1e9]).collect(),
            vec![1e308, -1e308, 3.0, 0.0, 1e308],
        ];
        for list in lists {
            // The masses tell equals apart.
            let mut values: Vec<(f64, f64)> =
                list.into_iter().enumerate().map(|(i, x)| (x, i as f64)).collect();
            let mut compared = values.clone();
            compared.sort_by(|a, b| a.0.total_cmp(&b.0));
            sort(&mut values);
            let bits = |v: &[(f64, f64)]| v.iter().map(|v| (v.0.to_bits(), v.1)).collect::<Vec<_>>();
            assert_eq!(bits(&values), bits(&compared));
        }
    }

    /// The masses reach as far as a geometric series says, and not one value further.
    #[test]
    fn masses_end_where_what_follows_is_little_enough() {
        for lose in [1e-2, 1e-6, 1e-13] {
            for scale in [0.3, 2.0, 9.0] {
                let reach = masses(&NoiseLaw::DiscreteLaplace { scale }, lose).unwrap().len() as i32 / 2;
                let q = (-1.0 / scale).exp();
                let beyond = |reach: i32| 2.0 * q.powi(reach + 1) / (1.0 + q);
                assert!(beyond(reach) <= lose * (1.0 + 1e-9), "{scale} {lose}");
                assert!(reach == 0 || beyond(reach - 1) > lose * (1.0 - 1e-9), "{scale} {lose}");
            }
            for variance in [0.2, 3.0, 40.0] {
                let sum: f64 = masses(&NoiseLaw::DiscreteGaussian { variance }, lose).unwrap().iter().sum();
                assert!(1.0 - sum <= lose + 1e-14, "{variance} {lose}");
            }
        }
        assert_eq!(masses(&NoiseLaw::Uniform { reach: 2.0 }, 0.5).unwrap(), [0.2; 5]);
    }

    /// Probability is nowhere made and nowhere lost: what is listed and what is said to be left out are one together.
    #[test]
    fn what_is_left_out_is_said() {
        let list = |scale: f64, times: f64| -> Vec<(f64, f64)> {
            let masses = masses(&NoiseLaw::DiscreteLaplace { scale }, 1e-16).unwrap();
            let middle = (masses.len() / 2) as f64;
            masses.iter().enumerate().map(|(i, m)| ((i as f64 - middle) * times, *m)).collect()
        };
        let sum = |half: &[(f64, f64)]| half.iter().map(|v| v.1).sum::<f64>();
        for threshold in [0.0, 1e-6, 1e-3, 2e-2] {
            let (mut half, other) = (list(1.5, 1.0), list(0.7, 10.0));
            let products = half.len() * other.len();
            let mut pairs = products + 5;
            let left_out = multiply(&mut half, &other, threshold, &mut pairs).unwrap();
            assert_eq!(pairs, 5);
            assert!((sum(&half) + left_out - 1.0).abs() < 1e-12, "{threshold}: {left_out}");
            assert!(half.iter().all(|v| v.1 >= threshold) && (half.len() < products) == (threshold > 0.0));
            assert!(multiply(&mut half, &other, threshold, &mut pairs).is_none(), "too many products");
        }
        let group = |coefficient, copies, noise| Group { coefficient, copies, noise };
        let groups = [
            group(1.0, 3, NoiseLaw::DiscreteLaplace { scale: 0.7 }),
            group(0.5f64.sqrt(), 2, NoiseLaw::DiscreteGaussian { variance: 1.5 }),
            group(0.3f64.sqrt(), 1, NoiseLaw::Uniform { reach: 4.0 }),
            group(0.11f64.sqrt(), 1, NoiseLaw::DiscreteLaplace { scale: 1.5 }),
        ];
        for lost in [1e-3, 1e-6] {
            let atoms = Atoms::new(&groups, lost, MOST_PAIRS).unwrap();
            let listed = sum(&atoms.first) * atoms.second_total;
            assert!(atoms.lost <= lost && 1.0 - listed <= atoms.lost + 1e-12, "{listed} {}", atoms.lost);
            assert!((atoms.above(f64::NEG_INFINITY) - listed).abs() < 1e-12);
            assert_eq!(atoms.above(f64::INFINITY), 0.0);
            // Nothing leans to a side.
            for x in [0.1, 1.3, 4.2] {
                let (above, below) = (atoms.above(x), listed - atoms.above(-x));
                assert!((above - below).abs() < lost, "{x}: {above} {below}");
            }
        }
    }

    /// A list that leaves out more than it may is none.
    #[test]
    fn no_more_is_left_out_than_may_be() {
        let group =
            |coefficient: f64| Group { coefficient, copies: 1, noise: NoiseLaw::Uniform { reach: 500.0 } };
        let groups = [1.0, 2.0, 3.0].map(|square: f64| group(square.sqrt()));
        // A thousand million sums, each too improbable to be kept.
        assert!(Atoms::new(&groups, 0.9, MOST_PAIRS).is_none());
        assert!(Atoms::new(&groups[..2], 0.9, MOST_PAIRS).is_some_and(|atoms| atoms.lost <= 0.9));
        // The middle always stays.
        let mut masses = vec![0.2, 0.6, 0.2];
        assert_eq!((trim(&mut masses, 10.0), masses), (0.4, vec![0.6]));
    }

    /// Doubling against one noise after the other: the same masses, and no more lost than is said.
    #[test]
    fn sums_of_equal_noises() {
        let mut tried = 0;
        for noise in [
            NoiseLaw::DiscreteLaplace { scale: 2.0 },
            NoiseLaw::DiscreteLaplace { scale: 0.2 },
            NoiseLaw::DiscreteGaussian { variance: 3.0 },
            NoiseLaw::Uniform { reach: 2.0 },
        ] {
            for copies in [1u64, 2, 3, 7, 16, 45] {
                let each = 1e-17;
                let one = masses(&noise, each).unwrap();
                // One after the other they are soon too many values.
                let plain = (0..copies).try_fold(vec![1.0], |many, _| convolve(&many, &one));
                let Some(plain) = plain else { continue };
                tried += 1;
                let many = Many::of(&noise, copies, each).unwrap();
                let cut = (plain.len() - many.masses.len()) / 2;
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-13 * b + many.left_out;
                assert!(many.masses.iter().zip(&plain[cut..]).all(near), "{noise:?} {copies}");
                let lost: f64 = 2.0 * plain[..cut].iter().sum::<f64>();
                assert!(lost <= many.left_out && many.left_out <= 2.0 * each * copies as f64);
                assert_eq!(Many::of(&noise, copies, each).unwrap().masses, many.masses, "kept");
            }
        }
        assert!(tried >= 18, "{tried}");
        assert!(
            Many::of(&NoiseLaw::DiscreteLaplace { scale: 40.0 }, 4000, 1e-18).is_none(),
            "too many values"
        );
    }
}
