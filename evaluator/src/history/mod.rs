//! The best linear unbiased estimate from any history of answered queries.
//!
//! A history is a list of linear queries `H` (one row each, over cells), the noisy answers `y`, and what each was
//! given: a budget α and a sensitivity `S = max|H_i|`, so that its noise is Laplace of scale `S/α`.
//! With `W = diag²(α./S)` the estimate is `x̂ = (HᵀWH)⁻HᵀWy`; a query `Q` has an unbiased estimate exactly when it lies
//! in the row space of H, and then `Q x̂` is the same for every generalised inverse, with variance
//! `2 Q(HᵀWH)⁻Qᵀ`.
//!
//! Nothing is squared on the way: a column-pivoted QR factorisation of `√W·H = Q₁R` gives the rank, the row
//! space, and with `R₁₁ᵀ t = q` the estimate `tᵀQ₁ᵀ√W·y`, whose error is `Σ (Q₁t)_i E_i` with independent unit Laplace
//! noises: its interval is exact ([`ErrorLaw`]). A history of more work than that is good for is solved by a blocked factorisation of
//! the normal matrix whose error conjugate gradients take away, and one over still more cells by conjugate gradients over its non-zero
//! entries alone, with the same results.

use crate::law::{ErrorLaw, LawError, NoiseLaw, Term};
use crate::numeric::cholesky::dot;
use crate::numeric::qr::Qr;
use crate::numeric::sparse::Sparse;
use crate::posterior::prob_greater;
use blocked::Blocked;
use descent::{Descent, Solved};

mod blocked;
mod descent;
pub mod posterior;

/// Why a history says nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HistoryError {
    /// Lists of different lengths, or rows of different lengths.
    #[error("{what} has {got} entries where {want} are needed")]
    Length {
        /// Which list.
        what: String,
        /// How many there are.
        got: usize,
        /// How many there should be.
        want: usize,
    },
    /// A number that makes no sense in its place.
    #[error("{0}")]
    Number(String),
    /// More than fits in memory comfortably.
    #[error("{0} rows × {1} cells are too many: at most 2^26 of each and 2^26 entries that are not 0")]
    TooLarge(usize, usize),
    /// Conjugate gradients did not settle.
    #[error("the rows are too nearly dependent to say whether they determine this query")]
    Unclear,
    /// A query outside the row space.
    #[error("no combination of the answered queries gives this one: it has no unbiased estimate")]
    NotEstimable,
    /// The law of an error.
    #[error(transparent)]
    Law(#[from] LawError),
}

/// Answered queries.
///
/// The worked example of the method:
///
/// ```
/// use margins_evaluator::history::History;
/// let rows = vec![
///     vec![1., 1., 0., 0.], vec![0., 0., 1., 1.], vec![0., 0., 0., 1.], vec![0., 0., 1., 0.],
///     vec![0., 1., 0., 1.], vec![2., 1., 0., 0.], vec![0., 0., 2., -1.], vec![0., -1., 0., 1.],
/// ];
/// let history = History::new(
///     rows,
///     vec![30.8, 30.3, 46.9, 20.2, 30.4, 68.9, 38.9, 9.5],
///     vec![0.05, 0.1, 0.05, 0.1, 0.1, 0.05, 0.05, 0.1],
///     None,
/// )?;
/// let inferred = history.infer()?;
/// let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
/// for (x, want) in inferred.cells().iter().zip([24.992308, 10.176923, 17.021495, 19.501869]) {
///     near(x.unwrap(), want);
/// }
/// let answer = inferred.query(&[1., 0., 1., 0.])?;
/// near(answer.estimate, 42.013803);
/// near(answer.law.variance(), 554.450036);
/// let (low, high) = answer.interval(0.95);
/// assert!((-1e-6..1e-5).contains(&(-5.369527 - low)), "{low}");
/// // Ends of intervals are found by bisection from the safe side: never inside the exact one, at most 1e-5 outside.
/// assert!((-1e-6..1e-5).contains(&(high - 89.397127)), "{high}");
/// near(answer.prob_positive(), 0.961904);
/// for (b, want) in history.cell_cost().iter().zip([0.1, 0.275, 0.25, 0.375]) {
///     near(*b, want);
/// }
/// near(history.cost(), 0.375);
/// # Ok::<(), margins_evaluator::history::HistoryError>(())
/// ```
#[derive(Debug, Clone)]
pub struct History {
    rows: Sparse,
    answers: Vec<f64>,
    budgets: Vec<f64>,
    sensitivities: Vec<f64>,
}

