//! The section `zero` behind a good signature.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins_fuzz::{file, section};

fuzz_target!(|data: &[u8]| section(margins_fuzz::ZERO, data));
