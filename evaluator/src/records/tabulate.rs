//! Tabulations of records beside what the release knows of them.
//!
//! The same question is counted among the records and answered by the release, where it can: estimate, interval, and the gap between the two. For a cell of a
//! released table the truth is within the interval, so the records miss it by at most the margin and the gap. Where the release cannot answer, nothing is known of
//! how far the records are off, and the answer says so.

use super::{RecordsError, targets};
use crate::answer::{AnswerError, Options, QueryError, Several};
use crate::cube::{Cube, Level, Quantity, Summand, required_level};
use crate::recover::RecoverError;
use crate::render::{ColumnKind, ResultCell, ResultColumn, ResultTable, csv_label};
use crate::sql::{Aggregate, Expr, Present, Query, SelectColumn};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

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
    /// What each record has of an amount: where it has a value the distance from the middle, in halves of a step.
    amounts: Vec<(Arc<Quantity>, Vec<Option<f64>>)>,
    rows: usize,
    weight: f64,
}

impl Tabulated {
    /// Looks the columns of a file up in its releases; each record counts `weight`. A file without the dimensions of the releases' tables is refused.
    pub fn new(of: &Several, read: &[Read], weight: f64) -> Result<Tabulated, RecordsError> {
        let cube = of.releases().first().ok_or(RecordsError::Nothing)?.cube();
        let (quantities, _) = super::amounts::quantities(of);
        let names = super::amounts::names(cube, &quantities);
        let mut amounts = Vec::new();
        let mut columns: Vec<Option<(Level, Vec<u32>)>> = cube.dimensions.iter().map(|_| None).collect();
        for column in read {
            if let Some(at) =
                names.iter().position(|name| csv_label(name) == column.name || *name == column.name)
            {
                amounts.push((quantities[at].clone(), halves(&quantities[at], column)?));
                continue;
            }
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
        let (told, _) = targets::asked(of.releases())?;
        if let Some(absent) = told.iter().flat_map(|c| c.iter()).find(|l| columns[l.dimension].is_none()) {
            return Err(RecordsError::NoColumn(cube.level_name(absent)));
        }
        Ok(Tabulated { columns, amounts, rows: read.first().map_or(0, |c| c.which.len()), weight })
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

    /// What each record adds to an aggregate, as if it stood for one.
    fn weights(&self, cube: &Cube, of: &Aggregate) -> Result<Vec<f64>, RecordsError> {
        let filter = &of.filter;
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
        let mut weights: Vec<f64> =
            at.into_iter().map(|at| filter.weights.get(at).copied().unwrap_or(0.0)).collect();
        if let Some(quantity) = of.subject.quantity() {
            let own = self.amounts.iter().find(|(known, _)| known.is_alike(quantity));
            let (_, halves) = own.ok_or_else(|| RecordsError::Absent(quantity.name.clone()))?;
            let square = quantity.square_reach() as f64;
            for (weight, t) in weights.iter_mut().zip(halves) {
                *weight *= match (t, &of.subject) {
                    (Some(t), Summand::Sum(_)) => *t,
                    (Some(t), Summand::Squares(_)) => 2.0 * t * t - square,
                    (Some(_), Summand::Valued(_) | Summand::Rows) => 1.0,
                    (None, _) => 0.0,
                };
            }
        }
        Ok(weights)
    }

    /// What the figures of groups are made of.
    fn count<'q>(&self, cube: &Cube, query: &'q Query) -> Result<Counted<'q>, RecordsError> {
        let absent = |level: &Level| RecordsError::Absent(cube.level_name(*level));
        let of = |level: &Level| self.at(cube, *level).ok_or_else(|| absent(level));
        let groups: Vec<Vec<u32>> = query.group_by.iter().map(of).collect::<Result<_, _>>()?;
        let own = Aggregate::rows(query.filter.clone(), None);
        let mut sums = Vec::new();
        for aggregate in query.aggregates.iter().chain([&own]) {
            let kept: Vec<usize> = (0..groups.len()).filter(|i| aggregate.keeps(*i)).collect();
            let mut sum: HashMap<Vec<u32>, f64> = HashMap::new();
            for (record, add) in self.weights(cube, aggregate)?.into_iter().enumerate() {
                *sum.entry(kept.iter().map(|&i| groups[i][record]).collect()).or_default() += add;
            }
            sums.push((kept, sum));
        }
        let mut found: BTreeSet<Vec<u32>> =
            (0..self.rows).map(|record| groups.iter().map(|g| g[record]).collect()).collect();
        if groups.is_empty() {
            found.insert(Vec::new());
        }
        // Groups that WHERE leaves nothing of are no rows, as of any answer.
        let present = Present::new(&query.filter, &query.group_by, cube);
        found.retain(|nodes| present.holds(nodes));
        Ok(Counted { query, sums, found, weight: self.weight })
    }
}

/// A question counted among records.
struct Counted<'q> {
    query: &'q Query,
    /// For each aggregate, and at last for COUNT(*), the groups that it keeps to, and its values as if each record stood for one.
    sums: Vec<(Vec<usize>, HashMap<Vec<u32>, f64>)>,
    /// The groups that a record is in.
    found: BTreeSet<Vec<u32>>,
    weight: f64,
}

