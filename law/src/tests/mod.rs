//! Every digit stays: what one machine proves another finds, and a later build, too.
//!
//! Verifying derives bounds, plans and intervals again, so a result may not move by its last digit without anybody's notice. Elsewhere
//! tests compare results with what they should be; here they are compared with what they were.
//! `UPDATE=1 cargo test -p margins-law tests::` writes what they are now: every difference is one that readers of old files will see.

mod laws;
mod losses;
mod numeric;

use std::fmt::Write;
use std::path::Path;

/// Numbers under their names, in the shortest text that is read as the same number.
#[derive(Default)]
pub(crate) struct Digits(String);

impl Digits {
    pub(crate) fn say(&mut self, what: &str, numbers: impl IntoIterator<Item = f64>) {
        self.0.push_str(what);
        numbers.into_iter().for_each(|x| write!(self.0, " {x:e}").unwrap());
        self.0.push('\n');
    }

    /// Compares with the file of this name.
    pub(crate) fn are_those_of(self, name: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/frozen").join(name);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &self.0).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap();
        for (now, kept) in self.0.lines().zip(kept.lines()) {
            assert_eq!(now, kept, "{name}");
        }
        assert_eq!(self.0.lines().count(), kept.lines().count(), "{name}");
    }
}
