//! The normal equations over groups of different sizes, taken apart as far as they go.
//!
//! Along one dimension a level mixes with coarser ones only where groups of different sizes hang below it: let `J` be the finest rung
//! in use whose groups differ in size, 0 if none does. A component at rung `J` or finer stays by itself, since what is shared out evenly below it
//! comes back as a multiple of it, and sums to zero within its siblings. Those coarser than `J` mix with each other, and with the total. So `N`
//! is block-diagonal: in a **class** of components each dimension either stays at one rung or runs through all that mix.
//!
//! Of a class only what really differs is solved for:
//!
//! * a measured table that is finer than `J` speaks of the mixing rungs as its roll-up to rung `J − 1` would, node `g` with `1/s_g` of the weight
//!   (`s_g` of its cells below each): **tables that are alike after this are one table**, whose cells have the sum of the weights;
//! * a component all of whose groups have been lumped into one node is zero, and left out.
//!
//! A query about two plain dimensions of a release of 470 tables is a system of a few numbers, whatever the tables' sizes. It is solved by
//! conjugate gradients, or by a division where nothing mixes.

use super::weighted::{Parts, Unsolved, Weighted, closer};
use crate::cube::frame::{add_spread, push, take_off};
use crate::cube::{Axis, Cuboid, Frame, Level, Rung};
use crate::numeric::conjugate::{self, Rules, System};
use std::collections::BTreeMap;
use std::ops::Range;

/// A solution that is this far off when steps or digits run out is none: nothing is said of its error.
const REFUSED: f64 = 1e-9;

/// How the rungs of a dimension are tied to each other.
struct Ties {
    /// Rungs below this one mix; from it on each stays by itself.
    bound: usize,
    /// Whether any group of a rung still has two nodes.
    live: Vec<bool>,
}

impl Ties {
    fn new(axis: &Axis) -> Ties {
        let bound = axis.rungs.iter().rposition(|r| r.sizes().len() > 1).unwrap_or(0);
        let live = axis.rungs.iter().map(|rung| {
            let mut children = vec![0u32; rung.siblings.len()];
            rung.parent.iter().for_each(|&p| children[p as usize] += 1);
            rung.level == 0 || children.iter().any(|&c| c > 1)
        });
        Ties { bound, live: live.collect() }
    }
}

/// The ties of all dimensions of a frame.
pub(super) struct Coupling<'a> {
    frame: &'a Frame,
    ties: Vec<Ties>,
    /// The measured tables.
    tables: &'a [Weighted],
    /// Those that are published without noise.
    exact: &'a [Cuboid],
}

/// The rungs that a class stays at: dimension and rung, ascending.
type Class = Vec<(usize, usize)>;

