//! The levels of one dimension that a plan uses, and the four maps between neighbouring levels.
//!
//! The space of tables over a level splits into the part its coarser neighbour knows and the part it
//! does not: `V_ℓ = V_{ℓ-1} ⊕ W_ℓ`, where `W_ℓ` holds the vectors that sum to zero within every group
//! of siblings. Everything else in the algebra is these maps, dimension by dimension:
//!
//! * *spread* (`Up`): a parent's value shared evenly among its children, so that sums are kept;
//! * *push* (`Upᵀ`): the mean of the children;
//! * *project* (`P`): what is left after the group's mean is taken off;
//! * *sum*: a roll-up.
//!
//! Many questions (the variance of a query, the weights of the noises behind it) have answers that are
//! the same for all nodes a query cannot tell apart. [`Axis::lump`] replaces such nodes by one that
//! remembers how many it stands for; the maps take those counts into account, so the same code runs on
//! full axes and on lumped ones of a few nodes.

use super::Dimension;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// One level in use.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// Its index in [`Dimension::levels`].
    pub level: usize,
    /// For each node its parent in the rung below; empty for total.
    pub parent: Arc<Vec<u32>>,
    /// For each node, how many real nodes it stands for under each real parent.
    pub copies: Vec<u32>,
    /// For each node, how many real nodes it stands for in all.
    pub multiplicity: Vec<u64>,
    /// For each node of the rung below, how many real children it has here.
    pub siblings: Vec<u32>,
    /// The sizes groups have, each once, in the order of the first group of that size: much asked for.
    sizes: Vec<u32>,
    real_len: u64,
    /// For each node a real one that it stands for; empty where each is its own.
    nodes: Vec<u32>,
    /// For each node of the rung below how many children each of those has that it stands for, on average; empty where all have as many.
    means: Vec<f64>,
}

impl Rung {
    /// From the fields of these names.
    pub(crate) fn new(
        level: usize,
        parent: impl Into<Arc<Vec<u32>>>,
        copies: Vec<u32>,
        multiplicity: Vec<u64>,
        siblings: Vec<u32>,
    ) -> Rung {
        let mut seen = HashSet::new();
        let sizes = siblings.iter().copied().filter(|&c| seen.insert(c)).collect();
        let real_len = multiplicity.iter().sum();
        Rung {
            level,
            parent: parent.into(),
            copies,
            multiplicity,
            siblings,
            sizes,
            real_len,
            nodes: Vec::new(),
            means: Vec::new(),
        }
    }

    /// The same of a [pruned](Axis::prune) axis, with a real node that each stands for.
    pub(super) fn standing_for(self, nodes: Vec<u32>) -> Rung {
        Rung { nodes, ..self }
    }

    /// Only these nodes, which are whole groups of siblings, under as many nodes as they hang from: in the order in which those are first
    /// met. What is true of all groups, as the sizes they have, stays.
    pub(crate) fn slice(&self, nodes: &[u32]) -> Rung {
        let mut local: HashMap<u32, u32> = HashMap::new();
        let (mut parent, mut siblings) = (Vec::with_capacity(nodes.len()), Vec::new());
        for &node in nodes {
            let next = local.len() as u32;
            let p = *local.entry(self.parent[node as usize]).or_insert(next);
            if p == next {
                siblings.push(0);
            }
            siblings[p as usize] += 1;
            parent.push(p);
        }
        let n = nodes.len();
        let own = Rung::new(self.level, parent, vec![1; n], vec![1; n], siblings);
        Rung { sizes: self.sizes.clone(), ..own }
    }

    /// For each node of a [pruned](Axis::prune) axis a real one that it stands for; nothing otherwise.
    pub(crate) fn stands_for(&self) -> &[u32] {
        &self.nodes
    }

    /// A real node that a node stands for.
    pub(crate) fn node(&self, i: usize) -> usize {
        self.nodes.get(i).map_or(i, |&node| node as usize)
    }

    /// The sizes groups of siblings have, each once, in the order of the first group of that size.
    pub(crate) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// The share of a child in what a node of the rung below has, if it is shared evenly.
    pub(super) fn share(&self, below: usize) -> f64 {
        1.0 / self.means.get(below).copied().unwrap_or_else(|| f64::from(self.siblings[below]))
    }

