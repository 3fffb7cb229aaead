//! What an answer rests on: how much of its error is noise, how much the other counts, and how its interval is justified.

use super::answer::{Answer, Law, Projected};
use super::bound::proven_factor;
use serde::Serialize;

/// What one answer rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grounds {
    /// The row: its labels.
    pub row: Vec<String>,
    /// How many cells it sums up.
    pub cells: u64,
    /// The standard error; this and its parts are not numbers for the median of a sketch's rows.
    pub std_error: f64,
    /// The standard deviation of the noise in it.
    pub noise: f64,
    /// That of what other counts leave behind.
    pub others: f64,
    /// ‖x‖² as estimated from the released integers.
    pub norm: f64,
    /// What ‖x‖² is at most, but for a fiftieth of the interval's failure rate.
    pub norm_bound: f64,
    /// How the interval is justified.
    pub interval: &'static str,
    /// For a sketch the rows that count for this query, and how many lie outside the interval at each end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<(u32, u32)>,
    /// The interval that needs no limit theorem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven: Option<Proven>,
}

/// An interval from the signs' r-wise independence alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Proven {
    /// How many standard deviations it reaches.
    pub factor: f64,
    /// How many signs at once are independent.
    pub independence: u32,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Grounds {
    /// Of an answer about these cells.
    pub(crate) fn new(
        projected: &Projected,
        row: Vec<String>,
        cells: u64,
        answer: &Answer,
        level: f64,
    ) -> Grounds {
        let alpha = Projected::norm_failure(level);
        let (norm, norm_bound) = projected.norm(alpha);
        let independence = projected.projection().design.independence;
        let proven = projected.proven(answer, level).filter(|_| cells == 1).map(|p| Proven {
            factor: proven_factor(level + alpha, independence),
            independence,
            low: p.low,
            high: p.high,
        });
        let others = answer.std_error * answer.std_error - answer.noise * answer.noise;
        Grounds {
            row,
            cells,
            std_error: answer.std_error,
            noise: answer.noise,
            others: libm::sqrt(others.clamp(0.0, f64::INFINITY)),
            norm,
            norm_bound,
            interval: answer.law.name(),
            order: match answer.law {
                Law::Order { rows, cut } => Some((rows, cut)),
                _ => None,
            },
            proven,
        }
    }
}
