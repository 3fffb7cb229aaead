//! Whether two files are two measurings, each with noise of its own.
//!
//! Answers are combined as independent, so one measuring must not come twice: a file that was signed again (on another day, with another
//! line of a ledger) holds the noise it held before, and a mean of it with itself looks more precise than it is. What shows is refused: one
//! charge for both, or more equal integers than chance gives to two noises. Copies for several recipients have one charge and say how they hang together.
//!
//! Two files that say they are of one line of one ledger, and disagree on what it says, come from two ledgers of the same people: both were not
//! held against one bound. Forks that show in no line number only the ledger tells (`margins ledger verify`).

use crate::answer::tell::open::Answers;
use crate::plan::{Measurement, Noise};
use crate::recover::{Recovery, Source};

/// Integers that agree by chance with a probability below 2 to the power of minus so many are the same integers.
const NOT_BY_CHANCE: f64 = 20.0;
/// About so many integers are compared, of counts and of each sum.
const MOST: usize = 1 << 20;

/// Why two files cannot be asked together; none where they can.
pub(super) fn why_not(a: &Answers, b: &Answers) -> Option<String> {
    let (m, n) = (a.release().manifest(), b.release().manifest());
    let both = format!("{} and {}", a.title(), b.title());
    let copies = match (&m.recipient, &n.recipient) {
        (Some(x), Some(y)) if x.measuring == y.measuring && x.name == y.name => {
            return Some(format!("{both} are both {}'s copy of one measuring, signed twice", x.name));
        }
        (Some(x), Some(y)) => x.measuring == y.measuring,
        _ => false,
    };
    if let (Some(x), Some(y)) = (&m.account, &n.account)
        && x.name.id == y.name.id
    {
        let (id, line) = (&x.name.id, x.line);
        if x.head == y.head && !copies {
            return Some(format!(
                "{both} name one charge, line {line} of the ledger of `{id}`: one measuring that was signed twice, or two that were \
                 paid for once"
            ));
        }
        if x.head != y.head && line == y.line {
            return Some(format!(
                "{both} both say that they were charged in line {line} of the ledger of `{id}`, and that line says something else to each: \
                 there are two ledgers, or an older copy of one was put back. `margins ledger verify {id} --release` shows which file the \
                 ledger holds"
            ));
        }
    }
    if copies {
        return None;
    }
    let mut agreed = agreed(a.evaluator().recovery(), b.evaluator().recovery());
    for (_, own, other) in a.channels().shared(b.channels()) {
        agreed.extend(self::agreed(own, other));
    }
    (chance(&agreed) <= -NOT_BY_CHANCE).then(|| {
        format!("{both} hold the same noisy integers: they are one measuring, and no better known for being given twice")
    })
}

/// Of a measurement that two files have: how likely at most two draws of its noises are equal, how many integers there are, and how many are equal.
type Agreed = (f64, u64, u64);

/// What two files have measured of one thing, about the first [`MOST`] integers. What cannot be read agrees with nothing: whoever asks for it hears why.
fn agreed<S: Source>(a: &Recovery<S>, b: &Recovery<S>) -> Vec<Agreed> {
    let (own, others) = (&a.plan().only().measurements, &b.plan().only().measurements);
    let variance = |r: &Recovery<S>, m: &Measurement| r.plan().noise.variance(m.scale.to_f64());
    // Of one that is cut the first slice.
    let read = |r: &Recovery<S>, at: usize| match r.source().slices(at) {
        Some(_) => r.source().slice(at, 0),
        None => r.source().values(at),
    };
    let (mut out, mut looked_at) = (Vec::new(), 0);
    for (i, m) in own.iter().enumerate() {
        if looked_at >= MOST {
            break;
        }
        // Plans of one spec have it in the same place.
        let alike = |&(_, o): &(usize, &Measurement)| o.block == m.block;
        let in_place = others.get(i).map(|o| (i, o)).filter(alike);
        let Some((j, other)) = in_place.or_else(|| others.iter().enumerate().find(alike)) else { continue };
        let (Ok(x), Ok(y)) = (read(a, i), read(b, j)) else { continue };
        if x.len() != y.len() {
            continue;
        }
        let noises = [a.plan().noise, b.plan().noise];
        let equal = x.iter().zip(y.iter()).filter(|(x, y)| x == y).count();
        let by_chance = equal_by_chance(noises, variance(a, m), variance(b, other));
        out.push((by_chance, x.len() as u64, equal as u64));
        looked_at += x.len();
    }
    out
}

