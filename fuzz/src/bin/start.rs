//! Writes where fuzzing begins into the folder `corpus`. It is a target itself, since all code here is built to be linked with libFuzzer:
//! `start -runs=0`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: {
        let written = margins_fuzz::start("corpus".as_ref());
        written.unwrap_or_else(|error| panic!("{error}"));
    },
    |_data: &[u8]| ()
);
