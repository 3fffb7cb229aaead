//! The section `copies` behind a good signature.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins_fuzz::{COPIES, section};

fuzz_target!(|data: &[u8]| section(COPIES, data));
