//! The Walsh–Hadamard coefficients of a table: see [`crate::cube::walsh`].

use super::{Form, Kind, Seen, product_distance};
use crate::cube::{Cube, Cuboid, Frame, walsh};
use crate::plan::Noise;

pub(super) struct Walsh;

/// The most coefficients of one block.
const MOST_VALUES: u64 = 1 << 32;

impl Kind for Walsh {
    type Data = Cuboid;
    const NAME: &'static str = "coefficients";
    const FORM: Form = Form::Table(Seen::Walsh);
    const SIGNED: bool = true;
    const LUMPS: bool = false;

    fn cuboid(data: &Cuboid) -> &Cuboid {
        data
    }

    /// What does not fit is refused by the rule on a plan's size, before it is counted.
    fn values(data: &Cuboid, frame: &Frame) -> Option<usize> {
        usize::try_from(frame.walsh_len(data)?).ok()
    }

    fn check(data: &Cuboid, levels: &[Vec<u8>], _: &Cube, frame: &Frame) -> Result<(), String> {
        if !data.iter().all(|(d, l)| levels[d] == [0, l as u8]) {
            return Err("coefficients of a dimension with several levels in use".into());
        }
        match frame.walsh_len(data) {
            Some(n) if n <= MOST_VALUES => Ok(()),
            _ => Err(format!("a block has more than {MOST_VALUES} coefficients")),
        }
    }

    /// Sums of counts, still secret: noise is added to each.
    fn apply(data: &Cuboid, frame: &Frame, counts: Vec<i64>) -> Option<Vec<i64>> {
        frame.walsh(data, counts)
    }

    /// A row is in every coefficient, with one sign or the other.
    fn sensitivity(data: &Cuboid, frame: &Frame, _: Noise) -> Option<u128> {
        frame.walsh_len(data).map(u128::from)
    }

    fn distance(data: &Cuboid, frame: &Frame, noise: Noise, differs: &dyn Fn(usize) -> bool) -> Option<u128> {
        product_distance(data, frame, noise, differs, |n| (i128::from(walsh::padded(n as u64)) - 1, -1))
    }

    fn copies(data: &Cuboid, frame: &Frame) -> Vec<u64> {
        vec![1; Walsh::noises(data, frame)]
    }

    fn noises(data: &Cuboid, frame: &Frame) -> usize {
        Walsh::values(data, frame).unwrap_or(usize::MAX)
    }
}
