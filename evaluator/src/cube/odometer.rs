//! All combinations of a few choices, one after the other.

/// Turns to the next combination, the last place fastest; place `i` has `sizes(i)` choices. After the last one all places are at 0
/// again, and it says false.
pub fn next(pick: &mut [u32], sizes: impl Fn(usize) -> usize) -> bool {
    for i in (0..pick.len()).rev() {
        pick[i] += 1;
        if (pick[i] as usize) < sizes(i) {
            return true;
        }
        pick[i] = 0;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::next;

    #[test]
    fn every_combination_once() {
        let mut pick = [0; 3];
        let mut seen = vec![pick];
        while next(&mut pick, |i| [2, 1, 3][i]) {
            seen.push(pick);
        }
        assert_eq!(seen, [[0, 0, 0], [0, 0, 1], [0, 0, 2], [1, 0, 0], [1, 0, 1], [1, 0, 2]]);
        assert_eq!(pick, [0; 3]);
        assert!(!next(&mut [], |_| 1));
    }
}
