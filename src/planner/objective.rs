//! What a plan makes small: the total variance, the worst cell's, or the distance to targets.
//!
//! For components measured one by one the last two are the convex programme of [`super::minimax`], with one row for
//! every kind of cell of every table. Strategies that measure whole tables share their budget by the closed
//! forms whatever the objective; only the choice between strategies then follows the objective.

use super::closure::Closure;
use super::minimax::Minimax;
use super::predict::Prediction;
use super::{Planned, Request};
use crate::exact::Rational;
use serde::{Deserialize, Serialize};

/// What the noise is shared out for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// The least weighted total variance.
    #[default]
    Total,
    /// The least largest cell variance, times its table's weight.
    Worst,
    /// The least total variance among plans that meet every target and keep all other tables within [`CARE`]; when none does,
    /// the smallest largest ratio of variance to target.
    Targets,
}

impl Objective {
    /// The name in specs and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Objective::Total => "total",
            Objective::Worst => "worst",
            Objective::Targets => "targets",
        }
    }
}

/// How precise a table must be: its interval at `level` at most `± margin`, in every cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The half-width asked for.
    pub margin: Rational,
    /// The probability with which the interval covers the truth.
    pub level: Rational,
}

impl Target {
    /// The variance at which a normal error just meets the target: `(margin/z)²`.
    pub fn variance(self) -> f64 {
        let z = crate::law::normal_upper_quantile(0.5 * (1.0 - self.level.to_f64()));
        let s = self.margin.to_f64() / z;
        s * s
    }
}

/// The proof that a plan is close to the best for its objective, before scales are rounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// What was minimised, for people.
    pub of: &'static str,
    /// The plan's value.
    pub value: f64,
    /// No plan of this strategy at this budget has a smaller value.
    pub bound: f64,
}

impl Certificate {
    /// The relative duality gap.
    pub fn gap(&self) -> f64 {
        (self.value / self.bound - 1.0).max(0.0)
    }
}

/// What strategies are compared by.
pub fn score(request: &Request, prediction: &Prediction) -> f64 {
    let worst_by = |scale: &dyn Fn(usize) -> f64| -> f64 {
        prediction.tables.iter().enumerate().map(|(t, s)| s.max * scale(t)).fold(0.0, f64::max)
    };
    match request.objective {
        Objective::Total => prediction.weighted_total,
        Objective::Worst => worst_by(&|t| request.workload[t].weight.to_f64()),
        Objective::Targets => {
            let ratio = worst_by(&|t| request.target_variance(t).map_or(0.0, f64::recip));
            // Met is met: then the total decides. Missed plans come after all that meet their targets.
            if ratio <= 1.0 + MET { prediction.weighted_total } else { 1e300 * ratio.min(1e8) }
        }
    }
}

/// A target counts as met within what rounding a scale costs.
pub const MET: f64 = 1e-6;

impl Planned {
    /// What this plan is compared by, see [`score`].
    pub fn score(&self, request: &Request) -> f64 {
        score(request, &self.prediction)
    }
}

impl Request {
    /// The variance at which a normal error just meets the target of workload table `t`.
    pub fn target_variance(&self, t: usize) -> Option<f64> {
        self.targets.get(t).copied().flatten().map(Target::variance)
    }
}

/// A row for every kind of cell of the tables that `scale` gives a factor, over components priced `price`.
/// `component` has the component of each of the programme's variables.
struct Programme {
    minimax: Minimax,
    component: Vec<usize>,
}

fn programme(
    request: &Request,
    closure: &Closure,
    price: &[f64],
    scale: impl Fn(usize) -> Option<f64>,
) -> Programme {
    let mut column: Vec<Option<u32>> = vec![None; price.len()];
    let mut out = Programme { minimax: Minimax::default(), component: Vec::new() };
    for (t, table) in request.workload.iter().enumerate() {
        let Some(factor) = scale(t) else { continue };
        closure.kind_gains(t, &table.cuboid, |ids, gains| {
            let mut row = Vec::with_capacity(ids.len());
            for (&id, &g) in ids.iter().zip(gains) {
                let (id, g) = (id as usize, g * factor);
                if g > 0.0 && price[id] > 0.0 {
                    let c = *column[id].get_or_insert_with(|| {
                        out.component.push(id);
                        out.minimax.price.push(price[id]);
                        out.component.len() as u32 - 1
                    });
                    row.push((c, g));
                }
            }
            if !row.is_empty() {
                out.minimax.rows.push(row);
            }
        });
    }
    out
}

