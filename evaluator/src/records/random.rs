//! Random numbers that depend on a seed and a place alone: ChaCha8 (Bernstein 2008) with the seed for its key and the place for its
//! nonce. Whoever draws at a place gets the same numbers on any machine, whatever other threads have drawn before.

/// What numbers are drawn for; with two further numbers it makes a place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    /// The records before anything is learnt.
    Start = 1,
    /// The order of attributes in a sweep, or in a pass of the quench.
    Order = 2,
    /// New values in a sweep.
    Sweep = 3,
    /// Records in random order.
    Shuffle = 4,
    /// Records moved into tables published exactly.
    Exact = 5,
    /// Numbers and days inside their bins.
    Inside = 6,
    /// Amounts: which records have one, numbers, and records in random order.
    Amount = 7,
    /// People of whom records are tried out.
    People = 8,
    /// The records of one area, which have a seed of their own.
    Areas = 9,
}

/// The numbers of one place.
pub(super) struct Stream {
    state: [u32; 16],
    block: [u32; 16],
    used: usize,
}

/// "expand 32-byte k", as ChaCha has it.
const CONSTANT: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

impl Stream {
    /// The numbers for a purpose at a place, of two numbers of which the second is small.
    pub(super) fn new(seed: u64, purpose: Purpose, at: u64, more: u64) -> Stream {
        let low = |n: u64| n as u32;
        let key = [low(seed), low(seed >> 32), purpose as u32, low(more), low(more >> 32), 0, 0, 0];
        Stream::keyed(key, [low(at), low(at >> 32)])
    }

    fn keyed(key: [u32; 8], nonce: [u32; 2]) -> Stream {
        let mut state = [0; 16];
        state[..4].copy_from_slice(&CONSTANT);
        state[4..12].copy_from_slice(&key);
        state[14..].copy_from_slice(&nonce);
        Stream { state, block: [0; 16], used: 16 }
    }

    fn refill(&mut self) {
        fn quarter(x: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
            x[a] = x[a].wrapping_add(x[b]);
            x[d] = (x[d] ^ x[a]).rotate_left(16);
            x[c] = x[c].wrapping_add(x[d]);
            x[b] = (x[b] ^ x[c]).rotate_left(12);
            x[a] = x[a].wrapping_add(x[b]);
            x[d] = (x[d] ^ x[a]).rotate_left(8);
            x[c] = x[c].wrapping_add(x[d]);
            x[b] = (x[b] ^ x[c]).rotate_left(7);
        }
        let mut x = self.state;
        for _ in 0..4 {
            (0..4).for_each(|i| quarter(&mut x, i, i + 4, i + 8, i + 12));
            (0..4).for_each(|i| quarter(&mut x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4));
        }
        self.block = std::array::from_fn(|i| x[i].wrapping_add(self.state[i]));
        let (low, over) = self.state[12].overflowing_add(1);
        self.state[12] = low;
        self.state[13] = self.state[13].wrapping_add(u32::from(over));
        self.used = 0;
    }

    /// Any 32 bits.
    pub(super) fn bits(&mut self) -> u32 {
        if self.used == 16 {
            self.refill();
        }
        self.used += 1;
        self.block[self.used - 1]
    }

    /// A seed of further streams.
    pub(super) fn seed(&mut self) -> u64 {
        u64::from(self.bits()) << 32 | u64::from(self.bits())
    }

    /// A number from zero to below one, in steps of 2⁻²⁴.
    pub(super) fn unit(&mut self) -> f32 {
        (self.bits() >> 8) as f32 / (1 << 24) as f32
    }

    /// The same in steps of 2⁻⁵³.
    pub(super) fn fine(&mut self) -> f64 {
        let high = u64::from(self.bits()) << 32;
        ((high | u64::from(self.bits())) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `n`; zero when there is none.
    pub(super) fn below(&mut self, n: usize) -> usize {
        let high = u64::from(self.bits()) << 32;
        ((u128::from(high | u64::from(self.bits())) * n as u128) >> 64) as usize
    }

    /// Puts a list into random order.
    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of ChaCha8 under a key and a nonce of zeros, as the eSTREAM test vectors have them.
    #[test]
    fn the_published_stream() {
        let mut stream = Stream::keyed([0; 8], [0; 2]);
        let bytes: Vec<u8> = (0..8).flat_map(|_| stream.bits().to_le_bytes()).collect();
        let text: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(text, "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e");
    }

    #[test]
    fn every_place_has_numbers_of_its_own() {
        let of = |seed, purpose, at, more| Stream::new(seed, purpose, at, more).bits();
        let one = of(7, Purpose::Sweep, 1, 2);
        assert_eq!(one, of(7, Purpose::Sweep, 1, 2));
        let others = [
            of(8, Purpose::Sweep, 1, 2),
            of(7, Purpose::Start, 1, 2),
            of(7, Purpose::Sweep, 2, 2),
            of(7, Purpose::Sweep, 1, 3),
            of(7 << 32, Purpose::Sweep, 1, 2),
        ];
        assert!(others.iter().all(|other| *other != one));
        let mut list: Vec<usize> = (0..100).collect();
        Stream::new(1, Purpose::Shuffle, 0, 0).shuffle(&mut list);
        let mut sorted = list.clone();
        sorted.sort_unstable();
        assert!(list != sorted && sorted == (0..100).collect::<Vec<_>>());
        assert_eq!(Stream::new(1, Purpose::Order, 0, 0).below(0), 0);
    }
}
