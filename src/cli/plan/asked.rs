//! What is asked beyond cells, for people.

use super::super::output::{columns, figure};
use super::SHOWN;
use crate::plan::{Asks, Plan, Table};
use crate::planner::{Planned, Request, closure::Spread};
pub(super) use crate::preview::asked::name;
use crate::preview::asked::spreads;

/// Whether a plan was made for more than cells.
pub(super) fn of(plan: &Plan) -> bool {
    plan.rows().workload.iter().any(|t| !t.asks.is_cells())
}

/// Whether more than cells is asked for.
pub(super) fn beyond(request: &Request) -> bool {
    request.workload.iter().any(|t| !t.asks.is_cells())
}

/// The tables of which sums are asked: what their cells, prefixes and ranges are known to.
pub(super) fn judged(request: &Request, planned: &Planned, all: bool) -> String {
    let asked = |t: &&Table| matches!(&t.asks, Asks::Product(of) if !of.is_empty());
    let mut tables: Vec<&Table> = planned.plan.rows().workload.iter().filter(asked).collect();
    // A table that is asked several things is judged once.
    let mut seen = std::collections::HashSet::new();
    tables.retain(|t| {
        let Asks::Product(of) = &t.asks else { return false };
        seen.insert((t.cuboid.clone(), of.iter().map(|(d, _)| *d).collect::<Vec<_>>()))
    });
    if !all {
        tables.truncate(SHOWN);
    }
    if tables.is_empty() {
        return String::new();
    }
    let error = |s: &Option<Spread>, of: fn(&Spread) -> f64| s.map_or("?".into(), |s| figure(of(&s).sqrt()));
    let rows: Vec<Vec<String>> = tables
        .iter()
        .zip(spreads(&tables, request, planned))
        .map(|(t, spreads)| {
            let Asks::Product(of) = &t.asks else { return Vec::new() };
            let along: Vec<String> =
                of.iter().map(|(d, _)| request.cube.level_name(t.cuboid.at((*d).into()))).collect();
            let figures = spreads.iter().flat_map(|s| [error(s, |s| s.mean), error(s, |s| s.max)]);
            [request.cube.describe(&t.cuboid), along.join(", ")].into_iter().chain(figures).collect()
        })
        .collect();
    let head = ["std error of", "along", "cells", "worst", "prefixes", "worst", "ranges", "worst"];
    format!("\n{}", columns(&head, &rows))
}
