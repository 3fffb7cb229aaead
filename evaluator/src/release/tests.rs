//! The whole way: seal, open, verify; and every way to break a file.

use super::kind::CRITICAL;
use super::layout::{HEADER_LEN, Header, MAX_MANIFEST, ROW_LEN, Row};
use super::manifest::{Declared, MeasurementSummary, PlanSummary};
use super::signature::NOT_PRIVATE_PUBLIC_KEY;
use super::verify::Verification;
use super::*;
use crate::plan::{Neighbours, Noise};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn rational(text: &str) -> crate::exact::Rational {
    text.parse().unwrap()
}

fn input(name: &str) -> ManifestInput {
    let amount = |text| Amount { currency: Currency::Rho, amount: rational(text) };
    let measurement = MeasurementSummary {
        block: "total".into(),
        kind: "component".into(),
        scale: rational("5"),
        sensitivity: rational("1"),
        cost: rational("1/10"),
    };
    ManifestInput {
        created: "2026-01-31".into(),
        compiler: "margins 0.1.0".into(),
        not_private: false,
        about: About { name: name.into(), title: "A “test”\n".into(), ..About::default() },
        dataset: None,
        privacy: Privacy {
            unit: "row".into(),
            max_rows: 1,
            order: Vec::new(),
            without: None,
            neighbours: Neighbours::AddRemove,
            budget: amount("1/10"),
            cost: amount("1/10"),
            approximate: None,
            truncation: None,
            note: "0.1-zCDP for every row".into(),
        },
        account: None,
        legends: Vec::new(),
        recipient: None,
        plan: PlanSummary {
            measure: "residual".into(),
            budgets: "optimal".into(),
            mechanism: Noise::Gaussian,
            workload: vec!["sex × age.band".into()],
            count: 1,
            measurements: vec![measurement],
            sums: Vec::new(),
        },
        projection: None,
        declared: Declared::default(),
        attachments: vec!["ages.csv".into()],
    }
}

/// Domain, plan, spec, attachment and two sections of measurements.
const BODIES: [(Kind, u32, &[u8]); 6] = [
    (Kind::Domain, 0, b"domain"),
    (Kind::Plan, 0, b"plan"),
    (Kind::Spec, 0, b"[release]\n"),
    (Kind::Attachment, 0, b"0,young\n"),
    (Kind::Measurements, 0, b"\x01\x02\x03"),
    (Kind::Measurements, 1, b""),
];

fn writer(dir: &Path, name: &str, replace: bool) -> Writer {
    let mut writer = Writer::create(dir, name, BODIES.len() as u32, replace).unwrap();
    for (kind, index, body) in BODIES {
        writer.write_section(kind, index, body).unwrap();
    }
    writer
}

fn sealed(dir: &Path, name: &str, key: &SigningKey) -> Sealed {
    writer(dir, name, false).seal(input(name), key).unwrap()
}

/// The bytes of a good release and the key that signed it.
fn good() -> (Vec<u8>, SigningKey) {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::throw_away().unwrap();
    (fs::read(sealed(dir.path(), "good", &key).path).unwrap(), key)
}

/// Whether opening or verifying refuses these bytes.
fn refused(bytes: Vec<u8>, key: &str) -> bool {
    Release::from_bytes(bytes).and_then(|r| r.verify_all(Some(key))).map_or(true, |v| !v.passed())
}

