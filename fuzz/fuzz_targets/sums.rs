//! The section `sums` behind a good signature.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins_fuzz::{SUMS, section};

fuzz_target!(|data: &[u8]| section(SUMS, data));
