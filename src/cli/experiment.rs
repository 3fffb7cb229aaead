//! `margins experiment`: how strategies and budget rules compare on the families of workloads of the
//! literature. Opens no data.

use super::chart::{Chart, Series, svg};
use super::output::columns;
use super::plan::spec_failure;
use super::{Failure, Outcome, output};
use crate::cube::{Cube, Cuboid};
use crate::exact::Rational;
use crate::plan::{
    self, BudgetRule, Measure, Neighbours, Noise, Objective, PlanError, Planned, Request, Table,
};
use crate::spec;
use serde_json::json;
use std::path::PathBuf;

/// Compare strategies over many budgets on standard workloads over a spec's dimensions: Q1 (every one-way
/// table), Q1* (and every other two-way table), Q1a (and the two-way tables with the first dimension), and
/// one order up. Prints the relative error: mean absolute error of a cell over the mean count of a cell.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins experiment specs/town.toml --rows 20000 --svg out/town.svg")]
pub struct Args {
    /// The spec: its dimensions at their finest level, its unit and neighbours
    spec: PathBuf,
    /// How many rows the data is said to have: public, not counted
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Only these workloads
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Draw the first workload (or the first of --only) as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

/// The strategies compared.
const STRATEGIES: [Measure; 4] = [Measure::Base, Measure::Queries, Measure::Cluster, Measure::Tables];
/// The budgets: ε = 0.1, 0.2, …, 1.
const BUDGETS: usize = 10;

struct Line {
    workload: &'static str,
    measure: Measure,
    rule: BudgetRule,
    /// Relative errors at the budgets, or why there are none.
    errors: Result<Vec<f64>, String>,
}

pub fn run(args: &Args) -> Outcome {
    let spec = spec::load(&args.spec).map_err(spec_failure)?;
    let max_rows = match &spec.privacy.unit {
        spec::Unit::Row => 1,
        spec::Unit::Column { max_rows, .. } => *max_rows,
    };
    let mut families = workloads(&spec.cube);
    if !args.only.is_empty() {
        if let Some(unknown) = args.only.iter().find(|o| !families.iter().any(|(name, _)| name == o)) {
            let known: Vec<_> = families.iter().map(|f| f.0).collect();
            let known = known.join(", ");
            return Err(Failure::Message(format!("no workload is called {unknown}; there are {known}")));
        }
        families.retain(|(name, _)| args.only.iter().any(|o| o == name));
    }
    let mut lines = Vec::new();
    for (name, tables) in families {
        for measure in STRATEGIES {
            for rule in [BudgetRule::Uniform, BudgetRule::Optimal] {
                let request = request(&spec.cube, &tables, spec.privacy.neighbours, max_rows, measure, rule);
                let errors = plan::plan(&request)
                    .and_then(|planned| relative_errors(&request, &planned, args.rows))
                    .map_err(|e| e.to_string());
                lines.push(Line { workload: name, measure, rule, errors });
            }
        }
    }
    if let Some(file) = &args.svg {
        let picture = svg(&chart(&spec.name, args.rows, &lines));
        std::fs::write(file, picture)
            .map_err(|e| Failure::Message(format!("cannot write {}: {e}", file.display())))?;
    }
    output::print(&if args.json {
        to_json(args.rows, &lines)
    } else {
        to_text(&spec.name, args.rows, &lines)
    })
}

fn request(
    cube: &Cube,
    tables: &[Cuboid],
    neighbours: Neighbours,
    max_rows: u32,
    measure: Measure,
    budgets: BudgetRule,
) -> Request {
    Request {
        cube: cube.clone(),
        workload: tables.iter().map(|c| Table { cuboid: c.clone(), weight: Rational::ONE }).collect(),
        noise: Noise::Laplace,
        budget: Rational::ONE,
        neighbours,
        max_rows,
        measure: Some(measure),
        budgets,
        objective: Objective::Total,
        targets: Vec::new(),
        exact: Vec::new(),
        zeros: Vec::new(),
        shares: Vec::new(),
        rows: None,
    }
}

fn epsilon(i: usize) -> f64 {
    (i + 1) as f64 / BUDGETS as f64
}

/// A cell's mean absolute error is taken as `√(2/π)` of its standard error, as of a normal law. Of a single
/// Laplace noise it is `√(1/2)`, a ninth less; sums are in between.
fn relative_errors(request: &Request, planned: &Planned, rows: u64) -> Result<Vec<f64>, PlanError> {
    (0..BUDGETS)
        .map(|i| {
            let p = plan::predict_at(request, &planned.plan, epsilon(i))?;
            let mut absolute = 0.0;
            for (t, spread) in request.workload.iter().zip(&p.tables) {
                let cells = request.cube.cells(&t.cuboid).unwrap_or(u64::MAX) as f64;
                absolute += cells * (spread.mean * std::f64::consts::FRAC_2_PI).sqrt();
            }
            // Every table's counts add up to the rows.
            Ok(absolute / (rows as f64 * request.workload.len() as f64))
        })
        .collect()
}

/// Every choice of `k` dimensions at their finest level, in lexicographic order.
fn every(cube: &Cube, k: usize) -> Vec<Cuboid> {
    fn extend(cube: &Cube, k: usize, from: usize, chosen: &mut Vec<(usize, usize)>, out: &mut Vec<Cuboid>) {
        if k == 0 {
            out.push(Cuboid::new(chosen.clone()));
            return;
        }
        for d in from..cube.dimensions.len() {
            chosen.push((d, cube.dimensions[d].finest()));
            extend(cube, k - 1, d + 1, chosen, out);
            chosen.pop();
        }
    }
    let mut out = Vec::new();
    extend(cube, k, 0, &mut Vec::new(), &mut out);
    out
}

/// The families of workloads, those that have a table of the larger size.
fn workloads(cube: &Cube) -> Vec<(&'static str, Vec<Cuboid>)> {
    let mut out = Vec::new();
    for (k, [all, half, with]) in [(1, ["Q1", "Q1*", "Q1a"]), (2, ["Q2", "Q2*", "Q2a"])] {
        let (small, large) = (every(cube, k), every(cube, k + 1));
        if small.is_empty() {
            continue;
        }
        out.push((all, small.clone()));
        if !large.is_empty() {
            let halved = small.iter().chain(large.iter().step_by(2)).cloned().collect();
            let fixed = large.iter().filter(|c| c.level(0) > 0);
            out.push((half, halved));
            out.push((with, small.iter().chain(fixed).cloned().collect()));
        }
    }
    out
}

fn percent(x: f64) -> String {
    let p = 100.0 * x;
    if p >= 1e5 { format!("{p:.1e}") } else { format!("{:.*}", if p < 10.0 { 2 } else { 1 }, p) }
}

fn to_text(name: &str, rows: u64, lines: &[Line]) -> String {
    let shown = [0, 1, 4, 9];
    let mut head = vec!["workload, strategy, budgets".to_string()];
    head.extend(shown.map(|i| format!("ε = {}", epsilon(i))));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    for l in lines {
        let mut row = vec![format!("{:<4} {:<8} {}", l.workload, l.measure.name(), l.rule.name())];
        match &l.errors {
            Ok(errors) => row.extend(shown.map(|i| percent(errors[i]))),
            Err(why) => {
                row.extend(shown.map(|_| "–".into()));
                if !reasons.contains(why) {
                    reasons.push(why.clone());
                }
            }
        }
        table.push(row);
    }
    let mut out = format!("{name}: relative error in per cent, Laplace noise, {rows} rows\n\n");
    out.push_str(&columns(&head, &table));
    for why in reasons {
        out.push_str(&format!("  – {why}\n"));
    }
    out
}

fn to_json(rows: u64, lines: &[Line]) -> String {
    let epsilons: Vec<f64> = (0..BUDGETS).map(epsilon).collect();
    let lines: Vec<_> = lines
        .iter()
        .map(|l| {
            json!({
                "workload": l.workload, "measure": l.measure.name(), "budgets": l.rule.name(),
                "relative_error": l.errors.as_ref().ok(), "reason": l.errors.as_ref().err(),
            })
        })
        .collect();
    format!("{}\n", json!({ "rows": rows, "epsilon": epsilons, "lines": lines }))
}

fn chart(name: &str, rows: u64, lines: &[Line]) -> Chart {
    let first = lines.first().map_or("", |l| l.workload);
    let mut series: Vec<Series> = lines
        .iter()
        .filter(|l| l.workload == first)
        .filter_map(|l| {
            let errors = l.errors.as_ref().ok()?;
            let points = errors.iter().enumerate().map(|(i, &e)| (epsilon(i), 100.0 * e)).collect();
            let colour = STRATEGIES.iter().rev().position(|&m| m == l.measure).unwrap_or(0);
            let dashed = l.rule == BudgetRule::Uniform;
            Some(Series { name: format!("{}, {}", l.measure.name(), l.rule.name()), points, dashed, colour })
        })
        .collect();
    // Where a rule has no choice, such as for a single table, one line is enough.
    series.dedup_by(|a, b| a.colour == b.colour && a.points == b.points);
    Chart {
        title: format!("{name}: {first}"),
        subtitle: format!("Laplace noise, {rows} rows; solid: optimal budgets, dashed: uniform"),
        x_label: "budget ε".into(),
        y_label: "relative error, per cent".into(),
        series,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::Dimension;

    #[test]
    fn families_have_the_tables_they_are_named_for() {
        let dims = (0..5).map(|i| Dimension::plain(&format!("d{i}"), vec!["a".into(), "b".into()]));
        let cube = Cube { dimensions: dims.collect() };
        let sizes: Vec<_> = workloads(&cube).iter().map(|(n, t)| (*n, t.len())).collect();
        // 5 + half of 10; 5 + 4 with the first; 10 + half of 10; 10 + 6 with the first.
        assert_eq!(sizes, [("Q1", 5), ("Q1*", 10), ("Q1a", 9), ("Q2", 10), ("Q2*", 15), ("Q2a", 16)]);
    }

    /// One table of a plain dimension: |error| is the noise's, so twice the rows halve the relative error and a tenth of
    /// the budget makes it ten times larger.
    #[test]
    fn relative_error_of_one_table() {
        let dims = vec![Dimension::plain("a", (0..4).map(|i| i.to_string()).collect())];
        let cube = Cube { dimensions: dims };
        let request =
            request(&cube, &every(&cube, 1), Neighbours::AddRemove, 1, Measure::Queries, BudgetRule::Optimal);
        let planned = plan::plan(&request).unwrap();
        let errors = relative_errors(&request, &planned, 1000).unwrap();
        // ε = 0.1: variance 2/ε² = 200 nearly, 4 cells of mean count 250.
        let expected = (200.0 * std::f64::consts::FRAC_2_PI).sqrt() / 250.0;
        assert!((errors[0] / expected - 1.0).abs() < 2e-3, "{} {expected}", errors[0]);
        assert!(errors.windows(2).all(|w| w[1] < w[0]));
        let twice = relative_errors(&request, &planned, 2000).unwrap();
        assert!((errors[3] / twice[3] - 2.0).abs() < 1e-12);
    }
}
