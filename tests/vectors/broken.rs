//! Broken files made from the frozen ones: each is refused with an error, before anything large is read.

use super::{FILES, all, path};
use margins::answer::Answers;
use margins::audit;
use margins::numeric::tries::tries;
use margins::release::{Check, Outcome, Release};

const HEADER: usize = 32;
const ROW: usize = 56;

fn file(name: &str) -> Vec<u8> {
    std::fs::read(path(&format!("{name}.margins"))).unwrap()
}

/// Opens and audits, and asks where neither noticed anything: whether anything is refused.
fn refused(bytes: Vec<u8>) -> bool {
    let Ok(release) = Release::from_bytes(bytes) else { return true };
    match audit::audit(&release, None) {
        Ok(audit) => {
            let noticed =
                |c: &Check| c.outcome == Outcome::Failed && c.what != "privacy" && c.what != "signer";
            audit.checks.iter().any(noticed) || !answers(release)
        }
        Err(_) => true,
    }
}

/// Whether a query is answered.
fn answers(release: Release) -> bool {
    let Ok(answers) = Answers::from_release(release) else { return false };
    let sql = format!("SELECT place.region, COUNT(*) FROM {} GROUP BY place.region", answers.name());
    answers.query(&sql, 0.95).is_ok()
}

/// A query is as careful as an audit with what it reads: every byte of the domain, the plan and the measurements.
#[test]
fn queries_refuse_changed_sections() {
    for name in FILES {
        let whole = file(name);
        let count = sections(&whole);
        for row in [0, 1, count - 1] {
            let field = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap()) as usize;
            let (offset, length) = (field(HEADER + ROW * row + 8), field(HEADER + ROW * row + 16));
            for at in [offset, offset + length / 2, offset + length - 1] {
                let mut bytes = whole.clone();
                bytes[at] ^= 1;
                assert!(!Release::from_bytes(bytes).is_ok_and(answers), "{name}: section {row}, byte {at}");
            }
        }
    }
}

fn sections(bytes: &[u8]) -> usize {
    u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize
}

/// Where the manifest starts: after the last section.
fn manifest(bytes: &[u8]) -> usize {
    let field = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    bytes.len() - field(16) - field(24)
}

#[test]
fn the_whole_files_are_not_refused() {
    for name in FILES {
        assert!(!refused(file(name)), "{name}");
    }
}

/// What is wrong with a file: that it does not open, or the checks of its bytes that fail, with all they say.
fn faults(bytes: Vec<u8>) -> Result<Vec<String>, String> {
    let release = Release::from_bytes(bytes).map_err(|e| e.to_string())?;
    let checks = release.verify_all(None).map_err(|e| e.to_string())?.checks;
    let failed = checks.into_iter().filter(|c| c.outcome == Outcome::Failed);
    Ok(failed.map(|c| format!("{}: {}", c.what, c.detail)).collect())
}

/// After any change of any byte a file does not open, or fails for another reason than the whole one: of the bytes that say how the rest is read or who signed
/// it every bit, and all of them; of the others, which a hash covers, one bit and all.
fn no_byte_may_change(name: &str, whole: &[u8]) {
    let expected = faults(whole.to_vec()).unwrap();
    let table = HEADER + ROW * sections(whole);
    let field = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap()) as usize;
    let signature = whole.len() - field(24);
    for at in 0..whole.len() {
        let framed = at < table || at >= signature;
        // Every byte of the header, the table and the signature has its turn in quick builds, too.
        if !framed && at % tries(11, 1) != 0 {
            continue;
        }
        let bits = if framed { tries(1, 8) } else { 1 };
        for change in (0..bits).map(|i| 1 << ((at + i) % 8)).chain([255]) {
            let mut bytes = whole.to_vec();
            bytes[at] ^= change;
            if let Ok(said) = faults(bytes) {
                assert!(said.iter().any(|fault| !expected.contains(fault)), "{name}: {change} at byte {at}");
            }
        }
    }
}

#[test]
fn no_byte_of_the_frozen_files_may_change() {
    all().for_each(|name| no_byte_may_change(name, &file(name)));
}

