//! Private rows that do not fit the memory, in a file that nobody can read and that goes with the process.
//!
//! **Guarantee.** The file has no name from its creation on, so that it is gone when the process is, however it ends. What is in it is enciphered with
//! ChaCha20 under a key from the operating system that is in this process's memory only, each block with a stream of its own. The hash of
//! every block's cipher stays in memory: a block that was changed on the disk is noticed, and reading ends.

use super::error::IngestError;
use rand::TryRng;
use rand::rngs::SysRng;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, OnceLock, PoisonError};
use zeroize::{Zeroize, Zeroizing};

/// Where a block is, and what it was.
pub(super) struct Block {
    at: u64,
    len: usize,
    /// The number of its stream.
    number: u64,
    hash: blake3::Hash,
}

/// The file, made when the first block comes.
pub(super) struct Spill {
    open: OnceLock<Open>,
}

struct Open {
    key: Zeroizing<[u8; 32]>,
    state: Mutex<State>,
}

struct State {
    file: File,
    end: u64,
    blocks: u64,
}

impl Spill {
    pub(super) fn new() -> Spill {
        Spill { open: OnceLock::new() }
    }

    /// Makes the file, unless it is there.
    fn open(&self) -> Result<&Open, IngestError> {
        if self.open.get().is_none() {
            let mut key = Zeroizing::new([0; 32]);
            SysRng.try_fill_bytes(&mut *key).map_err(|_| IngestError::NoEntropy)?;
            let file = tempfile::tempfile().map_err(failed)?;
            let state = Mutex::new(State { file, end: 0, blocks: 0 });
            // Another thread's may be there by now: then this one is dropped.
            let _ = self.open.set(Open { key, state });
        }
        self.open.get().ok_or(IngestError::Changed)
    }

    /// Writes a block, and leaves its memory wiped and empty.
    pub(super) fn write(&self, block: &mut Zeroizing<Vec<u8>>) -> Result<Block, IngestError> {
        let open = self.open()?;
        let number = {
            let mut state = open.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.blocks += 1;
            state.blocks
        };
        open.cipher(number, block);
        let (len, hash) = (block.len(), blake3::hash(block));
        let mut state = open.state.lock().unwrap_or_else(PoisonError::into_inner);
        let at = state.end;
        state.file.seek(SeekFrom::Start(at)).map_err(failed)?;
        state.file.write_all(block).map_err(failed)?;
        state.end += len as u64;
        drop(state);
        block.zeroize();
        Ok(Block { at, len, number, hash })
    }

    /// Reads a block again.
    pub(super) fn read(&self, block: &Block) -> Result<Zeroizing<Vec<u8>>, IngestError> {
        let open = self.open()?;
        let mut bytes = Zeroizing::new(vec![0; block.len]);
        {
            let mut state = open.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.file.seek(SeekFrom::Start(block.at)).map_err(failed)?;
            state.file.read_exact(&mut bytes).map_err(failed)?;
        }
        if blake3::hash(&bytes) != block.hash {
            return Err(IngestError::Spill(io::ErrorKind::InvalidData));
        }
        open.cipher(block.number, &mut bytes);
        Ok(bytes)
    }
}

impl Open {
    /// Enciphers or deciphers: the stream of a number is used for one block only.
    fn cipher(&self, number: u64, bytes: &mut [u8]) {
        let mut stream = ChaCha20Rng::from_seed(*self.key);
        stream.set_stream(number);
        let mut mask = Zeroizing::new([0; 4096]);
        for piece in bytes.chunks_mut(4096) {
            stream.fill_bytes(&mut *mask);
            piece.iter_mut().zip(mask.iter()).for_each(|(byte, mask)| *byte ^= mask);
        }
    }
}

fn failed(error: io::Error) -> IngestError {
    IngestError::Spill(error.kind())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nobody_else_can() {
        let spill = Spill::new();
        let texts: Vec<Vec<u8>> = (0..20u8).map(|n| vec![n; usize::from(n) * 999]).collect();
        let blocks: Vec<Block> = texts
            .iter()
            .map(|text| {
                let mut block = Zeroizing::new(text.clone());
                let written = spill.write(&mut block).unwrap();
                assert!(block.is_empty());
                written
            })
            .collect();
        for (text, block) in texts.iter().zip(&blocks).rev() {
            assert_eq!(&**spill.read(block).unwrap(), text);
        }
        let mut state = spill.open.get().unwrap().state.lock().unwrap();
        let mut bytes = Vec::new();
        state.file.seek(SeekFrom::Start(0)).unwrap();
        state.file.read_to_end(&mut bytes).unwrap();
        // As good as random: equal neighbours are one in 256. In the clear nearly all were equal.
        let equal = bytes.windows(2).filter(|two| two[0] == two[1]).count();
        assert!(bytes.len() == 189_810 && equal < 1500, "{equal}");
        // One bit on the disk.
        let place = blocks[7].at + 5;
        let changed = bytes[usize::try_from(place).unwrap()] ^ 1;
        state.file.seek(SeekFrom::Start(place)).unwrap();
        state.file.write_all(&[changed]).unwrap();
        drop(state);
        assert_eq!(spill.read(&blocks[7]).unwrap_err(), IngestError::Spill(io::ErrorKind::InvalidData));
        assert_eq!(&**spill.read(&blocks[8]).unwrap(), &texts[8]);
    }
}
