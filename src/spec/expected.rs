//! `objective = "relative"`: variances over the counts that are expected, from a release that is out already.
//!
//! The plan makes the sum of `variance/max(count, floor)` over all cells of all tables small, with the counts that the other release tells. A table's weight is multiplied
//! by the mean of `1/max(count, floor)` over its cells, and each cell weighs what its own is over that mean.
//!
//! What the weights come from is public: the other release. What is used of it becomes part of the release that is planned: for each table the counts of its cells, and the
//! hash of the file. So `verify` weighs alike without that file, and whoever has it can compare the counts.

use super::diagnostic::{Diagnostic, Sink};
use super::files::Files;
use super::keys::{Keys, Shape, required};
use super::read::{self, Fields, Value};
use super::types::Expected;
use crate::answer::Answers;
use crate::cube::{Cube, Level};
use crate::exact::Rational;
use crate::plan::{Asks, Table};
use crate::release::{MAGIC, Release};
use crate::render::ResultCell;
use crate::sql::{quoted, quoted_level};
use std::collections::HashMap;

/// The keys of `expected`.
pub(super) const KEYS: Keys = Keys {
    what: "With `\"relative\"`: the counts that are expected.",
    keys: &[
        required(
            "file",
            Shape::Text,
            "a release that is out, relative to the spec: it must tell each table, by the same names of levels; categories that it does not have count as the floor. What is \
             used of it becomes part of the release",
        ),
        required("floor", Shape::Exact, "smaller counts count as this one: noisy counts may be negative"),
    ],
    one_of: &[],
    rules: "{}",
};

/// How many digits of a count are used.
const DIGITS: usize = 6;
/// The word for it.
pub(super) const RELATIVE: &str = "relative";
/// No table of more cells is asked for.
const MOST_CELLS: usize = 1 << 16;

/// A floor of less says that a cell may be as good as empty, and one of more that all cells are alike.
const LEAST_FLOOR: f64 = 0.001;
const MOST_FLOOR: f64 = 1e12;

/// Multiplies the tables' weights, where the strategy wants it so. What is expected of each.
pub(super) fn weigh(
    strategy: &Value<'_>,
    (cube, sums): (&Cube, bool),
    tables: &mut [Table],
    files: &mut Files<'_>,
    sink: &mut Sink,
) -> Option<Vec<Expected>> {
    let keys = strategy.get_ref().as_table()?;
    let relative = keys.get("objective").is_some_and(|v| v.get_ref().as_str() == Some(RELATIVE));
    let value = match (relative, keys.get("expected")) {
        (false, None) => return Some(Vec::new()),
        (true, Some(value)) => value,
        (true, None) => {
            let missing = Diagnostic::at(strategy.span(), "`objective = \"relative\"` without `expected`");
            let help = "write `expected = { file = \"last-year.margins\", floor = 10 }`";
            sink.push(missing.label("nothing says which counts are expected").help(help.to_owned()));
            return None;
        }
        (false, Some(value)) => {
            let message = "`expected` without `objective = \"relative\"`";
            sink.push(Diagnostic::at(value.span(), message).label("nothing is weighed by it"));
            return None;
        }
    };
    let fields = Fields::open(value, "`expected`", &KEYS, sink)?;
    let file = fields.require("file", "`file = \"last-year.margins\"`", sink);
    let floor =
        fields.require("floor", "`floor = 10`", sink).and_then(|v| read::positive(v, "`floor`", sink));
    let (file, floor) = (file?, floor?);
    if !(LEAST_FLOOR..=MOST_FLOOR).contains(&floor.to_f64()) {
        let span = fields.get("floor").map_or(value.span(), |v| v.span());
        let message = format!("`floor` is not between {LEAST_FLOOR} and {MOST_FLOOR:e}");
        sink.push(Diagnostic::at(span, message).label("a number of rows, such as 10"));
        return None;
    }
    let path = read::text(file, "`file`", sink)?;
    let mut refuse = |message: String, label: String| {
        sink.push(Diagnostic::at(file.span(), message).label(label));
        None
    };
    if sums {
        return refuse(
            "sums of amounts have no expected counts".into(),
            "weighs counts of cells only".into(),
        );
    }
    if let Some(table) = tables.iter().find(|t| t.asks != Asks::CELLS) {
        let asked = table.describe(cube);
        return refuse(
            format!("`{asked}` asks for more than cells"),
            "only counts of cells are expected".into(),
        );
    }
    let bytes = match files.read(path) {
        Ok(bytes) => bytes,
        Err(e) => return refuse(format!("cannot read `{path}`"), e.to_string()),
    };
    let text = match files.sealed || !bytes.starts_with(&MAGIC) {
        true => String::from_utf8(bytes).map_err(|_| "it is no release, and no text".to_owned()),
        false => of_release(bytes, cube, tables, floor),
    };
    let weighed = text.and_then(|text| Ok((expected(&text, cube, tables, floor)?, text)));
    match weighed {
        Err(why) => {
            let label = "a release that has each table, with these levels and labels".to_owned();
            refuse(format!("`{path}` does not say what to expect: {why}"), label)
        }
        Ok((expected, text)) => {
            let too_fine = || format!("`{path}`: the weights do not fit the arithmetic");
            for (table, own) in tables.iter_mut().zip(&expected) {
                match table.weight.checked_mul(own.factor) {
                    Some(weight) => table.weight = weight,
                    None => return refuse(too_fine(), "give tables simpler weights".into()),
                }
            }
            files.keep(path, text.into_bytes());
            Some(expected)
        }
    }
}

