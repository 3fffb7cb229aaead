//! Figures with their intervals: linear ones exactly, ratios by Fieller's method, what is made of several of them from where all are together.
//!
//! A linear figure is one linear query: its error law is exact, with all covariances. A ratio `R = N/D` has no
//! unbiased estimate, but for every number c the difference `N − c·D` is linear. Fieller's interval holds the c
//! for which 0 lies in the interval of `N − c·D`: it covers R exactly when that interval covers the true
//! `N − R·D = 0`, so its level is as exact as that of linear figures, whatever the noise. When
//! the interval of D includes 0 the ratio is not bounded by the data at all, and the interval says so. The
//! standard error of a ratio is the delta method's: that of `N − R̂·D`, over `|D̂|`.

mod change;
mod curved;
pub(super) mod quantile;
pub(super) mod question;
mod ratio;

pub(super) use change::{Change, Changes, of_ratios};
pub(super) use ratio::Part;

use crate::answer::tell::{MOST_WIDER, Told, whole_ends};
use crate::cube::Summand;
use crate::joint::{How, JointLaw, Solved};
use crate::law::{ErrorLaw, LawError, NoiseLaw, Term};
use crate::posterior::p_value;
use crate::projection::Shape;
use crate::projection::Sums;
use crate::projection::answer::Answer;
use crate::render::ResultFigure;
use crate::sql::{Aggregate, Formula, Linear};
use curved::Curved;
use std::collections::HashMap;
use std::sync::Arc;

/// A figure as numerator and denominator, both linear in a query's aggregates; or as made of several such.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    numerator: Linear,
    /// `None`: the figure is linear.
    denominator: Option<Linear>,
    /// What is made of several linear figures and ratios, in the place of the two.
    curved: Option<Box<Curved>>,
    /// Whether its true value is a whole number.
    whole: bool,
    /// Whether it is a plain count: its true value is a number of units.
    count: bool,
}

/// How an interval was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The figure is linear: quantiles of its own error law.
    Linear,
    /// A ratio: Fieller's interval.
    Fieller,
    /// A ratio whose denominator may be 0.
    Unbounded,
    /// Made of several: where they all are together.
    Curved,
    /// A projection's figure, by this law.
    Cells(&'static str),
}

/// A figure of one row.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    /// The estimate.
    pub estimate: f64,
    /// Its standard error.
    pub std_error: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How the interval was found.
    pub basis: Basis,
    /// Which of the estimates that are told it is made of: the best, or one of the others.
    pub way: usize,
    /// What further statements rest on.
    pub error: ErrorOf,
}

impl Answered {
    /// From the best of the estimates.
    fn new(shown: ResultFigure, basis: Basis, error: ErrorOf) -> Answered {
        let ResultFigure { estimate, std_error, low, high } = shown;
        Answered { estimate, std_error, low, high, basis, way: 0, error }
    }

    /// As a cell of a table.
    pub(crate) fn shown(&self) -> ResultFigure {
        let (estimate, low, high) = match self.std_error == 0.0 {
            true => (without_dust(self.estimate), without_dust(self.low), without_dust(self.high)),
            false => (self.estimate, self.low, self.high),
        };
        ResultFigure { estimate, std_error: self.std_error, low, high }
    }

    /// Half the length of a linear figure's interval, before it was brought to whole numbers.
    pub(crate) fn reach(&self) -> f64 {
        match &self.error {
            ErrorOf::Linear(solved) => 0.5 * (solved.high - solved.low),
            ErrorOf::Ratio { .. } | ErrorOf::Rows(_) => 0.5 * (self.high - self.low),
        }
    }

    /// The probability, were the true figure `null`, of an estimate at least as far from it on the same side, twice. For
    /// a ratio that of the difference `N − null·D` from 0.
    pub(crate) fn p_value(&self, null: f64) -> Result<f64, LawError> {
        match &self.error {
            ErrorOf::Linear(solved) => Ok(p_value(&solved.law, self.estimate, null)),
            error if error.is_by_zero()? => Ok(f64::NAN),
            ErrorOf::Ratio { pair, numerator, denominator } => {
                let law = pair.combine(&[1.0, -null])?;
                Ok(p_value(&law, numerator - null * denominator, 0.0))
            }
            ErrorOf::Rows(_) => Ok(f64::NAN),
        }
    }
}

