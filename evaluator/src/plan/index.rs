//! Finding a measurement by its cuboid, in a plan of hundreds of thousands.
//!
//! The components of a workload most often stand in order: those of fewer dimensions first, and among them by their levels. Then they are looked up
//! by halving. Otherwise there is a table of positions beside them: nothing is copied, and nothing allocated a measurement. Whoever writes a file
//! chooses the cuboids, so its hash multiplies by a number that nobody knows before: what collides cannot be chosen.

use super::Measurement;
use crate::cube::Cuboid;
use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};

/// The positions of measurements, each found by its cuboid.
pub(crate) enum Index {
    /// They stand in order.
    Ordered,
    /// They do not.
    Hashed(Slots),
}

/// A table of positions.
pub(crate) struct Slots {
    /// A position and one; 0 where there is none. At most half of them are taken.
    slots: Vec<u32>,
    factor: u64,
    shift: u32,
}

fn order(a: &Cuboid, b: &Cuboid) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// Whether each cuboid stands behind the one before it.
fn ordered(measurements: &[Measurement]) -> bool {
    let ascend = |w: &[Measurement]| order(w[0].block.cuboid(), w[1].block.cuboid()) == Ordering::Less;
    measurements.windows(2).all(ascend)
}

/// Whether no two of those that are meant have one cuboid.
pub(crate) fn are_distinct(measurements: &[Measurement], meant: impl Fn(&Measurement) -> bool) -> bool {
    if ordered(measurements) {
        return true;
    }
    let mut slots = Slots::new(measurements.len());
    (0..measurements.len()).filter(|&at| meant(&measurements[at])).all(|at| slots.insert(measurements, at))
}

impl Index {
    /// Of all of these; of several with one cuboid the first is found.
    pub(crate) fn of(measurements: &[Measurement]) -> Index {
        if ordered(measurements) {
            return Index::Ordered;
        }
        let mut slots = Slots::new(measurements.len());
        for at in 0..measurements.len() {
            slots.insert(measurements, at);
        }
        Index::Hashed(slots)
    }

    /// The position of the measurement with this cuboid.
    pub(crate) fn find(&self, measurements: &[Measurement], cuboid: &Cuboid) -> Option<usize> {
        match self {
            Index::Ordered => measurements.binary_search_by(|m| order(m.block.cuboid(), cuboid)).ok(),
            Index::Hashed(slots) => (slots.slots[slots.slot(measurements, cuboid)] as usize).checked_sub(1),
        }
    }
}

impl Slots {
    /// With room for so many.
    fn new(most: usize) -> Slots {
        let bits = (2 * most.max(1)).next_power_of_two().trailing_zeros();
        Slots { slots: vec![0; 1 << bits], factor: RandomState::new().hash_one(most) | 1, shift: 64 - bits }
    }

    /// Where a cuboid stands, or where it would.
    fn slot(&self, measurements: &[Measurement], cuboid: &Cuboid) -> usize {
        let hash = cuboid.iter().fold(0u64, |hash, at| {
            let word = (at.dimension as u64) << 8 | at.level as u64;
            (hash.rotate_left(29) ^ word).wrapping_mul(self.factor)
        });
        let mut slot = (hash >> self.shift) as usize;
        loop {
            let taken = match self.slots[slot] {
                0 => return slot,
                position => &measurements[position as usize - 1],
            };
            if taken.block.cuboid() == cuboid {
                return slot;
            }
            slot = (slot + 1) % self.slots.len();
        }
    }

    /// Adds one of the measurements. Returns whether its cuboid is new.
    fn insert(&mut self, measurements: &[Measurement], at: usize) -> bool {
        let slot = self.slot(measurements, measurements[at].block.cuboid());
        let new = self.slots[slot] == 0;
        if new {
            self.slots[slot] = at as u32 + 1;
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Rational;
    use crate::plan::Block;

    fn of(a: usize, b: usize) -> Cuboid {
        Cuboid::new(vec![(a, 1), (b, 2)])
    }

    fn all() -> Vec<Measurement> {
        let pairs = (0..40).flat_map(|a| (a + 1..40).map(move |b| of(a, b)));
        let singles = (0..40).map(|a| Cuboid::new(vec![(a, 1)]));
        let component = |c| Measurement { block: Block::Component(c), scale: Rational::ONE };
        singles.chain(pairs).map(component).collect()
    }

    #[test]
    fn finds_what_is_there() {
        let ordered = all();
        let mut turned = all();
        turned.reverse();
        let mut mixed = all();
        mixed.swap(3, 500);
        for all in [ordered, turned, mixed] {
            let index = Index::of(&all[1..]);
            for (at, m) in all[1..].iter().enumerate() {
                assert_eq!(index.find(&all[1..], m.block.cuboid()), Some(at));
            }
            for missing in [all[0].block.cuboid(), &of(40, 41), &Cuboid::total(), &of(0, 1).join(&of(2, 3))] {
                assert_eq!(index.find(&all[1..], missing), None);
            }
            assert!(are_distinct(&all, |_| true));
        }
        assert_eq!(Index::of(&[]).find(&[], &Cuboid::total()), None);
        assert!(are_distinct(&[], |_| true));
    }

    #[test]
    fn what_is_there_twice_is_seen() {
        let mut all = all();
        let again = all[700].clone();
        for at in [0, 700, all.len()] {
            all.insert(at, again.clone());
            assert!(!are_distinct(&all, |_| true), "{at}");
            assert!(are_distinct(&all, |m| m.block.cuboid() != again.block.cuboid()), "{at}");
            assert_eq!(Index::of(&all).find(&all, again.block.cuboid()), Some(at.min(700)));
            all.remove(at);
        }
    }
}
