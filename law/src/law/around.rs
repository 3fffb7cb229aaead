//! Nodes that are good for densities around a place, kept: rows of one answer share a law, and ask for its densities at about the same
//! places.
//!
//! Places are stretches of one standard error, whoever asks first: so a density does not depend on what was asked before.

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
    pub fn at(&self, place: u64, make: impl FnOnce() -> Option<Nodes>) -> Option<Arc<Nodes>> {
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
}
