//! Makes the files of version 2: once, when the format is settled. `cargo test --test vectors make -- --ignored`

use super::{SECOND, folder};
use margins::compile::{self, Options};
use margins::release::SigningKey;
use margins::secret::ingest::Means;
use margins::secret::noise::Entropy;
use margins::spec;

/// A file that is there is never made again.
#[test]
#[ignore = "frozen: the files are never made again"]
fn make_version_2() {
    for name in SECOND {
        let place = folder().join("v2");
        if place.join(format!("{name}.margins")).exists() {
            continue;
        }
        std::fs::create_dir_all(&place).unwrap();
        let spec = spec::load(&folder().join(&name[3..]).with_extension("toml")).unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let options = Options {
            out: &place,
            data: None,
            counts: None,
            ledger: &scratch.path().join("ledger.jsonl"),
            key: &SigningKey::not_private().unwrap(),
            replace: false,
            day: "2026-11-21",
            entropy: Entropy::fixed(1),
        };
        compile::release(&spec, options, &Means::default()).unwrap();
    }
}
