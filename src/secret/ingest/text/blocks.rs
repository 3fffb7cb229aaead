//! A text file as blocks of whole records.
//!
//! One thread at a time reads on and looks for the end of the last whole record; what follows it begins the next block. Whoever got the
//! block codes it while others read. Every block begins at the start of a record, so that a quote can only open where a field begins.

use memchr::{memchr, memrchr};
use std::io::{self, Read};
use std::ops::Range;
use zeroize::Zeroizing;

/// The header may be this long: a file that is no table has no line end for long.
pub(super) const LONGEST_HEADER: usize = 1 << 20;

/// Memory for the bytes of a block, which is used again and again and wiped when it is left: wiping takes longer than coding.
pub(in crate::secret::ingest) type Buffer = Zeroizing<Vec<u8>>;

/// Bytes of whole records, and where in the file they are.
pub(in crate::secret::ingest) struct Block {
    pub bytes: Buffer,
    pub offset: u64,
}

/// Why there is no next block.
pub(super) enum Broken {
    Io(io::ErrorKind),
    /// A record longer than is taken begins at this byte of the file.
    Long(u64),
}

/// The rest of a file.
pub(super) struct Blocks {
    file: Box<dyn Read + Send>,
    delimiter: u8,
    quote: u8,
    /// How many bytes are read at a time.
    size: usize,
    /// A record may be this long.
    longest: usize,
    /// What has been read and handed to nobody.
    pending: Buffer,
    /// Where that begins in the file.
    offset: u64,
    ended: bool,
}

impl Blocks {
    /// From the start of a file, behind its byte order mark.
    pub(super) fn new(
        file: Box<dyn Read + Send>,
        (delimiter, quote): (u8, u8),
        size: usize,
        longest: usize,
    ) -> Result<Blocks, Broken> {
        let pending = Zeroizing::default();
        let mut blocks = Blocks { file, delimiter, quote, size, longest, pending, offset: 0, ended: false };
        blocks.read(None)?;
        while blocks.pending.len() < 3 && !blocks.ended {
            blocks.read(None)?;
        }
        if blocks.pending.starts_with("\u{feff}".as_bytes()) {
            blocks.pending.drain(..3);
            blocks.offset = 3;
        }
        Ok(blocks)
    }

    /// How the file begins.
    pub(crate) fn start(&self) -> &[u8] {
        &self.pending
    }

    /// Reads on, into memory that was used before if that is large enough. What is there will be looked at again: so it is doubled at least.
    fn read(&mut self, used: Option<Buffer>) -> Result<(), Broken> {
        let from = self.pending.len();
        let size = self.size.max(from);
        // It must not grow: what it leaves behind would not be wiped.
        let mut more = used.unwrap_or_default();
        more.clear();
        if more.capacity() < from + size {
            more = Zeroizing::new(Vec::with_capacity(from + size));
        }
        more.extend_from_slice(&self.pending);
        let failed = |e: io::Error| Broken::Io(e.kind());
        (&mut self.file).take(size as u64).read_to_end(&mut more).map_err(failed)?;
        self.ended = more.len() == from;
        self.pending = more;
        Ok(())
    }

    /// The next whole records, in memory from `spare` if there is any; `None` at the end.
    pub(super) fn next(&mut self, spare: &mut Vec<Buffer>) -> Result<Option<Block>, Broken> {
        if !self.ended {
            self.read(spare.pop())?;
        }
        loop {
            let whole = match self.ended {
                true => self.pending.len(),
                false => whole_records(&self.pending, self.delimiter, self.quote),
            };
            if whole > 0 {
                return Ok(Some(self.hand_out(whole)));
            }
            if self.ended {
                return Ok(None);
            }
            if self.pending.len() > self.longest {
                return Err(Broken::Long(self.offset));
            }
            self.read(None)?;
        }
    }

    fn hand_out(&mut self, whole: usize) -> Block {
        let rest = Zeroizing::new(self.pending.get(whole..).unwrap_or_default().to_vec());
        let mut bytes = std::mem::replace(&mut self.pending, rest);
        bytes.truncate(whole);
        let offset = self.offset;
        self.offset += whole as u64;
        Block { bytes, offset }
    }

    /// Where the file's first record ends that has anything in it: there the header is read from `0..`, and the rows begin.
    pub(crate) fn first_record(&mut self, end: impl Fn(&[u8]) -> Option<usize>) -> Result<Block, Broken> {
        loop {
            // A record is known to be whole when something follows it.
            let found = end(&self.pending).filter(|&end| self.ended || end < self.pending.len());
            match found {
                Some(end) => return Ok(self.hand_out(end)),
                None if self.ended => return Ok(self.hand_out(self.pending.len())),
                None if self.pending.len() > LONGEST_HEADER => return Err(Broken::Long(self.offset)),
                None => self.read(None)?,
            }
        }
    }
}

/// How many bytes of `text`, which begins at the start of a record, are whole records for sure, whatever follows; 0 when that is not known of any.
fn whole_records(text: &[u8], delimiter: u8, quote: u8) -> usize {
    let mut outside: Vec<Range<usize>> = Vec::new();
    let (mut from, mut at) = (0, 0);
    // What stands outside of quotes.
    loop {
        let Some(open) = text.get(at..).and_then(|rest| memchr(quote, rest)).map(|i| at + i) else {
            outside.push(from..text.len());
            break;
        };
        let begins = open.checked_sub(1).and_then(|before| text.get(before));
        if begins.is_some_and(|&b| b != delimiter && b != b'\n' && b != b'\r') {
            at = open + 1; // inside a field it is a character like others
            continue;
        }
        outside.push(from..open);
        match closing(text, open + 1, quote) {
            Some(after) => (from, at) = (after, after),
            None => break,
        }
    }
    let last = |range: &Range<usize>| {
        let end = memrchr(b'\n', text.get(range.clone()).unwrap_or_default())?;
        Some(range.start + end + 1)
    };
    let carriage = |range: &Range<usize>| {
        let inside = text.get(range.clone()).unwrap_or_default();
        // The last byte of all may be half of a CRLF.
        let inside =
            if range.end == text.len() { inside.get(..inside.len().saturating_sub(1))? } else { inside };
        Some(range.start + memrchr(b'\r', inside)? + 1)
    };
    outside.iter().rev().find_map(last).or_else(|| outside.iter().rev().find_map(carriage)).unwrap_or(0)
}

/// Where the text behind a closing quote begins; `None` where it is not closed for sure.
fn closing(text: &[u8], mut at: usize, quote: u8) -> Option<usize> {
    loop {
        at += memchr(quote, text.get(at..)?)? + 1;
        match text.get(at) {
            Some(&next) if next == quote => at += 1,
            Some(_) => return Some(at),
            None => return None, // perhaps doubled
        }
    }
}