/// What is exact has few decimals, as its parts have: where a double below a million is its first fifteen digits to the last bits, and the last three of these
/// are zeros, what stands behind them was left by rounding.
fn without_dust(x: f64) -> f64 {
    if x.fract() == 0.0 || !(x.abs() < 1e6) {
        return x;
    }
    let text = format!("{x:.14e}");
    let short = text.split_once('e').is_some_and(|(digits, _)| digits.ends_with("000"));
    let rounded = if short { text.parse().unwrap_or(x) } else { x };
    if (rounded - x).abs() <= 8.0 * f64::EPSILON * x.abs() { rounded } else { x }
}

/// The law of a figure's error.
#[derive(Debug, Clone)]
pub(crate) enum ErrorOf {
    /// Of the figure itself.
    Linear(Arc<Solved>),
    /// Of numerator and denominator, with their estimates.
    Ratio {
        /// Two figures: numerator, denominator.
        pair: Arc<JointLaw>,
        /// The estimate of the numerator.
        numerator: f64,
        /// The estimate of the denominator.
        denominator: f64,
    },
    /// The ordered rows of a sketch: each is on either side of the truth with probability at most one half. None where nothing is known.
    Rows(Vec<f64>),
}

impl ErrorOf {
    /// Whether it is of a ratio to what is known to be 0: of that nothing can be said.
    pub(crate) fn is_by_zero(&self) -> Result<bool, LawError> {
        let ErrorOf::Ratio { pair, denominator, .. } = self else { return Ok(false) };
        Ok(ratio::is_nothing(*denominator, pair.combine(&[0.0, 1.0])?.variance()))
    }
}

/// Joint laws of numerators and denominators: rows that look alike share them. Those they are made of are kept alive, so that their addresses
/// stay their own.
#[derive(Default)]
pub(crate) struct Pairs(HashMap<(usize, usize), (Arc<JointLaw>, Arc<JointLaw>)>);

impl Figure {
    /// A plain aggregate.
    pub(crate) fn aggregate(index: usize, aggregates: &[Aggregate]) -> Figure {
        let linear = Linear { constant: 0.0, terms: vec![(index, 1.0)] };
        Figure::from_parts(linear, None, aggregates)
    }

    /// A figure over aggregates.
    pub(super) fn new(formula: &Formula, aggregates: &[Aggregate]) -> Figure {
        if let [(numerator, denominator)] = &formula.parts[..]
            && let [_] = formula.steps[..]
        {
            return Figure::from_parts(numerator.clone(), denominator.clone(), aggregates);
        }
        let curved = Some(Box::new(Curved::new(formula, aggregates)));
        Figure { curved, ..Figure::from_parts(Linear::constant(0.0), None, aggregates) }
    }

    fn from_parts(numerator: Linear, denominator: Option<Linear>, aggregates: &[Aggregate]) -> Figure {
        let weights = |i: usize| aggregates.get(i).into_iter().flat_map(|a| &a.filter.weights);
        let unit =
            denominator.as_ref().map_or(1.0, |d| unit(d, |i| weights(i).fold(0.0, |m, w| m.max(w.abs()))));
        let (numerator, denominator) = match unit == 1.0 {
            true => (numerator, denominator),
            false => (numerator.scaled(unit), denominator.map(|d| d.scaled(unit))),
        };
        let whole = denominator.is_none()
            && numerator.constant.fract() == 0.0
            && numerator.terms.iter().all(|&(i, c)| weights(i).all(|w| (w * c).fract() == 0.0));
        let count = whole
            && numerator.constant == 0.0
            && matches!(numerator.terms[..], [(i, 1.0)] if weights(i).all(|w| *w == 0.0 || *w == 1.0)
                && !matches!(aggregates.get(i).map(|a| &a.subject), Some(Summand::Sum(_) | Summand::Squares(_))));
        Figure { numerator, denominator, curved: None, whole, count }
    }

    /// Whether it is a plain count.
    pub(crate) fn is_count(&self) -> bool {
        self.count
    }

