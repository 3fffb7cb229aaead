//! The joint law of the errors of many groups of one answer.
//!
//! Each group alone is worked out over axes on which everything outside of it is lumped. For statements about all groups
//! together their errors must be combinations of the *same* noises, so here the nodes of all groups are told apart at
//! once, and only what no group and no condition tells apart is lumped.

use super::laws::joint_law;
use super::part::Part;
use super::{AnswerError, Evaluator};
use crate::answer::tell::joint::JointLaw;
use crate::cube::{Axis, Level};
use crate::recover::Source;
use crate::sql::Aggregate;
use std::collections::{BTreeMap, HashMap};

/// One dimension with all groups told apart.
struct Ladder {
    dim: usize,
    axis: Axis,
    /// For each rung one node of each lump.
    nodes: Vec<Vec<u32>>,
}

impl<S: Source> Evaluator<S> {
    /// The joint law of the errors of all aggregates in all of `rows`: each is of one of the portions, whose aggregates (as many in each)
    /// are taken, and has a node of every grouped level. Figure `i` of row `r` is number `r · aggregates + i`. `None` when that takes more
    /// than `most` coefficients.
    pub fn joint_rows(
        &self,
        portions: &[&[Aggregate]],
        group_by: &[Level],
        rows: &[(usize, &[u32])],
        most: usize,
    ) -> Result<Option<JointLaw>, AnswerError> {
        let aggregates = portions.first().map_or(0, |p| p.len());
        // Aggregate `i` of portion `p` is part `p · aggregates + i`.
        let of_all = portions.iter().copied().flatten();
        let parts: Vec<Part> = of_all.map(|a| self.part(a, group_by)).collect::<Result<_, _>>()?;
        let ladders: Vec<Ladder> = self
            .sides(&parts, group_by)
            .into_iter()
            .map(|side| {
                let axis = &self.recovery.frame().axes[side.dim];
                let at = axis.rung(side.level).unwrap_or(0);
                let mut known = HashMap::new();
                let colour: Vec<u32> = (side.colour.iter().zip(&side.group_of))
                    .map(|pair| {
                        let next = known.len() as u32;
                        *known.entry(pair).or_insert(next)
                    })
                    .collect();
                let (axis, nodes) = self.recovery.lump(side.dim, at, &colour);
                Ladder { dim: side.dim, axis, nodes }
            })
            .collect();
        let axes = ladders.iter().map(|l| (l.dim, l.axis.clone(), l.nodes.clone()));
        let lumped = self.recovery.lumped_frame(axes);
        let width = rows.len() * aggregates;
        let blocks = 0..self.recovery.plan().only().measurements.len();
        let noises: usize = blocks
            .map(|m| self.recovery.plan().only().measurements[m].block.noises(&lumped.frame))
            .fold(0, usize::saturating_add);
        // Over unequal groups, and beside structural zeros, every row takes a run of conjugate gradients.
        let simple = self.recovery.frame().is_balanced() && self.recovery.zeros().is_empty();
        let dear = if simple { 1 } else { 64 };
        if width.saturating_mul(noises).saturating_mul(dear) > most {
            return Ok(None);
        }
        let mut by_measurement: BTreeMap<usize, Vec<Vec<f64>>> = BTreeMap::new();
        for (at, part) in parts.iter().enumerate() {
            let (portion, column) = (at / aggregates, at % aggregates);
            // Totals over other groups are the same for many rows.
            let mut known: HashMap<Vec<u32>, Vec<usize>> = HashMap::new();
            for (r, (_, row)) in rows.iter().enumerate().filter(|(_, row)| row.0 == portion) {
                let own = part.reaches.iter().filter_map(|reach| row.get(reach.group?).copied()).collect();
                known.entry(own).or_default().push(r);
            }
            let mut kinds: Vec<_> = known.into_values().collect();
            kinds.sort_unstable();
            for same in kinds {
                let Some(&(_, row)) = same.first().and_then(|&r| rows.get(r)) else { continue };
                let query = whole_query(part, &ladders, row);
                for (measurement, coefficients) in self.recovery.coefficients(&lumped, &part.cuboid, query)? {
                    let cells = by_measurement
                        .entry(measurement)
                        .or_insert_with(|| vec![vec![0.0; width]; coefficients.len()]);
                    for (cell, c) in cells.iter_mut().zip(coefficients) {
                        for r in &same {
                            cell[r * aggregates + column] += c;
                        }
                    }
                }
            }
        }
        Ok(Some(joint_law(&self.recovery, &lumped.frame, by_measurement, vec![0.0; width])))
    }
}

/// A part's query for one row, on the lumps of its table.
fn whole_query(part: &Part, ladders: &[Ladder], row: &[u32]) -> Vec<f64> {
    part.query(|reach| {
        let ladder = ladders.iter().find(|l| l.dim == reach.dim)?;
        let rung = ladder.axis.rung(reach.level).unwrap_or(0);
        let inside = |node: u32| reach.group.is_none_or(|g| row.get(g) == reach.group_of.get(node as usize));
        Some(ladder.nodes[rung].iter().map(|&n| (n, inside(n))).collect())
    })
}
