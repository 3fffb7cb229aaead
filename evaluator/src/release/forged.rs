//! Releases that lie, for tests: whatever the owner of a key likes to say, listed, hashed and signed as it is.
// A test that cannot forge what it wants to has failed.
#![allow(clippy::unwrap_used)]

use super::layout::{Header, Row};
use super::manifest::Section;
use super::{FORMAT, Kind, Manifest, Release, ReleaseError, SigningKey, canonical, manifest};
use serde_json::Value;

/// Sections as they are to be sealed: tag and bytes, in the order of the file.
pub type Bodies = Vec<(u32, Vec<u8>)>;

/// A release with whatever manifest and sections the owner of its key likes: listed, hashed and signed as they are.
pub fn resealed(
    release: &Release,
    key: &SigningKey,
    edit: impl FnOnce(&mut Value, &mut Bodies),
) -> Result<Release, ReleaseError> {
    Release::from_bytes(bytes(release, key, edit))
}

/// The bytes of it, which nobody need take for a release.
pub fn bytes(release: &Release, key: &SigningKey, edit: impl FnOnce(&mut Value, &mut Bodies)) -> Vec<u8> {
    let mut manifest = serde_json::to_value(release.manifest()).unwrap();
    let mut bodies: Bodies = (release.manifest().sections.iter())
        .map(|s| {
            let kind = Kind::from_tag(s.tag, FORMAT).unwrap().unwrap();
            (s.tag, release.section(kind, s.index).unwrap())
        })
        .collect();
    let before = bodies.clone();
    edit(&mut manifest, &mut bodies);
    let version = manifest["format"].as_u64().map_or(release.manifest().format, |v| v as u32);
    let header = Header { version, sections: bodies.len() as u32, manifest: 0, signature: 0 };
    let (mut rows, mut offset) = (Vec::<Row>::new(), header.bodies());
    for (tag, body) in &bodies {
        let index = rows.last().filter(|r| r.tag == *tag).map_or(0, |r| r.index + 1);
        let (length, hash) = (body.len() as u64, *blake3::hash(body).as_bytes());
        rows.push(Row { tag: *tag, index, offset, length, hash });
        offset += length;
    }
    if bodies != before {
        let hashes =
            |kind: Kind| rows.iter().filter(move |r| r.tag == kind.tag()).map(|r| manifest::hex(&r.hash));
        manifest["sections"] = rows.iter().map(|r| serde_json::to_value(Section::of(r)).unwrap()).collect();
        manifest["sources"]["spec"] = hashes(Kind::Spec).next().into();
        manifest["sources"]["domain"] = hashes(Kind::Domain).next().into();
        for (i, hash) in hashes(Kind::Attachment).enumerate() {
            manifest["sources"]["attachments"][i]["blake3"] = hash.into();
        }
    }
    let manifest_bytes = canonical::to_bytes(&manifest).unwrap();
    let name = manifest["about"]["name"].as_str().unwrap_or_default();
    let comment = Manifest::trusted_comment(name, version, &manifest_bytes);
    let signature = key.sign(&manifest_bytes[..], &comment).unwrap();
    let header =
        Header { manifest: manifest_bytes.len() as u64, signature: signature.len() as u64, ..header };
    let mut bytes = header.to_bytes().to_vec();
    rows.iter().for_each(|r| bytes.extend(r.to_bytes()));
    bodies.iter().for_each(|(_, body)| bytes.extend(body));
    bytes.extend(manifest_bytes);
    bytes.extend(signature.as_bytes());
    bytes
}
