//! The law of the worst answer among those asked of a table, for the margins that a plan promises.

use super::closure::Closure;
use super::targets::Nothing;
use super::{Planned, Request, predict};
use crate::answer::Evaluator;
use crate::cube::{Filter, Frame, Level, odometer};
use crate::law::ErrorLaw;
use crate::plan::{Asks, Plan, Selected, Table};
use crate::sql::Aggregate;
use std::sync::Arc;

/// The most rows of a query that are looked at.
const MOST_ROWS: usize = 256;

/// That law; `None` where it would take long, or where the estimates of the parts depend on each other: then a normal one stands in.
pub fn law(
    evaluator: &Evaluator<Nothing>,
    request: &Request,
    planned: &Planned,
    at: usize,
) -> Option<Arc<ErrorLaw>> {
    let plan = &planned.plan;
    let table = plan.workload.get(at)?;
    match &table.asks {
        asks if asks.is_cells() => {
            evaluator.worst_cell_law(&table.cuboid).ok().or_else(|| of_cell(evaluator, planned, at, table))
        }
        Asks::Query(_) => of_rows(evaluator, request, table),
        Asks::Product(_) => of_products(evaluator, request, plan, table),
    }
}

/// Of the cell that the prediction found to be known least well, where there are too many kinds of cells to look at the law of each.
fn of_cell(
    evaluator: &Evaluator<Nothing>,
    planned: &Planned,
    at: usize,
    table: &Table,
) -> Option<Arc<ErrorLaw>> {
    let nodes = planned.prediction.worst.get(&at).filter(|nodes| nodes.len() == table.cuboid.len())?;
    let group_by: Vec<Level> = table.cuboid.iter().collect();
    let everything = [Aggregate { filter: Filter::everything(), partition: None }];
    evaluator.law(&everything, &[1.0], &group_by, nodes).ok().map(Arc::new)
}

fn of_products(
    evaluator: &Evaluator<Nothing>,
    request: &Request,
    plan: &Plan,
    table: &Table,
) -> Option<Arc<ErrorLaw>> {
    let cube = &request.cube;
    let frame = Frame::new(cube, &plan.levels);
    let closure = Closure::new(cube, &frame, std::slice::from_ref(table));
    let over = predict::over_bases(cube, &frame, &closure, plan, std::slice::from_ref(table));
    let closure = over.unwrap_or(closure);
    let sigma2 = predict::component_variances(&frame, &closure, plan)?;
    let (_, worst) = closure.largest(0, &table.cuboid, &sigma2);
    let mut filter = Filter::everything();
    for (Level { dimension: d, level }, (first, last)) in table.cuboid.iter().zip(worst) {
        let dimension = cube.dimensions.get(d)?;
        let up = dimension.ancestors(dimension.finest(), level);
        let inside: Vec<bool> = up.iter().map(|node| (first..=last).contains(node)).collect();
        filter = filter.and(&Filter::nodes(d, &inside)).ok()?;
    }
    let one = [Aggregate { filter, partition: None }];
    evaluator.law(&one, &[1.0], &[], &[]).ok().map(Arc::new)
}

fn of_rows(evaluator: &Evaluator<Nothing>, request: &Request, table: &Table) -> Option<Arc<ErrorLaw>> {
    let selected = Selected::of(&request.cube, table)?;
    let sizes: Vec<usize> = selected.group_by.iter().map(|level| level.of(&request.cube).len()).collect();
    if sizes.iter().product::<usize>() > MOST_ROWS {
        return None;
    }
    let mut worst: Option<ErrorLaw> = None;
    for (at, figure) in selected.figures.iter().enumerate() {
        let mut coefficients = vec![0.0; selected.aggregates.len()];
        figure.iter().for_each(|&(a, c)| coefficients[a] += c);
        let mut nodes = vec![0u32; sizes.len()];
        loop {
            if selected.has_row(&request.cube, at, &nodes) {
                let law =
                    evaluator.law(&selected.aggregates, &coefficients, &selected.group_by, &nodes).ok()?;
                if worst.as_ref().is_none_or(|w| law.variance() > w.variance()) {
                    worst = Some(law);
                }
            }
            if !odometer::next(&mut nodes, |i| sizes[i]) {
                break;
            }
        }
    }
    worst.map(Arc::new)
}
