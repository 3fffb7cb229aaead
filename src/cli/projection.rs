//! What the verbs say of projections.

use super::output::{columns, figure, grouped};
use super::{Failure, Outcome, output};
use crate::answer::keys::Questions;
use crate::answer::keys::explain::Explained;
use crate::answer::render::{Caveat, csv_label};
use crate::compile::projection::{ReleasedProjection, design};
use crate::compile::{self, CompileError};
use crate::plan::{Neighbours, Noise};
use crate::projection::answer::{Estimator, Law};
use crate::projection::design::Request;
use crate::projection::{Design, Shape, Size, cost};
use crate::release::{Release, SignerKind};
use crate::spec::{Spec, Unit};
use crate::visible::visible;
use serde_json::json;
use std::path::Path;

/// The cells for which errors are shown.
const CELLS: [u64; 3] = [1, 10, 100];

/// `margins plan` of a projection.
pub fn plan(spec: &Spec, as_json: bool) -> Outcome {
    let design = design(spec).ok_or(CompileError::NotAProjection)??;
    compile::projection::rehearse(spec, &design, &super::release::today())?;
    let others = alternatives(spec, &design);
    if as_json {
        return output::json(&to_json(spec, &design, &others));
    }
    output::print(&(to_text(spec, &design, &others) + &super::plan::warnings(spec)))
}

/// Another way to spend the budget: its name, its integers, and the error of a query over 1, 10, 100 cells.
struct Other {
    name: &'static str,
    values: Option<u64>,
    errors: [f64; 3],
}

/// How the table of the key is called.
const TABLE: &str = "plain table";

fn alternatives(spec: &Spec, own: &Design) -> Vec<Other> {
    let mut out = Vec::new();
    let Some(Ok(request)) = spec.projection_request() else { return out };
    let size = Size::Rows(own.shape.values());
    for (name, sketch) in [("dense", None), ("sketch", Some(request.sketch.unwrap_or(0)))] {
        if let Ok(d) = (Request { sketch, size, ..request.clone() }).design() {
            out.push(Other {
                name,
                values: Some(d.shape.values()),
                errors: CELLS.map(|m| d.predicted_error(m)),
            });
        }
    }
    // A table of the key: only where it can be listed.
    let listed = own.text.iter().all(|t| !t);
    let cells = own.key.iter().try_fold(1u64, |n, &d| {
        n.checked_mul(spec.cube.dimensions.get(usize::from(d))?.levels.last()?.len() as u64)
    });
    let change = f64::from(own.max_rows);
    let pair = if own.neighbours == Neighbours::Substitute { 2.0 } else { 1.0 };
    let variance = change * change * pair / (2.0 * own.budget.to_f64());
    out.push(Other {
        name: TABLE,
        values: cells.filter(|_| listed),
        errors: CELLS.map(|m| if listed { (m as f64 * variance).sqrt() } else { f64::INFINITY }),
    });
    out
}

fn size_of(shape: Shape) -> String {
    match shape {
        Shape::Dense { rows } => format!("dense, T = {} sums", grouped(rows.into())),
        Shape::Sketch { rows, buckets } => {
            format!("sketch, {} rows of {} buckets", grouped(rows.into()), grouped(buckets.into()))
        }
    }
}

/// The variance that Gaussian noise would have in the estimate of a single cell.
fn gaussian_noise(spec: &Spec) -> Option<f64> {
    let request = spec.projection_request()?.ok()?;
    let design = Request { noise: Noise::Gaussian, published: None, ..request }.design().ok()?;
    Some(design.noise_variance() / design.shape.column() as f64)
}

