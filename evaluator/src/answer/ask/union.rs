//! Several questions in one, whose rows stand below each other: `SELECT … UNION ALL SELECT …`.

use super::options::Options;
use crate::answer::error::QueryError;
use crate::render::{Naming, ResultTable};
use crate::sql::united;

/// The answer to SELECTs that UNION ALL joins, each asked by itself; nothing where it joins none.
pub(in crate::answer) fn below(
    sql: &str,
    options: &Options,
    ask: impl Fn(&str) -> Result<ResultTable, QueryError>,
) -> Result<Option<ResultTable>, QueryError> {
    let parts = united(sql)?;
    if parts.is_empty() {
        return Ok(None);
    }
    if options.joint.is_some() {
        return Err(QueryError::Union("--joint is of the rows of one SELECT: ask them one by one"));
    }
    let mut tables = parts.iter().map(|part| ask(part)).collect::<Result<Vec<_>, _>>()?;
    if options.naming == Naming::Both {
        ResultTable::with_labels_alike(&mut tables);
    }
    let all = ResultTable::below(tables);
    all.map(Some).ok_or(QueryError::Union(
        "the SELECTs that it joins need as many columns, labels below labels and figures below figures",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Caveat, ColumnKind, ResultCell, ResultColumn};
    use crate::sql::Fate;

    /// Codes with labels above codes without: the column of labels is there for all.
    #[test]
    fn labels_stand_beside_codes_that_have_none() {
        let column = |name: &str, kind| ResultColumn { name: name.into(), kind };
        let label = |text: &str| ResultCell::Label(text.into());
        let ask = |part: &str| {
            let (code, with) = if part.contains("SELECT a") { ("a", true) } else { ("b", false) };
            let (mut columns, mut row) = (vec![column(code, ColumnKind::Text)], vec![label("x")]);
            if with {
                columns.push(column("a_label", ColumnKind::Text));
                row.push(label("Xavier"));
            }
            columns.push(column("n", ColumnKind::Number));
            row.push(ResultCell::Number(1.0));
            let mut table = ResultTable::new(columns, vec![row], 0.9);
            table.labels.extend(with.then_some(1));
            Ok(table)
        };
        let options = Options { naming: Naming::Both, ..Options::at(0.9) };
        for (sql, names, labels) in [
            ("SELECT a UNION ALL SELECT b", ["a", "a_label", "n"], ["Xavier", ""]),
            ("SELECT b UNION ALL SELECT a", ["b", "b_label", "n"], ["", "Xavier"]),
        ] {
            let all = below(sql, &options, ask).unwrap().unwrap();
            assert_eq!(all.columns.iter().map(|c| &*c.name).collect::<Vec<_>>(), names);
            assert_eq!(all.rows.iter().map(|r| r[1].clone()).collect::<Vec<_>>(), labels.map(label));
        }
        assert!(below("SELECT a UNION ALL SELECT b", &Options::at(0.9), ask).is_err());
    }

    /// Columns are told by that list alone: one that is called `a_label` is another's code, and what stands before it has labels in another part.
    #[test]
    fn a_column_that_is_called_like_labels_is_none() {
        let label = |text: &str| ResultCell::Label(text.into());
        let ask = |part: &str| {
            // Of each column its name, and whether it has labels.
            let own: &[(&str, bool)] = match part {
                p if p.contains("first") => &[("a", false), ("a_label", false), ("c", true)],
                p if p.contains("second") => &[("b", true), ("d", false), ("e", false)],
                _ => &[("f", false), ("g", true), ("h", true)],
            };
            let mut table = ResultTable::new(Vec::new(), vec![Vec::new()], 0.9);
            for (name, with) in own {
                table.columns.push(ResultColumn { name: (*name).into(), kind: ColumnKind::Text });
                table.rows[0].push(label(name));
                if *with {
                    table.labels.push(table.columns.len());
                    table
                        .columns
                        .push(ResultColumn { name: format!("{name}_label_"), kind: ColumnKind::Text });
                    table.rows[0].push(label(&name.to_uppercase()));
                }
            }
            Ok(table)
        };
        let options = Options { naming: Naming::Both, ..Options::at(0.9) };
        let all = below("SELECT first UNION ALL SELECT second UNION ALL SELECT third", &options, ask)
            .unwrap()
            .unwrap();
        let names: Vec<&str> = all.columns.iter().map(|c| &*c.name).collect();
        assert_eq!(names, ["a", "a_label_", "a_label", "a_label_label", "c", "c_label_"]);
        assert_eq!(all.labels, [1, 3, 5]);
        let rows =
            [["a", "", "a_label", "", "c", "C"], ["b", "B", "d", "", "e", ""], ["f", "", "g", "G", "h", "H"]];
        assert_eq!(all.rows, rows.map(|row| row.map(label).to_vec()));
    }

    /// Some rows of an answer, each with its own status.
    #[test]
    fn some_of_the_rows() {
        let mut table = ResultTable::new(
            Vec::new(),
            [1.0, 2.0, 3.0, 4.0].map(|n| vec![ResultCell::Number(n)]).to_vec(),
            0.9,
        );
        table.parts = vec![(1, "a".into()), (0, "b".into()), (3, "c".into())];
        let some = table.of_rows([3, 1, 0, 9]);
        assert_eq!(some.rows, [4.0, 2.0, 1.0].map(|n| vec![ResultCell::Number(n)]));
        assert_eq!(some.parts, [(2, "c".to_owned()), (1, "a".to_owned())]);
        assert_eq!(table.of_rows(0..4).parts.iter().map(|(rows, _)| rows).sum::<usize>(), 4);
    }

    /// What leaves units out is said of its own rows.
    #[test]
    fn each_row_has_its_own_status() {
        let ask = |part: &str| {
            let columns = vec![ResultColumn { name: "n".into(), kind: ColumnKind::Number }];
            let mut table = ResultTable::new(columns, vec![vec![ResultCell::Number(1.0)]; 2], 0.9);
            if part.contains("SUM") {
                table.caveats = vec![Caveat::LeftOut {
                    figure: Some("n".into()),
                    fate: Fate::NotAdded,
                    level: "kids".into(),
                    categories: Vec::new(),
                    within: None,
                    units: None,
                    period: None,
                }];
            }
            Ok(table)
        };
        let all = below("SELECT n UNION ALL SELECT SUM UNION ALL SELECT n", &Options::at(0.9), ask);
        let all = all.unwrap().unwrap();
        let csv = crate::render::csv(&all);
        let ends: Vec<&str> = csv.lines().map(|l| l.rsplit(',').next().unwrap()).collect();
        assert_eq!(ends, ["status", "", "", "incomplete", "incomplete", "", ""]);
        let status = crate::render::columns(&all).pop().unwrap().values;
        let one = Some("incomplete");
        assert_eq!(status, crate::render::Values::Text(vec![None, None, one, one, None, None]));
    }

    /// Rows in the order of the SELECTs, under the names of the first; every note once.
    #[test]
    fn answers_stand_below_each_other() {
        let ask = |part: &str| {
            let name = part.trim().trim_start_matches("SELECT ").to_owned();
            let kind = if name.starts_with('n') { ColumnKind::Number } else { ColumnKind::Text };
            let cell = ResultCell::Label(name.clone());
            let mut table =
                ResultTable::new(vec![ResultColumn { name: name.clone(), kind }], vec![vec![cell]], 0.9);
            table.methods = vec![(name.clone(), format!("by {}", &name[..1]))];
            table.notes = vec!["one".into(), name];
            Ok(table)
        };
        let plain = Options::at(0.9);
        assert!(below("SELECT a", &plain, ask).unwrap().is_none());
        let all = below("SELECT a UNION ALL SELECT b UNION ALL SELECT a2", &plain, ask).unwrap().unwrap();
        assert_eq!(all.columns.iter().map(|c| &*c.name).collect::<Vec<_>>(), ["a"]);
        let cells: Vec<_> = ["a", "b", "a2"].map(|l| vec![ResultCell::Label(l.into())]).into();
        assert_eq!(all.rows, cells);
        assert_eq!(all.methods, [("a".to_owned(), "by a; or by b".to_owned())]);
        assert_eq!(all.notes, ["one", "a", "b", "a2"]);
        assert!(matches!(below("SELECT a UNION ALL SELECT n", &plain, ask), Err(QueryError::Union(_))));
        let joint = Options { joint: Some(crate::answer::Simultaneous::Auto), ..plain };
        assert!(matches!(below("SELECT a UNION ALL SELECT b", &joint, ask), Err(QueryError::Union(_))));
    }
}
