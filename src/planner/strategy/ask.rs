//! What a strategy is asked, and what strategies have in common: budgets by closed forms ([`price`]), components measured one by one,
//! searches over tables, and rounding.

use super::landscape::{Choice, Landscape, stakes};
use super::refusal::{MANY_CELLS, MOST_CELLS, Measured, NotApplicable};
use crate::cube::{Cuboid, Frame};
use crate::plan::{Block, BudgetRule, Measurement, Noise, round};
use crate::planner::closure::Closure;
use crate::planner::linearised::Linearised;
use crate::planner::objective::Objective;
use crate::planner::price;
use crate::planner::request::Request;
use rustc_hash::{FxHashMap, FxHashSet};

/// The most tables or components of a workload that searches look at.
const MOST_SEARCHED: usize = 4096;

/// The part of the budget that is spent at least on what nobody asked for.
const UNASKED: f64 = 1e-3;

/// What is to be measured, over which levels, by which rule.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    /// What is asked for.
    pub request: &'a Request,
    /// The levels in use.
    pub frame: &'a Frame,
    /// The components below the workload.
    pub closure: &'a Closure,
    /// How the budget is shared.
    pub budgets: BudgetRule,
}

impl Ask<'_> {
    /// What people call a table.
    pub(crate) fn name(&self, cuboid: &Cuboid) -> String {
        self.request.cube.describe(cuboid)
    }

    /// Refuses tables of too many cells.
    pub(crate) fn check_size(&self, cuboid: &Cuboid) -> Result<(), NotApplicable> {
        check_size(self.frame, cuboid, || self.name(cuboid))
    }

    /// The workload's tables but those that are known without noise, each once.
    pub(crate) fn noisy(&self) -> impl Iterator<Item = &Cuboid> {
        let mut seen = FxHashSet::default();
        let tables = self.request.workload.iter().map(|t| &t.cuboid);
        tables.filter(move |c| !self.request.is_exact(c) && seen.insert(*c))
    }

    /// What a unit of `σ_A²` adds to the workload's weighted total variance, for every component: `c_A`.
    pub(crate) fn stakes(&self) -> Vec<f64> {
        stakes(self.request, self.frame, self.closure)
    }

    /// Whole tables, each a group of column norm 1, recovered directly (`s_r` = cells times weight).
    pub(crate) fn whole(&self, cuboids: impl Iterator<Item = Cuboid>) -> Result<Groups, NotApplicable> {
        let request = self.request;
        let mut groups = Groups::new();
        let mut weights: FxHashMap<&Cuboid, f64> = FxHashMap::default();
        for (t, table) in request.workload.iter().enumerate() {
            *weights.entry(&table.cuboid).or_default() += table.weight.to_f64() * self.closure.held(t);
        }
        for cuboid in cuboids {
            self.check_size(&cuboid)?;
            let weight = weights.get(&cuboid).copied().unwrap_or(1.0);
            let (price, weight) = (request.unit_price(), weight * self.frame.cells(&cuboid));
            groups.push(Block::Table(cuboid), price, weight, 1.0);
        }
        Ok(groups)
    }

    /// Groups at the scales of the closed form.
    pub(crate) fn closed(&self, mut groups: Groups) -> Result<Vec<Measured>, NotApplicable> {
        let request = self.request;
        groups.keep_all(request);
        let scales = scales(request.noise, request.budget.to_f64(), &groups, self.budgets);
        Ok(vec![(self.rounded(groups.at(scales))?, None)])
    }

    /// Components measured one by one, in one form or the other: by the closed form where there is one for the objective.
    pub(crate) fn components(&self, mut groups: Groups) -> Result<Vec<Measured>, NotApplicable> {
        let request = self.request;
        groups.keep_all(request);
        if self.budgets == BudgetRule::Uniform || request.objective == Objective::Total {
            return self.closed(groups);
        }
        let linearised = self.linearised(&groups);
        let bounds = linearised.bounds(request, &linearised.free());
        let solved = linearised.solve(request, &bounds, 1e-7);
        // From σ² of the component itself to the scale of its integers.
        let noise = request.noise;
        let scale = |(p, s): (Paid, f64)| noise.widened(noise.scale_of(s), p.unit);
        let scales = groups.measured(&solved.u).map(scale).collect();
        Ok(vec![(self.rounded(groups.at(scales))?, Some(solved.certificate))])
    }

    /// What components measured one by one add to every error, per unit of `σ_A²`.
    pub(crate) fn linearised(&self, groups: &Groups) -> Linearised {
        let noise = self.request.noise;
        let spent = price::spent(noise, self.request.budget.to_f64());
        let groups = groups.of_components(noise);
        Linearised::of_components(self.request, self.closure, groups, (price::power(noise), spent))
    }

    /// The error as a function of the tables measured, for searches.
    pub(crate) fn landscape(&self) -> Result<Landscape, NotApplicable> {
        let fits = self.closure.components.len().max(self.request.workload.len()) <= MOST_SEARCHED;
        let land = || Landscape::new(self.request, self.frame, self.closure, self.budgets);
        fits.then(land).flatten().ok_or(NotApplicable::TooManyTables)
    }

    /// The most cells that a search measures.
    pub(crate) fn most_cells(&self) -> f64 {
        MANY_CELLS.max(self.request.workload.iter().map(|t| self.frame.cells(&t.cuboid)).sum())
    }

    /// What a search has found.
    ///
    /// A table that is held for what nobody asked of it has next to no share; see [`Groups::keep_all`].
    pub(crate) fn chosen(
        &self,
        land: &Landscape,
        choice: &Choice,
    ) -> Result<Vec<Measurement>, NotApplicable> {
        let cells = self.request.workload.iter().all(|t| t.asks.is_cells());
        let least = if cells { 0.0 } else { UNASKED / choice.shares.len() as f64 };
        let poor = choice.shares.iter().any(|s| !(*s >= least));
        let sum: f64 = choice.shares.iter().map(|s| s.max(least)).sum();
        let share = |own: f64| if poor { own.max(least) / sum } else { own };
        let tables = choice.tables.iter().zip(&choice.shares);
        let block = |steps| Block::Table(land.cuboid(steps));
        self.rounded(tables.map(|(t, &own)| (block(&t.steps), self.share_scale(share(own)))))
    }

    /// The scale of a whole table that gets this share of the budget.
    pub(crate) fn share_scale(&self, share: f64) -> f64 {
        let budget = self.request.budget.to_f64() * share;
        self.request.unit_price() / price::spent(self.request.noise, budget)
    }

    fn rounded(&self, blocks: impl Iterator<Item = (Block, f64)>) -> Result<Vec<Measurement>, NotApplicable> {
        blocks
            .map(|(block, scale)| {
                let out_of_range = || NotApplicable::ScaleOutOfRange(self.name(block.cuboid()));
                let scale = round::up(scale).ok_or_else(out_of_range)?;
                Ok(Measurement { block, scale })
            })
            .collect()
    }
}

