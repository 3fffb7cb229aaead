//! A query in any text against a cube with levels and numbers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins::cube::{Cube, Dimension};
use margins::sql::Query;

fuzz_target!(|text: &str| {
    let labels = |names: &[&str]| names.iter().map(|n| n.to_string()).collect();
    let years: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let cube = Cube {
        dimensions: vec![
            Dimension::plain("sex", labels(&["F", "M"])),
            Dimension::plain("age", years),
            Dimension::plain("marital status", labels(&["single", "it's complicated"])),
        ],
    };
    if let Err(error) = Query::parse(text, &cube) {
        let _ = error.to_string();
    }
});
