//! `margins check`: all that keeps a spec and its data from being a release, for the data's holder.

use super::output::{counted, grouped};
use super::{Failure, Outcome, output, rows};
use crate::compile::{CompileError, keep_data_out};
use crate::cube::Quantity;
use crate::make::{MakeError, PlanOptions};
use crate::preview::unconfirmed;
use crate::secret::ingest::{self, Means, Problem, Report};
use crate::spec::Spec;
use crate::visible::visible;
use crate::watch::Watch;
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Read all rows and list everything that would stop a release: for the data's holder alone.
///
/// The release is planned first, as `plan` does it; a refusal, lists that nobody has confirmed, and files of the spec that are the data itself are
/// listed with what is wrong with the rows.
/// Rows that cannot be used are counted by column and reason, with the place of the first. No value is shown, but the counts are
/// PRIVATE: they have no noise. By default they are printed on a terminal only. Exit 1 if something is wrong.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins check survey.toml")]
pub(super) struct Args {
    /// The spec
    spec: PathBuf,
    #[command(flatten)]
    rows: rows::Args,
    /// Print the private counts even if standard output is not a terminal
    #[arg(long)]
    print_private_counts: bool,
    /// Print JSON, as private as the text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, watch: &Watch) -> Outcome {
    if !std::io::stdout().is_terminal() && !args.print_private_counts {
        return Err(Failure::Message(
            "what this shows is private: it counts rows without noise. Standard output is no terminal, so it would end in a file or a log. Nothing \
             was read. --print-private-counts prints it there all the same"
                .into(),
        ));
    }
    let spec = args.rows.spec(&args.spec, None)?;
    let rows = args.rows.of(&spec)?.ok_or(CompileError::NoData)?;
    let refused = refused(&spec, &rows, watch)?;
    let means = Means { watch: watch.clone(), ..Means::default() };
    let report = ingest::check(&spec, rows.origin(), &means)?;
    match args.json {
        true => output::json(&(json(&report, &refused, rows.name()) + "\n"))?,
        false => output::print(&text(&report, &refused, &output::path(rows.name())))?,
    }
    if report.passed() && refused.is_empty() { Ok(()) } else { Err(Failure::Refuted) }
}

/// Why no release of the spec is made, whatever else is wrong with the rows: what stops a release before it reads them, and what of it is the data
/// itself. No value is in it.
fn refused(spec: &Spec, rows: &rows::Rows, watch: &Watch) -> Result<Vec<String>, Failure> {
    let mut refused = Vec::new();
    let planned = spec.names().and_then(|()| spec.part());
    match planned.and_then(|()| spec.plan_with(&PlanOptions::new().watch(watch)).map(drop)) {
        Ok(()) => {}
        Err(stopped @ MakeError::Stopped(_)) => return Err(stopped.into()),
        Err(why) => refused.push(why.to_string()),
    }
    let draft = spec.unconfirmed.as_ref();
    refused.extend(draft.map(|of| format!("{}; `margins release` shows where", unconfirmed(of))));
    match keep_data_out(spec, rows.origin()) {
        Ok(()) => {}
        Err(why @ CompileError::Sealed(_)) => refused.push(why.to_string()),
        Err(why) => return Err(why.into()),
    }
    Ok(refused)
}

/// Everything, for programs of the data's holder.
fn json(report: &Report, refused: &[String], path: &Path) -> String {
    let problem =
        |p: &Problem| json!({ "column": p.column, "what": p.what, "rows": p.rows, "first": p.first });
    let taken = |(column, category, rows): &(String, String, u64)| json!({ "column": column, "category": category, "rows": rows });
    let clamped = |(of, below, above): &(Arc<Quantity>, u64, u64)| json!({ "amount": of.name, "below": below, "above": above });
    let impossible = |(condition, rows): &(String, u64)| json!({ "where": condition, "rows": rows });
    json!({
        "private": "counted from the rows themselves, without noise: for their holder alone",
        "passed": report.passed() && refused.is_empty(),
        "refused": (!refused.is_empty()).then(|| refused.join("\n")),
        "data": path.display().to_string(),
        "files": report.files,
        "rows": report.rows,
        "unusable": report.unusable,
        "columns": report.columns,
        "problems": report.problems.iter().map(problem).collect::<Vec<_>>(),
        "taken": report.taken.iter().map(taken).collect::<Vec<_>>(),
        "clamped": report.clamped.iter().map(clamped).collect::<Vec<_>>(),
        "impossible": report.impossible.iter().map(impossible).collect::<Vec<_>>(),
        "cut_units": report.cut,
        "without_unit": report.without,
    })
    .to_string()
}

