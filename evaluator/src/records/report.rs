//! What records say of themselves.

use super::shape::{Nodes, Shape, Target};
use super::{RecordColumn, share};
use crate::answer::{AnswerError, Answers};
use crate::cube::Cube;
use serde::{Deserialize, Serialize};

/// The level of intervals in a report.
pub(super) const LEVEL: f64 = 0.95;

/// How far the records' table is from the release's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// `sex × age.band`.
    pub table: String,
    /// Its cells.
    pub cells: u64,
    /// The standard error of a cell of the release, of cells that differ the root of the mean of their squares; 0 where it is exact.
    pub std_error: f64,
    /// The mean over the cells of |estimate − records|, in units.
    pub mean: f64,
    /// The largest.
    pub largest: f64,
}

/// How far an amount's sums are from the release's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AmountReport {
    /// What the release calls it.
    pub name: String,
    /// What the records call it.
    pub column: String,
    /// Its values are multiples of it.
    pub step: f64,
    /// What it is measured in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Records that have a value.
    pub with_value: u64,
    /// The tables of its sums that were asked for, in its own units.
    pub sums: Vec<Gap>,
    /// Where rows may have no value, the same tables of those that have one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub valued: Vec<Gap>,
}

/// All that is said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordsReport {
    /// The releases, each with the hash of its manifest.
    pub releases: Vec<Source>,
    /// The seed.
    pub seed: u64,
    /// How many records there are.
    pub records: u64,
    /// What they stand for: the release's total.
    pub total: f64,
    /// What one record stands for.
    pub weight: f64,
    /// Whom the release protects: `row`, or the column that names a unit.
    pub unit: String,
    /// How many rows of one unit count: of more than one, records are rows and not persons.
    pub max_rows: u32,
    /// The tables that were asked for.
    pub tables: Vec<Gap>,
    /// How often attributes were drawn anew.
    pub sweeps: u64,
    /// By how much more than chance a second chain differs, begun anew under what the first has learnt: about 1 in equilibrium.
    pub chains: f64,
    /// Records that were in closed cells: always 0.
    pub in_closed_cells: u64,
    /// Tables that the release does not tell cell by cell: nothing holds the records to them.
    pub untold: Vec<String>,
    /// The amounts that records have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) amounts: Vec<AmountReport>,
    /// What else is to be known, in sentences.
    pub notes: Vec<String>,
}

/// A release behind records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// BLAKE3 of its manifest.
    pub manifest: String,
}

/// The gaps of all tables, as units: of fewer or more records than the total each stands for `weight`.
pub(super) fn gaps(
    shape: &Shape,
    nodes: &Nodes,
    rows: usize,
    weight: f64,
    threads: usize,
) -> Vec<(f64, f64)> {
    let mut out = vec![(0.0, 0.0); shape.tables.len()];
    share::each(threads, shape.tables.iter().zip(&mut out), |(t, out)| {
        let (sum, most) = gap(shape, t, nodes, rows, weight);
        *out = (sum / t.estimates.len().max(1) as f64, most);
    });
    out
}

/// The sum and the largest of one table's gaps.
pub(super) fn gap(shape: &Shape, t: &Target, nodes: &Nodes, rows: usize, weight: f64) -> (f64, f64) {
    let counts = shape.count(&t.columns, nodes, rows);
    let (mut sum, mut most) = (0.0, 0.0f64);
    for (i, count) in counts.into_iter().enumerate() {
        let target = match &t.exact {
            Some(exact) => exact[i] as f64,
            None => f64::from(t.estimates[i]),
        };
        let gap = (target - f64::from(count) * weight).abs();
        sum += gap;
        most = most.max(gap);
    }
    (sum, most)
}

/// By how much more than chance the records of two chains differ in tables of one or two columns: the mean of χ² over its degrees of freedom.
pub(super) fn unlike(shape: &Shape, one: &Nodes, other: &Nodes) -> f64 {
    let rows = |nodes: &Nodes| nodes.first().map_or(0, Vec::len);
    let (m, n) = (rows(one), rows(other));
    let (mut sum, mut degrees) = (0.0, 0.0);
    for t in shape.tables.iter().filter(|t| t.columns.len() <= 2) {
        let (a, b) = (shape.count(&t.columns, one, m), shape.count(&t.columns, other, n));
        let some = a.iter().zip(&b).filter(|(a, b)| *a + *b > 0);
        let some = some.map(|(a, b)| (f64::from(*a), f64::from(*b)));
        let (m, n) = (m as f64, n as f64);
        let squares: Vec<f64> = some.map(|(a, b)| (a * n - b * m).powi(2) / (m * n * (a + b))).collect();
        sum += squares.iter().sum::<f64>();
        degrees += (squares.len() as f64 - 1.0).max(0.0);
    }
    if degrees > 0.0 { sum / degrees } else { 1.0 }
}

/// How many records are in closed cells.
pub(super) fn in_closed(shape: &Shape, nodes: &Nodes, rows: usize) -> u64 {
    let one = |c: &super::shape::Closed| {
        shape.cells(&c.columns, nodes, rows).filter(|&cell| c.cells[cell]).count() as u64
    };
    shape.closed.iter().map(one).sum()
}

