//! `SELECT … UNION ALL SELECT …`: several questions whose rows stand below each other.

use super::error::SqlError;
use super::span::{Location, Span};
use super::token::{Token, tokens};

/// The most SELECTs of one query.
const MOST: usize = 64;

/// The SELECTs that UNION ALL joins; none where it joins none. Each is the whole text with blanks in the place of the others, so that errors name
/// their places in it; what stands before the first (WITH) is kept in all.
pub(crate) fn united(text: &str) -> Result<Vec<String>, SqlError> {
    let wrong = |why: &str, at: Span, help: &str| Err(SqlError::new(why).at(at).help(help).in_text(text));
    // A text that cannot be read is refused where it is read.
    let Ok(tokens) = tokens(text) else { return Ok(Vec::new()) };
    let mut depth = 0usize;
    let mut outside: Vec<(usize, Span)> = Vec::new();
    for (at, (token, span)) in tokens.iter().enumerate() {
        match token {
            Token::Sign("(") => depth += 1,
            Token::Sign(")") => depth = depth.saturating_sub(1),
            _ if depth == 0 => outside.push((at, *span)),
            _ => {}
        }
    }
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|(token, _)| token.is_word(word));
    let joints: Vec<(usize, Span)> = outside.iter().copied().filter(|(at, _)| is(*at, "UNION")).collect();
    let Some(&(last, _)) = joints.last() else { return Ok(Vec::new()) };
    if joints.len() >= MOST {
        return Err(SqlError::new(format!("the most SELECTs of one query are {MOST}")));
    }
    for &(at, span) in &joints {
        if !is(at + 1, "ALL") {
            return wrong("UNION would compare noisy figures", span, "write UNION ALL, which keeps all rows");
        }
    }
    for &(at, span) in outside.iter().filter(|(at, _)| *at > last) {
        if ["ORDER", "LIMIT", "OFFSET"].iter().any(|word| is(at, word)) {
            let help = "put the SELECT that it is of in brackets: … UNION ALL (SELECT … ORDER BY …)";
            return wrong("behind UNION ALL this would be of all rows", span, help);
        }
    }
    let first = outside.iter().find(|(at, _)| is(*at, "SELECT")).map_or(0, |(at, _)| *at);
    let first = if matches!(tokens.first(), Some((Token::Sign("("), _))) { 0 } else { first };
    let begins = std::iter::once(first).chain(joints.iter().map(|(at, _)| at + 2));
    let end = tokens.iter().rposition(|(token, _)| *token != Token::Sign(";")).map_or(0, |at| at + 1);
    let ends = joints.iter().map(|(at, _)| *at).chain([end]);
    let part = |(begin, end): (usize, usize)| {
        let own = match tokens.get(begin..end).unwrap_or_default() {
            [(Token::Sign("("), _), .., (Token::Sign(")"), _)] => begin + 1..end - 1,
            _ => begin..end,
        };
        kept(text, &tokens, &[0..first, own])
    };
    Ok(begins.zip(ends).map(part).collect())
}

/// The text with blanks in the place of all but some of its words.
fn kept(text: &str, tokens: &[(Token, Span)], parts: &[std::ops::Range<usize>]) -> String {
    let spans: Vec<Span> = parts
        .iter()
        .filter_map(|part| Some(tokens.get(part.start)?.1.to(tokens.get(part.clone())?.last()?.1)))
        .collect();
    let mut at = Location { line: 1, column: 1 };
    let blanked = text.chars().map(|c| {
        let inside = spans.iter().any(|span| span.start <= at && at < span.end);
        at = match c {
            '\n' => Location { line: at.line + 1, column: 1 },
            _ => Location { line: at.line, column: at.column + 1 },
        };
        if inside || c == '\n' { c } else { ' ' }
    });
    blanked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects_keep_their_places() {
        let parts = |text: &str| united(text).map_err(|e| e.message);
        assert_eq!(parts("SELECT a FROM t").unwrap(), Vec::<String>::new());
        let text =
            "SELECT 'UNION ALL' FROM t\nUNION ALL (SELECT é\n FROM t LIMIT 1) union all SELECT c FROM t;";
        assert_eq!(
            parts(text).unwrap(),
            [
                "SELECT 'UNION ALL' FROM t\n                   \n                                           ",
                "                         \n           SELECT é\n FROM t LIMIT 1                            ",
                "                         \n                   \n                           SELECT c FROM t ",
            ]
        );
        let with = "WITH u AS (SELECT 1 UNION ALL SELECT 2) SELECT a FROM u UNION ALL SELECT b FROM u";
        let own = parts(with).unwrap();
        assert!(
            own.len() == 2
                && own.iter().all(|part| part.starts_with("WITH u AS (SELECT 1 UNION ALL SELECT 2) "))
        );
        assert!(own[1].ends_with(" SELECT b FROM u") && !own[1].contains("SELECT a"));
        for (text, why) in [
            ("SELECT a FROM t UNION SELECT a FROM t", "UNION would compare noisy figures"),
            (
                "SELECT a FROM t UNION ALL SELECT a FROM t ORDER BY a",
                "behind UNION ALL this would be of all rows",
            ),
        ] {
            assert_eq!(parts(text).unwrap_err(), why);
        }
    }
}