fn outcome(v: &Verification, what: &str) -> Outcome {
    v.checks.iter().find(|c| c.what == what).unwrap_or_else(|| panic!("no check {what:?} in {v:?}")).outcome
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn seal_open_verify() {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap();
    let sealed = sealed(dir.path(), "people", &key);
    assert_eq!(names(dir.path()), ["people.margins", "people.margins.minisig"]);
    let bytes = fs::read(&sealed.path).unwrap();
    assert_eq!(sealed.blake3, blake3::hash(&bytes).to_hex().to_string());
    assert_eq!(sealed.bytes, bytes.len() as u64);

    let release = Release::open(&sealed.path).unwrap();
    for (kind, index, body) in BODIES {
        assert_eq!(release.section(kind, index).unwrap(), body);
        assert_eq!(release.section_length(kind, index).unwrap(), body.len() as u64);
    }
    assert_eq!(release.count(Kind::Measurements), 2);
    assert!(matches!(release.section(Kind::Measurements, 2), Err(ReleaseError::Missing { .. })));
    let manifest = release.manifest();
    assert_eq!(manifest.about, input("people").about);
    assert_eq!(manifest.sources.spec, blake3::hash(b"[release]\n").to_hex().to_string());
    assert_eq!(manifest.sources.attachments[0].name, "ages.csv");
    assert_eq!(canonical::to_bytes(manifest).unwrap(), release.manifest_bytes());

    let ok = release.verify_all(Some(&key.public_key())).unwrap();
    assert!(ok.passed() && ok.checks.iter().all(|c| c.outcome == Outcome::Passed), "{ok:?}");
    assert_eq!(ok.file_blake3, sealed.blake3);
    let unknown = release.verify_all(None).unwrap();
    assert!(unknown.passed());
    assert_eq!(outcome(&unknown, "signer"), Outcome::Warning);
    let other = SigningKey::throw_away().unwrap().public_key();
    for wrong in [other.as_str(), "", "nonsense"] {
        let wrong = release.verify_all(Some(wrong)).unwrap();
        assert!(!wrong.passed());
        assert_eq!(outcome(&wrong, "signer"), Outcome::Failed);
    }

    let alone = Release::from_bytes(bytes).unwrap().verify_all(Some(&key.public_key())).unwrap();
    assert!(alone.passed());
    assert_eq!(outcome(&alone, "whole-file signature"), Outcome::Warning);
}

/// A reader of releases may be shared by threads.
#[test]
fn many_readers() {
    fn shareable<T: Send + Sync>(_: &T) {}
    let dir = tempfile::tempdir().unwrap();
    let sealed = sealed(dir.path(), "people", &SigningKey::throw_away().unwrap());
    let from_file = Release::open(&sealed.path).unwrap();
    let from_bytes = Release::from_bytes(fs::read(&sealed.path).unwrap()).unwrap();
    shareable(&from_file);
    std::thread::scope(|scope| {
        for release in [&from_file, &from_bytes, &from_file, &from_bytes] {
            scope.spawn(move || {
                for (kind, index, body) in BODIES.iter().cycle().take(300) {
                    assert_eq!(release.section(*kind, *index).unwrap(), *body);
                }
            });
        }
    });
}

#[test]
fn sidecar() {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::throw_away().unwrap();
    let first = sealed(dir.path(), "first", &key);
    let second = sealed(dir.path(), "second", &key);
    let verify = || Release::open(&first.path).unwrap().verify_all(None).unwrap();
    let good = fs::read(&first.minisig).unwrap();
    assert_eq!(outcome(&verify(), "whole-file signature"), Outcome::Passed);
    fs::copy(&second.minisig, &first.minisig).unwrap();
    assert_eq!(outcome(&verify(), "whole-file signature"), Outcome::Failed);
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        fs::write(&first.minisig, bad).unwrap();
        assert_eq!(outcome(&verify(), "whole-file signature"), Outcome::Failed, "byte {at}");
    }
    fs::write(&first.minisig, vec![b'x'; 1 << 20]).unwrap();
    assert_eq!(outcome(&verify(), "whole-file signature"), Outcome::Failed);
    fs::remove_file(&first.minisig).unwrap();
    assert_eq!(outcome(&verify(), "whole-file signature"), Outcome::Warning);
    // Signed by another key than the manifest.
    let mallory = SigningKey::throw_away().unwrap();
    let comment =
        Manifest::trusted_comment("first", FORMAT, Release::open(&first.path).unwrap().manifest_bytes());
    fs::write(&first.minisig, mallory.sign(fs::File::open(&first.path).unwrap(), &comment).unwrap()).unwrap();
    assert_eq!(outcome(&verify(), "whole-file signature"), Outcome::Failed);
}

#[test]
fn damage_after_opening_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let sealed = sealed(dir.path(), "people", &SigningKey::throw_away().unwrap());
    let release = Release::open(&sealed.path).unwrap();
    let mut file = fs::OpenOptions::new().write(true).open(&sealed.path).unwrap();
    let at = fs::read(&sealed.path).unwrap().windows(8).position(|w| w == b"0,young\n").unwrap();
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(b"1").unwrap();
    assert!(matches!(release.section(Kind::Attachment, 0), Err(ReleaseError::Hash { .. })));
    assert!(release.section(Kind::Domain, 0).is_ok());
    let v = release.verify_all(None).unwrap();
    assert_eq!(outcome(&v, "section attachment 0"), Outcome::Failed);
    assert_eq!(outcome(&v, "whole-file signature"), Outcome::Failed);
}

#[test]
fn every_byte_counts() {
    let (good, key) = good();
    let key = key.public_key();
    assert!(!refused(good.clone(), &key));
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        assert!(refused(bad, &key), "byte {at} flipped");
        assert!(refused(good[..at].to_vec(), &key), "cut to {at} bytes");
    }
    for extra in [&b"\0"[..], b"\n", &good] {
        assert!(Release::from_bytes([&good, extra].concat()).is_err());
        assert!(Release::from_bytes([extra, &good].concat()).is_err());
    }
}

