//! Which keys a reader trusts: some that were given one by one, or those of a folder with a signed list, which says which key was replaced and which one
//! somebody else may have.
//!
//! The folder has three files: `list.pub`, the key that signs lists, which is what the reader trusts; `keys.json`, the list; and `keys.json.minisig`, a minisign
//! signature of its bytes. A newer list takes the place of an older one without a question to the reader; another `list.pub` never does.

use super::verify::sidecar_path;
use super::{MAX_SIGNATURE, Release, ReleaseError, SigningKey, is_day, is_hex, signature};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// What a list may weigh.
const MAX_LIST: u64 = 1 << 20;

/// An agency's keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyList {
    /// 1.
    pub format: u32,
    /// The last day on which it tells what holds, `YYYY-MM-DD`. Whoever keeps a newer list from a reader gains no more time than that.
    pub until: String,
    /// Every key that ever signed.
    pub keys: Vec<ListedKey>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedKey {
    /// The public key, as minisign writes it.
    pub key: String,
    /// The last day it signed, of a key that was replaced: what it signed until then holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The day it was revoked, because somebody else may have it. A thief writes any day: nothing holds that it signed, whenever it says it did, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
    /// ... but these files, by their BLAKE3 hashes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub still: Vec<String>,
}

impl ListedKey {
    /// A key that may sign.
    pub fn new(key: String) -> ListedKey {
        ListedKey { key, until: None, revoked: None, still: Vec::new() }
    }
}

impl KeyList {
    /// The list in a folder, with the key that signed it. A list that this key did not sign is none.
    pub fn read(folder: &Path) -> Result<(KeyList, String), ReleaseError> {
        let bad = ReleaseError::Keys;
        let owner =
            signature::public_key_text(&crate::files::text(&folder.join("list.pub"), MAX_SIGNATURE)?)?;
        if signature::is_not_private_key(&owner) {
            return Err(bad("the key everybody has cannot sign one".into()));
        }
        let path = folder.join("keys.json");
        let (mut before, mut looks) = (None, MOST_LOOKS);
        let text = loop {
            let text = crate::files::text(&path, MAX_LIST)?;
            match signed(&path, &text, &owner) {
                Ok(()) => break text,
                // Who writes a new list changes one file after the other.
                Err(_) if before.as_ref() != Some(&text) && looks > 0 => {
                    (before, looks) = (Some(text), looks - 1)
                }
                Err(e) => return Err(e),
            }
        };
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
        let keys = value.get("keys").and_then(serde_json::Value::as_array);
        if !keys.is_some_and(|keys| keys.iter().all(serde_json::Value::is_object)) {
            return Err(bad("it has no `keys` with their names".into()));
        }
        let list: KeyList = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
        list.sound(&owner).map_err(bad)?;
        Ok((list, owner))
    }

    /// Its rules; `owner` signs it.
    pub fn sound(&self, owner: &str) -> Result<(), String> {
        let day = |day: &Option<String>| day.as_deref().is_none_or(is_day);
        if self.format != 1 {
            return Err("it is of a later format".into());
        }
        for (i, listed) in self.keys.iter().enumerate() {
            signature::parse_key(&listed.key).map_err(|e| e.to_string())?;
            if signature::is_not_private_key(&listed.key) {
                return Err(format!("{} is the key everybody has", listed.key));
            }
            if signature::same_key(&listed.key, owner) {
                return Err(format!(
                    "{} signs the list: releases are signed with another key, on another machine",
                    listed.key
                ));
            }
            if !day(&listed.until) || !day(&listed.revoked) {
                return Err("a day is not written YYYY-MM-DD".into());
            }
            if !listed.still.iter().all(|hash| is_hex(hash, 64)) {
                return Err(
                    "a file that still holds is not named by its BLAKE3 hash, 64 digits of 0-9 and a-f"
                        .into(),
                );
            }
            if self.keys[..i].iter().any(|other| signature::same_key(&other.key, &listed.key)) {
                return Err(format!("{} is in it twice, whatever number stands before it", listed.key));
            }
        }
        if is_day(&self.until) { Ok(()) } else { Err("its last day is not written YYYY-MM-DD".into()) }
    }

