//! From text to words and signs, each with its place.

use super::error::SqlError;
use super::span::{Location, Span};

/// A word or a sign.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A word without quotes: a keyword or a name.
    Word(String),
    /// A name in double quotes or backticks.
    Quoted(String, char),
    /// A text in single quotes.
    Text(String),
    /// A number, as it is written.
    Number(String),
    /// Anything else: `(`, `<=`, `,` …
    Sign(&'static str),
}

impl Token {
    /// How an error calls it.
    pub(super) fn shown(&self) -> String {
        match self {
            Token::Word(word) => word.clone(),
            Token::Quoted(name, quote) => format!("{quote}{name}{quote}"),
            Token::Text(text) => format!("'{text}'"),
            Token::Number(number) => number.clone(),
            Token::Sign(sign) => (*sign).to_string(),
        }
    }

    /// Whether it is this keyword, in any capitals.
    pub(crate) fn is_word(&self, keyword: &str) -> bool {
        matches!(self, Token::Word(word) if word.eq_ignore_ascii_case(keyword))
    }
}

/// The signs there are; of two that fit the longer comes first.
const SIGNS: [&str; 31] = [
    "<>", "<=", ">=", "!=", "==", "||", "::", "(", ")", "[", "]", "{", "}", ",", ";", ".", "=", "<", ">",
    "+", "-", "*", "/", "%", "!", ":", "?", "&", "|", "^", "~",
];

/// The words and signs of a text. Comments are passed over.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Span)>, SqlError> {
    let mut reader = Reader { rest: text, at: Location { line: 1, column: 1 } };
    let mut tokens = Vec::new();
    while reader.skip_blanks()? {
        let start = reader.at;
        let token = reader.token()?;
        tokens.push((token, Span { start, end: reader.at }));
    }
    Ok(tokens)
}

struct Reader<'t> {
    rest: &'t str,
    at: Location,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn advance(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        self.at = match c {
            '\n' => Location { line: self.at.line + 1, column: 1 },
            _ => Location { column: self.at.column + 1, ..self.at },
        };
        Some(c)
    }

    /// All that fits from here on.
    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'t str {
        let whole = self.rest;
        while self.peek().is_some_and(&fits) {
            self.advance();
        }
        &whole[..whole.len() - self.rest.len()]
    }

    fn here(&self) -> Span {
        Span { start: self.at, end: Location { column: self.at.column + 1, ..self.at } }
    }

    /// Passes over blanks and comments; whether anything follows.
    fn skip_blanks(&mut self) -> Result<bool, SqlError> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("--") {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                self.comment()?;
            } else {
                return Ok(!self.rest.is_empty());
            }
        }
    }

    /// `/* … */`, which may hold others.
    fn comment(&mut self) -> Result<(), SqlError> {
        let start = self.here();
        let mut depth = 0u32;
        loop {
            let sign = [("/*", 1), ("*/", -1)].into_iter().find(|(sign, _)| self.rest.starts_with(sign));
            if let Some((_, step)) = sign {
                self.advance();
                depth = depth.saturating_add_signed(step);
            }
            if self.advance().is_none() {
                return Err(SqlError::new("this comment has no end").at(start).help("write */ after it"));
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token, SqlError> {
        let start = self.here();
        let next = self.peek().unwrap_or(' ');
        let then = self.rest.chars().nth(1).unwrap_or(' ');
        if next.is_alphabetic() || next == '_' {
            return Ok(Token::Word(self.take_while(|c| c.is_alphanumeric() || c == '_').into()));
        }
        if next.is_ascii_digit() || next == '.' && then.is_ascii_digit() {
            return Ok(Token::Number(self.number()));
        }
        match next {
            '\'' => self.quoted('\'').map(Token::Text),
            '"' | '`' => self.quoted(next).map(|name| Token::Quoted(name, next)),
            _ => {
                let sign = SIGNS.iter().find(|sign| self.rest.starts_with(**sign)).ok_or_else(|| {
                    let shown = if next.is_control() { "this character".into() } else { format!("`{next}`") };
                    SqlError::new(format!("{shown} means nothing here")).at(start)
                })?;
                for _ in sign.chars() {
                    self.advance();
                }
                Ok(Token::Sign(sign))
            }
        }
    }

    /// `12`, `1.5`, `.5`, `1e-3`.
    fn number(&mut self) -> String {
        let digit = |c: char| c.is_ascii_digit();
        let mut text = self.take_while(digit).to_string();
        if self.peek() == Some('.') {
            self.advance();
            text.push('.');
            text.push_str(self.take_while(digit));
        }
        let mut after = self.rest.chars();
        let exponent = matches!(after.next(), Some('e' | 'E'))
            && match after.next() {
                Some('+' | '-') => after.next().is_some_and(digit),
                c => c.is_some_and(digit),
            };
        if exponent {
            text.extend(self.advance());
            text.extend(self.advance());
            text.push_str(self.take_while(digit));
        }
        text
    }

    /// What stands between quotes, in which a quote is written twice.
    fn quoted(&mut self, quote: char) -> Result<String, SqlError> {
        let start = self.here();
        self.advance();
        let mut inside = String::new();
        loop {
            inside.push_str(self.take_while(|c| c != quote));
            if self.advance().is_none() {
                let what = if quote == '\'' { "text" } else { "name" };
                return Err(SqlError::new(format!("this {what} has no end"))
                    .at(start)
                    .help(format!("close it with {quote}")));
            }
            if self.peek() != Some(quote) {
                return Ok(inside);
            }
            self.advance();
            inside.push(quote);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        tokens(text).unwrap_or_else(|e| panic!("{e}")).iter().map(|(t, _)| t.shown()).collect()
    }

    #[test]
    fn words_and_signs() {
        assert_eq!(shown("a<=b /* c /* d */ */ -- e\n<> .5e-3"), ["a", "<=", "b", "<>", ".5e-3"]);
        assert_eq!(shown("1.5.2 7e 7e+ 12.x"), ["1.5", ".2", "7", "e", "7", "e", "+", "12.", "x"]);
        assert_eq!(shown("'it''s' \"a\"\"b\" `c``d` Größe_1"), ["'it's'", "\"a\"b\"", "`c`d`", "Größe_1"]);
        for (broken, what) in [
            ("'a", "text has no end"),
            ("\"a", "name"),
            ("/* /* */", "comment"),
            ("a # b", "`#` means"),
            ("\u{1}", "this char"),
        ] {
            assert!(tokens(broken).expect_err(broken).to_string().contains(what), "{broken}");
        }
    }

    #[test]
    fn places_count_characters() {
        let places: Vec<_> =
            tokens("é = 'ü\n' x").expect("fine").iter().map(|(_, s)| (s.start, s.end)).collect();
        let at = |line, column| Location { line, column };
        assert_eq!(
            places,
            [(at(1, 1), at(1, 2)), (at(1, 3), at(1, 4)), (at(1, 5), at(2, 2)), (at(2, 3), at(2, 4))]
        );
    }
}
