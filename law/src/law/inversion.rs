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
//!   `(T/t)^ν`, so what is cut off is at most `|g(T)|/(πν)` of `e^{K(c)−cx}`. Where there are no other factors it is also a sum of
//!   slowly changing numbers times turning phases: by Abel's summation `Σ_{j>J} g_j z^j`, `|z| = 1`, is at most `|g_{J+1}|` and
//!   what g varies from there on, `∫|g'|`, divided by `|1 − z|`; see [`Cut`]. When no continuous factor does that,
//!   a small independent normal `G` of standard deviation r is added to E, whose own factor
//!   `e^{−r²t²/2}` does; see [`super::ErrorLaw::half_width`] for what that costs.
//! * **Blocks.** A discrete factor is periodic and `|M_k(c+it)|` falls from 0 to half its period (both
//!   laws are products of factors `|1 + u e^{it}|²` or their inverses; a uniform law has a bound that falls, [`Tilted::falling`]). So over a block of nodes it is at most what it is
//!   at the block's node nearest to a multiple of `2π/a_k`, which a small table ([`Envelope`]) bounds from above. A block whose
//!   product of bounds is below e^{−24} is jumped over, and blocks grow and shrink as they go. Everything jumped over is
//!   bounded and added to the tail.
//! * **Work.** Looking up a bound counts 1, evaluating a factor [`EVALUATION`]. What a caller may spend is a number ([`Work`]),
//!   not a time, so that the same question has the same answer everywhere.

use super::Group;
use super::complex::Complex;
use super::noise::Tilted;
use super::parts::{Lump, Parts};
use std::f64::consts::PI;

/// What evaluating one factor costs, in looked-up bounds.
const EVALUATION: u64 = 12;
/// Of how many small noises bounds are kept.
const MARKS: usize = 2048;

/// What may still be spent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    left: u64,
}

impl Work {
    pub(super) fn new(left: u64) -> Work {
        Work { left }
    }

    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// `None` when it is spent.
    pub(crate) fn spend(&mut self, cost: u64) -> Option<()> {
        match self.left.checked_sub(cost) {
            Some(left) => {
                self.left = left;
                Some(())
            }
            None => {
                self.left = 0;
                None
            }
        }
    }
}

/// Where the frequencies are.
#[derive(Clone, Copy)]
pub(super) enum Domain {
    /// The error is a multiple of `h`, and so are its coefficients.
    Lattice { h: f64 },
    /// Anywhere; a normal of this standard deviation (possibly 0) is added, and what is cut off
    /// may be this fraction of the tail at `at` and further out.
    Real { smoothing: f64, tolerance: f64, at: f64 },
}

/// What is cut off beyond T, as a multiple of `e^{K(c) − cx}`: the lesser of two bounds.
///
/// With `b(t)` the bound on `|M(c+it)/M(c)|` of [`Factor::fall`] and ν its steepness, `|K'(c+it)| <= ν|s|/t²`, `s = c + it`: Laplace
/// noises have `K' = 2b²s/(1 − b²s²)`, normal ones `σ²s`. So `g = M/(M(c) s)` has `|g'| <= κ (b/t) (ν + 1)/t`,
/// `κ = |c + iT|/T`, and `∫_T |g'| <= κ b(T)/T` since `b/t` falls with just the steepness `ν + 1`. Abel's bound on both halves of the
/// line is then `(2/P) (1 + κ) (b(T)/T) / |1 − z|` with `|1 − z| = 2 |sin(πx/P)|`.
#[derive(Debug, Clone, Copy)]
struct Cut {
    at: f64,
    plain: f64,
    /// `(1 + κ) b(T)/(T P)`; infinite where there are discrete factors.
    edge: f64,
    period: f64,
}

impl Cut {
    const NONE: Cut = Cut { at: 0.0, plain: 0.0, edge: 0.0, period: 1.0 };

    fn missing(&self, x: f64) -> f64 {
        let turn = libm::sin(PI * x / self.period).abs();
        let abel = self.edge / turn;
        // Not a number where both are 0.
        if abel < self.plain { abel } else { self.plain }
    }
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
    smoothing: f64,
    cut: Cut,
    /// Bound on what else is missing, as a multiple of `e^{K(c) − cx}`.
    slack: f64,
}

