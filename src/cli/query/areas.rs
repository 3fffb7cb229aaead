//! `--areas`: a CSV file with the areas that questions are about.

use crate::cli::{Failure, output};
use std::path::Path;

/// The largest file of areas.
const MOST: u64 = 1 << 28;

/// A list of areas.
pub(in crate::cli) struct Areas {
    /// The header of the labels.
    pub level: String,
    /// The header of the districts.
    pub district: Option<String>,
    /// Each area's line, label and district.
    pub listed: Vec<(u64, String, String)>,
}

/// Reads a file: a header, then a label in each line; or a label and the district that it is in.
pub(in crate::cli) fn read(path: &Path) -> Result<Areas, Failure> {
    let file = output::path(path);
    let text =
        crate::files::text(path, MOST).map_err(|e| Failure::Message(format!("cannot read {file}: {e}")))?;
    let fail = |e: csv::Error| Failure::Message(format!("{file}: {e}"));
    if let Some(at) = crate::quotes::never_closed(&text) {
        let line = text.bytes().take(at).filter(|&b| b == b'\n').count() + 1;
        return Err(Failure::Message(format!(
            "{file}, line {line}: a quotation mark that is never closed: all that follows would be one label"
        )));
    }
    // A line for each area: an empty one, too.
    let how = csv::ReaderBuilder::new();
    let mut reader = crate::blank_rows::reader(&how, || Ok(text.as_bytes())).map_err(fail)?;
    let header = reader.headers().map_err(fail)?;
    let (level, district) = match header.len() {
        1 => (header.get(0), None),
        2 => (header.get(0), header.get(1)),
        n => {
            let wants = "it has a column of labels, and may have one of the districts that they are in";
            return Err(Failure::Message(format!("{file} has {n} columns: {wants}")));
        }
    };
    let [level, district] = [level, district].map(|name| name.map(str::to_owned));
    let mut listed = Vec::new();
    for record in reader.records() {
        let record = record.map_err(fail)?;
        let line = record.position().map_or(0, csv::Position::line);
        let cell = |at| record.get(at).unwrap_or_default().to_owned();
        listed.push((line, cell(0), cell(1)));
    }
    Ok(Areas { level: level.unwrap_or_default(), district, listed })
}
