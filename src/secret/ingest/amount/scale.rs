//! Numbers as nearly all files have them, in 64 bits: at most 18 digits and no exponent. Whatever these do not hold goes the long way, and both ways
//! lead to the same node.

use super::beyond;
use crate::cube::Quantity;

/// Digits that 64 bits hold whatever they are.
const DIGITS: usize = 18;

/// The powers of ten that 64 bits hold.
const POWERS: [i64; DIGITS + 1] = {
    let mut powers = [1; DIGITS + 1];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// Doubles are tried with so many digits more behind the point than the bounds have.
const MORE: usize = 4;

/// A number's bounds and steps, made ready for cells without end.
pub(in super::super) struct Scale<'q> {
    pub(super) quantity: &'q Quantity,
    /// Whether values beyond the bounds have nodes of their own.
    told: bool,
    /// How many steps there are.
    pub(super) most: u64,
    /// For numbers with so many digits behind the point.
    ways: [Option<Way>; DIGITS + 1],
}

/// How digits become steps: all in units of the last digit, or of the bounds' if that is less. There is none where 64 bits do not hold it.
#[derive(Clone, Copy)]
struct Way {
    times: i64,
    low: i64,
    step: u64,
    /// From `low` to `high`: more than any number is where 64 bits do not hold it.
    length: u64,
}

