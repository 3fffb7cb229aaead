//! Numbers for what is seen, in the order in which it is seen first.

use std::collections::HashMap;
use std::hash::Hash;

/// Gives the same number to the same key. Neighbours in a tree are mostly alike, so what was seen last is compared before anything is looked
/// up: a condition on 60,000 areas is not as many look-ups. Whoever signs a file chooses keys, so no plain hash serves, which can be made to collide.
pub(crate) struct Numbers<K> {
    known: HashMap<K, u32>,
    last: Option<(K, u32)>,
}

impl<K> Default for Numbers<K> {
    fn default() -> Numbers<K> {
        Numbers { known: HashMap::default(), last: None }
    }
}

impl<K: Copy + Eq + Hash> Numbers<K> {
    /// The number of a key; `first` hears of one that was not seen before.
    pub(crate) fn of(&mut self, key: K, first: impl FnOnce()) -> u32 {
        if let Some((last, number)) = self.last
            && last == key
        {
            return number;
        }
        let next = self.known.len() as u32;
        let number = *self.known.entry(key).or_insert_with(|| {
            first();
            next
        });
        self.last = Some((key, number));
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_the_order_of_first_sight() {
        let (mut numbers, mut seen) = (Numbers::default(), Vec::new());
        let keys = [7, 7, 3, 7, 7, 3, 9, 9, 3, 7];
        let given: Vec<u32> = keys.iter().map(|&k| numbers.of(k, || seen.push(k))).collect();
        assert_eq!(given, [0, 0, 1, 0, 0, 1, 2, 2, 1, 0]);
        assert_eq!(seen, [7, 3, 9]);
    }
}
