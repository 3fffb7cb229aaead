//! Rows from any text: every column of the spec is there or not, of whatever width and in whatever quotes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins_fuzz::rows;

fuzz_target!(|data: &[u8]| rows(data, "csv"));
