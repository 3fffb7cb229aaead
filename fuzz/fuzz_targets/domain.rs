//! The section `domain` behind a good signature.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins_fuzz::{DOMAIN, section};

fuzz_target!(|data: &[u8]| section(DOMAIN, data));
