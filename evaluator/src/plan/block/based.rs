//! What a table adds to the coarser ones, told by bases in whole numbers: for dimensions whose ranges or prefixes are asked for.
//!
//! A component over dimensions of which some have a [`Basis`] `R_i` (the others measure their siblings' differences, see
//! [`super::component`]): `(⊗_{basis} R_i ⊗ ⊗_{others} D_i) (⊗_{others} m_i · M_A x, with noise z)`. Noise is added to the rows of a basis,
//! and in the other dimensions to the scaled counts, of which contrasts are published. A dimension whose groups differ in size may have whole
//! factors a node ([`NodeWeights`]) in the place of one scale.
//!
//! **Guarantee.** A unit in cell `e` moves the integers by `⊗ R_i e_i ⊗ m_i e_i`, of which what lies in the kernel of the contrasts is
//! not seen. Its squared length is at most `Π max_j ‖R_i e_j‖² · Π max ‖w_i‖²`, whole numbers computed exactly. **Proof.** The squared length of a
//! product of vectors is the product of theirs; for the others see [`super::component`] and [`NodeWeights`]. How `R_i` was found does not enter.
//! **Source.** Zhang, Xiao, He & Kifer, *A plan for linear queries by residuals* (ResidualPlanner+, 2024), for bases of residuals; the noise
//! as everywhere.

use super::component::{rung_norm, rung_scale};
use super::kind::{Factors, Form, Kind};
use crate::cube::{Cube, Cuboid, Frame, Integer, Level, Rung, contrast};
use crate::plan::basis::Basis;
use crate::plan::weights::NodeWeights;
use crate::plan::{Noise, limits};
use std::sync::Arc;

/// How a component tells the siblings of one of its dimensions apart. The blocks of a plan share what they refer to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Telling {
    /// By their differences.
    Siblings,
    /// By the rows of a basis.
    Basis(Arc<Basis>),
    /// By weighted differences.
    Weights(Arc<NodeWeights>),
}

impl Telling {
    /// The basis, where it is one.
    pub fn basis(&self) -> Option<&Arc<Basis>> {
        if let Telling::Basis(basis) = self { Some(basis) } else { None }
    }

    /// The weights, where there are some.
    pub fn weights(&self) -> Option<&Arc<NodeWeights>> {
        if let Telling::Weights(weights) = self { Some(weights) } else { None }
    }

    /// How many integers are published along a dimension at this rung.
    fn rows(&self, rung: &Rung) -> Option<u64> {
        match self {
            Telling::Basis(basis) => Some(basis.rows() as u64),
            Telling::Siblings | Telling::Weights(_) => {
                rung.real_len().checked_sub(rung.siblings.len() as u64)
            }
        }
    }

    /// How many noises are drawn along it.
    fn noises(&self, rung: &Rung) -> usize {
        if let Telling::Basis(basis) = self { basis.rows() } else { rung.len() }
    }

    /// The largest squared length of what a unit moves.
    pub fn norm(&self, rung: &Rung) -> u128 {
        match self {
            Telling::Siblings => rung_norm(rung, rung_scale(rung)),
            Telling::Basis(basis) => basis.norm(),
            Telling::Weights(weights) => weights.norm().into(),
        }
    }
}

/// A component some of whose dimensions are told by bases, or by weighted differences.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Based {
    /// The component.
    pub cuboid: Cuboid,
    /// How each of its dimensions is told.
    pub axes: Vec<Telling>,
}

impl Based {
    /// For each dimension its number, its level and how it is told.
    pub fn dimensions(&self) -> impl DoubleEndedIterator<Item = (usize, usize, &Telling)> {
        self.cuboid.pairs().zip(&self.axes).map(|((d, l), told)| (d, l, told))
    }

    /// How a dimension is told; by differences where nothing is said.
    pub(crate) fn told(&self, dimension: usize) -> &Telling {
        self.dimensions().find(|(d, ..)| *d == dimension).map_or(&Telling::Siblings, |(.., told)| told)
    }

    /// Whether some dimension has weights, so that cells differ in what they cost.
    pub(crate) fn is_weighted(&self) -> bool {
        self.axes.iter().any(|told| told.weights().is_some())
    }
}

impl Kind for Based {
    type Data = Based;
    const NAME: &'static str = "basis";
    const FORM: Form = Form::Based;
    const SIGNED: bool = true;
    const SQUARES: bool = true;
    const LUMPS: bool = true;

    fn cuboid(data: &Based) -> &Cuboid {
        &data.cuboid
    }

