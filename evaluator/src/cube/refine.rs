//! Binary trees: between any two neighbouring levels, halves of halves, until no group has more than two nodes.
//!
//! The Haar wavelet of a dimension is the set of differences between the two halves of every group of such a tree. The
//! halves follow the order of the categories, so ranges of ordered ones take few of them.

use super::{Bounds, Categories, Cube, Cuboid, Dimension};
use std::sync::Arc;

/// A cube whose levels include all halves, and where the levels of the cube before have gone.
pub struct Refined {
    /// The cube.
    pub cube: Arc<Cube>,
    /// For each dimension and level of the cube before, the level it is now.
    pub levels: Vec<Vec<usize>>,
}

impl Refined {
    /// The same table, among the levels of the refined cube.
    pub fn cuboid(&self, cuboid: &Cuboid) -> Cuboid {
        Cuboid::new(cuboid.iter().map(|at| (at.dimension, self.levels[at.dimension][at.level])))
    }
}

impl Cube {
    /// With halves between all levels.
    pub fn refined(&self) -> Refined {
        let (dimensions, levels) = self.dimensions.iter().map(halved).unzip();
        Refined { cube: Arc::new(Cube { dimensions }), levels }
    }
}

/// How many levels of halves a group of `n` needs before its single nodes.
fn depth(n: usize) -> u32 {
    if n <= 2 { 0 } else { usize::BITS - (n - 1).leading_zeros() - 1 }
}

fn halved(dimension: &Dimension) -> (Dimension, Vec<usize>) {
    let mut levels = vec![Categories::total()];
    let mut at = vec![0];
    for (coarse, fine) in dimension.levels.iter().zip(dimension.levels.iter().skip(1)) {
        let mut groups: Vec<Vec<u32>> = vec![Vec::new(); coarse.len()];
        for (node, &parent) in fine.parent.iter().enumerate() {
            groups[parent as usize].push(node as u32);
        }
        let depth = groups.iter().map(|g| depth(g.len())).max().unwrap_or(0);
        for _ in 0..depth {
            let mut parent = Vec::new();
            let mut halves = Vec::new();
            for (p, group) in groups.into_iter().enumerate() {
                let (front, back) = group.split_at(group.len().div_ceil(2));
                for half in [front, back].into_iter().filter(|h| !h.is_empty()) {
                    parent.push(p as u32);
                    halves.push(half.to_vec());
                }
            }
            groups = halves;
            let name = unused(dimension, &levels);
            let labels = groups.iter().map(|g| label(fine, g)).collect();
            let bounds = if fine.bounds.is_empty() {
                Vec::new()
            } else {
                groups.iter().map(|g| together(fine, g)).collect()
            };
            levels.push(Categories { name, labels, parent, bounds });
        }
        let mut parent = vec![0; fine.len()];
        for (p, group) in groups.iter().enumerate() {
            group.iter().for_each(|&node| parent[node as usize] = p as u32);
        }
        at.push(levels.len());
        levels.push(Categories { parent, ..fine.clone() });
    }
    let mut out = Dimension::new(&*dimension.name, levels);
    if let Some(legend) = dimension.legend() {
        // It names levels and categories, and all of them are still there.
        let _ = out.explain(legend.clone());
    }
    (out, at)
}

/// A name that no level of the dimension has: `half1`, `half2`, …
fn unused(dimension: &Dimension, made: &[Categories]) -> String {
    let taken = |name: &str| dimension.levels.iter().chain(made).any(|l| l.name == name);
    (1..).map(|i| format!("half{i}")).find(|name| !taken(name)).unwrap_or_default()
}

fn label(level: &Categories, nodes: &[u32]) -> String {
    match nodes {
        [] => String::new(),
        [one] => level.labels[*one as usize].clone(),
        [first, .., last] => {
            format!("{} … {}", level.labels[*first as usize], level.labels[*last as usize])
        }
    }
}

/// The numbers of all nodes together, where each begins just where the one before ends.
fn together(level: &Categories, nodes: &[u32]) -> Option<Bounds> {
    let mut all = nodes.iter().map(|&n| level.bounds[n as usize]);
    let mut whole = all.next()??;
    for next in all {
        let next = next?;
        let meets = if whole.closed { next.lo == whole.hi + 1.0 } else { next.lo == whole.hi };
        if !meets {
            return None;
        }
        whole = Bounds { lo: whole.lo, ..next };
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::Frame;

    #[test]
    fn halves_of_halves() {
        let mut age = Dimension::plain("age", (0..11).map(|v| v.to_string()).collect());
        age.levels[1].bounds =
            (0..11).map(|v| Some(Bounds { lo: v.into(), hi: v.into(), closed: true })).collect();
        // Bands of 7, 3 and 1 ages, one of them called like a half.
        age.levels.insert(
            1,
            Categories {
                name: "half1".into(),
                labels: ["young", "mid", "old"].map(String::from).to_vec(),
                parent: vec![0, 0, 0],
                bounds: Vec::new(),
            },
        );
        age.levels[2].parent = (0..11).map(|v| u32::from(v > 6) + u32::from(v > 9)).collect();
        let cube = Cube { dimensions: vec![age, Dimension::plain("sex", vec!["F".into(), "M".into()])] };
        let refined = cube.refined();
        assert_eq!(refined.levels, [vec![0, 2, 5], vec![0, 1]]);
        let age = &refined.cube.dimensions[0];
        let names: Vec<_> = age.levels.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["total", "half2", "half1", "half3", "half4", "age"]);
        assert_eq!(age.levels[1].labels, ["young … mid", "old"]);
        assert_eq!(age.levels[3].labels, ["0 … 3", "4 … 6", "7 … 8", "9", "10"]);
        assert_eq!(age.levels[3].parent, [0, 0, 1, 1, 2]);
        assert_eq!(age.levels[3].bounds[1], Some(Bounds { lo: 4.0, hi: 6.0, closed: true }));
        // Every cell is still below the same band, and no group has more than two.
        let old = &cube.dimensions[0];
        assert_eq!(age.ancestors(5, 2), old.ancestors(2, 1));
        let frame = Frame::new(&refined.cube, &[(0..6).collect(), vec![0, 1]]);
        assert!(frame.axes.iter().all(|a| a.rungs[1..].iter().all(|r| r.siblings.iter().all(|&c| c <= 2))));
        let table = Cuboid::new(vec![(0, 2), (1, 1)]);
        assert_eq!(refined.cuboid(&table), Cuboid::new(vec![(0, 5), (1, 1)]));
        // 11 = 1 + one difference for every group of two.
        let pairs: usize = frame.axes[0].rungs[1..].iter().map(|r| r.len() - r.siblings.len()).sum();
        assert_eq!(pairs, 10);
    }
}
