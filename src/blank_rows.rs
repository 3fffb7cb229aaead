//! Empty lines that are rows.

use crate::quotes::State;
use std::io::{self, Read};

/// A reader of delimited text to which an empty line below the header of a single column is a row with an empty cell, as all write it who do not
/// quote it; to the CSV library it is no line. `open` gives the text from its start, twice where it has one column.
pub(crate) fn reader<'r, R: Read + 'r>(
    how: &csv::ReaderBuilder,
    mut open: impl FnMut() -> io::Result<R>,
) -> csv::Result<csv::Reader<Box<dyn Read + 'r>>> {
    let read = |text: Box<dyn Read + 'r>| how.from_reader(text);
    let mut reader = read(Box::new(open()?));
    if reader.byte_headers()?.len() == 1 {
        reader = read(Box::new(BlankRows::new(open()?)));
    }
    Ok(reader)
}

/// A text of one column whose empty lines below the header have `""` on them.
struct BlankRows<R> {
    text: R,
    /// What has been read, and where what is not given out begins.
    ready: Vec<u8>,
    at: usize,
    before: u8,
    /// What is left of the mark that a text may begin with, and is no part of its header.
    mark: &'static [u8],
    state: State,
    header: bool,
}

impl<R: Read> BlankRows<R> {
    /// From the start of the file.
    fn new(text: R) -> BlankRows<R> {
        let mark = "\u{feff}".as_bytes();
        BlankRows { text, ready: Vec::new(), at: 0, before: b'\n', mark, state: State::Start, header: false }
    }

    fn take(&mut self, byte: u8) {
        match self.mark {
            [next, rest @ ..] if *next == byte => {
                self.mark = rest;
                self.ready.push(byte);
                return;
            }
            _ => self.mark = &[],
        }
        let ends = matches!(byte, b'\n' | b'\r');
        let second = (self.before, byte) == (b'\r', b'\n');
        if ends && self.state == State::Start && self.header && !second {
            self.ready.extend(b"\"\"");
        }
        self.ready.push(byte);
        self.state = self.state.after(byte, ends);
        self.header |= !ends;
        self.before = byte;
    }
}

impl<R: Read> Read for BlankRows<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.ready.len() {
            self.ready.clear();
            self.at = 0;
            let mut some = [0; 1 << 13];
            let read = self.text.read(&mut some)?;
            some.iter().take(read).for_each(|byte| self.take(*byte));
        }
        let rest = self.ready.get(self.at..).unwrap_or_default();
        let some = rest.len().min(out.len());
        out.iter_mut().zip(rest).for_each(|(to, byte)| *to = *byte);
        self.at += some;
        Ok(some)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// What the CSV library makes of a text as it is.
    fn records(text: &str) -> Vec<String> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        reader.records().map(|r| r.unwrap()[0].to_owned()).collect()
    }

    /// What it makes of it here, of which so little is read at a time.
    fn read(text: &str, step: usize) -> Vec<String> {
        let mut lone = BlankRows::new(text.as_bytes());
        let mut read = Vec::new();
        let mut some = vec![0; step];
        loop {
            match lone.read(&mut some).unwrap() {
                0 => break,
                n => read.extend_from_slice(&some[..n]),
            }
        }
        records(std::str::from_utf8(&read).unwrap())
    }

    proptest::proptest! {
        /// Every line below the header is a record of the CSV library, however little is read at a time. Where a line ends, that library says: not where
        /// what is written below it would be more of the same cell.
        #[test]
        fn empty_lines(text in "[ab\"\n\r]{0,40}", step in 1usize..5) {
            let mut lines = vec![String::new()];
            for (at, c) in text.char_indices() {
                let before = &text[..at];
                let ends = || records(&format!("{before}\nZ")).pop().unwrap() == "Z";
                match c {
                    '\n' if before.ends_with('\r') && ends() => {}
                    '\n' | '\r' if ends() => lines.push(String::new()),
                    _ => lines.last_mut().unwrap().push(c),
                }
            }
            if lines.last().is_some_and(String::is_empty) {
                lines.pop();
            }
            let mut want = vec!["name".to_owned()];
            want.extend(lines.iter().map(|line| records(line).pop().unwrap_or_default()));
            proptest::prop_assert_eq!(read(&format!("\n\nname\n{text}"), step), want);
        }
    }

    /// An inch is no quotation, and a quoted header may have empty lines, also behind the mark of a text.
    #[test]
    fn what_quotes() {
        assert_eq!(read("pipe\n5\" pipe\n\n\"a\n\n\"\n\nb\n", 3), ["pipe", "5\" pipe", "", "a\n\n", "", "b"]);
        for mark in ["", "\u{feff}"] {
            assert_eq!(read(&format!("{mark}\"a\n\nb\"\n\nc\n"), 3), ["a\n\nb", "", "c"]);
        }
    }

    /// Texts of one column have rows that those of two have not.
    #[test]
    fn columns_are_counted() {
        for (text, rows) in [("a\nb\n\n\nc\n", 4), ("a,b\n1,2\n\n3,4\n", 2)] {
            let mut reader = reader(&csv::ReaderBuilder::new(), || Ok(text.as_bytes())).unwrap();
            assert_eq!(reader.records().map(Result::unwrap).count(), rows, "{text}");
        }
    }
}
