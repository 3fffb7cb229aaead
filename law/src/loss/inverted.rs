//! δ by inversion, from above for certain.
//!
//! With `x = ε − ρ` and `M(z) = E e^{zS}`, for every θ > 0
//!
//! ```text
//! δ = 1/2π ∫ F(t) dt,   F(t) = M(θ + it) e^{−(θ+it)x} / ((θ + it)(θ + 1 + it)),
//! ```
//!
//! since the transform of `(1 − e^{−s})₊` is `1/z(z+1)`. It falls with t² where M does not fall at all, so lattices do no harm.
//!
//! **Sampling.** Adding up at distances h = 2π/T is, by Poisson's formula, `Σ_k δ(x + kT) e^{θkT}` in place of δ(x), where δ(·) is at other x:
//! nothing of that is negative. So the sum is never below, whatever h. Above it is by at most `Σ e^{−θkT}` on one side, as δ ≤ 1, and
//! on the other by Chernoff's bound, the noise being no more than Gaussian in its generating function (`M(z) ≤ e^{ρz²}`).
//!
//! **The end of the sum.** `|M(θ + it)| ≤ M(θ)`, so what is left out beyond U is at most `M(θ)e^{−θx}/πU`; where noises are wide, far less ([`Turns`]): the tilted
//! noise is a discrete Gaussian around another middle, and by Poisson's formula at most `e^{−s²q²/2}` up to `2e^{−π²s²}`, q the angle to the
//! nearest turn, but at most a quarter of one. It is added.
//!
//! **Rounding.** An exponent is a sum of products, each term with a relative error of a few units in the last place, their number
//! N: [`UNIT`]·(N + 64) of its size is twice that. Noises seen turned by many radians have that angle's error too. Adding up n values adds an eighth of [`UNIT`]·n of their
//! sizes. It is added.

use super::{Delta, Loss, Part, bounded};
use std::f64::consts::PI;

/// Four units in the last place.
const UNIT: f64 = 1.0 / (1u64 << 50) as f64;
/// Noise with less than this s² is summed directly; the lattice of more is `e^{−2π²s²}`, which is 5e-35.
const WIDE: f64 = 4.0;
/// A generating function below e to this power, of what it is at 0, counts as its own bound.
const NEGLIGIBLE: f64 = -60.0;
/// Of itself, what sampling may add.
const SAMPLED: f64 = 1e-9;
/// How many kinds of noises are tried for what is left out.
const MOST_TURNS: usize = 16;
/// Of noise with less than this s² the weights half a step away are lost: it hides nothing (ρ is above 512), and nothing is said of it.
pub(super) const FAINT: f64 = 1.0 / 1024.0;
/// So many values are added up within [`rounding`].
const FEW: f64 = 256.0;

/// So close, but after so many steps of work what is left out is left out.
pub(super) fn delta(loss: &Loss, epsilon: f64, work: usize, close: f64) -> Delta {
    if loss.parts.iter().any(|p| p.variance < FAINT) {
        return Delta::UNKNOWN;
    }
    let line = Line::new(loss, epsilon);
    let (sum, left) = line.sum(work, close);
    let amplitude = libm::exp(line.height);
    let sampled = line.sampled();
    bounded(amplitude * (sum + left), sampled + amplitude * 2.0 * left)
}

/// The line of integration, and the points on it.
struct Line<'a> {
    loss: &'a Loss,
    /// The noises that have no lattice to speak of, then each one's share of the spread up to it.
    wide: Vec<Part>,
    spreads: Vec<f64>,
    narrow: Vec<Narrow>,
    /// `ε − ρ`.
    x: f64,
    theta: f64,
    /// `ln M(θ) − θx`.
    height: f64,
    /// T.
    period: f64,
    turns: Vec<Turns>,
    /// Of exponents, the error at 0 and how it grows along the line.
    rounding: (f64, f64),
}

