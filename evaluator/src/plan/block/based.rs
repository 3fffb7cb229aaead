//! What a table adds to the coarser ones, told by bases in whole numbers: for dimensions whose ranges or prefixes are asked for.
//!
//! A component over dimensions of which some have a [`Basis`] `R_i` (the others measure their siblings' differences, see
//! [`super::component`]): `(⊗_{basis} R_i ⊗ ⊗_{others} D_i) (⊗_{others} m_i · M_A x, with noise z)`. Noise is added to the rows of a basis,
//! and in the other dimensions to the scaled counts, of which contrasts are published.
//!
//! **Guarantee.** A unit in cell `e` moves the integers by `⊗ R_i e_i ⊗ m_i e_i`, of which what lies in the kernel of the contrasts is
//! not seen. Its squared length is at most `Π max_j ‖R_i e_j‖² · Π max ‖w_i‖²`, whole numbers computed exactly. **Proof.** The squared length of a
//! product of vectors is the product of theirs; for the others see [`super::component`]. How `R_i` was found does not enter.
//! **Source.** Zhang, Xiao, He & Kifer, *A plan for linear queries by residuals* (ResidualPlanner+, 2024), for bases of residuals; the noise
//! as everywhere.

use super::component::{rung_norm, rung_scale};
use super::kind::{Factors, Form, Kind};
use crate::cube::{Cube, Cuboid, Frame, Level, contrast};
use crate::plan::basis::Basis;
use crate::plan::{Noise, limits};
use std::sync::Arc;

/// A component some of whose dimensions are told by bases.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Based {
    /// The component.
    pub cuboid: Cuboid,
    /// For each of its dimensions the basis; `None` where siblings' differences are measured. The blocks of a plan share them.
    pub axes: Vec<Option<Arc<Basis>>>,
}

impl Based {
    /// For each dimension its number, level and basis.
    pub fn dimensions(&self) -> impl DoubleEndedIterator<Item = (usize, usize, Option<&Arc<Basis>>)> {
        self.cuboid.pairs().zip(&self.axes).map(|((d, l), basis)| (d, l, basis.as_ref()))
    }

    /// The basis of a dimension.
    pub(crate) fn basis(&self, dimension: usize) -> Option<&Arc<Basis>> {
        self.dimensions().find(|(d, ..)| *d == dimension)?.2
    }
}

impl Kind for Based {
    type Data = Based;
    const NAME: &'static str = "basis";
    const FORM: Form = Form::Based;
    const SIGNED: bool = true;
    const LUMPS: bool = true;

    fn cuboid(data: &Based) -> &Cuboid {
        &data.cuboid
    }

    fn lumps(data: &Based, dimension: usize) -> bool {
        data.basis(dimension).is_none()
    }

    fn values(data: &Based, frame: &Frame) -> Option<u64> {
        data.dimensions().try_fold(1u64, |n, (d, l, basis)| {
            let rung = frame.rung(Level::new(d, l));
            n.checked_mul(match basis {
                Some(basis) => basis.rows() as u64,
                None => rung.real_len().checked_sub(rung.siblings.len() as u64)?,
            })
        })
    }

    /// Every basis is one of its level, and has an inverse.
    fn check(data: &Based, _: &[Vec<u8>], _: &Cube, frame: &Frame) -> Result<(), String> {
        if data.axes.len() != data.cuboid.len() {
            return Err("a component has another number of bases than dimensions".into());
        }
        for (d, l, basis) in data.dimensions() {
            let Some(basis) = basis else { continue };
            let rung = frame.rung(Level::new(d, l));
            if basis.parent() != rung.parent || basis.rows() + rung.siblings.len() != rung.len() {
                return Err("a basis is not one of its level".into());
            }
            if basis.inverse().is_none() {
                return Err("a basis is singular, or so nearly that it determines nothing".into());
            }
        }
        Ok(())
    }

    /// Rows of bases, and scaled counts elsewhere: still secret.
    fn apply(data: &Based, frame: &Frame, mut counts: Vec<i64>) -> Option<Vec<i64>> {
        let scale = i64::try_from(scale(data, frame)?).ok()?;
        let mut inner = 1;
        for (d, l, basis) in data.dimensions().rev() {
            match basis {
                Some(basis) => {
                    counts = basis.apply(&counts, inner)?;
                    inner *= basis.rows();
                }
                None => inner *= frame.rung(Level::new(d, l)).len(),
            }
        }
        counts.iter_mut().try_for_each(|c| {
            *c = c.checked_mul(scale)?;
            Some(())
        })?;
        Some(counts)
    }

