//! The law of the worst answer among those asked of a table, for the margins that a plan promises.

use super::between;
use super::closure::Closure;
use super::planned::Planned;
use super::{Request, predict};
use crate::answer::Evaluator;
use crate::cube::{Filter, Frame, Level, odometer};
use crate::law::ErrorLaw;
use crate::plan::{Asks, Plan, Selected, Table};
use crate::recover::Nothing;
use crate::sql::Aggregate;
use std::sync::Arc;

/// The most rows of a query that are looked at.
const MOST_ROWS: usize = 256;

/// That law; `None` where it would take long, or where the estimates of the parts depend on each other: then a normal one stands in.
pub(crate) fn law(
    evaluator: &Evaluator<Nothing>,
    request: &Request,
    planned: &Planned,
    at: usize,
) -> Option<Arc<ErrorLaw>> {
    let plan = &planned.plan;
    let table = plan.rows().workload.get(at)?;
    match &table.asks {
        asks if asks.is_cells() => {
            of_cell(evaluator, planned, at, table).or_else(|| evaluator.worst_cell_law(&table.cuboid).ok())
        }
        Asks::Query(_) => of_rows(evaluator, request, table),
        Asks::Product(_) => of_products(evaluator, request, plan, table),
    }
}

/// Of the cell that the prediction found to be known least well, where it went through all of them: the law of each would be as much work again.
fn of_cell(
    evaluator: &Evaluator<Nothing>,
    planned: &Planned,
    at: usize,
    table: &Table,
) -> Option<Arc<ErrorLaw>> {
    let nodes = planned.prediction.worst.get(&at).filter(|nodes| nodes.len() == table.cuboid.len())?;
    cell(evaluator, table, nodes).map(Arc::new)
}

/// The law of one cell of a table, by its nodes.
pub(crate) fn cell(evaluator: &Evaluator<Nothing>, table: &Table, nodes: &[u32]) -> Option<ErrorLaw> {
    let group_by: Vec<Level> = table.cuboid.iter().collect();
    let everything = [Aggregate::rows(Filter::everything(), None)];
    evaluator.law(&everything, &[1.0], &group_by, nodes).ok()
}

fn of_products(
    evaluator: &Evaluator<Nothing>,
    request: &Request,
    plan: &Plan,
    table: &Table,
) -> Option<Arc<ErrorLaw>> {
    let cube = &request.cube;
    let frame = Frame::new(cube, &plan.levels);
    let table = &between::told(cube, &plan.levels, table)?;
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
    let one = [Aggregate::rows(filter, None)];
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::recover::Recovery;
    use std::fmt::Write as _;
    use std::path::Path;

    /// Where a plan leaves coarse tables next to no part of its budget, the prediction is still the variance of the answer.
    #[test]
    fn beside_tables_with_next_to_no_budget() {
        let text = "name = \"m\"\ntitle = \"M\"\n[privacy]\nunit = \"row\"\nepsilon = \"1/3\"\n[[dimension]]\nname = \"x\"\n\
                    range = [0, 6]\nlevels = [{ name = \"a\", cuts = [5] }, { name = \"b\", cuts = [1, 5, 6] }]\n\
                    [[table]]\nof = [\"x\"]\nweight = 0.5\n[[table]]\nof = [\"x.a\"]\n[[table]]\nof = [\"x.b\"]\n\
                    [strategy]\nmeasure = \"hierarchy\"\nobjective = \"worst\"\n";
        let nowhere = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let request = crate::spec::parse(text, Path::new("m.toml"), nowhere).unwrap().request().unwrap();
        let planned = crate::planner::plan(&request).unwrap();
        let scales: Vec<f64> = planned.plan.rows().measurements.iter().map(|m| m.scale.to_f64()).collect();
        assert!(scales.iter().copied().fold(0.0, f64::max) > 1e5, "{scales:?}");
        let recovery = Recovery::new(request.cube.clone(), planned.plan.clone(), crate::recover::Nothing);
        let evaluator = Evaluator::new(recovery.unwrap());
        for (at, told) in planned.prediction.tables.iter().enumerate() {
            let own = law(&evaluator, &request, &planned, at).unwrap().variance();
            assert!((told.max / own - 1.0).abs() < 1e-6, "{at}: {} {own}", told.max);
        }
    }

    /// Over groups of so many sizes that not every kind of cell is looked at, the law is that of the cell that is known least well. It takes
    /// about a second, as of fewer kinds all are looked at.
    #[test]
    fn of_very_many_kinds() {
        // Groups of 1, 2, … 23.
        let cuts: Vec<u32> = (1..23).map(|k| k * (k + 1) / 2).collect();
        let mut text = "name = \"m\"\ntitle = \"M\"\n[privacy]\nunit = \"row\"\nrho = 1\n".to_owned();
        for name in ["x", "y"] {
            let _ = write!(
                text,
                "[[dimension]]\nname = \"{name}\"\nrange = [0, 275]\nlevels = [{{ name = \"g\", cuts = {cuts:?} }}]\n"
            );
        }
        text += "[[table]]\nof = [\"x\", \"y\"]\n[[table]]\nof = [\"x.g\", \"y.g\"]\n[strategy]\nmeasure = \"queries\"\n";
        let nowhere = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let request = crate::spec::parse(&text, Path::new("m.toml"), nowhere).unwrap().request().unwrap();
        let planned = crate::planner::plan(&request).unwrap();
        let recovery = Recovery::new(request.cube.clone(), planned.plan.clone(), crate::recover::Nothing);
        let evaluator = Evaluator::new(recovery.unwrap());
        assert!(evaluator.worst_cell_law(&planned.plan.rows().workload[0].cuboid).is_err(), "not so many");
        for at in 0..2 {
            let found = law(&evaluator, &request, &planned, at).unwrap().variance();
            let most = planned.prediction.tables[at].max;
            assert!((found / most - 1.0).abs() < 1e-6, "{found} {most}");
        }
    }
}
