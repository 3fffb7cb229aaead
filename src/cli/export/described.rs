//! The description that an export's folder has already: whose it is, and what of it stays.

use super::super::package::{MOST, NAME, free};
use super::super::{Failure, Outcome, output};
use super::FINISHED;
use super::ro_crate::CrateFile;
use serde_json::{Map, Value};
use std::path::Path;

/// What must be the same of two exports for one description to hold for both.
const COMMON: [&str; 5] = ["name", "title", "created", "privacy", "confidenceLevel"];

/// What stands there.
pub(super) struct Described {
    package: Map<String, Value>,
    resources: Vec<Value>,
    /// What an export says of all its files.
    common: Vec<Value>,
    /// Files whose structure is in a file that the export replaces.
    left: Option<&'static str>,
}

/// What a package says of all files: which release, at which level, finished how.
fn common(package: &Map<String, Value>) -> Vec<Value> {
    let finished = |note: &&Value| note.as_str().is_some_and(|text| text.starts_with(FINISHED));
    let notes = package.get("notes").and_then(Value::as_array).into_iter().flatten().filter(finished);
    let plain = COMMON.iter().map(|key| package.get(*key).unwrap_or(&Value::Null));
    plain.chain(notes).cloned().collect()
}

fn is_records(resource: &Value) -> bool {
    resource.get("records").is_some()
}

impl Described {
    /// That of a folder, for an export that says this of all its files, and takes the place of what has the format `left`.
    pub(super) fn read(out: &Path, own: &Value, left: Option<&'static str>) -> Described {
        let text = crate::files::text(&out.join(NAME), MOST).ok();
        let package: Option<Map<String, Value>> = text.and_then(|text| serde_json::from_str(&text).ok());
        let package = package.unwrap_or_default();
        let resources = package.get("resources").and_then(Value::as_array).cloned().unwrap_or_default();
        let common = own.as_object().map(common).unwrap_or_default();
        Described { package, resources, common, left }
    }

    fn is_export(&self) -> bool {
        self.package.contains_key("confidenceLevel")
    }

    /// Whether an export made it, or records: whatever else is called so is somebody's own.
    fn is_ours(&self) -> bool {
        self.is_export() || !self.resources.is_empty() && self.resources.iter().all(is_records)
    }

    /// Whether a file may stay beside what is exported, under one description.
    fn fits(&self, resource: &Value) -> bool {
        let replaced = self.left.is_some_and(|format| resource["format"] == format);
        is_records(resource) || !replaced && common(&self.package) == self.common
    }

    /// Of files with other names than these.
    fn others<'d>(&'d self, names: &[String]) -> impl Iterator<Item = &'d Value> {
        let own: Vec<Value> = names.iter().map(|name| name.as_str().into()).collect();
        self.resources.iter().filter(move |r| !own.contains(&r["path"]))
    }

    /// Refuses to replace what no export made, and to leave files of another export without their description.
    pub(super) fn keeps(&self, out: &Path, names: &[String], beside: &[&str]) -> Outcome {
        let listed = |name: &str| self.resources.iter().any(|r| r["path"] == name && !is_records(r));
        let own = |name: &str| self.is_ours() && (beside.contains(&name) || listed(name));
        let is_there = |name: &&str| out.join(name).symlink_metadata().is_ok();
        let mut all = names.iter().map(String::as_str).chain(beside.iter().copied());
        if let Some(name) = all.find(|name| is_there(name) && !own(name)) {
            let said = format!("{NAME} beside it does not say that an export made it");
            let why = if name == NAME { "no export made it" } else { &said };
            return Err(Failure::Message(format!(
                "{} is there, and {why}; --replace replaces it",
                output::path(&out.join(name))
            )));
        }
        match self.others(names).find(|r| self.is_export() && !self.fits(r)) {
            Some(r) => Err(Failure::Message(format!(
                "{} describes {} of another export: of another release, level, finish or structure. Export to another folder; --replace describes these files alone",
                output::path(&out.join(NAME)),
                crate::visible::visible(r["path"].as_str().unwrap_or("a file"))
            ))),
            None => Ok(()),
        }
    }

    /// What is said of other files, and stays.
    pub(super) fn stays(&self, names: &[String]) -> Vec<Value> {
        self.others(names).filter(|r| self.is_ours() && self.fits(r)).cloned().collect()
    }

    /// What was noted of files that stay.
    pub(super) fn notes(&self, names: &[String]) -> Vec<String> {
        let tables = self.stays(names).iter().any(|r| !is_records(r));
        let notes = self.package.get("notes").and_then(Value::as_array).filter(|_| tables);
        let text = |note: &Value| note.as_str().filter(|text| !text.starts_with(FINISHED)).map(str::to_owned);
        notes.into_iter().flatten().filter_map(text).collect()
    }
}

/// A described file as repositories have it.
pub(super) fn file(resource: &Value) -> Option<CrateFile> {
    let text = |key: &str| Some(resource.get(key)?.as_str()?.to_owned());
    Some(CrateFile { path: text("path")?, media_type: text("mediatype")?, title: text("title")? })
}

/// A name that no other file of the package has.
pub(super) fn rename(resource: &mut Value, others: &[Value]) {
    let name = resource["name"].as_str().unwrap_or_default().to_owned();
    let ending = resource["format"].as_str().unwrap_or_default().to_owned();
    let taken = |name: &str| others.iter().any(|r| r["name"] == name);
    resource["name"] = free([name.clone(), format!("{name}-{ending}")], taken).into();
}