/// `K(c)` and `K'(c)` of the whole error.
pub(super) fn cumulant(parts: &Parts, c: f64) -> (f64, f64) {
    let start = match &parts.lump {
        Some(lump) => lump.cumulant(c),
        None => (0.0, 0.0),
    };
    parts.large.iter().fold(start, |(k, slope), g| {
        let (k1, s1) = g.noise.cumulant(c * g.coefficient);
        let n = g.copies as f64;
        (k + n * k1, slope + n * g.coefficient * s1)
    })
}

/// The supremum of the tilts for which `M` is finite and the small noises' series holds.
pub(super) fn max_tilt(parts: &Parts) -> f64 {
    let lump = parts.lump.iter().map(|l| 0.7 * l.reach);
    parts.large.iter().map(|g| g.noise.max_tilt() / g.coefficient).chain(lump).fold(f64::INFINITY, f64::min)
}

/// The `c` where an increasing function of (c, K, K') passes `target`.
fn solve_tilt(parts: &Parts, scale: f64, target: f64, f: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let top = max_tilt(parts);
    let value = |c: f64| {
        let (k, slope) = cumulant(parts, c);
        let v = f(c, k, slope);
        if v.is_nan() { f64::INFINITY } else { v }
    };
    let (mut lo, mut hi) = (0.0, (1.0 / scale).min(top));
    // Of noise that is all but 0 the first guess is beyond what can be computed.
    while value(hi) == f64::INFINITY && hi > 1e-290 {
        hi *= 0.125;
    }
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
fn least_tilt(parts: &Parts, sigma: f64) -> f64 {
    solve_tilt(parts, sigma, 0.5, |_, k, _| k)
}

/// The tilt whose Chernoff bound `e^{K(c) − cx}` reaches `p` first, and that `x`: `P(E > x) <= p`.
pub(super) fn tilt_for_tail(parts: &Parts, sigma: f64, p: f64) -> (f64, f64) {
    let ln_p = libm::log(p);
    // (K − ln p)/c is least where cK' − K = −ln p.
    let c = solve_tilt(parts, sigma, -ln_p, |c, k, slope| c * slope - k);
    let c = c.max(least_tilt(parts, sigma));
    (c, (cumulant(parts, c).0 - ln_p) / c)
}

/// The saddle point of `K(c) − cx`.
pub(super) fn saddle_point(parts: &Parts, sigma: f64, x: f64) -> f64 {
    solve_tilt(parts, sigma, x, |_, _, slope| slope)
}

/// Tilts of all sizes with their `K`: some of them is near the saddle point of any `x` up to millions of standard errors.
pub(super) fn tilts(parts: &Parts, sigma: f64) -> Vec<(f64, f64)> {
    let top = max_tilt(parts);
    let sizes = std::iter::successors(Some(0.25 / sigma), |c| Some(c * 1.2)).take(80);
    // Crowded below the pole, if there is one.
    let below = |c: f64| c / (1.0 + c / top);
    sizes.map(below).map(|c| (c, cumulant(parts, c).0)).filter(|(_, k)| k.is_finite()).collect()
}

/// A tilt that is good for tails and densities at `x`.
pub(super) fn tilt_for_point(parts: &Parts, sigma: f64, x: f64) -> f64 {
    // Far out the saddle crowds the pole, and the period grows like one over their distance. A tilt of 6/x below it
    // costs three digits at most and keeps the period short.
    let top = max_tilt(parts);
    let crowded = (top - 6.0 / x).max(0.75 * top);
    saddle_point(parts, sigma, x).min(crowded).max(least_tilt(parts, sigma))
}

/// A period whose aliases are below 1e-11 of a tail of about `p` at about `x`.
pub(super) fn period(parts: &Parts, c: f64, x: f64, p: f64) -> f64 {
    let margin = 25.0 - libm::log(p);
    let top = max_tilt(parts);
    let left = margin / c;
    let right = [1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0]
        .iter()
        .map(|f| if top.is_finite() { c + (top - c) * (1.0 - 1.0 / f) } else { c * f })
        .map(|d| (cumulant(parts, d).0 - d * x + margin) / (d - c))
        .fold(f64::INFINITY, f64::min);
    left.max(right)
}

/// Bounds from above on `copies · ln |M_k(c+it)/M_k(c)|` by the distance of t from the nearest multiple of the period, in
/// turns: constant on quarters of octaves, each as at its near end, for the function falls with the distance.
struct Envelope {
    /// Nearer than this nothing is promised.
    from: i64,
    bounds: Vec<f64>,
}

impl Envelope {
    /// The quarter of an octave that a distance is in.
    fn index(distance: f64) -> i64 {
        (distance.to_bits() >> 50) as i64
    }

    fn new(tilted: &Tilted, copies: f64, at0: f64, depth: f64) -> Envelope {
        let near_end = |i: i64| f64::from_bits((i as u64) << 50);
        let ln = |distance: f64| {
            let v = copies * (tilted.falling(2.0 * PI * distance) - at0);
            if v.is_nan() { 0.0 } else { v }
        };
        let top = Envelope::index(0.5);
        let mut bounds = Vec::new();
        let mut i = top;
        // Octaves first: what matters may be very near.
        while ln(near_end(i)) < depth && near_end(i) > 1e-290 {
            i -= 4;
        }
        let mut last = (i + 4).min(top);
        let mut at = last;
        while bounds.len() < 80 {
            let v = ln(near_end(at));
            bounds.push(v);
            if v > -0.05 {
                break;
            }
            at -= 1;
        }
        bounds.reverse();
        last -= bounds.len() as i64 - 1;
        Envelope { from: last, bounds }
    }

    fn bound(&self, distance: f64) -> f64 {
        let i = Envelope::index(distance) - self.from;
        if i < 0 {
            return 0.0;
        }
        self.bounds.get(i as usize).or(self.bounds.last()).copied().unwrap_or(0.0)
    }
}

struct Factor {
    tilted: Tilted,
    copies: f64,
    coefficient: f64,
    at0: f64,
    /// For the discrete ones.
    envelope: Option<Envelope>,
    /// On a lattice, the multiple of `h`.
    multiple: u64,
    /// Turns from one node to the next.
    turns: f64,
    /// Of an evaluation.
    cost: u64,
}

/// The small noises as one, at one tilt.
struct Lumped {
    lump: Lump,
    at0: f64,
    /// Where the series ends, and what it is there.
    until: f64,
    least: f64,
    /// Up to here it keeps falling.
    falls: f64,
}

/// The small noises.
struct Small {
    lump: Option<Lumped>,
    /// Some of them, for bounds where the series does not hold.
    marks: Vec<Factor>,
}

/// The trapezoid rule's nodes and the factors of M.
struct Line {
    factors: Vec<Factor>,
    small: Small,
    step: f64,
    c: f64,
    smoothing: f64,
    /// The spacing, and the number of nodes in a period.
    lattice: Option<(f64, u64)>,
    depth: f64,
}

/// What a walk along the nodes found.
struct Walked {
    /// j, `M/M(c)` and the same times the tail's kernel.
    nodes: Vec<(u64, Complex, Complex)>,
    /// The sizes of the last, added up.
    size: f64,
    /// The same of what was jumped over, in units of `e^depth`.
    jumped: f64,
}

impl Line {
    /// Evaluates the nodes up to `last`, but for blocks that are negligible.
    fn walk(&self, last: u64, work: &mut Work) -> Option<Walked> {
        let mut nodes = Vec::new();
        let (mut size_of_all, mut jumped) = (0.0, 0.0);
        let (mut j, mut size) = (0u64, 1u64);
        while j <= last {
            let mut cost = 4;
            let block = size.min(last - j + 1);
            let bound = self.bound(j, block, &mut cost);
            if bound < self.depth {
                jumped +=
                    libm::exp(bound - self.depth) * block as f64 / libm::fmax(self.c, j as f64 * self.step);
                j += block;
                size = 2 * block;
            } else if block > 1 {
                size = block / 2;
            } else if self.is_beyond(j) {
                // Nobody adds up all the small noises here: their bound is counted.
                jumped += libm::exp(bound - self.depth) / libm::fmax(self.c, j as f64 * self.step);
                j += 1;
                size = 2;
            } else {
                cost += 24;
                match self.at(j, &mut cost) {
                    None => jumped += 1.0 / libm::fmax(self.c, j as f64 * self.step),
                    Some(ln) => {
                        let v = ln.exp();
                        let s = Complex::new(self.c, j as f64 * self.step);
                        let kernel = match self.lattice {
                            Some((h, _)) => s.scale(h / 2.0).sinh().inverse().scale(h / 2.0),
                            None => s.inverse(),
                        };
                        let tail = v * kernel;
                        size_of_all += tail.norm_sqr().sqrt();
                        nodes.push((j, v, tail));
                    }
                }
                j += 1;
            }
            work.spend(cost)?;
        }
        Some(Walked { nodes, size: size_of_all, jumped })
    }

    /// A bound on `ln |M/M(c)|` over the nodes from `j` to `j + size − 1`; stops where it is low enough.
    fn bound(&self, j: u64, size: u64, work: &mut u64) -> f64 {
        let near = j as f64;
        let t = near * self.step;
        let mut ln = -self.smoothing * self.smoothing * t * t / 2.0;
        let mut marks: &[Factor] = &[];
        if let Some(l) = &self.small.lump {
            *work += 4;
            if t <= l.until {
                ln += l.lump.ln(Complex::new(self.c, t)).re - l.at0;
            } else if t + size as f64 * self.step <= l.falls {
                ln += l.least;
            } else {
                marks = &self.small.marks;
            }
        }
        for f in self.factors.iter().chain(marks) {
            if ln < self.depth {
                break;
            }
            *work += 1;
            ln += match &f.envelope {
                Some(envelope) => {
                    let turns = near * f.turns;
                    let start = turns - turns.floor();
                    let end = start + (size - 1) as f64 * f.turns;
                    // What the product may be off by.
                    let distance = start.min(1.0 - end) - 4e-16 * turns - 1e-15;
                    if distance > 0.0 { envelope.bound(distance) } else { 0.0 }
                }
                None => f.continuous_bound(t),
            };
        }
        ln
    }

    /// Whether the small noises' series does not hold at a node.
    fn is_beyond(&self, j: u64) -> bool {
        self.small.lump.as_ref().is_some_and(|l| j as f64 * self.step > l.until)
    }

    /// `ln M/M(c)` at a node; `None` when it is negligible.
    fn at(&self, j: u64, work: &mut u64) -> Option<Complex> {
        let t = j as f64 * self.step;
        let s2 = self.smoothing * self.smoothing;
        let mut ln = Complex::new(-s2 * t * t / 2.0, s2 * self.c * t);
        let mut add = |f: &Factor, cost: u64| {
            *work += cost;
            let angle = match f.envelope {
                Some(_) => 2.0 * PI * f.position(j, self.lattice.map(|l| l.1)),
                None => f.coefficient * t,
            };
            let v = f.tilted.at(angle);
            ln = ln + Complex::new(v.re - f.at0, v.im).scale(f.copies);
            ln.re >= self.depth
        };
        for f in &self.factors {
            if !add(f, f.cost) {
                return None;
            }
        }
        // A walk asks for no node where the series does not hold.
        if let Some(l) = &self.small.lump {
            let v = l.lump.ln(Complex::new(self.c, t));
            ln = ln + Complex::new(v.re - l.at0, v.im);
        }
        (ln.re >= self.depth).then_some(ln)
    }
}

/// The factors of M at one tilt, before it is known where the nodes are.
struct Factors {
    large: Vec<Factor>,
    small: Small,
}

impl Factors {
    fn new(parts: &Parts, c: f64, domain: Domain, depth: f64, work: &mut Work) -> Option<Factors> {
        // Of all sizes, lest all of them be in phase somewhere.
        let small = parts.small.iter().step_by(parts.small.len().div_ceil(MARKS).max(1));
        work.spend((parts.large.len() + small.len()) as u64 * 8 * EVALUATION)?;
        let factor = |g: &Group| {
            let tilted = Tilted::new(g.noise, c * g.coefficient);
            let copies = g.copies as f64;
            let at0 = tilted.real();
            let envelope = g.noise.is_discrete().then(|| Envelope::new(&tilted, copies, at0, depth));
            let multiple = match domain {
                Domain::Lattice { h } => libm::round(g.coefficient / h) as u64,
                Domain::Real { .. } => 0,
            };
            let cost = tilted.cost();
            Factor { tilted, copies, coefficient: g.coefficient, at0, envelope, multiple, turns: 0.0, cost }
        };
        let large: Vec<Factor> = parts.large.iter().map(factor).collect();
        let marks: Vec<Factor> = small.map(factor).collect();
        let lump = parts.lump.map(|lump| {
            let at0 = lump.cumulant(c).0;
            // `|s| <= reach`.
            let until = libm::sqrt((lump.reach * lump.reach - c * c).max(0.0));
            let least = lump.ln(Complex::new(c, until)).re - at0;
            // Each of them falls until half its period.
            let widest = parts
                .small
                .iter()
                .filter(|g| g.noise.is_discrete())
                .fold(0.0, |m: f64, g| m.max(g.coefficient));
            Lumped { lump, at0, until, least, falls: PI / widest }
        });
        Some(Factors { large, small: Small { lump, marks } })
    }

    /// `ln M(c)`.
    fn ln(&self) -> f64 {
        self.large.iter().map(|f| f.copies * f.at0).sum::<f64>()
            + self.small.lump.as_ref().map_or(0.0, |l| l.at0)
    }

    /// Says how far each turns from one node to the next, and puts first what falls the most on average.
    fn place(&mut self, period: f64, lattice: Option<u64>) {
        for f in self.large.iter_mut().chain(&mut self.small.marks) {
            f.turns = match lattice {
                Some(n) => f.multiple as f64 / n as f64,
                None => f.coefficient / period,
            };
        }
        let mean = |f: &Factor| match &f.envelope {
            Some(_) => f.copies * (f.tilted.at(0.5 * PI).re - f.at0),
            None => f.copies * -2.0,
        };
        self.large.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    }
}

impl Nodes {
    /// Evaluates the nodes; `None` when that takes more than the work allowed, or when the truncation
    /// cannot be made small. Factors below `e^depth` are dropped, and accounted for.
    pub(super) fn new(
        parts: &Parts,
        c: f64,
        period: f64,
        domain: Domain,
        depth: f64,
        work: &mut Work,
    ) -> Option<Nodes> {
        let mut factors = Factors::new(parts, c, domain, depth, work)?;
        let mut k = factors.ln();
        let (lattice, period, last, cut, smoothing) = match domain {
            Domain::Lattice { h } => {
                let n = (period / h).ceil().max(3.0);
                if n >= 1e18 {
                    return None;
                }
                let n = (n as u64) | 1;
                (Some((h, n)), n as f64 * h, n / 2, Cut::NONE, 0.0)
            }
            Domain::Real { smoothing, tolerance, at } => {
                k += smoothing * smoothing * c * c / 2.0;
                let falling: Vec<&Factor> = factors.large.iter().chain(&factors.small.marks).collect();
                let all = factors.small.lump.is_none();
                let cut =
                    truncation(&falling, all, c, smoothing, period, |cut| cut.missing(at) <= tolerance)?;
                (None, period, (cut.at * period / (2.0 * PI)).ceil() as u64, cut, smoothing)
            }
        };
        factors.place(period, lattice.map(|l| l.1));
        let step = 2.0 * PI / period;
        let Factors { large, small } = factors;
        let line = Line { factors: large, small, step, c, smoothing, lattice, depth };
        let Walked { nodes, size, jumped } = line.walk(last, work)?;
        // What was jumped over (a lattice's kernel is at most π/2 times 1/t), and the rounding of what was kept.
        let slack = libm::exp(depth) * 1.6 * jumped * step / PI + 2e-14 * size * step / PI;
        Some(Nodes { c, k, period, lattice, nodes, smoothing, cut, slack })
    }

    /// The standard deviation of the normal that was added.
    pub(crate) fn smoothing(&self) -> f64 {
        self.smoothing
    }

    /// How many nodes are left: what one probability costs.
    pub(super) fn len(&self) -> u64 {
        self.nodes.len() as u64
    }

    fn sum(&self, x: f64, pick: impl Fn(&(u64, Complex, Complex)) -> Complex) -> f64 {
        // Twice the position in lattice steps, for exact phases.
        let exact = self.lattice.and_then(|(h, n)| {
            let twice = (2.0 * x / h).round();
            (n < 1 << 31 && twice.abs() < 9e15).then_some((2 * n, twice.rem_euclid(2.0 * n as f64) as u64))
        });
        let phase = |j: u64| {
            let turns = match exact {
                Some((n2, twice)) => ((j * twice) % n2) as f64 / n2 as f64,
                None => {
                    let turns = j as f64 * (x / self.period);
                    turns - turns.floor()
                }
            };
            let (sin, cos) = libm::sincos(2.0 * PI * turns);
            Complex::new(cos, sin)
        };
        let one = phase(1);
        let mut sum = 0.0;
        // From a node to the next by a rotation, set right every so often.
        let (mut next, mut turned, mut now) = (u64::MAX, 0u32, Complex::ZERO);
        for node in &self.nodes {
            let (j, v) = (node.0, pick(node));
            if j == next && turned < 24 {
                now = now * one;
                turned += 1;
            } else {
                now = phase(j);
                turned = 0;
            }
            next = j + 1;
            let term = v.re * now.re + v.im * now.im;
            sum += if j == 0 { term } else { 2.0 * term };
        }
        sum / self.period
    }

    /// `P(E > x)`; on a lattice `x` is a midpoint between lattice points.
    pub(crate) fn tail(&self, x: f64) -> f64 {
        (libm::exp(self.k - self.c * x) * self.sum(x, |n| n.2)).clamp(0.0, 1.0)
    }

    /// A bound on `P(E > x)` from above, all errors included.
    pub(crate) fn tail_bound(&self, x: f64) -> f64 {
        let front = libm::exp(self.k - self.c * x);
        (front * (self.sum(x, |n| n.2) + self.slack + self.cut.missing(x))).clamp(0.0, 1.0)
    }

    /// A bound on `P(E > x)` from below. Aliases add less than 1e-11 of the tail at `x`, and no more than 1e-9 of any that matters.
    pub(crate) fn tail_least(&self, x: f64) -> f64 {
        let front = libm::exp(self.k - self.c * x);
        let sum = self.sum(x, |n| n.2) * (1.0 - 1e-9) - self.slack - self.cut.missing(x);
        (front * sum).clamp(0.0, 1.0)
    }

    /// The logarithm of the density at `x`; on a lattice, of the mass there divided by its spacing.
    pub(crate) fn ln_density(&self, x: f64) -> f64 {
        self.k - self.c * x + libm::log(self.sum(x, |n| n.1).max(0.0))
    }
}

impl Factor {
    /// The argument at node `j` in turns, in [−1/2, 1/2].
    fn position(&self, j: u64, lattice: Option<u64>) -> f64 {
        match lattice {
            Some(n) => {
                let r = match j.checked_mul(self.multiple) {
                    Some(product) => product % n,
                    None => (u128::from(j) * u128::from(self.multiple) % u128::from(n)) as u64,
                };
                // Centred before the division, so that small negative angles keep their digits.
                let centred = if r > n / 2 { -((n - r) as f64) } else { r as f64 };
                centred / n as f64
            }
            None => {
                let turns = j as f64 * self.turns;
                turns - turns.round()
            }
        }
    }

    /// Of a continuous factor, from `t` on.
    fn continuous_bound(&self, t: f64) -> f64 {
        self.fall(t).0
    }

    /// A bound on `ln |M_k(c+it)/M_k(c)|` (all copies) and how steeply it falls there, `−d ln/d ln t`, which only grows. Normal:
    /// `e^{−σ²t²/2}`. Laplace: `|1 − b²s²|` is at least its real part, `1 − b²c² + b²t²`. Discrete: 1.
    fn fall(&self, t: f64) -> (f64, f64) {
        let at = self.coefficient * t;
        match self.tilted {
            Tilted::Gaussian { variance, .. } => {
                let square = self.copies * variance * at * at;
                (-square / 2.0, square)
            }
            Tilted::Laplace { scale, .. } => {
                let square = scale * at * (scale * at) * libm::exp(self.at0);
                (-self.copies * libm::log1p(square), 2.0 * self.copies * square / (1.0 + square))
            }
            _ => (0.0, 0.0),
        }
    }
}

/// Where to cut the integral off so that what is lost is little enough; `None` when that takes too many nodes. `all` says that the
/// factors are all there are.
fn truncation(
    factors: &[&Factor],
    all: bool,
    c: f64,
    smoothing: f64,
    period: f64,
    enough: impl Fn(&Cut) -> bool,
) -> Option<Cut> {
    let smooth = all && factors.iter().all(|f| f.envelope.is_none());
    let cut = |t: f64| {
        // ln of a bound on |M/M(c)| at T, and the ν with which that bound keeps falling like (T/t)^ν or faster.
        let square = smoothing * smoothing * t * t;
        let (ln, nu) = factors
            .iter()
            .map(|f| f.fall(t))
            .fold((-square / 2.0, square), |(ln, nu), f| (ln + f.0, nu + f.1));
        // Infinite where nothing falls.
        let plain = libm::exp(ln) / (PI * nu);
        let kappa = libm::hypot(c, t) / t;
        let edge = if smooth { (1.0 + kappa) * libm::exp(ln) / (t * period) } else { f64::INFINITY };
        Cut { at: t, plain, edge, period }
    };
    let limit = 1e12 * 2.0 * PI / period;
    let mut t = 2.0 * PI / period;
    // A period without end, or of no length, has no place to cut at.
    if !(t > 0.0 && limit.is_finite()) {
        return None;
    }
    while !enough(&cut(t)) {
        t *= 1.1;
        if t > limit {
            return None;
        }
    }
    Some(cut(t))
}

#[cfg(test)]
mod tests;