    /// Writes it with its signature and the key that can check it. The signature waits under another name until its list is there: a list without its own is
    /// none, and whatever stops this, the folder has the old list or the new one.
    pub fn write(&self, folder: &Path, key: &SigningKey) -> Result<(), ReleaseError> {
        self.sound(&key.public_key()).map_err(ReleaseError::Keys)?;
        let text = serde_json::to_string_pretty(self).map_err(io::Error::other)? + "\n";
        if text.len() as u64 > MAX_LIST {
            return Err(ReleaseError::Keys(format!(
                "it would have more than {MAX_LIST} bytes, which nobody reads"
            )));
        }
        let signed = key.sign(text.as_bytes(), "margins keys").map_err(io::Error::other)?;
        let (path, owner) = (folder.join("keys.json"), folder.join("list.pub"));
        // Readers trust the one that is there.
        let first = match crate::files::text(&owner, MAX_SIGNATURE) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => true,
            there => {
                if signature::public_key_text(&there?)? != key.public_key() {
                    return Err(ReleaseError::Keys("another key signs the lists of this folder".into()));
                }
                false
            }
        };
        let (next, own) = (next_path(&path), sidecar_path(&path));
        let write = || {
            if first {
                crate::files::write(&owner, &format!("{COMMENT}\n{}\n", key.public_key()))?;
            }
            // Where a run was stopped the list that is there has just the signature that waits.
            let waits = |text: &str| signs(&key.public_key(), text, &next).is_ok();
            if crate::files::text(&path, MAX_LIST).is_ok_and(|there| waits(&there)) {
                std::fs::rename(&next, &own)?;
                crate::files::settle(&own)?;
            }
            match std::fs::remove_file(&next) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
            crate::files::write(&next, &signed)?;
            crate::files::write(&path, &text)?;
            std::fs::rename(&next, &own)?;
            crate::files::settle(&own)
        };
        Ok(write().inspect_err(|_| {
            // A signature without its list is nobody's, and a key that signs no list would be in the way of the first one.
            let without = match crate::files::text(&path, MAX_LIST) {
                Ok(there) => there != text,
                Err(e) => e.kind() == io::ErrorKind::NotFound,
            };
            if without {
                let _ = std::fs::remove_file(&next);
            }
            if without && first {
                let _ = std::fs::remove_file(&owner);
            }
        })?)
    }
}

/// How often a list is looked at again that another program is writing.
const MOST_LOOKS: usize = 8;

/// What stands above the key in `list.pub`, as stock minisign wants it.
const COMMENT: &str = "untrusted comment: this key signs the list of keys";

/// Whether the owner signed this text, which is that of the list: the signature has its own name, or waits for it if writing was stopped just then. The one
/// that waits is looked at first, as it may get its name meanwhile.
fn signed(path: &Path, text: &str, owner: &str) -> Result<(), ReleaseError> {
    let next = signs(owner, text, &next_path(path));
    if next.is_ok() { next } else { signs(owner, text, &sidecar_path(path)) }
}

fn signs(owner: &str, text: &str, path: &Path) -> Result<(), ReleaseError> {
    let signed = crate::files::text(path, MAX_SIGNATURE)?;
    signature::verify_text(owner, text.as_bytes(), &signed).map_err(|e| ReleaseError::Keys(e.to_string()))
}

/// Where the signature of the next list waits.
#[cfg(feature = "compile")]
fn next_path(path: &Path) -> PathBuf {
    let mut name = sidecar_path(path).into_os_string();
    name.push(".next");
    name.into()
}

