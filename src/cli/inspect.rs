//! `margins inspect`: what an auditor asks, as the manifest says it.

use super::output::{columns, counted, grouped, short};
use super::{Failure, Outcome, output};
use crate::audit::wrap;
use crate::cube::Integers;
use crate::law::{ErrorLaw, Term};
use crate::plan::Subject;
use crate::recover::noise_of;
use crate::release::{Manifest, Privacy, ProjectionSummary, Release, SignerKind};
use crate::render::truncation;
use crate::visible::visible;
use std::path::PathBuf;

/// Show a release as an auditor reads it: guarantee, cost, measurements.
///
/// Checks first that the manifest is signed and agrees with the file's table of sections; `margins verify` checks everything.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  margins inspect out/town.margins\n  margins inspect out/town.margins --json | jq .privacy"
)]
pub(super) struct Args {
    /// The release
    file: PathBuf,
    /// Print the manifest, exactly as signed
    #[arg(long, conflicts_with = "spec")]
    json: bool,
    /// Print the spec the release was made from, byte for byte
    #[arg(long)]
    spec: bool,
}

pub(super) fn run(args: &Args) -> Outcome {
    let release = Release::open(&args.file).map_err(|e| output::about(&args.file, &e))?;
    if args.json {
        return output::data(&String::from_utf8_lossy(release.manifest_bytes()));
    }
    if args.spec {
        let spec = release.section(crate::release::Kind::Spec, 0)?;
        return output::data(&String::from_utf8_lossy(&spec));
    }
    output::print(&(head(&release)? + &measurements(release.manifest())))
}

/// Names on the left, what they are on the right.
struct Lines(String);

impl Lines {
    /// Nothing where there is nothing to say.
    fn add(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.0.push_str(&format!("{name:<16}{}\n", wrap(text, 80 - 16, 16)));
        }
    }
}

/// Whose release it is, of whom, and what it promises.
fn head(release: &Release) -> Result<String, Failure> {
    let m = release.manifest();
    let mut lines = Lines(format!("{}: {}\n", m.about.name, visible(&m.about.title)));
    let about = &m.about;
    for (name, text) in [
        ("about", &about.description),
        ("licence", &about.licence),
        ("contact", &about.contact),
        ("supersedes", &about.supersedes),
    ] {
        lines.add(name, text.as_deref().unwrap_or_default());
    }
    lines.add("made", &format!("{} by {}", m.created, m.compiler));
    lines.add(
        "signed",
        &match m.signer.kind {
            SignerKind::Agency => format!("by {}", m.signer.public_key),
            SignerKind::ThrowAway => "with a throw-away key: nothing shows who made it".into(),
            SignerKind::NotPrivate => "NOT PRIVATE: the noise came from a fixed seed".into(),
        },
    );
    lines.add("checked", "that its signer says so, and no more: margins verify FILE");
    privacy(release, &mut lines)?;
    if let Some(r) = &m.recipient {
        let all = &r.joint_cost;
        lines.add("recipient", &format!("{}: one of {} copies, {}", r.name, r.copies, r.mode));
        lines.add("", &r.note);
        lines.add("", &format!("all copies: {} = {}", all.currency.symbol(), output::spent(all.amount)));
        lines.add("centre", r.centre.as_deref().unwrap_or_default());
        lines.add("measuring", &r.measuring);
    }
    if let Some(d) = &m.dataset {
        let period = d.period.as_ref().map_or(String::new(), |p| format!(", period {p}"));
        let snapshot = d.snapshot.as_ref().map_or(String::new(), |s| format!(", snapshot {s}"));
        lines.add("dataset", &format!("{}{period}{snapshot}", d.id));
    }
    if let Some(p) = &m.projection {
        projection(p, &mut lines);
    }
    let listed = |items: &[String]| if items.is_empty() { "none".into() } else { items.join("; ") };
    lines.add("exact", &listed(&m.declared.invariants));
    lines.add("constraints", &listed(&m.declared.constraints));
    lines.add("post-processed", &listed(&m.declared.post_processing));
    lines.add("spec", &format!("blake3 {}", m.sources.spec));
    lines.add("domain", &format!("blake3 {}", m.sources.domain));
    for a in &m.sources.attachments {
        lines.add("file", &format!("{} blake3 {}", a.name, a.blake3));
    }
    lines.add("file", &format!("{} bytes in {} sections", grouped(release.file_length()), m.sections.len()));
    Ok(lines.0)
}

