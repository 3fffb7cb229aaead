//! The `margins` command as people use it: whole sessions compared with golden files, and what must hold when
//! something goes wrong.
mod by_area;
mod crash;
mod finished;
mod likeness;
mod pipes;
mod places;
mod play;
mod session;
mod terminal;
mod truths;

use std::path::Path;
use std::process::Command;

/// The command: see [`play::quiet`].
fn margins(folder: &Path) -> Command {
    play::quiet(env!("CARGO_BIN_EXE_margins"), folder)
}

/// Where the product is.
fn product() -> &'static Path {
    env!("CARGO_MANIFEST_DIR").as_ref()
}

/// The commands that sessions play.
fn program(name: &str) -> Option<&'static str> {
    (name == "margins").then_some(env!("CARGO_BIN_EXE_margins"))
}
