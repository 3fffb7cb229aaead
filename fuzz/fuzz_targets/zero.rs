//! The section `zero` behind a good signature.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins_fuzz::{ZERO, section};

fuzz_target!(|data: &[u8]| section(ZERO, data));
