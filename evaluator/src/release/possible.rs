//! Whether rows can have such exact sums: what the number of values, their sum and their squares say of each other.

/// Why so many values within the bounds cannot have this sum, and these squares, if so. A value is told by the number of steps `a` that it is above `low`, of
/// at most `reach`: `sum` adds up `t = 2a − reach`, and `squares` adds up `2t² − reach²`.
pub(super) fn impossible(reach: u64, values: i64, sum: i64, squares: Option<i64>) -> Option<&'static str> {
    // No more than 2^24 steps and 2^63 values: all of it fits.
    let (reach, values, sum) = (i128::from(reach), i128::from(values), i128::from(sum));
    let twice = sum + reach * values;
    if !(0..=2 * reach * values).contains(&twice) {
        return Some("an exact sum is more than the rows that have a value can have");
    }
    if twice % 2 != 0 {
        return Some("an exact sum is not one of values in whole steps");
    }
    let steps = twice / 2;
    let eightfold = i128::from(squares?) + 8 * reach * steps - reach * reach * values;
    // They are least where all values are the same but for one step, and most where all but one are at an end.
    let each = steps.checked_div(values).unwrap_or(0);
    let further = steps - each * values;
    let least = (values - further) * each * each + further * (each + 1) * (each + 1);
    let at_high = steps.checked_div(reach).unwrap_or(0);
    let last = steps - at_high * reach;
    let most = at_high * reach * reach + last * last;
    // A square is odd where its number is.
    let whole = eightfold % 8 == 0 && (eightfold / 8 - steps) % 2 == 0;
    let fit = whole && (least..=most).contains(&(eightfold / 8));
    (!fit).then_some("exact squares are not those of values that have the exact sum")
}

#[cfg(test)]
mod tests {
    use super::impossible;
    use std::collections::{BTreeMap, BTreeSet};

    /// Against all values that few rows can have.
    #[test]
    fn what_no_values_have_is_impossible() {
        for (reach, values) in (1..=5i64).flat_map(|reach| (0..=4u32).map(move |n| (reach, n))) {
            let mut real = BTreeMap::<i64, BTreeSet<i64>>::new();
            for mut code in 0..(reach + 1).pow(values) {
                let (mut sum, mut squares) = (0, 0);
                for _ in 0..values {
                    let t = 2 * (code % (reach + 1)) - reach;
                    code /= reach + 1;
                    (sum, squares) = (sum + t, squares + 2 * t * t - reach * reach);
                }
                real.entry(sum).or_default().insert(squares);
            }
            let values = i64::from(values);
            let found = |sum, squares| impossible(reach as u64, values, sum, squares).is_none();
            let most = values * reach + 3;
            for sum in -most..=most {
                let squares = real.get(&sum);
                assert_eq!(found(sum, None), squares.is_some(), "{reach} {values} {sum}");
                let ends = squares.and_then(|all| Some((*all.first()?, *all.last()?)));
                for of in -(most * reach + 40)..=most * reach + 40 {
                    let real = squares.is_some_and(|all| all.contains(&of));
                    // Between the ends some are of no values, which nobody need find; but beyond them none is let through, and none of another parity.
                    let fits = ends
                        .is_some_and(|(least, most)| (least..=most).contains(&of) && (of - least) % 16 == 0);
                    assert!(!real || fits);
                    assert_eq!(found(sum, Some(of)), fits, "{reach} {values} {sum} {of}");
                }
            }
        }
        // What a file can say at the most.
        for (values, sum, squares) in [(i64::MAX, i64::MAX, i64::MIN), (i64::MAX, i64::MIN, i64::MAX)] {
            assert!(impossible(1 << 24, values, sum, Some(squares)).is_some());
        }
        for values in [i64::MIN, -1] {
            assert!(impossible(1 << 24, values, 0, Some(0)).is_some());
        }
    }
}
