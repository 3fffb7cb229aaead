//! Tabulations of records beside what the release knows of them.
//!
//! The same question is counted among the records and answered by the release, where it can: estimate, interval, and the gap between the two. For a cell of a
//! released table the truth is within the interval, so the records miss it by at most the margin and the gap. Where the release cannot answer, nothing is known of
//! how far the records are off, and the answer says so.

use super::RecordsError;
use crate::answer::{AnswerError, QueryError};
use crate::cube::{Cube, Filter, Level, required_level};
use crate::recover::RecoverError;
use crate::render::{ColumnKind, ResultCell, ResultColumn, ResultTable, csv_label};
use crate::sql::{Aggregate, Query, SelectColumn};
use std::collections::HashMap;

/// A column as a file has it: its name, the texts that stand in it, and which of them each record has.
#[derive(Debug, Clone)]
pub struct Read {
    /// Its name.
    pub name: String,
    /// The texts, each once.
    pub texts: Vec<String>,
    /// The text of each record.
    pub which: Vec<u32>,
}

impl Read {
    /// Adds a record; the texts that were there before are known by their places.
    pub fn push(&mut self, known: &mut HashMap<String, u32>, text: String) {
        let next = self.texts.len() as u32;
        let which = *known.entry(text).or_insert_with_key(|text| {
            self.texts.push(text.clone());
            next
        });
        self.which.push(which);
    }
}

/// Records of a file as nodes of a cube.
#[derive(Debug)]
pub struct Tabulated {
    /// For each dimension the level that records have, with their nodes.
    columns: Vec<Option<(Level, Vec<u32>)>>,
    rows: usize,
    weight: f64,
}

impl Tabulated {
    /// Looks the columns of a file up in a cube; each record counts `weight`.
    pub fn new(cube: &Cube, read: &[Read], weight: f64) -> Result<Tabulated, RecordsError> {
        let mut columns: Vec<Option<(Level, Vec<u32>)>> = cube.dimensions.iter().map(|_| None).collect();
        for column in read {
            let Some(level) = cube.resolve(&column.name) else { continue };
            let node = |text: &String| node_of(cube, level, text);
            let nodes: Vec<Option<u32>> = column.texts.iter().map(node).collect();
            let of = |&which: &u32| nodes.get(which as usize).copied().flatten();
            let Some(nodes) = column.which.iter().map(of).collect::<Option<Vec<u32>>>() else {
                let strange = column.texts.iter().zip(&nodes).find(|(_, n)| n.is_none());
                let text = strange.map_or("", |(text, _)| text.as_str());
                return Err(RecordsError::Category { column: column.name.clone(), text: text.into() });
            };
            columns[level.dimension] = Some((level, nodes));
        }
        Ok(Tabulated { columns, rows: read.first().map_or(0, |c| c.which.len()), weight })
    }

    /// The node of each record at a level; `None` where the records do not tell it.
    fn at(&self, cube: &Cube, level: Level) -> Option<Vec<u32>> {
        let (own, nodes) = self.columns.get(level.dimension)?.as_ref()?;
        if cube.dimensions[level.dimension].told_by(level.level) > own.level {
            return None;
        }
        let up = cube.dimensions[level.dimension].ancestors(own.level, level.level);
        Some(nodes.iter().map(|&n| up[n as usize]).collect())
    }

    /// What each record weighs in an aggregate.
    fn weights(&self, cube: &Cube, filter: &Filter) -> Result<Vec<f64>, RecordsError> {
        let mut at = vec![0usize; self.rows];
        for c in &filter.dims {
            let level = Level::new(c.dim, required_level(cube, c.dim, &c.class_of, 0));
            let absent = || RecordsError::Absent(cube.level_name(level));
            let nodes = self.at(cube, level).ok_or_else(absent)?;
            let dimension = &cube.dimensions[c.dim];
            let mut class = vec![0; level.of(cube).len()];
            for (finest, &node) in dimension.ancestors(dimension.finest(), level.level).iter().enumerate() {
                class[node as usize] = c.class_of[finest] as usize;
            }
            at.iter_mut().zip(nodes).for_each(|(at, n)| *at = *at * c.classes as usize + class[n as usize]);
        }
        Ok(at.into_iter().map(|at| filter.weights.get(at).copied().unwrap_or(0.0) * self.weight).collect())
    }

