//! How many parts the tables of a workload come apart into, and the memory that planning takes for them: known before anything is planned.
//!
//! A table of `d` dimensions is the sum of its components below, `2^d` where each dimension is told at one level, more where coarser levels are in use.
//! Planning lists them all.

use crate::cube::{Cube, Frame};
use crate::plan::Table;

/// The most parts of one table.
pub(super) const MOST_PARTS: f64 = (1u64 << 21) as f64;

/// For each table how many parts it has.
fn parts<'a>(cube: &Cube, workload: &'a [Table]) -> impl Iterator<Item = (&'a Table, f64)> {
    let levels = Frame::levels_of(cube, workload.iter().map(|t| &t.cuboid));
    workload.iter().map(move |table| {
        let of = |dim: usize, level: usize| {
            levels.get(dim).map_or(1, |used| used.iter().filter(|&&l| usize::from(l) <= level).count())
        };
        (table, table.cuboid.iter().map(|at| of(at.dimension, at.level) as f64).product())
    })
}

/// A table of too many parts to plan, and how many it has.
pub(super) fn too_many<'a>(cube: &Cube, workload: &'a [Table]) -> Option<(&'a Table, f64)> {
    parts(cube, workload).find(|(_, parts)| *parts > MOST_PARTS)
}

/// About how many bytes planning takes for the parts of the largest table: each is named twice, and all of them are listed.
pub(crate) fn memory(cube: &Cube, workload: &[Table]) -> u64 {
    let of = |(table, parts): (&Table, f64)| parts * (64 + 56 * table.cuboid.len()) as f64;
    parts(cube, workload).map(of).fold(0.0, f64::max) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::{Categories, Cuboid, Dimension};
    use crate::exact::Rational;

    /// As many as a frame lists, of two plain dimensions and one with a level above.
    #[test]
    fn as_many_as_there_are() {
        let plain =
            |name: &str, n: usize| Dimension::plain(name, (0..n).map(|label| label.to_string()).collect());
        let mut grouped = plain("c", 6);
        grouped.levels[1].parent = vec![0, 0, 1, 1, 2, 2];
        let labels = (0..3).map(|label| format!("g{label}")).collect();
        let group = Categories { name: "group".into(), labels, parent: vec![0; 3], bounds: Vec::new() };
        grouped.levels.insert(1, group);
        let cube = Cube { dimensions: vec![plain("a", 4), plain("b", 2), grouped] };
        let of = |levels: &[(usize, usize)]| Table::new(Cuboid::new(levels.iter().copied()), Rational::ONE);
        let workload = [of(&[(0, 1), (1, 1), (2, 2)]), of(&[(2, 1)]), of(&[])];
        let frame = Frame::new(&cube, &Frame::levels_of(&cube, workload.iter().map(|t| &t.cuboid)));
        let counted: Vec<f64> = parts(&cube, &workload).map(|(_, parts)| parts).collect();
        assert_eq!(counted, [12.0, 2.0, 1.0]);
        for (table, parts) in parts(&cube, &workload) {
            assert_eq!(parts, frame.below(&table.cuboid).len() as f64);
        }
        assert!(too_many(&cube, &workload).is_none() && memory(&cube, &workload) > 0);
        let wide = Cube { dimensions: (0..22).map(|i| plain(&i.to_string(), 2)).collect() };
        let all = [of(&(0..22).map(|i| (i, 1)).collect::<Vec<_>>())];
        assert_eq!(too_many(&wide, &all).map(|(_, parts)| parts), Some(4194304.0));
    }
}
