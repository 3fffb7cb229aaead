//! What rows have of numbers, in exports: the tables of sums, and beside the counts of a table its sums and means.

use super::FINISHED;
use crate::answer::{AnswerError, Answers, Group, Options, QueryError, whole_ends};
use crate::cli::Failure;
use crate::cube::{Cuboid, Filter, Level, NoValue, Weighing};
use crate::law::{ErrorLaw, Interval};
use crate::plan::Plan;
use crate::render::{Caveat, ResultCell, ResultFigure};
use crate::sql::{quoted, quoted_level};
use std::collections::HashMap;
use std::sync::Arc;

/// Which tables a release has, of counts and of the sums of numbers.
pub(crate) struct SummedBeside<'a> {
    answers: &'a Answers,
    plan: Plan,
}

/// One figure of every cell of a table.
pub(crate) struct TidyMeasure {
    /// `SUM(income)`
    pub name: String,
    /// What it is measured in, if that is said.
    pub unit: Option<String>,
    pub cells: Vec<ResultFigure>,
    /// What besides noise makes it untrue, as an answer to the same question says it.
    pub caveats: Vec<Caveat>,
    /// What else an answer says of it: that it is a ratio, where values were moved to.
    pub notes: Vec<String>,
    /// How its intervals were found.
    pub method: String,
}

impl TidyMeasure {
    /// A mean: a ratio of two estimates.
    pub(super) fn is_mean(&self) -> bool {
        self.name.starts_with(MEAN)
    }
}

/// How the name of a mean begins.
const MEAN: &str = "AVG(";

/// What besides noise makes every figure of a table untrue, in the order of answers: what is told of the ends of dimensions is for tables that tell
/// the categories of these apart.
fn caveats(answers: &Answers, levels: &[Level], level: f64) -> Result<Vec<Caveat>, Failure> {
    let named = |name: &str| levels.iter().any(|l| answers.cube().dimensions[l.dimension].name == name);
    let all = answers.caveats(level)?.into_iter();
    let (ends, others): (Vec<_>, Vec<_>) = all.partition(|c| matches!(c, Caveat::Ends { .. }));
    let own = ends.into_iter().filter(|c| matches!(c, Caveat::Ends { dimension, .. } if named(dimension)));
    Ok(own.chain(others).collect())
}

/// The count of each cell, and how intervals were found. Cells of one kind share a law, and those of other areas that are as large have an equal one:
/// each is worked out once.
pub(super) fn figures(groups: &[Group], level: f64) -> (Vec<ResultFigure>, &'static str) {
    let mut widths: HashMap<usize, (f64, f64)> = HashMap::new();
    let mut halves: HashMap<String, f64> = HashMap::new();
    let mut method = None;
    let mut width = |law: &ErrorLaw| {
        // Terms are sorted, and numbers that differ are written differently.
        let half = halves.entry(format!("{:?}", law.terms())).or_insert_with(|| {
            let ((_, half), found) = law.interval_by(level, Interval::EqualTailed);
            if !law.terms().is_empty() {
                method.get_or_insert(found);
            }
            half
        });
        (law.std_error(), *half)
    };
    let figure = |g: &Group| {
        let (std_error, half) = *widths.entry(Arc::as_ptr(&g.law) as usize).or_insert_with(|| width(&g.law));
        let (low, high) = whole_ends(g.estimate - half, g.estimate + half);
        // Without noise it is a whole number, whatever rounding made of it.
        let estimate = if std_error == 0.0 && low == high { low } else { g.estimate };
        ResultFigure { estimate, std_error, low, high }
    };
    let all = groups.iter().map(figure).collect();
    (all, method.unwrap_or("no noise: the answer is exact"))
}

/// Adds what is not among them yet.
pub(super) fn add<T: PartialEq>(all: &mut Vec<T>, more: impl IntoIterator<Item = T>) {
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}

