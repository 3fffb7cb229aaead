//! What a question asks for: to be measured itself, for the least budget with which all that is told of it answers it well enough.
//!
//! Everything here follows from the question, the noises of what is out, and the bound: widths of intervals depend on laws, and laws on
//! scales and weights, never on an answer, and nothing is read from private data. So when something is measured, and what it costs, is public.

use super::CompileError;
use crate::answer::linear::{self, Linear};
use crate::answer::past::Together;
use crate::cube::Filter;
use crate::exact::Rational;
use crate::law::{LawError, NoiseLaw};
use crate::plan::{Noise, Rows, round};
use crate::planner::{Request, questions};
use crate::spec::{self, Spec, SpecErrors};
use std::path::Path;

/// How well a question is to be answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// The half-width of every interval.
    pub within: f64,
    /// The probability with which it covers.
    pub level: f64,
}

/// What a question needs.
#[derive(Debug, Clone, PartialEq)]
pub enum Need {
    /// Nothing: what is out answers it.
    Nothing,
    /// To be measured at this budget, and no less.
    Budget(Rational),
    /// More than there is. The half-width that all there is reaches; infinite where nothing is told and nothing is left.
    More(f64),
}

/// Searches end when the budget is known to one part in so many.
const FINE: f64 = 1e5;

/// A question about to be judged.
pub struct Question<'a> {
    figures: &'a [Linear],
    together: &'a Together,
    target: Target,
    noise: Noise,
    /// What its rows cost at scale 1.
    unit: Rational,
}

impl<'a> Question<'a> {
    /// Of the figures of one query, numbered in `together` as they stand.
    pub fn new(
        spec: &Spec,
        figures: &'a [Linear],
        together: &'a Together,
        target: Target,
    ) -> Result<Question<'a>, CompileError> {
        let mut request = spec.request().ok_or(CompileError::NoBudget)?;
        request.workload.clear();
        let rows = rows(&request, figures)?;
        let unit = questions::unit_cost(&request, &rows)?;
        Ok(Question { figures, together, target, noise: request.noise, unit })
    }

    /// The law of each row's noise at a budget.
    fn law(&self, budget: f64) -> NoiseLaw {
        let scale = self.unit.to_f64() / budget;
        match self.noise {
            Noise::Gaussian => NoiseLaw::DiscreteGaussian { variance: scale },
            Noise::Laplace => NoiseLaw::DiscreteLaplace { scale },
        }
    }

    /// The widest half-width, with the rows measured at a budget on top of what is told. Infinite where something is not told.
    /// `all` looks at every interval; else only at that of the largest variance.
    fn reach(&self, budget: Option<f64>, all: bool) -> Result<f64, LawError> {
        let more: Vec<(usize, NoiseLaw)> = match budget {
            None => Vec::new(),
            Some(budget) => {
                let first = |i: &usize| {
                    let own = &self.figures[*i].filter;
                    self.figures[..*i].iter().all(|f| f.filter != *own)
                };
                (0..self.figures.len()).filter(first).map(|i| (i, self.law(budget))).collect()
            }
        };
        let solved = self.together.with(&more);
        let mut best = Vec::with_capacity(self.figures.len());
        for i in 0..self.figures.len() {
            let Some(b) = solved.best(i)? else { return Ok(f64::INFINITY) };
            best.push(b);
        }
        best.sort_by(|a, b| b.law.variance().total_cmp(&a.law.variance()));
        best.dedup_by(|a, b| (a.law.variance() - b.law.variance()).abs() <= 1e-12 * b.law.variance());
        best.truncate(if all { usize::MAX } else { 1 });
        Ok(best.iter().map(|b| b.reach(self.target.level)).fold(0.0, f64::max))
    }

    /// What it needs, where no more than `most` may be spent.
    pub fn need(&self, most: Rational) -> Result<Need, CompileError> {
        let told = self.reach(None, true)?;
        if told <= self.target.within {
            return Ok(Need::Nothing);
        }
        let enough = |budget: f64, all: bool| -> Result<bool, LawError> {
            Ok(self.reach(Some(budget), all)? <= self.target.within)
        };
        let most_there_is = most.to_f64();
        if most.is_zero() {
            return Ok(Need::More(told));
        }
        if !enough(most_there_is, true)? {
            return Ok(Need::More(self.reach(Some(most_there_is), true)?.min(told)));
        }
        // As if the noise alone had to be that narrow; then by doublings and halvings.
        let unit = self.unit.to_f64();
        let guess = match self.noise {
            Noise::Laplace => unit / self.target.within,
            Noise::Gaussian => unit / (self.target.within * self.target.within),
        };
        let (mut low, mut high) = (0.0, guess.min(most_there_is));
        while !enough(high, false)? {
            (low, high) = (high, (high * 2.0).min(most_there_is));
            if low >= most_there_is {
                break;
            }
        }
        while low == 0.0 && high > 1e-18 {
            let less = high / 4.0;
            if enough(less, false)? { high = less } else { low = less }
        }
        while high - low > high / FINE {
            let middle = 0.5 * (low + high);
            if enough(middle, false)? { high = middle } else { low = middle }
        }
        // Every interval, and a budget that is short to write.
        let mut budget = high;
        loop {
            let written = round::up(budget).filter(|b| *b <= most);
            match written {
                Some(b) if enough(b.to_f64(), true)? => return Ok(Need::Budget(b)),
                Some(_) => budget *= 1.0 + 1.0 / FINE,
                None => return Ok(Need::Budget(most)),
            }
        }
    }
}

