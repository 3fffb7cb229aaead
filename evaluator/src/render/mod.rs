//! An answer for people and for programs: a table that fits a terminal, CSV, JSON.
//!
//! CSV and JSON carry full precision and the same names: the SELECTed names in their order, and for a single
//! figure `estimate`, `std_error`, `low` and `high` after them (a figure under its own name is its estimate
//! again). With several figures each also has `<name>_std_error`, `<name>_low` and `<name>_high`, and the four
//! plain names speak of the first. JSON also names the method behind each interval (`method`) and carries the
//! notes that the table has below it (`notes`). What makes the numbers untrue besides noise ([`Caveat`]) is in all three: a note of the
//! table, `caveats` in JSON, and in CSV a last column `status`, there only when it has something to say. The table rounds to what the standard errors justify, intervals outwards.

mod caveat;
mod columns;
mod csv;
mod explained;
mod html;
mod json;
mod naming;
mod reliability;
mod table;
mod together;

pub use self::{
    caveat::{Caveat, truncation},
    columns::{Column, Values, columns},
    csv::{csv, field as csv_field, label as csv_label},
    explained::{Explained, Source},
    html::{ShownColumn, escaped, html, preformatted, shown},
    json::json,
    naming::Naming,
    reliability::Cuts,
    table::{table, table_within},
};
pub(crate) use caveat::{moved, named};
pub(crate) use table::{WIDTH, percent, rough};
pub(crate) use together::Together;

use crate::cube::Categories;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An answer, ready to show.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ResultTable {
    /// The columns, in the order of SELECT.
    pub columns: Vec<ResultColumn>,
    /// Which of them say what people call the codes of the column before: ascending.
    pub labels: Vec<usize>,
    /// The rows: one cell for each column.
    pub rows: Vec<Vec<ResultCell>>,
    /// The probability with which each interval covers, such as 0.95.
    pub level: f64,
    /// How the interval of each figure was found: (column, method).
    pub methods: Vec<(String, String)>,
    /// How the intervals were made to cover all together, if they were.
    pub together: Option<Together>,
    /// What makes the numbers untrue besides noise.
    pub caveats: Vec<Caveat>,
    /// What else a reader must know beside the numbers.
    pub notes: Vec<String>,
    /// Of answers to several questions below each other: how many rows each has, and what `status` says of them.
    pub(crate) parts: Vec<(usize, String)>,
}

/// A column's name and kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultColumn {
    /// What it is called.
    pub name: String,
    /// What its cells are.
    pub kind: ColumnKind,
}

/// What the cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnKind {
    /// Labels that are text.
    Text,
    /// Labels that are whole numbers: JSON writes them as numbers.
    Integer,
    /// Figures with their intervals.
    Figure,
    /// Plain numbers: probabilities, medians.
    Number,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ResultCell {
    /// The label of a group.
    Label(String),
    /// A figure with its interval.
    Figure(ResultFigure),
    /// A plain number.
    Number(f64),
}

/// An estimate and what is known of its error. Bounds may be infinite.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ResultFigure {
    /// The estimate.
    pub estimate: f64,
    /// Its standard error.
    pub std_error: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl ResultCell {
    /// What stands for a label where rows are not told apart by a column: NULL in SQL.
    pub(crate) const NULL: ResultCell = ResultCell::Number(f64::NAN);
}

impl ResultFigure {
    /// A figure of no units, whatever they might have been: NULL in SQL.
    pub(crate) const NULL: ResultFigure =
        ResultFigure { estimate: f64::NAN, std_error: f64::NAN, low: f64::NAN, high: f64::NAN };

    /// Whether it is one of nothing.
    pub fn is_null(&self) -> bool {
        self.low.is_nan() && self.high.is_nan()
    }

    /// Whether it is 0 and known exactly.
    pub(crate) fn is_surely_zero(self) -> bool {
        self.std_error == 0.0 && self.low == 0.0 && self.high == 0.0
    }
}

