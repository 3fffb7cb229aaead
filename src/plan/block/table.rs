//! Every cell of a cuboid's table.

use super::{Form, Kind, Seen};
use crate::cube::{Cuboid, Frame};
use crate::plan::Noise;

pub(super) struct Table;

impl Kind for Table {
    type Data = Cuboid;
    const NAME: &'static str = "table";
    const FORM: Form = Form::Table(Seen::Cells);
    const SIGNED: bool = false;
    const LUMPS: bool = true;

    fn cuboid(data: &Cuboid) -> &Cuboid {
        data
    }

    fn values(data: &Cuboid, frame: &Frame) -> Option<usize> {
        Some(frame.len(data))
    }

    fn apply(_: &Cuboid, _: &Frame, counts: Vec<i64>) -> Option<Vec<i64>> {
        Some(counts)
    }

    /// A row is in one cell.
    fn sensitivity(_: &Cuboid, _: &Frame, _: Noise) -> Option<u128> {
        Some(1)
    }

    /// Two rows are in different cells, or in the same.
    fn distance(data: &Cuboid, _: &Frame, _: Noise, differs: &dyn Fn(usize) -> bool) -> Option<u128> {
        Some(if data.iter().any(|(d, _)| differs(d)) { 2 } else { 0 })
    }
}