/// What a strategy measures.
pub(crate) struct Groups(Vec<Group>);

/// A block, and what it takes to measure it; `None` where it is known without noise and not measured at all.
struct Group {
    block: Block,
    paid: Option<Paid>,
}

/// The price `C_r` of precision of a group, and its weight `v_r` (`s_r`) in the workload's error.
#[derive(Clone, Copy)]
struct Paid {
    price: f64,
    weight: f64,
    /// The integers in one unit of the block: `m_A` for components, 1 for tables.
    unit: f64,
    /// How many groups there are in the block: uniform budgets are uniform over groups.
    groups: f64,
}

impl Groups {
    /// None yet.
    pub(crate) fn new() -> Groups {
        Groups(Vec::new())
    }

    /// A block of one group.
    pub(crate) fn push(&mut self, block: Block, price: f64, weight: f64, unit: f64) {
        self.push_several(1.0, block, price, weight, unit);
    }

    /// A block of several groups, and their price and weight together.
    pub(crate) fn push_several(&mut self, groups: f64, block: Block, price: f64, weight: f64, unit: f64) {
        self.0.push(Group { block, paid: Some(Paid { price, weight, unit, groups }) });
    }

    /// A block that is known without noise.
    pub(crate) fn push_known(&mut self, block: Block) {
        self.0.push(Group { block, paid: None });
    }