    /// Whether it is a ratio, or made of several figures: not linear.
    pub(crate) fn is_ratio(&self) -> bool {
        self.denominator.is_some() || self.is_curved()
    }

    /// Whether it is made of several linear figures and ratios.
    pub(crate) fn is_curved(&self) -> bool {
        self.curved.is_some()
    }

    /// Whether it is a ratio of sums to which constants are added.
    pub(crate) fn is_shifted_ratio(&self) -> bool {
        self.denominator.as_ref().is_some_and(|d| d.constant != 0.0 || self.numerator.constant != 0.0)
    }

    /// The weight of each aggregate in the numerator, and in the denominator.
    pub(crate) fn weights(&self, width: usize) -> Vec<Vec<f64>> {
        let dense = |l: &Linear| {
            let mut w = vec![0.0; width];
            for &(i, c) in &l.terms {
                if let Some(w) = w.get_mut(i) {
                    *w = c;
                }
            }
            w
        };
        std::iter::once(&self.numerator).chain(&self.denominator).map(dense).collect()
    }

    /// Whether any of these aggregates is part of it.
    pub(super) fn rests_on(&self, aggregates: &[usize]) -> bool {
        let mut terms = std::iter::once(&self.numerator).chain(&self.denominator).flat_map(|l| &l.terms);
        terms.any(|(at, _)| aggregates.contains(at))
            || self.curved.as_ref().is_some_and(|c| c.rests_on(aggregates))
    }

    /// Those of a figure that is no ratio.
    fn linear_weights(&self, told: &Told) -> Vec<f64> {
        self.weights(told.estimates.len()).into_iter().next().unwrap_or_default()
    }

    /// Numerator and denominator with their constants, from their aggregates' sums.
    pub(super) fn values(&self, numerator: f64, denominator: f64) -> (f64, f64) {
        let below = self.denominator.as_ref().map_or(1.0, |d| d.constant + denominator);
        (self.numerator.constant + numerator, below)
    }

    /// The figure of given values of the aggregates.
    pub(super) fn value(&self, aggregates: &[f64]) -> f64 {
        if let Some(curved) = &self.curved {
            return curved.value(aggregates);
        }
        let sum = |l: &Linear| {
            l.constant
                + l.terms.iter().map(|&(i, c)| c * aggregates.get(i).copied().unwrap_or(0.0)).sum::<f64>()
        };
        sum(&self.numerator) / self.denominator.as_ref().map_or(1.0, sum)
    }

    /// The figure from what is told of a row. A linear one is taken from whichever of the estimates has the narrowest interval: that
    /// follows from their laws alone. `column` tells figures apart in `pairs`.
    pub(super) fn answer(
        &self,
        column: usize,
        told: &Told,
        how: &How,
        pairs: &mut Pairs,
    ) -> Result<Answered, LawError> {
        if let Some(sums) = told.law.sums() {
            return self.of_sums(sums, how.level);
        }
        if let Some(curved) = &self.curved {
            return curved.answer(told, how);
        }
        if self.is_ratio() {
            return self.part(column, told, pairs).ratio(how);
        }
        let weights = self.linear_weights(told);
        let mut best = (0, told.law.solve(&weights, how)?);
        let most = MOST_WIDER * best.1.law.std_error();
        for (at, (_, law)) in told.others.iter().enumerate() {
            if libm::sqrt(law.covariance(&weights, &weights)) > most {
                continue;
            }
            let other = law.solve(&weights, how)?;
            if other.high - other.low < (best.1.high - best.1.low) * (1.0 - 1e-9) {
                best = (at + 1, other);
            }
        }
        let estimate = self.numerator.constant + dot(&weights, told.way(best.0).0);
        Ok(Answered { way: best.0, ..self.linear(estimate, best.1) })
    }

    /// The same of a linear figure where only the signs of the ends of the interval matter: see [`JointLaw::signs`].
    fn signs(&self, told: &Told, how: &How) -> Result<Answered, LawError> {
        // Which of several estimates is taken depends on how wide their intervals are.
        if !told.others.is_empty() || told.law.sums().is_some() {
            return self.answer(0, told, how, &mut Pairs::default());
        }
        let weights = self.linear_weights(told);
        let estimate = self.numerator.constant + dot(&weights, &told.estimates);
        Ok(self.linear(estimate, told.law.signs(&weights, how, estimate)?))
    }

