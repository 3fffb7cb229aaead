//! What rows have of numbers, in exports: the tables of sums, and beside the counts of a table its sums and means.

use super::FINISHED;
use crate::answer::{AnswerError, Answers, Group, Options, QueryError};
use crate::cli::Failure;
use crate::cube::{Cuboid, Filter, Level, NoValue, Weighing};
use crate::plan::Plan;
use crate::render::{Caveat, ResultCell, ResultFigure};
use crate::sql::{quoted, quoted_level};

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
    /// What besides noise makes it untrue: the weights of rows; how many values were moved to the ends of the number, where that was measured.
    pub caveats: Vec<Caveat>,
}

impl TidyMeasure {
    /// A count of rows.
    pub(crate) fn of_rows(name: String, cells: Vec<ResultFigure>) -> TidyMeasure {
        TidyMeasure { name, unit: None, cells, caveats: Vec::new() }
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
            let sql = format!("SELECT {name} AS figure FROM {from}{group}");
            let answer = match self.answers.ask(&sql, &Options::at(level)) {
                // Where no count was asked for beside, sums are told and means are not.
                Err(QueryError::Answer(AnswerError::NotHeld { .. })) if name.starts_with("AVG(") => continue,
                answer => answer?,
            };
            let cells = answer.rows.into_iter().filter_map(|row| match row.into_iter().next_back() {
                Some(ResultCell::Figure(figure)) => Some(figure),
                _ => None,
            });
            // How many rows have a value is the same wherever values are moved to.
            let moved = name == "COUNT(*)" || !name.starts_with("COUNT(");
            let own = |c: &Caveat| match c {
                Caveat::Clamped { .. } => moved,
                Caveat::Weighted { .. } => true,
                Caveat::Truncated { .. } | Caveat::Ends { .. } | Caveat::LeftOut { .. } => false,
            };
            let caveats = answer.caveats.into_iter().filter(own).collect();
            out.push(TidyMeasure { name, unit, cells: cells.collect(), caveats });
        }
        Ok(out)
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

    /// What the number of rows in a cell is called: COUNT(*) where nothing weighs them.
    pub(crate) fn of_rows(&self) -> String {
        let weight = self.plan.summed().find(|(quantity, _)| quantity.weighing == Weighing::Weight);
        let name = weight.map_or("*".to_owned(), |(quantity, _)| quoted(&quantity.name));
        format!("COUNT({name})")
    }

    /// What readers are told of the numbers.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> + '_ {
        self.plan.summed().map(|(quantity, _)| quantity.note())
    }
}

/// What besides noise makes measures untrue, each once.
pub(super) fn caveats(measures: &[TidyMeasure]) -> Vec<Caveat> {
    let mut out: Vec<Caveat> = Vec::new();
    for caveat in measures.iter().flat_map(|m| &m.caveats) {
        if !out.contains(caveat) {
            out.push(caveat.clone());
        }
    }
    out
}
