//! A tree of precisions in whole factors.
//!
//! Within a group factors are whole numbers with few prime factors times powers of two, so that what the contrasts do not see is a short vector; a whole
//! number for the group makes up the rest. Rounding alone would lose to first order, because the dearest path decides: so it goes from the top, and what is below a
//! node shares what its path has left, more or less than was planned. No node takes so much that hardly anything is left for what is below it.

use super::paths::{Passes, Tree};
use crate::exact::gcd;
use crate::plan::weights::MAX_FACTOR;

/// Numbers from one power of two to the next, whose multiples by powers of two the factors of a group are. Finer ones come first.
const SETS: [&[u32]; 5] =
    [&[120, 135, 144, 150, 160, 180, 192, 200, 216, 225], &[12, 15, 18, 20], &[4, 5, 6], &[2, 3], &[1]];
/// What a node may take at most of what was meant for what is below it.
const TAKEN: f64 = 0.3;
/// How many ways of fitting a group to a set are tried.
const SHIFTS: usize = 8;

/// A tree that is rounded, and what a unit of each of its `V` adds to the total. Where kinds of components have weights of their own each kind has one, down to the level that it reaches.
pub(crate) struct Kind<'a> {
    pub tree: &'a Tree,
    pub passes: &'a Passes,
    pub slope: &'a [Vec<f64>],
}

/// The whole factors, and what they come to.
pub(crate) struct Whole {
    /// Of every kind.
    pub kinds: Vec<Factors>,
    /// What the dearest path spends.
    dearest: f64,
}

/// Those of one kind.
pub(crate) struct Factors {
    /// For each level and node.
    pub factors: Vec<Vec<u32>>,
    /// The same as precisions: of a level its factors squared, in units in which a path spends one.
    omega: Vec<Vec<f64>>,
    /// What every node spends on its level.
    pub price: Vec<Vec<f64>>,
}

/// What a path was to spend above the children of a node, by level and node.
type Left<'a> = &'a dyn Fn(usize, usize) -> f64;

/// The best whole factors for which counts are multiplied by no more than `2^bits`, by what a unit of each `V` adds to the total. `None` where there are none.
pub(crate) fn whole(kinds: &[Kind], left: Left, bits: f64) -> Option<Whole> {
    let mut best: Option<(f64, Whole)> = None;
    for set in SETS {
        let Some(own) = rounded(kinds, left, bits, set) else { continue };
        let total = |(kind, own): (&Kind, &Factors)| -> f64 {
            let gains = kind.tree.gains(&own.omega);
            gains.iter().zip(kind.slope).flat_map(|(g, s)| g.iter().zip(s)).map(|(g, s)| g * s).sum()
        };
        let value = kinds.iter().zip(&own.kinds).map(total).sum::<f64>() * own.dearest;
        if value.is_finite() && best.as_ref().is_none_or(|b| value < b.0) {
            best = Some((value, own));
        }
    }
    best.map(|b| b.1)
}