impl<'a> Coupling<'a> {
    pub(super) fn new(frame: &'a Frame, tables: &'a [Weighted], exact: &'a [Cuboid]) -> Coupling<'a> {
        Coupling { frame, ties: frame.axes.iter().map(Ties::new).collect(), tables, exact }
    }

    fn rung(&self, at: Level) -> usize {
        self.frame.axes[at.dimension].rung(at.level).unwrap_or(0)
    }

    fn class(&self, a: &Cuboid) -> Class {
        let rungs = a.iter().map(|at| (at.dimension, self.rung(at)));
        rungs.filter(|&(d, r)| r >= self.ties[d].bound).collect()
    }

    /// All components that mix with these, themselves included: what must be known to solve for them.
    pub(crate) fn touched(&self, components: &[Cuboid]) -> Vec<Cuboid> {
        let mut classes: Vec<Class> = components.iter().map(|a| self.class(a)).collect();
        classes.sort_unstable();
        classes.dedup();
        classes.iter().flat_map(|class| Block::new(self, class).components()).collect()
    }

    /// `N⁻¹ q`, class by class, in at most so many steps each, up to a tolerance.
    pub(super) fn solve(&self, q: Parts, most_steps: usize, tolerance: f64) -> Result<Parts, Unsolved> {
        let mut classes: BTreeMap<Class, Vec<(Cuboid, Vec<f64>)>> = BTreeMap::new();
        for (a, part) in q.into_iter().filter(|(_, part)| part.iter().any(|v| *v != 0.0)) {
            classes.entry(self.class(&a)).or_default().push((a, part));
        }
        let blocks: Vec<(Block, Vec<f64>)> = (classes.into_iter())
            .map(|(class, parts)| {
                let block = Block::new(self, &class);
                let right = block.right(parts);
                (block, right)
            })
            .collect();
        // What rounding has left in a block that has no part in the query is nothing, beside the whole of it.
        let sizes: Vec<f64> = blocks.iter().map(|(b, right)| b.dot(right, &b.precondition(right))).collect();
        let whole: f64 = sizes.iter().sum();
        let closer = closer(self.tables);
        let (tolerance, refused) = (tolerance * closer, REFUSED.max(tolerance) * closer);
        let mut out = Parts::new();
        for ((block, right), size) in blocks.into_iter().zip(sizes) {
            if size > tolerance * tolerance * whole {
                let rules = Rules { tolerance, floor: 0.0, most_steps, singular: false, growth: None };
                block.solve(right, refused * refused * whole, &rules, &mut out)?;
            }
        }
        Ok(out)
    }
}

/// One dimension of a table, as a class sees it.
enum Way<'a> {
    /// At one rung.
    Stays(&'a Rung),
    /// Through all rungs from total to the table's own.
    Mixes(&'a [Rung], &'a [bool]),
}

/// Measured tables that are one to this class: of each cell the weight, of each combination of rungs where its component stands.
struct Tied<'a> {
    ways: Vec<Way<'a>>,
    weights: Vec<f64>,
    leaves: Vec<Option<Range<usize>>>,
}

/// The block of `N` of one class.
struct Block<'a> {
    tables: Vec<Tied<'a>>,
    /// Where each component's numbers stand.
    places: BTreeMap<Cuboid, Range<usize>>,
    /// How many real cells each number stands for.
    copies: Vec<f64>,
    /// About the reciprocal of `N`'s diagonal.
    scale: Vec<f64>,
}

