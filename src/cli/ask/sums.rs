//! Questions about sums of numbers: answered from what is out, or from a table of these sums, for the least budget that tells them well enough.
//!
//! How exact a sum will be follows from the noises alone: a release with zeros in place of what would be measured, asked together with what is out, says it. So the least
//! budget is found by trial, before data is opened. How exact a mean is depends on what it divides by: it is answered from what is out, or not.

use super::super::Failure;
use super::super::refusal::{failure, spec_failure};
use super::{Asker, Reply};
use crate::answer::sums::SumsAsked;
use crate::answer::{AnswerError, Answers, QueryError};
use crate::compile::Job;
use crate::compile::asked::spec_of_sums;
use crate::cube::{Cube, Cuboid, MeasuredFrom, Quantity, Weighing};
use crate::exact::Rational;
use crate::make::MakeError;
use crate::planner::Look;
use crate::release::Release;
use crate::render::ResultTable;
use crate::sql::Query;
use std::sync::Arc;

/// So often the budget is halved in search of one that is too small.
const HALVINGS: u32 = 80;
/// And so often the step between that and one that is enough.
const STEPS: u32 = 6;

/// A question, and in whose terms it is put.
pub(super) struct OfSums {
    cube: Arc<Cube>,
    quantities: Vec<Arc<Quantity>>,
    name: String,
    sql: String,
}

impl OfSums {
    fn read(&self) -> Result<Option<SumsAsked<'_>>, QueryError> {
        SumsAsked::read(&self.cube, &self.quantities, &self.name, &self.sql)
    }

    /// What releases say together.
    fn answer(&self, releases: &[&Answers], level: f64) -> Result<ResultTable, Failure> {
        let asked = self.read()?.map(|asked| asked.answer(releases, level)).transpose()?;
        let mut table = asked.unwrap_or_default();
        table.notes.extend(super::several_keys(releases));
        Ok(table)
    }

    /// How far the least certain figure reaches by them: without end where they do not tell it.
    fn reach(&self, releases: &[&Answers], level: f64) -> Result<f64, Failure> {
        let Some(asked) = self.read()? else { return Ok(f64::INFINITY) };
        match asked.reach(releases, level) {
            Ok(reach) => Ok(reach),
            Err(
                QueryError::NoSums(_)
                | QueryError::NoSquares(_)
                | QueryError::Together(_)
                | QueryError::Answer(AnswerError::NotHeld { .. } | AnswerError::Recover(_)),
            ) => Ok(f64::INFINITY),
            Err(e) => Err(e.into()),
        }
    }
}

