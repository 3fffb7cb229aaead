//! All that is wrong with a dataset, told to its holder: the one exception to silence about rows.
//!
//! A release stops at the first row that cannot be used, and says nothing of any value. Here all rows are read, and those that cannot be used are counted
//! by column and reason. Still no value is shown; but counts without noise are private, and whoever prints them sees to it that they stay with
//! those who have the rows.

#[cfg(test)]
mod tests;

use super::chunk::Chunk;
use super::error::{IngestError, Place};
use super::faults::{Faults, First};
use super::fields::{Field, Fields, UnitField};
use super::files::{DataFile, Origin, files};
use super::run::{Run, Settings, Take};
use super::text::line;
use super::unit::{Bounding, Parting};
use super::zeros::Zeros;
use super::{Means, READING, fields, options};
use crate::cube::Quantity;
use crate::spec::{AmountSpec, CsvOptions, Spec};
use std::sync::Arc;

/// What a dataset is like, seen by a spec. Private.
#[derive(Default)]
pub(crate) struct Report {
    /// How many files there are.
    pub files: usize,
    /// How many rows.
    pub rows: u64,
    /// How many of them cannot be used.
    pub unusable: u64,
    /// What is wrong with columns as a whole.
    pub columns: Vec<String>,
    /// What is wrong with cells.
    pub(crate) problems: Vec<Problem>,
    /// Cells that are counted in the category for empty or strange ones: column, category, rows.
    pub taken: Vec<(String, String, u64)>,
    /// Of every amount how many values are below `low` and above `high`, and are counted as these.
    pub clamped: Vec<(Arc<Quantity>, u64, u64)>,
    /// Conditions that the spec declares impossible, and how many rows satisfy them.
    pub impossible: Vec<(String, u64)>,
    /// How many units have more rows than count.
    pub cut: Option<u64>,
    /// How many rows belong to no unit, where that does not stop a run.
    pub without: u64,
}

/// Something that is wrong with a column's cells.
#[derive(PartialEq)]
pub(crate) struct Problem {
    /// Which column; nothing where it is the row's length.
    pub column: Option<String>,
    /// What.
    pub what: String,
    /// In how many rows.
    pub rows: u64,
    /// Where it is for the first time.
    pub first: String,
}

impl Report {
    /// Whether a release can be made of it.
    pub(crate) fn passed(&self) -> bool {
        self.unusable == 0 && self.columns.is_empty() && self.impossible.is_empty()
    }

    /// What the two nodes of each dimension and amount hold: see [`extras`].
    fn count(&mut self, spec: &Spec, kept: &[usize], taken: Vec<(u64, u64)>) {
        let amounts: Vec<&AmountSpec> = spec.summed().collect();
        for (&d, (missing, other)) in kept.iter().zip(taken) {
            let Some((column, dimension)) = spec.columns.get(d).zip(spec.cube.dimensions.get(d)) else {
                let amount = d.checked_sub(spec.columns.len()).and_then(|at| amounts.get(at));
                self.clamped.extend(amount.map(|amount| (amount.quantity.clone(), missing, other)));
                continue;
            };
            // One category may be for both, and is met by both.
            let other = if column.other == column.missing { 0 } else { other };
            for (node, rows) in [(column.missing, missing), (column.other, other)] {
                let label = node.and_then(|node| dimension.levels.last()?.labels.get(node as usize));
                if let Some(label) = label.filter(|_| rows > 0) {
                    self.taken.push((column.column.clone(), label.clone(), rows));
                }
            }
        }
    }
}