fn rows(request: &Request, figures: &[Linear]) -> Result<Rows, CompileError> {
    let filters: Vec<&Filter> = figures.iter().map(|f| &f.filter).collect();
    linear::rows(&filters, &request.cube).map_err(CompileError::NoRows)
}

/// The spec of a release that measures one question at a budget: the same people, dimensions and data. `origin` is where the spec
/// stands.
pub fn spec_of(
    spec: &Spec,
    origin: &Path,
    name: &str,
    sql: &str,
    budget: Rational,
) -> Result<Spec, SpecErrors> {
    let mut table: toml::Table = spec.source.parse().unwrap_or_default();
    // Whoever may ask gets the answer: it is no copy for one of several recipients.
    let others = ["recipient", "recipients"];
    for key in ["table", "zero", "strategy", "projection", "asked", "supersedes", "description"]
        .iter()
        .chain(&others)
    {
        table.remove(*key);
    }
    let text = |t: &str| toml::Value::String(t.to_owned());
    table.insert("name".into(), text(name));
    table.insert("title".into(), text(&format!("{}: a question", spec.title)));
    let section = |table: &mut toml::Table, key: &str, change: &dyn Fn(&mut toml::Table)| {
        let empty = || toml::Value::Table(toml::Table::new());
        if let Some(section) = table.entry(key).or_insert_with(empty).as_table_mut() {
            change(section);
        }
    };
    // Without an id the spec's name stands for the dataset; the question's own name must not.
    section(&mut table, "dataset", &|dataset| {
        dataset.entry("id").or_insert_with(|| text(&spec.name));
    });
    section(&mut table, "privacy", &|privacy| {
        for key in ["rho", "epsilon", "delta", "measure_truncation"] {
            privacy.remove(key);
        }
        let key = match spec.privacy.budget {
            spec::Budget::Epsilon(_) => "epsilon",
            spec::Budget::Rho(_) | spec::Budget::EpsilonDelta(..) => "rho",
        };
        privacy.insert(key.into(), text(&budget.to_string()));
    });
    section(&mut table, "asked", &|asked| {
        asked.insert("queries".into(), toml::Value::Array(vec![text(sql)]));
    });
    let attached = |file: &str| {
        let found = spec.attachments.iter().find(|(name, _)| name == file);
        found.map(|(_, bytes)| bytes.clone()).ok_or_else(|| std::io::ErrorKind::NotFound.into())
    };
    spec::parse(&toml::to_string(&table).unwrap_or_default(), origin, attached)
}
