//! What a plan is in (ε, δ): in words, and as a picture.

use crate::cli::chart::{Chart, Series};
use crate::cli::output::short;
use crate::exact::Rational;
use crate::plan::convert;
use crate::preview::loss::{CURVE, Promised};
use crate::spec::{Budget, Spec};

/// What the powers of ten are that it ends at.
const POWERS: std::ops::RangeInclusive<u32> = 1..=12;

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
