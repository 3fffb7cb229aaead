//! A spec in any text: read, or refused with places in it, and planned where it is small.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins::spec;
use std::io::ErrorKind;
use std::path::Path;

fuzz_target!(|text: &str| {
    // Files beside the spec are not there.
    match spec::parse(text, Path::new("spec.toml"), |_| Err(ErrorKind::NotFound.into())) {
        Ok(spec) => drop(spec.request()),
        Err(errors) => drop(errors.render(false)),
    }
});
