//! The way through the wall of WebAssembly: bytes in, bytes out.
//!
//! The page asks for [`room`], writes into it, and calls [`keep`] or [`ask`]; the reply lies at the address that comes back, [`length`] bytes
//! long, until the next call. Exporting a name is what Rust calls unsafe here (two libraries could export the same); there is no unsafe
//! block: the buffers are vectors behind locks, and the page has the addresses of their bytes only between calls.
#![allow(unsafe_code)]

use crate::Session;
use std::sync::{Mutex, MutexGuard, PoisonError};

static INPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static OUTPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static SESSION: Mutex<Session> = Mutex::new(Session::new());

/// A panic ends the instance, so no lock is ever found broken by one.
fn hold<T>(of: &'static Mutex<T>) -> MutexGuard<'static, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Room for so many bytes of input.
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    let mut input = hold(&INPUT);
    *input = vec![0; length];
    input.as_mut_ptr()
}

/// Keeps the file in the input, whose first `name` bytes are its name.
#[unsafe(no_mangle)]
pub extern "C" fn keep(name: usize) {
    let mut bytes = std::mem::take(&mut *hold(&INPUT));
    let file = bytes.split_off(name.min(bytes.len()));
    hold(&SESSION).keep(String::from_utf8_lossy(&bytes).into_owned(), file);
}

/// Answers the request in the input.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> *const u8 {
    let request = std::mem::take(&mut *hold(&INPUT));
    let reply = hold(&SESSION).ask(&request);
    let mut output = hold(&OUTPUT);
    *output = reply.into_bytes();
    output.as_ptr()
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
        keep(9);
    }
}