/// What a reader trusts.
#[derive(Debug, Clone)]
pub struct Trusted {
    keys: Vec<ListedKey>,
    /// Who says so.
    said: String,
}

impl Trusted {
    /// These keys, each a line of base64 or the text of a `.pub` file.
    pub fn given(keys: &[String]) -> Result<Trusted, ReleaseError> {
        let keys = keys.iter().map(|key| Ok(ListedKey::new(signature::public_key_text(key)?)));
        Ok(Trusted { keys: keys.collect::<Result<_, ReleaseError>>()?, said: "a given public key".into() })
    }

    /// Those of a folder's list, if that still tells on this day.
    pub fn folder(folder: &Path, today: &str) -> Result<Trusted, ReleaseError> {
        let (list, owner) = KeyList::read(folder)?;
        match list.until.as_str() >= today {
            true => Ok(Trusted {
                keys: list.keys,
                said: format!("in the list that {owner} signed, good until {}", list.until),
            }),
            false => Err(ReleaseError::Keys(format!(
                "it is stale: it told until {}, and a key may have been revoked since. Get a newer one",
                list.until
            ))),
        }
    }

    /// Whether this key is among them, whatever became of it.
    pub fn knows(&self, key: &str) -> bool {
        self.keys.iter().any(|listed| listed.key == key)
    }

    /// Whether a key's signature holds, of a file or of anything else that says it was made that day; and why, or why not.
    pub fn holds(&self, key: &str, day: &str, blake3: Option<&str>) -> Result<String, String> {
        let Some(listed) = self.keys.iter().find(|listed| listed.key == key) else {
            return Err(format!("{key} is not {}", self.said));
        };
        let named = blake3.is_some_and(|hash| listed.still.iter().any(|still| still == hash));
        match (&listed.revoked, &listed.until) {
            (Some(_), _) if named => {
                Ok(format!("{key} was revoked, and the list names this file as one that holds"))
            }
            (Some(since), _) => {
                let named = if blake3.is_some() { ", and the list does not name this file" } else { "" };
                Err(format!(
                    "{key} was revoked on {since}: somebody else may have it and write any day{named}"
                ))
            }
            (None, Some(until)) if day > until.as_str() => {
                Err(format!("{key} was replaced: it signed until {until}, and this says {day}"))
            }
            _ => Ok(format!("{key} is {}", self.said)),
        }
    }

    /// Whether the text is a signature of all bytes by one of them.
    pub fn signs(&self, release: &Release, text: &str) -> Result<bool, ReleaseError> {
        let keys: Vec<&str> = self.keys.iter().map(|listed| listed.key.as_str()).collect();
        Ok(release.signer_among(text, &keys)?.is_some())
    }

    /// How many of the trusted keys signed all bytes of a release: its own signer, and those of `NAME.margins.2.minisig` and so on beside it, whatever program made these.
    /// The keys that count, each once; and what is wrong with the rest.
    pub fn signatures(&self, release: &Release) -> io::Result<(Vec<String>, Vec<String>)> {
        let manifest = release.manifest();
        let (mut counted, mut rest) = (Vec::<String>::new(), Vec::new());
        let blake3 = release.blake3()?;
        let mut count = |key: &str| match self.holds(key, &manifest.created, Some(&blake3)) {
            _ if signature::is_not_private_key(key) => rest.push(format!("{key} is the key everybody has")),
            Ok(_) if counted.iter().any(|other| signature::same_key(other, key)) => {
                rest.push(format!("{key} signed it twice, which counts once"));
            }
            Ok(_) => counted.push(key.into()),
            Err(why) => rest.push(why),
        };
        count(&manifest.signer.public_key);
        let mut unknown = Vec::new();
        for (path, text) in further(release.path())? {
            let keys: Vec<&str> = self.keys.iter().map(|listed| listed.key.as_str()).collect();
            match text.map(|text| release.signer_among(&text, &keys)) {
                Some(Ok(Some(i))) => count(keys[i]),
                Some(Err(ReleaseError::Io(e))) => return Err(e),
                _ => unknown.push(format!("{} is no trusted key's signature of this file", path.display())),
            }
        }
        rest.extend(unknown);
        Ok((counted, rest))
    }
}

