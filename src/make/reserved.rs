//! Names that are devices on Windows are refused.

use super::MakeError;
use crate::ledger::LedgerError;
use crate::preview::device;
use crate::release::parts::folded;
use crate::spec::Spec;

/// Refuses such a name.
pub(crate) fn reserved(what: &str, name: &str) -> Result<(), MakeError> {
    device(what, name).map_or(Ok(()), |why| Err(MakeError::Wrong(why)))
}

impl Spec {
    /// Refuses names of files that would be lost on some machines. A spec that is sealed in a release stays readable.
    pub(crate) fn names(&self) -> Result<(), MakeError> {
        self.device().map_or(Ok(()), |why| Err(MakeError::Wrong(why)))
    }

    /// Refuses a part of the people with a name that no ledger takes.
    pub(crate) fn part(&self) -> Result<(), MakeError> {
        match &self.account.part {
            Some(part) if folded(part).is_none() => Err(LedgerError::Part(part.clone()).into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::preview::is_reserved;
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
