//! What a projection tells: for every figure of every row the cells of the key that it sums up.

use super::Questions;
use crate::answer::error::QueryError;
use crate::answer::tell::open::Answers;
use crate::answer::tell::{Errors, Family, Teller, Told};
use crate::cube::{Cube, Filter, Level, odometer};
use crate::joint::JointLaw;
use crate::projection::Shape;
use crate::projection::Sums;
use crate::projection::answer::Estimator;
use crate::projection::key::{Part, text_code};
use crate::projection::weighted::Weighed;
use crate::render::{Caveat, Cuts};
use crate::sql::Aggregate;
use std::collections::HashMap;
use std::sync::Arc;

/// The most rows of an answer.
const MOST_ROWS: u64 = 1 << 20;

/// A projection, asked one query.
pub(crate) struct Keyed<'a> {
    questions: &'a Questions,
    /// The key's dimensions as the query knows them.
    cube: Cube,
    /// For each part of the key that can be any text the codes of those that the query names.
    codes: Vec<Option<Vec<u64>>>,
    estimator: Estimator,
}

/// Nodes of one dimension by the class that a filter has them in.
type Classed = Vec<(usize, Vec<u32>)>;

/// For a figure and a dimension, within a node of its group or in all, the nodes by their classes.
type Sides = HashMap<(usize, usize, Option<u32>), Arc<Classed>>;

impl<'a> Keyed<'a> {
    pub(super) fn new(questions: &'a Questions, cube: Cube, estimator: Estimator) -> Keyed<'a> {
        let of = |(part, dimension): (&Part, &crate::cube::Dimension)| {
            let texts = || dimension.levels.last().map_or(&[][..], |l| &l.labels);
            (*part == Part::Text).then(|| texts().iter().map(|t| text_code(t.as_bytes())).collect())
        };
        let codes = questions.key.parts().iter().zip(&cube.dimensions).map(of).collect();
        Keyed { questions, cube, codes, estimator }
    }

    /// The nodes of a dimension, all or those within one of a level, by their classes.
    fn classed(&self, filter: &Filter, dimension: usize, within: Option<&[u32]>) -> Classed {
        let all = self.cube.dimensions[dimension].levels.last().map_or(0, |l| l.len()) as u32;
        let nodes: Vec<u32> = within.map_or_else(|| (0..all).collect(), <[u32]>::to_vec);
        let Some(classes) = filter.classes(dimension) else { return vec![(0, nodes)] };
        let mut by = vec![Vec::new(); classes.classes as usize];
        for node in nodes {
            by[classes.class_of[node as usize] as usize].push(node);
        }
        by.into_iter().enumerate().filter(|(_, nodes)| !nodes.is_empty()).collect()
    }

    /// The cells that a filter weighs, from the nodes of each dimension. They are counted before any is listed.
    fn cells(&self, filter: &Filter, sides: &[Arc<Classed>]) -> Result<Vec<Weighed>, QueryError> {
        let (mut weighed, mut cells) = (Vec::new(), 0u64);
        let mut pick = vec![0u32; sides.len()];
        loop {
            let of = || sides.iter().zip(&pick).filter_map(|(side, &at)| side.get(at as usize));
            let at = filter.dims.iter().fold(0, |at, d| {
                let class = sides[d.dim].get(pick[d.dim] as usize).map_or(0, |(class, _)| *class);
                at * d.classes as usize + class
            });
            let weight = filter.weights.get(at).copied().unwrap_or(0.0);
            let nodes: Vec<&[u32]> = of().map(|(_, nodes)| &nodes[..]).collect();
            if weight != 0.0 && nodes.len() == sides.len() {
                for ((codes, nodes), dimension) in self.codes.iter().zip(&nodes).zip(&self.cube.dimensions) {
                    let other = codes.as_ref().map(|codes| codes.len() as u32 - 1);
                    if other.is_some() && nodes.last().copied() == other {
                        return Err(QueryError::AnyText(dimension.name.clone()));
                    }
                }
                let size = nodes.iter().fold(1u64, |n, side| n.saturating_mul(side.len() as u64));
                cells = cells.saturating_add(size);
                weighed.push((weight, nodes));
            }
            if !odometer::next(&mut pick, |i| sides[i].len()) {
                break;
            }
        }
        let most = self.questions.projected.projection().design.sparsity;
        if cells > u64::from(most) {
            return Err(QueryError::TooManyCells { cells, most });
        }
        let mut out = Vec::with_capacity(cells as usize);
        for (weight, nodes) in weighed {
            let mut pick = vec![0u32; nodes.len()];
            loop {
                let code = |((side, &at), codes): ((&&[u32], &u32), &Option<Vec<u64>>)| {
                    let node = side[at as usize];
                    codes.as_ref().map_or(u64::from(node), |codes| codes[node as usize])
                };
                let codes: Vec<u64> = nodes.iter().zip(&pick).zip(&self.codes).map(code).collect();
                out.push((self.questions.key.cell(&codes), weight));
                if !odometer::next(&mut pick, |i| nodes[i].len()) {
                    break;
                }
            }
        }
        Ok(out)
    }

    /// For each level of groups the finest nodes within each of its nodes.
    fn within(&self, group_by: &[Level]) -> Vec<Vec<Vec<u32>>> {
        let of = |level: &Level| {
            let dimension = &self.cube.dimensions[level.dimension];
            let mut within = vec![Vec::new(); dimension.levels[level.level].len()];
            let up = dimension.ancestors(dimension.finest(), level.level);
            for (finest, node) in up.into_iter().enumerate() {
                within[node as usize].push(finest as u32);
            }
            within
        };
        group_by.iter().map(of).collect()
    }
}

impl Teller for Keyed<'_> {
    fn cube(&self) -> &Cube {
        &self.cube
    }

