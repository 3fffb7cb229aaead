//! Kinds of measurements: what of a table is measured as one group of linear queries.
//!
//! A closed list, because accounting must be complete: nobody plugs in a kind whose cost is not proved. Everything this
//! program knows of a kind stands in its file, behind one private trait: how many integers it has, whether a plan may hold it, how counts
//! become those integers, how far a unit moves them, and what recovery may assume. The rest of the house asks a [`Block`].
//!
//! To add a kind: a file here, a line in `blocks!`, and a format tag in `release::wire`.

mod based;
mod component;
mod pairs;
mod rows;
mod table;
mod walsh;

pub use based::Based;
pub use component::{component_norm, component_scale};
pub use rows::Rows;

use super::{Noise, limits};
use crate::cube::{Cube, Cuboid, Frame};

/// How a measurement enters least squares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// A component by itself.
    Component,
    /// A whole table.
    Table(Seen),
    /// Any linear queries of one table.
    Rows,
    /// A component by itself, in bases of its dimensions.
    Based,
}

/// What of a table was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Seen {
    /// Its cells.
    Cells,
    /// Its Walsh–Hadamard coefficients: see [`crate::cube::walsh`]. Never on lumped axes.
    Walsh,
}

/// For a dimension of n categories: the factor of the scalar product of two cells' columns where they agree, and where they differ.
pub type Factors = fn(i128) -> (i128, i128);

/// What a kind of measurement knows about itself. `Data` is what a plan stores of it.
trait Kind {
    type Data;
    /// What people call it.
    const NAME: &'static str;
    /// How it enters least squares.
    const FORM: Form;
    /// Whether two rows in different cells may move one of the integers in opposite directions: then changing a row can cost more
    /// than adding and removing one.
    const SIGNED: bool;
    /// Whether the integers are alike under every exchange of siblings, so that nodes which a query cannot tell apart may be lumped.
    const LUMPS: bool;

    /// The same of one dimension, where it is not the same of all.
    fn lumps(_data: &Self::Data, _dimension: usize) -> bool {
        Self::LUMPS
    }

    /// The cuboid whose table the queries are about.
    fn cuboid(data: &Self::Data) -> &Cuboid;

    /// The most cells its table may have.
    const MOST_CELLS: u64 = limits::MAX_CELLS;

    /// How many integers are published. `None` when that does not fit. All levels must be in use.
    fn values(data: &Self::Data, frame: &Frame) -> Option<u64>;

    /// Whether a plan over these levels may hold it: the error says why not.
    fn check(_data: &Self::Data, _levels: &[Vec<u8>], _cube: &Cube, _frame: &Frame) -> Result<(), String> {
        Ok(())
    }

    /// From the table's counts to the integers that noise is added to. `None` on overflow.
    fn apply(data: &Self::Data, frame: &Frame, counts: Vec<i64>) -> Option<Vec<i64>>;

    /// From the noisy integers to those that are published: post-processing, which costs nothing. `None` on overflow.
    fn publish(_data: &Self::Data, _frame: &Frame, noisy: Vec<i64>) -> Option<Vec<i64>> {
        Some(noisy)
    }

    /// How far one row moves the integers at most: squared for Gaussian noise, in L1 for Laplace. `None` when that does not fit,
    /// or when the kind is not measured with this noise.
    fn sensitivity(data: &Self::Data, frame: &Frame, noise: Noise) -> Option<u128>;

    /// Over plain dimensions the scalar product of the columns of two cells is a product: for a dimension of n categories its factor
    /// where the cells agree, and where they differ. `None` where there is no such closed form.
    fn factors(noise: Noise) -> Option<Factors>;

    /// The largest absolute value on the way from so many rows to what is published, where the noise is below `tail`. `None` when it
    /// does not fit 128 bits.
    fn largest(_data: &Self::Data, _frame: &Frame, rows: u128, tail: u128) -> Option<u128> {
        rows.checked_add(tail)
    }

    /// How many independent noises there are, for each coefficient of an answer on this (perhaps lumped) frame.
    fn copies(data: &Self::Data, frame: &Frame) -> Vec<u64> {
        frame.multiplicity(Self::cuboid(data))
    }

    /// How many coefficients an answer may have: the length of [`Kind::copies`], saturating.
    fn noises(data: &Self::Data, frame: &Frame) -> usize {
        let shape = frame.shape(Self::cuboid(data));
        shape.iter().try_fold(1usize, |n, &s| n.checked_mul(s)).unwrap_or(usize::MAX)
    }

