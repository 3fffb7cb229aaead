//! Rows from delimited text, whatever separates them and in whatever of three encodings.

use super::super::{CsvOptions, Encoding};
use super::{DraftError, Drawn, Holds};
use crate::files;
use crate::quotes::{Quotes, ReadSoFar};
use crate::unpack;
use std::cell::Cell;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A line without an end is no header.
const LONGEST_HEADER: usize = 1 << 20;

/// Reads the files of a table, again where they are not in the encoding that was thought.
pub(super) fn read(files: &[PathBuf]) -> Result<(Drawn, CsvOptions), DraftError> {
    let named = |data: &Path| data.display().to_string();
    let mut opened = Vec::new();
    let mut delimiter = b',';
    for data in files {
        let failed = |source| DraftError::Read { path: named(data), source };
        // A pipe would be waited for.
        files::open(data).map_err(failed)?;
        let found = separated(&start(unpack::open(data).map_err(failed)?).map_err(failed)?);
        let found = found.map_err(|what| DraftError::Foreign { path: named(data), what })?;
        if opened.is_empty() {
            delimiter = found;
        }
        opened.push((data, named(data)));
    }
    let mut unfit = (String::new(), 0);
    for encoding in [Encoding::Utf8, Encoding::Latin1, Encoding::Windows1252] {
        let options = CsvOptions { delimiter, encoding, ..CsvOptions::default() };
        let drawn = match all(&opened, &options)? {
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
        if let Ok(drawn) = all(&opened, &options)? {
            return Ok((drawn, options));
        }
    }
    let (path, line) = unfit;
    Err(DraftError::Malformed { path, line, reason: "text neither in UTF-8 nor in windows-1252" })
}

/// All rows of all files, or the file and the line that are not in the encoding.
fn all(
    files: &[(&PathBuf, String)],
    options: &CsvOptions,
) -> Result<Result<Drawn, (String, u64)>, DraftError> {
    let mut drawn = None;
    for (file, path) in files {
        match rows(file, options, path, drawn.take())? {
            Ok(more) => drawn = Some(more),
            Err(line) => return Ok(Err((path.clone(), line))),
        }
    }
    Ok(drawn.ok_or_else(|| (String::new(), 0)))
}

/// What becomes of a table, said of its line.
const OPEN: &str = "a quotation mark begins a cell, and none ends it: all lines below would be one cell";

/// What separates the cells of a text that begins so, or what it is instead.
fn separated(start: &[u8]) -> Result<u8, &'static str> {
    if let Some(what) = files::foreign(start) {
        return Err(what);
    }
    let first_line = start.split(|&b| b == b'\n' || b == b'\r').next().unwrap_or(&[]);
    if first_line.len() > LONGEST_HEADER {
        return Err("is no table: its first line has no end");
    }
    if start.contains(&0) {
        return Err("is no text");
    }
    let occurs = |b: u8| first_line.iter().filter(|&&c| c == b).count();
    // A file of one column: the commas below its name are in its values.
    if [b'|', b'\t', b';', b','].iter().all(|&b| occurs(b) == 0)
        && start.contains(&b',')
        && !start.contains(&b';')
    {
        return Ok(b';');
    }
    // `max_by_key` takes the last of equals: a comma, when nothing separates anything.
    Ok([b'|', b'\t', b';', b','].into_iter().max_by_key(|&b| occurs(b)).unwrap_or(b','))
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
    file: &Path,
    options: &CsvOptions,
    path: &str,
    before: Option<Drawn>,
) -> Result<Result<Drawn, u64>, DraftError> {
    let malformed = |line: u64, reason| DraftError::Malformed { path: path.to_owned(), line, reason };
    let seen = Rc::new(Cell::new(ReadSoFar::new()));
    let explain = |e: csv::Error| {
        if let (Some(line), false) = (seen.get().never_closed(), e.is_io_error()) {
            return malformed(line, OPEN);
        }
        let line = e.position().map_or(1, |p| p.line());
        match e.into_kind() {
            csv::ErrorKind::Io(source) => DraftError::Read { path: path.to_owned(), source },
            csv::ErrorKind::UnequalLengths { .. } => malformed(line, "not as many values as in the header"),
            _ => malformed(line, "not CSV"),
        }
    };
    let from_start = || Ok(Quotes::new(unpack::open(file)?, options.delimiter, seen.clone()));
    let mut reader =
        crate::blank_rows::reader(csv::ReaderBuilder::new().delimiter(options.delimiter), from_start)
            .map_err(explain)?;
    let names = reader.byte_headers().map_err(explain)?;
    let Some(names) = names.iter().map(|name| options.encoding.text(name)).collect::<Option<Vec<_>>>() else {
        return Ok(Err(1));
    };
    let names: Vec<_> = names.into_iter().map(|name| (name.into_owned(), Holds::Anything)).collect();
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
            Some(cells) => drawn.row(cells.iter().map(|cell| &**cell)),
            None => return Ok(Err(record.position().map_or(1, |p| p.line()))),
        }
    }
    seen.get().never_closed().map_or(Ok(()), |line| Err(malformed(line, OPEN)))?;
    Ok(Ok(drawn))
}
