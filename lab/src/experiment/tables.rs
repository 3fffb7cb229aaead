//! How strategies and budget rules compare on the families of workloads of the literature.

use super::absolute::Cells;
use crate::panels::{self, Panel, Panels};
use margins::cli::chart::{self, Chart, Series};
use margins::cli::output::{self, columns, counted, figure, wrapped};
use margins::cli::{Failure, Outcome};
use margins::cube::{Cube, Cuboid, Level};
use margins::exact::Rational;
use margins::plan::{BudgetRule, Measure, Neighbours, Noise, Table, convert};
use margins::planner::{self, Planned, Request};
use margins::spec;
use margins::watch::Watch;
use serde_json::json;
use std::path::PathBuf;

#[derive(clap::Args)]
#[group(id = "tables")]
pub(super) struct Args {
    /// The spec: its dimensions at their finest level, its unit and neighbours
    spec: PathBuf,
    /// How many rows the data is said to have: public, not counted
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Only these workloads
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Laplace noise for pure ε-DP, or Gaussian noise for (ε, δ)-DP; then `residual` is compared, too
    #[arg(long, value_enum, default_value_t = Kind::Laplace)]
    noise: Kind,
    /// The δ of Gaussian noise
    #[arg(long, default_value = "1e-9", value_name = "DELTA")]
    delta: Rational,
    /// Draw the workloads as panels of one picture
    #[arg(long, value_name = "FILE", value_parser = margins::cli::output::picture())]
    svg: Option<PathBuf>,
    /// Also show how long each plan takes on this machine, in milliseconds
    #[arg(long)]
    time: bool,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    /// Discrete Laplace
    Laplace,
    /// Discrete Gaussian
    Gaussian,
}

impl Kind {
    pub(super) fn noise(self) -> Noise {
        match self {
            Kind::Laplace => Noise::Laplace,
            Kind::Gaussian => Noise::Gaussian,
        }
    }
}

/// The strategies compared, the published four first.
const STRATEGIES: [Measure; 6] =
    [Measure::Base, Measure::Queries, Measure::Fourier, Measure::Cluster, Measure::Tables, Measure::Residual];
/// Of each strategy both, in this order.
const RULES: [BudgetRule; 2] = [BudgetRule::Uniform, BudgetRule::Optimal];
/// The budgets: ε = 0.1, 0.2, …, 1.
const BUDGETS: usize = 10;

/// What all lines have in common.
struct Setting {
    name: String,
    rows: u64,
    noise: Noise,
    delta: Rational,
    /// Whether the time of planning is shown.
    time: bool,
    /// The budget in the noise's own currency at each ε.
    budgets: Vec<f64>,
}

impl Setting {
    fn new(args: &Args, name: &str) -> Result<Setting, Failure> {
        let noise = args.noise.noise();
        let budget = |i: usize| {
            if noise.is_pure() {
                return Some(epsilon(i));
            }
            let epsilon = Rational::new(i as u128 + 1, BUDGETS as u128)?;
            convert::largest_rho(epsilon, args.delta).map(Rational::to_f64)
        };
        let budgets = (0..BUDGETS).map(budget).collect::<Option<Vec<f64>>>();
        let budgets = budgets.ok_or_else(|| {
            Failure::Message(format!("--delta must lie between 0 and 1, not {}", args.delta))
        })?;
        Ok(Setting { name: name.into(), rows: args.rows, noise, delta: args.delta, time: args.time, budgets })
    }

    /// `Laplace noise, 30 000 rows`.
    fn describe(&self) -> String {
        let rows = counted(self.rows, "row");
        let at =
            if self.noise.is_pure() { String::new() } else { format!(" at δ = {}", self.delta.shown()) };
        format!("{} noise{at}, {rows}", self.noise.name())
    }

    fn strategies(&self) -> impl Iterator<Item = Measure> {
        // Component by component is the optimum where squares count, and cannot be measured where they do not.
        let squares = self.noise.squares();
        STRATEGIES.into_iter().filter(move |&m| squares || m != Measure::Residual)
    }
}

struct Line {
    workload: &'static str,
    tables: usize,
    measure: Measure,
    rule: BudgetRule,
    /// Relative errors at the budgets, or why there are none.
    errors: Result<Vec<f64>, String>,
    /// How long the plan took.
    seconds: f64,
}

