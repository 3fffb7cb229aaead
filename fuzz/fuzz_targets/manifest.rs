//! A manifest behind a good signature.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| margins_fuzz::manifest(data));