/// Reads all rows, as a release would, and says all that is wrong with them.
pub(crate) fn check<'o>(
    spec: &Spec,
    from: impl Into<Origin<'o>>,
    means: &Means,
) -> Result<Report, IngestError> {
    let (files, settings) = (files(spec, from.into())?, Settings::default());
    let csv = options(spec);
    let mut report = Report { files: files.len(), ..Report::default() };
    let (mut fields, kept) = there(spec, &files, &csv, (settings, means), &mut report.columns)?;
    // Probably the wrong file: its rows say nothing.
    if kept.is_empty() {
        return Ok(report);
    }
    let beyond: Vec<Option<[u32; 2]>> = fields.dimensions.iter_mut().map(Field::tell_beyond).collect();
    // Whether all dimensions are read: only then can it be said which cells are empty. Numbers that are added up stand behind them.
    let dimensions = kept.iter().filter(|&&d| d < spec.columns.len()).count();
    let zeros = if dimensions == spec.columns.len() { Zeros::of(spec) } else { Zeros::none() };
    let size = files.iter().map(|file| file.size).fold(0, u64::saturating_add);
    let step = |done: u64| means.watch.tell(READING, done.min(size), size);
    let bounding = fields
        .unit
        .as_ref()
        .map(|unit| Bounding::new(&fields, unit, settings.memory, settings.threads, &means.watch));
    let run = Run {
        files: &files,
        options: &csv,
        fields: &fields,
        zeros: None,
        check: true,
        settings,
        watch: &means.watch,
        progress: &step,
    };
    let counting = |parting| Seen {
        zeros: &zeros,
        impossible: vec![0; zeros.len()],
        extras: kept.iter().zip(&beyond).map(|(&d, beyond)| extras(spec, d, *beyond)).collect(),
        taken: vec![(0, 0); kept.len()],
        faults: Faults::default(),
        parting,
        without: 0,
    };
    let (seen, pieces) = run.all(&|| counting(bounding.as_ref().map(Bounding::parting)))?;
    report.rows = pieces.iter().map(|(_, rows)| rows).sum();
    let mut faults = Faults::default();
    let (mut parted, mut found) = (Vec::new(), Vec::new());
    for mut seen in seen {
        faults.merge(std::mem::take(&mut seen.faults));
        report.without += seen.without;
        parted.extend(seen.parting.take());
        found.push(seen);
    }
    if let Some(bounding) = &bounding {
        match bounding.choose(parted, &Zeros::none(), &|| counting(None), &|_, _| ()) {
            // Of rows beyond `max_rows` nothing is counted.
            Ok((chosen, cut)) => (report.cut, found) = (Some(cut), chosen),
            Err(error @ (IngestError::Tied | IngestError::MixedOrder)) => {
                report.columns.push(error.to_string())
            }
            Err(error) => return Err(error),
        }
    }
    let (mut impossible, mut taken) = (vec![0; zeros.len()], vec![(0, 0); kept.len()]);
    for seen in found {
        impossible.iter_mut().zip(seen.impossible).for_each(|(sum, rows): (&mut u64, u64)| *sum += rows);
        for (sum, (missing, other)) in taken.iter_mut().zip(seen.taken) {
            let (m, o): &mut (u64, u64) = sum;
            (*m, *o) = (*m + missing, *o + other);
        }
    }
    let place = |first| place(&files, &pieces, first);
    report.unusable = faults.rows;
    if let Some((rows, first)) = faults.ragged {
        let what = "the number of cells is not that of columns".into();
        report.problems.push(Problem { column: None, what, rows, first: place(first) });
    }
    if let Some(first) = faults.unclosed {
        let what = "a quote is opened and never closed: what follows may be rows".into();
        report.problems.push(Problem { column: None, what, rows: 1, first: place(first) });
    }
    for (column, found) in faults.columns.iter().enumerate() {
        for found in found {
            let problem = Problem {
                column: Some(fields.column(column)),
                what: found.fault.to_string(),
                rows: found.rows,
                first: place(found.first),
            };
            // A column that is read twice, as weights are by themselves and as a factor, has one problem.
            if !report.problems.contains(&problem) {
                report.problems.push(problem);
            }
        }
    }
    report.count(spec, &kept, taken);
    let conditions = zeros.conditions().map(str::to_owned).zip(impossible);
    report.impossible = conditions.filter(|(_, rows)| *rows > 0).collect();
    means.watch.tell(READING, size, size);
    Ok(report)
}

/// The nodes whose rows are counted: of a dimension those of empty and of strange cells, of an amount those beyond its bounds.
fn extras(spec: &Spec, d: usize, beyond: Option<[u32; 2]>) -> (Option<u32>, Option<u32>) {
    match (spec.columns.get(d), beyond) {
        (Some(column), _) => (column.missing, column.other),
        (None, Some([below, above])) => (Some(below), Some(above)),
        (None, None) => (None, None),
    }
}