/// How estimates are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Solver {
    /// A column-pivoted QR factorisation.
    Dense,
    /// A blocked Cholesky factor of the normal matrix, refined; where rows are too nearly dependent for it, the QR factorisation.
    Blocked,
    /// Conjugate gradients over the entries that are not 0.
    Sparse,
}

/// The estimates a history gives.
#[derive(Debug, Clone)]
pub struct Inferred {
    cells: usize,
    estimates: Vec<Option<f64>>,
    factors: Factors,
}

/// What queries are answered from.
#[derive(Debug, Clone)]
enum Factors {
    Dense(Box<Dense>),
    Blocked(Box<Blocked>),
    Sparse(Descent),
}

/// A column-pivoted QR factorisation of `√W·H`.
#[derive(Debug, Clone)]
struct Dense {
    qr: Qr,
    /// `√W y`.
    weighted: Vec<f64>,
    /// `Q₁ᵀ √W y`.
    projected: Vec<f64>,
}

/// A query's estimate and the law of its error.
#[derive(Debug, Clone)]
pub struct HistoryAnswer {
    /// The best linear unbiased estimate.
    pub estimate: f64,
    /// The exact law of its error.
    pub law: ErrorLaw,
}

/// What a query of a wanted precision takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Spending {
    /// The history is precise enough: nothing is spent.
    Nothing {
        /// The half-width it gives.
        half_width: f64,
    },
    /// The query must be asked again with this budget.
    Ask {
        /// The least budget that reaches the half-width, combined with the history.
        budget: f64,
        /// What it would take alone: `S ln(1/δ)/w`.
        alone: f64,
        /// The half-width reached.
        half_width: f64,
        /// The cost of the history with this query.
        cost: f64,
    },
    /// The total bound would be passed.
    Refused {
        /// The least budget that would reach the half-width.
        budget: f64,
        /// The cost of the history with it.
        cost: f64,
        /// The bound.
        bound: f64,
    },
}

/// The most rows, cells and entries that are not 0.
pub const MOST_NUMBERS: usize = 1 << 26;
/// The most multiplications for which the dense factorisation is taken, `rows · cells²`.
const DENSE_WORK: f64 = 5e8;
/// The most cells for which the normal matrix is factored: it and its factor take 400 MB.
const BLOCKED_CELLS: usize = 5_792;

impl History {
    /// From rows, answers, budgets and sensitivities (`max|H_i|` when not given). A row of zeros says nothing
    /// and is allowed.
    pub fn new(
        rows: Vec<Vec<f64>>,
        answers: Vec<f64>,
        budgets: Vec<f64>,
        sensitivities: Option<Vec<f64>>,
    ) -> Result<History, HistoryError> {
        let cells = rows.first().map_or(0, Vec::len);
        for (i, row) in rows.iter().enumerate() {
            length(&format!("row {}", i + 1), row.len(), cells)?;
        }
        let shape = (rows.len(), cells);
        let entries = rows.iter().enumerate().flat_map(|(i, row)| {
            row.iter().enumerate().filter(|(_, v)| **v != 0.0).map(move |(j, v)| (i, j, *v))
        });
        History::from_entries(shape, entries, answers, budgets, sensitivities)
    }

    /// From the non-zero entries (row, cell, value) of a matrix; entries of one place add up.
    pub fn from_entries(
        shape: (usize, usize),
        entries: impl IntoIterator<Item = (usize, usize, f64)>,
        answers: Vec<f64>,
        budgets: Vec<f64>,
        sensitivities: Option<Vec<f64>>,
    ) -> Result<History, HistoryError> {
        if shape.0.max(shape.1) > MOST_NUMBERS {
            return Err(HistoryError::TooLarge(shape.0, shape.1));
        }
        let mut list: Vec<(u32, u32, f64)> = Vec::new();
        for (i, j, v) in entries {
            if i >= shape.0 || j >= shape.1 {
                return Err(HistoryError::Number(format!("there is no place ({}, {})", i + 1, j + 1)));
            }
            if list.len() >= MOST_NUMBERS {
                return Err(HistoryError::TooLarge(shape.0, shape.1));
            }
            // Below 2^26, as the shape is.
            list.push((i as u32, j as u32, v));
        }
        History::from_matrix(Sparse::new(shape, list), answers, budgets, sensitivities)
    }

