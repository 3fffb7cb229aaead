//! Figures that are neither linear nor one ratio: differences and ratios of means, shares of different totals added up, products.
//!
//! **Guarantee.** The interval covers the true figure with at least the stated probability, wherever intervals of linear figures do.
//!
//! **Proof.** Let the figure be `g(r)` for parts `r_i = N_i/D_i`, numerators and denominators linear (`D_i = 1` for a linear part), and let
//! `n_i`, `d_i` be their errors. Two things hold together but with the probability that may be left out:
//! * Roughly: every `r_i` is in its own interval and every `D_i` in its own.
//! * The linear figure `S = Σ_i g_i(r)/D_i · (n_i − r_i d_i) = Σ_k c_k K_k` is at most h(c). Nobody knows the coefficients c of the noises K, but roughly:
//!   `|c_k| ≤ C_k`. As h grows with every `|c_k|`, it is taken of C.
//!
//! **What h is.** All noises ([`NoiseLaw`](crate::law::NoiseLaw)) are symmetric around 0 and fall from there, and so are sums of them. If they had densities, a larger
//! coefficient would make `|Σ c_k K_k|` no more likely to be at most x, whatever x (Birnbaum 1948), so h would be the half-width of a law. Whole numbers have
//! none: `X + Y` is 0 more often than `X/2 + Y`. Let U_k be uniform on (−1/2, 1/2) for every K_k that is a whole number, and 0 for the others. Then `K_k + U_k`
//! has a density that is symmetric and falls from 0. From `E e^{sU} ≤ e^{s²/24}` the probability of `|Σ c_k U_k| > t(c) = √(ln(2/δ)/6 · Σ c_k²)` is at most δ. It is
//! paid twice: from `Σ C_k K_k` to the sum with U, where coefficients may be lowered, and from there back to `Σ c_k K_k`. So `h(C) = q(C) + 2t(C)`, where q is the
//! half-width of the law of `Σ C_k K_k`. Where noise is few steps wide, less may be Chernoff's bound, the least of `(ln(2/τ) + Σ ln E e^{s C_k K_k})/s`: it grows with every coefficient, too,
//! because `E e^{sK}` grows with `|s|`.
//!
//! The estimate is `r̂_i = N̂_i/D̂_i`, so `r̂_i − r_i = (n_i − r_i d_i)/D̂_i`, and by the mean value theorem
//! `g(r̂) − g(r) = Σ_i g_i(ξ) (r̂_i − r_i)` for a ξ between them. So `|g(r̂) − g(r) − S| ≤ Σ_i |g_i(ξ) − g_i(r) D̂_i/D_i| · |r̂_i − r_i|`, of which
//! everything is roughly known. ∎ The first part is the delta method's interval; the second, which is small where relative errors are, makes it
//! safe where they are not.

use super::{Answered, Basis, ErrorOf, Figure, Pairs, dot};
use crate::answer::tell::Told;
use crate::joint::{How, JointLaw};
use crate::law::{Interval, LawError};
use crate::render::ResultFigure;
use crate::sql::{Aggregate, Formula, Operation, root};

/// Of the probability that may be left out so much pays for knowing roughly where the parts are.
const ROUGHLY: f64 = 0.05;

/// So much pays for the steps of noises that are whole numbers: the narrowest at about five for a standard deviation.
const STEPS: f64 = 0.05;

/// What floating point may have added to a part, of its size: beside hardly any noise nothing else is left of a variance of equal values.
const ROUNDED: f64 = 16.0 * f64::EPSILON;

/// A figure made of linear figures and ratios.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curved {
    steps: Vec<Operation>,
    parts: Vec<Figure>,
}

impl Curved {
    pub(super) fn new(formula: &Formula, aggregates: &[Aggregate]) -> Curved {
        let parts = formula.parts.iter().map(|(n, d)| Figure::from_parts(n.clone(), d.clone(), aggregates));
        Curved { steps: formula.steps.clone(), parts: parts.collect() }
    }

    /// Whether any of these aggregates is part of it.
    pub(super) fn rests_on(&self, aggregates: &[usize]) -> bool {
        self.parts.iter().any(|part| part.rests_on(aggregates))
    }

    /// The figure of given values of the aggregates.
    pub(super) fn value(&self, aggregates: &[f64]) -> f64 {
        self.value_of(&self.steps, aggregates)
    }

