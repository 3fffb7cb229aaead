//! The only rooms that ever hold private data.
//!
//! Data flows one way: `ingest` reads rows, `count` counts them, `measure` adds exact integer noise
//! and is the one door out (`project` for projections). Nothing here formats, logs or returns a data value.

pub mod count;
pub mod ingest;
pub mod measure;
pub mod noise;
pub mod project;
