//! Parts of days: `EXTRACT(MONTH FROM day)`, `DATE_PART('month', day)`, `MONTH(day)`, `DATE_TRUNC('month', day)`.
//!
//! Each category of a level of days has one part, so a condition on parts is a set of categories, and a part that is grouped by is a band of them:
//! sums over days, like those of any level.

use super::bands::{self, Bands};
use super::error::SqlError;
use super::literal::{Comparison, Literal, literal, number};
use super::names::{Column, Names, quoted};
use super::tree::{Args, Expr, Node};
use super::truth::Truth;
use crate::calendar;
use crate::cube::Filter;

/// A part of the days of a level.
pub(super) struct Dated {
    pub column: Column,
    /// For each node its part, or the first day of its period; `None` where it is no day.
    keys: Vec<Option<i64>>,
    /// Whether the keys are days.
    is_day: bool,
}

/// What parts there are.
const PARTS: &str = "YEAR, QUARTER, MONTH, WEEK, DAY, DOW, ISODOW, DOY";

/// A part of a day, as SQL counts it: weeks are those of ISO 8601, DOW begins with 0 for Sunday, ISODOW with 1 for Monday.
fn part(word: &str, day: i64) -> Option<i64> {
    let (year, month, of_month) = calendar::civil(day);
    let weekday = (day + 3).rem_euclid(7);
    Some(match word {
        "YEAR" => year,
        "QUARTER" => i64::from(month.div_ceil(3)),
        "MONTH" => month.into(),
        "WEEK" => {
            let thursday = day - weekday + 3;
            (thursday - calendar::day(calendar::civil(thursday).0, 1, 1)?) / 7 + 1
        }
        "DAY" => of_month.into(),
        "DOW" => (weekday + 1) % 7,
        "ISODOW" => weekday + 1,
        "DOY" => day - calendar::day(year, 1, 1)? + 1,
        _ => return None,
    })
}

/// The first day of the period that a day is in.
fn begin(word: &str, day: i64) -> Option<i64> {
    let (year, month, _) = calendar::civil(day);
    match word {
        "YEAR" => calendar::day(year, 1, 1),
        "QUARTER" => calendar::day(year, 3 * month.div_ceil(3) - 2, 1),
        "MONTH" => calendar::day(year, month, 1),
        "WEEK" => Some(day - (day + 3).rem_euclid(7)),
        "DAY" => Some(day),
        _ => None,
    }
}

impl Names<'_> {
    /// What an expression takes of days; `None` where it is something else.
    pub(super) fn dated(&self, expr: &Expr) -> Option<Result<Dated, SqlError>> {
        let function = match &expr.node {
            Node::Nested(inner) => return self.dated(inner),
            Node::Function(function) => function,
            _ => return None,
        };
        let Args::List(args) = &function.args else { return None };
        let name = function.name.to_uppercase();
        let (word, of) = match &args[..] {
            [one] => (name.clone(), one),
            [Expr { node: Node::Text(word), .. }, of] => (word.to_uppercase(), of),
            _ => return None,
        };
        let is_day = match (&*name, args.len()) {
            ("DATE_TRUNC", 2) => true,
            ("EXTRACT" | "DATE_PART", 2) => false,
            (_, 1) if part(&name, 0).is_some() => false,
            _ => return None,
        };
        let plain = function.over.is_none() && function.filter.is_none() && function.duplicates.is_none();
        plain.then(|| self.parts(&word, is_day, of, expr))
    }

    fn parts(&self, word: &str, is_day: bool, of: &Expr, expr: &Expr) -> Result<Dated, SqlError> {
        let key = if is_day { begin } else { part };
        if key(word, 0).is_none() {
            let possible = if is_day { "YEAR, QUARTER, MONTH, WEEK, DAY" } else { PARTS };
            return Err(SqlError::new(format!("days have no part {word}"))
                .at(expr.span())
                .help(format!("possible are {possible}")));
        }
        let column = self.column(of).transpose()?;
        let days = |c: &Column| self.cube.dimensions.get(c.dim).is_some_and(|d| d.is_of_days());
        let column = column.filter(days).ok_or_else(|| {
            SqlError::new(format!("{of} has no days"))
                .at(of.span())
                .help("parts of days are those of a dimension of `dates`, or of a level of one")
        })?;
        let of_node = |label: &String| {
            let Some((first, last)) = calendar::span(label) else { return Ok(None) };
            let own = key(word, first);
            match (first..=last).all(|day| key(word, day) == own) {
                true => Ok(own),
                false => Err(SqlError::new(format!(
                    "{} {label} has days of more than one {word}",
                    self.name(column)
                ))
                .at(expr.span())
                .help(format!("take it of {}", quoted(&self.cube.dimensions[column.dim].name)))),
            }
        };
        let keys = self.level(column).labels.iter().map(of_node).collect::<Result<_, _>>()?;
        Ok(Dated { column, keys, is_day })
    }
}

