//! Makes the blocks, schools and people of the example of areas: `cargo run --example make_places`.
//!
//! They are made up from whole-number odds and a fixed seed, so the files are the same on every machine. Groups differ in size as real areas do:
//! tracts of 2 to 13 blocks, a county of a single tract. Nothing here has to do with privacy noise.

mod dice;

use dice::Dice;
use std::fmt::Write as _;
use std::path::Path;

/// How many people there are.
const PEOPLE: usize = 8_000;

/// The counties: state, name, and how many blocks each of its tracts has.
const COUNTIES: [(&str, &str, &[u64]); 7] = [
    ("north", "Arden", &[4, 7, 13, 3]),
    ("north", "Birk", &[2]),
    ("north", "Carse", &[9, 6]),
    ("south", "Dale", &[12, 5, 8, 2, 6]),
    ("south", "Esk", &[3, 4]),
    ("south", "Fell", &[11, 10, 7]),
    ("south", "Garth", &[5, 2, 9]),
];
const SCHOOLS: [&str; 5] = ["Hillside", "Riverbank", "Old Mill", "St Mary", "Lakes"];
const AGES: [&str; 4] = ["0-17", "18-44", "45-64", "65+"];

fn main() -> std::io::Result<()> {
    let mut dice = Dice(7);
    let mut blocks = String::from("block,tract,county,state\n");
    let mut schools = String::from("block,school\n");
    let mut people = String::from("block,sex,age\n");
    let mut names = Vec::new();
    let mut tracts = 0;
    for (state, county, sizes) in COUNTIES {
        for (tract, &size) in sizes.iter().enumerate() {
            let tract = format!("{county} {}", tract + 1);
            for block in 1..=size {
                let name = format!("{}.{block:02}", tract.replace(' ', ""));
                let _ = writeln!(blocks, "{name},{tract},{county},{state}");
                // Catchments lie across tracts and counties; some blocks are in none.
                let school = (tracts * 3 + block * 2) / 13 + dice.below(2);
                if let Some(school) = SCHOOLS.get(school as usize % 6) {
                    let _ = writeln!(schools, "{name},{school}");
                }
                names.push(name);
            }
            tracts += 1;
        }
    }
    for _ in 0..PEOPLE {
        // Some blocks are much fuller than others.
        let at = dice.below(names.len() as u64).min(dice.below(names.len() as u64 + 40));
        let sex = ["F", "M"][dice.below(2) as usize];
        let age = AGES[[0, 0, 1, 1, 1, 2, 2, 3][dice.below(8) as usize]];
        let _ = writeln!(people, "{},{sex},{age}", names[at as usize]);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/data");
    for (file, text) in [("blocks.csv", blocks), ("schools.csv", schools), ("places.csv", people)] {
        let path = folder.join(file);
        std::fs::write(&path, text)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}
