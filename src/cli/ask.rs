//! `margins ask`: as good an answer as asked for, from what is out, or for the least budget that gives it.

mod parts;
mod sums;

use super::batch::queries;
use super::output::{self, MOST};
use super::refusal::failure;
use super::rows::{self, Rows};
use super::signing::Signing;
use super::{Failure, Outcome, terminal};
use crate::answer::linear::{self, Linear};
use crate::answer::tell::pool::{Combined, Pool};
use crate::answer::{Answers, QueryError, agreeing};
use crate::compile::asked::{Need, Question, Target, spec_of};
use crate::compile::{self, CompileError, Options, Released};
use crate::cube::Filter;
use crate::exact::Rational;
use crate::ledger::cells::Cells;
use crate::ledger::published::{Found, look, one_charge};
use crate::ledger::{Chain, Charge, Ledger};
use crate::make::{MakeError, account, other_truth, place};
use crate::release::{Currency, Kind, Manifest, Release, SealError};
use crate::render::{self, ResultTable};
use crate::secret::ingest::Means;
use crate::spec::{self, Spec, SpecErrors};
use crate::sql::{Query, quote_names};
use crate::watch::Watch;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Answer a question within a half-width, for the least further budget.
///
/// Every release in DIR that was charged to the dataset's ledger is combined. If every interval is narrow enough, nothing is spent.
/// Otherwise the question itself is measured, with as much noise as the combination allows: a new signed release in DIR, charged
/// first. If the ledger's bound refuses, nothing is spent, and the message says what precision is possible (exit 1).
///
/// A question may end with a half-width of its own: SELECT … WITHIN 20. Of several asks in one folder, one measures at a time.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  margins ask survey.toml --within 50 --level 0.8 --key agency.key \\\n    \
    \"SELECT COUNT(*) FROM survey WHERE age < 18\"\n  \
    margins ask survey.toml --within 50 --key agency.key --json \\\n    \
    --batch questions.sql"
)]
pub(super) struct Args {
    /// The spec: the people, the dimensions, the data, the kind of noise
    spec: PathBuf,
    /// The question
    #[arg(required_unless_present = "batch", conflicts_with = "batch")]
    sql: Option<String>,
    /// The largest error of every answer, with probability P, unless a question says its own
    #[arg(long, value_name = "W", allow_negative_numbers = true)]
    within: Option<Rational>,
    /// The probability with which each interval covers the truth
    #[arg(long, default_value_t = 0.95, value_name = "P")]
    level: f64,
    /// Answer a file of questions, one per line (`--` starts a comment)
    #[arg(long, value_name = "FILE")]
    batch: Option<PathBuf>,
    /// Measure every question anew and answer it from that alone, whatever is out: for comparisons
    #[arg(long)]
    no_inference: bool,
    /// Where a question must be measured, measure more than it needs, for later questions
    #[arg(long, value_name = "WHAT", conflicts_with = "no_inference")]
    invest: Option<Invest>,
    #[command(flatten)]
    rows: rows::Args,
    /// The folder that holds the releases
    #[arg(long, value_name = "DIR", default_value = "out")]
    out: PathBuf,
    /// The ledger to charge, if the spec names none [default: ledger/ID.jsonl in the working folder]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Print JSON; for a batch one line per question
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    signing: Signing,
}

/// What is measured in place of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Invest {
    /// The parts that its sums are made of, up to 32: each finest category it names, with noise of its own
    Parts,
}

/// How the spec of a measurement is made: of the spec that is asked about, where that stands, and the measurement's name.
type Making<'m> = dyn Fn(&Spec, &Path, &str) -> Result<Spec, SpecErrors> + 'm;

/// One who asks: the spec, its account, and what is out.
struct Asker<'a> {
    args: &'a Args,
    rows: Option<Rows>,
    spec: Spec,
    ledger: Ledger,
    chain: Chain,
    /// What lies in the folder, by the names of files, as it was found.
    there: BTreeMap<PathBuf, There>,
    /// What has been looked at: its charge, and the recipient whose copy it is; and its manifest.
    seen: BTreeMap<(String, Option<String>), Manifest>,
    releases: Vec<Answers>,
    /// What the next measurement was to be called when the folder was last looked at: whoever finds it taken has not seen everything.
    next: String,
    /// How many releases were made.
    made: u64,
    /// The newest of them.
    newest: PathBuf,
    /// Whether it was said that another run measures.
    waiting: bool,
    watch: Watch,
}

