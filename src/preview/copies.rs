//! Copies for several recipients: what each costs alone, and all together.

use crate::plan::Mode;
use crate::planner::copies::Copies;
use crate::release::Currency;
use serde_json::{Value, json};

/// For scripts.
pub(crate) fn to_json(copies: &Copies, currency: Currency) -> Value {
    let each = (copies.plans.iter().zip(&copies.costs).zip(&copies.margins)).map(|((plan, cost), margin)| {
        json!({
            "name": plan.recipient(), "budget": plan.budget, "cost": cost.total, "margin95": margin,
        })
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