    fn releases(&self) -> Vec<&Answers> {
        Vec::new()
    }

    fn cuts(&self) -> Cuts {
        Cuts::of(&self.questions.manifest().about)
    }

    fn errors(&self) -> Errors {
        match self.questions.projected.projection().design.shape {
            Shape::Dense { .. } => Errors::Normal,
            Shape::Sketch { .. } => Errors::Rows,
        }
    }

    fn caveats(&self) -> Vec<Caveat> {
        self.questions.caveats()
    }

    fn most_rows(&self) -> u64 {
        MOST_ROWS
    }

    fn tell(&self, family: &Family) -> Result<Vec<Told>, QueryError> {
        let within = self.within(family.group_by);
        let mut sides = Sides::new();
        // A total is the same for many rows.
        let mut known: HashMap<(usize, Vec<Option<u32>>), Arc<Vec<Weighed>>> = HashMap::new();
        let mut figure = |at: usize, figure: &Aggregate, nodes: &[u32]| {
            let kept = |i: usize| figure.keeps(i).then(|| nodes[i]);
            let kept: Vec<Option<u32>> = (0..nodes.len()).map(kept).collect();
            if let Some(cells) = known.get(&(at, kept.clone())) {
                return Ok(cells.clone());
            }
            let side = |dimension: usize| {
                let group = family.group_by.iter().position(|level| level.dimension == dimension);
                let node = group.and_then(|i| Some((i, kept[i]?)));
                let side = sides.entry((at, dimension, node.map(|(_, node)| node)));
                let nodes = node.map(|(i, node)| &within[i][node as usize][..]);
                side.or_insert_with(|| Arc::new(self.classed(&figure.filter, dimension, nodes))).clone()
            };
            let sides: Vec<Arc<Classed>> = (0..self.cube.dimensions.len()).map(side).collect();
            let cells = Arc::new(self.cells(&figure.filter, &sides)?);
            known.insert((at, kept), cells.clone());
            Ok(cells)
        };
        let row = |nodes: &Vec<u32>| {
            let figures = family.figures.iter().enumerate().map(|(at, own)| figure(at, own, nodes));
            let figures: Vec<_> = figures.collect::<Result<_, QueryError>>()?;
            let sums =
                Sums { projected: self.questions.projected.clone(), estimator: self.estimator, figures };
            Ok(Told::new(nodes.clone(), Vec::new(), Arc::new(JointLaw::of_sums(sums))))
        };
        family.rows.iter().map(row).collect()
    }
}
