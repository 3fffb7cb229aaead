//! The scales of components whose prices differ from cell to cell.
//!
//! A unit in cell `j` costs `Σ_A s_A p_A Π_i P_i(j_i)`, and the dearest cell may cost one. The least `Σ v_A/s_A` under that has the dual `(Σ_A √(v_A g_A))²`, with
//! `g_A` the mean of the prices over cells by weights `λ` that add up to one, and `s_A ∝ √(v_A/g_A)`. Weights grow with what their cells cost;
//! cells that are dearer than all that have weights join them. Whatever the weights, the dual is a bound for all scales.

/// What goes into it.
pub(crate) struct Prices {
    /// For each tree the prices of its leaves at every level, total first.
    pub leaves: Vec<Vec<Vec<f64>>>,
    /// For each component its level in each tree.
    pub levels: Vec<Vec<usize>>,
    /// Along all other dimensions; zero where a component is known.
    pub rest: Vec<f64>,
    /// What a unit of each component's variance adds to the total.
    pub stakes: Vec<f64>,
}

/// What a mean cell pays.
pub(crate) struct Mean {
    /// `g` of each component.
    pub price: Vec<f64>,
    /// The total at the scales that follow, with the dearest cell at one; and the least there is.
    pub value: f64,
    pub bound: f64,
}

/// The most cells to begin with, and the most that join them.
const STARTS: usize = 1 << 12;
const JOINING: usize = 24;
const ROUNDS: usize = 60;
const PRECISION: f64 = 2e-4;
/// The most cells that are gone through to find the dearest.
const MOST_CELLS: usize = 1 << 24;

impl Prices {
    /// Weighted means.
    pub(crate) fn mean(&self) -> Mean {
        let outer: Vec<Vec<Vec<f64>>> = self.leaves.iter().map(|l| outermost(l)).collect();
        let count: usize = outer.iter().map(Vec::len).product();
        // Every so many of all their combinations.
        let step = count.div_ceil(STARTS).max(1);
        let cells = (0..count).step_by(step).map(|mut at| {
            let one = |leaves: &Vec<Vec<f64>>| {
                let own = leaves[at % leaves.len()].clone();
                at /= leaves.len();
                own
            };
            outer.iter().map(one).collect::<Vec<Vec<f64>>>()
        });
        let (classes, keys) = self.classes();
        let row = |cell: &Vec<Vec<f64>>| -> Vec<f64> {
            keys.iter().map(|key| key.iter().zip(cell).map(|(&l, leaf)| leaf[l]).product()).collect()
        };
        let mut rows: Vec<Vec<f64>> = cells.map(|c| row(&c)).collect();
        let mut lambda = vec![1.0 / rows.len() as f64; rows.len()];
        let (mut best, mut bound) = (None::<(f64, Vec<f64>)>, 0.0f64);
        for _ in 0..JOINING {
            for _ in 0..ROUNDS {
                let means = means(&rows, &lambda);
                let (worth, root) = self.worth(&classes, &means, keys.len());
                bound = bound.max(root * root);
                let mut sum = 0.0;
                for (l, row) in lambda.iter_mut().zip(&rows) {
                    *l *= row.iter().zip(&worth).map(|(p, s)| p * s).sum::<f64>();
                    sum += *l;
                }
                lambda.iter_mut().for_each(|l| *l /= sum);
            }
            let means = means(&rows, &lambda);
            let (worth, root) = self.worth(&classes, &means, keys.len());
            bound = bound.max(root * root);
            let (dearest, cell) = self.dearest(&keys, &worth, &outer);
            let value = root * root * dearest;
            if best.as_ref().is_none_or(|b| value < b.0) {
                best = Some((value, means));
            }
            if dearest <= 1.0 + PRECISION {
                break;
            }
            rows.push(row(&cell));
            let share = 1.0 / rows.len() as f64;
            lambda.iter_mut().for_each(|l| *l *= 1.0 - share);
            lambda.push(share);
        }
        let (value, means) = best.unwrap_or_else(|| (f64::INFINITY, vec![1.0; keys.len()]));
        let price = self.rest.iter().zip(&classes).map(|(p, &class)| p * means[class]).collect();
        Mean { price, value, bound }
    }

    /// The number of each component's class, and the levels of every class.
    fn classes(&self) -> (Vec<usize>, Vec<&Vec<usize>>) {
        let mut keys: Vec<&Vec<usize>> = Vec::new();
        let of = |levels| {
            keys.iter().position(|k| *k == levels).unwrap_or_else(|| {
                keys.push(levels);
                keys.len() - 1
            })
        };
        let classes = self.levels.iter().map(of).collect();
        (classes, keys)
    }

    /// `Σ s_A p_A` of every class at the scales that follow from these means, and the root of the total.
    fn worth(&self, classes: &[usize], means: &[f64], count: usize) -> (Vec<f64>, f64) {
        let mut out = vec![0.0; count];
        let mut root = 0.0;
        for ((v, p), &class) in self.stakes.iter().zip(&self.rest).zip(classes) {
            if v * p > 0.0 && means[class] > 0.0 {
                out[class] += (v * p / means[class]).sqrt();
                root += (v * p * means[class]).sqrt();
            }
        }
        out.iter_mut().for_each(|s| *s /= root);
        (out, root)
    }

