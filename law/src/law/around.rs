//! Nodes that are good for densities around a place, kept: rows of one answer share a law, and ask for its densities at about the same
//! places.
//!
//! Places are stretches of one standard error, or of one step where values lie in heaps, whoever asks first: so a density does not depend on what was asked before.

use super::inversion::Nodes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Nodes in all, and places, that are kept for one law.
const MOST_NODES: u64 = 1 << 19;
const MOST_PLACES: usize = 1 << 10;

/// By their place; `None` where they are too dear. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Around(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    places: HashMap<u64, Option<Arc<Nodes>>>,
    nodes: u64,
}

impl Around {
    /// Those of a place, made if they are not known.
    pub(super) fn at(&self, place: u64, make: impl FnOnce() -> Option<Nodes>) -> Option<Arc<Nodes>> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().places.get(&place) {
            return known.clone();
        }
        let made = make().map(Arc::new);
        let mut kept = lock();
        let more = made.as_ref().map_or(0, |nodes| nodes.len());
        if kept.places.len() >= MOST_PLACES || kept.nodes + more > MOST_NODES {
            *kept = Kept::default();
        }
        kept.nodes += more;
        kept.places.insert(place, made.clone());
        made
    }
}

impl std::fmt::Debug for Around {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Around")
    }
}

#[cfg(test)]
mod tests {
    use crate::law::{ErrorLaw, NoiseLaw, Term};

    /// Whoever asked before, in whatever order: to the last bit what a law says that was never asked. And what one says that asks at one place
    /// alone differs in the tilt only.
    #[test]
    fn densities_do_not_depend_on_what_was_asked() {
        let laplace = NoiseLaw::DiscreteLaplace { scale: 2.0 };
        let normal = NoiseLaw::DiscreteGaussian { variance: 3.0 };
        let term = |coefficient, copies, noise| Term { coefficient, copies, noise };
        for terms in [
            vec![term(1.0, 7, laplace)],
            vec![term(1.0, 3, normal), term(0.25, 9, normal)],
            vec![
                term(1.0, 2, NoiseLaw::Laplace { scale: 1.5 }),
                term(0.7, 1, NoiseLaw::Laplace { scale: 1.0 }),
            ],
        ] {
            let fresh = || ErrorLaw::new(terms.clone()).unwrap();
            let points: Vec<f64> = (-60..60).map(|i| f64::from(i) * 0.5).collect();
            let backwards: Vec<f64> = points.iter().rev().copied().collect();
            let first = fresh();
            let want = first.ln_density(&points);
            assert_eq!(first.ln_density(&points), want);
            let other = fresh();
            other.ln_density(&[3.25]);
            let mut found = other.clone().ln_density(&backwards);
            found.reverse();
            assert_eq!(found, want);
            // A density: on a lattice of spacing h times the sum of all.
            let step = first.lattice().unwrap_or(0.125);
            let fine: Vec<f64> = (-800..=800).map(|i| f64::from(i) * step).collect();
            let sum: f64 = first.ln_density(&fine).iter().map(|ln| ln.exp() * step).sum();
            assert!((sum - 1.0).abs() < 1e-4, "{sum}");
        }
    }

    #[test]
    fn the_bound_on_the_half_width_is_one() {
        let term = |coefficient, copies, noise| Term { coefficient, copies, noise };
        for terms in [
            vec![],
            vec![term(1.0, 7, NoiseLaw::DiscreteLaplace { scale: 2.0 })],
            vec![term(1.0, 1, NoiseLaw::DiscreteLaplace { scale: 0.1 })],
            vec![term(0.3, 40, NoiseLaw::DiscreteGaussian { variance: 0.2 })],
            vec![
                term(1.0, 2, NoiseLaw::Laplace { scale: 1.5 }),
                term(0.7, 9, NoiseLaw::Laplace { scale: 1.0 }),
            ],
        ] {
            let law = ErrorLaw::new(terms).unwrap();
            for level in [0.1, 0.5, 0.95, 0.9999] {
                let (exact, bound) = (law.half_width(level), law.half_width_bound(level));
                assert!(exact <= bound, "{level}: {exact} {bound}");
                assert!(level < 0.9 || bound <= 1.6 * exact + 3.0, "{level}: {exact} {bound}");
            }
        }
    }

