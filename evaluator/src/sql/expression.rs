//! Figures derived from counts: arithmetic over linear aggregates.

use crate::cube::{Cube, Filter, Level, Summand, TooIntricate};

/// A linear aggregate: for every row of the answer, the weighted number of units that belong to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// The weight of every cell, WHERE included: 0 or 1 for counts, the numbers added up for sums.
    pub filter: Filter,
    /// `None`: taken over the units of the row's own group. `Some`: over all units that share the row's
    /// labels in these groups (indices into [`super::Query::group_by`], and after them into
    /// [`super::Query::bands`], ascending); with none of them, over all units, so that `SUM(COUNT(*)) OVER ()` is
    /// the grand total.
    pub partition: Option<Vec<usize>>,
    /// What is added up.
    pub(crate) subject: Summand,
    /// Of a running total or a neighbouring row, over which bands it is taken; [`super::Query::portions`] puts them into the filter.
    pub(crate) stretch: Option<Stretch>,
}

/// Some bands before and after a row's own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stretch {
    /// Index into [`super::Query::bands`].
    pub band: usize,
    /// From so many bands after the row's own, to so many; `None`: without a bound.
    pub from: Option<i64>,
    pub to: Option<i64>,
    /// Whether bands are gone through from the last to the first.
    pub descending: bool,
    /// Whether it is NULL where there is no such band.
    pub is_row: bool,
    /// The bands of a coarser level within which bands are gone along, where there are any.
    pub within: Option<usize>,
}

impl Aggregate {
    /// Of rows.
    pub fn rows(filter: Filter, partition: Option<Vec<usize>>) -> Aggregate {
        Aggregate { filter, partition, subject: Summand::Rows, stretch: None }
    }

    /// Whether it is taken over the row's own group in this level of GROUP BY, or its own band.
    pub(crate) fn keeps(&self, position: usize) -> bool {
        self.partition.as_ref().is_none_or(|p| p.contains(&position))
    }

    /// The weight of every cell in the aggregate of the group with these nodes.
    pub(crate) fn cells(
        &self,
        group_by: &[Level],
        nodes: &[u32],
        cube: &Cube,
    ) -> Result<Filter, TooIntricate> {
        let mut filter = self.filter.clone();
        for (_, (by, &node)) in group_by.iter().zip(nodes).enumerate().filter(|(i, _)| self.keeps(*i)) {
            let (d, dimension) = (by.dimension, &cube.dimensions[by.dimension]);
            let inside = dimension.ancestors(dimension.finest(), by.level);
            let inside: Vec<bool> = inside.into_iter().map(|n| n == node).collect();
            filter = filter.and(&Filter::nodes(d, &inside))?;
        }
        Ok(filter)
    }
}

/// A figure as a tree over [`super::Query::aggregates`]. All arithmetic is on real numbers: dividing one
/// count by another gives a share, not SQL's integer quotient.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    /// An aggregate, by its index.
    Aggregate(usize),
    /// A finite constant.
    Number(f64),
    /// The sum.
    Add(Box<Expr>, Box<Expr>),
    /// The difference.
    Sub(Box<Expr>, Box<Expr>),
    /// The product.
    Mul(Box<Expr>, Box<Expr>),
    /// The quotient.
    Div(Box<Expr>, Box<Expr>),
    /// The opposite.
    Neg(Box<Expr>),
    /// The square root; of what is below 0 that of 0.
    Root(Box<Expr>),
}

/// A constant plus a linear combination of aggregates.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Linear {
    /// The constant.
    pub constant: f64,
    /// (aggregate, coefficient): aggregates ascending, no coefficient zero.
    pub terms: Vec<(usize, f64)>,
}

impl Expr {
    /// The figure, given the value of every aggregate. A zero below the line gives an infinity or NaN, as
    /// does an index without a value.
    pub(crate) fn evaluate(&self, aggregates: &[f64]) -> f64 {
        match self {
            Expr::Aggregate(index) => aggregates.get(*index).copied().unwrap_or(f64::NAN),
            Expr::Number(value) => *value,
            Expr::Add(a, b) => a.evaluate(aggregates) + b.evaluate(aggregates),
            Expr::Sub(a, b) => a.evaluate(aggregates) - b.evaluate(aggregates),
            Expr::Mul(a, b) => a.evaluate(aggregates) * b.evaluate(aggregates),
            Expr::Div(a, b) => a.evaluate(aggregates) / b.evaluate(aggregates),
            Expr::Neg(a) => -a.evaluate(aggregates),
            Expr::Root(a) => root(a.evaluate(aggregates)),
        }
    }

    /// The figure as numerator and denominator, both linear; a plain linear figure has denominator 1.
    /// `None` when it is neither, such as a product of two counts.
    pub(crate) fn ratio(&self) -> Option<(Linear, Linear)> {
        let (num, den) = match self {
            Expr::Aggregate(index) => {
                (Linear { constant: 0.0, terms: vec![(*index, 1.0)] }, Linear::constant(1.0))
            }
            Expr::Number(value) => (Linear::constant(*value), Linear::constant(1.0)),
            Expr::Neg(a) => {
                let (num, den) = a.ratio()?;
                (num.scaled(-1.0), den)
            }
            Expr::Root(_) => return None,
            Expr::Add(a, b) | Expr::Sub(a, b) => {
                let sign = if matches!(self, Expr::Add(..)) { 1.0 } else { -1.0 };
                let ((a, b), (c, d)) = (a.ratio()?, b.ratio()?);
                if b == d {
                    (a.plus(&c.scaled(sign)), b)
                } else {
                    (a.times(&d)?.plus(&c.times(&b)?.scaled(sign)), b.times(&d)?)
                }
            }
            Expr::Mul(a, b) => {
                let ((a, b), (c, d)) = (a.ratio()?, b.ratio()?);
                (a.times(&c)?, b.times(&d)?)
            }
            Expr::Div(a, b) => {
                let ((a, b), (c, d)) = (a.ratio()?, b.ratio()?);
                if b == d { (a, c) } else { (a.times(&d)?, b.times(&c)?) }
            }
        };
        // A constant below the line is only a scale.
        match den.terms[..] {
            [] if den.constant != 1.0 => Some((num.scaled(1.0 / den.constant), Linear::constant(1.0))),
            _ => Some((num, den)),
        }
    }

