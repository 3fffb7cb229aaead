//! Tail probabilities from the moment generating function, by the trapezoid rule on a tilted line.
//!
//! With `K = ln M`, for any `0 < c` below the first pole and any `x`,
//! `P(E > x) = (1/2π) ∫ M(c+it) e^{−(c+it)x} / (c+it) dt`. Near the saddle point of `K(c) − cx` the integrand has
//! the size of the answer, so a tail of 1e-10 comes out with as many digits as one of 0.1.
//!
//! * **Aliasing.** The trapezoid rule with step `2π/P` returns exactly
//!   `Σ_m e^{cmP} P(E > x + mP)`: the tail itself plus terms that are all *positive*, so the error is on the safe
//!   side. For m < 0 they add up to at most `e^{−cP}/(1 − e^{−cP})`; for m > 0 each is at most
//!   `e^{K(c') − c'x − m(c'−c)P}` for every `c' > c` (Chernoff). `P` is chosen to make both less than 1e-11 of the tail.
//! * **Lattice.** On `hℤ` the integrand is periodic, `1/s` becomes `h/(2 sinh(sh/2))` at the midpoints
//!   between lattice points, and a finite sum over one period replaces the integral: nothing is truncated.
//! * **Truncation**, otherwise. On `t > T`, `|M(c+it)|` is at most its continuous factors, which fall faster than
//!   `(T/t)^ν`, so what is cut off is at most `|g(T)|/(πν)` of `e^{K(c)−cx}`. When no continuous factor does that,
//!   a small independent normal `G` of standard deviation r is added to E, whose own factor
//!   `e^{−r²t²/2}` does; see [`super::ErrorLaw::half_width`] for what that costs.
//! * **Windows.** A discrete factor is periodic and `|M_k(c+it)|` falls from 0 to half its period (both
//!   laws are products of factors `|1 + u e^{it}|²` or their inverses). So the `t` where it exceeds e^{−31} are windows
//!   around the multiples of `2π/a_k`; the sum jumps from one intersection of windows to the next.
//!   Everything jumped over is bounded and added to the tail.

use super::Group;
use super::complex::Complex;
use super::noise::Tilted;
use std::f64::consts::PI;

/// Factors below e^{−31} = 3e-14 are dropped, and accounted for.
const NEGLIGIBLE: f64 = -31.0;

/// Where the frequencies are.
#[derive(Clone, Copy)]
pub(super) enum Domain<'a> {
    /// The error is a multiple of `h`, its coefficients are these multiples of `h`.
    Lattice { h: f64, multiples: &'a [u64] },
    /// Anywhere; a normal of this standard deviation (possibly 0) is added, and what is cut off
    /// may be this fraction of the tail.
    Real { smoothing: f64, tolerance: f64 },
}

/// The nodes of the trapezoid rule for one tilt.
pub(super) struct Nodes {
    c: f64,
    /// `K(c)`, smoothing included.
    k: f64,
    period: f64,
    /// On a lattice: its spacing and the number of nodes in a period (odd).
    lattice: Option<(f64, u64)>,
    /// j, `M/M(c)` and the same times the tail's kernel.
    nodes: Vec<(u64, Complex, Complex)>,
    /// Bound on what is missing, as a multiple of `e^{K(c) − cx}`.
    slack: f64,
}

/// `K(c)` and `K'(c)` of the whole error.
pub(super) fn cumulant(groups: &[Group], c: f64) -> (f64, f64) {
    groups.iter().fold((0.0, 0.0), |(k, slope), g| {
        let (k1, s1) = g.noise.cumulant(c * g.coefficient);
        let n = g.copies as f64;
        (k + n * k1, slope + n * g.coefficient * s1)
    })
}

/// The supremum of the tilts for which `M` is finite.
pub(super) fn max_tilt(groups: &[Group]) -> f64 {
    groups.iter().map(|g| g.noise.max_tilt() / g.coefficient).fold(f64::INFINITY, f64::min)
}

