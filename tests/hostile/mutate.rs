//! Any bytes as damage to one section of a sound file, signed again: what lies behind the signature is reached.

use super::file::{File, Key};

/// The file with the bytes of its section number `section` replaced.
pub(crate) fn replaced(base: &File, section: usize, bytes: Vec<u8>, key: &Key) -> Vec<u8> {
    let mut file = base.clone();
    if let Some(s) = file.sections.get_mut(section) {
        s.bytes = bytes;
    }
    file.sealed(key)
}

/// Numbers that are the first or the last of something.
const ODD: [u8; 14] = [0, 1, 2, 3, 62, 63, 64, 65, 127, 128, 250, 251, 254, 255];

/// Changes some bytes; `next` gives random numbers.
pub(crate) fn damage(bytes: &mut Vec<u8>, next: &mut impl FnMut() -> u64) {
    for _ in 0..=next() % 3 {
        let at = next() as usize % (bytes.len() + 1);
        let odd = ODD[next() as usize % ODD.len()];
        match (next() % 7, bytes.get_mut(at)) {
            (0 | 1, Some(b)) => *b = odd,
            (2, Some(b)) => *b ^= 1 << (next() % 8),
            (3, Some(b)) => *b = b.wrapping_add(next() as u8 % 5).wrapping_sub(2),
            (4, Some(_)) => drop(bytes.remove(at)),
            (5, Some(_)) => {
                let end = (at + 1 + next() as usize % 12).min(bytes.len());
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => {
                let wide =
                    [vec![250 + next() as u8 % 5], next().to_le_bytes()[..next() as usize % 9].to_vec()];
                bytes.splice(at..at, wide.concat());
            }
        }
    }
}
