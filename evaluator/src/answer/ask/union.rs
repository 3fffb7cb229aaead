//! Several questions in one, whose rows stand below each other: `SELECT … UNION ALL SELECT …`.

use super::options::Options;
use crate::answer::error::QueryError;
use crate::render::ResultTable;
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
    let tables = parts.iter().map(|part| ask(part)).collect::<Result<Vec<_>, _>>()?;
    let all = ResultTable::below(tables);
    all.map(Some).ok_or(QueryError::Union(
        "the SELECTs that it joins need as many columns, labels below labels and figures below figures",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{ColumnKind, ResultCell, ResultColumn};

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
