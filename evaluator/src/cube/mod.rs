//! Dimensions, levels, cuboids and components: the algebra of tables, with no data and no noise.
//!
//! A [`Dimension`] is a chain of levels from *total* (level 0, one node) to its finest [`Categories`]; a [`Level`] names one of them.
//! A [`Cuboid`] picks a level in each dimension; its table counts units for every combination.

mod axis;
pub(crate) mod contrast;
mod cuboid;
mod dimension;
mod districts;
mod explain;
pub(crate) mod filter;
pub mod frame;
mod integers;
mod legend;
mod level;
mod numbers;
pub mod odometer;
mod periods;
mod prune;
mod quantity;
mod refine;
pub mod walsh;

pub use self::{
    axis::{Axis, Rung},
    cuboid::Cuboid,
    dimension::{Bounds, Categories, Dimension},
    filter::{ClassedDimension, Filter},
    frame::Frame,
    integers::{Integer, Integers},
    legend::{Concept, Legend, LevelLabels},
    level::Level,
    quantity::{MOST_PLACES, MOST_STEPS, MeasuredFrom, NoValue, Quantity, Weighing},
};
pub(crate) use dimension::Number;
pub(crate) use filter::{MAX_WEIGHTS, TooIntricate, one_class, required_level};
pub(crate) use numbers::Numbers;
pub(crate) use prune::{Kin, Members};
pub(crate) use quantity::Summand;

use serde::{Deserialize, Serialize};

/// All dimensions of a dataset, in the order of the spec.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cube {
    /// The dimensions.
    pub dimensions: Vec<Dimension>,
}

impl Cube {
    /// The index of the dimension with this name.
    pub fn dimension(&self, name: &str) -> Option<usize> {
        self.dimensions.iter().position(|d| d.name == name)
    }

    /// The number of cells of a cuboid's table; `None` when it does not fit in 64 bits.
    pub fn cells(&self, cuboid: &Cuboid) -> Option<u64> {
        cuboid.iter().try_fold(1u64, |n, level| n.checked_mul(level.of(self).len() as u64))
    }

    /// `sex × age.band`, or `total`: how people write a cuboid. The finest level of a dimension goes
    /// by the dimension's own name.
    pub fn describe(&self, cuboid: &Cuboid) -> String {
        if cuboid.is_total() {
            return "total".into();
        }
        cuboid.iter().map(|level| self.level_name(level)).collect::<Vec<_>>().join(" × ")
    }

    /// `age` for the finest level of dimension `age`, `age.band` for a coarser one.
    pub fn level_name(&self, level: Level) -> String {
        let d = &self.dimensions[level.dimension];
        if let Some(own) = d.districts_at(level.level) {
            return own.groups.name.clone();
        }
        if level.level == d.finest() { d.name.clone() } else { format!("{}.{}", d.name, level.of(self).name) }
    }

    /// Resolves `age` or `age.band` to a level. A dimension's own name may itself contain
    /// dots, so whole names are tried first.
    pub(crate) fn resolve(&self, name: &str) -> Option<Level> {
        if let Some(d) = self.dimension(name) {
            return Some(Level::new(d, self.dimensions[d].finest()));
        }
        let own = |(at, d): (usize, &Dimension)| {
            let own = d.districts.as_ref().filter(|own| own.groups.name == name)?;
            (!own.groups.name.is_empty()).then(|| Level::new(at, d.levels.len()))
        };
        if let Some(level) = self.dimensions.iter().enumerate().find_map(own) {
            return Some(level);
        }
        name.match_indices('.').find_map(|(at, _)| {
            let d = self.dimension(&name[..at])?;
            let l = self.dimensions[d].levels.iter().skip(1).position(|l| l.name == name[at + 1..])?;
            Some(Level::new(d, l + 1))
        })
    }
}
