//! What a question asks for: to be measured itself, for the least budget with which all that is told of it answers it well enough.
//!
//! Everything here follows from the question, the noises of what is out, and the bound: widths of intervals depend on laws, and laws on
//! scales and weights, never on an answer, and nothing is read from private data. So when something is measured, and what it costs, is public.

#[cfg(test)]
mod tests;

use super::CompileError;
use crate::answer::Best;
use crate::answer::linear::Linear;
use crate::answer::tell::pool::Combined;
use crate::cube::{Cuboid, Filter, MeasuredFrom, NoValue, Quantity, Weighing};
use crate::exact::Rational;
use crate::law::{LawError, NoiseLaw};
use crate::ledger::cells::Cells;
use crate::plan::{Noise, Plan, Rows, round};
use crate::planner::{Request, questions};
use crate::release::wire;
use crate::spec::{self, Spec, SpecErrors};
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

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

/// Of some figures the one with the widest interval.
#[derive(Debug, Clone, Copy, Default)]
struct Widest {
    figure: usize,
    half: f64,
    variance: f64,
}

impl Widest {
    /// Of figures of which one is not told.
    const UNTOLD: Widest = Widest { figure: 0, half: f64::INFINITY, variance: f64::INFINITY };
}

/// Searches end when the budget is known to one part in so many.
const FINE: f64 = 1e5;

/// A question about to be judged.
pub struct Question<'a> {
    figures: &'a [Linear],
    /// Of these, those that are asked for, which come first; and those that would be measured.
    asked: usize,
    measured: Range<usize>,
    together: &'a Combined,
    target: Target,
    noise: Noise,
    /// What its rows cost at scale 1.
    unit: Rational,
    /// Its rows at scale 1.
    plan: Plan,
}