fn rounded(kinds: &[Kind], left: Left, bits: f64, set: &[u32]) -> Option<Whole> {
    let begin = |kind: &Kind| {
        let total = kind.passes.alpha[0][0];
        Factors { factors: vec![vec![1]], omega: vec![vec![1.0 / total]], price: vec![vec![total]] }
    };
    let mut out: Vec<Factors> = kinds.iter().map(begin).collect();
    let mut spent = vec![out.iter().map(|own| own.price[0][0]).sum::<f64>()];
    let deepest = kinds.iter().map(|kind| kind.tree.finest()).max()?;
    let most = libm::exp2(bits);
    for level in 1..=deepest {
        let mut here: Vec<(&Kind, &mut Factors)> =
            kinds.iter().zip(&mut out).filter(|(kind, _)| kind.tree.finest() >= level).collect();
        let tree = here.first()?.0.tree;
        let price = |kind: &Kind, v: usize| kind.passes.price(kind.tree, level, v);
        // Of each node: what is spent on its path, and what was to be spent from here on.
        let parents = || (0..tree.nodes(level)).map(|v| tree.parent(level, v));
        let mut now: Vec<f64> = parents().map(|p| spent[p]).collect();
        let mut planned: Vec<f64> = parents().map(|p| left(level - 1, p)).collect();
        let mut after: Vec<f64> = match level == deepest {
            true => vec![0.0; now.len()],
            false => (0..now.len()).map(|v| left(level, v)).collect(),
        };
        here.iter().skip(1).for_each(|(kind, _)| {
            after.iter_mut().enumerate().for_each(|(v, after)| *after += price(kind, v));
        });
        for at in 0..here.len() {
            let last = level == deepest && at + 1 == here.len();
            let (kind, own) = &mut here[at];
            let of = |((spent, &planned), &below): ((&f64, &f64), &f64)| {
                let left = (1.0 - spent).max(0.0);
                Above { left, more: if planned > 1e-12 { left / planned } else { 1.0 }, below }
            };
            let above: Vec<Above> = now.iter().zip(&planned).zip(&after).map(of).collect();
            // In what a factor of one stands for: as large as there is room for.
            let largest = kind.passes.alpha[level].iter().zip(&above).map(|(a, above)| a * above.more);
            let mut unit = most.min(f64::from(MAX_FACTOR)) / largest.fold(0.0, f64::max).sqrt();
            let found = (0..6).find_map(|_| {
                let own =
                    Rounding { tree, passes: kind.passes, level, last, set, unit, above: &above }.level()?;
                if own.multiplied <= most {
                    return Some(own);
                }
                unit *= 0.99 * most / own.multiplied;
                None
            })?;
            let spends: Vec<f64> = found.norms.iter().map(|n| n / (unit * unit)).collect();
            let omega = |&c: &u32| unit * unit / (f64::from(c) * f64::from(c));
            own.omega.push(found.factors.iter().map(omega).collect());
            now.iter_mut().zip(&spends).for_each(|(now, p)| *now += p);
            let was = |v: usize| price(kind, v);
            planned.iter_mut().enumerate().for_each(|(v, planned)| *planned = (*planned - was(v)).max(0.0));
            own.factors.push(found.factors);
            own.price.push(spends);
            if let Some((next, _)) = here.get(at + 1) {
                after
                    .iter_mut()
                    .enumerate()
                    .for_each(|(v, after)| *after = (*after - price(next, v)).max(0.0));
            }
        }
        spent = now;
    }
    Some(Whole { kinds: out, dearest: spent.into_iter().fold(0.0, f64::max) })
}

/// What a path has left above a node.
struct Above {
    left: f64,
    /// In parts of what was planned.
    more: f64,
    /// What was meant for what comes after it.
    below: f64,
}

struct Rounding<'a> {
    tree: &'a Tree,
    passes: &'a Passes,
    level: usize,
    /// Whether nothing comes after it.
    last: bool,
    set: &'a [u32],
    unit: f64,
    /// For each node.
    above: &'a [Above],
}

struct Found {
    factors: Vec<u32>,
    norms: Vec<f64>,
    /// What counts are multiplied by at most, on the way to what is published.
    multiplied: f64,
}

impl Rounding<'_> {
    fn level(&self) -> Option<Found> {
        let n = self.tree.nodes(self.level);
        let mut groups: Vec<Vec<usize>> = vec![Vec::new(); self.tree.nodes(self.level - 1)];
        (0..n).for_each(|v| groups[self.tree.parent(self.level, v)].push(v));
        let mut out = Found { factors: vec![1; n], norms: vec![0.0; n], multiplied: 1.0 };
        for nodes in &groups {
            if nodes.iter().all(|&v| self.tree.is_single(self.level, v)) {
                continue;
            }
            let (own, norms) = self.group(nodes)?;
            for ((&v, &c), &norm) in nodes.iter().zip(&own).zip(&norms) {
                (out.factors[v], out.norms[v]) = (c, norm);
            }
            out.multiplied = out.multiplied.max(multiplied(&own));
        }
        Some(out)
    }

    /// The whole factors of a group, and the squared lengths of what units move.
    fn group(&self, nodes: &[usize]) -> Option<(Vec<u32>, Vec<f64>)> {
        let wanted: Vec<f64> = nodes
            .iter()
            .map(|&v| (self.passes.alpha[self.level][v] * self.above[v].more).sqrt() * self.unit)
            .collect();
        let allowed = |&v: &usize| -> f64 {
            let above = &self.above[v];
            let own = if self.last {
                above.left
            } else {
                let planned = self.passes.price(self.tree, self.level, v);
                (planned + TAKEN * above.below) * above.more
            };
            own * self.unit * self.unit
        };
        let allowed: Vec<f64> = nodes.iter().map(allowed).collect();
        let copies: Vec<f64> = nodes.iter().map(|&v| self.tree.copies(self.level, v)).collect();
        let first = wanted.iter().copied().fold(0.0, f64::max);
        let mut best: Option<(f64, Vec<u32>, Vec<f64>)> = None;
        for shift in 0..SHIFTS {
            let times = libm::exp2(shift as f64 / SHIFTS as f64) * f64::from(self.set[0]) / first;
            let Some(shape) = Shape::of(&wanted, times, self.set, &copies) else { continue };
            // Where nothing more is below, all that is left; else what is nearest to what is wanted.
            let ideal = if self.last { f64::INFINITY } else { shape.nearest(&wanted) };
            let within = shape.within(&allowed);
            let Some((times, norms)) = shape.at(ideal.min(within), &allowed) else { continue };
            let own: Vec<u32> = shape.own.iter().map(|a| a * times).collect();
            let off = |(&c, &w): (&u32, &f64)| libm::pow(libm::log(f64::from(c) / w), 2.0);
            let error: f64 = own.iter().zip(&wanted).map(off).sum();
            if best.as_ref().is_none_or(|b| error < b.0) {
                best = Some((error, own, norms));
            }
        }
        best.map(|(_, own, norms)| (own, norms))
    }
}

