//! The coordinate form of Matrix Market files: one reader for the rows of a spec and for histories.

use std::collections::HashSet;
use std::fmt;

/// More mistakes of one file than this help nobody.
pub(super) const SHOWN: usize = 10;

/// A mistake in a file, told by its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(super) line: Option<usize>,
    pub(super) what: String,
}

impl Wrong {
    pub(super) fn at(line: usize, what: impl Into<String>) -> Wrong {
        Wrong { line: Some(line), what: what.into() }
    }

    pub(super) fn whole(what: impl Into<String>) -> Wrong {
        Wrong { line: None, what: what.into() }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// A matrix by its entries: row and column, counted from zero, and value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SparseMatrix<T> {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) entries: Vec<(usize, usize, T)>,
}

/// Reads a matrix of `integer`, `real` or `pattern` entries, the last ones worth `one`. `fits` says what is wrong with the sizes
/// (rows, columns, entries), before anything is allocated for them; `value` reads an entry. With `negate` symmetric and skew-symmetric
/// matrices are completed; without, only `general` ones are read.
pub(crate) fn read<T: Copy>(
    text: &str,
    fits: &dyn Fn(usize, usize, usize) -> Option<String>,
    value: &dyn Fn(&str) -> Result<T, String>,
    one: T,
    negate: Option<fn(T) -> T>,
) -> Result<SparseMatrix<T>, Vec<Wrong>> {
    let refuse = |line: usize, what: String| Err(vec![Wrong::at(line, what)]);
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let header: Vec<String> =
        lines.next().map_or("", |l| l.1).split_whitespace().map(str::to_ascii_lowercase).collect();
    let header: Vec<&str> = header.iter().map(|w| w.as_str()).collect();
    let (field, symmetry) = match header[..] {
        ["%%matrixmarket", "matrix", "coordinate", field, symmetry] => (field, symmetry),
        ["%%matrixmarket", "matrix", "array", ..] => {
            return refuse(1, "a Matrix Market array; only `coordinate` is read, or write a CSV file".into());
        }
        _ => {
            let what =
                "not a Matrix Market header: expected `%%MatrixMarket matrix coordinate integer general`";
            return refuse(1, what.into());
        }
    };
    if !matches!(field, "integer" | "real" | "pattern") {
        return refuse(1, format!("a matrix of `{field}` numbers; expected integer, real or pattern"));
    }
    let mirror: Option<fn(T) -> T> = match (symmetry, negate) {
        ("general", _) => None,
        ("symmetric", Some(_)) => Some(|v| v),
        ("skew-symmetric", Some(negate)) => Some(negate),
        _ => return refuse(1, format!("a `{symmetry}` matrix; queries are a `general` one")),
    };
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('%'));
    let Some((at, sizes)) = lines.next() else {
        return Err(vec![Wrong::whole("no line of sizes: rows, columns, entries")]);
    };
    let sizes: Option<Vec<usize>> = sizes.split_whitespace().map(|n| n.parse().ok()).collect();
    let Some(&[rows, columns, count]) = sizes.as_deref() else {
        return refuse(at, "expected three whole numbers: rows, columns, entries".into());
    };
    if let Some(what) = fits(rows, columns, count) {
        return refuse(at, what);
    }
    let mut matrix = SparseMatrix { rows, columns, entries: Vec::new() };
    let mut seen = HashSet::new();
    let (mut wrong, mut found) = (Vec::new(), 0);
    for (at, line) in lines {
        if wrong.len() >= SHOWN {
            break;
        }
        found += 1;
        match entry(line, (field == "pattern").then_some(one), rows, columns, value) {
            Ok((row, column, _)) if !seen.insert((row, column)) => {
                wrong.push(Wrong::at(at, format!("entry {} {} is there twice", row + 1, column + 1)));
            }
            Ok((row, column, v)) => {
                matrix.entries.push((row, column, v));
                if let Some(mirror) = mirror.filter(|_| row != column) {
                    if row < columns && column < rows && seen.insert((column, row)) {
                        matrix.entries.push((column, row, mirror(v)));
                    } else {
                        wrong.push(Wrong::at(at, "its mirror image is there already, or is no place"));
                    }
                }
            }
            Err(what) => wrong.push(Wrong::at(at, what)),
        }
    }
    if wrong.is_empty() && found != count {
        wrong.push(Wrong::whole(format!("{found} entries where its line of sizes says {count}")));
    }
    if wrong.is_empty() { Ok(matrix) } else { Err(wrong) }
}

/// Row and column, counted from zero, and the value.
fn entry<T>(
    line: &str,
    pattern: Option<T>,
    rows: usize,
    columns: usize,
    value: &dyn Fn(&str) -> Result<T, String>,
) -> Result<(usize, usize, T), String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (row, column, value) = match (&words[..], pattern) {
        ([row, column], Some(one)) => (row, column, one),
        ([row, column, text], None) => (row, column, value(text)?),
        (_, Some(_)) => return Err("expected a row and a column".into()),
        (_, None) => return Err("expected a row, a column and a factor".into()),
    };
    let index = |text: &str, most: usize, what: &str| -> Result<usize, String> {
        let number: usize = text.parse().map_err(|_| format!("the {what} is not a whole number"))?;
        if (1..=most).contains(&number) {
            return Ok(number - 1);
        }
        Err(format!("{what} {number} of a matrix of {most}; both are counted from one"))
    };
    Ok((index(row, rows, "row")?, index(column, columns, "column")?, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_number_and_symmetry() {
        let of = |text: &str| {
            let value = |t: &str| t.parse::<f64>().map_err(|_| "no number".to_owned());
            read(text, &|_, _, _| None, &value, 1.0, Some(|v| -v)).map(|m| m.entries)
        };
        let head = "%%MatrixMarket matrix coordinate";
        let entries = vec![(0, 0, 2.0), (1, 0, -3.0)];
        assert_eq!(
            of(&format!("{head} integer general\n% why\n2 2 2\n1 1 2\n2 1 -3\n")),
            Ok(entries.clone())
        );
        assert_eq!(of(&format!("{head} real general\n2 2 2\n1 1 2e0\n2 1 -3.0\n")), Ok(entries));
        assert_eq!(of(&format!("{head} pattern general\n1 2 1\n1 2\n")), Ok(vec![(0, 1, 1.0)]));
        let both = Ok(vec![(1, 0, 5.0), (0, 1, 5.0)]);
        assert_eq!(of(&format!("{head} integer symmetric\n2 2 1\n2 1 5\n")), both);
        let skew = Ok(vec![(1, 0, 5.0), (0, 1, -5.0)]);
        assert_eq!(of(&format!("{head} integer skew-symmetric\n2 2 1\n2 1 5\n")), skew);
        for broken in [
            "complex general\n1 1 1\n1 1 1 1\n",
            "real hermitian\n1 1 1\n1 1 1\n",
            "real general\n1 1 1\n",
            "real general\n1 1 1\n1 1 1\n1 1 1\n",
            "real general\n1 1 1\n2 1 1\n",
            "real symmetric\n2 2 2\n2 1 1\n1 2 1\n",
            "real symmetric\n2 1 1\n2 1 1\n",
        ] {
            assert!(of(&format!("{head} {broken}")).is_err(), "{broken}");
        }
    }
}
