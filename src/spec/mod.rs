//! What the agency asks for: a TOML file, read with every mistake placed.

mod types;

pub use types::{Budget, Coding, Column, CsvOptions, Data, Format, Privacy, Spec, StrategySpec, Unit};
