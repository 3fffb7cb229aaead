//! What the same ε would give with a little δ: Gaussian noise, whose best plans are much more precise for many overlapping tables.

use super::chosen::{Choice, Look};
use super::planned::Planned;
use super::request::Request;
use super::within::choose_within;
use crate::exact::Rational;
use crate::plan::{Measure, Noise, convert};
use std::sync::{Arc, LazyLock};

/// The δ that is compared with: one in a billion.
pub(crate) static DELTA: LazyLock<Rational> =
    LazyLock::new(|| Rational::new(1, 1_000_000_000).unwrap_or(Rational::ONE));

/// The plan under Gaussian noise for the same request.
#[derive(Debug, Clone)]
pub(crate) struct WithDelta {
    /// Its strategy is the one asked for; `residual` for `auto`, or `bases` where that is better for more than cells: best or close to it, and quick.
    pub planned: Planned,
}

/// For a request under pure ε: the plan at the largest ρ that ε and [`DELTA`] allow. `None` for other requests, and where there is
/// no such plan.
pub(crate) fn with_delta(request: &Request) -> Option<WithDelta> {
    if !request.noise.is_pure() {
        return None;
    }
    let mut other = request.clone();
    other.noise = Noise::Gaussian;
    other.budget = convert::largest_rho(request.budget, *DELTA)?;
    // More than cells is what bases are for.
    let more = || request.workload.iter().any(|t| !t.asks.is_cells());
    let quick = match request.measure {
        None if more() => vec![Some(Measure::Bases), Some(Measure::Residual)],
        None => vec![Some(Measure::Residual)],
        own => vec![own],
    };
    let plan = |measure| {
        let asked = Request { measure, ..other.clone() };
        choose_within(&asked, Look::Needed, (request.budget, *DELTA)).ok()
    };
    let score = |choice: &Choice| choice.planned.score(&other);
    let best = quick.into_iter().filter_map(plan).min_by(|a, b| score(a).total_cmp(&score(b)));
    let auto = || request.measure.is_none().then(|| plan(None)).flatten();
    best.or_else(auto).map(|choice| WithDelta { planned: Arc::unwrap_or_clone(choice.planned) })
}
