//! Walsh–Hadamard coefficients of a table: each dimension's categories are numbered in binary, and a coefficient
//! is the sum of all counts, each with the sign `(-1)^(number of bits its category has in common with the mask)`.
//!
//! A dimension of `n` categories takes `k = ⌈log2 n⌉` bits; the *coefficients of a cuboid* are those whose mask has
//! a bit in each of its dimensions and none elsewhere: `Π (2^k − 1)` of them, whole numbers, in which every unit
//! counts once with one sign. Those of all cuboids below a table determine it. With `H` the signs of one
//! dimension, `HᵀH = 2^k I − 11ᵀ`: a number `2^k` on vectors that sum to zero, `2^k − n` on constants. So least squares
//! from coefficients falls apart into components just as it does from tables.

use super::{Cuboid, Frame, Integer};

/// How many bits number `n` categories.
pub(crate) const fn bits(n: u64) -> u32 {
    if n <= 1 { 0 } else { 64 - (n - 1).leading_zeros() }
}

/// `2^bits`.
pub const fn padded(n: u64) -> u64 {
    1 << bits(n)
}

/// The sums and differences of all pairs of entries whose index differs in one bit, bit by bit: `2^k` entries.
fn transform<T: Copy>(
    line: &mut [T],
    add: impl Fn(T, T) -> Option<T>,
    sub: impl Fn(T, T) -> Option<T>,
) -> Option<()> {
    let mut half = 1;
    while half < line.len() {
        for block in line.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (add(*a, *b)?, sub(*a, *b)?);
            }
        }
        half *= 2;
    }
    Some(())
}

/// One dimension of a row-major array: `from` entries become `to`. `line` maps a padded line in place.
fn along<T: Copy>(
    table: &[T],
    zero: T,
    inner: usize,
    (from, skip_in): (usize, usize),
    (to, skip_out): (usize, usize),
    mut line: impl FnMut(&mut [T]) -> Option<()>,
) -> Option<Vec<T>> {
    let outer = table.len() / (from * inner).max(1);
    let mut out = vec![zero; outer * to * inner];
    let mut buffer = vec![zero; (from + skip_in).max(to + skip_out).next_power_of_two()];
    for o in 0..outer {
        for i in 0..inner {
            buffer.fill(zero);
            for k in 0..from {
                buffer[k + skip_in] = table[(o * from + k) * inner + i];
            }
            line(&mut buffer)?;
            for k in 0..to {
                out[(o * to + k) * inner + i] = buffer[k + skip_out];
            }
        }
    }
    Some(out)
}

impl Frame {
    /// How many coefficients a cuboid has; `None` when they do not fit.
    pub fn walsh_len(&self, cuboid: &Cuboid) -> Option<u64> {
        cuboid.iter().try_fold(1u64, |m, level| m.checked_mul(padded(self.rung(level).real_len()) - 1))
    }

    /// The coefficients of a table of counts. `None` on overflow.
    pub fn walsh<T: Integer>(&self, cuboid: &Cuboid, table: Vec<T>) -> Option<Vec<T>> {
        let line = |line: &mut [T]| transform(line, T::plus, T::less);
        self.walsh_lines(cuboid, table, 0.into(), Way::Forth, line)
    }

    /// The same of weights.
    pub fn walsh_weights(&self, cuboid: &Cuboid, table: Vec<f64>) -> Vec<f64> {
        self.walsh_lines(cuboid, table, 0.0, Way::Forth, floats).unwrap_or_default()
    }

    /// The transpose: for each cell the signed sum of all coefficients.
    pub(crate) fn walsh_transpose(&self, cuboid: &Cuboid, values: Vec<f64>) -> Vec<f64> {
        // One category takes no bits: no coefficient has a bit there, and nothing is said of any cell.
        if self.walsh_len(cuboid) == Some(0) {
            return vec![0.0; self.len(cuboid)];
        }
        self.walsh_lines(cuboid, values, 0.0, Way::Back, floats).unwrap_or_default()
    }

