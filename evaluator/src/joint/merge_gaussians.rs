//! Very many wide Gaussian noises as a few normal ones.
//!
//! A component of several ordered dimensions has a noise for every pair (triple, …) of their rows: a million coefficients for one figure.
//! For figures with coefficients `C` (a row a noise) and normal noises only `CᵀC` matters, so `C` may be turned into as many rows as there are
//! figures. A discrete Gaussian is within 1 of a normal one of its parameter: its weights fall away from 0, so the probability beyond `k` is
//! between the normal law's beyond `k` and beyond `k + 1` (the sum of all weights is `s√2π` but for `e^{−2π²s²}`), and a common
//! uniform number couples the two. So figure `j` is off by `Σ |C_ij|` at most, which is added to its intervals: nothing, where `s` is large.

/// So few noises are kept each, with their exact law.
pub(crate) const FEW: usize = 2048;
/// From this parameter on a sum of so many is turned: what intervals gain is below one part in ten thousand of a standard error.
pub(crate) fn is_wide(noises: usize, variance: f64) -> bool {
    noises > FEW && variance > 1e8 * noises as f64
}

/// As many rows as columns with the same scalar products of columns, and for each column the sum of its absolute values.
pub(crate) fn merged(rows: &[Vec<f64>], width: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut columns: Vec<Vec<f64>> = (0..width).map(|j| rows.iter().map(|row| row[j]).collect()).collect();
    let off = columns.iter().map(|c| c.iter().map(|v| v.abs()).sum()).collect();
    let mut out = vec![vec![0.0; width]; width.min(rows.len())];
    for k in 0..out.len() {
        let (done, rest) = columns.split_at_mut(k + 1);
        let Some(own) = done.last() else { break };
        let length = own[k..].iter().map(|v| v * v).sum::<f64>().sqrt();
        let left = if own[k] > 0.0 { -length } else { length };
        let mut mirror = own[k..].to_vec();
        mirror[0] -= left;
        let square: f64 = mirror.iter().map(|v| v * v).sum();
        out[k][k] = left;
        for (j, column) in rest.iter_mut().enumerate() {
            if square > 0.0 {
                let step = 2.0 / square * column[k..].iter().zip(&mirror).map(|(a, b)| a * b).sum::<f64>();
                column[k..].iter_mut().zip(&mirror).for_each(|(c, m)| *c -= step * m);
            }
            out[k][k + 1 + j] = column[k];
        }
    }
    (out, off)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scalar products of columns survive, also of columns that repeat each other.
    #[test]
    fn products_survive() {
        let rows: Vec<Vec<f64>> = (0..50)
            .map(|i| {
                let (a, b) = ((i * 7 % 11) as f64 - 5.0, (i * i % 13) as f64 - 6.0);
                vec![a, b, a, 0.0]
            })
            .collect();
        let (few, off) = merged(&rows, 4);
        assert_eq!(few.len(), 4);
        for i in 0..4 {
            assert_eq!(off[i], rows.iter().map(|r| r[i].abs()).sum::<f64>());
            for j in 0..4 {
                let sum = |of: &[Vec<f64>]| of.iter().map(|r| r[i] * r[j]).sum::<f64>();
                assert!((sum(&rows) - sum(&few)).abs() < 1e-9, "{i} {j}");
            }
        }
        assert!(
            merged(&[vec![3.0, 4.0]], 2).0 == [[3.0, 4.0]]
                || merged(&[vec![3.0, 4.0]], 2).0 == [[-3.0, -4.0]]
        );
    }

    /// The coupling's premise, at a parameter small enough to see: beyond `k` there is as much as the normal law has between `k` and `k + 1`.
    #[test]
    fn a_discrete_gaussian_is_within_one_of_a_normal() {
        let variance = 30.0f64;
        let weight = |k: i64| (-(k * k) as f64 / (2.0 * variance)).exp();
        let all: f64 = (-200..=200).map(weight).sum();
        let above = |x: f64| crate::law::normal_upper_tail(x / variance.sqrt());
        for k in 0..30 {
            let beyond = (k + 1..=200).map(weight).sum::<f64>() / all;
            assert!(beyond <= above(k as f64) && beyond >= above(k as f64 + 1.0), "{k}");
        }
    }
}