    fn value_of(&self, steps: &[Operation], aggregates: &[f64]) -> f64 {
        let parts: Vec<f64> = self.parts.iter().map(|p| p.value(aggregates)).collect();
        Operation::value(steps, &parts)
    }

    /// The weight of each aggregate in the error, by the delta method.
    pub(super) fn slopes(&self, aggregates: &[f64]) -> Vec<f64> {
        self.slopes_of(&self.steps, aggregates)
    }

    fn slopes_of(&self, steps: &[Operation], aggregates: &[f64]) -> Vec<f64> {
        let points: Vec<Span> = self.parts.iter().map(|p| Span::point(p.value(aggregates))).collect();
        let mut out = vec![0.0; aggregates.len()];
        let Some(grown) = grow(steps, &points) else { return out };
        for (part, slope) in self.parts.iter().zip(&grown.slopes) {
            let own = part.slopes_at(aggregates);
            out.iter_mut().zip(own).for_each(|(out, own)| *out += slope.low * own);
        }
        out
    }

    /// The figure from what is told of a row.
    pub(super) fn answer(&self, told: &Told, how: &How) -> Result<Answered, LawError> {
        self.answer_of(&self.steps, told, how)
    }

    fn answer_of(&self, steps: &[Operation], told: &Told, how: &How) -> Result<Answered, LawError> {
        // A root grows with what it is of: its interval is from the root of one end to that of the other, also where that may be 0.
        if let [inner @ .., Operation::Root] = steps {
            let of = self.answer_of(inner, told, how)?;
            let (estimate, Span { low, high }) = (root(of.estimate), Span::new(of.low, of.high).root());
            // By the delta method; where it is about 0 there is none, but of what is exact.
            let std_error = match estimate > 0.0 {
                true => of.std_error / (2.0 * estimate),
                false if of.std_error == 0.0 && of.low == of.high => 0.0,
                false => f64::NAN,
            };
            return Ok(Answered { estimate, std_error, low, high, ..of });
        }
        let estimate = self.value_of(steps, &told.estimates);
        let slopes = self.slopes_of(steps, &told.estimates);
        let std_error = libm::sqrt(told.law.covariance(&slopes, &slopes)).abs();
        let answered = |low, high, basis| {
            Answered::new(ResultFigure { estimate, std_error, low, high }, basis, ErrorOf::Rows(Vec::new()))
        };
        let parts = match self.rough(told, how)? {
            // Of certainly no units: NULL, as in SQL.
            Rough::Null => {
                return Ok(Answered::new(ResultFigure::NULL, Basis::Curved, ErrorOf::Rows(Vec::new())));
            }
            Rough::Unbounded => None,
            Rough::Known(parts) => Some(parts),
        };
        let spans = parts.as_ref().map(|parts| parts.iter().map(|p| p.ratio).collect::<Vec<_>>());
        let grown = spans.and_then(|spans| grow(steps, &spans));
        let (Some(parts), Some(grown)) = (parts, grown) else {
            return Ok(answered(f64::NEG_INFINITY, f64::INFINITY, Basis::Unbounded));
        };
        let noisy = self.half_width(told, how, &parts, &grown.slopes)?;
        let rounding = parts.iter().zip(&grown.slopes);
        let rounded: f64 = rounding.map(|(p, slope)| ROUNDED * slope.most() * p.estimate.abs()).sum();
        if noisy == 0.0 && std_error == 0.0 {
            // Nothing but rounding: what is no more than that is 0, as a variance of equal values is.
            let exact = if estimate.abs() <= rounded { 0.0 } else { estimate };
            return Ok(Answered { estimate: exact, ..answered(exact, exact, Basis::Curved) });
        }
        let half = noisy + rounded;
        // Where all parts are roughly known, so is the figure.
        let (low, high) = (grown.value.low - rounded, grown.value.high + rounded);
        let (low, high) = ((estimate - half).max(low), (estimate + half).min(high));
        Ok(answered(low.min(estimate), high.max(estimate), Basis::Curved))
    }

