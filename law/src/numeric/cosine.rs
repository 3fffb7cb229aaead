//! Sums of cosines, all at once: the Fourier transform of vectors that read the same in both directions.
//!
//! Laws of noise are symmetric and so are their characteristic functions, so this one transform is all that the laws need, forwards and
//! back. Every machine adds in the same order with the same sines, so an interval has the same digits wherever it is computed.

use std::f64::consts::PI;

/// What transforms of growing lengths share: the roots of unity, made once for the longest.
#[derive(Debug, Default)]
pub(crate) struct Cosines {
    /// `(cos, sin)` of `2πi/n` for the longest n so far.
    roots: Vec<(f64, f64)>,
}

/// Complex numbers, apart.
#[derive(Clone, Default)]
struct Split {
    re: Vec<f64>,
    im: Vec<f64>,
}

impl Cosines {
    /// `c_k = x_0 + (-1)^k x_m + 2 Σ_{0<j<m} x_j cos(πjk/m)` for k = 0..=m, where `m + 1` values are given and m is a power of two:
    /// the transform of the vector of length n = 2m that has `x_j` at j and at n − j. Twice is n times the vector one began with.
    ///
    /// The n real numbers are m complex ones, `x_2j + i x_2j+1`; from their transform Z the wanted one is
    /// `(Z_k + Z*_{m-k})/2 + e^{-πik/m} (Z_k − Z*_{m-k})/2i`, of which only the real part is not 0.
    pub(crate) fn transform(&mut self, half: &[f64]) -> Vec<f64> {
        let m = half.len().saturating_sub(1);
        debug_assert!(m.is_power_of_two());
        self.grow(2 * m);
        let at = |j: usize| half.get(j.min(2 * m - j)).copied().unwrap_or(0.0);
        let packed =
            Split { re: (0..m).map(|j| at(2 * j)).collect(), im: (0..m).map(|j| at(2 * j + 1)).collect() };
        let z = self.complex(packed);
        let step = self.roots.len() / (2 * m);
        (0..=m)
            .map(|k| {
                let (a, b) = (k % m, (m - k) % m);
                let (cos, sin) = self.roots[k * step];
                let even = z.re[a] + z.re[b];
                let odd = cos * (z.im[a] + z.im[b]) - sin * (z.re[a] - z.re[b]);
                0.5 * (even + odd)
            })
            .collect()
    }

    fn grow(&mut self, n: usize) {
        if self.roots.len() >= n {
            return;
        }
        let eighth = PI / 4.0;
        self.roots = (0..n)
            .map(|i| {
                // From angles of at most an eighth of a turn, where sine and cosine lose nothing.
                let octant = 8 * i / n;
                let within = (8 * i - octant * n) as f64 / n as f64;
                let (s, c) = libm::sincos(within * eighth);
                let (s2, c2) = libm::sincos((1.0 - within) * eighth);
                match octant {
                    0 => (c, s),
                    1 => (s2, c2),
                    2 => (-s, c),
                    3 => (-c2, s2),
                    4 => (-c, -s),
                    5 => (-s2, -c2),
                    6 => (s, -c),
                    _ => (c2, -s2),
                }
            })
            .collect();
    }

    /// `Z_k = Σ_j z_j e^{-2πijk/m}`, by Stockham's passes of four: no bit reversal, and every pass reads and writes runs.
    fn complex(&self, z: Split) -> Split {
        let m = z.re.len();
        let (mut from, mut to) = (z, Split { re: vec![0.0; m], im: vec![0.0; m] });
        let (mut n, mut run) = (m, 1);
        while n >= 4 {
            self.by_four(&from, &mut to, n, run);
            std::mem::swap(&mut from, &mut to);
            n /= 4;
            run *= 4;
        }
        if n == 2 {
            for q in 0..run {
                let (a, b) = ((from.re[q], from.im[q]), (from.re[q + run], from.im[q + run]));
                (to.re[q], to.im[q]) = (a.0 + b.0, a.1 + b.1);
                (to.re[q + run], to.im[q + run]) = (a.0 - b.0, a.1 - b.1);
            }
            std::mem::swap(&mut from, &mut to);
        }
        from
    }

