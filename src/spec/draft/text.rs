//! Rows from delimited text, whatever separates them and in whatever of three encodings.

use super::super::{CsvOptions, Encoding};
use super::{DraftError, Drawn, Holds};
use crate::files;
use crate::quotes::{Quotes, ReadSoFar, State};
use crate::unpack;
use std::cell::Cell;
use std::io::Read;
use std::path::Path;
use std::rc::Rc;

/// A line without an end is no header.
const LONGEST_HEADER: usize = 1 << 20;

/// One file of a table.
pub struct Part<'p> {
    /// What it is called.
    pub name: String,
    /// The columns that its folders say, and what they hold.
    pub keys: Vec<(String, String)>,
    /// Begins to read it.
    pub open: Box<dyn Fn() -> std::io::Result<Box<dyn Read + Send>> + 'p>,
}

impl<'p> From<&'p Path> for Part<'p> {
    fn from(path: &'p Path) -> Part<'p> {
        let open = Box::new(move || unpack::open(path));
        Part { name: path.display().to_string(), keys: Vec::new(), open }
    }
}

/// Reads the files of a table, again where they are not in the encoding that was thought.
pub(super) fn read(files: &[Part<'_>]) -> Result<(Drawn, CsvOptions), DraftError> {
    let mut delimiter = None;
    for file in files {
        let failed = |source| DraftError::Read { path: file.name.clone(), source };
        let found = separated(&start((file.open)().map_err(failed)?).map_err(failed)?);
        let found = found.map_err(|what| DraftError::Foreign { path: file.name.clone(), what })?;
        delimiter = delimiter.or(Some(found));
    }
    let delimiter = delimiter.unwrap_or(b',');
    let mut unfit = (String::new(), 0);
    for encoding in [Encoding::Utf8, Encoding::Latin1, Encoding::Windows1252] {
        let options = CsvOptions { delimiter, encoding, ..CsvOptions::default() };
        let drawn = match all(files, &options)? {
            Ok(drawn) => drawn,
            Err(at) => {
                unfit = at;
                continue;
            }
        };
        let (numbers, _) = drawn.digits();
        if numbers == options.numbers {
            return Ok((drawn, options));
        }
        // Once more, now that it is known how numbers are written.
        let options = CsvOptions { numbers, ..options };
        if let Ok(drawn) = all(files, &options)? {
            return Ok((drawn, options));
        }
    }
    let (path, line) = unfit;
    Err(DraftError::Malformed { path, line, reason: "text neither in UTF-8 nor in windows-1252" })
}

/// All rows of all files, or the file and the line that are not in the encoding.
fn all(files: &[Part<'_>], options: &CsvOptions) -> Result<Result<Drawn, (String, u64)>, DraftError> {
    let mut drawn = None;
    for file in files {
        match rows(file, options, drawn.take())? {
            Ok(more) => drawn = Some(more),
            Err(line) => return Ok(Err((file.name.clone(), line))),
        }
    }
    Ok(drawn.ok_or_else(|| (String::new(), 0)))
}

/// What becomes of a table, said of its line.
const OPEN: &str = "a quotation mark begins a cell, and none ends it: all lines below would be one cell";

/// What separates the cells of a text that begins so, or what it is instead.
fn separated(start: &[u8]) -> Result<u8, &'static str> {
    if let Some(what) = files::foreign(start).or(line_of_excel(start)) {
        return Err(what);
    }
    let (length, outside) = header(start);
    if length > LONGEST_HEADER {
        return Err("is no table: its first line has no end");
    }
    if start.contains(&0) {
        return Err("is no text");
    }
    let occurs = |b: u8| outside.iter().filter(|&&c| c == b).count();
    // A file of one column: the commas below its name are in its values.
    if SEPARATORS.iter().all(|&b| occurs(b) == 0) && start.contains(&b',') && !start.contains(&b';') {
        return Ok(b';');
    }
    // `max_by_key` takes the last of equals: a comma, when nothing separates anything.
    Ok(SEPARATORS.into_iter().max_by_key(|&b| occurs(b)).unwrap_or(b','))
}

/// What to do about a text that begins with a line in which Excel is told what separates the cells: it is no line of names.
pub(crate) fn line_of_excel(start: &[u8]) -> Option<&'static str> {
    let start = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(start);
    let line = start.split(|b| matches!(b, b'\n' | b'\r')).next()?;
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    let is = line.len() <= b"sep=;".len() && line.get(..4)?.eq_ignore_ascii_case(b"sep=");
    is.then_some("begins with a line `sep=`, which is for Excel and names no columns: remove that line")
}

