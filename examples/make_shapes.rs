//! Makes rows for `specs/nltcs.toml` and `specs/adult.toml`: `cargo run --example make_shapes`.
//!
//! The domains are those of two public data sets, the rows are made up: of every person a hidden whole number from 0 to 7 tilts the odds of all
//! attributes, so that they depend on each other. The files are the same on every machine. Nothing here has to do with privacy noise.

mod dice;

use dice::Dice;
use std::fmt::Write as _;
use std::path::Path;

/// So many rows about attributes of these sizes.
pub fn rows(names: &[String], sizes: &[u64], rows: usize, seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut out = names.join(",") + "\n";
    for _ in 0..rows {
        let hidden = dice.below(8);
        for (at, &size) in sizes.iter().enumerate() {
            // The least of a few draws is small: the more draws, the smaller.
            let draws = 1 + (hidden + at as u64) % 8 / 2;
            let code = (0..draws).map(|_| dice.below(size)).min().unwrap_or(0);
            let _ = write!(out, "{}{code}", if at > 0 { "," } else { "" });
        }
        out.push('\n');
    }
    out
}

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/data");
    let sixteen: Vec<String> = (0..16).map(|i| format!("v{i:02}")).collect();
    std::fs::write(folder.join("nltcs.csv"), rows(&sixteen, &[2; 16], 21_574, 1))?;
    let eight = ["workclass", "education", "marital", "occupation", "relationship", "race", "sex", "income"];
    let eight: Vec<String> = eight.map(String::from).into();
    std::fs::write(folder.join("adult.csv"), rows(&eight, &[9, 16, 7, 15, 6, 5, 2, 2], 32_561, 2))
}
