//! The same seed gives the same file on any number of threads: every byte up to the signature at its end, which is hedged with fresh
//! randomness, but for the hash of the ledger's line, which has random bytes, too.

use margins::compile::{self, Options};
use margins::release::SigningKey;
use margins::secret::ingest::Means;
use margins::secret::noise::Entropy;
use margins::spec;
use std::path::Path;

fn sealed(spec_file: &str, threads: usize, seed: u64) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let spec =
        spec::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(spec_file)).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let released = pool.install(|| {
        let options = Options {
            out: folder.path(),
            data: None,
            counts: None,
            ledger: &folder.path().join("ledger.jsonl"),
            key: &SigningKey::not_private().unwrap(),
            replace: false,
            day: "2026-01-01",
            entropy: Entropy::fixed(seed),
        };
        compile::release(&spec, options, &Means::default()).unwrap()
    });
    let mut file = std::fs::read(released.sealed.path).unwrap();
    let signature = b"untrusted comment:";
    let at = file.windows(signature.len()).rposition(|w| w == signature).unwrap();
    file.truncate(at);
    let head = file.windows(8).rposition(|w| w == b"\"head\":\"").unwrap() + 8;
    file[head..head + 64].fill(b'0');
    file
}

#[test]
fn the_file_does_not_depend_on_threads() {
    for spec in ["residual.toml", "queries-laplace.toml", "base.toml"] {
        let one = sealed(spec, 1, 7);
        for threads in [2, 4] {
            assert!(sealed(spec, threads, 7) == one, "{spec} with {threads} threads");
        }
        assert!(sealed(spec, 1, 8) != one, "{spec}: the seed does not matter");
    }
}