/// The component variances `σ_A²` that are best for the request's objective at budget ρ, with the proof. `gain` is
/// what a unit of each `σ_A²` adds to the weighted total, `price` the `p_A` of `Σ p_A/(2σ_A²) ≤ ρ`.
pub fn variances(
    request: &Request,
    closure: &Closure,
    price: &[f64],
    gain: &[f64],
    rho: f64,
) -> (Vec<f64>, Certificate) {
    let total = total(price, gain, rho);
    match request.objective {
        Objective::Total => total,
        Objective::Worst => {
            let rows = programme(request, closure, price, |t| Some(request.workload[t].weight.to_f64()));
            let solved = rows.minimax.solve();
            let mut sigma2 = total.0;
            for (&id, u) in rows.component.iter().zip(&solved.u) {
                sigma2[id] = u * solved.value / (2.0 * rho);
            }
            let [value, bound] = [solved.value, solved.bound].map(|v| v / (2.0 * rho));
            (sigma2, Certificate { of: "worst variance times weight", value, bound })
        }
        Objective::Targets => targets(request, closure, price, gain, rho, total),
    }
}

/// docs/methods, "Budgets for whole tables": the least total variance.
fn total(price: &[f64], gain: &[f64], rho: f64) -> (Vec<f64>, Certificate) {
    let root: f64 = price.iter().zip(gain).map(|(c, v)| (c * v).sqrt()).sum();
    let sigma2: Vec<f64> = price.iter().zip(gain).map(|(c, v)| (c / v).sqrt() * root / (2.0 * rho)).collect();
    let value = root * root / (2.0 * rho);
    (sigma2, Certificate { of: "weighted total variance", value, bound: value })
}

/// A table without a target keeps the standard error of its worst cell within this factor of what the plan of least total variance
/// gives it at the same budget. Else it would pay for others' targets without limit, and nobody would have asked for that.
pub const CARE: f64 = 4.0;

/// The largest variance each table's worst cell may have: its target, or what care allows at the plan of least total, `free`.
fn bounds(request: &Request, closure: &Closure, price: &[f64], free: &[f64]) -> Vec<f64> {
    // What has no price is known without noise.
    let free: Vec<f64> = price.iter().zip(free).map(|(&c, &s)| if c > 0.0 { s } else { 0.0 }).collect();
    let tables = request.workload.iter().enumerate();
    let allowed = |t: usize, cuboid: &crate::cube::Cuboid| CARE * CARE * closure.spread(t, cuboid, &free).max;
    tables.map(|(t, table)| request.target_variance(t).unwrap_or_else(|| allowed(t, &table.cuboid))).collect()
}

/// The programme's rows for bounds of every table; those of targets `times` as wide.
fn bounded(request: &Request, closure: &Closure, price: &[f64], bounds: &[f64], times: f64) -> Programme {
    programme(request, closure, price, |t| {
        let wide = if request.target_variance(t).is_some() { times } else { 1.0 };
        bounds.get(t).filter(|&&b| b > 0.0).map(|b| 1.0 / (b * wide))
    })
}

/// The least total variance under targets. "A plan of total variance τ meets all bounds at budget ρ" is the
/// programme with one more row, `gain/τ`; its value falls as τ grows, so the least τ is found by bisection on a
/// logarithmic scale. The certificate is that of the last value that was too small a τ for the budget. When the targets are out of reach,
/// all of them are widened by the least common factor that is within reach, found in the same way.
fn targets(
    request: &Request,
    closure: &Closure,
    price: &[f64],
    gain: &[f64],
    rho: f64,
    free: (Vec<f64>, Certificate),
) -> (Vec<f64>, Certificate) {
    if request.targets.iter().all(Option::is_none) {
        return free;
    }
    let bounds = bounds(request, closure, price, &free.0);
    let base = bounded(request, closure, price, &bounds, 1.0);
    if base.minimax.rows.is_empty() {
        return free;
    }
    // All components, the targets' own first, so that the row of the total can name them all.
    let mut ids = base.component;
    let mut place = vec![usize::MAX; price.len()];
    ids.iter().enumerate().for_each(|(at, &id)| place[id] = at);
    for id in 0..price.len() {
        if place[id] == usize::MAX && price[id] > 0.0 {
            ids.push(id);
        }
    }
    let priced: Vec<f64> = ids.iter().map(|&id| price[id]).collect();
    let solve = |tau: f64| {
        let mut rows = base.minimax.rows.clone();
        rows.push(ids.iter().enumerate().map(|(at, &id)| (at as u32, gain[id] / tau)).collect());
        Minimax { price: priced.clone(), rows, square: false }.solve()
    };
    let spread = |ids: &[usize], u: &[f64], factor: f64| {
        let mut sigma2 = vec![0.0; price.len()];
        ids.iter().zip(u).for_each(|(&id, u)| sigma2[id] = u * factor);
        sigma2
    };
    let best = free.1.value;
    let (mut low, mut high) = (best, best);
    let first = solve(best);
    if first.value <= 2.0 * rho * (1.0 + 1e-9) {
        // The plan of least total variance meets them all.
        return free;
    }
    const LOOSEST: f64 = 1e4;
    let mut point = loop {
        high *= 4.0;
        let point = solve(high);
        if point.value <= 2.0 * rho {
            break point;
        }
        if high >= LOOSEST * best {
            return widened(request, closure, price, rho, &bounds, spread);
        }
        low = high;
    };
    for _ in 0..40 {
        if high / low < 1.0 + 1e-7 {
            break;
        }
        let middle = (low * high).sqrt();
        let next = solve(middle);
        if next.value <= 2.0 * rho {
            (high, point) = (middle, next);
        } else if next.bound > 2.0 * rho {
            low = middle;
        } else {
            break;
        }
    }
    // Anything the budget leaves over sharpens everything alike.
    let slack = point.value / (2.0 * rho);
    (
        spread(&ids, &point.u, slack),
        Certificate {
            of: "total variance under the targets",
            value: high * slack,
            bound: low.min(high * slack),
        },
    )
}

