//! What a projection tells of figures: which cells each sums up.
//!
//! There is no list of noises behind such figures: other counts leak into them through the signs, and how much is itself estimated. What is
//! known is an interval of every sum of cells, whatever their weights, and of every share of one in another. A combination of
//! figures is such a sum again, so its interval is as good as theirs.

use super::answer::{Answer, Estimator, Projected};
use super::weighted::{Weighed, together};
use crate::law::LawError;
use crate::sql::Linear;
use std::sync::Arc;

/// Figures of a projection, each as the cells it sums up.
#[derive(Debug)]
pub(crate) struct Sums {
    /// The integers.
    pub projected: Arc<Projected>,
    /// Which estimate is taken.
    pub estimator: Estimator,
    /// For each figure its cells, with their weights.
    pub figures: Vec<Arc<Vec<Weighed>>>,
}

impl Sums {
    /// A combination of the figures, with an interval at `level`.
    pub(crate) fn sum(&self, of: &Linear, level: f64) -> Result<Answer, LawError> {
        let (factor, cells) = self.weighed(of)?;
        let answer = match cells.split_first() {
            // Cells that all count alike are a plain sum, for which a sketch has its median.
            Some((first, rest)) if rest.iter().all(|c| c.1 == first.1) => {
                let plain: Vec<u64> = cells.iter().map(|c| c.0).collect();
                self.projected.answer(&plain, level, self.estimator).scaled(first.1)
            }
            _ => self.projected.weighted(&cells, level),
        };
        Ok(answer.scaled(factor).shifted(of.constant))
    }

    /// The share of one combination in another, neither with a constant.
    pub(crate) fn share(&self, part: &Linear, whole: &Linear, level: f64) -> Result<Answer, LawError> {
        let ((a, part), (b, whole)) = (self.weighed(part)?, self.weighed(whole)?);
        Ok(self.projected.share(&part, &whole, level, self.estimator).scaled(a / b))
    }

    /// A combination as a factor and cells with weights, each once. No more than the release allows, as in each figure alone.
    fn weighed(&self, of: &Linear) -> Result<(f64, Vec<Weighed>), LawError> {
        let figure = |at: usize| self.figures.get(at).map_or(&[][..], |cells| cells);
        if let [(only, factor)] = of.terms[..] {
            return Ok((factor, figure(only).to_vec()));
        }
        let all = of.terms.iter().flat_map(|&(at, c)| figure(at).iter().map(move |&(cell, w)| (cell, c * w)));
        let cells = together(&all.collect::<Vec<_>>());
        match cells.len() > self.projected.projection().design.sparsity as usize {
            true => Err(LawError::Method(
                "the counts of one column together sum up more cells than this release allows: ask for them in columns of their own",
            )),
            false => Ok((1.0, cells)),
        }
    }
}
