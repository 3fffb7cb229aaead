//! GROUP BY a CASE: groups that no level has, made of conditions.
//!
//! A band is a condition, so a combination of bands (a [`Portion`]) is the same query over fewer units: each of its aggregates once more, over
//! the units of the bands. Rows of all combinations are linear figures like any others, and go the same way as those of plain groups.
//! Whether the release tells the bands apart is asked of each as of any condition.
//!
//! Where a total is taken over the labels of a level *above* one that is grouped by (`OVER (PARTITION BY area)` beside
//! `GROUP BY area.district`), the nodes of that level are bands, too, which nobody sees.

use super::error::SqlError;
use super::expression::Stretch;
use super::literal::{Literal, literal};
use super::names::Names;
use super::predicate::named;
use super::tree::{Expr, Node, Operator};
use super::truth::Truth;
use super::{Aggregate, GroupingSet, Query};
use crate::cube::{Cube, Filter, Level, TooIntricate, odometer};
use std::collections::BTreeMap;

/// The most combinations of bands.
pub(super) const MOST: usize = 1 << 10;
/// What helps there.
pub(super) const FEWER: &str = "ask for some of them at a time, with a condition in WHERE";
/// And so many times the categories that they are made of: each combination has a class for each of them.
const MOST_NODES: usize = 1 << 24;
/// And so many times if those count that turn out to have no units.
const MOST_TRIED: usize = 1 << 27;

/// A CASE that is grouped by, or a part of days.
pub(super) struct Bands<'a> {
    pub expr: &'a Expr,
    /// What SELECT calls it.
    pub alias: Option<&'a str>,
    /// The conditions as they are written, for those who must know what they leave open, and the units that come to each.
    pub truths: Vec<(Truth, Filter)>,
    /// Every label with its units, in the order in which the CASE names them.
    pub each: Vec<(String, Filter)>,
}

/// What rows are told apart by beside levels: the bands of a CASE, or the nodes of a level above one that is grouped by.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Banded {
    /// The level above, where it is one: its rows show it by the level below, if at all.
    pub above: Option<Level>,
    /// Every label with its units, in their order.
    pub each: Vec<(String, Filter)>,
}

/// The units of one combination of bands, and what is counted of them. Without bands there is one portion, of all units.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Portion {
    /// Which of [`Query::sets`] its rows are of.
    pub set: usize,
    /// The place of each band among those it is of; [`Portion::ALL`] where the set has them together.
    pub ranks: Vec<usize>,
    /// Which units are in it.
    pub filter: Filter,
    /// The aggregates over them, or over those of the bands that they keep to.
    pub aggregates: Vec<Aggregate>,
    /// Those that are NULL: of a row before the first, or after the last.
    pub absent: Vec<usize>,
}

impl Query {
    /// Every combination of bands that has any units, with these aggregates; the last band fastest.
    pub(crate) fn portions(&self, aggregates: &[Aggregate]) -> Result<Vec<Portion>, TooIntricate> {
        let mut portions = Vec::new();
        let mut stretches: Vec<(Stretch, Vec<Option<Filter>>)> = Vec::new();
        for stretch in aggregates.iter().filter_map(|a| a.stretch) {
            if stretches.iter().all(|(known, _)| *known != stretch) {
                stretches.push((stretch, self.stretched(&stretch)?));
            }
        }
        for (set, own) in self.sets.iter().enumerate() {
            self.of_set(set, own, aggregates, &stretches, &mut portions)?;
        }
        Ok(portions)
    }

    /// The portions of one set of groups.
    fn of_set(
        &self,
        set: usize,
        own: &GroupingSet,
        aggregates: &[Aggregate],
        stretches: &[(Stretch, Vec<Option<Filter>>)],
        portions: &mut Vec<Portion>,
    ) -> Result<(), TooIntricate> {
        let levels = self.group_by.len();
        let together = |band: usize| own.bands.get(band) == Some(&false);
        let mut ranks = vec![0u32; self.bands.len()];
        loop {
            let bands = || {
                let each = self.bands.iter().zip(&ranks).enumerate().filter(|(at, _)| !together(*at));
                each.filter_map(|(at, (b, &r))| Some((at, b.each.get(r as usize)?)))
            };
            let filter = bands().try_fold(self.filter.clone(), |all, (_, (_, units))| all.and(units))?;
            if bands().next().is_none() || !filter.is_nothing() {
                let nothing = Filter::constant(0.0);
                let mut absent = Vec::new();
                let of = |(at, whole): (usize, &Aggregate)| {
                    let kept = bands().filter(|(at, _)| whole.keeps(levels + at));
                    let own = stretches.iter().find(|(known, _)| Some(*known) == whole.stretch);
                    let along = own.and_then(|(s, each)| each.get(ranks[s.band] as usize)).map(|filter| {
                        filter.as_ref().unwrap_or_else(|| {
                            absent.push(at);
                            &nothing
                        })
                    });
                    let filter = kept.map(|(_, band)| &band.1).chain(along);
                    let filter = { filter }.try_fold(whole.filter.clone(), |all, units| all.and(units))?;
                    Ok(Aggregate { filter, stretch: None, ..whole.clone() })
                };
                let aggregates = aggregates.iter().enumerate().map(of).collect::<Result<_, _>>()?;
                let rank =
                    |(at, &rank): (usize, &u32)| if together(at) { Portion::ALL } else { rank as usize };
                let ranks = ranks.iter().enumerate().map(rank).collect();
                portions.push(Portion { set, ranks, filter, aggregates, absent });
            }
            if !odometer::next(&mut ranks, |at| if together(at) { 1 } else { self.bands[at].each.len() }) {
                return Ok(());
            }
        }
    }
}

