//! What the verbs say of projections.

use super::chart::{Chart, Series};
use super::output::{columns, figure, grouped};
use super::{Failure, Outcome, output};
use crate::answer::Options;
use crate::answer::keys::Questions;
use crate::compile::Designed;
use crate::files;
use crate::plan::{Neighbours, Noise};
use crate::projection::Grounds;
use crate::projection::answer::{Estimator, Law};
use crate::projection::design::{Request, SKETCH_ROWS};
use crate::projection::{Design, Shape, Size};
use crate::quotes::{Quotes, ReadSoFar};
use crate::release::{Currency, Release};
use crate::render::{Caveat, csv_field};
use crate::spec::Spec;
use crate::sql::quoted;
use crate::visible::visible;
use crate::watch::Watch;
use serde_json::json;
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

/// A projection, with how it is asked.
pub(super) struct Projection {
    pub questions: Questions,
    pub options: Options,
    pub estimator: Estimator,
}

/// The cells for which errors are shown.
const CELLS: [u64; 3] = [1, 10, 100];

/// Predicted error of one, ten and a hundred cells against the number of integers, at the spec's budget; dashed what noise alone would leave.
pub(super) fn picture(spec: &Spec, own: &Design) -> Chart {
    let (noise, norm) = (own.noise_variance() / own.shape.column() as f64, own.predicted_norm());
    let sizes = (8..=22).map(|bits| f64::from(1u32 << bits));
    let series = CELLS.iter().enumerate().flat_map(|(colour, &cells)| {
        let line = |norm: f64| {
            let error = |size: f64| (size, libm::sqrt(cells as f64 * (norm / size + noise)));
            sizes.clone().map(error).collect()
        };
        let name = output::counted(cells, "cell");
        let of_noise = Series { name: format!("{name}, noise"), points: line(0.0), dashed: true, colour };
        [Series { name, points: line(norm), dashed: false, colour }, of_noise]
    });
    Chart {
        title: spec.title.clone(),
        subtitle: format!("{}; ‖x‖² = {}", size_of(own.shape), figure(norm)),
        x_label: "integers released".into(),
        even: false,
        y_label: "standard error of a query".into(),
        series: series.collect(),
        mark: Some((own.shape.values() as f64, "this spec".into())),
    }
}

/// Another way to spend the budget: its name, its integers, and the error of a query over 1, 10, 100 cells.
struct Other {
    name: &'static str,
    values: Option<u64>,
    /// `None` where there is no such release.
    errors: [Option<f64>; 3],
}

/// How the table of the key is called.
const TABLE: &str = "plain table";

