//! An answer as the page shows it: texts for the table, in the order that readers like, and numbers for the picture.

use crate::picture::picture;
use margins::render::{self, ColumnKind, Naming, ResultCell, ShownColumn};
use margins::{Answer, Description, Options, Release};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};

/// So many rows go to the page at once.
const ROWS: usize = 200;

/// The answer that was shown last.
pub struct Answered {
    /// Which of this session's answers it is: the page may have asked something else meanwhile.
    number: u64,
    answer: Answer,
    columns: Vec<ShownColumn>,
    /// Its rows as they are shown.
    order: Vec<usize>,
    sql: String,
}

/// How a question is asked.
#[derive(Clone, Copy)]
pub struct Manner {
    /// The probability with which each interval covers.
    pub level: f64,
    /// Also the coefficients of variation and their classes.
    pub reliability: bool,
}

impl Answered {
    /// Asks, keeps the answer in `last`, and replies with its first rows. Codes have their labels beside them.
    pub fn ask(
        release: &Release,
        about: &Description,
        sql: String,
        manner: Manner,
        last: &mut Option<Answered>,
    ) -> Result<Value, String> {
        let Manner { level, reliability } = manner;
        let options = Options { naming: Naming::Both, reliability, ..Options::at(level) };
        let answer = release.ask(&sql, &options).map_err(|e| e.to_string())?;
        let columns = render::shown(answer.table());
        let number = last.as_ref().map_or(0, |l| l.number) + 1;
        let order = (0..answer.rows().len()).collect();
        Ok(last.insert(Answered { number, answer, columns, order, sql }).whole(about, false))
    }

    /// The last answer, if it is that one.
    pub fn numbered(last: &mut Option<Answered>, number: u64) -> Result<&mut Answered, String> {
        last.as_mut()
            .filter(|l| l.number == number)
            .ok_or_else(|| "something else was asked meanwhile: try again".into())
    }

    /// Everything that is said of it, with its first rows.
    fn whole(&self, about: &Description, sorted: bool) -> Value {
        let mut reply = self.rows(0);
        if let Value::Object(map) = &mut reply {
            let table = self.answer.table();
            map.insert("sql".into(), self.sql.clone().into());
            map.insert("shown".into(), margins::visible::visible(&self.sql).into());
            map.insert("level".into(), table.level.into());
            map.insert("notes".into(), table.told().iter().map(|n| margins::visible::visible(n)).collect());
            map.insert("picture".into(), picture(about, table, &self.columns, &self.order, sorted));
        }
        reply
    }

    /// Some rows from a place on.
    pub fn rows(&self, from: usize) -> Value {
        let part = |c: &ShownColumn| {
            let rows = self.order.iter().skip(from).take(ROWS);
            let cells: Vec<Option<&String>> = rows.map(|&row| c.cells.get(row)).collect();
            json!({ "header": c.header, "number": c.number, "cells": cells })
        };
        json!({
            "answer": self.number,
            "rows": self.order.len(),
            "from": from,
            "columns": self.columns.iter().map(part).collect::<Vec<_>>(),
        })
    }

    /// Sorts the rows by one of the columns that are shown: categories as their level has them, rows without a number last.
    pub fn sort(&mut self, about: &Description, column: usize, down: bool) -> Result<Value, String> {
        let keys = self.keys(about, column).ok_or("there is no such column")?;
        self.order = (0..keys.len()).collect();
        self.order.sort_by(|&a, &b| {
            let up = keys[a].total_cmp(&keys[b]);
            let nothing = keys[a].is_nan().cmp(&keys[b].is_nan());
            nothing.then(if down { up.reverse() } else { up })
        });
        Ok(self.whole(about, true))
    }

    /// What the rows are sorted by.
    fn keys(&self, about: &Description, shown: usize) -> Option<Vec<f64>> {
        let table = self.answer.table();
        let mut at = 0;
        let (i, part) = table.columns.iter().enumerate().find_map(|(i, c)| {
            let first = at;
            at += width(c.kind);
            (first..at).contains(&shown).then(|| (i, shown - first))
        })?;
        let column = &table.columns[i];
        let cells = || table.rows.iter().map(|row| row.get(i));
        let texts = || cells().map(|c| if let Some(ResultCell::Label(l)) = c { l.as_str() } else { "" });
        let places: HashMap<&str, f64> = match level(about, &column.name) {
            Some(level) => level.categories.iter().map(String::as_str).zip((0..).map(f64::from)).collect(),
            None => texts().collect::<BTreeSet<_>>().into_iter().zip((0..).map(f64::from)).collect(),
        };
        let key = |cell: Option<&ResultCell>| match cell {
            Some(ResultCell::Label(label)) if column.kind == ColumnKind::Integer => label.parse().ok(),
            Some(ResultCell::Label(label)) => places.get(label.as_str()).copied(),
            Some(ResultCell::Figure(f)) => [f.estimate, f.std_error, f.low, f.high].get(part).copied(),
            Some(ResultCell::Number(number)) => Some(*number),
            None => None,
        };
        Some(cells().map(|cell| key(cell).unwrap_or(f64::NAN)).collect())
    }

    /// As `margins query --labels --csv` prints it.
    pub fn csv(&self) -> String {
        self.answer.to_csv()
    }
}

/// In how many columns a column is shown.
pub(crate) fn width(kind: ColumnKind) -> usize {
    if kind == ColumnKind::Figure { 4 } else { 1 }
}

/// The level of that name.
pub(crate) fn level<'a>(about: &'a Description, name: &str) -> Option<&'a margins::describe::Categories> {
    let mut levels = about.dimensions.iter().flat_map(|d| &d.levels);
    levels.find(|l| l.name.eq_ignore_ascii_case(name))
}