impl ColumnKind {
    /// The kind of a level's labels: numbers when every node stands for one whole number and is labelled with
    /// just that number, text otherwise. So a level with ranges, leading zeros or a missing-value category is
    /// text throughout, and no column mixes both.
    pub fn of_level(level: &Categories) -> ColumnKind {
        let integer = |node: usize| {
            let number =
                level.labels.get(node).and_then(|l| l.parse::<i64>().ok().filter(|n| n.to_string() == *l));
            match (level.bounds.get(node), number) {
                (Some(Some(b)), Some(n)) => b.closed && b.lo == b.hi && b.lo == n as f64,
                _ => false,
            }
        };
        if (0..level.len()).all(integer) { ColumnKind::Integer } else { ColumnKind::Text }
    }
}

impl ResultTable {
    /// Columns and rows, with intervals at `level`, and nothing said of them yet.
    pub fn new(columns: Vec<ResultColumn>, rows: Vec<Vec<ResultCell>>, level: f64) -> ResultTable {
        ResultTable { columns, rows, level, ..ResultTable::default() }
    }

    /// The same with these of its rows alone, in this order.
    pub fn of_rows(&self, rows: impl IntoIterator<Item = usize>) -> ResultTable {
        // Rows are copied one by one: an answer may have many that nobody asks for.
        let mut out = ResultTable {
            columns: self.columns.clone(),
            labels: self.labels.clone(),
            rows: Vec::new(),
            level: self.level,
            methods: self.methods.clone(),
            together: self.together.clone(),
            caveats: self.caveats.clone(),
            notes: self.notes.clone(),
            parts: Vec::new(),
        };
        for at in rows {
            let Some(row) = self.rows.get(at) else { continue };
            out.rows.push(row.clone());
            // Each keeps what `status` says of it.
            let mut end = 0;
            let part = self.parts.iter().find(|(rows, _)| {
                end += rows;
                at < end
            });
            match (out.parts.last_mut(), part) {
                (Some((rows, own)), Some((_, status))) if own == status => *rows += 1,
                (_, Some((_, status))) => out.parts.push((1, status.clone())),
                (_, None) => {}
            }
        }
        out
    }

    /// Answers to several questions below each other, with the names of the first; `None` where their columns do not fit.
    pub(crate) fn below(tables: Vec<ResultTable>) -> Option<ResultTable> {
        let parts = tables.iter().map(|t| (t.rows.len(), t.status().unwrap_or_default())).collect();
        let mut tables = tables.into_iter();
        let mut all = tables.next()?;
        all.parts = parts;
        for next in tables {
            if all.columns.len() != next.columns.len() {
                return None;
            }
            for (own, other) in all.columns.iter_mut().zip(&next.columns) {
                if own.kind != other.kind {
                    let label = |kind| matches!(kind, ColumnKind::Text | ColumnKind::Integer);
                    own.kind = Some(ColumnKind::Text).filter(|_| label(own.kind) && label(other.kind))?;
                }
            }
            for (name, method) in next.methods {
                let at = next.columns.iter().position(|c| c.name == name);
                let own = at.and_then(|at| all.columns.get(at)).map_or(name, |c| c.name.clone());
                match all.methods.iter_mut().find(|(known, _)| *known == own) {
                    Some((_, known)) if known.split("; or ").any(|one| one == method) => {}
                    Some((_, known)) => *known += &format!("; or {method}"),
                    None => all.methods.push((own, method)),
                }
            }
            all.rows.extend(next.rows);
            let (caveats, notes) = (next.caveats, next.notes);
            caveats.into_iter().for_each(|mut c| {
                if let Caveat::LeftOut { figure: Some(name), .. } = &mut c
                    && let Some(at) = next.columns.iter().position(|c| c.name == *name)
                    && let Some(own) = all.columns.get(at)
                {
                    name.clone_from(&own.name);
                }
                if !all.caveats.contains(&c) {
                    all.caveats.push(c)
                }
            });
            notes.into_iter().for_each(|n| {
                if !all.notes.contains(&n) {
                    all.notes.push(n)
                }
            });
        }
        Some(all)
    }