impl<'a> Question<'a> {
    /// Of the figures of one query, numbered in `together` as they stand. So many of them are asked for; the others would be measured in their place,
    /// if there are others.
    pub fn new(
        spec: &Spec,
        figures: &'a [Linear],
        asked: usize,
        together: &'a Combined,
        target: Target,
    ) -> Result<Question<'a>, CompileError> {
        let mut request = spec.request().ok_or(CompileError::NoBudget)?;
        request.workload.clear();
        let measured = if asked < figures.len() { asked..figures.len() } else { 0..asked };
        let rows = rows(&request, &figures[measured.clone()])?;
        let (plan, unit) = questions::at_one(&request, &rows)?;
        Ok(Question { figures, asked, measured, together, target, noise: request.noise, unit, plan })
    }

    /// What measuring it costs whom.
    pub(crate) fn cells(&self, spec: &Spec) -> Option<Cells> {
        spec.dataset.as_ref()?.snapshot.as_ref()?;
        let domain = blake3::hash(&wire::encode_domain(&spec.cube).ok()?).to_hex().to_string();
        Cells::of(spec, &self.plan, &spec.cube, &domain)
    }

    /// The law of each row's noise at a budget.
    fn law(&self, budget: f64) -> NoiseLaw {
        let scale = self.unit.to_f64() / budget;
        self.noise.law(scale)
    }

    /// What some figures would be known by, with the rows measured at a budget on top of what is told: the largest variance first, and of like
    /// ones one. `None` where something is not told.
    fn best(&self, budget: Option<f64>, of: &[usize]) -> Result<Option<Vec<(usize, Best)>>, LawError> {
        let more: Vec<(usize, NoiseLaw)> = match budget {
            None => Vec::new(),
            Some(budget) => {
                let first = |i: &usize| {
                    let own = &self.figures[*i].filter;
                    self.figures[self.measured.start..*i].iter().all(|f| f.filter != *own)
                };
                self.measured.clone().filter(first).map(|i| (i, self.law(budget))).collect()
            }
        };
        let solved = self.together.with(&more);
        let one = |i: usize| match budget {
            None => self.together.narrowest(i, self.target.level),
            Some(_) => solved.best(i),
        };
        let all = of.iter().map(|&i| Ok(one(i)?.map(|best| (i, best))));
        let Some(mut best) = all.collect::<Result<Option<Vec<_>>, LawError>>()? else { return Ok(None) };
        let variance = |b: &(usize, Best)| b.1.law.variance();
        best.sort_by(|a, b| variance(b).total_cmp(&variance(a)));
        best.dedup_by(|a, b| (variance(a) - variance(b)).abs() <= 1e-12 * variance(b));
        Ok(Some(best))
    }

    /// Of some figures the one with the widest interval, and half of that. Infinite where something is not told.
    fn widest(&self, budget: Option<f64>, of: &[usize]) -> Result<Widest, LawError> {
        let Some(best) = self.best(budget, of)? else { return Ok(Widest::UNTOLD) };
        let one = |(figure, b): &(usize, Best)| Widest {
            figure: *figure,
            half: b.reach(self.target.level),
            variance: b.law.variance(),
        };
        let all: Vec<Widest> = best.par_iter().map(one).collect();
        Ok(all.into_iter().fold(Widest::default(), |most, one| if one.half > most.half { one } else { most }))
    }

    /// Whether the half-widths of some figures are narrow enough. No more laws are solved than it takes to know.
    fn enough(&self, budget: Option<f64>, of: &[usize]) -> Result<bool, LawError> {
        let Target { within, level } = self.target;
        let Some(mut best) = self.best(budget, of)? else { return Ok(false) };
        // Chebyshev: whatever the law, no more than 1/k² is beyond k standard errors.
        let surely = 0.99 * (1.0 - level) * within * within;
        let open = best.iter().take_while(|b| b.1.law.variance() > surely).count();
        best.truncate(open);
        let narrow = |b: &(usize, Best)| b.1.reach(level) <= within;
        let Some((first, others)) = best.split_first() else { return Ok(true) };
        Ok(narrow(first) && others.par_iter().all(narrow))
    }

    /// What it needs, where no more than `most` may be spent.
    pub fn need(&self, most: Rational) -> Result<Need, CompileError> {
        let all: Vec<usize> = (0..self.asked).collect();
        if self.enough(None, &all)? {
            return Ok(Need::Nothing);
        }
        let told = || self.widest(None, &all).map(|w| w.half);
        if most.is_zero() {
            return Ok(Need::More(told()?));
        }
        let there_is = most.to_f64();
        if !self.enough(Some(there_is), &all)? {
            return Ok(Need::More(self.widest(Some(there_is), &all)?.half.min(told()?)));
        }
        // As if the noise alone had to be that narrow.
        let (unit, within) = (self.unit.to_f64(), self.target.within);
        // However little it needs: with less no noise could be drawn that is as wide.
        let drawn = unit / self.noise.largest_scale().to_f64();
        let mut budget = unit / self.noise.power(within);
        // The search looks at few figures: first at the one of the largest variance, then at whichever proves wider than they.
        let first = self.best(Some(budget.min(there_is)), &all)?.and_then(|b| Some(b.first()?.0));
        let mut watched = vec![first.unwrap_or(0)];
        budget = self.least(budget, there_is, &watched)?;
        let mut hair = 1.0 / FINE;
        loop {
            let Some(written) = round::up_small(short(budget.max(drawn))).filter(|b| *b <= most) else {
                return Ok(Need::Budget(most));
            };
            let Widest { figure, half, .. } = self.widest(Some(written.to_f64()), &all)?;
            if half <= within {
                return Ok(Need::Budget(written));
            }
            if watched.contains(&figure) {
                (budget, hair) = (budget * (1.0 + hair), 2.0 * hair);
            } else {
                watched.push(figure);
                budget = self.least(budget, there_is, &watched)?;
            }
        }
    }

    /// The least budget that is enough for some figures, to one part in [`FINE`]; `most` is enough.
    ///
    /// A half-width is a number of standard errors that changes little with the budget, and one over the variance grows nearly in proportion to it: so a few
    /// half-widths lead next to the budget, and two more tell that it is. Where noise has few steps both are far from true, and doublings and halvings do the rest.
    fn least(&self, guess: f64, most: f64, of: &[usize]) -> Result<f64, LawError> {
        let enough = |budget: f64| self.enough(Some(budget), of);
        let mut near = guess.min(most);
        let mut before = (0.0, 0.0);
        for _ in 0..6 {
            let Widest { half, variance, .. } = self.widest(Some(near), of)?;
            let wanted = 1.0 / (variance * (self.target.within / half).powi(2));
            let here = (near, 1.0 / variance);
            let next = near + (wanted - here.1) * (here.0 - before.0) / (here.1 - before.1);
            before = here;
            if !(next > 0.0 && next.is_finite()) {
                break;
            }
            near = next.min(most);
            if (near - here.0).abs() <= 0.2 / FINE * near {
                break;
            }
        }
        let (mut low, mut high, mut step) = (near, near, 0.4 / FINE);
        if enough(near)? {
            loop {
                (low, step) = (high * (1.0 - step), (4.0 * step).min(0.75));
                if low < 1e-18 || !enough(low)? {
                    break;
                }
                high = low;
            }
        } else {
            while high < most {
                (low, high, step) = (high, (high * (1.0 + step)).min(most), (4.0 * step).min(1.0));
                if high == most || enough(high)? {
                    break;
                }
            }
        }
        while high - low > high / FINE {
            let middle = 0.5 * (low + high);
            if enough(middle)? { high = middle } else { low = middle }
        }
        Ok(high)
    }
}

/// Of a budget what is short to write, and so a hair larger: accounts add up such numbers.
fn short(budget: f64) -> f64 {
    const BITS: i32 = 20;
    let (mantissa, exponent) = libm::frexp(budget);
    libm::ldexp(libm::ceil(libm::ldexp(mantissa, BITS)), exponent - BITS)
}

