//! δ by listing what S can be: where lattices are coarse, or few, no bound comes closer.
//!
//! Noises of one scale share a lattice: their sum's masses are convolved, one by one or doubling. The lattices are dealt into two halves, each half's values are
//! listed, and `E[(1 − e^{x−X−Y})₊]` is one walk along both. All that is added up is positive. What is cut off as too improbable counts
//! as if there the loss had no bound.

use super::inverted::FAINT;
use super::{Delta, Loss, Part, bounded};

/// The most values of a half, and of one lattice.
const MOST: usize = 1 << 16;
/// Of the bound that is to be improved, what may be cut off in all.
const CUT: f64 = 1e-14;
/// Four units in the last place.
const UNIT: f64 = 1.0 / (1u64 << 50) as f64;
/// Up to here exponentials of values are numbers; and up to here differences of values have enough digits.
const NEAR: f64 = 600.0;
const FARTHEST: f64 = 1e5;
/// A mass of which so many terms were added up is within what its factors' errors have beside them.
const FEW: f64 = 1024.0;

/// Masses at −r, …, r, and how much more there may be beyond.
#[derive(Clone)]
struct Masses {
    masses: Vec<f64>,
    lost: f64,
    /// No less than the terms that a mass is added up of, those of its factors with them: each may be off by half a unit in the last place.
    terms: f64,
}