    /// The same with a column of labels beside each column of codes where any of the tables has one: empty where a table has none.
    pub(crate) fn with_labels_alike(tables: &mut [ResultTable]) {
        // By the number of the column of codes among those that are not beside another.
        let named: BTreeSet<usize> = (tables.iter())
            .flat_map(|t| {
                t.labels.iter().zip(1..).filter_map(|(at, labels): (&usize, usize)| at.checked_sub(labels))
            })
            .collect();
        for table in tables {
            for (at, code) in named.iter().zip(0..).map(|(own, before)| (own + before + 1, own + before)) {
                let label = |c: &&ResultColumn| matches!(c.kind, ColumnKind::Text | ColumnKind::Integer);
                let Some(code) = table.columns.get(code).filter(label) else { continue };
                if table.labels.contains(&at) {
                    continue;
                }
                let mut name = format!("{}_label", code.name);
                while table.columns.iter().any(|c| c.name == name) {
                    name.push('_');
                }
                table.columns.insert(at, ResultColumn { name, kind: ColumnKind::Text });
                for row in &mut table.rows {
                    row.insert(at.min(row.len()), ResultCell::Label(String::new()));
                }
                table.labels.iter_mut().filter(|later| **later >= at).for_each(|later| *later += 1);
                table.labels.push(at);
                table.labels.sort_unstable();
            }
        }
    }

    /// The keys of a row in CSV and JSON, each once. A column that is called as a part of a figure is gets an underscore: what a part is called stays.
    fn keys(&self) -> Vec<Key<'_>> {
        let figures: Vec<usize> =
            (0..self.columns.len()).filter(|&i| self.columns[i].kind == ColumnKind::Figure).collect();
        let several = figures.len() > 1;
        let own = |i: usize| {
            let name = &self.columns[i].name;
            PARTS.iter().skip(1).map(move |(suffix, part)| (format!("{name}_{suffix}"), i, *part))
        };
        let first = figures.first().map(|&i| PARTS.map(|(name, part)| (name.to_string(), i, part)));
        let first: Vec<_> = first.into_iter().flatten().collect();
        let parts: Vec<_> =
            figures.iter().filter(|_| several).flat_map(|&i| own(i)).chain(first.iter().cloned()).collect();
        let mut keys: Vec<Key> = Vec::new();
        let mut add = |(name, column, part): (String, usize, Part)| {
            if keys.iter().all(|k| k.name != name) {
                keys.push(Key { name, column, part, kind: &self.columns[column].kind });
            }
        };
        for (i, column) in self.columns.iter().enumerate() {
            let mut name = column.name.clone();
            while parts.iter().any(|(part, of, what)| *part == name && (*of, *what) != (i, Part::Whole)) {
                name.push('_');
            }
            add((name, i, Part::Whole));
            if several && column.kind == ColumnKind::Figure {
                own(i).for_each(&mut add);
            }
        }
        first.into_iter().for_each(add);
        keys
    }
}

/// A key of a row, and which part of which cell it shows.
struct Key<'a> {
    name: String,
    column: usize,
    part: Part,
    kind: &'a ColumnKind,
}

/// A part of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The label, or the estimate.
    Whole,
    StdError,
    Low,
    High,
}

const PARTS: [(&str, Part); 4] =
    [("estimate", Part::Whole), ("std_error", Part::StdError), ("low", Part::Low), ("high", Part::High)];

/// What a key shows of a row.
enum Shown<'a> {
    Text(&'a str),
    Number(f64),
    Nothing,
}

impl Key<'_> {
    fn of<'r>(&self, row: &'r [ResultCell]) -> Shown<'r> {
        match row.get(self.column) {
            Some(ResultCell::Label(label)) => Shown::Text(label),
            Some(ResultCell::Figure(figure)) => Shown::Number(match self.part {
                Part::Whole => figure.estimate,
                Part::StdError => figure.std_error,
                Part::Low => figure.low,
                Part::High => figure.high,
            }),
            Some(ResultCell::Number(value)) => Shown::Number(*value),
            None => Shown::Nothing,
        }
    }
}

#[cfg(test)]
mod tests;