    fn publish(data: &Based, frame: &Frame, mut noisy: Vec<i64>) -> Option<Vec<i64>> {
        let mut inner = 1;
        for (d, l, basis) in data.dimensions().rev() {
            let rung = frame.rung(Level::new(d, l));
            match basis {
                Some(basis) => inner *= basis.rows(),
                None => {
                    noisy = contrast::take(rung, inner, &noisy)?;
                    inner *= rung.len() - rung.siblings.len();
                }
            }
        }
        Some(noisy)
    }

    /// Measured with noise that counts squares only: rows of a basis overlap, and L1 would add them all up.
    fn sensitivity(data: &Based, frame: &Frame, noise: Noise) -> Option<u128> {
        if !noise.squares() {
            return None;
        }
        data.dimensions().try_fold(1u128, |n, (d, l, basis)| {
            let rung = frame.rung(Level::new(d, l));
            n.checked_mul(basis.map_or_else(|| rung_norm(rung, rung_scale(rung)), |b| b.norm()))
        })
    }

    /// Columns of a basis differ from cell to cell: see `plan::cost::joint`.
    fn factors(_: Noise) -> Option<Factors> {
        None
    }

    fn largest(data: &Based, frame: &Frame, rows: u128, tail: u128) -> Option<u128> {
        let mut most = rows.checked_mul(scale(data, frame)?)?;
        let mut differences = 0;
        for (.., basis) in data.dimensions() {
            match basis {
                Some(basis) => most = most.checked_mul(basis.largest())?,
                None => differences += 1,
            }
        }
        most.checked_add(tail)?.checked_mul(1u128.checked_shl(differences)?)
    }

    fn copies(data: &Based, frame: &Frame) -> Vec<u64> {
        data.dimensions().fold(vec![1], |outer, (d, l, basis)| {
            let own = match basis {
                Some(basis) => vec![1; basis.rows()],
                None => frame.rung(Level::new(d, l)).multiplicity.clone(),
            };
            outer.iter().flat_map(|&o| own.iter().map(move |&m| o * m)).collect()
        })
    }

    fn noises(data: &Based, frame: &Frame) -> usize {
        data.dimensions()
            .try_fold(1usize, |n, (d, l, basis)| {
                n.checked_mul(basis.map_or_else(|| frame.rung(Level::new(d, l)).len(), |b| b.rows()))
            })
            .unwrap_or(usize::MAX)
    }

    /// Of the dimensions without a basis.
    fn unit(data: &Based, frame: &Frame) -> Option<f64> {
        scale(data, frame).map(|m| m as f64)
    }

    const MOST_CELLS: u64 = limits::MAX_CELLS;
}

/// The integer scale of the dimensions without a basis.
fn scale(data: &Based, frame: &Frame) -> Option<u128> {
    data.dimensions().try_fold(1u128, |m, (d, l, basis)| match basis {
        Some(_) => Some(m),
        None => m.checked_mul(rung_scale(frame.rung(Level::new(d, l)))),
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
        Based { cuboid, axes: vec![None, Some(Arc::new(basis)), None] }
    }

    /// By the definition, cell by cell; and the price is the exact maximum over all cells and all that the contrasts do not see.
    #[test]
    fn integers_and_their_price() {
        let (cube, frame) = frame();
        let block = block();
        assert!(Based::check(&block, &[], &cube, &frame).is_ok());
        assert_eq!(Based::values(&block, &frame), Some(2 * 3));
        let basis = block.basis(1).unwrap().clone();
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
        assert_eq!(Based::largest(&block, &frame, 10, 7), Some((10 * 6 * 5 + 7) * 4));
        assert!(Based::apply(&block, &frame, vec![i64::MAX; 24]).is_none());
    }

    #[test]
    fn what_is_refused() {
        let (cube, frame) = frame();
        let refused = |basis: Basis| {
            let axes = vec![None, Some(Arc::new(basis)), None];
            Based::check(&Based { axes, ..block() }, &[], &cube, &frame).unwrap_err()
        };
        assert!(refused(Basis::new(vec![0; 3], vec![1, 0, 0, 0, 1, 0]).unwrap()).contains("level"));
        assert!(refused(Basis::new(vec![0; 4], vec![1; 12]).unwrap()).contains("singular"));
        let short = Based { axes: vec![None], ..block() };
        assert!(Based::check(&short, &[], &cube, &frame).is_err());
    }
}
