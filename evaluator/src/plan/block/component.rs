//! The integer contrasts of a component, measured at exactly the price of its projection.
//!
//! `D_A (m_A M_A x + z)`: adding a unit to cell `e` moves the counts by `m_A e`. Every vector that differs from `m_A e` by an
//! integer element of the kernel of `D_A` gives the same output, so the noise only has to hide the shortest: in each dimension
//! `w = m e − round(m/c)·1_group` (c siblings), and `⊗ w` in all. With `m` a multiple of `c` its squared length is exactly
//! `m²(1−1/c)`: the price of the projection, no more.

use super::kind::{Factors, Form, Kind, contrasts};
use crate::cube::{Cuboid, Frame, Integer, Rung};
use crate::exact::gcd;
use crate::plan::Noise;

pub(super) struct Component;

impl Kind for Component {
    type Data = Cuboid;
    const NAME: &'static str = "component";
    const FORM: Form = Form::Component;
    const SIGNED: bool = true;
    const SQUARES: bool = true;
    const LUMPS: bool = true;

    fn cuboid(data: &Cuboid) -> &Cuboid {
        data
    }

    fn values(data: &Cuboid, frame: &Frame) -> Option<u64> {
        contrasts(data, frame)
    }

    /// The scaled counts, still secret; the contrasts are taken of the noisy ones.
    fn apply<T: Integer>(data: &Cuboid, frame: &Frame, mut counts: Vec<T>) -> Option<Vec<T>> {
        let scale = component_scale(frame, data).and_then(|s| i64::try_from(s).ok())?;
        counts.iter_mut().try_for_each(|c| {
            *c = c.times(scale)?;
            Some(())
        })?;
        Some(counts)
    }

    fn publish<T: Integer>(data: &Cuboid, frame: &Frame, noisy: Vec<T>) -> Option<Vec<T>> {
        frame.contrast(data, noisy)
    }

    /// Components are measured with noise that counts squares only; the bound √n·‖·‖₂ would be loose in L1.
    fn sensitivity(data: &Cuboid, frame: &Frame, noise: Noise) -> Option<u128> {
        if noise.squares() { component_norm(frame, data) } else { None }
    }

    fn factors(noise: Noise) -> Option<Factors> {
        if noise.squares() { Some(|n| (n * (n - 1), -n)) } else { None }
    }

    /// Scaled counts, and the differences of differences of all: signed sums of `2^k` different cells. A row is in one of these, so all of them together are no more
    /// than the rows; their noises may add up.
    fn largest(data: &Cuboid, frame: &Frame, rows: u128, tail: u128) -> Option<u128> {
        let scaled = rows.checked_mul(component_scale(frame, data)?)?;
        scaled.checked_add(tail.checked_mul(1u128.checked_shl(data.len() as u32)?)?)
    }

    fn unit(data: &Cuboid, frame: &Frame) -> Option<f64> {
        component_scale(frame, data).map(|m| m as f64)
    }
}

/// The integer scale `m` of one rung: counts are multiplied by it so that the projection's shift is (almost)
/// integral. The least common multiple of the group sizes where that is small, a power of two otherwise.
pub(crate) fn rung_scale(rung: &Rung) -> u128 {
    const EXACT_UP_TO: u128 = 4096;
    if let [c] = rung.sizes() {
        return u128::from(*c);
    }
    let mut lcm: u128 = 1;
    let mut largest: u128 = 1;
    for &c in rung.sizes() {
        let c = u128::from(c);
        largest = largest.max(c);
        if lcm <= EXACT_UP_TO {
            lcm = lcm / gcd(lcm, c) * c;
        }
    }
    if lcm <= EXACT_UP_TO.max(largest) { lcm } else { (largest * 64).next_power_of_two() }
}

/// The integer scale `m_A` of a component.
pub fn component_scale(frame: &Frame, cuboid: &Cuboid) -> Option<u128> {
    cuboid.iter().try_fold(1u128, |m, level| m.checked_mul(rung_scale(frame.rung(level))))
}

/// What a unit in a group of so many siblings moves: its own scaled count, and those of all others, by so much. `None` where it does not fit.
pub(crate) fn component_part(rung: &Rung, siblings: u32) -> Option<(u64, u64)> {
    let (m, c) = (rung_scale(rung), u128::from(siblings));
    let r = m.checked_add(c / 2)?.checked_div(c)?;
    Some(((m - r).try_into().ok()?, r.try_into().ok()?))
}

/// The largest `‖w‖²` of one rung.
pub(super) fn rung_norm(rung: &Rung, m: u128) -> u128 {
    // One size, which is the scale: (c − 1)² + (c − 1).
    if let [c] = rung.sizes()
        && u128::from(*c) == m
        && m > 0
    {
        return m * (m - 1);
    }
    rung.sizes()
        .iter()
        .map(|&c| {
            let c = u128::from(c);
            let r = (m + c / 2) / c;
            (m - r) * (m - r) + (c - 1) * r * r
        })
        .max()
        .unwrap_or(0)
}

