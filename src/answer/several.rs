//! Several releases of one dataset, asked together.
//!
//! Each release has noise of its own, so their answers to one question are independent unbiased estimates of one
//! truth. They are combined by precision, which is best among all weightings, and the law of the combined
//! error is the law of the weighted sum: exact again.

use super::open::{Answers, QueryError};
use super::query::{Asked, Options, answer};
use super::render::ResultTable;
use crate::sql::Query;

/// Releases of one dataset. With a single one, the same as that one.
pub struct Several(Vec<Answers>);

impl Several {
    /// Opens them together. The same release twice is refused: its noise is not independent of itself.
    pub fn new(releases: Vec<Answers>) -> Result<Several, QueryError> {
        for (i, a) in releases.iter().enumerate() {
            let again = |b: &&Answers| b.release().manifest_bytes() == a.release().manifest_bytes();
            if releases.iter().take(i).any(|b| again(&b)) {
                return Err(QueryError::Together(format!("{} is given twice", a.title())));
            }
        }
        if let [_, _, ..] = &releases[..]
            && let Some(nearest) = releases.iter().find_map(Answers::nearest)
        {
            let symbol = nearest.norm().symbol();
            return Err(QueryError::Together(format!(
                "consistency in {symbol} is about the measured tables of one release"
            )));
        }
        Ok(Several(releases))
    }

    /// The releases.
    pub fn releases(&self) -> &[Answers] {
        &self.0
    }

    /// Answers one SELECT, which may name any of the releases after FROM.
    pub fn ask(&self, sql: &str, options: &Options) -> Result<ResultTable, QueryError> {
        if let [only] = &self.0[..] {
            return only.ask(sql, options);
        }
        let queries = self.read(sql)?;
        if let Some(query) = queries.first()
            && self.0.iter().all(|r| !r.name().eq_ignore_ascii_case(&query.from))
        {
            return Err(QueryError::From(self.0[0].name().into(), query.from.clone()));
        }
        let asked: Vec<Asked> = queries.iter().map(Asked::new).collect::<Result<_, _>>()?;
        self.same(&asked)?;
        let releases: Vec<(&Answers, &Asked)> = self.0.iter().zip(&asked).collect();
        answer(&releases, options)
    }

    /// The query as each release understands it.
    pub(super) fn read(&self, sql: &str) -> Result<Vec<Query>, QueryError> {
        let names: Vec<&str> = self.0.iter().map(Answers::name).collect();
        self.0.iter().map(|r| r.read(sql, &names)).collect()
    }

    /// Checks that the query says the same to all of them.
    fn same(&self, asked: &[Asked]) -> Result<(), QueryError> {
        let Some((first, others)) = asked.split_first() else { return Ok(()) };
        let labels = |release: &Answers, asked: &Asked| -> Vec<Vec<String>> {
            let level = |&(d, l): &(usize, usize)| release.cube().dimensions[d].levels[l].labels.clone();
            asked.query.group_by.iter().map(level).collect()
        };
        for (release, other) in self.0[1..].iter().zip(others) {
            if labels(&self.0[0], first) != labels(release, other) {
                let (a, b) = (self.0[0].title(), release.title());
                return Err(QueryError::Together(format!("{a} and {b} have different categories")));
            }
            if first.figures != other.figures || first.aggregates.len() != other.aggregates.len() {
                let (a, b) = (self.0[0].title(), release.title());
                return Err(QueryError::Together(format!("the query means different things to {a} and {b}")));
            }
        }
        Ok(())
    }
}
