//! The section `measurements` behind a good signature.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins_fuzz::{MEASUREMENTS, section};

fuzz_target!(|data: &[u8]| section(MEASUREMENTS, data));
