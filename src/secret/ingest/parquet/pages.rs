//! The cells of a column chunk, page by page.
//!
//! The library reads pages and unpacks them; what is in them is decoded here, because a dictionary's entries need to be coded only once
//! and the library hands out values. Dictionaries, plain values and booleans are known here, which is what nearly all files are made
//! of; a column chunk with other encodings is decoded by the library (see `slow`).

use super::super::chunk::Chunk;
use super::super::error::IngestError;
use super::cells::Cells;
use super::hybrid::Hybrid;
use super::stored::{Stored, Value, plain};
use super::{BROKEN, UNKNOWN, undecodable};
use ::bytes::Bytes;
use ::parquet::basic::{Encoding, Type};
use ::parquet::column::page::{Page, PageReader};
use zeroize::Zeroizing;

/// The rest of a column chunk.
pub(super) struct Pages<'f> {
    reader: Box<dyn PageReader>,
    stored: Stored,
    cells: Cells<'f>,
    /// How long the dictionary is, and whether a null is an entry behind it: once a cell is one.
    dictionary: Option<usize>,
    null: bool,
    page: Data,
}

/// What is left of a data page.
struct Data {
    rows: usize,
    level_bytes: Bytes,
    levels: Option<Hybrid>,
    bytes: Bytes,
    values: Values,
}

enum Values {
    /// Places in the dictionary.
    Places(Hybrid),
    Flags(Hybrid),
    /// One after the other, from this byte on.
    Plain(usize),
}

const NOTHING: Data =
    Data { rows: 0, level_bytes: Bytes::new(), levels: None, bytes: Bytes::new(), values: Values::Plain(0) };

fn broken() -> IngestError {
    IngestError::Parquet(BROKEN)
}

impl<'f> Pages<'f> {
    pub(super) fn new(reader: Box<dyn PageReader>, stored: Stored, cells: Cells<'f>) -> Pages<'f> {
        Pages { reader, stored, cells, dictionary: None, null: false, page: NOTHING }
    }

    pub(super) fn cells(&mut self) -> &mut Cells<'f> {
        &mut self.cells
    }

    /// Whether all cells have been taken.
    pub(crate) fn finished(&mut self) -> Result<bool, IngestError> {
        Ok(self.page.rows == 0 && !self.next_page()?)
    }

    /// Takes the next `len` cells.
    pub(crate) fn fill(&mut self, chunk: &mut Chunk, len: usize) -> Result<(), IngestError> {
        self.cells.begin(chunk, len);
        let mut row = 0;
        while row < len {
            if self.page.rows == 0 {
                if !self.next_page()? {
                    return Err(broken());
                }
                continue;
            }
            let n = self.page.rows.min(len - row);
            self.take(chunk, row, n).ok_or_else(broken)?;
            self.page.rows -= n;
            row += n;
        }
        Ok(())
    }

    /// Takes `n` cells of the page.
    fn take(&mut self, chunk: &mut Chunk, row: usize, n: usize) -> Option<()> {
        let mut scratch = std::mem::take(&mut chunk.scratch);
        let taken = self.take_with(chunk, row, n, &mut scratch);
        chunk.scratch = scratch;
        taken
    }

    fn take_with(
        &mut self,
        chunk: &mut Chunk,
        row: usize,
        n: usize,
        [levels, places]: &mut [Zeroizing<Vec<u32>>; 2],
    ) -> Option<()> {
        let Pages { stored, cells, dictionary, null: known, page, .. } = self;
        let mut present = n;
        // In most pages nothing is null.
        if let Some(hybrid) = &mut page.levels
            && !hybrid.skip(1, n)
        {
            levels.resize(n, 0);
            hybrid.read(&page.level_bytes, levels)?;
            present = levels.iter().filter(|&&level| level == 1).count();
        }
        if let Values::Places(hybrid) | Values::Flags(hybrid) = &mut page.values {
            places.resize(present, 0);
            hybrid.read(&page.bytes, places)?;
        }
        let mut place = places.iter();
        match &mut page.values {
            Values::Places(_) if present == n => cells.places(chunk, row, places, (*dictionary)?),
            Values::Places(_) => {
                if !std::mem::replace(known, true) {
                    cells.entry(Value::Null);
                }
                let null =
                    u32::try_from((*dictionary)?).ok().filter(|null| places.iter().all(|p| p < null))?;
                let place = |level: &u32| if *level == 1 { place.next().copied() } else { Some(null) };
                let all = levels.iter().map(place).collect::<Option<Vec<_>>>()?;
                cells.places(chunk, row, &Zeroizing::new(all), null as usize + 1)
            }
            Values::Plain(from)
                if present == n
                    && stored.width() > 0
                    && let Some(scale) = cells.scale() =>
            {
                let end = from.checked_add(n.checked_mul(stored.width())?)?;
                let bytes = page.bytes.get(*from..end)?;
                *from = end;
                cells.amounts(chunk, row, (scale, *stored), bytes)
            }
            values => (0..n).try_for_each(|at| {
                if present < n && levels.get(at) != Some(&1) {
                    return cells.value(chunk, row + at, Value::Null);
                }
                match values {
                    Values::Places(_) => None,
                    Values::Flags(_) => cells.value(chunk, row + at, Value::Flag(*place.next()? == 1)),
                    Values::Plain(from) => {
                        let (value, end) = plain(&page.bytes, *from, *stored)?;
                        *from = end;
                        cells.value(chunk, row + at, value)
                    }
                }
            }),
        }
    }