impl Line<'_> {
    fn new(loss: &Loss, epsilon: f64) -> Line<'_> {
        let x = epsilon - loss.rho();
        let (wide, few): (Vec<Part>, Vec<Part>) = loss.parts.iter().partition(|p| p.variance >= WIDE);
        let mut sum = loss.smooth;
        let spreads = wide
            .iter()
            .map(|p| {
                sum += p.spread();
                sum
            })
            .collect();
        // ln M(θ) = ρθ² + Σ ln Θ(vθ)/Θ(0).
        let lattice = |theta: f64| -> f64 {
            few.iter().map(|p| p.copies * libm::log(mass(p, p.by * theta) / mass(p, 0.0))).sum()
        };
        let smooth = |theta: f64| 0.5 * loss.spread * theta * theta - theta * x;
        let theta = lowest(
            |theta| smooth(theta) + lattice(theta) - libm::log(theta * (theta + 1.0)),
            least(loss.spread, x),
            few.is_empty(),
        );
        let height = smooth(theta) + lattice(theta);
        let rounding = rounding(loss, &few, epsilon, theta);
        let narrow = few.iter().map(|p| Narrow::new(*p, theta)).collect();
        let mut line =
            Line { loss, wide, spreads, narrow, x, theta, height, period: 0.0, turns: Vec::new(), rounding };
        // Of δ itself there is only a guess as yet: that the integrand is as wide as a normal law's.
        let guess =
            height - libm::log(theta + 1.0) - 0.5 * libm::log(1.0 + 2.0 * PI * loss.spread * theta * theta);
        let aim = guess + libm::log(SAMPLED);
        line.period = 1.0 / theta;
        while line.ln_sampled() > aim {
            line.period *= 1.125;
        }
        // The most copies of the widest noise, where they are turned by little from point to point.
        let mut most: Vec<&Part> = loss.parts.iter().collect();
        most.sort_by(|a, b| (b.copies * b.variance).total_cmp(&(a.copies * a.variance)));
        line.turns =
            most.iter().take(MOST_TURNS).filter_map(|p| Turns::new(p, 2.0 * PI / line.period)).collect();
        line
    }

    /// The logarithm of [`Line::sampled`].
    fn ln_sampled(&self) -> f64 {
        let (theta, period) = (self.theta, self.period);
        let low = -theta * period - libm::log(-libm::expm1(-theta * period));
        // Terms of the other side fall at least as fast as the first two do.
        let steeper = ((self.x + period) / self.loss.spread).max(theta);
        let fall = (theta - steeper) * period;
        let first = 0.5 * self.loss.spread * steeper * steeper - steeper * self.x + fall;
        let high = if fall < 0.0 { first - libm::log(-libm::expm1(fall)) } else { f64::INFINITY };
        low.max(high) + libm::log1p(libm::exp(-(low - high).abs()))
    }

    /// The most that sampling adds.
    fn sampled(&self) -> f64 {
        libm::exp(self.ln_sampled())
    }

    /// `h/2π Σ F` over `M(θ)e^{−θx}`, and a bound on what is not in it: the end and all roundings.
    fn sum(&self, most: usize, close: f64) -> (f64, f64) {
        let h = 2.0 * PI / self.period;
        let first = 1.0 / (self.theta * (self.theta + 1.0));
        let (mut sum, mut left) = (0.5 * first, self.rounding.0 * 0.5 * first);
        let (mut work, mut check, mut at) = (0, 1, 0.0);
        let (mut sizes, mut values) = (sum, 0.0);
        loop {
            at += 1.0;
            let t = at * h;
            let (re, im, seen, error) = self.exponent(t);
            work += seen + 1;
            let (a, b) = (self.theta, self.theta + 1.0);
            let size = libm::exp(re) / libm::sqrt((a * a + t * t) * (b * b + t * t));
            if re > NEGLIGIBLE {
                let phase = im - libm::atan2(t, a) - libm::atan2(t, b);
                sum += size * libm::cos(phase);
                (sizes, values) = (sizes + size, values + 1.0);
                left += size * (self.rounding.0 + self.rounding.1 * t + error);
            } else {
                left += size;
            }
            if work >= check {
                check = work + work / 4 + 1;
                let end = self.end(t) / h;
                if end < 0.1 * close * sum || work > most {
                    left += end;
                    break;
                }
            }
            // Where one kind of noise alone is nothing until it has almost turned once more, there is nothing to look at.
            if let Some(next) = self.turns.first().and_then(|turns| turns.nothing_until(t)) {
                left += libm::exp(NEGLIGIBLE) / t * (1.0 / t + 1.0 / h);
                at = libm::floor(next / h).max(at);
            }
        }
        if values > FEW {
            left += 0.125 * UNIT * (values - FEW) * sizes;
        }
        (sum * h / PI, left * h / PI)
    }

    /// `ln M(θ+it)/M(θ) − itx`: its real and imaginary part, how many noises were looked at, and the error of angles. Where
    /// it is negligible the real part is a bound.
    fn exponent(&self, t: f64) -> (f64, f64, usize, f64) {
        // Noises that are turned by less than a quarter are as good as continuous.
        let near = self.wide.partition_point(|p| p.step() * t <= 0.5 * PI);
        let spread = near.checked_sub(1).map_or(self.loss.smooth, |last| self.spreads[last]);
        let (mut re, mut im, mut error, mut seen) =
            (-0.5 * spread * t * t, self.theta * t * spread - t * self.x, 0.0, 0);
        for p in &self.wide[near..] {
            if re < NEGLIGIBLE {
                return (re, im, seen, error);
            }
            seen += 1;
            let angle = p.step() * t;
            let r = angle - 2.0 * PI * libm::round(angle / (2.0 * PI));
            let middle = p.by * self.theta;
            // The neighbouring turns: e^{−s²(2π² ∓ 2πr)} e^{∓2πi·middle}.
            let turn = 2.0 * PI * (middle - libm::round(middle));
            let (sin, cos) = libm::sincos(turn);
            let up = libm::exp(-2.0 * PI * p.variance * (PI - r));
            let down = libm::exp(-2.0 * PI * p.variance * (PI + r));
            let (a, b) = (1.0 + (up + down) * cos, (down - up) * sin);
            // Where the two nearest turns all but cancel, what is left of them is not known well.
            let size = libm::sqrt(a * a + b * b).max(UNIT);
            re += p.copies * (libm::log(size) - 0.5 * p.variance * r * r);
            im += p.copies * (libm::atan2(b, a) + middle * r);
            let slope = p.copies * (middle + 1.0) + libm::sqrt(-2.0 * NEGLIGIBLE * p.copies * p.variance);
            error += UNIT * (angle * (slope + 128.0) + 64.0 * p.copies) / size;
        }
        for p in &self.narrow {
            if re < NEGLIGIBLE {
                break;
            }
            seen += p.weights.len();
            let (size, phase) = p.at(t);
            re += p.part.copies * libm::log(size);
            im += p.part.copies * phase;
            let terms = 64.0 + p.part.step() * t * p.weights.len() as f64;
            error += UNIT * p.part.copies * (terms / size + p.part.step() * t * p.middle);
        }
        (re, im, seen, error)
    }

    /// No less than `hΣ |F|` over the points beyond t, over `M(θ)e^{−θx}`.
    fn end(&self, t: f64) -> f64 {
        let (mut from, mut sum, mut least) = (t, 0.0, f64::INFINITY);
        for _ in 0..60 {
            least =
                self.turns.iter().map(|p| p.beyond(from)).fold(1.0 / from, f64::min).min(least - sum) + sum;
            // From `from` to twice that, where the noises turned by less than a quarter at the end bring it down.
            let near = self.wide.partition_point(|p| 2.0 * p.step() * from <= 0.5 * PI);
            let spread = near.checked_sub(1).map_or(self.loss.smooth, |last| self.spreads[last]);
            sum += libm::exp((-0.5 * spread * from * from).max(NEGLIGIBLE)) / (2.0 * from);
            from *= 2.0;
        }
        // Its own rounding, and what the neighbouring turns add.
        least * (1.001 + self.rounding.0)
    }
}