    /// The number of nodes, after lumping.
    pub fn len(&self) -> usize {
        self.copies.len()
    }

    /// Never: a rung has at least one node.
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// The number of real nodes.
    pub fn real_len(&self) -> u64 {
        self.real_len
    }

    /// Whether no group has two siblings, so that `W` is empty.
    pub fn adds_nothing(&self) -> bool {
        self.level > 0 && self.sizes == [1]
    }
}

/// The rungs of one dimension, total first.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// From total to the finest level in use.
    pub rungs: Vec<Rung>,
}

impl Axis {
    /// The levels `levels` (ascending, 0 first) of a dimension.
    pub fn new(dimension: &Dimension, levels: &[usize]) -> Axis {
        let mut rungs = vec![Rung::new(0, Vec::new(), vec![1], vec![1], Vec::new())];
        for pair in levels.windows(2) {
            let parent = dimension.ancestors(pair[1], pair[0]);
            let mut siblings = vec![0; dimension.levels[pair[0]].len()];
            for &p in &parent {
                siblings[p as usize] += 1;
            }
            let n = parent.len();
            rungs.push(Rung::new(pair[1], parent, vec![1; n], vec![1; n], siblings));
        }
        Axis { rungs }
    }

    /// The position of a level among the rungs.
    pub fn rung(&self, level: usize) -> Option<usize> {
        // Where all levels are in use, and of coarse ones, it is the level itself.
        if self.rungs.get(level).is_some_and(|r| r.level == level) {
            return Some(level);
        }
        self.rungs.iter().position(|r| r.level == level)
    }

    /// The coarsest level in use that is at least as fine as `level`.
    pub(crate) fn level_for(&self, level: usize) -> Option<usize> {
        self.rungs.iter().map(|r| r.level).find(|&l| l >= level)
    }

    /// Whether all groups of every rung are of one size. Then least squares decouples into components.
    pub fn is_balanced(&self) -> bool {
        self.rungs[1..].iter().all(|r| r.sizes.len() == 1)
    }

    /// Lumps nodes that cannot be told apart: by `colour` (one number a node of rung `at`), by where they
    /// hang, and by what hangs below them. Returns the lumped axis and, for each rung, the lump of each node.
    ///
    /// The lumps are the orbits of the symmetries of the coloured tree: nodes alike in colour and in the
    /// multiset of subtrees below (bottom-up), hanging from parents in one lump (top-down).
    pub fn lump(&self, at: usize, colour: &[u32]) -> (Axis, Vec<Vec<u32>>) {
        self.lumped(&self.shapes(at, colour, false))
    }

    /// The same, but that what hangs below a node of one colour makes no difference, of whatever shape it is. Where components are measured one by one, a
    /// value that is the same for all below a node has no part in their components, and its covariance is again the same for all of
    /// them but for their even shares: such a node of the coarser axis stands for the mean of its share.
    pub(crate) fn collapse(&self, at: usize, colour: &[u32]) -> (Axis, Vec<Vec<u32>>) {
        let (mut axis, lumps) = self.lumped(&self.shapes(at, colour, true));
        for r in 1..axis.rungs.len() {
            let (above, rung) = (axis.rungs[r - 1].multiplicity.clone(), &mut axis.rungs[r]);
            let mut means = vec![0.0; above.len()];
            rung.parent.iter().zip(&rung.multiplicity).for_each(|(&p, &n)| means[p as usize] += n as f64);
            means.iter_mut().zip(above).for_each(|(mean, n)| *mean /= n as f64);
            rung.means = means;
            // What is true of all groups stays.
            rung.sizes.clone_from(&self.rungs[r].sizes);
        }
        (axis, lumps)
    }

    /// For each node of a rung a number: nodes with one number [collapse](Axis::collapse) alike, each told apart from all others.
    pub(crate) fn alike(&self, at: usize, colour: &[u32], rung: usize) -> Vec<u32> {
        let shapes = self.shapes(at, colour, true);
        let mut alike = vec![0];
        for r in 1..=rung {
            let mut ids = HashMap::new();
            let each = self.rungs[r].parent.iter().zip(&shapes[r]).map(|(&p, shape)| {
                let next = ids.len() as u32;
                let siblings = self.rungs[r].siblings[p as usize];
                *ids.entry((alike[p as usize], siblings, shape)).or_insert(next)
            });
            alike = each.collect();
        }
        alike
    }

