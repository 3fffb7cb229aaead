//! What a plan is in (ε, δ): for programs, and as a curve.

use crate::exact::Rational;
use crate::plan::{Apart, Losses};
use crate::planner::{Choice, Planned};
use crate::release::{Accounting, Approximate};
use crate::spec::Spec;
use serde_json::{Value, json};

/// How many points the curve of δ has.
pub(crate) const CURVE: u32 = 24;

/// The (ε, δ) that is stated, and the laws of the plan's loss, or why it has none.
pub(crate) struct Promised<'a> {
    pub stated: Option<Approximate>,
    pub losses: Result<&'a Losses, Apart>,
}

/// Of a spec over the plan's levels.
pub(crate) fn told<'a>(spec: &Spec, choice: &'a Choice) -> Promised<'a> {
    let Planned { plan, cost, .. } = &*choice.planned;
    let losses = choice.losses(&spec.cube);
    Promised { stated: spec.stated(plan, cost, losses), losses }
}

impl Promised<'_> {
    /// For programs.
    pub(crate) fn json(&self, planned: &Planned) -> Value {
        let Some(stated) = &self.stated else { return json!({}) };
        let last = Rational::new(1, 1_000_000_000_000).and_then(|d| self.losses.ok()?.epsilon(d));
        let curve = self.losses.ok().zip(last).map(|(losses, last)| {
            let at = |i: u32| last * f64::from(i) / f64::from(CURVE - 1);
            let point = |i| json!({ "epsilon": at(i), "delta": losses.delta(at(i)) });
            (0..CURVE).map(point).collect::<Vec<_>>()
        });
        json!({
            "rho": planned.cost.total,
            "accounting": stated.accounting.unwrap_or(Accounting::Zcdp),
            "no_curve": self.losses.err().map(|why| why.to_string()),
            "approximate": { "epsilon": stated.epsilon, "delta": stated.delta },
            "delta_curve": curve,
        })
    }
}
