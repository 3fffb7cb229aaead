//! Figures of a few nodes of a table that is too large to be kept: only what hangs beside these nodes is recovered.

use super::Evaluator;
use super::part::{Part, Reach};
use crate::answer::error::AnswerError;
use crate::cube::{Axis, Cuboid, Frame, Numbers};
use crate::recover::Source;
use std::collections::HashSet;

/// The figures of every combination of groups, and the strides of the grouped levels.
pub(super) type Sums = (Vec<usize>, Vec<f64>);

impl<S: Source> Evaluator<S> {
    /// What [`Evaluator::sums`] says of these rows, from a table of at most so many cells on which what neither a filter nor a row of the answer
    /// tells apart is one node; `exact`, but for what has a part in a row: then each sum is that of the same numbers, to the last bit. `None` where it would be larger, or where parts of a table do not follow from parts of what was measured.
    pub(super) fn near(
        &self,
        part: &Part,
        sizes: &[usize],
        rows: &[Vec<u32>],
        (most, exact): (usize, bool),
    ) -> Result<Option<Sums>, AnswerError> {
        let whole = self.recovery.frame();
        let mut axes: Vec<Axis> = Vec::with_capacity(whole.axes.len());
        let mut reaches = Vec::with_capacity(part.reaches.len());
        for (dim, axis) in whole.axes.iter().enumerate() {
            let Some(at) = part.reaches.iter().position(|r| r.dim == dim) else {
                axes.push(Axis { rungs: vec![axis.rungs[0].clone()] });
                continue;
            };
            let reach = &part.reaches[at];
            // Without groups of siblings there is nothing that could stay together; the rows of a basis are of all nodes.
            if axis.rungs.len() < 3 || self.recovery.has_basis(dim) {
                axes.push(axis.clone());
                reaches.push(reach.over(None));
                continue;
            }
            let rung = axis.rung(reach.level).unwrap_or(0);
            let mut colour = colours(part, at, rows);
            if exact {
                colour.iter_mut().zip(1..).filter(|(c, _)| **c > 0).for_each(|(c, own)| *c = own);
            }
            let (pruned, _) = self.recovery.prune(dim, rung, &colour, 0);
            reaches.push(reach.over(Some(pruned.rungs[rung].stands_for())));
            axes.push(pruned);
        }
        let frame = Frame { axes };
        if frame.len(&part.cuboid) > most {
            return Ok(None);
        }
        let Some(mut table) = self.recovery.near(&frame, &part.cuboid)? else { return Ok(None) };
        debug_assert_eq!(table.len(), frame.len(&part.cuboid), "each cell of the frame has its own");
        // From what a node has to the sum of what it stands for.
        table.iter_mut().zip(frame.times(&part.cuboid)).for_each(|(v, n)| *v *= n);
        let near = Part { filter: part.filter, cuboid: Cuboid::clone(&part.cuboid), reaches };
        Ok(Some(Self::sums(&near, &table, sizes)))
    }
}

/// For each node of a dimension 0 where it has a part in no figure of these rows; otherwise its class and its group, as one number.
fn colours(part: &Part, at: usize, rows: &[Vec<u32>]) -> Vec<u32> {
    let reach = &part.reaches[at];
    let used = part.used(at);
    let wanted: Option<HashSet<u32>> = reach.group.map(|i| rows.iter().map(|row| row[i]).collect());
    let mut known = Numbers::default();
    let colour = |(&class, &group): (&u32, &u32)| {
        let asked = wanted.as_ref().is_none_or(|wanted| wanted.contains(&group));
        if asked && used[class as usize] { 1 + known.of((class, group), || ()) } else { 0 }
    };
    reach.class_of.iter().zip(&reach.group_of).map(colour).collect()
}