/// The same of a release that is verified as it is: made as an agency makes one, by a key of the test's own.
#[test]
fn no_byte_of_a_verified_release_may_change() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("agency.key");
    let texts = margins::release::keys::keygen(None).unwrap();
    texts.write(&key, &folder.path().join("agency.pub")).unwrap();
    let spec = super::folder().join("residual.toml");
    let options =
        margins::ReleaseOptions::new().out(folder.path()).ledger(folder.path().join("l.jsonl")).key(&key);
    let made = margins::Spec::load(&spec).unwrap().plan().unwrap().release(options).unwrap();
    let release = Release::open(made.path()).unwrap();
    assert!(audit::audit(&release, Some(&texts.public)).unwrap().passed());
    let whole = std::fs::read(made.path()).unwrap();
    assert_eq!(faults(whole.clone()), Ok(Vec::new()));
    no_byte_may_change("verified", &whole);
}

#[test]
fn no_byte_may_be_missing_or_added() {
    for name in FILES {
        let whole = file(name);
        for length in (0..whole.len()).filter(|l| l % 31 == 0 || l + 40 > whole.len()) {
            assert!(refused(whole[..length].to_vec()), "{name}: {length} of {} bytes", whole.len());
        }
        for more in [&b"\0"[..], b"\n", &whole] {
            assert!(refused([&whole, more].concat()), "{name}: {} more bytes", more.len());
        }
        assert!(refused([b"\0", &whole[..]].concat()), "{name}: one byte in front");
    }
}

#[test]
fn declared_sizes_are_not_believed() {
    for name in FILES {
        let whole = file(name);
        let fields = |at: usize, width: usize| [at, width];
        let mut places = vec![fields(8, 4), fields(12, 4), fields(16, 8), fields(24, 8)];
        for row in 0..sections(&whole) {
            let at = HEADER + ROW * row;
            places.extend([fields(at, 4), fields(at + 4, 4), fields(at + 8, 8), fields(at + 16, 8)]);
        }
        for [at, width] in places {
            let mut field = [0; 8];
            field[..width].copy_from_slice(&whole[at..at + width]);
            let was = u64::from_le_bytes(field);
            for value in [0, 1, was + 1, was.wrapping_sub(1), 1 << 20, 1 << 31, 1 << 40, 1 << 63, u64::MAX] {
                let mut bytes = whole.clone();
                bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
                if bytes != whole {
                    assert!(refused(bytes), "{name}: {value} at {at}");
                }
            }
        }
    }
}

#[test]
fn sections_do_not_move() {
    for name in FILES {
        let whole = file(name);
        let row = |i: usize| HEADER + ROW * i..HEADER + ROW * (i + 1);
        for i in 0..sections(&whole) {
            for j in 0..i {
                // Both rows, then only what they say of the bodies (offset, length, hash).
                for skip in [0, 8] {
                    let mut bytes = whole.clone();
                    let (a, b) = (row(i), row(j));
                    bytes[a.start + skip..a.end].copy_from_slice(&whole[b.start + skip..b.end]);
                    bytes[b.start + skip..b.end].copy_from_slice(&whole[a.start + skip..a.end]);
                    assert!(refused(bytes), "{name}: rows {i} and {j}, from byte {skip}");
                }
            }
        }
    }
}

#[test]
fn parts_of_different_releases_do_not_mix() {
    for a in FILES {
        for b in FILES.into_iter().filter(|&b| b != a) {
            let (x, y) = (file(a), file(b));
            let (in_x, in_y) = (manifest(&x), manifest(&y));
            let length = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
            // The other's signature; the other's manifest and signature; the other's sections.
            for (mut bytes, tail) in [
                (
                    x[..x.len() - length(&x, 24) as usize].to_vec(),
                    y[y.len() - length(&y, 24) as usize..].to_vec(),
                ),
                (x[..in_x].to_vec(), y[in_y..].to_vec()),
            ] {
                if tail.len() as u64 > length(&y, 24) {
                    bytes[16..24].copy_from_slice(&y[16..24]);
                }
                bytes[24..32].copy_from_slice(&y[24..32]);
                bytes.extend(tail);
                assert!(refused(bytes), "{a} with parts of {b}");
            }
        }
    }
}
