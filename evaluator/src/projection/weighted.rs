//! Sums of cells that count differently, and shares of one sum in another.
//!
//! A query q of weights has the estimate `⟨A q, v⟩/c`, c being how many integers one count is in. Its error is `(‖q‖²‖x‖² + θ² − 2Σ q_j²x_j²)` over the number
//! of integers, at most with `(1 − 2/m)θ²` for the last two (Cauchy and Schwarz: `Σ(q_j x_j)² ≥ θ²/m` over m cells), and noise of variance `var(z)‖A q‖²/c²`. So it is
//! answered like a sum of cells, ‖q‖² in the place of m.
//!
//! **Shares.** A share is r exactly where the query `a − r·b` is 0. So the interval of a share is the set of r for which 0 is in the interval of that query (Fieller 1954):
//! its variance at θ = 0 is a polynomial of degree two in r, and so is the condition. Where the whole is not clearly different from 0 the set has no ends.
//!
//! Of a sketch the order of its rows says more: see [`super::share`].

use super::answer::{Answer, Error, Estimator, Law, Projected, bucket, nothing};
use super::design::Shape;
use super::share;
use super::signs::{SIGNS, block_bits, point};
use crate::law::normal_upper_quantile as upper_quantile;

/// A cell and how much it counts.
pub(crate) type Weighed = (u64, f64);

