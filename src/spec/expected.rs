//! `objective = "relative"`: variances over the counts that are expected, from a release that is out already.
//!
//! The plan makes the weighted total small, and a table's weight is multiplied by the mean of `1/max(count, floor)` over its cells, with the
//! counts that the other release tells. Where all cells of a table have one variance, as with components of equal groups, that is the sum of
//! variances over expected counts itself. Where they have not, cells of one table are still weighed alike.
//!
//! What the weights come from is public: the other release. What is used of it becomes part of the release that is planned: for each table its
//! weight, and the hash of the file. So `verify` weighs alike without that file, and whoever has it can compute the weights again.

use super::diagnostic::{Diagnostic, Sink};
use super::files::Files;
use super::keys::{Keys, Shape, required};
use super::read::{self, Fields, Value};
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
            "a release of an earlier time, relative to the spec: it must tell each table, with the same labels. What is used of it becomes part of the \
             release",
        ),
        required("floor", Shape::Exact, "smaller counts count as this one: noisy counts may be negative"),
    ],
    one_of: &[],
    rules: "{}",
};

/// The word for it.
pub(super) const RELATIVE: &str = "relative";
/// No table of more cells is asked for.
const MOST_CELLS: usize = 1 << 16;

/// A floor of less says that a cell may be as good as empty, and one of more that all cells are alike.
const LEAST_FLOOR: f64 = 0.001;
const MOST_FLOOR: f64 = 1e12;

/// Multiplies the tables' weights, where the strategy wants it so. The factors, as they are shown.
pub(super) fn weigh(
    strategy: &Value<'_>,
    (cube, sums): (&Cube, bool),
    tables: &mut [Table],
    files: &mut Files<'_>,
    sink: &mut Sink,
) -> Option<Vec<Rational>> {
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
    let weighed = text.and_then(|text| Ok((factors(&text, cube, tables, floor)?, text)));
    match weighed {
        Err(why) => {
            let label = "a release that has each table, with these levels and labels".to_owned();
            refuse(format!("`{path}` does not say what to expect: {why}"), label)
        }
        Ok((factors, text)) => {
            let too_fine = || format!("`{path}`: the weights do not fit the arithmetic");
            for (table, factor) in tables.iter_mut().zip(&factors) {
                match table.weight.checked_mul(*factor) {
                    Some(weight) => table.weight = weight,
                    None => return refuse(too_fine(), "give tables simpler weights".into()),
                }
            }
            files.keep(path, text.into_bytes());
            Some(factors)
        }
    }
}

/// The first line of what is kept.
fn head(floor: Rational) -> String {
    format!("margins expected 1: a table's mean of 1/max(count, {floor}), and the table")
}

/// The factors that a text has, one line a table.
fn factors(text: &str, cube: &Cube, tables: &[Table], floor: Rational) -> Result<Vec<Rational>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(&head(floor)) {
        return Err(
            "its first line is not that of weights for this floor; give a release, a file .margins".into()
        );
    }
    // There may be more than are asked for here: a release that extends another one asks for fewer.
    let told: HashMap<&str, &str> =
        lines.filter_map(|l| l.split_once(' ')).map(|(factor, of)| (of, factor)).collect();
    let factor = |table: &Table| {
        let of = table.describe(cube);
        let factor = told.get(of.as_str()).and_then(|factor| factor.parse::<Rational>().ok());
        factor.filter(|f| !f.is_zero()).ok_or_else(|| format!("it has no weight for `{of}`"))
    };
    tables.iter().map(factor).collect()
}

/// What is used of a release, as text.
fn of_release(bytes: Vec<u8>, cube: &Cube, tables: &[Table], floor: Rational) -> Result<String, String> {
    let release = Release::from_bytes(bytes).map_err(|e| e.to_string())?;
    let hash = release.blake3().map_err(|e| e.to_string())?;
    let answers = Answers::from_release(release).map_err(|e| e.to_string())?;
    let mut out = format!("{}\n# from the release with the BLAKE3 hash {hash}\n", head(floor));
    for table in tables {
        let of = table.describe(cube);
        let mean = mean(&answers, cube, table, floor.to_f64()).map_err(|why| format!("`{of}`: {why}"))?;
        out.push_str(&format!("{} {of}\n", decimal(mean)));
    }
    Ok(out)
}

/// Nine digits, written without an exponent.
fn decimal(x: f64) -> String {
    let digits = (8.0 - x.log10().floor()).clamp(0.0, 30.0) as usize;
    format!("{x:.digits$}")
}

/// The mean of `1/max(count, floor)` over the cells of a table. Categories that the release does not have count as the floor.
fn mean(answers: &Answers, cube: &Cube, table: &Table, floor: f64) -> Result<f64, String> {
    let levels: Vec<Level> = table.cuboid.iter().collect();
    let mut sizes = levels.iter().map(|l| l.of(cube).len());
    let cells = sizes.try_fold(1usize, |n, size| n.checked_mul(size)).filter(|n| *n <= MOST_CELLS);
    let cells = cells.ok_or_else(|| format!("it has more than {MOST_CELLS} cells"))?;
    let known: Vec<HashMap<&str, ()>> =
        levels.iter().map(|l| l.of(cube).labels.iter().map(|label| (label.as_str(), ())).collect()).collect();
    let names: Vec<String> = levels.iter().map(|&l| quoted_level(cube, l)).collect();
    let group = if names.is_empty() { String::new() } else { format!(" GROUP BY {}", names.join(", ")) };
    let columns: String = names.iter().map(|n| format!("{n}, ")).collect();
    let sql = format!("SELECT {columns}COUNT(*) FROM {}{group}", quoted(answers.name()));
    let told =
        answers.query(&sql, 0.95).map_err(|e| e.to_string().lines().next().unwrap_or_default().to_owned())?;
    let (mut sum, mut met) = (0.0, 0usize);
    for row in &told.rows {
        let mut labels = row.iter().zip(&known);
        let ours = labels
            .all(|(cell, known)| matches!(cell, ResultCell::Label(l) if known.contains_key(l.as_str())));
        let (true, Some(ResultCell::Figure(figure))) = (ours, row.get(levels.len())) else { continue };
        sum += 1.0 / figure.estimate.max(floor);
        met += 1;
    }
    let others = cells.checked_sub(met).ok_or("it has more cells there than here")?;
    Ok((sum + others as f64 / floor) / cells as f64)
}

#[cfg(test)]
mod tests {
    use super::decimal;
    use crate::exact::Rational;

    #[test]
    fn weights_have_nine_digits() {
        for (x, text) in [
            (0.1, "0.100000000"),
            (0.000123456789123, "0.000123456789"),
            (2.5, "2.50000000"),
            (1e-12, "0.00000000000100000000"),
        ] {
            assert_eq!(decimal(x), text);
            assert!((text.parse::<Rational>().unwrap().to_f64() / x - 1.0).abs() < 1e-8);
        }
    }
}
