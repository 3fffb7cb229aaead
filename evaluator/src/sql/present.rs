//! Which groups are rows of an answer.

use crate::cube::{Cube, Filter, Level, odometer};

/// Which groups a condition leaves anything of: the others are no rows of the answer, as in SQL. This looks at the
/// query alone.
pub(crate) struct Present<'a> {
    filter: &'a Filter,
    /// For each dimension of the filter the classes of every group's nodes, and where the group's label stands;
    /// for a dimension that is not grouped one list.
    classes: Vec<(Option<usize>, Vec<Vec<u32>>)>,
}

impl<'a> Present<'a> {
    /// The condition of WHERE, and of one combination of bands.
    pub(crate) fn new(filter: &'a Filter, group_by: &[Level], cube: &Cube) -> Present<'a> {
        let classes = filter
            .dims
            .iter()
            .map(|c| {
                let position = group_by.iter().position(|at| at.dimension == c.dim);
                let dimension = &cube.dimensions[c.dim];
                let level = position.map_or(0, |i| group_by[i].level);
                let mut classes = vec![Vec::new(); dimension.level(level).len()];
                let groups = dimension.ancestors(dimension.finest(), level);
                for (group, &class) in groups.iter().zip(c.class_of.iter()) {
                    classes[*group as usize].push(class);
                }
                for list in &mut classes {
                    list.sort_unstable();
                    list.dedup();
                }
                (position, classes)
            })
            .collect();
        Present { filter, classes }
    }

    /// The groups that it leaves anything of, by their nodes, the last level's fastest. Only nodes that it leaves anything of are combined, and if
    /// those would make more than `most` groups, the error is how many.
    pub(crate) fn rows(&self, group_by: &[Level], cube: &Cube, most: u64) -> Result<Vec<Vec<u32>>, u64> {
        let of = |(i, level): (usize, &Level)| -> Vec<u32> {
            let all = 0..level.of(cube).len() as u32;
            let own = self.classes.iter().zip(&self.filter.dims).find(|((at, _), _)| *at == Some(i));
            let Some(((_, classes), dimension)) = own else { return all.collect() };
            let weighs = self.filter.weighing(dimension);
            all.filter(|&n| classes[n as usize].iter().any(|&c| weighs[c as usize])).collect()
        };
        let sides: Vec<Vec<u32>> = group_by.iter().enumerate().map(of).collect();
        let rows = sides.iter().try_fold(1u64, |n, s| n.checked_mul(s.len() as u64)).unwrap_or(u64::MAX);
        if rows > most {
            return Err(rows);
        }
        let mut pick = vec![0u32; sides.len()];
        let mut out = Vec::new();
        for _ in 0..rows {
            let nodes: Vec<u32> = sides.iter().zip(&pick).map(|(side, &at)| side[at as usize]).collect();
            if self.holds(&nodes) {
                out.push(nodes);
            }
            odometer::next(&mut pick, |i| sides[i].len());
        }
        Ok(out)
    }

    /// Whether it leaves anything of the group with these nodes.
    pub(crate) fn holds(&self, nodes: &[u32]) -> bool {
        self.from(0, 0, nodes)
    }

    fn from(&self, dim: usize, at: usize, nodes: &[u32]) -> bool {
        let Some((position, classes)) = self.classes.get(dim) else {
            return self.filter.weights[at] != 0.0;
        };
        let group = position.map_or(0, |i| nodes[i] as usize);
        let stride = self.filter.dims[dim].classes as usize;
        classes[group].iter().any(|&c| self.from(dim + 1, at * stride + c as usize, nodes))
    }
}