impl<'q> Scale<'q> {
    pub(in super::super) fn new(quantity: &'q Quantity, told: bool) -> Scale<'q> {
        let most = quantity.steps();
        let way = |behind: usize| {
            let places = usize::from(quantity.places);
            let times = *POWERS.get(places.saturating_sub(behind))?;
            let unit = *POWERS.get(behind.saturating_sub(places))?;
            let step = quantity.step.checked_mul(unit.unsigned_abs())?;
            let length = step.saturating_mul(most);
            Some(Way { times, low: quantity.low.checked_mul(unit)?, step, length })
        };
        let mut ways = [None; DIGITS + 1];
        (0..).zip(&mut ways).for_each(|(behind, to)| *to = way(behind));
        Scale { quantity, told, most, ways }
    }

    /// From now on values beyond the bounds have nodes of their own: which two.
    pub(in super::super) fn tell_beyond(&mut self) -> Option<[u32; 2]> {
        self.told = true;
        let [below, above] = beyond(self.most);
        Some([u32::try_from(below).ok()?, u32::try_from(above).ok()?])
    }

    /// The node of a value below `low`.
    pub(super) fn below(&self) -> u32 {
        // No more than 2^24 steps.
        if self.told { beyond(self.most)[0] as u32 } else { 0 }
    }

    /// The node of a value above `high`.
    pub(super) fn above(&self) -> u32 {
        if self.told { beyond(self.most)[1] as u32 } else { self.most as u32 }
    }

    /// The node of `digits · 10^-behind`, moved to the nearer bound and rounded half to even.
    #[inline(always)]
    pub(in super::super) fn node(&self, digits: i64, behind: usize) -> Option<u32> {
        let way = self.ways.get(behind)?.as_ref()?;
        let above = digits.checked_mul(way.times)?.checked_sub(way.low)?;
        if self.told && (above < 0 || above.unsigned_abs() > way.length) {
            return Some(if above < 0 { self.below() } else { self.above() });
        }
        // Without branches: which values lie beyond the bounds, or above a half, nobody foresees.
        let above = above.max(0).unsigned_abs().min(way.length);
        let (whole, rest) = if way.step == 1 { (above, 0) } else { (above / way.step, above % way.step) };
        let (whole, left) = (whole as u32, way.step - rest);
        Some(whole + (u32::from(rest > left) | u32::from(rest == left) & whole & 1))
    }

    /// The node of a cell that is a sign, digits and a point, as far as it has these.
    #[inline]
    pub(super) fn read(&self, cell: &[u8]) -> Option<u32> {
        let (negative, rest) = match cell {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        if rest.len() > DIGITS {
            return None;
        }
        let (mut digits, mut seen, mut behind) = (0i64, 0, None);
        for byte in rest {
            let digit = byte.wrapping_sub(b'0');
            if digit < 10 {
                digits = digits.wrapping_mul(10).wrapping_add(digit.into());
                seen += 1;
            } else if *byte == b'.' && behind.is_none() {
                behind = Some(seen);
            } else {
                return None;
            }
        }
        if seen == 0 {
            return None;
        }
        self.node(if negative { -digits } else { digits }, behind.map_or(0, |before| seen - before))
    }

    /// The node of the double of these bits, if a number of few digits is the shortest that means it: of its text.
    #[inline]
    pub(in super::super) fn of_double(&self, bits: u64) -> Option<u32> {
        self.of_float::<52, 1075>(bits >> 63 == 1, (bits << 1 >> 53) as u32, bits & ((1 << 52) - 1))
    }

    /// The same of a float of 32 bits.
    #[inline]
    pub(in super::super) fn of_single(&self, bits: u32) -> Option<u32> {
        self.of_float::<23, 150>(bits >> 31 == 1, bits << 1 >> 24, (bits & ((1 << 23) - 1)).into())
    }

    /// Of its sign, its exponent and its fraction as they are stored; with exponent `UNIT` a float is a whole number, whose bits are those of the fraction and a
    /// leading one.
    ///
    /// **Claim.** It is the node of the shortest text. **Proof.** Let the float be `whole / 2^shift`, `n · 10^-p` nearer to it than half of `2^-shift` (of a power of
    /// two, below which floats are denser, than a quarter), and `10^p ≤ 2^shift`. Then it is the nearest float. All numbers that mean it lie within `2^-shift`, so
    /// no other multiple of `10^-p` is among them. Any that is none has more digits behind the point, and as many before it: it is longer. It has fewer before it only where `n · 10^-p` is a power
    /// of ten, whose one digit none is shorter than, or as near as. So the shortest is `n · 10^-p`. ∎
    #[inline(always)]
    fn of_float<const FRACTION: u32, const UNIT: u32>(
        &self,
        negative: bool,
        exponent: u32,
        fraction: u64,
    ) -> Option<u32> {
        if exponent == 0 && fraction == 0 {
            return self.node(0, 0);
        }
        // Of floats that have no leading one it is more than any that is known here.
        let shift = UNIT.wrapping_sub(exponent);
        let (whole, near) = (fraction | 1 << FRACTION, if fraction == 0 { 4 } else { 2 });
        let behind = usize::from(self.quantity.places);
        // Nearly always 64 bits are enough, and the bounds have as many digits.
        if let (Some(&power @ 1..=1000), 1..=62) = (POWERS.get(behind), shift) {
            let power = power.unsigned_abs();
            let exact = whole * power;
            let nearest = (exact + (1 << (shift - 1))) >> shift;
            if power <= 1 << shift && near * exact.abs_diff(nearest << shift) < power {
                let digits = nearest.cast_signed();
                return self.node(if negative { -digits } else { digits }, behind);
            }
        }
        self.of_any_float(negative, (whole, near), shift)
    }

    #[cold]
    fn of_any_float(&self, negative: bool, (whole, near): (u64, u64), shift: u32) -> Option<u32> {
        if shift == 0 || shift > 100 {
            return None;
        }
        let places = usize::from(self.quantity.places);
        for (behind, power) in POWERS.iter().enumerate().skip(places).take(MORE) {
            let power = u128::from(power.unsigned_abs());
            let exact = u128::from(whole) * power;
            let nearest = (exact + (1 << (shift - 1))) >> shift;
            if power > 1 << shift {
                return None;
            }
            if u128::from(near) * exact.abs_diff(nearest << shift) < power {
                let digits = i64::try_from(nearest).ok()?;
                return self.node(if negative { -digits } else { digits }, behind);
            }
        }
        None
    }
}
