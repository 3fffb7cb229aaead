//! Makes the visits of the example hospital: `cargo run --example make_visits`.
//!
//! They are made up from whole-number odds and a fixed seed, so the file is the same on every machine: some thousands of
//! codes, a few of them very common and most of them rare, as diagnoses are. Nothing here has to do with
//! privacy noise.

mod dice;

use dice::Dice;
use std::fmt::Write as _;
use std::path::Path;

/// How many visits there are.
const VISITS: usize = 10_000;
/// How many codes there could be: 26 letters, two digits, one more digit.
const CODES: u64 = 26_000;

/// The code of a rank: neighbours in rank are far apart in name.
fn code(rank: u64) -> String {
    let at = (rank * 10_007 + 3) % CODES;
    let letter = char::from(b'A' + (at % 26) as u8);
    format!("{letter}{:02}.{}", at / 26 % 100, at / 2600)
}

fn main() -> std::io::Result<()> {
    let mut dice = Dice(4);
    let mut text = String::from("code,ward\n");
    for _ in 0..VISITS {
        // Doubling with even odds gives ranks with odds that fall like one over the rank.
        let mut top = 1;
        while top < CODES && dice.below(14) > 0 {
            top *= 2;
        }
        let rank = dice.below(top.min(CODES));
        let ward = if dice.below(4) == 0 { "night" } else { "day" };
        let _ = writeln!(text, "{},{ward}", code(rank));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/data/visits.csv");
    std::fs::write(&path, text)?;
    println!("wrote {}", path.display());
    Ok(())
}