    /// Two histories of the same data, such as the answers of two releases, as one.
    pub fn and(&self, other: &History) -> Result<History, HistoryError> {
        length("a row of the other history", other.rows.columns(), self.rows.columns())?;
        let first = self.rows.rows();
        let moved = other.rows.entries().map(|(i, j, v)| (first + i, j, v));
        let entries = self.rows.entries().chain(moved);
        let both = |a: &[f64], b: &[f64]| [a, b].concat();
        History::from_entries(
            (first + other.rows.rows(), self.rows.columns()),
            entries,
            both(&self.answers, &other.answers),
            both(&self.budgets, &other.budgets),
            Some(both(&self.sensitivities, &other.sensitivities)),
        )
    }

    fn from_matrix(
        rows: Sparse,
        answers: Vec<f64>,
        budgets: Vec<f64>,
        sensitivities: Option<Vec<f64>>,
    ) -> Result<History, HistoryError> {
        let (m, n) = (rows.rows(), rows.columns());
        if m == 0 || n == 0 {
            return Err(HistoryError::Number("a history needs at least one row and one cell".into()));
        }
        length("answers", answers.len(), m)?;
        length("budgets", budgets.len(), m)?;
        let largest: Vec<f64> =
            (0..m).map(|i| rows.row(i).fold(0.0f64, |most, (_, v)| most.max(v.abs()))).collect();
        let given = sensitivities.is_some();
        let sensitivities = sensitivities.unwrap_or_else(|| largest.clone());
        length("sensitivities", sensitivities.len(), m)?;
        if rows.values().iter().chain(&answers).any(|v| !v.is_finite()) {
            return Err(HistoryError::Number("rows and answers must be finite numbers".into()));
        }
        if let Some(i) = budgets.iter().position(|b| !(b.is_finite() && *b > 0.0)) {
            return Err(HistoryError::Number(format!("budget {} must be positive", i + 1)));
        }
        for (i, (s, least)) in sensitivities.iter().zip(&largest).enumerate() {
            // The sensitivity is what makes the budget a guarantee: it may be larger than needed, not smaller.
            if !s.is_finite() || (given && *s < *least) {
                return Err(HistoryError::Number(format!(
                    "sensitivity {} must be at least {least}, the largest entry of its row",
                    i + 1
                )));
            }
        }
        Ok(History { rows, answers, budgets, sensitivities })
    }

    /// `α/S` of a row; 0 for a row that says nothing.
    fn weight(&self, i: usize) -> f64 {
        if self.sensitivities[i] > 0.0 { self.budgets[i] / self.sensitivities[i] } else { 0.0 }
    }

    /// What was spent on each cell: `B = (α./S)ᵀ|H|`.
    pub fn cell_cost(&self) -> Vec<f64> {
        let mut cost = vec![0.0; self.rows.columns()];
        for (i, j, v) in self.rows.entries() {
            cost[j] += self.weight(i) * v.abs();
        }
        cost
    }

    /// What the whole history costs: the largest cell's cost.
    pub fn cost(&self) -> f64 {
        self.cell_cost().into_iter().fold(0.0, f64::max)
    }

    /// Works out the estimates, in the way that is good for the size.
    pub fn infer(&self) -> Result<Inferred, HistoryError> {
        let (m, n) = (self.rows.rows() as f64, self.rows.columns() as f64);
        // Of the two dimensions the smaller counts twice.
        self.infer_by(match m * n * m.min(n) <= DENSE_WORK {
            true => Solver::Dense,
            false if self.rows.columns() <= BLOCKED_CELLS => Solver::Blocked,
            false => Solver::Sparse,
        })
    }

