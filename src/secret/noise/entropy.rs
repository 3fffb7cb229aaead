//! Where the random bits come from: one ChaCha20 key from the operating system, one stream a measurement.

use super::NoiseError;
use rand::rngs::SysRng;
use rand::{SeedableRng, TryRng};
use rand_chacha::ChaCha20Rng;
use std::fmt;
use zeroize::Zeroizing;

/// The stream that public seeds are drawn from: no noise ever is.
pub(crate) const SEEDS: u64 = u64::MAX;

/// The secret key of a release's noise. It cannot be copied, stored or printed, and is wiped when dropped.
///
/// **Guarantee.** Streams of different numbers are independent for anyone who cannot tell ChaCha20 from a random
/// function: a stream's number is the cipher's 64-bit nonce. So measurement i always draws from stream i, and the
/// release does not depend on how many threads made it, nor in which order. A stream holds a working copy of the key
/// that is not wiped: keep streams short-lived.
pub struct Entropy {
    key: Zeroizing<[u8; 32]>,
    private: bool,
}

impl Entropy {
    /// A fresh key from the operating system.
    pub fn from_os() -> Result<Entropy, NoiseError> {
        let mut key = Zeroizing::new([0; 32]);
        SysRng.try_fill_bytes(&mut *key).map_err(|_| NoiseError::NoEntropy)?;
        Ok(Entropy { key, private: true })
    }

    /// A fixed key, for tests. What is made with it is not private.
    #[cfg(feature = "test-seed")]
    pub fn fixed(seed: u64) -> Entropy {
        let mut key = Zeroizing::new([0; 32]);
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Entropy { key, private: false }
    }

    /// Whether the key is one that nobody knows.
    pub(crate) fn is_private(&self) -> bool {
        #[cfg(feature = "faults")]
        if crate::planted::now().is_some() {
            return false;
        }
        self.private
    }

    /// The stream of a number. Ask for each once: the same number gives the same bits again.
    pub fn stream(&self, index: u64) -> ChaCha20Rng {
        let mut rng = ChaCha20Rng::from_seed(*self.key);
        rng.set_stream(index);
        rng
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entropy").field("private", &self.private).finish_non_exhaustive()
    }
}
