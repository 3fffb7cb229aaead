//! What the pages of docs/papers print is what the commands print; and whole sessions of the lab, compared with golden files.
mod papers;
#[path = "../../../tests/cmd/play.rs"]
mod play;

use std::path::{Path, PathBuf};

/// Where the product is: above.
fn product() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The commands that sessions play.
fn program(name: &str) -> Option<&'static str> {
    match name {
        "margins" => Some(env!("CARGO_BIN_EXE_margins-played")),
        "margins-lab" => Some(env!("CARGO_BIN_EXE_margins-lab")),
        _ => None,
    }
}

fn golden(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages").join(name);
    play::golden(&path);
    path
}

#[test]
fn experiment() {
    play::fits(&golden("experiment.session"));
}

#[test]
#[cfg_attr(debug_assertions, ignore = "long where nothing is optimised: cargo test --release")]
fn experiment_whole() {
    golden("experiment_whole.session");
}

/// What a picture would be written to may be no pipe.
#[test]
fn pictures_are_files() {
    for words in [
        &["experiment", "town.toml", "--rows", "10", "--svg", "/dev/zero"][..],
        &["estimator", "--svg", "/dev/zero"],
    ] {
        let run =
            play::quiet(env!("CARGO_BIN_EXE_margins-lab"), Path::new(".")).args(words).output().unwrap();
        assert_eq!(run.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&run.stderr).contains("a pipe or a device"));
    }
}

#[test]
fn published() {
    play::fits(&golden("published.session"));
}

#[test]
fn recover() {
    play::fits(&golden("recover.session"));
}

#[test]
fn recipients() {
    golden("recipients.session");
}
