//! What rows add to a cell, in as few words as hold it: adding them up is bound by memory, and a row looks for its cell once.
//!
//! What has room for many rows lies beside others in one word, less the least that a row can add, so that no part borrows of the next. Nearly
//! always the number of rows lies below a sum.

/// Where one of the numbers that rows add up to lies in the words of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    word: usize,
    shift: u32,
    mask: u64,
    /// The least that a row can add, of which nothing is in the word; 0 of what has a word to itself, in which it may be below 0.
    least: i64,
    /// What is in a row's word before; `None` where others fill it first.
    first: Option<u64>,
}

/// Places of the number of rows, first, and of all else that they add up to.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) places: Vec<Place>,
    /// How many words a cell has.
    pub(super) each: usize,
    /// For how many rows there is room.
    pub(super) rows: u64,
}

impl Words {
    /// Of what rows add at least and at most, beside their number. Whatever these are, so many rows have room at least, but for what wraps around in a
    /// word of its own.
    pub(super) fn new(added: impl Iterator<Item = (i64, i64)>, rows: u64) -> Words {
        // For a part of some bits so many more are needed.
        let (room, bits) = ((rows.max(2) - 1).ilog2() + 1, |(least, most): (i64, i64)| {
            most.abs_diff(least).checked_ilog2().map_or(0, |b| b + 1)
        });
        let mut words: Vec<(Vec<(i64, i64)>, u32)> = Vec::new();
        for span in std::iter::once((0, 1)).chain(added) {
            match words.last_mut() {
                Some((parts, used)) if *used + bits(span) + room * (parts.len() as u32 + 1) <= u64::BITS => {
                    parts.push(span);
                    *used += bits(span);
                }
                _ => words.push((vec![span], bits(span))),
            }
        }
        let (mut places, mut most) = (Vec::new(), u64::MAX);
        for (word, (parts, used)) in words.iter().enumerate() {
            if let [_] = parts[..] {
                places.push(Place { word, shift: 0, mask: u64::MAX, least: 0, first: Some(0) });
                continue;
            }
            let (each, mut shift) = (u64::BITS.saturating_sub(*used) / parts.len() as u32, 0);
            most = most.min(1 << each);
            for (at, &span) in parts.iter().enumerate() {
                let wide = bits(span) + each;
                // The number of rows, which lies below all others, is filled in with what follows it.
                let first = match (word, at) {
                    (0, 1) => Some(1),
                    (0, _) => None,
                    _ => (at == 0).then_some(0),
                };
                places.push(Place { word, shift, mask: (1 << wide) - 1, least: span.0, first });
                shift += wide;
            }
        }
        Words { places, each: words.len(), rows: most }
    }

    /// Fills in that each row is one, where nothing else does.
    pub(super) fn fill_rows(&self, adds: &mut [u64]) {
        if self.places.first().is_some_and(|rows| rows.first.is_some()) {
            adds.iter_mut().step_by(self.each).for_each(|word| *word = 1);
        }
    }

    /// What rows added up to at a place of the words of a cell. Wraps around like what it is added to.
    pub(super) fn of(&self, place: Place, words: &[u64]) -> i64 {
        let rows = self.places.first().map_or(0, |rows| rows.of(words));
        place.of(words).wrapping_add(place.least.wrapping_mul(rows))
    }
}

impl Place {
    fn of(self, words: &[u64]) -> i64 {
        words.get(self.word).map_or(0, |word| word >> self.shift & self.mask).cast_signed()
    }

    /// Fills in what rows with these codes add, in the words of each.
    #[inline]
    pub(super) fn fill(self, adds: &mut [u64], words: usize, codes: &[u32], add: impl Fn(u32) -> i64) {
        let add = |code: u32| add(code).wrapping_sub(self.least).cast_unsigned() << self.shift;
        match self.first {
            Some(first) => self.each(adds, words, codes, |word, code| *word = first.wrapping_add(add(code))),
            None => self.each(adds, words, codes, |word, code| *word = word.wrapping_add(add(code))),
        }
    }

    #[inline]
    fn each(self, adds: &mut [u64], words: usize, codes: &[u32], add: impl Fn(&mut u64, u32)) {
        /// With a number that the compiler knows.
        fn all<const N: usize>(adds: &mut [u64], word: usize, codes: &[u32], add: impl Fn(&mut u64, u32)) {
            let word = word.min(N - 1);
            adds.as_chunks_mut::<N>()
                .0
                .iter_mut()
                .zip(codes)
                .for_each(|(adds, &code)| add(&mut adds[word], code));
        }
        match words {
            1 => all::<1>(adds, self.word, codes, add),
            2 => all::<2>(adds, self.word, codes, add),
            _ => {
                let own = adds.iter_mut().skip(self.word).step_by(words.max(1));
                own.zip(codes).for_each(|(word, &code)| add(word, code));
            }
        }
    }
}

