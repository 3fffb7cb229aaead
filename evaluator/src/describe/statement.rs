//! What SQL has beside SELECT to find one's way: `SHOW TABLES` and `DESCRIBE name`.

use super::text::{cut, errors_note};
use super::{DescribedAmount, Description, Dimension};
use crate::render::{ColumnKind, ResultCell, ResultColumn, ResultTable};
use crate::sql::SqlError;

/// A statement that asks what there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// `SHOW TABLES`.
    Tables,
    /// `DESCRIBE town`, `DESCRIBE age`, `DESCRIBE age.band`.
    One(String),
}

/// Of the categories of a level so many characters are shown; `DESCRIBE` of the level itself lists them all.
const LONG: usize = 28;

impl Shown {
    /// Reads a statement; `None` if it is of another kind.
    pub(crate) fn read(sql: &str) -> Option<Shown> {
        let text = sql.trim().trim_end_matches(';').trim_end();
        let (verb, rest) = text.split_once(char::is_whitespace)?;
        let rest = rest.trim();
        match verb.to_ascii_uppercase().as_str() {
            "SHOW" if rest.eq_ignore_ascii_case("tables") => Some(Shown::Tables),
            "DESCRIBE" | "DESC" if !rest.is_empty() => {
                // A name in quotes, or with parts in quotes.
                let parts = rest.replace("\"\"", "\u{0}").replace('"', "").replace('\u{0}', "\"");
                Some(Shown::One(parts))
            }
            _ => None,
        }
    }

    /// Its answer.
    pub fn answer(&self, of: &Description) -> Result<ResultTable, SqlError> {
        let one = match self {
            Shown::Tables => return Ok(tables(of)),
            Shown::One(name) if name.eq_ignore_ascii_case(&of.name) => {
                let mut out = dimensions(of);
                out.notes.extend(of.untrue.iter().cloned());
                out.notes.extend(of.amounts.iter().map(|a| a.note.clone()));
                return Ok(out);
            }
            Shown::One(name) => name,
        };
        if let Some(amount) = of.amounts.iter().find(|a| a.name.eq_ignore_ascii_case(one)) {
            return Ok(of_amount(amount, of.level));
        }
        let levels = of.dimensions.iter().flat_map(|d| &d.levels);
        let same = |name: &str| name.eq_ignore_ascii_case(one);
        if let Some(level) = levels.clone().find(|l| same(&l.name)) {
            let own = of.dimensions.iter().find(|d| d.levels.iter().any(|l| l.name == level.name));
            let codes = level.categories.iter().map(|c| vec![ResultCell::Label(c.clone())]);
            let Some(labels) = &level.labels else {
                let out = table(&[(&level.name, ColumnKind::Text)], codes.collect(), of.level);
                return Ok(with_ends(out, of, own));
            };
            let both = |(mut row, label): (Vec<ResultCell>, &String)| {
                row.push(ResultCell::Label(label.clone()));
                row
            };
            let columns = [(&*level.name, ColumnKind::Text), ("label", ColumnKind::Text)];
            return Ok(with_ends(table(&columns, codes.zip(labels).map(both).collect(), of.level), of, own));
        }
        if let Some(d) = of.dimensions.iter().find(|d| same(&d.name)) {
            let out = dimensions(&Description { dimensions: vec![d.clone()], ..of.clone() });
            return Ok(with_ends(out, of, Some(d)));
        }
        let amounts = of.amounts.iter().map(|a| a.name.as_str());
        let known: Vec<&str> = levels.map(|l| l.name.as_str()).chain(amounts).collect();
        let error = SqlError::new(format!("there is nothing called {one} in this release"));
        Err(error.help(format!("known: {}, {}", of.name, known.join(", "))))
    }
}

fn table(columns: &[(&str, ColumnKind)], rows: Vec<Vec<ResultCell>>, level: f64) -> ResultTable {
    let column = |&(name, kind): &(&str, ColumnKind)| ResultColumn { name: name.into(), kind };
    ResultTable::new(columns.iter().map(column).collect(), rows, level)
}

