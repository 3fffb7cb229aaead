//! Exact draws from a law: a point under the hat, kept when it is under the law.

use super::NoiseError;
use super::exp;
use super::hat::{COLUMN_BITS, COLUMNS, Hat};
use super::law::Law;
use crate::exact::Rational;
use crate::plan::Noise;
#[cfg(feature = "faults")]
use crate::planted::{self, Planted};
use dashu_int::UBig;
use rand::Rng;
use std::sync::Arc;

/// Widths up to which the place in a block is found with the 16 bits that column and height leave over.
const NARROW: u64 = 256;

/// Draws integers from one law, exactly. Cheap to clone.
///
/// **Guarantee.** Given independent uniform bits, [`draw`](Sampler::draw) returns x with probability exactly proportional
/// to `exp(−x²/(2s²))` or `exp(−|x|/b)`: no rounding takes part in the law, only in how soon a comparison is settled.
/// (One reservation: a value beyond ±2^62 would be drawn again. Its probability is below `exp(−2^19)`.)
///
/// **Proof.** One word of bits gives, from disjoint bits and so independently, a uniform unit of the
/// hat and a place t in its block (Lemire's multiplication, redrawing on the few words that would bias it). Hence the
/// pair (integer, u) is uniform over all pairs with u below the hat at that integer. Let `U = u + f`, f uniform in [0, 1): the
/// point is uniform in the area under the hat, and keeping it when `U < m·exp(−γ(x))` leaves it uniform in the area
/// under the law (von Neumann), which is below the hat everywhere. The comparison is settled by certain bounds, drawing more bits of f only
/// when they leave it open, until it is decided; it ends with probability one.
///
/// **Time.** How long a draw takes depends on the bits drawn, hence a little on the noise; it never depends on
/// data. Whoever can time single draws learns something about the noise: release nothing about time per cell.
///
/// **Sources.** The laws and their use: Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*
/// (NeurIPS 2020). Rejection and lazy comparison: von Neumann 1951; Knuth and Yao 1976; Karney 2016. Columns: Walker 1977, Vose 1991. Uniform
/// integers: Lemire 2019.
#[derive(Debug, Clone)]
pub struct Sampler {
    law: Law,
    hat: Arc<Hat>,
    width: u64,
    /// 2^16 or 2^64 modulo the width: so many words must be refused for the place to be uniform.
    surplus: u64,
    /// How far the quick exponential is trusted.
    slack: u64,
}

impl Sampler {
    /// A noise law at a scale, of at most [`Noise::largest_scale`].
    pub(crate) fn of(noise: Noise, scale: Rational) -> Result<Sampler, NoiseError> {
        let law = Law::new(noise, scale)?;
        let hat = Hat::of(&law);
        Ok(Sampler::assemble(law, hat))
    }

    /// `P(x) ∝ exp(−x²/(2·variance))` on the integers; variance up to 2^104.
    pub fn gaussian(variance: Rational) -> Result<Sampler, NoiseError> {
        Sampler::of(Noise::Gaussian, variance)
    }

    /// `P(x) ∝ exp(−|x|/scale)` on the integers; scale up to 2^40.
    pub fn laplace(scale: Rational) -> Result<Sampler, NoiseError> {
        Sampler::of(Noise::Laplace, scale)
    }

    fn assemble(law: Law, hat: Arc<Hat>) -> Sampler {
        let width = Hat::width(&law);
        let surplus = if width <= NARROW { (1 << 16) % width } else { width.wrapping_neg() % width };
        Sampler { law, hat, width, surplus, slack: exp::SLACK }
    }

    /// One draw.
    #[inline]
    pub(crate) fn draw<R: Rng + ?Sized>(&self, bits: &mut R) -> i64 {
        loop {
            if let Some(x) = self.attempt(bits) {
                return x;
            }
        }
    }

    /// Independent draws, the same as repeated [`draw`](Sampler::draw).
    pub fn fill<R: Rng + ?Sized>(&self, bits: &mut R, out: &mut [i64]) {
        for x in out {
            *x = self.draw(bits);
        }
    }

