//! Integer contrasts: a component without the part it shares with coarser tables, in whole numbers.
//!
//! `D` takes, within every group of siblings, the differences to the group's first node. Its kernel is
//! the kernel of the projection `P` (vectors constant within groups), so `D v` tells exactly what
//! `P v` tells, and stays integral. `D_A = ⊗ D` over the dimensions of a component.

use super::{Cuboid, Frame, Integer, Rung};

/// For each node: `Some(index of its contrast)`, or `None` for the first of its group.
fn contrast_of(rung: &Rung) -> (Vec<Option<u32>>, Vec<u32>, usize) {
    let mut first = vec![u32::MAX; rung.siblings.len()];
    let mut count = 0;
    let slots = rung
        .parent
        .iter()
        .enumerate()
        .map(|(node, &p)| {
            let first = &mut first[p as usize];
            if *first == u32::MAX {
                *first = node as u32;
                return None;
            }
            count += 1;
            Some(count - 1)
        })
        .collect();
    (slots, first, count as usize)
}

impl Frame {
    /// How many contrasts component `cuboid` has: `Π (nodes − groups)`.
    pub fn contrasts(&self, cuboid: &Cuboid) -> usize {
        cuboid
            .iter()
            .map(|level| {
                let rung = self.rung(level);
                rung.len() - rung.siblings.len()
            })
            .product()
    }

    /// `D_A v`, in place of `v`. `None` on overflow.
    pub fn contrast<T: Integer>(&self, cuboid: &Cuboid, mut table: Vec<T>) -> Option<Vec<T>> {
        let mut inner = 1;
        for level in cuboid.iter().rev() {
            let rung = self.rung(level);
            table = take(rung, inner, &table)?;
            inner *= rung.len() - rung.siblings.len();
        }
        Some(table)
    }

    /// Zeroes every entry but those that have a contrast of their own. For groups of at most two nodes and `q` in the
    /// component, what is left are the weights of the contrasts: `⟨q, expand(d)⟩ = Σ q·d` over them.
    pub(crate) fn keep_contrasts(&self, cuboid: &Cuboid, q: &mut [f64]) {
        let mut inner = 1;
        for level in cuboid.iter().rev() {
            let rung = self.rung(level);
            let (slots, _, _) = contrast_of(rung);
            for rows in q.chunks_exact_mut(rung.len() * inner) {
                for (row, slot) in rows.chunks_exact_mut(inner).zip(&slots) {
                    if slot.is_none() {
                        row.fill(0.0);
                    }
                }
            }
            inner *= rung.len();
        }
    }

    /// `P_A v` from `D_A v`: the inverse of [`Frame::contrast`] on the component.
    pub fn expand(&self, cuboid: &Cuboid, mut contrasts: Vec<f64>) -> Vec<f64> {
        let mut inner = 1;
        for level in cuboid.iter().rev() {
            let rung = self.rung(level);
            if rung.len() == rung.siblings.len() {
                return vec![0.0; self.len(cuboid)];
            }
            contrasts = give_back(rung, inner, &contrasts);
            inner *= rung.len();
        }
        contrasts
    }
}

/// `D v` along one axis of a table, `inner` numbers beside each other for every node. `None` on overflow.
pub(crate) fn take<T: Integer>(rung: &Rung, inner: usize, table: &[T]) -> Option<Vec<T>> {
    let n = rung.len();
    let (slots, first, kept) = contrast_of(rung);
    let mut out = Vec::with_capacity(table.len() / n * kept);
    for rows in table.chunks_exact(n * inner) {
        for (node, _) in slots.iter().enumerate().filter(|(_, s)| s.is_some()) {
            let base = first[rung.parent[node] as usize] as usize;
            let (row, base) = (&rows[node * inner..][..inner], &rows[base * inner..][..inner]);
            // By index: rows are often a single number, and an iterator over pairs costs as much as that.
            for i in 0..inner {
                out.push(row[i].less(base[i])?);
            }
        }
    }
    Some(out)
}

/// `P v` from `D v` along one axis; some group must have two siblings.
pub(crate) fn give_back(rung: &Rung, inner: usize, contrasts: &[f64]) -> Vec<f64> {
    let n = rung.len();
    let (slots, _, kept) = contrast_of(rung);
    let outer = contrasts.len() / (kept * inner).max(1);
    let mut out = vec![0.0; outer * n * inner];
    let groups = rung.siblings.len();
    let mut means = vec![0.0; groups * inner];
    for (rows, full) in contrasts.chunks_exact((kept * inner).max(1)).zip(out.chunks_exact_mut(n * inner)) {
        means.fill(0.0);
        for (node, slot) in slots.iter().enumerate() {
            let Some(slot) = slot else { continue };
            let p = rung.parent[node] as usize;
            let row = &rows[*slot as usize * inner..][..inner];
            full[node * inner..][..inner].copy_from_slice(row);
            means[p * inner..][..inner].iter_mut().zip(row).for_each(|(m, v)| *m += v);
        }
        for (p, mean) in means.chunks_exact_mut(inner).enumerate() {
            let share = 1.0 / f64::from(rung.siblings[p]);
            mean.iter_mut().for_each(|m| *m *= share);
        }
        for (node, row) in full.chunks_exact_mut(inner).enumerate() {
            let p = rung.parent[node] as usize;
            row.iter_mut().zip(&means[p * inner..][..inner]).for_each(|(v, m)| *v -= m);
        }
    }
    out
}
