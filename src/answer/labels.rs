//! The labels of an answer's groups, and where each stands among those of its level.

use super::render::ColumnKind;
use crate::cube::{Categories, Cube};
use crate::sql::{Query, SelectColumn};

pub(super) struct Labels<'a> {
    query: &'a Query,
    cube: &'a Cube,
    /// For each column of SELECT that shows a level above the one grouped by: the node there of every node.
    above: Vec<Option<Vec<u32>>>,
}

impl<'a> Labels<'a> {
    pub fn new(query: &'a Query, cube: &'a Cube) -> Labels<'a> {
        let above = query.columns.iter().map(|column| {
            let SelectColumn::Group { index, level, .. } = column else { return None };
            let grouped = query.group_by.get(*index).filter(|grouped| *grouped != level)?;
            Some(cube.dimensions.get(level.dimension)?.ancestors(grouped.level, level.level))
        });
        Labels { query, cube, above: above.collect() }
    }

    pub fn kind(&self, column: &SelectColumn) -> ColumnKind {
        match column {
            SelectColumn::Group { level, .. } => ColumnKind::of_level(level.of(self.cube)),
            SelectColumn::Band { .. } => ColumnKind::Text,
            SelectColumn::Count { .. } | SelectColumn::Quantile { .. } | SelectColumn::Figure { .. } => {
                ColumnKind::Figure
            }
        }
    }

    /// The labels of a group.
    pub fn row(&self, nodes: &[u32]) -> Vec<String> {
        let levels = self.query.group_by.iter().map(|level| level.of(self.cube));
        levels.zip(nodes).map(|(level, &n)| level.labels[n as usize].clone()).collect()
    }

    /// The level that a column of SELECT shows, and the node of it.
    fn shown(&self, column: usize, nodes: &[u32]) -> Option<(&'a Categories, u32)> {
        let SelectColumn::Group { index, level, .. } = self.query.columns.get(column)? else { return None };
        let node = *nodes.get(*index)?;
        let node = match self.above.get(column)? {
            Some(above) => *above.get(node as usize)?,
            None => node,
        };
        Some((level.of(self.cube), node))
    }

    /// What a column of SELECT says of a group; nothing where it is no label of a level.
    pub fn label(&self, column: usize, nodes: &[u32]) -> String {
        self.shown(column, nodes)
            .and_then(|(level, node)| level.labels.get(node as usize))
            .cloned()
            .unwrap_or_default()
    }

    /// What a column of labels is sorted by: their own order.
    pub fn rank(&self, column: usize, nodes: &[u32]) -> f64 {
        self.shown(column, nodes).map_or(0.0, |(_, node)| f64::from(node))
    }
}
