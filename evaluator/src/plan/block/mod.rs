//! Kinds of measurements: what of a table is measured as one group of linear queries.
//!
//! A closed list, because accounting must be complete: nobody plugs in a kind whose cost is not proved. Everything this
//! program knows of a kind stands in its file, behind one private trait: how many integers it has, whether a plan may hold it, how counts
//! become those integers, how far a unit moves them, and what recovery may assume. The rest of the house asks a [`Block`].
//!
//! To add a kind: a file here, a line in `blocks!`, and a format tag in `release::wire`.

pub(super) mod based;
mod component;
pub(super) mod kind;
mod pairs;
pub(super) mod rows;
mod table;
mod walsh;

use based::Based;
pub(crate) use component::component_part;
pub use component::{component_norm, component_scale};
pub(crate) use kind::Factors;

use super::{Noise, limits};
use crate::cube::{Cube, Cuboid, Frame, Integer};
use kind::{Form, Kind};
use rows::Rows;

/// Makes the enum and hands every question to the kind's own file.
macro_rules! blocks {
    ($($(#[$doc:meta])* $kind:ident($data:ty) in $file:ident;)+) => {
        /// What is measured: the linear queries of one group.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum Block {
            $($(#[$doc])* $kind($data)),+
        }

        /// `$body` with `K` the kind of `$block` and `$it` its data.
        macro_rules! of_kind {
            ($block:expr, $it:ident, $body:expr) => {
                match $block {
                    $(Block::$kind($it) => {
                        type K = $file::$kind;
                        $body
                    })+
                }
            };
        }
    };
}

blocks! {
    /// The integer contrasts of a component: `D_A (m_A · M_A x + z)`.
    Component(Cuboid) in component;
    /// Every cell of a cuboid's table: `M_B x + z`.
    Table(Cuboid) in table;
    /// One signed sum for every pair of siblings in each dimension: `D_A M_A x + z`. No group has more than two nodes.
    Pairs(Cuboid) in pairs;
    /// The Walsh–Hadamard coefficients of a cuboid's table with a bit set in every dimension: see [`crate::cube::walsh`].
    Walsh(Cuboid) in walsh;
    /// Linear queries of a cuboid's table that the agency wrote itself.
    Rows(Rows) in rows;
    /// A component some of whose dimensions are told by bases in whole numbers.
    Based(Based) in based;
}

impl Block {
    /// The cuboid whose table the block's queries are about.
    pub fn cuboid(&self) -> &Cuboid {
        of_kind!(self, it, K::cuboid(it))
    }

    /// What people call this kind of block.
    pub(crate) const fn kind(&self) -> &'static str {
        of_kind!(self, _it, K::NAME)
    }

    /// How it enters least squares.
    pub const fn form(&self) -> Form {
        of_kind!(self, _it, K::FORM)
    }

    /// Whether two rows may move one of its integers in opposite directions.
    pub(crate) const fn is_signed(&self) -> bool {
        of_kind!(self, _it, K::SIGNED)
    }

    /// Whether its noise must count squares.
    pub(crate) const fn needs_squares(&self) -> bool {
        of_kind!(self, _it, K::SQUARES)
    }

    /// Whether nodes of a dimension that a query cannot tell apart may be lumped.
    pub fn lumps(&self, dimension: usize) -> bool {
        of_kind!(self, it, K::lumps(it, dimension))
    }

    /// The most cells its table may have.
    pub(crate) const fn most_cells(&self) -> u64 {
        of_kind!(self, _it, K::MOST_CELLS)
    }

    /// How many integers are published. `None` when that does not fit. All levels must be in use.
    pub fn checked_values(&self, frame: &Frame) -> Option<u64> {
        of_kind!(self, it, K::values(it, frame))
    }

    /// How many integers are published; the largest number there is where that does not fit: such plans are refused before anything is
    /// counted.
    pub fn values(&self, frame: &Frame) -> usize {
        self.checked_values(frame).and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX)
    }

    /// Whether a plan over these levels may hold it, whose cuboid is made of levels in use: the error says why not.
    pub(crate) fn check(&self, levels: &[Vec<u8>], cube: &Cube, frame: &Frame) -> Result<(), String> {
        of_kind!(self, it, K::check(it, levels, cube, frame))
    }

    /// Refuses one that is larger than any may be, or that holds nothing.
    pub(crate) fn check_size(&self, frame: &Frame) -> Result<(), &'static str> {
        if limits::cells(frame, self.cuboid()).is_none_or(|n| n > self.most_cells()) {
            return Err("a measured table has more cells than any may have");
        }
        match self.checked_values(frame) {
            None => Err("a measurement has more values than any may have"),
            Some(0) => Err("a measurement has no values"),
            Some(n) if n > limits::MAX_VALUES => Err("a measurement has more values than any may have"),
            Some(_) => Ok(()),
        }
    }

    /// From the table's counts to the integers that noise is added to. `None` on overflow.
    pub fn apply<T: Integer>(&self, frame: &Frame, counts: Vec<T>) -> Option<Vec<T>> {
        of_kind!(self, it, K::apply(it, frame, counts))
    }

    /// From the noisy integers to those that are published. `None` on overflow.
    pub fn publish<T: Integer>(&self, frame: &Frame, noisy: Vec<T>) -> Option<Vec<T>> {
        // Of a slice whose nodes have no siblings nothing is.
        if self.checked_values(frame) == Some(0) {
            return Some(Vec::new());
        }
        of_kind!(self, it, K::publish(it, frame, noisy))
    }

    /// How far one row moves the integers at most: squared for Gaussian noise, in L1 for Laplace.
    pub fn sensitivity(&self, frame: &Frame, noise: Noise) -> Option<u128> {
        of_kind!(self, it, K::sensitivity(it, frame, noise))
    }

    /// Over plain dimensions the factors of the scalar product of two cells' columns: see [`Factors`].
    pub(crate) fn factors(&self, noise: Noise) -> Option<Factors> {
        of_kind!(self, _it, K::factors(noise))
    }

    /// The largest absolute value on the way from so many rows to what is published, where the noise is below `tail`.
    pub fn largest(&self, frame: &Frame, rows: u128, tail: u128) -> Option<u128> {
        of_kind!(self, it, K::largest(it, frame, rows, tail))
    }

    /// For each coefficient of an answer on this frame, how many independent noises it stands for.
    pub(crate) fn copies(&self, frame: &Frame) -> Vec<u64> {
        of_kind!(self, it, K::copies(it, frame))
    }

    /// How many coefficients an answer may have on this frame.
    pub(crate) fn noises(&self, frame: &Frame) -> usize {
        of_kind!(self, it, K::noises(it, frame))
    }

    /// The integers that stand for one unit of a component measured by itself.
    pub fn unit(&self, frame: &Frame) -> Option<f64> {
        of_kind!(self, it, K::unit(it, frame))
    }

    /// Of the weights of a component's cells keeps those of the cells that noise is drawn for.
    pub(crate) fn keep_drawn(&self, frame: &Frame, weights: &mut [f64]) {
        of_kind!(self, it, K::keep_drawn(it, frame, weights));
    }

    /// What the noise's variance is divided by in the `σ_A²` of a component measured by itself. `None` for other kinds.
    pub fn divisor(&self, frame: &Frame) -> Option<f64> {
        of_kind!(self, it, K::divisor(it, frame))
    }
}
