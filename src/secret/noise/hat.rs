//! The hat: a histogram just above the law, laid out so that uniform bits pick a point under it.
//!
//! The non-negative integers are cut into blocks of one width `w ≥ scale/32`: block k holds `kw + t`, `0 ≤ t < w`.
//! Each block stands twice, once for the integers `x = kw + t` themselves and once for `−x − 1`, so zero belongs to one side
//! and no sign has to be thrown away. A block of side σ has a whole *height*, at least `m·exp(−γ)` at its
//! near end, with one multiplier m for the whole hat. Beyond the last block each side has a *tail* whose steps are some
//! blocks wide and halve in height at every step: their masses sum to twice the first step's, exactly.
//!
//! m is chosen so that the heights of all blocks and both tails sum to just under `2^bits`, and a block that
//! always rejects fills up the rest. Then a uniform integer of that many bits *is* a uniform choice of a unit
//! of height, with no remainder to reject. Finding the unit's block takes one look-up: the units are dealt to 512
//! columns of equal capacity so that each column holds pieces of at most two blocks (Walker's alias method in whole
//! numbers). Any dealing out is right as long as it is one-to-one; a test checks that it is.

use super::exp;
use super::law::Law;
use crate::plan::Noise;
use std::sync::{Arc, LazyLock};

/// log2 of the number of columns.
pub(super) const COLUMN_BITS: u32 = 9;
/// The number of columns, and the most blocks there can be: two sides, two tails and the rest.
pub(super) const COLUMNS: usize = 1 << COLUMN_BITS;
/// Blocks the scale is cut into.
const PER_SCALE: u64 = 32;
/// Widths from which the heights no longer depend on the scale.
const SHARED_FROM: u64 = 4096;

/// How fine a hat is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grain {
    /// Blocks on each side.
    pub blocks: u64,
    /// log2 of the sum of all heights.
    pub bits: u32,
}

impl Grain {
    /// Blocks up to 7.9 scales, 48 bits for column and height: 16 of a word's 64 are left for the place in the block.
    pub(crate) const FULL: Grain = Grain { blocks: 254, bits: 48 };

    /// Width of a step of the tail, in blocks: over it the law falls by half or more.
    ///
    /// γ is convex, so it is enough that γ rises by `ln 2 < 710/1024` over the first step, from `x0 = blocks·w`.
    /// With `w ≥ scale/32` and step `m·w`: Laplace rises by `m·w/b ≥ m/32`; Gaussian by at least `x0·m·w/s² ≥ blocks·m/1024`.
    fn tail_step(self, noise: Noise) -> u64 {
        match noise {
            Noise::Laplace => 23,
            Noise::Gaussian => 710u64.div_ceil(self.blocks),
        }
    }
}

/// A column: units below `split` belong to the block of the column's own number, the others to `other`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Column {
    pub split: u64,
    /// What to add to a unit from `split` up to get its height in `other` (wraps).
    pub lift: u64,
    pub other: u64,
}

/// A hat, ready to draw from.
#[derive(Debug)]
pub(super) struct Hat {
    pub columns: [Column; COLUMNS],
    /// Per block, the height up to which every integer of the block is under the law.
    pub quick: [u64; COLUMNS],
    /// The law's height at zero.
    pub multiplier: u64,
    /// Blocks on each side; blocks `2·blocks` and `2·blocks + 1` are the tails.
    pub blocks: u64,
    pub tail_step: u64,
    pub tail_height: u64,
    /// Units in a column, less one; a power of two less one.
    pub mask: u64,
}

impl Hat {
    /// The width of the blocks for a law.
    pub(crate) fn width(law: &Law) -> u64 {
        law.ceiling.div_ceil(PER_SCALE)
    }

    /// The hat of a law: its own when the scale is small, otherwise one that all scales share.
    pub(super) fn of(law: &Law) -> Arc<Hat> {
        static GAUSSIAN: LazyLock<Arc<Hat>> =
            LazyLock::new(|| Arc::new(Hat::shared(Noise::Gaussian, Grain::FULL)));
        static LAPLACE: LazyLock<Arc<Hat>> =
            LazyLock::new(|| Arc::new(Hat::shared(Noise::Laplace, Grain::FULL)));
        if Hat::width(law) < SHARED_FROM {
            return Arc::new(Hat::own(law, Grain::FULL));
        }
        match law.noise {
            Noise::Gaussian => Arc::clone(&GAUSSIAN),
            Noise::Laplace => Arc::clone(&LAPLACE),
        }
    }

