//! What a release is, for whoever is handed nothing but the file: whom it protects, what it counts, which tables can be asked
//! for and how exactly, what besides noise makes its numbers untrue, and questions that work.
//!
//! Everything here is read from the file's public parts; the only counts that are looked at are those that the example questions
//! ask for, and they are not shown.

mod amounts;
mod ask;
mod examples;
mod statement;
mod text;

pub(crate) use amounts::DescribedAmount;
pub use statement::Shown;

use crate::answer::keys::Questions;
use crate::answer::{AnswerError, Answers, QueryError};
use crate::cube::{Concept, Cube, Level};
use crate::projection::answer::Estimator;
use crate::recover::RecoverError;
use crate::release::{Manifest, SignerKind};
use serde::Serialize;

/// A release, described.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Description {
    /// The name, as FROM wants it.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// More for people.
    pub description: Option<String>,
    /// Under which terms it may be used.
    pub licence: Option<String>,
    /// Whom to ask.
    pub contact: Option<String>,
    /// The identity of the people who are counted, and the period.
    pub dataset: Option<String>,
    /// Whose copy it is, where the measuring has several recipients.
    pub recipient: Option<String>,
    /// The day it was made, as the signer says.
    pub made: String,
    /// Who signed.
    pub signed: String,
    /// Whether it was signed with a lasting key, not a throw-away one, and with noise that nobody can draw again. Whose key that is, no file shows.
    pub own_key: bool,
    /// Whom it protects and how well: the sentence that `verify` checks.
    pub protects: String,
    /// The dimensions.
    pub dimensions: Vec<Dimension>,
    /// The tables that were asked for, at most as many as were wanted.
    pub tables: Vec<Table>,
    /// How many more there are.
    pub more_tables: u64,
    /// The numbers whose sums and means can be asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub amounts: Vec<DescribedAmount>,
    /// The probability with which `margin` covers.
    pub level: f64,
    /// What is published without noise.
    pub exact: Vec<String>,
    /// Which cells are empty by declaration.
    pub empty: Vec<String>,
    /// What besides noise makes the numbers untrue.
    pub untrue: Vec<String>,
    /// Questions that this release answers.
    pub examples: Vec<String>,
}

/// An attribute.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What its numbers are measured in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// What kind of thing it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concept: Option<Concept>,
    /// The category of empty cells: SQL's NULL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Its levels, the finest first. None where the categories are any text.
    pub levels: Vec<Categories>,
}

/// The categories of an attribute at one degree of detail.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Categories {
    /// As a query names it: `age`, `age.band`.
    pub name: String,
    /// Whether they are numbers or ranges of numbers, so that `<` and BETWEEN mean something.
    pub numeric: bool,
    /// In their order.
    pub categories: Vec<String>,
    /// What people call each, empty where that is not said; none where it is said of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
}

impl Categories {
    /// As people read them: `9E (Endeavor Air)`.
    pub(super) fn shown(&self) -> Vec<String> {
        let Some(labels) = &self.labels else { return self.categories.clone() };
        let both = |(code, label): (&String, &String)| match label.as_str() {
            "" => code.clone(),
            label => format!("{code} ({label})"),
        };
        self.categories.iter().zip(labels).map(both).collect()
    }
}

/// A table that can be asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// Its levels; none for the total.
    pub levels: Vec<String>,
    /// How many cells it has. `None` for the keys of a projection, which cannot be listed.
    pub cells: Option<u64>,
    /// Whether it is published without noise.
    pub exact: bool,
    /// The standard error of the cell that is known least well. `None` where it depends on the question.
    pub std_error: Option<f64>,
    /// The half width of that cell's interval.
    pub margin: Option<f64>,
}

impl Table {
    /// `sex × age.band`, or `total`.
    pub fn name(&self) -> String {
        if self.levels.is_empty() { "total".into() } else { self.levels.join(" × ") }
    }
}

impl Description {
    /// Whether it is of a projection: its one table is that of the key.
    pub(crate) fn is_projection(&self) -> bool {
        self.tables.iter().any(|t| t.cells.is_none())
    }
}

/// Of how many tables the error is worked out unless told otherwise.
pub const TABLES: usize = 40;

fn about(m: &Manifest, cube: &Cube, level: f64) -> Description {
    let a = &m.about;
    let own_key = m.signer.kind == SignerKind::Agency && !m.is_not_private();
    Description {
        name: a.name.clone(),
        title: a.title.clone(),
        description: a.description.clone(),
        licence: a.licence.clone(),
        contact: a.contact.clone(),
        dataset: m.dataset.as_ref().map(|d| {
            let part = m.account.as_ref().and_then(|a| a.name.part.as_ref());
            let part = part.map(|part| format!(", of them the part {part}")).unwrap_or_default();
            let period = d.period.as_ref().map(|period| format!(", period {period}")).unwrap_or_default();
            format!("{}{period}{part}", d.id)
        }),
        recipient: m
            .recipient
            .as_ref()
            .map(|r| format!("{}: one of {} copies, {}. {}", r.name, r.copies, r.mode, r.note)),
        made: m.created.clone(),
        signed: match m.signer.kind {
            _ if m.is_not_private() => "NOT PRIVATE: the noise came from a fixed seed".into(),
            SignerKind::Agency => format!("with the key {}", m.signer.public_key),
            _ => "with a throw-away key: nothing shows who made it".into(),
        },
        own_key,
        protects: m.privacy.note.clone(),
        dimensions: dimensions(cube),
        tables: Vec::new(),
        more_tables: 0,
        amounts: Vec::new(),
        level,
        exact: m.declared.invariants.clone(),
        empty: m.declared.constraints.clone(),
        untrue: Vec::new(),
        examples: Vec::new(),
    }
}

