//! Names that are devices on Windows: what is written under one is lost, whatever follows after a dot.

use super::MakeError;
use crate::spec::Spec;

/// What no file may be called there.
pub(crate) fn is_reserved(stem: &str) -> bool {
    const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
    let name = stem.split('.').next().unwrap_or_default().to_lowercase();
    let port = |kind| {
        name.strip_prefix(kind).is_some_and(|n| {
            matches!(n, "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
        })
    };
    DEVICES.contains(&name.as_str()) || port("com") || port("lpt")
}

/// Why nothing is called so.
pub(crate) fn reserved(what: &str, name: &str) -> Result<(), MakeError> {
    match is_reserved(name) {
        true => Err(MakeError::Refused(format!(
            "{what} `{name}` is a device on Windows, where no file may be called so, with any ending: choose another"
        ))),
        false => Ok(()),
    }
}

impl Spec {
    /// Refuses names of files that would be lost on some machines. A spec that is sealed in a release stays readable.
    pub(crate) fn names(&self) -> Result<(), MakeError> {
        reserved("the release's name", &self.name)?;
        self.dataset.as_ref().map_or(Ok(()), |dataset| reserved("the dataset's id", &dataset.id))
    }
}

#[cfg(test)]
mod tests {
    use super::is_reserved;
    use crate::spec::Spec;

    #[test]
    fn devices_are_no_files() {
        for name in ["con", "NUL", "Aux.2020", "prn", "com1", "COM9.x", "lpt³", "conin$"] {
            assert!(is_reserved(name), "{name}");
        }
        for name in ["console", "com", "com10", "lpt", "null", "nul_", "x.nul", ""] {
            assert!(!is_reserved(name), "{name}");
        }
    }

    /// `nul.margins` and `ledger/con.2026.jsonl` would be lost on Windows; a plan says so, and there is no release.
    #[test]
    fn no_release_is_called_like_a_device() {
        let text = include_str!("../../tests/cmd/files/asked.toml");
        let called = |from: &str, to: &str| {
            assert!(text.contains(from));
            Spec::from_toml(&text.replace(from, to)).unwrap()
        };
        for (spec, device) in [
            (called("\"asked\"", "\"Nul\""), "name `Nul`"),
            (called("\"town-people\"", "\"con.2026\""), "id `con.2026`"),
        ] {
            assert!(spec.warnings().concat().contains(device), "{:?}", spec.warnings());
            assert!(spec.names().is_err_and(|e| e.to_string().contains(device)));
            let made = spec.release(crate::ReleaseOptions::new());
            assert!(made.is_err_and(|e| e.to_string().contains(device)));
        }
        assert!(called("\"asked\"", "\"nul-asked\"").names().is_ok());
    }
}