/// The proportions of a group's factors.
struct Shape {
    own: Vec<u32>,
    multiple: f64,
    /// Of what the contrasts do not see.
    squares: f64,
}

impl Shape {
    /// The numbers nearest to what is wanted, times this.
    fn of(wanted: &[f64], times: f64, set: &[u32], copies: &[f64]) -> Option<Shape> {
        // Ratios of the largest to the others are powers of two times those of the set: in units of the least there is.
        let least = wanted.iter().copied().fold(f64::INFINITY, f64::min) * times;
        let mut shift = 0;
        while libm::ldexp(least, shift) < f64::from(set[0]) {
            shift += 1;
            if shift > 16 {
                return None;
            }
        }
        let near = |w: &f64| -> u32 {
            let mut power = 0;
            let mut rest = libm::ldexp(w * times, shift);
            while rest >= 2.0 * f64::from(set[0]) {
                rest *= 0.5;
                power += 1;
            }
            let ends = set.iter().copied().chain([2 * set[0]]);
            let off = |a: u32| (f64::from(a) / rest).max(rest / f64::from(a));
            let near = ends.min_by(|&a, &b| off(a).total_cmp(&off(b))).unwrap_or(set[0]);
            near << power
        };
        let mut own: Vec<u32> = wanted.iter().map(near).collect();
        let divisor = own.iter().fold(0, |d, &a| gcd(d, a.into())) as u32;
        own.iter_mut().for_each(|a| *a /= divisor.max(1));
        let multiple = own.iter().fold(1u128, |m, &a| m / gcd(m, a.into()) * u128::from(a));
        if multiple >= 1 << 32 {
            return None;
        }
        let multiple = multiple as f64;
        let squares = own.iter().zip(copies).map(|(&a, n)| n * (multiple / f64::from(a)).powi(2)).sum();
        Some(Shape { own, multiple, squares })
    }

    /// The whole number that makes the factors most like what is wanted.
    fn nearest(&self, wanted: &[f64]) -> f64 {
        let logs: f64 = self.own.iter().zip(wanted).map(|(&a, w)| libm::log(w / f64::from(a))).sum();
        libm::exp(logs / wanted.len() as f64)
    }

    /// The largest that costs no node more than it may.
    fn within(&self, allowed: &[f64]) -> f64 {
        let least = self.multiple * self.multiple / self.squares;
        let of = |(&a, most): (&u32, &f64)| most / (f64::from(a).powi(2) - least).max(1e-12);
        self.own.iter().zip(allowed).map(of).fold(f64::INFINITY, f64::min).sqrt()
    }

    /// A whole number no larger, and the squared lengths with it.
    fn at(&self, most: f64, allowed: &[f64]) -> Option<(u32, Vec<f64>)> {
        let largest = f64::from(self.own.iter().copied().max().unwrap_or(1));
        let mut times = most.min(f64::from(MAX_FACTOR) / largest).floor();
        for tried in 0..10 {
            if times < 1.0 {
                return None;
            }
            let shift = times * self.multiple;
            let h = (shift / self.squares).round();
            let norm = |a: &u32| {
                let c = times * f64::from(*a);
                c * c - 2.0 * h * shift + h * h * self.squares
            };
            let norms: Vec<f64> = self.own.iter().map(norm).collect();
            if norms.iter().zip(allowed).all(|(n, most)| *n <= most * (1.0 + 1e-9)) {
                return Some((times as u32, norms));
            }
            times -= libm::ldexp(1.0, tried);
        }
        None
    }
}

