//! The law of an estimate's error, `E = Σ_k a_k N_k` with independent known noises, as an object.
//!
//! Every law here is symmetric. Half-widths are never narrower than exact: wherever an engine approximates, its error
//! bound is spent on the safe side. `docs/methods/intervals.md` has the derivations.
//!
//! | engine | when | half-width |
//! |---|---|---|
//! | closed form | a normal law, or one Laplace noise | exact |
//! | lattice | the coefficients are multiples of one number | exact lattice point |
//! | continuous | Laplace and normal noises | exact to 1e-9 |
//! | normal bound | many or wide discrete Gaussians on a fine lattice | proven, at most 0.1 % wide |
//! | smoothed | everything else | proven, about 0.1 % wide |

mod around;
mod atoms;
mod complex;
mod generator;
mod grid;
mod inversion;
mod lattice;
mod monte_carlo;
mod noise;
mod normal;
mod parts;
mod probability;
mod sums;

pub use noise::NoiseLaw;
pub use normal::{upper_quantile as normal_upper_quantile, upper_tail as normal_upper_tail};

pub use generator::Generator;
pub use sums::Sum;

use around::Around;
use atoms::Atoms;
use grid::Grid;
use inversion::{Domain, Nodes, Work};
use noise::Tilted;
use parts::Parts;
use std::sync::{Arc, OnceLock};

/// `copies` independent noises that enter the error with the same coefficient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// What each noise is multiplied by; its sign does not matter, the laws being symmetric.
    pub coefficient: f64,
    /// How many there are.
    pub copies: u64,
    /// Their law.
    pub noise: NoiseLaw,
}

/// A term in normal form: positive coefficient, at least one copy, positive variance.
type Group = Term;

/// Why a law cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LawError {
    /// A coefficient is infinite or not a number.
    #[error("a coefficient of the error is not a finite number")]
    Coefficient,
    /// A scale or variance is negative, infinite or not a number.
    #[error("a noise has a scale that is not a finite, non-negative number")]
    Scale,
    /// The error is too large or too small for its square to be a number.
    #[error(
        "the error of this figure is too large or too small to compute with: multiply by numbers between 1e-100 and 1e100"
    )]
    Range,
    /// The parameters of a method make no sense.
    #[error("{0}")]
    Method(&'static str),
}

/// How probabilities are computed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Method {
    /// The cheapest that is right.
    #[default]
    Auto,
    /// By inversion only, however long it takes; the normal bound is not used.
    Exact,
    /// Discrete probability calculation: truncated mass vectors convolved, losing at most `gamma` of mass.
    Pc {
        /// The mass that may be lost in all; it is added to the tails.
        gamma: f64,
    },
    /// Monte Carlo simulation. The generator is small, fast and predictable: this is not privacy noise.
    Mc {
        /// The number of simulated errors.
        draws: u32,
        /// The generator's seed; the same seed gives the same answer.
        seed: u64,
    },
}

/// Which interval of a given level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// As much probability left out below as above.
    EqualTailed,
    /// The shortest. The same, except on a coarse lattice, where one side may do with fewer points.
    Shortest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    Degenerate,
    Normal,
    Laplace,
    Lattice,
    Continuous,
    NormalBound,
    Atoms,
    Grid,
    Smoothed,
    Probability,
    MonteCarlo,
}

impl Engine {
    fn words(self) -> &'static str {
        match self {
            Engine::Degenerate => "no noise: the answer is exact",
            Engine::Normal => "the normal law, closed form",
            Engine::Laplace => "the Laplace law, closed form",
            Engine::Lattice => "exact lattice law, by inversion of its characteristic function",
            Engine::Continuous => "exact law, by inversion of its characteristic function",
            Engine::NormalBound => "the normal law with a proven allowance for the lattice",
            Engine::Atoms => "exact law, its values listed",
            Engine::Grid => "the law of a neighbour on a lattice, with a proven allowance",
            Engine::Smoothed => "smoothed inversion of the characteristic function, conservative",
            Engine::Probability => "discrete probability calculation",
            Engine::MonteCarlo => "Monte Carlo simulation",
        }
    }
}

/// The law of an error `Σ_k a_k N_k`.
#[derive(Debug, Clone)]
pub struct ErrorLaw {
    groups: Vec<Group>,
    variance: f64,
    parts: Parts,
    lattice: Option<f64>,
    method: Method,
    mass: OnceLock<probability::Mass>,
    sample: OnceLock<Vec<f64>>,
    /// Clones share what is kept.
    atoms: OnceLock<Option<Arc<Atoms>>>,
    grid: OnceLock<Option<Arc<Grid>>>,
    tilts: OnceLock<Arc<[(f64, f64)]>>,
    around: Around,
    /// What one probability or half-width may cost, in looked-up bounds.
    work: u64,
}