/// How likely at most two draws with these variances are equal. Truths that differ make it less likely, as noise is likeliest around zero. By Poisson's sum two
/// Gaussian draws are equal with the probability `1/√(2π(v + w))` but for a factor `1 + 2e^(−2π²vw/(v + w)) + …`.
fn equal_by_chance(noises: [Noise; 2], v: f64, w: f64) -> f64 {
    let steep = noises == [Noise::Gaussian; 2] && v.min(w) >= 0.5;
    let most = if steep { 1.04 / std::f64::consts::PI } else { 1.0 };
    libm::sqrt(most / (2.0 * (v + w))).min(1.0)
}

/// The base-two logarithm of a bound of the probability that independent noises agree so much, in one of the measurements or in all together.
fn chance(agreed: &[Agreed]) -> f64 {
    let alone = |one: &Agreed| bound(std::slice::from_ref(one)) + libm::log2(agreed.len() as f64);
    1.0 + agreed.iter().map(alone).fold(bound(agreed), f64::min)
}

/// The base-two logarithm of a bound of the probability that so many integers agree: the smallest of six, six times as large. All agree with at most the
/// product of their probabilities. And by Markov's inequality `Σ k log(1/p) ≥ s` has for any t above 0 at most the probability `2^(-ts) Π (1 - p + p^(1-t))^n`.
fn bound(each: &[Agreed]) -> f64 {
    let sum = |of: &dyn Fn(f64, f64, f64) -> f64| -> f64 {
        each.iter().map(|&(p, n, k)| of(p, n as f64, k as f64)).sum()
    };
    let everywhere = match each.iter().all(|(_, n, k)| n == k) {
        true => sum(&|p, n, _| n * libm::log2(p)),
        false => 0.0,
    };
    let by_markov =
        |t: f64| sum(&|p, n, k| n * libm::log2(1.0 - p + libm::pow(p, 1.0 - t)) + t * k * libm::log2(p));
    [0.25, 0.5, 1.0, 2.0, 4.0].map(by_markov).into_iter().fold(everywhere, f64::min) + libm::log2(6.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds are no less than the binomial law. What noise rarely does is found, in one of many measurements or in all; what it often does is not.
    #[test]
    fn bounds_are_bounds() {
        for (p, n) in [(0.5, 40u64), (0.1, 60), (0.01, 300), (1.0, 5)] {
            let mut term = libm::pow(1.0 - p, n as f64);
            let mut law = vec![term];
            for k in 0..n {
                term = if p < 1.0 {
                    term * p / (1.0 - p) * (n - k) as f64 / (k + 1) as f64
                } else {
                    f64::from(u8::from(k + 1 == n))
                };
                law.push(term);
            }
            for k in 0..=n {
                let tail: f64 = law[k as usize..].iter().sum();
                let one = (p, n, k);
                assert!(libm::exp2(bound(&[one])) >= tail * (1.0 - 1e-9), "{one:?}");
                // Two that are alike are one twice as long.
                let [two, twice] = [bound(&[one, one]), bound(&[(p, 2 * n, 2 * k)])];
                assert!((two - twice).abs() < 1e-9 * twice.abs().max(1.0), "{one:?} {two} {twice}");
            }
        }
        for (noise, scale) in [
            (Noise::Gaussian, 0.1),
            (Noise::Gaussian, 0.5),
            (Noise::Gaussian, 3.0),
            (Noise::Laplace, 0.3),
            (Noise::Laplace, 1.0),
            (Noise::Laplace, 7.0),
        ] {
            let mass = |k: i32| match noise {
                Noise::Gaussian => libm::exp(-f64::from(k * k) / (2.0 * scale)),
                Noise::Laplace => libm::exp(-f64::from(k.abs()) / scale),
            };
            let (one, two) = (-99..=99).map(mass).fold((0.0, 0.0), |(s, q), m| (s + m, q + m * m));
            let v = noise.variance(scale);
            let (known, most) = (two / (one * one), equal_by_chance([noise; 2], v, v));
            assert!(known <= most && (most < 1.5 * known || v < 0.5), "{noise:?} {scale}: {known} {most}");
        }
        let found = |agreed: &[Agreed]| chance(agreed) <= -NOT_BY_CHANCE;
        assert!(found(&[(0.05, 8, 8)]));
        assert!(found(&[(0.05, 100, 40)]));
        assert!(found(&[(0.05, 100, 5), (0.05, 100, 5), (0.01, 30, 29)]));
        assert!(!found(&[(0.05, 100, 12), (0.9, 1000, 930)]));
        assert!(!found(&[]));
        assert!(!found(&[(1.0, 1000, 1000)]));
    }
}