    /// One point under the hat; nothing when it is not under the law.
    #[inline]
    fn attempt<R: Rng + ?Sized>(&self, bits: &mut R) -> Option<i64> {
        let word = bits.next_u64();
        let place = if self.width <= NARROW {
            let product = (word >> 48) * self.width;
            if product & 0xffff < self.surplus {
                return None;
            }
            product >> 16
        } else {
            let product = u128::from(bits.next_u64()) * u128::from(self.width);
            if (product as u64) < self.surplus {
                return None;
            }
            (product >> 64) as u64
        };
        let own = word & (COLUMNS as u64 - 1);
        let unit = (word >> COLUMN_BITS) & self.hat.mask;
        let column = self.hat.columns[own as usize];
        let mine = unit < column.split;
        let block = if mine { own } else { column.other };
        let height = unit.wrapping_add(if mine { 0 } else { column.lift });
        if height < self.hat.quick[block as usize % COLUMNS] {
            let x = (block >> 1) * self.width + place;
            // Side 1 is −x − 1, which is what flipping all bits does.
            return Some(x as i64 ^ -((block & 1) as i64));
        }
        self.settle(block, height, place, bits)
    }

    /// The few points that the block's lower bound does not accept.
    #[cold]
    #[inline(never)]
    fn settle<R: Rng + ?Sized>(&self, block: u64, height: u64, place: u64, bits: &mut R) -> Option<i64> {
        let hat = &*self.hat;
        let (k, side) = (block >> 1, block & 1);
        let (k, height, step) = match k.checked_sub(hat.blocks) {
            None => (k, height, 0),
            #[cfg(feature = "faults")]
            Some(0) if planted::on(Planted::NoTails) => return None,
            Some(0) => {
                // The tail's units: `tail_height` for each block of its first step, and as many again for all
                // later steps, of which each takes half of what is left.
                let (c, height) = (height / hat.tail_height, height % hat.tail_height);
                let step = if c < hat.tail_step { 0 } else { 1 + heads(bits) };
                let k = step.checked_mul(hat.tail_step)?.checked_add(hat.blocks + c % hat.tail_step)?;
                (k, height, step)
            }
            Some(_) => return None,
        };
        let x = k.checked_mul(self.width)?.checked_add(place).filter(|&x| x < 1 << 62)?;
        self.below_the_law(x + side, height, step, bits).then_some(x as i64 ^ -(side as i64))
    }

    /// Whether `(height + f)/2^step < multiplier·exp(−γ(x))`, f a uniform fraction that is drawn as far as needed.
    fn below_the_law<R: Rng + ?Sized>(&self, x: u64, height: u64, step: u64, bits: &mut R) -> bool {
        let (low, high) = self.law.enclose(x, self.slack);
        let multiplier = u128::from(self.hat.multiplier);
        let shift = step.min(127) as u32;
        let floor = (u128::from(height) << exp::FRACTION) >> shift;
        let ceiling = ((u128::from(height + 1) << exp::FRACTION) >> shift) + u128::from(step > 0);
        if ceiling <= multiplier * u128::from(low) {
            return true;
        }
        if floor >= multiplier * u128::from(high) {
            return false;
        }
        let mut drawn = UBig::from(height);
        let mut fraction = 0usize;
        loop {
            drawn = (drawn << 64) + UBig::from(bits.next_u64());
            fraction += 64;
            // Both sides times 2^(fraction + step + 64): the multiplier has at most 48 bits.
            let (low, high) = self.law.enclose_exact(x, fraction + step as usize + 64);
            let multiplier = UBig::from(self.hat.multiplier);
            if (&drawn + UBig::ONE) << 64 <= low * &multiplier {
                return true;
            }
            if &drawn << 64 >= high * multiplier {
                return false;
            }
        }
    }
}

/// How many fair coins show heads before the first tail.
fn heads<R: Rng + ?Sized>(bits: &mut R) -> u64 {
    let mut n = 0;
    loop {
        let word = bits.next_u64();
        n += u64::from(word.trailing_ones());
        if word != u64::MAX {
            return n;
        }
    }
}

#[cfg(test)]
mod exhaustive;
#[cfg(test)]
mod tests;
