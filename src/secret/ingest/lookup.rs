//! From the bytes of a cell to its node in a few steps: an open hash table over the public labels.

use std::collections::HashMap;

/// How many bytes of a label are compared as one word.
const WORD: usize = 16;

/// Labels and their nodes. Every label of at most [`WORD`] bytes is told by one word and its length; what is longer is compared to
/// its end.
///
/// Built from the spec alone: a factor is tried after the other until no two labels meet, which it finds for some hundred labels; where it
/// does not, they stand one behind the other.
pub(super) struct Lookup {
    factor: u64,
    shift: u32,
    /// One more than the label's place, 0 where there is none.
    slots: Vec<u32>,
    labels: Vec<Label>,
    /// Of the long labels what follows the word.
    rest: Vec<u8>,
}

struct Label {
    word: u128,
    len: u32,
    node: u32,
    /// Where the rest of a long label begins.
    rest: u32,
}

/// How many factors are tried.
const TRIES: u64 = 64;

impl Lookup {
    /// `None` for more labels, or longer ones, than 32 bits can number.
    pub(super) fn new(labels: &HashMap<String, u32>) -> Option<Lookup> {
        let mut sorted: Vec<(&str, u32)> =
            labels.iter().map(|(label, node)| (label.as_str(), *node)).collect();
        sorted.sort_unstable(); // the same table for the same labels
        let size = (4 * sorted.len()).next_power_of_two().max(16);
        let bits = size.trailing_zeros();
        let mut lookup =
            Lookup { factor: 0, shift: 64 - bits, slots: Vec::new(), labels: Vec::new(), rest: Vec::new() };
        for (label, node) in sorted {
            let rest = u32::try_from(lookup.rest.len()).ok()?;
            lookup.rest.extend(label.as_bytes().get(WORD..).unwrap_or_default());
            let word = word(label.as_bytes(), 0, label.len());
            lookup.labels.push(Label { word, len: u32::try_from(label.len()).ok()?, node, rest });
        }
        let labels = u32::try_from(lookup.labels.len()).ok()?;
        let mut best = usize::MAX;
        let mut chosen = 1;
        // With many labels some always meet.
        for attempt in 0..if labels > 4096 { 1 } else { TRIES } {
            lookup.factor = (attempt + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let met = lookup.place(size);
            if met < best {
                (best, chosen) = (met, lookup.factor);
            }
            if met == 0 {
                break;
            }
        }
        lookup.factor = chosen;
        lookup.place(size);
        Some(lookup)
    }

    /// Fills the slots, and says how many labels had to stand behind another.
    fn place(&mut self, size: usize) -> usize {
        let mut slots = vec![0; size];
        let mut met = 0;
        for (label, number) in self.labels.iter().zip(1..) {
            let rest = self.rest.get(label.rest as usize..).unwrap_or_default();
            let rest = rest.get(..(label.len as usize).saturating_sub(WORD)).unwrap_or_default();
            let mut at = self.hash(label.word, label.len as usize, rest);
            while slots[at] != 0 {
                at = (at + 1) & (size - 1);
                met += 1;
            }
            slots[at] = number;
        }
        self.slots = slots;
        met
    }

    #[inline]
    fn hash(&self, word: u128, len: usize, rest: &[u8]) -> usize {
        let (low, high) = (word as u64, (word >> 64) as u64);
        let mut mixed = (low ^ high.rotate_left(29) ^ (len as u64).rotate_left(56)).wrapping_mul(self.factor);
        if !rest.is_empty() {
            for part in rest.chunks(8) {
                let part = part.iter().fold(0, |word, &b| word << 8 | u64::from(b));
                mixed = (mixed.rotate_left(23) ^ part).wrapping_mul(self.factor);
            }
        }
        // A product's highest bits depend on all bits of its factor.
        ((mixed ^ mixed.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// The node of the label that is `text[from..to]`.
    #[inline]
    pub(super) fn find(&self, text: &[u8], from: usize, to: usize) -> Option<u32> {
        let len = to - from;
        let word = word(text, from, to);
        let rest = if len > WORD { text.get(from + WORD..to)? } else { &[] };
        let mut at = self.hash(word, len, rest);
        loop {
            let label = self.labels.get((*self.slots.get(at)? as usize).wrapping_sub(1))?;
            if label.word == word && label.len as usize == len && self.same(label, rest) {
                return Some(label.node);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    #[inline]
    fn same(&self, label: &Label, rest: &[u8]) -> bool {
        let from = label.rest as usize;
        rest.is_empty() || self.rest.get(from..from + rest.len()) == Some(rest)
    }
}

/// The first bytes of `text[from..to]`, with zeros behind a shorter one.
#[inline]
fn word(text: &[u8], from: usize, to: usize) -> u128 {
    let len = to - from;
    match text.get(from..).and_then(|rest| rest.first_chunk::<WORD>()) {
        Some(first) => {
            let all = u128::from_le_bytes(*first);
            if len >= WORD { all } else { all & !(u128::MAX << (8 * len)) }
        }
        // Near the end of the text.
        None => {
            let mut first = [0; WORD];
            let cell = text.get(from..to).unwrap_or_default();
            let cell = cell.get(..WORD).unwrap_or(cell);
            first[..cell.len()].copy_from_slice(cell);
            u128::from_le_bytes(first)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the map itself, wherever in a text the cell stands: labels that share beginnings, ends and lengths.
        #[test]
        fn as_the_map(
            labels in prop::collection::hash_set("[a\\x00]{0,3}|[ab]{14,18}|(prefix of all labels )[ab]{0,20}", 0..200),
            strange in "[ab]{0,18}|(prefix of all labels )[ab]{0,20}",
            before in 0usize..3, after in 0usize..20,
        ) {
            let map: HashMap<String, u32> = labels.into_iter().zip(0..).collect();
            let lookup = Lookup::new(&map).unwrap();
            for cell in map.keys().chain([&strange]) {
                let text = ["\0".repeat(before), cell.clone(), "a".repeat(after)].concat();
                let found = lookup.find(text.as_bytes(), before, before + cell.len());
                prop_assert_eq!(found, map.get(cell).copied(), "{}", cell);
            }
        }
    }

    #[test]
    fn many_labels() {
        let map: HashMap<String, u32> =
            (0..100_000).map(|n| (format!("district of the town {n}"), n)).collect();
        let lookup = Lookup::new(&map).unwrap();
        for (label, node) in &map {
            assert_eq!(lookup.find(label.as_bytes(), 0, label.len()), Some(*node));
        }
        assert_eq!(lookup.find(b"district of the town 100000", 0, 27), None);
    }
}