/// The same cells once each, their weights added up; those of none left out.
pub(crate) fn together(cells: &[Weighed]) -> Vec<Weighed> {
    let mut cells = cells.to_vec();
    cells.sort_by_key(|c| c.0);
    cells.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    cells.retain(|c| c.1 != 0.0);
    cells
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `⟨q, p⟩` of two lists of cells, each ascending.
fn overlap(a: &[Weighed], b: &[Weighed]) -> f64 {
    let mut sum = 0.0;
    let mut rest = b;
    for &(cell, weight) in a {
        let skipped = rest.partition_point(|c| c.0 < cell);
        rest = rest.get(skipped..).unwrap_or_default();
        sum += rest.first().filter(|c| c.0 == cell).map_or(0.0, |c| c.1 * weight);
    }
    sum
}

impl Projected {
    /// `A q`: how often each integer counts.
    fn signed(&self, cells: &[Weighed]) -> Vec<f64> {
        let mut out = vec![0.0; self.values().len()];
        match self.projection().design.shape {
            Shape::Dense { rows } => {
                let bits = block_bits(rows.into());
                let Some(family) = self.families().first() else { return out };
                let points: Vec<u64> = (0..out.len().div_ceil(SIGNS) as u64).collect();
                let mut words = vec![0; points.len()];
                for &(cell, weight) in cells {
                    let own: Vec<u64> = points.iter().map(|&block| point(cell, block, bits)).collect();
                    family.words(&own, &mut words);
                    for (out, word) in out.chunks_mut(SIGNS).zip(&words) {
                        for (i, out) in out.iter_mut().enumerate() {
                            *out += if word >> i & 1 == 1 { -weight } else { weight };
                        }
                    }
                }
            }
            Shape::Sketch { buckets, .. } => {
                let points: Vec<u64> = cells.iter().map(|c| c.0).collect();
                let mut words = vec![0; points.len()];
                for (family, out) in self.families().iter().zip(out.chunks_mut(buckets as usize)) {
                    family.words(&points, &mut words);
                    for (&word, &(_, weight)) in words.iter().zip(cells) {
                        let (at, against) = bucket(word, buckets);
                        if let Some(out) = out.get_mut(at) {
                            *out += if against { -weight } else { weight };
                        }
                    }
                }
            }
        }
        out
    }

    fn total(&self, signed: &[f64]) -> f64 {
        let column = self.projection().design.shape.column() as f64;
        signed.iter().zip(self.values()).map(|(s, &v)| s * v as f64).sum::<f64>() / column
    }

    /// How many standard deviations an interval of the mean reaches, and why.
    fn reach(&self, level: f64) -> (f64, Law) {
        let left = 1.0 - level - Self::norm_failure(level);
        match self.projection().design.shape {
            Shape::Dense { .. } => (upper_quantile(left / 2.0), Law::Normal),
            Shape::Sketch { .. } => (1.0 / libm::sqrt(left), Law::Variance),
        }
    }

    /// The weighted sum of these cells with an interval at `level`, by the mean of all rows.
    pub(crate) fn weighted(&self, cells: &[Weighed], level: f64) -> Answer {
        let cells = together(cells);
        if cells.is_empty() {
            return nothing();
        }
        let signed = self.signed(&cells);
        let (norm, upper) = self.norm(Self::norm_failure(level));
        let column = self.projection().design.shape.column() as f64;
        let error = Error {
            estimate: self.total(&signed),
            cells: cells.len() as f64,
            squares: cells.iter().map(|c| c.1 * c.1).sum(),
            values: self.values().len() as f64,
            norm,
            bound: upper,
            noise: self.projection().design.noise_variance() * dot(&signed, &signed) / (column * column),
        };
        let (z, law) = self.reach(level);
        error.interval(z, law)
    }

    /// The share of one weighted sum in another: of a sketch the median of its rows where enough of them count, else of the mean.
    pub(crate) fn share(
        &self,
        part: &[Weighed],
        whole: &[Weighed],
        level: f64,
        estimator: Estimator,
    ) -> Answer {
        let (part, whole) = (together(part), together(whole));
        let by_rows = match (self.projection().design.shape, estimator) {
            (Shape::Sketch { buckets, .. }, Estimator::Best) => {
                share::by_order(&self.pairs(&part, &whole, buckets), level)
            }
            _ => None,
        };
        by_rows.unwrap_or_else(|| self.share_of_means(&part, &whole, level))
    }

    /// Both sums as each of a sketch's rows estimates them, where no bucket of the row holds cells of different signs or weights.
    fn pairs(&self, part: &[Weighed], whole: &[Weighed], buckets: u32) -> Vec<(f64, f64)> {
        let parts = part.iter().map(|&(cell, w)| (cell, w, 0.0));
        let mut cells: Vec<(u64, f64, f64)> =
            parts.chain(whole.iter().map(|&(cell, w)| (cell, 0.0, w))).collect();
        cells.sort_by_key(|c| c.0);
        cells.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                (kept.1, kept.2) = (kept.1 + next.1, kept.2 + next.2);
            }
            same
        });
        let points: Vec<u64> = cells.iter().map(|c| c.0).collect();
        let mut words = vec![0; points.len()];
        let mut pairs = Vec::new();
        for (family, values) in self.families().iter().zip(self.values().chunks(buckets as usize)) {
            family.words(&points, &mut words);
            let placed = |(&word, &(_, a, b)): (&u64, &(u64, f64, f64))| (bucket(word, buckets), a, b);
            let mut places: Vec<_> = words.iter().zip(&cells).map(placed).collect();
            places.sort_by_key(|p| p.0);
            if places.windows(2).any(|w| w[0].0.0 == w[1].0.0 && w[0] != w[1]) {
                continue;
            }
            places.dedup();
            let sums = places.iter().fold((0.0, 0.0), |(y, t), &((at, against), a, b)| {
                let v = values.get(at).map_or(0.0, |&v| if against { -(v as f64) } else { v as f64 });
                (y + a * v, t + b * v)
            });
            pairs.push(sums);
        }
        pairs
    }

    /// The share, by Fieller's method from the means of all rows.
    fn share_of_means(&self, part: &[Weighed], whole: &[Weighed], level: f64) -> Answer {
        let (a, b) = (self.signed(part), self.signed(whole));
        let (y, t) = (self.total(&a), self.total(&b));
        let (norm, upper) = self.norm(Self::norm_failure(level));
        let column = self.projection().design.shape.column() as f64;
        let values = self.values().len() as f64;
        let noise = self.projection().design.noise_variance() / (column * column);
        // The variance of a − r·b at θ = 0, as c0 − 2·c1·r + c2·r².
        let variance = |norm: f64| {
            [
                (overlap(part, part), dot(&a, &a)),
                (overlap(part, whole), dot(&a, &b)),
                (overlap(whole, whole), dot(&b, &b)),
            ]
            .map(|(cells, signs)| cells * norm / values + noise * signs)
        };
        let share = y / t;
        let [c0, c1, c2] = variance(norm);
        let std_error = libm::sqrt((c0 - 2.0 * c1 * share + c2 * share * share).max(0.0)) / t.abs();
        let (z, law) = self.reach(level);
        let [c0, c1, c2] = variance(upper).map(|c| z * z * c);
        // (t² − c2) r² − 2 (y t − c1) r + (y² − c0) ≤ 0
        let (lead, middle, last) = (t * t - c2, y * t - c1, y * y - c0);
        let root = middle * middle - lead * last;
        let (low, high) = if lead > 0.0 && root >= 0.0 && root.is_finite() {
            ((middle - libm::sqrt(root)) / lead, (middle + libm::sqrt(root)) / lead)
        } else {
            (f64::NEG_INFINITY, f64::INFINITY)
        };
        let own = noise * (dot(&a, &a) - 2.0 * share * dot(&a, &b) + share * share * dot(&b, &b)).max(0.0);
        let noise = libm::sqrt(own) / t.abs();
        Answer { estimate: share, std_error, low, high, law, noise, rows: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
