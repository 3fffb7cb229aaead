//! The margins that `plan` promises: half-widths of 95 % intervals, by the very laws of the errors where that does not take long.

use crate::answer::Evaluator;
use crate::planner::{Planned, Request, worst};
use crate::recover::{Nothing, Recovery};
use std::cell::RefCell;
use std::collections::HashMap;

/// Exact laws are worked out one by one for up to so many tables; with more, 1.96 standard errors.
const EXACT_MARGINS: usize = 64;

/// The half-width of the 95 % interval of what is asked of a table.
pub(crate) struct Margins<'a> {
    evaluator: Option<Evaluator<Nothing>>,
    request: &'a Request,
    planned: &'a Planned,
    /// Of the worst answer of each table that was looked at.
    known: RefCell<HashMap<usize, (f64, bool)>>,
}

/// A half-width, and whether it comes from the very law of the error, or a normal one stands in.
pub(crate) type Margin = (f64, bool);

impl<'a> Margins<'a> {
    pub(crate) fn new(request: &'a Request, planned: &'a Planned) -> Margins<'a> {
        let few = planned.plan.rows().workload.len() <= EXACT_MARGINS;
        let recovery = few.then(|| Recovery::new(request.cube.clone(), planned.plan.clone(), Nothing).ok());
        let evaluator = recovery.flatten().map(Evaluator::new);
        Margins { evaluator, request, planned, known: RefCell::default() }
    }

    /// Of the worst answer of table `at`.
    pub(crate) fn of(&self, at: usize, max_variance: f64) -> Margin {
        let known = self.known.borrow().get(&at).copied();
        known.unwrap_or_else(|| {
            let law = self.evaluator.as_ref().and_then(|e| worst::law(e, self.request, self.planned, at));
            let margin = law.map_or_else(|| normal(max_variance), |law| (law.half_width(0.95), true));
            self.known.borrow_mut().insert(at, margin);
            margin
        })
    }

    /// Of one cell of table `at`, by its nodes.
    pub(crate) fn of_cell(&self, at: usize, nodes: &[u32], variance: f64) -> Margin {
        let table = self.planned.plan.rows().workload.get(at);
        let law = self.evaluator.as_ref().and_then(|e| worst::cell(e, table?, nodes));
        law.map_or_else(|| normal(variance), |law| (law.half_width(0.95), true))
    }
}

/// What stands in for it.
pub(crate) fn normal(variance: f64) -> Margin {
    (1.959_963_984_540_054 * variance.sqrt(), variance == 0.0)
}
