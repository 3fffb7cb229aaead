//! `rows` of `[strategy]`: the agency's own linear queries, from a CSV or a Matrix Market file.
//!
//! Coefficients are whole numbers: counts and noise are, so that nothing is rounded between the data and the release. Lines can
//! be thousands of numbers long, so mistakes are told by line and column, not shown.

use super::Files;
use super::diagnostic::{Diagnostic, Sink};
use super::dimension::DeclaredDimension;
use super::keys::{Keys, Shape, required};
use super::matrix_market::{self, SHOWN, Wrong};
use super::named::{DimensionNames, level_list};
use super::read::{self, Fields};
use crate::cube::Cuboid;
use crate::plan::{Measure, Rows};
use std::path::Path;

/// The keys of `rows`.
pub(super) const KEYS: Keys = Keys {
    what: "Linear queries with whole factors.",
    keys: &[
        required("file", Shape::Text, "the file, relative to the spec: `.csv`, or `.mtx` in coordinate form"),
        required(
            "of",
            Shape::AnyList(&Shape::Text),
            "the table whose cells are the columns, the last dimension fastest",
        ),
    ],
    one_of: &[],
    rules: "{}",
};

/// The most cells of the table that rows are about.
const MOST_CELLS: u64 = 1 << 20;
/// The most rows.
const MOST_ROWS: usize = 1 << 16;
/// The most coefficients that are not zero.
const MOST_FACTORS: usize = 1 << 24;

/// Reads the rows of a strategy's table. They go with `matrix`, or with `auto`, which then looks at them too.
pub(super) fn read(
    strategy: &Fields<'_, '_>,
    measure: Option<Option<Measure>>,
    dimensions: Option<&[DeclaredDimension]>,
    files: &mut Files<'_>,
    sink: &mut Sink,
) -> Option<Option<Rows>> {
    let Some(value) = strategy.get("rows") else {
        if measure == Some(Some(Measure::Matrix)) {
            let example = "`rows = { file = \"rows.csv\", of = [\"sex\", \"age\"] }`: the queries to measure";
            strategy.require("rows", example, sink);
            return None;
        }
        return Some(None);
    };
    if let Some(Some(other)) = measure
        && other != Measure::Matrix
    {
        let span = strategy.key_span("rows").unwrap_or(value.span());
        sink.push(
            Diagnostic::at(span, format!("`rows` with `measure = \"{}\"`", other.name()))
                .label("only \"matrix\" measures them, and \"auto\" where they are best")
                .help("write `measure = \"matrix\"`, or leave `rows` out".to_owned()),
        );
        return None;
    }
    let fields = Fields::open(value, "`rows`", &KEYS, sink)?;
    let file = fields
        .require("file", "`file = \"rows.csv\"`, relative to this file", sink)
        .and_then(|v| Some((read::text(v, "`file`", sink)?, v.span())));
    let of = fields
        .require("of", "`of = [\"sex\", \"age\"]`: the table whose cells the columns are", sink)
        .and_then(|v| Some((v.span(), level_list(v, "`of`", &DimensionNames::new(dimensions?), sink)?)));
    let ((path, said_at), (of_span, of)) = (file?, of?);
    let cells = of.iter().try_fold(1u64, |n, at| {
        let dimension = &dimensions?.get(at.dimension)?.built.as_ref()?.0;
        n.checked_mul(dimension.levels.get(at.level)?.len() as u64)
    });
    let Some(cells) = cells.filter(|&n| n <= MOST_CELLS) else {
        sink.push(
            Diagnostic::at(of_span, "the table has too many cells for rows")
                .label(format!("must be at most {MOST_CELLS}")),
        );
        return None;
    };
    let read: fn(&str, usize) -> Result<Coefficients, Vec<Wrong>> =
        match Path::new(path).extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("csv") => csv,
            Some("mtx") => matrix_market,
            _ => {
                sink.push(
                    Diagnostic::at(said_at, "the format of the rows is not clear from the file's name")
                        .label("ends in neither .csv nor .mtx"),
                );
                return None;
            }
        };
    let bytes = match files.read(path) {
        Ok(bytes) => bytes,
        Err(e) => {
            sink.push(Diagnostic::at(said_at, format!("cannot read `{path}`")).label(e.to_string()));
            return None;
        }
    };
    let found = match std::str::from_utf8(&bytes) {
        Ok(text) => read(text.strip_prefix('\u{feff}').unwrap_or(text), cells as usize),
        Err(e) => {
            let line = bytes.iter().take(e.valid_up_to()).filter(|&&b| b == b'\n').count() + 1;
            Err(vec![Wrong::at(line, "not UTF-8 text")])
        }
    };
    match found {
        Ok(rows) => {
            files.keep(path, bytes);
            Some(Some(Rows { cuboid: Cuboid::new(of), rows }))
        }
        Err(wrong) => {
            for Wrong { line, what } in wrong {
                let place = line.map_or(format!("`{path}`"), |line| format!("`{path}`, line {line}"));
                sink.push(Diagnostic::at(said_at.clone(), format!("{place}: {what}")).label("in this file"));
            }
            None
        }
    }
}