/// A file that was opened: it is what it was while its hash is.
struct There {
    blake3: String,
    manifest: Manifest,
}

/// What became of a question.
struct Reply {
    sql: String,
    within: Rational,
    /// How many parts were measured in its place.
    parts: Option<usize>,
    table: ResultTable,
    released: Option<Released>,
    /// Why it has no answer that is good enough.
    refused: Option<String>,
}

/// A question, and the half-width it asks for: its own, or that of all.
fn question(sql: &str, all: Option<Rational>) -> Result<(String, Rational), Failure> {
    let plain = sql.trim_end().trim_end_matches(';').trim_end();
    let own = || {
        let (rest, number) = plain.rsplit_once(char::is_whitespace)?;
        let (query, word) = rest.trim_end().rsplit_once(char::is_whitespace)?;
        // The end of a label in quotes is none.
        let own = word.eq_ignore_ascii_case("WITHIN") && !number.ends_with(['\'', '"', '`']);
        own.then(|| (query.trim_end(), number))
    };
    match (own(), all) {
        (Some((query, number)), _) => match number.parse::<Rational>() {
            Ok(within) if !within.is_zero() => Ok((query.to_owned(), within)),
            _ => Err(Failure::Message(format!("WITHIN wants a number above 0, not {number}"))),
        },
        (None, Some(all)) => Ok((sql.to_owned(), all)),
        (None, None) => Err(Failure::Message(format!(
            "how precise? Give --within W, or end the question with WITHIN W: {sql}"
        ))),
    }
}

pub(super) fn run(args: &Args, watch: &Watch) -> Outcome {
    if args.within.is_some_and(|w| w.is_zero()) {
        return Err(Failure::Message("--within wants a number above 0".into()));
    }
    if !(args.level > 0.0 && args.level < 1.0) {
        return Err(QueryError::Level(args.level).into());
    }
    let Some(batch) = &args.batch else {
        let (sql, within) = question(args.sql.as_deref().unwrap_or_default(), args.within)?;
        let mut asker = Asker::new(args, watch)?;
        let reply = asker.ask(&sql, within)?;
        output_of(&asker, &reply)?;
        return reply.refused.map_or(Ok(()), |why| Err(Failure::Refused(why)));
    };
    let text = crate::files::text(batch, MOST)
        .map_err(|e| Failure::Message(format!("cannot read {}: {e}", output::path(batch))))?;
    let at = |line: usize, failure: Failure| match failure {
        Failure::Message(why) => Failure::Message(format!(
            "{}, the question that begins in line {line}: {why}",
            output::path(batch)
        )),
        other => other,
    };
    let lines = queries(batch, &text)?;
    let asked = lines.iter().map(|(line, sql)| question(sql, args.within).map_err(|e| at(*line, e)));
    let asked = asked.collect::<Result<Vec<_>, _>>()?;
    let mut asker = Asker::new(args, watch)?;
    // Nothing is measured for one question before all of them can be answered.
    for ((line, _), (sql, _)) in lines.iter().zip(&asked) {
        asker.readable(sql).map_err(|e| at(*line, e))?;
    }
    let mut refused = 0usize;
    for (i, (sql, within)) in asked.iter().enumerate() {
        let reply = asker.ask(sql, *within)?;
        refused += usize::from(reply.refused.is_some());
        if !args.json {
            output::print(&format!("{}-- {sql}\n", if i > 0 { "\n" } else { "" }))?;
        }
        output_of(&asker, &reply)?;
        if let (Some(why), false) = (&reply.refused, args.json) {
            output::print(&format!("{}\n", output::wrapped(why, 0)))?;
        }
    }
    let alike = args.within.filter(|all| asked.iter().all(|(_, own)| own == all));
    match refused {
        0 => Ok(()),
        n => Err(Failure::Refused(format!(
            "{} could not be answered {}",
            output::counted(n as u64, "question"),
            alike.map_or("as precisely as asked".into(), |within| format!("within {within}"))
        ))),
    }
}

