//! One record of a text, field by field.

use super::marks::Marks;
use memchr::memchr;
use zeroize::Zeroizing;

/// Splits a block into fields as RFC 4180 has it: quotes are doubled inside quotes, quoted fields may span lines, lines end in LF, CR or
/// CRLF. A quote inside an unquoted field is a character like others; what follows a closing quote belongs to the field.
///
/// A line with nothing on it is no record, unless records have one field: then it is how an empty field is written by all who do not quote it.
pub(super) struct Records<'t> {
    text: &'t [u8],
    delimiter: u8,
    quote: u8,
    marks: Marks<'t>,
    /// Whether every record has one field.
    lone: bool,
    /// Where the next field begins.
    start: usize,
    /// Whether the last field was a quoted one that nothing closes.
    unclosed: bool,
    /// A field that is not in the text as it stands.
    unquoted: Zeroizing<Vec<u8>>,
}

/// A field's bytes.
pub(super) enum Field {
    /// From and to in the text.
    Plain(usize, usize),
    /// In [`Records::unquoted`].
    Unquoted,
}

impl<'t> Records<'t> {
    pub(super) fn new(text: &'t [u8], delimiter: u8, quote: u8) -> Records<'t> {
        let marks = Marks::new(text, delimiter);
        let unquoted = Zeroizing::default();
        Records { text, delimiter, quote, marks, lone: false, start: 0, unclosed: false, unquoted }
    }

    /// Of so many fields each.
    pub(super) fn of(self, fields: usize) -> Records<'t> {
        Records { lone: fields == 1, ..self }
    }

    /// Where the next record begins, behind lines with nothing on them that are none; `None` at the end.
    #[inline]
    pub(super) fn begin(&mut self) -> Option<usize> {
        if self.lone {
            self.end_line();
        } else {
            while let Some(b'\n' | b'\r') = self.text.get(self.start) {
                self.marks.next();
                self.start += 1;
            }
        }
        (self.start < self.text.len()).then_some(self.start)
    }

    /// Goes behind the second half of a CRLF.
    pub(crate) fn end_line(&mut self) {
        let before = self.start.checked_sub(1).and_then(|before| self.text.get(before));
        if (before, self.text.get(self.start)) == (Some(&b'\r'), Some(&b'\n')) {
            self.marks.next();
            self.start += 1;
        }
    }

    /// The next field of the record, and whether it is the last.
    #[inline]
    pub(crate) fn field(&mut self) -> (Field, bool) {
        let from = self.start;
        let (field, stop) = if self.text.get(from) == Some(&self.quote) {
            self.quoted(from)
        } else {
            let stop = self.marks.next();
            (Field::Plain(from, stop), stop)
        };
        self.start = stop + 1;
        (field, self.text.get(stop) != Some(&self.delimiter))
    }

    /// A field that begins with a quote, and where it stops.
    #[inline]
    fn quoted(&mut self, from: usize) -> (Field, usize) {
        let stop = self.marks.next();
        // Nearly always it is closed where it stops, and has no quotes inside.
        if let Some([first, inside @ .., last]) = self.text.get(from..stop)
            && (*first, *last) == (self.quote, self.quote)
            && memchr(self.quote, inside).is_none()
        {
            return (Field::Plain(from + 1, stop - 1), stop);
        }
        (Field::Unquoted, self.unquote(from + 1))
    }

    fn unquote(&mut self, mut at: usize) -> usize {
        self.unquoted.clear();
        loop {
            let rest = self.text.get(at..).unwrap_or_default();
            let Some(close) = memchr(self.quote, rest) else {
                // The rest of the text.
                self.unclosed = true;
                self.unquoted.extend_from_slice(rest);
                self.marks.seek(self.text.len());
                return self.text.len();
            };
            self.unquoted.extend_from_slice(rest.get(..close).unwrap_or_default());
            at += close + 1;
            if self.text.get(at) != Some(&self.quote) {
                break;
            }
            self.unquoted.push(self.quote);
            at += 1;
        }
        self.marks.seek(at);
        let stop = self.marks.next();
        self.unquoted.extend_from_slice(self.text.get(at..stop).unwrap_or_default());
        stop
    }

    /// The text in which a field is, with where it begins and ends.
    #[inline]
    pub(super) fn bytes(&self, field: &Field) -> (&[u8], usize, usize) {
        match *field {
            Field::Plain(from, to) => (self.text, from, to),
            Field::Unquoted => (&self.unquoted, 0, self.unquoted.len()),
        }
    }

    /// All fields of the next record, and where it begins.
    pub(super) fn whole(&mut self) -> Option<(usize, Vec<Zeroizing<Vec<u8>>>)> {
        let begin = self.begin()?;
        let mut fields = Vec::new();
        loop {
            let (field, last) = self.field();
            let (text, from, to) = self.bytes(&field);
            fields.push(Zeroizing::new(text.get(from..to).unwrap_or_default().to_vec()));
            if last {
                return Some((begin, fields));
            }
        }
    }

    /// Whether a quoted field has gone on to the end of the text.
    pub(crate) fn unclosed(&self) -> bool {
        self.unclosed
    }

    /// Where the next record begins or the text behind the last.
    pub(super) fn position(&self) -> usize {
        self.start.min(self.text.len())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the CSV library, on texts of nothing but trouble.
        #[test]
        fn as_the_library(text in prop::collection::vec(prop::sample::select(b"ab,;\n\r\"'\xff".to_vec()), 0..200)) {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&*text);
            let mut records = Records::new(&text, b',', b'"');
            let mut record = csv::ByteRecord::new();
            while reader.read_byte_record(&mut record).unwrap() {
                let (_, fields) = records.whole().unwrap();
                let fields: Vec<&[u8]> = fields.iter().map(|f| f.as_slice()).collect();
                prop_assert_eq!(fields, record.iter().collect::<Vec<_>>());
            }
            prop_assert!(records.whole().is_none());
        }

        /// Of one field: line by line, and nothing left out.
        #[test]
        fn one_field_a_line(text in "[ab\n\r]{0,40}") {
            let lines = text.replace("\r\n", "\n").replace('\r', "\n");
            let mut expected: Vec<&str> = lines.split('\n').collect();
            prop_assert!(!expected.is_empty());
            if expected.last() == Some(&"") {
                expected.pop();
            }
            let mut records = Records::new(text.as_bytes(), b',', b'"').of(1);
            for line in expected {
                let (_, fields) = records.whole().unwrap();
                prop_assert_eq!(fields.iter().map(|f| f.as_slice()).collect::<Vec<_>>(), [line.as_bytes()]);
            }
            prop_assert!(records.whole().is_none());
        }
    }
}
