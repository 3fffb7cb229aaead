//! `margins infer`: the best estimate from any history of answered queries.

use super::output::{self, MOST, figure};
use super::{Failure, Outcome};
use crate::history::posterior::{Posterior, Simulated};
use crate::history::{History, HistoryError, Inferred, MOST_NUMBERS, Solver, Spending};
use crate::spec::matrix_market;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Infer the best answers from a history of noisy answers.
///
/// The file lists the linear queries that were answered (`rows`, one list of numbers each; or `rows_file`, a Matrix
/// Market file), their noisy `answers` and `budgets` (ε of the Laplace noise of each; `sensitivities` default to the
/// largest entries of the rows), and the `queries` to infer. `level` is 0.95 by default. With `half_width`, the output
/// says for each query whether the history is that precise, and if not, the least further budget; `bound` is the most
/// that may be spent in all. Several histories are combined only if all name the same `dataset` and `period`. The
/// estimate is linear in the answers; `--posterior` adds the posterior given every single answer under a flat prior,
/// simulated, with the simulation's error.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    # history.toml\n  \
    rows = [[1, 1, 0], [0, 1, 1]]\n  \
    answers = [30.8, 30.3]\n  \
    budgets = [0.05, 0.1]\n  \
    queries = [[1, 2, 1]]\n\n  \
    margins infer history.toml --json")]
pub(crate) struct Args {
    /// The history; several histories of the same data, such as the answers of two releases, are combined
    #[arg(required = true, value_name = "HISTORY")]
    files: Vec<PathBuf>,
    /// Add the simulated posterior of each query given all answers
    #[arg(long)]
    posterior: bool,
    /// The approximate number of draws [default: a few seconds' worth]
    #[arg(long, value_name = "N", requires = "posterior", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    draws: Option<u64>,
    /// The seed of the simulation: the same seed gives the same figures
    #[arg(long, value_name = "N", requires = "posterior", default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rows: Option<Vec<Vec<f64>>>,
    rows_file: Option<PathBuf>,
    answers: Vec<f64>,
    budgets: Vec<f64>,
    sensitivities: Option<Vec<f64>>,
    #[serde(default)]
    queries: Vec<Vec<f64>>,
    level: Option<f64>,
    half_width: Option<f64>,
    bound: Option<f64>,
    dataset: Option<String>,
    period: Option<String>,
}

/// Of whom a history is, by its own words.
struct Whose<'a> {
    path: &'a Path,
    dataset: Option<String>,
    period: Option<String>,
}

impl Whose<'_> {
    /// Answers about other people, or about other times, have no cells in common.
    fn same(&self, other: &Whose) -> Outcome {
        let (a, b) = (self.path.display(), other.path.display());
        let refuse = |why: String| Err(Failure::Message(format!("cannot take {a} and {b} together: {why}")));
        match (&self.dataset, &other.dataset) {
            (Some(x), Some(y)) if x != y => {
                refuse(format!("one is of the dataset `{x}`, the other of `{y}`"))
            }
            (Some(_), Some(_)) if self.period != other.period => {
                let said =
                    |p: &Option<String>| p.as_ref().map_or("no period".into(), |p| format!("the period {p}"));
                refuse(format!("one names {}, the other {}", said(&self.period), said(&other.period)))
            }
            (Some(_), Some(_)) => Ok(()),
            (none, _) => {
                let silent = if none.is_none() { &a } else { &b };
                refuse(format!("{silent} does not say of whom it is: `dataset = \"…\"`, the same in both"))
            }
        }
    }
}

/// All history files, taken together.
pub struct All {
    pub history: History,
    pub queries: Vec<Vec<f64>>,
    pub level: f64,
    half_width: Option<f64>,
    bound: Option<f64>,
}

/// So many equal answers are no chance.
const MANY: usize = 4;

