//! How a cost is written, wherever one is shown: in a plan, beside a check, in a ledger.

/// What something costs: nine decimals, or nine digits of very little.
pub(crate) fn price(x: f64) -> String {
    if x != 0.0 && x.abs() < 1e-4 { format!("{x:.8e}") } else { format!("{x:.9}") }
}