    fn lumps(data: &Based, dimension: usize) -> bool {
        *data.told(dimension) == Telling::Siblings
    }

    fn values(data: &Based, frame: &Frame) -> Option<u64> {
        data.dimensions()
            .try_fold(1u64, |n, (d, l, told)| n.checked_mul(told.rows(frame.rung(Level::new(d, l)))?))
    }

    /// Every basis is one of its level, and has an inverse; so are all weights.
    fn check(data: &Based, _: &[Vec<u8>], _: &Cube, frame: &Frame) -> Result<(), String> {
        if data.axes.len() != data.cuboid.len() {
            return Err("a component has another number of bases than dimensions".into());
        }
        for (d, l, told) in data.dimensions() {
            let rung = frame.rung(Level::new(d, l));
            match told {
                Telling::Siblings => {}
                Telling::Basis(basis) => {
                    if basis.parent() != *rung.parent || basis.rows() + rung.siblings.len() != rung.len() {
                        return Err("a basis is not one of its level".into());
                    }
                    if basis.inverse().is_none() {
                        return Err("a basis is singular, or so nearly that it determines nothing".into());
                    }
                }
                Telling::Weights(weights) => {
                    if weights.parent() != *rung.parent {
                        return Err("the weights of nodes are not those of their level".into());
                    }
                }
            }
        }
        Ok(())
    }

    /// Rows of bases, and scaled counts elsewhere: still secret.
    fn apply<T: Integer>(data: &Based, frame: &Frame, mut counts: Vec<T>) -> Option<Vec<T>> {
        let scale = i64::try_from(scale(data, frame)?).ok()?;
        let mut inner = 1;
        for (d, l, told) in data.dimensions().rev() {
            match told {
                Telling::Basis(basis) => counts = basis.apply(&counts, inner)?,
                Telling::Weights(weights) => counts = weights.apply(counts, inner)?,
                Telling::Siblings => {}
            }
            inner *= told.noises(frame.rung(Level::new(d, l)));
        }
        counts.iter_mut().try_for_each(|c| {
            *c = c.times(scale)?;
            Some(())
        })?;
        Some(counts)
    }

    fn publish<T: Integer>(data: &Based, frame: &Frame, mut noisy: Vec<T>) -> Option<Vec<T>> {
        let mut inner = 1;
        for (d, l, told) in data.dimensions().rev() {
            let rung = frame.rung(Level::new(d, l));
            match told {
                Telling::Basis(_) => {}
                Telling::Weights(weights) => noisy = weights.take(inner, &noisy)?,
                Telling::Siblings => noisy = contrast::take(rung, inner, &noisy)?,
            }
            inner *= usize::try_from(told.rows(rung)?).ok()?;
        }
        Some(noisy)
    }

    /// Measured with noise that counts squares only: rows of a basis overlap, and L1 would add them all up.
    fn sensitivity(data: &Based, frame: &Frame, noise: Noise) -> Option<u128> {
        if !noise.squares() {
            return None;
        }
        let norm = |n: u128, (d, l, told): (usize, usize, &Telling)| {
            n.checked_mul(told.norm(frame.rung(Level::new(d, l))))
        };
        data.dimensions().try_fold(1u128, norm)
    }

    /// Columns of a basis differ from cell to cell: see `plan::cost::joint`.
    fn factors(_: Noise) -> Option<Factors> {
        None
    }

    fn largest(data: &Based, frame: &Frame, rows: u128, tail: u128) -> Option<u128> {
        let mut most = rows.checked_mul(scale(data, frame)?)?;
        let mut noise = tail;
        for (.., told) in data.dimensions() {
            let (counts, noises) = match told {
                Telling::Basis(basis) => (basis.largest(), 1),
                Telling::Weights(weights) => weights.largest(),
                // Of different cells, which together have no more than all rows.
                Telling::Siblings => (1, 2),
            };
            (most, noise) = (most.checked_mul(counts)?, noise.checked_mul(noises)?);
        }
        most.checked_add(noise)
    }

    fn copies(data: &Based, frame: &Frame) -> Vec<u64> {
        data.dimensions().fold(vec![1], |outer, (d, l, told)| {
            let own = match told {
                Telling::Basis(basis) => vec![1; basis.rows()],
                _ => frame.rung(Level::new(d, l)).multiplicity.clone(),
            };
            outer.iter().flat_map(|&o| own.iter().map(move |&m| o * m)).collect()
        })
    }

