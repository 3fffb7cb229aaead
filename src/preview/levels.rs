//! How exact each level of a dimension is whose groups differ in size, and what it has of the budget. Where groups are of one size, the categories of a level are
//! known alike: the list of tables says how well.

use super::margins::{self, Margin, Margins};
use super::names;
use crate::cube::{Cube, Level};
use crate::planner::predict::Areas;
use crate::planner::{Planned, Request};
use serde_json::{Value, json};

/// More tables than this are not listed by level in JSON: the list of all tables has them.
const MOST_TABLES: usize = 4096;

/// One level of a dimension; 0 is all of it together.
pub(crate) struct Of {
    pub level: usize,
    pub categories: usize,
    /// Its part of what is spent.
    pub share: f64,
    /// The tables that ask for its cells, by their numbers.
    pub tables: Vec<usize>,
}

/// The levels of a dimension that have a part of the budget, or a table.
pub(crate) fn levels(areas: &Areas, planned: &Planned, dimension: usize) -> Vec<Of> {
    let axis = &areas.frame.axes[dimension];
    let mut tables = vec![Vec::new(); axis.rungs.len()];
    for (t, table) in planned.plan.rows().workload.iter().enumerate() {
        let level = table.cuboid.level(dimension);
        if level > 0
            && table.asks.is_cells()
            && let Some(own) = axis.rung(level).and_then(|rung| tables.get_mut(rung))
        {
            own.push(t);
        }
    }
    let of = |((rung, share), tables): ((&crate::cube::Rung, f64), Vec<usize>)| Of {
        level: rung.level,
        categories: rung.len(),
        share,
        tables,
    };
    let all = axis.rungs.iter().zip(areas.shares(dimension)).zip(tables).map(of);
    all.filter(|own| own.share > 0.0 || !own.tables.is_empty()).collect()
}

/// The margins of a table at its categories of a dimension: one that half of all have at most, where it is told, and the worst.
pub(crate) fn both(
    areas: &Areas,
    known: &Margins,
    planned: &Planned,
    d: usize,
    t: usize,
) -> (Option<Margin>, Margin) {
    let most = planned.prediction.tables.get(t).map_or(f64::INFINITY, |s| s.max);
    let worst = known.of(t, most);
    let median = areas.of(d, t).map(|own| {
        let node = own.median();
        let variance = own.variances.get(node as usize).copied().unwrap_or(most);
        match variance >= most * (1.0 - 1e-9) {
            true => worst,
            false if own.is_plain => known.of_cell(t, &own.cell(node), variance),
            false => margins::normal(variance),
        }
    });
    (median, worst)
}

/// How a level is called in the list. What is measured of a dimension's total does not tell its categories apart.
pub(crate) fn name(cube: &Cube, dimension: usize, level: usize) -> String {
    match level {
        0 => format!("not by {}", cube.dimensions[dimension].name),
        _ => cube.level_name(Level::new(dimension, level)),
    }
}

/// For scripts.
pub(crate) fn to_json(request: &Request, planned: &Planned, known: &Margins) -> Vec<Value> {
    let areas = Areas::new(request, planned);
    let cube = &request.cube;
    let workload = &planned.plan.rows().workload;
    let of = |dimension: usize| {
        let own = levels(&areas, planned, dimension);
        let few = own.iter().map(|of| of.tables.len()).sum::<usize>() <= MOST_TABLES;
        let table = |&t: &usize| {
            let (median, worst) = both(&areas, known, planned, dimension, t);
            json!({
                "of": names(cube, &workload[t].cuboid),
                "cells": cube.cells(&workload[t].cuboid),
                "median_margin95": median.map(|m| m.0),
                "median_margin95_exact": median.map(|m| m.1),
                "margin95": worst.0,
                "margin95_exact": worst.1,
            })
        };
        let level = |of: &Of| {
            json!({
                "level": (of.level > 0).then(|| cube.level_name(Level::new(dimension, of.level))),
                "categories": of.categories,
                "share": of.share,
                "tables": few.then(|| of.tables.iter().map(table).collect::<Vec<_>>()),
            })
        };
        json!({
            "dimension": cube.dimensions[dimension].name,
            "levels": own.iter().map(level).collect::<Vec<_>>(),
        })
    };
    areas.dimensions().into_iter().map(of).collect()
}
