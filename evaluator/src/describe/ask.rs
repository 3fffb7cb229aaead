//! Answers of SELECT, and of what asks for a description: SHOW TABLES, DESCRIBE name.

use super::TABLES;
use super::statement::Shown;
use crate::answer::keys::Questions;
use crate::answer::{Options, QueryError, Several};
use crate::projection::answer::Estimator;
use crate::render::ResultTable;

impl Several {
    /// Answers one SELECT, which may name any of the releases after FROM, or SHOW TABLES, or DESCRIBE name.
    pub fn ask(&self, sql: &str, options: &Options) -> Result<ResultTable, QueryError> {
        match (Shown::read(sql), self.releases()) {
            (Some(shown), [only]) => Ok(shown.answer(&only.summary(options.level, TABLES)?)?),
            (Some(_), [_, ..]) => Err(QueryError::Together("SHOW and DESCRIBE are about one release".into())),
            _ => self.select(sql, options),
        }
    }
}

impl Questions {
    /// Answers one SELECT, or SHOW TABLES, or DESCRIBE name.
    pub fn ask_with(
        &self,
        sql: &str,
        options: &Options,
        estimator: Estimator,
    ) -> Result<ResultTable, QueryError> {
        match Shown::read(sql) {
            Some(shown) => Ok(shown.answer(&self.summary(options.level)?)?),
            None => self.select(sql, options, estimator),
        }
    }
}