    /// The figures of every group that a record is in, by the group's nodes.
    fn count(&self, cube: &Cube, query: &Query) -> Result<HashMap<Vec<u32>, Vec<f64>>, RecordsError> {
        let absent = |level: &Level| RecordsError::Absent(cube.level_name(*level));
        let of = |level: &Level| self.at(cube, *level).ok_or_else(|| absent(level));
        let groups: Vec<Vec<u32>> = query.group_by.iter().map(of).collect::<Result<_, _>>()?;
        // Records have categories only.
        if let Some(quantity) = query.aggregates.iter().find_map(|a| a.subject.quantity()) {
            return Err(RecordsError::Absent(quantity.name.clone()));
        }
        let own = Aggregate::rows(query.filter.clone(), None);
        let mut sums: Vec<HashMap<Vec<u32>, f64>> = Vec::new();
        let mut rows: HashMap<Vec<u32>, Vec<f64>> = HashMap::new();
        let key = |record: usize| groups.iter().map(|g| g[record]).collect::<Vec<u32>>();
        let kept = |nodes: &[u32], a: &Aggregate| -> Vec<u32> {
            nodes.iter().enumerate().filter(|(i, _)| a.keeps(*i)).map(|(_, n)| *n).collect()
        };
        let all: Vec<&Aggregate> = query.aggregates.iter().chain([&own]).collect();
        for aggregate in &all {
            let mut sum: HashMap<Vec<u32>, f64> = HashMap::new();
            for (record, weight) in self.weights(cube, &aggregate.filter)?.into_iter().enumerate() {
                let nodes = key(record);
                *sum.entry(kept(&nodes, aggregate)).or_default() += weight;
                rows.entry(nodes).or_default();
            }
            sums.push(sum);
        }
        if groups.is_empty() {
            rows.entry(Vec::new()).or_default();
        }
        for (nodes, figures) in &mut rows {
            let sum = |(a, sums): (&&Aggregate, &HashMap<Vec<u32>, f64>)| {
                sums.get(&kept(nodes, a)).copied().unwrap_or(0.0)
            };
            let values: Vec<f64> = all.iter().zip(&sums).map(sum).collect();
            let own = values.last().copied().unwrap_or(0.0);
            *figures = query
                .columns
                .iter()
                .filter_map(|c| match c {
                    SelectColumn::Count { .. } => Some(own),
                    SelectColumn::Figure { expr, .. } => Some(expr.evaluate(&values)),
                    _ => None,
                })
                .collect();
        }
        Ok(rows)
    }
}

/// The node that a text of a file stands for.
fn node_of(cube: &Cube, level: Level, text: &str) -> Option<u32> {
    let own = level.of(cube);
    let same = |label: &String| label == text || csv_label(label) == text;
    if let Some(node) = own.labels.iter().position(same) {
        return Some(node as u32);
    }
    let x: f64 = text.parse().ok()?;
    let inside = |b: &Option<crate::cube::Bounds>| {
        b.is_some_and(|b| b.lo <= x && (x < b.hi || (x == b.hi && (b.closed || b.lo == b.hi))))
    };
    own.bounds.iter().position(inside).map(|n| n as u32)
}

/// Whether an error says that the release does not know, rather than that the question makes no sense.
fn unknown(error: &QueryError) -> bool {
    matches!(
        error,
        QueryError::Product(_)
            | QueryError::Answer(
                AnswerError::NotHeld { .. }
                    | AnswerError::Recover(RecoverError::NotHeld(_) | RecoverError::NotDetermined(_))
            )
    )
}

