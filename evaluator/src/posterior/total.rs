//! A count of those of n units for which something of probability p holds, where n itself is only estimated.
//!
//! Known are `y = θ + E` and the total `t = n + F`. Beforehand every `n >= 0` is as likely as any other, and given n the count is
//! binomial. With `β = Cov(E, F)/Var(E)` the error `U = F − βE` is uncorrelated with E, and `U = (t − n) − β(y − θ)`, so
//!
//! `Pr(θ | y, t) ∝ f_E(y − θ) Σ_n C(n, θ) p^θ (1−p)^{n−θ} f_U(t − n − β(y − θ))`.
//!
//! This is exact where U is independent of E: where the total is the count plus others measured apart (β = 1), where it was measured
//! on its own (β = 0), and for normal noise in any combination. Else (a total measured both ways, with Laplace noise) U is treated as
//! independent of E though it is only uncorrelated with it, and the posterior is an approximation.

use super::count::{CountPosterior, DEPTH, PosteriorError};
use super::prior::ln_binomial;
use crate::law::ErrorLaw;
use std::cell::Cell;

/// What is known of the total.
#[derive(Debug, Clone)]
pub(crate) struct Total {
    /// Its estimate.
    pub estimate: f64,
    /// β.
    pub slope: f64,
    /// The law of U.
    pub rest: ErrorLaw,
}

/// Counts that are evaluated, and totals for each.
const COUNTS: i64 = 512;
const TOTALS: i64 = 1024;
/// Totals for each while only looking where the counts are, and how often that is done at most.
const TOTALS_LOOKING: i64 = 128;
const LOOKS: u32 = 8;
/// Points at which U's density is known.
const TABLE: usize = 2048;
/// How much a bound on the density of dense atoms may be off by.
const ROOM: f64 = 10.0;
const LARGEST: f64 = (1u64 << 52) as f64;

/// `ln f_U`: a table, with straight lines between its points.
struct Density {
    first: f64,
    step: f64,
    ln: Vec<f64>,
    /// Whether some are only bounds.
    rough: bool,
}

impl Density {
    /// Its points are `from` plus whole numbers where these are few enough.
    fn new(law: &ErrorLaw, from: f64) -> Density {
        if law.terms().is_empty() {
            return Density { first: 0.0, step: 0.0, ln: Vec::new(), rough: false };
        }
        let mut reach = law.std_error().max(0.5);
        while reach < LARGEST && law.ln_mass_bound(reach) > -DEPTH {
            reach *= 1.25;
        }
        reach += 1.0;
        let step = libm::ceil(2.0 * reach / TABLE as f64).max(1.0);
        let first = from - libm::floor(from) - libm::ceil(reach / step) * step;
        let points: Vec<f64> =
            (0..=2 * libm::ceil(reach / step) as usize + 1).map(|i| first + i as f64 * step).collect();
        let (ln, bounds) = law.ln_density_or_bound(&points);
        Density {
            first,
            step,
            ln: ln.into_iter().map(|v| if v.is_nan() { f64::NEG_INFINITY } else { v }).collect(),
            rough: bounds > 0,
        }
    }

    fn is_exact(&self) -> bool {
        self.ln.is_empty()
    }

    fn ends(&self) -> (f64, f64) {
        (self.first, self.first + self.step * self.ln.len().saturating_sub(1) as f64)
    }

    fn at(&self, x: f64) -> f64 {
        let place = (x - self.first) / self.step;
        let below = libm::floor(place + 1e-9);
        let share = place - below;
        let value = |i: f64| if i < 0.0 { None } else { self.ln.get(i as usize).copied() };
        match (value(below), value(below + 1.0)) {
            (Some(a), _) if share < 1e-6 => a,
            (Some(a), Some(b)) if a.is_finite() && b.is_finite() => a + share * (b - a),
            _ => f64::NEG_INFINITY,
        }
    }
}

