//! The description of a file of records in `datapackage.json`, which stands in its folder and describes all files there
//! (<https://specs.frictionlessdata.io/data-package/>).

use super::{Format, output};
use crate::answer::Several;
use crate::cli::Failure;
use crate::records::{Records, Values};
use serde_json::{Map, Value, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The most bytes of a description.
const MOST: u64 = 1 << 28;
/// Its name.
const NAME: &str = "datapackage.json";

/// The description of a folder's files.
pub(super) struct Package {
    path: PathBuf,
    /// What stands in it, if it is there.
    found: Option<Map<String, Value>>,
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
            Ok(text) => match serde_json::from_str(&text) {
                Ok(Value::Object(map)) if map.get("resources").is_some_and(Value::is_array) => Some(map),
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
        let mut package = self.found.unwrap_or_else(|| fresh(of));
        let own = resource(made, format, file);
        if let Some(Value::Array(resources)) = package.get_mut("resources") {
            resources.retain(|r| r.get("path") != own.get("path"));
            resources.push(own);
        }
        Ok((self.path, serde_json::to_string_pretty(&package)? + "\n"))
    }
}

/// A package of the first release's name and terms.
fn fresh(of: &Several) -> Map<String, Value> {
    let mut package = Map::new();
    package.insert("profile".into(), "data-package".into());
    package.insert("resources".into(), json!([]));
    let Some(about) = of.releases().first().map(|r| &r.release().manifest().about) else { return package };
    package.insert("name".into(), about.name.to_lowercase().into());
    package.insert("title".into(), about.title.as_str().into());
    if let Some(licence) = &about.licence {
        package.insert("licenses".into(), json!([{ "name": licence }]));
    }
    package
}

/// What is said of a file of records: its columns, and the report.
fn resource(made: &Records, format: Format, file: &Path) -> Value {
    let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let field = |name: &str, values: &Values| {
        let kind = match values {
            Values::Labels(..) | Values::Texts(_) => "string",
            Values::Whole(_) => "integer",
            Values::Numbers(_) => "number",
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
    json!({
        "name": text(file.file_name()).to_lowercase(),
        "path": text(file.file_name()),
        "title": "Synthetic records",
        "description": made.report().notes.join(" "),
        "profile": "tabular-data-resource",
        "mediatype": mediatype,
        "format": ending,
        "schema": { "fields": fields.chain(weight).collect::<Vec<_>>() },
        "records": made.report(),
    })
}