    /// For a component measured by itself: the integers that stand for one unit of it. `None` when they do not fit, and for all
    /// other kinds.
    fn unit(_data: &Self::Data, _frame: &Frame) -> Option<f64> {
        None
    }

    /// Of the weights of a component's cells keeps those of the cells that noise is drawn for.
    fn keep_drawn(_data: &Self::Data, _frame: &Frame, _weights: &mut [f64]) {}

    /// For a component measured by itself: what a noise's variance is divided by in `σ_A²`.
    fn divisor(data: &Self::Data, frame: &Frame) -> Option<f64> {
        Self::unit(data, frame).map(|unit| unit * unit)
    }
}

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
    pub const fn kind(&self) -> &'static str {
        of_kind!(self, _it, K::NAME)
    }

    /// How it enters least squares.
    pub const fn form(&self) -> Form {
        of_kind!(self, _it, K::FORM)
    }

    /// Whether two rows may move one of its integers in opposite directions.
    pub const fn is_signed(&self) -> bool {
        of_kind!(self, _it, K::SIGNED)
    }

    /// Whether nodes of a dimension that a query cannot tell apart may be lumped.
    pub fn lumps(&self, dimension: usize) -> bool {
        of_kind!(self, it, K::lumps(it, dimension))
    }

    /// The most cells its table may have.
    pub const fn most_cells(&self) -> u64 {
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
    pub fn check(&self, levels: &[Vec<u8>], cube: &Cube, frame: &Frame) -> Result<(), String> {
        of_kind!(self, it, K::check(it, levels, cube, frame))
    }

    /// From the table's counts to the integers that noise is added to. `None` on overflow.
    pub fn apply(&self, frame: &Frame, counts: Vec<i64>) -> Option<Vec<i64>> {
        of_kind!(self, it, K::apply(it, frame, counts))
    }

    /// From the noisy integers to those that are published. `None` on overflow.
    pub fn publish(&self, frame: &Frame, noisy: Vec<i64>) -> Option<Vec<i64>> {
        of_kind!(self, it, K::publish(it, frame, noisy))
    }

    /// How far one row moves the integers at most: squared for Gaussian noise, in L1 for Laplace.
    pub fn sensitivity(&self, frame: &Frame, noise: Noise) -> Option<u128> {
        of_kind!(self, it, K::sensitivity(it, frame, noise))
    }

    /// Over plain dimensions the factors of the scalar product of two cells' columns: see [`Factors`].
    pub fn factors(&self, noise: Noise) -> Option<Factors> {
        of_kind!(self, _it, K::factors(noise))
    }

    /// The largest absolute value on the way from so many rows to what is published, where the noise is below `tail`.
    pub fn largest(&self, frame: &Frame, rows: u128, tail: u128) -> Option<u128> {
        of_kind!(self, it, K::largest(it, frame, rows, tail))
    }

    /// For each coefficient of an answer on this frame, how many independent noises it stands for.
    pub fn copies(&self, frame: &Frame) -> Vec<u64> {
        of_kind!(self, it, K::copies(it, frame))
    }

    /// How many coefficients an answer may have on this frame.
    pub fn noises(&self, frame: &Frame) -> usize {
        of_kind!(self, it, K::noises(it, frame))
    }

    /// The integers that stand for one unit of a component measured by itself.
    pub fn unit(&self, frame: &Frame) -> Option<f64> {
        of_kind!(self, it, K::unit(it, frame))
    }

    /// Of the weights of a component's cells keeps those of the cells that noise is drawn for.
    pub fn keep_drawn(&self, frame: &Frame, weights: &mut [f64]) {
        of_kind!(self, it, K::keep_drawn(it, frame, weights));
    }

    /// What the noise's variance is divided by in the `σ_A²` of a component measured by itself. `None` for other kinds.
    pub fn divisor(&self, frame: &Frame) -> Option<f64> {
        of_kind!(self, it, K::divisor(it, frame))
    }
}

/// The number of contrasts of a component.
fn contrasts(cuboid: &Cuboid, frame: &Frame) -> Option<u64> {
    cuboid.iter().try_fold(1u64, |n, level| {
        let rung = frame.rung(level);
        n.checked_mul(rung.real_len().checked_sub(rung.siblings.len() as u64)?)
    })
}
