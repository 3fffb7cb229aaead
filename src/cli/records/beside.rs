//! Records held against their release: questions counted beside its answers, and whether the records are its own.

use super::{Failure, Outcome, held, output};
use crate::answer::{Answers, Options as Asked, Several};
use crate::cli::terminal;
use crate::records::{self, Options, RecordsReport, Tabulated, beside};
use crate::release::Release;
use crate::render;
use crate::watch::Watch;
use std::path::Path;

/// The hash that a report names a release by.
fn hash(answers: &Answers) -> String {
    blake3::hash(answers.release().manifest_bytes()).to_hex().to_string()
}

/// Refuses records of other releases than these.
fn own(report: &RecordsReport, several: &Several) -> Outcome {
    let mut theirs: Vec<&str> = report.releases.iter().map(|r| r.manifest.as_str()).collect();
    let mut ours: Vec<String> = several.releases().iter().map(hash).collect();
    theirs.sort_unstable();
    ours.sort_unstable();
    if theirs == ours {
        return Ok(());
    }
    let named: Vec<String> = report
        .releases
        .iter()
        .map(|r| format!("{} ({})", r.name, r.manifest.chars().take(8).collect::<String>()))
        .collect();
    let given: Vec<String> = several.releases().iter().map(Answers::title).collect();
    Err(Failure::Message(format!(
        "the records are of {}, not of {}",
        named.join(" and "),
        given.join(" and ")
    )))
}

/// Refuses what `margins query` cannot do beside records.
pub(crate) fn refuse(option: Option<&str>) -> Outcome {
    match option {
        Some(option) => Err(Failure::Message(format!("{option} is not for records: ask the release alone"))),
        None => Ok(()),
    }
}

/// How an answer is shown.
pub(crate) enum Print {
    /// As text.
    Text,
    /// As CSV.
    Csv,
    /// As JSON.
    Json,
}

/// Answers one SELECT from the records, beside the release.
pub(crate) fn one(several: &Several, asked: &Asked, path: &Path, sql: &str, shown: &Print) -> Outcome {
    let (columns, report) = held::read(path)?;
    own(&report, several)?;
    let cannot = |why: String| Failure::Message(format!("cannot read {}: {why}", output::path(path)));
    let held = Tabulated::new(several, &columns, report.weight).map_err(|e| cannot(e.to_string()))?;
    let there = columns.first().map_or(0, |c| c.which.len() as u64);
    if there != report.records {
        return Err(cannot(format!("its report is of {} records, and it has {there}", report.records)));
    }
    let table = beside(&held, several, sql, asked)?;
    match shown {
        Print::Csv => output::print_csv(&table),
        Print::Json => output::json(&(render::json(&table, &several.about())? + "\n")),
        Print::Text => output::print(&render::table_within(&table, terminal::width())),
    }
}

/// Makes the records anew and compares: what differs, or nothing.
pub(crate) fn same(
    release: Release,
    file: &Path,
    path: &Path,
    watch: &Watch,
) -> Result<Option<String>, Failure> {
    let (columns, report) = held::read(path)?;
    let several = Several::new(vec![crate::cli::answers(release, file, None)?])?;
    if let Err(Failure::Message(why)) = own(&report, &several) {
        return Ok(Some(why));
    }
    let whole = report.weight == 1.0;
    let options = Options { rows: (!whole).then_some(report.records), seed: report.seed, threads: 0 };
    let made = records::records(&several, &options, watch)?;
    let names = made.columns().iter().map(|c| c.name.clone()).chain(made.weight_name());
    let csv = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"));
    let label = |text: &str| if csv { render::csv_label(text).into_owned() } else { text.to_owned() };
    if columns.iter().map(|c| c.name.clone()).ne(names.map(|n| label(&n))) {
        return Ok(Some("the columns are others".into()));
    }
    if columns.iter().any(|c| c.which.len() != made.len()) {
        let own = columns.first().map_or(0, |c| c.which.len());
        return Ok(Some(format!("there are {own} records, not {}", made.len())));
    }
    let weight = made.report().weight.to_string();
    for (at, column) in columns.iter().enumerate() {
        for record in 0..made.len() {
            let want = made.columns().get(at).map_or(weight.as_str().into(), |c| c.values.text(record));
            if column.texts[column.which[record] as usize] != label(&want) {
                return Ok(Some(format!("record {} differs in {}", record + 1, column.name)));
            }
        }
    }
    // Both as they are read: what JSON says of a number may be a bit off.
    let own: RecordsReport = serde_json::from_str(&serde_json::to_string(made.report())?)?;
    Ok((own != report).then(|| "the report is another".into()))
}