/// Reads the files; `None` when there is none.
pub fn read_all(files: &[PathBuf]) -> Result<Option<All>, Failure> {
    let mut history: Option<History> = None;
    let mut queries = Vec::new();
    let (mut level, mut half_width, mut bound) = (None, None, None);
    let mut first: Option<Whose> = None;
    let mut known: Vec<(&PathBuf, PathBuf, Vec<f64>)> = Vec::new();
    for path in files {
        let (mut file, own) = read(path)?;
        let place = path.canonicalize().unwrap_or_else(|_| path.clone());
        let is_known = |(_, other, answers): &&(&PathBuf, PathBuf, Vec<f64>)| {
            *other == place || answers.len() >= MANY && *answers == file.answers
        };
        if let Some((other, ..)) = known.iter().find(is_known) {
            return Err(Failure::Message(format!(
                "{} and {} have the same answers: one history tells what it tells once",
                output::path(other),
                output::path(path)
            )));
        }
        known.push((path, place, file.answers.clone()));
        let whose = Whose { path, dataset: file.dataset.take(), period: file.period.take() };
        match &first {
            None => first = Some(whose),
            Some(first) => first.same(&whose)?,
        }
        history = Some(match history {
            None => own,
            Some(before) => before.and(&own)?,
        });
        queries.extend(file.queries);
        level = level.or(file.level);
        half_width = half_width.or(file.half_width);
        bound = bound.or(file.bound);
    }
    let Some(history) = history else { return Ok(None) };
    let level = level.unwrap_or(0.95);
    if !(level > 0.0 && level < 1.0) {
        return Err(Failure::Message(format!(
            "the level of an interval must lie between 0 and 1, not {level}"
        )));
    }
    Ok(Some(All { history, queries, level, half_width, bound }))
}

type Reply = Map<String, Value>;

/// What is inferred of one query, and whether it is worth asking.
fn reply(all: &All, inferred: &Inferred, query: &[f64]) -> Result<Reply, Failure> {
    let mut reply = Map::new();
    match inferred.query(query) {
        Ok(answer) => {
            let (low, high) = answer.interval(all.level);
            reply.insert("estimate".into(), json!(answer.estimate));
            reply.insert("variance".into(), json!(answer.law.variance()));
            reply.insert("low".into(), json!(low));
            reply.insert("high".into(), json!(high));
            reply.insert("prob_positive".into(), json!(answer.prob_positive()));
        }
        Err(e @ HistoryError::NotEstimable) => {
            for key in ["estimate", "variance", "low", "high", "prob_positive"] {
                reply.insert(key.into(), Value::Null);
            }
            reply.insert("error".into(), e.to_string().into());
        }
        Err(e) => return Err(e.into()),
    }
    if let Some(width) = all.half_width {
        let spending = match all.history.spending(inferred, query, width, all.level, all.bound)? {
            Spending::Nothing { half_width } => {
                json!({ "answer": "from history", "half_width": half_width })
            }
            Spending::Ask { budget, alone, half_width, cost } => json!({
                "answer": "ask", "budget": budget, "alone": alone, "half_width": half_width, "cost": cost
            }),
            Spending::Refused { budget, cost, bound } => {
                json!({ "answer": "refused", "budget": budget, "cost": cost, "bound": bound })
            }
        };
        reply.insert("spending".into(), spending);
    }
    Ok(reply)
}

