//! The section `projection` behind a good signature.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins_fuzz::{PROJECTION, section};

fuzz_target!(|data: &[u8]| section(PROJECTION, data));
