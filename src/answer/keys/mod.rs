//! SQL to cells, and a release of a projection opened for questions.
//!
//! A projection is asked for cells by name: `SELECT code, COUNT(*) FROM visits WHERE code IN ('J45', 'K35') GROUP BY code`.
//! The conditions joined by AND list what each dimension of the key may be, with `=` or `IN`; a listed dimension
//! that is not mentioned may be anything. The product of the lists, summed up for each group, are the cells of an answer: at
//! most as many as the release allows (its sparsity).

use super::render::{Caveat, ColumnKind, ResultCell, ResultColumn, ResultFigure, ResultTable};
use crate::cube::{Cube, odometer};
use crate::projection::answer::{Answer, Estimator, Projected};
use crate::projection::key::{Key, Part, text_code};
use crate::release::projection::{invalid, projection, values};
use crate::release::{Release, ReleaseError, wire};
use crate::sql::SqlError;
use ask::{Asked, Group};
use explain::Explained;

mod ask;
pub mod explain;

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The file.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// The question.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// More cells than the release allows.
    #[error(
        "an answer of this query sums up {cells} cells; this release allows at most {most}: list fewer, or GROUP BY what you list"
    )]
    TooManyCells {
        /// How many it names.
        cells: u64,
        /// How many there may be.
        most: u32,
    },
    /// More rows than can be shown.
    #[error("the answer would have {0} rows; the most is {MOST_ROWS}")]
    TooManyRows(u64),
    /// A key with a part that does not exist.
    #[error("`{dimension}` has no category `{value}`")]
    NoCategory {
        /// The dimension.
        dimension: String,
        /// What was asked for.
        value: String,
    },
    /// A key of another length.
    #[error("a key has {found} parts; {expected} are expected")]
    Parts {
        /// How many there are.
        found: usize,
        /// How many there must be.
        expected: usize,
    },
    /// The level of an interval.
    #[error("the level of an interval must lie between 0 and 1, not {0}")]
    Level(f64),
    /// The name after FROM.
    #[error("this release is called `{0}`: write FROM {0}, not FROM {1}")]
    From(String, String),
}

/// The most rows of an answer.
pub const MOST_ROWS: u64 = 1 << 20;

/// A projection opened for questions.
#[derive(Debug)]
pub struct Questions {
    name: String,
    not_private: bool,
    /// Where a column identifies the unit: that column, and how many rows of each count.
    bound: Option<(String, u32)>,
    cube: Cube,
    projected: Projected,
    key: Key,
}

impl Questions {
    /// Opens the projection of a release; `None` when it is one of tables.
    pub fn open(release: &Release) -> Result<Option<Questions>, ReleaseError> {
        let cube = release.cube()?;
        let Some(projection) = projection(release, &cube)? else { return Ok(None) };
        let values = values(release, &projection)?;
        let parts = wire::parts(&projection.design, &cube);
        let projected = Projected::new(projection, values)
            .ok_or_else(|| invalid("its integers are incomplete".into()))?;
        let key = projected.key(parts);
        let manifest = release.manifest();
        let (name, not_private) = (manifest.about.name.clone(), manifest.is_not_private());
        let bound = manifest.privacy.bound().map(|(unit, rows)| (unit.to_owned(), rows));
        Ok(Some(Questions { name, not_private, bound, cube, projected, key }))
    }

    /// The release's name, as FROM wants it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the noise came from a fixed seed.
    pub fn is_not_private(&self) -> bool {
        self.not_private
    }