type Coefficients = Vec<Vec<(u32, i32)>>;

fn not_a_factor(text: &str) -> String {
    let fits = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    if !text.is_empty() && text.chars().all(fits) && text.parse::<f64>().is_ok() {
        return "not a whole number between -2147483648 and 2147483647; multiply the row until all its factors are".into();
    }
    if text.is_empty() { "no number".into() } else { "not a number".into() }
}

/// One query a line, one column for each cell of the table, the last dimension fastest.
fn csv(text: &str, cells: usize) -> Result<Coefficients, Vec<Wrong>> {
    let (mut rows, mut wrong, mut factors) = (Coefficients::new(), Vec::new(), 0);
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if wrong.len() >= SHOWN {
            break;
        }
        let number = at + 1;
        let count = line.split(',').count();
        let mut row = Vec::new();
        let mut bad = None;
        for (cell, field) in line.split(',').enumerate().take(cells) {
            match field.trim().parse::<i32>() {
                Ok(0) => {}
                Ok(factor) => row.push((cell as u32, factor)),
                Err(_) => {
                    bad = Some(format!("column {} is {}", cell + 1, not_a_factor(field.trim())));
                    break;
                }
            }
        }
        let what = match bad {
            Some(what) if number == 1 && count == cells && what.ends_with("not a number") => {
                Some(format!("{what}; the file has no header, its first line is a query"))
            }
            Some(what) => Some(what),
            None if count != cells => {
                Some(format!("{count} factors where the table has {cells} cells, one column for each"))
            }
            None if row.is_empty() => Some("a query of nothing: all its factors are zero".into()),
            None => None,
        };
        if let Some(what) = what {
            wrong.push(Wrong::at(number, what));
            continue;
        }
        factors += row.len();
        rows.push(row);
        if let Some(too_large) = too_large(rows.len(), factors) {
            wrong.push(Wrong::whole(too_large));
            break;
        }
    }
    finish(rows, wrong)
}

fn too_large(rows: usize, factors: usize) -> Option<String> {
    if rows > MOST_ROWS {
        return Some(format!("more than {MOST_ROWS} queries"));
    }
    (factors > MOST_FACTORS).then(|| format!("more than {MOST_FACTORS} factors that are not zero"))
}

fn finish(rows: Coefficients, mut wrong: Vec<Wrong>) -> Result<Coefficients, Vec<Wrong>> {
    if rows.is_empty() && wrong.is_empty() {
        wrong.push(Wrong::whole("it holds no query"));
    }
    if wrong.is_empty() { Ok(rows) } else { Err(wrong) }
}

/// A factor of a Matrix Market file: whole, also where it is written as a real number.
fn factor(text: &str) -> Result<i32, String> {
    if let Ok(factor) = text.parse::<i32>() {
        return Ok(factor);
    }
    let whole = |v: &f64| v.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(v);
    text.parse::<f64>().ok().filter(whole).map(|v| v as i32).ok_or_else(|| not_a_factor(text))
}

/// The coordinate form of Matrix Market: rows are queries, columns are cells, both counted from one.
fn matrix_market(text: &str, cells: usize) -> Result<Coefficients, Vec<Wrong>> {
    let fits = |queries, columns, entries| {
        if columns != cells {
            return Some(format!("{columns} columns where the table has {cells} cells, one column for each"));
        }
        too_large(queries, entries)
    };
    let factor = |text: &str| factor(text).map_err(|what| format!("its factor is {what}"));
    let matrix = matrix_market::read(text, &fits, &factor, 1, None)?;
    let mut rows = vec![Vec::new(); matrix.rows];
    for (row, cell, factor) in matrix.entries.into_iter().filter(|e| e.2 != 0) {
        if let Some(row) = rows.get_mut(row) {
            row.push((cell as u32, factor));
        }
    }
    let empty = rows.iter().enumerate().filter(|(_, row)| row.is_empty()).take(SHOWN);
    let wrong = empty.map(|(r, _)| Wrong::whole(format!("row {} is a query of nothing", r + 1))).collect();
    rows.iter_mut().for_each(|row| row.sort_unstable());
    finish(rows, wrong)
}

#[cfg(test)]
mod tests;
