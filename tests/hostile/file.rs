//! A release file put together from any sections, with a manifest that repeats them and a good signature: what
//! somebody with a key can make. Written from `schemas/RELEASE-FORMAT.md` alone.

use serde_json::{Value, json};

const HEADER: usize = 32;
const ROW: usize = 56;
pub(crate) const CRITICAL: u32 = 1 << 31;
pub(crate) const DOMAIN: u32 = CRITICAL | 1;
pub(crate) const PLAN: u32 = CRITICAL | 2;
pub(crate) const SPEC: u32 = 3;
pub(crate) const MEASUREMENTS: u32 = CRITICAL | 5;
pub(crate) const EXACT: u32 = CRITICAL | 6;
pub(crate) const ZERO: u32 = CRITICAL | 7;
pub(crate) const PROJECTION: u32 = CRITICAL | 8;
/// What each kind of section is called, by the number of its tag.
const NAMES: [&str; 13] = [
    "",
    "domain",
    "plan",
    "spec",
    "attachment",
    "measurements",
    "exact",
    "zero",
    "projection",
    "truncation",
    "workload",
    "copies",
    "sums",
];

/// A key nobody trusts, but a key.
pub(crate) struct Key(minisign::KeyPair);

impl Key {
    pub(crate) fn new() -> Key {
        Key(minisign::KeyPair::generate_unencrypted_keypair().unwrap())
    }

    /// Its public half, as manifests have it.
    pub(crate) fn public(&self) -> String {
        self.0.pk.to_base64()
    }
}

/// One section.
#[derive(Clone)]
pub(crate) struct Section {
    pub tag: u32,
    pub index: u32,
    pub bytes: Vec<u8>,
}

/// A file in parts.
#[derive(Clone)]
pub(crate) struct File {
    pub sections: Vec<Section>,
    pub manifest: Value,
}

impl File {
    /// The parts of a sound file. Whoever signed it, somebody else signs it now.
    pub(crate) fn parse(bytes: &[u8]) -> File {
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        let count = u32_at(12) as usize;
        let row = |i: usize| {
            let at = HEADER + ROW * i;
            let (from, length) = (u64_at(at + 8), u64_at(at + 16));
            let bytes = bytes[from..from + length].to_vec();
            Section { tag: u32_at(at), index: u32_at(at + 4), bytes }
        };
        let sections: Vec<Section> = (0..count).map(row).collect();
        let from = HEADER + ROW * count + sections.iter().map(|s| s.bytes.len()).sum::<usize>();
        let mut manifest: Value = serde_json::from_slice(&bytes[from..from + u64_at(16)]).unwrap();
        manifest["not_private"] = false.into();
        File { sections, manifest }
    }

    /// Replaces all sections with one tag by these.
    pub(crate) fn put(&mut self, tag: u32, bodies: Vec<Vec<u8>>) {
        self.sections.retain(|s| s.tag != tag);
        let made = bodies.into_iter().zip(0..).map(|(bytes, index)| Section { tag, index, bytes });
        self.sections.extend(made);
        self.sections.sort_by_key(|s| (s.tag & !CRITICAL, s.index));
    }

    /// Makes the manifest say what the sections are, signs it, and writes everything in the order given.
    pub(crate) fn sealed(&self, key: &Key) -> Vec<u8> {
        let mut manifest = self.manifest.clone();
        let hash = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
        manifest["sections"] = self
            .sections
            .iter()
            .map(|s| {
                let name = NAMES.get((s.tag & !CRITICAL) as usize).unwrap_or(&"other");
                json!({
                    "name": name, "tag": s.tag, "index": s.index,
                    "length": s.bytes.len(), "blake3": hash(&s.bytes),
                })
            })
            .collect();
        for (source, tag) in [("spec", SPEC), ("domain", DOMAIN)] {
            if let Some(s) = self.sections.iter().find(|s| s.tag == tag) {
                manifest["sources"][source] = hash(&s.bytes).into();
            }
        }
        let attached = self.sections.iter().filter(|s| s.tag == 4).enumerate();
        let named = |i: usize| self.manifest["sources"]["attachments"][i]["name"].as_str().unwrap_or("file");
        manifest["sources"]["attachments"] =
            attached.map(|(i, s)| json!({ "name": named(i), "blake3": hash(&s.bytes) })).collect();
        manifest["signer"] = json!({ "kind": "throw-away", "public_key": key.public() });
        let text = format!("{manifest}\n");
        self.signed(text.as_bytes(), key)
    }

    /// With any manifest.
    pub(crate) fn signed(&self, manifest: &[u8], key: &Key) -> Vec<u8> {
        let format = self.manifest["format"].as_u64().unwrap_or(1) as u32;
        let name = self.manifest["about"]["name"].as_str().unwrap_or_default();
        let comment = format!(
            "margins release {name}, format {format}, blake3 of manifest {}",
            blake3::hash(manifest).to_hex()
        );
        let untrusted = "signature by margins, verify with minisign";
        let signature =
            minisign::sign(Some(&key.0.pk), &key.0.sk, manifest, Some(&comment), Some(untrusted)).unwrap();
        let signature = signature.into_string();
        let mut out = b"\x8dMARGINS".to_vec();
        out.extend(format.to_le_bytes());
        out.extend((self.sections.len() as u32).to_le_bytes());
        out.extend((manifest.len() as u64).to_le_bytes());
        out.extend((signature.len() as u64).to_le_bytes());
        let mut offset = HEADER + ROW * self.sections.len();
        for s in &self.sections {
            out.extend(s.tag.to_le_bytes());
            out.extend(s.index.to_le_bytes());
            out.extend((offset as u64).to_le_bytes());
            out.extend((s.bytes.len() as u64).to_le_bytes());
            out.extend(blake3::hash(&s.bytes).as_bytes());
            offset += s.bytes.len();
        }
        self.sections.iter().for_each(|s| out.extend(&s.bytes));
        out.extend(manifest);
        out.extend(signature.as_bytes());
        out
    }
}