fn to_text(spec: &Spec, d: &Design, others: &[Other]) -> String {
    let noise = match d.noise {
        Noise::Gaussian => format!("discrete Gaussian, s² = {}", figure(d.scale.to_f64())),
        Noise::Laplace => format!("discrete Laplace, b = {} (as published)", figure(d.scale.to_f64())),
    };
    let spent = cost::cost(d).unwrap_or(d.budget);
    let approximate = compile::approximate(Noise::Gaussian, spent, spec.privacy.budget)
        .map_or(String::new(), |a| format!(" (ε = {} at δ = {})", a.epsilon, a.delta));
    let unit = match &spec.privacy.unit {
        Unit::Row => "one row".into(),
        Unit::Column { column, max_rows } => format!("one {column}, at most {max_rows} rows of it"),
    };
    let neighbours = match d.neighbours {
        Neighbours::AddRemove => "more or less",
        Neighbours::Substitute => "changed",
    };
    let left_out = super::plan::truncation(&spec.privacy.unit, Noise::Gaussian);
    let names: Vec<&str> =
        d.key.iter().filter_map(|&k| Some(spec.cube.dimensions.get(usize::from(k))?.name.as_str())).collect();
    let norm = figure(d.predicted_norm());
    let assumed = match d.norm_bound {
        Some(_) => format!("declares  ‖x‖², the sum of all squared counts, is at most {norm}"),
        None => format!("assumes   ‖x‖² = {norm} for predictions; norm_bound declares another"),
    };
    let mut out = format!(
        "{}: {}\n\nspends    ρ = {:.9} of {}{approximate}\nprotects  {unit} {neighbours}\n{left_out}key       {}\nmeasures  {}\nsigns     {}-wise independent, for {} queries with failure {}\nnoise     {noise}\nfile      about {} bytes\nanswers   up to {} cells a query\n{assumed}\n\n",
        spec.name,
        visible(&spec.title),
        spent.to_f64(),
        output::amount(d.budget),
        names.join(" × "),
        size_of(d.shape),
        d.independence,
        grouped(d.queries),
        d.failure,
        grouped(d.predicted_bytes()),
        grouped(u64::from(d.sparsity)),
    );
    let rows: Vec<Vec<String>> = others
        .iter()
        .map(|o| {
            let own = if o.name == d.shape.name() { "→ " } else { "  " };
            let values = o.values.map_or("cannot be listed".into(), grouped);
            let mut row = vec![format!("{own}{}", o.name), values];
            row.extend(o.errors.iter().map(|&e| if e.is_finite() { figure(e) } else { "–".into() }));
            row
        })
        .collect();
    out.push_str("std error of a query, predicted, at the same budget\n");
    out.push_str(&columns(&["  release", "integers", "1 cell", "10 cells", "100 cells"], &rows));
    let floor = (d.noise_variance() / d.shape.column() as f64).sqrt();
    let mut paragraphs = vec![format!(
        "Of a single cell's error {} is noise, which no larger T takes away; the rest is what other counts leave behind.",
        figure(floor)
    )];
    paragraphs.push(
        "A sketch's median does better than this where a few counts are large: they spoil few of its rows."
            .into(),
    );
    if let Some(variance) = gaussian_noise(spec).filter(|_| d.noise == Noise::Laplace) {
        let own = d.noise_variance() / d.shape.column() as f64;
        paragraphs.push(format!(
            "The published noise has {:.1} times the variance that Gaussian noise of the whole budget has: with noise = \"gaussian\" the {} would be {}.",
            own / variance,
            figure(own.sqrt()),
            figure(variance.sqrt())
        ));
    }
    if let Some(cells) = others.iter().find(|o| o.name == TABLE).and_then(|o| o.values) {
        let fewer = cells <= d.shape.values();
        paragraphs.push(format!(
            "A plain table has the noise alone, and {} integers here{}: write [[table]] of = [{}] instead of [projection]{}.",
            if fewer { "no more" } else { "more" },
            if fewer { "" } else { ", which may be worth it" },
            names.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", "),
            if fewer { "" } else { " to compare" },
        ));
    }
    paragraphs.push(format!(
        "The published worst-case bound asks for the order of n⁴ ln(2k/β) = {:.0e} sums, because it holds for all data at once. It is not used: T follows from the variance, and every interval from the released sums.",
        d.published_rows(),
    ));
    for p in paragraphs {
        out.push_str(&format!("\n{}\n", output::wrapped(&p, 0)));
    }
    out
}

