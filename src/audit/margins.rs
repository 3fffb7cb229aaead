//! Recipients who were promised a margin: none has more of the budget than its margin needs.
//!
//! Precision is what a budget buys, so a recipient of ± 50 whose copy is good for ± 1 was given budget that nobody allowed. The margin is
//! reckoned anew with a little less budget: it must not be kept then. The laws are exact, as in the search that found the budget.

use super::Audit;
use super::content::Content;
use crate::answer::Evaluator;
use crate::exact::Rational;
use crate::plan::copies::{MOST_LAWS, WIDEST};
use crate::plan::{Plan, Recipient};
use crate::recover::{Nothing, Recovery};
use crate::release::Outcome::{Failed, Passed, Unchecked};
use crate::spec::{Precision, Spec};
use std::collections::BTreeMap;

/// The search finds budgets to a part in a thousand, and adds as much where digits are missing: so much less must not do.
const LESS: (u128, u128) = (33, 32);

/// A cell that is known this well is known.
const NOTHING: f64 = 1e-6;

/// Checks every recipient that the spec promises a margin.
pub(super) fn check(audit: &mut Audit, spec: &Spec, content: &Content) {
    let plan = &content.plan;
    let (Some(copy), Some(recipients)) = (&plan.copy, &spec.recipients) else { return };
    let margin = |p: &Precision| match p {
        Precision::Margin(margin) => Some(*margin),
        Precision::Budget(_) => None,
    };
    let wanted: Vec<(&str, Rational)> =
        recipients.list.iter().filter_map(|w| Some((w.name.as_str(), margin(&w.precision)?))).collect();
    if wanted.is_empty() {
        return;
    }
    let precise = |name: &str| copy.recipients.iter().find(|r| r.name == name).map(|r| r.factor);
    let different: BTreeMap<(Rational, Rational), &str> =
        wanted.iter().filter_map(|(name, margin)| Some(((precise(name)?, *margin), *name))).collect();
    if different.len() * plan.rows().workload.len() > MOST_LAWS {
        let why = "the margins of recipients are too many to reckon anew".into();
        return audit.add("margins", Unchecked, why);
    }
    let first = plan.first();
    for ((factor, margin), name) in different {
        match kept_with_less(content, &first, plan, factor, margin) {
            Some(false) => {}
            Some(true) => {
                let why = format!("{name} is promised ± {margin} and has more of the budget than that needs");
                return audit.add("margins", Failed, why);
            }
            None => {
                return audit.add("margins", Unchecked, format!("the margin of {name} cannot be reckoned"));
            }
        }
    }
    let detail =
        format!("reckoned anew: with a little less budget none of {} promised margins is kept", wanted.len());
    audit.add("margins", Passed, detail);
}

/// Whether a copy with a little less budget still keeps the margin. `None` when that cannot be told.
fn kept_with_less(
    content: &Content,
    first: &Plan,
    plan: &Plan,
    factor: Rational,
    margin: Rational,
) -> Option<bool> {
    let copy = plan.copy.as_ref()?;
    let less = factor.checked_mul(Rational::new(LESS.0, LESS.1)?)?;
    // There the search ends.
    if less > Rational::whole(1 << WIDEST) {
        return Some(false);
    }
    // Behind those that are more precise: noise in whole numbers that is added in more steps has another law.
    let before = copy.recipients.iter().map(|r| r.factor).filter(|f| *f != Rational::ONE && *f < factor);
    let factors = std::iter::once(Rational::ONE).chain(before).chain([less]);
    let recipients = factors.map(|factor| Recipient { name: String::new(), factor }).collect();
    // Where no noise is that large the search ended, too.
    let Ok(plans) = first.copies(copy.mode, recipients) else { return Some(false) };
    let recovery = Recovery::new(content.cube.clone(), plans.last()?.clone(), Nothing).ok()?;
    let evaluator = Evaluator::new(recovery);
    let mut unknown = false;
    for t in first.rows().workload.iter().filter(|t| first.exact_above(&t.cuboid).is_none()) {
        let half = evaluator.worst_cell_law(&t.cuboid).ok()?.half_width(0.95);
        // What solving in doubles leaves of nothing is no noise.
        unknown |= half > NOTHING;
        if !(half <= margin.to_f64()) {
            return Some(false);
        }
    }
    // Where exact tables and empty cells leave nothing unknown, no budget is too much for a margin.
    Some(unknown)
}