    /// The hat made from the law's own values at both ends of each block.
    pub(super) fn own(law: &Law, grain: Grain) -> Hat {
        let w = Hat::width(law);
        Hat::build(law.noise, grain, |k, side| {
            let high = law.enclose(k * w + side, exp::SLACK).1;
            let low = law.enclose((k + 1) * w - 1 + side, exp::SLACK).0;
            (low, high)
        })
    }

    /// A hat for every scale of at least [`SHARED_FROM`] widths.
    ///
    /// `w ≥ scale/32` bounds the law at `kw` from above by its value at k/32 scales. From below: w is the least
    /// whole number with `32w ≥ ⌈scale⌉`, so `scale ≥ 32(w−1)` and `(k+1)w` is at most `(k+1)/32` scales
    /// times `w/(w−1) ≤ 4096/4095`.
    pub(super) fn shared(noise: Noise, grain: Grain) -> Hat {
        // γ·2^62 at num/den scales, rounded down.
        let gamma = |num: u64, den: u64| {
            let (num, den) = (u128::from(num), u128::from(den));
            match noise {
                Noise::Gaussian => ((num * num) << (exp::FRACTION - 1)) / (den * den),
                Noise::Laplace => (num << exp::FRACTION) / den,
            }
        };
        Hat::build(noise, grain, |k, _| {
            let high = exp::enclose(gamma(k, PER_SCALE), exp::SLACK).1;
            let end = gamma((k + 1) * SHARED_FROM, PER_SCALE * (SHARED_FROM - 1));
            (exp::enclose(end, exp::SLACK).0, high)
        })
    }

    /// `bounds(k, side)`: in units of `2^−62`, a lower bound of the law over block k and an upper one; for k = `blocks` the
    /// upper one is that of the tail.
    fn build(noise: Noise, grain: Grain, bounds: impl Fn(u64, u64) -> (u64, u64)) -> Hat {
        let Grain { blocks, bits } = grain;
        let tail_step = grain.tail_step(noise);
        let tail_at = 2 * blocks as usize;
        // Twice the first step's mass, by the halving.
        let tail_weight = 2 * tail_step;
        let mut around = [(0u64, 0u64); COLUMNS];
        for (j, around) in around.iter_mut().enumerate().take(tail_at) {
            *around = bounds(j as u64 / 2, j as u64 % 2);
        }
        let tail_top = bounds(blocks, 0).1;
        let sum: u128 = around.iter().map(|b| u128::from(b.1)).sum::<u128>()
            + 2 * u128::from(tail_weight) * u128::from(tail_top);
        // Every rounding up adds less than one unit.
        let roundings = u128::from(2 * blocks + 2 * tail_weight);
        let multiplier = ((1u128 << bits) - roundings) * u128::from(exp::ONE) / sum;
        let up = |e: u64| ((multiplier * u128::from(e)).div_ceil(u128::from(exp::ONE))) as u64;
        let mut heights = around.map(|b| up(b.1));
        let quick = around.map(|b| ((multiplier * u128::from(b.0)) >> exp::FRACTION) as u64);
        let tail_height = up(tail_top);
        heights[tail_at] = tail_weight * tail_height;
        heights[tail_at + 1] = tail_weight * tail_height;
        heights[tail_at + 2] = (1u64 << bits) - heights.iter().sum::<u64>();
        let capacity = 1u64 << (bits - COLUMN_BITS);
        Hat {
            columns: deal(heights, capacity),
            quick,
            multiplier: multiplier as u64,
            blocks,
            tail_step,
            tail_height,
            mask: capacity - 1,
        }
    }
}

