//! What a plan is made from: the spec's public part, with no data and no file names.

use crate::cube::Quantity;
use crate::cube::{Cube, Cuboid};
use crate::exact::Rational;
use crate::plan::{BudgetRule, Measure, Neighbours, Noise, Objective, Rows, Share, Table, Target};
use crate::watch::Watch;
use std::borrow::Cow;
use std::sync::Arc;

/// A number of rows with the tables of its sums.
#[derive(Debug, Clone)]
pub struct Summed {
    /// The number.
    pub quantity: Arc<Quantity>,
    /// The tables, weighed in squares of half the distance between its bounds.
    pub tables: Vec<Table>,
    /// For each table how precise its sums must be.
    pub targets: Vec<Option<Target>>,
    /// Those of them whose sums are published without noise.
    pub exact: Vec<Cuboid>,
    /// Whether squares are summed, too.
    pub square: bool,
    /// The part of the budget with which the rows are counted that are moved to its ends.
    pub clamping: Option<Rational>,
}

impl Summed {
    /// The tables whose sums have targets.
    pub(super) fn aims(&self) -> impl Iterator<Item = (&Cuboid, Target)> {
        let each = self.tables.iter().zip(&self.targets);
        each.filter_map(|(table, target)| Some((&table.cuboid, (*target)?)))
    }
}

/// Everything a plan depends on.
#[derive(Debug, Clone)]
pub struct Request {
    /// The dimensions.
    pub cube: Arc<Cube>,
    /// The tables asked for.
    pub workload: Vec<Table>,
    /// The kind of noise.
    pub noise: Noise,
    /// ρ for Gaussian noise, ε for Laplace.
    pub budget: Rational,
    /// The neighbour relation.
    pub neighbours: Neighbours,
    /// How many rows one unit may own.
    pub max_rows: u32,
    /// `None` chooses the strategy with the least predicted error.
    pub measure: Option<Measure>,
    /// How the budget is shared.
    pub budgets: BudgetRule,
    /// What the noise is shared out for.
    pub objective: Objective,
    /// For each workload table how precise it must be: as long as the workload.
    pub targets: Vec<Option<Target>>,
    /// For each workload table what each of its cells weighs, in their order and one on average; nothing where all weigh alike. May be empty where that is so
    /// of all tables ([`Request::weighs_cells`]).
    pub by_cell: Vec<Arc<[f64]>>,
    /// Tables of the workload that are published without noise.
    pub exact: Vec<Cuboid>,
    /// Conditions whose cells are empty whatever the data. Predictions count on them; budgets are shared out without.
    pub zeros: Vec<String>,
    /// The part of the budget with which the units that have more than `max_rows` rows are counted.
    pub cut_units: Option<Rational>,
    /// For [`Measure::Given`]: what is measured. Empty otherwise.
    pub shares: Vec<Share>,
    /// For [`Measure::Matrix`]: the agency's own linear queries.
    pub rows: Option<Rows>,
    /// How long to search for tables, in parts of what takes some seconds. The plan depends on it.
    pub effort: u32,
    /// For each workload table the factor by which its cells' variance must be smaller than a normal error's, since its noise has longer
    /// tails; empty where all are one.
    pub tails: Vec<f64>,
    /// With targets, for each workload table the largest variance that the plan of least total gives it at the same budget: those without a target
    /// are not let down much further. Empty where it is not known yet.
    pub care: Arc<[f64]>,
    /// Whether targets are looked at as those of normal errors: of a channel of several, whose errors are seen together later.
    pub by_variance: bool,
    /// How far one row moves what is added up: as rows are counted, by one.
    pub reach: u128,
    /// Numbers whose sums are asked for beside counts.
    pub sums: Vec<Summed>,
    /// Tables of other channels: their levels are in use as well.
    pub beside: Vec<Cuboid>,
    /// Whether just plans are wanted the law of whose loss is known.
    pub with_law: bool,
    /// Hears and stops the search; the plan does not depend on it.
    pub watch: Watch,
}