/// The `c` where an increasing function of (c, K, K') passes `target`.
fn solve_tilt(groups: &[Group], scale: f64, target: f64, f: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let top = max_tilt(groups);
    let value = |c: f64| {
        let (k, slope) = cumulant(groups, c);
        let v = f(c, k, slope);
        if v.is_nan() { f64::INFINITY } else { v }
    };
    let (mut lo, mut hi) = (0.0, (1.0 / scale).min(top));
    while hi < top && value(hi) < target {
        lo = hi;
        hi = (2.0 * hi).min(top);
        if hi > 1e300 {
            break;
        }
    }
    // The tilt need not be exact, only good; it must stay inside the strip.
    for _ in 0..100 {
        let mid = 0.5 * (lo + hi);
        if value(mid) < target {
            lo = mid
        } else {
            hi = mid
        }
        if hi - lo < 1e-3 * lo && hi - lo < 1e-2 * (top - hi) {
            break;
        }
    }
    lo
}

/// The least tilt worth using: `K(c) = 1/2`, one standard deviation for a normal law.
fn least_tilt(groups: &[Group], sigma: f64) -> f64 {
    solve_tilt(groups, sigma, 0.5, |_, k, _| k)
}

/// The tilt whose Chernoff bound `e^{K(c) − cx}` reaches `p` first, and that `x`: `P(E > x) <= p`.
pub(super) fn tilt_for_tail(groups: &[Group], sigma: f64, p: f64) -> (f64, f64) {
    let ln_p = libm::log(p);
    // (K − ln p)/c is least where cK' − K = −ln p.
    let c = solve_tilt(groups, sigma, -ln_p, |c, k, slope| c * slope - k);
    let c = c.max(least_tilt(groups, sigma));
    (c, (cumulant(groups, c).0 - ln_p) / c)
}

/// The saddle point of `K(c) − cx`.
pub(super) fn saddle_point(groups: &[Group], sigma: f64, x: f64) -> f64 {
    solve_tilt(groups, sigma, x, |_, _, slope| slope)
}

/// A tilt that is good for tails and densities at `x`.
pub(super) fn tilt_for_point(groups: &[Group], sigma: f64, x: f64) -> f64 {
    // Far out the saddle crowds the pole, and the period grows like one over their distance. A tilt of 6/x below it
    // costs three digits at most and keeps the period short.
    let top = max_tilt(groups);
    let crowded = if top.is_finite() { (top - 6.0 / x).max(0.75 * top) } else { f64::INFINITY };
    saddle_point(groups, sigma, x).min(crowded).max(least_tilt(groups, sigma))
}

/// A period whose aliases are below 1e-11 of a tail of about `p` at about `x`.
pub(super) fn period(groups: &[Group], c: f64, x: f64, p: f64) -> f64 {
    let margin = 25.0 - libm::log(p);
    let top = max_tilt(groups);
    let left = margin / c;
    let right = [1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0]
        .iter()
        .map(|f| if top.is_finite() { c + (top - c) * (1.0 - 1.0 / f) } else { c * f })
        .map(|d| (cumulant(groups, d).0 - d * x + margin) / (d - c))
        .filter(|p| p.is_finite() && *p > 0.0)
        .fold(f64::INFINITY, f64::min);
    if right.is_finite() { left.max(right) } else { 4.0 * left }
}

/// Half the width of the windows of a discrete noise, in turns; 1/2 when it never gets negligible.
fn window(tilted: &Tilted, copies: f64) -> f64 {
    let at0 = tilted.real();
    let small = |t: f64| copies * (tilted.at(t).re - at0) < NEGLIGIBLE;
    if !small(PI) {
        return 0.5;
    }
    // In octaves first: windows may be very narrow.
    let (mut lo, mut hi) = (0.5 * PI, PI);
    while small(lo) {
        hi = lo;
        lo *= 0.5;
        if lo < 1e-300 {
            break;
        }
    }
    for _ in 0..8 {
        let mid = 0.5 * (lo + hi);
        if small(mid) { hi = mid } else { lo = mid }
    }
    hi / (2.0 * PI)
}

struct Factor {
    tilted: Tilted,
    copies: f64,
    coefficient: f64,
    discrete: bool,
    at0: f64,
    window: f64,
    /// On a lattice, the multiple of `h`.
    multiple: u64,
}

