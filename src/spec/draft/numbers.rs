//! Bins for numbers, with edges at round places.

/// About so many bins of one width.
const BINS: f64 = 12.0;

/// So many numbers are kept, whichever came.
const KEPT: usize = 1 << 16;

/// A column of numbers: its ends, and some of them.
pub(super) struct Numbers {
    ends: Option<(f64, f64)>,
    /// Every so many-th number.
    some: Vec<f64>,
    every: u64,
    seen: u64,
}

impl Numbers {
    pub(super) fn new() -> Numbers {
        Numbers { ends: None, some: Vec::new(), every: 1, seen: 0 }
    }

    pub(crate) fn see(&mut self, value: f64) {
        let (lo, hi) = self.ends.unwrap_or((value, value));
        self.ends = Some((lo.min(value), hi.max(value)));
        if self.seen.is_multiple_of(self.every) {
            self.some.push(value);
        }
        self.seen += 1;
        if self.some.len() > KEPT {
            self.every *= 2;
            let mut at = 0;
            self.some.retain(|_| {
                at += 1;
                at % 2 == 1
            });
        }
    }

    /// The edges of bins: of one width where all but the smallest and the largest hundredth of the numbers are, and up to all of them beyond. `None`
    /// where the numbers are too far apart, or too close, to say.
    pub(super) fn bins(&self) -> Option<Vec<String>> {
        let (lo, hi) = self.ends?;
        let mut some = self.some.clone();
        some.sort_by(f64::total_cmp);
        let hundredth = some.len() / 100;
        let (mut from, mut to) = (*some.get(hundredth)?, *some.get(some.len() - 1 - hundredth)?);
        if from == to {
            (from, to) = (lo, hi);
        }
        let step = if from < to { Step::near((to - from) / BINS) } else { Step { digit: 1, power: 0 } };
        let first = step.count(from.max(lo), f64::floor)?;
        let last = step.count(to, f64::ceil)?.max(first + 1);
        let mut edges: Vec<i64> = (first..=last).collect();
        for (end, round) in [(lo, f64::floor as fn(f64) -> f64), (hi, f64::ceil)] {
            let inside = step.count(end, round)?;
            if inside < first {
                edges.insert(0, far(first, inside));
            } else if inside > last {
                edges.push(far(last, inside));
            }
        }
        Some(edges.into_iter().map(|edge| step.text(edge)).collect())
    }
}

/// A round place at or beyond `to`, as seen from `from`.
fn far(from: i64, to: i64) -> i64 {
    let mut round = 1i64;
    while round * 10 <= (to - from).abs() {
        round *= 10;
    }
    let down = to.div_euclid(round) * round;
    if to < from || down == to { down } else { down + round }
}

/// One, two or five times a power of ten.
#[derive(Clone, Copy)]
struct Step {
    digit: i64,
    power: i32,
}

impl Step {
    fn near(width: f64) -> Step {
        let power = width.log10().floor();
        let digit = width / 10f64.powf(power);
        let power = power as i32;
        match digit {
            d if d < 1.5 => Step { digit: 1, power },
            d if d < 3.5 => Step { digit: 2, power },
            d if d < 7.5 => Step { digit: 5, power },
            _ => Step { digit: 1, power: power + 1 },
        }
    }

    /// How many steps a number is from zero. `None` where that is no small number.
    fn count(self, value: f64, round: fn(f64) -> f64) -> Option<i64> {
        let steps = round(value / (self.digit as f64 * 10f64.powi(self.power)));
        (steps.abs() < 1e12 && self.power.abs() <= 15).then_some(steps as i64)
    }

    /// So many steps, in decimal.
    fn text(self, steps: i64) -> String {
        let number = i128::from(steps) * i128::from(self.digit);
        if self.power >= 0 {
            return (number * 10i128.pow(self.power.unsigned_abs())).to_string();
        }
        let places = self.power.unsigned_abs() as usize;
        let digits = format!("{:0width$}", number.unsigned_abs(), width = places + 1);
        let (whole, behind) = digits.split_at(digits.len() - places);
        let text = format!("{}{whole}.{behind}", if number < 0 { "-" } else { "" });
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(values: impl IntoIterator<Item = f64>) -> Option<String> {
        let mut numbers = Numbers::new();
        values.into_iter().for_each(|value| numbers.see(value));
        Some(numbers.bins()?.join(", "))
    }

    #[test]
    fn edges_at_round_places() {
        assert_eq!(
            bins((0..1000).map(f64::from)).unwrap(),
            "0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000"
        );
        assert_eq!(
            bins((-5..=5).map(|n| f64::from(n) / 100.0)).unwrap(),
            "-0.05, -0.04, -0.03, -0.02, -0.01, 0, 0.01, 0.02, 0.03, 0.04, 0.05"
        );
        // Few numbers far away make no room of empty bins.
        let far = (0..999).map(f64::from).chain([1e6]);
        assert_eq!(bins(far).unwrap(), "0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1000000");
        let below = (0..999).map(f64::from).chain([-77777.0]);
        assert!(bins(below).unwrap().starts_with("-80000, 0, 100, "));
        assert_eq!(bins([7.5; 3]).unwrap(), "7, 8");
        assert_eq!(bins([7.0; 3]).unwrap(), "7, 8");
        assert_eq!(bins([-1e300, 1e300]), None);
        assert_eq!(bins([0.0, 1e-300]), None);
        assert_eq!(bins([1e15, 1e15 + 1.0]), None);
    }

    /// Every number is in a bin, and the edges rise.
    #[test]
    fn every_number_has_a_bin() {
        let mut state = 7u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for _ in 0..2000 {
            let (scale, skew, shift) =
                (10f64.powf(8.0 * draw() - 4.0), 1.0 + 8.0 * draw(), 3.0 * draw() - 1.5);
            let values: Vec<f64> = (0..50).map(|_| scale * (draw().powf(skew) + shift)).collect();
            let mut numbers = Numbers::new();
            values.iter().for_each(|value| numbers.see(*value));
            let edges: Vec<f64> = numbers.bins().unwrap().iter().map(|edge| edge.parse().unwrap()).collect();
            assert!(edges.is_sorted_by(|a, b| a < b) && edges.len() < 40, "{edges:?}");
            let inside = |value: &f64| edges[0] <= *value && *value <= edges[edges.len() - 1];
            assert!(values.iter().all(inside), "{edges:?} {values:?}");
        }
    }
}