    /// What nobody asked for has no weight, and would get no budget. All groups together are given at least [`UNASKED`] of it, so that what
    /// follows from them can be estimated all the same. Where every cell is asked for there is nothing of the kind.
    fn keep_all(&mut self, request: &Request) {
        if request.workload.iter().all(|t| t.asks.is_cells()) {
            return;
        }
        let part = |p: &Paid| price::part(request.noise, p.price, p.weight);
        let priced = self.paid().count().max(1);
        let total: f64 = self.paid().map(|p| part(&p)).sum();
        let least = UNASKED * total / priced as f64;
        for p in self.0.iter_mut().filter_map(|g| g.paid.as_mut()).filter(|p| part(p) < least) {
            p.weight = price::weight_of(request.noise, p.price, least);
        }
    }

    /// All blocks, also those that are known.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.0.iter().map(|g| &g.block)
    }

    /// What those that are measured take.
    fn paid(&self) -> impl Iterator<Item = Paid> + Clone {
        self.0.iter().filter_map(|g| g.paid)
    }

    /// The blocks that are measured, with their scales.
    fn at(self, scales: Vec<f64>) -> impl Iterator<Item = (Block, f64)> {
        self.0.into_iter().filter(|g| g.paid.is_some()).map(|g| g.block).zip(scales)
    }

    /// For every component the price of precision, the `C` of [`price`], and what a unit of `σ_A²` adds to the
    /// weighted total; in σ² of the component itself and not of its scaled integers. What is known costs nothing and adds nothing.
    fn of_components(&self, noise: Noise) -> (Vec<f64>, Vec<f64>) {
        let price = |p: &Paid| price::of_variance(noise, p.price, p.unit);
        // Weights are those of a noise variance s², and σ² = s²/m².
        let of = |g: &Group| g.paid.map_or((0.0, 0.0), |p| (price(&p), p.weight * (p.unit * p.unit)));
        self.0.iter().map(of).unzip()
    }

    /// The same numbers for each block, of those that are measured only.
    fn measured<'a>(&'a self, of_all: &'a [f64]) -> impl Iterator<Item = (Paid, f64)> + 'a {
        self.0.iter().zip(of_all).filter_map(|(g, &v)| Some((g.paid?, v)))
    }
}

/// Scales that spend the budget on what is measured.
pub(super) fn scales(noise: Noise, budget: f64, groups: &Groups, budgets: BudgetRule) -> Vec<f64> {
    // Of uniform budgets each group gets the same part, so that a block of several gets several.
    let each = || groups.paid().map(|p| p.price / p.groups);
    let count: f64 = groups.paid().map(|p| p.groups).sum();
    match budgets {
        BudgetRule::Uniform => each().map(|c| c * count / price::spent(noise, budget)).collect(),
        BudgetRule::Optimal => price::best_scales(noise, budget, groups.paid().map(|p| (p.price, p.weight))),
    }
}

/// Refuses tables of too many cells.
pub(crate) fn check_size(
    frame: &Frame,
    cuboid: &Cuboid,
    name: impl Fn() -> String,
) -> Result<(), NotApplicable> {
    let cells = frame.cells(cuboid);
    if cells > MOST_CELLS as f64 {
        return Err(NotApplicable::TooManyCells(format!("{cells:.3e} ({})", name())));
    }
    Ok(())
}
