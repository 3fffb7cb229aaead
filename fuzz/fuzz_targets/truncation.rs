//! The section `truncation` behind a good signature.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins_fuzz::{TRUNCATION, section};

fuzz_target!(|data: &[u8]| section(TRUNCATION, data));
