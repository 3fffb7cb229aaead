//! The section `plan` behind a good signature.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins_fuzz::{PLAN, section};

fuzz_target!(|data: &[u8]| section(PLAN, data));
