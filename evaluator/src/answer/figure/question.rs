//! A query made ready for releases: what its figures are made of, and its rows.
//!
//! A row is of one combination of bands (a [`Portion`]; of all units where the query has no bands) and of one node of every level of GROUP BY.

use super::Figure;
use super::quantile::Quantile;
use crate::answer::error::QueryError;
use crate::answer::tell::{Family, Teller, Told};
use crate::cube::{Categories, Cube, Filter, Level};
use crate::render::{ColumnKind, Naming, ResultCell};
use crate::sql::{Aggregate, GroupingSet, Portion, Present, Query, SelectColumn, SqlError};

/// A query whose figures are resolved.
#[derive(Clone)]
pub(in crate::answer) struct Question<'a> {
    pub query: &'a Query,
    /// What figures are made of, over the units of all bands.
    pub aggregates: Vec<Aggregate>,
    /// For each column that is neither a label nor a quantile its figure.
    pub figures: Vec<Option<Figure>>,
    /// For each column that is one its quantile.
    pub quantiles: Vec<Option<Quantile>>,
    /// For each column that is a place the figure that rows are put in order by.
    pub ranks: Vec<Option<Figure>>,
    /// The same aggregates over each combination of bands; without bands one, of all units.
    pub portions: Vec<Portion>,
}

impl<'a> Question<'a> {
    pub(crate) fn new(query: &'a Query) -> Result<Question<'a>, QueryError> {
        match query.has_ranks() {
            true => Err(QueryError::Rank("cannot be asked here: it is of a query's answer alone")),
            false => Question::with_ranks(query),
        }
    }

    /// Of a query that may have places of rows.
    pub(crate) fn with_ranks(query: &'a Query) -> Result<Question<'a>, QueryError> {
        match query.has_quantiles() {
            true => Err(QueryError::Quantile("cannot be asked here")),
            false => Question::with_quantiles(query, &Cube { dimensions: Vec::new() }),
        }
    }

    /// Of a query that may have quantiles of a cube's values.
    pub(crate) fn with_quantiles(query: &'a Query, cube: &Cube) -> Result<Question<'a>, QueryError> {
        let mut aggregates = query.aggregates.clone();
        let quantiles = query.columns.iter().map(|column| match column {
            SelectColumn::Quantile { level, p, .. } => {
                Quantile::new(*level, *p, query, cube, &mut aggregates).map(Some)
            }
            _ => Ok(None),
        });
        let quantiles = quantiles.collect::<Result<_, _>>()?;
        let count = Aggregate::rows(query.filter.clone(), None);
        let figures = query.columns.iter().map(|column| match column {
            SelectColumn::Group { .. }
            | SelectColumn::Band { .. }
            | SelectColumn::Grouping { .. }
            | SelectColumn::Quantile { .. }
            | SelectColumn::Rank { .. } => None,
            SelectColumn::Count { .. } => {
                let at = aggregates.iter().position(|a| *a == count).unwrap_or_else(|| {
                    aggregates.push(count.clone());
                    aggregates.len() - 1
                });
                Some(Figure::aggregate(at, &aggregates))
            }
            SelectColumn::Figure { expr, .. } => Some(Figure::new(&expr.formula(), &aggregates)),
        });
        let figures = figures.collect();
        let ranks = query.columns.iter().map(|column| match column {
            SelectColumn::Rank { ranked, .. } => Some(Figure::new(&ranked.of.formula(), &aggregates)),
            _ => None,
        });
        let ranks = ranks.collect();
        let portions = query.portions(&aggregates).map_err(SqlError::from)?;
        Ok(Question { query, aggregates, figures, quantiles, ranks, portions })
    }

    /// Refuses figures that are neither linear nor a ratio: where more than an interval of them is wanted.
    pub(crate) fn without_curved(&self) -> Result<(), QueryError> {
        let mut columns = self.query.columns.iter().zip(&self.figures);
        let curved = columns.find(|(_, f)| f.as_ref().is_some_and(Figure::is_curved));
        curved.map_or(Ok(()), |(column, _)| Err(QueryError::Product(column.name().into())))
    }

    /// The same with one more aggregate, the last: the total.
    pub(crate) fn with_total(&self) -> Question<'a> {
        let mut asked = self.clone();
        let total = Aggregate::rows(Filter::everything(), Some(Vec::new()));
        asked.portions.iter_mut().for_each(|p| p.aggregates.push(total.clone()));
        asked.aggregates.push(total);
        asked
    }

    /// Whether a figure is NULL in the rows of a portion: it is of a row before the first, or after the last.
    pub(crate) fn is_null(&self, portion: usize, figure: &Figure) -> bool {
        self.portions.get(portion).is_some_and(|p| figure.rests_on(&p.absent))
    }

    /// Where a row stands.
    pub(crate) fn place<'b>(&'b self, portion: usize, nodes: &'b [u32]) -> Place<'b> {
        let own = self.portions.get(portion);
        Place { set: own.map_or(0, |p| p.set), ranks: own.map_or(&[], |p| &p.ranks), nodes }
    }

    /// The levels that the rows of a portion are groups of.
    pub(crate) fn levels(&self, portion: usize) -> &[Level] {
        let set = self.portions.get(portion).and_then(|p| self.query.sets.get(p.set));
        set.map_or(&self.query.group_by, |set| &set.levels)
    }
}

/// What is told of one row.
pub(crate) struct Row {
    /// Which portion of the query it is of.
    pub portion: usize,
    /// Of its aggregates.
    pub told: Told,
}

/// The rows of an answer in their own order.
pub(in crate::answer) fn rows(teller: &dyn Teller, asked: &Question) -> Result<Vec<Row>, QueryError> {
    let (query, cube) = (asked.query, teller.cube());
    let (mut rows, most) = (Vec::new(), teller.most_rows());
    for (portion, own) in asked.portions.iter().enumerate() {
        let group_by = asked.levels(portion);
        // Without groups there is one row, also of nothing, as SQL has it.
        let one = group_by.iter().all(|l| l.level == 0) && own.ranks.iter().all(|r| *r == Portion::ALL);
        let groups = match one {
            true => vec![vec![0; group_by.len()]],
            false => {
                let present = Present::new(&own.filter, group_by, cube);
                present.rows(group_by, cube, most).map_err(|rows| QueryError::TooManyRows { rows, most })?
            }
        };
        let family = Family { figures: &own.aggregates, group_by, rows: &groups };
        let told = teller.tell(&family).map_err(|e| match asked.quantiles.iter().any(Option::is_some) {
            true => e.without_suggestion(),
            false => e,
        });
        rows.extend(told?.into_iter().map(|told| Row { portion, told }));
    }
    if !query.bands.is_empty() || query.sets.len() > 1 {
        let labels = Labels::new(query, cube);
        rows.sort_by_cached_key(|row| {
            let order = labels.order(asked.place(row.portion, &row.told.nodes));
            // Ranks are never negative, so their bits are in the same order.
            order.into_iter().map(f64::to_bits).collect::<Vec<_>>()
        });
    }
    Ok(rows)
}

/// Which row of an answer it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place<'a> {
    /// Which of the query's sets of groups it is of.
    pub set: usize,
    /// The place of each of its bands.
    pub ranks: &'a [usize],
    /// The node of each level of GROUP BY.
    pub nodes: &'a [u32],
}

pub(crate) struct Labels<'a> {
    query: &'a Query,
    cube: &'a Cube,
    /// For each set of groups and each column of SELECT what it shows.
    shown: Vec<Vec<Shows>>,
}