/// What may separate cells.
pub(super) const SEPARATORS: [u8; 4] = [b'|', b'\t', b';', b','];

/// How long the header is, which may have line ends in quotation marks, and what stands outside of these.
fn header(start: &[u8]) -> (usize, Vec<u8>) {
    let mark = "\u{feff}".as_bytes();
    let start = start.strip_prefix(mark).unwrap_or(start);
    let (mut state, mut outside) = (State::Start, Vec::new());
    for (at, &byte) in start.iter().enumerate() {
        let ends = matches!(byte, b'\n' | b'\r');
        state = state.after(byte, ends || SEPARATORS.contains(&byte));
        if state != State::Quoted {
            if ends {
                return (at, outside);
            }
            outside.push(byte);
        }
    }
    (start.len(), outside)
}

/// The first line, and more.
fn start(mut file: impl Read) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    loop {
        let before = start.len();
        (&mut file).take(64 * 1024).read_to_end(&mut start)?;
        let long = start.len() > LONGEST_HEADER || start.contains(&0);
        if start.len() == before || long || start.iter().any(|b| matches!(b, b'\n' | b'\r')) {
            return Ok(start);
        }
    }
}

/// All rows, added to those of the files before, or the line that is not in the encoding.
fn rows(
    file: &Part<'_>,
    options: &CsvOptions,
    before: Option<Drawn>,
) -> Result<Result<Drawn, u64>, DraftError> {
    let path = &file.name;
    let malformed = |line: u64, reason| DraftError::Malformed { path: path.clone(), line, reason };
    let seen = Rc::new(Cell::new(ReadSoFar::new()));
    let explain = |e: csv::Error| {
        if let (Some(line), false) = (seen.get().never_closed(), e.is_io_error()) {
            return malformed(line, OPEN);
        }
        let line = e.position().map_or(1, |p| p.line());
        match e.into_kind() {
            csv::ErrorKind::Io(source) => DraftError::Read { path: path.clone(), source },
            csv::ErrorKind::UnequalLengths { .. } => malformed(line, "not as many values as in the header"),
            _ => malformed(line, "not CSV"),
        }
    };
    let from_start = || Ok(Quotes::new((file.open)()?, options.delimiter, seen.clone()));
    let mut reader =
        crate::blank_rows::reader(csv::ReaderBuilder::new().delimiter(options.delimiter), from_start)
            .map_err(explain)?;
    let names = reader.byte_headers().map_err(explain)?;
    let Some(names) = names.iter().map(|name| options.encoding.text(name)).collect::<Option<Vec<_>>>() else {
        return Ok(Err(1));
    };
    let names =
        names.into_iter().map(|name| name.into_owned()).chain(file.keys.iter().map(|(name, _)| name.clone()));
    let names: Vec<_> = names.map(|name| (name, Holds::Anything)).collect();
    let mut drawn = match before {
        Some(mut drawn) => match drawn.has(&names) {
            true => drawn,
            false => return Err(malformed(1, "its columns are not those of the first file")),
        },
        None => Drawn::written(names, options.numbers).map_err(|what| malformed(1, what))?,
    };
    let mut record = csv::ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(explain)? {
        let cells: Option<Vec<_>> = record.iter().map(|cell| options.encoding.text(cell)).collect();
        match cells {
            Some(cells) => {
                let keys = file.keys.iter().map(|(_, value)| value.as_str());
                drawn.row(cells.iter().map(|cell| &**cell).chain(keys));
            }
            None => return Ok(Err(record.position().map_or(1, |p| p.line()))),
        }
    }
    seen.get().never_closed().map_or(Ok(()), |line| Err(malformed(line, OPEN)))?;
    Ok(Ok(drawn))
}
