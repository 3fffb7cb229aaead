//! The section `exact` behind a good signature.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins_fuzz::{EXACT, section};

fuzz_target!(|data: &[u8]| section(EXACT, data));
