//! At most `max_rows` rows of a unit count.

use super::chunk::Chunk;
use super::run::Take;
use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use zeroize::{Zeroize, Zeroizing};

/// Lets the first `max_rows` rows of every unit pass, in the order of the file.
///
/// **Guarantee.** Datasets that differ in all rows of one unit differ, after this bound, in at most
/// `max_rows` rows; so every column norm of a measurement is multiplied by `max_rows` and by no more.
///
/// **Proof.** Whether a row passes depends on nothing but the number of rows of its own unit that stand
/// before it. Taking out all rows of unit u (or putting them in, anywhere) changes that number for no row
/// of any other unit, so the rows of the others that pass are the same ones; of u's own rows at most
/// `max_rows` passed. Replacing one unit by another is one removal and one addition. ∎
///
/// The rule never looks at the values of the dimensions. A rule that did (keep the rows that are most
/// frequent, say) could tie the rows of different units together and break the proof. How many *rows* were
/// left out depends on the data in an unbounded way (one unit may bring any number), so it is not reported to anyone. How many
/// *units* had rows left out moves by at most one with any unit: that can be measured, with noise (see
/// [`crate::plan::cost::truncation_cost`]).
///
/// Identifiers are compared byte for byte; the table of identifiers is wiped when the reading ends.
pub(super) struct UnitBound {
    max_rows: u32,
    /// For each unit the rows that passed, and one more if any did not.
    passed: HashMap<Vec<u8>, u32>,
    /// How many units had more rows.
    cut: u64,
}

impl UnitBound {
    pub(super) fn new(max_rows: u32) -> UnitBound {
        UnitBound { max_rows, passed: HashMap::new(), cut: 0 }
    }

    /// Whether this row of the unit `id` counts.
    pub(super) fn pass(&mut self, id: &[u8]) -> bool {
        if !self.passed.contains_key(id) {
            self.passed.insert(id.to_vec(), 0);
        }
        match self.passed.get_mut(id) {
            Some(passed) if *passed < self.max_rows => {
                *passed += 1;
                true
            }
            Some(passed) if *passed == self.max_rows && self.max_rows < u32::MAX => {
                *passed += 1;
                self.cut += 1;
                false
            }
            _ => false,
        }
    }

    /// How many units had more rows than count. As private as the rows.
    pub(super) fn cut(&self) -> u64 {
        self.cut
    }
}

impl Drop for UnitBound {
    fn drop(&mut self) {
        for (mut id, mut passed) in self.passed.drain() {
            id.zeroize();
            passed.zeroize();
        }
        self.cut.zeroize();
    }
}

/// Which rows of all files count: one bit a row.
pub(super) struct Kept {
    bits: Zeroizing<Vec<u64>>,
    /// The number of the first row of each piece, and in the end that of all rows.
    first: Vec<u64>,
    /// How many units had more rows than count.
    pub cut: u64,
}

impl Kept {
    /// Whether a row of a piece counts.
    #[inline]
    pub fn row(&self, piece: usize, row: u64) -> bool {
        let at = self.first.get(piece).map_or(u64::MAX, |first| first.saturating_add(row));
        let word = usize::try_from(at / 64).ok().and_then(|word| self.bits.get(word));
        word.is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// How many rows a piece had.
    pub fn rows(&self, piece: usize) -> Option<u64> {
        Some(self.first.get(piece + 1)? - self.first.get(piece)?)
    }
}

/// Looks at the units of all rows in their order, whatever the order in which threads come with them.
pub(super) struct Bounding {
    state: Mutex<State>,
    turn: Condvar,
}

struct State {
    bound: UnitBound,
    bits: Zeroizing<Vec<u64>>,
    rows: u64,
    /// The piece whose turn it is.
    next: usize,
}

impl Bounding {
    pub fn new(max_rows: u32) -> Bounding {
        let state = State { bound: UnitBound::new(max_rows), bits: Zeroizing::default(), rows: 0, next: 0 };
        Bounding { state: Mutex::new(state), turn: Condvar::new() }
    }

    /// What counts, when all rows of all pieces have been seen.
    pub fn kept(self, pieces: &[u64]) -> Kept {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut first = vec![0];
        first.extend(pieces.iter().scan(0, |rows: &mut u64, piece| {
            *rows += piece;
            Some(*rows)
        }));
        Kept { bits: state.bits, first, cut: state.bound.cut() }
    }

    /// Waits for the turn of a piece. Pieces are handed out in order and each is ended, so it comes.
    fn wait(&self, piece: usize) -> MutexGuard<'_, State> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let early = |state: &mut State| state.next < piece;
        self.turn.wait_while(state, early).unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn push(&mut self, passes: bool) {
        if self.rows.is_multiple_of(64) {
            self.bits.push(0);
        }
        if let Some(word) = self.bits.last_mut() {
            *word |= u64::from(passes) << (self.rows % 64);
        }
        self.rows += 1;
    }
}

impl Take for &Bounding {
    fn take(&mut self, piece: usize, chunk: &Chunk) {
        let mut state = self.wait(piece);
        for id in chunk.ids() {
            let passes = state.bound.pass(id);
            state.push(passes);
        }
    }

    fn end(&mut self, piece: usize) {
        self.wait(piece).next = piece + 1;
        self.turn.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bounded(ids: &[u8], max_rows: u32) -> Vec<usize> {
        let mut bound = UnitBound::new(max_rows);
        (0..ids.len()).filter(|&row| bound.pass(&[ids[row]])).collect()
    }

    proptest! {
        /// Against the definition, and against the guarantee itself: without one unit's rows, all others stay.
        #[test]
        fn bound_and_stability(ids in prop::collection::vec(0u8..6, 0..40), max_rows in 0u32..4, gone in 0u8..6) {
            let kept = bounded(&ids, max_rows);
            let by_definition: Vec<usize> = (0..ids.len())
                .filter(|&row| ids[..row].iter().filter(|&&id| id == ids[row]).count() < max_rows as usize)
                .collect();
            prop_assert_eq!(&kept, &by_definition);

            let others: Vec<usize> = (0..ids.len()).filter(|&row| ids[row] != gone).collect();
            let fewer: Vec<u8> = others.iter().map(|&row| ids[row]).collect();
            let kept_without: Vec<usize> = bounded(&fewer, max_rows).into_iter().map(|at| others[at]).collect();
            let kept_others: Vec<usize> = kept.iter().copied().filter(|&row| ids[row] != gone).collect();
            prop_assert_eq!(&kept_without, &kept_others);
            prop_assert!(kept.len() - kept_others.len() <= max_rows as usize);

            // Units that were cut, by counting; and one unit less moves them by one at most.
            let cut = |ids: &[u8]| {
                let mut bound = UnitBound::new(max_rows);
                ids.iter().for_each(|&id| { bound.pass(&[id]); });
                bound.cut()
            };
            let rows_of = |unit: u8| ids.iter().filter(|&&id| id == unit).count();
            prop_assert_eq!(cut(&ids), (0..6).filter(|&u| rows_of(u) > max_rows as usize).count() as u64);
            prop_assert!(cut(&ids) - cut(&fewer) <= 1);
        }
    }
}
