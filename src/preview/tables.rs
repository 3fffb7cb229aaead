//! Every table of a plan: its cells, its error, and what of the budget its cells are made from.

use super::asked;
use super::margins::Margins;
use crate::plan::{Form, Measurement, Table};
use crate::planner::closure::Spread;
use crate::planner::{Planned, Request};
use smallvec::SmallVec;
use std::rc::Rc;

/// What is said of a table of which all cells are asked.
#[derive(serde::Serialize)]
struct TableJson<'a> {
    cells: Option<u64>,
    exact: bool,
    margin95: f64,
    /// Whether the margin comes from the law of the error, or is 1.96 standard errors.
    margin95_exact: bool,
    max_variance: f64,
    of: SmallVec<[&'a str; 4]>,
    queries: Option<&'a f64>,
    /// The part of the budget that is spent on what it is read from; tables may have that in common.
    share: Option<f64>,
    std_error: f64,
    variance: f64,
}

/// Tables are written so many at a time.
const TOGETHER: usize = 256;

/// Larger products of tables and measurements are not gone through.
const MOST_PAIRS: usize = 1 << 22;

/// What of the spent budget is behind the cells of a table: its components, or its own measurement; without one, those that it is read from.
fn share(planned: &Planned, table: &Table) -> Option<f64> {
    let rows = planned.plan.rows();
    if rows.workload.len().saturating_mul(rows.measurements.len()) > MOST_PAIRS {
        return None;
    }
    let own = &table.cuboid;
    // What is exact is measured with no noise, and takes nothing.
    if planned.plan.exact_above(own).is_some() {
        return None;
    }
    let spent = |counts: &dyn Fn(&Measurement) -> bool| {
        let all = rows.measurements.iter().zip(&planned.cost.each).filter(|(m, _)| counts(m));
        all.map(|(_, cost)| cost.to_f64()).sum::<f64>()
    };
    let is_part = |m: &Measurement| matches!(m.block.form(), Form::Component | Form::Based);
    let ways: [&dyn Fn(&Measurement) -> bool; 4] = [
        &|m| is_part(m) && m.block.cuboid().is_below(own),
        &|m| m.block.cuboid() == own,
        &|m| own.is_below(m.block.cuboid()),
        &|m| m.block.cuboid().is_below(own),
    ];
    let behind = ways.into_iter().map(spent).find(|cost| *cost > 0.0)?;
    // A row is at one end of a number at most, so both ends together are paid for less than each by itself.
    let each = planned.plan.channels.iter().filter(|c| !c.subject.is_of_an_end());
    let each = each.flat_map(|c| planned.plan.numbers(&c.subject)).filter_map(|m| planned.cost.each.get(m));
    let ends = planned.plan.summed().filter_map(|(of, _)| Some(planned.cost.of_ends(&planned.plan, of)?.1));
    let all = each.copied().chain(ends).map(|cost| cost.to_f64()).sum::<f64>();
    Some(behind / all)
}

/// All tables, with commas between them.
pub(super) fn tables_json<'a>(
    request: &'a Request,
    planned: &'a Planned,
    margins: Rc<Margins<'a>>,
) -> impl Iterator<Item = String> + 'a {
    let p = &planned.plan;
    let names: Vec<Vec<String>> = (request.cube.dimensions.iter().enumerate())
        .map(|(d, dimension)| {
            let levels = (0..dimension.levels.len()).map(|l| crate::cube::Level::new(d, l));
            levels.map(|level| request.cube.level_name(level)).collect()
        })
        .collect();
    let of_table = move |out: &mut Vec<u8>, i: usize, t: &Table, s: &Spread| {
        let of = t.cuboid.iter().filter_map(|at| names.get(at.dimension)?.get(at.level));
        let (margin95, margin95_exact) = margins.of(i, s.max);
        let plain = TableJson {
            cells: request.cube.cells(&t.cuboid),
            exact: p.exact_above(&t.cuboid).is_some(),
            margin95,
            margin95_exact,
            max_variance: s.max,
            of: of.map(String::as_str).collect(),
            queries: planned.prediction.asked.get(i),
            share: share(planned, t),
            std_error: s.mean.sqrt(),
            variance: s.mean,
        };
        // Writing to memory cannot fail.
        if t.asks.is_cells() {
            let _ = serde_json::to_writer(out, &plain);
            return;
        }
        let mut value = serde_json::to_value(&plain).unwrap_or_default();
        asked::describe(t, request, planned, &mut value);
        let _ = serde_json::to_writer(out, &value);
    };
    p.rows().workload.chunks(TOGETHER).zip(planned.prediction.tables.chunks(TOGETHER)).enumerate().map(
        move |(chunk, (tables, spreads))| {
            let mut out = Vec::with_capacity(TOGETHER * 256);
            for (i, (t, s)) in tables.iter().zip(spreads).enumerate() {
                if chunk + i > 0 {
                    out.push(b',');
                }
                of_table(&mut out, chunk * TOGETHER + i, t, s);
            }
            String::from_utf8(out).unwrap_or_default()
        },
    )
}