/// The first line of what is kept.
fn head(floor: Rational) -> String {
    format!("margins expected 1: max(count, {floor}) of a table's cells, and the table")
}

/// What a text says, one line a table.
fn expected(text: &str, cube: &Cube, tables: &[Table], floor: Rational) -> Result<Vec<Expected>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(&head(floor)) {
        return Err(
            "its first line is not that of counts for this floor; give a release, a file .margins".into()
        );
    }
    // There may be more than are asked for here: a release that extends another one asks for fewer.
    let told: HashMap<&str, &str> =
        lines.filter_map(|l| l.split_once(' ')).map(|(counts, of)| (of, counts)).collect();
    let one = |table: &Table| {
        let of = table.describe(cube);
        let counts = told.get(of.as_str()).ok_or_else(|| format!("it says nothing of `{of}`"))?;
        let size = cells(cube, table)?;
        let counts = unpacked(counts, size, floor.to_f64());
        weighed(&counts.ok_or_else(|| format!("it has no {size} counts for `{of}`"))?)
            .ok_or_else(|| format!("the counts of `{of}` weigh nothing"))
    };
    tables.iter().map(one).collect()
}

/// The weights that counts make.
fn weighed(counts: &[f64]) -> Option<Expected> {
    let mean = counts.iter().map(|c| 1.0 / c).sum::<f64>() / counts.len() as f64;
    let factor = decimal(mean, 9).parse::<Rational>().ok().filter(|f| !f.is_zero())?;
    let alike = counts.iter().all(|c| Some(c) == counts.first());
    let cells: Vec<f64> = counts.iter().filter(|_| !alike).map(|c| 1.0 / (c * mean)).collect();
    Some(Expected { factor, cells: cells.into() })
}

/// Counts as text: those that follow each other and are equal once, `10*35`.
fn packed(counts: &[f64]) -> String {
    let texts: Vec<String> = counts.iter().map(|&c| decimal(c, DIGITS)).collect();
    let run = |run: &[String]| match run {
        [one] => one.clone(),
        all => format!("{}*{}", all[0], all.len()),
    };
    texts.chunk_by(|a, b| a == b).map(run).collect::<Vec<_>>().join(",")
}

/// The other way round: `size` counts, of which none is below the floor.
fn unpacked(text: &str, size: usize, floor: f64) -> Option<Vec<f64>> {
    let mut out = Vec::new();
    for run in text.split(',') {
        let (count, times) = run.split_once('*').unwrap_or((run, "1"));
        let count = count.parse::<f64>().ok().filter(|c| c.is_finite())?;
        let times = times.parse::<usize>().ok().filter(|&n| n <= size - out.len())?;
        out.extend(std::iter::repeat_n(count.max(floor), times));
    }
    (out.len() == size).then_some(out)
}

/// How many cells a table has.
fn cells(cube: &Cube, table: &Table) -> Result<usize, String> {
    let cells = cube.cells(&table.cuboid).filter(|&n| n <= MOST_CELLS as u64);
    cells.map(|n| n as usize).ok_or_else(|| format!("it has more than {MOST_CELLS} cells"))
}

