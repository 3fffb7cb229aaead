//! `margins plan`: what will be measured, and how exact the tables will be. Opens no data.

mod asked;
mod levels;
mod loss;
mod margins;
mod records;
pub(super) mod sums;
mod takes;

use super::chart::dots::Dots;
use super::chart::{Chart, Series, svg_above};
use super::output::{columns, counted, figure, grouped};
use super::refusal::failure;
use super::unit::{left_out, protects};
use super::{Failure, Outcome, output};
use crate::compile::effort::Effort;
use crate::compile::statement::Dialect;
use crate::compile::{CompileError, Job};
use crate::cube::{Cube, Cuboid, Frame};
use crate::make::{PlanOptions, PlannedRelease};
use crate::plan::cost::WorstCase;
use crate::plan::{BudgetRule, Measure, Subject, Table};
use crate::planner::closure::Spread;
use crate::planner::targets::{Least, Targets};
use crate::planner::{self, Candidate, Choice, Objective, Planned, Request};
use crate::release::Currency;
use crate::spec::{self, Spec};
use crate::visible::visible;
use crate::watch::Watch;
use loss::{Promised, told};
use margins::Margins;
use records::Tried;
use serde_json::{Value, json};
use smallvec::SmallVec;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Show what a spec will measure and how precise its tables will be, without opening the data.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins plan specs/town.toml --compare\n  \
    margins plan specs/town.toml --svg out/town.svg\n  \
    margins plan specs/town.toml --records 10000\n  \
    margins plan specs/town.toml --sql duckdb --from \"'town.csv'\"")]
pub(crate) struct Args {
    /// The spec
    spec: PathBuf,
    /// Show every strategy with both budget rules, best first, and why some do not apply
    #[arg(long)]
    compare: bool,
    /// Draw the predicted error of every strategy against the budget, and below it, where groups differ in size, margins by what
    /// lies beneath a category; for a projection, the error against its size
    #[arg(long, value_name = "FILE", value_parser = crate::cli::output::picture())]
    svg: Option<PathBuf>,
    /// Draw δ against ε: by the law of the plan's own noises, and as its ρ converts
    #[arg(long, value_name = "FILE", value_parser = crate::cli::output::picture())]
    curve: Option<PathBuf>,
    /// Print the plan as JSON
    #[arg(long)]
    json: bool,
    /// Print the SQL statement that counts the tables in a database: spark, duckdb, postgres, bigquery or ansi. `margins release
    /// --counts` reads its answer. With --json the statement is inside JSON
    #[arg(long, value_name = "DIALECT", hide_possible_values = true)]
    sql: Option<Dialect>,
    /// The table after FROM in the statement of --sql, copied as it is
    #[arg(long, value_name = "TABLE", default_value = "data", requires = "sql")]
    from: String,
    /// Try out how near records of the release would come to the truth: on a number of rows that are spread evenly, or on the
    /// records of an earlier release of like people. A release of them is made with the plan's noise, and records of it
    #[arg(long, value_name = "OF", conflicts_with = "sql")]
    records: Option<String>,
    /// Draw the noise of --records from this fixed seed
    #[cfg(feature = "test-seed")]
    #[arg(long, value_name = "SEED", hide = true)]
    insecure_seed: Option<u64>,
    /// Show every table, not only the first 40
    #[arg(long)]
    all: bool,
    /// Search effort, in rounds of a few seconds, instead of the spec's `effort`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(spec::MOST_EFFORT)))]
    effort: Option<u32>,
    /// Refuse a plan whose release needs more memory than this, such as "500 MB"
    #[arg(long, value_name = "SIZE", value_parser = super::size)]
    memory: Option<u64>,
}