    /// Bottom-up the shape of each subtree, for each rung; where `collapsed`, those of one colour are of one shape.
    fn shapes(&self, at: usize, colour: &[u32], collapsed: bool) -> Vec<Vec<u32>> {
        let top = self.rungs.len() - 1;
        let mut shapes: Vec<Vec<u32>> = vec![Vec::new(); top + 1];
        // The one colour of all below each node of the rung above, if it is one.
        let mut one: Vec<Option<u32>> = Vec::new();
        for r in (0..=top).rev() {
            let rung = &self.rungs[r];
            let mut children: Vec<Vec<(u32, u32)>> = vec![Vec::new(); rung.len()];
            let mut own: Vec<Option<Option<u32>>> = vec![None; rung.len()];
            if r < top {
                let finer = &self.rungs[r + 1];
                for (node, &p) in finer.parent.iter().enumerate() {
                    children[p as usize].push((shapes[r + 1][node], finer.copies[node]));
                    let own = &mut own[p as usize];
                    *own = Some(own.map_or(one[node], |own| own.filter(|_| own == one[node])));
                }
            }
            let colour_of = |node: usize| if r == at { colour[node] } else { 0 };
            one = match r {
                _ if r >= at => (0..rung.len()).map(|node| Some(colour_of(node))).collect(),
                _ => own.into_iter().map(Option::flatten).collect(),
            };
            let mut ids = HashMap::new();
            shapes[r] = children
                .into_iter()
                .enumerate()
                .map(|(node, mut below)| {
                    below.sort_unstable();
                    below.dedup_by(|b, a| {
                        a.0 == b.0 && {
                            a.1 += b.1;
                            true
                        }
                    });
                    let next = ids.len() as u32;
                    let key = match one[node].filter(|_| collapsed) {
                        Some(colour) => (colour, Vec::new()),
                        None => (colour_of(node), below),
                    };
                    *ids.entry(key).or_insert(next)
                })
                .collect();
        }
        shapes
    }

    /// Top-down: nodes of one shape under parents of one lump.
    fn lumped(&self, shapes: &[Vec<u32>]) -> (Axis, Vec<Vec<u32>>) {
        let mut lumps: Vec<Vec<u32>> = vec![vec![0]];
        let mut rungs = vec![self.rungs[0].clone()];
        for (r, rung) in self.rungs.iter().enumerate().skip(1) {
            let mut ids: HashMap<(u32, u32), u32> = HashMap::new();
            let mut parent = Vec::new();
            let mut first_parent = Vec::new();
            let mut copies: Vec<u32> = Vec::new();
            let mut multiplicity: Vec<u64> = Vec::new();
            let mut lump = Vec::with_capacity(rung.len());
            for node in 0..rung.len() {
                let p = rung.parent[node];
                let key = (lumps[r - 1][p as usize], shapes[r][node]);
                let id = *ids.entry(key).or_insert_with(|| {
                    parent.push(key.0);
                    first_parent.push(p);
                    copies.push(0);
                    multiplicity.push(0);
                    parent.len() as u32 - 1
                });
                if first_parent[id as usize] == p {
                    copies[id as usize] += rung.copies[node];
                }
                multiplicity[id as usize] += rung.multiplicity[node];
                lump.push(id);
            }
            let mut siblings = vec![0; rungs[r - 1].len()];
            for (id, &p) in parent.iter().enumerate() {
                siblings[p as usize] += copies[id];
            }
            rungs.push(Rung::new(rung.level, parent, copies, multiplicity, siblings));
            lumps.push(lump);
        }
        (Axis { rungs }, lumps)
    }

