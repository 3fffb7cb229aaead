//! A release file that anybody may have made: opened, audited and asked.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| margins_fuzz::read(bytes.to_vec()));
