//! A release of a projection opened for questions.
//!
//! A projection is asked for cells by name: `SELECT code, COUNT(*) FROM visits WHERE code IN ('J45', 'K35') GROUP BY code`. The query is read
//! like any other; a dimension of the key that can be any text has, for one query, the texts that it names ([`crate::sql`]). A figure sums up
//! at most as many cells as the release allows (its sparsity).

use crate::answer::ask::options::Options;
use crate::answer::ask::query::asked;
use crate::answer::ask::union;
use crate::answer::error::QueryError;
use crate::answer::figure::question::{self, Labels, Question, Row};
use crate::answer::tell::open::ends;
use crate::answer::tell::{Family, Teller};
use crate::cube::Cube;
use crate::projection::Grounds;
use crate::projection::answer::{Answer, Estimator, Projected};
use crate::projection::key::{Key, Part, text_code};
use crate::release::projection::{invalid, projection, values};
use crate::release::{Kind, Manifest, Release, ReleaseError, wire};
use crate::render::{Caveat, ResultTable};
use crate::sql::{Aggregate, Linear, Query, quote_names};
use std::sync::Arc;
use teller::Keyed;

mod teller;

/// A projection opened for questions.
#[derive(Debug)]
pub struct Questions {
    name: String,
    manifest: Manifest,
    /// Where a column identifies the unit: that column, and how many rows of each count.
    bound: Option<(String, u32)>,
    /// The dimensions whose values beyond their ends were counted at these.
    ends: Vec<Caveat>,
    cube: Cube,
    /// The dimensions of the key.
    keyed: Cube,
    projected: Arc<Projected>,
    key: Key,
}

impl Questions {
    /// Opens the projection of a release; `None` when it is one of tables.
    pub fn open(release: &Release) -> Result<Option<Questions>, ReleaseError> {
        // The domain of a release of tables may be long: it is read where it is asked for.
        if release.count(Kind::Projection) == 0 {
            return Ok(None);
        }
        let cube = release.cube()?;
        let Some(projection) = projection(release, &cube)? else { return Ok(None) };
        let values = values(release, &projection)?;
        let parts = wire::parts(&projection.design, &cube);
        let projected = Projected::new(projection, values)
            .ok_or_else(|| invalid("its integers are incomplete".into()))?;
        let key = projected.key(parts);
        let manifest = release.manifest();
        let name = manifest.about.name.clone();
        let bound = manifest.privacy.bound().map(|(unit, rows)| (unit.to_owned(), rows));
        let manifest = manifest.clone();
        let key_of = &projected.projection().design.key;
        let dimensions =
            key_of.iter().filter_map(|&d| cube.dimensions.get(usize::from(d)).cloned()).collect();
        let keyed = Cube { dimensions };
        let projected = Arc::new(projected);
        Ok(Some(Questions { name, manifest, bound, ends: Vec::new(), cube, keyed, projected, key }))
    }

    /// The same where values of these dimensions beyond their ends were counted at the ends: see [`crate::answer::Answers::with_ends`].
    pub fn with_ends(mut self, dimensions: &[String]) -> Questions {
        self.ends = ends(&self.keyed, dimensions);
        self
    }

    /// The release's name, as FROM wants it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the noise came from a fixed seed.
    pub fn is_not_private(&self) -> bool {
        self.manifest.is_not_private()
    }

    /// What every answer must say: what makes it untrue besides noise and other counts.
    pub fn caveats(&self) -> Vec<Caveat> {
        let truncated = |(unit, max_rows): &(String, u32)| Caveat::Truncated {
            unit: unit.clone(),
            max_rows: *max_rows,
            cut: None,
            without: self.manifest.privacy.without,
            period: None,
        };
        self.bound.iter().map(truncated).chain(self.ends.iter().cloned()).collect()
    }

    /// What the release says of itself.
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The integers and how to use them.
    pub fn projected(&self) -> &Projected {
        &self.projected
    }

    /// The dimensions.
    pub fn cube(&self) -> &Cube {
        &self.cube
    }

    /// The names of the key's dimensions.
    pub fn key_names(&self) -> Vec<&str> {
        self.keyed.dimensions.iter().map(|d| d.name.as_str()).collect()
    }

    /// Whether a dimension of the key can be any text.
    pub fn is_free(&self, name: &str) -> bool {
        let at = self.key_names().iter().position(|k| *k == name);
        at.is_some_and(|at| self.key.parts().get(at) == Some(&Part::Text))
    }