impl<'a> Block<'a> {
    fn new(coupling: &'a Coupling<'a>, class: &Class) -> Block<'a> {
        let mut weights: BTreeMap<Vec<(usize, usize)>, Vec<f64>> = BTreeMap::new();
        let mut weight = Vec::new();
        for t in coupling.tables {
            let stays = |&(d, r): &(usize, usize)| coupling.rung(t.cuboid.at(d)) >= r;
            if !(t.weight > 0.0) || !class.iter().all(stays) {
                continue;
            }
            // Of the dimensions that mix: the rung, and what a node there has of the weight.
            let mut mixing = Vec::new();
            weight.clear();
            weight.push(t.weight);
            for at in t.cuboid.iter() {
                let (d, r) = (at.dimension, coupling.rung(at));
                let (rungs, bound) = (&coupling.frame.axes[d].rungs, coupling.ties[d].bound);
                let even = |from: usize| {
                    let sizes = rungs[from..=r].iter().map(|rung| f64::from(rung.sizes()[0]));
                    1.0 / sizes.product::<f64>()
                };
                if let Some(&(_, own)) = class.iter().find(|c| c.0 == d) {
                    weight.iter_mut().for_each(|w| *w *= even(own + 1));
                } else if bound == 0 {
                    weight.iter_mut().for_each(|w| *w *= even(1));
                } else {
                    let end = r.min(bound - 1);
                    mixing.push((d, end));
                    let each: Vec<f64> = match r < bound {
                        true => vec![1.0; rungs[end].len()],
                        false => {
                            rungs[bound].siblings.iter().map(|&s| even(bound + 1) / f64::from(s)).collect()
                        }
                    };
                    weight = weight.iter().flat_map(|w| each.iter().map(move |e| w * e)).collect();
                }
            }
            // Dimensions of one node at total have a single number.
            let sum = weights.entry(mixing).or_insert_with(|| vec![0.0; weight.len()]);
            sum.iter_mut().zip(&weight).for_each(|(s, w)| *s += w);
        }
        let mut block =
            Block { tables: Vec::new(), places: BTreeMap::new(), copies: Vec::new(), scale: Vec::new() };
        for (mixing, weights) in weights {
            block.join(coupling, class, &mixing, &weights);
        }
        block.scale.iter_mut().for_each(|s| *s = 1.0 / *s);
        block
    }

    /// Adds tables that are one, and the components below them.
    fn join(
        &mut self,
        coupling: &'a Coupling<'a>,
        class: &Class,
        mixing: &[(usize, usize)],
        weights: &[f64],
    ) {
        let axes = &coupling.frame.axes;
        let mut dimensions: Vec<(usize, usize, bool)> = class.iter().map(|&(d, r)| (d, r, true)).collect();
        dimensions.extend(mixing.iter().map(|&(d, r)| (d, r, false)));
        dimensions.sort_unstable();
        let ways: Vec<Way<'a>> = dimensions
            .iter()
            .map(|&(d, r, stays)| match stays {
                true => Way::Stays(&axes[d].rungs[r]),
                false => Way::Mixes(&axes[d].rungs[..=r], &coupling.ties[d].live),
            })
            .collect();
        // The weights run through the dimensions that mix; the others repeat them.
        let mut places = vec![0usize];
        for way in &ways {
            let n = way.rung().len();
            let stays = matches!(way, Way::Stays(_));
            places =
                places.iter().flat_map(|&p| (0..n).map(move |k| if stays { p } else { p * n + k })).collect();
        }
        let weights: Vec<f64> = places.into_iter().map(|p| weights[p]).collect();
        // Every combination of rungs, the last dimension fastest.
        let mut rungs: Vec<Vec<Level>> = vec![Vec::new()];
        for (&(d, r, stays), way) in dimensions.iter().zip(&ways) {
            let from = if stays { r } else { 0 };
            let live = |j: usize| match way {
                Way::Stays(_) => true,
                Way::Mixes(_, live) => live[j],
            };
            rungs = rungs
                .iter()
                .flat_map(|prefix| {
                    (from..=r).map(move |j| {
                        let mut next = prefix.clone();
                        // A level beyond all stands for a rung that holds nothing.
                        next.push(Level::new(
                            d,
                            if live(j) { axes[d].rungs[j].level } else { usize::from(u8::MAX) },
                        ));
                        next
                    })
                })
                .collect();
        }
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let cells: f64 = ways.iter().map(|w| w.rung().real_len() as f64).product();
        let mut leaves = Vec::with_capacity(rungs.len());
        for levels in rungs {
            let dead = levels.iter().any(|l| l.level == usize::from(u8::MAX));
            let component = Cuboid::new(levels);
            if dead || coupling.exact.iter().any(|e| component.is_below(e)) {
                leaves.push(None);
                continue;
            }
            let part = coupling.frame.cells(&component) / cells;
            let place = match self.places.get(&component) {
                Some(place) => place.clone(),
                None => {
                    let from = self.copies.len();
                    self.copies.extend(coupling.frame.multiplicity(&component).iter().map(|&m| m as f64));
                    self.scale.resize(self.copies.len(), 0.0);
                    self.places.insert(component, from..self.copies.len());
                    from..self.copies.len()
                }
            };
            self.scale[place.clone()].iter_mut().for_each(|s| *s += mean * part);
            leaves.push(Some(place));
        }
        self.tables.push(Tied { ways, weights, leaves });
    }

    fn components(&self) -> Vec<Cuboid> {
        self.places.keys().cloned().collect()
    }

    fn right(&self, parts: Vec<(Cuboid, Vec<f64>)>) -> Vec<f64> {
        let mut right = vec![0.0; self.copies.len()];
        for (a, part) in parts {
            // What has been lumped away is zero but for rounding.
            if let Some(place) = self.places.get(&a) {
                right[place.clone()].copy_from_slice(&part);
            }
        }
        right
    }

    /// With a squared residual of more than `refused` it is none.
    fn solve(&self, right: Vec<f64>, refused: f64, rules: &Rules, out: &mut Parts) -> Result<(), Unsolved> {
        let even = |t: &Tied| t.weights.iter().all(|w| *w == t.weights[0]);
        let solved = if self.places.len() == 1 && self.tables.iter().all(even) {
            // One number for all of it.
            right.iter().zip(&self.scale).map(|(v, s)| v * s).collect()
        } else {
            let zero = vec![0.0; right.len()];
            let solved = conjugate::solve(self, zero, right, rules).ok_or(Unsolved::Steps)?;
            if !(solved.left <= refused) {
                return Err(Unsolved::Steps);
            }
            solved.solution
        };
        out.extend(self.places.iter().map(|(a, place)| (a.clone(), solved[place.clone()].to_vec())));
        Ok(())
    }
}