/// What a column shows of the nodes of its group.
enum Shows {
    /// Their own labels, or it is no level.
    Own,
    /// Those of a level above: the node there of every node.
    Above(Vec<u32>),
    /// Nothing: rows are not told apart by it.
    Null,
}

impl<'a> Labels<'a> {
    pub(crate) fn new(query: &'a Query, cube: &'a Cube) -> Labels<'a> {
        let of = |set: &GroupingSet, column: &SelectColumn| match column {
            SelectColumn::Group { level, .. } if !set.named.contains(level) => Shows::Null,
            SelectColumn::Group { index, level, .. } => match set.levels.get(*index) {
                Some(grouped) if grouped != level => {
                    Shows::Above(cube.dimensions[level.dimension].ancestors(grouped.level, level.level))
                }
                _ => Shows::Own,
            },
            SelectColumn::Band { index, .. } if set.bands.get(*index) == Some(&false) => Shows::Null,
            _ => Shows::Own,
        };
        let shown = query.sets.iter().map(|set| query.columns.iter().map(|c| of(set, c)).collect());
        Labels { query, cube, shown: shown.collect() }
    }

    fn shows(&self, column: usize, at: Place) -> &Shows {
        self.shown.get(at.set).and_then(|set| set.get(column)).unwrap_or(&Shows::Own)
    }

    pub(crate) fn kind(&self, column: &SelectColumn) -> ColumnKind {
        match column {
            SelectColumn::Group { level, .. } => ColumnKind::of_level(level.of(self.cube)),
            SelectColumn::Band { .. } => ColumnKind::Text,
            SelectColumn::Grouping { .. } => ColumnKind::Integer,
            SelectColumn::Rank { ranked, .. } if ranked.places.is_some() => ColumnKind::Number,
            SelectColumn::Count { .. }
            | SelectColumn::Quantile { .. }
            | SelectColumn::Rank { .. }
            | SelectColumn::Figure { .. } => ColumnKind::Figure,
        }
    }

    /// The labels of a row: those of its levels, then those of its bands.
    pub(crate) fn row(&self, at: Place) -> Vec<String> {
        let levels = self.query.sets.get(at.set).map_or(&self.query.group_by, |set| &set.levels);
        let levels = levels.iter().zip(at.nodes).filter(|(level, _)| level.level > 0);
        let levels = levels.map(|(level, &n)| level.of(self.cube).labels[n as usize].clone());
        let bands = self.query.bands.iter().zip(at.ranks).filter(|(b, _)| b.above.is_none());
        levels.chain(bands.filter_map(|(b, &rank)| Some(b.each.get(rank)?.0.clone()))).collect()
    }

    /// The level that a column of SELECT shows, and the node of it.
    fn shown(&self, column: usize, at: Place) -> Option<(&'a Categories, u32)> {
        let SelectColumn::Group { index, level, .. } = self.query.columns.get(column)? else { return None };
        let node = *at.nodes.get(*index)?;
        let node = match self.shows(column, at) {
            Shows::Null => return None,
            Shows::Above(above) => *above.get(node as usize)?,
            Shows::Own => node,
        };
        Some((level.of(self.cube), node))
    }

    /// Whether a row is not told apart by what `GROUPING` asks about.
    fn together(&self, level: Option<Level>, band: usize, at: Place) -> bool {
        let set = self.query.sets.get(at.set);
        set.is_some_and(|set| match level {
            Some(level) => !set.named.contains(&level),
            None => set.bands.get(band) == Some(&false),
        })
    }

    /// What a column of SELECT says of a row; nothing where it is no label, or NULL.
    pub(crate) fn label(&self, column: usize, at: Place) -> String {
        match self.query.columns.get(column) {
            Some(SelectColumn::Band { index, .. }) => {
                let band = self.query.bands.get(*index).zip(at.ranks.get(*index));
                band.and_then(|(b, &rank)| Some(b.each.get(rank)?.0.clone())).unwrap_or_default()
            }
            Some(SelectColumn::Grouping { level, band, .. }) => {
                u8::from(self.together(*level, *band, at)).to_string()
            }
            _ => {
                let shown = self.shown(column, at);
                shown.and_then(|(level, node)| level.labels.get(node as usize)).cloned().unwrap_or_default()
            }
        }
    }

    /// What people call the codes that a column of SELECT shows, where that is said.
    fn called(&self, column: usize) -> Option<&'a [String]> {
        let SelectColumn::Group { level, .. } = self.query.columns.get(column)? else { return None };
        self.cube.dimensions.get(level.dimension)?.labels(level.level)
    }

    /// The columns that show a column of labels: its own, and where codes have labels those beside it or in its place.
    pub(crate) fn columns(&self, column: usize, naming: Naming) -> Vec<(String, ColumnKind)> {
        let Some(own) = self.query.columns.get(column) else { return Vec::new() };
        let (name, kind) = (own.name().to_owned(), self.kind(own));
        match (naming, self.called(column)) {
            (Naming::Codes, _) | (_, None) => vec![(name, kind)],
            (Naming::Labels, Some(_)) => vec![(name, ColumnKind::Text)],
            (Naming::Both, Some(_)) => {
                let mut beside = format!("{name}_label");
                while self.query.columns.iter().any(|c| c.name() == beside) {
                    beside.push('_');
                }
                vec![(name, kind), (beside, ColumnKind::Text)]
            }
        }
    }

    /// The cells of a row in these columns.
    pub(crate) fn cells(&self, column: usize, at: Place, naming: Naming) -> Vec<ResultCell> {
        if let Shows::Null = self.shows(column, at) {
            let columns = self.columns(column, naming).len();
            return vec![ResultCell::NULL; columns];
        }
        let code = self.label(column, at);
        let label = self.called(column).filter(|_| naming != Naming::Codes).map(|labels| {
            let node = self.shown(column, at).map(|(_, node)| node as usize);
            node.and_then(|node| labels.get(node)).cloned().unwrap_or_default()
        });
        match (naming, label) {
            (Naming::Both, Some(label)) => vec![ResultCell::Label(code), ResultCell::Label(label)],
            (Naming::Labels, Some(label)) if !label.is_empty() => vec![ResultCell::Label(label)],
            _ => vec![ResultCell::Label(code)],
        }
    }

    /// What a column of labels is sorted by: their own order, and NULL last.
    pub(crate) fn rank(&self, column: usize, at: Place) -> f64 {
        match self.query.columns.get(column) {
            _ if matches!(self.shows(column, at), Shows::Null) => f64::INFINITY,
            Some(SelectColumn::Band { index, .. }) => at.ranks.get(*index).map_or(0.0, |&rank| rank as f64),
            Some(SelectColumn::Grouping { level, band, .. }) => {
                f64::from(u8::from(self.together(*level, *band, at)))
            }
            _ => self.shown(column, at).map_or(0.0, |(_, node)| f64::from(node)),
        }
    }

    /// What rows come in the order of, before ORDER BY: plain groups in that of their nodes, bands in that of the labels that are shown.
    pub(crate) fn order(&self, at: Place) -> Vec<f64> {
        if self.query.sets.len() == 1 && self.query.bands.iter().all(|b| b.above.is_some()) {
            return at.nodes.iter().map(|&node| f64::from(node)).collect();
        }
        let labels = (0..self.query.columns.len()).filter(|&c| self.query.columns[c].is_label());
        labels.map(|c| self.rank(c, at)).collect()
    }
}
