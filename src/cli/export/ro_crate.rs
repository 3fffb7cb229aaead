//! `ro-crate-metadata.json` (<https://w3id.org/ro/crate/1.1>): the export as repositories of research data read it. An RO-Crate may hold files of any kind;
//! Croissant wants tables alone, so JSON-stat and SDMX could not stand in one.

use crate::release::Manifest;
use serde_json::{Map, Value, json};

/// Of a file its name, its media type and what it is.
pub(super) struct CrateFile {
    pub path: String,
    pub media_type: String,
    pub title: String,
}

/// The description of all files together.
pub(super) fn describe(manifest: &Manifest, files: &[CrateFile], notes: &[String]) -> Value {
    let about = &manifest.about;
    let mut root = Map::new();
    let mut say = |key: &str, value: Value| root.insert(key.into(), value);
    say("@id", "./".into());
    say("@type", "Dataset".into());
    say("name", about.title.as_str().into());
    say("identifier", about.name.as_str().into());
    say("datePublished", manifest.created.as_str().into());
    let description = about.description.iter().map(String::as_str).chain([manifest.privacy.note.as_str()]);
    let description = description.chain(notes.iter().map(String::as_str)).collect::<Vec<_>>().join("\n");
    say("description", description.into());
    if let Some(licence) = &about.licence {
        say("license", licence.as_str().into());
    }
    if let Some(contact) = &about.contact {
        say("creditText", contact.as_str().into());
    }
    if let Some(period) = manifest.dataset.as_ref().and_then(|d| d.period.as_ref()) {
        say("temporalCoverage", period.as_str().into());
    }
    say("hasPart", files.iter().map(|f| json!({ "@id": f.path })).collect());
    let own = json!({
        "@id": "ro-crate-metadata.json", "@type": "CreativeWork", "about": { "@id": "./" },
        "conformsTo": { "@id": "https://w3id.org/ro/crate/1.1" },
    });
    let file = |f: &CrateFile| json!({ "@id": f.path, "@type": "File", "name": f.title, "encodingFormat": f.media_type });
    let graph: Vec<Value> = [own, root.into()].into_iter().chain(files.iter().map(file)).collect();
    json!({ "@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph })
}