fn text(report: &Report, refused: &[String], path: &str) -> String {
    let mut out = String::from(
        "PRIVATE: counted from the rows themselves, without noise. For their holder\nalone: not for a file, a log, a ticket or a mail.\n\n",
    );
    let files = if report.files > 1 { format!(", {} files", report.files) } else { String::new() };
    let unusable = match report.unusable {
        0 if !report.columns.is_empty() => "and not all columns can be read".to_owned(),
        0 => "all can be used".to_owned(),
        rows => format!("{} cannot be used", grouped(rows)),
    };
    match report.rows {
        0 if !report.columns.is_empty() => out.push_str(&format!("{path}{files}: no row was read\n")),
        rows => out.push_str(&format!("{path}{files}: {}, {unusable}\n", counted(rows, "row"))),
    }
    let wrapped = |text: &str| crate::audit::wrap(text, 76, 2);
    if report.rows == 0 && report.columns.is_empty() {
        let why = "there is no row: a release is noise around nothing, and costs as much as any. If rows were expected, the export failed";
        out.push_str(&format!("\n- {}\n", wrapped(why)));
    }
    for why in refused {
        let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
        out.push_str(&format!(
            "\n- {}\n",
            wrapped(&visible(&format!("of this spec no release is made: {why}")))
        ));
    }
    for column in &report.columns {
        out.push_str(&format!("\n- {}\n", wrapped(&visible(column))));
    }
    for (condition, rows) in &report.impossible {
        let rows = counted(*rows, "row");
        let text = format!("{rows} where {condition}, which the spec declares impossible (`[[zero]]`)");
        out.push_str(&format!("\n- {}\n", wrapped(&visible(&text))));
    }
    for problem in &report.problems {
        let column = problem.column.as_ref().map_or(String::new(), |column| format!("column \"{column}\", "));
        let (rows, first) = (counted(problem.rows, "row"), &problem.first);
        let first = if problem.rows == 1 { first.clone() } else { format!("first in {first}") };
        let text = format!("{column}{rows}, {first}: {}", problem.what);
        out.push_str(&format!("\n- {}\n", wrapped(&visible(&text))));
    }
    if !report.taken.is_empty() {
        out.push_str("\nempty and strange cells that the spec gives a category:\n\n");
        let row = |(column, label, rows): &(String, String, u64)| {
            vec![column.clone(), label.clone(), grouped(*rows)]
        };
        let rows: Vec<Vec<String>> = report.taken.iter().map(row).collect();
        out.push_str(&output::columns(&["column", "category", "rows"], &rows));
    }
    if !report.clamped.is_empty() {
        out.push_str("\nvalues beyond the bounds of amounts, which count as the bounds:\n\n");
        let row = |(of, below, above): &(Arc<Quantity>, u64, u64)| {
            let [low, high] = of.ends();
            vec![of.name.clone(), low, grouped(*below), high, grouped(*above)]
        };
        let rows: Vec<Vec<String>> = report.clamped.iter().map(row).collect();
        out.push_str(&output::columns(&["amount", "low", "rows below", "high", "rows above"], &rows));
    }
    if report.without > 0 {
        let rows = counted(report.without, "row");
        out.push_str(&format!("\nwithout a unit, as `without` has it: {rows}\n"));
    }
    if let Some(cut) = report.cut {
        out.push_str(&format!("\nunits with more rows than count (`max_rows`): {}\n", grouped(cut)));
    }
    out
}