/// `None` where there are too many values, or more products than that. `above` is some bound on δ.
pub(super) fn delta(loss: &Loss, epsilon: f64, above: f64, products: usize) -> Option<Delta> {
    let noises: f64 = loss.parts.iter().map(|p| p.copies).sum();
    if loss.smooth > 0.0 || noises > MOST as f64 {
        return None;
    }
    let mut list = List { each: CUT * above / noises, work: products };
    let mut lattices: Vec<(f64, Masses)> = Vec::new();
    let mut parts = loss.parts.clone();
    parts.sort_by(|a, b| a.variance.total_cmp(&b.variance));
    for alike in parts.chunk_by(|a, b| a.variance == b.variance) {
        let variance = alike.first()?.variance;
        lattices.push((1.0 / variance, list.lattice(variance, alike)?));
    }
    lattices.sort_by_key(|(_, l)| std::cmp::Reverse(l.masses.len()));
    let mut lost: f64 = lattices.iter().map(|(_, l)| l.lost).sum();
    let terms: f64 = lattices.iter().map(|(_, l)| l.terms).sum();
    let mut halves = [vec![(0.0, 1.0)], vec![(0.0, 1.0)]];
    for (step, lattice) in &lattices {
        let to = usize::from(halves[1].len() < halves[0].len());
        halves[to] = list.multiply(&halves[to], *step, &lattice.masses, &mut lost)?;
    }
    for half in &mut halves {
        half.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let [first, second] = halves;
    let reach = |half: &[(f64, f64)]| half.last().map_or(0.0, |v| v.0);
    let range = reach(&first) + reach(&second);
    // Values and x are sums of a few products each: a hair further down they are on the safe side.
    let size = epsilon.abs() + loss.rho() + range;
    let far = size >= NEAR;
    // Of noise so faint nothing is said by inversion either.
    if !(size < FARTHEST) || far && loss.parts.iter().any(|p| p.variance < FAINT) {
        return None;
    }
    let hair = UNIT * 16.0 * (size + loss.rho() * loss.parts.len() as f64);
    let x = epsilon - loss.rho() - hair;
    let (sum, beyond) = if far { walk_far(&first, &second, x) } else { walk(&first, &second, x) };
    // A mass is a product of as many factors as there are noises, each an exponential, added up as often as there are terms.
    let relative = UNIT * (64.0 * noises + size * 64.0 + 256.0 + 0.125 * (terms - FEW).max(0.0));
    // Differences of what lies far apart are rounded, too: all of them together by no more than what they add up to.
    let rounded = if far { size } else { 0.0 };
    let error = relative * sum + UNIT * ((first.len() + second.len() + 64) as f64 + rounded) * beyond;
    let lost = lost * (1.0 + 1e-9);
    Some(bounded(sum + error + lost, 2.0 * error + lost + 2.0 * hair * beyond))
}

/// `E[(1 − e^{x−X−Y})₊]` and `P(X + Y > x)`.
fn walk(first: &[(f64, f64)], second: &[(f64, f64)], x: f64) -> (f64, f64) {
    let mut at = second.len();
    // Of the values of the second that are far enough up: their mass, and Σ p e^{−y}.
    let (mut above, mut weighed) = (0.0, 0.0);
    let (mut sum, mut beyond) = (0.0, 0.0);
    for (value, p) in first {
        let from = x - value;
        while let Some((y, q)) = at.checked_sub(1).and_then(|i| second.get(i)).filter(|y| y.0 > from) {
            above += q;
            weighed += q * libm::exp(-y);
            at -= 1;
        }
        sum += p * (above - libm::exp(from) * weighed).max(0.0);
        beyond += p * above;
    }
    (sum, beyond)
}

/// The same where exponentials of values alone would be too large: only those of differences are taken, from each value of the first to the next.
/// Its digits are others, so files that were judged by [`walk`] are judged by it for ever.
fn walk_far(first: &[(f64, f64)], second: &[(f64, f64)], x: f64) -> (f64, f64) {
    let mut at = second.len();
    // Their mass, and Σ p e^{from − y}: each of these is at most 1, and none grows on the way.
    let (mut above, mut weighed) = (0.0, 0.0);
    let (mut sum, mut beyond) = (0.0, 0.0);
    let mut before = None;
    for (value, p) in first {
        let from = x - value;
        weighed *= before.map_or(1.0, |before: f64| libm::exp(from - before));
        before = Some(from);
        while let Some((y, q)) = at.checked_sub(1).and_then(|i| second.get(i)).filter(|y| y.0 > from) {
            above += q;
            weighed += q * libm::exp(from - y);
            at -= 1;
        }
        sum += p * (above - weighed).max(0.0);
        beyond += p * above;
    }
    (sum, beyond)
}

/// How closely, and how long, lists are made.
struct List {
    /// What each noise may lose.
    each: f64,
    /// The products that are left.
    work: usize,
}

impl List {
    /// The sum of noises of one scale.
    fn lattice(&mut self, variance: f64, alike: &[Part]) -> Option<Masses> {
        let one = self.one(variance)?;
        let mut all = Masses { masses: vec![1.0], lost: 0.0, terms: 0.0 };
        for p in alike {
            // Doubling, for many.
            let (mut power, mut left) = (one.clone(), p.copies as u64);
            let mut many = Masses { masses: vec![1.0], lost: 0.0, terms: 0.0 };
            loop {
                if left & 1 == 1 {
                    many = self.convolve(&many, &power, 1)?;
                }
                left >>= 1;
                if left == 0 {
                    break;
                }
                power = self.convolve(&power, &power, 1)?;
            }
            all = self.convolve(&all, &many, p.by as usize)?;
        }
        Some(all)
    }

    /// One noise: `P(|z| > r) ≤ 2e^{−(r+1)²/2s²}`.
    fn one(&mut self, variance: f64) -> Option<Masses> {
        let reach = libm::ceil(libm::sqrt(2.0 * variance * -libm::log(0.25 * self.each)));
        if !(reach < MOST as f64) {
            return None;
        }
        let half: Vec<f64> =
            (0..=reach as u64).map(|k| libm::exp(-((k * k) as f64) / (2.0 * variance))).collect();
        let total = half.iter().skip(1).rev().sum::<f64>() * 2.0 + 1.0;
        let masses = half.iter().skip(1).rev().chain(&half).map(|m| m / total).collect();
        Some(Masses { masses, lost: 0.5 * self.each, terms: reach })
    }

    /// The sum of one and `by` times another.
    fn convolve(&mut self, a: &Masses, b: &Masses, by: usize) -> Option<Masses> {
        let length = (b.masses.len() - 1).checked_mul(by)?.checked_add(a.masses.len())?;
        self.work = self.work.checked_sub(a.masses.len().checked_mul(b.masses.len())?)?;
        if length > MOST {
            return None;
        }
        let mut masses = vec![0.0; length];
        for (i, x) in b.masses.iter().enumerate() {
            let row = &mut masses[i * by..i * by + a.masses.len()];
            for (sum, y) in row.iter_mut().zip(&a.masses) {
                *sum += x * y;
            }
        }
        // Ends so improbable that all of them together do not matter.
        let mut lost = 0.0;
        let mut ends = 0;
        while 2 * ends + 1 < masses.len() && lost + 2.0 * masses[ends] <= 1e-3 * self.each {
            lost += 2.0 * masses[ends];
            ends += 1;
        }
        masses.truncate(masses.len() - ends);
        masses.drain(..ends);
        let terms = a.terms + b.terms + a.masses.len().min(b.masses.len()) as f64;
        Some(Masses { masses, lost: a.lost + b.lost + lost, terms })
    }

    /// All sums of a value and one of a lattice.
    fn multiply(
        &mut self,
        half: &[(f64, f64)],
        step: f64,
        masses: &[f64],
        lost: &mut f64,
    ) -> Option<Vec<(f64, f64)>> {
        let pairs = half.len().checked_mul(masses.len())?;
        self.work = self.work.checked_sub(pairs)?;
        let middle = (masses.len() / 2) as f64;
        let few = self.each / pairs as f64;
        let mut out = Vec::new();
        for (i, m) in masses.iter().enumerate() {
            let at = (i as f64 - middle) * step;
            for (value, p) in half {
                if m * p < few {
                    *lost += m * p;
                } else {
                    out.push((value + at, m * p));
                }
            }
            if out.len() > MOST {
                return None;
            }
        }
        Some(out)
    }
}
