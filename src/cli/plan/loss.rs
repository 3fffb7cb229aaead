//! What a plan is in (ε, δ): in words, as a curve, and as a picture.

use crate::cli::chart::{Chart, Series};
use crate::cli::output::short;
use crate::exact::Rational;
use crate::plan::{Apart, Losses, convert};
use crate::planner::{Choice, Planned};
use crate::release::{Accounting, Approximate};
use crate::spec::{Budget, Spec};
use serde_json::{Value, json};

/// How many points the curve of δ has.
const CURVE: u32 = 24;
/// What the powers of ten are that it ends at.
const POWERS: std::ops::RangeInclusive<u32> = 1..=12;

/// The (ε, δ) that is stated, and the laws of the plan's loss, or why it has none.
pub(super) struct Promised<'a> {
    pub stated: Option<Approximate>,
    pub losses: Result<&'a Losses, Apart>,
}

/// Of a spec over the plan's levels.
pub(super) fn told<'a>(spec: &Spec, choice: &'a Choice) -> Promised<'a> {
    let Planned { plan, cost, .. } = &*choice.planned;
    let losses = choice.losses(&spec.cube);
    Promised { stated: spec.stated(plan, cost, losses), losses }
}

impl Promised<'_> {
    /// Beside a budget: the (ε, δ) of it, and where less could be had for the same promise, why it is not.
    pub(super) fn text(&self, budget: Budget) -> String {
        let Some(stated) = &self.stated else { return String::new() };
        let by = match (&self.losses, budget) {
            (Err(why), Budget::EpsilonDelta(..)) => format!(", by ρ: {why}"),
            _ => String::new(),
        };
        format!(" (ε = {} at δ = {}{by})", stated.epsilon, short(&stated.delta))
    }

    /// For programs.
    pub(super) fn json(&self, planned: &Planned) -> Value {
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

    /// δ against ε: by the law of the noises, and as ρ alone converts.
    pub(super) fn chart(&self, spec: &Spec, rho: Rational) -> Option<Chart> {
        let stated = self.stated.as_ref()?;
        let deltas =
            POWERS.flat_map(|power| [3, 1].map(|digit| Rational::new(digit, 10u128.pow(power)))).skip(1);
        let by_rho: Vec<(f64, f64)> =
            deltas.flatten().filter_map(|d| Some((convert::least_epsilon(rho, d)?, d.to_f64()))).collect();
        let series =
            |name: &str, points, colour| Series { name: name.into(), points, dashed: colour > 0, colour };
        let last = by_rho.last().map_or(0.0, |point| point.0);
        let by_law = self.losses.ok().map(|losses| {
            let at = |i: u32| last * f64::from(i) / f64::from(2 * CURVE);
            let points = (1..=2 * CURVE).map(|i| (at(i), losses.delta(at(i)))).collect();
            series("by the law of its noises", points, 0)
        });
        let mark = stated.epsilon.parse().ok();
        Some(Chart {
            title: spec.title.clone(),
            subtitle: match self.losses {
                Ok(_) => format!("the privacy loss of one release of ρ = {:.6}", rho.to_f64()),
                Err(why) => format!("one release of ρ = {:.6}; its law is not known: {why}", rho.to_f64()),
            },
            x_label: "ε".into(),
            even: true,
            y_label: "δ".into(),
            series: by_law.into_iter().chain([series("as ρ alone converts", by_rho, 1)]).collect(),
            mark: mark.map(|at| (at, format!("ε = {} at δ = {}", stated.epsilon, short(&stated.delta)))),
        })
    }
}
