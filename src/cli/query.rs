//! `margins query`: SELECTs answered from one release file, or several of one dataset.

use super::output::{self, MOST};
use super::{Failure, Outcome, Recover};
use crate::answer::keys::Questions;
use crate::answer::render::ResultTable;
use crate::answer::{Answers, Options, PriorChoice, Several, Simultaneous, Statement, render};
use crate::law::{Interval, Method};
use crate::projection::answer::Estimator;
use std::path::{Path, PathBuf};

/// Answer SQL queries from a release file.
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
    level: f64,
    /// Also the probability of a statement: '> 100', '>= 100', '< 5', '<= 5', 'BETWEEN 50 AND 80'
    #[arg(long, value_name = "STATEMENT")]
    prob: Option<Statement>,
    /// Also the p-value (two-sided, exact) of the hypothesis that the figure is this number: 0 for a difference
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    test: Option<f64>,
    /// Also the posterior of each count: flat, non-negative, binomial(p), binomial(n,p), uniform(n), known-total
    #[arg(long, value_name = "PRIOR")]
    prior: Option<PriorChoice>,
    /// How probabilities are computed: exactly where that is cheap, always exactly, by convolution, by simulation
    #[arg(long, value_enum, default_value_t = Way::Auto)]
    method: Way,
    /// Which interval: equal tails, or the shortest (they differ only on coarse lattices and for posteriors)
    #[arg(long, value_enum, default_value_t = Kind::Equal)]
    interval: Kind,
    /// Widen the intervals so that all of them cover together with probability P: by the simulated law of the
    /// largest error or by Bonferroni's inequality, whichever is narrower, or the one that is named
    #[arg(
        long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "auto",
        value_name = "WAY"
    )]
    joint: Option<JointWay>,
    /// Also say which measurements each answer rests on, and what would narrow it
    #[arg(long)]
    explain: bool,
    /// Answer a file of queries, one a line (`--` starts a comment)
    #[arg(long, value_name = "FILE", conflicts_with = "explain")]
    batch: Option<PathBuf>,
    /// Count every key of a CSV file (its header names the key's dimensions), as CSV: for projections
    #[arg(long, value_name = "FILE", conflicts_with_all = ["batch", "explain", "json"])]
    keys: Option<PathBuf>,
    /// Refuse SUM and AVG that leave out categories without a number, instead of saying how many units they are
    #[arg(long)]
    complete: bool,
    /// In which sense the estimates of all tables agree; intervals stay those of least squares
    #[arg(long, value_enum, default_value_t = Recover::LeastSquares, value_name = "HOW")]
    recover: Recover,
    /// Of a sketch the mean of its rows, with Chebyshev's interval, instead of the median
    #[arg(long)]
    mean: bool,
    /// Stop a batch at the first query that has no answer
    #[arg(long, requires = "batch")]
    strict: bool,
    /// Print CSV
    #[arg(long, conflicts_with_all = ["json", "jsonl"])]
    csv: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print a batch as JSON, one answer a line
    #[arg(long, requires = "batch", conflicts_with = "json")]
    jsonl: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Way {
    /// The cheapest that is right
    Auto,
    /// By inversion of the characteristic function, however long it takes
    Exact,
    /// Discrete probability calculation: convolution, losing at most 1e-9 of mass
    Pc,
    /// Monte Carlo: 100 000 simulated errors, upper confidence limits
    Mc,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Kind {
    /// As much probability left out below as above
    Equal,
    /// The shortest
    Shortest,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum JointWay {
    /// The narrower
    Auto,
    /// The simulated law of the largest error, in standard errors
    MaxZ,
    /// Bonferroni's inequality
    Bonferroni,
}

impl Args {
    fn options(&self) -> Options {
        Options {
            level: self.level,
            method: match self.method {
                Way::Auto => Method::Auto,
                Way::Exact => Method::Exact,
                Way::Pc => Method::Pc { gamma: 1e-9 },
                Way::Mc => Method::Mc { draws: 100_000, seed: 1 },
            },
            interval: match self.interval {
                Kind::Equal => Interval::EqualTailed,
                Kind::Shortest => Interval::Shortest,
            },
            prob: self.prob,
            test: self.test,
            prior: self.prior,
            joint: self.joint.map(|way| match way {
                // A forced method is used for every interval.
                JointWay::Auto if !matches!(self.method, Way::Auto) => Simultaneous::Bonferroni,
                JointWay::Auto => Simultaneous::Auto,
                JointWay::MaxZ => Simultaneous::MaxZ,
                JointWay::Bonferroni => Simultaneous::Bonferroni,
            }),
            complete: self.complete,
        }
    }
}

pub fn run(args: &Args) -> Outcome {
    let (files, sql) = match (&args.words[..], &args.batch) {
        (files, _) if args.keys.is_some() => (files, None),
        (files, Some(_)) => (files, None),
        ([files @ .., sql], None) if !files.is_empty() => (files, Some(sql)),
        _ => return Err(Failure::Message("a query wants a release file and a SELECT".into())),
    };
    if let [file] = files
        && let Some(questions) = super::projection::open(file)?
    {
        return projection(args, &questions, sql);
    }
    if args.keys.is_some() || args.mean {
        let option = if args.mean { "--mean" } else { "--keys" };
        return Err(Failure::Message(format!("{option} asks one release of a projection, and this is none")));
    }
    for file in files.iter().filter(|_| files.len() > 1) {
        if super::projection::open(file)?.is_some() {
            return Err(Failure::Message(format!("{file} is a projection: ask it alone")));
        }
    }
    let releases = files
        .iter()
        .map(|f| Answers::open(f).and_then(|a| args.recover.of(a)).map_err(|e| output::about(f.as_ref(), &e)))
        .collect::<Result<Vec<_>, _>>()?;
    for r in releases.iter().filter(|r| r.release().manifest().is_not_private()) {
        output::say(&format!("warning: {} is NOT PRIVATE: its noise came from a fixed seed", r.name()));
    }
    let several = Several::new(releases)?;
    let options = args.options();
    match (sql, &args.batch) {
        (Some(sql), _) => one(args, &several, sql, &options),
        (None, Some(batch)) => {
            many(args, &release_field(&several), batch, &|sql| Ok(several.ask(sql, &options)?))
        }
        (None, None) => Ok(()),
    }
}

fn one(args: &Args, several: &Several, sql: &str, options: &Options) -> Outcome {
    let table = several.ask(sql, options)?;
    if args.csv {
        return output::print_csv(&table);
    }
    let explained = if args.explain { several.explain(sql)? } else { Vec::new() };
    if args.json {
        let mut more = release_field(several);
        if args.explain {
            more.insert("explain".into(), serde_json::to_value(&explained)?);
        }
        return output::json(&(render::json(&table, &more)? + "\n"));
    }
    let mut text = render::table(&table);
    for e in &explained {
        text.push('\n');
        text.push_str(&e.to_string());
    }
    output::print(&text)
}

/// A projection: the same SELECT, a batch of them, or a file of keys.
fn projection(args: &Args, questions: &Questions, sql: Option<&String>) -> Outcome {
    let estimator = if args.mean { Estimator::Mean } else { Estimator::Best };
    let other_way = !matches!(args.method, Way::Auto) || !matches!(args.interval, Kind::Equal);
    let recover = args.recover != Recover::LeastSquares;
    let statement = args.prob.is_some() || args.test.is_some() || args.prior.is_some();
    if statement || args.joint.is_some() || other_way || recover {
        return Err(Failure::Message(
            "--prob, --test, --prior, --joint, --method, --interval and --recover are for releases of tables"
                .into(),
        ));
    }
    if questions.is_not_private() {
        output::say(&format!(
            "warning: {} is NOT PRIVATE: its noise came from a fixed seed",
            questions.name()
        ));
    }
    if let Some(keys) = &args.keys {
        return super::projection::keys(questions, keys, args.level, estimator);
    }
    let mut more = serde_json::Map::new();
    more.insert("release".into(), questions.name().into());
    if let Some(batch) = &args.batch {
        return many(args, &more, batch, &|sql| Ok(questions.query(sql, args.level, estimator)?));
    }
    let Some(sql) = sql else { return Ok(()) };
    let table = questions.query(sql, args.level, estimator)?;
    if args.csv {
        return output::print_csv(&table);
    }
    let explained = match args.explain {
        true => questions.explain(sql, args.level, estimator, 3)?,
        false => Vec::new(),
    };
    if args.json {
        if args.explain {
            more.insert("explain".into(), serde_json::to_value(&explained)?);
        }
        return output::json(&(render::json(&table, &more)? + "\n"));
    }
    output::print(&(render::table(&table) + &super::projection::explained(questions, &explained, args.level)))
}

fn release_field(several: &Several) -> serde_json::Map<String, serde_json::Value> {
    let mut more = serde_json::Map::new();
    match several.releases() {
        [only] => more.insert("release".into(), only.name().into()),
        some => more.insert("releases".into(), some.iter().map(Answers::title).collect::<Vec<_>>().into()),
    };
    let periods = several.periods();
    if !periods.is_empty() {
        more.insert("periods".into(), periods.into());
    }
    if let Some(nearest) = several.releases().iter().find_map(Answers::nearest) {
        more.insert("recover".into(), nearest.norm().name().into());
    }
    more
}

/// A line of a batch and its answer.
struct Reply {
    line: usize,
    sql: String,
    answer: Result<ResultTable, String>,
}

/// Answers every query of a file, in parallel; answers appear as they are ready.
fn many(
    args: &Args,
    release: &serde_json::Map<String, serde_json::Value>,
    batch: &Path,
    ask: &(dyn Fn(&str) -> Result<ResultTable, Failure> + Sync),
) -> Outcome {
    use rayon::prelude::*;
    let text = crate::files::text(batch, MOST)
        .map_err(|e| Failure::Message(format!("cannot read {}: {e}", output::path(batch))))?;
    let queries: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .map(|(i, line)| (i + 1, without_comment(line).trim().trim_end_matches(';').trim_end()))
        .filter(|(_, sql)| !sql.is_empty())
        .collect();
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
            .map(|&(line, sql)| Reply {
                line,
                sql: sql.into(),
                answer: ask(sql).map_err(|e| match e {
                    Failure::Message(why) | Failure::Rendered(why) => why,
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
            out.push_str(&reply_text(args, release, reply)?);
        }
        print(&out)?;
        if output::gone() {
            return Ok(());
        }
    }
    if failed > 0 {
        output::say(&format!("{failed} of {} queries have no answer", queries.len()));
    }
    Ok(())
}

fn reply_text(
    args: &Args,
    release: &serde_json::Map<String, serde_json::Value>,
    reply: &Reply,
) -> Result<String, Failure> {
    let header = format!("-- {}: {}\n", reply.line, reply.sql);
    if args.jsonl || args.json {
        let mut more = release.clone();
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
        Ok(table) => header + &render::table(table),
        Err(why) => header + &output::error(why) + "\n",
    })
}

/// The line up to `--`, unless that stands inside quotes.
fn without_comment(line: &str) -> &str {
    let mut quote: Option<char> = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
            None if c == '-' && before == '-' => return &line[..at - 1],
            None => {}
        }
        before = c;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::without_comment;

    #[test]
    fn comments_end_a_line_but_not_a_label() {
        assert_eq!(without_comment("SELECT 1 -- why"), "SELECT 1 ");
        assert_eq!(without_comment("WHERE a = 'x--y' -- z"), "WHERE a = 'x--y' ");
        assert_eq!(without_comment("WHERE \"a--b\" = 'it''s -- so'"), "WHERE \"a--b\" = 'it''s -- so'");
        assert_eq!(without_comment("-- all"), "");
        assert_eq!(without_comment("1 - -2"), "1 - -2");
    }
}