/// `max ‖⊗ w‖²` of a component: the squared L2 sensitivity of its integer measurement for one row.
pub fn component_norm(frame: &Frame, cuboid: &Cuboid) -> Option<u128> {
    cuboid.iter().try_fold(1u128, |n, level| {
        let rung = frame.rung(level);
        n.checked_mul(rung_norm(rung, rung_scale(rung)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::{Cube, Dimension};

    /// A thousand rows in whichever cells: nothing on the way is larger than said, and with all rows in one cell and noise at its worst something is as large.
    #[test]
    fn nothing_is_larger() {
        let labels = |n: usize| (0..n).map(|i| i.to_string()).collect();
        let cube =
            Cube { dimensions: vec![Dimension::plain("a", labels(3)), Dimension::plain("b", labels(4))] };
        let frame = Frame::new(&cube, &[vec![0, 1], vec![0, 1]]);
        let both = Cuboid::new(vec![(0, 1), (1, 1)]);
        let (rows, tail) = (1000i64, 7i64);
        let most = Component::largest(&both, &frame, rows as u128, tail as u128);
        assert_eq!(most, Some(1000 * 12 + 7 * 4));
        let mut reached = 0;
        for (one, other) in (0..12).flat_map(|one| (0..12).map(move |other| (one, other))) {
            for (part, sign) in [(0, 1), (250, 1), (250, -1), (500, -1)] {
                let mut counts = vec![0; 12];
                counts[one] += rows - part;
                counts[other] += sign * part;
                let noisy = Component::apply(&both, &frame, counts).unwrap();
                // Noise away from zero: what is added in a contrast, and what is taken off.
                let plus = |at: usize| (at < 4) == at.is_multiple_of(4);
                let noisy = noisy.iter().enumerate().map(|(at, v)| v + if plus(at) { tail } else { -tail });
                let published = Component::publish(&both, &frame, noisy.collect()).unwrap();
                reached = published.iter().map(|v| v.unsigned_abs()).max().unwrap().max(reached);
                assert!(u128::from(reached) <= most.unwrap(), "{one} {other} {part}");
            }
        }
        assert_eq!(u128::from(reached), most.unwrap());
    }

    #[test]
    fn group_norms() {
        let rung = |siblings: Vec<u32>| {
            let parent: Vec<u32> =
                siblings.iter().enumerate().flat_map(|(p, &c)| vec![p as u32; c as usize]).collect();
            let n = parent.len();
            Rung::new(1, parent, vec![1; n], vec![1; n], siblings)
        };
        // Equal groups, and groups whose lcm is small: exactly m²(1 − 1/c) of the largest group.
        for siblings in [vec![7, 7], vec![1, 1], vec![1], vec![2], vec![5, 3], vec![1, 4, 6], vec![5000]] {
            let rung = rung(siblings);
            let m = rung_scale(&rung);
            let c = u128::from(*rung.siblings.iter().max().unwrap());
            assert_eq!(rung_norm(&rung, m) * c, m * m * (c - 1), "{:?}", rung.siblings);
        }
        // Awkward sizes: the shortest of all whole vectors, tried one by one. It is longer than m²(1 − 1/c).
        let awkward = rung(vec![61, 67, 71]);
        assert_eq!(rung_scale(&awkward), 8192);
        // Large groups: what the document of the format says, and `auditor/tests/test_rules.py` of these very groups.
        let large = [vec![5000, 1], vec![64, 81, 6000], vec![6000, 64, 81], vec![4095, 4097]];
        assert_eq!(large.map(|siblings| rung_scale(&rung(siblings))), [5000, 5184, 6000, 1 << 19]);
        let length = |c: u128, r: u128| (8192 - r).pow(2) + (c - 1) * r * r;
        let shortest = |c: u128| (0..=8192).map(|r| length(c, r)).min().unwrap();
        assert_eq!(rung_norm(&awkward, 8192), [61, 67, 71].map(shortest).into_iter().max().unwrap());
        assert_eq!((rung_norm(&awkward, 8192), 8192 * 8192 * 70_u128 / 71), (66_163_679, 66_163_668));
        // A power of two, within 1e-4 of the projection's price.
        let rung = rung(vec![97, 89, 83]);
        let m = rung_scale(&rung);
        assert!(m.is_power_of_two());
        let price = rung_norm(&rung, m) as f64 / (m * m) as f64;
        let least = 1.0 - 1.0 / 97.0;
        assert!((least..least * 1.0001).contains(&price), "{price}");
    }
}