/// A source that notes the largest piece anybody asked it for.
struct Probe(Cursor<Vec<u8>>, Arc<AtomicUsize>);
impl Read for Probe {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.1.fetch_max(buf.len(), Ordering::Relaxed);
        self.0.read(buf)
    }
}
impl Seek for Probe {
    fn seek(&mut self, pos: SeekFrom) -> io::Result<u64> {
        self.0.seek(pos)
    }
}

/// Every number in the header and the table, set to every kind of wrong value: refused, and never
/// believed for as much as a buffer longer than the file.
#[test]
fn huge_numbers() {
    let (good, _) = good();
    let table = HEADER_LEN as usize..(HEADER_LEN + ROW_LEN * BODIES.len() as u64) as usize;
    let mut fields = vec![(8, 4), (12, 4), (16, 8), (24, 8)];
    for row in table.step_by(ROW_LEN as usize) {
        fields.extend([(row, 4), (row + 4, 4), (row + 8, 8), (row + 16, 8)]);
    }
    let largest = Arc::new(AtomicUsize::new(0));
    for (at, width) in fields {
        let mut field = [0; 8];
        field[..width].copy_from_slice(&good[at..at + width]);
        let value = u64::from_le_bytes(field);
        let mut wrong =
            vec![value.wrapping_add(1), value.wrapping_sub(1), u64::MAX, 1 << 31, 1 << 16, (1 << 16) + 1];
        wrong.extend([1 << 40, 1 << 62, u64::MAX - value, MAX_MANIFEST, MAX_SECTION, good.len() as u64]);
        for wrong in wrong {
            let mut bad = good.clone();
            bad[at..at + width].copy_from_slice(&wrong.to_le_bytes()[..width]);
            if bad != good {
                let probe = Probe(Cursor::new(bad), largest.clone());
                assert!(Release::from_reader(probe).is_err(), "field at {at} set to {wrong}");
            }
        }
    }
    assert!((1..=good.len()).contains(&largest.load(Ordering::Relaxed)));
}

/// Builds files no writer makes, signed as they are.
struct Forge {
    version: u32,
    sections: Vec<(u32, u32, Vec<u8>)>,
    key: SigningKey,
    edit: fn(&mut Value),
    bytes: fn(Vec<u8>) -> Vec<u8>,
}

impl Forge {
    fn new() -> Forge {
        let sections = BODIES.iter().map(|&(kind, index, body)| (kind.tag(), index, body.to_vec())).collect();
        Forge {
            version: FORMAT,
            sections,
            key: SigningKey::throw_away().unwrap(),
            edit: |_| (),
            bytes: |b| b,
        }
    }

    fn open(self) -> Result<Release, ReleaseError> {
        let mut header =
            Header { version: self.version, sections: self.sections.len() as u32, manifest: 0, signature: 0 };
        let mut offset = header.bodies();
        let (mut table, mut bodies, mut listed) = (Vec::new(), Vec::new(), Vec::new());
        for (tag, index, body) in &self.sections {
            let hash = *blake3::hash(body).as_bytes();
            let row = Row { tag: *tag, index: *index, offset, length: body.len() as u64, hash };
            offset += row.length;
            table.extend(row.to_bytes());
            bodies.extend(body);
            listed.push(serde_json::to_value(manifest::Section::of(&row)).unwrap());
        }
        let release = Release::from_bytes(good().0).unwrap();
        let mut manifest = serde_json::to_value(release.manifest()).unwrap();
        manifest["sections"] = listed.into();
        manifest["signer"]["public_key"] = self.key.public_key().into();
        manifest["format"] = self.version.into();
        (self.edit)(&mut manifest);
        let manifest = (self.bytes)(canonical::to_bytes(&manifest).unwrap());
        let signature = self
            .key
            .sign(&manifest[..], &Manifest::trusted_comment("good", self.version, &manifest))
            .unwrap();
        header.manifest = manifest.len() as u64;
        header.signature = signature.len() as u64;
        Release::from_bytes(
            [&header.to_bytes()[..], &table, &bodies, &manifest, signature.as_bytes()].concat(),
        )
    }
}

