//! A matrix of which only the entries that are given are kept, row by row.

/// The matrix.
#[derive(Debug, Clone)]
pub struct Sparse {
    columns: usize,
    /// Where each row begins, and the last one ends.
    starts: Vec<usize>,
    /// The column of each entry, ascending in each row.
    places: Vec<u32>,
    values: Vec<f64>,
}

impl Sparse {
    /// From (row, column, value) in any order; entries of one place add up. The shape is below 2^32 and holds all places.
    pub fn new((rows, columns): (usize, usize), mut entries: Vec<(u32, u32, f64)>) -> Sparse {
        // Stable: entries of one place stay in their order, in which they are added.
        entries.sort_by_key(|&(i, j, _)| (i, j));
        entries.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        let mut starts = vec![0];
        for i in 0..rows {
            let own = entries[starts[i]..].iter().take_while(|e| e.0 as usize == i).count();
            starts.push(starts[i] + own);
        }
        let places = entries.iter().map(|e| e.1).collect();
        let values = entries.iter().map(|e| e.2).collect();
        Sparse { columns, starts, places, values }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The values of all entries.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The entries of a row: columns, ascending, and values.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let own = self.starts[i]..self.starts[i + 1];
        self.places[own.clone()].iter().zip(&self.values[own]).map(|(&j, &v)| (j as usize, v))
    }

    /// All entries: row, column, value.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        (0..self.rows()).flat_map(|i| self.row(i).map(move |(j, v)| (i, j, v)))
    }

    /// Row `i` times `by(i)`.
    pub fn scale_rows(&mut self, by: impl Fn(usize) -> f64) {
        for i in 0..self.rows() {
            let by = by(i);
            self.values[self.starts[i]..self.starts[i + 1]].iter_mut().for_each(|v| *v *= by);
        }
    }

    /// `A v`.
    pub fn times(&self, v: &[f64]) -> Vec<f64> {
        (0..self.rows()).map(|i| self.row(i).map(|(j, a)| a * v[j]).sum()).collect()
    }

    /// `Aᵀ u`.
    pub fn transposed_times(&self, u: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.columns];
        for (i, u) in u.iter().enumerate() {
            self.row(i).for_each(|(j, a)| out[j] += a * u);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::dice::Dice;
    use sprs::{CsMat, CsVec, TriMat};

    /// Entries in any order, some of one place, against `sprs`.
    #[test]
    fn as_sprs_says() {
        let mut dice = Dice::new(3);
        for (rows, columns, count) in [(1, 1, 3), (5, 9, 0), (9, 5, 30), (20, 30, 100)] {
            let entries: Vec<(u32, u32, f64)> = (0..count)
                .map(|_| (dice.below(rows) as u32, dice.below(columns) as u32, dice.below(9) as f64 - 4.0))
                .collect();
            let mut other: TriMat<f64> = TriMat::new((rows, columns));
            entries.iter().for_each(|&(i, j, v)| other.add_triplet(i as usize, j as usize, v));
            let other: CsMat<f64> = other.to_csr();
            let mut own = Sparse::new((rows, columns), entries);
            assert_eq!((own.rows(), own.columns()), (rows, columns));
            let listed: Vec<_> = other.iter().map(|(v, (i, j))| (i, j, *v)).collect();
            assert_eq!(own.entries().collect::<Vec<_>>(), listed);
            let dense = |other: &CsMat<f64>, v: &[f64]| {
                let v = CsVec::new(v.len(), (0..v.len()).collect(), v.to_vec());
                (other * &v).to_dense().to_vec()
            };
            let v: Vec<f64> = (0..columns).map(|_| dice.below(9) as f64 + 1.0).collect();
            let u: Vec<f64> = (0..rows).map(|_| dice.below(9) as f64 + 1.0).collect();
            assert_eq!(own.times(&v), dense(&other, &v));
            assert_eq!(own.transposed_times(&u), dense(&other.transpose_view().to_csr(), &u));
            own.scale_rows(|i| i as f64);
            let scaled: Vec<f64> = listed.iter().map(|&(i, _, v)| i as f64 * v).collect();
            assert_eq!(own.values(), scaled);
        }
    }
}