/// A question counted among records, beside the release's answer to it.
pub fn beside(
    held: &Tabulated,
    cube: &Cube,
    query: &Query,
    answer: Result<ResultTable, QueryError>,
    level: f64,
) -> Result<ResultTable, RecordsError> {
    let odd =
        query.columns.iter().any(|c| matches!(c, SelectColumn::Quantile { .. } | SelectColumn::Band { .. }));
    if odd || !query.bands.is_empty() {
        return Err(RecordsError::Question);
    }
    let counted = held.count(cube, query)?;
    let (answer, why) = match answer {
        Ok(answer) => (Some(answer), None),
        Err(error) if unknown(&error) => (None, Some(error.to_string())),
        Err(error) => return Err(RecordsError::Query(Box::new(error))),
    };
    let mut columns = Vec::new();
    for c in &query.columns {
        let kind = match c {
            SelectColumn::Group { level, .. } => ColumnKind::of_level(level.of(cube)),
            _ => ColumnKind::Number,
        };
        let name = c.name().to_owned();
        let own = if c.is_label() { name.clone() } else { format!("{name}_records") };
        columns.push(ResultColumn { name: own, kind });
        if !c.is_label() {
            let kind = if answer.is_some() { ColumnKind::Figure } else { ColumnKind::Text };
            columns.push(ResultColumn { name: name.clone(), kind });
            columns.extend(
                answer
                    .is_some()
                    .then(|| ResultColumn { name: format!("{name}_gap"), kind: ColumnKind::Number }),
            );
        }
    }
    let label = |c: &SelectColumn, nodes: &[u32]| match c {
        SelectColumn::Group { index, level, .. } => {
            let own = query.group_by[*index];
            let up = cube.dimensions[level.dimension].ancestors(own.level, level.level);
            level.of(cube).labels[up[nodes[*index] as usize] as usize].clone()
        }
        _ => String::new(),
    };
    let labels = |nodes: &[u32]| -> Vec<String> {
        query.columns.iter().filter(|c| c.is_label()).map(|c| label(c, nodes)).collect()
    };
    let figures = query.columns.len() - query.columns.iter().filter(|c| c.is_label()).count();
    let mut rows = Vec::new();
    match &answer {
        Some(answer) => {
            let by_label: HashMap<Vec<String>, &Vec<f64>> =
                counted.iter().map(|(n, f)| (labels(n), f)).collect();
            let none = vec![0.0; figures];
            for row in &answer.rows {
                let own = row.iter().filter_map(|c| match c {
                    ResultCell::Label(label) => Some(label.clone()),
                    _ => None,
                });
                let own = by_label.get(&own.collect::<Vec<_>>()).map_or(&none, |f| *f);
                rows.push(row_beside(row, own));
            }
        }
        None => {
            let mut sorted: Vec<(&Vec<u32>, &Vec<f64>)> = counted.iter().collect();
            sorted.sort_by_key(|(nodes, _)| *nodes);
            for (nodes, figures) in sorted {
                let mut figures = figures.iter();
                let mut row = Vec::new();
                for c in &query.columns {
                    if c.is_label() {
                        row.push(ResultCell::Label(label(c, nodes)));
                    } else {
                        row.push(ResultCell::Number(figures.next().copied().unwrap_or(f64::NAN)));
                        row.push(ResultCell::Label("not known".into()));
                    }
                }
                rows.push(row);
            }
        }
    }
    let mut out = ResultTable::new(columns, rows, level);
    if let Some(answer) = answer {
        (out.notes, out.caveats) = (answer.notes, answer.caveats);
    }
    out.notes.push(
        "Columns named _records count synthetic records; estimates and intervals are the release's.".into(),
    );
    out.notes.extend(
        why.map(|why| why.replace('\n', "; "))
            .map(|why| format!("The release does not know this, so the records prove nothing here: {why}")),
    );
    Ok(out)
}

/// A row of the release's answer, with the records' figures and their gaps.
fn row_beside(row: &[ResultCell], own: &[f64]) -> Vec<ResultCell> {
    let mut own = own.iter();
    let mut out = Vec::new();
    for cell in row {
        match cell {
            ResultCell::Figure(figure) => {
                let counted = own.next().copied().unwrap_or(f64::NAN);
                out.push(ResultCell::Number(counted));
                out.push(cell.clone());
                out.push(ResultCell::Number(counted - figure.estimate));
            }
            other => out.push(other.clone()),
        }
    }
    out
}
