//! What a picture of an answer needs: the groups of rows, each a series of points with intervals.

use crate::columns::{level, width};
use margins::Description;
use margins::describe::Dimension;
use margins::render::{ColumnKind, ResultCell, ResultTable, ShownColumn};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Of so many rows a picture can be drawn.
const DRAWN: usize = 4000;
/// A scale of so many steps in their order is drawn as a distribution with a band.
const BAND: usize = 12;
/// So many categories may stand beside a scale: those for missing and other values.
const APART: usize = 3;

/// The columns of labels: each with that of what people call them, where there is one.
fn labelled(about: &Description, table: &ResultTable) -> Vec<(usize, Option<usize>)> {
    let mut out: Vec<(usize, Option<usize>)> = Vec::new();
    for (i, column) in table.columns.iter().enumerate() {
        let class = column.name.ends_with("reliability") && level(about, &column.name).is_none();
        if class || !matches!(column.kind, ColumnKind::Text | ColumnKind::Integer) {
            continue;
        }
        match out.last_mut() {
            Some((_, beside)) if table.labels.contains(&i) => *beside = Some(i),
            _ => out.push((i, None)),
        }
    }
    out
}

/// Whether a dimension is one of time.
fn is_time(dimension: &Dimension) -> bool {
    let day = |text: &String| {
        let bytes = text.as_bytes();
        bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-' && bytes[0].is_ascii_digit()
    };
    let finest = dimension.levels.first().and_then(|l| l.categories.first());
    finest.is_some_and(day)
}

/// How many of these categories run up a scale of numbers or days, where those are enough for a band; few others may follow them.
fn run(places: &HashMap<&str, usize>, codes: &[&str]) -> Option<usize> {
    let on_scale = |code: &&&str| code.contains(|c: char| c.is_ascii_digit());
    let apart = codes.iter().rev().take_while(|code| !on_scale(code)).count();
    let run = &codes[..codes.len() - apart];
    let at: Option<Vec<usize>> = run.iter().map(|code| places.get(code).copied()).collect();
    let rises = at.is_some_and(|at| at.windows(2).all(|w| w[0] < w[1]));
    (apart <= APART && run.len() >= BAND && rises).then_some(run.len())
}

/// A column of labels, and that of what people call them.
type Named = (usize, Option<usize>);

/// An answer that can be drawn.
struct Drawing<'a> {
    table: &'a ResultTable,
    shown: &'a [ShownColumn],
    /// One series a group of the first of two columns of labels, along the second.
    group: Option<Named>,
    axis: Option<Named>,
    figure: usize,
    /// Whether the axis is a scale of numbers or of time.
    scale: bool,
    /// The places of the axis's categories in their level.
    places: HashMap<&'a str, usize>,
}

/// `null` where there is nothing to draw. Rows are drawn in this order, but scales run as they do.
pub fn picture(
    about: &Description,
    table: &ResultTable,
    shown: &[ShownColumn],
    order: &[usize],
    sorted: bool,
) -> Value {
    let labels = labelled(about, table);
    let (group, axis) = match labels[..] {
        [] => (None, None),
        [axis] => (None, Some(axis)),
        [group, axis] => (Some(group), Some(axis)),
        _ => return Value::Null,
    };
    let figure = table.columns.iter().position(|c| c.kind == ColumnKind::Figure);
    let Some(figure) = figure.filter(|_| (1..=DRAWN).contains(&table.rows.len())) else { return Value::Null };
    let level = axis.and_then(|(c, _)| level(about, &table.columns[c].name));
    let categories = level.map_or(&[][..], |l| &l.categories);
    let time = |d: &Dimension| is_time(d) && d.levels.iter().any(|l| Some(&l.name) == level.map(|l| &l.name));
    let scale = level.is_some_and(|l| l.numeric || about.dimensions.iter().any(time));
    let places = categories.iter().enumerate().map(|(i, c)| (c.as_str(), i)).collect();
    Drawing { table, shown, group, axis, figure, scale, places }.drawn(order, sorted)
}

impl Drawing<'_> {
    fn text(&self, row: usize, column: usize) -> &str {
        match self.table.rows.get(row).and_then(|r| r.get(column)) {
            Some(ResultCell::Label(label)) => label,
            _ => "",
        }
    }

    fn code(&self, row: usize, column: Option<Named>) -> &str {
        column.map_or("", |(code, _)| self.text(row, code))
    }

    /// What people call it; its code where they do not.
    fn called(&self, row: usize, column: Option<Named>) -> String {
        let label = column.and_then(|c| c.1).map_or("", |beside| self.text(row, beside));
        visible(if label.is_empty() { self.code(row, column) } else { label })
    }

    fn name(&self, column: Option<Named>) -> &str {
        column.and_then(|(code, _)| self.table.columns.get(code)).map_or("", |c| &c.name)
    }

    /// Label, numbers, texts, and the place of the category. A bound that is not finite is `null`, and so is the place of what is no category of a level.
    fn point(&self, row: usize) -> Value {
        let Some(ResultCell::Figure(f)) = self.table.rows.get(row).and_then(|r| r.get(self.figure)) else {
            return Value::Null;
        };
        // The figure's texts stand where its column begins among those that are shown.
        let before: usize = self.table.columns.iter().take(self.figure).map(|c| width(c.kind)).sum();
        let part = |i: usize| self.shown.get(before + i).and_then(|c| c.cells.get(row));
        let texts = [part(0), part(1), part(2), part(3)];
        let place = self.places.get(self.code(row, self.axis));
        json!([self.called(row, self.axis), [f.estimate, f.low, f.high], texts, place])
    }

    /// The rows of each group, in the order in which they come.
    fn series(&self, order: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
        let (mut series, mut at): (Vec<Vec<usize>>, HashMap<&str, usize>) = Default::default();
        for row in order {
            let own = *at.entry(self.code(row, self.group)).or_insert(series.len());
            if own == series.len() {
                series.push(Vec::new());
            }
            series[own].push(row);
        }
        series
    }

    /// How many rows of each series are steps of a scale, if it is one.
    fn steps(&self, series: &[Vec<usize>]) -> Option<Vec<usize>> {
        let codes = |rows: &Vec<usize>| rows.iter().map(|&row| self.code(row, self.axis)).collect::<Vec<_>>();
        series.iter().map(|rows| run(&self.places, &codes(rows)).filter(|_| self.scale)).collect()
    }

    fn drawn(&self, order: &[usize], sorted: bool) -> Value {
        let own = self.series(0..self.table.rows.len());
        let steps = self.steps(&own);
        let series = if steps.is_some() { own } else { self.series(order.iter().copied()) };
        let one = |(i, rows): (usize, &Vec<usize>)| {
            let (points, apart) = rows.split_at(steps.as_ref().map_or(rows.len(), |n| n[i]));
            let of = |rows: &[usize]| rows.iter().map(|&row| self.point(row)).collect::<Vec<_>>();
            let name = rows.first().map_or(String::new(), |&row| self.called(row, self.group));
            json!({ "name": name, "points": of(points), "apart": of(apart) })
        };
        json!({
            "figure": visible(&self.table.columns[self.figure].name),
            "axis": visible(self.name(self.axis)),
            "group": self.group.map(|_| visible(self.name(self.group))),
            "scale": steps.is_some(),
            "sorted": sorted,
            "series": series.iter().enumerate().map(one).collect::<Vec<_>>(),
        })
    }
}

fn visible(text: &str) -> String {
    margins::visible::visible(text).into_owned()
}