    /// How far its numbers lead at most: the powers of ten of what is multiplied and divided, added up. `of` is that of an aggregate's weights.
    pub(super) fn powers(&self, of: &impl Fn(usize) -> f64) -> f64 {
        match self {
            Expr::Aggregate(index) => of(*index),
            Expr::Number(value) => powers(*value),
            Expr::Neg(a) => a.powers(of),
            Expr::Root(a) => 0.5 * a.powers(of),
            Expr::Add(a, b) | Expr::Sub(a, b) => a.powers(of).max(b.powers(of)),
            Expr::Mul(a, b) | Expr::Div(a, b) => a.powers(of) + b.powers(of),
        }
    }

    /// Whether the figure contains an aggregate at all.
    pub(super) fn depends_on_data(&self) -> bool {
        match self {
            Expr::Aggregate(_) => true,
            Expr::Number(_) => false,
            Expr::Neg(a) | Expr::Root(a) => a.depends_on_data(),
            Expr::Add(a, b) | Expr::Sub(a, b) | Expr::Mul(a, b) | Expr::Div(a, b) => {
                a.depends_on_data() || b.depends_on_data()
            }
        }
    }
}

/// The square root; of what is below 0 that of 0, and of what is no number none.
pub(crate) fn root(x: f64) -> f64 {
    libm::sqrt(if x < 0.0 { 0.0 } else { x })
}

/// The power of ten that a number is, up or down.
pub(super) fn powers(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { libm::log10(x.abs()).abs() }
}

impl Linear {
    /// No aggregates.
    pub(crate) fn constant(constant: f64) -> Linear {
        Linear { constant, terms: Vec::new() }
    }

    /// So many times it.
    pub(crate) fn scaled(&self, by: f64) -> Linear {
        let terms = self.terms.iter().map(|&(i, c)| (i, c * by)).filter(|&(_, c)| c != 0.0).collect();
        Linear { constant: self.constant * by, terms }
    }

    fn plus(&self, other: &Linear) -> Linear {
        let mut terms = self.terms.clone();
        for &(index, c) in &other.terms {
            match terms.binary_search_by_key(&index, |t| t.0) {
                Ok(at) => terms[at].1 += c,
                Err(at) => terms.insert(at, (index, c)),
            }
        }
        terms.retain(|&(_, c)| c != 0.0);
        Linear { constant: self.constant + other.constant, terms }
    }

    /// The product, when at most one side depends on the data.
    fn times(&self, other: &Linear) -> Option<Linear> {
        match (&self.terms[..], &other.terms[..]) {
            (_, []) => Some(self.scaled(other.constant)),
            ([], _) => Some(other.scaled(self.constant)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expressions() -> impl Strategy<Value = Expr> {
        let leaf = prop_oneof![
            (0..3usize).prop_map(Expr::Aggregate),
            (1..5i32).prop_map(|v| Expr::Number(f64::from(v)))
        ];
        leaf.prop_recursive(4, 16, 2, |inner| {
            let pair = (inner.clone(), inner.clone()).prop_map(|(a, b)| (Box::new(a), Box::new(b)));
            prop_oneof![
                pair.clone().prop_map(|(a, b)| Expr::Add(a, b)),
                pair.clone().prop_map(|(a, b)| Expr::Sub(a, b)),
                pair.clone().prop_map(|(a, b)| Expr::Mul(a, b)),
                pair.prop_map(|(a, b)| Expr::Div(a, b)),
                inner.prop_map(|a| Expr::Neg(Box::new(a))),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_ratio_is_the_same_figure(expr in expressions(), x in prop::array::uniform3(1.0..9.0f64)) {
            let value = |l: &Linear| l.constant + l.terms.iter().map(|&(i, c)| c * x[i]).sum::<f64>();
            if let Some((num, den)) = expr.ratio() {
                let (direct, ratio) = (expr.evaluate(&x), value(&num) / value(&den));
                let scale = direct.abs().max(1.0);
                prop_assert!(!direct.is_finite() || !ratio.is_finite() || value(&den).abs() < 1e-6
                    || direct.abs() > 1e6 || (direct - ratio).abs() <= 1e-6 * scale, "{direct} {ratio}");
            }
        }
    }

    #[test]
    fn shares_are_ratios_and_products_are_not() {
        let a = |i| Box::new(Expr::Aggregate(i));
        let percent = Expr::Div(Box::new(Expr::Mul(a(0), Box::new(Expr::Number(100.0)))), a(1));
        let (num, den) = percent.ratio().expect("a share");
        assert_eq!((num.terms, den.terms), (vec![(0, 100.0)], vec![(1, 1.0)]));
        assert_eq!(Expr::Mul(a(0), a(1)).ratio(), None);
        let scaled = Expr::Div(Box::new(Expr::Sub(a(0), a(1))), Box::new(Expr::Number(4.0)));
        let linear = Linear { constant: 0.0, terms: vec![(0, 0.25), (1, -0.25)] };
        assert_eq!(scaled.ratio(), Some((linear, Linear::constant(1.0))));
    }
}
