//! An answer as the page shows it: texts for the table, numbers for the picture.

use margins::render::{self, ColumnKind, ResultCell, ResultTable, ShownColumn};
use margins::{Answer, Options, Release};
use serde_json::{Value, json};

/// So many rows go to the page at once.
const ROWS: usize = 200;
/// Of so many rows a picture can be drawn.
const DRAWN: usize = 1000;
/// A scale of so many categories in their order is drawn as a distribution with a band.
const BAND: usize = 12;

/// The answer that was shown last.
pub struct Answered {
    /// Which of this session's answers it is: the page may have asked something else meanwhile.
    number: u64,
    answer: Answer,
    columns: Vec<ShownColumn>,
}

impl Answered {
    /// Asks, keeps the answer in `last`, and replies with its first rows.
    pub fn ask(
        release: &Release,
        sql: String,
        level: f64,
        last: &mut Option<Answered>,
    ) -> Result<Value, String> {
        let answer = release.ask(&sql, &Options::at(level)).map_err(|e| e.to_string())?;
        let columns = render::shown(answer.table());
        let number = last.as_ref().map_or(0, |l| l.number) + 1;
        let answered = last.insert(Answered { number, answer, columns });
        let mut reply = answered.rows(0);
        if let Value::Object(map) = &mut reply {
            let table = answered.answer.table();
            map.insert("sql".into(), sql.into());
            map.insert("level".into(), table.level.into());
            map.insert("notes".into(), table.told().iter().map(|n| margins::visible::visible(n)).collect());
            map.insert("picture".into(), picture(release, table, &answered.columns));
        }
        Ok(reply)
    }

    /// The last answer, if it is that one.
    pub fn numbered(last: &Option<Answered>, number: u64) -> Result<&Answered, String> {
        last.as_ref()
            .filter(|l| l.number == number)
            .ok_or_else(|| "something else was asked meanwhile: try again".into())
    }

    /// Some rows from a place on.
    pub fn rows(&self, from: usize) -> Value {
        let part = |c: &ShownColumn| {
            let cells: Vec<&String> = c.cells.iter().skip(from).take(ROWS).collect();
            json!({ "header": c.header, "number": c.number, "cells": cells })
        };
        json!({
            "answer": self.number,
            "rows": self.answer.rows().len(),
            "from": from,
            "columns": self.columns.iter().map(part).collect::<Vec<_>>(),
        })
    }

    /// As `margins query --csv` prints it.
    pub fn csv(&self) -> String {
        self.answer.to_csv()
    }
}

/// Whether the labels of a column run up a scale of numbers, so that neighbours in the picture are neighbours.
fn runs(release: &Release, name: &str, labels: &[&str]) -> bool {
    let dimensions = release.dimensions();
    let mut levels = dimensions.iter().flat_map(|d| &d.levels);
    let Some(level) = levels.find(|l| l.name.eq_ignore_ascii_case(name)) else { return false };
    let numeric = |label: &&str| label.starts_with(|c: char| c.is_ascii_digit());
    let places: Option<Vec<usize>> =
        labels.iter().map(|label| level.categories.iter().position(|c| c == label)).collect();
    let mostly = labels.iter().filter(|l| numeric(l)).count() * 10 >= labels.len() * 9;
    mostly && places.is_some_and(|p| p.windows(2).all(|w| w[0] < w[1]))
}

/// What a picture needs: the groups of rows, each a series of points with intervals. `null` where there is nothing to draw.
fn picture(release: &Release, table: &ResultTable, shown: &[ShownColumn]) -> Value {
    let kinds = || table.columns.iter().enumerate();
    let labels: Vec<usize> = kinds()
        .filter(|(_, c)| matches!(c.kind, ColumnKind::Text | ColumnKind::Integer))
        .map(|(i, _)| i)
        .collect();
    let Some((figure, column)) = kinds().find(|(_, c)| c.kind == ColumnKind::Figure) else {
        return Value::Null;
    };
    if table.rows.len() > DRAWN || labels.len() > 2 || table.rows.is_empty() {
        return Value::Null;
    }
    let label = |row: usize, column: Option<&usize>| match column.and_then(|&c| table.rows.get(row)?.get(c)) {
        Some(ResultCell::Label(label)) => label.as_str(),
        _ => "",
    };
    // The figure's texts stand where its column begins among those that are shown.
    let texts = |row: usize| {
        let before = kinds()
            .take(figure)
            .map(|(_, c)| if c.kind == ColumnKind::Figure { 4 } else { 1 })
            .sum::<usize>();
        let text =
            |i: usize| shown.get(before + i).and_then(|c| c.cells.get(row)).cloned().unwrap_or_default();
        [text(0), text(1), text(2), text(3)]
    };
    // One series a group of the first of two columns, in the order in which they come.
    let (group, axis) = match labels[..] {
        [_, _] => (labels.first(), labels.get(1)),
        _ => (None, labels.first()),
    };
    let mut series: Vec<(&str, Vec<usize>)> = Vec::new();
    for row in 0..table.rows.len() {
        let name = label(row, group);
        match series.iter_mut().find(|(n, _)| *n == name) {
            Some((_, rows)) => rows.push(row),
            None => series.push((name, vec![row])),
        }
    }
    let axis_name = axis.and_then(|&a| table.columns.get(a)).map_or("", |c| c.name.as_str());
    let band = series.iter().all(|(_, rows)| {
        let names: Vec<&str> = rows.iter().map(|&row| label(row, axis)).collect();
        names.len() >= BAND && runs(release, axis_name, &names)
    });
    let point = |&row: &usize| {
        let Some(ResultCell::Figure(f)) = table.rows.get(row).and_then(|r| r.get(figure)) else {
            return Value::Null;
        };
        // A bound that is not finite is `null`.
        json!([visible(label(row, axis)), [f.estimate, f.low, f.high], texts(row)])
    };
    let series = series.iter().map(
        |(name, rows)| json!({ "name": visible(name), "points": rows.iter().map(point).collect::<Vec<_>>() }),
    );
    json!({
        "figure": visible(&column.name),
        "axis": visible(axis_name),
        "group": group.and_then(|&g| table.columns.get(g)).map(|c| visible(&c.name)),
        "band": band,
        "series": series.collect::<Vec<_>>(),
    })
}

fn visible(text: &str) -> String {
    margins::visible::visible(text).into_owned()
}
