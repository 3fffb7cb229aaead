//! Rows from any bytes that say they are Parquet.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins_fuzz::rows;

fuzz_target!(|data: &[u8]| rows(data, "parquet"));
