//! Linear queries of a table as weights of cells, and the other way about.

use super::{Rows, limits};
use crate::cube::{ClassedDimension, Cube, Cuboid, Filter, Frame, Level, required_level};

/// Why weights of cells are no rows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRows {
    /// A figure that is no sum of counts with whole factors.
    #[error("{0} is no sum of counts with whole factors: ask for its parts")]
    NotWhole(String),
    /// Too many cells to be told apart.
    #[error("the query tells {0} cells apart; the most is {most}", most = limits::MAX_ROW_CELLS)]
    TooManyCells(u64),
    /// Nothing at all.
    #[error("the query asks for nothing: every cell of it has the weight 0")]
    Nothing,
}

impl Rows {
    /// The filters as rows over the coarsest table that tells apart what they tell apart, each once.
    pub fn of(filters: &[&Filter], cube: &Cube) -> Result<Rows, NoRows> {
        let mut levels = vec![0; cube.dimensions.len()];
        for class in filters.iter().flat_map(|f| &f.dims) {
            levels[class.dim] = required_level(cube, class.dim, &class.class_of, levels[class.dim]);
        }
        let cuboid = Cuboid::new(levels.iter().copied().enumerate().filter(|&(_, l)| l > 0));
        let cells = cube.cells(&cuboid).unwrap_or(u64::MAX);
        if cells > limits::MAX_ROW_CELLS {
            return Err(NoRows::TooManyCells(cells));
        }
        let frame = Frame::new(cube, &Frame::levels_of(cube, std::iter::once(&cuboid)));
        let cells = frame.len(&cuboid);
        let mut out: Vec<Vec<(u32, i32)>> = Vec::new();
        for filter in filters {
            let weights = over(filter, &cuboid, cube, cells);
            let mut row = Vec::new();
            for (cell, w) in weights.into_iter().enumerate().filter(|(_, w)| *w != 0.0) {
                if w.fract() != 0.0 || w.abs() > f64::from(i32::MAX) {
                    return Err(NoRows::NotWhole("one of its figures".into()));
                }
                row.push((cell as u32, w as i32));
            }
            if row.is_empty() {
                return Err(NoRows::Nothing);
            }
            if !out.contains(&row) {
                out.push(row);
            }
        }
        Ok(Rows { cuboid, rows: out })
    }

    /// Each row as a filter; `None` for one that no filter is.
    pub fn filters<'a>(&'a self, cube: &'a Cube) -> impl Iterator<Item = Option<Filter>> + 'a {
        self.rows.iter().map(|row| {
            let dims: Vec<ClassedDimension> = self
                .cuboid
                .iter()
                .map(|Level { dimension: dim, level }| {
                    let d = &cube.dimensions[dim];
                    let class_of = d.ancestors(d.finest(), level).into();
                    ClassedDimension { dim, class_of, classes: d.levels[level].len() as u32 }
                })
                .collect();
            // Classes are numbered in the order of their first node; those of levels are.
            let cells = dims.iter().try_fold(1usize, |n, d| n.checked_mul(d.classes as usize))?;
            let mut weights = vec![0.0; cells];
            for &(cell, factor) in row {
                *weights.get_mut(cell as usize)? = f64::from(factor);
            }
            Filter { dims, weights }.plus(&Filter::constant(0.0)).ok()
        })
    }
}

/// The weight of every cell of a table that tells apart what the filter does.
fn over(filter: &Filter, cuboid: &Cuboid, cube: &Cube, cells: usize) -> Vec<f64> {
    let mut at = vec![0usize];
    for Level { dimension: d, level } in cuboid.iter() {
        let dimension = &cube.dimensions[d];
        let mut class = vec![0usize; dimension.levels[level].len()];
        let classes = filter.classes(d);
        if let Some(c) = classes {
            for (finest, &node) in dimension.ancestors(dimension.finest(), level).iter().enumerate() {
                class[node as usize] = c.class_of[finest] as usize;
            }
        }
        let stride = classes.map_or(1, |c| c.classes as usize);
        at = at.iter().flat_map(|&a| class.iter().map(move |c| a * stride + c)).collect();
    }
    debug_assert_eq!(at.len(), cells);
    at.into_iter().map(|a| filter.weights[a]).collect()
}