#[test]
fn tables_no_writer_makes() {
    assert!(Forge::new().open().is_ok());
    let with = |tag: u32, index: u32| {
        let mut forge = Forge::new();
        forge.sections.push((tag, index, b"later".to_vec()));
        forge.open()
    };
    assert!(matches!(with(CRITICAL | 99, 0), Err(ReleaseError::UnknownCritical { .. })));
    assert!(matches!(with(CRITICAL | 13, 0), Err(ReleaseError::UnknownCritical { .. })));
    // Readers skip it; nobody can say what it holds, so it does not pass.
    let later = with(99, 0).unwrap();
    assert_eq!(outcome(&later.verify_all(None).unwrap(), "section 99 0"), Outcome::Failed);
    assert_eq!(later.section(Kind::Plan, 0).unwrap(), b"plan");
    for (why, open) in [
        ("holes", with(99, 1)),
        ("holes", with(Kind::Measurements.tag(), 3)),
        ("ascending", with(Kind::Measurements.tag(), 1)),
        ("ascending", with(Kind::Plan.tag(), 0)),
        ("critical bit", with(CRITICAL | 3, 0)),
        ("critical bit", with(5, 2)),
    ] {
        let error = open.unwrap_err();
        assert!(matches!(error, ReleaseError::Table(w) if w.contains(why)), "{error:?} is not about {why}");
    }
    for missing in 0..3 {
        let mut forge = Forge::new();
        forge.sections.remove(missing);
        assert!(matches!(forge.open(), Err(ReleaseError::Missing { index: 0, .. })));
    }
    for (a, b) in [(0, 1), (1, 4), (4, 5)] {
        let mut forge = Forge::new();
        forge.sections.swap(a, b);
        assert!(matches!(forge.open(), Err(ReleaseError::Table(_))));
    }
}

/// What format 2 added is there in format 2 and at most once; a file of format 1 has none of it.
#[test]
fn what_format_2_added() {
    let with = |version: u32, cut: u32, edit: fn(&mut Value)| {
        let mut forge = Forge { version, edit, ..Forge::new() };
        forge.sections.extend((0..cut).map(|i| (Kind::CutUnits.tag(), i, b"count".to_vec())));
        forge.open()
    };
    for version in 1..=FORMAT {
        let release = with(version, 0, |_| ()).unwrap();
        assert_eq!((release.manifest().format, release.manifest().dataset.clone()), (version, None));
    }
    assert_eq!(with(2, 1, |_| ()).unwrap().section(Kind::CutUnits, 0).unwrap(), b"count");
    assert!(matches!(with(2, 2, |_| ()), Err(ReleaseError::Table(_))));
    assert!(matches!(with(1, 1, |_| ()), Err(ReleaseError::UnknownCritical { .. })));

    let census: fn(&mut Value) = |m| m["dataset"] = json!({"id": "census", "period": "2026"});
    let dataset = with(2, 0, census).unwrap().manifest().dataset.clone().unwrap();
    assert_eq!((dataset.id.as_str(), dataset.period.as_deref()), ("census", Some("2026")));
    assert!(matches!(with(1, 0, census), Err(ReleaseError::Manifest(_))));
    let own: fn(&mut Value) = |m| m["privacy"]["without"] = "own".into();
    assert!(with(2, 0, own).is_ok() && matches!(with(1, 0, own), Err(ReleaseError::Manifest(_))));
    let nameless: fn(&mut Value) = |m| m["dataset"] = json!({"id": "a\nb"});
    assert!(matches!(with(2, 0, nameless), Err(ReleaseError::Manifest(_))));
}

/// Bodies swapped under an unchanged table: same lengths, so only the hashes can tell.
#[test]
fn swapped_bodies() {
    let (good, key) = good();
    let at = |what: &[u8]| good.windows(what.len()).position(|w| w == what).unwrap();
    let mut bad = good.clone();
    let (domain, spec) = (at(b"domainplan"), at(b"[release]\n"));
    bad[domain..domain + 10].copy_from_slice(b"[release]\n");
    bad[spec..spec + 10].copy_from_slice(b"domainplan");
    assert!(Release::from_bytes(bad.clone()).unwrap().section(Kind::Spec, 0).is_err());
    assert!(refused(bad, &key.public_key()));
}

