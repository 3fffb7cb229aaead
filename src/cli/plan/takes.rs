//! What a release takes, and what asking it takes, as `margins plan` shows it.

use super::asked;
use crate::cli::output::wrapped;
use crate::compile::effort::{Effort, Takes, instead};
use crate::planner::{Choice, Request};
use crate::spec::Spec;
use serde_json::{Value, json};

/// A table that is as good as all of the release, and what it grew by.
fn dominant(spec: &Spec, choice: &Choice, effort: &Effort) -> Option<(String, f64, String)> {
    let (at, part) = effort.dominant?;
    let table = choice.planned.plan.rows().workload.get(at)?;
    let sizes = table.cuboid.iter().map(|l| (l.of(&spec.cube).len(), spec.cube.level_name(l)));
    let (categories, name) = sizes.max()?;
    Some((asked::name(table, &spec.cube), part, format!("{name}, {categories} categories")))
}

/// Lines for people.
pub(super) fn text(spec: &Spec, asked: &Request, effort: Option<Effort>, choice: &Choice) -> String {
    let Some(e) = effort else { return String::new() };
    let takes = |t: &Takes| format!("{} and {}", seconds(t.seconds), bytes(t.memory));
    let mut row = format!("{} for each million rows", seconds(1e6 * e.row.seconds));
    if e.row.memory > 0.0 {
        row = format!(
            "{} and {} for each million rows",
            seconds(1e6 * e.row.seconds),
            bytes(1e6 * e.row.memory)
        );
    }
    let text = format!(
        "takes     a file of about {}; to release, beside planning as now, about {} of memory, and {row}; to answer, about {} (time of one processor)",
        bytes(e.work.file),
        takes(&e.release),
        takes(&e.answer),
    );
    let mut out = format!("{}\n", wrapped(&text, 10));
    if let Some((name, part, why)) = dominant(&spec.planned(&choice.planned.plan), choice, &e) {
        let text = format!(
            "note: {name} has {:.0} % of all cells. It grew by {why}: a coarser level there, or fewer dimensions together, makes all of \
             this smaller.",
            100.0 * part
        );
        out.push_str(&format!("{}\n", wrapped(&text, 6)));
    }
    if let Some(i) = instead(asked, choice, &e) {
        let [quick, slow] = i.seconds.map(seconds);
        let [small, large] = i.file.map(bytes);
        let text = format!(
            "instead   measure = \"{}\" in [strategy] would be {:.1} % less exact (std errors, by what strategies are compared by), and answered in about \
             {quick} instead of {slow}, from a file of about {small} instead of {large}",
            i.measure.name(),
            (100.0 * (i.error - 1.0)).max(0.1),
        );
        out.push_str(&format!("{}\n", wrapped(&text, 10)));
    }
    out
}

/// The same for programs.
pub(super) fn to_json(spec: &Spec, asked: &Request, effort: Option<Effort>, choice: &Choice) -> Value {
    let Some(e) = effort else { return Value::Null };
    let whole = |v: f64| v.round() as u64;
    let takes = |t: &Takes| json!({ "seconds": t.seconds, "memory_bytes": whole(t.memory) });
    let dominant = dominant(&spec.planned(&choice.planned.plan), choice, &e);
    let instead = instead(asked, choice, &e);
    json!({
        "instead": instead.map(|i| json!({
            "measure": i.measure.name(),
            "error_ratio": i.error,
            "answer_seconds": i.seconds[0],
            "file_bytes": whole(i.file[0]),
        })),
        "file_bytes": whole(e.work.file),
        "values": e.work.values,
        "release": takes(&e.release),
        "each_million_rows": { "seconds": 1e6 * e.row.seconds, "memory_bytes": whole(1e6 * e.row.memory) },
        "answer": takes(&e.answer),
        "dominant": dominant.map(|(name, part, _)| json!({ "table": name, "part": part })),
    })
}

/// Two digits are enough: it is an estimate.
fn rounded(x: f64, unit: f64) -> String {
    let x = x / unit;
    let digits = if x < 1.0 { 2 } else { usize::from(x < 9.95) };
    format!("{x:.digits$}")
}

pub(super) fn seconds(s: f64) -> String {
    match s {
        s if s < 0.01 => "0.01 s".into(),
        s if s < 120.0 => format!("{} s", rounded(s, 1.0)),
        s if s < 7200.0 => format!("{} min", rounded(s, 60.0)),
        s => format!("{} h", rounded(s, 3600.0)),
    }
}

fn bytes(b: f64) -> String {
    match b {
        b if b < 1e6 => format!("{} kB", rounded(b, 1e3)),
        b if b < 1e9 => format!("{} MB", rounded(b, 1e6)),
        b => format!("{} GB", rounded(b, 1e9)),
    }
}
