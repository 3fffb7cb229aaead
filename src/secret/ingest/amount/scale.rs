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
    #[inline]
    pub(in super::super) fn node(&self, digits: i64, behind: usize) -> Option<u32> {
        let way = self.ways.get(behind)?.as_ref()?;
        let above = digits.checked_mul(way.times)?.checked_sub(way.low)?;
        let Ok(above) = u64::try_from(above) else { return Some(self.below()) };
        if above >= way.length {
            return Some(if above > way.length { self.above() } else { self.most as u32 });
        }
        let (whole, rest) = if way.step == 1 { (above, 0) } else { (above / way.step, above % way.step) };
        let up = match rest.cmp(&(way.step - rest)) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => whole as u32 & 1,
            std::cmp::Ordering::Greater => 1,
        };
        Some(whole as u32 + up)
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
    ///
    /// **Claim.** It is the node of the shortest text. **Proof.** Let `n · 10^-p` be nearer to the double than half the distance to the next (of a power of two, below
    /// which they are denser, than a quarter), and n have at most 15 digits. Then that double is the nearest to it. The shortest text has no more digits, and means
    /// the same double; no two numbers of 15 digits or fewer mean the same double. So both are one number. ∎
    #[inline]
    pub(in super::super) fn of_double(&self, bits: u64) -> Option<u32> {
        const FRACTION: u32 = 52;
        if bits << 1 == 0 {
            return self.node(0, 0);
        }
        // The double is `whole / 2^shift`.
        let exponent = (bits << 1 >> (FRACTION + 1)) as u32;
        let fraction = bits & ((1 << FRACTION) - 1);
        let (whole, near) = (fraction | 1 << FRACTION, if fraction == 0 { 4 } else { 2 });
        let shift = 1023 + FRACTION - exponent.min(1023 + FRACTION);
        if exponent == 0 || shift == 0 || shift > 100 {
            return None;
        }
        let places = usize::from(self.quantity.places);
        for (behind, power) in POWERS.iter().enumerate().skip(places).take(MORE) {
            let power = u128::from(power.unsigned_abs());
            let exact = u128::from(whole) * power;
            let nearest = (exact + (1 << (shift - 1))) >> shift;
            if nearest >= 10u128.pow(15) {
                return None;
            }
            if near * exact.abs_diff(nearest << shift) < power {
                let digits = nearest as i64;
                return self.node(if bits >> 63 == 1 { -digits } else { digits }, behind);
            }
        }
        None
    }
}
