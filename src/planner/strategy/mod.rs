//! Which blocks each strategy measures, and how its budget is shared (closed forms).
//!
//! * Gaussian: minimise `Σ v_r σ_r²` subject to `Σ C_r/(2σ_r²) = ρ` ⇒ `σ_r² = √(C_r/v_r) · Σ√(v C) / (2ρ)`.
//! * Laplace: minimise `Σ 2 s_r b_r²` subject to `Σ C_r/b_r = ε` ⇒ `1/b_r = η_r ∝ (s_r/C_r)^{1/3}`.
//!
//! The strategies that search for tables have a file each and share [`landscape`].

mod annealing;
mod cluster;
mod fourier;
mod given;
mod hierarchy;
mod landscape;
mod matrix;
mod tables;
mod wavelet;

use super::Request;
use super::closure::Closure;
use super::objective::{self, Certificate, Objective};
use crate::cube::{Cuboid, Frame};
use crate::plan::limits::MAX_MEASUREMENTS;
use crate::plan::{Block, BudgetRule, Measure, Measurement, Noise, block, round};
use landscape::{Choice, Landscape};
use rustc_hash::FxHashMap;
pub use wavelet::check_components;

/// Why a strategy does not apply to a workload. Shown in comparisons.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotApplicable {
    /// Residuals are measured with Gaussian noise.
    #[error("needs Gaussian noise (rho, or epsilon with delta)")]
    NeedsGaussian,
    /// The finest cuboid is too large to count.
    #[error("its one table would have {0} cells; the most is {MOST_CELLS}")]
    TooManyCells(String),
    /// Whole tables over unequal groups, beside exact ones: least squares does not decouple.
    #[error("tables published exactly beside noisy ones need `residual` when groups of a level are unequal")]
    ExactUnbalanced,
    /// The searches do not know which tables are known already.
    #[error("does not search around tables that are published exactly; use residual, queries or base")]
    ExactSearch,
    /// The integers would not fit.
    #[error("the integer scale of {0} does not fit")]
    ScaleTooLarge(String),
    /// The searches try pairs of tables.
    #[error("the workload has too many tables or levels to search")]
    TooManyTables,
    /// A table that was asked for does not follow from those that are measured.
    #[error("no measured table holds {0}")]
    NotHeld(String),
    /// A binary tree has more components than a release may measure.
    #[error("its binary trees have more than {MAX_MEASUREMENTS} groups of differences")]
    TooManyComponents,
    /// Bits of one level do not tell the groups of another.
    #[error("codes each dimension in bits at one level only; the workload uses several levels of {0}")]
    SeveralLevels(String),
    /// Coefficients beside tables known without noise.
    #[error(
        "does not combine coefficients with tables that are published exactly; use residual, queries or base"
    )]
    ExactCoefficients,
    /// `matrix` without rows.
    #[error("it needs `rows`: a file of linear queries")]
    NoRows,
    /// Rows beside tables known without noise.
    #[error("does not combine rows with tables that are published exactly; use residual, queries or base")]
    ExactRows,
    /// A table that was asked for is no combination of the rows.
    #[error("its rows do not determine every cell of {0}")]
    NotDetermined(String),
    /// Rows that cannot be worked with.
    #[error("{0}")]
    Rows(String),
    /// `given` without shares.
    #[error("it needs `shares`: which tables to measure, and each one's part of the budget")]
    NoShares,
    /// The budget is so small or so large that the noise cannot be drawn.
    #[error("the budget is so small or so large that the noise for {0} cannot be drawn")]
    ScaleOutOfRange(String),
    /// Counts times the integer scale, with noise.
    #[error("with a billion rows the integers of {0} would not fit 64 bits")]
    IntegersTooLarge(String),
    /// A measurement is one section of a file.
    #[error("{0} and its noise would take more than the 2^30 bytes of a section of a release")]
    SectionTooLarge(String),
    /// The file would have too many sections.
    #[error("its measurements would take more sections than a release may have")]
    TooManySections,
}

