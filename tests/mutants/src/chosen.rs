//! Put into the changed copy of `margins-law`, which everything else stands on: which change is on in this process. `MUTANT` names it. With
//! `MUTANTS_REACHED` none is, and those that are reached are written to the file of that name, each once a process.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

const RECORDING: u32 = u32::MAX - 1;
const UNREAD: u32 = u32::MAX;

static CHOSEN: AtomicU32 = AtomicU32::new(UNREAD);
static SEEN: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// Whether a change is on. It stands in inner loops: one load, as a rule, and two while it is written down what is reached.
#[inline(always)]
pub fn on(n: u32) -> bool {
    let chosen = CHOSEN.load(Relaxed);
    match chosen < RECORDING {
        true => chosen == n,
        false => SEEN[n as usize / 64].load(Relaxed) >> (n % 64) & 1 == 0 && read(n),
    }
}

#[cold]
fn read(n: u32) -> bool {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let path = std::env::var_os("MUTANTS_REACHED")?;
        OpenOptions::new().create(true).append(true).open(path).ok()
    });
    let Some(mut file) = file.as_ref() else {
        let chosen = std::env::var("MUTANT").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
        CHOSEN.store(chosen, Relaxed);
        return chosen == n;
    };
    CHOSEN.store(RECORDING, Relaxed);
    let bit = 1 << (n % 64);
    if SEEN[n as usize / 64].fetch_or(bit, Relaxed) & bit == 0 {
        file.write_all(format!("{n}\n").as_bytes()).expect("what is reached is written down");
    }
    false
}
