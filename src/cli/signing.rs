//! With which key a release is made, and in test builds with which seed.

use super::{Failure, keygen, output};
use crate::make::{MakeError, ReleaseOptions, signer};
use crate::release::keys::SigningKey;
use crate::secret::noise::Entropy;
use crate::spec::Spec;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The key, and in test builds a seed.
#[derive(clap::Args)]
pub(crate) struct Signing {
    /// The secret key to sign with
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Draw noise from this fixed seed: NOT PRIVATE, and marked so for good
    #[cfg(feature = "test-seed")]
    #[arg(long, value_name = "SEED")]
    insecure_seed: Option<u64>,
}

/// The passphrase of a key, which is asked for on the terminal.
fn passphrase(path: &Path) -> Result<Zeroizing<String>, String> {
    keygen::ask(&format!("Passphrase of {}: ", output::path(path))).map_err(|failure| match failure {
        Failure::Message(text) | Failure::Rendered(text) | Failure::Refused(text) => text,
        Failure::Refuted => String::new(),
    })
}

/// The key of a file; its passphrase is asked for.
pub(super) fn key(path: &Path) -> Result<SigningKey, Failure> {
    let ask = |path: &Path| passphrase(path).map_err(MakeError::Wrong);
    let (key, warning) = signer::of_file(path, ask).map_err(super::refusal::failure)?;
    warning.iter().for_each(|text| output::warn(text));
    Ok(key)
}

impl Signing {
    /// A release that is signed so.
    pub(super) fn of<'a>(&self, mut options: ReleaseOptions<'a>) -> ReleaseOptions<'a> {
        if let Some(key) = &self.key {
            options = options.key(key);
        }
        #[cfg(feature = "test-seed")]
        {
            options = options.insecure_seed(self.insecure_seed);
        }
        options.passphrase_by(passphrase)
    }

    /// The randomness and the key themselves, of the release of this number in one run: a fixed seed must not give two releases one noise.
    #[cfg_attr(not(feature = "test-seed"), expect(unused_variables))]
    pub(crate) fn entropy_and_key(&self, spec: &Spec, number: u64) -> Result<(Entropy, SigningKey), Failure> {
        #[cfg(feature = "test-seed")]
        if let Some(seed) = self.insecure_seed {
            return Ok((Entropy::fixed(seed.wrapping_add(number)), SigningKey::not_private()?));
        }
        let ask = |path: &Path| passphrase(path).map_err(MakeError::Wrong);
        let (key, warning) = signer::key(self.key.as_deref(), spec, ask).map_err(super::refusal::failure)?;
        warning.iter().for_each(|text| output::warn(text));
        Ok((signer::random().map_err(super::refusal::failure)?, key))
    }
}
