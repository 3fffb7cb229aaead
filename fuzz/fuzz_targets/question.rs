//! A question in any text, of a sound release.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| margins_fuzz::question(text));
