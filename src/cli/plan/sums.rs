//! What `plan` says of sums: the errors of totals and means of each table, in the unit of the number, and what of the budget they take.

use crate::audit::wrap;
use crate::cli::output::figure;
use crate::compile::Job;
use crate::cube::Cube;
use crate::cube::{NoValue, Quantity};
use crate::exact::Rational;
use crate::law::{ErrorLaw, Term};
use crate::plan::{Plan, Subject, Table};
use crate::planner::{Planned, SumSpread};
use crate::release::Currency;
use serde_json::{Value, json};

/// The errors of one table's sums.
struct Errors<'a> {
    table: &'a Table,
    /// The standard error of the sum of a cell: in the mean over cells, and at most.
    sum: (f64, f64),
}

/// The variance of a table's counts that sums need: of all rows, or of those with a value.
fn of_count(planned: &Planned, quantity: &Quantity, table: &Table) -> Option<(f64, f64)> {
    if quantity.missing == NoValue::Skip {
        let valued = |s: &&SumSpread| matches!(&s.subject, Subject::Valued(q) if **q == *quantity);
        let own = planned.sums.iter().find(valued)?;
        return own.tables.iter().find(|(t, _)| t.cuboid == table.cuboid).map(|(_, spread)| *spread);
    }
    let workload = &planned.plan.rows().workload;
    let at = workload.iter().position(|t| t.cuboid == table.cuboid && t.asks.is_cells())?;
    planned.prediction.tables.get(at).map(|s| (s.mean, s.max))
}

fn errors<'a>(planned: &'a Planned, sums: &'a SumSpread, quantity: &Quantity) -> Vec<Errors<'a>> {
    let (half, middle) = (quantity.half_step(), quantity.middle());
    let of = |(table, (mean, max)): &'a (Table, (f64, f64))| {
        let count = if quantity.needs_count() { of_count(planned, quantity, table) } else { None };
        let (count_mean, count_max) = count.unwrap_or((0.0, 0.0));
        let both = |t: f64, n: f64| libm::sqrt(half * half * t + middle * middle * n);
        Errors { table, sum: (both(*mean, count_mean), both(*max, count_max)) }
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

/// Lines for people.
pub(super) fn text(cube: &Cube, planned: &Planned) -> String {
    let mut out = String::new();
    for (sums, quantity) in each(planned) {
        let unit = quantity.unit.as_ref().map_or(String::new(), |u| format!(" {u}"));
        let share = 100.0 * sums.share.to_f64();
        out.push_str(&format!(
            "\nsums of {} ({share:.0} % of the budget; the rest of their noise is that of counts)\n",
            quantity.name
        ));
        for e in errors(planned, sums, quantity) {
            out.push_str(&format!(
                "  {}: std error of a sum {}{unit}, at most {}{unit}\n",
                cube.describe(&e.table.cuboid),
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
                json!({ "table": cube.describe(&e.table.cuboid), "std_error": e.sum.0, "max_std_error": e.sum.1 })
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
