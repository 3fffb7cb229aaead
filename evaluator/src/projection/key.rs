//! Any combination of labels and texts becomes a cell number.
//!
//! A text is hashed to 64 bits by BLAKE3 under a published key, so a domain need not be listed. Where every part
//! of the key is listed and the combinations fit the bits there are, a cell is their plain index and no two cells are
//! ever confused. Otherwise the parts are hashed together, under the release's seed, to as many bits as a
//! point leaves beside the block. Two given cells then share a number with probability at most
//! [`Key::collision`], for BLAKE3 as good as random; a collision adds the other cell's count to the answer
//! and does not touch privacy.

use super::signs::Seed;

/// The key of texts in BLAKE3's key derivation; part of the format.
const TEXT: &str = "margins 2026 projection text";
/// The key of cells in BLAKE3's key derivation; part of the format.
const CELL: &str = "margins 2026 projection cell";

/// One dimension of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Any text.
    Text,
    /// One of so many categories.
    Nodes(u64),
}

/// The 64 bits that stand for a text.
pub fn text_code(text: &[u8]) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key(TEXT);
    hasher.update(text);
    first_word(&hasher)
}

fn first_word(hasher: &blake3::Hasher) -> u64 {
    let mut word = [0; 8];
    hasher.finalize_xof().fill(&mut word);
    u64::from_le_bytes(word)
}

/// How the parts of a key become a cell number.
#[derive(Debug, Clone)]
pub struct Key {
    parts: Vec<Part>,
    bits: u32,
    exact: bool,
    hasher: blake3::Hasher,
}

impl Key {
    /// Cells of `bits` bits for these parts.
    pub fn new(parts: Vec<Part>, bits: u32, seed: &Seed) -> Key {
        let cells = parts.iter().try_fold(1u64, |n, p| match p {
            Part::Text => None,
            Part::Nodes(nodes) => n.checked_mul(*nodes),
        });
        let exact = cells.is_some_and(|n| bits >= 64 || n <= 1 << bits);
        let mut hasher = blake3::Hasher::new_derive_key(CELL);
        hasher.update(seed);
        Key { parts, bits, exact, hasher }
    }

    /// The parts.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The cell of one node or text code for each part.
    pub fn cell(&self, codes: &[u64]) -> u64 {
        if self.exact {
            // Within bounds by construction; wrapping would only confuse cells, never fail.
            return self.parts.iter().zip(codes).fold(0, |n, (p, &c)| match p {
                Part::Nodes(nodes) => n.wrapping_mul(*nodes).wrapping_add(c),
                Part::Text => n,
            });
        }
        let mut hasher = self.hasher.clone();
        for code in codes {
            hasher.update(&code.to_le_bytes());
        }
        first_word(&hasher) >> (64 - self.bits.min(64)).min(63)
    }

    /// A bound of the probability that two given different cells share a number.
    pub(crate) fn collision(&self) -> f64 {
        if self.exact {
            return 0.0;
        }
        let texts = self.parts.iter().filter(|p| **p == Part::Text).count();
        texts as f64 * 2f64.powi(-64) + libm::exp2(-f64::from(self.bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn listed_cells_are_numbered() {
        let key = Key::new(vec![Part::Nodes(3), Part::Nodes(5)], 4, &[0; 32]);
        let all: Vec<u64> =
            (0..3).flat_map(|a| (0..5).map(move |b| (a, b))).map(|(a, b)| key.cell(&[a, b])).collect();
        assert_eq!(all, (0..15).collect::<Vec<u64>>());
        assert_eq!(key.collision(), 0.0);
        // Seventeen cells do not fit four bits.
        assert!(Key::new(vec![Part::Nodes(17)], 4, &[0; 32]).collision() > 0.06);
    }

    /// Hashed cells stay within their bits, depend on the seed and on every part, and collide as rarely as stated:
    /// 2000 cells in 24 bits make 2000²/2^25 = 0.12 pairs a seed.
    #[test]
    fn texts_are_hashed() {
        let mut collisions = 0;
        for s in 0..50 {
            let key = Key::new(vec![Part::Text, Part::Nodes(2)], 24, &[s; 32]);
            let cells: HashSet<u64> = (0..1000u64)
                .flat_map(|i| [0, 1].map(|b| key.cell(&[text_code(i.to_string().as_bytes()), b])))
                .collect();
            assert!(cells.iter().all(|c| c >> 24 == 0) && cells.iter().any(|c| c >> 23 == 1));
            collisions += 2000 - cells.len();
        }
        // Mean 6, Poisson: above 20 once in a million, and a hash of 20 bits would make about 95.
        assert!(collisions <= 20, "{collisions}");
        let a = Key::new(vec![Part::Text], 60, &[1; 32]).cell(&[5]);
        assert_ne!(a, Key::new(vec![Part::Text], 60, &[2; 32]).cell(&[5]));
        assert_eq!(Key::new(vec![Part::Text], 64, &[1; 32]).cell(&[5]) >> 4, a);
    }
}
