//! Names that are not plain words, written without quotes.
//!
//! SQL reads `marital-status` as a subtraction. A query can only mean the dimension of that name, so known
//! names that need quotes get them, wherever they stand as a whole word outside quotes and comments.

use super::parser::is_keyword;
use crate::cube::{Cube, Level};
use std::borrow::Cow;

/// Whether SQL takes a name as one word without quotes.
fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A name as a query must write it: in quotes where SQL would read it otherwise, as `order` or `marital-status`.
pub fn quoted(name: &str) -> String {
    if is_plain(name) && !is_keyword(name) {
        name.into()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// The name of a level as a query must write it: each part in quotes where it needs them.
pub fn quoted_level(cube: &Cube, level: Level) -> String {
    let text = cube.level_name(level);
    let dimension = &cube.dimensions[level.dimension].name;
    match text.strip_prefix(dimension.as_str()).and_then(|rest| rest.strip_prefix('.')) {
        Some(rest) => format!("{}.{}", quoted(dimension), quoted(rest)),
        None => quoted(&text),
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The text with `names` quoted where they need it.
pub fn quote_names<'t>(text: &'t str, names: &[&str]) -> Cow<'t, str> {
    let mut names: Vec<&str> = names.iter().copied().filter(|n| !n.is_empty() && !is_plain(n)).collect();
    if !names.iter().any(|n| text.contains(n)) {
        return Cow::Borrowed(text);
    }
    // The longest first: of `a-b` and `a-b-c` the text means what fits whole.
    names.sort_by_key(|n| std::cmp::Reverse(n.len()));
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let skipped = match c {
            '\'' | '"' | '`' => Some(rest[1..].find(c).map_or(rest.len(), |end| end + 2)),
            '-' if rest.starts_with("--") => rest.find('\n').or(Some(rest.len())),
            '/' if rest.starts_with("/*") => rest.find("*/").map(|end| end + 2),
            _ => None,
        };
        if let Some(end) = skipped {
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            before = '"';
            continue;
        }
        let here = names.iter().find(|n| {
            let inside = is_word(before) || n.starts_with(is_word) && before == '-';
            !inside && rest.strip_prefix(**n).is_some_and(|after| !after.starts_with(is_word))
        });
        if let Some(name) = here {
            out.push('"');
            out.push_str(&name.replace('"', "\"\""));
            out.push('"');
            rest = &rest[name.len()..];
            before = '"';
        } else {
            out.push(c);
            before = c;
            rest = &rest[c.len_utf8()..];
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::quote_names;

    #[test]
    fn names_that_need_quotes_get_them() {
        let names = ["marital-status", "income>50K", "sex", "a-b", "a-b-c", "2nd"];
        let check = |text: &str, expected: &str| assert_eq!(quote_names(text, &names), expected);
        check("SELECT sex FROM x", "SELECT sex FROM x");
        check("SELECT marital-status, sex", "SELECT \"marital-status\", sex");
        check(
            "WHERE income>50K = 1 AND a-b-c=2 AND a-b=3",
            "WHERE \"income>50K\" = 1 AND \"a-b-c\"=2 AND \"a-b\"=3",
        );
        check(
            "WHERE \"marital-status\" = 'a-b' -- a-b\n AND `a-b`=1",
            "WHERE \"marital-status\" = 'a-b' -- a-b\n AND `a-b`=1",
        );
        check("premarital-status marital-statuses a-bc", "premarital-status marital-statuses a-bc");
        check("x.marital-status 2nd 'a-b", "x.\"marital-status\" \"2nd\" 'a-b");
    }
}