pub(crate) fn run(args: &Args, watch: &Watch) -> Outcome {
    let options = PlanOptions::new()
        .compare(args.compare || args.svg.is_some())
        .effort(args.effort)
        .memory(args.memory)
        .watch(watch);
    let planned = Spec::load(&args.spec).and_then(|spec| spec.plan_with(&options)).map_err(failure)?;
    let (spec, job) = (planned.spec(), planned.job());
    if let Some(dialect) = args.sql {
        if args.from.trim().is_empty() {
            return Err(Failure::Message("--from is empty: say which table the rows are in".into()));
        }
        let statement = job.statement(spec, dialect, &args.from)?;
        return match args.json {
            true => {
                let value = json!({"dialect": dialect.word(), "from": args.from, "statement": statement});
                output::json(&format!("{value}\n"))
            }
            false => output::data(&statement),
        };
    }
    if let Some(file) = &args.svg {
        picture(spec, job, file)?;
    }
    if let Some(file) = &args.curve {
        curve(spec, job, file)?;
    }
    let tried =
        args.records.as_ref().map(|what| records::tried(&planned, what, args.seed(), watch)).transpose()?;
    if args.json {
        print_json(&planned, tried.as_ref())
    } else {
        let text = to_text_with(&planned, (args.compare, args.all))?;
        output::print(&(text + &tried.map_or(String::new(), |tried| tried.text())))
    }
}

impl Args {
    /// The seed of the noise of --records, in test builds.
    fn seed(&self) -> Option<u64> {
        #[cfg(feature = "test-seed")]
        return self.insecure_seed;
        #[cfg(not(feature = "test-seed"))]
        None
    }
}

fn picture(spec: &Spec, job: &Job, file: &Path) -> Outcome {
    let (chart, below) = match job {
        Job::Projection(designed) => (super::projection::picture(spec, &designed.design), Vec::new()),
        Job::Tables(choice) => {
            let plan = &choice.planned.plan;
            let asked = spec.request_of(plan).ok_or(CompileError::NoBudget)?;
            let chart = chart(&spec.planned(plan), &asked, &choice.candidates);
            (chart, levels::pictures(&asked.over(plan.measure), &choice.planned))
        }
    };
    if chart.series.iter().all(|s| s.points.is_empty()) {
        return Err(Failure::Message("there is no error to draw: every table is exact".into()));
    }
    draw(&chart, &below, file)
}

fn curve(spec: &Spec, job: &Job, file: &Path) -> Outcome {
    let Job::Tables(choice) = job else {
        return Err(Failure::Message("a projection has no law of its loss to draw".into()));
    };
    let planned = &choice.planned;
    match told(&spec.planned(&planned.plan), choice).chart(spec, planned.cost.total) {
        Some(chart) => draw(&chart, &[], file),
        None => Err(Failure::Message("the noise is pure: its δ is 0 at every ε from the budget on".into())),
    }
}

fn draw(chart: &Chart, below: &[Dots], file: &Path) -> Outcome {
    crate::files::write(file, &svg_above(chart, below))
        .map_err(|e| Failure::Message(format!("cannot write {}: {e}", output::path(file))))
}

fn print_json(planned: &PlannedRelease, tried: Option<&Tried>) -> Outcome {
    match planned.job() {
        Job::Projection(designed) => output::json(&super::projection::to_json(planned.spec(), designed)),
        Job::Tables(choice) => json_of_tables(planned, choice, tried, |pieces| output::json_pieces(pieces)),
    }
}

/// A plan as JSON.
pub(crate) fn to_json(planned: &PlannedRelease) -> Result<String, Failure> {
    match planned.job() {
        Job::Projection(designed) => Ok(super::projection::to_json(planned.spec(), designed)),
        Job::Tables(choice) => json_of_tables(planned, choice, None, |pieces| Ok(pieces.collect())),
    }
}

