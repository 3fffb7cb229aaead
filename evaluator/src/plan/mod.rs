//! What a plan *is*: which blocks are measured at which scale, what that costs, and how precise each number is. How a
//! good plan is found is `planner`, which a reader of releases does not need.

pub mod basis;
pub mod block;
mod channel;
pub mod convert;
mod copied;
pub mod copies;
pub mod cost;
mod filters;
pub(crate) mod index;
pub mod limits;
pub(crate) mod losses;
mod measurement;
pub(crate) mod noise;
mod objective;
mod ranges;
pub mod round;
mod selected;
pub mod slices;
pub mod strategy;
pub(crate) mod tellings;
mod types;
pub mod weights;
mod whole;

pub use self::{
    basis::Basis,
    tellings::{Own, Tellings},
    weights::NodeWeights,
};
pub use block::{
    Block,
    based::{Based, Telling},
    kind::{Form, Seen},
    rows::Rows,
};
pub use channel::{Channel, Subject, subjects};
pub use copies::{Copy, Mode, Recipient};
pub use filters::NoRows;
pub use losses::{Apart, Losses};
pub use measurement::{Measurement, component_variance, noise_variance};
pub use noise::Noise;
pub use objective::{Objective, Target};
pub use ranges::{Asks, MOST_INTERVALS, MOST_PREFIXES, MOST_RANGES, Ranges};
pub(crate) use round::up as round_up;
pub use selected::{Selected, SelectedError};
pub use strategy::Measure;
pub use types::{BudgetRule, Neighbours, Share, Table};
pub use whole::Plan;
