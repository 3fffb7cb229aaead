//! Symmetric systems that may be singular: Cholesky with pivots, rank, and a solution where there is one.

/// What is below this part of its diagonal is rounding.
const NOTHING: f64 = 1e-11;
/// A solution is one if it leaves no more than this.
const LEFT: f64 = 1e-8;

/// The factors of a positive semidefinite matrix, `n × n`, row by row.
pub struct Pivoted {
    n: usize,
    /// The matrix, its diagonal brought to one.
    a: Vec<f64>,
    /// What each row and column was divided by.
    scale: Vec<f64>,
    /// The pivots, in the order they were taken.
    pivots: Vec<usize>,
    /// `n` rows of one number for each pivot.
    l: Vec<Vec<f64>>,
}

impl Pivoted {
    /// Factors a matrix.
    pub fn of(matrix: &[f64], n: usize) -> Pivoted {
        let scale: Vec<f64> = (0..n).map(|i| matrix[i * n + i].max(0.0).sqrt()).collect();
        let unit = |i: usize, j: usize| {
            let s = scale[i] * scale[j];
            if s > 0.0 { matrix[i * n + j] / s } else { 0.0 }
        };
        let a: Vec<f64> = (0..n * n).map(|at| unit(at / n, at % n)).collect();
        let mut rest: Vec<f64> = (0..n).map(|i| a[i * n + i]).collect();
        let (mut pivots, mut l): (Vec<usize>, Vec<Vec<f64>>) = (Vec::new(), vec![Vec::new(); n]);
        for _ in 0..n {
            let free = (0..n).filter(|i| !pivots.contains(i));
            let Some(p) = free.reduce(|p, i| if rest[i] > rest[p] { i } else { p }) else { break };
            if rest[p] <= NOTHING {
                break;
            }
            let root = rest[p].sqrt();
            let row = l[p].clone();
            for i in 0..n {
                let dot: f64 = l[i].iter().zip(&row).map(|(x, y)| x * y).sum();
                let next = if i == p { root } else { (a[i * n + p] - dot) / root };
                l[i].push(next);
                rest[i] -= next * next;
            }
            pivots.push(p);
        }
        Pivoted { n, a, scale, pivots, l }
    }

    /// The rows that no others make up; as many as the rank.
    pub fn pivots(&self) -> &[usize] {
        &self.pivots
    }

    /// A solution of `matrix · x = b`, zero off the pivots; `None` where there is none.
    pub fn solve(&self, b: &[f64]) -> Option<Vec<f64>> {
        let (n, r) = (self.n, self.pivots.len());
        let b: Vec<f64> = b.iter().zip(&self.scale).map(|(b, s)| if *s > 0.0 { b / s } else { *b }).collect();
        let mut y = vec![0.0; r];
        for (k, &p) in self.pivots.iter().enumerate() {
            let known: f64 = self.l[p][..k].iter().zip(&y).map(|(l, y)| l * y).sum();
            y[k] = (b[p] - known) / self.l[p][k];
        }
        for k in (0..r).rev() {
            let later: f64 = (k + 1..r).map(|j| self.l[self.pivots[j]][k] * y[j]).sum();
            y[k] = (y[k] - later) / self.l[self.pivots[k]][k];
        }
        let size = b.iter().fold(0.0f64, |m, b| m.max(b.abs()));
        let fits = (0..n).all(|i| {
            let sum: f64 = self.pivots.iter().zip(&y).map(|(&p, y)| self.a[i * n + p] * y).sum();
            let terms: f64 = self.pivots.iter().zip(&y).map(|(&p, y)| (self.a[i * n + p] * y).abs()).sum();
            (sum - b[i]).abs() <= LEFT * size.max(terms * 1e-3)
        });
        if !fits {
            return None;
        }
        let mut x = vec![0.0; n];
        self.pivots.iter().zip(y).for_each(|(&p, y)| x[p] = y / self.scale[p]);
        Some(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn singular_systems() {
        // Three vectors in the plane, and their scalar products.
        let v = [[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]];
        let gram: Vec<f64> =
            v.iter().flat_map(|a| v.iter().map(move |b| a[0] * b[0] + a[1] * b[1])).collect();
        let factors = Pivoted::of(&gram, 3);
        assert_eq!(factors.pivots().len(), 2);
        // The scalar products of (5, 6) with them.
        let x = factors.solve(&[5.0, 12.0, 39.0]).unwrap();
        let made: Vec<f64> = (0..2).map(|i| (0..3).map(|j| x[j] * v[j][i]).sum()).collect();
        assert!((made[0] - 5.0).abs() < 1e-12 && (made[1] - 6.0).abs() < 1e-12, "{made:?}");
        // Those of no vector.
        assert!(factors.solve(&[5.0, 12.0, 38.0]).is_none());
        assert!(Pivoted::of(&[0.0], 1).solve(&[1.0]).is_none());
    }
}