fn rows(request: &Request, figures: &[Linear]) -> Result<Rows, CompileError> {
    let filters: Vec<&Filter> = figures.iter().map(|f| &f.filter).collect();
    Rows::of(&filters, &request.cube).map_err(CompileError::NoRows)
}

/// The spec of a release that measures one question at a budget: the same people, dimensions and data. `origin` is where the spec
/// stands.
pub(crate) fn spec_of(
    spec: &Spec,
    origin: &Path,
    name: &str,
    sql: &str,
    budget: Rational,
) -> Result<Spec, SpecErrors> {
    let mut asked = toml::Table::new();
    asked.insert("queries".into(), toml::Value::Array(vec![sql.into()]));
    let mut table = without_tables(spec, name, budget);
    table.insert("asked".into(), asked.into());
    read(&table, spec, origin)
}

/// The same of a release that measures the sums of these numbers over one table, and its rows where they are asked for; where rows have weights, these
/// are one of the numbers.
pub(crate) fn spec_of_sums(
    spec: &Spec,
    origin: &Path,
    name: &str,
    (of, quantities, rows): &(Cuboid, Vec<Arc<Quantity>>, bool),
    budget: Rational,
) -> Result<Spec, SpecErrors> {
    let own: toml::Table = spec.source.parse().unwrap_or_default();
    let named = |amount: &&toml::Value| {
        let name = amount.get("name").and_then(toml::Value::as_str);
        quantities.iter().any(|q| Some(q.name.as_str()) == name)
    };
    let amounts = own.get("amount").and_then(toml::Value::as_array).into_iter().flatten().filter(named);
    let amounts = amounts.cloned().map(|mut amount| {
        if let Some(amount) = amount.as_table_mut() {
            amount.remove("measure_clamping");
        }
        amount
    });
    let levels: Vec<String> = of.iter().map(|level| spec.cube.level_name(level)).collect();
    let is_weight = |q: &Quantity| q.weighing == Weighing::Weight;
    let sum = quantities.iter().filter(|q| !is_weight(q)).map(|q| q.name.clone());
    let sum: Vec<String> = sum.collect();
    let weights = spec.amounts.iter().any(|a| is_weight(&a.quantity));
    // What `count` speaks of: rows, or what they weigh.
    let counts = if weights { quantities.iter().any(|q| is_weight(q)) } else { *rows };
    let mut asked = toml::Table::new();
    asked.insert("of".into(), levels.into());
    // What is out is measured from the middle or from zero, and what is measured beside it must be, too: a count keeps the middle, and costs next to nothing.
    if !sum.is_empty() && !counts {
        let free = spec.privacy.budget.noise().is_some_and(|(noise, _)| noise.is_pure());
        let needed = quantities.iter().any(|q| q.needs_count() && q.missing != NoValue::Skip);
        if quantities.iter().any(|q| q.from == MeasuredFrom::Zero) || !free && !weights && needed {
            asked.insert("count".into(), false.into());
        } else {
            let weight = toml::Table::from_iter([("count".to_owned(), toml::Value::from("1/10000"))]);
            asked.insert("weight".into(), weight.into());
        }
    }
    if !sum.is_empty() {
        asked.insert("sum".into(), sum.into());
    }
    let mut table = without_tables(spec, name, budget);
    let amounts: Vec<toml::Value> = amounts.collect();
    if !amounts.is_empty() {
        table.insert("amount".into(), toml::Value::Array(amounts));
    }
    if let Some(weights) = table.get_mut("weights").and_then(toml::Value::as_table_mut) {
        weights.remove("measure_clamping");
        weights.insert("unweighted".into(), (*rows).into());
    }
    table.insert("table".into(), toml::Value::Array(vec![asked.into()]));
    read(&table, spec, origin)
}

/// A spec without what is measured.
fn without_tables(spec: &Spec, name: &str, budget: Rational) -> toml::Table {
    let mut table: toml::Table = spec.source.parse().unwrap_or_default();
    // Whoever may ask gets the answer: it is no copy for one of several recipients.
    let others = ["recipient", "recipients"];
    for key in
        ["table", "query", "zero", "strategy", "projection", "asked", "supersedes", "description", "amount"]
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
    table
}

/// Reads a spec that was made of another.
fn read(table: &toml::Table, spec: &Spec, origin: &Path) -> Result<Spec, SpecErrors> {
    let attached = |file: &str| {
        let found = spec.attachments.iter().find(|(name, _)| name == file);
        found.map(|(_, bytes)| bytes.clone()).ok_or_else(|| std::io::ErrorKind::NotFound.into())
    };
    spec::parse(&toml::to_string(table).unwrap_or_default(), origin, attached)
}
