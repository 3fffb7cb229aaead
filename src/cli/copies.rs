//! How the copies for several recipients are shown: what each costs alone, and all together.

use super::output;
use super::output::{columns, figure, wrapped};
use crate::plan::Mode;
use crate::planner::copies::Copies;
use crate::release::Currency;

/// For `margins plan`: every recipient, and what the mode means.
pub(super) fn text(copies: &Copies, currency: Currency, targets: usize) -> String {
    let symbol = currency.symbol();
    let half = |margin: &Option<f64>| margin.map_or("–".into(), |m| format!("± {}", figure(m)));
    let sums = copies.sums.first().map_or(&[][..], Vec::as_slice);
    let rows: Vec<Vec<String>> = (copies.plans.iter().zip(&copies.costs).zip(&copies.margins))
        .enumerate()
        .map(|(at, ((plan, cost), margin))| {
            let mut row = vec![
                plan.recipient().unwrap_or_default().to_owned(),
                match (output::spent(cost.total), plan.budget.shown()) {
                    (spent, all) if spent == all => all,
                    (spent, all) => format!("{spent} of {all}"),
                },
                half(margin),
            ];
            row.extend(copies.sums.get(at).into_iter().flatten().map(|(_, sum)| half(sum)));
            if targets > 0 {
                let kept = copies.kept.get(at).copied().flatten();
                row.push(kept.map_or("–".into(), |kept| format!("{kept} of {targets}")));
            }
            row
        })
        .collect();
    let alone = format!("one copy, {symbol}");
    let count =
        if let [_] = &*copies.plans { "1 copy".into() } else { format!("{} copies", copies.plans.len()) };
    let mut out = format!("\n{count}, {}\n\n", copies.mode().map_or("", Mode::name));
    let of_sums: Vec<String> = sums.iter().map(|(name, _)| format!("of SUM({name})")).collect();
    // Beside those of sums a heading of all margins would be too wide.
    let of_counts = if of_sums.is_empty() { "95 % margin of the worst cell" } else { "of counts" };
    let mut head = vec!["recipient", &alone, of_counts];
    head.extend(of_sums.iter().map(String::as_str));
    head.extend((targets > 0).then_some("targets met"));
    out.push_str(&columns(&head, &rows));
    if !of_sums.is_empty() {
        out.push_str("  (of counts, of sums: the 95 % margin of the worst cell)\n");
    }
    out.push_str(match copies.mode() {
        Some(Mode::Shifted { .. }) => {
            "  (the tables above are of the most precise copy and leave its centre out; the\n  margins here allow for it)\n"
        }
        _ => "  (the tables above are of the most precise copy)\n",
    });
    out.push_str(&format!(
        "\nall copies together: {symbol} = {} of {}; this is what is charged\n",
        output::spent(copies.joint),
        copies.joint_budget.shown()
    ));
    out.push_str(&format!("{}\n", wrapped(meaning(copies), 0)));
    out
}

/// What the mode means for those who put copies together.
pub(crate) fn meaning(copies: &Copies) -> &'static str {
    match copies.mode() {
        Some(Mode::Shifted { .. }) => SHIFTED,
        _ => {
            "Every less precise copy is made from a more precise one by further noise: whoever puts copies together knows no more than \
             the best of them says."
        }
    }
}

/// What must be said of shifted copies wherever they are shown.
pub(crate) const SHIFTED: &str = "A secret centre does not protect against recipients who put their copies together: one known count, one \
                           public mean or the difference of two counts removes it. Together the copies cost the sum, and that is charged.";