#[test]
fn manifests_no_writer_makes() {
    let edited = |edit: fn(&mut Value)| Forge { edit, ..Forge::new() }.open();
    // Readers ignore fields they do not know; nobody can say what they mean, so they do not pass.
    let later = edited(|m| m["zz_later"] = json!({"a": [1, 2]})).unwrap();
    assert_eq!(outcome(&later.verify_all(None).unwrap(), "manifest"), Outcome::Failed);
    let disagreements: [fn(&mut Value); 9] = [
        |m| m["format"] = 1.into(),
        |m| m["sections"] = json!([]),
        |m| m["sections"][0]["length"] = 7.into(),
        |m| m["sections"][4]["blake3"] = m["sections"][3]["blake3"].clone(),
        |m| m["sections"][1]["name"] = "domain".into(),
        |m| m["sections"][5]["index"] = 2.into(),
        |m| m["sources"]["spec"] = m["sources"]["domain"].clone(),
        |m| m["sources"]["domain"] = m["sources"]["spec"].clone(),
        |m| m["sources"]["attachments"] = json!([]),
    ];
    for (i, edit) in disagreements.into_iter().enumerate() {
        assert!(matches!(edited(edit), Err(ReleaseError::Disagreement(_))), "edit {i}");
    }
    let nonsense: [fn(&mut Value); 9] = [
        |m| m["created"] = "yesterday".into(),
        |m| m["privacy"]["cost"]["amount"] = "2/10".into(),
        |m| m["privacy"]["cost"]["currency"] = "epsilon".into(),
        |m| m["privacy"]["budget"]["amount"] = "1/0".into(),
        |m| m["privacy"]["neighbours"] = "friends".into(),
        |m| m["plan"]["count"] = 2.into(),
        |m| m["not_private"] = true.into(),
        |m| m["signer"]["kind"] = "NOT PRIVATE test".into(),
        |m| _ = m.as_object_mut().unwrap().remove("declared"),
    ];
    for (i, edit) in nonsense.into_iter().enumerate() {
        assert!(matches!(edited(edit), Err(ReleaseError::Manifest(_))), "edit {i}");
    }
    // A name other than the one in the signature's comment.
    assert!(matches!(edited(|m| m["about"]["name"] = "other".into()), Err(ReleaseError::Signature(_))));
    // A key other than the one that signed.
    let stranger: fn(&mut Value) =
        |m| m["signer"]["public_key"] = SigningKey::throw_away().unwrap().public_key().into();
    assert!(matches!(edited(stranger), Err(ReleaseError::Signature(_))));

    let rewrites: [fn(Vec<u8>) -> Vec<u8>; 5] = [
        |b| serde_json::to_vec_pretty(&serde_json::from_slice::<Value>(&b).unwrap()).unwrap(),
        |b| b[..b.len() - 1].to_vec(),
        |b| [b, b"\n".to_vec()].concat(),
        |b| String::from_utf8(b).unwrap().replacen("{", "{\"a\":1,\"a\":2,", 1).into_bytes(),
        |b| String::from_utf8(b).unwrap().replacen("margins 0", "\\u006dargins 0", 1).into_bytes(),
    ];
    for (i, bytes) in rewrites.into_iter().enumerate() {
        let open = Forge { bytes, ..Forge::new() }.open();
        assert!(matches!(open, Err(ReleaseError::NotCanonical { .. })), "rewrite {i}");
    }
}

#[test]
fn signature_of_another_release() {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::throw_away().unwrap();
    let a = fs::read(sealed(dir.path(), "aaaa", &key).path).unwrap();
    let b = fs::read(sealed(dir.path(), "bbbb", &key).path).unwrap();
    let signature =
        |bytes: &[u8]| bytes.len() - u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize;
    let mixed = [&a[..signature(&a)], &b[signature(&b)..]].concat();
    assert!(matches!(Release::from_bytes(mixed), Err(ReleaseError::Signature(_))));
    // The same comment, so that only the signature itself can tell.
    let comment =
        Manifest::trusted_comment("aaaa", FORMAT, Release::from_bytes(a.clone()).unwrap().manifest_bytes());
    let other = key.sign(&b"something else"[..], &comment).unwrap();
    assert_eq!(other.len(), a.len() - signature(&a));
    let mixed = [&a[..signature(&a)], other.as_bytes()].concat();
    assert!(matches!(Release::from_bytes(mixed), Err(ReleaseError::Signature(_))));
}

#[test]
fn wrong_magic_and_version() {
    let (good, _) = good();
    let set = |at: usize, byte: u8| {
        let mut bad = good.clone();
        bad[at] = byte;
        Release::from_bytes(bad)
    };
    assert!(matches!(set(0, b'M'), Err(ReleaseError::Magic)));
    for found in [0, 3, 255] {
        assert!(matches!(set(8, found), Err(ReleaseError::Version { .. })));
    }
    assert!(matches!(Release::from_bytes(Vec::new()), Err(ReleaseError::Magic)));
    assert!(matches!(Release::from_bytes(b"a,b\n1,2\n".repeat(99)), Err(ReleaseError::Magic)));
}

#[test]
fn known_seeds_never_pass_for_private() {
    let dir = tempfile::tempdir().unwrap();
    let seeded = |name: &str| ManifestInput { not_private: true, ..input(name) };
    let test = SigningKey::not_private().unwrap();
    let agency = SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap();
    for key in [&agency, &SigningKey::throw_away().unwrap()] {
        let refused = writer(dir.path(), "x", false).seal(seeded("x"), key);
        assert!(matches!(refused, Err(SealError::NotPrivate)));
    }
    assert!(matches!(writer(dir.path(), "x", false).seal(input("x"), &test), Err(SealError::TestKey)));
    assert!(names(dir.path()).is_empty());

    let sealed = writer(dir.path(), "x", false).seal(seeded("x"), &test).unwrap();
    let release = Release::open(sealed.path).unwrap();
    assert!(release.manifest().is_not_private());
    let v = release.verify_all(Some(NOT_PRIVATE_PUBLIC_KEY)).unwrap();
    assert!(!v.passed());
    assert!(v.checks.iter().any(|c| c.outcome == Outcome::Failed && c.detail.contains("NOT PRIVATE")));

    // Anybody can sign with the known key; nothing that claims to be private opens with it.
    for key in [SigningKey::not_private(), SigningKey::disguised()] {
        let forged = Forge { key: key.unwrap(), ..Forge::new() }.open();
        assert!(matches!(forged, Err(ReleaseError::Manifest(_))));
    }
}

