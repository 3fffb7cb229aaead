//! Keys that sign releases, in minisign's own formats.
//!
//! minisign asks for a passphrase on the terminal when it is given none; nothing here does, so that
//! programs that nobody watches do not hang.
//!
//! Passphrases and the texts of secret keys are wiped from memory when they are dropped, as far as they are this
//! program's own. The minisign library keeps the decoded key and its copies of passphrase and text in
//! plain memory and does not wipe them; they are gone when the process is.

use super::manifest::SignerKind;
use super::signature;
use minisign::{KeyPair, PublicKey, SecretKey, SecretKeyBox};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use zeroize::Zeroizing;

/// The secret half of the key everybody knows. It is no secret: what it signs protects nobody, and verifies nowhere.
#[cfg(feature = "test-seed")]
const NOT_PRIVATE_SECRET_KEY: &str = "untrusted comment: everybody has this key: NOT PRIVATE
RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAdEzsnEc9HFHsDKRdn6ry14zqJfFDkTXL3+oN8mzQlLlOHuupT4ukce0S537v4VMiB75JoiMrJuy5lPkkqxOEycRPjI4rtxVbnsEANSNJaa4rngnldak7phF1qtBFhkR+G11hXSTivdg=
";

/// Secret key files are shorter than this.
const MAX_KEY_FILE: u64 = 4096;

/// Why a key cannot be made, kept or used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A key file could not be read or written.
    #[error("cannot use the key file: {0}")]
    Io(#[from] io::Error),
    /// A key file that is there already: keys are never overwritten.
    #[error("{0} exists; keys are never overwritten")]
    Exists(std::path::PathBuf),
    /// One name for both halves.
    #[error("{0} is where the public key goes; give the secret key another name")]
    SameName(std::path::PathBuf),
    /// The secret key is encrypted and no passphrase was given.
    #[error("the secret key is encrypted: it needs its passphrase")]
    NeedsPassphrase,
    /// Not a key, or the wrong passphrase.
    #[error("cannot use the secret key: {0}")]
    Key(String),
    /// The key everybody knows, offered as an agency's own.
    #[error("this key is the NOT PRIVATE test key, which everybody has")]
    NotPrivate,
}

impl From<minisign::PError> for KeyError {
    fn from(e: minisign::PError) -> KeyError {
        KeyError::Key(e.to_string())
    }
}

/// The texts of a new pair of key files; stock minisign reads both.
pub struct KeyTexts {
    /// For `agency.key`. Encrypted when there was a passphrase.
    pub secret: Zeroizing<String>,
    /// For `agency.pub`.
    pub public: String,
}

impl fmt::Debug for KeyTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyTexts").field("public", &self.public).finish_non_exhaustive()
    }
}

/// Makes a pair of keys, the secret one encrypted with the passphrase if there is one.
pub fn keygen(passphrase: Option<&str>) -> Result<KeyTexts, KeyError> {
    let (KeyPair { pk, sk }, comment) = match passphrase {
        Some(p) => (KeyPair::generate_encrypted_keypair(Some(p.to_owned()))?, "margins encrypted secret key"),
        None => (KeyPair::generate_unencrypted_keypair()?, "margins secret key, not encrypted"),
    };
    let secret = Zeroizing::new(sk.to_box(Some(comment))?.into_string());
    Ok(KeyTexts { secret, public: pk.to_box()?.into_string() })
}

impl KeyTexts {
    /// Writes both files, the secret one readable by its owner alone. Neither may exist.
    pub fn write(&self, secret: &Path, public: &Path) -> Result<(), KeyError> {
        if secret == public {
            return Err(KeyError::SameName(public.into()));
        }
        // A link to nowhere is there, too.
        if public.symlink_metadata().is_ok() {
            return Err(KeyError::Exists(public.into()));
        }
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        write_new(options, secret, &self.secret)?;
        write_new(OpenOptions::new(), public, &self.public).inspect_err(|_| {
            // A secret key without its public half is of no use to anybody.
            let _ = fs::remove_file(secret);
        })
    }
}

fn write_new(mut options: OpenOptions, path: &Path, text: &str) -> Result<(), KeyError> {
    let mut file = options.write(true).create_new(true).open(path).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => KeyError::Exists(path.into()),
        _ => KeyError::Io(e),
    })?;
    file.write_all(text.as_bytes())?;
    Ok(file.sync_all()?)
}

/// A key that can seal releases.
pub struct SigningKey {
    secret: SecretKey,
    public: PublicKey,
    kind: SignerKind,
}

/// Shows the public half: the library's own form prints the secret.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("kind", &self.kind).field("public", &self.public_key()).finish()
    }
}

impl SigningKey {
    /// Reads an agency's secret key file.
    pub fn load(path: impl AsRef<Path>, passphrase: Option<&str>) -> Result<SigningKey, KeyError> {
        // Room from the start: a text that grows leaves copies behind.
        let mut text = Zeroizing::new(String::with_capacity(MAX_KEY_FILE as usize + 1));
        crate::files::open(path.as_ref())?.take(MAX_KEY_FILE).read_to_string(&mut text)?;
        SigningKey::from_text(&text, passphrase)
    }