/// A table with what is untrue of one dimension.
fn with_ends(mut out: ResultTable, of: &Description, dimension: Option<&Dimension>) -> ResultTable {
    let about = |text: &&String| {
        dimension.is_some_and(|d| text.strip_prefix(&d.name).is_some_and(|rest| rest.starts_with(": ")))
    };
    out.notes.extend(of.untrue.iter().filter(about).cloned());
    out
}

fn tables(of: &Description) -> ResultTable {
    let row = |t: &super::Table| {
        let cells = t.cells.map_or("any".into(), |n| n.to_string());
        let number = |x: Option<f64>| ResultCell::Number(x.unwrap_or(f64::NAN));
        vec![ResultCell::Label(t.name()), ResultCell::Label(cells), number(t.std_error), number(t.margin)]
    };
    let kind =
        if of.tables.iter().all(|t| t.cells.is_some()) { ColumnKind::Integer } else { ColumnKind::Text };
    let columns = [
        ("table", ColumnKind::Text),
        ("cells", kind),
        ("std_error", ColumnKind::Number),
        ("margin", ColumnKind::Number),
    ];
    let sums = of.amounts.iter().flat_map(|a| {
        let named = move |t: &super::Table| {
            let mut row = row(t);
            row[0] = ResultCell::Label(format!("{}: sums of {}", t.name(), a.name));
            row
        };
        a.tables.iter().map(named)
    });
    let rows = of.tables.iter().map(row).chain(sums).collect();
    let mut out = table(&columns, rows, of.level);
    out.notes.push(errors_note(of));
    out.notes.extend(of.untrue.iter().cloned());
    out.notes.extend(of.amounts.iter().map(|a| a.note.clone()));
    let more = of.more_tables + of.amounts.iter().map(|a| a.more_tables).sum::<u64>();
    if more > 0 {
        out.notes.push(format!("And {more} more tables."));
    }
    out
}

/// Bounds and step of a number.
fn of_amount(amount: &DescribedAmount, level: f64) -> ResultTable {
    let row = [amount.low, amount.high, amount.step].map(ResultCell::Number).to_vec();
    let columns = ["low", "high", "step"].map(|name| (name, ColumnKind::Number));
    let mut out = table(&columns, vec![row], level);
    out.notes.push(amount.note.clone());
    out.notes.extend(amount.description.clone());
    out
}

fn dimensions(of: &Description) -> ResultTable {
    let label = |text: &str| ResultCell::Label(text.into());
    let rows_of = |d: &Dimension| -> Vec<Vec<ResultCell>> {
        if d.levels.is_empty() {
            return vec![vec![label(&d.name), label(&d.name), label("any"), label("any text")]];
        }
        let row = |l: &super::Categories| {
            vec![
                label(&d.name),
                label(&l.name),
                label(&l.categories.len().to_string()),
                label(&cut(&l.shown(), LONG)),
            ]
        };
        d.levels.iter().map(row).collect()
    };
    let counted = of.dimensions.iter().all(|d| !d.levels.is_empty());
    let columns = [
        ("dimension", ColumnKind::Text),
        ("level", ColumnKind::Text),
        ("categories", if counted { ColumnKind::Integer } else { ColumnKind::Text }),
        ("labels", ColumnKind::Text),
    ];
    table(&columns, of.dimensions.iter().flat_map(rows_of).collect(), of.level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_ask_what_there_is() {
        assert_eq!(Shown::read(" show  tables ; "), Some(Shown::Tables));
        assert_eq!(Shown::read("DESCRIBE age.band"), Some(Shown::One("age.band".into())));
        assert_eq!(Shown::read("desc \"a \"\"b\"\"\";"), Some(Shown::One("a \"b\"".into())));
        for other in ["SHOW", "SHOW TABLE", "DESCRIBE", "SELECT COUNT(*) FROM tables", ""] {
            assert_eq!(Shown::read(other), None, "{other}");
        }
    }

    #[test]
    fn long_lists_keep_their_ends() {
        let ages: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        assert_eq!(cut(&ages, 12), "0, 1, 2, 3, 4, … 99");
        assert_eq!(cut(&ages[..2], 12), "0, 1");
    }
}
