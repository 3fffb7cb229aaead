//! With which key and which randomness a release is made.

use super::{Failure, keygen, output};
use crate::release::keys::{KeyError, SigningKey};
use crate::secret::noise::Entropy;
use crate::spec::{self, Spec};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The key, and in test builds a seed.
#[derive(clap::Args)]
pub struct Signing {
    /// The secret key to sign with
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Draw noise from this fixed seed: NOT PRIVATE, and marked so for good
    #[cfg(feature = "test-seed")]
    #[arg(long, value_name = "SEED")]
    insecure_seed: Option<u64>,
}

impl Signing {
    #[cfg(feature = "test-seed")]
    pub fn entropy_and_key(&self, spec: &Spec) -> Result<(Entropy, SigningKey), Failure> {
        match self.insecure_seed {
            Some(seed) => Ok((Entropy::fixed(seed), SigningKey::not_private()?)),
            None => Ok((Entropy::from_os()?, self.signing_key(spec)?)),
        }
    }

    #[cfg(not(feature = "test-seed"))]
    pub fn entropy_and_key(&self, spec: &Spec) -> Result<(Entropy, SigningKey), Failure> {
        Ok((Entropy::from_os()?, self.signing_key(spec)?))
    }

    /// The key alone; a passphrase is asked for on the terminal.
    fn signing_key(&self, spec: &Spec) -> Result<SigningKey, Failure> {
        signing_key(self.key.as_deref(), spec, |path| {
            keygen::ask(&format!("Passphrase of {}: ", output::path(path)))
        })
    }
}

/// The key of a file, or for made-up data one that nobody keeps. `passphrase` is asked for if there is one.
pub fn signing_key(
    key: Option<&Path>,
    spec: &Spec,
    passphrase: impl FnOnce(&Path) -> Result<Zeroizing<String>, Failure>,
) -> Result<SigningKey, Failure> {
    match key {
        Some(path) => {
            let plain = |key: SigningKey| {
                exposed(path);
                key
            };
            match spec::regular(path).map_err(KeyError::from).and_then(|_| SigningKey::load(path, None)) {
                Err(KeyError::NeedsPassphrase) => {
                    let passphrase = passphrase(path)?;
                    SigningKey::load(path, Some(&passphrase)).map_err(|e| output::about(path, &e))
                }
                other => other.map(plain).map_err(|e| output::about(path, &e)),
            }
        }
        None if spec.demo => Ok(SigningKey::throw_away()?),
        None => Err(Failure::Message(
            "a release is signed, and no key was given. Make one once, keep it, and use it for every release:\n  \
             margins keygen --out agency.key\n  margins release SPEC --key agency.key"
                .into(),
        )),
    }
}

/// Warns of a key without a passphrase in a file that others may read: they can sign as the agency.
#[cfg(unix)]
fn exposed(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).map_or(0, |m| m.permissions().mode());
    let whom = match (mode & 0o004 != 0, mode & 0o040 != 0) {
        (true, _) => "everybody on this machine",
        (false, true) => "its whole group",
        (false, false) => return,
    };
    let file = output::path(path);
    let warning = format!(
        "warning: {whom} may read {file}, which has no passphrase, and sign as you. Make it yours alone: chmod 600 {}",
        output::word(&file)
    );
    output::say(&output::wrapped(&warning, 9));
}

/// Elsewhere permissions are of another kind.
#[cfg(not(unix))]
fn exposed(_: &Path) {}
