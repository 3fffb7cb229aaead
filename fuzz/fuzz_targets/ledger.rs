//! Lines of a ledger behind good signatures.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| margins_fuzz::ledger::ledger(text));