impl Nodes {
    /// Evaluates the nodes; `None` when that takes more than `budget` evaluations, or when the truncation
    /// cannot be made small.
    pub fn new(groups: &[Group], c: f64, period: f64, domain: Domain<'_>, budget: u64) -> Option<Nodes> {
        let mut factors: Vec<Factor> = groups
            .iter()
            .enumerate()
            .map(|(i, g)| {
                let tilted = Tilted::new(g.noise, c * g.coefficient);
                let copies = g.copies as f64;
                let discrete = g.noise.is_discrete();
                let window = if discrete { window(&tilted, copies) } else { 0.5 };
                let multiple = match domain {
                    Domain::Lattice { multiples, .. } => multiples.get(i).copied().unwrap_or(0),
                    Domain::Real { .. } => 0,
                };
                let at0 = tilted.real();
                Factor { tilted, copies, coefficient: g.coefficient, discrete, at0, window, multiple }
            })
            .collect();
        // The most selective factor first.
        factors.sort_by(|a, b| (a.window / a.coefficient).total_cmp(&(b.window / b.coefficient)));

        let mut k: f64 = factors.iter().map(|f| f.copies * f.at0).sum();
        let (lattice, period, last, mut slack) = match domain {
            Domain::Lattice { h, .. } => {
                let n = (period / h).ceil().max(3.0);
                if n >= 1e18 {
                    return None;
                }
                let n = (n as u64) | 1;
                // Rough cost: what the best single factor leaves.
                let cost = factors
                    .iter()
                    .map(|f| {
                        let (m, n) = (f.multiple as f64, n as f64);
                        if f.window >= 0.5 {
                            n / 2.0
                        } else {
                            (m / 2.0 + 1.0) * (1.0 + 2.0 * f.window * n / m)
                        }
                    })
                    .fold(n as f64 / 2.0, f64::min);
                if cost > budget as f64 {
                    return None;
                }
                (Some((h, n)), n as f64 * h, (n - 1) / 2, 0.0)
            }
            Domain::Real { smoothing, tolerance } => {
                k += smoothing * smoothing * c * c / 2.0;
                let (cut, missing) = truncation(&factors, smoothing, tolerance, period, budget)?;
                (None, period, (cut * period / (2.0 * PI)).ceil() as u64, missing)
            }
        };
        let smoothing = match domain {
            Domain::Real { smoothing, .. } => smoothing,
            Domain::Lattice { .. } => 0.0,
        };

        let step = 2.0 * PI / period;
        let mut nodes = Vec::new();
        let mut work = 0;
        let mut size = 0.0;
        let mut j = 0u64;
        'nodes: while j <= last {
            work += 1;
            if work > budget {
                return None;
            }
            let t = j as f64 * step;
            let mut ln = Complex::new(-smoothing * smoothing * t * t / 2.0, smoothing * smoothing * c * t);
            for f in &factors {
                let angle = if f.discrete {
                    let (turns, skip) = f.position(j, lattice, period);
                    if skip > 0 {
                        j += skip;
                        continue 'nodes;
                    }
                    2.0 * PI * turns
                } else {
                    f.coefficient * t
                };
                let v = f.tilted.at(angle);
                ln = ln + Complex::new(v.re - f.at0, v.im).scale(f.copies);
                if ln.re < NEGLIGIBLE {
                    j += 1;
                    continue 'nodes;
                }
            }
            let v = ln.exp();
            let s = Complex::new(c, t);
            let kernel = match lattice {
                Some((h, _)) => s.scale(h / 2.0).sinh().inverse().scale(h / 2.0),
                None => s.inverse(),
            };
            let tail = v * kernel;
            size += tail.norm_sqr().sqrt();
            nodes.push((j, v, tail));
            j += 1;
        }
        // What was jumped over, and the rounding of what was kept.
        let reach = last as f64 * step;
        slack += libm::exp(NEGLIGIBLE) * (10.0 + libm::asinh(reach / c)) + 2e-14 * size * step / PI;
        Some(Nodes { c, k, period, lattice, nodes, slack })
    }

    fn sum(&self, x: f64, pick: impl Fn(&(u64, Complex, Complex)) -> Complex) -> f64 {
        // Twice the position in lattice steps, for exact phases.
        let exact = self.lattice.and_then(|(h, n)| {
            let twice = (2.0 * x / h).round();
            (n < 1 << 31 && twice.abs() < 9e15).then_some((2 * n, twice.rem_euclid(2.0 * n as f64) as u64))
        });
        let mut sum = 0.0;
        for node in &self.nodes {
            let (j, v) = (node.0, pick(node));
            let turns = match exact {
                Some((n2, twice)) => ((j * twice) % n2) as f64 / n2 as f64,
                None => {
                    let turns = j as f64 * (x / self.period);
                    turns - turns.floor()
                }
            };
            let (sin, cos) = libm::sincos(2.0 * PI * turns);
            let term = v.re * cos + v.im * sin;
            sum += if j == 0 { term } else { 2.0 * term };
        }
        sum / self.period
    }

    /// `P(E > x)`; on a lattice `x` is a midpoint between lattice points.
    pub fn tail(&self, x: f64) -> f64 {
        (libm::exp(self.k - self.c * x) * self.sum(x, |n| n.2)).clamp(0.0, 1.0)
    }

    /// A bound on `P(E > x)` from above, all errors included.
    pub fn tail_bound(&self, x: f64) -> f64 {
        let front = libm::exp(self.k - self.c * x);
        (front * (self.sum(x, |n| n.2) + self.slack)).clamp(0.0, 1.0)
    }

    /// The logarithm of the density at `x`; on a lattice, of the mass there divided by its spacing.
    pub fn ln_density(&self, x: f64) -> f64 {
        self.k - self.c * x + libm::log(self.sum(x, |n| n.1).max(0.0))
    }
}