    /// Works out the estimates in this way.
    pub fn infer_by(&self, solver: Solver) -> Result<Inferred, HistoryError> {
        let (m, n) = (self.rows.rows(), self.rows.columns());
        let y: Vec<f64> = self.answers.iter().enumerate().map(|(i, y)| self.weight(i) * y).collect();
        if solver != Solver::Dense {
            let mut weighted = self.rows.clone();
            weighted.scale_rows(|i| self.weight(i));
            if solver == Solver::Sparse {
                let descent = Descent::new(weighted, y);
                let estimates = descent.cells().ok_or(HistoryError::Unclear)?;
                return Ok(Inferred { cells: n, estimates, factors: Factors::Sparse(descent) });
            }
            let blocked = Blocked::new(weighted, y.clone());
            if let Some((blocked, estimates)) = blocked.and_then(|b| b.cells().map(|cells| (b, cells))) {
                return Ok(Inferred { cells: n, estimates, factors: Factors::Blocked(Box::new(blocked)) });
            }
        }
        let size = m.checked_mul(n).filter(|k| *k <= MOST_NUMBERS).ok_or(HistoryError::TooLarge(m, n))?;
        let mut weighted = vec![0.0; size];
        for (i, j, v) in self.rows.entries() {
            weighted[j * m + i] = self.weight(i) * v;
        }
        let qr = Qr::new(m, weighted);
        let projected = qr.project(y.clone());
        let x = qr.solve(projected.clone());
        // A cell is estimable when no unseen direction (a column of R₁₁⁻¹R₁₂) moves it.
        let mut seen = vec![true; qr.rank()];
        for place in qr.rank()..n {
            let unseen = qr.solve(qr.dependent(place).to_vec());
            seen.iter_mut().zip(unseen).for_each(|(seen, v)| *seen &= v.abs() < 1e-9);
        }
        let mut estimates = vec![None; n];
        for ((&cell, x), _) in qr.order().iter().zip(x).zip(seen).filter(|(_, seen)| *seen) {
            estimates[cell] = Some(x);
        }
        Ok(Inferred {
            cells: n,
            estimates,
            factors: Factors::Dense(Box::new(Dense { qr, weighted: y, projected })),
        })
    }

    /// What it takes to answer `query` with half-width at most `width` at `level`: nothing, if the history is
    /// precise enough; otherwise the least further budget (the new answer is combined with the history by
    /// precision); refused if some cell's cost would pass `bound`.
    pub fn spending(
        &self,
        inferred: &Inferred,
        query: &[f64],
        width: f64,
        level: f64,
        bound: Option<f64>,
    ) -> Result<Spending, HistoryError> {
        if !(width > 0.0 && width.is_finite() && level > 0.0 && level < 1.0) {
            return Err(HistoryError::Number(
                "a half-width must be positive and a level between 0 and 1".into(),
            ));
        }
        let known = match inferred.query(query) {
            Ok(answer) => Some(answer),
            Err(HistoryError::NotEstimable) => None,
            Err(e) => return Err(e),
        };
        if let Some(half_width) = known.as_ref().map(|k| k.law.half_width(level)).filter(|h| *h <= width) {
            return Ok(Spending::Nothing { half_width });
        }
        let sensitivity = query.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        let alone = sensitivity * libm::log(1.0 / (1.0 - level)) / width;
        // The half-width with a budget: inverse-variance weights, the law of the weighted sum.
        let combined = |budget: f64| -> Result<f64, HistoryError> {
            let fresh = NoiseLaw::Laplace { scale: sensitivity / budget };
            let (old, share) = match &known {
                None => (&[][..], 1.0),
                Some(k) => {
                    let (v, w) = (k.law.variance(), fresh.variance());
                    (k.law.terms(), v / (v + w))
                }
            };
            let mut terms: Vec<Term> =
                old.iter().map(|t| Term { coefficient: t.coefficient * (1.0 - share), ..*t }).collect();
            terms.push(Term { coefficient: share, copies: 1, noise: fresh });
            Ok(ErrorLaw::new(terms)?.half_width(level))
        };
        let (mut budget, mut half_width) = (alone, width);
        if known.is_some() && combined(alone)? <= width {
            let (mut lo, mut hi) = (0.0, alone);
            for _ in 0..40 {
                let mid = 0.5 * (lo + hi);
                if combined(mid)? <= width { hi = mid } else { lo = mid }
            }
            (budget, half_width) = (hi, combined(hi)?);
        }
        let cost = self
            .cell_cost()
            .iter()
            .zip(query)
            .map(|(b, q)| b + budget / sensitivity * q.abs())
            .fold(0.0, f64::max);
        Ok(match bound {
            Some(bound) if cost > bound => Spending::Refused { budget, cost, bound },
            _ => Spending::Ask { budget, alone, half_width, cost },
        })
    }
}

