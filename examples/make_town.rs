//! Makes the people of the example town: `cargo run --example make_town`.
//!
//! They are made up from whole-number odds and a fixed seed, so the files are the same on every
//! machine. Nothing here has to do with privacy noise.

use std::fmt::Write as _;
use std::path::Path;

/// How many people live in the town.
const PEOPLE: usize = 30_000;

/// The districts: name, letter of its tracts, and how much each tract counts.
const DISTRICTS: [(&str, char, &[u32]); 6] = [
    ("Harbour", 'H', &[9, 14, 7, 11, 16, 12, 5, 8, 13, 10, 6]),
    ("Old Town", 'O', &[22, 18, 25, 15]),
    ("Hill", 'L', &[6, 9, 4, 8, 5, 7]),
    ("Mills", 'M', &[12, 17, 20, 9, 14, 11, 15, 8, 13]),
    ("Meadows", 'W', &[10, 6, 3, 12, 7, 9, 2]),
    ("Station", 'S', &[28, 19, 24]),
];

/// How many people there are of each age, in five-year bands from 0.
const AGES: [u32; 20] = [50, 52, 54, 55, 62, 70, 72, 70, 66, 64, 66, 68, 62, 55, 47, 38, 27, 15, 6, 2];

/// Sebastiano Vigna's SplitMix64: a few lines, and good enough for a made-up town.
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
    fn below(&mut self, n: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u32
    }

    /// A place in a list of odds.
    fn pick(&mut self, odds: &[u32]) -> usize {
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

/// `data/areas.csv`: which tract lies in which district.
pub(crate) fn areas() -> String {
    let mut out = String::from("tract,district\n");
    for (district, letter, tracts) in DISTRICTS {
        for n in 1..=tracts.len() {
            let _ = writeln!(out, "{letter}{n:02},{district}");
        }
    }
    out
}

/// `data/town.csv`: one row a person.
pub(crate) fn people() -> String {
    let mut dice = Dice(2026);
    let tracts: Vec<(usize, String, u32)> = DISTRICTS
        .iter()
        .enumerate()
        .flat_map(|(d, (_, letter, odds))| {
            odds.iter().enumerate().map(move |(n, &odd)| (d, format!("{letter}{:02}", n + 1), odd))
        })
        .collect();
    let odds: Vec<u32> = tracts.iter().map(|t| t.2).collect();
    let mut out = String::from("tract,sex,age,education,work\n");
    for _ in 0..PEOPLE {
        let (district, tract, _) = &tracts[dice.pick(&odds)];
        let age = age(&mut dice, *district);
        // Women live longer.
        let sex = if dice.below(1000) < 488 + if age > 65 { 3 * (age - 65) } else { 0 } { "F" } else { "M" };
        let education = education(&mut dice, age, *district);
        let work = work(&mut dice, age, sex, education);
        // Some left the question out, the old more than the young.
        let work = if age >= 15 && dice.below(1000) < 15 + age / 2 { "" } else { work };
        let _ = writeln!(out, "{tract},{sex},{age},{education},{work}");
    }
    out
}

fn age(dice: &mut Dice, district: usize) -> u32 {
    let mut odds = AGES;
    for (band, odd) in odds.iter_mut().enumerate() {
        match district {
            // Students and young workers live in the Old Town and by the Station.
            1 | 5 if (4..=6).contains(&band) => *odd *= 2,
            // Families in the Meadows, the old on the Hill.
            4 if band <= 2 || (6..=8).contains(&band) => *odd = *odd * 3 / 2,
            2 if band >= 12 => *odd = *odd * 3 / 2,
            _ => {}
        }
    }
    dice.pick(&odds) as u32 * 5 + dice.below(5)
}

fn education(dice: &mut Dice, age: u32, district: usize) -> &'static str {
    const NAMES: [&str; 5] = ["none", "primary", "secondary", "vocational", "university"];
    let mut odds = match age {
        0..6 => [1, 0, 0, 0, 0],
        6..12 => [900, 100, 0, 0, 0],
        12..16 => [20, 930, 50, 0, 0],
        16..19 => [10, 340, 560, 90, 0],
        19..25 => [10, 70, 520, 250, 150],
        25..65 => [15, 85, 250, 350, 300],
        _ => [40, 260, 300, 290, 110],
    };
    if age >= 19 && matches!(district, 1 | 2) {
        odds[4] *= 2;
    }
    NAMES[dice.pick(&odds)]
}

fn work(dice: &mut Dice, age: u32, sex: &str, education: &str) -> &'static str {
    const NAMES: [&str; 5] = ["employed", "unemployed", "student", "retired", "none"];
    let mut odds = match age {
        0..6 => [0, 0, 0, 0, 1],
        6..16 => [0, 0, 1, 0, 0],
        16..19 => [120, 40, 800, 0, 40],
        19..25 => [480, 80, 390, 0, 50],
        25..60 => [830, 60, 15, 15, 80],
        60..67 => [520, 40, 0, 380, 60],
        67..75 => [90, 0, 0, 880, 30],
        _ => [10, 0, 0, 970, 20],
    };
    match education {
        "university" => odds[1] /= 2,
        "none" | "primary" => odds[1] *= 3,
        _ => {}
    }
    if sex == "F" && (25..45).contains(&age) {
        odds[4] *= 2;
    }
    NAMES[dice.pick(&odds)]
}

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/data");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("areas.csv"), areas())?;
    std::fs::write(folder.join("town.csv"), people())
}