impl Request {
    /// Tables at a budget, with everything else as a spec has it that says nothing of it.
    pub fn new(cube: impl Into<Arc<Cube>>, workload: Vec<Table>, noise: Noise, budget: Rational) -> Request {
        Request {
            cube: cube.into(),
            targets: vec![None; workload.len()],
            by_cell: Vec::new(),
            workload,
            noise,
            budget,
            neighbours: Neighbours::AddRemove,
            max_rows: 1,
            measure: None,
            budgets: BudgetRule::Optimal,
            objective: Objective::Total,
            exact: Vec::new(),
            zeros: Vec::new(),
            cut_units: None,
            shares: Vec::new(),
            rows: None,
            effort: 1,
            tails: Vec::new(),
            care: Arc::default(),
            by_variance: false,
            reach: 1,
            sums: Vec::new(),
            beside: Vec::new(),
            with_law: false,
            watch: Watch::default(),
        }
    }

    /// The request over the levels that a strategy works on: some put halves between them, see
    /// [`crate::cube::Refined`].
    pub fn over(&self, measure: Measure) -> Cow<'_, Request> {
        if !measure.refines(&self.workload) {
            return Cow::Borrowed(self);
        }
        let refined = self.cube.refined();
        let mut out = Request { cube: refined.cube.clone(), ..self.clone() };
        out.workload.iter_mut().for_each(|t| t.cuboid = refined.cuboid(&t.cuboid));
        out.exact.iter_mut().for_each(|c| *c = refined.cuboid(c));
        out.shares.iter_mut().for_each(|s| s.cuboid = refined.cuboid(&s.cuboid));
        Cow::Owned(out)
    }

    /// The part of the budget that is left for the tables. `None` when it does not fit the arithmetic.
    pub(crate) fn for_tables(&self) -> Option<Rational> {
        let shares = self.sums.iter().filter_map(|s| s.clamping).chain(self.cut_units);
        let share = shares.into_iter().try_fold(Rational::ZERO, |sum, share| sum.checked_add(share))?;
        let rest = share.denominator().checked_sub(share.numerator()).filter(|&rest| rest > 0)?;
        Rational::new(rest, share.denominator())
    }

    /// Whether a component or a table follows from the tables published without noise.
    pub fn is_exact(&self, cuboid: &Cuboid) -> bool {
        self.exact.iter().any(|e| cuboid.is_below(e))
    }

    /// By how much the neighbour relation and the rows a unit may own multiply the price of a unit column:
    /// squared lengths where squares count, lengths otherwise. For components under `substitute` this is
    /// the safe bound; the plan takes back what the exact worst case leaves over.
    pub(crate) fn unit_price(&self) -> f64 {
        let rows = f64::from(self.max_rows);
        let change = if self.neighbours == Neighbours::Substitute { 2.0 } else { 1.0 };
        self.noise.power(rows) * change
    }
}

impl Request {
    /// Whether any table's cells weigh each by itself.
    pub(crate) fn weighs_cells(&self) -> bool {
        self.by_cell.iter().any(|cells| !cells.is_empty())
    }

    /// What each cell of workload table `t` weighs, where not all weigh alike.
    pub(crate) fn cells_of(&self, t: usize) -> Option<&[f64]> {
        self.by_cell.get(t).map(|cells| &**cells).filter(|cells| !cells.is_empty())
    }

    /// Whether tables without a target have to be taken care of, and it is not known yet what for.
    pub(super) fn lacks_care(&self) -> bool {
        let bare = |t: usize| self.targets.get(t).copied().flatten().is_none();
        let some = self.targets.iter().any(Option::is_some) && (0..self.workload.len()).any(bare);
        self.objective == Objective::Targets && self.care.is_empty() && some
    }

    /// The request for the least total.
    pub(super) fn of_total(&self) -> Request {
        Request { objective: Objective::Total, ..self.clone() }
    }

    /// The variance at which an error just meets the target of workload table `t`: a normal one, unless its tails are known.
    pub(crate) fn target_variance(&self, t: usize) -> Option<f64> {
        let tail = self.tails.get(t).copied().unwrap_or(1.0);
        self.targets.get(t).copied().flatten().map(|target| target.variance() * tail)
    }
}