/// The pieces of the JSON of a plan of tables, handed on.
fn json_of_tables<T>(
    planned: &PlannedRelease,
    choice: &Choice,
    tried: Option<&Tried>,
    take: impl FnOnce(&mut dyn Iterator<Item = String>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let spec = planned.spec();
    let plan = &choice.planned.plan;
    let asked = spec.request_of(plan).ok_or(CompileError::NoBudget)?;
    let request = asked.over(plan.measure);
    let takes = takes::to_json(spec, &asked, planned.job().effort(spec, planned.memory()), choice);
    let beside = [("takes", Some(takes)), ("records", tried.map(Tried::json).transpose()?)];
    take(&mut pieces(&spec.planned(plan), &asked, &request, choice, beside)?)
}

/// A plan for people, with its first tables; perhaps with all strategies.
pub(crate) fn to_text(planned: &PlannedRelease, compare: bool) -> Result<String, Failure> {
    to_text_with(planned, (compare, false))
}

/// The same, perhaps with every table.
fn to_text_with(planned: &PlannedRelease, (compare, all): (bool, bool)) -> Result<String, Failure> {
    let (spec, job) = (planned.spec(), planned.job());
    match job {
        Job::Projection(designed) => Ok(super::projection::to_text(spec, designed) + &warnings(spec)),
        Job::Tables(choice) => {
            plan_of_tables(spec, job.effort(spec, planned.memory()), choice, (compare, all))
        }
    }
}

fn plan_of_tables(
    spec: &Spec,
    effort: Option<Effort>,
    choice: &Choice,
    (compare, all): (bool, bool),
) -> Result<String, Failure> {
    let planned = &choice.planned;
    let asked = spec.request_of(&choice.planned.plan).ok_or(CompileError::NoBudget)?;
    let takes = takes::text(spec, &asked, effort, choice);
    // All that follows is about the levels that the chosen plan speaks of.
    let (spec, request) = (spec.planned(&planned.plan), asked.over(planned.plan.measure));
    let mut out = head(&spec, planned, &told(&spec, choice));
    if compare {
        out.push_str(&comparison(&asked, &choice.candidates, choice.chosen));
    }
    let margins = Margins::new(&request, planned);
    out.push_str(&tables(&request, planned, &margins, all));
    out.push_str(&levels::text(&request, planned, &margins, all));
    out.push_str(&asked::judged(&request, planned, all));
    out.push_str(&sums::text(&spec.cube, planned));
    out.push_str(&foot(planned));
    out.push_str(&takes);
    out.push_str(&super::bases::text(&spec.cube, planned));
    out.push_str(&super::bases::even(&request, planned));
    out.push_str(&with_delta(planner::with_delta(&asked), planned));
    if let Some(copies) = &choice.copies {
        out.push_str(&super::copies::text(copies, Currency::of_tables(planned.plan.noise)));
    }
    if let Some(t) = planner::targets::targets(&asked, planned)? {
        out.push_str(&targets(&spec, planned, &t, all));
    }
    out.push_str(&relative(&spec));
    out.push_str(&warnings(&spec));
    Ok(out)
}

/// By what tables are weighed, where counts are expected.
fn relative(spec: &Spec) -> String {
    let factors = &spec.strategy.expected;
    if factors.is_empty() {
        return String::new();
    }
    let why = "The objective is relative to expected counts: a table's weight is multiplied by the mean of 1/expected over its cells, and cells of one table are weighed \
               alike. What is said to be the least is so among plans with these weights.";
    let rows = spec.workload.iter().zip(factors).take(SHOWN);
    let rows: Vec<Vec<String>> =
        rows.map(|(t, factor)| vec![asked::name(t, &spec.cube), figure(factor.to_f64().recip())]).collect();
    let more = match factors.len().saturating_sub(SHOWN) {
        0 => String::new(),
        n => format!("  … and {} more tables\n", grouped(n as u64)),
    };
    format!(
        "\n{}\n\n{}{more}",
        output::wrapped(why, 0),
        columns(&["table", "expected of a cell (harmonic mean)"], &rows)
    )
}

/// Predicted error by strategy, from a tenth of the budget to ten times of it.
fn chart(spec: &Spec, request: &Request, candidates: &[Candidate]) -> Chart {
    const POINTS: usize = 9;
    let budget = request.budget.to_f64();
    let error = |p: &Planned| p.prediction.rms_error();
    let best =
        candidates.iter().filter_map(|c| c.outcome.as_ref().ok()).map(|p| error(p)).fold(f64::MAX, f64::min);
    // The better a strategy, the stronger its colour.
    let mut order: Vec<(f64, Measure)> =
        candidates.iter().filter_map(|c| Some((error(c.outcome.as_ref().ok()?), c.measure))).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranked: Vec<Measure> = Vec::new();
    for (_, measure) in order {
        if !ranked.contains(&measure) {
            ranked.push(measure);
        }
    }
    let mut far: Vec<&str> = Vec::new();
    let mut series: Vec<Series> = Vec::new();
    for c in candidates {
        let Ok(planned) = &c.outcome else { continue };
        // One line far above would press all others together.
        if error(planned) > 10.0 * best {
            if !far.contains(&c.measure.name()) {
                far.push(c.measure.name());
            }
            continue;
        }
        let points = (0..POINTS).filter_map(|i| {
            let times = 10f64.powf(2.0 * i as f64 / (POINTS - 1) as f64 - 1.0);
            let p = planner::promised_at(request, planned, times).ok()?;
            Some((budget * times, p.rms_error()))
        });
        // Where a rule has no choice, such as for a single table, one line is enough.
        let points: Vec<_> = points.collect();
        if series.last().is_some_and(|last| last.points == points) {
            continue;
        }
        series.push(Series {
            name: format!("{}, {}", c.measure.name(), c.budgets.name()),
            points,
            dashed: c.budgets == BudgetRule::Uniform,
            colour: ranked.iter().position(|&m| m == c.measure).unwrap_or(0),
        });
    }
    let noise = request.noise.name();
    let left_out = match far.as_slice() {
        [] => String::new(),
        far => format!("; not shown, over ten times the best: {}", far.join(", ")),
    };
    Chart {
        title: spec.title.clone(),
        subtitle: format!("{noise} noise; solid: optimal budgets, dashed: uniform{left_out}"),
        x_label: format!("budget {}", Currency::of_tables(request.noise).symbol()),
        even: false,
        y_label: format!(
            "root-mean-square error of {}",
            if asked::beyond(request) { "an answer" } else { "a cell" }
        ),
        series,
        mark: Some((budget, "this spec".into())),
    }
}

fn head(spec: &Spec, planned: &Planned, told: &Promised) -> String {
    let p = &planned.plan;
    let mut left_out = left_out(&spec.privacy.unit, p.noise);
    for i in p.numbers(&Subject::CutUnits) {
        let (Some((_, m)), Some(cost)) = (p.measurement(i), planned.cost.each.get(i)) else { continue };
        let error = libm::sqrt(p.noise.variance(m.scale.to_f64()));
        let text = format!(
            "also how many units have more rows, std error {}, for {} = {}",
            figure(error),
            Currency::of_tables(p.noise).symbol(),
            figure(cost.to_f64())
        );
        left_out.push_str(&format!("counts    {}\n", crate::audit::wrap(&text, 70, 10)));
    }
    let (unit, neighbours) = protects(&spec.privacy.unit, p.neighbours);
    let noise = format!("discrete {} noise", p.noise.name());
    let exact: String = spec
        .exact
        .iter()
        .map(|e| {
            let text = format!("{}, without noise: {}", spec.cube.describe(&e.cuboid), e.reason);
            format!("exact     {}\n", crate::audit::wrap(&text, 70, 10))
        })
        .collect();
    let zeros: String = spec
        .zeros
        .iter()
        .map(|z| {
            let counted = if planned.prediction.zeros { "" } else { "; not counted on below" };
            format!("empty     {}\n", crate::audit::wrap(&format!("where {}{counted}", z.condition), 70, 10))
        })
        .collect();
    let asked = match planned.prediction.queries {
        queries if asked::of(p) => format!("; {} queries asked", grouped(queries as u64)),
        _ => String::new(),
    };
    let symbol = Currency::of_tables(p.noise).symbol();
    let approximate = told.text(spec.privacy.budget);
    let budget = format!("{symbol} = {}{approximate}, {noise}", p.budget.shown());
    format!(
        "{}: {}\n\nbudget    {}\nprotects  {unit} {neighbours}\n{left_out}measures  {} ({}, {} budgets)\nanswers   {}, {}{asked}\n{exact}{zeros}\n",
        spec.name,
        visible(&spec.title),
        crate::audit::wrap(&budget, 70, 10),
        counted(sums::groups(p), "group"),
        p.measure.name(),
        p.budgets.name(),
        counted(p.rows().workload.len() as u64, "table"),
        counted(planned.prediction.cells as u64, "cell"),
    )
}

fn foot(planned: &Planned) -> String {
    let p = &planned.prediction;
    let case = match planned.cost.worst_case {
        WorstCase::Sum => "",
        WorstCase::Cells => ", the exact worst case over cells",
        WorstCase::Joint => ", the exact worst case over pairs of cells",
        WorstCase::Bound => ", an upper bound over pairs of cells",
    };
    let proof = planned.certificate.map_or(String::new(), |c| {
        let (of, value, bound, among) = (c.of, figure(c.value), figure(c.bound), c.among.words());
        let proof = if c.gap() > 1e-3 {
            format!("{of} {value}, at most {:.2} times the least of {among} (proved: {bound})", 1.0 + c.gap())
        } else {
            format!("{of} {value}, certified within {:.0e} of the least of {among}", c.gap().max(1e-12))
        };
        let wider = c.wider.iter().flatten().map(|(of, bound)| {
            format!("; at most {:.4} times the least of {of}", (c.value / bound).max(1.0))
        });
        let proof = wider.fold(proof, |proof, wider| proof + &wider);
        format!("{}\n", output::wrapped(&proof, 2))
    });
    let worst = if asked::of(&planned.plan) { "worst" } else { "worst cell's" };
    let weighted = if has_weights(planned) {
        format!(" (weighted {})", figure(p.weighted_total))
    } else {
        String::new()
    };
    let of = if planned.sums.is_empty() { "" } else { "of counts: " };
    let total = format!(
        "{of}total variance {}{weighted}, root-mean-square error {}, {worst} std error {}",
        figure(p.total),
        figure(p.rms_error()),
        figure(p.max.sqrt())
    );
    let (total, spent) = (output::wrapped(&total, 2), output::spent(planned.cost.total));
    format!("\n{total}\nspends {spent} of {}{case}\n{proof}", planned.plan.budget.shown())
}

/// What the same ε would give with a δ: pure ε-DP is a choice, and this is its price.
fn with_delta(other: Option<planner::WithDelta>, planned: &Planned) -> String {
    let Some(other) = other else { return String::new() };
    let (own, error) = (planned.prediction.rms_error(), other.planned.prediction.rms_error());
    let times = if error < own { own / error } else { error / own };
    let text = format!(
        "The same ε with δ = {} (rho = {}, Gaussian noise, {}): root-mean-square error {}, {times:.2} times {}.",
        planner::DELTA.shown(),
        figure(other.planned.plan.budget.to_f64()),
        other.planned.plan.measure.name(),
        figure(error),
        if error < own { "smaller" } else { "larger" },
    );
    format!("{}\n", output::wrapped(&text, 0))
}

/// What the holder of the data should know before a release.
fn warnings(spec: &Spec) -> String {
    spec.warnings().iter().map(|text| format!("\n{}\n", output::wrapped(text, 9))).collect()
}

/// Which targets the plan meets, and what budget would meet them all.
fn targets(spec: &Spec, planned: &Planned, targets: &Targets, all: bool) -> String {
    let p = &planned.plan;
    // What is missed comes first, worst first.
    let mut order: Vec<_> = targets.outcomes.iter().collect();
    order.sort_by(|a, b| (b.predicted / b.wanted).total_cmp(&(a.predicted / a.wanted)));
    let shown = if all { order.len() } else { order.len().min(SHOWN) };
    let rows: Vec<Vec<String>> = order[..shown]
        .iter()
        .map(|o| {
            vec![
                sums::target_of(&spec.cube, planned, o)
                    .map_or_else(|| asked::name(&p.rows().workload[o.table], &spec.cube), |of| of.text),
                format!("{}", o.level),
                format!("± {}", figure(o.wanted)),
                format!("± {}", figure(o.predicted)),
                if o.met { "met".into() } else { format!("missed by {}", figure(o.predicted - o.wanted)) },
            ]
        })
        .collect();
    let missed = order.iter().filter(|o| !o.met).count();
    let mut out = format!("\ntargets: {} of {} met\n\n", order.len() - missed, order.len());
    out.push_str(&columns(&["table", "level", "target", "predicted", ""], &rows));
    if shown < order.len() {
        out.push_str(&format!("  … and {} more targets: --all\n", grouped((order.len() - shown) as u64)));
    }
    // A margin of a normal law is one of whole numbers only if it is one itself.
    if p.noise.is_normal() && targets.outcomes.iter().any(|o| o.wanted.fract() != 0.0) {
        let text = "Intervals end at whole numbers (sums: at multiples of the step): a margin of ± 2.6 is kept as ± 3.";
        out.push_str(&format!("\n{}\n", output::wrapped(text, 0)));
    }
    let symbol = Currency::of_tables(p.noise).symbol();
    out.push_str(&match targets.least {
        Some(Least { budget, bound: Some(bound) }) => format!(
            "\nleast budget for all of them: {symbol} = {} (proved: not below {bound:.9})\n",
            budget.to_f64()
        ),
        Some(Least { budget, bound: None }) => {
            let budget = budget.to_f64();
            format!("\nthe least budget found that meets them all: {symbol} = {budget} (not proved least)\n")
        }
        None => "\nno budget that can be drawn meets them all\n".into(),
    });
    if let Some(others) = targets.others {
        let text = format!(
            "Tables without a target: at most {others:.2} times the std error that objective \"total\" would give them (allowed: {}).",
            planner::objective::CARE
        );
        out.push_str(&output::wrapped(&text, 0));
        out.push('\n');
    }
    out
}

/// Tables shown unless all are asked for.
const SHOWN: usize = 40;
fn tables(request: &Request, planned: &Planned, margins: &Margins, all: bool) -> String {
    let p = &planned.plan;
    let shown = if all { p.rows().workload.len() } else { p.rows().workload.len().min(SHOWN) };
    let beyond = asked::of(p);
    let mut normal = false;
    let rows: Vec<Vec<String>> = p.rows().workload[..shown]
        .iter()
        .zip(&planned.prediction.tables)
        .enumerate()
        .map(|(i, (t, spread))| {
            let mut row = vec![
                asked::name(t, &request.cube),
                request.cube.cells(&t.cuboid).map_or("many".into(), grouped),
            ];
            if beyond {
                row.push(grouped(planned.prediction.asked.get(i).map_or(0, |&q| q as u64)));
            }
            row.push(match p.exact_above(&t.cuboid) {
                Some(_) => "exact".into(),
                None => figure(spread.mean.sqrt()),
            });
            let (margin, exact) = margins.of(i, spread.max);
            normal |= !exact;
            row.push(format!("{} {}", if exact { "±" } else { "≈" }, figure(margin)));
            row
        })
        .collect();
    let mut out = match beyond {
        true => columns(&["table", "cells", "queries", "std error", "95 % margin"], &rows),
        false => columns(&["table", "cells", "std error", "95 % margin"], &rows),
    };
    if shown < p.rows().workload.len() {
        out.push_str(&format!(
            "  … and {} more tables: --all\n",
            grouped((p.rows().workload.len() - shown) as u64)
        ));
    }
    if planned.prediction.tables[..shown].iter().any(|s| s.max > s.mean * 1.001) {
        out.push_str(match beyond {
            true => "  (std error: over all that is asked; margin: of the answer known least well)\n",
            false => "  (std error: over all cells of the table; margin: of the cell known least well)\n",
        });
    }
    if normal {
        out.push_str("  (≈: 1.96 std errors; answers from the release have the exact law)\n");
    }
    out
}

/// How many numbers an answer goes through, in a narrow column.
fn reads(numbers: f64) -> String {
    match numbers {
        n if n < 1e5 => format!("{n:.0}"),
        n if n < 1e8 => format!("{:.0}k", n / 1e3),
        n => format!("{:.0}M", n / 1e6),
    }
}

/// Whether the weighted total is another number than the total.
fn has_weights(p: &Planned) -> bool {
    (p.prediction.weighted_total / p.prediction.total - 1.0).abs() > 1e-9
}

fn comparison(request: &Request, candidates: &[Candidate], chosen: usize) -> String {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    let score = |i: usize| candidates[i].outcome.as_ref().map_or(f64::INFINITY, |p| p.score(request));
    order.sort_by(|&a, &b| score(a).total_cmp(&score(b)));
    let error = |p: &Planned| match request.objective {
        Objective::Worst => p.score(request),
        Objective::Total | Objective::Targets => p.weighted_total(),
    };
    let best = candidates[order[0]].outcome.as_ref().map_or(f64::INFINITY, |p| error(p));
    let frame = |p: &Planned| Frame::new(&request.over(p.plan.measure).cube, &p.plan.levels);
    // Where tables have weights, strategies are compared by the weighted total: that is what is shown.
    let summed = candidates.iter().any(|c| c.outcome.as_ref().is_ok_and(|p| !p.sums.is_empty()));
    let weighted = summed || candidates.iter().any(|c| c.outcome.as_ref().is_ok_and(|p| has_weights(p)));
    let total = if weighted { "weighted total" } else { "total variance" };
    let mut rows = Vec::new();
    let mut reasons: Vec<(Measure, String)> = Vec::new();
    for i in order {
        let c = &candidates[i];
        match &c.outcome {
            Ok(p) => rows.push(vec![
                format!(
                    "{} {} {}{}",
                    if i == chosen { "→" } else { " " },
                    c.measure.name(),
                    c.budgets.name(),
                    if c.vast { " *" } else { "" }
                ),
                grouped(sums::groups(&p.plan)),
                figure(if weighted { p.weighted_total() } else { p.prediction.total }),
                figure(p.prediction.rms_error()),
                figure(p.prediction.max.sqrt()),
                format!("{:.2}×", error(p) / best),
                reads(planner::answering(&frame(p), &p.plan)),
            ]),
            Err(e) if !reasons.iter().any(|(m, _)| *m == c.measure) => {
                reasons.push((c.measure, e.to_string()))
            }
            Err(_) => {}
        }
    }
    let mut out = columns(&["  strategy", "groups", total, "rms", "worst", "vs best", "reads"], &rows);
    if candidates.iter().any(|c| c.vast) {
        out.push_str("  * so many cells that it is only chosen by name\n");
    }
    if summed {
        out.push_str("  (the total is of counts and sums, these in units of their largest value;\n  rms, worst and reads are of counts)\n");
    }
    for (_, why) in reasons {
        out.push_str(&format!("  {}\n", crate::audit::wrap(&why, 76, 4)));
    }
    out.push('\n');
    out
}

/// The pieces of the plan as JSON. Its tables are written one by one: of many, all at once would take more memory than the plan.
fn pieces<'a>(
    spec: &Spec,
    asked: &Request,
    request: &'a Request,
    choice: &'a Choice,
    beside: [(&str, Option<Value>); 2],
) -> Result<impl Iterator<Item = String> + use<'a>, Failure> {
    let margins = Rc::new(Margins::new(request, &choice.planned));
    let mut fields = match tables_apart(spec, asked, request, choice, &margins)? {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    };
    fields.extend(beside.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    let before = |first: bool| if first { "" } else { "," };
    let pieces = fields.into_iter().enumerate().flat_map(move |(at, (key, value))| {
        let name = format!("{}{}:", before(at == 0), Value::from(key.as_str()));
        let tables = (key == TABLES).then(|| tables_json(request, planned_of(choice), margins.clone()));
        let (open, value, close) = match tables {
            Some(_) => ("[", String::new(), "]"),
            None => ("", value.to_string(), ""),
        };
        let each = tables.into_iter().flatten();
        std::iter::once(name + open + &value).chain(each).chain([close.to_owned()])
    });
    Ok(["{".to_owned()].into_iter().chain(pieces).chain(["}\n".to_owned()]))
}