    /// A linear figure from the best of the estimates, whatever its interval.
    pub(crate) fn best(&self, told: &Told, how: &How) -> Result<Answered, LawError> {
        let weights = self.linear_weights(told);
        let estimate = self.numerator.constant + dot(&weights, &told.estimates);
        Ok(self.linear(estimate, told.law.solve(&weights, how)?))
    }

    /// Numerator and denominator, with the joint law of their errors.
    pub(super) fn part(&self, column: usize, told: &Told, pairs: &mut Pairs) -> Part {
        let weights = self.weights(told.estimates.len());
        let key = (column, Arc::as_ptr(&told.law) as usize);
        let made = || (told.law.clone(), Arc::new(JointLaw::pool(&[(&*told.law, weights.clone())])));
        let law = pairs.0.entry(key).or_insert_with(made).1.clone();
        let value = |figure: Option<&Vec<f64>>| figure.map_or(0.0, |f| dot(f, &told.estimates));
        let (numerator, denominator) = self.values(value(weights.first()), value(weights.get(1)));
        Part { numerator, denominator, law }
    }

    /// The weight of each aggregate in the figure's error; of a ratio that of the delta method.
    pub(crate) fn slopes(&self, told: &Told, way: usize) -> Vec<f64> {
        self.slopes_at(told.way(way).0)
    }

    /// The same at these values of the aggregates.
    fn slopes_at(&self, estimates: &[f64]) -> Vec<f64> {
        if let Some(curved) = &self.curved {
            return curved.slopes(estimates);
        }
        match &self.weights(estimates.len())[..] {
            [n, d] => {
                let (top, below) = self.values(dot(n, estimates), dot(d, estimates));
                n.iter().zip(d).map(|(n, d)| (n - top / below * d) / below).collect()
            }
            other => other.first().cloned().unwrap_or_default(),
        }
    }

    /// By how much a linear figure differs between two independent sources.
    pub(crate) fn difference(&self, change: &Change, how: &How) -> Result<Answered, LawError> {
        let estimate = change.after.numerator - change.before.numerator;
        Ok(self.linear(estimate, change.laws.difference.solve(&[1.0], how)?))
    }

    /// The interval that reaches so many standard errors to both sides; of a linear figure.
    pub(crate) fn reaching(&self, answered: &mut Answered, standard_errors: f64) {
        let half = standard_errors * answered.std_error;
        (answered.low, answered.high) = (answered.estimate - half, answered.estimate + half);
        if self.whole {
            (answered.low, answered.high) = whole_ends(answered.low, answered.high);
        }
    }

    /// The figure of sums of a projection's cells: of a dense one the error is nearly normal; of a sketch the order of its rows is all that is known. Its ends are not brought to whole numbers: the estimate is none.
    fn of_sums(&self, sums: &Sums, level: f64) -> Result<Answered, LawError> {
        let answer = match &self.denominator {
            None => sums.sum(&self.numerator, level)?,
            Some(whole) => sums.share(&self.numerator, whole, level)?,
        };
        let Answer { estimate, std_error, .. } = answer;
        let noise = NoiseLaw::Gaussian { variance: std_error * std_error };
        let law = match sums.projected.projection().design.shape {
            Shape::Dense { .. } => ErrorLaw::new(vec![Term { coefficient: 1.0, copies: 1, noise }]).ok(),
            Shape::Sketch { .. } => None,
        };
        let method = answer.law.name();
        let (low, high) = (estimate - answer.high, estimate - answer.low);
        let error = match law {
            Some(law) => ErrorOf::Linear(Arc::new(Solved { law, low, high, method })),
            None => ErrorOf::Rows(answer.rows),
        };
        let shown = ResultFigure { estimate, std_error, low: answer.low, high: answer.high };
        Ok(Answered::new(shown, Basis::Cells(method), error))
    }

    fn linear(&self, estimate: f64, solved: Arc<Solved>) -> Answered {
        let (mut low, mut high) = (estimate - solved.high, estimate - solved.low);
        if self.whole {
            (low, high) = whole_ends(low, high);
        }
        let std_error = solved.law.std_error();
        // Without noise it is a whole number, whatever rounding made of it.
        let estimate = if self.whole && std_error == 0.0 && low == high { low } else { estimate };
        Answered::new(ResultFigure { estimate, std_error, low, high }, Basis::Linear, ErrorOf::Linear(solved))
    }
}

