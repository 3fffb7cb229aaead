//! Which groups are rows of an answer.

use crate::cube::{Cube, Filter, Level};

/// Which groups a condition leaves anything of: the others are no rows of the answer, as in SQL. This looks at the
/// query alone.
pub struct Present<'a> {
    filter: &'a Filter,
    /// For each dimension of the filter the classes of every group's nodes, and where the group's label stands;
    /// for a dimension that is not grouped one list.
    classes: Vec<(Option<usize>, Vec<Vec<u32>>)>,
}

impl<'a> Present<'a> {
    /// The condition of WHERE, and of one combination of bands.
    pub fn new(filter: &'a Filter, group_by: &[Level], cube: &Cube) -> Present<'a> {
        let classes = filter
            .dims
            .iter()
            .map(|c| {
                let position = group_by.iter().position(|at| at.dimension == c.dim);
                let dimension = &cube.dimensions[c.dim];
                let level = position.map_or(0, |i| group_by[i].level);
                let mut classes = vec![Vec::new(); dimension.levels[level].len()];
                for (group, &class) in dimension.ancestors(dimension.finest(), level).iter().zip(&c.class_of)
                {
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