#[test]
fn the_writer_refuses() {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::throw_away().unwrap();
    for name in ["", "../x", "a/b", ".x", "x y"] {
        assert!(matches!(Writer::create(dir.path(), name, 1, false), Err(SealError::Name(_))), "{name}");
    }
    let start = || Writer::create(dir.path(), "x", 6, false).unwrap();
    let sections = |result: Result<(), SealError>| assert!(matches!(result, Err(SealError::Sections(_))));
    sections(start().write_section(Kind::Domain, 1, b""));
    {
        let mut w = start();
        w.write_section(Kind::Plan, 0, b"").unwrap();
        sections(w.write_section(Kind::Plan, 1, b""));
        sections(w.write_section(Kind::Domain, 0, b""));
        sections(w.write_section(Kind::Measurements, 1, b""));
        sections(w.seal(input("x"), &key).map(|_| ()));
    }
    sections(writer(dir.path(), "x", false).write_section(Kind::Measurements, 2, b""));
    {
        let mut w = start();
        w.section(Kind::Domain, 0).unwrap().write_all(b"half").unwrap();
        sections(w.write_section(Kind::Plan, 0, b""));
        sections(w.seal(input("x"), &key).map(|_| ()));
    }
    assert!(matches!(writer(dir.path(), "x", false).seal(input("y"), &key), Err(SealError::Name(_))));
    let unnamed = ManifestInput { attachments: Vec::new(), ..input("x") };
    sections(writer(dir.path(), "x", false).seal(unnamed, &key).map(|_| ()));
    let undated = ManifestInput { created: "today".into(), ..input("x") };
    assert!(matches!(writer(dir.path(), "x", false).seal(undated, &key), Err(SealError::Refused(_))));
    // Nothing was sealed, and nothing is left.
    assert!(names(dir.path()).is_empty());
}

#[test]
fn nothing_is_overwritten_unasked() {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::throw_away().unwrap();
    let early = writer(dir.path(), "x", false);
    // Of two that may not replace, the second has nothing to hope for. One that may is let in.
    assert!(matches!(Writer::create(dir.path(), "x", 6, false), Err(SealError::Busy(_))));
    let first = writer(dir.path(), "x", true).seal(input("x"), &key).unwrap();
    let before = (fs::read(&first.path).unwrap(), fs::read(&first.minisig).unwrap());
    assert!(matches!(Writer::create(dir.path(), "x", 6, false), Err(SealError::Exists(_))));
    // The file appeared while this one was being written.
    assert!(matches!(early.seal(input("x"), &key), Err(SealError::Exists(_))));
    assert_eq!((fs::read(&first.path).unwrap(), fs::read(&first.minisig).unwrap()), before);
    // Only the signature is there.
    fs::remove_file(&first.path).unwrap();
    assert!(matches!(Writer::create(dir.path(), "x", 6, false), Err(SealError::Exists(_))));
    let again = writer(dir.path(), "x", true).seal(input("x"), &key).unwrap();
    assert!(Release::open(&again.path).unwrap().verify_all(Some(&key.public_key())).unwrap().passed());
    assert_eq!(names(dir.path()), ["x.margins", "x.margins.minisig"]);
}

/// Who may read a folder may lock it for ever: no run begins, and one that is to end does.
#[cfg(unix)]
#[test]
fn nobody_is_waited_for_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::throw_away().unwrap();
    let begun = writer(dir.path(), "x", false);
    let held = fs::File::open(dir.path()).unwrap();
    held.lock_shared().unwrap();
    let busy = Writer::create(dir.path(), "y", 6, false).map(drop).unwrap_err();
    assert!(busy.to_string().contains("locked"), "{busy}");
    let sealed = begun.seal(input("x"), &key).unwrap();
    assert!(Release::open(&sealed.path).unwrap().verify_all(Some(&key.public_key())).unwrap().passed());
    assert_eq!(names(dir.path()), ["x.margins", "x.margins.minisig"]);
    drop(held);
    writer(dir.path(), "y", false).seal(input("y"), &key).unwrap();
}