/// Targets out of reach: the smallest largest ratio of variance to target, with the same care for all other tables.
fn widened(
    request: &Request,
    closure: &Closure,
    price: &[f64],
    rho: f64,
    bounds: &[f64],
    spread: impl Fn(&[usize], &[f64], f64) -> Vec<f64>,
) -> (Vec<f64>, Certificate) {
    let solve = |times: f64| {
        let rows = bounded(request, closure, price, bounds, times);
        let solved = rows.minimax.solve();
        (rows.component, solved)
    };
    let (mut low, mut high) = (1.0, 2.0);
    let mut point = solve(high);
    // With targets wide enough only care is left, and the plan of least total takes all the care there is.
    while point.1.value > 2.0 * rho && high < 1e30 {
        if point.1.bound > 2.0 * rho {
            low = high;
        }
        high *= 4.0;
        point = solve(high);
    }
    for _ in 0..40 {
        if high / low < 1.0 + 1e-7 {
            break;
        }
        let middle = f64::sqrt(low * high);
        let next = solve(middle);
        if next.1.value <= 2.0 * rho {
            (high, point) = (middle, next);
        } else if next.1.bound > 2.0 * rho {
            low = middle;
        } else {
            break;
        }
    }
    let (ids, solved) = point;
    let slack = solved.value / (2.0 * rho);
    // Components that no bound needs are in no table.
    let sigma2 = spread(&ids, &solved.u, slack);
    let (value, bound) = (high * slack, low.min(high * slack));
    (sigma2, Certificate { of: "worst ratio of variance to target", value, bound })
}

/// The least ρ at which components measured one by one meet every target with care for the rest, and its certified
/// lower bound. `None` without targets. A plan for ρ, with all noise scaled, is one for any larger ρ: so bisection finds it.
pub fn least_rho(request: &Request, closure: &Closure, price: &[f64], gain: &[f64]) -> Option<(f64, f64)> {
    let alone = programme(request, closure, price, |t| request.target_variance(t).map(f64::recip));
    if alone.minimax.rows.is_empty() {
        return None;
    }
    let alone = alone.minimax.solve();
    let (mut low, mut high) = (alone.bound / 2.0, alone.value / 2.0);
    let solve = |rho: f64| {
        let bounds = bounds(request, closure, price, &total(price, gain, rho).0);
        bounded(request, closure, price, &bounds, 1.0).minimax.solve()
    };
    if request.workload.iter().enumerate().all(|(t, _)| request.target_variance(t).is_some()) {
        return Some((high, low));
    }
    loop {
        let next = solve(high);
        if next.value <= 2.0 * high {
            break;
        }
        if next.bound > 2.0 * high {
            low = high;
        }
        high *= 1.5;
        if high > 1e30 {
            return None;
        }
    }
    while high / low > 1.0 + 1e-6 {
        let middle = (low * high).sqrt();
        let next = solve(middle);
        if next.value <= 2.0 * middle {
            high = middle;
        } else if next.bound > 2.0 * middle {
            low = middle;
        } else {
            break;
        }
    }
    Some((high, low))
}
