//! Which blocks each strategy measures, and how its budget is shared (closed forms).
//!
//! * Gaussian: minimise `Σ v_r σ_r²` subject to `Σ C_r/(2σ_r²) = ρ` ⇒ `σ_r² = √(C_r/v_r) · Σ√(v C) / (2ρ)`.
//! * Laplace: minimise `Σ 2 s_r b_r²` subject to `Σ C_r/b_r = ε` ⇒ `1/b_r = η_r ∝ (s_r/C_r)^{1/3}`.

use super::closure::Closure;
use super::objective::{self, Certificate, Objective};
use super::{Block, BudgetRule, Measure, Measurement, Noise, Request, cost, round};
use crate::cube::{Cuboid, Frame};

/// Why a strategy does not apply to a workload. Shown in comparisons.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotApplicable {
    /// Residuals are measured with Gaussian noise.
    #[error("needs Gaussian noise (rho, or epsilon with delta)")]
    NeedsGaussian,
    /// The finest cuboid is too large to count.
    #[error("its one table would have {0} cells; the most is {MOST_CELLS}")]
    TooManyCells(String),
    /// The integers would not fit.
    #[error("the integer scale of {0} does not fit")]
    ScaleTooLarge(String),
    /// The budget is so small or so large that the noise cannot be drawn.
    #[error("the noise scale for {0} is outside what can be sampled")]
    ScaleOutOfRange(String),
}

/// The largest table that is counted.
pub const MOST_CELLS: u64 = 1 << 31;
/// The largest integer scale `m_A`; counts times this stay far inside 64 bits.
const MOST_SCALE: u128 = 1 << 36;

/// What a strategy measures, and for each group the price `C_r` of precision and its weight `v_r` (`s_r`) in
/// the workload's error.
struct Groups {
    blocks: Vec<Block>,
    price: Vec<f64>,
    weight: Vec<f64>,
    /// The integers in one unit of the block: `m_A` for components, 1 for tables.
    unit: Vec<f64>,
}

/// The measurements of one strategy.
pub fn measurements(
    request: &Request,
    frame: &Frame,
    closure: &Closure,
    measure: Measure,
    budgets: BudgetRule,
) -> Result<(Vec<Measurement>, Option<Certificate>), NotApplicable> {
    let groups = match measure {
        Measure::Residual => residual(request, frame, closure)?,
        Measure::Queries => tables(request, frame, request.workload.iter().map(|t| t.cuboid.clone()))?,
        Measure::Base => {
            let finest = request.workload.iter().fold(Cuboid::total(), |a, t| a.join(&t.cuboid));
            tables(request, frame, std::iter::once(finest))?
        }
    };
    let mut certificate = None;
    let scales = if measure == Measure::Residual
        && budgets == BudgetRule::Optimal
        && request.objective != Objective::Total
    {
        let (scales, proof) = residual_scales(request, closure, &groups);
        certificate = Some(proof);
        scales
    } else {
        scales(request.noise, request.budget.to_f64(), &groups, budgets)
    };
    let measurements = groups
        .blocks
        .into_iter()
        .zip(scales)
        .map(|(block, scale)| {
            let scale = round::up(scale).ok_or_else(|| {
                let (Block::Component(c) | Block::Table(c)) = &block;
                NotApplicable::ScaleOutOfRange(request.cube.describe(c))
            })?;
            Ok(Measurement { block, scale })
        })
        .collect::<Result<_, _>>()?;
    Ok((measurements, certificate))
}

/// The price of a unit of precision `1/σ_A²` of every component of a closure, in σ² of the component itself
/// and not of its scaled integers: `residual` measures them in this order.
pub fn component_prices(
    request: &Request,
    frame: &Frame,
    closure: &Closure,
) -> Result<Vec<f64>, NotApplicable> {
    let groups = residual(request, frame, closure)?;
    Ok(groups.price.iter().zip(&groups.unit).map(|(c, m)| c / (m * m)).collect())
}

/// Scales of the components' integer noise for objectives other than the total.
fn residual_scales(request: &Request, closure: &Closure, groups: &Groups) -> (Vec<f64>, Certificate) {
    let squares = || groups.unit.iter().map(|m| m * m);
    let price: Vec<f64> = groups.price.iter().zip(squares()).map(|(c, mm)| c / mm).collect();
    let gain: Vec<f64> = groups.weight.iter().zip(squares()).map(|(v, mm)| v * mm).collect();
    let rho = request.budget.to_f64();
    let (sigma2, certificate) = objective::variances(request, closure, &price, &gain, rho);
    (sigma2.iter().zip(squares()).map(|(s, mm)| s * mm).collect(), certificate)
}

