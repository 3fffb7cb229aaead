//! What `plan` says of sums, for people.

use crate::audit::wrap;
use crate::cli::output::figure;
use crate::compile::Job;
use crate::cube::{Frame, Weighing};
use crate::plan::Subject;
use crate::planner::Planned;
use crate::planner::capacity::most_rows;
use crate::preview::grouped;
use crate::preview::sums::{OF_ROWS, each, errors, shares, spread};
use crate::release::Currency;
use crate::spec::{Coding, Column, Spec};

/// The largest standard error of a cell's sum, of each number.
pub(crate) fn worst(job: &Job) -> Vec<(String, f64)> {
    let Job::Tables(choice) = job else { return Vec::new() };
    let planned = &choice.planned;
    let most = |sums, quantity| errors(planned, sums, quantity).iter().map(|e| e.sum.1).fold(0.0, f64::max);
    each(planned).map(|(sums, quantity)| (quantity.name.clone(), most(sums, quantity))).collect()
}

/// Lines for people.
pub(super) fn text(spec: &Spec, planned: &Planned) -> String {
    let cube = &spec.cube;
    let shares = shares(planned);
    // What stands below adds up to a hundred with what counts take.
    let percent = |of: &Subject| shares.iter().find(|s| s.subject == of).map_or(0, |s| s.percent);
    let mut out = match percent(&Subject::Rows) {
        0 => String::new(),
        counts => format!("\ncounts ({counts} % of the budget)\n"),
    };
    for (sums, quantity) in each(planned) {
        let unit = quantity.unit.as_ref().map_or(String::new(), |u| format!(" {u}"));
        let share = percent(&sums.subject);
        let (what, of, rest) = match quantity.weighing {
            Weighing::Weight => ("counts weighted by", "a weighted count", "counts of rows"),
            Weighing::Plain => ("sums of", "a sum", "counts"),
            Weighing::Weighted => ("weighted sums of", "a sum", "counts"),
        };
        let others = match quantity.needs_count() {
            true => format!("; the rest of their noise is that of {rest}"),
            false => String::new(),
        };
        let head = format!("{what} {} ({share} % of the budget{others})", quantity.name);
        out.push_str(&format!("\n{}\n", wrap(&head, 80, 2)));
        let exact = planned.plan.channel(&sums.subject).map_or(&[][..], |c| &c.exact);
        for e in errors(planned, sums, quantity) {
            if exact.contains(&e.table.cuboid) {
                out.push_str(&format!("  {}: exact, without noise\n", e.table.describe(cube)));
                continue;
            }
            let (mean, most) = (figure(e.sum.0), figure(e.sum.1));
            let most = if mean == most { String::new() } else { format!(", at most {most}{unit}") };
            let line = format!("{}: std error of {of} {mean}{unit}{most}", e.table.describe(cube));
            out.push_str(&format!("  {}\n", wrap(&line, 76, 4)));
            if let Some((least, most)) = e.mean {
                let rows = grouped(OF_ROWS.into());
                let (least, most) = (figure(least), figure(most));
                let line =
                    format!("of a mean of {rows} rows {least} to {most}{unit}, by how large the mean is");
                out.push_str(&format!("    {}\n", wrap(&line, 76, 6)));
            }
        }
    }
    for sums in &planned.sums {
        let what = match &sums.subject {
            Subject::Valued(quantity) => format!("rows with a value of {}", quantity.name),
            Subject::Squares(quantity) => format!("squares of {}, for variances", quantity.name),
            _ => continue,
        };
        out.push_str(&format!("{what}: {} % of the budget\n", percent(&sums.subject)));
    }
    for (sums, quantity) in each(planned) {
        let ends = sums.subject.quantity().and_then(|of| planned.cost.of_ends(&planned.plan, of));
        let Some((scale, cost)) = ends else { continue };
        let [error, half] = spread(planned, scale);
        let [low, high] = quantity.ends();
        let text = format!(
            "rows moved to the ends of {} ({} % of the budget), below {low} and beyond {high}: each number with a std error of {} (95 %: ± {}), for {} = {}",
            quantity.name,
            sums.subject.quantity().map_or(0, |of| percent(&Subject::Below(of.clone()))),
            figure(error),
            figure(half),
            Currency::of_tables(planned.plan.noise).symbol(),
            figure(cost.to_f64())
        );
        out.push_str(&format!("{}\n", wrap(&text, 80, 2)));
    }
    out + &room(spec, planned) + &medians(spec)
}

/// Of so many rows integers have room, whatever the spec: nothing is said.
const PLENTY: u64 = 1 << 40;

/// How many rows the plan has room for, where sums leave room for few.
fn room(spec: &Spec, planned: &Planned) -> String {
    if planned.sums.is_empty() {
        return String::new();
    }
    let most = most_rows(&planned.plan, &Frame::new(&spec.cube, &planned.plan.levels));
    if most >= PLENTY {
        return String::new();
    }
    let text = format!("room for {} rows: of more nothing is released, and nothing charged", grouped(most));
    format!("{}\n", wrap(&text, 80, 2))
}

/// Sums do not tell medians, and bins do.
fn medians(spec: &Spec) -> String {
    let binned = |name: &String| {
        let in_bins = |c: &Column| matches!(c.coding, Coding::Bins { .. } | Coding::Range { .. });
        spec.columns.iter().any(|c| c.column == *name && in_bins(c))
    };
    let mut amounts = spec.summed().filter(|_| spec.summed().all(|a| a.quantity.weighing == Weighing::Plain));
    let found = amounts.find_map(|a| match &a.columns[..] {
        [only] if !binned(only) => Some((&a.quantity.name, only)),
        _ => None,
    });
    let Some((name, column)) = found else { return String::new() };
    let text = format!(
        "medians of {name} are not told: add a [[dimension]] with column = \"{column}\" and bins = […], and a table of it with ask = {{ … = \"prefixes\" }}"
    );
    format!("{}\n", wrap(&text, 80, 2))
}