/// What is used of a release, as text.
fn of_release(bytes: Vec<u8>, cube: &Cube, tables: &[Table], floor: Rational) -> Result<String, String> {
    let release = Release::from_bytes(bytes).map_err(|e| e.to_string())?;
    let hash = release.blake3().map_err(|e| e.to_string())?;
    let answers = Answers::from_release(release).map_err(|e| e.to_string())?;
    let mut out = format!("{}\n# from the release with the BLAKE3 hash {hash}\n", head(floor));
    for table in tables {
        let of = table.describe(cube);
        let counts = counts(&answers, cube, table, floor.to_f64()).map_err(|why| format!("`{of}`: {why}"))?;
        out.push_str(&format!("{} {of}\n", packed(&counts)));
    }
    Ok(out)
}

/// So many digits, written without an exponent and without zeros at the end.
fn decimal(x: f64, digits: usize) -> String {
    let digits = (digits as f64 - 1.0 - x.log10().floor()).clamp(0.0, 30.0) as usize;
    let text = format!("{x:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// `max(count, floor)` of the cells of a table, in their order. Categories that the release does not have count as the floor; if it has none of a level, its codes are others.
fn counts(answers: &Answers, cube: &Cube, table: &Table, floor: f64) -> Result<Vec<f64>, String> {
    let levels: Vec<Level> = table.cuboid.iter().collect();
    let mut out = vec![floor; cells(cube, table)?];
    let number = |l: &Level| -> HashMap<&str, usize> {
        l.of(cube).labels.iter().enumerate().map(|(at, label)| (label.as_str(), at)).collect()
    };
    let known: Vec<HashMap<&str, usize>> = levels.iter().map(number).collect();
    let names: Vec<String> = levels.iter().map(|&l| quoted_level(cube, l)).collect();
    let group = if names.is_empty() { String::new() } else { format!(" GROUP BY {}", names.join(", ")) };
    let columns: String = names.iter().map(|n| format!("{n}, ")).collect();
    let sql = format!("SELECT {columns}COUNT(*) FROM {}{group}", quoted(answers.name()));
    let told =
        answers.query(&sql, 0.95).map_err(|e| e.to_string().lines().next().unwrap_or_default().to_owned())?;
    for (at, (known, name)) in known.iter().zip(&names).enumerate() {
        let theirs = |row: &Vec<ResultCell>| matches!(row.get(at), Some(ResultCell::Label(label)) if known.contains_key(label.as_str()));
        if !told.rows.iter().any(theirs) {
            return Err(format!("it has none of the categories of {name}"));
        }
    }
    for row in &told.rows {
        let place = row.iter().zip(levels.iter().zip(&known)).try_fold(0, |at, (cell, (l, known))| {
            let ResultCell::Label(label) = cell else { return None };
            Some(at * l.of(cube).len() + known.get(label.as_str())?)
        });
        if let (Some(at), Some(ResultCell::Figure(figure))) = (place, row.get(levels.len()))
            && let Some(count) = out.get_mut(at)
        {
            *count = figure.estimate.max(floor);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits() {
        for (x, text) in [
            (0.1, "0.1"),
            (0.000123456789123, "0.000123456789"),
            (2.5, "2.5"),
            (1e-12, "0.000000000001"),
            (1234567890123.0, "1234567890123"),
        ] {
            assert_eq!(decimal(x, 9), text);
        }
        assert_eq!(decimal(1234.5678, DIGITS), "1234.57");
    }

    #[test]
    fn counts_as_text() {
        let counts = [10.0, 10.0, 10.0, 412.0, 0.5, 0.5, 1e7];
        let text = packed(&counts);
        assert_eq!(text, "10*3,412,0.5*2,10000000");
        assert_eq!(unpacked(&text, 7, 0.5).unwrap(), counts);
        // Whoever wrote it, no count is below the floor.
        assert_eq!(unpacked("-3,nope", 2, 1.0), None);
        assert_eq!(unpacked("-3,0", 2, 1.0), Some(vec![1.0, 1.0]));
        for wrong in [
            "1",
            "1,2,3",
            "1*3",
            "1*99999999999999999999",
            "1*18446744073709551615,1",
            "inf,1",
            "nan,1",
            "1*-1,1",
            ",",
            "",
        ] {
            assert_eq!(unpacked(wrong, 2, 1.0), None, "{wrong}");
        }
        // Of so large counts nothing is left to weigh by; of equal ones all weigh alike.
        assert!(weighed(&[1e300, 1e300]).is_none());
        assert!(weighed(&[4.0, 4.0]).unwrap().cells.is_empty());
        let both = weighed(&[1.0, 4.0]).unwrap();
        assert_eq!((both.factor, &both.cells[..]), ("0.625".parse().unwrap(), &[1.6, 0.4][..]));
    }
}
