//! The figures of a query as weights on cells.

use super::notes::{Notes, untrue};
use super::options::Options;
use super::rows::{Sortable, kept, rounded};
use crate::answer::error::{AnswerError, MOST_ROWS, QueryError};
use crate::answer::figure::Figure;
use crate::answer::figure::question::{Labels, Place, Question};
use crate::answer::tell::Best;
use crate::answer::tell::open::Answers;
use crate::answer::tell::pool::Pooled;
use crate::cube::{Cube, Filter, Level, TooIntricate};
use crate::render::{Naming, ResultCell, ResultColumn, ResultFigure, ResultTable};
use crate::sql::{Portion, Present, Query};

/// One figure of one row of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    /// Which of the query's sets of groups the row is of.
    pub set: usize,
    /// The places of the row's bands.
    pub ranks: Vec<usize>,
    /// The nodes of its group.
    pub nodes: Vec<u32>,
    /// Which column of the query it is.
    pub column: usize,
    /// What it adds to the sum over cells.
    pub constant: f64,
    /// The weight of every cell.
    pub filter: Filter,
}

/// The most figures of one question.
pub(crate) const MOST_FIGURES: usize = 512;

/// All figures of a query, row by row.
pub fn figures(query: &Query, cube: &Cube) -> Result<Vec<Linear>, QueryError> {
    let asked = Question::new(query)?;
    let columns = asked.figures.iter().flatten().count();
    let many = || QueryError::Together(format!("one question may have {MOST_FIGURES} figures"));
    let mut out = Vec::new();
    for (at, portion) in asked.portions.iter().enumerate() {
        let levels = asked.levels(at);
        let present = Present::new(&portion.filter, levels, cube);
        for nodes in present.rows(levels, cube, MOST_ROWS).map_err(|_| many())? {
            if out.len() + columns > MOST_FIGURES {
                return Err(many());
            }
            for (column, figure) in asked.figures.iter().enumerate() {
                let Some(figure) = figure else { continue };
                if figure.rests_on(&portion.absent) {
                    continue;
                }
                if figure.is_ratio() {
                    return Err(QueryError::Product(query.columns[column].name().to_owned()));
                }
                let constant = figure.value(&vec![0.0; asked.aggregates.len()]);
                let filter = cells(figure, portion, levels, &nodes, cube)
                    .map_err(|_| QueryError::Answer(AnswerError::Intricate))?;
                out.push(Linear {
                    set: portion.set,
                    ranks: portion.ranks.clone(),
                    nodes: nodes.clone(),
                    column,
                    constant,
                    filter,
                });
            }
        }
    }
    Ok(out)
}

/// The weight of every cell in a figure of one row.
fn cells(
    figure: &Figure,
    portion: &Portion,
    levels: &[Level],
    nodes: &[u32],
    cube: &Cube,
) -> Result<Filter, TooIntricate> {
    let weights = figure.weights(portion.aggregates.len()).swap_remove(0);
    let mut filter = Filter::constant(0.0);
    for (aggregate, weight) in portion.aggregates.iter().zip(weights).filter(|(_, w)| *w != 0.0) {
        let part = aggregate.cells(levels, nodes, cube)?;
        filter = filter.plus(&part.and(&Filter::constant(weight))?)?;
    }
    Ok(filter)
}

impl Linear {
    /// Whether its true value is a whole number.
    pub(crate) fn is_whole(&self) -> bool {
        self.constant.fract() == 0.0 && self.filter.weights.iter().all(|w| w.fract() == 0.0)
    }
}

/// The figures of a query with their best estimates from these releases, in the query's own order of rows, and what makes them untrue besides noise.
pub fn table(
    query: &Query,
    cube: &Cube,
    figures: &[Linear],
    best: &[Best],
    level: f64,
    releases: &[&Answers],
) -> Result<ResultTable, QueryError> {
    let labels = Labels::new(query, cube);
    let columns = query.columns.iter();
    let columns =
        columns.map(|c| ResultColumn { name: c.name().into(), kind: labels.kind(c) }).collect::<Vec<_>>();
    let mut rows: Vec<(Vec<f64>, Sortable)> = Vec::new();
    let mut last = None;
    for (linear, best) in figures.iter().zip(best) {
        let place = Place { set: linear.set, ranks: &linear.ranks, nodes: &linear.nodes };
        if last.replace(place) != Some(place) {
            let label = |c: usize| match query.columns[c].is_label() {
                true => labels.cells(c, place, Naming::Codes).swap_remove(0),
                false => ResultCell::Figure(ResultFigure::NULL),
            };
            let rank = |c: usize| if query.columns[c].is_label() { labels.rank(c, place) } else { f64::NAN };
            let keys = (0..columns.len()).map(rank).collect();
            let cells = (0..columns.len()).map(label).collect();
            rows.push((labels.order(place), Sortable { keys, cells }));
        }
        let Some((_, row)) = rows.last_mut() else { continue };
        let (low, high) = best.interval(level, linear.is_whole());
        let c = linear.constant;
        let figure = ResultFigure {
            estimate: best.estimate + c,
            std_error: best.law.std_error(),
            low: low + c,
            high: high + c,
        };
        let figure = rounded(query, linear.column, figure);
        row.keys[linear.column] = figure.estimate;
        row.cells[linear.column] = ResultCell::Figure(figure);
    }
    let mut notes = Notes::default();
    rows.sort_by(|a, b| a.0.iter().map(|k| k.to_bits()).cmp(b.0.iter().map(|k| k.to_bits())));
    let rows = kept(query, rows.into_iter().map(|row| row.1).collect(), &mut notes);
    releases.iter().flat_map(|r| r.told()).for_each(|note| notes.add(note));
    let mut table = ResultTable::new(columns, rows, level);
    table.caveats = untrue(&Pooled::new(cube, releases)?, &Question::new(query)?, &Options::at(level), None)?;
    table.notes = notes.0;
    Ok(table)
}