    /// Goes on to the next page of data; `false` at the end.
    fn next_page(&mut self) -> Result<bool, IngestError> {
        while let Some(page) = self.reader.get_next_page().map_err(undecodable)? {
            let (buf, rows, encoding, split) = match page {
                Page::DictionaryPage { buf, num_values, encoding, .. } => {
                    self.read_dictionary(&buf, num_values, encoding)?;
                    continue;
                }
                Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } => {
                    if self.stored.nullable && def_level_encoding != Encoding::RLE {
                        return Err(IngestError::Parquet(UNKNOWN));
                    }
                    // Levels, behind their length.
                    let split = match (self.stored.nullable, buf.first_chunk::<4>()) {
                        (false, _) => (0, 0),
                        (true, Some(len)) => (4, u32::from_le_bytes(*len)),
                        (true, None) => return Err(broken()),
                    };
                    (buf, num_values, encoding, split)
                }
                Page::DataPageV2 {
                    buf,
                    num_values,
                    encoding,
                    def_levels_byte_len,
                    rep_levels_byte_len,
                    ..
                } => {
                    if rep_levels_byte_len != 0 || (def_levels_byte_len != 0 && !self.stored.nullable) {
                        return Err(broken());
                    }
                    (buf, num_values, encoding, (0, def_levels_byte_len))
                }
            };
            if rows == 0 {
                continue;
            }
            self.page = self.data(&buf, rows, encoding, split).ok_or_else(broken)??;
            return Ok(true);
        }
        Ok(false)
    }

    /// A page of data whose levels begin at a byte and are so many bytes long.
    fn data(
        &self,
        buf: &Bytes,
        rows: u32,
        encoding: Encoding,
        (from, len): (usize, u32),
    ) -> Option<Result<Data, IngestError>> {
        let end = from.checked_add(usize::try_from(len).ok()?).filter(|&end| end <= buf.len())?;
        let (level_bytes, mut bytes) = (buf.slice(from..end), buf.slice(end..));
        let levels = if self.stored.nullable { Some(Hybrid::new(1)?) } else { None };
        let values = match (encoding, self.stored.physical) {
            (Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY, _) => {
                self.dictionary?;
                // A page of nothing but nulls may have no width.
                let width = bytes.first().copied().unwrap_or(0);
                bytes = bytes.slice(bytes.len().min(1)..);
                Values::Places(Hybrid::new(width)?)
            }
            (Encoding::PLAIN, Type::BOOLEAN) => Values::Flags(Hybrid::bits(bytes.len())),
            (Encoding::RLE, Type::BOOLEAN) => {
                bytes = bytes.slice(bytes.len().min(4)..); // behind their length
                Values::Flags(Hybrid::new(1)?)
            }
            (Encoding::PLAIN, _) => Values::Plain(0),
            _ => return Some(Err(IngestError::Parquet(UNKNOWN))),
        };
        let rows = usize::try_from(rows).ok()?;
        Some(Ok(Data { rows, level_bytes, levels, bytes, values }))
    }

    fn read_dictionary(&mut self, buf: &Bytes, entries: u32, encoding: Encoding) -> Result<(), IngestError> {
        if !matches!(encoding, Encoding::PLAIN | Encoding::PLAIN_DICTIONARY) {
            return Err(IngestError::Parquet(UNKNOWN));
        }
        self.cells.new_dictionary();
        let (mut from, stored) = (0, self.stored);
        if let Some(scale) = self.cells.scale().filter(|_| stored.width() > 0) {
            let len = (entries as usize).checked_mul(stored.width());
            let bytes = len.and_then(|len| buf.get(..len)).ok_or_else(broken)?;
            self.cells.amount_entries((scale, stored), bytes).ok_or_else(broken)?;
        } else {
            for _ in 0..entries {
                let (value, end) = plain(buf, from, stored).ok_or_else(broken)?;
                from = end;
                self.cells.entry(value);
            }
        }
        (self.dictionary, self.null) = (Some(entries as usize), false);
        Ok(())
    }
}
