//! An answer as a table of HTML, for notebooks, and its texts alone, for those who set tables themselves.

use super::ResultTable;
use super::table::side_by_side;
use crate::visible::{visible, visible_lines};
use std::fmt::Write;

/// Text that HTML shows as it is: names and labels come from a file that somebody else made.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Lines as they are.
pub fn preformatted(text: &str) -> String {
    format!("<pre>{}</pre>\n", escaped(&visible_lines(text)))
}

/// A column as the terminal's table writes it: rounded to what the standard errors justify, intervals outwards.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownColumn {
    /// What stands above it.
    pub header: String,
    /// Whether it stands right.
    pub number: bool,
    /// A text for each row.
    pub cells: Vec<String>,
}

/// The columns side by side, however wide that is.
pub fn shown(result: &ResultTable) -> Vec<ShownColumn> {
    let figures = result.columns.iter().filter(|c| c.kind == super::ColumnKind::Figure).count();
    let columns = side_by_side(result, figures > 1).into_iter();
    columns.map(|c| ShownColumn { header: c.header, number: c.number, cells: c.cells }).collect()
}

/// The answer with the numbers of [`super::table()`], and its notes below. No styles but the alignment of numbers, no scripts.
pub fn html(result: &ResultTable) -> String {
    let columns = shown(result);
    let align = |c: &ShownColumn| if c.number { "right" } else { "left" };
    let mut out = String::from("<table>\n<thead><tr>");
    // Writing to a String does not fail.
    for c in &columns {
        let _ =
            write!(out, "<th scope=\"col\" style=\"text-align: {}\">{}</th>", align(c), escaped(&c.header));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in 0..result.rows.len() {
        out.push_str("<tr>");
        for c in &columns {
            let cell = c.cells.get(row).map_or("", String::as_str);
            let _ = write!(out, "<td style=\"text-align: {}\">{}</td>", align(c), escaped(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n");
    for note in result.told() {
        let _ = writeln!(out, "<p>{}</p>", escaped(&visible(&note)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{ColumnKind, ResultCell, ResultColumn};
    use super::*;

    #[test]
    fn nothing_of_a_file_becomes_html() {
        let hostile = "<img src=x onerror='alert(1)'>\"&\u{1b}[2J";
        let column = |name: &str, kind| ResultColumn { name: name.into(), kind };
        let columns = vec![column(hostile, ColumnKind::Text), column("p", ColumnKind::Number)];
        let rows = vec![vec![ResultCell::Label(hostile.into()), ResultCell::Number(0.5)]];
        let mut table = ResultTable::new(columns, rows, 0.0);
        table.notes.push(hostile.into());
        let out = html(&table);
        assert!(!out.contains("<img") && !out.contains('\u{1b}'), "{out}");
        let shown = "&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&quot;&amp;\\u{1b}[2J";
        assert_eq!(out.matches(shown).count(), 3, "{out}");
        assert!(out.contains("text-align: right\">0.5"), "{out}");
        assert!(preformatted(hostile).starts_with(&format!("<pre>{shown}")));
    }
}
