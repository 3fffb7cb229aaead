//! Files of queries: one a line, or over several lines.

use super::{Failure, output};
use std::path::Path;

/// What goes on with a statement at the beginning of a line.
const GOES_ON: [&str; 13] = [
    "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "UNION", "AND", "OR", "WHEN", "ELSE",
    "END",
];

/// The statements of a text, each with the line it begins on. A statement ends with its line, unless the next one is indented, or
/// begins with a clause (`FROM`, `WHERE`, …), a comma or a bracket; after a semicolon or an empty line it has ended in any case.
pub(super) fn statements(text: &str) -> Vec<(usize, String)> {
    let mut out: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (i, line) in text.lines().enumerate() {
        let sql = without_comment(line).trim();
        if sql.is_empty() {
            // A comment on a line of its own ends nothing.
            open &= !line.trim().is_empty();
            continue;
        }
        let first = sql.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let goes_on = line.starts_with(char::is_whitespace)
            || sql.starts_with([',', ')', '('])
            || GOES_ON.iter().any(|word| first.eq_ignore_ascii_case(word));
        match out.last_mut() {
            Some((_, before)) if open && goes_on => {
                before.push(' ');
                before.push_str(sql);
            }
            _ => out.push((i + 1, sql.into())),
        }
        open = !sql.ends_with(';');
    }
    for (_, sql) in &mut out {
        let length = sql.trim_end_matches(';').trim_end().len();
        sql.truncate(length);
    }
    out.retain(|(_, sql)| !sql.is_empty());
    out
}

/// The statements of a file. A file in which none begins as one is another file, whose lines nobody asked to see.
pub(super) fn queries(file: &Path, text: &str) -> Result<Vec<(usize, String)>, Failure> {
    let found = statements(text.strip_prefix('\u{feff}').unwrap_or(text));
    let begins = |sql: &str| {
        let first = sql.trim_start_matches('(').split_whitespace().next().unwrap_or_default();
        ["SELECT", "SHOW", "DESCRIBE", "DESC"].iter().any(|word| first.eq_ignore_ascii_case(word))
    };
    if !found.is_empty() && !found.iter().any(|(_, sql)| begins(sql)) {
        return Err(Failure::Message(format!(
            "{} is no file of queries: no line begins with SELECT, SHOW or DESCRIBE",
            output::path(file)
        )));
    }
    Ok(found)
}

/// The line up to `--`, unless that stands inside quotes.
fn without_comment(line: &str) -> &str {
    let mut quote: Option<char> = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
            None if c == '-' && before == '-' => return &line[..at - 1],
            None => {}
        }
        before = c;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::{statements, without_comment};

    #[test]
    fn statements_may_have_several_lines() {
        let text = "SELECT 1\nSELECT a, -- why\n  b\nFROM t\n-- a remark\nWHERE c = 'x';\n\n  SELECT 2;\nfrom u\n;\nDELETE\n";
        let found = statements(text);
        let expected = [
            (1, "SELECT 1"),
            (2, "SELECT a, b FROM t WHERE c = 'x'"),
            (8, "SELECT 2"),
            (9, "from u"),
            (11, "DELETE"),
        ];
        assert_eq!(found, expected.map(|(line, sql)| (line, sql.to_string())));
        let union = statements("SELECT 1\nUNION ALL SELECT 2\nunion all\n  SELECT 3\nSELECT 4\n");
        assert_eq!(
            union,
            [(1, "SELECT 1 UNION ALL SELECT 2 union all SELECT 3".into()), (5, "SELECT 4".into())]
        );
        assert!(statements(" \n;;\n--\n").is_empty());
    }

    #[test]
    fn comments_end_a_line_but_not_a_label() {
        assert_eq!(without_comment("SELECT 1 -- why"), "SELECT 1 ");
        assert_eq!(without_comment("WHERE a = 'x--y' -- z"), "WHERE a = 'x--y' ");
        assert_eq!(without_comment("WHERE \"a--b\" = 'it''s -- so'"), "WHERE \"a--b\" = 'it''s -- so'");
        assert_eq!(without_comment("-- all"), "");
        assert_eq!(without_comment("1 - -2"), "1 - -2");
    }
}