    /// The axis with only those nodes lumped that hang together from one which `colour` (of the nodes of rung `at`) does not tell anything below
    /// of, in the form of [`Axis::lump`]. Siblings need not be alike for that: what is the same for all below a node has no part in their
    /// components.
    pub(crate) fn prune(&self, at: usize, colour: &[u32]) -> (Axis, Vec<Vec<u32>>) {
        // Bottom-up: the one colour below a node, if it is one. Finer rungs tell nothing apart.
        let mut one: Vec<Vec<Option<u32>>> = vec![Vec::new(); at + 1];
        one[at] = colour.iter().map(|&c| Some(c)).collect();
        for r in (0..at).rev() {
            let mut own: Vec<Option<Option<u32>>> = vec![None; self.rungs[r].len()];
            for (&p, &below) in self.rungs[r + 1].parent.iter().zip(&one[r + 1]) {
                let own = &mut own[p as usize];
                *own = Some(if own.is_none_or(|o| o == below) { below } else { None });
            }
            one[r] = own.into_iter().map(Option::flatten).collect();
        }
        let mut lumps: Vec<Vec<u32>> = vec![vec![0]];
        let mut rungs = vec![self.rungs[0].clone()];
        for (r, rung) in self.rungs.iter().enumerate().skip(1) {
            // For each lump above the lump of its children, where they are one.
            let mut lump_below: Vec<Option<u32>> = vec![None; rungs[r - 1].len()];
            let (mut parent, mut nodes, mut first_parent) = (Vec::new(), Vec::new(), Vec::new());
            let (mut copies, mut multiplicity): (Vec<u32>, Vec<u64>) = (Vec::new(), Vec::new());
            let mut lump = Vec::with_capacity(rung.len());
            for (node, &p) in rung.parent.iter().enumerate() {
                let above = lumps[r - 1][p as usize];
                let alike = r > at || one[r - 1][p as usize].is_some();
                let known = lump_below[above as usize].filter(|_| alike);
                let id = known.unwrap_or_else(|| {
                    parent.push(above);
                    nodes.push(node as u32);
                    first_parent.push(p);
                    copies.push(0);
                    multiplicity.push(0);
                    parent.len() as u32 - 1
                });
                if alike {
                    lump_below[above as usize] = Some(id);
                }
                if first_parent[id as usize] == p {
                    copies[id as usize] += 1;
                }
                multiplicity[id as usize] += 1;
                lump.push(id);
            }
            let mut siblings = vec![0; rungs[r - 1].len()];
            parent.iter().zip(&copies).for_each(|(&p, c)| siblings[p as usize] += c);
            let pruned = Rung { nodes, ..Rung::new(rung.level, parent, copies, multiplicity, siblings) };
            rungs.push(pruned);
            lumps.push(lump);
        }
        (Axis { rungs }, lumps)
    }

    /// For each node of a rung of a [pruned](Axis::prune) axis how often its value is there in the sum of what it stands for: each has its share of the value above, and
    /// nothing of its own where it stands for several, who may hang from nodes of different sizes.
    pub(crate) fn times(&self, rung: usize) -> Vec<f64> {
        let under = |above: Vec<f64>, rung: &Rung| {
            rung.parent.iter().zip(&rung.copies).map(|(&p, &n)| above[p as usize] * f64::from(n)).collect()
        };
        self.rungs[1..=rung].iter().fold(vec![1.0], under)
    }

    /// The axis with nothing lumped, in the form of [`Axis::lump`].
    pub(crate) fn apart(&self) -> (Axis, Vec<Vec<u32>>) {
        (self.clone(), self.rungs.iter().map(|r| (0..r.len() as u32).collect()).collect())
    }

    /// For each node of rung `r`, `‖P_j Upᵀ e‖²` for every rung `j <= r`: what one cell costs in each
    /// component. `e` is the unit vector of one *real* node.
    pub fn cell_norms(&self, r: usize) -> Vec<Vec<f64>> {
        let mut out = vec![vec![0.0; r + 1]; self.rungs[r].len()];
        for (node, norms) in out.iter_mut().enumerate() {
            let (mut at, mut weight) = (node, 1.0);
            for j in (1..=r).rev() {
                let p = self.rungs[j].parent[at] as usize;
                let c = f64::from(self.rungs[j].siblings[p]);
                norms[j] = weight * weight * (1.0 - 1.0 / c);
                weight /= c;
                at = p;
            }
            norms[0] = weight * weight;
        }
        out
    }
}