pub(super) fn run(args: &Args, watch: &Watch) -> Outcome {
    let spec = spec::load(&args.spec)?;
    let of_spec = spec.request();
    let of_spec = of_spec.ok_or_else(|| Failure::Message("no noise fits the spec's (ε, δ)".to_owned()))?;
    let mut families = workloads(&spec.cube);
    if !args.only.is_empty() {
        if let Some(unknown) = args.only.iter().find(|o| !families.iter().any(|(name, _)| name == o)) {
            let known: Vec<_> = families.iter().map(|f| f.0).collect();
            let known = known.join(", ");
            return Err(Failure::Message(format!("no workload is called {unknown}; there are {known}")));
        }
        families.retain(|(name, _)| args.only.iter().any(|o| o == name));
    }
    let setting = Setting::new(args, &spec.name)?;
    let mut lines = Vec::new();
    let stage = watch.stage("planning", (families.len() * setting.strategies().count() * RULES.len()) as u64);
    for (name, tables) in families {
        for measure in setting.strategies() {
            for rule in RULES {
                let Request { neighbours, max_rows, .. } = of_spec;
                let mut request = request(&spec.cube, &tables, neighbours, max_rows, setting.noise);
                request.measure = Some(measure);
                request.budgets = rule;
                let start = std::time::Instant::now();
                let planned = planner::plan(&request);
                let seconds = start.elapsed().as_secs_f64();
                let errors = planned
                    .map_err(|e| e.to_string())
                    .and_then(|planned| relative_errors(&request, &planned, &setting));
                stage.advance(1);
                lines.push(Line { workload: name, tables: tables.len(), measure, rule, errors, seconds });
            }
        }
    }
    drop(stage);
    if let Some(file) = &args.svg {
        super::write(file, &picture(&setting, &lines))?;
    }
    if args.json {
        output::json(&to_json(&setting, &lines))
    } else {
        output::print(&to_text(&setting, &lines))
    }
}

fn request(cube: &Cube, tables: &[Cuboid], neighbours: Neighbours, max_rows: u32, noise: Noise) -> Request {
    let workload = tables.iter().map(|c| Table::new(c.clone(), Rational::ONE)).collect();
    Request { neighbours, max_rows, ..Request::new(cube.clone(), workload, noise, Rational::ONE) }
}

fn epsilon(i: usize) -> f64 {
    (i + 1) as f64 / BUDGETS as f64
}

/// For each table the mean absolute error of its cells over their mean count, `n·E|error|/rows` for `n` cells; and of
/// these the mean over the tables. By the exact law of every cell: see [`super::absolute`].
fn relative_errors(request: &Request, planned: &Planned, setting: &Setting) -> Result<Vec<f64>, String> {
    let tables = &request.workload;
    let cells = Cells::new(&request.cube, &planned.plan, tables)?;
    let at = |&budget: &f64| {
        let predict = || planner::predict_at(request, &planned.plan, budget).map_err(|e| e.to_string());
        let predicted = cells.has_normal().then(predict).transpose()?;
        let normal = |at: usize| {
            let cells = request.cube.cells(&tables[at].cuboid).unwrap_or(u64::MAX) as f64;
            (cells, predicted.as_ref().map_or(0.0, |p| p.tables[at].mean))
        };
        // Every table's counts add up to the rows.
        Ok(cells.absolute(budget, normal).iter().sum::<f64>() / (setting.rows as f64 * tables.len() as f64))
    };
    setting.budgets.iter().map(at).collect()
}