    fn by_four(&self, from: &Split, to: &mut Split, n: usize, run: usize) {
        let quarter = n / 4;
        let step = self.roots.len() / n;
        for p in 0..quarter {
            let (w1, w2, w3) = (self.roots[p * step], self.roots[2 * p * step], self.roots[3 * p * step]);
            let read = |i: usize| (p + i * quarter) * run..(p + i * quarter + 1) * run;
            let (ar, br, cr, dr) =
                (&from.re[read(0)], &from.re[read(1)], &from.re[read(2)], &from.re[read(3)]);
            let (ai, bi, ci, di) =
                (&from.im[read(0)], &from.im[read(1)], &from.im[read(2)], &from.im[read(3)]);
            let write = 4 * p * run..4 * (p + 1) * run;
            let (re, im) = (&mut to.re[write.clone()], &mut to.im[write]);
            let (r01, r23) = re.split_at_mut(2 * run);
            let (i01, i23) = im.split_at_mut(2 * run);
            let ((r0, r1), (r2, r3)) = (r01.split_at_mut(run), r23.split_at_mut(run));
            let ((i0, i1), (i2, i3)) = (i01.split_at_mut(run), i23.split_at_mut(run));
            for q in 0..run {
                let (sr, si, tr, ti) = (ar[q] + cr[q], ai[q] + ci[q], ar[q] - cr[q], ai[q] - ci[q]);
                let (ur, ui, vr, vi) = (br[q] + dr[q], bi[q] + di[q], di[q] - bi[q], br[q] - dr[q]);
                (r0[q], i0[q]) = (sr + ur, si + ui);
                // Roots are turned backwards: e^{-iα} = cos α − i sin α.
                let (xr, xi) = (tr - vr, ti - vi);
                (r1[q], i1[q]) = (xr * w1.0 + xi * w1.1, xi * w1.0 - xr * w1.1);
                let (xr, xi) = (sr - ur, si - ui);
                (r2[q], i2[q]) = (xr * w2.0 + xi * w2.1, xi * w2.0 - xr * w2.1);
                let (xr, xi) = (tr + vr, ti + vi);
                (r3[q], i3[q]) = (xr * w3.0 + xi * w3.1, xi * w3.0 - xr * w3.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn directly(half: &[f64]) -> Vec<f64> {
        let m = half.len() - 1;
        (0..=m)
            .map(|k| {
                let inner: f64 =
                    (1..m).map(|j| 2.0 * half[j] * (PI * ((j * k) % (2 * m)) as f64 / m as f64).cos()).sum();
                half[0] + if k % 2 == 0 { half[m] } else { -half[m] } + inner
            })
            .collect()
    }

    proptest! {
        #[test]
        fn equals_the_sum_written_out(bits in 0u32..9, longer in 0u32..3, seed in any::<u64>()) {
            let m = 1usize << bits;
            let half: Vec<f64> =
                (0..=m).map(|j| (((j as u64 + 1).wrapping_mul(seed | 1) >> 40) as f64) / 1e7 - 0.5).collect();
            let mut cosines = Cosines::default();
            // Also with roots that were made for more.
            cosines.grow((2 * m) << longer);
            let size: f64 = 2.0 * half.iter().map(|x| x.abs()).sum::<f64>();
            for (a, b) in cosines.transform(&half).iter().zip(directly(&half)) {
                prop_assert!((a - b).abs() <= 1e-14 * size, "{a} {b}");
            }
        }
    }

    #[test]
    fn roots_are_those_of_unity() {
        let mut cosines = Cosines::default();
        cosines.grow(64);
        for (i, (cos, sin)) in (0..64).zip(cosines.roots) {
            let (s, c) = (PI * f64::from(i) / 32.0).sin_cos();
            assert!((cos - c).abs() < 1e-15 && (sin - s).abs() < 1e-15, "{i}: {cos} {sin}");
        }
    }

    #[test]
    fn twice_is_the_vector_again() {
        let m = 1 << 16;
        let half: Vec<f64> = (0..=m).map(|j| (-(j as f64) / 300.0).exp()).collect();
        let mut cosines = Cosines::default();
        let again = cosines.transform(&half);
        for (a, b) in cosines.transform(&again).iter().zip(&half) {
            assert!((a / (2 * m) as f64 - b).abs() < 1e-15, "{a} {b}");
        }
    }
}