impl Way<'_> {
    /// The finest rung.
    fn rung(&self) -> &Rung {
        match self {
            Way::Stays(rung) => rung,
            Way::Mixes(rungs, _) => &rungs[rungs.len() - 1],
        }
    }
}

impl Tied<'_> {
    /// The table of these components. `None` where all are zero.
    fn build(&self, v: &[f64], i: usize, outer: usize, leaf: usize) -> Option<Vec<f64>> {
        let Some(way) = self.ways.get(i) else {
            return self.leaves[leaf].clone().map(|place| v[place].to_vec());
        };
        let (rungs, live) = match way {
            Way::Stays(rung) => return self.build(v, i + 1, outer * rung.len(), leaf),
            Way::Mixes(rungs, live) => (rungs, live),
        };
        let mut built: Option<Vec<f64>> = None;
        for (r, rung) in rungs.iter().enumerate() {
            let next = || self.build(v, i + 1, outer * rung.len(), leaf * rungs.len() + r);
            let part = if live[r] { next() } else { None };
            built = match built {
                None => part,
                Some(coarse) => {
                    let mut fine =
                        part.unwrap_or_else(|| vec![0.0; coarse.len() / rung.siblings.len() * rung.len()]);
                    let inner = fine.len() / (outer * rung.len());
                    add_spread(&mut fine, &coarse, inner, rung);
                    Some(fine)
                }
            };
        }
        built
    }

    /// Adds a table's part in every component.
    fn gather(&self, mut table: Vec<f64>, i: usize, outer: usize, leaf: usize, out: &mut [f64]) {
        let Some(way) = self.ways.get(i) else {
            if let Some(place) = self.leaves[leaf].clone() {
                out[place].iter_mut().zip(&table).for_each(|(s, v)| *s += v);
            }
            return;
        };
        let (rungs, live) = match way {
            Way::Stays(rung) => return self.gather(table, i + 1, outer * rung.len(), leaf, out),
            Way::Mixes(rungs, live) => (rungs, live),
        };
        for (r, rung) in rungs.iter().enumerate().rev() {
            let inner = table.len() / (outer * rung.len());
            let coarser = (r > 0).then(|| push(&table, inner, rung));
            if live[r] {
                if let Some(mean) = &coarser {
                    take_off(&mut table, mean, inner, rung);
                }
                self.gather(table, i + 1, outer * rung.len(), leaf * rungs.len() + r, out);
            }
            match coarser {
                Some(mean) => table = mean,
                None => break,
            }
        }
    }
}

impl System for Block<'_> {
    type Vector = Vec<f64>;

    fn apply(&self, v: &Vec<f64>) -> Option<(Vec<f64>, f64)> {
        let mut image = vec![0.0; v.len()];
        for t in &self.tables {
            let Some(mut table) = t.build(v, 0, 1, 0) else { continue };
            table.iter_mut().zip(&t.weights).for_each(|(v, w)| *v *= w);
            t.gather(table, 0, 1, 0, &mut image);
        }
        let curvature = self.dot(v, &image);
        Some((image, curvature))
    }

    fn dot(&self, x: &Vec<f64>, y: &Vec<f64>) -> f64 {
        x.iter().zip(y).zip(&self.copies).map(|((x, y), w)| x * y * w).sum()
    }

    fn precondition(&self, r: &Vec<f64>) -> Vec<f64> {
        r.iter().zip(&self.scale).map(|(v, s)| v * s).collect()
    }

    fn add(&self, x: &mut Vec<f64>, by: f64, y: &Vec<f64>) {
        x.iter_mut().zip(y).for_each(|(x, y)| *x += by * y);
    }

    fn turn(&self, y: &mut Vec<f64>, by: f64, x: &Vec<f64>) {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = x + by * *y);
    }
}
