//! From a spec to what a plan is made from.

use super::copies::Wish;
use super::request::{Request, Summed};
use crate::plan::{Mode, Plan};
use crate::spec::{Budget, Precision, Spec, Unit, Wanted};
use crate::watch::Watch;

impl Spec {
    /// How the copies for several recipients hang together, and what each is to have.
    pub(crate) fn wishes(&self) -> Option<(Mode, Vec<Wish>)> {
        let recipients = self.recipients.as_ref()?;
        let wish = |w: &Wanted| {
            let (budget, margin) = match w.precision {
                Precision::Budget(budget) => (Some(budget), f64::INFINITY),
                Precision::Margin(margin) => (None, margin.to_f64()),
            };
            Wish { name: w.name.clone(), budget, margin }
        };
        Some((recipients.mode, recipients.list.iter().map(wish).collect()))
    }

    /// The public part that a plan was made from: a plan for (ε, δ) may have more than these convert to, see [`super::choose_within`].
    pub(crate) fn request_of(&self, plan: &Plan) -> Option<Request> {
        let mut request = self.measured(plan).request()?;
        if matches!(self.privacy.budget, Budget::EpsilonDelta(..)) && self.recipients.is_none() {
            request.budget = plan.budget;
        }
        Some(request)
    }

    /// The public part a plan depends on. For (ε, δ) the budget is the ρ that they convert to. `None` when (ε, δ) leave no room for noise that can be drawn.
    pub fn request(&self) -> Option<Request> {
        let (noise, budget) = self.privacy.budget.noise()?;
        let max_rows = match &self.privacy.unit {
            Unit::Row => 1,
            Unit::Column { max_rows, .. } => *max_rows,
        };
        Some(Request {
            cube: self.cube.clone(),
            workload: self.workload.clone(),
            noise,
            budget,
            neighbours: self.privacy.neighbours,
            max_rows,
            measure: self.strategy.measure,
            budgets: self.strategy.budgets,
            objective: self.strategy.objective,
            shares: self.strategy.shares.clone(),
            rows: self.strategy.rows.clone(),
            targets: self.targets.clone(),
            by_cell: self.strategy.expected.iter().map(|e| e.cells.clone()).collect(),
            exact: self.exact.iter().map(|e| e.cuboid.clone()).collect(),
            zeros: self.zeros.iter().map(|zero| zero.condition.clone()).collect(),
            cut_units: self.privacy.cut_units,
            effort: self.strategy.effort,
            tails: Vec::new(),
            care: std::sync::Arc::default(),
            by_variance: false,
            reach: 1,
            with_law: false,
            sums: self
                .summed()
                .map(|a| Summed {
                    quantity: a.quantity.clone(),
                    tables: a.tables.clone(),
                    targets: a.targets.clone(),
                    exact: a.exact.clone(),
                    square: a.square,
                    clamping: a.clamping,
                })
                .collect(),
            beside: Vec::new(),
            watch: Watch::default(),
        })
    }
}
