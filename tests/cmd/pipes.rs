//! Standard output that nobody reads to its end.

use crate::session::{folder, margins};
use std::process::Stdio;

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = folder();
    for words in [
        &["plan", "residual.toml"][..],
        &["plan", "residual.toml", "--json"],
        &["schema", "spec"],
        &["man"],
        &["--help"],
        &["completions", "bash"],
    ] {
        let mut child =
            margins(folder.path()).args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The reader is gone before anything is written.
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{words:?}: {:?}", done.status);
        assert!(done.stderr.is_empty(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
}
