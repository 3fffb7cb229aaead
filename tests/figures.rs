//! Figures in documents are those of the newest measurement, which the commands of `justfile` write beside the benchmarks.

use serde_json::Value;
use std::path::Path;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The lines of a document's tables.
fn tables(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with('|')).collect()
}

/// Document and measurement.
const MEASURED: [(&str, &str); 1] = [("docs/performance.md", "benches/peers/newest.json")];

#[test]
fn documents_have_the_newest_figures() {
    for (document, newest) in MEASURED {
        let newest: Value = serde_json::from_str(&read(newest)).expect("JSON");
        let lines: Vec<&str> =
            newest["lines"].as_array().expect("lines").iter().filter_map(Value::as_str).collect();
        assert_eq!(
            tables(&read(document)),
            lines,
            "{document} is not what was measured last: `just bench-peers`"
        );
        assert!(lines.len() > 10, "{document} has hardly any figures");
    }
}

/// Seconds and bytes stand in documents that a command writes, or that name the command; the README promises none of its own.
#[test]
fn the_readme_has_no_figures_of_its_own() {
    let is_measure = |word: &str| {
        ["ms", "µs", "ns", "MB", "GB", "MB/s", "GB/s"].contains(&word.trim_matches(&[',', '.', ';', ')'][..]))
    };
    let number = |word: &str| word.trim_matches(&['(', '~'][..]).parse::<f64>().is_ok();
    let text = read("README.md");
    let words: Vec<&str> = text.split_whitespace().collect();
    let found: Vec<_> = words.windows(2).filter(|w| number(w[0]) && is_measure(w[1])).collect();
    assert!(found.is_empty(), "{found:?}: link to docs/performance.md, whose figures a command writes");
}