impl Asker<'_> {
    /// A question of the spec's amounts, if it is one.
    pub(super) fn sums_of(&self, sql: &str) -> Result<Option<OfSums>, Failure> {
        // Where rows have weights even a count of rows is a sum.
        let weighted = self.spec.amounts.iter().any(|a| a.quantity.weighing == Weighing::Weight);
        if self.spec.amounts.is_empty() || !weighted && Query::parse(sql, &self.spec.cube).is_ok() {
            return Ok(None);
        }
        // As what is out measures them: from the middle or from zero.
        let plans = self.releases.iter().filter_map(|out| out.release().plan(out.cube()).ok());
        let plans: Vec<_> = plans.collect();
        let out = |q: &Quantity| plans.iter().flat_map(|plan| plan.summed()).any(|(own, _)| **own == *q);
        let as_out = |q: &Arc<Quantity>| {
            let zero = Quantity { from: MeasuredFrom::Zero, ..(**q).clone() };
            if out(&zero) { Arc::new(zero) } else { q.clone() }
        };
        let own: Vec<_> = self.spec.amounts.iter().map(|a| a.quantity.clone()).collect();
        let as_out: Vec<_> = own.iter().map(as_out).collect();
        let asked = |quantities| OfSums {
            cube: self.spec.cube.clone(),
            quantities,
            name: self.spec.name.clone(),
            sql: sql.to_owned(),
        };
        let both = as_out != own;
        let (own, as_out) = (asked(own), asked(as_out));
        if as_out.read()?.is_none() {
            return Ok(None);
        }
        // Where both are out they are different sums, and those that are known better answer.
        let releases: Vec<&Answers> = self.releases.iter().collect();
        let better =
            both && own.reach(&releases, self.args.level)? < as_out.reach(&releases, self.args.level)?;
        Ok(Some(if better { own } else { as_out }))
    }

    /// Answers it as well as asked.
    pub(super) fn ask_sums(&mut self, sql: &str, within: Rational, asked: &OfSums) -> Result<Reply, Failure> {
        let level = self.args.level;
        let mut reply = Reply {
            sql: sql.into(),
            within,
            parts: None,
            table: ResultTable::new(Vec::new(), Vec::new(), level),
            released: None,
            refused: None,
        };
        loop {
            let out: Vec<&Answers> = self.releases.iter().collect();
            let known = asked.reach(&out, level)?;
            if known <= within.to_f64() {
                reply.table = asked.answer(&out, level)?;
                return Ok(reply);
            }
            let Some(question) = asked.read()? else { return Ok(reply) };
            if let Some((name, squares)) = question.quotient()? {
                let lacking = squares.filter(|of| {
                    self.spec.amounts.iter().any(|a| a.quantity.name.eq_ignore_ascii_case(of) && !a.square)
                });
                if let Some(of) = lacking {
                    reply.refused = Some(format!(
                        "nothing that is out, and nothing that is asked for here, has squares of `{of}`: `{name}` needs `square = true` in its [[amount]], \
                         and a release of that spec"
                    ));
                    return Ok(reply);
                }
                reply.refused = Some(format!(
                    "what is out does not tell `{name}` within {within}, and how exact a quotient will be nobody knows before it is measured: ask for the sums \
                     and counts that it is made of"
                ));
                return Ok(reply);
            }
            let told_by = question.told_by()?;
            let most = self.most(None)?;
            let budget = match self.needed(asked, &told_by, within.to_f64(), most)? {
                Ok(budget) => budget,
                Err(reach) => {
                    reply.refused = Some(self.refusal(within, reach.min(known), most));
                    return Ok(reply);
                }
            };
            let made =
                self.measure(&|spec, origin, name| spec_of_sums(spec, origin, name, &told_by, budget))?;
            let Some(released) = made else {
                // Somebody else measured meanwhile: perhaps just this.
                self.look()?;
                continue;
            };
            let fresh = Release::open(&released.sealed.path)
                .map_err(|e| super::output::about(&released.sealed.path, &e))?;
            reply.released = Some(released);
            self.look()?;
            reply.table = match self.args.no_inference {
                true => asked.answer(&[&super::opened(fresh)?], level)?,
                false => asked.answer(&self.releases.iter().collect::<Vec<_>>(), level)?,
            };
            return Ok(reply);
        }
    }

    /// How far the least certain figure would reach with these sums measured at a budget, beside what is out.
    fn reach_at(
        &self,
        asked: &OfSums,
        told_by: &(Cuboid, Vec<Arc<Quantity>>, bool),
        budget: Rational,
    ) -> Result<f64, Failure> {
        let made =
            spec_of_sums(&self.spec, &self.args.spec, &self.next, told_by, budget).map_err(spec_failure)?;
        let failed = |e| failure(MakeError::from(e));
        let job = Job::watched(&made, Look::Needed, &self.watch).map_err(failed)?;
        let zeros = job.of_zeros(&made, &super::super::today(), &self.watch).map_err(failed)?;
        let zeros = Answers::from_release(zeros)?;
        let all: Vec<&Answers> = self.releases.iter().chain([&zeros]).collect();
        asked.reach(&all, self.args.level)
    }

    /// The least budget found, at most `most`, with which it reaches no further than `within`; or how far it reaches with all of that.
    fn needed(
        &self,
        asked: &OfSums,
        told_by: &(Cuboid, Vec<Arc<Quantity>>, bool),
        within: f64,
        most: Rational,
    ) -> Result<Result<Rational, f64>, Failure> {
        if most.is_zero() {
            return Ok(Err(f64::INFINITY));
        }
        let reach = self.reach_at(asked, told_by, most)?;
        if reach > within {
            return Ok(Err(reach));
        }
        let half = |r: Rational| Rational::new(1, 2).and_then(|half| r.checked_mul(half));
        let (mut enough, mut little) = (most, None);
        for _ in 0..HALVINGS {
            let Some(less) = half(enough) else { break };
            // A budget may be too small for noise of 64 bits.
            if !self.reach_at(asked, told_by, less).is_ok_and(|reach| reach <= within) {
                little = Some(less);
                break;
            }
            enough = less;
        }
        let Some(mut little) = little else { return Ok(Ok(enough)) };
        for _ in 0..STEPS {
            let Some(between) = enough.checked_add(little).and_then(half) else { break };
            if self.reach_at(asked, told_by, between).is_ok_and(|reach| reach <= within) {
                enough = between;
            } else {
                little = between;
            }
        }
        Ok(Ok(enough))
    }
}
