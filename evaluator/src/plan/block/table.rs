//! Every cell of a cuboid's table.

use super::kind::{Factors, Form, Kind, Seen};
use crate::cube::{Cuboid, Frame, Integer};
use crate::plan::{Noise, limits};

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

    fn values(data: &Cuboid, frame: &Frame) -> Option<u64> {
        limits::cells(frame, data)
    }

    fn apply<T: Integer>(_: &Cuboid, _: &Frame, counts: Vec<T>) -> Option<Vec<T>> {
        Some(counts)
    }

    /// A row is in one cell.
    fn sensitivity(_: &Cuboid, _: &Frame, _: Noise) -> Option<u128> {
        Some(1)
    }

    /// Two rows are in different cells, or in the same.
    fn factors(_: Noise) -> Option<Factors> {
        Some(|_| (1, 0))
    }
}