/// What one probability or half-width may cost, in looked-up bounds (see [`inversion`]); `docs/speed.md` has what that takes.
const WORK: u64 = 6_000_000;
/// The same when exactness was asked for.
const WORK_EXACT: u64 = 4_000_000_000;
/// Laws that share a simulation have at least so many draws, if that many were asked for.
const SHARED_DRAWS: u32 = 10_000;
/// What may be cut off a continuous tail, relative to its Chernoff bound; the second where the first is too dear.
const TOLERANCES: [f64; 2] = [1e-10, 1e-9];
/// Factors below this power of e are dropped: for probabilities, and for half-widths, which need not be known as well.
const DEPTH: f64 = -31.0;
const DEPTH_WIDTH: f64 = -24.0;
/// The smoothing normal's reach `η/r`: `1/Φ` of it is 1 + 2.9e-7.
const REACH: f64 = 5.0;
/// The first `η` tried, relative to the half-width, how much smaller each next one is, and the least.
const SMOOTH: f64 = 3e-2;
const FINER: f64 = 6.0;
const FINEST: f64 = 2e-7;
/// Nearer to a number than this, relative to it, a half-width is found rather than compared.
const NEAR: f64 = 5e-4;
/// Where the smoothing came no finer than this, a lattice of our own is tried.
const COARSE: f64 = 2e-4;
/// A single discrete Gaussian is summed up to this parameter.
const SUMMED: f64 = 1e6;
/// The probability that lists of atoms may leave out, the second where the first is too dear.
const LOST: [f64; 3] = [1e-14, 3e-10, 1e-7];
/// What the largest coefficient may be: its square and everything made of it stay far from the ends of doubles. Factors from 1e-100 to 1e100 leave room
/// for the coefficients that estimates have.
const COEFFICIENTS: std::ops::RangeInclusive<f64> = 1e-120..=1e120;
/// Wider than this many lattice points, the shortest interval is taken to be the symmetric one.
const SCAN: f64 = 4096.0;

impl ErrorLaw {
    /// Builds the law; merges equal terms and drops those that are zero.
    pub fn new(terms: Vec<Term>) -> Result<ErrorLaw, LawError> {
        let mut groups: Vec<Group> = Vec::with_capacity(terms.len());
        for t in terms {
            if !t.coefficient.is_finite() {
                return Err(LawError::Coefficient);
            }
            if !t.noise.parameter().is_finite() || t.noise.parameter() < 0.0 {
                return Err(LawError::Scale);
            }
            let t = Term { coefficient: t.coefficient.abs(), ..t };
            if t.coefficient > 0.0 && t.copies > 0 && t.noise.variance() > 0.0 {
                groups.push(t);
            }
        }
        let kind = |n: &NoiseLaw| match n {
            NoiseLaw::DiscreteGaussian { .. } => 0,
            NoiseLaw::DiscreteLaplace { .. } => 1,
            NoiseLaw::Gaussian { .. } => 2,
            NoiseLaw::Laplace { .. } => 3,
            NoiseLaw::Uniform { .. } => 4,
        };
        // Sorted, so that the order of the terms changes no digit.
        groups.sort_by(|a, b| {
            b.coefficient
                .total_cmp(&a.coefficient)
                .then(kind(&a.noise).cmp(&kind(&b.noise)))
                .then(a.noise.parameter().total_cmp(&b.noise.parameter()))
        });
        groups.dedup_by(|next, kept| {
            let same = next.coefficient == kept.coefficient && next.noise == kept.noise;
            if same {
                kept.copies = kept.copies.saturating_add(next.copies);
            }
            same
        });
        // An empty sum of floats is −0.
        let mut variance = 0.0
            + groups
                .iter()
                .map(|g| g.copies as f64 * g.coefficient * g.coefficient * g.noise.variance())
                .sum::<f64>();
        if groups.first().is_some_and(|g| !COEFFICIENTS.contains(&g.coefficient)) || !variance.is_finite() {
            return Err(LawError::Range);
        }
        if !variance.is_normal() {
            // Noise so rare that no double holds its variance is none.
            groups.clear();
            variance = 0.0;
        }
        let lattice = groups.iter().all(|g| g.noise.is_discrete()).then(|| {
            let mut coefficients: Vec<f64> = groups.iter().map(|g| g.coefficient).collect();
            coefficients.dedup();
            Some(lattice::spacing(&coefficients)?.0)
        });
        let parts = Parts::new(&groups, libm::sqrt(variance));
        Ok(ErrorLaw {
            groups,
            variance,
            parts,
            lattice: lattice.flatten(),
            method: Method::Auto,
            mass: OnceLock::new(),
            sample: OnceLock::new(),
            atoms: OnceLock::new(),
            grid: OnceLock::new(),
            tilts: OnceLock::new(),
            around: Around::default(),
            work: WORK,
        })
    }

    /// The same law, computed another way.
    pub fn with_method(mut self, method: Method) -> Result<ErrorLaw, LawError> {
        match method {
            Method::Pc { gamma } if !(1e-13..0.5).contains(&gamma) => {
                return Err(LawError::Method("the lost mass must be at least 1e-13 and below 1/2"));
            }
            Method::Mc { draws, .. } if draws < 100 => {
                return Err(LawError::Method("fewer than 100 draws say nothing"));
            }
            // Equal noises are drawn as one sum.
            Method::Mc { draws, .. }
                if (self.groups.len() as u64).saturating_mul(u64::from(draws)) > 10_000_000_000 =>
            {
                return Err(LawError::Method("that many noises cannot be simulated that often"));
            }
            Method::Pc { .. } if self.groups.iter().any(|g| g.copies > 1 << 32) => {
                return Err(LawError::Method("too many copies to convolve"));
            }
            _ => {}
        }
        self.method = method;
        self.work = if method == Method::Exact { WORK_EXACT } else { WORK };
        self.mass = OnceLock::new();
        self.sample = OnceLock::new();
        self.around = Around::default();
        Ok(self)
    }