    fn dense() -> Vec<Vec<Term>> {
        let term = |coefficient, copies, noise| Term { coefficient, copies, noise };
        let (laplace, few) =
            (NoiseLaw::DiscreteLaplace { scale: 2.0 }, NoiseLaw::DiscreteLaplace { scale: 0.3 });
        let normal = NoiseLaw::DiscreteGaussian { variance: 2.0 };
        let many: Vec<Term> = (1..40).map(|i| term(f64::from(i).sqrt(), 3, laplace)).collect();
        vec![
            many,
            vec![term(1.0, 2, laplace), term(std::f64::consts::FRAC_1_SQRT_2, 3, laplace)],
            vec![term(1.0, 5, few), term(std::f64::consts::E, 7, few), term(0.1, 30, few)],
            vec![term(1.0, 9, normal), term(std::f64::consts::PI / 8.0, 40, normal)],
        ]
    }

    /// What a comparison says is what the half-width says, and near it there is nothing to say.
    #[test]
    fn comparisons_are_those_of_the_half_width() {
        let mut said = 0;
        for terms in dense() {
            for level in [0.5, 0.95, 0.999] {
                let law = ErrorLaw::new(terms.clone()).unwrap();
                assert_eq!(law.lattice(), None);
                let half = law.half_width(level);
                for i in -30..=30 {
                    let x = half * (1.0 + 0.02 * f64::from(i) + 0.003);
                    let found = law.clone().reaches(x, level);
                    assert!(
                        found.is_none_or(|reaches| reaches == (half >= x)),
                        "{terms:?} {level} {x} {half}"
                    );
                    said += usize::from(found.is_some());
                }
            }
        }
        assert!(said > 700, "{said} of 732");
        let lattice = ErrorLaw::new(vec![Term {
            coefficient: 1.0,
            copies: 9,
            noise: NoiseLaw::DiscreteLaplace { scale: 2.0 },
        }]);
        assert_eq!(lattice.unwrap().reaches(3.0, 0.95), None);
    }

    /// Bounds on densities are no less than them, and near.
    #[test]
    fn densities_are_below_their_bounds() {
        let term = |coefficient, copies, noise| Term { coefficient, copies, noise };
        let mut laws = dense();
        laws.push(vec![term(1.0, 7, NoiseLaw::DiscreteLaplace { scale: 2.0 })]);
        laws.push(vec![term(0.5, 1, NoiseLaw::DiscreteGaussian { variance: 0.1 })]);
        laws.push(vec![term(0.5, 3, NoiseLaw::DiscreteGaussian { variance: 40.0 })]);
        laws.push(vec![term(1.0, 2, NoiseLaw::Laplace { scale: 9.0 })]);
        for terms in laws {
            let law = ErrorLaw::new(terms.clone()).unwrap();
            let step = law.lattice().unwrap_or(0.25 * law.std_error());
            let points: Vec<f64> = (-200..=200).map(|i| f64::from(i) * step).collect();
            let bounds = law.ln_density_bounds(&points);
            // Where atoms are smoothed, single ones stand out.
            let room = if law.lattice().is_none() { 3.0 } else { 1e-9 };
            for ((x, ln), bound) in points.iter().zip(law.ln_density(&points)).zip(bounds) {
                assert!(ln <= bound + room, "{terms:?} at {x}: {ln} {bound}");
                assert!(
                    ln < -25.0 || bound <= 0.9 * ln + 8.0 + 2.0 * law.std_error().ln().max(0.0),
                    "{terms:?} at {x}: {ln} {bound}"
                );
            }
        }
    }
}
