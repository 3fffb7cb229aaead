//! What is left of a bound, as the accuracy that it buys: a plan scaled to it, without data.

use super::{CompileError, Job};
use crate::exact::Rational;
use crate::ledger::LedgerError;
use crate::planner;
use crate::release::Currency;
use crate::spec::{Budget, Spec};

/// A refusal of the ledger, with what could be had for the rest where a bound is the reason.
pub(super) fn over_bound(spec: &Spec, job: &Job, why: LedgerError) -> CompileError {
    let LedgerError::Bound { left, .. } = &why else { return why.into() };
    match share(spec, job.currency(), *left) {
        Some(budget) => {
            let times = budget.to_f64() / job.cost().to_f64();
            CompileError::OverBound { buys: buys(spec, job, budget, times), why: why.into() }
        }
        None => CompileError::OverBound { buys: "no release fits the rest".into(), why: why.into() },
    }
}

/// The budget of a release of this spec that is charged no more than what is left; `None` where that is nothing.
pub(crate) fn share(spec: &Spec, currency: Currency, left: Rational) -> Option<Rational> {
    let k = Rational::whole(spec.account_name().unit_of.into());
    let one = left.checked_div(k)?;
    let own = match currency {
        Currency::Epsilon => one,
        Currency::Rho => one.checked_div(k)?,
    };
    (!own.is_zero()).then_some(own)
}

/// A budget that is short to write and not above: the ratio itself, or six digits of it.
fn written(budget: Rational) -> String {
    let exact = budget.to_string();
    if exact.len() <= 9 {
        return exact;
    }
    let x = budget.to_f64();
    let places = (5 - libm::floor(libm::log10(x)) as i32).clamp(0, 30) as usize;
    let step = libm::pow(10.0, -(places as f64));
    let text = |x: f64| format!("{x:.places$}");
    let fits = |t: &String| t.parse::<Rational>().is_ok_and(|r| r <= budget);
    [text(x), text(x - step)].into_iter().find(fits).unwrap_or(exact)
}

/// In words: the budget to write, and what it gives.
fn buys(spec: &Spec, job: &Job, budget: Rational, times: f64) -> String {
    let symbol = job.currency().symbol();
    let accuracy = match job {
        Job::Tables(choice) => {
            let planned = &choice.planned;
            let with =
                spec.request_of(&planned.plan).and_then(|r| planner::promised_at(&r, planned, times).ok());
            with.map_or(String::new(), |p| {
                format!(
                    ": these tables with a root-mean-square error of {:.4} instead of {:.4}",
                    p.rms_error(),
                    planned.prediction.rms_error()
                )
            })
        }
        Job::Projection(_) => format!(": noise {:.2} times as large", (1.0 / times).sqrt()),
    };
    let write = match spec.privacy.budget {
        // What is left is for all copies together.
        _ if spec.recipients.is_some() => {
            let down = libm::floor(times * 1e6) / 1e6;
            format!("every budget, of [privacy] and of each recipient, times {down:.6}")
        }
        Budget::Rho(_) | Budget::EpsilonDelta(..) => format!("rho = \"{}\"", written(budget)),
        Budget::Epsilon(_) => format!("epsilon = \"{}\"", written(budget)),
    };
    format!(
        "{symbol} = {} is the most that a release of this spec may cost ({write}){accuracy}",
        crate::price::price(budget.to_f64())
    )
}