/// The columns that can be read, which dimensions they are, and what is wrong with all others.
fn there<'s>(
    spec: &'s Spec,
    files: &[DataFile],
    csv: &CsvOptions,
    (settings, means): (Settings, &Means),
    wrong: &mut Vec<String>,
) -> Result<(Fields<'s>, Vec<usize>), IngestError> {
    let nothing = |_| ();
    let mut works = |fields: &Fields<'_>| -> Result<bool, IngestError> {
        let run = Run {
            files,
            options: csv,
            fields,
            zeros: None,
            check: true,
            settings,
            watch: &means.watch,
            progress: &nothing,
        };
        for at in 0..files.len() {
            match run.try_file(at) {
                Ok(_) => {}
                Err(
                    error @ (IngestError::NoColumn { .. }
                    | IngestError::TwoColumns { .. }
                    | IngestError::Delimiter { .. }
                    | IngestError::HeaderEncoding { .. }
                    | IngestError::HeaderUtf8 { .. }
                    | IngestError::ColumnType { .. }),
                ) => {
                    let text = run.named(at, error).to_string();
                    if !wrong.contains(&text) {
                        wrong.push(text);
                    }
                    return Ok(false);
                }
                Err(error) => return Err(run.named(at, error)),
            }
        }
        Ok(true)
    };
    let mut all = fields(spec, files, csv, means.memory)?;
    let unit = all.unit.take();
    let (mut kept, mut dimensions) = (Vec::new(), Vec::new());
    for (d, field) in std::mem::take(&mut all.dimensions).into_iter().enumerate() {
        let one = Fields { dimensions: vec![field], unit: None, blanks: all.blanks, memory: means.memory };
        if works(&one)? {
            kept.push(d);
            dimensions.extend(one.dimensions);
        }
    }
    let mut fits = true;
    if let Some(UnitField { column, max_rows, order, without, .. }) = &unit {
        for part in 0..=order.len() {
            let order = part.checked_sub(1).and_then(|at| order.get(at)).copied().into_iter().collect();
            let alone = Default::default();
            let unit = Some(UnitField { column, max_rows: *max_rows, order, without: *without, alone });
            fits &=
                works(&Fields { dimensions: Vec::new(), unit, blanks: all.blanks, memory: means.memory })?;
        }
    }
    Ok((Fields { dimensions, unit: unit.filter(|_| fits), blanks: all.blanks, memory: means.memory }, kept))
}

/// Where a row is, in words.
fn place(files: &[DataFile], pieces: &[(usize, u64)], (piece, row, offset): First) -> String {
    let file = pieces.get(piece).map_or(0, |(file, _)| *file);
    let before = pieces.iter().take(piece).filter(|(of, _)| *of == file).map(|(_, rows)| rows).sum::<u64>();
    let (number, Some(file)) = (file + 1, files.get(file)) else { return String::new() };
    let place = Place { row: before + row, line: offset.and_then(|at| line(file, at)) };
    match files.len() {
        1 => place.to_string(),
        of => {
            let name = file.path.file_name().unwrap_or_default().to_string_lossy();
            // Files of folders that say a column have one name, and what folders are called is data.
            let which =
                if file.keys.is_empty() { String::new() } else { format!(" (file {number} of {of})") };
            format!("{name}{which}, {place}")
        }
    }
}

/// What one thread has seen.
struct Seen<'a> {
    zeros: &'a Zeros,
    impossible: Vec<u64>,
    /// The two nodes of each dimension and amount whose rows are counted: see [`extras`].
    extras: Vec<(Option<u32>, Option<u32>)>,
    taken: Vec<(u64, u64)>,
    faults: Faults,
    parting: Option<Parting<'a>>,
    without: u64,
}

impl Take for Seen<'_> {
    fn take(&mut self, piece: usize, chunk: &Chunk) {
        self.without += chunk.without;
        for (at, rows) in self.impossible.iter_mut().enumerate() {
            *rows += self.zeros.rows(at, chunk);
        }
        for (dimension, ((missing, other), sums)) in self.extras.iter().zip(&mut self.taken).enumerate() {
            let rows = |node: Option<u32>| match node {
                Some(node) => chunk.nodes(dimension).iter().filter(|n| **n == node).count() as u64,
                None => 0,
            };
            sums.0 += rows(*missing);
            sums.1 += rows(*other);
        }
        if let Some(parting) = &mut self.parting {
            parting.take(piece, chunk);
        }
    }

    fn faults(&mut self, faults: Faults) {
        self.faults.merge(faults);
    }
}

impl Take for () {
    fn take(&mut self, _: usize, _: &Chunk) {}
}