    /// Where the parts and their denominators roughly are.
    fn rough(&self, told: &Told, how: &How) -> Result<Rough, LawError> {
        let statements = self.parts.iter().map(|p| if p.denominator.is_some() { 2.0 } else { 1.0 });
        let each = ROUGHLY * (1.0 - how.level) / statements.sum::<f64>();
        let how = How { level: 1.0 - each, interval: Interval::EqualTailed, ..*how };
        let mut out = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let Some(_) = part.denominator else {
                let own = part.best(told, &how)?;
                let ratio = Span::new(own.low.min(own.estimate), own.high.max(own.estimate));
                out.push(Part {
                    estimate: own.estimate,
                    ratio,
                    below: Span::point(1.0),
                    times: Span::point(1.0),
                });
                continue;
            };
            let made = part.part(0, told, &mut Pairs::default());
            let own = made.ratio(&how)?;
            if own.estimate.is_nan() {
                return Ok(Rough::Null);
            }
            let reach = made.law.solve(&[0.0, 1.0], &how)?;
            let below = Span::new(made.denominator - reach.high, made.denominator - reach.low);
            let (Some(inverse), true) = (below.inverse(), own.low.is_finite() && own.high.is_finite()) else {
                return Ok(Rough::Unbounded);
            };
            let times = inverse.times(Span::point(made.denominator));
            out.push(Part { estimate: own.estimate, ratio: Span::new(own.low, own.high), below, times });
        }
        Ok(Rough::Known(out))
    }

    /// Half of the interval but for rounding: of the linear figure, and of what it leaves.
    fn half_width(&self, told: &Told, how: &How, parts: &[Part], slopes: &[Span]) -> Result<f64, LawError> {
        let width = told.estimates.len();
        let weights: Vec<Vec<Vec<f64>>> = self.parts.iter().map(|p| p.weights(width)).collect();
        // How far the figure moves with what is told of an aggregate, or with a noise in several of them.
        let most = |of: &[f64]| {
            let each = parts.iter().zip(slopes).zip(&weights);
            let moved = each.map(|((part, slope), weights)| {
                let moved = |at: usize| Span::point(weights.get(at).map_or(0.0, |w| dot(w, of)));
                let error = moved(0).minus(part.ratio.times(moved(1)));
                part.below.inverse().map_or(Span::ALL, |below| slope.times(below).times(error))
            });
            moved.fold(Span::point(0.0), Span::plus).most()
        };
        let noises = told.law.noises().map(|(noise, of)| (*noise, vec![most(of)])).collect();
        let slack = (0..width).map(|at| {
            let mut one = vec![0.0; width];
            one[at] = 1.0;
            match told.law.slack_of(at) {
                0.0 => 0.0,
                slack => slack * most(&one),
            }
        });
        let linear = reach(&JointLaw::new(1, noises).with_slack(vec![slack.sum()]), how)?;
        let left = parts.iter().zip(slopes).map(|(part, slope)| {
            let moved = Span::new(part.ratio.low - part.estimate, part.ratio.high - part.estimate).most();
            slope.minus(slope.times(part.times)).most() * moved
        });
        Ok(linear + left.sum::<f64>())
    }
}

/// What a sum of noises, each with at most this coefficient, reaches at most; but for the rough knowledge's share of what may be left out.
fn reach(largest: &JointLaw, how: &How) -> Result<f64, LawError> {
    let left_out = 1.0 - how.level;
    let but_for = |share: f64| 1.0 - (1.0 - share) * left_out;
    let how = How { level: but_for(ROUGHLY + STEPS), interval: Interval::EqualTailed, ..*how };
    let solved = largest.solve(&[1.0], &how)?;
    let whole = largest.noises().filter(|(noise, _)| noise.law.is_discrete());
    let squares = whole.map(|(noise, of)| noise.copies as f64 * of.iter().map(|c| c * c).sum::<f64>());
    let each = 0.5 * STEPS * left_out;
    let steps = libm::sqrt(libm::log(2.0 / each) / 6.0 * squares.sum::<f64>());
    let by_tilt = solved.law.half_width_bound(but_for(ROUGHLY)) + largest.slack_of(0);
    Ok(by_tilt.min(solved.high.max(-solved.low) + 2.0 * steps))
}

/// What is roughly known of the parts.
enum Rough {
    Null,
    Unbounded,
    Known(Vec<Part>),
}

/// What is roughly known of one part.
struct Part {
    estimate: f64,
    ratio: Span,
    /// The denominator.
    below: Span,
    /// Its estimate over itself.
    times: Span,
}

/// All numbers between two.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    low: f64,
    high: f64,
}

impl Span {
    const ALL: Span = Span { low: f64::NEG_INFINITY, high: f64::INFINITY };

    fn new(low: f64, high: f64) -> Span {
        Span { low, high }
    }

    fn point(x: f64) -> Span {
        Span::new(x, x)
    }

