//! Where the quotation marks of delimited text are, as the CSV library sees them: a cell that none ends takes all rows below it with it, and nobody
//! would be told.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// What a text may begin with, before its first cell.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Where a quotation mark begins a cell of comma-separated text that no other one ends.
pub(crate) fn never_closed(text: &str) -> Option<usize> {
    let mut seen = ReadSoFar::new();
    seen.take(text.as_bytes(), b',');
    seen.open().map(|(at, _)| at)
}

/// A text that is read, and where its quotation marks stand so far.
pub(crate) struct Quotes<R> {
    text: R,
    delimiter: u8,
    seen: Rc<Cell<ReadSoFar>>,
}

/// What was read of a text.
#[derive(Clone, Copy)]
pub(crate) struct ReadSoFar {
    state: State,
    at: usize,
    line: u64,
    /// Where the last quoted cell begins: its byte, and its line.
    opened: (usize, u64),
    ended: bool,
}

impl ReadSoFar {
    pub(crate) fn new() -> ReadSoFar {
        ReadSoFar { state: State::Start, at: 0, line: 1, opened: (0, 1), ended: false }
    }

    fn take(&mut self, bytes: &[u8], delimiter: u8) {
        for &byte in bytes {
            let mark = MARK.get(self.at) == Some(&byte);
            let next = self.state.after(byte, mark || byte == delimiter || matches!(byte, b'\n' | b'\r'));
            if (self.state, next) == (State::Start, State::Quoted) {
                self.opened = (self.at, self.line);
            }
            self.state = next;
            self.at += 1;
            self.line += u64::from(byte == b'\n');
        }
    }

    /// Where the cell begins that is open here.
    fn open(self) -> Option<(usize, u64)> {
        (self.state == State::Quoted).then_some(self.opened)
    }

    /// The line where a quotation mark begins a cell that no other one ends, in a text that was read to its end.
    pub(crate) fn never_closed(self) -> Option<u64> {
        self.open().filter(|_| self.ended).map(|(_, line)| line)
    }
}

impl<R: Read> Quotes<R> {
    /// From the start of the file: what was seen of it is told in `seen`.
    pub(crate) fn new(text: R, delimiter: u8, seen: Rc<Cell<ReadSoFar>>) -> Quotes<R> {
        seen.set(ReadSoFar::new());
        Quotes { text, delimiter, seen }
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(out)?;
        let mut seen = self.seen.get();
        seen.ended |= read == 0 && !out.is_empty();
        seen.take(out.get(..read).unwrap_or_default(), self.delimiter);
        self.seen.set(seen);
        Ok(read)
    }
}

/// Where in a cell a byte is, as the CSV library sees it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum State {
    /// At its beginning: only there a quotation mark opens a cell.
    Start,
    /// In a cell without quotation marks, or behind those.
    Plain,
    /// Between quotation marks: line ends are text.
    Quoted,
    /// Behind a quotation mark in a quoted cell: it ends there, unless another one follows.
    Closed,
}

impl State {
    /// Behind a byte, which may end a cell where no quotation marks hold it.
    pub(crate) fn after(self, byte: u8, ends: bool) -> State {
        match (self, byte) {
            (State::Quoted, b'"') => State::Closed,
            (State::Quoted, _) | (State::Start | State::Closed, b'"') => State::Quoted,
            _ if ends => State::Start,
            _ => State::Plain,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A quotation mark that is never closed swallows what follows; others do not.
    #[test]
    fn quotes_that_stay_open() {
        for (text, at) in [
            ("a,b\n1,2\n", None),
            ("a,b\n\"1\n\",2\n", None),
            ("a,b\n\"x \"\"y\"\"\",5\" pipe\n", None),
            ("a,b\n1,\"2\n3,4\n", Some(6)),
            ("a,b\n1,\"2\"\"\n3,4", Some(6)),
            ("\u{feff}\"a,b", Some(3)),
            ("", None),
        ] {
            assert_eq!(never_closed(text), at, "{text:?}");
        }
    }

    /// However little is read at a time, the line is that of the byte.
    #[test]
    fn read_in_pieces() {
        let line = |text: &str, step: usize| {
            let seen = Rc::new(Cell::new(ReadSoFar::new()));
            let mut quotes = Quotes::new(text.as_bytes(), b',', seen.clone());
            let mut some = vec![0; step];
            while quotes.read(&mut some).unwrap() > 0 {
                assert_eq!(seen.get().never_closed(), None, "before its end");
            }
            seen.get().never_closed()
        };
        for text in ["a,b\n1,2\n", "a\n\n\"b\nc", "\u{feff}\"a,b", "a,b\n\"1\n\",\"2\n", "\u{bb}\"a\"\n"] {
            let at = never_closed(text).map(|at| 1 + text[..at].matches('\n').count() as u64);
            for step in 1..5 {
                assert_eq!(line(text, step), at, "{text:?}");
            }
        }
    }
}
