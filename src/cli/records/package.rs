//! The description of a file of records in the data package of its folder.

use super::{Format, output};
use crate::answer::Several;
use crate::cli::Failure;
use crate::cli::package::{MOST, NAME, free};
use crate::records::{Records, Values};
use serde_json::json;
use serde_json::value::{RawValue, Value, to_raw_value};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// As it stands in the file: not a digit of what others wrote is changed.
type Map = BTreeMap<String, Box<RawValue>>;

/// What of another file's description must not be said twice.
#[derive(serde::Deserialize)]
struct Other {
    #[serde(default)]
    path: Value,
    #[serde(default)]
    name: Value,
}

/// The description of a folder's files.
pub(super) struct Package {
    path: PathBuf,
    /// What stands in it, if it is there.
    found: Option<Map>,
}

impl Package {
    /// The one beside a file. A file of that name that describes no files is refused: it is somebody else's.
    pub(super) fn beside(file: &Path) -> Result<Package, Failure> {
        let path = file.with_file_name(NAME);
        let refused = |why: &dyn std::fmt::Display| {
            let text = "it would describe the records, and what stands there is kept: write them into another folder";
            Failure::Message(format!("{}: {why}; {text}", output::path(&path)))
        };
        let found = match crate::files::text(&path, MOST) {
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(refused(&e)),
            Ok(text) => match serde_json::from_str::<Map>(&text) {
                Ok(map) if resources(&map).is_some() => Some(map),
                _ => return Err(refused(&"it is no data package")),
            },
        };
        Ok(Package { path, found })
    }

    /// Its text with this file in it; what is said of others stays.
    pub(super) fn with(
        self,
        made: &Records,
        format: Format,
        file: &Path,
        of: &Several,
    ) -> Result<(PathBuf, String), Failure> {
        let mut package = self.found.unwrap_or_default();
        package.entry("profile".into()).or_insert(to_raw_value("data-package")?);
        let path = text(file.file_name());
        let mut others = resources(&package).unwrap_or_default();
        let read = |r: &RawValue| serde_json::from_str::<Other>(r.get()).ok();
        others.retain(|r| read(r).is_none_or(|r| r.path != path.as_str()));
        let taken: Vec<Value> = others.iter().filter_map(|r| read(r)).map(|r| r.name).collect();
        let name = name(&path, |name| taken.iter().any(|t| t == name));
        let own = serde_json::to_string_pretty(&resource(made, format, (name, path), of))?;
        // Text in JSON has no line breaks: those are its layout.
        let own = own.replace('\n', "\n    ");
        let all: Vec<&str> = others.iter().map(|r| r.get()).chain([&own[..]]).collect();
        let all = format!("[\n    {}\n  ]", all.join(",\n    "));
        package.insert("resources".into(), RawValue::from_string(all)?);
        Ok((self.path, serde_json::to_string_pretty(&package)? + "\n"))
    }
}

/// The descriptions of files in a package.
fn resources(package: &Map) -> Option<Vec<Box<RawValue>>> {
    serde_json::from_str(package.get("resources")?.get()).ok()
}

fn text(part: Option<&std::ffi::OsStr>) -> String {
    part.unwrap_or_default().to_string_lossy().into_owned()
}

/// A file's name as a package may have it: lower-case letters, digits, and a few marks; and no other file's.
fn name(file: &str, taken: impl Fn(&str) -> bool) -> String {
    let may =
        |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c.to_ascii_lowercase() } else { '-' };
    let plain: String = file.chars().map(may).collect();
    free([plain], taken)
}

/// What is said of a file of records: of which releases it is and on whose terms, its columns, and the report.
fn resource(made: &Records, format: Format, (name, path): (String, String), of: &Several) -> Value {
    let field = |name: &str, values: &Values| {
        let kind = match values {
            Values::Labels(..) | Values::Texts(_) => "string",
            Values::Whole(_) | Values::SomeWhole(_) => "integer",
            Values::Numbers(_) | Values::SomeNumbers(_) => "number",
        };
        json!({ "name": name, "type": kind })
    };
    let fields = made.columns().iter().map(|c| field(&c.name, &c.values));
    let weight = made.weight_name().map(|name| {
        json!({ "name": name, "type": "number", "description": "how many units the record stands for" })
    });
    let (mediatype, ending) = match format {
        Format::Csv => ("text/csv", "csv"),
        Format::Parquet => ("application/vnd.apache.parquet", "parquet"),
    };
    let about = || of.releases().iter().map(|r| &r.release().manifest().about);
    let titles: Vec<&str> = about().map(|a| a.title.as_str()).collect();
    let mut licences: Vec<&str> = about().filter_map(|a| a.licence.as_deref()).collect();
    licences.dedup();
    let mut own = json!({
        "name": name,
        "path": path,
        "title": format!("Synthetic records of {}", titles.join(", ")),
        "sources": titles.iter().map(|title| json!({ "title": title })).collect::<Vec<_>>(),
        "description": made.report().notes.join(" "),
        "profile": "tabular-data-resource",
        "mediatype": mediatype,
        "format": ending,
        "schema": { "fields": fields.chain(weight).collect::<Vec<_>>() },
        "records": made.report(),
    });
    if let (false, Some(own)) = (licences.is_empty(), own.as_object_mut()) {
        own.insert("licenses".into(), licences.iter().map(|name| json!({ "name": name })).collect());
    }
    own
}
