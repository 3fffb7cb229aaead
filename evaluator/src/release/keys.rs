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
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use zeroize::Zeroizing;

/// The secret half of the key everybody knows. It is no secret: what it signs protects nobody, and verifies nowhere.
#[cfg(feature = "test-seed")]
const NOT_PRIVATE_SECRET_KEY: &str = "untrusted comment: everybody has this key: NOT PRIVATE
RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAdEzsnEc9HFHsDKRdn6ry14zqJfFDkTXL3+oN8mzQlLlOHuupT4ukce0S537v4VMiB75JoiMrJuy5lPkkqxOEycRPjI4rtxVbnsEANSNJaa4rngnldak7phF1qtBFhkR+G11hXSTivdg=
";

/// What a guess of a passphrase costs, as with stock minisign: scrypt with N = 2^20, r = 8, p = 1, which is a gibibyte of memory and some seconds. (The
/// library's own keys are 32 times cheaper to guess.)
const GUESS: u8 = 20;

/// Where in a decoded secret key its kind of encryption stands, the salt of that, its limits, and what is encrypted.
const KDF: std::ops::Range<usize> = 2..4;
const SALT: std::ops::Range<usize> = 6..38;
const LIMITS: std::ops::Range<usize> = 38..54;
const LOCKED: std::ops::Range<usize> = 54..158;

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
    keys(passphrase.map(|p| (p, GUESS)))
}

/// The same, with the power of two that a guess costs.
fn keys(passphrase: Option<(&str, u8)>) -> Result<KeyTexts, KeyError> {
    let KeyPair { pk, sk } = KeyPair::generate_unencrypted_keypair()?;
    let (sk, comment) = match passphrase {
        Some((p, guess)) => (locked(&sk, p, guess)?, "margins encrypted secret key"),
        None => (sk, "margins secret key, not encrypted"),
    };
    let secret = Zeroizing::new(sk.to_box(Some(comment))?.into_string());
    Ok(KeyTexts { secret, public: pk.to_box()?.into_string() })
}

/// A secret key, encrypted as minisign does it: the key, its number and the checksum, XOR what scrypt makes of passphrase and salt. The limits are
/// those by which libsodium finds N = 2^guess: four operations a block and 128 bytes each.
fn locked(key: &SecretKey, passphrase: &str, guess: u8) -> Result<SecretKey, KeyError> {
    let failed = |e: &dyn fmt::Display| KeyError::Key(e.to_string());
    let params = scrypt::Params::new(guess, 8, 1, scrypt::Params::RECOMMENDED_LEN).map_err(|e| failed(&e))?;
    let mut salt = [0; SALT.end - SALT.start];
    getrandom::fill(&mut salt).map_err(|e| failed(&e))?;
    let mut stream = Zeroizing::new([0; LOCKED.end - LOCKED.start]);
    scrypt::scrypt(passphrase.as_bytes(), &salt, &params, &mut *stream).map_err(|e| failed(&e))?;
    let mut bytes = Zeroizing::new(key.to_bytes());
    bytes[KDF].copy_from_slice(b"Sc");
    bytes[SALT].copy_from_slice(&salt);
    let limits = [32u64 << guess, 1024u64 << guess].map(u64::to_le_bytes).concat();
    bytes[LIMITS].copy_from_slice(&limits);
    bytes[LOCKED].iter_mut().zip(stream.iter()).for_each(|(byte, s)| *byte ^= s);
    Ok(SecretKey::from_bytes(&bytes)?)
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
        write_new(secret, &self.secret, true)?;
        write_new(public, &self.public, false).inspect_err(|_| {
            // A secret key without its public half is of no use to anybody.
            let _ = fs::remove_file(secret);
        })
    }
}