fn dimensions(cube: &Cube) -> Vec<Dimension> {
    let of = |(d, dimension): (usize, &crate::cube::Dimension)| {
        let levels = (1..dimension.levels.len()).rev().map(|l| Level::new(d, l));
        let categories = |level: Level| Categories {
            name: cube.level_name(level),
            numeric: level.of(cube).is_numeric(),
            categories: level.of(cube).labels.clone(),
            labels: dimension.labels(level.level).map(<[String]>::to_vec),
        };
        let legend = dimension.legend();
        Dimension {
            name: dimension.name.clone(),
            description: legend.and_then(|l| l.description.clone()),
            unit: legend.and_then(|l| l.unit.clone()),
            concept: legend.and_then(|l| l.concept),
            missing: legend.and_then(|l| l.missing.clone()),
            levels: levels.map(categories).collect(),
        }
    };
    cube.dimensions.iter().enumerate().map(of).collect()
}

impl Answers {
    /// Describes the release, with intervals at `level` and the errors of at most `tables` tables.
    pub fn describe(&self, level: f64, tables: usize) -> Result<Description, QueryError> {
        Ok(Description { examples: self.examples(), ..self.summary(level, tables)? })
    }

    /// Questions that it answers: each has been asked.
    pub fn examples(&self) -> Vec<String> {
        examples::of_tables(self)
    }

    /// The description without questions: no count is looked at.
    pub fn summary(&self, level: f64, tables: usize) -> Result<Description, QueryError> {
        if !(level > 0.0 && level < 1.0) {
            return Err(QueryError::Level(level));
        }
        let (cube, plan) = (self.cube(), self.evaluator().recovery().plan());
        let mut out = about(self.release().manifest(), cube, level);
        for t in plan.rows().workload.iter().take(tables) {
            out.tables.push(self.table(t, level)?);
        }
        out.more_tables = plan.rows().workload.len().saturating_sub(tables) as u64;
        out.amounts = self.amounts(level, tables)?;
        out.untrue = self.caveats(level)?.iter().map(|c| c.text(level)).collect();
        Ok(out)
    }
}

impl Answers {
    /// A table with its error.
    pub fn table(&self, table: &crate::plan::Table, level: f64) -> Result<Table, QueryError> {
        let exact = self.evaluator().recovery().plan().exact.contains(&table.cuboid);
        let (std_error, margin) = match exact {
            true => (Some(0.0), Some(0.0)),
            false => match self.evaluator().worst_cell_law(&table.cuboid) {
                // A description is no place to wait.
                Err(AnswerError::Recover(RecoverError::TooMuch(_))) => (None, None),
                law => law.map(|law| (Some(law.std_error()), Some(law.half_width(level))))?,
            },
        };
        Ok(Table {
            levels: table.cuboid.iter().map(|level| self.cube().level_name(level)).collect(),
            cells: self.cube().cells(&table.cuboid),
            exact,
            std_error,
            margin,
        })
    }
}

impl Questions {
    /// Describes the release, with intervals at `level`.
    pub fn describe(&self, level: f64) -> Result<Description, QueryError> {
        Ok(Description { examples: self.examples(), ..self.summary(level)? })
    }

    /// Questions that it answers, but for the keys that readers name.
    pub fn examples(&self) -> Vec<String> {
        examples::of_keys(self)
    }

    /// The description without questions.
    pub fn summary(&self, level: f64) -> Result<Description, QueryError> {
        if !(level > 0.0 && level < 1.0) {
            return Err(QueryError::Level(level));
        }
        let mut out = about(self.manifest(), self.cube(), level);
        let key = self.key_names();
        out.dimensions.retain(|d| key.contains(&d.name.as_str()));
        for d in out.dimensions.iter_mut().filter(|d| self.is_free(&d.name)) {
            d.levels.clear();
        }
        let one = self.count(&[0], level, Estimator::Best);
        out.tables.push(Table {
            levels: key.iter().map(|k| (*k).to_string()).collect(),
            cells: None,
            exact: false,
            std_error: Some(one.std_error).filter(|error| !error.is_nan()),
            margin: Some((one.high - one.low) / 2.0),
        });
        out.untrue = self.caveats().iter().map(|c| c.text(level)).collect();
        Ok(out)
    }
}