    fn plus(self, other: Span) -> Span {
        Span::new(self.low + other.low, self.high + other.high)
    }

    fn minus(self, other: Span) -> Span {
        Span::new(self.low - other.high, self.high - other.low)
    }

    fn times(self, other: Span) -> Span {
        let ends =
            [self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high];
        Span::new(
            ends.into_iter().fold(f64::INFINITY, f64::min),
            ends.into_iter().fold(f64::NEG_INFINITY, f64::max),
        )
    }

    /// `None` where it holds 0, or what is not a number.
    fn inverse(self) -> Option<Span> {
        (self.low > 0.0 || self.high < 0.0).then(|| Span::new(1.0 / self.high, 1.0 / self.low))
    }

    /// Of all that is not below 0.
    fn root(self) -> Span {
        Span::new(root(self.low), root(self.high))
    }

    /// The largest absolute value.
    fn most(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }
}

/// Where an expression is, and how fast it changes with each part.
struct Grown {
    value: Span,
    slopes: Vec<Span>,
}

/// Over all values of the parts; `None` where it may be divided by 0.
fn grow(steps: &[Operation], parts: &[Span]) -> Option<Grown> {
    let zip = |a: &Grown, b: &Grown, f: &dyn Fn(Span, Span) -> Span| -> Vec<Span> {
        a.slopes.iter().zip(&b.slopes).map(|(&a, &b)| f(a, b)).collect()
    };
    let each = |a: &Grown, f: &dyn Fn(Span) -> Span| a.slopes.iter().map(|&s| f(s)).collect();
    let zero = || vec![Span::point(0.0); parts.len()];
    let of = |step, before: &[Grown]| {
        let (value, slopes) = match (step, before) {
            (Operation::Number(value), _) => (Span::point(value), zero()),
            (Operation::Part(at), _) => {
                let mut slopes = zero();
                *slopes.get_mut(at)? = Span::point(1.0);
                (*parts.get(at)?, slopes)
            }
            (Operation::Neg, [a]) => {
                let turned = |s: Span| Span::new(-s.high, -s.low);
                (turned(a.value), each(a, &turned))
            }
            (Operation::Root, [a]) => {
                let value = a.value.root();
                let below = value.times(Span::point(2.0)).inverse()?;
                (value, each(a, &|s| s.times(below)))
            }
            (Operation::Add, [a, b]) => (a.value.plus(b.value), zip(a, b, &Span::plus)),
            (Operation::Sub, [a, b]) => (a.value.minus(b.value), zip(a, b, &Span::minus)),
            (Operation::Mul, [a, b]) => {
                let slopes = zip(a, b, &|x, y| x.times(b.value).plus(y.times(a.value)));
                (a.value.times(b.value), slopes)
            }
            (Operation::Div, [a, b]) => {
                let below = b.value.inverse()?;
                let value = a.value.times(below);
                (value, zip(a, b, &|x, y| x.minus(y.times(value)).times(below)))
            }
            _ => return None,
        };
        Some(Grown { value, slopes })
    };
    Operation::follow(steps, of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::Noise;
    use crate::law::{Method, NoiseLaw};
    use crate::numeric::tries::tries;
    use crate::sql::Expr;
    use std::sync::Arc;

    fn e(at: usize) -> Box<Expr> {
        Box::new(Expr::Aggregate(at))
    }

    fn div(a: usize, b: usize) -> Box<Expr> {
        Box::new(Expr::Div(e(a), e(b)))
    }

    /// Means of two groups, their difference, ratio and product, a variance: covered at least as often as said, and hardly more often where relative errors are
    /// small and noise is large.
    #[test]
    fn intervals_cover() {
        let draws = tries(8, 100);
        let noise = |measurement, law| Noise { release: 0, measurement, copies: 1, law };
        let aggregates = vec![Aggregate::rows(crate::cube::Filter::everything(), None); 4];
        let square = Box::new(Expr::Mul(div(0, 1), div(0, 1)));
        let figures = [
            Expr::Sub(div(0, 1), div(2, 3)),
            Expr::Div(div(0, 1), div(2, 3)),
            Expr::Mul(div(0, 1), div(2, 3)),
            Expr::Sub(div(2, 1), square),
        ];
        let how = How { level: 0.9, method: Method::Auto, interval: Interval::EqualTailed };
        let mut random = 1u64;
        let mut bounded = [0usize; 2];
        for (size, truth) in [[9e4, 4e4, 4e5, 3.8e4], [60.0, 40.0, 300.0, 30.0]].into_iter().enumerate() {
            // Normal errors would be 1.645 standard errors to each side.
            for (law, widest) in [
                (NoiseLaw::Gaussian { variance: 9.0 }, 1.8),
                (NoiseLaw::DiscreteLaplace { scale: 3.0 }, 2.4),
                (NoiseLaw::DiscreteLaplace { scale: 0.7 }, 4.0),
            ] {
                // The first noise is in both groups.
                let rows: [[f64; 4]; 5] = [
                    [1.0, 0.0, 1.0, 0.0],
                    [2.0, 0.0, 0.0, 0.0],
                    [0.5, 1.0, 0.0, 0.0],
                    [0.0, 0.0, 3.0, 0.0],
                    [0.0, 0.0, 0.0, 1.0],
                ];
                let noises = rows.iter().enumerate().map(|(i, r)| (noise(i, law), r.to_vec())).collect();
                let joint = Arc::new(JointLaw::new(4, noises));
                for (at, expr) in figures.iter().enumerate() {
                    let figure = Curved::new(&expr.formula(), &aggregates);
                    let (want, mut covered, mut wide) = (expr.evaluate(&truth), 0usize, 0.0);
                    for _ in 0..draws {
                        let mut estimates = truth.to_vec();
                        for row in &rows {
                            let draw = drawn(law, &mut random);
                            estimates.iter_mut().zip(row).for_each(|(e, r)| *e += r * draw);
                        }
                        let told = Told {
                            nodes: Vec::new(),
                            estimates,
                            law: joint.clone(),
                            others: Vec::new(),
                            each: true,
                        };
                        let a = figure.answer(&told, &how).unwrap();
                        covered += usize::from(a.low <= want && want <= a.high);
                        if a.high.is_finite() {
                            wide += (a.high - a.low) / (2.0 * a.std_error) / draws as f64;
                            bounded[size] += 1;
                        }
                    }
                    let rate = covered as f64 / draws as f64;
                    let least = 0.9 - 5.0 * libm::sqrt(0.09 / draws as f64);
                    assert!(rate >= least, "{size} {law:?} {at}: covered {rate}");
                    assert!(size > 0 || wide < widest, "{law:?} {at}: {wide}");
                }
            }
        }
        assert_eq!(bounded[0], 12 * draws);
    }

    /// Sums of whole numbers whose coefficients are no larger than those known are covered, counted out; the half-width of the known ones' law alone does not.
    #[test]
    fn whole_numbers_of_smaller_coefficients_are_reached() {
        let scale = 0.8;
        let q = libm::exp(-1.0 / scale);
        let p = |k: i32| (1.0 - q) / (1.0 + q) * libm::pow(q, f64::from(k.abs()));
        let within = |c: [f64; 2], x: f64| -> f64 {
            let pairs = (-40..=40).flat_map(|i| (-40..=40).map(move |j| (i, j)));
            let inside =
                pairs.filter(|&(i, j)| (c[0] * f64::from(i) + c[1] * f64::from(j)).abs() <= x + 1e-12);
            inside.map(|(i, j)| p(i) * p(j)).sum()
        };
        let noise = |measurement| Noise {
            release: 0,
            measurement,
            copies: 1,
            law: NoiseLaw::DiscreteLaplace { scale },
        };
        let largest = JointLaw::new(1, vec![(noise(0), vec![1.0]), (noise(1), vec![1.0])]);
        let mut short = 0;
        for most in 0..6 {
            let level = within([1.0, 1.0], f64::from(most)) - 1e-9;
            let how = How { level, method: Method::Auto, interval: Interval::EqualTailed };
            let alone = largest.solve(&[1.0], &how).unwrap().high;
            let x = reach(&largest, &how).unwrap();
            for c in [[1.0, 1.0], [0.99, 1.0], [0.75, 1.0], [0.5, 1.0], [0.9, 0.8], [0.3, 0.1], [0.0, 1.0]] {
                assert!(within(c, x) >= level, "{c:?} {level}: {x}");
                short += usize::from(within(c, alone) < level);
            }
        }
        assert!(short > 5, "{short}");
    }

    /// Two copies of a noise reach as far as two noises, and what nobody knows beside the noise is added.
    #[test]
    fn copies_and_what_is_off_are_reached() {
        let law = NoiseLaw::DiscreteGaussian { variance: 2.0 };
        let noise = |measurement, copies| (Noise { release: 0, measurement, copies, law }, vec![1.5]);
        let how = How { level: 0.95, method: Method::Auto, interval: Interval::EqualTailed };
        let of = |noises, slack| reach(&JointLaw::new(1, noises).with_slack(vec![slack]), &how).unwrap();
        let (one, two) = (of(vec![noise(0, 2)], 0.0), of(vec![noise(0, 1), noise(1, 1)], 0.0));
        assert!((one - two).abs() < 1e-9, "{one} {two}");
        assert!((of(vec![noise(0, 2)], 0.25) - one - 0.25).abs() < 1e-9);
    }

    fn drawn(law: NoiseLaw, random: &mut u64) -> f64 {
        // SplitMix64.
        let mut uniform = || {
            *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (*random ^ (*random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        };
        match law {
            NoiseLaw::Gaussian { variance } => {
                let (u, v) = (uniform(), uniform());
                libm::sqrt(-2.0 * variance * libm::log(u)) * libm::cos(std::f64::consts::TAU * v)
            }
            NoiseLaw::DiscreteLaplace { scale } => {
                // The difference of two geometric numbers.
                let mut one = || libm::floor(-libm::log(uniform()) * scale);
                one() - one()
            }
            other => panic!("{other:?}"),
        }
    }

    /// The variance of numbers without noise: of equal ones 0 and no trace of rounding, exactly, and of nobody's none.
    #[test]
    fn exact_variances_of_equal_numbers_are_nothing() {
        let over = |a: Expr, b: Expr| Box::new(Expr::Div(Box::new(a), Box::new(b)));
        let how = How { level: 0.95, method: Method::Auto, interval: Interval::EqualTailed };
        let aggregates = vec![Aggregate::rows(crate::cube::Filter::everything(), None); 3];
        let below = Expr::Sub(e(0), Box::new(Expr::Number(1.0)));
        let square = Expr::Mul(over(Expr::Aggregate(1), below.clone()), div(1, 0));
        let variance = Expr::Sub(over(Expr::Aggregate(2), below), Box::new(square));
        let figures = [variance.clone(), Expr::Root(Box::new(variance))];
        let answer = |at: usize, estimates: [f64; 3]| {
            let figure = Curved::new(&figures[at].formula(), &aggregates);
            let law = Arc::new(JointLaw::new(3, Vec::new()));
            let estimates = estimates.to_vec();
            let told = Told { nodes: Vec::new(), estimates, law, others: Vec::new(), each: true };
            let a = figure.answer(&told, &how).unwrap();
            [a.estimate, a.std_error, a.low, a.high]
        };
        let mut traces = 0;
        for n in 2..200 {
            let (n, t) = (f64::from(n), 0.1 + f64::from(n) / 7.0);
            let equal = [n, n * t, n * t * t];
            traces += u32::from(figures[0].evaluate(&equal) != 0.0);
            for at in [0, 1] {
                assert_eq!(answer(at, equal), [0.0; 4], "{n} {at}");
                assert!(answer(at, [n, n * t, n * t * t + 0.01])[0] > 0.0);
                for few in [[0.0; 3], [1.0, t, t * t]] {
                    assert!(answer(at, few).iter().all(|x| x.is_nan()), "{n} {at}");
                }
            }
        }
        assert!(traces > 20, "{traces}");
    }

    /// A denominator that may be 0 bounds nothing.
    #[test]
    fn nothing_is_said_of_what_may_be_divided_by_zero() {
        let law = NoiseLaw::Gaussian { variance: 25.0 };
        let noises = (0..4).map(|i| {
            let mut own = vec![0.0; 4];
            own[i] = 1.0;
            (Noise { release: 0, measurement: i, copies: 1, law }, own)
        });
        let law = Arc::new(JointLaw::new(4, noises.collect()));
        let told = Told {
            nodes: Vec::new(),
            estimates: vec![50.0, 9.0, 50.0, 100.0],
            law,
            others: Vec::new(),
            each: true,
        };
        let aggregates = vec![Aggregate::rows(crate::cube::Filter::everything(), None); 4];
        let figure = Curved::new(&Expr::Sub(div(0, 1), div(2, 3)).formula(), &aggregates);
        let how = How { level: 0.95, method: Method::Auto, interval: Interval::EqualTailed };
        let a = figure.answer(&told, &how).unwrap();
        assert_eq!((a.low, a.high, a.basis), (f64::NEG_INFINITY, f64::INFINITY, Basis::Unbounded));
    }
}
