//! `margins release`: count, measure, seal, and say what was spent.

use super::output::{counted, figure, grouped, short, sql_name};
use super::signing::Signing;
use super::{Failure, Outcome, output};
use crate::answer::Answers;
use crate::compile::{self, Job, Options, Released};
use crate::ledger::{Chain, Charge, LedgerError};
use crate::plan::Mode;
use crate::planner::Planned;
use crate::release::keys::SigningKey;
use crate::release::parts::folded;
use crate::release::{Sealed, SignerKind, file_name};
use crate::secret::ingest::{Frame, Means, Memory};
use crate::secret::noise::Entropy;
use crate::spec::{self, Spec};
use crate::visible::visible;
use crate::watch::Watch;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Make a signed release: count, add exact noise, seal.
///
/// Reads the data once, measures what `margins plan` shows, and writes OUT/NAME.margins with its signature
/// OUT/NAME.margins.minisig. The dataset's ledger is charged before any noise is drawn; a release that would pass its
/// bound is refused before the data is opened (exit 1).
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  margins keygen --out agency.key\n  margins release survey.toml --key agency.key"
)]
pub struct Args {
    /// The spec
    spec: PathBuf,
    /// Read the rows from here instead of the spec's file: a file, a folder, or a pattern such as "rows/*.parquet"
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Read counts instead of rows: the answer to the statement of `margins plan --sql`, as .csv or .parquet
    #[arg(long, value_name = "PATH", conflicts_with = "data")]
    counts: Option<PathBuf>,
    /// The folder for the release
    #[arg(long, value_name = "DIR", default_value = "out")]
    out: PathBuf,
    /// The ledger to charge, if the spec names none [default: ledger/ID.jsonl in the working folder]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Measure only what this release of the same people does not answer well enough; query both files together afterwards
    #[arg(long, value_name = "FILE")]
    extends: Option<PathBuf>,
    /// Replace a release of the same name; its charge stays, and a second one is added
    #[arg(long)]
    replace: bool,
    /// Do not ask before charging again
    #[arg(long, requires = "replace")]
    yes: bool,
    /// Search effort, in rounds of a few seconds, instead of the spec's `effort`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(crate::spec::MOST_EFFORT)))]
    effort: Option<u32>,
    /// The number of threads, which does not change the release [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_THREADS))]
    threads: Option<u16>,
    /// The most memory to use, such as "500 MB"; with `max_rows`, rows that do not fit wait in an encrypted temporary file
    #[arg(long, value_name = "SIZE", value_parser = super::size)]
    memory: Option<u64>,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    signing: Signing,
}

/// More than any machine has cores for.
const MOST_THREADS: i64 = 1024;

pub fn run(args: &Args, watch: &Watch) -> Outcome {
    if let Some(threads) = args.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads)).build_global();
        pool.map_err(|_| Failure::Message(format!("{threads} threads cannot be started")))?;
    }
    let memory = args.memory.map_or(Memory::default(), Memory::at_most);
    let means = Means { watch: watch.clone(), memory };
    let mut spec = spec::load(&args.spec).map_err(super::plan::spec_failure)?;
    super::plan::searching(&mut spec, args.effort);
    warned(&spec)?;
    let (entropy, key) = args.signing.entropy_and_key(&spec)?;
    let how = How {
        spec: Some(&args.spec),
        data: args.data.as_deref(),
        counts: args.counts.as_deref(),
        frame: None,
        out: &args.out,
        ledger: args.ledger.as_deref(),
        extends: args.extends.as_deref(),
        replace: args.replace,
        ask: !args.yes,
        key_file: args.signing.key.as_deref(),
    };
    let made = make(spec, &how, entropy, &key, &means)?;
    if args.json { output::json(&made.json()) } else { output::print(&made.text(&how)) }
}

/// Refuses a spec with drafted lists that nobody confirmed, and says what its holder should know.
pub fn warned(spec: &Spec) -> Outcome {
    spec.confirmed().map_err(super::plan::spec_failure)?;
    if let Some(part) = spec.account.part.as_ref().filter(|part| folded(part).is_none()) {
        return Err(LedgerError::Part(part.clone()).into());
    }
    let warnings = super::plan::warnings(spec);
    if !warnings.is_empty() {
        output::say(warnings.trim());
    }
    Ok(())
}

/// How a release is made: the files it needs must not become its place.
pub struct How<'a> {
    /// The file of the spec, if it is one.
    pub spec: Option<&'a Path>,
    pub data: Option<&'a Path>,
    /// Counts instead of rows.
    pub counts: Option<&'a Path>,
    /// Rows in memory, instead of any file.
    pub frame: Option<&'a Frame>,
    pub out: &'a Path,
    pub ledger: Option<&'a Path>,
    pub extends: Option<&'a Path>,
    pub replace: bool,
    /// Whether to ask before a second charge, where somebody can answer.
    pub ask: bool,
    pub key_file: Option<&'a Path>,
}

