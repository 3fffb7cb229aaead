//! `margins plan`: what will be measured, and how exact the tables will be. Opens no data.

mod asked;
mod levels;
mod loss;
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
use crate::cube::Frame;
use crate::make::{PlanOptions, PlannedRelease};
use crate::plan::cost::WorstCase;
use crate::plan::{BudgetRule, Measure, Neighbours, Subject};
use crate::planner::targets::{Least, Targets};
use crate::planner::{self, Candidate, Choice, Objective, Planned, Request};
use crate::preview;
use crate::preview::asked::Measured;
use crate::preview::loss::{Promised, told};
use crate::preview::margins::Margins;
use crate::preview::sums::{groups, target_of};
use crate::preview::words::times;
use crate::release::Currency;
use crate::spec::{self, Spec};
use crate::visible::visible;
use crate::watch::Watch;
use records::Tried;
use serde_json::json;
use std::path::{Path, PathBuf};

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
    let printed = if args.json {
        print_json(&planned, tried.as_ref())
    } else {
        let text = to_text_with(&planned, (args.compare, args.all))?;
        output::print(&(text + &tried.map_or(String::new(), |tried| tried.text())))
    };
    if args.svg.is_some() || args.curve.is_some() {
        return output::done(printed, "the picture is written");
    }
    printed
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

/// The longest picture that is looked at before it is replaced.
const MOST_SVG: u64 = 64 << 20;

/// Draws into a new file, or in the place of a picture: whatever else is there stays.
fn draw(chart: &Chart, below: &[Dots], file: &Path) -> Outcome {
    let is_picture = |text: &str| ["<svg", "<?xml"].iter().any(|start| text.trim_start().starts_with(start));
    if file.exists() && !crate::files::text(file, MOST_SVG).is_ok_and(|text| is_picture(&text)) {
        return Err(Failure::Message(format!(
            "{} is there, and is no picture that could be drawn anew: give another name",
            output::path(file)
        )));
    }
    crate::files::write(file, &svg_above(chart, below)).map_err(|e| output::cannot_write(file, &e))
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
    let asked = spec.request_of(&choice.planned.plan).ok_or(CompileError::NoBudget)?;
    let takes = takes::to_json(spec, &asked, planned.job().effort(spec, planned.memory()), choice);
    let records = tried.map(Tried::json).transpose()?.map(|records| ("records", records));
    let beside = [("takes", takes)].into_iter().chain(records).collect();
    preview::of_tables(spec, choice, beside, take).map_err(CompileError::from)?
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
    let questions = preview::asked::questions(&spec);
    let mut out = head(&spec, planned, &told(&spec, choice), &questions);
    if compare {
        out.push_str(&comparison(&asked, &choice.candidates, choice.chosen));
    }
    let margins = Margins::new(&request, planned);
    out.push_str(&match questions.is_empty() {
        true => tables(&request, planned, &margins, all),
        false => asked::questions(&questions, planned, all),
    });
    out.push_str(&levels::text(&request, planned, &margins, all));
    out.push_str(&asked::judged(&request, planned, all));
    out.push_str(&sums::text(&spec, planned));
    out.push_str(&foot(planned));
    out.push_str(&takes);
    out.push_str(&super::bases::text(&spec.cube, planned));
    out.push_str(&super::bases::own(&request, planned));
    out.push_str(&super::bases::even(&request, planned));
    out.push_str(&with_delta(planner::with_delta(&asked), planned));
    let found = planner::targets::targets(&asked, planned)?;
    let of = found.as_ref().map_or(0, |t| t.outcomes.len());
    if let Some(copies) = &choice.copies {
        out.push_str(&super::copies::text(copies, Currency::of_tables(planned.plan.noise), of));
    }
    if let Some(t) = &found {
        let whose = if choice.copies.is_some() { "targets of the most precise copy" } else { "targets" };
        out.push_str(&targets(&spec, planned, t, (whose, all)));
    }
    out.push_str(&relative(&spec));
    out.push_str(&warnings(&spec));
    Ok(out)
}

