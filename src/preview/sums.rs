//! The errors of sums and means of each table, in the unit of the number, and what of the budget they take.

use crate::cube::{Cube, Cuboid, Quantity, Weighing};
use crate::exact::Rational;
use crate::law::{ErrorLaw, Term};
use crate::plan::{Plan, Subject, Table};
use crate::planner::targets::Outcome;
use crate::planner::{Planned, SumSpread};
use serde_json::{Value, json};

/// The errors of one table's sums.
pub(crate) struct SumErrors<'a> {
    pub table: &'a Table,
    /// The standard error of the sum of a cell: in the mean over cells, and at most.
    pub sum: (f64, f64),
    /// That of the mean of a cell of [`OF_ROWS`] rows: where it is what values are measured from, and at the bound that is further from there.
    pub(crate) mean: Option<(f64, f64)>,
}

/// In cells of so many rows errors of means are told: they depend on it.
pub(crate) const OF_ROWS: u32 = 1000;

pub(crate) fn errors<'a>(
    planned: &'a Planned,
    sums: &'a SumSpread,
    quantity: &Quantity,
) -> Vec<SumErrors<'a>> {
    let of = |each: &'a (Table, (f64, f64))| {
        let (table, own) = each;
        let roots = |(a, b)| (libm::sqrt(a), libm::sqrt(b));
        let mean = planned.mean_variances(quantity, each, OF_ROWS.into()).map(roots);
        SumErrors { table, sum: roots(planned.sum_variances(quantity, table, *own)), mean }
    };
    sums.tables.iter().map(of).collect()
}

/// How many groups of noise there are, of counts and of sums.
pub(crate) fn groups(plan: &Plan) -> u64 {
    plan.channels.iter().filter(|c| c.subject.has_cells()).map(|c| c.measurements.len() as u64).sum()
}

/// The tables of each number's sums.
pub(crate) fn each(planned: &Planned) -> impl Iterator<Item = (&SumSpread, &Quantity)> {
    planned.sums.iter().filter_map(|s| match &s.subject {
        Subject::Sum(quantity) => Some((s, &**quantity)),
        _ => None,
    })
}

/// A part of the budget, and what it is spent on.
pub(crate) struct SpentOn<'a> {
    pub(crate) subject: &'a Subject,
    /// Of the whole budget.
    pub(crate) part: f64,
    /// In whole per cent, so that those of all add up to a hundred.
    pub(crate) percent: u32,
}

/// What the budget is spent on beside sums: counts, channels of sums, and what was moved or cut. None of a plan without sums.
///
/// A channel's own share is one of what is left for tables. The rest is that of counts, where there are any.
pub(crate) fn shares(planned: &Planned) -> Vec<SpentOn<'_>> {
    if planned.sums.is_empty() {
        return Vec::new();
    }
    let (plan, budget) = (&planned.plan, planned.plan.budget.to_f64());
    let mut beside = Vec::new();
    for channel in &plan.channels {
        let cost = match &channel.subject {
            Subject::Below(quantity) => planned.cost.of_ends(plan, quantity).map(|(_, both)| both),
            subject @ Subject::CutUnits => {
                plan.numbers(subject).next().and_then(|at| planned.cost.each.get(at).copied())
            }
            _ => None,
        };
        beside.extend(cost.map(|cost| (&channel.subject, cost.to_f64() / budget)));
    }
    let tables = 1.0 - beside.iter().map(|(_, part)| part).sum::<f64>();
    let sums = planned.sums.iter().map(|s| (&s.subject, tables * s.share.to_f64()));
    let mut all: Vec<(&Subject, f64)> = sums.chain(beside).collect();
    let counts = 1.0 - all.iter().map(|(_, part)| part).sum::<f64>();
    if plan.channel(&Subject::Rows).is_some_and(|rows| !rows.measurements.is_empty()) {
        all.insert(0, (&Subject::Rows, counts.max(0.0)));
    }
    // The largest remainders are rounded up.
    let whole = |part: f64| libm::floor(100.0 * part) as u32;
    let missing = 100u32.saturating_sub(all.iter().map(|(_, part)| whole(*part)).sum());
    let mut order: Vec<usize> = (0..all.len()).collect();
    let rest = |at: usize| all.get(at).map_or(0.0, |(_, part)| 100.0 * part - f64::from(whole(*part)));
    order.sort_by(|&a, &b| rest(b).total_cmp(&rest(a)));
    order.truncate(missing as usize);
    let numbered = (0..).zip(&all);
    let percent = |at: usize, part: f64| whole(part) + u32::from(order.contains(&at));
    numbered.map(|(at, &(subject, part))| SpentOn { subject, part, percent: percent(at, part) }).collect()
}

