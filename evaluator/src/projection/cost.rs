//! The privacy cost of a projection, recomputed from what was released.
//!
//! **Guarantee.** With C rows of data a unit (twice as many where neighbours differ by a change), every integer moves by at
//! most C when a unit comes or goes, and a unit is in `N` of the integers: all T of a dense projection, one in
//! each row of a sketch. Gaussian noise with parameter s² is `N C²/(2s²)`-zCDP. Laplace noise of scale b is
//! `N C²/(2b²)`-zCDP. The release costs that much, whatever the seed is.
//!
//! **Proof.** The seed is independent of the data; fix it. The integers are `A x + z` with entries 0 and ±1 of A, and a unit's
//! rows move them by at most C in each place where A is not zero for one of them. Dense: every place, squared norm at most
//! `T C²` (exactly T for one row). Sketch: k rows of one unit move each of the t rows by a vector of 1-norm, so of
//! 2-norm, at most C. Discrete Gaussian: Canonne, Kamath & Steinke 2020, Theorem 4 with Theorem 14 for
//! vectors. Laplace: a row of a sketch, or one integer of a dense projection, moves by at most C in 1-norm, so it is
//! `C/b`-DP and hence `(C/b)²/2`-zCDP (Bun & Steinke 2016, Proposition 1.4); zCDP adds up.

use super::Design;
use crate::exact::Rational;
use crate::plan::Neighbours;

/// The squared sensitivity `N C²` of all integers together; `None` on overflow.
pub(crate) fn sensitivity_squared(design: &Design) -> Option<Rational> {
    let change =
        u128::from(design.max_rows) * if design.neighbours == Neighbours::Substitute { 2 } else { 1 };
    Some(Rational::whole(change.checked_mul(change)?.checked_mul(design.shape.column().into())?))
}

/// The cost ρ; `None` when it does not fit a rational, which is no sound design.
pub fn cost(design: &Design) -> Option<Rational> {
    let squared = design.noise.squared_scale(design.scale)?;
    sensitivity_squared(design)?.checked_div(squared.checked_mul(Rational::whole(2))?)
}

#[cfg(test)]
mod tests {
    use super::super::design::{Request, tests::request};
    use super::*;
    use crate::plan::Noise;

    /// The whole budget is used, never more: for both noises, relations, and shapes.
    #[test]
    fn costs_fill_the_budget() {
        for max_rows in [1, 3] {
            for neighbours in [Neighbours::AddRemove, Neighbours::Substitute] {
                for sketch in [None, Some(8)] {
                    let gaussian = Request { max_rows, neighbours, sketch, ..request() };
                    let spent = cost(&gaussian.design().unwrap()).unwrap();
                    assert!(spent <= gaussian.budget && spent.to_f64() > 0.499_999, "{spent}");
                    let published = Some(("1".parse().unwrap(), "1e-9".parse().unwrap()));
                    let budget =
                        crate::plan::convert::rho_for("1".parse().unwrap(), "1e-9".parse().unwrap()).unwrap();
                    let laplace = Request { noise: Noise::Laplace, published, budget, ..gaussian };
                    let spent = cost(&laplace.design().unwrap()).unwrap().to_f64();
                    // ε²/(16 ln(1/δ)), whatever the rest is.
                    let want = 1.0 / (16.0 * 1e9f64.ln());
                    assert!(spent <= want && spent > want * (1.0 - 1e-6), "{spent} {want}");
                }
            }
        }
    }
}