/// Scales that spend the budget: variance parameters (Gaussian) or Laplace scales.
fn scales(noise: Noise, budget: f64, groups: &Groups, budgets: BudgetRule) -> Vec<f64> {
    let pairs = || groups.price.iter().zip(&groups.weight);
    let count = groups.price.len() as f64;
    match (noise, budgets) {
        (Noise::Gaussian, BudgetRule::Uniform) => {
            groups.price.iter().map(|c| c * count / (2.0 * budget)).collect()
        }
        (Noise::Gaussian, BudgetRule::Optimal) => {
            let total: f64 = pairs().map(|(c, v)| (c * v).sqrt()).sum();
            pairs().map(|(c, v)| (c / v).sqrt() * total / (2.0 * budget)).collect()
        }
        (Noise::Laplace, BudgetRule::Uniform) => groups.price.iter().map(|c| c * count / budget).collect(),
        (Noise::Laplace, BudgetRule::Optimal) => {
            let eta = |(c, s): (&f64, &f64)| libm::cbrt(s / c);
            let total: f64 = pairs().map(|p| p.0 * eta(p)).sum();
            pairs().map(|p| total / (eta(p) * budget)).collect()
        }
    }
}

fn residual(request: &Request, frame: &Frame, closure: &Closure) -> Result<Groups, NotApplicable> {
    if request.noise != Noise::Gaussian {
        return Err(NotApplicable::NeedsGaussian);
    }
    // v_A: what a unit of σ_A² adds to the workload's weighted total variance.
    let mut gain = vec![0.0; closure.components.len()];
    for (t, table) in request.workload.iter().enumerate() {
        let weight = table.weight.to_f64() * frame.cells(&table.cuboid);
        closure.mean_gains(t, &table.cuboid, |id, g| gain[id] += weight * g);
    }
    let mut groups = Groups { blocks: Vec::new(), price: Vec::new(), weight: Vec::new(), unit: Vec::new() };
    for (component, v) in closure.components.iter().zip(gain) {
        let name = || request.cube.describe(component);
        check_size(frame, component, name)?;
        let m = cost::component_scale(frame, component).filter(|&m| m <= MOST_SCALE);
        let m = m.ok_or_else(|| NotApplicable::ScaleTooLarge(name()))?;
        let norm =
            cost::component_norm(frame, component).ok_or_else(|| NotApplicable::ScaleTooLarge(name()))?;
        // The scale is that of the integer noise: s² = m²σ². Price and weight in those units.
        groups.price.push(norm as f64 * request.unit_price(Noise::Gaussian));
        groups.weight.push(v / (m as f64 * m as f64));
        groups.unit.push(m as f64);
        groups.blocks.push(Block::Component(component.clone()));
    }
    Ok(groups)
}

/// Whole tables, each a group of column norm 1, recovered directly (`s_r` = cells times weight).
fn tables(
    request: &Request,
    frame: &Frame,
    cuboids: impl Iterator<Item = Cuboid>,
) -> Result<Groups, NotApplicable> {
    let mut groups = Groups { blocks: Vec::new(), price: Vec::new(), weight: Vec::new(), unit: Vec::new() };
    for cuboid in cuboids {
        check_size(frame, &cuboid, || request.cube.describe(&cuboid))?;
        let weight = request.workload.iter().find(|t| t.cuboid == cuboid).map_or(1.0, |t| t.weight.to_f64());
        groups.price.push(request.unit_price(request.noise));
        groups.weight.push(weight * frame.cells(&cuboid));
        groups.unit.push(1.0);
        groups.blocks.push(Block::Table(cuboid));
    }
    Ok(groups)
}

fn check_size(frame: &Frame, cuboid: &Cuboid, name: impl Fn() -> String) -> Result<(), NotApplicable> {
    let cells = frame.cells(cuboid);
    if cells > MOST_CELLS as f64 {
        return Err(NotApplicable::TooManyCells(format!("{cells:.3e} ({})", name())));
    }
    Ok(())
}
