//! What a kind of measurement answers about itself.

use crate::cube::{Cube, Cuboid, Frame, Integer};
use crate::plan::{Noise, limits};

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
pub(crate) type Factors = fn(i128) -> (i128, i128);

/// What a kind of measurement knows about itself. `Data` is what a plan stores of it.
pub(super) trait Kind {
    type Data;
    /// What people call it.
    const NAME: &'static str;
    /// How it enters least squares.
    const FORM: Form;
    /// Whether two rows in different cells may move one of the integers in opposite directions: then changing a row can cost more
    /// than adding and removing one.
    const SIGNED: bool;
    /// Whether its noise must count squares, so that nothing is known of what it costs under Laplace noise.
    const SQUARES: bool = false;
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
    fn apply<T: Integer>(data: &Self::Data, frame: &Frame, counts: Vec<T>) -> Option<Vec<T>>;

    /// From the noisy integers to those that are published: post-processing, which costs nothing. `None` on overflow.
    fn publish<T: Integer>(_data: &Self::Data, _frame: &Frame, noisy: Vec<T>) -> Option<Vec<T>> {
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

/// The number of contrasts of a component.
pub(super) fn contrasts(cuboid: &Cuboid, frame: &Frame) -> Option<u64> {
    cuboid.iter().try_fold(1u64, |n, level| {
        let rung = frame.rung(level);
        n.checked_mul(rung.real_len().checked_sub(rung.siblings.len() as u64)?)
    })
}
