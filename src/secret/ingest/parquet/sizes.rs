//! How much memory a column chunk's pages take, from their headers alone, before one of them is read.
//!
//! The footer has a column chunk's size in all and the number of its values, so one long value among many short ones hides in it. Each page's header
//! says how long the page is when it is unpacked: a struct of Thrift's compact protocol, whose second field that is, and whose third
//! the number of bytes to the next header.

use super::super::error::IngestError;
use super::super::memory::Memory;
use super::place::OnDisk;
use super::{BROKEN, LONG, Source, WIDE};
use ::parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use ::parquet::file::reader::ChunkReader;
use std::io::{self, Read};

/// Pages that are no longer are what files usually have: reading has room for them.
const USUAL: u64 = 2 << 20;
/// How deep structs of a header may lie in each other; they lie three deep.
const DEEPEST: u32 = 16;

/// Refuses a row group with a page longer than an eighth of the limit, or with long ones in more columns than all threads have room for: each
/// holds a page and a dictionary of every column.
pub(super) fn fits<'s>(
    file: &OnDisk,
    group: &RowGroupMetaData,
    sources: impl Iterator<Item = &'s Source>,
    memory: Memory,
) -> Result<(), IngestError> {
    let Some(limit) = memory.limit() else { return Ok(()) };
    let threads = rayon::current_num_threads().max(1) as u64;
    let mut all = 0u64;
    for source in sources {
        let Source::Column(leaf, _) = source else { continue };
        let chunk = group.columns().get(*leaf).ok_or(IngestError::Parquet(BROKEN))?;
        let longest = longest(file, chunk).map_err(|_| IngestError::Parquet(BROKEN))?;
        if longest > limit / 8 {
            return Err(IngestError::Parquet(LONG));
        }
        all = all.saturating_add(longest.saturating_sub(USUAL));
    }
    if all > limit / (2 * threads) { Err(IngestError::Parquet(WIDE)) } else { Ok(()) }
}

/// The length of a column chunk's longest page, unpacked.
pub(super) fn longest(file: &OnDisk, chunk: &ColumnChunkMetaData) -> io::Result<u64> {
    let (start, length) = chunk.byte_range();
    let end = start.checked_add(length).ok_or(io::ErrorKind::InvalidData)?;
    let (mut at, mut longest) = (start, 0);
    while at < end {
        let mut header =
            Header { bytes: file.get_read(at).map_err(io::Error::other)?, read: 0, most: end - at };
        let (unpacked, packed) = header.sizes()?;
        longest = longest.max(unpacked).max(packed).max(header.read);
        at += header.read + packed;
    }
    Ok(longest)
}

/// A page's header.
struct Header<R> {
    bytes: R,
    read: u64,
    /// It is no longer than what is left of its column chunk.
    most: u64,
}

impl<R: Read> Header<R> {
    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.bytes.read_exact(&mut byte)?;
        self.passed(1)?;
        Ok(byte[0])
    }

    fn passed(&mut self, n: u64) -> io::Result<()> {
        self.read = self.read.saturating_add(n);
        if self.read > self.most { Err(io::ErrorKind::InvalidData.into()) } else { Ok(()) }
    }

    fn pass(&mut self, n: u64) -> io::Result<()> {
        self.passed(n)?;
        let passed = io::copy(&mut (&mut self.bytes).take(n), &mut io::sink())?;
        if passed == n { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }

    /// A number that is written in turns on both sides of 0, and is none below it.
    fn length(&mut self) -> io::Result<u64> {
        let number = self.number()?;
        if number & 1 == 0 { Ok(number >> 1) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    /// The next field of a struct whose last one had this number: its number and its type. `None` at the end.
    fn field(&mut self, last: u64) -> io::Result<Option<(u64, u8)>> {
        let byte = self.byte()?;
        Ok(match (byte >> 4, byte & 0xf) {
            (_, 0) => None,
            (0, kind) => Some((self.length()?, kind)),
            (more, kind) => Some((last.saturating_add(more.into()), kind)),
        })
    }

    /// How long the page is, unpacked and as it is stored; the header is read to its end.
    fn sizes(&mut self) -> io::Result<(u64, u64)> {
        let (mut unpacked, mut packed, mut last) = (None, None, 0);
        while let Some((number, kind)) = self.field(last)? {
            match (number, kind) {
                (2, 5) => unpacked = Some(self.length()?),
                (3, 5) => packed = Some(self.length()?),
                _ => self.skip(kind, 0)?,
            }
            last = number;
        }
        unpacked.zip(packed).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn skip(&mut self, kind: u8, depth: u32) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        match kind {
            1 | 2 => Ok(()),
            3 => self.pass(1),
            4..=6 => self.number().map(drop),
            7 => self.pass(8),
            8 => {
                let length = self.number()?;
                self.pass(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let many = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
                (0..many).try_for_each(|_| match head & 0xf {
                    // In a list they have a byte of their own.
                    1 | 2 => self.pass(1),
                    kind => self.skip(kind, depth + 1),
                })
            }
            12 => {
                let mut last = 0;
                while let Some((number, kind)) = self.field(last)? {
                    self.skip(kind, depth + 1)?;
                    last = number;
                }
                Ok(())
            }
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}