impl CountPosterior {
    /// The posterior of θ given `estimate = θ + E` and what is known of the total.
    pub(crate) fn of_total(
        law: &ErrorLaw,
        estimate: f64,
        p: f64,
        total: &Total,
    ) -> Result<CountPosterior, PosteriorError> {
        let sound = (0.0..=1.0).contains(&p) && estimate.abs() < 1e15 && total.estimate.abs() < 1e15;
        if !sound {
            return Err(PosteriorError::Parameter);
        }
        let density = Density::new(&total.rest, total.estimate - total.slope * estimate);
        let rough = Cell::new(density.rough);
        let both = Both { law, estimate, p, total, density, work: Cell::new(0), rough };
        let known = |first, stride, last, ln: &[f64]| {
            CountPosterior::from_logarithms(first, stride, last, ln, both.rough.get(), both.work.get())
        };
        if law.terms().is_empty() {
            let top = libm::round(estimate).max(0.0) as i64;
            return match both.weights(&[top], TOTALS).first() {
                Some(w) if w.is_finite() => known(top, 1, top, &[*w]),
                _ => Err(PosteriorError::Impossible),
            };
        }
        let (first, last) = both.span();
        let stride = (last - first) / COUNTS + 1;
        let points: Vec<i64> = (0..=(last - first) / stride)
            .map(|i| {
                let start = first + i * stride;
                start + (stride - 1).min(last - start) / 2
            })
            .collect();
        known(first, stride, last, &both.weights(&points, TOTALS))
    }
}

/// What is known of a count and of its total, together.
struct Both<'a> {
    law: &'a ErrorLaw,
    estimate: f64,
    p: f64,
    total: &'a Total,
    density: Density,
    /// Terms that were added up.
    work: Cell<u64>,
    /// Whether some density was only a bound.
    rough: Cell<bool>,
}