    fn noises(data: &Based, frame: &Frame) -> usize {
        data.dimensions()
            .try_fold(1usize, |n, (d, l, told)| n.checked_mul(told.noises(frame.rung(Level::new(d, l)))))
            .unwrap_or(usize::MAX)
    }

    /// Of the dimensions without a basis.
    fn unit(data: &Based, frame: &Frame) -> Option<f64> {
        scale(data, frame).map(|m| m as f64)
    }

    const MOST_CELLS: u64 = limits::MAX_CELLS;
}

/// The integer scale of the dimensions without a basis or weights.
fn scale(data: &Based, frame: &Frame) -> Option<u128> {
    data.dimensions().try_fold(1u128, |m, (d, l, told)| match told {
        Telling::Siblings => m.checked_mul(rung_scale(frame.rung(Level::new(d, l)))),
        _ => Some(m),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::Dimension;

    fn frame() -> (Cube, Frame) {
        let plain = |name: &str, n: u32| Dimension::plain(name, (0..n).map(|v| v.to_string()).collect());
        let cube = Cube { dimensions: vec![plain("a", 3), plain("b", 4), plain("c", 2)] };
        let frame = Frame::new(&cube, &vec![vec![0, 1]; 3]);
        (cube, frame)
    }

    fn block() -> Based {
        let basis = Basis::new(vec![0; 4], vec![3, -4, 0, 1, 1, 1, 1, -2, 0, 5, 2, 2]).unwrap();
        let cuboid = Cuboid::new(vec![(0, 1), (1, 1), (2, 1)]);
        Based { cuboid, axes: vec![Telling::Siblings, Telling::Basis(Arc::new(basis)), Telling::Siblings] }
    }

    /// By the definition, cell by cell; and the price is the exact maximum over all cells and all that the contrasts do not see.
    #[test]
    fn integers_and_their_price() {
        let (cube, frame) = frame();
        let block = block();
        assert!(Based::check(&block, &[], &cube, &frame).is_ok());
        assert_eq!(Based::values(&block, &frame), Some(2 * 3));
        let basis = block.told(1).basis().unwrap().clone();
        let counts: Vec<i64> = (0..24).map(|c| c * c % 7).collect();
        let applied = Based::apply(&block, &frame, counts.clone()).unwrap();
        // m = 3 and 2.
        for a in 0..3 {
            for r in 0..3 {
                for c in 0..2 {
                    let sum: i64 =
                        (0..4).map(|b| i64::from(basis.row(r)[b]) * counts[(a * 4 + b) * 2 + c]).sum();
                    assert_eq!(applied[(a * 3 + r) * 2 + c], 6 * sum);
                }
            }
        }
        let published = Based::publish(&block, &frame, applied.clone()).unwrap();
        for a in 1..3 {
            for r in 0..3 {
                let at = |a: usize, c: usize| applied[(a * 3 + r) * 2 + c];
                assert_eq!(published[(a - 1) * 3 + r], at(a, 1) - at(a, 0) - at(0, 1) + at(0, 0));
            }
        }
        // 3² (1 − 1/3) = 6, 2² (1 − 1/2) = 2, and the longest column of the basis.
        assert_eq!(Based::sensitivity(&block, &frame, Noise::Gaussian), Some(6 * 2 * (1 + 25 + 16)));
        assert_eq!(Based::sensitivity(&block, &frame, Noise::Laplace), None);
        assert_eq!(Based::copies(&block, &frame), vec![1; 18]);
        assert_eq!(Based::noises(&block, &frame), 18);
        assert_eq!(Based::largest(&block, &frame, 10, 7), Some(10 * 6 * 5 + 7 * 4));
        assert!(Based::apply(&block, &frame, vec![i64::MAX; 24]).is_none());
    }

    #[test]
    fn what_is_refused() {
        let (cube, frame) = frame();
        let refused = |basis: Basis| {
            let axes = vec![Telling::Siblings, Telling::Basis(Arc::new(basis)), Telling::Siblings];
            Based::check(&Based { axes, ..block() }, &[], &cube, &frame).unwrap_err()
        };
        assert!(refused(Basis::new(vec![0; 3], vec![1, 0, 0, 0, 1, 0]).unwrap()).contains("level"));
        assert!(refused(Basis::new(vec![0; 4], vec![1; 12]).unwrap()).contains("singular"));
        let short = Based { axes: vec![Telling::Siblings], ..block() };
        assert!(Based::check(&short, &[], &cube, &frame).is_err());
    }
}
