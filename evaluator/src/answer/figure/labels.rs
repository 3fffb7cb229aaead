//! The labels of an answer's groups, and where each stands among those of its level.

use crate::cube::{Categories, Cube};
use crate::render::ColumnKind;
use crate::sql::{Query, SelectColumn};

/// Which row of an answer it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::answer) struct Place<'a> {
    /// The place of each of its bands.
    pub ranks: &'a [usize],
    /// The node of each level of GROUP BY.
    pub nodes: &'a [u32],
}

pub(in crate::answer) struct Labels<'a> {
    query: &'a Query,
    cube: &'a Cube,
    /// For each column of SELECT that shows a level above the one grouped by: the node there of every node.
    above: Vec<Option<Vec<u32>>>,
}

impl<'a> Labels<'a> {
    pub(in crate::answer) fn new(query: &'a Query, cube: &'a Cube) -> Labels<'a> {
        let above = query.columns.iter().map(|column| {
            let SelectColumn::Group { index, level, .. } = column else { return None };
            let grouped = query.group_by.get(*index).filter(|grouped| *grouped != level)?;
            Some(cube.dimensions.get(level.dimension)?.ancestors(grouped.level, level.level))
        });
        Labels { query, cube, above: above.collect() }
    }

    pub(in crate::answer) fn kind(&self, column: &SelectColumn) -> ColumnKind {
        match column {
            SelectColumn::Group { level, .. } => ColumnKind::of_level(level.of(self.cube)),
            SelectColumn::Band { .. } => ColumnKind::Text,
            SelectColumn::Count { .. } | SelectColumn::Quantile { .. } | SelectColumn::Figure { .. } => {
                ColumnKind::Figure
            }
        }
    }

    /// The labels of a row: those of its levels, then those of its bands.
    pub(in crate::answer) fn row(&self, at: Place) -> Vec<String> {
        let levels = self.query.group_by.iter().map(|level| level.of(self.cube));
        let levels = levels.zip(at.nodes).map(|(level, &n)| level.labels[n as usize].clone());
        let bands = self.query.bands.iter().zip(at.ranks).filter(|(b, _)| b.above.is_none());
        levels.chain(bands.filter_map(|(b, &rank)| Some(b.each.get(rank)?.0.clone()))).collect()
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

    /// What a column of SELECT says of a row; nothing where it is no label.
    pub(in crate::answer) fn label(&self, column: usize, at: Place) -> String {
        if let Some(SelectColumn::Band { index, .. }) = self.query.columns.get(column) {
            let band = self.query.bands.get(*index).zip(at.ranks.get(*index));
            return band.and_then(|(b, &rank)| Some(b.each.get(rank)?.0.clone())).unwrap_or_default();
        }
        let label = self.shown(column, at.nodes).and_then(|(level, node)| level.labels.get(node as usize));
        label.cloned().unwrap_or_default()
    }

    /// What a column of labels is sorted by: their own order.
    pub(in crate::answer) fn rank(&self, column: usize, at: Place) -> f64 {
        if let Some(SelectColumn::Band { index, .. }) = self.query.columns.get(column) {
            return at.ranks.get(*index).map_or(0.0, |&rank| rank as f64);
        }
        self.shown(column, at.nodes).map_or(0.0, |(_, node)| f64::from(node))
    }

    /// What rows come in the order of, before ORDER BY: plain groups in that of their nodes, bands in that of the labels that are shown.
    pub(in crate::answer) fn order(&self, at: Place) -> Vec<f64> {
        if self.query.bands.iter().all(|b| b.above.is_some()) {
            return at.nodes.iter().map(|&node| f64::from(node)).collect();
        }
        let labels = (0..self.query.columns.len()).filter(|&c| self.query.columns[c].is_label());
        labels.map(|c| self.rank(c, at)).collect()
    }
}