fn planned_of(choice: &Choice) -> &Planned {
    &choice.planned
}

/// The key under which every table stands.
const TABLES: &str = "tables";

/// Everything but the tables, whose place is held.
fn tables_apart(
    spec: &Spec,
    asked: &Request,
    request: &Request,
    choice: &Choice,
    margins: &Margins,
) -> Result<Value, Failure> {
    let Choice { planned, candidates, chosen, copies, .. } = choice;
    let p = &planned.plan;
    let targets = planner::targets::targets(request, planned)?;
    let mut value = json!({
        "name": spec.name,
        "noise": p.noise,
        "budget": p.budget,
        "currency": Currency::of_tables(p.noise),
        "cost": planned.cost.total,
        "max_rows": p.max_rows,
        "truncation_scale": p.measurement(p.numbers(&Subject::CutUnits).start).map(|(_, m)| m.scale),
        "chosen": chosen,
        "strategies": candidates.iter().map(strategy_json).collect::<Vec<_>>(),
        "cells": planned.prediction.cells,
        "queries": planned.prediction.queries,
        "rms_error": planned.prediction.rms_error(),
        (TABLES): null,
        "levels": levels::to_json(request, planned, margins),
        "objective": request.objective,
        "relative": (!spec.strategy.expected.is_empty()).then_some(&spec.strategy.expected),
        "gap": planned.certificate.map(|c| c.gap()),
        "gap_among": planned.certificate.map(|c| c.among.name()),
        "wider": planned.certificate.iter().flat_map(|c| c.wider.iter().flatten().map(|(of, bound)| {
            json!({"of": of, "gap": (c.value / bound - 1.0).max(0.0)})
        })).collect::<Vec<_>>(),
        "even_shares": planner::strategy::even(request, p).map(|(of, why)| json!({"of": of, "why": why.to_string()})),
        "effort": spec.strategy.effort,
        "with_delta": planner::with_delta(asked).map(|other| json!({
            "delta": *planner::DELTA,
            "rho": other.planned.plan.budget,
            "measure": other.planned.plan.measure.name(),
            "rms_error": other.planned.prediction.rms_error(),
            "total_variance": other.planned.prediction.total,
            "max_variance": other.planned.prediction.max,
        })),
        "targets": targets.map(|t| targets_json(spec, planned, &t)),
        "recipients": copies.as_ref().map(|c| super::copies::to_json(c, Currency::of_tables(p.noise))),
    });
    if let (Some(fields), Value::Object(told)) = (value.as_object_mut(), told(spec, choice).json(planned)) {
        fields.extend(told);
    }
    if !planner::closure::bases::bases_of(p).is_empty() {
        value["bases"] = super::bases::json(&spec.cube, planned).into();
    }
    if !planned.sums.is_empty() {
        value["sums"] = sums::json(&spec.cube, planned).into();
    }
    Ok(value)
}

