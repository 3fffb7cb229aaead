//! Rows from delimited text, whatever separates them and in whatever of three encodings.

use super::super::{CsvOptions, Encoding};
use super::{DraftError, Drawn, Holds};
use crate::files;
use crate::unpack;
use std::io::Read;
use std::path::{Path, PathBuf};

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
    'encodings: for encoding in [Encoding::Utf8, Encoding::Latin1, Encoding::Windows1252] {
        let options = CsvOptions { delimiter, encoding, ..CsvOptions::default() };
        let mut drawn = None;
        for (file, path) in &opened {
            match rows(file, &options, path, drawn.take())? {
                Ok(more) => drawn = Some(more),
                Err(line) => {
                    unfit = (path.clone(), line);
                    continue 'encodings;
                }
            }
        }
        if let Some(drawn) = drawn {
            return Ok((drawn, options));
        }
    }
    let (path, line) = unfit;
    Err(DraftError::Malformed { path, line, reason: "text neither in UTF-8 nor in windows-1252" })
}

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
    let explain = |e: csv::Error| {
        let line = e.position().map_or(1, |p| p.line());
        match e.into_kind() {
            csv::ErrorKind::Io(source) => DraftError::Read { path: path.to_owned(), source },
            csv::ErrorKind::UnequalLengths { .. } => malformed(line, "not as many values as in the header"),
            _ => malformed(line, "not CSV"),
        }
    };
    let from_start = || unpack::open(file);
    let mut reader =
        crate::blank_rows::reader(csv::ReaderBuilder::new().delimiter(options.delimiter), from_start)
            .map_err(explain)?;
    let names = reader.byte_headers().map_err(explain)?;
    let Some(names) = names.iter().map(|name| options.encoding.text(name)).collect::<Option<Vec<_>>>() else {
        return Ok(Err(1));
    };
    let names: Vec<_> = names.into_iter().map(|name| (name.into_owned(), Holds::Anything)).collect();
    let mut drawn = match before {
        Some(drawn) if drawn.has(&names) => drawn,
        Some(_) => return Err(malformed(1, "its columns are not those of the first file")),
        None => Drawn::new(names).map_err(|what| malformed(1, what))?,
    };
    let mut record = csv::ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(explain)? {
        let cells: Option<Vec<_>> = record.iter().map(|cell| options.encoding.text(cell)).collect();
        match cells {
            Some(cells) => drawn.row(cells.iter().map(|cell| &**cell)),
            None => return Ok(Err(record.position().map_or(1, |p| p.line()))),
        }
    }
    Ok(Ok(drawn))
}
