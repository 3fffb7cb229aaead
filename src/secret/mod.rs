//! The only rooms in which private data becomes counts and noisy counts.
//!
//! Data flows one way: `ingest` reads rows, `count` counts them, `measure` adds exact integer noise
//! and is the one door out (`project` for projections). Both ask for the receipt of their
//! [`Charged`] budget. Nothing here formats, logs or returns a data value to a release.
//!
//! Two verbs show the agency its own data, say so, and publish nothing: `init` drafts a spec from it (`spec::draft`; Parquet rows are
//! handed over by [`ingest::all_of_parquet`]), and `check` counts what is wrong with it ([`ingest::check`]).

pub mod count;
pub mod ingest;
pub mod measure;
pub mod noise;
pub mod project;

pub use measure::charged::Charged;
