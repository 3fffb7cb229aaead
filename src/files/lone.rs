//! Empty lines that are rows.

use std::io;

/// A text of one column whose empty lines below the header have `""` on them: to the CSV library a line with nothing on it is none, but in one column it is a row
/// with an empty cell, as all write it who do not quote it.
pub(crate) struct Lone<R> {
    text: R,
    /// What has been read, and where what is not given out begins.
    ready: Vec<u8>,
    at: usize,
    before: u8,
    quoted: bool,
    header: bool,
}

impl<R: io::Read> Lone<R> {
    /// From the start of the file.
    pub fn new(text: R) -> Lone<R> {
        Lone { text, ready: Vec::new(), at: 0, before: b'\n', quoted: false, header: false }
    }

    fn take(&mut self, byte: u8) {
        self.quoted ^= byte == b'"';
        let ends = matches!(byte, b'\n' | b'\r');
        let begins = matches!(self.before, b'\n' | b'\r') && (self.before, byte) != (b'\r', b'\n');
        if ends && begins && self.header && !self.quoted {
            self.ready.extend(b"\"\"");
        }
        self.ready.push(byte);
        self.header |= !ends;
        self.before = byte;
    }
}

impl<R: io::Read> io::Read for Lone<R> {
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
    use std::io::Read;

    proptest::proptest! {
        /// Every line below the header is a record of the CSV library, however little is read at a time.
        #[test]
        fn empty_lines(text in "[ab\n\r]{0,40}", step in 1usize..5) {
            let whole = format!("\n\nname\n{text}");
            let mut lone = Lone::new(whole.as_bytes());
            let mut read = Vec::new();
            let mut some = vec![0; step];
            loop {
                match lone.read(&mut some).unwrap() {
                    0 => break,
                    n => read.extend_from_slice(&some[..n]),
                }
            }
            let lines = text.replace("\r\n", "\n").replace('\r', "\n");
            let mut lines: Vec<&str> = lines.split('\n').collect();
            if lines.last() == Some(&"") {
                lines.pop();
            }
            let mut reader = csv::Reader::from_reader(read.as_slice());
            proptest::prop_assert_eq!(reader.headers().unwrap(), vec!["name"]);
            let records: Vec<String> = reader.records().map(|r| r.unwrap()[0].to_owned()).collect();
            proptest::prop_assert_eq!(records, lines);
        }
    }
}
