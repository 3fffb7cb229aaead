//! What will be measured and how precisely: a pure function of the spec that never sees data.

mod types;

pub use types::{Block, BudgetRule, Measure, Measurement, Neighbours, Noise, Plan, Table};