/// The list in the manifest stops where it must, and says so by its count.
#[test]
fn many_measurements() {
    let dir = tempfile::tempdir().unwrap();
    let mut many = input("many");
    many.plan.measurements = vec![many.plan.measurements[0].clone(); LISTED_MEASUREMENTS + 5];
    many.plan.count = many.plan.measurements.len() as u64;
    let key = SigningKey::throw_away().unwrap();
    let sealed = writer(dir.path(), "many", false).seal(many, &key).unwrap();
    let release = Release::open(sealed.path).unwrap();
    assert_eq!(release.manifest().plan.count, LISTED_MEASUREMENTS as u64 + 5);
    assert_eq!(release.manifest().plan.measurements.len(), LISTED_MEASUREMENTS);
}

#[test]
fn domain_and_plan_travel() {
    let dir = tempfile::tempdir().unwrap();
    let (cube, plan) = (wire::tests::cube(), wire::tests::plan());
    let mut w = Writer::create(dir.path(), "x", 4, false).unwrap();
    w.write_section(Kind::Domain, 0, &wire::encode_domain(&cube).unwrap()).unwrap();
    w.write_section(Kind::Plan, 0, &wire::encode_plan(&plan, &cube).unwrap()).unwrap();
    w.write_section(Kind::Spec, 0, b"").unwrap();
    // One value and eight, all zero.
    w.write_section(Kind::Measurements, 0, &[0, 0]).unwrap();
    let input = ManifestInput { attachments: Vec::new(), ..input("x") };
    let sealed = w.seal(input, &SigningKey::throw_away().unwrap()).unwrap();
    let release = Release::open(sealed.path).unwrap();
    assert_eq!(release.cube().unwrap(), cube);
    assert_eq!(release.plan(&cube).unwrap(), plan);
}

/// Stock minisign accepts our keys and signatures.
#[test]
fn stock_minisign() {
    let minisign = |args: &[&std::ffi::OsStr]| Command::new("minisign").args(args).output();
    if minisign(&["-v".as_ref()]).is_err() {
        eprintln!("skipped: no minisign command on this machine");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (secret, public) = (dir.path().join("agency.key"), dir.path().join("agency.pub"));
    keys::keygen(None).unwrap().write(&secret, &public).unwrap();
    let key = SigningKey::load(&secret, None).unwrap();
    let sealed = sealed(dir.path(), "people", &key);
    let verify = || {
        let by_key =
            minisign(&["-Vm".as_ref(), sealed.path.as_ref(), "-P".as_ref(), key.public_key().as_ref()]);
        let by_file = minisign(&["-Vm".as_ref(), sealed.path.as_ref(), "-p".as_ref(), public.as_ref()]);
        (by_key.unwrap().status.success(), by_file.unwrap().status.success())
    };
    assert_eq!(verify(), (true, true));
    // The signature at the end of the file, over the manifest.
    let release = Release::open(&sealed.path).unwrap();
    let bytes = fs::read(&sealed.path).unwrap();
    let (manifest, minisig) = (dir.path().join("m.json"), dir.path().join("m.json.minisig"));
    fs::write(&manifest, release.manifest_bytes()).unwrap();
    let at =
        bytes.windows(release.manifest_bytes().len()).position(|w| w == release.manifest_bytes()).unwrap();
    fs::write(&minisig, &bytes[at + release.manifest_bytes().len()..]).unwrap();
    let out =
        minisign(&["-Vm".as_ref(), manifest.as_ref(), "-P".as_ref(), key.public_key().as_ref()]).unwrap();
    assert!(out.status.success());
    assert!(
        String::from_utf8_lossy(&out.stdout).contains("margins release people, format 2, blake3 of manifest")
    );
    fs::write(&sealed.path, [bytes, b"x".to_vec()].concat()).unwrap();
    assert_eq!(verify(), (false, false));

    // Our secret key signs with stock minisign.
    let signed = minisign(&["-SWm".as_ref(), manifest.as_ref(), "-s".as_ref(), secret.as_ref()]).unwrap();
    assert!(signed.status.success(), "{signed:?}");
    assert!(
        minisign(&["-Vm".as_ref(), manifest.as_ref(), "-p".as_ref(), public.as_ref()])
            .unwrap()
            .status
            .success()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn round_trip(bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..2000), 3..12), pieces in 1usize..700) {
        let dir = tempfile::tempdir().unwrap();
        let key = SigningKey::throw_away().unwrap();
        let place = |i: usize| match i {
            0..3 => (Kind::ALL[i], 0),
            _ => (Kind::Measurements, i as u32 - 3),
        };
        let mut w = Writer::create(dir.path(), "x", bodies.len() as u32, false).unwrap();
        for (i, body) in bodies.iter().enumerate() {
            let mut section = w.section(place(i).0, place(i).1).unwrap();
            for piece in body.chunks(pieces) {
                section.write_all(piece).unwrap();
            }
            section.finish();
        }
        let input = ManifestInput { attachments: Vec::new(), ..input("x") };
        let sealed = w.seal(input, &key).unwrap();
        let release = Release::open(&sealed.path).unwrap();
        for (i, body) in bodies.iter().enumerate() {
            prop_assert_eq!(&release.section(place(i).0, place(i).1).unwrap(), body);
        }
        let v = release.verify_all(Some(&key.public_key())).unwrap();
        prop_assert!(v.passed());
        prop_assert_eq!(v.file_blake3, blake3::hash(&fs::read(&sealed.path).unwrap()).to_hex().to_string());
    }
}