/// Every choice of `k` dimensions at their finest level, in lexicographic order.
pub(super) fn every(cube: &Cube, k: usize) -> Vec<Cuboid> {
    fn extend(cube: &Cube, k: usize, from: usize, chosen: &mut Vec<Level>, out: &mut Vec<Cuboid>) {
        if k == 0 {
            out.push(Cuboid::new(chosen.iter().copied()));
            return;
        }
        for d in from..cube.dimensions.len() {
            chosen.push(Level::new(d, cube.dimensions[d].finest()));
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

/// How much smaller the errors are than those of equal shares, on average over the budgets; `lines` are in pairs.
fn saved(lines: &[Line], i: usize) -> Option<f64> {
    let equal = lines.get(i.checked_sub(1)?)?;
    let line = &lines[i];
    if line.rule != BudgetRule::Optimal || equal.measure != line.measure || equal.workload != line.workload {
        return None;
    }
    let (Ok(now), Ok(before)) = (&line.errors, &equal.errors) else { return None };
    Some(1.0 - now.iter().zip(before).map(|(n, b)| n / b).sum::<f64>() / now.len() as f64)
}

/// Per cent with one decimal, and no sign before a zero.
fn tenths(p: f64) -> String {
    format!("{:.1} %", (10.0 * p).round() / 10.0 + 0.0)
}

fn to_text(setting: &Setting, lines: &[Line]) -> String {
    let shown = [0, 1, 4, 9];
    let mut head = vec!["strategy  budgets".to_string()];
    head.extend(shown.map(|i| format!("ε = {}", epsilon(i))));
    head.push("saved".into());
    head.extend(setting.time.then(|| "plan ms".into()));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut out = format!("{}: relative error in per cent, {}\n", setting.name, setting.describe());
    let mut reasons: Vec<String> = Vec::new();
    let mut start = 0;
    for family in lines.chunk_by(|a, b| a.workload == b.workload) {
        let Some(first) = family.first() else { continue };
        let mut table = Vec::new();
        for (i, l) in family.iter().enumerate() {
            let mut row = vec![format!("{:<8}  {}", l.measure.name(), l.rule.name())];
            match &l.errors {
                Ok(errors) => row.extend(shown.map(|i| percent(errors[i]))),
                Err(why) => {
                    row.extend(shown.map(|_| "–".into()));
                    if !reasons.contains(why) {
                        reasons.push(why.clone());
                    }
                }
            }
            row.push(saved(lines, start + i).map_or(String::new(), |s| tenths(100.0 * s)));
            row.extend(setting.time.then(|| figure(1e3 * l.seconds)));
            table.push(row);
        }
        start += family.len();
        out.push_str(&format!("\n{}: {}\n", first.workload, counted(first.tables as u64, "table")));
        out.push_str(&columns(&head, &table));
    }
    out.push_str("\nsaved: by optimal budgets, over uniform ones; the mean over ε = 0.1, 0.2, … 1\n");
    for why in reasons {
        out.push_str(&wrapped(&format!("– {why}"), 2));
        out.push('\n');
    }
    out
}

fn to_json(setting: &Setting, lines: &[Line]) -> String {
    let epsilons: Vec<f64> = (0..BUDGETS).map(epsilon).collect();
    let each: Vec<_> = (0..lines.len())
        .map(|i| {
            let l = &lines[i];
            json!({
                "workload": l.workload, "tables": l.tables, "measure": l.measure.name(), "budgets": l.rule.name(),
                "relative_error": l.errors.as_ref().ok(), "reason": l.errors.as_ref().err(),
                "saved": saved(lines, i), "seconds": setting.time.then_some(l.seconds),
            })
        })
        .collect();
    let delta = (!setting.noise.is_pure()).then(|| setting.delta.to_string());
    format!(
        "{}\n",
        json!({
            "rows": setting.rows, "noise": setting.noise, "delta": delta, "epsilon": epsilons, "lines": each,
        })
    )
}

fn series(lines: &[Line], named: impl Fn(&Line) -> String) -> Vec<Series> {
    let mut series: Vec<Series> = lines
        .iter()
        .filter_map(|l| {
            let errors = l.errors.as_ref().ok()?;
            let points = errors.iter().enumerate().map(|(i, &e)| (epsilon(i), 100.0 * e)).collect();
            let colour = STRATEGIES.iter().position(|&m| m == l.measure).unwrap_or(0);
            Some(Series { name: named(l), points, dashed: l.rule == BudgetRule::Uniform, colour })
        })
        .collect();
    // Where a rule has no choice, such as for a single table, one solid line is enough.
    series.reverse();
    series.dedup_by(|b, a| a.colour == b.colour && a.points == b.points);
    series.reverse();
    series
}

fn picture(setting: &Setting, lines: &[Line]) -> String {
    let families: Vec<&[Line]> = lines.chunk_by(|a, b| a.workload == b.workload).collect();
    let subtitle = format!("{}; solid: optimal budgets, dashed: uniform", setting.describe());
    let (x_label, y_label) = ("budget ε".to_string(), "relative error, per cent".to_string());
    if let [only @ [first, ..]] = families[..] {
        return chart::svg(&Chart {
            title: format!("{}: {}, {}", setting.name, first.workload, counted(first.tables as u64, "table")),
            subtitle,
            x_label,
            even: false,
            y_label,
            series: series(only, |l| format!("{}, {}", l.measure.name(), l.rule.name())),
            mark: None,
        });
    }
    let panel = |family: &&[Line]| {
        let first = family.first()?;
        Some(Panel {
            title: first.workload.into(),
            remark: counted(first.tables as u64, "table"),
            series: series(family, |l| l.measure.name().into()),
        })
    };
    panels::svg(&Panels {
        title: format!("{}: error of strategies", setting.name),
        subtitle,
        x_label,
        y_label,
        panels: families.iter().filter_map(panel).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use margins::cube::Dimension;

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
        let mut request = request(&cube, &every(&cube, 1), Neighbours::AddRemove, 1, Noise::Laplace);
        request.measure = Some(Measure::Queries);
        let planned = planner::plan(&request).unwrap();
        let mut setting = Setting {
            name: String::new(),
            rows: 1000,
            noise: Noise::Laplace,
            delta: Rational::ONE,
            time: false,
            budgets: (0..BUDGETS).map(epsilon).collect(),
        };
        let errors = relative_errors(&request, &planned, &setting).unwrap();
        // E|X| of the discrete Laplace law is 1/sinh(ε); 4 cells of mean count 250.
        let expected = 1.0 / 0.1f64.sinh() / 250.0;
        assert!((errors[0] / expected - 1.0).abs() < 1e-5, "{} {expected}", errors[0]);
        assert!(errors.windows(2).all(|w| w[1] < w[0]));
        setting.rows = 2000;
        let twice = relative_errors(&request, &planned, &setting).unwrap();
        assert!((errors[3] / twice[3] - 2.0).abs() < 1e-12);
    }
}