pub(crate) fn run(args: &Args) -> Outcome {
    let Some(all) = read_all(&args.files)? else { return Ok(()) };
    // A posterior is simulated from the dense factorisation, which says of a history that is too large for it that it is.
    let inferred = if args.posterior { all.history.infer_by(Solver::Dense)? } else { all.history.infer()? };
    let mut replies =
        all.queries.iter().map(|q| reply(&all, &inferred, q)).collect::<Result<Vec<Reply>, Failure>>()?;
    if args.posterior {
        for (query, reply) in all.queries.iter().zip(&mut replies) {
            let posterior = match inferred.posterior(query, all.level, args.draws, args.seed) {
                Ok(posterior) => to_json(&posterior),
                Err(HistoryError::NotEstimable) => Value::Null,
                Err(e) => return Err(e.into()),
            };
            reply.insert("posterior".into(), posterior);
        }
    }
    if args.json {
        let all = json!({
            "queries": replies,
            "level": all.level,
            "x": inferred.cells(),
            "rank": inferred.rank(),
            "cell_cost": all.history.cell_cost(),
            "cost": all.history.cost(),
        });
        return output::json(&(serde_json::to_string(&all)? + "\n"));
    }
    let mut out = table(&replies, all.level);
    if args.posterior {
        out.push_str(&posteriors(&replies, all.level));
    }
    if replies.iter().any(|r| r.contains_key("error") || r.contains_key("spending")) {
        out.push('\n');
    }
    for (i, r) in replies.iter().enumerate() {
        let why = r.get("error").and_then(Value::as_str).map(str::to_owned);
        let what = r.get("spending").and_then(Value::as_object).map(spending);
        for said in why.into_iter().chain(what) {
            out.push_str(&(output::wrapped(&format!("query {}: {said}", i + 1), 9) + "\n"));
        }
    }
    out.push_str(&format!(
        "\nspent so far: ε = {} (the largest of {} cells){}\n",
        figure(all.history.cost()),
        all.history.cell_cost().len(),
        inferred.rank().map_or(String::new(), |r| format!("; rank {r}"))
    ));
    output::print(&out)
}

fn number(reply: &Reply, key: &str) -> Option<f64> {
    reply.get(key).and_then(Value::as_f64)
}

fn shown(reply: &Reply, key: &str) -> String {
    number(reply, key).map_or("none".into(), figure)
}

fn table(replies: &[Reply], level: f64) -> String {
    let row = |(i, r): (usize, &Reply)| {
        vec![
            format!("query {}", i + 1),
            shown(r, "estimate"),
            number(r, "variance").map_or("none".into(), |v| figure(libm::sqrt(v))),
            shown(r, "low"),
            shown(r, "high"),
            number(r, "prob_positive").map_or("none".into(), |p| format!("{p:.4}")),
        ]
    };
    let rows: Vec<Vec<String>> = replies.iter().enumerate().map(row).collect();
    let from = format!("{} % from", (level * 1e6).round() / 1e4);
    output::columns(&["", "estimate", "std error", &from, "to", "Pr(θ > 0)"], &rows)
}

fn to_json(p: &Posterior) -> Value {
    let figure = |f: Simulated| json!({ "value": f.value, "error": f.error });
    json!({
        "mean": figure(p.mean), "sd": figure(p.sd), "low": figure(p.low), "high": figure(p.high),
        "prob_positive": figure(p.prob_positive), "draws": p.draws,
    })
}

/// The posteriors given all answers, each figure with the simulation's standard error below it.
fn posteriors(replies: &[Reply], level: f64) -> String {
    let from = format!("{} % from", (level * 1e6).round() / 1e4);
    let mut rows = Vec::new();
    let mut draws = 0;
    for (i, r) in replies.iter().enumerate() {
        let Some(p) = r.get("posterior").filter(|p| !p.is_null()) else { continue };
        let number = |key: &str, part: &str| p.get(key).and_then(|f| f.get(part)).and_then(Value::as_f64);
        let row = |name: String, part: &str, sign: &str| {
            let shown = |key: &str| match number(key, part) {
                Some(x) if key == "prob_positive" => format!("{sign}{x:.4}"),
                // The error of a figure has as many decimals as the figure.
                Some(x) => format!("{sign}{x:.2}"),
                None => "none".into(),
            };
            [vec![name], ["mean", "sd", "low", "high", "prob_positive"].map(shown).to_vec()].concat()
        };
        rows.push(row(format!("query {}", i + 1), "value", ""));
        rows.push(row(String::new(), "error", "± "));
        // A query of nothing is known without drawing.
        draws = draws.max(p.get("draws").and_then(Value::as_u64).unwrap_or(0));
    }
    let what = format!(
        "posterior given all answers, flat prior, {} draws; ± is the standard error of the simulation",
        output::grouped(draws)
    );
    format!(
        "\n{}\n{}",
        output::wrapped(&what, 0),
        output::columns(&["", "mean", "sd", &from, "to", "Pr(θ > 0)"], &rows)
    )
}