    /// The same law as one of so many that share the work of one. A simulation has fewer draws then, and the limits taken of it allow
    /// for that.
    pub fn sharing(mut self, laws: u64) -> ErrorLaw {
        let laws = laws.max(1);
        self.work /= laws;
        self.around = Around::default();
        if let Method::Mc { draws, .. } = &mut self.method {
            *draws = (u64::from(*draws) / laws).max(u64::from(SHARED_DRAWS.min(*draws))) as u32;
        }
        self
    }

    /// The terms, merged and in canonical order.
    pub fn terms(&self) -> &[Term] {
        &self.groups
    }

    /// The exact variance.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// The standard error: the square root of the exact variance.
    pub fn std_error(&self) -> f64 {
        libm::sqrt(self.variance)
    }

    /// The spacing of the lattice the error lives on, if there is one.
    pub fn lattice(&self) -> Option<f64> {
        self.lattice
    }

    /// Which engine gives a 95 % interval, in words.
    #[cfg(test)]
    pub(crate) fn method_used(&self) -> &'static str {
        self.solve(0.05).1.words()
    }

    /// The smallest `w` with `P(|E| <= w) >= level`; never less, and at most 1 % more for the laws that `benches/law.rs` measures.
    /// Where the work runs out it is wider, still never less.
    ///
    /// On a lattice that can be enumerated it is the exact lattice point (a probability that meets the level to
    /// within 1e-10 relative counts as short of it). Where atoms lie too densely for that, a small
    /// normal `G` of standard deviation r is added: `P(E > w+η) <= P(E+G > w)/Φ(η/r)`, because E and G are independent and
    /// `G >= −η` is all it takes; `η = 5 r`, from 3 % of w down to as little as the work allows. By Monte Carlo it is an upper confidence limit (three
    /// standard errors of the simulated level). Not a number when `level` is not in (0, 1).
    pub fn half_width(&self, level: f64) -> f64 {
        if level > 0.0 && level < 1.0 { self.solve(1.0 - level).0 } else { f64::NAN }
    }

    /// Whether the half-width at `level` may be `x` or more: never `false` when it is, and `true` when it is not only
    /// within 1 % of it. Cheaper than the half-width where that takes a smoothed inversion.
    pub fn may_reach(&self, x: f64, level: f64) -> bool {
        let dense = self.lattice.is_none() && !self.is_continuous();
        if !(self.method == Method::Auto && dense && x > 0.0) {
            return !(self.half_width(level) < x);
        }
        let p = (1.0 - level) / 2.0;
        let eta = SMOOTH * x;
        let (c, bound) = inversion::tilt_for_tail(&self.parts, self.std_error(), p);
        if bound < x {
            return false;
        }
        if let Some(atoms) = self.atoms(1e-5 * p) {
            return atoms.above(x * (1.0 - 1e-9)) + 0.5 * atoms.lost > p;
        }
        let period = inversion::period(&self.parts, c, bound, p);
        let domain = Domain::Real { smoothing: eta / REACH, tolerance: 1e-9, at: x };
        match self.nodes(c, period, domain, DEPTH_WIDTH, self.work / 4) {
            Some(nodes) => nodes.tail_bound(x - eta) > p * (1.0 - normal::upper_tail(REACH)),
            None => !(self.half_width(level) < x),
        }
    }

    /// Whether the half-width at `level` is `x` or more, where atoms lie densely and that takes less than the half-width itself. `None`
    /// elsewhere, and where both are too near each other to tell.
    ///
    /// The smoothed inversion bounds the tail on both sides: `P(E+G > x+η) − P(G > η) <= P(E > x)`, and see [`ErrorLaw::half_width`].
    pub fn reaches(&self, x: f64, level: f64) -> Option<bool> {
        let dense = self.lattice.is_none() && !self.is_continuous();
        if !(self.method == Method::Auto && dense && x > 0.0 && level > 0.0 && level < 1.0) {
            return None;
        }
        let tau = 1.0 - level;
        if let Some((half, _)) = self.solve_closed(tau) {
            return Some(half >= x);
        }
        let p = tau / 2.0;
        let (c, bound) = inversion::tilt_for_tail(&self.parts, self.std_error(), p);
        if bound < x {
            return Some(false);
        }
        let period = inversion::period(&self.parts, c, bound, p);
        let missed = normal::upper_tail(REACH);
        let mut work = Work::new(self.work);
        let mut eta = SMOOTH * x;
        while eta > NEAR * x {
            let domain = Domain::Real { smoothing: eta / REACH, tolerance: 1e-3 * eta / x, at: x };
            let depth = (libm::log(eta / x) - 8.0).max(DEPTH_WIDTH);
            let nodes = Nodes::new(&self.parts, c, period, domain, depth, &mut work)?;
            if nodes.tail_bound(x - eta) <= p * (1.0 - missed) {
                return Some(false);
            }
            if nodes.tail_least(x + eta) > p + missed {
                return Some(true);
            }
            if let Some(atoms) = self.atoms(1e-5 * p) {
                return Some(atoms.above(x * (1.0 - 1e-9)) + 0.5 * atoms.lost > p);
            }
            eta /= FINER;
        }
        None
    }

    /// Chernoff's bound on the half-width: never less than it, about a third more, and cheap.
    pub fn half_width_bound(&self, level: f64) -> f64 {
        let p = (1.0 - level) / 2.0;
        if self.groups.is_empty() {
            return 0.0;
        }
        inversion::tilt_for_tail(&self.parts, self.std_error(), p).1 * (1.0 + 1e-9)
    }

    /// An interval of the given level for the error itself, to be mirrored around the estimate, and the engine that found it in words.
    pub fn interval_by(&self, level: f64, kind: Interval) -> ((f64, f64), &'static str) {
        if !(level > 0.0 && level < 1.0) {
            return ((f64::NAN, f64::NAN), "");
        }
        let (w, engine) = self.solve(1.0 - level);
        (self.around(w, level, kind), engine.words())
    }

    /// The interval of this kind, `w` being the half-width.
    fn around(&self, w: f64, level: f64, kind: Interval) -> (f64, f64) {
        let symmetric = (-w, w);
        let Some(h) = self.lattice else { return symmetric };
        let points = libm::round(w / h);
        if kind == Interval::EqualTailed || points == 0.0 || points.is_nan() || points >= SCAN {
            return symmetric;
        }
        // Two pointers over the lattice: the shortest run of points with enough probability. A run shorter
        // than the symmetric one and at least as probable cannot reach further than twice as far.
        let reach = 2 * points as i64;
        let below = |k: i64| self.cdf(k as f64 * h); // P(E <= kh)
        let mass: Vec<f64> = (-reach - 1..=reach).map(below).collect();
        let (mut best, mut best_offset) = ((-(points as i64), points as i64), 0);
        let mut lo = 0usize;
        for hi in 1..mass.len() {
            while mass[hi] - mass[lo + 1] >= level + 1e-11 {
                lo += 1;
            }
            if mass[hi] - mass[lo] >= level + 1e-11 {
                let run = (lo as i64 - reach, hi as i64 - reach - 1);
                let offset = (run.0 + run.1).abs();
                let (length, shortest) = (run.1 - run.0, best.1 - best.0);
                if length < shortest || (length == shortest && offset < best_offset) {
                    (best, best_offset) = (run, offset);
                }
            }
        }
        (best.0 as f64 * h, best.1 as f64 * h)
    }

    /// The smallest `x` with `P(E <= x) >= p`, erring outwards (away from 0) where it errs.
    #[cfg(test)]
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        if !(p > 0.0 && p < 1.0) {
            f64::NAN
        } else if p == 0.5 {
            0.0
        } else if p > 0.5 {
            self.solve(2.0 * (1.0 - p)).0
        } else {
            -self.solve(2.0 * p).0
        }
    }

    /// `P(E <= x)`.
    pub fn cdf(&self, x: f64) -> f64 {
        if x.is_nan() {
            f64::NAN
        } else if x >= 0.0 {
            1.0 - self.above(x)
        } else {
            self.at_least(-x)
        }
    }

    /// `P(E > x)`, with full relative accuracy in the upper tail.
    pub fn sf(&self, x: f64) -> f64 {
        if x.is_nan() {
            f64::NAN
        } else if x >= 0.0 {
            self.above(x)
        } else {
            1.0 - self.at_least(-x)
        }
    }

    /// `P(E = x)`: positive only on a lattice, for points on it.
    pub fn pmf(&self, x: f64) -> f64 {
        if self.groups.is_empty() {
            return if x == 0.0 { 1.0 } else { 0.0 };
        }
        match &self.lattice {
            Some(h) if on_lattice(x, *h) => self.density(x) * h,
            _ => 0.0,
        }
    }

    /// The density at `x`; on a lattice the mass of the nearest point divided by the spacing, and for
    /// laws with dense atoms the density after a slight smoothing.
    pub(crate) fn density(&self, x: f64) -> f64 {
        self.ln_density(&[x]).first().map_or(f64::NAN, |ln| libm::exp(*ln))
    }

    /// The logarithms of the densities at many points, which may be far out in the tails. Points in ascending or
    /// descending order share their work.
    pub(crate) fn ln_density(&self, xs: &[f64]) -> Vec<f64> {
        self.ln_density_or_bound(xs).0
    }

    /// The same, and how many of them are only Chernoff's bound in the density's place, the work having run out.
    pub fn ln_density_or_bound(&self, xs: &[f64]) -> (Vec<f64>, usize) {
        match self.closed_ln_density(xs) {
            Some(known) => (known, 0),
            None => self.inverted_ln_density(xs),
        }
    }

    fn closed_ln_density(&self, xs: &[f64]) -> Option<Vec<f64>> {
        Some(match self.groups.as_slice() {
            [] => xs.iter().map(|x| if *x == 0.0 { f64::INFINITY } else { f64::NEG_INFINITY }).collect(),
            [Term { coefficient, copies: 1, noise: NoiseLaw::Laplace { scale } }] => {
                let b = coefficient * scale;
                xs.iter().map(|x| -x.abs() / b - libm::log(2.0 * b)).collect()
            }
            [Term { coefficient, copies: 1, noise: NoiseLaw::DiscreteLaplace { scale } }] => {
                // (1−q)/(1+q) q^{|k|}, over the spacing.
                let norm = libm::log(libm::tanh(0.5 / scale)) - libm::log(*coefficient);
                xs.iter().map(|x| norm - libm::round(x / coefficient).abs() / scale).collect()
            }
            [Term { coefficient, copies: 1, noise: noise @ NoiseLaw::DiscreteGaussian { variance } }] => {
                let norm = noise.ln_zero() - libm::log(*coefficient);
                let at = |x: f64| libm::round(x / coefficient);
                xs.iter().map(|x| norm - at(*x) * at(*x) / (2.0 * variance)).collect()
            }
            _ if self.is_normal() => {
                let norm = 0.5 * libm::log(2.0 * std::f64::consts::PI * self.variance);
                xs.iter().map(|x| -x * x / (2.0 * self.variance) - norm).collect()
            }
            _ => return None,
        })
    }

    fn inverted_ln_density(&self, xs: &[f64]) -> (Vec<f64>, usize) {
        let sigma = self.std_error();
        // All points together may cost what a few probabilities do; what is kept of earlier ones counts alike.
        let mut work = Work::new(4 * self.work);
        let each = self.work / 4;
        // One tilt serves a stretch around it; of a tilt that is good beside a gap the aliases are more than what is in the gap.
        let stretch = match self.is_in_heaps() {
            true => self.lattice.unwrap_or(sigma / 1024.0),
            false => sigma,
        };
        let mut shared: Option<(u64, Option<Arc<Nodes>>)> = None;
        let mut bounds = 0;
        let ln = xs
            .iter()
            .map(|x| {
                let x = match self.lattice {
                    Some(h) => libm::round(x / h) * h,
                    None => *x,
                };
                let x = x.abs();
                let place = libm::floor(x / stretch);
                if shared.as_ref().is_none_or(|(at, _)| *at != place as u64) {
                    let nodes = (work.left() >= each)
                        .then(|| {
                            self.around.at(place as u64, || self.nodes_at((place + 0.5) * stretch, each))
                        })
                        .flatten();
                    // At least what the attempt may have cost without nodes.
                    let cost = nodes.as_ref().map_or(each, |n| 24 * n.len());
                    let _ = work.spend(cost.max(1000));
                    shared = Some((place as u64, nodes));
                }
                match shared.as_ref().and_then(|(_, nodes)| nodes.as_ref()) {
                    Some(nodes) if work.spend(nodes.len()).is_some() => nodes.ln_density(x),
                    // Beyond what may be spent: the bound in the density's place.
                    _ => {
                        bounds += 1;
                        self.ln_mass_bound(x) - libm::log(2.5 * sigma)
                    }
                }
            })
            .collect();
        (ln, bounds)
    }

    /// `ln` of Chernoff's bound `inf_c e^{K(c) − c|x|}` on the mass at `x`: concave in `x`. For continuous laws
    /// (which are unimodal) a bound on the density, one unit nearer to 0.
    pub fn ln_mass_bound(&self, x: f64) -> f64 {
        let x = if self.lattice.is_some() { x.abs() } else { (x.abs() - 1.0).max(0.0) };
        if x == 0.0 || self.groups.is_empty() {
            return 0.0;
        }
        let c = inversion::saddle_point(&self.parts, self.std_error(), x);
        (inversion::cumulant(&self.parts, c).0 - c * x).min(0.0)
    }

    /// Bounds on [`ErrorLaw::ln_density_or_bound`] at many points from above, in less time: Chernoff's with the best of some tilts. Of dense
    /// atoms they bound the probability within a unit, above which the density of a smoothed one may be a little.
    pub fn ln_density_bounds(&self, xs: &[f64]) -> Vec<f64> {
        let tilts = self.tilts.get_or_init(|| inversion::tilts(&self.parts, self.std_error()).into());
        let of_mass = |x: f64| tilts.iter().fold(0.0f64, |least, (c, k)| least.min(k - c * x));
        match self.lattice {
            Some(h) => xs.iter().map(|x| of_mass(x.abs()) - libm::log(h)).collect(),
            None => xs.iter().map(|x| of_mass((x.abs() - 1.0).max(0.0))).collect(),
        }
    }

    /// Whether the error can be `x`, as far as its lattice goes.
    pub fn on_lattice(&self, x: f64) -> bool {
        self.lattice.as_ref().is_none_or(|h| on_lattice(x, *h))
    }

    /// The standard error of a Monte Carlo probability near `p`; `None` for other methods.
    #[cfg(test)]
    pub(crate) fn monte_carlo_error(&self, p: f64) -> Option<f64> {
        match self.method {
            Method::Mc { draws, .. } => Some(libm::sqrt(p * (1.0 - p) / f64::from(draws))),
            _ => None,
        }
    }

    fn is_normal(&self) -> bool {
        self.groups.iter().all(|g| matches!(g.noise, NoiseLaw::Gaussian { .. }))
    }

    /// Whether the values may lie in heaps with hardly anything between them: steps of a uniform law as large as all the rest is wide.
    fn is_in_heaps(&self) -> bool {
        let uniform = |g: &&Group| matches!(g.noise, NoiseLaw::Uniform { .. });
        let each = |g: &Group| g.copies as f64 * g.coefficient * g.coefficient * g.noise.variance();
        let rest: f64 = self.groups.iter().filter(|g| !uniform(g)).map(each).sum();
        self.groups.iter().filter(uniform).any(|g| g.coefficient * g.coefficient > 0.25 * rest)
    }

    fn is_continuous(&self) -> bool {
        self.groups.iter().any(|g| !g.noise.is_discrete())
    }

    fn sample(&self, draws: u32, seed: u64) -> &[f64] {
        self.sample.get_or_init(|| monte_carlo::absolute_errors(&self.groups, draws, seed))
    }

    fn mass(&self, gamma: f64) -> &probability::Mass {
        self.mass.get_or_init(|| probability::Mass::new(&self.groups, self.lattice, gamma))
    }

    /// `P(E > x)` for `x >= 0`.
    fn above(&self, x: f64) -> f64 {
        match self.method {
            Method::Mc { draws, seed } => {
                let s = self.sample(draws, seed);
                return 0.5 * (s.len() - s.partition_point(|e| *e <= x)) as f64 / s.len() as f64;
            }
            Method::Pc { gamma } if !self.groups.is_empty() => return self.mass(gamma).above(x),
            _ => {}
        }
        let at = match &self.lattice {
            Some(h) => (libm::floor(x / h * (1.0 + 1e-12) + 1e-9) + 0.5) * h,
            None => x,
        };
        self.tail(at)
    }

    /// `P(E >= x)` for `x > 0`.
    fn at_least(&self, x: f64) -> f64 {
        match self.method {
            Method::Mc { draws, seed } => {
                let s = self.sample(draws, seed);
                return 0.5 * (s.len() - s.partition_point(|e| *e < x)) as f64 / s.len() as f64;
            }
            Method::Pc { gamma } if !self.groups.is_empty() => return self.mass(gamma).at_least(x),
            _ => {}
        }
        let at = match &self.lattice {
            Some(h) => (libm::ceil(x / h * (1.0 - 1e-12) - 1e-9) - 0.5) * h,
            None => x,
        };
        self.tail(at)
    }

    /// `P(E > x)` for `x >= 0`, a midpoint if there is a lattice.
    fn tail(&self, x: f64) -> f64 {
        if x == f64::INFINITY {
            return 0.0;
        }
        match self.groups.as_slice() {
            [] => 0.0,
            [Term { coefficient, copies: 1, noise: NoiseLaw::Laplace { scale } }] => {
                0.5 * libm::exp(-x / (coefficient * scale))
            }
            [Term { coefficient, copies: 1, noise: NoiseLaw::DiscreteLaplace { scale } }] => {
                // P(N > k) = q^{k+1}/(1+q); x is the midpoint after k.
                let k1 = libm::round(x / coefficient + 0.5);
                libm::exp(-k1 / scale) / (1.0 + libm::exp(-1.0 / scale))
            }
            [Term { coefficient, copies: 1, noise: NoiseLaw::DiscreteGaussian { variance } }]
                if *variance <= SUMMED =>
            {
                // From the first point after the midpoint on; the sum falls faster than geometrically.
                let first = libm::round(x / coefficient + 0.5);
                let terms = 2 + libm::ceil(9.0 * libm::sqrt(*variance)) as u32;
                let sum: f64 = (0..terms)
                    .rev()
                    .map(|j| {
                        let j = f64::from(j);
                        libm::exp(-(j * (2.0 * first + j)) / (2.0 * variance))
                    })
                    .sum();
                libm::exp(self.groups[0].noise.ln_zero() - first * first / (2.0 * variance)) * sum
            }
            _ if self.is_normal() => normal::upper_tail(x / self.std_error()),
            _ => {
                // Listed values where there is no lattice, or a fine one.
                if self.lattice.is_none()
                    && let Some(atoms) = self.atoms(LOST[2])
                {
                    return atoms.above(x) + 0.5 * atoms.lost;
                }
                let nodes = self.nodes_at(x, self.work);
                if let Some(nodes) = nodes.as_ref().filter(|n| n.smoothing() <= 2e-3 * self.std_error()) {
                    return nodes.tail(x);
                }
                // Far out the lattice of our own knows nothing.
                match self.grid().map(|g| g.above(x)).filter(|p| *p > 1e-9) {
                    Some(p) => p,
                    None => nodes.map_or_else(|| self.chernoff(x), |n| n.tail(x)),
                }
            }
        }
    }

    /// A bound on `P(E > x)`, `x >= 0`: Chernoff's, or half the probability that there is any error.
    fn chernoff(&self, x: f64) -> f64 {
        libm::fmin(-0.5 * libm::expm1(self.ln_zero()), libm::exp(self.ln_mass_bound(x)))
    }

    /// `ln` of a bound from below on the probability of no error.
    fn ln_zero(&self) -> f64 {
        self.groups.iter().map(|g| g.copies as f64 * g.noise.ln_zero()).sum()
    }

    /// Nodes that are good for tails and densities near `x >= 0`, for at most so much work.
    fn nodes_at(&self, x: f64, work: u64) -> Option<Nodes> {
        let sigma = self.std_error();
        let c = inversion::tilt_for_point(&self.parts, sigma, x);
        let (k, _) = inversion::cumulant(&self.parts, c);
        // The tail is Chernoff's bound over about c σ_c √2π; a factor of a hundred is room enough.
        let tail = (libm::exp(k - c * x) * 0.01).clamp(1e-300, 0.5);
        let period = inversion::period(&self.parts, c, x, tail);
        if let Some(h) = self.lattice
            && let Some(nodes) = self.nodes(c, period, Domain::Lattice { h }, DEPTH, work / 3)
        {
            return Some(nodes);
        }
        if self.is_continuous() {
            // Finer than for a half-width: nothing is added to a probability.
            for (tolerance, share) in [(1e-12, 3), (1e-11, 1), (1e-9, 1)] {
                let domain = Domain::Real { smoothing: 0.0, tolerance, at: x };
                if let Some(nodes) = self.nodes(c, period, domain, DEPTH, work / share) {
                    return Some(nodes);
                }
            }
        }
        // As little smoothing as the work allows.
        let mut left = Work::new(work / 3);
        let mut best = None;
        for i in 0..8 {
            let smoothing = sigma * 0.2 / f64::from(1 << (2 * i));
            let domain = Domain::Real { smoothing, tolerance: 1e-9, at: x };
            let depth = (-14.0 - 2.0 * f64::from(i)).max(DEPTH);
            match Nodes::new(&self.parts, c, period, domain, depth, &mut left) {
                Some(nodes) => best = Some(nodes),
                None => break,
            }
        }
        best
    }

    fn nodes(&self, c: f64, period: f64, domain: Domain, depth: f64, work: u64) -> Option<Nodes> {
        Nodes::new(&self.parts, c, period, domain, depth, &mut Work::new(work))
    }

    /// The neighbour's law on a lattice of our own.
    fn grid(&self) -> Option<&Grid> {
        let made = self.grid.get_or_init(|| {
            // All but 1e-13 of the law is within Chernoff's reach.
            let (_, reach) = inversion::tilt_for_tail(&self.parts, self.std_error(), 1e-14);
            Grid::new(&self.groups, reach).map(Arc::new)
        });
        made.as_deref()
    }

    /// The error's values, where they can be listed with at most `lost` left out.
    fn atoms(&self, lost: f64) -> Option<&Atoms> {
        let pairs = (self.work / 3) as usize;
        let listed = || LOST.iter().find_map(|lost| Atoms::new(&self.groups, *lost, pairs)).map(Arc::new);
        self.atoms.get_or_init(listed).as_deref().filter(|a| a.lost <= lost)
    }

    /// A half-width that leaves out at most `tau`, and what found it.
    fn solve(&self, tau: f64) -> (f64, Engine) {
        self.solve_closed(tau).unwrap_or_else(|| self.solve_real(tau / 2.0))
    }

    /// The same, where no dense atoms have to be inverted.
    fn solve_closed(&self, tau: f64) -> Option<(f64, Engine)> {
        let p = tau / 2.0;
        let half = |x: f64| 0.0f64.max(x);
        match self.groups.as_slice() {
            [] => return Some((0.0, Engine::Degenerate)),
            _ if self.method != Method::Auto && self.method != Method::Exact => {}
            [Term { coefficient, copies: 1, noise: NoiseLaw::Laplace { scale } }] => {
                return Some((half(-libm::log(tau) * scale * coefficient), Engine::Laplace));
            }
            [Term { coefficient, copies: 1, noise: NoiseLaw::DiscreteLaplace { scale } }] => {
                // The smallest k with q^{k+1}/(1+q) <= p.
                let need = -scale * (libm::log(p) + libm::log1p(libm::exp(-1.0 / scale)));
                let k = libm::ceil(need - 1.0 + 1e-12 * need.abs());
                return Some((half(k) * coefficient, Engine::Laplace));
            }
            _ if self.is_normal() => {
                return Some((half(self.std_error() * normal::upper_quantile(p)), Engine::Normal));
            }
            _ => {}
        }
        match self.method {
            Method::Pc { gamma } => return Some((self.mass(gamma).half_width(tau), Engine::Probability)),
            Method::Mc { draws, seed } => {
                let sample = self.sample(draws, seed);
                return Some((monte_carlo::upper_quantile(sample, tau), Engine::MonteCarlo));
            }
            _ => {}
        }
        // Often there is no error at all: then 0 covers, however dense the atoms are elsewhere.
        if -libm::expm1(self.ln_zero()) <= tau * (1.0 - 1e-12) {
            return Some((0.0, Engine::Lattice));
        }
        if let Some(h) = self.lattice {
            // Chebyshev settles errors that are almost never there at all.
            if self.variance / h / h <= tau {
                return Some((0.0, Engine::Lattice));
            }
            if let Some(w) = self.solve_lattice(p, h) {
                return Some((w, Engine::Lattice));
            }
        }
        if self.method == Method::Auto
            && let Some(w) = normal::conservative_half_width(&self.groups, tau)
            && w <= 1.001 * self.std_error() * normal::upper_quantile(p)
        {
            return Some((w, Engine::NormalBound));
        }
        None
    }

    fn solve_lattice(&self, p: f64, h: f64) -> Option<f64> {
        let sigma = self.std_error();
        let (c, bound) = inversion::tilt_for_tail(&self.parts, sigma, p);
        let period = inversion::period(&self.parts, c, bound, p);
        let domain = Domain::Lattice { h };
        let nodes = self.nodes(c, period, domain, DEPTH_WIDTH, self.work / 2)?;
        let fits = |k: f64| nodes.tail_bound((k + 0.5) * h) <= p;
        if fits(0.0) {
            return Some(0.0);
        }
        // Chernoff's bound fits; the rest is bisection on whole numbers.
        let (mut lo, mut hi) = (0.0, libm::ceil(bound / h).max(1.0));
        loop {
            let mid = libm::floor(0.5 * (lo + hi));
            // Far out not every whole number is a double.
            if !(lo < mid && mid < hi) {
                return Some(hi * h);
            }
            if fits(mid) { hi = mid } else { lo = mid }
        }
    }

    fn solve_real(&self, p: f64) -> (f64, Engine) {
        let sigma = self.std_error();
        let (c, bound) = inversion::tilt_for_tail(&self.parts, sigma, p);
        if let Some(atoms) = self.atoms(1e-5 * p) {
            return (least_beyond(atoms, p, bound, sigma), Engine::Atoms);
        }
        let period = inversion::period(&self.parts, c, bound, p);
        // The half-width is hardly less than that.
        let at = bound / 16.0;
        if self.is_continuous() {
            for tolerance in TOLERANCES {
                let domain = Domain::Real { smoothing: 0.0, tolerance, at };
                if let Some(nodes) = self.nodes(c, period, domain, DEPTH_WIDTH, self.work / 2) {
                    return (least_fitting(&nodes, p, bound), Engine::Continuous);
                }
            }
        }
        // Finer as long as the work lasts: each half-width is safe, the last the narrowest. What is dropped
        // as negligible is in proportion.
        let mut work = Work::new(self.work);
        let mut best = bound;
        let (mut eta, mut reached) = (SMOOTH * bound, f64::INFINITY);
        let target = p * (1.0 - normal::upper_tail(REACH));
        loop {
            let domain = Domain::Real { smoothing: eta / REACH, tolerance: 1e-3 * eta / best, at };
            let depth = (libm::log(eta / best) - 8.0).max(DEPTH_WIDTH);
            let nodes = Nodes::new(&self.parts, c, period, domain, depth, &mut work);
            let Some(nodes) = nodes.filter(|n| work.spend(40 * n.len()).is_some()) else { break };
            best = best.min(least_fitting(&nodes, target, bound + eta) + eta);
            reached = eta;
            let finest = FINEST * best;
            if eta <= 1.5 * finest {
                break;
            }
            eta = (eta / FINER).min(SMOOTH * best).max(finest);
        }
        if reached > COARSE * best
            && self.work >= WORK
            && let Some(w) = self.grid().and_then(|g| g.half_width(p))
            && w < best
        {
            return (w, Engine::Grid);
        }
        (best, Engine::Smoothed)
    }
}

