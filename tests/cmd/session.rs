//! The golden sessions of the product: see [`crate::play`].

use crate::play;
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd").join(name)
}

fn golden(name: &str) {
    play::golden(&path(name));
}

#[test]
#[cfg(unix)]
fn keys_that_others_may_read() {
    golden("exposed.session");
}

#[test]
fn put_back() {
    golden("put_back.session");
}

#[test]
fn plan() {
    golden("plan.session");
}

#[test]
fn draft() {
    golden("draft.session");
}

#[test]
fn relative() {
    golden("relative.session");
}

#[test]
fn release() {
    golden("release.session");
}

#[test]
fn records() {
    golden("records.session");
}

#[test]
fn amount_edges() {
    golden("amount-edges.session");
}

#[test]
fn records_amounts() {
    golden("records-amounts.session");
}

#[test]
fn bases() {
    golden("bases.session");
}

#[test]
fn ledger() {
    golden("ledger.session");
}

#[test]
fn ask() {
    golden("ask.session");
}

#[test]
fn delta() {
    golden("delta.session");
}

#[test]
fn areas() {
    golden("areas.session");
}

#[test]
fn groups() {
    golden("groups.session");
}

#[test]
fn describe() {
    golden("describe.session");
}

#[test]
fn answers() {
    golden("answers.session");
}

#[test]
fn keys() {
    golden("keys.session");
}

#[test]
fn trusted() {
    golden("trusted.session");
}

#[test]
fn projection() {
    golden("projection.session");
}

#[test]
fn refusals() {
    golden("refusals.session");
}

#[test]
fn recover() {
    golden("recover.session");
}

#[test]
fn check() {
    golden("check.session");
}

#[test]
fn counts() {
    golden("counts.session");
}

#[test]
fn untrue() {
    golden("untrue.session");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "long where nothing is optimised: cargo test --release")]
fn long() {
    golden("long.session");
}

#[test]
fn infer() {
    golden("infer.session");
}

#[test]
fn recipients() {
    golden("recipients.session");
}

#[test]
fn amounts() {
    golden("amounts.session");
}

#[test]
fn ends() {
    golden("ends.session");
}

#[test]
fn help() {
    golden("help.session");
}

/// No line of a table or a message is wider than a terminal of 80 columns; paths, hashes, JSON and CSV may be.
#[test]
fn lines_fit_eighty_columns() {
    for name in [
        "plan",
        "release",
        "ledger",
        "put_back",
        "exposed",
        "amounts",
        "answers",
        "describe",
        "untrue",
        "keys",
        "weights",
        "records",
        "trusted",
        "projection",
        "refusals",
        "recover",
        "infer",
        "help",
    ] {
        play::fits(&path(&format!("{name}.session")));
    }
}

#[test]
fn told() {
    golden("told.session");
}

#[test]
fn labels() {
    golden("labels.session");
}

#[test]
fn exports() {
    golden("exports.session");
}

#[test]
fn reliability() {
    golden("reliability.session");
}

#[test]
fn weights() {
    golden("weights.session");
}