proptest! {
    #[test]
    fn never_panics(version in prop::sample::select(vec![1u32, 2, 0, 7]), sections in 0u32..20, manifest in 0u64..300, signature in 0u64..300, rest: Vec<u8>) {
        let mut bytes = Header { version: 1, sections, manifest, signature }.to_bytes().to_vec();
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        bytes.extend(&rest);
        prop_assert!(Release::from_bytes(bytes).is_err());
        prop_assert!(Release::from_bytes(rest).is_err());
    }
}

/// A run that was killed while its two files got their names is finished by the next of its name, wherever that was; other dead files go, and
/// what is alive or somebody else's stays. Until then what is there verifies.
#[test]
fn leftovers() {
    const OTHERS: [&str; 4] =
        [".y.margins.aB3dE6.tmp", ".x.margins.notes1.txt", ".x.margins.long1234.tmp", ".x.backup.tmp"];
    let made = tempfile::tempdir().unwrap();
    let key = SigningKey::throw_away().unwrap();
    let of = |day: &str| {
        let sealed =
            writer(made.path(), "x", true).seal(ManifestInput { created: day.into(), ..input("x") }, &key);
        let sealed = sealed.unwrap();
        (fs::read(sealed.path).unwrap(), fs::read(sealed.minisig).unwrap())
    };
    let (old, new) = (of("2026-01-01"), of("2027-01-01"));
    let (file, beside) = ("x.margins", "x.margins.minisig");
    let temporary = [".x.margins.aB3dE6.tmp", ".x.margins.bB3dE6.tmp", ".x.margins.cB3dE6.tmp"];
    // What has which name when the run is killed; and of which day the release is that is there afterwards.
    let cases: [(&[(&str, &Vec<u8>)], &str); 7] = [
        (&[(file, &old.0), (beside, &old.1), (temporary[0], &new.0)], "2026"),
        (&[(file, &old.0), (beside, &old.1), (temporary[0], &new.0), (temporary[1], &new.1)], "2026"),
        (&[(file, &old.0), (temporary[2], &old.1), (temporary[0], &new.0), (temporary[1], &new.1)], "2027"),
        (&[(file, &new.0), (temporary[2], &old.1), (temporary[1], &new.1)], "2027"),
        (&[(file, &new.0), (temporary[0], &new.1)], "2027"),
        (&[(temporary[0], &new.0), (temporary[1], &new.1)], "2027"),
        // A release that lost its signature otherwise.
        (&[(file, &old.0), (temporary[0], &new.0)], "2026"),
    ];
    for (number, (there, year)) in cases.into_iter().enumerate() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let at = |name: &str| dir.join(name);
        let whole = || Release::open(at(file)).unwrap().verify_all(None).unwrap();
        there.iter().for_each(|(name, bytes)| fs::write(at(name), bytes).unwrap());
        OTHERS.iter().for_each(|name| fs::write(at(name), "mine").unwrap());
        fs::write(at(".x.margins.222222.tmp"), "half").unwrap();
        fs::create_dir(at(".x.margins.333333.tmp")).unwrap();
        assert!(!at(file).exists() || whole().passed(), "{number}");

        let alive = writer(dir, "x", true);
        let held = names(dir).len();
        assert!(matches!(Writer::create(dir, "x", 6, false), Err(SealError::Exists(_))));
        assert_eq!(names(dir).len(), held, "the file of a run that is alive was taken");
        drop(alive);
        let signed = if number == 6 { Outcome::Warning } else { Outcome::Passed };
        assert_eq!(outcome(&whole(), "whole-file signature"), signed, "{number}");
        assert!(Release::open(at(file)).unwrap().manifest().created.starts_with(year), "{number}");
        let mut expected: Vec<&str> = OTHERS.to_vec();
        expected.extend([".x.margins.333333.tmp", file]);
        expected.extend((number != 6).then_some(beside));
        expected.sort();
        let mut left = names(dir);
        left.sort();
        assert_eq!(left, expected, "{number}");
    }
}