/// Prints a reply but for why it is refused.
fn output_of(asker: &Asker, reply: &Reply) -> Outcome {
    let stands = reply.released.as_ref().map_or("nothing was spent".into(), |r| {
        format!("{} is made, charged and whole", output::path(&r.sealed.path))
    });
    if asker.args.json {
        let text = render::json(&reply.table, &about(asker, reply))? + "\n";
        return output::done(output::json(&text), &stands);
    }
    if reply.refused.is_some() {
        return Ok(());
    }
    let spent = match &reply.released {
        None => "spent     nothing: what is out answers it\n".to_owned(),
        Some(r) => format!(
            "spent     {} = {}{}\nwrote     {}\n",
            r.job.currency().symbol(),
            output::spent(r.job.cost()),
            reply.parts.map_or(String::new(), |n| format!(", for its {n} parts, each with noise of its own")),
            output::path(&r.sealed.path)
        ),
    };
    let table = render::table_within(&reply.table, terminal::width());
    output::done(output::print(&format!("{table}\n{spent}{}", account::text(&asker.chain))), &stands)
}

/// What JSON says beside the answer.
fn about(asker: &Asker, reply: &Reply) -> Map<String, Value> {
    let mut more = Map::new();
    let cost = reply.released.as_ref().map_or(Rational::ZERO, |r| r.job.cost());
    more.insert("sql".into(), reply.sql.as_str().into());
    more.insert("within".into(), reply.within.to_f64().into());
    more.insert("spent".into(), json!(cost));
    more.insert("currency".into(), json!(asker.currency()));
    if let Some(r) = &reply.released {
        more.insert("release".into(), output::plain(&r.sealed.path).into());
    }
    if let Some(parts) = reply.parts {
        more.insert("parts".into(), parts.into());
    }
    if let Some(why) = &reply.refused {
        more.insert("refused".into(), why.as_str().into());
    }
    more.insert("account".into(), account::json(&asker.chain));
    more
}