impl Counted<'_> {
    /// The figures of a group, whether or not a record is in it: NaN for a quotient of nothing, which is no number.
    fn figures(&self, nodes: &[u32]) -> Vec<f64> {
        let value = |(kept, sum): &(Vec<usize>, HashMap<Vec<u32>, f64>)| {
            let own: Vec<u32> = kept.iter().filter_map(|&i| nodes.get(i).copied()).collect();
            sum.get(&own).copied().unwrap_or(0.0) * self.weight
        };
        let values: Vec<f64> = self.sums.iter().map(value).collect();
        let own = values.last().copied().unwrap_or(0.0);
        let figure = |c: &SelectColumn| match c {
            SelectColumn::Count { .. } => Some(own),
            SelectColumn::Figure { expr, .. } => {
                let told = told(expr, &values).map(|(value, _)| value);
                Some(told.filter(|value| value.is_finite()).unwrap_or(f64::NAN))
            }
            _ => None,
        };
        let rounded = |(at, c)| figure(c).map(|value| self.query.round(at, value, libm::round));
        self.query.columns.iter().enumerate().filter_map(rounded).collect()
    }
}

/// A figure, and the size of what it was added up from; nothing where it divides by zero, as SQL has it.
fn told(expr: &Expr, values: &[f64]) -> Option<(f64, f64)> {
    /// What is left of a sum by rounding alone is nothing.
    const TRACE: f64 = 1e-12;
    let both = |a: &Expr, b: &Expr| Some((told(a, values)?, told(b, values)?));
    Some(match expr {
        Expr::Aggregate(at) => values.get(*at).map(|v| (*v, v.abs()))?,
        Expr::Number(value) => (*value, value.abs()),
        Expr::Add(a, b) => both(a, b).map(|((a, x), (b, y))| (a + b, x + y))?,
        Expr::Sub(a, b) => both(a, b).map(|((a, x), (b, y))| (a - b, x + y))?,
        Expr::Mul(a, b) => both(a, b).map(|((a, x), (b, y))| (a * b, x * y))?,
        Expr::Div(a, b) => {
            let ((a, x), (b, y)) = both(a, b)?;
            (b.abs() > TRACE * y).then(|| (a / b, x / b.abs()))?
        }
        Expr::Neg(a) => told(a, values).map(|(a, x)| (-a, x))?,
        Expr::Root(a) => told(a, values).map(|(a, x)| (libm::sqrt(a.max(0.0)), libm::sqrt(x)))?,
    })
}

/// What each record of a file has of an amount, from the middle, in halves of a step; nothing where the cell is empty.
fn halves(quantity: &Quantity, column: &Read) -> Result<Vec<Option<f64>>, RecordsError> {
    let one = |text: &String| -> Result<Option<f64>, RecordsError> {
        if text.is_empty() {
            return Ok(None);
        }
        let value = text.parse::<f64>().ok().filter(|x| quantity.low() <= *x && *x <= quantity.high());
        let strange = || RecordsError::Category { column: column.name.clone(), text: text.clone() };
        value.map(|x| Some(((x - quantity.origin()) / quantity.grain()).round())).ok_or_else(strange)
    };
    let texts = column.texts.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    Ok(column.which.iter().map(|&which| texts[which as usize]).collect())
}