    /// Dimension by dimension, from categories to masks or back. No mask is zero: it would be of a coarser cuboid.
    fn walsh_lines<T: Copy>(
        &self,
        cuboid: &Cuboid,
        mut table: Vec<T>,
        zero: T,
        way: Way,
        line: impl Fn(&mut [T]) -> Option<()>,
    ) -> Option<Vec<T>> {
        let mut inner = 1;
        for level in cuboid.iter().rev() {
            let n = self.rung(level).len();
            let (categories, masks) = ((n, 0), (padded(n as u64) as usize - 1, 1));
            let (from, to) = match way {
                Way::Forth => (categories, masks),
                Way::Back => (masks, categories),
            };
            table = along(&table, zero, inner, from, to, &line)?;
            inner *= to.0;
        }
        Some(table)
    }
}

/// From cells to coefficients, or its transpose.
#[derive(Clone, Copy)]
enum Way {
    Forth,
    Back,
}

fn floats(line: &mut [f64]) -> Option<()> {
    transform(line, |a, b| Some(a + b), |a, b| Some(a - b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::{Cube, Dimension};

    fn frame(sizes: &[usize]) -> Frame {
        let dimension = |(i, &n): (usize, &usize)| {
            Dimension::plain(&format!("d{i}"), (0..n).map(|k| k.to_string()).collect())
        };
        let cube = Cube { dimensions: sizes.iter().enumerate().map(dimension).collect() };
        Frame::new(&cube, &vec![vec![0, 1]; sizes.len()])
    }

    /// Against the definition: one sign for each pair of a mask and a cell.
    #[test]
    fn signs_by_definition() {
        for sizes in [vec![2], vec![3, 2], vec![5, 4], vec![7, 1, 3]] {
            let frame = frame(&sizes);
            // A dimension of one category has no coefficient, and no place in a component.
            let dims: Vec<usize> = (0..sizes.len()).filter(|&d| sizes[d] > 1).collect();
            let cuboid = Cuboid::new(dims.iter().map(|&d| (d, 1)));
            let n: Vec<usize> = dims.iter().map(|&d| sizes[d]).collect();
            let m: Vec<usize> = n.iter().map(|&n| padded(n as u64) as usize - 1).collect();
            let digits = |mut at: usize, base: &[usize]| {
                let mut out = vec![0; base.len()];
                for (o, b) in out.iter_mut().zip(base).rev() {
                    *o = at % b;
                    at /= b;
                }
                out
            };
            let (cells, masks): (usize, usize) = (n.iter().product(), m.iter().product());
            let sign = |mask: usize, cell: usize| {
                let odd = digits(mask, &m)
                    .iter()
                    .zip(digits(cell, &n))
                    .map(|(a, c)| ((a + 1) & c).count_ones())
                    .sum::<u32>()
                    % 2;
                1 - 2 * i64::from(odd)
            };
            let counts: Vec<i64> = (0..cells as i64).map(|c| c * c % 11 - 3).collect();
            let want: Vec<i64> =
                (0..masks).map(|a| (0..cells).map(|c| sign(a, c) * counts[c]).sum()).collect();
            assert_eq!(frame.walsh(&cuboid, counts.clone()).unwrap(), want);
            assert_eq!(frame.walsh_len(&cuboid), Some(masks as u64));
            let weights: Vec<f64> = counts.iter().map(|&c| c as f64).collect();
            assert_eq!(
                frame.walsh_weights(&cuboid, weights),
                want.iter().map(|&v| v as f64).collect::<Vec<_>>()
            );
            let values: Vec<f64> = (0..masks).map(|a| (a * 5 % 7) as f64).collect();
            let back: Vec<f64> =
                (0..cells).map(|c| (0..masks).map(|a| sign(a, c) as f64 * values[a]).sum()).collect();
            assert_eq!(frame.walsh_transpose(&cuboid, values), back);
        }
        let none = frame(&[3, 1, 2]);
        let all = Cuboid::new(vec![(0, 1), (1, 1), (2, 1)]);
        assert_eq!(none.walsh_len(&all), Some(0));
        assert_eq!(none.walsh(&all, vec![1; 6]).unwrap(), [0i64; 0]);
        assert_eq!(none.walsh_transpose(&all, Vec::new()), [0.0; 6]);
        assert!(frame(&[2]).walsh(&Cuboid::new(vec![(0, 1)]), vec![i64::MIN, 1]).is_none());
        assert_eq!((bits(1), bits(2), bits(3), bits(4), bits(5), bits(100)), (0, 1, 2, 2, 3, 7));
    }
}