    /// The cell of a text or label for each dimension of the key.
    pub fn cell(&self, values: &[&str]) -> Result<u64, QueryError> {
        let expected = self.key.parts().len();
        if values.len() != expected {
            return Err(QueryError::Parts { found: values.len(), expected });
        }
        let codes =
            values.iter().enumerate().map(|(i, v)| self.code(i, v)).collect::<Result<Vec<u64>, _>>()?;
        Ok(self.key.cell(&codes))
    }

    fn code(&self, part: usize, value: &str) -> Result<u64, QueryError> {
        if self.key.parts().get(part) == Some(&Part::Text) {
            return Ok(text_code(value.as_bytes()));
        }
        let d = self.keyed.dimensions.get(part);
        let node = d.and_then(|d| d.levels.last()?.node(value));
        node.map(|n| n as u64).ok_or_else(|| QueryError::NoCategory {
            dimension: d.map_or(String::new(), |d| d.name.clone()),
            value: value.into(),
        })
    }

    /// The count of one or several cells.
    pub fn count(&self, cells: &[u64], level: f64, estimator: Estimator) -> Answer {
        self.projected.answer(cells, level, estimator)
    }

    /// Answers one SELECT with intervals at `level`.
    pub fn query(&self, sql: &str, level: f64, estimator: Estimator) -> Result<ResultTable, QueryError> {
        self.select(sql, &Options::at(level), estimator)
    }

    /// Answers one SELECT as the options say, as far as a projection can: a level, all intervals together by Bonferroni's inequality, the
    /// probability of a statement, a prior.
    pub(crate) fn select(
        &self,
        sql: &str,
        options: &Options,
        estimator: Estimator,
    ) -> Result<ResultTable, QueryError> {
        if let Some(table) = union::below(sql, options, |part| self.select(part, options, estimator))? {
            return Ok(table);
        }
        let (query, cube) = self.read(sql)?;
        let mut table = asked(&Keyed::new(self, cube, estimator), &query, options)?;
        table.notes.extend(self.refuted());
        Ok(table)
    }

    /// What every answer must say where the integers refute the bound of ‖x‖² that was declared.
    pub fn refuted(&self) -> Option<String> {
        self.projected.refutes_bound().then(|| {
            "the spec declares that the sum of all squared counts is at most norm_bound, and the released integers refute it: with so small a sum they would hardly ever be \
             this large. No interval rests on it: they are as wide as without norm_bound."
                .into()
        })
    }

    /// Reads a query, with the key's dimensions as it knows them.
    fn read(&self, sql: &str) -> Result<(Query, Cube), QueryError> {
        let names: Vec<&str> = self.key_names().into_iter().chain([self.name.as_str()]).collect();
        let parts = self.key.parts().iter().enumerate();
        let open: Vec<usize> = parts.filter(|(_, p)| **p == Part::Text).map(|(at, _)| at).collect();
        let (query, cube) = Query::of_texts(&quote_names(sql, &names), &self.keyed, &open)?;
        match query.from.eq_ignore_ascii_case(&self.name) {
            true => Ok((query, cube)),
            false => Err(QueryError::From(self.name.clone(), query.from)),
        }
    }

    /// What the first `most` rows of an answer rest on: how many units each has.
    pub fn explain(
        &self,
        sql: &str,
        level: f64,
        estimator: Estimator,
        most: usize,
    ) -> Result<Vec<Grounds>, QueryError> {
        let (query, cube) = self.read(sql)?;
        let teller = Keyed::new(self, cube, estimator);
        let asked = Question::new(&query)?;
        let labels = Labels::new(&query, teller.cube());
        let most = query.limit.map_or(most, |l| most.min(l as usize));
        let count = Linear { constant: 0.0, terms: vec![(0, 1.0)] };
        let row = |row: &Row| {
            let filter = asked.portions.get(row.portion).map_or(&query.filter, |p| &p.filter).clone();
            let rows = [row.told.nodes.clone()];
            let figures = [Aggregate::rows(filter, None)];
            let family = Family { figures: &figures, group_by: asked.levels(row.portion), rows: &rows };
            let told = teller.tell(&family)?;
            let Some(sums) = told.first().and_then(|t| t.law.sums()) else { return Ok(None) };
            let cells = sums.figures.first().map_or(0, |cells| cells.len() as u64);
            let (names, answer) =
                (labels.row(asked.place(row.portion, &row.told.nodes)), sums.sum(&count, level)?);
            Ok(Some(Grounds::new(&self.projected, names, cells, &answer, level)))
        };
        let rows = question::rows(&teller, &asked)?;
        rows.iter().take(most).filter_map(|r| row(r).transpose()).collect()
    }
}
