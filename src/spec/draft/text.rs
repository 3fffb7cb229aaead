//! Rows from delimited text, whatever separates them and in whatever of three encodings.

use super::super::{CsvOptions, Encoding};
use super::{DraftError, Drawn};
use crate::files;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// A line without an end is no header.
const LONGEST_HEADER: usize = 1 << 20;

/// Reads the whole file, again where it is not in the encoding that was thought.
pub(super) fn read(data: &Path) -> Result<(Drawn, CsvOptions), DraftError> {
    let path = data.display().to_string();
    let failed = |source| DraftError::Read { path: path.clone(), source };
    // A pipe would be waited for.
    let mut file = files::open(data).map_err(failed)?;
    let start = start(&mut file).map_err(failed)?;
    if let Some(what) = files::foreign(&start) {
        return Err(DraftError::Foreign { path, what });
    }
    let first_line = start.split(|&b| b == b'\n' || b == b'\r').next().unwrap_or(&[]);
    if first_line.len() > LONGEST_HEADER {
        return Err(DraftError::Foreign { path, what: "is no table: its first line has no end" });
    }
    if start.contains(&0) {
        return Err(DraftError::Foreign { path, what: "is no text" });
    }
    let occurs = |b: u8| first_line.iter().filter(|&&c| c == b).count();
    // `max_by_key` takes the last of equals: a comma, when nothing separates anything.
    let delimiter = [b'|', b'\t', b';', b','].into_iter().max_by_key(|&b| occurs(b)).unwrap_or(b',');
    let mut unfit = 0;
    for encoding in [Encoding::Utf8, Encoding::Latin1, Encoding::Windows1252] {
        let options = CsvOptions { delimiter, encoding, ..CsvOptions::default() };
        match rows(&file, &options, &path)? {
            Ok(drawn) => return Ok((drawn, options)),
            Err(line) => unfit = line,
        }
    }
    Err(DraftError::Malformed { path, line: unfit, reason: "text neither in UTF-8 nor in windows-1252" })
}

/// The first line, and more.
fn start(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    loop {
        let before = start.len();
        file.take(64 * 1024).read_to_end(&mut start)?;
        let long = start.len() > LONGEST_HEADER || start.contains(&0);
        if start.len() == before || long || start.iter().any(|b| matches!(b, b'\n' | b'\r')) {
            return Ok(start);
        }
    }
}

/// All rows, or the line that is not in the encoding.
fn rows(mut file: &File, options: &CsvOptions, path: &str) -> Result<Result<Drawn, u64>, DraftError> {
    let malformed = |line: u64, reason| DraftError::Malformed { path: path.to_owned(), line, reason };
    let explain = |e: csv::Error| {
        let line = e.position().map_or(1, |p| p.line());
        match e.into_kind() {
            csv::ErrorKind::Io(source) => DraftError::Read { path: path.to_owned(), source },
            csv::ErrorKind::UnequalLengths { .. } => malformed(line, "not as many values as in the header"),
            _ => malformed(line, "not CSV"),
        }
    };
    let from_start = || file.seek(SeekFrom::Start(0)).map(|_| file);
    let mut reader = crate::lone::reader(csv::ReaderBuilder::new().delimiter(options.delimiter), from_start)
        .map_err(explain)?;
    let names = reader.byte_headers().map_err(explain)?;
    let Some(names) = names.iter().map(|name| options.encoding.text(name)).collect::<Option<Vec<_>>>() else {
        return Ok(Err(1));
    };
    let names = names.into_iter().map(|name| (name.into_owned(), None)).collect();
    let mut drawn = Drawn::new(names).map_err(|what| malformed(1, what))?;
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