impl Portion {
    /// The rank of a band that is not told apart.
    pub(crate) const ALL: usize = usize::MAX;
}

impl Query {
    /// For each band the units of the bands that a stretch takes from it; `None` where it is NULL. Bands that WHERE leaves nothing of are no rows, and
    /// are passed over.
    fn stretched(&self, stretch: &Stretch) -> Result<Vec<Option<Filter>>, TooIntricate> {
        let each = self.bands.get(stretch.band).map_or(&[][..], |band| &band.each);
        let mut order = Vec::new();
        for (rank, (_, units)) in each.iter().enumerate() {
            if !self.filter.and(units)?.is_nothing() {
                order.push(rank);
            }
        }
        if stretch.descending {
            order.reverse();
        }
        let mut out = vec![Some(Filter::constant(0.0)); each.len()];
        let coarser = stretch.within.and_then(|band| self.bands.get(band)).map_or(&[][..], |b| &b.each);
        let of = |rank: usize| {
            let units = &each.get(rank)?.1;
            let nodes = units.dims.first().map_or(1, |d| d.class_of.len());
            let first = (0..nodes).find(|&at| holds(units, at))?;
            coarser.iter().position(|(_, units)| holds(units, first))
        };
        let mut within: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for rank in order {
            within.entry(if coarser.is_empty() { None } else { of(rank) }).or_default().push(rank);
        }
        for order in within.into_values() {
            along(stretch, each, &order, &mut out)?;
        }
        Ok(out)
    }
}

/// Whether a condition on one dimension has a node of it.
fn holds(units: &Filter, node: usize) -> bool {
    let class = units.dims.first().map_or(Some(0), |one| one.class_of.get(node).map(|&class| class as usize));
    class.and_then(|class| units.weights.get(class)).is_some_and(|w| *w != 0.0)
}

/// Of each of these bands, in this order, the units of those that a stretch takes from it.
fn along(
    stretch: &Stretch,
    each: &[(String, Filter)],
    order: &[usize],
    out: &mut [Option<Filter>],
) -> Result<(), TooIntricate> {
    let rows = order.len() as i64;
    // What is added up from the first row on, and how many rows that is.
    let mut first = (Filter::constant(0.0), 0);
    for (at, &rank) in (0i64..).zip(order) {
        if stretch.is_row && stretch.to.is_some_and(|to| !(0..rows).contains(&(at + to))) {
            out[rank] = None;
            continue;
        }
        let end = stretch.to.map_or(rows, |to| (at + to + 1).clamp(0, rows));
        let begin = stretch.from.map(|from| (at + from).clamp(0, rows));
        let (mut filter, next) = begin.map_or_else(|| first.clone(), |from| (Filter::constant(0.0), from));
        for &rank in order.iter().take(end as usize).skip(next as usize) {
            filter = filter.or(&each[rank].1)?;
        }
        if begin.is_none() {
            first = (filter.clone(), end);
        }
        out[rank] = Some(filter);
    }
    Ok(())
}

const HOW: &str = "for example: GROUP BY CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END";