impl Factor {
    /// The argument at node `j` in turns, in [−1/2, 1/2], and how many nodes to jump when it is
    /// outside this factor's windows.
    fn position(&self, j: u64, lattice: Option<(f64, u64)>, period: f64) -> (f64, u64) {
        let (turns, per_node) = match lattice {
            Some((_, n)) => {
                let r = match j.checked_mul(self.multiple) {
                    Some(product) => product % n,
                    None => (u128::from(j) * u128::from(self.multiple) % u128::from(n)) as u64,
                };
                // Centred before the division, so that small negative angles keep their digits.
                let centred = if r > n / 2 { -((n - r) as f64) } else { r as f64 };
                (centred / n as f64, self.multiple as f64 / n as f64)
            }
            None => {
                let turns = j as f64 * (self.coefficient / period);
                (turns - turns.round(), self.coefficient / period)
            }
        };
        if turns.abs() <= self.window {
            return (turns, 0);
        }
        let to_next = if turns > 0.0 { 1.0 - self.window - turns } else { -self.window - turns };
        // One node short of the window's edge, lest rounding jumps over its first node.
        let skip = (to_next / per_node).floor() - 1.0;
        (turns, if skip >= 1.0 { skip as u64 } else { 1 })
    }
}

/// Where to cut the integral off, and the bound on what is lost, as a multiple of `e^{K(c)−cx}`.
fn truncation(
    factors: &[Factor],
    smoothing: f64,
    tolerance: f64,
    period: f64,
    budget: u64,
) -> Option<(f64, f64)> {
    // ln of a bound on |M/M(c)| at T, and the ν with which that bound keeps falling like (T/t)^ν or faster.
    // Normal factors: e^{−σ²t²/2}, whose slope at T is ν = σ²T². Laplace: |1 − b²s²| >= b²t², so each is at most
    // (1 − b²c²)/(b²t²), or 1 where that is more. Discrete factors: 1.
    let tail = |t: f64| {
        let mut ln = -smoothing * smoothing * t * t / 2.0;
        let mut nu = smoothing * smoothing * t * t;
        for f in factors {
            let at = f.coefficient * t;
            match f.tilted {
                Tilted::Gaussian { variance, .. } => {
                    ln -= f.copies * variance * at * at / 2.0;
                    nu += f.copies * variance * at * at;
                }
                Tilted::Laplace { scale, .. } => {
                    let each = -f.at0 - 2.0 * libm::log(scale * at);
                    if each < 0.0 {
                        ln += f.copies * each;
                        nu += 2.0 * f.copies;
                    }
                }
                _ => {}
            }
        }
        (ln, nu)
    };
    let bound = |t: f64| {
        let (ln, nu) = tail(t);
        if nu <= 0.0 { f64::INFINITY } else { libm::exp(ln) / (PI * nu) }
    };
    let limit = 4.0 * budget as f64 * 2.0 * PI / period;
    let mut t = 2.0 * PI / period;
    while bound(t) > tolerance {
        t *= 1.1;
        if t > limit {
            return None;
        }
    }
    Some((t, bound(t)))
}
