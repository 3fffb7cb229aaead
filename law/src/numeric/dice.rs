//! Numbers that look random and are the same on every machine: searches, probes and simulations use them, noise never does.

/// A fixed sequence, SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
pub struct Dice(u64);

/// How far apart SplitMix64's states are: 2^64 over the golden ratio.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number that has nothing to do with `z`, though each comes from one: SplitMix64's last step.
pub fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Dice {
    /// The sequence of this number.
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number below `n`; zero when there is none.
    pub fn below(&mut self, n: usize) -> usize {
        (((self.bits() >> 32) * n as u64) >> 32) as usize
    }

    /// A number from zero to below one.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
impl Dice {
    /// A matrix of this rank: products of small whole numbers, in columns of very different sizes.
    pub(crate) fn matrix(&mut self, rows: usize, columns: usize, rank: usize) -> nalgebra::DMatrix<f64> {
        let mut whole = |m, n| nalgebra::DMatrix::from_fn(m, n, |_, _| self.below(7) as f64 - 3.0);
        let a = whole(rows, rank) * whole(rank, columns);
        nalgebra::DMatrix::from_fn(rows, columns, |i, j| a[(i, j)] * [1.0, 0.01, 100.0][j % 3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published generator's first numbers from 1234567.
    #[test]
    fn the_published_sequence() {
        let mut dice = Dice::new(1_234_567);
        let want = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423u64];
        assert_eq!(want, std::array::from_fn(|_| dice.bits()));
    }
}
