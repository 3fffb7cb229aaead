//! A question about sums of numbers, put to all releases of some people together: what they say of it, and what would have to be measured for more.

use super::options::Options;
use super::query::asked;
use crate::answer::error::QueryError;
use crate::answer::figure::Figure;
use crate::answer::figure::question::Question;
use crate::answer::tell::open::Answers;
use crate::answer::tell::pool::Pooled;
use crate::cube::{Cube, Cuboid, Level, Quantity, Summand, Weighing, required_level};
use crate::render::{ResultCell, ResultTable};
use crate::sql::{Query, quote_names};
use std::sync::Arc;

/// A question about sums, in the terms of a cube that needs not be that of a release.
pub struct SumsAsked<'a> {
    cube: &'a Cube,
    query: Query,
}

impl<'a> SumsAsked<'a> {
    /// Reads a question of this name after FROM; `None` where it adds up none of the numbers, and rows have no weights.
    pub fn read(
        cube: &'a Cube,
        quantities: &[Arc<Quantity>],
        name: &str,
        sql: &str,
    ) -> Result<Option<SumsAsked<'a>>, QueryError> {
        let names = cube.dimensions.iter().map(|d| d.name.as_str()).chain([name]);
        let names: Vec<&str> = names.chain(quantities.iter().map(|q| q.name.as_str())).collect();
        let query = Query::with_quantities(&quote_names(sql, &names), cube, quantities)?;
        let weighted = quantities.iter().any(|q| q.weighing == Weighing::Weight);
        if !weighted && query.aggregates.iter().all(|a| a.subject.quantity().is_none()) {
            return Ok(None);
        }
        if !query.from.eq_ignore_ascii_case(name) {
            return Err(QueryError::From(name.to_owned(), query.from));
        }
        Ok(Some(SumsAsked { cube, query }))
    }

    /// What releases of one dataset and period say together.
    pub fn answer(&self, releases: &[&Answers], level: f64) -> Result<ResultTable, QueryError> {
        asked(&Pooled::new(self.cube, releases)?, &self.query, &Options::at(level))
    }

    /// Half the length of the longest interval of all rows, those included that the question does not keep.
    pub fn reach(&self, releases: &[&Answers], level: f64) -> Result<f64, QueryError> {
        let all = Query { having: None, order_by: Vec::new(), limit: None, offset: 0, ..self.query.clone() };
        let table = asked(&Pooled::new(self.cube, releases)?, &all, &Options::at(level))?;
        let half = |cell: &ResultCell| match cell {
            ResultCell::Figure(f) if (f.high - f.low).is_nan() => f64::INFINITY,
            ResultCell::Figure(f) => 0.5 * (f.high - f.low),
            ResultCell::Label(_) | ResultCell::Number(_) => 0.0,
        };
        Ok(table.rows.iter().flatten().map(half).fold(0.0, f64::max))
    }

    /// The first figure that is a quotient or a product of sums: how exact it is depends on them. And the number whose squares are asked for, if any are.
    pub fn quotient(&self) -> Result<Option<(&str, Option<&str>)>, QueryError> {
        let asked = Question::new(&self.query)?;
        let quotient = |figure: &Option<_>| figure.as_ref().is_some_and(Figure::is_ratio);
        let at = asked.figures.iter().position(quotient);
        let squares = self.query.aggregates.iter().find_map(|a| match &a.subject {
            Summand::Squares(quantity) => Some(quantity.name.as_str()),
            _ => None,
        });
        Ok(at.and_then(|at| self.query.columns.get(at)).map(|column| (column.name(), squares)))
    }

    /// The table that tells it, the numbers that are added up over it, and whether its rows are asked for, too. Of a question without quotients.
    pub fn told_by(&self) -> Result<(Cuboid, Vec<Arc<Quantity>>, bool), QueryError> {
        let bands = self.query.bands.iter().flat_map(|band| band.each.iter().map(|(_, filter)| filter));
        let filters = self.query.aggregates.iter().map(|a| &a.filter).chain(bands);
        let filtered = std::iter::once(&self.query.filter)
            .chain(filters)
            .flat_map(|f| &f.dims)
            .map(|class| Level::new(class.dim, required_level(self.cube, class.dim, &class.class_of, 0)));
        let above = self.query.bands.iter().filter_map(|band| band.above);
        let levels = filtered.chain(self.query.group_by.iter().copied()).chain(above);
        let table = Cuboid::new(levels);
        let mut quantities: Vec<Arc<Quantity>> = Vec::new();
        for quantity in self.query.aggregates.iter().filter_map(|a| a.subject.quantity()) {
            if !quantities.contains(quantity) {
                quantities.push(quantity.clone());
            }
        }
        // A sum is made of rows, too: only figures that are of nothing else ask for them.
        let asked = Question::new(&self.query)?;
        let of_rows = |figure: &Figure| {
            let weights = figure.weights(asked.aggregates.len()).swap_remove(0);
            let of = asked.aggregates.iter().zip(weights).filter(|(_, w)| *w != 0.0);
            of.into_iter().all(|(a, _)| a.subject.quantity().is_none())
        };
        let rows = asked.figures.iter().flatten().any(of_rows);
        Ok((table, quantities, rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::{Categories, Dimension, NoValue};

    /// A table has the levels that a question names, and where a condition tells categories apart the coarsest that does.
    #[test]
    fn the_coarsest_table() {
        let plain =
            |name: &str, labels: &[&str]| Dimension::plain(name, labels.iter().map(|&l| l.into()).collect());
        let mut work = plain("work", &["a", "b", "c", "d"]);
        work.levels[1].parent = vec![0, 0, 1, 1];
        let halves = Categories {
            name: "half".into(),
            labels: vec!["first".into(), "last".into()],
            parent: vec![0; 2],
            bounds: Vec::new(),
        };
        work.levels.insert(1, halves);
        let cube = Cube { dimensions: vec![plain("sex", &["F", "M"]), work] };
        let pay = Arc::new(Quantity {
            name: "pay".into(),
            low: 0,
            high: 10,
            step: 1,
            places: 0,
            missing: NoValue::Stop,
            weighing: Default::default(),
            from: Default::default(),
            unit: None,
            description: None,
        });
        let told = |sql: &str| {
            let asked = SumsAsked::read(&cube, std::slice::from_ref(&pay), "t", sql).unwrap().unwrap();
            let (table, of, rows) = asked.told_by().unwrap();
            assert_eq!((of.len(), asked.quotient().unwrap()), (1, None));
            (cube.describe(&table), rows)
        };
        for (sql, table, rows) in [
            ("SELECT SUM(pay) FROM t", "total", false),
            ("SELECT COUNT(*), SUM(pay) FROM t WHERE work IN ('a', 'b')", "work.half", true),
            ("SELECT sex, SUM(pay) FROM t WHERE work <> 'a' GROUP BY sex", "sex × work", false),
            ("SELECT work.half, SUM(pay) FROM t GROUP BY work.half", "work.half", false),
            ("SELECT SUM(CASE WHEN work = 'b' THEN pay END) FROM t", "work", false),
        ] {
            assert_eq!(told(sql), (table.to_owned(), rows), "{sql}");
        }
        let mean = SumsAsked::read(&cube, std::slice::from_ref(&pay), "t", "SELECT AVG(pay) FROM t")
            .unwrap()
            .unwrap();
        assert_eq!(mean.quotient().unwrap(), Some(("AVG(pay)", None)));
        assert!(SumsAsked::read(&cube, &[pay], "t", "SELECT COUNT(*) FROM t").unwrap().is_none());
    }
}