/// What makes the release's counts untrue besides noise, and so those of the records, in sentences. Counts of what was left out are with intervals of 95 %.
pub(super) fn untrue(releases: &[Answers]) -> Result<Vec<String>, AnswerError> {
    let mut out = Vec::new();
    for release in releases {
        let caveats = release.caveats(LEVEL)?;
        for text in caveats.iter().map(|c| c.text(LEVEL)).chain(release.told()) {
            if !out.contains(&text) {
                out.push(text);
            }
        }
    }
    Ok(out)
}

/// What is to be known of the records, in sentences.
pub(super) fn notes(of: &RecordsReport, cube: &Cube, columns: &[RecordColumn]) -> Vec<String> {
    let mut notes = vec![
        "Records are synthetic and nobody's: they were drawn from the release and the seed alone.".to_owned(),
        "Tables that the release does not tell are the records' own invention.".to_owned(),
    ];
    if of.max_rows > 1 {
        notes.push(format!(
            "Records are rows, not units: one {} may have had up to {}.",
            of.unit, of.max_rows
        ));
    }
    if of.weight != 1.0 {
        let (records, weight) = (of.records, of.weight);
        notes.push(format!(
            "{records} records stand for a total of {:.0}: each has the weight {weight}.",
            of.total
        ));
    }
    if of.total < 0.5 {
        notes.push(format!("The release's total is {:.1}, so there are no records.", of.total));
    }
    let inside: Vec<&str> = columns.iter().filter(|c| c.inside).map(|c| c.name.as_str()).collect();
    if !inside.is_empty() {
        notes.push(format!(
            "Drawn inside what is released, each value as likely as another: {}.",
            inside.join(", ")
        ));
    }
    let has = |name: &str| columns.iter().any(|c| c.name == name || c.name.starts_with(&format!("{name}.")));
    let absent: Vec<&str> =
        cube.dimensions.iter().map(|d| d.name.as_str()).filter(|name| !has(name)).collect();
    if !absent.is_empty() {
        notes.push(format!("In no table that was asked for, and so in no record: {}.", absent.join(", ")));
    }
    if !of.untold.is_empty() {
        notes.push(format!("Not told cell by cell, and so not fitted: {}.", of.untold.join("; ")));
    }
    let missed = of.tables.iter().filter(|t| t.std_error == 0.0 && t.largest >= 0.5);
    for t in missed {
        notes.push(format!("{} is published exactly and missed by up to {:.1}.", t.table, t.largest));
    }
    notes
}

/// A standard error up to here may be any that is not 0.
const LEAST: f64 = 2e-38;
/// Of a gap of more standard errors than these the error itself is told.
const MOST: f64 = 1e6;

/// Adds the tables with the largest gaps to a text.
fn list(tables: &[Gap], places: usize, out: &mut String) {
    const SHOWN: usize = 12;
    let mut tables: Vec<&Gap> = tables.iter().collect();
    tables.sort_by(|a, b| b.errors().total_cmp(&a.errors()).then_with(|| a.table.cmp(&b.table)));
    for t in tables.iter().take(SHOWN) {
        let errors = match t.std_error {
            0.0 => "exact".into(),
            s if s <= LEAST => format!("standard error below {LEAST:.0e}"),
            s if t.largest / s > MOST => format!("standard error {s:.1e}"),
            s => format!("{:.2} and {:.2} standard errors", t.mean / s, t.largest / s),
        };
        let Gap { table, mean, largest, .. } = t;
        out.push_str(&format!("          {table}: {mean:.places$} and {largest:.places$} ({errors})\n"));
    }
    if tables.len() > SHOWN {
        out.push_str(&format!("          and {} more tables, nearer\n", tables.len() - SHOWN));
    }
}

impl RecordsReport {
    /// As people read it: of many tables those with the largest gaps.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let of = self
            .releases
            .iter()
            .map(|r| format!("{} ({})", r.name, r.manifest.get(..8).unwrap_or("")))
            .collect::<Vec<_>>();
        out.push_str(&format!("records   {} of {}, seed {}\n", self.records, of.join(", "), self.seed));
        if self.sweeps > 0 {
            out.push_str(&format!(
                "chain     {} sweeps; a second one differs {:.2} times as much as chance\n",
                self.sweeps, self.chains
            ));
        }
        out.push_str(
            "gaps      between the release's estimates and the records, mean and largest of a table's cells; its standard error is the root mean square of theirs\n",
        );
        list(&self.tables, 1, &mut out);
        for amount in &self.amounts {
            let unit = amount.unit.as_ref().map_or(String::new(), |u| format!(", in {u}"));
            out.push_str(&format!("sums      of {}{unit}: gaps as above\n", amount.column));
            let places = amount.step.to_string().split_once('.').map_or(0, |(_, places)| places.len());
            list(&amount.sums, places + 1, &mut out);
            if !amount.valued.is_empty() {
                out.push_str(&format!(
                    "values    {} of {} records have one\n",
                    amount.with_value, self.records
                ));
                list(&amount.valued, 1, &mut out);
            }
        }
        self.notes.iter().for_each(|note| out.push_str(&format!("note      {note}\n")));
        out
    }
}

impl Gap {
    /// The mean gap in standard errors; of exact tables as it is.
    fn errors(&self) -> f64 {
        if self.std_error > 0.0 { self.mean / self.std_error } else { self.mean }
    }
}