/// The largest table that is counted.
pub const MOST_CELLS: u64 = 1 << 31;
/// A strategy that searches measures no more cells than this, or than the workload itself has; nor does
/// `auto` choose one that does.
pub const MANY_CELLS: f64 = (1u64 << 26) as f64;
/// The most tables or components of a workload that searches look at.
const MOST_SEARCHED: usize = 4096;
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
    /// How many groups there are in each block: uniform budgets are uniform over groups.
    groups: Vec<f64>,
}

impl Groups {
    fn new() -> Groups {
        Groups {
            blocks: Vec::new(),
            price: Vec::new(),
            weight: Vec::new(),
            unit: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// A block of one group.
    fn push(&mut self, block: Block, price: f64, weight: f64, unit: f64) {
        self.blocks.push(block);
        self.price.push(price);
        self.weight.push(weight);
        self.unit.push(unit);
        self.groups.push(1.0);
    }

    /// The blocks that are measured, with their scales. What has no price is known without noise.
    fn paid(self, scales: Vec<f64>) -> impl Iterator<Item = (Block, f64)> {
        let paid = self.price.into_iter().map(|c| c > 0.0);
        self.blocks.into_iter().zip(scales).zip(paid).filter(|(_, paid)| *paid).map(|(block, _)| block)
    }
}

/// The measurements of one strategy. The searches over tables return several sets, of which the one with
/// the least exact prediction is meant: their own figure is for continuous noise and balanced levels.
///
/// The closed forms of the budgets are the best for direct recovery, and a search under one rule may end where one under
/// the other does not. So with optimal budgets equal ones are in the set as well: optimal is never the worse of the two.
pub fn measurements(
    request: &Request,
    frame: &Frame,
    closure: &Closure,
    measure: Measure,
    budgets: BudgetRule,
) -> Result<Vec<Measured>, NotApplicable> {
    let mut sets = by_rule(request, frame, closure, measure, budgets)?;
    let complete = matches!(measure, Measure::Tables | Measure::Given | Measure::Matrix);
    if budgets == BudgetRule::Optimal && !complete && sets.iter().all(|(_, proof)| proof.is_none()) {
        sets.extend(by_rule(request, frame, closure, measure, BudgetRule::Uniform).into_iter().flatten());
    }
    Ok(sets)
}

fn by_rule(
    request: &Request,
    frame: &Frame,
    closure: &Closure,
    measure: Measure,
    budgets: BudgetRule,
) -> Result<Vec<Measured>, NotApplicable> {
    let closed = |groups: Groups| {
        let scales = scales(request.noise, request.budget.to_f64(), &groups, budgets);
        rounded(request, groups.paid(scales))
    };
    let plain = |measurements: Vec<Measurement>| (measurements, None);
    if !request.exact.is_empty() && measure != Measure::Residual && !frame.is_balanced() {
        return Err(NotApplicable::ExactUnbalanced);
    }
    let noisy = || request.workload.iter().map(|t| &t.cuboid).filter(|c| !request.is_exact(c));
    let queries = || whole(request, frame, noisy().cloned());
    let base = || {
        let finest = noisy().fold(Cuboid::total(), |a, c| a.join(c));
        whole(request, frame, std::iter::once(finest))
    };
    let landscape = || {
        if !request.exact.is_empty() {
            return Err(NotApplicable::ExactSearch);
        }
        let fits = closure.components.len().max(request.workload.len()) <= MOST_SEARCHED;
        let land = if fits { Landscape::new(request, frame, closure, budgets) } else { None };
        land.ok_or(NotApplicable::TooManyTables)
    };
    let most = MANY_CELLS.max(request.workload.iter().map(|t| frame.cells(&t.cuboid)).sum());
    let by_choice = |land: &Landscape, choice: &Choice| {
        let tables = choice.tables.iter().zip(&choice.shares).map(|(t, &share)| {
            let scale = share_scale(request, share);
            (Block::Table(land.cuboid(&t.steps)), scale)
        });
        rounded(request, tables)
    };
    Ok(match measure {
        // Components measured one by one, in one form or the other.
        Measure::Residual | Measure::Wavelet => {
            let groups = match measure {
                Measure::Wavelet => wavelet::pairs(request, frame, closure)?,
                _ => residual(request, frame, closure)?,
            };
            if budgets == BudgetRule::Optimal
                && request.objective != Objective::Total
                && request.noise == Noise::Gaussian
            {
                let (scales, proof) = residual_scales(request, closure, &groups);
                vec![(rounded(request, groups.paid(scales))?, Some(proof))]
            } else {
                vec![plain(closed(groups)?)]
            }
        }
        Measure::Fourier => vec![plain(closed(fourier::coefficients(request, frame, closure)?)?)],
        Measure::Matrix => matrix::matrix(request, frame, budgets)?.into_iter().map(plain).collect(),
        Measure::Queries => vec![plain(closed(queries()?)?)],
        Measure::Base => vec![plain(closed(base()?)?)],
        Measure::Hierarchy => {
            let land = landscape()?;
            let choice = hierarchy::hierarchy(&land);
            if let Some(t) = choice.tables.iter().find(|t| t.cells > MOST_CELLS as f64) {
                check_size(frame, &land.cuboid(&t.steps), || request.cube.describe(&land.cuboid(&t.steps)))?;
            }
            vec![plain(by_choice(&land, &choice)?)]
        }
        Measure::Cluster => {
            let land = landscape()?;
            let choice = cluster::cluster(&land, most).ok_or(NotApplicable::TooManyTables)?;
            vec![plain(by_choice(&land, &choice)?)]
        }
        Measure::Given => vec![plain(given::given(request, frame)?)],
        Measure::Tables => {
            let land = landscape()?;
            let mut sets = Vec::new();
            let mut found: Option<Choice> = None;
            // What equal shares lead to is a start for optimal ones.
            for rule in [BudgetRule::Uniform, budgets].into_iter().take(1 + usize::from(!land.is_uniform())) {
                let land = land.again(rule);
                let mut starts = Vec::new();
                // Starts that do not apply, such as a base of too many cells, are none.
                for groups in [queries(), base()].into_iter().flatten() {
                    let shapes = groups.blocks.iter().map(|block| land.shape(land.steps_of(block.cuboid())));
                    let shapes: Vec<_> = shapes.collect();
                    let scales = scales(request.noise, request.budget.to_f64(), &groups, rule);
                    let choice = land.choice(shapes, scales.iter().map(|s| 1.0 / s).collect());
                    if choice.cells() <= most {
                        starts.push(choice);
                    }
                }
                starts.extend(cluster::cluster(&land, most));
                starts.extend(found.take());
                starts.iter().for_each(|choice| sets.extend(by_choice(&land, choice)));
                let best = tables::search(&land, starts, most, request.effort);
                let best = best.ok_or(NotApplicable::TooManyTables)?;
                sets.extend(by_choice(&land, &best));
                found = Some(best);
            }
            sets.into_iter().map(plain).collect()
        }
    })
}

/// A set of measurements, with its certificate where the objective asks for one.
pub type Measured = (Vec<Measurement>, Option<Certificate>);

/// What a unit of `σ_A²` adds to the workload's weighted total variance, for every component: `c_A`.
fn stakes(request: &Request, frame: &Frame, closure: &Closure) -> Vec<f64> {
    let mut gain = vec![0.0; closure.components.len()];
    for (t, table) in request.workload.iter().enumerate() {
        let weight = table.weight.to_f64() * frame.cells(&table.cuboid);
        closure.mean_gains(t, &table.cuboid, |id, g| gain[id] += weight * g);
    }
    gain
}

/// The scale of a whole table that gets this share of the budget.
fn share_scale(request: &Request, share: f64) -> f64 {
    let price = request.unit_price(request.noise);
    let budget = request.budget.to_f64() * share;
    match request.noise {
        Noise::Gaussian => price / (2.0 * budget),
        Noise::Laplace => price / budget,
    }
}

fn rounded(
    request: &Request,
    blocks: impl Iterator<Item = (Block, f64)>,
) -> Result<Vec<Measurement>, NotApplicable> {
    blocks
        .map(|(block, scale)| {
            let scale = round::up(scale)
                .ok_or_else(|| NotApplicable::ScaleOutOfRange(request.cube.describe(block.cuboid())))?;
            Ok(Measurement { block, scale })
        })
        .collect()
}

/// For every component of a closure the price of a unit of precision `1/σ_A²`, and what a unit of `σ_A²` adds to the weighted total;
/// in σ² of the component itself and not of its scaled integers. `residual` measures them in this order.
pub fn component_prices(
    request: &Request,
    frame: &Frame,
    closure: &Closure,
) -> Result<(Vec<f64>, Vec<f64>), NotApplicable> {
    Ok(by_component(&residual(request, frame, closure)?))
}

fn by_component(groups: &Groups) -> (Vec<f64>, Vec<f64>) {
    let squares = || groups.unit.iter().map(|m| m * m);
    let price = groups.price.iter().zip(squares()).map(|(c, mm)| c / mm).collect();
    let gain = groups.weight.iter().zip(squares()).map(|(v, mm)| v * mm).collect();
    (price, gain)
}

/// Scales of the components' integer noise for objectives other than the total.
fn residual_scales(request: &Request, closure: &Closure, groups: &Groups) -> (Vec<f64>, Certificate) {
    let squares = || groups.unit.iter().map(|m| m * m);
    let (price, gain) = by_component(groups);
    let rho = request.budget.to_f64();
    let (sigma2, certificate) = objective::variances(request, closure, &price, &gain, rho);
    (sigma2.iter().zip(squares()).map(|(s, mm)| s * mm).collect(), certificate)
}

/// Scales that spend the budget: variance parameters (Gaussian) or Laplace scales.
fn scales(noise: Noise, budget: f64, groups: &Groups, budgets: BudgetRule) -> Vec<f64> {
    let pairs = || groups.price.iter().zip(&groups.weight);
    // Of uniform budgets each group gets the same part, so that a block of several gets several.
    let each = || groups.price.iter().zip(&groups.groups).map(|(c, g)| c / g);
    let count: f64 = groups.price.iter().zip(&groups.groups).filter(|(c, _)| **c > 0.0).map(|(_, g)| g).sum();
    match (noise, budgets) {
        (Noise::Gaussian, BudgetRule::Uniform) => each().map(|c| c * count / (2.0 * budget)).collect(),
        (Noise::Gaussian, BudgetRule::Optimal) => {
            let total: f64 = pairs().map(|(c, v)| (c * v).sqrt()).sum();
            pairs().map(|(c, v)| (c / v).sqrt() * total / (2.0 * budget)).collect()
        }
        (Noise::Laplace, BudgetRule::Uniform) => each().map(|c| c * count / budget).collect(),
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
    let gain = stakes(request, frame, closure);
    let mut groups = Groups::new();
    for (component, v) in closure.components.iter().zip(gain) {
        if request.is_exact(component) {
            // Known without noise: measured at no price, that is, not at all.
            groups.push(Block::Component(component.clone()), 0.0, 0.0, 1.0);
            continue;
        }
        let name = || request.cube.describe(component);
        check_size(frame, component, name)?;
        let m = block::component_scale(frame, component).filter(|&m| m <= MOST_SCALE);
        let m = m.ok_or_else(|| NotApplicable::ScaleTooLarge(name()))?;
        let norm =
            block::component_norm(frame, component).ok_or_else(|| NotApplicable::ScaleTooLarge(name()))?;
        // The scale is that of the integer noise: s² = m²σ². Price and weight in those units.
        let (price, m) = (norm as f64 * request.unit_price(Noise::Gaussian), m as f64);
        groups.push(Block::Component(component.clone()), price, v / (m * m), m);
    }
    Ok(groups)
}

/// Whole tables, each a group of column norm 1, recovered directly (`s_r` = cells times weight).
fn whole(
    request: &Request,
    frame: &Frame,
    cuboids: impl Iterator<Item = Cuboid>,
) -> Result<Groups, NotApplicable> {
    let mut groups = Groups::new();
    let weights: FxHashMap<&Cuboid, f64> =
        request.workload.iter().map(|t| (&t.cuboid, t.weight.to_f64())).collect();
    for cuboid in cuboids {
        check_size(frame, &cuboid, || request.cube.describe(&cuboid))?;
        let weight = weights.get(&cuboid).copied().unwrap_or(1.0);
        let (price, weight) = (request.unit_price(request.noise), weight * frame.cells(&cuboid));
        groups.push(Block::Table(cuboid), price, weight, 1.0);
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
