//! With which key and which randomness a release is made.

use super::MakeError;
use super::options::ReleaseOptions;
use crate::release::SealError;
use crate::release::keys::{KeyError, SigningKey};
use crate::secret::noise::Entropy;
use crate::spec::{self, Spec};
use crate::visible::visible;
use std::path::Path;
use zeroize::Zeroizing;

/// Those of a release.
pub(super) fn of(options: &mut ReleaseOptions<'_>, spec: &Spec) -> Result<(Entropy, SigningKey), MakeError> {
    #[cfg(feature = "test-seed")]
    if let Some(seed) = options.seed {
        return Ok((Entropy::fixed(seed), SigningKey::not_private().map_err(failed)?));
    }
    let passphrase = options.passphrase.take();
    let (key, warning) = key(options.key.as_deref(), spec, |path| match passphrase {
        Some(ask) => ask(path).map_err(MakeError::Wrong),
        None => Err(MakeError::NoPassphrase(path.to_owned())),
    })?;
    warning.iter().for_each(|text| (options.warn)(text));
    Ok((random()?, key))
}

fn failed(e: KeyError) -> MakeError {
    MakeError::Other(Box::new(SealError::from(e)))
}

/// The randomness of the machine.
pub(crate) fn random() -> Result<Entropy, MakeError> {
    Entropy::from_os().map_err(|e| MakeError::Other(Box::new(e)))
}

/// The key of a file, or for made-up data one that nobody keeps; perhaps with a warning. `passphrase` is asked for if there is one.
pub(crate) fn key(
    file: Option<&Path>,
    spec: &Spec,
    passphrase: impl FnOnce(&Path) -> Result<Zeroizing<String>, MakeError>,
) -> Result<(SigningKey, Option<String>), MakeError> {
    match file {
        Some(path) => of_file(path, passphrase),
        None if spec.demo => Ok((SigningKey::throw_away().map_err(failed)?, None)),
        None => Err(MakeError::NoKey),
    }
}

/// The key of a file; `passphrase` is asked for if there is one.
pub(crate) fn of_file(
    path: &Path,
    passphrase: impl FnOnce(&Path) -> Result<Zeroizing<String>, MakeError>,
) -> Result<(SigningKey, Option<String>), MakeError> {
    let about = |e: KeyError| MakeError::about(path, &e);
    match spec::regular(path).map_err(KeyError::from).and_then(|_| SigningKey::load(path, None)) {
        Err(KeyError::NeedsPassphrase) => {
            let passphrase = passphrase(path)?;
            Ok((SigningKey::load(path, Some(&passphrase)).map_err(about)?, None))
        }
        other => Ok((other.map_err(about)?, exposed(path))),
    }
}

/// Warns of a key without a passphrase in a file that others may read: they can sign as the agency.
#[cfg(unix)]
fn exposed(path: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).map_or(0, |m| m.permissions().mode());
    let whom = match (mode & 0o004 != 0, mode & 0o040 != 0) {
        (true, _) => "everybody on this machine",
        (false, true) => "its whole group",
        (false, false) => return None,
    };
    let file = path.display().to_string();
    let file = visible(&file);
    Some(format!(
        "warning: {whom} may read {file}, which has no passphrase, and sign as you. Make it yours alone: chmod 600 {}",
        super::words::word(&file)
    ))
}

/// Elsewhere permissions are of another kind.
#[cfg(not(unix))]
fn exposed(_: &Path) -> Option<String> {
    None
}
