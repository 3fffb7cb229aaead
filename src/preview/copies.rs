//! Copies for several recipients: what each costs alone, and all together.

use crate::plan::Mode;
use crate::planner::copies::Copies;
use crate::release::Currency;
use serde_json::{Value, json};

/// For scripts.
pub(crate) fn to_json(copies: &Copies, currency: Currency) -> Value {
    let each = (copies.plans.iter().zip(&copies.costs).zip(&copies.margins)).enumerate();
    let each = each.map(|(at, ((plan, cost), margin))| {
        let mut out = json!({
            "name": plan.recipient(), "budget": plan.budget, "cost": cost.total, "margin95": margin,
        });
        if let Some(sums) = copies.sums.get(at).filter(|sums| !sums.is_empty()) {
            let of = |(name, half): &(String, Option<f64>)| json!({ "amount": name, "margin95": half });
            out["sums"] = sums.iter().map(of).collect();
        }
        if let Some(kept) = copies.kept.get(at).copied().flatten() {
            out["targets_met"] = kept.into();
        }
        out
    });
    let centres = copies.plans.first().and_then(|p| p.centres());
    json!({
        "mode": copies.mode().map(Mode::name),
        "mean": centres.map(|c| c.mean),
        "centres": centres.map(|c| [c.low(), c.high()]),
        "currency": currency,
        "recipients": each.collect::<Vec<_>>(),
        "joint_cost": copies.joint,
        "joint_budget": copies.joint_budget,
    })
}
