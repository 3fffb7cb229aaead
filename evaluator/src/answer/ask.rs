//! A SQL query to one release, or to whoever tells what several know.

use super::error::QueryError;
use super::figure::quantile;
use super::open::Answers;
use super::options::Options;
use super::query::answer;
use super::question::Question;
use super::tell::Teller;
use crate::render::ResultTable;
use crate::sql::Query;

impl Answers {
    /// Answers one SELECT with intervals at `level`.
    pub fn query(&self, sql: &str, level: f64) -> Result<ResultTable, QueryError> {
        self.ask(sql, &Options::at(level))
    }

    /// Answers one SELECT.
    pub fn ask(&self, sql: &str, options: &Options) -> Result<ResultTable, QueryError> {
        self.answer(&self.parse(sql)?, options)
    }

    /// Answers a query that has been parsed.
    pub fn answer(&self, query: &Query, options: &Options) -> Result<ResultTable, QueryError> {
        asked(&self, query, options)
    }
}

/// The answer of a teller.
pub(super) fn asked(
    teller: &dyn Teller,
    query: &Query,
    options: &Options,
) -> Result<ResultTable, QueryError> {
    if query.has_quantiles() {
        quantile::fit(query, options)?;
    }
    answer(teller, &Question::with_quantiles(query, teller.cube())?, options)
}