impl Dated {
    /// Where a test of the part holds; of what is no day nobody knows.
    fn meets(&self, names: &Names, test: impl Fn(f64) -> bool) -> Result<Truth, SqlError> {
        let members = self.keys.iter().map(|key| key.is_some_and(|key| test(key as f64)));
        names.ordered(self.column, members.collect())
    }

    /// What the part is compared with.
    fn value(&self, expr: &Expr) -> Result<f64, SqlError> {
        let value = literal(expr).and_then(|value| match value {
            Literal::Text(text) if self.is_day => calendar::span(&text).map(|(first, _)| first as f64),
            Literal::Text(text) => number(&text),
            Literal::Number(value, _) if !self.is_day => Some(value),
            _ => None,
        });
        let what = if self.is_day { "a day, such as DATE '2024-03-01'" } else { "a number" };
        value.ok_or_else(|| SqlError::new(format!("this is compared with {what}")).at(expr.span()))
    }

    /// Where it compares so with a literal.
    pub(super) fn compared(&self, names: &Names, how: Comparison, with: &Expr) -> Result<Truth, SqlError> {
        let value = self.value(with)?;
        self.meets(names, |key| how.holds(key, value))
    }

    /// Where it is one of some literals.
    pub(super) fn among(&self, names: &Names, list: &[Expr]) -> Result<Truth, SqlError> {
        let values: Vec<f64> = list.iter().map(|one| self.value(one)).collect::<Result<_, _>>()?;
        self.meets(names, |key| values.contains(&key))
    }

    /// Where it is from one literal to another.
    pub(super) fn between(&self, names: &Names, low: &Expr, high: &Expr) -> Result<Truth, SqlError> {
        let (low, high) = (self.value(low)?, self.value(high)?);
        self.meets(names, |key| (low..=high).contains(&key))
    }

    /// A band for each part, in their order, and after them one for each category that is no day.
    pub(super) fn bands<'a>(
        &self,
        expr: &'a Expr,
        alias: Option<&'a str>,
        names: &Names,
    ) -> Result<Bands<'a>, SqlError> {
        let labels = &names.level(self.column).labels;
        let order = |node: &usize| (self.keys[*node].is_none(), self.keys[*node]);
        let mut nodes: Vec<usize> = (0..labels.len()).collect();
        nodes.sort_by_key(order);
        let groups = || nodes.chunk_by(|a, b| order(a) == order(b) && self.keys[*a].is_some());
        // Each takes a filter of all categories.
        if groups().count() > bands::MOST {
            return Err(SqlError::new(bands::most()).at(expr.span()).help(bands::FEWER));
        }
        let mut each: Vec<(String, Filter)> = Vec::new();
        for group in groups() {
            let label = match group.first().and_then(|&node| self.keys[node]) {
                Some(key) if self.is_day => calendar::written(key),
                Some(key) => key.to_string(),
                None => group.first().map_or(String::new(), |&node| labels[node].clone()),
            };
            let mut members = vec![false; labels.len()];
            group.iter().for_each(|&node| members[node] = true);
            each.push((label, names.finest(self.column, members)));
        }
        Ok(Bands { expr, alias, truths: Vec::new(), each })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against Postgres and DuckDB, whose answers these are.
    #[test]
    fn parts_of_days() {
        for (day, week, dow, isodow, doy, monday) in [
            ("2024-12-30", 1, 1, 1, 365, "2024-12-30"),
            ("2021-01-03", 53, 0, 7, 3, "2020-12-28"),
            ("2020-02-29", 9, 6, 6, 60, "2020-02-24"),
            ("1969-12-31", 1, 3, 3, 365, "1969-12-29"),
        ] {
            let at = calendar::read(day.as_bytes()).unwrap();
            let parts = ["WEEK", "DOW", "ISODOW", "DOY"].map(|word| part(word, at).unwrap());
            assert_eq!(parts, [week, dow, isodow, doy], "{day}");
            assert_eq!(calendar::written(begin("WEEK", at).unwrap()), monday, "{day}");
        }
        let may = calendar::read(b"2024-05-17").unwrap();
        let begins = ["YEAR", "QUARTER", "MONTH", "DAY"].map(|w| calendar::written(begin(w, may).unwrap()));
        assert_eq!(begins, ["2024-01-01", "2024-04-01", "2024-05-01", "2024-05-17"]);
        assert_eq!(["YEAR", "QUARTER", "MONTH", "DAY"].map(|w| part(w, may)), [2024, 2, 5, 17].map(Some));
    }
}
