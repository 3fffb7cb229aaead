//! What the agency asks for: a TOML file, read with every mistake placed.
//!
//! [`load`] reads a file; `parse` is the pure function behind it. The text is parsed once into a
//! document that remembers places, and walked by hand: each part (`parse`, `dimension`, `levels`,
//! `hierarchy`, `tables`) takes its own keys and reports what it cannot use, so that one run shows
//! every mistake of a file.

mod amounts;
mod asked;
mod asks;
mod data;
mod dataset;
mod dates;
mod day_format;
mod diagnostic;
mod digits;
mod dimension;
#[cfg(feature = "compile")]
mod draft;
mod encoding;
mod expected;
mod files;
mod hierarchy;
mod keys;
mod legend;
mod levels;
mod manifest_text;
pub(crate) mod matrix_market;
mod named;
mod not_a_spec;
mod origins;
mod parse;
mod privacy;
mod projection;
mod queries;
mod read;
mod recipients;
mod request;
mod rows;
pub(crate) mod schema;
mod sealed;
mod shares;
mod suggest;
mod tables;
#[cfg(test)]
mod tests;
mod types;
mod words;
mod zeros;

pub(crate) use amounts::PLAN_SUMS;
pub(crate) use day_format::{DayFormat, clock};
pub use diagnostic::{Diagnostic, SpecErrors};
pub(crate) use digits::Digits;
#[cfg(feature = "compile")]
pub(crate) use draft::line_of_excel;
#[cfg(feature = "compile")]
pub use draft::{DraftError, Drawn, Holds, draft};
#[cfg(feature = "cli")]
pub(crate) use draft::{Part, called, says_where};
pub use parse::parse;
pub(crate) use parse::{MOST_EFFORT, parse_within, size as size_of};
pub(crate) use projection::size;
pub(crate) use schema::schema;
pub(crate) use sealed::{clamped, read_from, read_otherwise, sealed};
pub use types::Spec;
pub(crate) use types::{
    AccountSpec, AmountSpec, Blanks, Budget, Coding, Column, CsvOptions, Data, Encoding, ExactTable, Format,
    MOST_FACTORS, Precision, Privacy, ProjectionSpec, Recipients, StrategySpec, Taken, Unconfirmed, Unit,
    Wanted,
};

#[cfg(feature = "compile")]
pub(crate) use files::is_wild;
pub(crate) use files::{read_regular, regular};
#[cfg(feature = "compile")]
pub(crate) use words::FORMATS;

pub(crate) use files::MAX_SPEC;
use files::{Files, MAX_ATTACHED};
use std::path::Path;

/// How a line begins that `margins init` suggests. It came from the data and would be published with the spec: there is no release before it is
/// gone.
const SUGGESTION: &str = "#?";
/// Where rows are that come through standard input.
pub(crate) const PIPE: &str = "-";

/// Whether that is where rows are.
pub(crate) fn is_pipe(data: &Path) -> bool {
    data == Path::new(PIPE)
}

/// Reads a spec file and the files it refers to. Does not touch the data.
pub fn load(path: &Path) -> Result<Spec, SpecErrors> {
    load_beside(path, None)
}

/// [`load`], where the rows may be elsewhere than the spec says: no list that it refers to may be there.
pub(crate) fn load_beside(path: &Path, rows: Option<&Path>) -> Result<Spec, SpecErrors> {
    let name = path.display().to_string();
    let whole = |message: String, help: Option<String>| SpecErrors::whole_file(name.clone(), message, help);
    let start = match regular(path) {
        Ok(_) => not_a_spec::start(path),
        Err(e) => Err(e),
    };
    let start = start.map_err(|e| whole(format!("cannot read the spec: {e}"), None))?;
    if let Some((message, help)) = not_a_spec::recognise(&start, path) {
        return Err(whole(message, Some(help)));
    }
    let bytes =
        read_regular(path, MAX_SPEC).map_err(|e| whole(format!("cannot read the spec: {e}"), None))?;
    let source = match String::from_utf8(bytes) {
        Ok(source) => source,
        Err(e) => {
            let valid = e.utf8_error().valid_up_to();
            let line = e.as_bytes().iter().take(valid).filter(|&&b| b == b'\n').count() + 1;
            return Err(whole(format!("the spec is not UTF-8 text, see line {line}"), None));
        }
    };
    Ok(Spec { file: Some(path.into()), ..read(&source, path, rows)? })
}

/// Reads a spec from its text, and the files it refers to, as if it stood in the file `origin`. Does not touch the data.
pub(crate) fn of_text(source: &str, origin: &Path) -> Result<Spec, SpecErrors> {
    read(source, origin, None)
}

fn read(source: &str, origin: &Path, rows: Option<&Path>) -> Result<Spec, SpecErrors> {
    if source.len() as u64 > MAX_SPEC {
        let message = format!("the spec is longer than {MAX_SPEC} bytes");
        return Err(SpecErrors::whole_file(origin.display().to_string(), message, None));
    }
    let folder = origin.parent().unwrap_or(Path::new(""));
    parse(source, origin, |file| {
        let file = folder.join(file);
        rows.map_or(Ok(()), |rows| files::keep_off(&file, rows))?;
        files::read_unpacked(&file, MAX_ATTACHED)
    })
}