/// What counts are multiplied by at most in the contrasts of a group, whichever node is its first.
fn multiplied(factors: &[u32]) -> f64 {
    let divisor = factors.iter().fold(0, |d, &c| gcd(d, c.into()));
    let mut distinct = factors.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let mut most = 1.0f64;
    for &c in &distinct {
        for &other in &distinct {
            let common = gcd(c.into(), other.into()).max(divisor);
            most = most.max(f64::from(c) * (f64::from(c) / common as f64));
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::super::descent::Problem;
    use super::super::paths::tests::axis;
    use super::*;
    use crate::numeric::dice::Dice;
    use crate::plan::NodeWeights;
    use crate::planner::bases::descent::{Asker, Row};

    fn uneven(dice: &mut Dice, sizes: &[usize]) -> Vec<Vec<u32>> {
        let mut above = 1;
        let level = |&n: &usize| {
            let mut own: Vec<u32> = (0..above as u32).collect();
            own.extend((above..n).map(|_| (dice.below(above) as f64 * dice.unit() * dice.unit()) as u32));
            own.sort_unstable();
            above = n;
            own
        };
        sizes.iter().map(level).collect()
    }

    /// No path costs more than one, lengths are those of the real nodes, and little is lost: the more the fewer bits there are.
    #[test]
    fn whole_factors_are_nearly_as_good() {
        let mut dice = Dice::new(5);
        for sizes in [&[3, 8][..], &[3, 12, 60], &[4, 20, 120], &[12, 80, 400]] {
            let parents = uneven(&mut dice, sizes);
            let whole_axis = axis(&parents);
            let (lumped, lumps) = whole_axis.lump(0, &[0]);
            let levels = sizes.len() + 1;
            let table = |k: usize| Asker {
                weight: 1.0 / lumped.rungs[k].real_len() as f64,
                components: (0..=k as u32).collect(),
                rows: vec![Row::Of(0, k)],
            };
            let problem = Problem {
                trees: vec![Tree::new(&lumped)],
                live: vec![(0..levels).collect()],
                tables: (0..levels).map(table).collect(),
                price: vec![1.0; levels],
                levels: (0..levels).map(|l| vec![l]).collect(),
            };
            let solved = problem.solve();
            let (tree, (passes, slope)) = (&problem.trees[0], &solved[0]);
            let real: f64 =
                passes.gains.iter().zip(slope).flat_map(|(g, s)| g.iter().zip(s)).map(|(g, s)| g * s).sum();
            let even = tree.passes(&tree.even());
            let before: f64 =
                even.gains.iter().zip(slope).flat_map(|(g, s)| g.iter().zip(s)).map(|(g, s)| g * s).sum();
            assert!(real < before, "{real} {before}");
            for (bits, lost) in [(26.0, 0.01), (15.0, 0.02), (10.0, 0.08)] {
                let kind = Kind { tree, passes, slope };
                let found = whole(&[kind], &|l, v| passes.left(l, v), bits).unwrap();
                let (worst, found) = (found.dearest, &found.kinds[0]);
                assert!(worst < 1.0 + 1e-6, "{worst}");
                let gains = tree.gains(&found.omega);
                let total: f64 =
                    gains.iter().zip(slope).flat_map(|(g, s)| g.iter().zip(s)).map(|(g, s)| g * s).sum();
                assert!(
                    total * worst < real * (1.0 + lost),
                    "{sizes:?}, {bits} bits: {}",
                    total * worst / real
                );
                for (l, rung) in whole_axis.rungs.iter().enumerate().skip(1) {
                    let own = |lump: &u32| found.factors[l][*lump as usize];
                    let weights =
                        NodeWeights::new(rung.parent.to_vec(), lumps[l].iter().map(own).collect()).unwrap();
                    let unit = found.omega[l][0] * f64::from(found.factors[l][0]).powi(2);
                    for (norm, lump) in weights.norms().iter().zip(&lumps[l]) {
                        let stated = found.price[l][*lump as usize] * unit;
                        assert!((*norm as f64 - stated).abs() <= 1e-6 * (1.0 + stated), "{norm} {stated}");
                    }
                }
            }
        }
    }
}
