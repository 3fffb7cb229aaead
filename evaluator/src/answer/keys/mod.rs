//! SQL to cells, and a release of a projection opened for questions.
//!
//! A projection is asked for cells by name: `SELECT code, COUNT(*) FROM visits WHERE code IN ('J45', 'K35') GROUP BY code`.
//! The conditions joined by AND list what each dimension of the key may be, with `=` or `IN`; a listed dimension
//! that is not mentioned may be anything. The product of the lists, summed up for each group, are the cells of an answer: at
//! most as many as the release allows (its sparsity). Sums may weigh cells (`SUM(CASE …)`); totals over all rows and shares of them count
//! the cells of all rows.

use crate::answer::error::QueryError;
use crate::answer::options::Options;
use crate::answer::table;
use crate::cube::{Cube, odometer};
use crate::projection::Shape;
use crate::projection::answer::{Answer, Estimator, Projected};
use crate::projection::key::{Key, Part, text_code};
use crate::release::projection::{invalid, projection, values};
use crate::release::{Manifest, Release, ReleaseError, wire};
use crate::render::{Caveat, ColumnKind, ResultCell, ResultColumn, ResultFigure, ResultTable};
use ask::{Asked, Column, Group};
use explain::Explained;
use figure::Keyed;
use statement::Statements;

mod ask;
pub mod explain;
mod figure;
mod statement;

/// The most rows of an answer.
pub const MOST_ROWS: u64 = 1 << 20;

/// A projection opened for questions.
#[derive(Debug)]
pub struct Questions {
    name: String,
    manifest: Manifest,
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
        let name = manifest.about.name.clone();
        let bound = manifest.privacy.bound().map(|(unit, rows)| (unit.to_owned(), rows));
        let manifest = manifest.clone();
        Ok(Some(Questions { name, manifest, bound, cube, projected, key }))
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
            period: None,
        };
        self.bound.iter().map(truncated).collect()
    }

    /// What the release says of itself.
    pub fn manifest(&self) -> &Manifest {
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
        let name = |&d: &u16| self.cube.dimensions.get(usize::from(d)).map_or("", |d| d.name.as_str());
        self.projected.projection().design.key.iter().map(name).collect()
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
        self.select(sql, &Options::at(level), estimator)
    }

    /// Answers one SELECT as the options say, as far as a projection can: a level, all intervals together by Bonferroni's inequality, the
    /// probability of a statement, a prior.
    pub fn select(
        &self,
        sql: &str,
        options: &Options,
        estimator: Estimator,
    ) -> Result<ResultTable, QueryError> {
        let asked = self.allowed(sql, options.level)?;
        let limit = usize::try_from(asked.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        let rows: usize = asked.sides.iter().map(Vec::len).product();
        let intervals = rows.min(limit) * asked.figures().count();
        let sketch = matches!(self.projected.projection().design.shape, Shape::Sketch { .. });
        let statements = Statements::new(options, intervals, sketch)?;
        let mut table = table::empty(options.level);
        table.caveats = self.caveats();
        table.notes = statements.notes();
        let several = asked.figures().count() > 1;
        for (name, column) in &asked.columns {
            match column {
                Column::Label(part, level) => table
                    .columns
                    .push(ResultColumn { name: name.clone(), kind: self.label_kind(*part, *level) }),
                Column::Figure(figure) => {
                    table.columns.push(ResultColumn { name: name.clone(), kind: ColumnKind::Figure });
                    if statements.has_prior() && !figure.is_count() {
                        return Err(QueryError::NotACount(name.clone()));
                    }
                    let own = |what: &str| if several { format!("{name}_{what}") } else { what.into() };
                    let more =
                        statements.columns().map(|(what, kind)| ResultColumn { name: own(what), kind });
                    table.columns.extend(more);
                }
            }
        }
        let all: Vec<Keyed> = match asked.figures().any(figure::Figure::needs_all) {
            true => {
                table.notes.push(
                    "A total over all rows is of the keys that this query lists, not of all that were counted: a projection knows no total."
                        .to_owned(),
                );
                self.rows(&asked).flat_map(|r| r.1).collect()
            }
            false => Vec::new(),
        };
        let mut laws: Vec<&str> = Vec::new();
        for (chosen, cells) in self.rows(&asked).take(limit) {
            let mut row = Vec::with_capacity(table.columns.len());
            for (_, column) in &asked.columns {
                let figure = match column {
                    Column::Label(part, _) => {
                        let label = chosen.get(*part).map_or(String::new(), |c| c.0.clone());
                        row.push(ResultCell::Label(label));
                        continue;
                    }
                    Column::Figure(figure) => figure,
                };
                let a = figure.answer(&self.projected, &cells, &all, statements.each(), estimator);
                if !laws.contains(&a.law.name()) {
                    laws.push(a.law.name());
                }
                row.push(ResultCell::Figure(ResultFigure {
                    estimate: a.estimate,
                    std_error: a.std_error,
                    low: a.low,
                    high: a.high,
                }));
                statements.add(&a, &mut row)?;
            }
            table.rows.push(row);
        }
        let figures = asked.columns.iter().filter(|c| matches!(c.1, Column::Figure(_)));
        table.methods = figures.map(|(name, _)| (name.clone(), laws.join("; or "))).collect();
        Ok(table)
    }

    /// What the labels of a part of the key are.
    fn label_kind(&self, part: usize, level: usize) -> ColumnKind {
        match self.dimension(part).and_then(|d| d.levels.get(level)) {
            Some(l) if self.key.parts().get(part) != Some(&Part::Text) => ColumnKind::of_level(l),
            _ => ColumnKind::Text,
        }
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
            let shown = asked.columns.iter().filter_map(|(_, column)| match column {
                Column::Label(part, _) => Some(chosen.get(*part)?.0.clone()),
                Column::Figure(_) => None,
            });
            let cells: Vec<u64> = cells.iter().map(|c| c.cell).collect();
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
        let cells = asked.per_figure();
        let most = self.projected.projection().design.sparsity;
        if cells > u64::from(most) {
            return Err(QueryError::TooManyCells { cells, most });
        }
        let rows =
            asked.sides.iter().try_fold(1u64, |n, s| n.checked_mul(s.len() as u64)).unwrap_or(u64::MAX);
        if rows > MOST_ROWS {
            return Err(QueryError::TooManyRows { rows, most: MOST_ROWS });
        }
        Ok(asked)
    }

    /// The rows of an answer: for each the group of every part of the key, and the cells.
    fn rows<'a>(&'a self, asked: &'a Asked) -> impl Iterator<Item = (Vec<&'a Group>, Vec<Keyed>)> {
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
    fn product(&self, chosen: &[&Group], codes: &mut Vec<u64>, cells: &mut Vec<Keyed>) {
        match chosen.split_first() {
            None => cells.push(Keyed { cell: self.key.cell(codes), codes: codes.clone() }),
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
