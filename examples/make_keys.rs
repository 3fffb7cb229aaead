//! Makes a million made-up keys, each once, and a spec to project them: `cargo run --example make_keys`.
//!
//!     cargo build --release
//!     /usr/bin/time -v target/release/margins release out/keys.toml
//!     /usr/bin/time -v target/release/margins query out/keys.margins --keys out/asked.csv > out/counts.csv

use std::fmt::Write as _;
use std::path::Path;

const KEYS: u64 = 1_000_000;
const ASKED: u64 = 1000;

const SPEC: &str = r#"name  = "keys"
title = "A million keys"
demo  = true

[data]
path = "keys.csv"

[privacy]
unit = "row"
rho  = "1/2"

[[dimension]]
name = "key"
text = true

[projection]
rows = 16384
"#;

/// A header, and keys in an order that is not theirs.
fn keys(n: u64, step: u64) -> String {
    let mut text = String::from("key\n");
    for i in 0..n {
        let _ = writeln!(text, "https://example.org/{:06}", i * step % KEYS);
    }
    text
}

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
    for (name, text) in
        [("keys.toml", SPEC.into()), ("keys.csv", keys(KEYS, 7919)), ("asked.csv", keys(ASKED, 997))]
    {
        let path = folder.join(name);
        std::fs::write(&path, text)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}
