//! `margins release`: count, measure, seal, and say what was spent.

use super::output::{counted, figure, grouped, short};
use super::refusal::failure;
use super::signing::Signing;
use super::{Outcome, output, rows};
use crate::compile::extending::leaves_nothing_out;
use crate::compile::{Job, Released};
use crate::make::{MadeRelease, ReleaseOptions, account};
use crate::planner::Planned;
use crate::preview::asked;
use crate::preview::sums::groups;
use crate::release::{Sealed, SignerKind};
use crate::spec::Spec;
use crate::sql::{quoted, quoted_level};
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
pub(super) struct Args {
    /// The spec
    spec: PathBuf,
    #[command(flatten)]
    rows: rows::Args,
    /// Read counts instead of rows: the answer to the statement of `margins plan --sql`, as .csv or .parquet
    #[arg(long, value_name = "PATH", conflicts_with_all = ["data", "format"])]
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

pub(super) fn run(args: &Args, watch: &Watch) -> Outcome {
    let spec = args.rows.spec(&args.spec, args.counts.as_deref())?;
    let mut options = ReleaseOptions::new()
        .out(&args.out)
        .replace(args.replace)
        .effort(args.effort)
        .memory(args.memory)
        .threads(args.threads.map(usize::from))
        .watch(watch)
        .warn(output::warn)
        .consent(|charging| {
            let asks = !args.yes && !charging.replaced.is_empty() && std::io::stdin().is_terminal();
            !asks || output::confirm("Charge again? [y/N] ")
        });
    for (path, set) in [
        (&args.counts, ReleaseOptions::counts as fn(_, PathBuf) -> _),
        (&args.ledger, ReleaseOptions::ledger),
        (&args.extends, ReleaseOptions::extends),
    ] {
        if let Some(path) = path {
            options = set(options, path.clone());
        }
    }
    let options = match args.counts {
        Some(_) => options,
        None => args.rows.given(&spec, options)?,
    };
    let made = spec.release(args.signing.of(options)).map_err(failure)?;
    let printed = if args.json { output::json(&json(&made)) } else { output::print(&text(&made)) };
    output::done(printed, "the release is made, charged and whole")
}

/// What was done, as JSON.
pub(super) fn json(made: &MadeRelease) -> String {
    let MadeRelease { released: r, spec, .. } = made;
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
        "account": account::json(&r.chain),
    });
    if let (Some(fields), Job::Tables(choice)) = (value.as_object_mut(), &r.job)
        && let Some(copies) = &choice.copies
    {
        let mut about = crate::preview::copies::to_json(copies, r.job.currency());
        if let Some(list) = about["recipients"].as_array_mut() {
            for (recipient, sealed) in list.iter_mut().zip(files(r)) {
                recipient["path"] = output::plain(&sealed.path).into();
                recipient["blake3"] = sealed.blake3.clone().into();
            }
        }
        fields.insert("recipients".into(), about);
    }
    let (name, own) = match &r.job {
        Job::Tables(choice) => ("measurements", groups(&choice.planned.plan).into()),
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

/// What was done, for people.
pub(super) fn text(made: &MadeRelease) -> String {
    let MadeRelease { released: r, spec, known, extends, key_file, signer, public_key } = made;
    let mut out = format!("{}: {}\n\n", spec.name, visible(&spec.title));
    let approximate = r
        .job
        .approximate(spec)
        .map_or(String::new(), |a| format!(", which is ε = {} at δ = {}", a.epsilon, short(&a.delta)));
    out.push_str(&format!(
        "spent     {} = {} of {}{approximate}\n",
        r.job.currency().symbol(),
        output::spent(r.job.cost()),
        r.job.budget().shown()
    ));
    out.push_str(&match &r.job {
        Job::Tables(choice) => measured(&choice.planned, r.values, asked::questions(spec).len()),
        Job::Projection(designed) => format!(
            "measured  {} ({} noisy integers)\n",
            super::projection::size_of(designed.design.shape),
            grouped(r.values)
        ),
    });
    if let Some(file) = extends {
        let told = match &known[..] {
            // Questions that are measured themselves: none is left out, whatever is known of it.
            [] if spec.workload.is_empty() && spec.strategy.rows.is_some() => {
                "every question is measured, whatever it tells of it".into()
            }
            [] => match leaves_nothing_out(spec) {
                None => "every table is measured again, and gains".into(),
                Some(why) => format!("every table is measured, whatever it tells of it: {why}"),
            },
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
    out.push_str(&account::text(&r.chain));
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
        Job::Tables(choice) => example_query(&spec.planned(&choice.planned.plan)),
        Job::Projection(designed) => super::projection::example_query(spec, &designed.design),
    };
    out.push('\n');
    if let Some(query) = query {
        out.push_str(&output::command("Ask it:    ", &["margins query", &file, &output::word(&query)]));
    }
    let pubkey = match (key_file, signer) {
        (Some(path), SignerKind::Agency) => {
            Some(format!("--pubkey {}", output::word(&output::path(&public_beside(path)))))
        }
        _ => None,
    };
    let check: Vec<&str> = ["margins verify", &file].into_iter().chain(pubkey.as_deref()).collect();
    out.push_str(&output::command("Check it:  ", &check));
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

/// What of tables was measured, and how well they are known; or of so many questions.
fn measured(planned: &Planned, values: u64, questions: usize) -> String {
    let (plan, prediction) = (&planned.plan, &planned.prediction);
    let of_rows = plan.rows().measurements.len() as u64;
    let beside = match groups(plan) - of_rows {
        0 => String::new(),
        n => format!("          and those of sums in {}\n", counted(n, "group")),
    };
    if questions > 0 {
        return format!(
            "measured  {} in {} ({}, {} budgets)\nanswers   {}, std error of each figure {}\n",
            counted(values, "noisy integer"),
            counted(of_rows, "group"),
            plan.measure.name(),
            plan.budgets.name(),
            counted(questions as u64, "question"),
            figure(prediction.max.sqrt())
        );
    }
    if plan.rows().workload.is_empty() {
        let how = format!("({}, {} budgets)", plan.measure.name(), plan.budgets.name());
        return format!("measured  sums alone, in {} {how}\n", counted(groups(plan), "group"));
    }
    format!(
        "measured  {} noisy integers in {} ({}, {} budgets)\n{beside}answers   {}, {} cells, root-mean-square error {}\n",
        grouped(values),
        counted(of_rows, "group"),
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

/// A query this release can answer: its smallest one-dimensional table, or the first of the questions that it measured, if that names the release.
fn example_query(spec: &Spec) -> Option<String> {
    let questions = asked::questions(spec);
    if !questions.is_empty() {
        return questions.into_iter().find(|q| q.from == spec.name).map(|q| q.sql);
    }
    // Sums from zero may have no counts beside them.
    let (tables, figure) = match spec.summed().next().filter(|_| spec.workload.is_empty()) {
        Some(amount) => (&amount.tables, format!("SUM({})", quoted(&amount.quantity.name))),
        None => (&spec.workload, "COUNT(*)".to_owned()),
    };
    let one = tables.iter().flat_map(|t| t.cuboid.iter()).min_by_key(|level| level.of(&spec.cube).len());
    let from = quoted(&spec.name);
    Some(match one {
        None => format!("SELECT {figure} FROM {from}"),
        Some(level) => {
            let name = quoted_level(&spec.cube, level);
            format!("SELECT {name}, {figure} FROM {from} GROUP BY {name}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::ingest::{Frame, Held};

    /// Beside a release that is out questions are all measured: of tables, which there are none of, nothing is said.
    #[test]
    fn questions_that_extend_are_no_tables() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("agency.key");
        std::fs::write(&key, crate::release::keys::keygen(None).unwrap().secret).unwrap();
        let mut rows = Frame::new(vec![("sex".into(), Held::Text)]);
        rows.cell(b"F");
        let made = |name: &str, asks: &str, out: Option<&Path>| {
            let text = format!(
                "name = \"{name}\"\ntitle = \"t\"\n[dataset]\nid = \"people\"\n[privacy]\nunit = \"row\"\nrho = 1\n\
                 [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n{asks}\n"
            );
            let options = ReleaseOptions::new().out(folder.path()).ledger(folder.path().join("l.jsonl"));
            let options = options.rows(&rows).key(&key);
            let options = match out {
                Some(out) => options.extends(out),
                None => options,
            };
            Spec::from_toml(&text).unwrap().release(options).unwrap()
        };
        let out = made("first", "[[table]]\nof = [\"sex\"]", None);
        let asked = "[asked]\nqueries = [\"SELECT COUNT(*) FROM second WHERE sex = 'F'\"]";
        let said = text(&made("second", asked, Some(out.path())));
        assert!(said.contains("and every question is measured") && !said.contains("every table"), "{said}");
        assert!(said.contains("measured  1 noisy integer in 1 group"), "{said}");
        assert!(said.contains("answers   1 question, std error of each figure 0.7"), "{said}");
        assert!(said.contains("SELECT COUNT(*) FROM second WHERE sex = 'F'"), "{said}");
        let made = made(
            "third",
            "[[query]]\nsql = \"SELECT sex, COUNT(*) FROM third GROUP BY sex\"",
            Some(out.path()),
        );
        let said = text(&made);
        assert!(
            said.contains("every table is measured, whatever it tells of it: ") && said.contains("[[query]]"),
            "{said}"
        );
    }
}