fn strategy_json(c: &Candidate) -> Value {
    match &c.outcome {
        Ok(p) => json!({
            "measure": c.measure.name(),
            "budgets": c.budgets.name(),
            "applies": true,
            "total_variance": p.prediction.total,
            "weighted_variance": p.weighted_total(),
            "rms_error": p.prediction.rms_error(),
            "max_variance": p.prediction.max,
            "groups": sums::groups(&p.plan),
            "cost": p.cost.total,
            "gap": p.certificate.map(|c| c.gap()),
            "gap_among": p.certificate.map(|c| c.among.name()),
            "vast": c.vast,
        }),
        Err(e) => json!({
            "measure": c.measure.name(),
            "budgets": c.budgets.name(),
            "applies": false,
            "reason": e.to_string(),
        }),
    }
}

/// The levels of a table by their names.
fn names(cube: &Cube, cuboid: &Cuboid) -> Vec<String> {
    cuboid.iter().map(|level| cube.level_name(level)).collect()
}

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
    std_error: f64,
    variance: f64,
}

/// Tables are written so many at a time.
const TOGETHER: usize = 256;

/// All tables, with commas between them.
fn tables_json<'a>(
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

fn targets_json(spec: &Spec, planned: &Planned, t: &Targets) -> Value {
    let outcome = |o: &planner::targets::Outcome| {
        if let Some(of) = sums::target_of(&spec.cube, planned, o) {
            return json!({
                "of": names(&spec.cube, of.cuboid), "sum": of.amount,
                "margin": o.wanted, "level": o.level, "predicted": o.predicted, "met": o.met,
            });
        }
        json!({
            "of": names(&spec.cube, &planned.plan.rows().workload[o.table].cuboid),
            "asked": asked::name(&planned.plan.rows().workload[o.table], &spec.cube),
            "margin": o.wanted, "level": o.level, "predicted": o.predicted, "met": o.met,
        })
    };
    json!({
        "tables": t.outcomes.iter().map(outcome).collect::<Vec<_>>(),
        "others": t.others,
        "least_budget": t.least.map(|l| l.budget),
        "least_budget_bound": t.least.and_then(|l| l.bound),
    })
}
