//! `margins query`: SELECTs answered from one release file, or several of one dataset.

use super::batch::statements;
use super::output::{self, MOST};
use super::source::Source;
use super::{Failure, Outcome, terminal};
use crate::answer::{Options, PriorChoice, Simultaneous, Statement};
use crate::law::{Interval, Method};
use crate::render;
use crate::render::ResultTable;
use crate::watch::Watch;
use std::path::{Path, PathBuf};

/// Answer SQL queries from a release.
///
/// One SELECT: COUNT(*), COUNT(*) FILTER (WHERE …), SUM and AVG of a numeric dimension or of CASE WHEN …, totals
/// such as SUM(COUNT(*)) OVER (), and arithmetic of these (differences, shares); WHERE with =, <>, <, <=, >, >=,
/// BETWEEN, IN, NOT, AND, OR over any dimension or level (age, age.band); GROUP BY, ORDER BY, LIMIT. Every
/// figure comes with its standard error and an interval that covers the truth with the stated probability.
///
/// Several releases of one dataset (the same id, signed with the same key) are combined by precision; those of
/// different periods are compared, with the change and its interval. Others are refused.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    margins query out/town.margins \"SELECT sex, COUNT(*) FROM town WHERE age BETWEEN 20 AND 39 GROUP BY sex\"\n  \
    margins query out/town.margins \"SELECT sex, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS percent \
    FROM town GROUP BY sex\"\n  \
    margins query out/town.margins \"SELECT COUNT(*) FROM town WHERE age >= 90\" --prob '> 100'\n  \
    margins query out/town.margins --batch queries.sql --jsonl\n  \
    margins query out/visits.margins --keys codes.csv > counts.csv")]
