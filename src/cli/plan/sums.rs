//! What `plan` says of sums: the errors of totals and means of each table, in the unit of the number, and what of the budget they take.

use crate::audit::wrap;
use crate::cli::output::figure;
use crate::compile::Job;
use crate::cube::{Cube, Cuboid, Quantity, Weighing};
use crate::exact::Rational;
use crate::law::{ErrorLaw, Term};
use crate::plan::{Plan, Subject, Table};
use crate::planner::targets::Outcome;
use crate::planner::{Planned, SumSpread};
use crate::release::Currency;
use serde_json::{Value, json};

/// The errors of one table's sums.
struct Errors<'a> {
    table: &'a Table,
    /// The standard error of the sum of a cell: in the mean over cells, and at most.
    sum: (f64, f64),
}

fn errors<'a>(planned: &'a Planned, sums: &'a SumSpread, quantity: &Quantity) -> Vec<Errors<'a>> {
    let of = |(table, own): &'a (Table, (f64, f64))| {
        let (mean, most) = planned.sum_variances(quantity, table, *own);
        Errors { table, sum: (libm::sqrt(mean), libm::sqrt(most)) }
    };
    sums.tables.iter().map(of).collect()
}

/// How many groups of noise there are, of counts and of sums.
pub(crate) fn groups(plan: &Plan) -> u64 {
    plan.channels.iter().filter(|c| c.subject.has_cells()).map(|c| c.measurements.len() as u64).sum()
}

/// The tables of each number's sums.
fn each(planned: &Planned) -> impl Iterator<Item = (&SumSpread, &Quantity)> {
    planned.sums.iter().filter_map(|s| match &s.subject {
        Subject::Sum(quantity) => Some((s, &**quantity)),
        _ => None,
    })
}

/// The largest standard error of a cell's sum, of each number.
pub(crate) fn worst(job: &Job) -> Vec<(String, f64)> {
    let Job::Tables(choice) = job else { return Vec::new() };
    let planned = &choice.planned;
    let most = |sums, quantity| errors(planned, sums, quantity).iter().map(|e| e.sum.1).fold(0.0, f64::max);
    each(planned).map(|(sums, quantity)| (quantity.name.clone(), most(sums, quantity))).collect()
}

/// Of which table's sums a target is.
pub(super) struct TargetOf<'a> {
    pub(super) cuboid: &'a Cuboid,
    pub(super) amount: &'a str,
    /// For people, with the unit.
    pub(super) text: String,
}

/// That, or `None` where it is one of counts.
pub(super) fn target_of<'a>(cube: &Cube, planned: &'a Planned, of: &Outcome) -> Option<TargetOf<'a>> {
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

/// Lines for people.
pub(super) fn text(cube: &Cube, planned: &Planned) -> String {
    let mut out = String::new();
    for (sums, quantity) in each(planned) {
        let unit = quantity.unit.as_ref().map_or(String::new(), |u| format!(" {u}"));
        let share = 100.0 * sums.share.to_f64();
        let (what, of, rest) = match quantity.weighing {
            Weighing::Weight => ("counts weighted by", "a weighted count", "counts of rows"),
            Weighing::Plain => ("sums of", "a sum", "counts"),
            Weighing::Weighted => ("weighted sums of", "a sum", "counts"),
        };
        out.push_str(&format!(
            "\n{what} {} ({share:.0} % of the budget; the rest of their noise is that of {rest})\n",
            quantity.name
        ));
        let exact = planned.plan.channel(&sums.subject).map_or(&[][..], |c| &c.exact);
        for e in errors(planned, sums, quantity) {
            if exact.contains(&e.table.cuboid) {
                out.push_str(&format!("  {}: exact, without noise\n", e.table.describe(cube)));
                continue;
            }
            out.push_str(&format!(
                "  {}: std error of {of} {}{unit}, at most {}{unit}\n",
                e.table.describe(cube),
                figure(e.sum.0),
                figure(e.sum.1)
            ));
        }
    }
    for (quantity, sums) in planned.sums.iter().filter_map(|s| match &s.subject {
        Subject::Squares(quantity) => Some((quantity, s)),
        _ => None,
    }) {
        let share = 100.0 * sums.share.to_f64();
        out.push_str(&format!("squares of {}, for variances: {share:.0} % of the budget\n", quantity.name));
    }
    for (sums, quantity) in each(planned) {
        let ends = sums.subject.quantity().and_then(|of| planned.cost.of_ends(&planned.plan, of));
        let Some((scale, cost)) = ends else { continue };
        let [error, half] = spread(planned, scale);
        let [low, high] = quantity.ends();
        let text = format!(
            "rows moved to the ends of {}, below {low} and beyond {high}: each number with a std error of {} (95 %: ± {}), for {} = {}",
            quantity.name,
            figure(error),
            figure(half),
            Currency::of_tables(planned.plan.noise).symbol(),
            figure(cost.to_f64())
        );
        out.push_str(&format!("{}\n", wrap(&text, 80, 2)));
    }
    out
}

/// The standard error of one integer with noise of this scale, and half the width of its 95 % interval.
fn spread(planned: &Planned, scale: Rational) -> [f64; 2] {
    let (noise, scale) = (planned.plan.noise, scale.to_f64());
    let law = ErrorLaw::new(vec![Term { coefficient: 1.0, copies: 1, noise: noise.law(scale) }]);
    [libm::sqrt(noise.variance(scale)), law.map_or(f64::NAN, |law| law.half_width(0.95))]
}

/// The same for scripts.
pub(super) fn json(cube: &Cube, planned: &Planned) -> Vec<Value> {
    let one = |(sums, quantity): (&SumSpread, &Quantity)| {
        let tables: Vec<Value> = errors(planned, sums, quantity)
            .iter()
            .map(|e| {
                json!({ "table": e.table.describe(cube), "std_error": e.sum.0, "max_std_error": e.sum.1 })
            })
            .collect();
        let mut out = json!({ "amount": quantity, "share": sums.share, "tables": tables });
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
