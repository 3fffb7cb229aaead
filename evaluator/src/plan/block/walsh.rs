//! The Walsh–Hadamard coefficients of a table: see [`crate::cube::walsh`].

use super::kind::{Factors, Form, Kind, Seen};
use crate::cube::{Cube, Cuboid, Frame, Integer, walsh};
use crate::plan::Noise;

pub(super) struct Walsh;

impl Kind for Walsh {
    type Data = Cuboid;
    const NAME: &'static str = "coefficients";
    const FORM: Form = Form::Table(Seen::Walsh);
    const SIGNED: bool = true;
    const LUMPS: bool = false;

    fn cuboid(data: &Cuboid) -> &Cuboid {
        data
    }

    /// A bit set in every dimension.
    fn values(data: &Cuboid, frame: &Frame) -> Option<u64> {
        data.iter().try_fold(1u64, |n, level| n.checked_mul(walsh::padded(frame.rung(level).real_len()) - 1))
    }

    fn check(data: &Cuboid, levels: &[Vec<u8>], _: &Cube, _: &Frame) -> Result<(), String> {
        match data.iter().all(|at| levels[at.dimension] == [0, at.level as u8]) {
            true => Ok(()),
            false => Err("coefficients of a dimension with several levels in use".into()),
        }
    }

    /// Sums of counts, still secret: noise is added to each.
    fn apply<T: Integer>(data: &Cuboid, frame: &Frame, counts: Vec<T>) -> Option<Vec<T>> {
        frame.walsh(data, counts)
    }

    /// A row is in every coefficient, with one sign or the other.
    fn sensitivity(data: &Cuboid, frame: &Frame, _: Noise) -> Option<u128> {
        frame.walsh_len(data).map(u128::from)
    }

    fn factors(_: Noise) -> Option<Factors> {
        Some(|n| (i128::from(walsh::padded(n as u64)) - 1, -1))
    }

    fn copies(data: &Cuboid, frame: &Frame) -> Vec<u64> {
        vec![1; Walsh::noises(data, frame)]
    }

    fn noises(data: &Cuboid, frame: &Frame) -> usize {
        Walsh::values(data, frame).and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX)
    }
}