    /// The dearest cell: of all, or of those that stand out where there are too many.
    fn dearest(&self, keys: &[&Vec<usize>], worth: &[f64], outer: &[Vec<Vec<f64>>]) -> (f64, Vec<Vec<f64>>) {
        let cells = self.leaves.iter().try_fold(1usize, |n, l| n.checked_mul(l.len()));
        let leaves = if cells.is_some_and(|n| n <= MOST_CELLS) { &self.leaves[..] } else { outer };
        let widths: Vec<usize> = leaves.iter().map(|l| l[0].len()).collect();
        let mut dense = vec![0.0; widths.iter().product()];
        for (key, s) in keys.iter().zip(worth) {
            dense[key.iter().zip(&widths).fold(0, |at, (k, w)| at * w + k)] += s;
        }
        let mut best = (0.0, Vec::new());
        dearest(leaves, &dense, &mut Vec::new(), &mut best);
        (best.0, best.1.into_iter().cloned().collect())
    }
}

fn dearest<'a>(
    leaves: &'a [Vec<Vec<f64>>],
    dense: &[f64],
    at: &mut Vec<&'a Vec<f64>>,
    best: &mut (f64, Vec<&'a Vec<f64>>),
) {
    let Some((first, rest)) = leaves.split_first() else {
        if dense[0] > best.0 {
            *best = (dense[0], at.clone());
        }
        return;
    };
    for leaf in first {
        let inner = dense.len() / leaf.len();
        let mut sum = vec![0.0; inner];
        for (part, p) in dense.chunks_exact(inner).zip(leaf) {
            sum.iter_mut().zip(part).for_each(|(s, v)| *s += p * v);
        }
        at.push(leaf);
        dearest(rest, &sum, at, best);
        at.pop();
    }
}

fn means(rows: &[Vec<f64>], lambda: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; rows.first().map_or(0, Vec::len)];
    for (row, l) in rows.iter().zip(lambda) {
        out.iter_mut().zip(row).for_each(|(m, p)| *m += l * p);
    }
    out
}

/// Leaves that stand out: the dearest ones by many mixtures of levels.
fn outermost(leaves: &[Vec<f64>]) -> Vec<Vec<f64>> {
    const FEW: usize = 64;
    if leaves.len() <= FEW {
        return leaves.to_vec();
    }
    let width = leaves[0].len();
    let mut dice = crate::numeric::dice::Dice::new(1);
    let mut chosen: Vec<usize> = Vec::new();
    for direction in 0..2 * FEW {
        let mixture: Vec<f64> = (0..width)
            .map(|l| {
                if direction < width {
                    f64::from(u8::from(l == direction))
                } else {
                    libm::pow(dice.unit(), 3.0)
                }
            })
            .collect();
        let cost = |leaf: &Vec<f64>| -> f64 { leaf.iter().zip(&mixture).map(|(p, m)| p * m).sum() };
        let dearest = (0..leaves.len()).max_by(|&a, &b| cost(&leaves[a]).total_cmp(&cost(&leaves[b])));
        chosen.extend(dearest);
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen.into_iter().map(|at| leaves[at].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::dice::Dice;

    /// No scales are below the bound, and those that follow are close to it.
    #[test]
    fn the_bound_is_one() {
        let mut dice = Dice::new(3);
        for trees in 1..3 {
            let leaves: Vec<Vec<Vec<f64>>> = (0..trees)
                .map(|_| (0..100).map(|_| vec![0.3 + dice.unit(), dice.unit(), dice.unit()]).collect())
                .collect();
            let levels: Vec<Vec<usize>> = (0..14)
                .map(|i| (0..trees).map(|t| if t == 0 { i % 3 } else { i / 3 % 3 }).collect())
                .collect();
            let rest: Vec<f64> = (0..14).map(|_| 0.2 + dice.unit()).collect();
            let stakes: Vec<f64> = (0..14).map(|_| 0.1 + 5.0 * dice.unit()).collect();
            let prices = Prices { leaves, levels, rest, stakes };
            let mean = prices.mean();
            assert!(
                mean.bound <= mean.value && mean.value < mean.bound * 1.002,
                "{} {}",
                mean.value,
                mean.bound
            );
            let (classes, keys) = prices.classes();
            let total = |scales: &[f64]| -> f64 {
                let mut worth = vec![0.0; keys.len()];
                for ((s, p), &class) in scales.iter().zip(&prices.rest).zip(&classes) {
                    worth[class] += s * p;
                }
                let dearest = prices.dearest(&keys, &worth, &[]).0;
                prices.stakes.iter().zip(scales).map(|(v, s)| v / s).sum::<f64>() * dearest
            };
            let best: Vec<f64> = prices.stakes.iter().zip(&mean.price).map(|(v, g)| (v / g).sqrt()).collect();
            assert!((total(&best) / mean.value - 1.0).abs() < 1e-9);
            for _ in 0..500 {
                let other: Vec<f64> = best.iter().map(|s| s * (0.8 + 0.4 * dice.unit())).collect();
                assert!(total(&other) >= mean.bound * (1.0 - 1e-9));
            }
        }
    }
}
