//! Why a query was refused, where in its text, and what is possible instead.

use super::span::Span;
use crate::visible::visible;
use std::fmt;

/// A refused query. Its `Display` shows the line with carets under the place, in at most about 80 columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// What is wrong, in one line.
    pub message: String,
    /// What can be done about it.
    pub help: Option<String>,
    /// Where it is, if that is known.
    pub place: Option<Place>,
    /// The line of the query that `place` points into.
    line: String,
}

/// A stretch of one line of a query's text; lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The first character.
    pub column: usize,
    /// How many characters; at least 1.
    pub width: usize,
}

impl From<crate::cube::TooIntricate> for SqlError {
    fn from(e: crate::cube::TooIntricate) -> SqlError {
        SqlError::new(e.to_string())
            .help("combine fewer dimensions in one condition, or ask several simpler queries")
    }
}

impl SqlError {
    pub(crate) fn new(message: impl Into<String>) -> SqlError {
        SqlError { message: message.into(), help: None, place: None, line: String::new() }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> SqlError {
        self.help = Some(help.into());
        self
    }

    /// Points at a span, unless a more precise place is known already.
    pub(crate) fn at(mut self, span: Span) -> SqlError {
        if self.place.is_none() {
            let width = match span.end.line == span.start.line {
                true => span.end.column.saturating_sub(span.start.column),
                false => usize::MAX, // to the end of the line: see `in_text`
            };
            self.place =
                Some(Place { line: span.start.line, column: span.start.column, width: width.max(1) });
        }
        self
    }

    /// Keeps the line the place is in, and the place inside that line.
    pub(crate) fn in_text(mut self, text: &str) -> SqlError {
        if let Some(place) = &mut self.place {
            match text.split('\n').nth(place.line - 1) {
                Some(line) => {
                    // Tabs and control characters would shift the carets, or the terminal.
                    self.line = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                    let length = self.line.trim_end().chars().count();
                    place.column = place.column.min(length + 1);
                    place.width = place.width.min((length + 1).saturating_sub(place.column)).max(1);
                }
                None => self.place = None,
            }
        }
        self
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Both may name labels, which are text from elsewhere.
        f.write_str(&visible(&self.message))?;
        if let Some(Place { line, column, width }) = self.place {
            // A window of the line: what fits beside the gutter, with some context before the place.
            const WINDOW: usize = 68;
            let gutter = line.to_string();
            let pad = " ".repeat(gutter.len());
            let length = self.line.chars().count();
            let skip =
                if length <= WINDOW { 0 } else { (column - 1).saturating_sub(24).min(length - WINDOW) };
            let before = if skip > 0 { "…" } else { "" };
            let after = if length > skip + WINDOW { "…" } else { "" };
            let shown: String = self.line.chars().skip(skip).take(WINDOW).collect();
            let indent = " ".repeat(column - 1 - skip + before.chars().count());
            let carets = "^".repeat(width.min((skip + WINDOW + 1).saturating_sub(column)).max(1));
            write!(f, "\n{pad}--> line {line}, column {column}")?;
            write!(f, "\n{pad} |\n{gutter} | {before}{}{after}", shown.trim_end())?;
            write!(f, "\n{pad} | {indent}{carets}")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  = {}", visible(help))?;
        }
        Ok(())
    }
}

impl std::error::Error for SqlError {}
