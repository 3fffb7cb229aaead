//! From what is asked to what will be measured, and how precisely: a pure function of the spec that never sees data.
//!
//! [`plan`] chooses the blocks and their noise, predicts the error of every table under the noise that
//! will really be drawn, and checks the cost against the budget in exact arithmetic. The same request
//! gives the same plan, bit for bit, on any machine: all functions beyond `+ − × ÷ √` come from `libm`.

mod alternate;
mod answering;
pub(crate) mod bases;
mod between;
pub(crate) mod capacity;
mod choice;
mod chosen;
pub(crate) mod closure;
mod context;
pub(crate) mod copies;
mod delta;
mod downhill;
mod found;
mod improve;
mod judge;
pub(crate) mod linearised;
pub(crate) mod minimax;
pub mod objective;
pub(crate) mod parts;
mod planned;
pub(crate) mod predict;
pub(crate) mod price;
pub(crate) mod questions;
mod request;
mod search;
pub mod strategy;
mod sums;
mod tails;
pub mod targets;
mod unplanned;
mod wanted;
mod weights;
mod within;
pub(crate) mod worst;

pub(crate) use answering::{answering, largest as largest_asked};
pub(crate) use choice::choose;
pub use choice::plan;
pub(crate) use chosen::Choice;
pub use chosen::Look;
pub(crate) use delta::{DELTA, WithDelta, with_delta};
pub(crate) use judge::judge;
pub use judge::predict_at;
pub(crate) use judge::promised_at;
pub(crate) use objective::Objective;
pub use planned::{Candidate, PlanError, Planned};
pub(crate) use planned::{SumSpread, score};
pub use request::Request;
pub use search::compare;
pub(crate) use sums::own_weights;
pub(crate) use unplanned::Unplanned;
pub(crate) use within::choose_within;