fn to_json(spec: &Spec, d: &Design, others: &[Other]) -> String {
    let (rows, buckets) = match d.shape {
        Shape::Dense { rows } => (rows, None),
        Shape::Sketch { rows, buckets } => (rows, Some(buckets)),
    };
    let value = json!({
        "name": spec.name,
        "kind": d.shape.name(),
        "rows": rows,
        "buckets": buckets,
        "values": d.shape.values(),
        "independence": d.independence,
        "noise": d.noise,
        "scale": d.scale,
        "budget": d.budget,
        "cost": cost::cost(d),
        "currency": "rho",
        "bytes": d.predicted_bytes(),
        "sparsity": d.sparsity,
        "norm": d.predicted_norm(),
        "norm_declared": d.norm_bound.is_some(),
        "std_error": CELLS.map(|m| json!({ "cells": m, "std_error": d.predicted_error(m) })),
        "published_rows": d.published_rows(),
        "alternatives": others.iter().map(|o| json!({
            "name": o.name,
            "values": o.values,
            "std_error": o.errors.map(|e| e.is_finite().then_some(e)),
        })).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}

/// What `margins release` says.
pub fn released(spec: &Spec, r: &ReleasedProjection, signer: SignerKind, as_json: bool) -> String {
    let d = &r.projection.design;
    if as_json {
        let value = json!({
            "name": spec.name,
            "path": output::plain(&r.sealed.path),
            "signature": output::plain(&r.sealed.minisig),
            "bytes": r.sealed.bytes,
            "blake3": r.sealed.blake3,
            "cost": r.cost,
            "budget": d.budget,
            "currency": "rho",
            "kind": d.shape.name(),
            "values": d.shape.values(),
            "ledger": output::plain(&r.ledger),
        });
        return format!("{value:#}\n");
    }
    let approximate = compile::approximate(Noise::Gaussian, r.cost, spec.privacy.budget)
        .map_or(String::new(), |a| format!(", which is ε = {} at δ = {}", a.epsilon, a.delta));
    let file = output::path(&r.sealed.path);
    let mut out = format!(
        "{}: {}\n\nspent     ρ = {:.9} of {}{approximate}\nmeasured  {} ({} noisy integers)\nwrote     {file}  {} bytes\n          {}\nblake3    {}\nledger    {}\n",
        spec.name,
        visible(&spec.title),
        r.cost.to_f64(),
        output::amount(d.budget),
        size_of(d.shape),
        grouped(d.shape.values()),
        grouped(r.sealed.bytes),
        output::path(&r.sealed.minisig),
        r.sealed.blake3,
        output::path(&r.ledger),
    );
    out.push_str(match signer {
        SignerKind::Agency => "signed    with the given key\n",
        SignerKind::ThrowAway => {
            "signed    with a throw-away key: the file is whole, but nothing shows who made it\n"
        }
        SignerKind::NotPrivate => "NOT PRIVATE: the noise came from a fixed seed\n",
    });
    let dimension = d.key.first().and_then(|&k| spec.cube.dimensions.get(usize::from(k)));
    if let Some(dimension) = dimension {
        let n = &dimension.name;
        out.push_str(&format!(
            "\nAsk it:    margins query {file} \"SELECT {n}, COUNT(*) FROM {} WHERE {n} IN ('…', '…') GROUP BY {n}\"\n",
            spec.name
        ));
    }
    out.push_str(&format!("Check it:  margins verify {file}\n"));
    out
}

/// The projection of a file; `None` when it is one of tables.
pub fn open(file: impl AsRef<Path>) -> Result<Option<Questions>, Failure> {
    let file = file.as_ref();
    let about = |e| output::about(file, &e);
    Questions::open(&Release::open(file).map_err(about)?).map_err(about)
}

/// What `--explain` says of the first rows.
pub fn explained(questions: &Questions, rows: &[Explained], level: f64) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let design = &questions.projected().projection().design;
    let by_order = |e: &Explained| e.order.is_some();
    let mut paragraphs = vec![match design.shape {
        Shape::Dense { rows } => format!(
            "Each estimate is the mean of {} sums, with the signs of its cells. The interval takes its error to be normal.",
            grouped(rows.into())
        ),
        Shape::Sketch { rows: t, .. } => match rows.iter().filter(|e| by_order(e)).count() {
            0 => format!("Each estimate is the mean of {} rows.", grouped(t.into())),
            n if n == rows.len() => {
                format!(
                    "Each estimate is the median of those of {} rows that count for it.",
                    grouped(t.into())
                )
            }
            _ => format!(
                "Each estimate is the median of those of {} rows that count for it; where they are too few, the mean of all.",
                grouped(t.into())
            ),
        },
    }];
    if !rows.iter().all(by_order) {
        let sure = 100.0 * (1.0 - crate::projection::Projected::norm_failure(level));
        let declared = if design.norm_bound.is_some() { " (or as declared)" } else { "" };
        paragraphs.push(format!(
            "‖x‖², the sum of all squared counts, is {} as estimated from the released integers, and at most {}{declared} with probability {} %.",
            figure(first.norm),
            figure(first.norm_bound),
            format!("{sure:.4}").trim_end_matches('0').trim_end_matches('.'),
        ));
    }
    for e in rows {
        let name = if e.row.is_empty() { String::new() } else { format!("{}: ", e.row.join(", ")) };
        let mut text = format!("{name}{}, ", output::counted(e.cells, "cell"));
        match e.order {
            Some((rows, cut)) => text.push_str(&format!(
                "interval from the order of the {} without a clash, {cut} outside at each end; it covers for any data.",
                output::counted(rows.into(), "row")
            )),
            None => text.push_str(&format!(
                "standard error {}: {} from noise, {} from other counts.",
                figure(e.std_error),
                figure(e.noise),
                figure(e.others)
            )),
        }
        if e.interval == Law::Variance.name() {
            text.push_str(" The interval is Chebyshev's.");
        }
        if let Some(p) = e.proven {
            text.push_str(&format!(
                " Without the normal law: {} to {}, by {}-wise independence of the signs alone (±{:.2} standard deviations).",
                figure(p.low),
                figure(p.high),
                p.independence,
                p.factor
            ));
        }
        paragraphs.push(text);
    }
    paragraphs.iter().map(|p| format!("\n{}\n", output::wrapped(&visible(p), 0))).collect()
}

/// Counts every key of a CSV file; answers appear as they are ready.
pub fn keys(questions: &Questions, file: &Path, level: f64, estimator: Estimator) -> Outcome {
    if !(level > 0.0 && level < 1.0) {
        return Err(Failure::Message(format!(
            "the level of an interval must lie between 0 and 1, not {level}"
        )));
    }
    let fail = |e: csv::Error| Failure::Message(format!("{}: {e}", output::path(file)));
    let opened =
        crate::files::open(file).map_err(|e| Failure::Message(format!("{}: {e}", output::path(file))))?;
    let mut reader = csv::Reader::from_reader(opened);
    let names = questions.key_names();
    let header = reader.headers().map_err(fail)?.clone();
    let places = names
        .iter()
        .map(|name| {
            header.iter().position(|h| h == *name).ok_or_else(|| {
                Failure::Message(format!(
                    "{} has no column `{name}`: the key is {}",
                    output::path(file),
                    names.join(", ")
                ))
            })
        })
        .collect::<Result<Vec<usize>, Failure>>()?;
    let caveats = questions.caveats();
    let status: Option<&str> = caveats.first().map(Caveat::status);
    let line = |record: Result<csv::StringRecord, csv::Error>, row: usize| -> Result<Vec<String>, Failure> {
        let record = record.map_err(fail)?;
        let key: Vec<&str> = places.iter().map(|&p| record.get(p).unwrap_or_default()).collect();
        let cell = questions
            .cell(&key)
            .map_err(|e| Failure::Message(format!("{}, row {}: {e}", output::path(file), row + 1)))?;
        let a = questions.count(&[cell], level, estimator);
        let numbers = [a.estimate, a.std_error, a.low, a.high].map(|x| x.to_string());
        let numbers = numbers.into_iter().chain(status.map(str::to_string));
        Ok(key.iter().map(|k| csv_label(k).into_owned()).chain(numbers).collect())
    };
    let mut out = csv::Writer::from_writer(Vec::new());
    let unwritten = |_| Failure::Message("cannot write the answers".into());
    let figures = ["estimate", "std_error", "low", "high"];
    let last = status.map(|_| "status");
    let header = names.iter().copied().chain(figures).chain(last);
    out.write_record(header.map(|f| csv_label(f).into_owned())).map_err(unwritten)?;
    // In pieces, so that answers appear as they are ready and memory stays small.
    const PIECE: usize = 1024;
    let send = |out: csv::Writer<Vec<u8>>| -> Outcome {
        let bytes = out.into_inner().map_err(|_| Failure::Message("cannot write the answers".into()))?;
        output::data(&String::from_utf8_lossy(&bytes))
    };
    for (row, record) in reader.records().enumerate() {
        match line(record, row) {
            Ok(fields) => out.write_record(fields).map_err(unwritten)?,
            Err(e) => {
                send(out)?;
                return Err(e);
            }
        }
        if row % PIECE == PIECE - 1 {
            send(std::mem::replace(&mut out, csv::Writer::from_writer(Vec::new())))?;
            if output::gone() {
                return Ok(());
            }
        }
    }
    output::tell(&caveats, level);
    send(out)
}