/// What a part of the budget is spent on, in words.
pub(crate) fn spent_on(subject: &Subject) -> String {
    match subject {
        Subject::Rows => "counts".into(),
        Subject::CutUnits => "units that were cut".into(),
        Subject::Sum(quantity) => match quantity.weighing {
            Weighing::Weight => format!("counts weighted by {}", quantity.name),
            Weighing::Plain => format!("sums of {}", quantity.name),
            Weighing::Weighted => format!("weighted sums of {}", quantity.name),
        },
        Subject::Valued(quantity) => format!("rows with a value of {}", quantity.name),
        Subject::Squares(quantity) => format!("squares of {}", quantity.name),
        Subject::Below(quantity) | Subject::Above(quantity) => {
            format!("rows moved to the ends of {}", quantity.name)
        }
    }
}

/// Of which table's sums a target is.
pub(crate) struct TargetOf<'a> {
    pub(crate) cuboid: &'a Cuboid,
    pub(crate) amount: &'a str,
    /// For people, with the unit.
    pub(crate) text: String,
}

/// That, or `None` where it is one of counts.
pub(crate) fn target_of<'a>(cube: &Cube, planned: &'a Planned, of: &Outcome) -> Option<TargetOf<'a>> {
    let sums = planned.sums.get(of.sums?)?;
    let (quantity, (table, _)) = (sums.subject.quantity()?, sums.tables.get(of.table)?);
    let unit = quantity.unit.as_ref().map_or(String::new(), |u| format!(", {u}"));
    let what = match quantity.weighing {
        Weighing::Weight => "counts weighted by",
        Weighing::Plain | Weighing::Weighted => "sums of",
    };
    let text = format!("{what} {}: {}{unit}", quantity.name, cube.describe(&table.cuboid));
    Some(TargetOf { cuboid: &table.cuboid, amount: &quantity.name, text })
}

/// The standard error of one integer with noise of this scale, and half the width of its 95 % interval.
pub(crate) fn spread(planned: &Planned, scale: Rational) -> [f64; 2] {
    let (noise, scale) = (planned.plan.noise, scale.to_f64());
    let law = ErrorLaw::new(vec![Term { coefficient: 1.0, copies: 1, noise: noise.law(scale) }]);
    [libm::sqrt(noise.law(scale).variance()), law.map_or(f64::NAN, |law| law.half_width(0.95))]
}

/// For scripts.
pub(crate) fn json(cube: &Cube, planned: &Planned) -> Vec<Value> {
    let one = |(sums, quantity): (&SumSpread, &Quantity)| {
        let tables: Vec<Value> = errors(planned, sums, quantity)
            .iter()
            .map(|e| {
                let of_mean =
                    |(least, most)| json!({ "rows": OF_ROWS, "std_error": least, "max_std_error": most });
                json!({
                    "table": e.table.describe(cube), "std_error": e.sum.0, "max_std_error": e.sum.1,
                    "mean": e.mean.map(of_mean),
                })
            })
            .collect();
        let mut out = json!({ "amount": quantity, "share": sums.share, "tables": tables });
        for beside in planned.sums.iter().filter(|s| s.subject.quantity().is_some_and(|q| **q == *quantity)) {
            match beside.subject {
                Subject::Valued(_) => out["valued_share"] = json!(beside.share),
                Subject::Squares(_) => out["squares_share"] = json!(beside.share),
                _ => {}
            }
        }
        let ends = sums.subject.quantity().and_then(|of| planned.cost.of_ends(&planned.plan, of));
        if let Some((scale, cost)) = ends {
            let [std_error, margin] = spread(planned, scale);
            out["clamping"] =
                json!({ "scale": scale, "cost": cost, "std_error": std_error, "margin": margin });
        }
        out
    };
    each(planned).map(one).collect()
}
