//! Places in a query's text.

/// A place in a query's text. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    pub line: usize,
    pub column: usize,
}

/// A stretch of a query's text: from its first character to the one after its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: Location,
    pub end: Location,
}

impl Span {
    /// From the beginning of one stretch to the end of another.
    pub(crate) fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end }
    }
}