impl<'a> Bands<'a> {
    /// Reads a CASE, or a part of days; `rows` are the units it must have a label for.
    pub(super) fn new(
        expr: &'a Expr,
        alias: Option<&'a str>,
        names: &Names,
        rows: &Filter,
    ) -> Result<Bands<'a>, SqlError> {
        if let Some(dated) = names.dated(expr) {
            return dated?.bands(expr, alias, names);
        }
        let Node::Case { operand, when, otherwise } = &expr.node else {
            return Err(SqlError::new(format!("{} cannot be grouped by", named(expr))).at(expr.span()));
        };
        let mut bands = Bands { expr, alias, truths: Vec::new(), each: Vec::new() };
        let mut rest = Filter::everything();
        for (condition, result) in when {
            // `CASE a WHEN b` is `CASE WHEN a = b`.
            let truth = match operand {
                None => names.truth(condition)?,
                Some(of) => {
                    let equal = Node::Binary(of.clone(), Operator::Eq, Box::new(condition.clone()));
                    names.truth(&Expr::new(equal, condition.span()))?
                }
            };
            let here = rest.and(&truth.holds).map_err(|e| SqlError::from(e).at(condition.span()))?;
            let left = rest
                .and(&truth.holds.clone().complement())
                .map_err(|e| SqlError::from(e).at(condition.span()))?;
            bands.truths.push((truth, std::mem::replace(&mut rest, left)));
            bands.add(result, here)?;
        }
        match otherwise {
            Some(result) => bands.add(result, rest)?,
            None => {
                let left = rows.and(&rest).map_err(|e| SqlError::from(e).at(expr.span()))?;
                if !left.is_nothing() {
                    return Err(SqlError::new("CASE leaves units without a label")
                        .at(expr.span())
                        .help("add ELSE and a label, or leave those units out with WHERE"));
                }
            }
        }
        Ok(bands)
    }

    /// Whether an expression is this CASE, or its name.
    pub(crate) fn is_meant(&self, expr: &Expr) -> bool {
        match &expr.node {
            Node::Nested(inner) => self.is_meant(inner),
            Node::Name(parts) => match &parts[..] {
                [name] => self.alias == Some(&name.value),
                _ => false,
            },
            _ => expr == self.expr,
        }
    }

    fn add(&mut self, result: &Expr, units: Filter) -> Result<(), SqlError> {
        let label = match literal(result) {
            Some(Literal::Text(text)) => text,
            Some(Literal::Number(_, text)) => text,
            _ => {
                return Err(SqlError::new(format!("{} is not the label of a group", named(result)))
                    .at(result.span())
                    .help(HOW));
            }
        };
        match self.each.iter_mut().find(|band| band.0 == label) {
            Some(band) => {
                band.1 = band.1.or(&units).map_err(|e| SqlError::from(e).at(result.span()))?;
            }
            None => self.each.push((label, units)),
        }
        Ok(())
    }
}

/// The nodes of a level of which a condition leaves any units.
pub(super) fn left(cube: &Cube, level: Level, condition: &Filter) -> Vec<u32> {
    let dimension = &cube.dimensions[level.dimension];
    let up = dimension.ancestors(dimension.finest(), level.level);
    let mut is = vec![false; level.of(cube).len()];
    let classes = condition.classes(level.dimension).map(|c| (&c.class_of[..], condition.weighing(c)));
    for (finest, &node) in up.iter().enumerate() {
        let weighs = |(of, weighs): &(&[u32], Vec<bool>)| weighs[of[finest] as usize];
        is[node as usize] |= classes.as_ref().map_or(!condition.is_nothing(), weighs);
    }
    (0u32..).zip(is).filter(|(_, is)| *is).map(|(node, _)| node).collect()
}

/// The nodes of a level as bands, but for those that a condition leaves nothing of.
pub(super) fn above(cube: &Cube, level: Level, condition: &Filter) -> Banded {
    let dimension = &cube.dimensions[level.dimension];
    let up = dimension.ancestors(dimension.finest(), level.level);
    let nodes = left(cube, level, condition);
    let few = nodes.len() <= MOST;
    let band = |&node: &u32| {
        // Of too many it only matters how many there are.
        let units = match few {
            true => Filter::nodes(level.dimension, &up.iter().map(|&n| n == node).collect::<Vec<_>>()),
            false => Filter::constant(0.0),
        };
        (level.of(cube).labels[node as usize].clone(), units)
    };
    // Of nothing there is still a row.
    let nothing = || vec![(String::new(), Filter::constant(0.0))];
    let each = if nodes.is_empty() { nothing() } else { nodes.iter().map(band).collect() };
    Banded { above: Some(level), each }
}

/// The most there may be, in words.
pub(super) fn most() -> String {
    format!("the most combinations of bands is {MOST}")
}

/// Why there are more combinations than are answered, if there are.
pub(super) fn too_many(bands: &[Banded]) -> Option<String> {
    let sizes = bands.iter().map(|b| b.each.len());
    let tried = sizes.fold(1usize, |n, own| n.saturating_mul(own));
    let mut nodes = 0usize;
    // Bands of one dimension share out its categories: however many there are, no more combinations than categories have any units.
    let mut alone: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let mut several = 1usize;
    for band in bands {
        let dims: Vec<_> = band.each.first().into_iter().flat_map(|(_, units)| &units.dims).collect();
        nodes += dims.iter().map(|d| d.class_of.len()).sum::<usize>();
        let of_one = |dim: usize| band.each.iter().all(|(_, units)| units.dims.iter().all(|d| d.dim == dim));
        match dims[..] {
            [only] if of_one(only.dim) => {
                let (bands, _) = alone.entry(only.dim).or_insert((1, only.class_of.len()));
                *bands = bands.saturating_mul(band.each.len());
            }
            _ => several = several.saturating_mul(band.each.len()),
        }
    }
    let several = alone.values().fold(several, |n, (bands, nodes)| n.saturating_mul(*bands.min(nodes)));
    if several > MOST {
        return Some(match bands.iter().filter_map(|b| b.above.map(|_| b.each.len())).max() {
            Some(labels) if labels > MOST => format!(
                "PARTITION BY a level above makes a band of each of its labels, here {labels}; the most combinations of bands is {MOST}"
            ),
            _ => most(),
        });
    }
    (several.saturating_mul(nodes) > MOST_NODES || tried.saturating_mul(nodes) > MOST_TRIED)
        .then(|| format!("{several} bands of dimensions with {nodes} categories are too many to answer"))
}
