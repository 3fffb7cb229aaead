//! The only rooms that ever hold private data.
//!
//! Data flows one way: `ingest` reads rows, `count` counts them, `measure` adds exact integer noise
//! and is the one door out (`project` for projections). Both ask for the receipt of their
//! [`Charged`] budget. Nothing here formats, logs or returns a data value.

mod charged;
pub mod count;
pub mod ingest;
pub mod measure;
pub mod noise;
pub mod project;

pub use charged::Charged;