/// The node that a text of a file stands for.
pub(super) fn node_of(cube: &Cube, level: Level, text: &str) -> Option<u32> {
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

/// A question counted among records, beside the answer of their releases to it.
pub fn beside(
    held: &Tabulated,
    of: &Several,
    sql: &str,
    asked: &Options,
) -> Result<ResultTable, RecordsError> {
    let wrong = |error: QueryError| RecordsError::Query(Box::new(error));
    let cube = of.releases().first().ok_or(RecordsError::Nothing)?.cube();
    // An amount may be one of the releases' alone.
    let mut read = of.read(sql);
    let at = read.iter().position(Result::is_ok).unwrap_or(0);
    let query = &read.swap_remove(at).map_err(wrong)?;
    let answer = of.select(sql, asked);
    let odd = query.has_quantiles() || query.has_ranks();
    if odd || !query.bands.is_empty() || query.sets.len() > 1 {
        return Err(RecordsError::Question);
    }
    let counted = held.count(cube, query)?;
    let (answer, why) = match answer {
        Ok(answer) => (Some(answer), None),
        Err(error) if unknown(&error) => (None, Some(error.to_string())),
        Err(error) => return Err(wrong(error)),
    };
    let columns = columns(cube, query, answer.is_some());
    let node = |c: &SelectColumn, nodes: &[u32]| match c {
        SelectColumn::Group { index, level, .. } => {
            let own = query.group_by[*index];
            let up = cube.dimensions[level.dimension].ancestors(own.level, level.level);
            Some((level.of(cube), up[nodes[*index] as usize]))
        }
        _ => None,
    };
    let label = |c: &SelectColumn, nodes: &[u32]| {
        node(c, nodes).map_or(String::new(), |(level, node)| level.labels[node as usize].clone())
    };
    let labels = |nodes: &[u32]| -> Vec<String> {
        query.columns.iter().filter(|c| c.is_label()).map(|c| label(c, nodes)).collect()
    };
    let mut rows = Vec::new();
    match &answer {
        Some(answer) => {
            let by_label: HashMap<Vec<String>, &Vec<u32>> =
                counted.found.iter().map(|nodes| (labels(nodes), nodes)).collect();
            let named = named(cube, query)?;
            for row in &answer.rows {
                let own: Vec<&str> = row
                    .iter()
                    .filter_map(|c| match c {
                        ResultCell::Label(label) => Some(label.as_str()),
                        _ => None,
                    })
                    .collect();
                // A group that no record is in is found by its labels.
                let of = |(at, nodes): &(usize, HashMap<&str, u32>)| nodes.get(own.get(*at)?).copied();
                let found = by_label.get(&own.iter().map(|l| (*l).to_owned()).collect::<Vec<_>>());
                let nodes = found.map(|n| (*n).clone()).or_else(|| named.iter().map(of).collect());
                let figures = nodes.map_or(Vec::new(), |nodes| counted.figures(&nodes));
                rows.push(row_beside(row, &figures));
            }
        }
        None => {
            let mut all = Vec::new();
            for nodes in &counted.found {
                let figures = counted.figures(nodes);
                let mut figures = figures.iter();
                let (mut row, mut keys) = (Vec::new(), Vec::new());
                for c in &query.columns {
                    if c.is_label() {
                        keys.push(node(c, nodes).map_or(0.0, |(_, node)| f64::from(node)));
                        row.push(ResultCell::Label(label(c, nodes)));
                    } else {
                        let figure = figures.next().copied().unwrap_or(f64::NAN);
                        keys.push(figure);
                        row.push(ResultCell::Number(figure));
                        row.push(ResultCell::Label("not known".into()));
                    }
                }
                all.push((keys, row));
            }
            rows = query.shown(all);
        }
    }
    let mut out = ResultTable::new(columns, rows, asked.level);
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

/// The columns of such a table: beside what records say stands what the release tells, if that is `known`, and the gap.
fn columns(cube: &Cube, query: &Query, known: bool) -> Vec<ResultColumn> {
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
            let kind = if known { ColumnKind::Figure } else { ColumnKind::Text };
            columns.push(ResultColumn { name: name.clone(), kind });
            columns.extend(
                known.then(|| ResultColumn { name: format!("{name}_gap"), kind: ColumnKind::Number }),
            );
        }
    }
    columns
}

/// For each level of GROUP BY the label of a row that names it, and its nodes by their labels.
fn named<'c>(cube: &'c Cube, query: &Query) -> Result<Vec<(usize, HashMap<&'c str, u32>)>, RecordsError> {
    let labels = || query.columns.iter().filter(|c| c.is_label());
    let one = |(i, by): (usize, &Level)| {
        let own = |c: &SelectColumn| matches!(c, SelectColumn::Group { index, level, .. } if *index == i && level == by);
        let at = labels().position(own).ok_or_else(|| RecordsError::Unnamed(cube.level_name(*by)))?;
        Ok((at, by.of(cube).labels.iter().map(String::as_str).zip(0..).collect()))
    };
    query.group_by.iter().enumerate().map(one).collect()
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
                let gap = counted - figure.estimate;
                out.push(ResultCell::Number(if gap.is_finite() { gap } else { f64::NAN }));
            }
            other => out.push(other.clone()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also where a divisor is nothing but what rounding left of a sum, and within a figure that would hide it.
    #[test]
    fn a_quotient_of_nothing_is_no_number() {
        let a = |at| Box::new(Expr::Aggregate(at));
        let by = |x| Box::new(Expr::Number(x));
        let mean = || Box::new(Expr::Div(a(0), a(1)));
        assert_eq!(told(&mean(), &[6.0, 2.0]).map(|t| t.0), Some(3.0));
        assert_eq!(told(&mean(), &[6.0, 0.0]), None);
        assert_eq!(told(&mean(), &[0.0, 0.0]), None);
        for hidden in
            [Expr::Root(mean()), Expr::Div(by(1.0), mean()), Expr::Neg(mean()), Expr::Add(by(1.0), mean())]
        {
            assert_eq!(told(&hidden, &[6.0, 0.0]), None, "{hidden:?}");
        }
        // Weights from 0 to 8 in hundredths, kept as distances from 4 in halves of a step: all of them 0.
        let weights = |halves, rows| {
            let sum = Expr::Add(Box::new(Expr::Mul(by(0.005), a(0))), Box::new(Expr::Mul(by(4.0), a(1))));
            told(&Expr::Div(a(1), Box::new(sum)), &[halves, rows])
        };
        for rows in [3.0, 7.0, 1e6, 12_345_678.9] {
            assert_eq!(weights(-800.0 * rows, rows), None, "{rows}");
            assert!(weights(-800.0 * rows + 2.0, rows).is_some(), "one of {rows} has a weight");
        }
    }
}