/// What both parts of a ratio are multiplied by, so that a single unit moves its denominator by about 1: what a denominator of nobody is told by is
/// absolute. A power of two changes no digit.
fn unit(denominator: &Linear, weight: impl Fn(usize) -> f64) -> f64 {
    let most = denominator.terms.iter().map(|&(i, c)| (c * weight(i)).abs()).fold(0.0, f64::max);
    let plain = (1e-3..=1e3).contains(&most) || most == 0.0 || !most.is_finite();
    if plain { 1.0 } else { libm::ldexp(1.0, -libm::ilogb(most)) }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::{Filter, NoValue, Quantity};
    use crate::sql::Expr;

    #[test]
    fn rounding_leaves_no_dust() {
        for (x, short) in
            [(0.1 + 0.2, 0.3), (1.0 - 0.9, 0.1), (0.09999999999999998, 0.1), (-4.35 * 100.0, -435.0)]
        {
            assert_eq!(without_dust(x), short, "{x:?}");
        }
        for x in [1.0 / 3.0, 100.0 / 3.0, 1e14 + 0.5, 0.0, -7.0, 1e300, f64::INFINITY] {
            assert_eq!(without_dust(x), x, "{x:?}");
        }
        assert!(without_dust(f64::NAN).is_nan());
    }

    /// A denominator of people is one, in whatever unit it is written.
    #[test]
    fn small_units_below_the_line_are_no_nobody() {
        let how =
            How { level: 0.95, method: Default::default(), interval: crate::law::Interval::EqualTailed };
        let noise = |measurement| crate::joint::Noise {
            release: 0,
            measurement,
            copies: 1,
            law: NoiseLaw::DiscreteLaplace { scale: 2.0 },
        };
        let law = Arc::new(JointLaw::new(2, vec![(noise(0), vec![1.0, 0.0]), (noise(1), vec![0.0, 1.0])]));
        let answer = |times: f64, weight: f64, estimates: [f64; 2]| {
            let rows = |filter| Aggregate::rows(filter, None);
            let aggregates = [rows(Filter::everything()), rows(Filter::constant(weight))];
            let [above, below] = [0, 1].map(|at| Box::new(Expr::Aggregate(at)));
            let below = Box::new(Expr::Mul(Box::new(Expr::Number(times)), below));
            let figure = Figure::new(&Expr::Div(above, below).formula(), &aggregates);
            let estimates = estimates.to_vec();
            let told =
                Told { nodes: Vec::new(), estimates, law: law.clone(), others: Vec::new(), each: true };
            figure.answer(0, &told, &how, &mut Pairs::default()).unwrap()
        };
        let plain = answer(1.0, 1.0, [30.0, 100.0]);
        for times in [1e-12, 1e-30, 1e12] {
            let found = answer(times, 1.0, [30.0, 100.0]);
            for (x, y) in
                [(found.estimate, plain.estimate), (found.low, plain.low), (found.std_error, plain.std_error)]
            {
                assert!((x * times / y - 1.0).abs() < 1e-6, "{times}: {x} {y}");
            }
        }
    }

    /// From -300 to 300 in steps of 2 a sum is its whole numbers, once each: no units all the same, so no prior of counts fits it.
    #[test]
    fn a_sum_is_no_count() {
        let quantity = Arc::new(Quantity {
            name: "pay".into(),
            low: -300,
            high: 300,
            step: 2,
            places: 0,
            missing: NoValue::Skip,
            weighing: Default::default(),
            from: Default::default(),
            unit: None,
            description: None,
        });
        for (subject, count) in [
            (Summand::Rows, true),
            (Summand::Valued(quantity.clone()), true),
            (Summand::Sum(quantity.clone()), false),
        ] {
            let aggregates = [Aggregate { subject, ..Aggregate::rows(Filter::everything(), None) }];
            assert_eq!(Figure::new(&Expr::Aggregate(0).formula(), &aggregates).is_count(), count);
        }
    }
}