impl<'a> SummedBeside<'a> {
    pub(crate) fn new(answers: &'a Answers) -> Result<SummedBeside<'a>, Failure> {
        Ok(SummedBeside { answers, plan: answers.release().plan(answers.cube())? })
    }

    /// Every table that was asked for, once.
    pub(crate) fn tables(&self) -> Vec<Vec<Level>> {
        let sums = self.plan.summed().flat_map(|(_, tables)| tables);
        let mut out: Vec<&Cuboid> = Vec::new();
        for table in self.plan.rows().workload.iter().chain(sums) {
            // Workloads may be long; sums are not.
            if out.len() < self.plan.rows().workload.len() || !out.contains(&&table.cuboid) {
                out.push(&table.cuboid);
            }
        }
        out.into_iter().map(|c| c.iter().collect()).collect()
    }

    /// What is told of each cell beside its count: of every number whose sums were asked for at least as finely.
    pub(crate) fn beside(&self, levels: &[Level], level: f64) -> Result<Vec<TidyMeasure>, Failure> {
        let own = Cuboid::new(levels.iter().copied());
        let asked = |q: &&crate::plan::Table| own.is_below(&q.cuboid);
        let told = self.plan.summed().filter(|(_, tables)| tables.iter().any(|t| asked(&t)));
        let mut names = Vec::new();
        for (quantity, _) in told {
            // Where every row has a value, the number of them is the count itself.
            // The sum of weights is the count, and rows are told without it.
            let all: &[&str] = match (quantity.weighing, quantity.missing) {
                (Weighing::Weight, _) => {
                    names.push(("COUNT(*)".to_owned(), quantity.unit.clone()));
                    continue;
                }
                (_, NoValue::Skip) => &["SUM", "AVG", "COUNT"],
                (_, NoValue::Stop | NoValue::Zero) => &["SUM", "AVG"],
            };
            let unit = |function: &str| quantity.unit.clone().filter(|_| function != "COUNT");
            let name = |function: &str| format!("{function}({})", quoted(&quantity.name));
            names.extend(all.iter().map(|function| (name(function), unit(function))));
        }
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let by: Vec<String> = levels.iter().map(|l| quoted_level(self.answers.cube(), *l)).collect();
        let group = if by.is_empty() { String::new() } else { format!(" GROUP BY {}", by.join(", ")) };
        let from = quoted(self.answers.name());
        let mut out = Vec::with_capacity(names.len());
        for (name, unit) in names {
            let sql = format!("SELECT {name} FROM {from}{group}");
            let answer = match self.answers.ask(&sql, &Options::at(level)) {
                // Where no count was asked for beside, sums are told and means are not.
                Err(QueryError::Answer(AnswerError::NotHeld { .. })) if name.starts_with(MEAN) => continue,
                answer => answer?,
            };
            let cells = answer.rows.into_iter().filter_map(|row| match row.into_iter().next_back() {
                Some(ResultCell::Figure(figure)) => Some(figure),
                _ => None,
            });
            let (caveats, notes) = (answer.caveats, answer.notes);
            let method = answer.methods.into_iter().next().map(|(_, method)| method).unwrap_or_default();
            out.push(TidyMeasure { name, unit, cells: cells.collect(), caveats, notes, method });
        }
        Ok(out)
    }

    /// The number of rows in each cell of a table, which is of these levels.
    pub(super) fn of_rows(
        &self,
        levels: &[Level],
        groups: &[Group],
        level: f64,
    ) -> Result<TidyMeasure, Failure> {
        let weight = self.plan.summed().find(|(quantity, _)| quantity.weighing == Weighing::Weight);
        // COUNT(*) where nothing weighs them.
        let name = weight.map_or("*".to_owned(), |(quantity, _)| quoted(&quantity.name));
        let (cells, method) = figures(groups, level);
        let (caveats, notes) = (caveats(self.answers, levels, level)?, Vec::new());
        Ok(TidyMeasure {
            name: format!("COUNT({name})"),
            unit: None,
            cells,
            caveats,
            notes,
            method: method.into(),
        })
    }

    /// What is to be known of a table beside its numbers, of all its measures once: what besides noise makes them untrue, and what else.
    pub(super) fn said(&self, measures: &[TidyMeasure]) -> (Vec<Caveat>, Vec<String>) {
        let (mut caveats, mut notes) = (Vec::new(), Vec::from_iter(self.answers.told()));
        add(&mut caveats, measures.iter().flat_map(|m| m.caveats.iter().cloned()));
        add(&mut notes, measures.iter().flat_map(|m| m.notes.iter().cloned()));
        (caveats, notes)
    }

    /// The counts of a table; `None` where it tells sums alone, which are `beside`.
    pub(super) fn counts(
        &self,
        levels: &[Level],
        beside: &[TidyMeasure],
    ) -> Result<Option<Vec<Group>>, Failure> {
        match self.answers.evaluator().aggregate(&Filter::everything(), levels) {
            Err(AnswerError::NotHeld { .. }) if !beside.is_empty() => Ok(None),
            groups => Ok(Some(groups?)),
        }
    }

    /// Of these tables those whose counts can be finished, and what is said of the others. Refused where sums alone are told of all: nothing of them would be.
    pub(super) fn finished(
        &self,
        tables: &[Vec<Level>],
    ) -> Result<(Vec<Vec<Level>>, Option<String>), Failure> {
        let recovery = self.answers.evaluator().recovery();
        let counted = |levels: &&Vec<Level>| recovery.holds(&Cuboid::new(levels.iter().copied()));
        let (counted, others): (Vec<_>, Vec<_>) = tables.iter().partition(counted);
        let name = |levels: &&Vec<Level>| self.answers.cube().describe(&Cuboid::new(levels.iter().copied()));
        let names = || others.iter().map(name);
        let cloned = |of: Vec<&Vec<Level>>| of.into_iter().cloned().collect();
        match (counted.is_empty(), others.len()) {
            (_, 0) => Ok((cloned(counted), None)),
            (false, _) => {
                let names = names().collect::<Vec<_>>().join("; ");
                let note =
                    format!("{FINISHED}: for counts; sums alone are told of {names}, and stay as they are");
                Ok((cloned(counted), Some(note)))
            }
            (true, _) if self.plan.summed().next().is_none() => Ok((tables.to_vec(), None)),
            (true, many) => {
                let of = if many == 1 { names().collect() } else { "these tables".to_owned() };
                Err(Failure::Message(format!(
                    "--finish makes counts whole and non-negative, and of {of} this release tells sums alone, which may be neither: export without it"
                )))
            }
        }
    }
}