/// Where further signatures of a release are: `NAME.margins.2.minisig` to `.9.minisig`.
pub fn further_paths(path: &Path) -> impl Iterator<Item = PathBuf> {
    (2..=9).map(|i| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{i}.minisig"));
        PathBuf::from(name)
    })
}

/// Those that are there, with their texts; no text where it is none.
fn further(path: Option<&Path>) -> io::Result<Vec<(PathBuf, Option<String>)>> {
    let mut found = Vec::new();
    for path in path.into_iter().flat_map(further_paths) {
        match crate::files::text(&path, MAX_SIGNATURE) {
            Ok(text) => found.push((path, Some(text))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => return Err(e),
            Err(_) => found.push((path, None)),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::keys::keygen;

    fn key() -> SigningKey {
        SigningKey::from_text(&keygen(None).unwrap().secret, None).unwrap()
    }

    fn list(keys: &[&SigningKey]) -> KeyList {
        let keys = keys.iter().map(|k| ListedKey::new(k.public_key())).collect();
        KeyList { format: 1, until: "2026-12-31".into(), keys }
    }

    #[test]
    fn lists_hold_as_their_owner_wrote_them() {
        let (owner, own, old, stolen) = (key(), key(), key(), key());
        let [named, other] = ["a", "b"].map(|digit| digit.repeat(64));
        let folder = tempfile::tempdir().unwrap();
        let mut list = list(&[&own, &old, &stolen]);
        list.keys[1].until = Some("2026-06-30".into());
        list.keys[2].revoked = Some("2026-07-01".into());
        list.keys[2].still = vec![named.clone()];
        list.write(folder.path(), &owner).unwrap();
        let trusted = Trusted::folder(folder.path(), "2026-12-31").unwrap();
        let holds =
            |key: &SigningKey, day, file: Option<&str>| trusted.holds(&key.public_key(), day, file).is_ok();
        assert!(holds(&own, "2030-01-01", None));
        assert!(holds(&old, "2026-06-30", None) && !holds(&old, "2026-07-01", Some(&*named)));
        // A thief writes any day.
        assert!(!holds(&stolen, "2020-01-01", Some(&*other)) && !holds(&stolen, "2020-01-01", None));
        assert!(holds(&stolen, "2026-07-02", Some(&*named)));
        assert!(!holds(&key(), "2026-01-01", Some(&*named)));
        // The day after.
        let stale = Trusted::folder(folder.path(), "2027-01-01").unwrap_err().to_string();
        assert!(stale.contains("stale"), "{stale}");
    }

    /// Folders stand where files would go.
    #[test]
    fn what_stops_a_list_leaves_the_one_before() {
        let (owner, own, other) = (key(), key(), key());
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        std::fs::create_dir(at("keys.json.part")).unwrap();
        assert!(list(&[&own]).write(folder.path(), &owner).is_err());
        assert_eq!(names(), 1, "a key without a list");
        std::fs::remove_dir(at("keys.json.part")).unwrap();
        list(&[&own]).write(folder.path(), &owner).unwrap();
        std::fs::create_dir(at("keys.json.part")).unwrap();
        assert!(list(&[&other]).write(folder.path(), &owner).is_err());
        assert_eq!((names(), KeyList::read(folder.path()).unwrap().0), (4, list(&[&own])));
        // What was stopped before is not forgotten by what is stopped after it.
        std::fs::remove_dir(at("keys.json.part")).unwrap();
        let before = std::fs::read(at("keys.json.minisig")).unwrap();
        list(&[&other]).write(folder.path(), &owner).unwrap();
        std::fs::rename(at("keys.json.minisig"), at("keys.json.minisig.next")).unwrap();
        std::fs::write(at("keys.json.minisig"), before).unwrap();
        let there = || KeyList::read(folder.path()).map(|(there, _)| there);
        assert_eq!(there().unwrap(), list(&[&other]));
        std::fs::create_dir(at("keys.json.part")).unwrap();
        assert!(list(&[&own]).write(folder.path(), &owner).is_err());
        assert_eq!(there().unwrap(), list(&[&other]));
        std::fs::remove_dir(at("keys.json.part")).unwrap();
        assert_eq!(there().unwrap(), list(&[&other]));
        let mut long = list(&[&own]);
        long.keys[0].still = vec!["a".repeat(64); 20_000];
        assert!(long.write(folder.path(), &owner).unwrap_err().to_string().contains("1048576 bytes"));
        assert_eq!(there().unwrap(), list(&[&other]));
    }

    #[test]
    fn lists_that_were_changed_are_none() {
        let (owner, own, other) = (key(), key(), key());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        let refused = |why: &str| {
            let said = KeyList::read(folder.path()).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        };
        list(&[&own]).write(folder.path(), &owner).unwrap();
        assert!(list(&[&own]).write(folder.path(), &other).is_err(), "another's folder");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("2026", "2036")).unwrap();
        refused("signature");
        // Another's list under the reader's own key.
        let theirs = tempfile::tempdir().unwrap();
        list(&[&own]).write(theirs.path(), &other).unwrap();
        for name in ["keys.json", "keys.json.minisig"] {
            std::fs::copy(theirs.path().join(name), folder.path().join(name)).unwrap();
        }
        refused("the list of keys");
        // Signed, and not sound.
        let sign = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let signed = owner.sign(text.as_bytes(), "any").unwrap();
            std::fs::write(sidecar_path(&path), signed).unwrap();
        };
        sign(&text);
        assert_eq!(KeyList::read(folder.path()).unwrap(), (list(&[&own]), owner.public_key()));
        for (from, to, why) in [
            ("2026-12-31", "2026-13-31", "YYYY-MM-DD"),
            ("\"format\": 1", "\"format\": 2", "later format"),
            ("\"format\": 1", "\"format\": 1, \"more\": 2", "unknown field"),
            ("RW", "AA", "malformed"),
            ("\"keys\"", "\"key\"", "`keys`"),
        ] {
            sign(&text.replace(from, to));
            refused(why);
        }
        let bare = format!("[1, \"2026-12-31\", [{{\"key\": \"{}\"}}]]", own.public_key());
        let array =
            format!("{{\"format\": 1, \"until\": \"2026-12-31\", \"keys\": [[\"{}\"]]}}", own.public_key());
        for text in [bare, array] {
            sign(&text);
            refused("`keys`");
        }
        // Nor may the list's own key sign releases, or the one that everybody has.
        let renumbered = |key: String| {
            let other = if key.as_bytes()[4] == b'A' { "B" } else { "A" };
            [&key[..4], other, &key[5..]].concat()
        };
        let with = |key: &str| sign(&text.replace(&own.public_key(), key));
        for key in [owner.public_key(), renumbered(owner.public_key())] {
            with(&key);
            refused("signs the list");
        }
        with(signature::NOT_PRIVATE_PUBLIC_KEY);
        refused("everybody has");
        // A name that no file can have.
        for still in ["aa".to_owned(), "A".repeat(64), "g".repeat(64)] {
            sign(&text.replace("\"key\"", &format!("\"still\": [\"{still}\"], \"key\"")));
            refused("64 digits");
        }
        // One key under two numbers would be two in force.
        let mut twice = list(&[&own, &own]);
        twice.keys[1].key = renumbered(own.public_key());
        assert!(twice.sound(&owner.public_key()).unwrap_err().contains("twice"));
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(KeyList::read(folder.path()), Err(ReleaseError::Io(_))));
    }
}