impl Reach {
    /// The same of these nodes alone.
    fn over(&self, nodes: Option<&[u32]>) -> Reach {
        let of = |all: &[u32]| match nodes {
            None => all.to_vec(),
            Some(nodes) => nodes.iter().map(|&node| all[node as usize]).collect(),
        };
        let known = nodes.unwrap_or_default().to_vec();
        Reach { class_of: of(&self.class_of), group_of: of(&self.group_of), nodes: known, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::super::part::Few;
    use super::*;
    use crate::cube::{Categories, Cube, Dimension, Filter, Integers, Level};
    use crate::exact::Rational;
    use crate::plan::slices::Slices;
    use crate::plan::{
        Based, Basis, Block, BudgetRule, Channel, Measure, Measurement, Neighbours, NodeWeights, Noise, Plan,
        Table, Telling,
    };
    use crate::recover::{Recovery, SourceError};
    use crate::sql::Aggregate;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Numbers in memory, of which each measurement that can be is cut into slices of a few cells, and read by these alone.
    struct Cut {
        values: Vec<Vec<i64>>,
        cuts: Vec<Option<(Arc<Slices>, Vec<Vec<i64>>)>>,
        whole: bool,
    }

    impl Source for Cut {
        fn values(&self, index: usize) -> Result<Integers, SourceError> {
            match &self.cuts[index] {
                Some(_) if !self.whole => Err(SourceError("nobody holds it whole".into())),
                _ => Ok(self.values[index].clone().into()),
            }
        }

        fn slices(&self, index: usize) -> Option<Arc<Slices>> {
            self.cuts[index].as_ref().map(|(cut, _)| cut.clone())
        }

        fn slice(&self, index: usize, slice: usize) -> Result<Integers, SourceError> {
            Ok(self.cuts[index].as_ref().unwrap().1[slice].clone().into())
        }
    }

    /// Areas of three levels whose groups lie scattered, between two plain dimensions.
    fn cube() -> Cube {
        let labels = |n: usize| (0..n).map(|v| v.to_string()).collect::<Vec<_>>();
        let level = |name: &str, parent: Vec<u32>| Categories {
            name: name.into(),
            labels: labels(parent.len()),
            parent,
            bounds: Vec::new(),
        };
        let tracts: Vec<u32> = (0..9u32).map(|t| t * 5 % 3).collect();
        let blocks: Vec<u32> = (0..47u32).map(|b| (b * b + 3 * b) % 9).map(|t| t.min(8)).collect();
        // Every tract has a block.
        let blocks: Vec<u32> = (0..9).chain(blocks).collect();
        let levels = vec![
            Categories::total(),
            level("county", vec![0; 3]),
            level("tract", tracts),
            level("area", blocks),
        ];
        let area = Dimension::new("area", levels);
        Cube { dimensions: vec![Dimension::plain("a", labels(3)), area, Dimension::plain("b", labels(2))] }
    }

    /// A plan of all components of the one table, told evenly, by weights, by such that components with the last dimension have for themselves, or by a basis of
    /// the finest areas.
    fn plan(cube: &Cube, weighted: u8, factors: &[u32]) -> Plan {
        let levels = vec![vec![0, 1], vec![0, 1, 2, 3], vec![0, 1]];
        let frame = Frame::new(cube, &levels);
        let finest = Cuboid::new(vec![(0, 1), (1, 3), (2, 1)]);
        let weights = |level: usize, from: usize| {
            let rung = frame.rung(Level::new(1, level));
            let alone = |v: usize| rung.siblings[rung.parent[v] as usize] == 1;
            let own = (0..rung.len()).map(|v| if alone(v) { 1 } else { factors[(v + from) % factors.len()] });
            Arc::new(NodeWeights::new(rung.parent.to_vec(), own.collect()).unwrap())
        };
        let told = |from: usize| -> Vec<Arc<NodeWeights>> { (1..4).map(|l| weights(l, from)).collect() };
        let told = [told(0), told(2)];
        let rung = frame.rung(Level::new(1, 3));
        let first = |v: usize| rung.parent.iter().position(|p| *p == rung.parent[v]).unwrap();
        let row = |v: usize| -> Vec<i32> {
            let mut row = vec![0; rung.len()];
            (row[v], row[first(v)]) = (factors[v % factors.len()] as i32, -1);
            row
        };
        let rows = (0..rung.len()).filter(|&v| first(v) != v).flat_map(row).collect();
        let basis = Arc::new(Basis::new(rung.parent.to_vec(), rows).unwrap());
        let block = |a: Cuboid| match a.level(1) {
            level if weighted > 0 && level > 0 => {
                let kind = usize::from(weighted == 2 && a.level(2) > 0);
                let way = |d: usize| match (d, weighted) {
                    (1, 3) if level == 3 => Telling::Basis(basis.clone()),
                    (1, 1 | 2) => Telling::Weights(told[kind][level - 1].clone()),
                    _ => Telling::Siblings,
                };
                let axes = a.iter().map(|at| way(at.dimension)).collect();
                Block::Based(Based { cuboid: a, axes })
            }
            _ => Block::Component(a),
        };
        let measured = |a: Cuboid| Measurement { block: block(a), scale: Rational::whole(3) };
        let measurements = frame.below(&finest).into_iter().map(measured).collect();
        Plan {
            noise: Noise::Gaussian,
            budget: Rational::ONE,
            neighbours: Neighbours::AddRemove,
            max_rows: 1,
            measure: Measure::Residual,
            budgets: BudgetRule::Optimal,
            levels,
            channels: vec![Channel::rows(vec![Table::new(finest, Rational::ONE)], measurements)],
            exact: Vec::new(),
            zeros: Vec::new(),
            copy: None,
        }
    }

    proptest! {
        /// What few nodes say is what the whole table says of them: with even shares and with weights, of measurements that are cut and of such that are not,
        /// and nothing is read whole that is cut.
        #[test]
        fn as_if_the_whole_table_were_there(
            weighted in 0u8..4,
            factors in prop::collection::vec(1u32..4, 7),
            drawn in prop::collection::vec(-40i64..90, 400),
            most in prop_oneof![8u64..60, Just(u64::MAX)],
            mixed in prop::collection::vec(0u32..3, 56),
            whole_counties in prop::collection::vec(any::<bool>(), 3),
            weight in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), Just(-2.5)], 9),
            grouped in prop_oneof![Just(None), (1usize..4).prop_map(Some)],
            picked in prop::collection::vec(0u32..56, 1..6),
        ) {
            let cube = cube();
            let plan = plan(&cube, weighted, &factors);
            let frame = Frame::new(&cube, &plan.levels);
            let (mut values, mut cuts) = (Vec::new(), Vec::new());
            for m in &plan.rows().measurements {
                let cut = m.block.slices_of(&frame, most);
                let mut own = vec![0; m.block.values(&frame)];
                let draw = |n: usize, from: usize| -> Vec<i64> { (0..n).map(|i| drawn[(i * 7 + from) % 400]).collect() };
                cuts.push(match cut {
                    None => {
                        own = draw(own.len(), m.block.cuboid().len());
                        None
                    }
                    Some(cut) => {
                        let each: Vec<Vec<i64>> = (0..cut.count()).map(|s| draw(cut.values(s), s * 11)).collect();
                        each.iter().enumerate().for_each(|(s, values)| cut.put(s, values, &mut own));
                        Some((cut, each))
                    }
                });
                values.push(own);
            }
            let evaluator = |whole: bool| {
                let source = Cut { values: values.clone(), cuts: cuts.clone(), whole };
                Evaluator::new(Recovery::new(cube.clone(), plan.clone(), source).unwrap())
            };
            // Of some counties all areas are alike, whatever hangs below their tracts.
            let area = &cube.dimensions[1];
            let counties = area.ancestors(3, 1);
            let class: Vec<u32> = counties.iter().zip(&mixed).map(|(&c, &own)| if whole_counties[c as usize] { mixed[c as usize] } else { own }).collect();
            let values_of = |n: u32| weight[n as usize % 9];
            let area: Vec<f64> = class.iter().map(|&c| values_of(c)).collect();
            let side: Vec<f64> = (0..3).map(|v| values_of(3 + v)).collect();
            let filter = Filter::values(1, &area).and(&Filter::values(0, &side)).unwrap();
            let group_by: Vec<Level> = grouped.iter().map(|&level| Level::new(1, level)).chain([Level::new(2, 1)]).collect();
            let sizes: Vec<usize> = group_by.iter().map(|level| level.of(&cube).len()).collect();
            let rows: Vec<Vec<u32>> = match grouped {
                None => vec![vec![0], vec![1]],
                Some(_) => picked.iter().map(|&n| vec![n % sizes[0] as u32, n % 2]).collect(),
            };
            let aggregate = Aggregate::rows(filter, None);
            let few = evaluator(false);
            let (strides, own) = few.near(&few.part(&aggregate, &group_by).unwrap(), &sizes, &rows, (usize::MAX, false)).unwrap().unwrap();
            let (_, exact) = few.near(&few.part(&aggregate, &group_by).unwrap(), &sizes, &rows, (usize::MAX, true)).unwrap().unwrap();
            let all = evaluator(true);
            let part = all.part(&aggregate, &group_by).unwrap();
            let (same, whole) = Evaluator::<Cut>::sums(&part, &all.summands(&part.cuboid).unwrap(), &sizes);
            // Numbered among the groups of the rows alone.
            let compact = Few::of(&rows, &sizes);
            let (numbered, lengths) = (compact.rows(&rows), compact.sizes());
            let part = few.part(&aggregate, &group_by).unwrap();
            let near = few.near(&part.among(&compact), &lengths, &numbered, (usize::MAX, false)).unwrap().unwrap();
            let part = all.part(&aggregate, &group_by).unwrap();
            let sums = Evaluator::<Cut>::sums(&part.among(&compact), &all.summands(&part.cuboid).unwrap(), &lengths);
            for (row, own_row) in rows.iter().zip(&numbered) {
                let at = |row: &[u32], strides: &[usize]| row.iter().zip(strides).map(|(&n, s)| n as usize * s).sum::<usize>();
                let known = whole[at(row, &strides)];
                for (strides, values) in [&near, &sums] {
                    let own = values[at(own_row, strides)];
                    prop_assert!((own - known).abs() <= 1e-9 * (1.0 + known.abs()), "{own} {known}");
                }
            }
            prop_assert_eq!(&strides, &same);
            for row in &rows {
                let at: usize = row.iter().zip(&strides).map(|(&n, s)| n as usize * s).sum();
                prop_assert_eq!(exact[at].to_bits(), whole[at].to_bits());
                prop_assert!((own[at] - whole[at]).abs() <= 1e-9 * (1.0 + whole[at].abs()), "{} {}", own[at], whole[at]);
            }
        }
    }
}