impl Inferred {
    /// The rank of the history: how many independent things it says. Conjugate gradients do not find it.
    pub fn rank(&self) -> Option<usize> {
        match &self.factors {
            Factors::Dense(dense) => Some(dense.qr.rank()),
            Factors::Blocked(blocked) => Some(blocked.rank()),
            Factors::Sparse(_) => None,
        }
    }

    /// The estimate of every cell; `None` where there is no unbiased one.
    pub fn cells(&self) -> &[Option<f64>] {
        &self.estimates
    }

    /// The estimate of a linear query and its law.
    pub fn query(&self, query: &[f64]) -> Result<HistoryAnswer, HistoryError> {
        length("query", query.len(), self.cells)?;
        if query.iter().any(|v| !v.is_finite()) {
            return Err(HistoryError::Number("a query must be finite numbers".into()));
        }
        let most = query.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        if most != 0.0 && !(1e-100..=1e100).contains(&most) {
            let why = "the numbers of a query must not be that large or small: squares are taken of them, from 1e-100 to 1e100";
            return Err(HistoryError::Number(why.into()));
        }
        let (estimate, coefficients) = match &self.factors {
            Factors::Dense(dense) => dense.query(query)?,
            Factors::Blocked(blocked) => {
                combined(blocked.solve(query), |v| blocked.image(v), blocked.answers())?
            }
            Factors::Sparse(sparse) => combined(sparse.solve(query), |v| sparse.image(v), sparse.answers())?,
        };
        let unit = NoiseLaw::Laplace { scale: 1.0 };
        // Rounding leaves traces of noises that do not enter. What is no number is no trace.
        let least = coefficients.iter().fold(0.0f64, |m, c| m.max(c.abs())).min(f64::MAX) * 1e-14;
        let terms = coefficients
            .iter()
            .filter(|c| c.is_nan() || c.abs() > least)
            .map(|&coefficient| Term { coefficient, copies: 1, noise: unit })
            .collect();
        Ok(HistoryAnswer { estimate, law: ErrorLaw::new(terms)? })
    }
}

/// The estimate, and the coefficients of the unit noises: what `A` makes of the solution.
fn combined(
    solved: Solved,
    image: impl Fn(&[f64]) -> Vec<f64>,
    answers: &[f64],
) -> Result<(f64, Vec<f64>), HistoryError> {
    match solved {
        Solved::Solution(v) => {
            let coefficients = image(&v);
            Ok((dot(&coefficients, answers), coefficients))
        }
        Solved::Outside => Err(HistoryError::NotEstimable),
        Solved::Unclear => Err(HistoryError::Unclear),
    }
}

impl Dense {
    /// The estimate of a query and the coefficients of the unit noises in its error.
    fn query(&self, query: &[f64]) -> Result<(f64, Vec<f64>), HistoryError> {
        let t = self.direction(query)?;
        Ok((dot(&t, &self.projected), self.qr.spread(t)))
    }

    /// `t` with `R₁₁ᵀt = q`, for a query in the row space.
    fn direction(&self, query: &[f64]) -> Result<Vec<f64>, HistoryError> {
        let rank = self.qr.rank();
        let mut permuted = self.qr.order().iter().map(|&c| query[c]);
        let t = self.qr.solve_transposed(permuted.by_ref().take(rank).collect());
        let norm = |x: &[f64]| dot(x, x).sqrt();
        for (k, want) in (rank..).zip(permuted) {
            let column = self.qr.dependent(k);
            // Entries of R that are 0 in exact arithmetic are rounding errors of their column's size.
            let got = dot(column, &t);
            let size = want.abs() + norm(column) * norm(&t);
            if (got - want).abs() > 1e-9 * size.max(1e-300) {
                return Err(HistoryError::NotEstimable);
            }
        }
        Ok(t)
    }
}

impl HistoryAnswer {
    /// An interval that covers the truth with probability `level`.
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let half = self.law.half_width(level);
        (self.estimate - half, self.estimate + half)
    }

    /// `Pr(θ > 0)` under the flat prior.
    pub fn prob_positive(&self) -> f64 {
        prob_greater(&self.law, self.estimate, 0.0)
    }
}

fn length(what: &str, got: usize, want: usize) -> Result<(), HistoryError> {
    if got == want { Ok(()) } else { Err(HistoryError::Length { what: what.into(), got, want }) }
}

#[cfg(test)]
mod tests;
