//! An answer as columns, for data frames: the names and the numbers of JSON's rows.

use super::{ColumnKind, ResultTable, Shown};

/// A column with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Column<'a> {
    /// What JSON calls it.
    pub name: String,
    /// A value for each row.
    pub values: Values<'a>,
}

/// The values of a column, all of one type; `None` where there is nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Values<'a> {
    /// Labels.
    Text(Vec<Option<&'a str>>),
    /// Labels that are whole numbers.
    Integer(Vec<Option<i64>>),
    /// Parts of figures, and plain numbers. A bound may be infinite, for which JSON has no number.
    Number(Vec<Option<f64>>),
    /// The same text in every row.
    Same(String),
}

/// The columns, in the order of JSON's keys. Where something besides noise makes the numbers untrue, `status` comes last, as in
/// CSV: frames are passed on without the notes.
pub fn columns(result: &ResultTable) -> Vec<Column<'_>> {
    let mut columns: Vec<Column> = Vec::new();
    for key in result.keys() {
        let shown = || result.rows.iter().map(|row| key.of(row));
        let text = |s| match s {
            Shown::Text(text) => Some(text),
            _ => None,
        };
        let number = |s| match s {
            Shown::Number(x) if !x.is_nan() => Some(x),
            _ => None,
        };
        // What is no label is no text either, whatever the column was called.
        let labels = matches!(key.kind, ColumnKind::Text | ColumnKind::Integer);
        let labels = (labels && result.rows.is_empty()) || shown().any(|s| matches!(s, Shown::Text(_)));
        let integers = || -> Option<Vec<Option<i64>>> {
            let whole = |s| text(s).map(|label: &str| label.parse().ok());
            // One that is no number makes all of them text.
            shown().map(|s| whole(s).map_or(Some(None), |n| n.map(Some))).collect()
        };
        let values = match (labels, *key.kind == ColumnKind::Integer) {
            (false, _) => Values::Number(shown().map(number).collect()),
            (true, true) => {
                integers().map_or_else(|| Values::Text(shown().map(text).collect()), Values::Integer)
            }
            (true, false) => Values::Text(shown().map(text).collect()),
        };
        columns.push(Column { name: key.name, values });
    }
    if let Some((name, status)) = result.status_column() {
        let of = |row| Some(result.status_of(row, "")).filter(|words| !words.is_empty());
        let values = match result.parts.is_empty() {
            true => Values::Same(status),
            false => Values::Text((0..result.rows.len()).map(of).collect()),
        };
        columns.push(Column { name, values });
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::super::{ResultCell, ResultColumn, ResultFigure};
    use super::*;

    #[test]
    fn columns_are_the_keys_of_json() {
        let column = |name: &str, kind| ResultColumn { name: name.into(), kind };
        let figure = ResultFigure { estimate: 1.5, std_error: 2.0, low: f64::NEG_INFINITY, high: 4.0 };
        let row = |age: &str| {
            vec![
                ResultCell::Label("F".into()),
                ResultCell::Label(age.into()),
                ResultCell::Figure(figure),
                ResultCell::Number(f64::NAN),
            ]
        };
        let kinds = [ColumnKind::Text, ColumnKind::Integer, ColumnKind::Figure, ColumnKind::Number];
        let shown = ["sex", "age", "count", "p"].iter().zip(kinds).map(|(n, k)| column(n, k)).collect();
        let mut table = ResultTable::new(shown, vec![row("1"), row("2")], 0.0);
        let found = columns(&table);
        let names: Vec<&str> = found.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["sex", "age", "count", "p", "estimate", "std_error", "low", "high"]);
        let json = super::super::json(&table, &serde_json::Map::new()).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let keys: Vec<&String> = json["rows"][0].as_object().unwrap().keys().collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert!(keys.iter().all(|k| sorted.binary_search(&k.as_str()).is_ok()) && keys.len() == names.len());
        assert_eq!(found[0].values, Values::Text(vec![Some("F"); 2]));
        assert_eq!(found[1].values, Values::Integer(vec![Some(1), Some(2)]));
        assert_eq!(found[3].values, Values::Number(vec![None; 2]), "NaN is nothing");
        assert_eq!(found[6].values, Values::Number(vec![Some(f64::NEG_INFINITY); 2]));
        table.caveats.push(super::super::Caveat::Truncated {
            unit: "id".into(),
            max_rows: 1,
            cut: None,
            without: None,
            period: None,
        });
        let status = columns(&table).pop();
        assert_eq!(status, Some(Column { name: "status".into(), values: Values::Same("truncated".into()) }));
        // One label that is no number makes the column text; without rows the kinds decide.
        table.rows.push(row("90+"));
        assert_eq!(columns(&table)[1].values, Values::Text(vec![Some("1"), Some("2"), Some("90+")]));
        table.rows.clear();
        let empty: Vec<Values> = columns(&table).into_iter().map(|c| c.values).collect();
        assert_eq!(empty[..3], [Values::Text(vec![]), Values::Integer(vec![]), Values::Number(vec![])]);
    }
}