/// Adds the words of rows to those of their cells.
pub(super) fn add(cells: &mut [u64], index: &[u32], adds: &[u64], words: usize) {
    /// So many at once: beside each other in few registers.
    fn many<const N: usize>(cells: &mut [u64], index: &[u32], adds: &[u64]) {
        let (cells, adds) = (cells.as_chunks_mut::<N>().0, adds.as_chunks::<N>().0);
        for (&cell, adds) in index.iter().zip(adds) {
            let words = &mut cells[cell as usize];
            for at in 0..N {
                words[at] = words[at].wrapping_add(adds[at]);
            }
        }
    }
    match words {
        1 => many::<1>(cells, index, adds),
        2 => many::<2>(cells, index, adds),
        3 => many::<3>(cells, index, adds),
        4 => many::<4>(cells, index, adds),
        _ => {
            for (&cell, adds) in index.iter().zip(adds.chunks_exact(words)) {
                let own = cells.iter_mut().skip(cell as usize * words);
                own.zip(adds).for_each(|(word, adds)| *word = word.wrapping_add(*adds));
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever rows add, at its ends and between, as many rows as there is room for make the sums that they make in numbers of their own.
        #[test]
        fn words_hold_what_rows_add(
            spans in prop::collection::vec((-1i64 << 53..1 << 53, prop_oneof![0u32..2, 0u32..30, 0u32..54], any::<u64>()), 0..6),
            room in 1u64..1 << 24,
            rows in prop::collection::vec((0u32..3, 0usize..4), 1..40),
            repeated in prop_oneof![Just(1u64), any::<u64>()],
        ) {
            let spans: Vec<(i64, i64)> =
                spans.iter().map(|&(least, bits, rest)| (least, least + (rest % (1 << bits)) as i64)).collect();
            let words = Words::new(spans.iter().copied(), room);
            prop_assert!(words.rows >= room && words.each <= spans.len() + 1);
            prop_assert_eq!(words.places.len(), spans.len() + 1);
            let codes: Vec<u32> = rows.iter().map(|row| row.0).collect();
            let index: Vec<u32> = rows.iter().map(|row| row.1 as u32).collect();
            // Least, most and what is between.
            let of = |(least, most): (i64, i64), code: u32| match code {
                0 => least,
                1 => most,
                _ => least + (most - least) / 2,
            };
            let mut adds = vec![u64::MAX; rows.len() * words.each];
            words.fill_rows(&mut adds);
            for (place, &span) in words.places[1..].iter().zip(&spans) {
                place.fill(&mut adds, words.each, &codes, |code| of(span, code));
            }
            let mut cells = vec![0; 4 * words.each];
            add(&mut cells, &index, &adds, words.each);
            // So often that the last row that fits is in.
            let times = if repeated == 1 { 1 } else { words.rows.min(1 << 31) / rows.len() as u64 };
            prop_assume!(rows.len() as u64 <= words.rows);
            cells.iter_mut().for_each(|word: &mut u64| *word = word.wrapping_mul(times));
            for cell in 0..4 {
                let own = &cells[cell * words.each..][..words.each];
                let here = || rows.iter().filter(|row| row.1 == cell);
                prop_assert_eq!(words.of(words.places[0], own), (here().count() as u64 * times) as i64);
                for (&place, &span) in words.places[1..].iter().zip(&spans) {
                    let sum = here().fold(0i64, |sum, row| sum.wrapping_add(of(span, row.0)));
                    prop_assert_eq!(words.of(place, own), sum.wrapping_mul(times as i64));
                }
            }
        }
    }

    #[test]
    fn a_sum_and_the_rows_are_one_word() {
        let words = |spans: &[(i64, i64)]| Words::new(spans.iter().copied(), 1 << 18).each;
        assert_eq!(words(&[(-200_000, 200_000)]), 1);
        assert_eq!(words(&[(-200_000, 200_000), (-100_000, 100_000)]), 2);
        assert_eq!(words(&[(-1 << 24, 1 << 24)]), 1);
        // Its squares are alone; those without a value, and those beyond the ends, are not.
        assert_eq!(words(&[(-100, 100), (0, 1 << 48)]), 2);
        assert_eq!(words(&[(-200_000, 200_000), (0, 1), (0, 1), (0, 1)]), 2);
    }
}