/// A release, and all that is said of it.
pub struct Made {
    pub released: Released,
    spec: Spec,
    /// What an extended release tells well enough.
    known: Vec<String>,
    signer: SignerKind,
    public_key: String,
}

/// Makes a release.
pub fn make(
    spec: Spec,
    how: &How<'_>,
    entropy: Entropy,
    key: &SigningKey,
    means: &Means,
) -> Result<Made, Failure> {
    let (spec, known) = match how.extends {
        None => (spec, Vec::new()),
        Some(file) => extended(how.spec, spec, file, key)?,
    };
    let _made = (means.watch.folders(how.out))
        .map_err(|e| Failure::Message(format!("cannot make the folder {}: {e}", output::path(how.out))))?;
    let ledger = super::account::file(&spec, how.ledger)?;
    if let Some(file) = how.extends {
        super::account::charged(file, &ledger, &spec)?;
    }
    super::account::not_forgotten(how.out);
    let own = spec.data.as_ref().map(|d| d.path.as_path()).filter(|_| how.frame.is_none());
    let needed = [Some(ledger.as_path()), how.spec, how.key_file, how.counts.or(how.data).or(own)];
    for name in names(&spec) {
        for path in needed.into_iter().flatten() {
            stays(how.out, &name, path)?;
        }
    }
    let options = Options {
        out: how.out,
        data: how.data,
        counts: how.counts,
        ledger: &ledger,
        key,
        replace: how.replace,
        day: &super::today(),
        entropy,
    };
    let there = names(&spec).into_iter().map(|name| how.out.join(format!("{name}.margins")));
    let replaced = there.filter(|file| how.replace && file.exists()).collect();
    let account = spec.account_name();
    let asking = Asking { replaced, out: how.out, id: &account.id, ask: how.ask };
    let mut consent = |chain: &Chain, charge: &Charge| asking.consents(chain, charge);
    let released = compile::release_with(&spec, options, how.frame, means, &mut consent);
    let released = released.map_err(super::account::refused)?;
    let (signer, public_key) = (key.kind(), key.public_key().to_string());
    Ok(Made { released, spec, known, signer, public_key })
}

/// Where a release is replaced it says what a second charge comes to, and asks whether that is meant if somebody can answer.
struct Asking<'a> {
    /// The files that are replaced.
    replaced: Vec<PathBuf>,
    /// Where releases are.
    out: &'a Path,
    /// The account's name.
    id: &'a str,
    ask: bool,
}

impl Asking<'_> {
    fn consents(&self, chain: &Chain, charge: &Charge) -> bool {
        for (file, why) in super::account::elsewhere(self.out, chain, self.id) {
            let warning = format!("warning: {} was not charged in this ledger: {why}", output::path(&file));
            output::say(&output::wrapped(&warning, 9));
        }
        super::account::remark(chain, charge.part.as_deref());
        let Some(first) = self.replaced.first() else { return true };
        let there = match self.replaced.len() {
            1 => format!("{} is there and was charged. Replacing it", output::path(first)),
            n => format!(
                "{} and {} more are there and were charged. Replacing them",
                output::path(first),
                n - 1
            ),
        };
        let sum = super::account::spent(&chain.spent_with(charge), chain);
        let note = format!("note: {there} charges again: in all {sum}");
        output::say(&output::wrapped(&note, 6));
        !self.ask || !std::io::stdin().is_terminal() || output::confirm("Charge again? [y/N] ")
    }
}

