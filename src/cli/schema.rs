//! `margins schema`: the shapes of specs, manifests and lines of the ledger, for editors and other programs.

use super::{Outcome, output};

#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum Of {
    /// The TOML spec
    Spec,
    /// The manifest inside a release
    Manifest,
    /// A line of the ledger
    LedgerEntry,
}

/// A test generates it.
const MANIFEST: &str = include_str!("../../schemas/manifest.schema.json");

/// Prints one.
pub(super) fn run(of: Of) -> Outcome {
    output::json(&match of {
        Of::Spec => crate::spec::schema(),
        Of::Manifest => MANIFEST.to_owned(),
        Of::LedgerEntry => crate::ledger::SCHEMA.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_of_manifests_is_current() {
        let generated = format!("{:#}\n", schemars::schema_for!(crate::release::Manifest).to_value());
        crate::spec::schema::tests::check_text("schemas/manifest.schema.json", super::MANIFEST, &generated);
    }
}