/// What to do about a query, in words.
fn spending(s: &Reply) -> String {
    match s.get("answer").and_then(Value::as_str) {
        Some("from history") => format!("precise enough (± {}): nothing is spent", shown(s, "half_width")),
        Some("ask") => format!(
            "ask it with ε = {} (alone: {}); the total becomes {}",
            shown(s, "budget"),
            shown(s, "alone"),
            shown(s, "cost")
        ),
        _ => format!(
            "refused: it would take ε = {}, and the total {} would pass {}",
            shown(s, "budget"),
            shown(s, "cost"),
            shown(s, "bound")
        ),
    }
}

/// The text of a history or of its rows.
fn text(path: &Path) -> Result<String, Failure> {
    crate::files::text(path, MOST)
        .map_err(|e| Failure::Message(format!("cannot read {}: {e}", output::path(path))))
}

/// One history file.
fn read(path: &Path) -> Result<(File, History), Failure> {
    let about = |e: &dyn std::fmt::Display| Failure::Message(format!("{}: {e}", output::path(path)));
    let text = text(path)?;
    // Errors show lines, which may be anybody's where this is another file.
    if !text
        .lines()
        .any(|line| ["answers", "budgets", "rows"].iter().any(|key| line.trim_start().starts_with(key)))
    {
        return Err(about(&"this is no history: no line begins with `answers`, `budgets` or `rows`"));
    }
    let mut file: File = toml::from_str(&text).map_err(|e| about(&e))?;
    let answers = std::mem::take(&mut file.answers);
    let budgets = std::mem::take(&mut file.budgets);
    let sensitivities = file.sensitivities.take();
    let history = match (file.rows.take(), file.rows_file.take()) {
        (Some(rows), None) => History::new(rows, answers, budgets, sensitivities),
        (None, Some(rows)) => {
            let rows = path.parent().unwrap_or(Path::new("")).join(rows);
            let fits = |rows: usize, columns: usize, entries: usize| {
                let most = rows.max(columns).max(entries);
                (most > MOST_NUMBERS).then(|| HistoryError::TooLarge(rows, columns).to_string())
            };
            let value = |text: &str| {
                let number = text.parse().ok().filter(|v: &f64| v.is_finite());
                number.ok_or_else(|| "its factor is not a number".to_owned())
            };
            let text = self::text(&rows)?;
            let matrix =
                matrix_market::read(&text, &fits, &value, 1.0, Some(|v: f64| -v)).map_err(|wrong| {
                    let first = wrong.first().map_or(String::new(), ToString::to_string);
                    Failure::Message(format!("{}, {first}", output::path(&rows)))
                })?;
            let shape = (matrix.rows, matrix.columns);
            History::from_entries(shape, matrix.entries, answers, budgets, sensitivities)
        }
        _ => return Err(about(&"a history needs either `rows` or `rows_file`")),
    };
    Ok((file, history.map_err(|e| about(&e))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The heading has the draws that were made, also where the last query is one of nothing.
    #[test]
    fn the_heading_counts_the_draws_that_were_made() {
        let reply = |draws: u64| {
            let figure = json!({ "value": 1.0, "error": 0.5 });
            let posterior = json!({
                "mean": figure, "sd": figure, "low": figure, "high": figure, "prob_positive": figure, "draws": draws,
            });
            let mut reply = Map::new();
            reply.insert("posterior".into(), posterior);
            reply
        };
        let text = posteriors(&[reply(1200), reply(0)], 0.95);
        assert!(text.contains(&format!("{} draws", output::grouped(1200))), "{text}");
    }
}