/// What noises of one kind bring a sum over many turns down to.
///
/// Over a turn, P of t, `e^{−ns²q²/2}` rises once and falls once: its values at distances h add up to no more than twice the highest and the integral over h.
/// A turn that begins at t or later counts `1/t²` of that, and turns from t on `1/t² + 1/Pt`.
struct Turns {
    period: f64,
    /// So far from where it has turned once more it is [`NEGLIGIBLE`].
    width: f64,
    /// What it is at most in the middle half of a turn.
    middle: f64,
    /// h times a turn's values.
    all: f64,
    h: f64,
}

impl Turns {
    /// `None` where it says nothing.
    fn new(p: &Part, h: f64) -> Option<Turns> {
        let narrow = p.copies * p.variance;
        let turns = 1.0 + 3.0 * p.copies * libm::exp(-PI * PI * p.variance);
        if p.variance < 1.0 || turns > 1.001 {
            return None;
        }
        let period = 2.0 * PI / p.step();
        let peak = libm::sqrt(2.0 * PI / narrow) / p.step();
        let middle = libm::exp(-0.125 * PI * PI * narrow);
        let width = libm::sqrt(-2.0 * NEGLIGIBLE / narrow) / p.step() * 1.001;
        Some(Turns {
            period,
            width,
            middle: turns * middle,
            all: turns * (2.0 * h + peak + period * middle),
            h,
        })
    }

    /// No less than h times the sum of `|F|` beyond t.
    fn beyond(&self, t: f64) -> f64 {
        let all = |t: f64| self.all * (1.0 / t + 1.0 / self.period) / t;
        let (first, last) = (0.25 * self.period, 0.75 * self.period);
        // The first turn is away from its ends for long.
        let apart = if t >= first && t < last {
            self.middle * (1.0 / t + self.h / (t * t)) + all(last)
        } else {
            f64::INFINITY
        };
        all(t).min(apart)
    }