fn alternatives(spec: &Spec, own: &Design) -> Vec<Other> {
    let mut out = Vec::new();
    let Some(Ok(request)) = spec.projection_request() else { return out };
    let size = Size::Rows(own.shape.values());
    for (name, sketch) in [("dense", None), ("sketch", Some(request.sketch.unwrap_or(SKETCH_ROWS)))] {
        if let Ok(d) = (Request { sketch, size, ..request.clone() }).design() {
            out.push(Other {
                name,
                values: Some(d.shape.values()),
                errors: CELLS.map(|m| Some(d.predicted_error(m))),
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
        errors: CELLS.map(|m| listed.then(|| (m as f64 * variance).sqrt())),
    });
    out
}

/// Dense or sketch, and how large.
pub(crate) fn size_of(shape: Shape) -> String {
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

/// `margins plan` for people.
pub(super) fn to_text(spec: &Spec, designed: &Designed) -> String {
    let d = &designed.design;
    let others = alternatives(spec, d);
    let mut out = head(spec, designed);
    let rows: Vec<Vec<String>> = others
        .iter()
        .map(|o| {
            let own = if o.name == d.shape.name() { "→ " } else { "  " };
            let values = o.values.map_or("cannot be listed".into(), grouped);
            let mut row = vec![format!("{own}{}", o.name), values];
            row.extend(o.errors.map(|e| e.map_or("–".into(), figure)));
            row
        })
        .collect();
    out.push_str("std error of a query, predicted, at the same budget\n");
    out.push_str(&columns(&["  release", "integers", "1 cell", "10 cells", "100 cells"], &rows));
    for p in remarks(spec, d, &others) {
        out.push_str(&format!("\n{}\n", output::wrapped(&p, 0)));
    }
    out
}

/// What is spent, on whom and on what.
fn head(spec: &Spec, designed: &Designed) -> String {
    let d = &designed.design;
    let (name, symbol) = (d.noise.name(), d.noise.scale_symbol());
    let published = if d.noise == Noise::Laplace { " (as published)" } else { "" };
    let noise = format!("discrete {name}, {symbol} = {}{published}", figure(d.scale.to_f64()));
    let currency = Currency::OF_PROJECTIONS;
    let approximate = (spec.privacy.budget.approximate(currency, designed.cost))
        .map_or(String::new(), |a| format!(" (ε = {} at δ = {})", a.epsilon, a.delta));
    let (unit, neighbours) = super::unit::protects(&spec.privacy.unit, d.neighbours);
    let left_out = super::unit::left_out(&spec.privacy.unit, Noise::Gaussian);
    let norm = figure(d.predicted_norm());
    let assumed = match d.norm_bound {
        Some(_) => format!("declares  ‖x‖², the sum of all squared counts, is at most {norm}"),
        None => format!("assumes   ‖x‖² = {norm} for predictions; norm_bound declares another"),
    };
    format!(
        "{}: {}\n\nspends    {} = {} of {}{approximate}\nprotects  {unit} {neighbours}\n{left_out}key       {}\nmeasures  {}\nsigns     {}-wise independent, for {} queries with failure {}\nnoise     {noise}\nfile      about {} bytes\nanswers   up to {} cells a query\n{assumed}\n\n",
        spec.name,
        visible(&spec.title),
        currency.symbol(),
        output::spent(designed.cost),
        d.budget.shown(),
        key_names(spec, d).join(" × "),
        size_of(d.shape),
        d.independence,
        grouped(d.queries),
        d.failure,
        grouped(d.predicted_bytes()),
        grouped(u64::from(d.sparsity)),
    )
}

fn key_names<'a>(spec: &'a Spec, d: &Design) -> Vec<&'a str> {
    d.key.iter().filter_map(|&k| Some(spec.cube.dimensions.get(usize::from(k))?.name.as_str())).collect()
}

/// What another size, noise or kind would do.
fn remarks(spec: &Spec, d: &Design, others: &[Other]) -> Vec<String> {
    let own = d.noise_variance() / d.shape.column() as f64;
    let mut out = vec![
        format!(
            "Of a single cell's error {} is noise, which no larger T takes away; the rest is what other counts leave behind.",
            figure(own.sqrt())
        ),
        "A sketch's median does better than this where a few counts are large: they spoil few of its rows."
            .into(),
    ];
    if let Some(variance) = gaussian_noise(spec).filter(|_| d.noise == Noise::Laplace) {
        out.push(format!(
            "The published noise has {:.1} times the variance that Gaussian noise of the whole budget has: with noise = \"gaussian\" the {} would be {}.",
            own / variance,
            figure(own.sqrt()),
            figure(variance.sqrt())
        ));
    }
    if let Some(cells) = others.iter().find(|o| o.name == TABLE).and_then(|o| o.values) {
        let (number, worth, compare) = match cells <= d.shape.values() {
            true => ("no more", "", ""),
            false => ("more", ", which may be worth it", " to compare"),
        };
        let names: Vec<String> = key_names(spec, d).iter().map(|n| format!("\"{n}\"")).collect();
        out.push(format!(
            "A plain table has the noise alone, and {number} integers here{worth}: write [[table]] of = [{}] instead of [projection]{compare}.",
            names.join(", "),
        ));
    }
    out.push(format!(
        "All {} queries at once{}: with probability {} every answer over one cell is within {} of the truth, and every answer over {} within {} (proven, by {}-wise independence alone{}).",
        grouped(d.queries),
        if matches!(d.shape, Shape::Sketch { .. }) { ", by the mean of all rows (--mean)" } else { "" },
        1.0 - d.failure.to_f64(),
        figure(d.guarantee(1)),
        output::counted(u64::from(d.sparsity), "cell"),
        figure(d.guarantee(u64::from(d.sparsity))),
        d.independence,
        match d.norm_bound {
            Some(_) => String::new(),
            None => format!(", if ‖x‖² is at most {}", figure(d.predicted_norm())),
        },
    ));
    out.push(format!(
        "The published worst-case bound asks for (8192/√m)(n² + m)² ln(4k/β) = {:.1e} sums, because it holds for all data at once. It is not used: T follows from the variance, and every interval from the released sums.",
        d.published_rows(),
    ));
    out
}

/// `margins plan` as JSON.
pub(super) fn to_json(spec: &Spec, designed: &Designed) -> String {
    let d = &designed.design;
    let others = alternatives(spec, d);
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
        "cost": designed.cost,
        "currency": Currency::OF_PROJECTIONS,
        "bytes": d.predicted_bytes(),
        "sparsity": d.sparsity,
        "norm": d.predicted_norm(),
        "norm_declared": d.norm_bound.is_some(),
        "std_error": CELLS.map(|m| json!({ "cells": m, "std_error": d.predicted_error(m) })),
        "published_rows": d.published_rows(),
        "guarantee": {
            "queries": d.queries,
            "failure": d.failure,
            "alpha": CELLS.map(|m| json!({ "cells": m, "alpha": d.guarantee(m) })),
        },
        "alternatives": others.iter().map(|o| json!({
            "name": o.name,
            "values": o.values,
            "std_error": o.errors,
        })).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}

/// A query this release can answer.
pub(crate) fn example_query(spec: &Spec, design: &Design) -> Option<String> {
    let dimension = design.key.first().and_then(|&k| spec.cube.dimensions.get(usize::from(k)))?;
    let (n, name) = (quoted(&dimension.name), quoted(&spec.name));
    Some(format!("SELECT {n}, COUNT(*) FROM {name} WHERE {n} IN ('…', '…') GROUP BY {n}"))
}

/// A file that has been opened.
pub(crate) enum Opened {
    /// One of a projection.
    Projection(Box<Questions>),
    /// One of tables.
    Tables(Box<Release>),
}

/// Opens a file, whatever it is.
pub(super) fn open(file: impl AsRef<Path>, watch: &Watch) -> Result<Opened, Failure> {
    let file = file.as_ref();
    let about = |e| output::about(file, &e);
    let release = Release::open(file).map_err(about)?.watched(watch);
    Ok(match Questions::open(&release).map_err(about)? {
        Some(questions) => Opened::Projection(Box::new(questions.with_ends(&crate::spec::clamped(&release)))),
        None => Opened::Tables(Box::new(release)),
    })
}

/// What `--explain` says of the first rows.
pub(super) fn explained(questions: &Questions, rows: &[Grounds], level: f64) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let design = &questions.projected().projection().design;
    let by_order = |e: &Grounds| e.order.is_some();
    let median = |e: &Grounds| e.std_error.is_nan();
    let mut paragraphs = vec![match design.shape {
        Shape::Dense { rows } => format!(
            "Each estimate is the mean of {} sums, with the signs of its cells. The interval takes its error to be normal.",
            grouped(rows.into())
        ),
        Shape::Sketch { rows: t, .. } => match rows.iter().filter(|e| median(e)).count() {
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
        paragraphs.push(of_norm(first, design.norm_bound, level));
    }
    for e in rows {
        let name = if e.row.is_empty() { String::new() } else { format!("{}: ", e.row.join(", ")) };
        let mut text = format!("{name}{}, ", output::counted(e.cells, "cell"));
        match e.order {
            Some((rows, cut)) => text.push_str(&format!(
                "interval from the order of the {} without a clash, {cut} outside at each end; it covers for any data.",
                output::counted(rows.into(), "row")
            )),
            None if e.std_error.is_nan() => text.push_str(
                "too few rows without a clash for an interval from their order at this level: it is that of the mean of all rows, made to hold their median.",
            ),
            None => text.push_str(&format!(
                "standard error {}: {} from noise, {} from other counts.",
                figure(e.std_error),
                figure(e.noise),
                figure(e.others)
            )),
        }
        if [Law::Variance, Law::Around].iter().any(|law| e.interval == law.name()) {
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

/// What is known of ‖x‖², and from where: a declared bound stands in place of what the integers say where it is less.
fn of_norm(e: &Grounds, declared: Option<u64>, level: f64) -> String {
    const NORM: &str = "‖x‖², the sum of all squared counts, is";
    // A bound that the integers refute is not used.
    match declared.map(|bound| bound as f64).filter(|bound| e.norm_bound <= *bound) {
        Some(bound) if e.norm >= bound => format!(
            "{NORM} taken to be at most {}, as declared (norm_bound): the released integers estimate no less. If it is more than that, intervals by it are too \
             narrow.",
            figure(bound)
        ),
        Some(bound) if e.norm_bound >= bound => format!(
            "{NORM} {} as estimated from the released integers, and at most {} as declared (norm_bound).",
            figure(e.norm),
            figure(bound)
        ),
        _ => {
            let sure = 100.0 * (1.0 - crate::projection::Projected::norm_failure(level));
            format!(
                "{NORM} {} as estimated from the released integers, and at most {} with probability {} %.",
                figure(e.norm),
                figure(e.norm_bound),
                format!("{sure:.7}").trim_end_matches('0').trim_end_matches('.'),
            )
        }
    }
}

/// A CSV file of keys, with where each part of the key is in it.
struct Keys<'a> {
    asked: &'a Projection,
    file: &'a Path,
    places: Vec<usize>,
    /// What makes every answer untrue, in a word.
    status: Option<&'a str>,
}

impl<'a> Keys<'a> {
    fn new(
        asked: &'a Projection,
        file: &'a Path,
        status: Option<&'a str>,
        header: &csv::StringRecord,
    ) -> Result<Keys<'a>, Failure> {
        let names = asked.questions.key_names();
        let place = |name: &&str| {
            header.iter().position(|h| h == *name).ok_or_else(|| {
                let (file, key) = (output::path(file), names.join(", "));
                Failure::Message(format!("{file} has no column `{name}`: the key is {key}"))
            })
        };
        let places = names.iter().map(place).collect::<Result<Vec<usize>, Failure>>()?;
        Ok(Keys { asked, file, places, status })
    }

    /// A line of the answers: the key, its count, what is the matter with it.
    fn line(&self, record: &csv::StringRecord, row: usize) -> Result<String, Failure> {
        let Projection { questions, options, estimator } = self.asked;
        let key: Vec<&str> = self.places.iter().map(|&p| record.get(p).unwrap_or_default()).collect();
        let cell = questions
            .cell(&key)
            .map_err(|e| Failure::Message(format!("{}, row {}: {e}", output::path(self.file), row + 1)))?;
        let a = questions.count(&[cell], options.level, *estimator);
        let number = |x: f64| if x.is_nan() { String::new() } else { x.to_string() };
        let numbers = [a.estimate, a.std_error, a.low, a.high].map(number);
        let numbers = numbers.into_iter().chain(self.status.map(str::to_string));
        let fields = key.iter().map(|k| csv_field(k).into_owned()).chain(numbers);
        Ok(fields.collect::<Vec<_>>().join(",") + "\n")
    }
}

/// Counts every key of a CSV file; answers appear as they are ready.
pub(super) fn keys(asked: &Projection, file: &Path) -> Outcome {
    let (questions, level) = (&asked.questions, asked.options.level);
    if !(level > 0.0 && level < 1.0) {
        return Err(Failure::Message(format!(
            "the level of an interval must lie between 0 and 1, not {level}"
        )));
    }
    let fail = |e: csv::Error| Failure::Message(format!("{}: {e}", output::path(file)));
    let seen = Rc::new(Cell::new(ReadSoFar::new()));
    let open = || Ok(Quotes::new(files::open(file)?, b',', seen.clone()));
    // A line for each key: an empty one, too.
    let mut reader = crate::blank_rows::reader(&csv::ReaderBuilder::new(), open).map_err(fail)?;
    // Behind a record that no other one follows: only what takes the rest of the file with it leaves a quotation mark open.
    let closed = || {
        seen.get().never_closed().map_or(Ok(()), |line| {
            let file = output::path(file);
            let why = "a quotation mark that is never closed: all that follows would be one key";
            Err(Failure::Message(format!("{file}, line {line}: {why}")))
        })
    };
    let caveats = questions.caveats();
    let tell = || {
        output::tell(&caveats, level);
        questions.refuted().iter().for_each(|note| output::note(note));
    };
    let words = Caveat::words(&caveats);
    let status = (!words.is_empty()).then_some(&words[..]);
    let header = reader.headers().map_err(fail)?;
    closed()?;
    let keys = Keys::new(asked, file, status, header)?;
    let figures = ["estimate", "std_error", "low", "high"];
    let header = questions.key_names().into_iter().chain(figures).chain(status.map(|_| "status"));
    let mut out = header.map(|f| csv_field(f).into_owned()).collect::<Vec<_>>().join(",") + "\n";
    // In pieces, so that answers appear as they are ready and memory stays small.
    const PIECE: usize = 1024;
    for (row, record) in reader.records().enumerate() {
        let whole = closed().and_then(|()| record.map_err(fail));
        match whole.and_then(|record| keys.line(&record, row)) {
            Ok(line) => out.push_str(&line),
            Err(e) => {
                tell();
                output::data(&out)?;
                return Err(e);
            }
        }
        if row % PIECE == PIECE - 1 {
            output::data(&std::mem::take(&mut out))?;
            if output::gone() {
                return Ok(());
            }
        }
    }
    tell();
    output::data(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It is said whether ‖x‖² and its bound are from the integers or were declared.
    #[test]
    fn what_is_said_of_the_norm() {
        let said = |norm: f64, norm_bound: f64, declared: Option<u64>| {
            let (row, order, proven) = (Vec::new(), None, None);
            let (std_error, noise, others, interval) = (1.0, 1.0, 0.0, "");
            let e = Grounds {
                row,
                cells: 1,
                std_error,
                noise,
                others,
                norm,
                norm_bound,
                interval,
                order,
                proven,
            };
            of_norm(&e, declared, 0.95)
        };
        for declared in [None, Some(5000)] {
            let text = said(1000.0, 2000.0, declared);
            assert!(text.contains("and at most 2 000 with probability 99.9 %"), "{text}");
        }
        let text = said(1000.0, 1500.0, Some(1500));
        assert!(text.contains("is 1 000 as estimated") && text.contains("1 500 as declared"), "{text}");
        let text = said(1000.0, 1000.0, Some(1000));
        assert!(text.contains("1 000, as declared") && !text.contains("as estimated"), "{text}");
    }
}
