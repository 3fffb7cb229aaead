//! Makes the incomes of the example of sums and means: `cargo run --example make_incomes`.
//!
//! They are made up from whole-number odds and a fixed seed, so the file is the same on every machine: most people earn
//! little more than half of what the mean is, and a few earn many times as much. Nothing here has to do with privacy noise.

use std::fmt::Write as _;
use std::path::Path;

/// How many people there are.
const PEOPLE: usize = 4_000;
/// Regions, and how many of twenty people live there.
const REGIONS: [(&str, u64); 4] = [("coast", 9), ("hills", 3), ("north", 2), ("plain", 6)];
/// Groups of ages, how many of ten people are in each, and what is typically earned.
const AGES: [(&str, u64, u64); 3] = [("18-34", 3, 17_000), ("35-64", 5, 26_000), ("65+", 2, 15_000)];

/// Sebastiano Vigna's SplitMix64: a few lines, and good enough for made-up incomes.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// A place in a list of odds.
    fn pick(&mut self, odds: &[u64]) -> usize {
        let mut at = self.below(odds.iter().sum());
        for (place, &odd) in odds.iter().enumerate() {
            if at < odd {
                return place;
            }
            at -= odd;
        }
        0
    }
}

fn main() -> std::io::Result<()> {
    let mut dice = Dice(27);
    let mut text = String::from("region,sex,age,income\n");
    for _ in 0..PEOPLE {
        let region = REGIONS[dice.pick(&REGIONS.map(|r| r.1))].0;
        let (age, _, typical) = AGES[dice.pick(&AGES.map(|a| a.1))];
        let woman = dice.below(2) == 0;
        let mut income = if woman { typical * 85 / 100 } else { typical };
        // Many factors, each as often up as down, make the few large incomes.
        for _ in 0..12 {
            income = if dice.below(2) == 0 { income * 126 / 100 } else { income * 100 / 126 };
        }
        // Every twentieth did not say.
        let said = if dice.below(20) == 0 { String::new() } else { (income + dice.below(1_000)).to_string() };
        let _ = writeln!(text, "{region},{},{age},{said}", if woman { "F" } else { "M" });
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/data/incomes.csv");
    std::fs::write(&path, text)?;
    println!("wrote {}", path.display());
    Ok(())
}
