//! The way through the wall of WebAssembly: bytes in, bytes out.
//!
//! The page asks for [`room`], writes into it, and calls [`open`] or [`ask`]; the reply lies at the address that comes back, [`length`] bytes
//! long, until the next call. While long work goes on, the page is [told](tell) how far it is. Exporting a name is what Rust calls unsafe here (two libraries could export the same); there is no unsafe
//! block: the buffers are vectors behind locks, and the page has the addresses of their bytes only between calls.
#![allow(unsafe_code)]

use crate::Session;
use margins::Watch;
use std::sync::{Mutex, MutexGuard, PoisonError};

// What WebAssembly asks of the page: to hear how far long work is.
#[cfg(target_family = "wasm")]
#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// A stage's name, and how much of it is done.
    safe fn tell(name: *const u8, length: usize, done: f64, of: f64);
}

#[cfg(target_family = "wasm")]
fn watch() -> Watch {
    Watch::hearing(|stage, done, of| tell(stage.as_ptr(), stage.len(), done as f64, of as f64))
}

/// On the machine itself nobody listens.
#[cfg(not(target_family = "wasm"))]
fn watch() -> Watch {
    Watch::default()
}

static INPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static OUTPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static SESSION: Mutex<Session> = Mutex::new(Session::new());

/// A panic ends the instance, so no lock is ever found broken by one.
fn hold<T>(of: &'static Mutex<T>) -> MutexGuard<'static, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reply(text: String) -> *const u8 {
    let mut output = hold(&OUTPUT);
    *output = text.into_bytes();
    output.as_ptr()
}

/// Room for so many bytes of input.
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    let mut input = hold(&INPUT);
    *input = vec![0; length];
    input.as_mut_ptr()
}

/// Opens the release in the input; its last `minisig` bytes are the text of the signature beside it.
#[unsafe(no_mangle)]
pub extern "C" fn open(minisig: usize) -> *const u8 {
    let mut bytes = std::mem::take(&mut *hold(&INPUT));
    let beside = bytes.split_off(bytes.len().saturating_sub(minisig));
    reply(hold(&SESSION).open(bytes, beside))
}

/// Answers the request in the input.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> *const u8 {
    let request = std::mem::take(&mut *hold(&INPUT));
    reply(hold(&SESSION).ask(&request, &watch()))
}

/// How many bytes the reply has.
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    hold(&OUTPUT).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_answered() {
        assert!(!room(3).is_null());
        hold(&INPUT).copy_from_slice(b"{}x");
        assert!(!ask().is_null());
        assert_eq!(length(), hold(&OUTPUT).len());
        assert!(String::from_utf8_lossy(&hold(&OUTPUT)).starts_with("{\"error\":"));
        room(5);
        assert!(!open(9).is_null(), "a length that is too long takes all");
        assert!(String::from_utf8_lossy(&hold(&OUTPUT)).contains("error"));
    }
}