    /// Reads the text of an agency's secret key file.
    pub fn from_text(text: &str, passphrase: Option<&str>) -> Result<SigningKey, KeyError> {
        // The third byte of a key is zero when it is not encrypted; `RWQA` is `Ed` and that zero.
        let plain = text.lines().nth(1).is_some_and(|line| line.starts_with("RWQA"));
        if signature::public_key_text(text).is_ok() {
            return Err(KeyError::Key("this is a public key; its secret half signs".into()));
        }
        let secret = SecretKeyBox::from_string(text)?;
        let secret = match (plain, passphrase) {
            // minisign writes keys without a passphrase without their checksum, so those are refused here.
            (true, _) => secret.into_unencrypted_secret_key()?,
            (false, Some(p)) => secret.into_secret_key(Some(p.to_owned()))?,
            (false, None) => return Err(KeyError::NeedsPassphrase),
        };
        let key = SigningKey::new(secret, SignerKind::Agency)?;
        if key.public_key() == signature::NOT_PRIVATE_PUBLIC_KEY {
            return Err(KeyError::NotPrivate);
        }
        Ok(key)
    }

    /// A new key that is never stored: it shows that a file is whole, not who made it.
    pub fn throw_away() -> Result<SigningKey, KeyError> {
        SigningKey::new(KeyPair::generate_unencrypted_keypair()?.sk, SignerKind::ThrowAway)
    }

    /// The key everybody knows, for files whose noise came from a known seed.
    #[cfg(feature = "test-seed")]
    pub fn not_private() -> Result<SigningKey, KeyError> {
        let secret = SecretKeyBox::from_string(NOT_PRIVATE_SECRET_KEY)?.into_unencrypted_secret_key()?;
        SigningKey::new(secret, SignerKind::NotPrivate)
    }

    fn new(secret: SecretKey, kind: SignerKind) -> Result<SigningKey, KeyError> {
        let public = PublicKey::from_secret_key(&secret)?;
        Ok(SigningKey { secret, public, kind })
    }

    /// The public half: one line of base64.
    pub fn public_key(&self) -> String {
        self.public.to_base64()
    }

    /// What kind of key this is.
    pub fn kind(&self) -> SignerKind {
        self.kind
    }

    /// A prehashed signature of all that `data` gives, in minisign's text form.
    pub(super) fn sign(&self, data: impl Read, trusted: &str) -> Result<String, KeyError> {
        let signature = minisign::sign(
            Some(&self.public),
            &self.secret,
            data,
            Some(trusted),
            Some(signature::UNTRUSTED),
        )?;
        Ok(signature.into_string())
    }

    /// A signature of a text and of a trusted comment, without the lines that always are the same: see
    /// [`signature::verify_words`].
    pub fn sign_words(&self, bytes: &[u8], trusted: &str) -> Result<String, KeyError> {
        let text = self.sign(bytes, trusted)?;
        let mut lines = text.lines().skip(1).step_by(2);
        match (lines.next(), lines.next()) {
            (Some(signature), Some(global)) => Ok(format!("{signature} {global}")),
            _ => Err(KeyError::Key("it made no signature".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agency_keys() {
        let plain = keygen(None).unwrap();
        let key = SigningKey::from_text(&plain.secret, None).unwrap();
        assert_eq!(signature::public_key_text(&plain.public).unwrap(), key.public_key());
        assert_eq!(key.kind(), SignerKind::Agency);

        let locked = keygen(Some("correct horse")).unwrap();
        assert!(matches!(SigningKey::from_text(&locked.secret, None), Err(KeyError::NeedsPassphrase)));
        assert!(matches!(SigningKey::from_text(&locked.secret, Some("wrong")), Err(KeyError::Key(_))));
        let key = SigningKey::from_text(&locked.secret, Some("correct horse")).unwrap();
        assert_eq!(signature::public_key_text(&locked.public).unwrap(), key.public_key());
        for bad in ["", "x", "x\ny", "x\nRWQA", &plain.public] {
            assert!(SigningKey::from_text(bad, Some("")).is_err(), "{bad}");
        }
    }

    #[test]
    fn no_debug_form_shows_a_secret() {
        let texts = keygen(None).unwrap();
        let key = SigningKey::from_text(&texts.secret, None).unwrap();
        let secret = texts.secret.lines().nth(1).unwrap();
        assert!(!format!("{texts:?}").contains(&secret[60..]));
        assert_eq!(
            format!("{key:?}"),
            format!("SigningKey {{ kind: Agency, public: {:?} }}", key.public_key())
        );
    }

    #[test]
    fn the_known_key_is_known() {
        let key = SigningKey::not_private().unwrap();
        assert_eq!(
            (key.public_key().as_str(), key.kind()),
            (signature::NOT_PRIVATE_PUBLIC_KEY, SignerKind::NotPrivate)
        );
        assert!(matches!(SigningKey::from_text(NOT_PRIVATE_SECRET_KEY, None), Err(KeyError::NotPrivate)));
    }

    #[test]
    fn files_are_private_and_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let (secret, public) = (dir.path().join("agency.key"), dir.path().join("agency.pub"));
        let texts = keygen(None).unwrap();
        texts.write(&secret, &public).unwrap();
        assert!(SigningKey::load(&secret, None).is_ok());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let before = fs::read(&secret).unwrap();
        assert!(matches!(texts.write(&secret, &public), Err(KeyError::Exists(_))));
        fs::remove_file(&public).unwrap();
        assert!(
            matches!(keygen(None).unwrap().write(&secret, &public), Err(KeyError::Exists(p)) if p == secret)
        );
        assert_eq!(fs::read(&secret).unwrap(), before);
        assert!(!public.exists());
    }
}