/// Deals the units of the blocks to the columns: a block's lowest units to its own column, the others,
/// from the top down, to columns with room. The heights sum to `COLUMNS·capacity`.
fn deal(mut left: [u64; COLUMNS], capacity: u64) -> [Column; COLUMNS] {
    let mut columns = [Column::default(); COLUMNS];
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..COLUMNS).partition(|&j| left[j] < capacity);
    while let Some(j) = small.pop() {
        // The heights left average to the capacity, so while one is below it another is above.
        let Some(&giver) = large.last() else { break };
        let room = capacity - left[j];
        left[giver] -= room;
        columns[j] = Column { split: left[j], lift: left[giver].wrapping_sub(left[j]), other: giver as u64 };
        if left[giver] < capacity {
            large.pop();
            small.push(giver);
        }
    }
    for j in large {
        columns[j] = Column { split: capacity, lift: 0, other: j as u64 };
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists every unit of every column.
    fn heights_dealt(hat: &Hat) -> Vec<Vec<u64>> {
        let mut units = vec![Vec::new(); COLUMNS];
        for (j, c) in hat.columns.iter().enumerate() {
            for v in 0..=hat.mask {
                if v < c.split {
                    units[j].push(v);
                } else {
                    units[c.other as usize].push(v.wrapping_add(c.lift));
                }
            }
        }
        units.iter_mut().for_each(|u| u.sort_unstable());
        units
    }

    #[test]
    fn the_dealing_is_one_to_one_and_the_hat_is_above_the_law() {
        for (noise, scale, blocks, bits) in [
            (Noise::Gaussian, "10", 254, 13),
            (Noise::Gaussian, "1e6", 254, 18),
            (Noise::Laplace, "0.01", 254, 16),
            (Noise::Laplace, "12345/7", 20, 17),
            (Noise::Gaussian, "400", 8, 16),
        ] {
            let law = Law::new(noise, scale.parse().unwrap()).unwrap();
            let hat = Hat::own(&law, Grain { blocks, bits });
            let w = Hat::width(&law);
            let units = heights_dealt(&hat);
            assert_eq!(units.iter().map(Vec::len).sum::<usize>(), 1 << bits);
            for (j, units) in units.iter().enumerate() {
                // Each height once.
                assert!(units.iter().copied().eq(0..units.len() as u64), "{noise:?} {scale} block {j}");
                if j < 2 * blocks as usize {
                    let (k, side) = (j as u64 / 2, j as u64 % 2);
                    let scaled = |x| {
                        let e = (-(law.gamma(x) as f64) / exp::ONE as f64).exp();
                        hat.multiplier as f64 * e
                    };
                    assert!(units.len() as f64 + 1e-6 >= scaled(k * w + side));
                    assert!(hat.quick[j] as f64 <= scaled((k + 1) * w - 1 + side) + 1e-6);
                    assert!(hat.quick[j] <= units.len() as u64);
                }
            }
            let tail = 2 * blocks as usize;
            assert_eq!(units[tail].len() as u64, 2 * hat.tail_step * hat.tail_height);
            assert_eq!(units[tail], units[tail + 1]);
            // Each step of the tail is above the law where it begins, and half as high as the one before.
            for step in 0..64 {
                let begins = (hat.blocks + step * hat.tail_step) * w;
                let law = hat.multiplier as f64 * (-(law.gamma(begins) as f64) / exp::ONE as f64).exp();
                let height = hat.tail_height as f64 * 0.5f64.powi(step as i32);
                assert!(height * (1.0 + 1e-9) >= law, "{noise:?} {scale} step {step}: {height} {law}");
            }
        }
    }

    #[test]
    fn a_shared_hat_fits_every_large_scale() {
        for (noise, scale) in [
            (Noise::Gaussian, (32 * 4095 + 1u128).pow(2)),
            (Noise::Gaussian, 1 << 50),
            (Noise::Gaussian, 1 << 104),
            (Noise::Laplace, 32 * 4095 + 1),
            (Noise::Laplace, 1 << 40),
        ] {
            let law = Law::new(noise, crate::exact::Rational::whole(scale)).unwrap();
            let w = Hat::width(&law);
            assert!(w >= SHARED_FROM);
            let hat = Hat::of(&law);
            assert!(Arc::ptr_eq(&hat, &Hat::of(&law)));
            let mut heights = [0u64; COLUMNS];
            for (j, c) in hat.columns.iter().enumerate() {
                heights[j] = heights[j].max(c.split);
                let other = &mut heights[c.other as usize];
                *other = (*other).max((hat.mask + u64::from(c.split <= hat.mask)).wrapping_add(c.lift));
            }
            let total: u128 = heights[..2 * hat.blocks as usize].iter().map(|&h| u128::from(h)).sum();
            assert!(total > 250 << 40, "most of the hat is blocks");
            for k in 0..hat.blocks {
                for side in 0..2 {
                    let j = (2 * k + side) as usize;
                    let (_, most) = law.enclose(k * w + side, exp::SLACK);
                    let (least, _) = law.enclose((k + 1) * w - 1 + side, exp::SLACK);
                    let scale = |e: u64| (u128::from(hat.multiplier) * u128::from(e)) >> exp::FRACTION;
                    // A few units of the quick arithmetic's own slack.
                    assert!(u128::from(heights[j]) + 1 >= scale(most.saturating_sub(2 * exp::SLACK)), "{k}");
                    assert!(u128::from(hat.quick[j]) <= scale(least + 2 * exp::SLACK), "{k}");
                    assert!(u128::from(heights[j]) <= scale(most) + (1 << 31), "{k}: not far above");
                }
            }
        }
    }
}