/// The spec of what is missing beside a release that is out, and the tables that it tells well enough.
fn extended(
    own: Option<&Path>,
    spec: Spec,
    file: &Path,
    key: &SigningKey,
) -> Result<(Spec, Vec<String>), Failure> {
    let out = Answers::open(file).map_err(|e| output::about(file, &e))?;
    let (manifest, name) = (out.release().manifest(), output::path(file));
    let refuse =
        |why: String| Err(Failure::Message(format!("{name} cannot be extended by this spec: {why}")));
    if spec.recipients.is_some() {
        return refuse(
            "it has recipients, and what is missing beside one file is not missing alike to all of them. Extend each recipient's \
             own copy with a spec of its own"
                .into(),
        );
    }
    if out.copy().is_some_and(|c| matches!(c.mode, Mode::Shifted { .. })) {
        return refuse("it is a shifted copy, whose secret centre is in every count".into());
    }
    if manifest.dataset.is_none() || manifest.dataset != spec.dataset {
        return refuse(
            "they do not say that they are of the same people at the same time ([dataset] id and period)"
                .into(),
        );
    }
    if manifest.signer.public_key != key.public_key() {
        return refuse("another key signed it, so the two are never asked together".into());
    }
    let rows = match &spec.privacy.unit {
        spec::Unit::Row => 1,
        spec::Unit::Column { max_rows, .. } => *max_rows,
    };
    let same = (manifest.privacy.unit.as_str(), manifest.privacy.max_rows)
        == (spec.privacy.unit.name(), rows)
        && manifest.privacy.order == spec.privacy.unit.order();
    if !same {
        return refuse("it counts other rows of a unit".into());
    }
    match compile::extending::missing(&spec, own.unwrap_or(Path::new("")), &out)? {
        Some(missing) => Ok((missing.spec, missing.known)),
        None => Err(Failure::Refused(format!(
            "nothing is missing: {name} tells every table of this spec as precisely as its margin asks"
        ))),
    }
}

/// What the release's files are called, up to their endings.
fn names(spec: &Spec) -> Vec<String> {
    match &spec.recipients {
        None => vec![spec.name.clone()],
        Some(r) => r.list.iter().map(|r| file_name(&spec.name, Some(&r.name))).collect(),
    }
}

/// Refuses to put a release where its own ledger, spec, key or data is.
pub(super) fn stays(out: &Path, name: &str, path: &Path) -> Outcome {
    let here = |path: &Path| {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        path.canonicalize().or_else(|_| Ok(folder.canonicalize()?.join(path.file_name().unwrap_or_default())))
    };
    let endings = ["margins", "margins.minisig"];
    for ending in endings {
        let target = out.join(format!("{name}.{ending}"));
        let same: std::io::Result<bool> = here(&target).and_then(|t| Ok(t == here(path)?));
        // What is not there cannot be lost; whether it should be is for others to say.
        if same.unwrap_or(false) {
            let target = output::path(&target);
            return Err(Failure::Message(format!(
                "the release would take the place of {target}, which it needs"
            )));
        }
    }
    Ok(())
}

impl Made {
    /// What was done, as JSON.
    pub fn json(&self) -> String {
        json(&self.spec, &self.released)
    }

    /// What was done, for people.
    pub fn text(&self, how: &How<'_>) -> String {
        text(self, how)
    }
}

fn json(spec: &Spec, r: &Released) -> String {
    let mut value = serde_json::json!({
        "name": spec.name,
        "path": output::plain(&r.sealed.path),
        "signature": output::plain(&r.sealed.minisig),
        "bytes": r.sealed.bytes,
        "blake3": r.sealed.blake3,
        "spec_bytes": spec.source.len(),
        "cost": r.job.cost(),
        "budget": r.job.budget(),
        "currency": r.job.currency(),
        "values": r.values,
        "ledger": output::plain(&r.ledger),
        "account": super::account::json(&r.chain),
    });
    if let (Some(fields), Job::Tables(choice)) = (value.as_object_mut(), &r.job)
        && let Some(copies) = &choice.copies
    {
        let mut about = super::copies::to_json(copies, r.job.currency());
        if let Some(list) = about["recipients"].as_array_mut() {
            for (recipient, sealed) in list.iter_mut().zip(files(r)) {
                recipient["path"] = output::plain(&sealed.path).into();
                recipient["blake3"] = sealed.blake3.clone().into();
            }
        }
        fields.insert("recipients".into(), about);
    }
    let (name, own) = match &r.job {
        Job::Tables(choice) => ("measurements", choice.planned.plan.rows().measurements.len().into()),
        Job::Projection(designed) => ("kind", designed.design.shape.name().into()),
    };
    if let Some(fields) = value.as_object_mut() {
        fields.insert(name.into(), own);
    }
    format!("{value:#}\n")
}

/// All files, the most precise copy's first.
fn files(r: &Released) -> impl Iterator<Item = &Sealed> {
    std::iter::once(&r.sealed).chain(&r.further)
}