pub struct Args {
    /// One or more release files, then the query
    #[arg(required = true, value_names = ["FILE", "SQL"])]
    words: Vec<String>,
    /// The probability with which each interval covers the truth
    #[arg(long, default_value_t = 0.95, value_name = "P")]
    pub(super) level: f64,
    /// Add the probability of a statement: '> 100', '>= 100', '< 5', '<= 5', 'BETWEEN 50 AND 80'
    #[arg(long, value_name = "STATEMENT")]
    pub(super) prob: Option<Statement>,
    /// Add the exact two-sided p-value of the hypothesis that the figure equals this number (0 for a difference)
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    pub(super) test: Option<f64>,
    /// Add the posterior of each count under a prior: flat, non-negative, binomial(p), binomial(n,p), uniform(n), known-total
    #[arg(long, value_name = "PRIOR")]
    pub(super) prior: Option<PriorChoice>,
    /// How probabilities are computed; a program around the command may choose
    #[arg(skip)]
    pub method: Method,
    /// The kind of interval; the two differ only on coarse lattices and for posteriors
    #[arg(long, value_enum, default_value_t = Kind::Equal)]
    interval: Kind,
    /// Widen the intervals so that all of them together cover with probability P
    #[arg(
        long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "auto",
        value_name = "WAY"
    )]
    pub(super) joint: Option<JointWay>,
    /// Explain which measurements each answer rests on, and what would narrow it
    #[arg(long)]
    explain: bool,
    /// Answer a file of queries, one per line; `--` starts a comment, and a line that is indented or begins with a clause continues the one before
    #[arg(long, value_name = "FILE", conflicts_with = "explain")]
    batch: Option<PathBuf>,
    /// For projections: count every key of a CSV file, whose header names the key's dimensions; prints CSV
    #[arg(long, value_name = "FILE", conflicts_with_all = ["batch", "explain", "json"])]
    pub(super) keys: Option<PathBuf>,
    /// Refuse SUM, AVG and comparisons that meet categories without a number, instead of noting how many units they leave out
    #[arg(long)]
    complete: bool,
    /// For sketches: use the mean of the rows, with Chebyshev's interval, instead of the median
    #[arg(long)]
    pub(super) mean: bool,
    /// Keep sums over the whole release in this folder, so that later queries are faster; answers are the same
    #[arg(long, value_name = "DIR")]
    pub(super) cache: Option<PathBuf>,
    /// Stop a batch at the first query without an answer
    #[arg(long, requires = "batch")]
    strict: bool,
    /// Print CSV
    #[arg(long, conflicts_with_all = ["json", "jsonl"])]
    csv: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print a batch as JSON, one answer per line
    #[arg(long, requires = "batch", conflicts_with = "json")]
    jsonl: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Kind {
    /// Equal tails: the same probability below as above
    Equal,
    /// The shortest interval
    Shortest,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum JointWay {
    /// The narrower of the two below
    Auto,
    /// The simulated law of the largest error, in standard errors
    MaxZ,
    /// Bonferroni's inequality
    Bonferroni,
}

impl Args {
    /// Whether the way of probabilities or intervals differs from the default.
    pub(super) fn other_way(&self) -> bool {
        self.method != Method::Auto || !matches!(self.interval, Kind::Equal)
    }

    pub(super) fn options(&self) -> Options {
        Options {
            level: self.level,
            method: self.method,
            interval: match self.interval {
                Kind::Equal => Interval::EqualTailed,
                Kind::Shortest => Interval::Shortest,
            },
            prob: self.prob,
            test: self.test,
            prior: self.prior,
            joint: self.joint.map(|way| match way {
                // A forced method is used for every interval.
                JointWay::Auto if self.method != Method::Auto => Simultaneous::Bonferroni,
                JointWay::Auto => Simultaneous::Auto,
                JointWay::MaxZ => Simultaneous::MaxZ,
                JointWay::Bonferroni => Simultaneous::Bonferroni,
            }),
            complete: self.complete,
        }
    }
}

pub fn run(args: &Args, watch: &Watch) -> Outcome {
    let (files, sql) = match (&args.words[..], &args.batch) {
        (files, _) if args.keys.is_some() => (files, None),
        (files, Some(_)) => (files, None),
        ([files @ .., sql], None) if !files.is_empty() => (files, Some(sql)),
        _ => return Err(Failure::Message("a query wants a release file and a SELECT".into())),
    };
    let source = Source::open(args, files, watch)?;
    let answered = match (sql, &args.batch, &args.keys, &source) {
        (_, _, Some(keys), Source::Projection(asked)) => super::projection::keys(asked, keys),
        (Some(sql), ..) => one(args, &source, sql),
        (None, Some(batch), ..) => many(args, &source, batch),
        (None, None, ..) => Ok(()),
    };
    source.not_kept();
    // The process ends: nobody needs the memory of a large release back piece by piece.
    std::mem::forget(source);
    answered
}

fn one(args: &Args, source: &Source, sql: &str) -> Outcome {
    let table = source.ask(sql)?;
    if args.csv {
        return output::print_csv(&table);
    }
    let explained = if args.explain { Some(source.explain(sql)?) } else { None };
    if args.json {
        let mut more = source.about();
        more.extend(explained.map(|e| ("explain".into(), e.json)));
        return output::json(&(render::json(&table, &more)? + "\n"));
    }
    output::print(
        &(render::table_within(&table, terminal::width()) + &explained.map_or(String::new(), |e| e.text)),
    )
}

/// A line of a batch and its answer.
struct Reply {
    line: usize,
    sql: String,
    answer: Result<ResultTable, String>,
}

/// Answers every query of a file, in parallel; answers appear as they are ready.
fn many(args: &Args, source: &Source, batch: &Path) -> Outcome {
    use rayon::prelude::*;
    let about = source.about();
    let text = crate::files::text(batch, MOST)
        .map_err(|e| Failure::Message(format!("cannot read {}: {e}", output::path(batch))))?;
    let queries = statements(&text);
    let print = match () {
        () if args.json || args.jsonl => output::json,
        () if args.csv => output::data,
        () => output::print,
    };
    let mut failed = 0usize;
    let mut first = true;
    // In pieces, so that answers appear as they are ready and memory stays small.
    for piece in queries.chunks(4096) {
        let replies: Vec<Reply> = piece
            .par_iter()
            .map(|(line, sql)| Reply {
                line: *line,
                sql: sql.clone(),
                answer: source.ask(sql).map_err(|e| match e {
                    Failure::Message(why) | Failure::Rendered(why) | Failure::Refused(why) => why,
                    Failure::Refuted => "refuted".into(),
                }),
            })
            .collect();
        let mut out = String::new();
        for reply in &replies {
            if let Err(why) = &reply.answer {
                failed += 1;
                if args.strict {
                    print(&out)?;
                    return Err(Failure::Message(format!("line {}: {why}", reply.line)));
                }
            }
            if !std::mem::take(&mut first) && !args.jsonl {
                out.push('\n');
            }
            out.push_str(&reply_text(args, &about, reply)?);
        }
        print(&out)?;
        if output::gone() {
            return Ok(());
        }
    }
    if failed > 0 {
        return Err(Failure::Message(format!("{failed} of {} queries have no answer", queries.len())));
    }
    Ok(())
}

fn reply_text(
    args: &Args,
    about: &serde_json::Map<String, serde_json::Value>,
    reply: &Reply,
) -> Result<String, Failure> {
    let header = format!("-- {}: {}\n", reply.line, reply.sql);
    if args.jsonl || args.json {
        let mut more = about.clone();
        more.insert("line".into(), reply.line.into());
        more.insert("sql".into(), reply.sql.as_str().into());
        return Ok(match &reply.answer {
            Ok(table) => render::json(table, &more)?,
            Err(why) => {
                more.insert("error".into(), why.as_str().into());
                serde_json::to_string(&more)?
            }
        } + "\n");
    }
    Ok(match &reply.answer {
        Ok(table) if args.csv => header + &render::csv(table).replace("\r\n", "\n"),
        Ok(table) => header + &render::table_within(table, terminal::width()),
        Err(why) => header + &output::error(why) + "\n",
    })
}