/// By what tables are weighed, where counts are expected.
fn relative(spec: &Spec) -> String {
    let expected = &spec.strategy.expected;
    if expected.is_empty() {
        return String::new();
    }
    let why = "The objective is relative to expected counts: each cell's variance is divided by what is expected of it, as told by the earlier release, and counted with its table's weight. Weighted figures above are of that sum.";
    let rows = spec.workload.iter().zip(expected).take(SHOWN);
    let rows: Vec<Vec<String>> =
        rows.map(|(t, e)| vec![asked::name(t, &spec.cube), figure(e.factor.to_f64().recip())]).collect();
    let more = match expected.len().saturating_sub(SHOWN) {
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
        subtitle: format!(
            "{noise} noise{}; solid: optimal budgets, dashed: uniform{left_out}",
            counts_alone(request)
        ),
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

/// What pictures leave out where more than rows is added up.
fn counts_alone(request: &Request) -> &'static str {
    if request.sums.is_empty() { "" } else { "; counts of rows alone, sums are not drawn" }
}

fn head(spec: &Spec, planned: &Planned, told: &Promised, questions: &[Measured]) -> String {
    let p = &planned.plan;
    let mut left_out = left_out(&spec.privacy.unit, p.noise);
    for i in p.numbers(&Subject::CutUnits) {
        let (Some((_, m)), Some(cost)) = (p.measurement(i), planned.cost.each.get(i)) else { continue };
        let error = libm::sqrt(crate::plan::noise_variance(p.noise, m));
        // Beside sums all parts of the budget are told, and add up.
        let own = preview::sums::shares(planned).into_iter().find(|s| *s.subject == Subject::CutUnits);
        let part = own.map_or(String::new(), |s| format!(" ({} % of the budget)", s.percent));
        let text = format!(
            "also how many units have more rows{part}, std error {}, for {} = {}",
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
    let cells = planned.prediction.cells as u64;
    let answers = match questions.len() as u64 {
        0 => format!("{}, {}", counted(p.rows().workload.len() as u64, "table"), counted(cells, "cell")),
        n => format!("{}; measured as they are asked: {}", counted(n, "question"), counted(cells, "figure")),
    };
    let symbol = Currency::of_tables(p.noise).symbol();
    let approximate = told.text(spec.privacy.budget);
    let budget = format!("{symbol} = {}{approximate}, {noise}", p.budget.shown());
    format!(
        "{}: {}\n\nbudget    {}\nprotects  {unit} {neighbours}\n{left_out}measures  {} ({}, {} budgets)\nanswers   {answers}{asked}\n{exact}{zeros}\n",
        spec.name,
        visible(&spec.title),
        crate::audit::wrap(&budget, 70, 10),
        counted(groups(p), "group"),
        p.measure.name(),
        p.budgets.name(),
    )
}

fn foot(planned: &Planned) -> String {
    let p = &planned.prediction;
    let case = match planned.cost.worst_case {
        WorstCase::Sum => "",
        WorstCase::Cells => ", the exact worst case over cells",
        WorstCase::Joint => ", the exact worst case over pairs of cells",
        WorstCase::Bound if planned.plan.neighbours == Neighbours::AddRemove => ", an upper bound over cells",
        WorstCase::Bound => ", an upper bound over pairs of cells",
    };
    let proof =
        preview::optimum(planned).map_or(String::new(), |text| format!("{}\n", output::wrapped(&text, 2)));
    // Of questions that are measured themselves there are no cells.
    let of_cells = !asked::of(&planned.plan) && !planned.plan.rows().workload.is_empty();
    let worst = if of_cells { "worst cell's" } else { "worst" };
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
    // A plan may be of sums alone.
    let total = if p.cells > 0.0 { output::wrapped(&total, 2) + "\n" } else { String::new() };
    let spent = output::spent(planned.cost.total);
    format!("\n{total}spends {spent} of {}{case}\n{proof}", planned.plan.budget.shown())
}

/// What the same ε would give with a δ: pure ε-DP is a choice, and this is its price.
fn with_delta(other: Option<planner::WithDelta>, planned: &Planned) -> String {
    let Some(other) = other.filter(|_| planned.prediction.cells > 0.0) else { return String::new() };
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
fn targets(spec: &Spec, planned: &Planned, targets: &Targets, (whose, all): (&str, bool)) -> String {
    let p = &planned.plan;
    // What is missed comes first, worst first.
    let mut order: Vec<_> = targets.outcomes.iter().collect();
    order.sort_by(|a, b| (b.predicted / b.wanted).total_cmp(&(a.predicted / a.wanted)));
    let shown = if all { order.len() } else { order.len().min(SHOWN) };
    let rows: Vec<Vec<String>> = order[..shown]
        .iter()
        .map(|o| {
            vec![
                target_of(&spec.cube, planned, o)
                    .map_or_else(|| asked::name(&p.rows().workload[o.table], &spec.cube), |of| of.text),
                format!("{}", o.level),
                format!("± {}", figure(o.wanted)),
                format!("± {}", figure(o.predicted)),
                if o.met { "met".into() } else { format!("missed by {}", figure(o.predicted - o.wanted)) },
            ]
        })
        .collect();
    let missed = order.iter().filter(|o| !o.met).count();
    let mut out = format!("\n{whose}: {} of {} met\n\n", order.len() - missed, order.len());
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
            "Tables without a target: at most {} times the std error that objective \"total\" would give them (allowed: {}).",
            times(others),
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
    if p.rows().workload.is_empty() {
        return "  no counts are told: sums alone\n".into();
    }
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
    let first = candidates[order[0]].outcome.as_ref().ok();
    let best = first.map_or(f64::INFINITY, |p| error(p));
    let missed = |p: &Planned| match request.objective {
        Objective::Targets => p.missed(request),
        _ => None,
    };
    // Where targets are out of reach, what is compared is how far off they are.
    let least = first.and_then(|p| missed(p));
    let beside = |p: &Planned| match (missed(p), least) {
        _ if p.careless(request).is_some() => "(care)".into(),
        (Some(_), None) => "(missed)".into(),
        (Some(own), Some(least)) => format!("{:.2}×", own / least),
        (None, _) => format!("{:.2}×", error(p) / best),
    };
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
                grouped(groups(&p.plan)),
                figure(if weighted { p.weighted_total() } else { p.prediction.total }),
                figure(p.prediction.rms_error()),
                figure(p.prediction.max.sqrt()),
                beside(p),
                reads(planner::answering(&frame(p), &p.plan)),
            ]),
            Err(e) if !reasons.iter().any(|(m, _)| *m == c.measure) => {
                reasons.push((c.measure, e.to_string()))
            }
            Err(_) => {}
        }
    }
    let mut out = columns(&["  strategy", "groups", total, "rms", "worst", "vs best", "reads"], &rows);
    let planned = || candidates.iter().filter_map(|c| c.outcome.as_ref().ok());
    if least.is_some() {
        out.push_str("  (vs best: of the worst ratio of variance to target, as not all are met)\n");
    }
    if least.is_none() && planned().any(|p| missed(p).is_some()) {
        out.push_str("  (missed: not all targets are met)\n");
    }
    if planned().any(|p| p.careless(request).is_some()) {
        out.push_str("  (care: a table without a target would be let down further than is allowed)\n");
    }
    if candidates.iter().any(|c| c.vast) {
        out.push_str("  * so many cells that it is only chosen by name\n");
    }
    if summed {
        out.push_str("  (the total is of counts and sums, these in units of their largest value;\n  rms, worst and reads are of counts; other strategies plan no sums)\n");
    }
    for (_, why) in reasons {
        out.push_str(&format!("  {}\n", crate::audit::wrap(&why, 76, 4)));
    }
    out.push('\n');
    out
}