    /// What every answer must say: what makes it untrue besides noise and other counts.
    pub fn caveats(&self) -> Vec<Caveat> {
        let truncated = |(unit, max_rows): &(String, u32)| Caveat::Truncated {
            unit: unit.clone(),
            max_rows: *max_rows,
            cut: None,
            period: None,
        };
        self.bound.iter().map(truncated).collect()
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
        let name = |&d: &u16| self.cube.dimensions.get(usize::from(d)).map_or("", |d| d.name.as_str());
        self.projected.projection().design.key.iter().map(name).collect()
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

    fn dimension(&self, part: usize) -> Option<&crate::cube::Dimension> {
        let d = self.projected.projection().design.key.get(part)?;
        self.cube.dimensions.get(usize::from(*d))
    }

    fn code(&self, part: usize, value: &str) -> Result<u64, QueryError> {
        if self.key.parts().get(part) == Some(&Part::Text) {
            return Ok(text_code(value.as_bytes()));
        }
        let d = self.dimension(part);
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
        let asked = self.allowed(sql, level)?;
        let columns = asked
            .columns
            .iter()
            .map(|(name, part)| ResultColumn {
                name: name.clone(),
                kind: match part {
                    None => ColumnKind::Figure,
                    Some((part, level)) => match self.dimension(*part).and_then(|d| d.levels.get(*level)) {
                        Some(l) if self.key.parts().get(*part) != Some(&Part::Text) => {
                            ColumnKind::of_level(l)
                        }
                        _ => ColumnKind::Text,
                    },
                },
            })
            .collect();
        let mut table = ResultTable {
            columns,
            rows: Vec::new(),
            level,
            caveats: self.caveats(),
            ..ResultTable::default()
        };
        let mut laws: Vec<&str> = Vec::new();
        let limit = usize::try_from(asked.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        for (chosen, cells) in self.rows(&asked).take(limit) {
            let a = self.count(&cells, level, estimator);
            let law = a.law.name();
            if !laws.contains(&law) {
                laws.push(law);
            }
            let row = asked.columns.iter().map(|(_, part)| match part {
                Some((part, _)) => {
                    ResultCell::Label(chosen.get(*part).map_or(String::new(), |c| c.0.clone()))
                }
                None => ResultCell::Figure(ResultFigure {
                    estimate: a.estimate,
                    std_error: a.std_error,
                    low: a.low,
                    high: a.high,
                }),
            });
            table.rows.push(row.collect());
        }
        let figures = asked.columns.iter().filter(|c| c.1.is_none());
        table.methods = figures.map(|(name, _)| (name.clone(), laws.join("; or "))).collect();
        Ok(table)
    }

    /// What the first `most` rows of an answer rest on.
    pub fn explain(
        &self,
        sql: &str,
        level: f64,
        estimator: Estimator,
        most: usize,
    ) -> Result<Vec<Explained>, QueryError> {
        let asked = self.allowed(sql, level)?;
        let limit = asked.limit.map_or(most, |l| most.min(l as usize));
        let rows = self.rows(&asked).take(limit).map(|(chosen, cells)| {
            let shown = asked.columns.iter().filter_map(|(_, part)| Some(chosen.get((*part)?.0)?.0.clone()));
            let answer = self.count(&cells, level, estimator);
            Explained::new(&self.projected, shown.collect(), &cells, &answer, level)
        });
        Ok(rows.collect())
    }

    /// The query, if it may be asked.
    fn allowed(&self, sql: &str, level: f64) -> Result<Asked, QueryError> {
        if !(level > 0.0 && level < 1.0) {
            return Err(QueryError::Level(level));
        }
        let asked = self.ask(sql).map_err(|e| match e {
            QueryError::Sql(e) => QueryError::Sql(e.in_text(sql)),
            other => other,
        })?;
        let cells = asked.per_row();
        let most = self.projected.projection().design.sparsity;
        if cells > u64::from(most) {
            return Err(QueryError::TooManyCells { cells, most });
        }
        let rows =
            asked.sides.iter().try_fold(1u64, |n, s| n.checked_mul(s.len() as u64)).unwrap_or(u64::MAX);
        if rows > MOST_ROWS {
            return Err(QueryError::TooManyRows(rows));
        }
        Ok(asked)
    }

    /// The rows of an answer: for each the group of every part of the key, and the cells.
    fn rows<'a>(&'a self, asked: &'a Asked) -> impl Iterator<Item = (Vec<&'a Group>, Vec<u64>)> {
        let rows: usize = asked.sides.iter().map(Vec::len).product();
        let mut pick = vec![0; asked.sides.len()];
        (0..rows).map(move |_| {
            let chosen: Vec<&Group> =
                asked.sides.iter().zip(&pick).filter_map(|(s, &p)| s.get(p as usize)).collect();
            let mut cells = Vec::new();
            self.product(&chosen, &mut Vec::new(), &mut cells);
            odometer::next(&mut pick, |i| asked.sides[i].len());
            (chosen, cells)
        })
    }

    /// Every combination of the chosen codes.
    fn product(&self, chosen: &[&Group], codes: &mut Vec<u64>, cells: &mut Vec<u64>) {
        match chosen.split_first() {
            None => cells.push(self.key.cell(codes)),
            Some(((_, own), rest)) => {
                for &code in own {
                    codes.push(code);
                    self.product(rest, codes, cells);
                    codes.pop();
                }
            }
        }
    }
}