    /// The next t, if it is further, where it may not be [`NEGLIGIBLE`].
    fn nothing_until(&self, t: f64) -> Option<f64> {
        let turn = libm::floor(t / self.period);
        let (begun, next) = (t - turn * self.period, (turn + 1.0) * self.period - self.width);
        (self.width < 0.25 * self.period && begun > self.width && next > t).then_some(next)
    }
}

/// The relative error of the exponents' roundings, and of noises taken as continuous: at 0, and for every unit along the line.
fn rounding(loss: &Loss, narrow: &[Part], epsilon: f64, theta: f64) -> (f64, f64) {
    let terms = 64.0 + loss.parts.len() as f64;
    let spread = loss.spread;
    let size = 1.0 + theta * (epsilon.abs() + spread) + spread * theta * theta;
    let far = |p: &Part| p.copies * (1.0 + p.by * p.by * theta * theta / p.variance);
    let narrow: f64 = narrow.iter().map(far).sum();
    let turns: f64 =
        loss.parts.iter().map(|p| 4.0 * p.copies * libm::exp(-PI * PI * p.variance.max(WIDE))).sum();
    let along = spread * theta + epsilon.abs() + spread;
    (UNIT * (terms * size + 64.0 * narrow) + turns, UNIT * terms * along)
}

/// `Σ_k e^{−(k−middle)²/2s²}`.
fn mass(p: &Part, middle: f64) -> f64 {
    weights(p.variance, middle - libm::round(middle)).iter().sum()
}

/// The weights around a middle between −½ and ½, the first at [`reach`] below 0.
fn weights(variance: f64, middle: f64) -> Vec<f64> {
    let reach = reach(variance);
    (-reach..=reach)
        .map(|k| libm::exp(-(f64::from(k) - middle) * (f64::from(k) - middle) / (2.0 * variance)))
        .collect()
}

/// Beyond it there is less than 1e-20 of a noise.
fn reach(variance: f64) -> i32 {
    libm::ceil(10.0 * libm::sqrt(variance)) as i32 + 1
}

/// Narrow noise, tilted: a discrete Gaussian around another middle.
struct Narrow {
    part: Part,
    /// The middle `vθ`.
    middle: f64,
    /// The nearest whole number to it.
    nearest: f64,
    weights: Vec<f64>,
    total: f64,
}

impl Narrow {
    fn new(part: Part, theta: f64) -> Narrow {
        let middle = part.by * theta;
        let nearest = libm::round(middle);
        let weights = weights(part.variance, middle - nearest);
        let total = weights.iter().sum();
        Narrow { part, middle, nearest, weights, total }
    }

    /// `E e^{itz}` of one of them: size and angle.
    fn at(&self, t: f64) -> (f64, f64) {
        let angle = self.part.step() * t;
        let reach = (self.weights.len() / 2) as f64;
        let (mut re, mut im) = (0.0, 0.0);
        for (k, w) in self.weights.iter().enumerate() {
            let (sin, cos) = libm::sincos(angle * (k as f64 - reach));
            re += w * cos;
            im += w * sin;
        }
        // Where it is nothing but rounding it is no more than that.
        let size = (libm::sqrt(re * re + im * im) / self.total).max(UNIT);
        (size, libm::atan2(im, re) + angle * self.nearest)
    }
}

/// Where `spread·θ²/2 − θx − ln θ(θ+1)` is least: where its slope, which rises, is 0.
fn least(spread: f64, x: f64) -> f64 {
    let slope = |theta: f64| spread * theta - x - 1.0 / theta - 1.0 / (theta + 1.0);
    let (mut low, mut high) = (0.0, 1.0);
    while slope(high) < 0.0 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if slope(middle) < 0.0 { low = middle } else { high = middle }
    }
    high
}

/// Near the least of a convex function, from a first guess: any θ > 0 proves, a good one has least to add up. The guess itself where it is
/// exact.
fn lowest(f: impl Fn(f64) -> f64, guess: f64, exact: bool) -> f64 {
    if exact {
        return guess;
    }
    // In ln θ, by thirds.
    let (mut low, mut high) = (libm::log(guess) - 1.0, libm::log(guess) + 3.0);
    for _ in 0..30 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if f(libm::exp(a)) < f(libm::exp(b)) { high = b } else { low = a }
    }
    libm::exp(0.5 * (low + high))
}