impl Both<'_> {
    /// ln of Σ_n, for one θ, from at most so many of the terms.
    fn beside(&self, k: i64, totals: i64) -> f64 {
        let p = self.p;
        // U = centre − n.
        let centre = self.total.estimate - self.total.slope * (self.estimate - k as f64);
        if self.density.is_exact() {
            let n = libm::round(centre);
            let possible = n >= k as f64 && n < LARGEST && (centre - n).abs() < 1e-6;
            return if possible { ln_binomial(n as u64, p, k as u64) } else { f64::NEG_INFINITY };
        }
        if p == 0.0 && k > 0 {
            return f64::NEG_INFINITY;
        }
        let Some((from, to)) = self.totals(k, centre) else { return f64::NEG_INFINITY };
        let stride = (to - from) / totals + 1;
        let first = from + (stride - 1) / 2;
        let kf = k as f64;
        // From one n to the next by C(n+1, k)/C(n, k) = (n+1)/(n+1−k).
        let (mut binomial, rest) = (ln_binomial(first as u64, p, k as u64), libm::log1p(-p));
        let mut terms = [f64::NEG_INFINITY; TOTALS as usize + 1];
        let mut most = f64::NEG_INFINITY;
        let mut n = first;
        for term in &mut terms {
            if n > to {
                break;
            }
            self.work.set(self.work.get() + 1);
            *term = binomial + self.density.at(centre - n as f64);
            most = most.max(*term);
            n += stride;
            binomial = if stride == 1 && binomial.is_finite() {
                binomial + rest - libm::log1p(-kf / n as f64)
            } else {
                ln_binomial(n as u64, p, k as u64)
            };
        }
        if most == f64::NEG_INFINITY {
            return most;
        }
        most + libm::log(terms.iter().map(|t| libm::exp(t - most)).sum::<f64>() * stride as f64)
    }

    /// The first and the last total that matter for one θ, if any does.
    fn totals(&self, k: i64, centre: f64) -> Option<(i64, i64)> {
        let (low, high) = self.density.ends();
        let (mut from, mut to) = (centre - high, centre - low);
        // Where the binomial is, as a function of n: around k/p.
        if self.p > 0.0 {
            let kf = k as f64;
            let spread = libm::sqrt((kf + 1.0) * (1.0 - self.p)) / self.p;
            let reach = 9.0 * spread + 40.0 / self.p;
            // Unless that is where the total cannot be: then the nearest it can.
            let near = from.max(kf / self.p - reach);
            let far = to.min(kf / self.p + reach);
            if near <= far {
                (from, to) = (near, far);
            }
        }
        let from = libm::ceil(from).max(k as f64).min(LARGEST) as i64;
        let to = libm::floor(to).min(LARGEST) as i64;
        (from <= to).then_some((from, to))
    }

    /// ln of the weights of some θ, from at most so many of the terms for each. Where a bound on the density leaves less than e^{−DEPTH} of
    /// the largest, nothing is left.
    fn weights(&self, points: &[i64], totals: i64) -> Vec<f64> {
        let offsets: Vec<f64> = points.iter().map(|k| self.estimate - *k as f64).collect();
        let beside = |k: &i64| self.beside(*k, totals);
        if self.law.terms().is_empty() {
            let known = |(k, x): (&i64, &f64)| if x.abs() < 1e-9 { beside(k) } else { f64::NEG_INFINITY };
            return points.iter().zip(&offsets).map(known).collect();
        }
        let possible = |x: f64| self.law.on_lattice(x);
        let mut ln: Vec<f64> = points
            .iter()
            .zip(&offsets)
            .map(|(k, x)| if possible(*x) { beside(k) } else { f64::NEG_INFINITY })
            .collect();
        let bounds: Vec<f64> =
            self.law.ln_density_bounds(&offsets).iter().zip(&ln).map(|(a, b)| a + b).collect();
        let density = |xs: &[f64]| {
            let (ln_f, bounds) = self.law.ln_density_or_bound(xs);
            self.rough.set(self.rough.get() || bounds > 0);
            ln_f.into_iter().map(|f| if f.is_nan() { f64::NEG_INFINITY } else { f })
        };
        let Some(likely) = (0..points.len()).max_by(|a, b| bounds[*a].total_cmp(&bounds[*b])) else {
            return ln;
        };
        let most = ln[likely] + density(&[offsets[likely]]).next().unwrap_or(f64::NEG_INFINITY);
        let (near, far): (Vec<usize>, Vec<usize>) =
            (0..points.len()).partition(|i| bounds[*i] >= most - DEPTH - ROOM || bounds[*i].is_nan());
        far.into_iter().for_each(|i| ln[i] = f64::NEG_INFINITY);
        let asked: Vec<f64> = near.iter().map(|i| offsets[*i]).collect();
        near.into_iter().zip(density(&asked)).for_each(|(i, f)| ln[i] += f);
        ln
    }

    /// Where the weights are: from around the estimate and around p times the total, closing in on them.
    fn span(&self) -> (i64, i64) {
        let reach = 12.0 * self.law.std_error() + 20.0;
        let expected = self.p * self.total.estimate.max(0.0);
        let spread = 12.0 * libm::sqrt(expected + self.p * self.p * self.total.rest.variance()) + 20.0;
        let (low, high) = (self.estimate - reach, self.estimate + reach);
        let mut first = libm::fmax(0.0, libm::floor(libm::fmin(low, expected - spread))) as i64;
        let mut last = libm::ceil(libm::fmax(high, expected + spread)).max(20.0) as i64;
        for _ in 0..LOOKS {
            let stride = (last - first) / 64 + 1;
            if stride == 1 {
                break;
            }
            let points: Vec<i64> = (0..=(last - first) / stride).map(|i| first + i * stride).collect();
            let ln = self.weights(&points, TOTALS_LOOKING);
            let most = ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if most == f64::NEG_INFINITY {
                break;
            }
            let kept = |l: &&f64| **l > most - DEPTH;
            let a = ln.iter().take_while(|l| !kept(l)).count() as i64;
            let b = (ln.len() - ln.iter().rev().take_while(|l| !kept(l)).count()) as i64;
            let (closer, further) = ((first + (a - 1) * stride).max(first), (first + b * stride).min(last));
            let settled = 4 * (further - closer) > 3 * (last - first);
            (first, last) = (closer, further);
            if settled {
                break;
            }
        }
        (first, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{Interval, NoiseLaw, Term};

    fn law(copies: u64, noise: NoiseLaw) -> ErrorLaw {
        ErrorLaw::new(vec![Term { coefficient: 1.0, copies, noise }]).unwrap()
    }

    /// Every n and every θ, with both masses in closed form.
    #[test]
    fn against_plain_enumeration() {
        let b = 3.0;
        let one = law(1, NoiseLaw::DiscreteLaplace { scale: b });
        let mass = |k: f64| libm::exp(-k.abs() / b);
        for (y, t, p, slope) in
            [(12.0, 45.0, 0.3, 1.0), (-4.0, 20.0, 0.3, 1.0), (9.0, 40.0, 0.5, 0.0), (30.0, 31.0, 0.9, 1.0)]
        {
            let total = Total { estimate: t, slope, rest: one.clone() };
            let posterior = CountPosterior::of_total(&one, y, p, &total).unwrap();
            let w: Vec<f64> = (0..200u64)
                .map(|k| {
                    let kf = k as f64;
                    let sum: f64 = (k..900)
                        .map(|n| libm::exp(ln_binomial(n, p, k)) * mass(t - n as f64 - slope * (y - kf)))
                        .sum();
                    mass(y - kf) * sum
                })
                .collect();
            let all: f64 = w.iter().sum();
            let mut sum = 0.0;
            for (k, w) in w.iter().enumerate() {
                sum += w / all;
                assert!(
                    (posterior.cdf(k as i64) - sum).abs() < 1e-6,
                    "{y} {t} {k}: {} {sum}",
                    posterior.cdf(k as i64)
                );
            }
        }
    }

    /// However wide everything is, a posterior's work has a limit that can be told beforehand.
    #[test]
    fn work_is_bounded() {
        let most =
            u64::from(LOOKS) * 66 * (TOTALS_LOOKING as u64 + 1) + (COUNTS as u64 + 1) * (TOTALS as u64 + 1);
        for b in [1e-3, 0.3, 20.0, 1e5, 1e10] {
            for p in [1e-9, 0.3, 1.0 - 1e-9] {
                let one = law(1, NoiseLaw::DiscreteLaplace { scale: b });
                let rest = law(29, NoiseLaw::DiscreteLaplace { scale: b });
                for slope in [0.0, 0.37, 1.0] {
                    let total = Total { estimate: 1e12, slope, rest: rest.clone() };
                    let posterior = CountPosterior::of_total(&one, libm::round(1e12 * p), p, &total).unwrap();
                    assert!(posterior.work() <= most, "{b} {p} {slope}: {}", posterior.work());
                    let error = (posterior.mean() - 1e12 * p).abs();
                    assert!(error <= 4.0 * one.std_error() + 2.0, "{b} {p} {slope}: {error}");
                }
            }
        }
    }

    /// A count of a known total is the plain binomial prior's, and huge numbers cost no more.
    #[test]
    fn limits() {
        use crate::posterior::Prior;
        let one = law(1, NoiseLaw::DiscreteLaplace { scale: 5.0 });
        let none = ErrorLaw::new(Vec::new()).unwrap();
        let known = Total { estimate: 60.0, slope: 0.0, rest: none };
        let a = CountPosterior::of_total(&one, 20.0, 0.3, &known).unwrap();
        let b = CountPosterior::new(&one, 20.0, Prior::Binomial { n: 60, p: 0.3 }).unwrap();
        assert_eq!(a.interval(0.9, Interval::EqualTailed), b.interval(0.9, Interval::EqualTailed));
        assert!((a.mean() - b.mean()).abs() < 1e-9);
        let wide = law(40, NoiseLaw::DiscreteGaussian { variance: 1e18 });
        let total = Total { estimate: 1e12, slope: 1.0, rest: wide.clone() };
        let c = CountPosterior::of_total(&wide, 3e11, 0.3, &total).unwrap();
        assert!((c.mean() / 3e11 - 1.0).abs() < 0.05, "{}", c.mean());
        for p in [0.0, 1.0] {
            let all = CountPosterior::of_total(
                &one,
                20.0,
                p,
                &Total { estimate: 60.0, slope: 1.0, rest: one.clone() },
            )
            .unwrap();
            assert!(all.mean().is_finite(), "{p}");
        }
    }

    /// Looking for a few people among very many asks for densities only where they matter, and so has work left for all of these.
    #[test]
    fn nothing_is_rough_far_from_the_expected() {
        let noise = NoiseLaw::DiscreteGaussian { variance: 1.5 };
        let terms = [0.9, 0.31, 0.11, 0.07].map(|coefficient| Term { coefficient, copies: 1, noise });
        let law = ErrorLaw::new(terms.to_vec()).unwrap();
        let rest = ErrorLaw::new(vec![Term { coefficient: 1.0, copies: 90, noise }]).unwrap();
        let total = Total { estimate: 20_000.0, slope: 1.0, rest };
        let posterior = CountPosterior::of_total(&law, 52.6, 0.3, &total).unwrap();
        assert!(!posterior.is_rough());
        let (low, high) = posterior.interval(0.95, Interval::EqualTailed);
        assert!(52 <= low && low < high && high <= 64, "{low} {high}");
    }
}