/// Writes a file that is not there yet; an error says which.
fn write_new(path: &Path, text: &str, private: bool) -> Result<(), KeyError> {
    crate::files::write_new(path, text, private).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => KeyError::Exists(path.into()),
        _ => KeyError::Io(io::Error::new(e.kind(), format!("cannot write {}: {e}", path.display()))),
    })
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
        let line = text.lines().nth(1).unwrap_or_default();
        let plain = line.starts_with("RWQA");
        if signature::public_key_text(text).is_ok() {
            return Err(KeyError::Key("this is a public key; its secret half signs".into()));
        }
        if !line.starts_with("RW") {
            return Err(KeyError::Key("this is no file of one; margins keygen makes it".into()));
        }
        let secret = SecretKeyBox::from_string(text)?;
        let secret = match (plain, passphrase) {
            // minisign writes keys without a passphrase without their checksum, so those are refused here.
            (true, _) => secret.into_unencrypted_secret_key().map_err(|_| {
                let why = "the key is damaged, or minisign made it without a passphrase (-W) and so without a checksum; margins keygen --no-passphrase makes \
                           one with";
                KeyError::Key(why.into())
            })?,
            (false, Some(p)) => secret.into_secret_key(Some(p.to_owned()))?,
            (false, None) => return Err(KeyError::NeedsPassphrase),
        };
        SigningKey::agency(secret)
    }

    /// An agency's own key: any but the one everybody has.
    fn agency(secret: SecretKey) -> Result<SigningKey, KeyError> {
        let key = SigningKey::new(secret, SignerKind::Agency)?;
        if signature::is_not_private_key(&key.public_key()) { Err(KeyError::NotPrivate) } else { Ok(key) }
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

    /// The same under another number, as it would pass for an agency's own if only texts were compared.
    #[cfg(feature = "test-seed")]
    #[cfg(test)]
    pub(crate) fn disguised() -> Result<SigningKey, KeyError> {
        let mut bytes = SigningKey::not_private()?.secret.to_bytes();
        bytes[LOCKED.start..LOCKED.start + 8].fill(7);
        SigningKey::new(SecretKey::from_bytes(&bytes)?, SignerKind::Agency)
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
    pub fn sign(&self, data: impl Read, trusted: &str) -> Result<String, KeyError> {
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

        let locked = keys(Some(("correct horse", 10))).unwrap();
        assert!(matches!(SigningKey::from_text(&locked.secret, None), Err(KeyError::NeedsPassphrase)));
        assert!(matches!(SigningKey::from_text(&locked.secret, Some("wrong")), Err(KeyError::Key(_))));
        let key = SigningKey::from_text(&locked.secret, Some("correct horse")).unwrap();
        assert_eq!(signature::public_key_text(&locked.public).unwrap(), key.public_key());
        for bad in ["", "x", "x\ny", "x\nRWQA", &plain.public] {
            assert!(SigningKey::from_text(bad, Some("")).is_err(), "{bad}");
        }
        // No passphrase is asked for of another file.
        assert!(matches!(SigningKey::from_text("name,sex\nann,F\n", None), Err(KeyError::Key(_))));
    }

    /// minisign derives a gibibyte from the limits that stand in a key file (33554432 operations, 1073741824 bytes); another
    /// implementation of the same reads what is written here, whatever a guess costs.
    #[test]
    fn guesses_cost_what_they_cost_with_minisign() {
        let key = KeyPair::generate_unencrypted_keypair().unwrap().sk;
        for guess in [10, 12] {
            let text = locked(&key, "horse", guess).unwrap().to_box(None).unwrap();
            assert!(text.clone().into_secret_key(Some("cow".into())).is_err());
            assert!(text.into_secret_key(Some("horse".into())).unwrap() == key);
        }
        let limits = |guess: u8| locked(&key, "x", guess).unwrap().to_bytes()[LIMITS].to_vec();
        let two = |a: u64, b: u64| [a.to_le_bytes(), b.to_le_bytes()].concat();
        assert_eq!((limits(10), GUESS), (two(33_554_432 >> 10, 1_073_741_824 >> 10), 20));
        // No salt comes twice.
        assert!(
            locked(&key, "x", 10).unwrap().to_bytes()[SALT]
                != locked(&key, "x", 10).unwrap().to_bytes()[SALT]
        );
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
        let other = SigningKey::disguised().unwrap();
        assert!(other.public_key() != signature::NOT_PRIVATE_PUBLIC_KEY);
        assert!(matches!(SigningKey::agency(other.secret), Err(KeyError::NotPrivate)));
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
