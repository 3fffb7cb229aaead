//! Planted faults are in no build but those of tests: no feature has them, and no package but among what its tests depend on.

use std::path::Path;

/// The lines of a manifest that switch faults on outside of tests. Where the feature itself is defined is no such line.
fn switches(manifest: &str) -> Vec<&str> {
    let (mut wrong, mut tests) = (Vec::new(), false);
    for line in manifest.lines().filter(|line| !line.trim_start().starts_with('#')) {
        if line.starts_with('[') {
            tests = line.contains("dev-dependencies");
        }
        if !tests && line.contains("faults") && !line.starts_with("faults = [") {
            wrong.push(line);
        }
    }
    wrong
}

#[test]
fn no_release_has_faults() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut defined = 0;
    for package in
        [".", "law", "evaluator", "lab", "explorer", "studio", "python", "fuzz", "benches/peers/samplers"]
    {
        let text = std::fs::read_to_string(root.join(package).join("Cargo.toml")).unwrap();
        assert_eq!(switches(&text), [""; 0], "{package}");
        defined += text.lines().filter(|line| line.starts_with("faults = [")).count();
    }
    assert_eq!(defined, 2);
    // Nor is it named where anything is built or tested with stated features.
    for file in [
        "justfile",
        ".github/workflows/ci.yml",
        ".github/workflows/nightly.yml",
        ".ci/steps/wheel",
        ".ci/steps/evaluator",
    ] {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        assert!(!text.contains("--features faults") && !text.contains("--all-features"), "{file}");
    }
}

#[test]
fn a_switch_is_seen() {
    let text = "[features]\nfaults = [\"test-seed\"]\ndefault = [\"faults\"]\n[dependencies]\nmargins = { features = [\"faults\"] }\n\
                [dev-dependencies]\nmargins = { features = [\"faults\"] }\n# faults\n";
    assert_eq!(switches(text).len(), 2);
}