fn on_lattice(x: f64, h: f64) -> bool {
    let k = x / h;
    (k - libm::round(k)).abs() <= 1e-9 + 1e-12 * k.abs()
}

/// The least `x >= 0` (to 1e-9 of a standard error, above it) that is exceeded with probability at most `p`, what was left out of
/// the list included; `start` is above it.
fn least_beyond(atoms: &Atoms, p: f64, start: f64, sigma: f64) -> f64 {
    // Half of what was left out is on one side. The allowance is for rounding.
    let bound = |x: f64| atoms.above(x) * (1.0 + 1e-12) + 0.5 * atoms.lost;
    least(bound, p, start, |hi| (1e-9 * sigma).max(1e-15 * hi))
}

/// The least `x >= 0` (to 1e-11) whose tail bound is at most `p`; `start` is near and above it.
fn least_fitting(nodes: &Nodes, p: f64, start: f64) -> f64 {
    least(|x| nodes.tail_bound(x), p, start, |hi| 1e-11 * hi)
}

/// The least `x >= 0` where a falling function is at most `p`, to a tolerance near `x`; it is at the returned point, too.
fn least(falling: impl Fn(f64) -> f64, p: f64, start: f64, tolerance: impl Fn(f64) -> f64) -> f64 {
    let excess = |x: f64| libm::log(falling(x).max(1e-320) / p);
    let (mut lo, mut f_lo) = (0.0, excess(0.0));
    if f_lo <= 0.0 {
        return 0.0;
    }
    let (mut hi, mut f_hi) = (start, excess(start));
    for _ in 0..60 {
        if f_hi <= 0.0 {
            break;
        }
        hi *= 1.01;
        f_hi = excess(hi);
    }
    // A bracket that shrinks by secants, with bisection whenever a secant did not halve it twice running.
    let mut slow = 0;
    for _ in 0..200 {
        let (width, near) = (hi - lo, tolerance(hi));
        if width <= near {
            break;
        }
        let x = if slow >= 2 {
            slow = 0;
            0.5 * (lo + hi)
        } else {
            let guess = lo + width * f_lo / (f_lo - f_hi);
            // A step past the guess, on alternate sides, so that both ends close in.
            let nudge = (1e-2 * (hi - guess).min(guess - lo)).max(0.4 * near);
            (if guess - lo < hi - guess { guess + nudge } else { guess - nudge }).clamp(lo + 4e-4 * near, hi)
        };
        let f = excess(x);
        if f <= 0.0 {
            (hi, f_hi) = (x, f)
        } else {
            (lo, f_lo) = (x, f)
        }
        if hi - lo > 0.5 * width {
            slow += 1;
        }
    }
    hi
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_centre;
#[cfg(test)]
mod tests_digits;
#[cfg(test)]
mod tests_limits;