/// What was spent on whom, and who is not counted.
fn privacy(release: &Release, lines: &mut Lines) -> Outcome {
    let m = release.manifest();
    let Privacy { cost, budget, .. } = &m.privacy;
    lines.add("privacy", &m.privacy.note);
    lines.add(
        "spent",
        &format!("{} = {} of {}", cost.currency.symbol(), output::spent(cost.amount), budget.amount.shown()),
    );
    if let Some(a) = &m.privacy.approximate {
        lines.add("", &format!("ε = {} at δ = {}", a.epsilon, short(&a.delta)));
        lines.add("", &a.conversion);
    }
    if let Some((unit, max_rows)) = m.privacy.bound() {
        let text = truncation(unit, max_rows).replacen("Counts ", "", 1);
        lines.add("counts", &format!("{text}; no interval covers them"));
    }
    let clamped = crate::spec::clamped(release);
    if !clamped.is_empty() {
        let clamped = clamped.join(", ");
        lines.add(
            "clamped",
            &format!("values of {clamped} beyond the ends count in the categories at these; no interval covers that"),
        );
    }
    let cube = release.cube()?;
    let plan = release.plan(&cube)?;
    for (channel, values, _) in release.beside(&plan.of_rows(), &cube)? {
        let moved = channel.subject.is_of_an_end();
        let name = channel.subject.name();
        // As long as a label may be.
        let name = name.strip_prefix("rows ").unwrap_or(name);
        if let Some(quantity) = channel.subject.quantity().filter(|_| !moved) {
            // Bounds and steps are those of its sums.
            let sums = matches!(channel.subject, Subject::Sum(_));
            lines.add(name, &if sums { quantity.note() } else { format!("of {}", quantity.name) });
            continue;
        }
        let term = |noise| Term { coefficient: 1.0, copies: 1, noise };
        let terms = noise_of(&plan, plan.numbers(&channel.subject).start).into_iter().map(term).collect();
        let half = ErrorLaw::new(terms)?.half_width(0.95);
        let noisy: i128 = values.iter().flat_map(Integers::iter).sum();
        let (low, high) = (noisy as f64 - half, noisy as f64 + half);
        let what = match channel.subject.quantity() {
            Some(quantity) => format!("{}: {noisy}", quantity.name),
            None => format!("{noisy} had more"),
        };
        lines.add(name, &format!("{what} (95 %: {low:.0} to {high:.0})"));
    }
    Ok(())
}

/// How counts were summed.
fn projection(p: &ProjectionSummary, lines: &mut Lines) {
    let buckets = p.buckets.map_or(String::new(), |b| format!(" of {} buckets", grouped(b.into())));
    lines.add(
        "projection",
        &format!(
            "{}, {} rows{buckets}, at most {} cells a query",
            p.kind,
            grouped(p.rows.into()),
            grouped(p.sparsity.into())
        ),
    );
    let signs = format!("{}-wise independent; two cells confused with p < {}", p.independence, p.collision);
    lines.add("signs", &signs);
    lines.add("seed", &p.seed);
}

/// What was measured of the numbers that rows have.
fn sums(m: &Manifest) -> String {
    if m.plan.sums.is_empty() {
        return String::new();
    }
    let rows = m.plan.sums.iter().flat_map(|s| {
        let row = |what: &str, tables: String, count: u64, cost: f64| {
            vec![format!("{what} of {}", visible(&s.of.name)), tables, grouped(count), format!("{cost:.3e}")]
        };
        let own = row(&s.subject, s.workload.join("; "), s.count, s.cost.to_f64());
        let moved =
            s.clamping.as_ref().map(|c| row("rows moved to ends", "total".into(), 2, c.cost.to_f64()));
        std::iter::once(own).chain(moved)
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let head = ["beside rows", "tables", "measurements", m.privacy.cost.currency.symbol()];
    format!("\n{}", columns(&head, &rows))
}

/// What was measured, block by block.
fn measurements(m: &Manifest) -> String {
    let mut out = format!(
        "\n{} ({}, {} budgets, discrete {} noise)\n\n",
        counted(m.plan.count, "measurement"),
        m.plan.measure,
        m.plan.budgets,
        m.plan.mechanism.name()
    );
    const SHOWN: usize = 40;
    let rows: Vec<Vec<String>> = m
        .plan
        .measurements
        .iter()
        .take(SHOWN)
        .map(|x| {
            let scale = format!("{:.6}", x.scale.to_f64());
            vec![
                x.block.clone(),
                x.kind.clone(),
                scale,
                x.sensitivity.to_string(),
                format!("{:.3e}", x.cost.to_f64()),
            ]
        })
        .collect();
    let scale = format!("noise {}", m.plan.mechanism.scale_symbol());
    let sensitivity = m.plan.mechanism.sensitivity_symbol();
    out.push_str(&columns(&["block", "kind", &scale, sensitivity, m.privacy.cost.currency.symbol()], &rows));
    if m.plan.count as usize > SHOWN {
        out.push_str(&format!("  … and {} more: --json\n", grouped(m.plan.count - SHOWN as u64)));
    }
    out + &sums(m)
}