fn text(made: &Made, how: &How<'_>) -> String {
    let Made { released: r, spec, known, signer, public_key } = made;
    let mut out = format!("{}: {}\n\n", spec.name, visible(&spec.title));
    let approximate = (spec.privacy.budget.approximate(r.job.currency(), r.job.cost()))
        .map_or(String::new(), |a| format!(", which is ε = {} at δ = {}", a.epsilon, short(&a.delta)));
    out.push_str(&format!(
        "spent     {} = {} of {}{approximate}\n",
        r.job.currency().symbol(),
        output::spent(r.job.cost()),
        r.job.budget().shown()
    ));
    out.push_str(&match &r.job {
        Job::Tables(choice) => measured(&choice.planned, r.values),
        Job::Projection(designed) => format!(
            "measured  {} ({} noisy integers)\n",
            super::projection::size_of(designed.design.shape),
            grouped(r.values)
        ),
    });
    if let Some(file) = how.extends {
        let told = match &known[..] {
            [] => "every table is measured again, and gains".into(),
            some => format!("tells well enough: {}", some.join(", ")),
        };
        out.push_str(
            &format!("extends   {}, which {told}\n", output::path(file)).replace("which every", "and every"),
        );
    }
    for (at, sealed) in files(r).enumerate() {
        let head = if at == 0 { "wrote" } else { "" };
        out.push_str(&format!("{head:<10}{}  {} bytes\n", output::path(&sealed.path), grouped(sealed.bytes)));
        out.push_str(&format!("          {}\n", output::path(&sealed.minisig)));
        out.push_str(&format!("blake3    {}\n", sealed.blake3));
    }
    if let Job::Tables(choice) = &r.job
        && let Some(copies) = &choice.copies
    {
        out.push_str(&format!("copies    {}\n", crate::audit::wrap(super::copies::meaning(copies), 70, 10)));
    }
    out.push_str(&format!("sealed    {}, for all to read\n", texts(spec)));
    out.push_str(&format!("ledger    {}\n", output::path(&r.ledger)));
    out.push_str(&super::account::text(&r.chain));
    if spec.dataset.is_none() {
        out.push_str("          the spec names no dataset, so its own name stands for it: what other\n          specs spend on the same people is not in this sum ([dataset] id = \"…\")\n");
    }
    match signer {
        SignerKind::Agency => out.push_str(&format!("signed    by {public_key}\n")),
        SignerKind::ThrowAway => out
            .push_str("signed    with a throw-away key: the file is whole, but nothing shows who made it\n"),
        SignerKind::NotPrivate => out.push_str("NOT PRIVATE: the noise came from a fixed seed\n"),
    }
    let file = output::word(&output::path(&r.sealed.path));
    let query = match &r.job {
        Job::Tables(choice) => Some(example_query(&spec.planned(&choice.planned.plan))),
        Job::Projection(designed) => super::projection::example_query(spec, &designed.design),
    };
    out.push('\n');
    if let Some(query) = query {
        out.push_str(&format!("Ask it:    margins query {file} {}\n", output::word(&query)));
    }
    let pubkey = match (how.key_file, signer) {
        (Some(path), SignerKind::Agency) => {
            format!(" --pubkey {}", output::word(&output::path(&public_beside(path))))
        }
        _ => String::new(),
    };
    out.push_str(&format!("Check it:  margins verify {file}{pubkey}\n"));
    out
}

/// The texts that are in the file byte for byte, by their sizes.
fn texts(spec: &Spec) -> String {
    let bytes = spec.attachments.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let files = match spec.attachments.len() as u64 {
        0 => String::new(),
        n => format!(" and {} of {} bytes", counted(n, "file"), grouped(bytes)),
    };
    format!("the spec of {} bytes{files}", grouped(spec.source.len() as u64))
}

/// What of tables was measured, and how well they are known.
fn measured(planned: &Planned, values: u64) -> String {
    let (plan, prediction) = (&planned.plan, &planned.prediction);
    format!(
        "measured  {} noisy integers in {} ({}, {} budgets)\nanswers   {}, {} cells, root-mean-square error {}\n",
        grouped(values),
        counted(plan.rows().measurements.len() as u64, "group"),
        plan.measure.name(),
        plan.budgets.name(),
        counted(plan.rows().workload.len() as u64, "table"),
        grouped(prediction.cells as u64),
        figure(prediction.rms_error())
    )
}

fn public_beside(key: &Path) -> PathBuf {
    key.with_extension("pub")
}

/// A query this release can answer: its smallest one-dimensional table.
fn example_query(spec: &Spec) -> String {
    let one =
        spec.workload.iter().flat_map(|t| t.cuboid.iter()).min_by_key(|level| level.of(&spec.cube).len());
    match one {
        None => format!("SELECT COUNT(*) FROM {}", sql_name(&spec.name)),
        Some(level) => {
            let name = spec.cube.level_name(level);
            let name = match name.split_once('.') {
                Some((a, b)) if spec.cube.dimension(&name).is_none() => {
                    format!("{}.{}", sql_name(a), sql_name(b))
                }
                _ => sql_name(&name),
            };
            format!("SELECT {name}, COUNT(*) FROM {} GROUP BY {name}", sql_name(&spec.name))
        }
    }
}