impl<'a> Asker<'a> {
    fn new(args: &'a Args, watch: &Watch) -> Result<Asker<'a>, Failure> {
        let spec = args.rows.spec(&args.spec, None)?;
        spec.confirmed().map_err(super::refusal::spec_failure)?;
        if spec.projection.is_some() {
            return Err(Failure::Message(
                "questions are measured over listed categories, and this is a projection".into(),
            ));
        }
        let rows = args.rows.of(&spec)?;
        let path = account::file(&spec, args.ledger.as_deref()).map_err(failure)?;
        account::not_forgotten(&args.out).iter().for_each(|text| output::warn(text));
        let ledger = Ledger::at(&path, &spec.account_name().id).map_err(|e| output::about(&path, &e))?;
        let ledger = ledger.watched(watch);
        let (chain, there, seen) = (Chain::default(), BTreeMap::new(), BTreeMap::new());
        let (releases, next, newest) = (Vec::new(), String::new(), PathBuf::new());
        let watch = watch.clone();
        let mut asker = Asker {
            args,
            rows,
            spec,
            chain,
            ledger,
            there,
            seen,
            releases,
            next,
            made: 0,
            newest,
            waiting: false,
            watch,
        };
        asker.look()?;
        Ok(asker)
    }

    fn currency(&self) -> Currency {
        match self.spec.privacy.budget {
            spec::Budget::Epsilon(_) => Currency::Epsilon,
            spec::Budget::Rho(_) | spec::Budget::EpsilonDelta(..) => Currency::Rho,
        }
    }

    /// Opens what has been charged in the ledger since the last look.
    fn look(&mut self) -> Outcome {
        self.next = self.free();
        let (mut there, mut fresh) = (BTreeMap::new(), BTreeMap::new());
        for file in account::files(&self.args.out).map_err(failure)? {
            let read = crate::files::open(&file).and_then(hash);
            let Some(blake3) = account::readable(&file, read).map_err(failure)? else { continue };
            if let Some(known) = self.there.remove(&file).filter(|known| known.blake3 == blake3) {
                there.insert(file, known);
            } else if let Some(release) = account::opened(&file).map_err(failure)? {
                let read = release.blake3();
                let Some(blake3) = account::readable(&file, read).map_err(failure)? else { continue };
                there.insert(file.clone(), There { blake3, manifest: release.manifest().clone() });
                fresh.insert(file, release);
            }
        }
        self.there = there;
        // After the files: what is charged while they are opened is none of them.
        self.chain = self.ledger.chain()?;
        let mut found: Vec<(u64, Answers)> = Vec::new();
        for (file, There { blake3, manifest }) in &self.there {
            let Some(own) = manifest.account.as_ref().filter(|a| a.name.id == self.spec.account_name().id)
            else {
                continue;
            };
            if let Found::Not(why) = look(&self.chain, manifest, || Ok(blake3.clone())) {
                return Err(Failure::Message(format!(
                    "{} says it was charged to the account `{}`, but {why}. Nothing is spent before that is cleared up: \
                     margins ledger verify",
                    output::path(file),
                    own.name.id
                )));
            }
            let Some(release) = fresh.remove(file) else { continue };
            let recipient = manifest.recipient.as_ref().map(|r| r.name.clone());
            let line = own.line;
            let before = self.seen.insert((own.head.clone(), recipient), manifest.clone());
            if before.as_ref().is_some_and(|before| one_charge(before, manifest)) {
                return Err(Failure::Message(format!(
                    "{} and another file of {} name one charge, line {line} of the ledger of `{}`, which pays for one of them. Nothing is spent \
                     before that is cleared up: margins ledger verify",
                    output::path(file),
                    output::path(&self.args.out),
                    own.name.id
                )));
            }
            let usable = before.is_none() && !self.args.no_inference && release.count(Kind::Projection) == 0;
            if usable && other_truth(&release, &self.spec).is_none() {
                found.push((line, opened(release)?));
            }
        }
        found.sort_by_key(|(line, _)| *line);
        let all = self.releases.drain(..).chain(found.into_iter().map(|(_, r)| r)).collect();
        // Of copies that were made from one another the most precise says all.
        self.releases = agreeing(all)?;
        Ok(())
    }

    /// The name of the next measurement.
    fn free(&self) -> String {
        let (out, stem) = (&self.args.out, self.spec.name.chars().take(80).collect::<String>());
        let free = |n: &u64| {
            ["margins", "margins.minisig"].iter().all(|e| !out.join(format!("{stem}-asked-{n}.{e}")).exists())
        };
        (1u64..).find(free).map(|n| format!("{stem}-asked-{n}")).unwrap_or_default()
    }

    /// Some releases, taken together for these figures.
    fn together(&self, releases: &[Answers], figures: &[Linear]) -> Result<Combined, Failure> {
        let releases: Vec<&Answers> = releases.iter().collect();
        let filters: Vec<&Filter> = figures.iter().map(|f| &f.filter).collect();
        Ok(Combined::new(&Pool::new(&self.spec.cube, &releases)?, &filters)?)
    }

    /// The most that a measurement may cost: what is left of the bound; without one the spec's own budget.
    fn most(&self, cells: Option<Cells>) -> Result<Rational, Failure> {
        let (_, own) = self.spec.privacy.budget.noise().ok_or(CompileError::NoBudget)?;
        let like = Charge { cells, ..Charge::of(&self.spec, self.currency(), Rational::ONE) };
        Ok(match self.chain.left(&like) {
            None => own,
            Some(left) => compile::share(&self.spec, self.currency(), left).unwrap_or(Rational::ZERO),
        })
    }

    /// Answers a question. What fails once something was measured for it does not undo that, and it is said.
    fn ask(&mut self, sql: &str, within: Rational) -> Result<Reply, Failure> {
        let before = self.made;
        let reply = self.answered(sql, within);
        if reply.is_err() && self.made > before {
            let newest = output::path(&self.newest);
            output::warn(&format!("note: what follows came too late: {newest} is made, charged and whole"));
        }
        reply
    }

    /// Refuses what is no question to this spec.
    fn readable(&self, sql: &str) -> Outcome {
        match self.sums_of(sql)? {
            Some(_) => Ok(()),
            None => self.counts_of(sql).map(drop),
        }
    }

    /// A question about counts: as it is read, and its figures.
    fn counts_of(&self, sql: &str) -> Result<(String, Query, Vec<Linear>), Failure> {
        let cube = &self.spec.cube;
        let names: Vec<&str> =
            cube.dimensions.iter().map(|d| d.name.as_str()).chain([self.spec.name.as_str()]).collect();
        let quoted = quote_names(sql, &names).into_owned();
        let query = Query::parse(&quoted, cube).map_err(QueryError::from)?;
        if !query.from.eq_ignore_ascii_case(&self.spec.name) {
            return Err(QueryError::From(self.spec.name.clone(), query.from).into());
        }
        let figures = linear::figures(&query, cube)?;
        if figures.is_empty() {
            return Err(Failure::Message("the question asks for no figure".into()));
        }
        Ok((quoted, query, figures))
    }

    fn answered(&mut self, sql: &str, within: Rational) -> Result<Reply, Failure> {
        if let Some(asked) = self.sums_of(sql)? {
            return self.ask_sums(sql, within, &asked);
        }
        let (quoted, query, figures) = self.counts_of(sql)?;
        let target = Target { within: within.to_f64(), level: self.args.level };
        let mut reply = Reply {
            sql: sql.into(),
            within,
            parts: None,
            table: ResultTable::new(Vec::new(), Vec::new(), target.level),
            released: None,
            refused: None,
        };
        // What was measured for it alone, where nothing else may answer it.
        let mut alone = Vec::new();
        let together = loop {
            let together = self.together(&self.releases, &figures)?;
            let question = Question::new(&self.spec, &figures, figures.len(), &together, target)?;
            let most = self.most(question.cells(&self.spec))?;
            let need = question.need(most)?;
            let invest = (need != Need::Nothing).then(|| self.parts(&figures, target)).transpose()?.flatten();
            let (sql, need) = match &invest {
                Some((parts, budget, _)) => (parts.as_str(), Need::Budget(*budget)),
                None => (quoted.as_str(), need),
            };
            match need {
                Need::Nothing => break together,
                Need::Budget(budget) => {
                    match self.measure(&|spec, origin, name| spec_of(spec, origin, name, sql, budget))? {
                        // Somebody else measured meanwhile: perhaps just this.
                        None => self.look()?,
                        Some(released) => {
                            let fresh = Release::open(&released.sealed.path)
                                .map_err(|e| output::about(&released.sealed.path, &e))?;
                            reply.released = Some(released);
                            reply.parts = invest.map(|(_, _, parts)| parts);
                            self.look()?;
                            break match self.args.no_inference {
                                true => {
                                    alone.push(opened(fresh)?);
                                    self.together(&alone, &figures)?
                                }
                                false => self.together(&self.releases, &figures)?,
                            };
                        }
                    }
                }
                Need::More(reach) => {
                    reply.refused = Some(self.refusal(within, reach, most));
                    return Ok(reply);
                }
            }
        };
        let best = (0..figures.len())
            .map(|i| together.narrowest(i, target.level))
            .collect::<Result<Option<Vec<_>>, _>>()?;
        let best =
            best.ok_or_else(|| Failure::Message("what was measured does not answer the question".into()))?;
        let by: Vec<&Answers> = if self.args.no_inference { &alone } else { &self.releases }.iter().collect();
        reply.table = linear::table(&query, &self.spec.cube, &figures, &best, target.level, &by)?;
        reply.table.notes.extend(several_keys(&by));
        Ok(reply)
    }

    /// Where parts are to be measured: the question after them, the budget with which they answer these figures, and how many they are. `None` where
    /// that budget is not there, or the parts are the figures.
    fn parts(
        &self,
        figures: &[Linear],
        target: Target,
    ) -> Result<Option<(String, Rational, usize)>, Failure> {
        let sql = self.args.invest.and_then(|_| parts::question(figures, &self.spec.cube, &self.spec.name));
        let Some(sql) = sql else { return Ok(None) };
        let query = Query::parse(&sql, &self.spec.cube).map_err(QueryError::from)?;
        let own = linear::figures(&query, &self.spec.cube)?;
        let count = own.len();
        if parts::are(&own, figures) {
            return Ok(None);
        }
        let all = [figures, &own].concat();
        let together = self.together(&self.releases, &all)?;
        let question = Question::new(&self.spec, &all, figures.len(), &together, target)?;
        Ok(match question.need(self.most(question.cells(&self.spec))?)? {
            Need::Budget(budget) => Some((sql, budget, count)),
            Need::Nothing | Need::More(_) => None,
        })
    }

    /// Measures a question: a new release, charged first. `None`, and nothing is charged, where the name that was free is taken: the name is taken
    /// before the charge, so of several that ask one measures at a time, and the others see what came of it.
    fn measure(&mut self, spec_of: &Making<'_>) -> Result<Option<Released>, Failure> {
        let (entropy, key) = self.args.signing.entropy_and_key(&self.spec, self.made)?;
        let remark = account::remark(&self.chain, &self.spec.account);
        remark.iter().for_each(|text| output::warn(text));
        let out = &self.args.out;
        let _made = (self.watch.folders(out))
            .map_err(|e| Failure::Message(format!("cannot make the folder {}: {e}", output::path(out))))?;
        let name = &self.next;
        let spec = spec_of(&self.spec, &self.args.spec, name).map_err(super::refusal::spec_failure)?;
        let ledger: &Path = self.ledger.path();
        for path in
            [Some(ledger), Some(&self.args.spec), self.args.signing.key.as_deref()].into_iter().flatten()
        {
            place::stays(out, name, path).map_err(failure)?;
        }
        let options = Options {
            out,
            data: self.rows.as_ref().map(Rows::origin),
            counts: None,
            ledger,
            key: &key,
            replace: false,
            day: &super::today(),
            entropy,
        };
        let means = Means { watch: self.watch.clone(), ..Means::default() };
        match compile::release(&spec, options, &means) {
            Ok(released) => {
                (self.made, self.waiting) = (self.made + 1, false);
                self.newest.clone_from(&released.sealed.path);
                Ok(Some(released))
            }
            Err(CompileError::Seal(SealError::Exists(_))) => Ok(None),
            Err(CompileError::Seal(SealError::Busy(_))) => {
                if self.watch.is_stopped() {
                    return Err(failure(MakeError::from(CompileError::Stopped(String::new()))));
                }
                if !self.waiting {
                    output::warn(
                        "note: another run measures in this folder: this one waits to see what comes of it",
                    );
                    self.waiting = true;
                }
                // Whoever holds the name lets go when it ends, however it ends.
                std::thread::sleep(Duration::from_millis(50));
                Ok(None)
            }
            Err(e) => Err(failure(MakeError::from(e))),
        }
    }

    /// Why a question has no answer that is good enough, and what there could be.
    fn refusal(&self, within: Rational, reach: f64, most: Rational) -> String {
        let (symbol, args) = (self.currency().symbol(), self.args);
        let percent = output::figure(100.0 * args.level);
        let what = match (self.chain.bound(), most.is_zero()) {
            (Some(bound), _) if !bound.admits(self.currency()) => format!(
                "the bound is {}, and Gaussian noise has no pure ε: use `epsilon` without `delta` in the spec, or another bound",
                account::bound(&bound)
            ),
            (Some(bound), true) => format!("nothing is left of the bound, {}", account::bound(&bound)),
            (Some(bound), false) => format!(
                "{symbol} = {} is left of the bound, {}",
                account::amount(most),
                account::bound(&bound)
            ),
            (None, _) => format!("the spec allows {symbol} = {} a release", account::amount(most)),
        };
        let best = match reach.is_finite() {
            true => format!("the best that can be had is within {} at {percent} %", output::figure(reach)),
            false => "what is out tells nothing of it".into(),
        };
        format!("within {within} at {percent} % cannot be had: {what}, and with it {best}")
    }
}

/// That readers cannot combine what was combined, where several keys signed it.
fn several_keys(releases: &[&Answers]) -> Option<String> {
    let mut keys = releases.iter().map(|r| r.release().manifest().signer.public_key.as_str());
    let first = keys.next()?;
    keys.any(|key| key != first).then(|| {
        "This combines releases of several keys, which this ledger charged; `margins query` combines those of one key alone.".to_owned()
    })
}

/// A release, and what its sealed spec says of values beyond ends.
fn opened(release: Release) -> Result<Answers, QueryError> {
    let ends = spec::clamped(&release);
    Ok(Answers::from_release(release)?.with_ends(&ends))
}

/// The BLAKE3 hash of a file.
fn hash(file: std::fs::File) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok(hasher.finalize().to_hex().to_string())
}
