//! What the agency asks for: a TOML file, read with every mistake placed.
//!
//! [`load`] reads a file; [`parse`] is the pure function behind it. The text is parsed once into a
//! document that remembers places, and walked by hand: each part (`parse`, `dimension`, `levels`,
//! `hierarchy`, `tables`) takes its own keys and reports what it cannot use, so that one run shows
//! every mistake of a file.

mod dataset;
mod diagnostic;
mod dimension;
mod draft;
mod file;
mod files;
mod hierarchy;
mod levels;
mod parse;
mod projection;
mod read;
mod request;
mod rows;
mod schema;
mod shares;
mod suggest;
mod tables;
#[cfg(test)]
mod tests;
mod types;
mod words;
mod zeros;

pub use diagnostic::{Diagnostic, SpecErrors};
pub use draft::{DraftError, draft};
pub use parse::parse;
pub use schema::schema;
pub use types::{
    Budget, Coding, Column, CsvOptions, Data, ExactTable, Format, Privacy, ProjectionSpec, Spec,
    StrategySpec, Unit,
};

use files::Files;
use std::path::Path;

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut crate::files::open(path)?, &mut bytes)?;
    Ok(bytes)
}

/// Reads a spec file and the files it refers to. Does not touch the data.
pub fn load(path: &Path) -> Result<Spec, SpecErrors> {
    let name = path.display().to_string();
    let bytes = match read(path) {
        Ok(bytes) => bytes,
        Err(e) => return Err(SpecErrors::whole_file(name, format!("cannot read the spec: {e}"))),
    };
    let source = match String::from_utf8(bytes) {
        Ok(source) => source,
        Err(e) => {
            let valid = e.utf8_error().valid_up_to();
            let line = e.as_bytes().iter().take(valid).filter(|&&b| b == b'\n').count() + 1;
            return Err(SpecErrors::whole_file(name, format!("the spec is not UTF-8 text, see line {line}")));
        }
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    parse(&source, path, |file| read(&folder.join(file)))
}
