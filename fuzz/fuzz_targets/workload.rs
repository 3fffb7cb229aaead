//! The section `workload` behind a good signature.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins_fuzz::{WORKLOAD, section};

fuzz_target!(|data: &[u8]| section(WORKLOAD, data));
