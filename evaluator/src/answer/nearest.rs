//! Aggregates of the consistent tables nearest to the measured ones in another norm than least squares. They have no
//! error law: intervals come from [`Evaluator::joint`].

use super::evaluate::{AnswerError, Evaluator};
use super::open::{Answers, QueryError};
use crate::cube::Level;
use crate::recover::{Nearest, Norm, Source};
use crate::sql::Aggregate;

impl<S: Source> Evaluator<S> {
    /// The aggregates of groups with these nodes, taken from the nearest tables.
    pub fn nearest(
        &self,
        nearest: &Nearest,
        aggregates: &[Aggregate],
        group_by: &[Level],
        groups: &[&[u32]],
    ) -> Result<Vec<Vec<f64>>, AnswerError> {
        let sizes: Vec<usize> = group_by.iter().map(|level| level.of(self.cube()).len()).collect();
        let mut rows = vec![Vec::with_capacity(aggregates.len()); groups.len()];
        for aggregate in aggregates {
            let part = self.part(aggregate, group_by)?;
            let table = self.recovery().nearest_table(nearest, &part.cuboid)?;
            let (strides, sums) = Self::sums(&part, &table, &sizes);
            for (nodes, row) in groups.iter().zip(&mut rows) {
                let at: usize = nodes.iter().zip(&strides).map(|(&n, s)| n as usize * s).sum();
                row.push(sums.get(at).copied().unwrap_or(0.0));
            }
        }
        Ok(rows)
    }
}

impl Answers {
    /// From now on every figure of an answer is that of the consistent tables nearest in `norm` to the measured
    /// ones; a column `least_squares` says what it is by least squares, whose standard error and interval stay.
    ///
    /// # Errors
    /// As [`Recovery::nearest`](crate::recover::Recovery::nearest).
    pub fn nearest_in(mut self, norm: Norm) -> Result<Answers, QueryError> {
        self.nearest = Some(self.evaluator().recovery().nearest(norm)?);
        Ok(self)
    }

    /// The tables the figures are taken from, if they are not those of least squares.
    pub fn nearest(&self) -> Option<&Nearest> {
        self.nearest.as_ref()
    }
}

/// The name of the column that says what a figure is by least squares.
pub const LEAST_SQUARES: &str = "least_squares";

/// What a reader must know of figures that are not those of least squares.
pub fn note(nearest: &Nearest) -> String {
    format!(
        "Estimates: consistent tables nearest to the measured ones in {}, {:.1} away (least squares: {:.1}). Their error \
         has no exact law. Standard errors and intervals are those of the column {LEAST_SQUARES}, and need not hold these \
         estimates.",
        nearest.norm().symbol(),
        nearest.distance(),
        nearest.least_squares_distance()
    )
}
