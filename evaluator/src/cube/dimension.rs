//! One attribute and its chain of ever finer levels.

use super::legend::Labelled;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A chain of levels: `levels[0]` is *total*, the last one is the finest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Dimension {
    /// The dimension's name, which is also the name of its finest level in queries and tables.
    pub name: String,
    /// From total to finest. Always at least two.
    pub levels: Vec<Categories>,
    /// A reader's own groups, beside the levels.
    #[serde(skip)]
    pub(crate) districts: Option<Arc<Districts>>,
    /// What people call it and its codes.
    #[serde(skip)]
    pub(super) legend: Option<Arc<Labelled>>,
}

impl PartialEq for Dimension {
    /// Whether both tell the same units apart, by the same names. What people read beside these makes no difference.
    fn eq(&self, other: &Dimension) -> bool {
        self.name == other.name && self.levels == other.levels && self.districts == other.districts
    }
}

/// A reader's own groups of one dimension's nodes, none in two of them. To questions they are one more level of the dimension, which stands beside
/// the chain and has the number after its finest level. What is in none is a last group without a label, which no question is about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Districts {
    /// What they are called, in the order in which they were named first. Without a name they cannot be grouped by.
    pub groups: Categories,
    /// The coarsest level whose nodes are each in one group: what a table must tell.
    pub of: usize,
    /// For each of its nodes the group.
    pub group_of: Vec<u32>,
}

/// The categories of a dimension at one degree of detail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Categories {
    /// `band` in `age.band`; the finest level carries the dimension's (or the hierarchy column's) name.
    pub name: String,
    /// What each node is called, in the spec's order.
    pub labels: Vec<String>,
    /// For each node, the node of the next coarser level that contains it. Empty for total.
    pub parent: Vec<u32>,
    /// For each node of a numeric dimension, the numbers it stands for; `None` for a node that has no
    /// numbers (a missing-value category). Empty for a dimension without order.
    pub bounds: Vec<Option<Bounds>>,
}

/// The numbers a node stands for: `lo ..= hi`, or `lo .. hi` when `hi` belongs to the next bin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// The smallest number of the node.
    pub lo: f64,
    /// The largest number of the node, or the edge just above it.
    pub hi: f64,
    /// Whether `hi` itself belongs to the node (integers: yes; all bins but the last: no).
    pub closed: bool,
}

/// What a node is worth when numbers are added up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    /// This one.
    One(f64),
    /// Any of several: a band, a bin.
    Several,
    /// None that is known: a missing value, what lies beyond the range (`9+`).
    Unknown,
}

impl Categories {
    /// The number of a node: what may be added up, what cannot, and what a sum leaves out. Decided here for all who ask.
    pub(crate) fn number(&self, node: usize) -> Number {
        match self.bounds.get(node).copied().flatten() {
            Some(b) if b.lo == b.hi => Number::One(b.lo),
            Some(_) => Number::Several,
            None => Number::Unknown,
        }
    }

    /// Whether any node has numbers.
    pub(crate) fn is_numeric(&self) -> bool {
        self.bounds.iter().any(Option::is_some)
    }

    /// The numbers of its nodes from the least on, with the nodes that have them; `None` where two of them overlap, so that no order is known.
    pub(crate) fn in_order(&self) -> Option<Vec<(Bounds, Vec<usize>)>> {
        let found = self.bounds.iter().enumerate().filter_map(|(node, bounds)| Some(((*bounds)?, node)));
        let mut found: Vec<(Bounds, usize)> = found.collect();
        found.sort_by(|(a, _), (b, _)| a.lo.total_cmp(&b.lo).then(a.hi.total_cmp(&b.hi)));
        let mut out: Vec<(Bounds, Vec<usize>)> = Vec::new();
        for (bounds, node) in found {
            match out.last_mut() {
                Some((last, nodes)) if *last == bounds => nodes.push(node),
                Some((last, _)) if last.hi > bounds.lo || last.hi == bounds.lo && last.closed => return None,
                _ => out.push((bounds, vec![node])),
            }
        }
        Some(out)
    }

    /// From which number to which those of its categories are that have one.
    pub(crate) fn within(&self) -> Option<(f64, f64)> {
        let ends = self.bounds.iter().flatten().map(|bounds| (bounds.lo, bounds.hi));
        ends.reduce(|(lo, hi), (from, to)| (lo.min(from), hi.max(to)))
    }

    /// The one-node level at the bottom of every chain.
    pub fn total() -> Categories {
        Categories {
            name: "total".into(),
            labels: vec!["total".into()],
            parent: Vec::new(),
            bounds: Vec::new(),
        }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Never: a level has at least one node.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The node with this label.
    pub fn node(&self, label: &str) -> Option<usize> {
        self.labels.iter().position(|l| l == label)
    }
}

impl Dimension {
    /// From total to finest.
    pub fn new(name: impl Into<String>, levels: Vec<Categories>) -> Dimension {
        Dimension { name: name.into(), levels, districts: None, legend: None }
    }

    /// A dimension with no levels between total and its categories.
    pub fn plain(name: &str, labels: Vec<String>) -> Dimension {
        let parent = vec![0; labels.len()];
        let finest = Categories { name: name.into(), labels, parent, bounds: Vec::new() };
        Dimension::new(name, vec![Categories::total(), finest])
    }

    /// The index of the finest level.
    pub fn finest(&self) -> usize {
        self.levels.len() - 1
    }

    /// The categories of a level, or of the reader's own groups, whose number is the one after the finest.
    ///
    /// # Panics
    /// When there is no such level: levels are checked where they are read.
    pub(crate) fn level(&self, level: usize) -> &Categories {
        match &self.districts {
            Some(own) if level == self.levels.len() => &own.groups,
            _ => &self.levels[level],
        }
    }

    /// The reader's own groups, if that is what a number means.
    pub(crate) fn districts_at(&self, level: usize) -> Option<&Districts> {
        self.districts.as_deref().filter(|_| level == self.levels.len())
    }

    /// The coarsest level that tells the groups of this one apart: the level itself, but for a reader's own groups.
    pub(crate) fn told_by(&self, level: usize) -> usize {
        self.districts_at(level).map_or(level, |own| own.of)
    }

    /// The ancestor at `to` of every node at level `from`, which tells them apart: `to <= from`, but where `to` is a reader's own groups.
    pub fn ancestors(&self, from: usize, to: usize) -> Vec<u32> {
        if from == to {
            return (0..self.level(to).len() as u32).collect();
        }
        if let Some(own) = self.districts_at(to) {
            return self.ancestors(from, own.of).iter().map(|&node| own.group_of[node as usize]).collect();
        }
        let mut up = self.levels[from].parent.clone();
        for level in (to + 1..from).rev() {
            for node in &mut up {
                *node = self.levels[level].parent[*node as usize];
            }
        }
        up
    }

    /// What is said of each node of a level, or of each of the reader's own groups, as said of the finest nodes below.
    pub(crate) fn down(&self, level: usize, of: &[bool]) -> Vec<bool> {
        let each = |above: &[bool], of: &[u32]| -> Vec<bool> {
            of.iter().map(|&node| above.get(node as usize) == Some(&true)).collect()
        };
        let (level, mut down) = match self.districts_at(level) {
            Some(own) => (own.of, each(of, &own.group_of)),
            None => (level, of.to_vec()),
        };
        for finer in self.levels.iter().skip(level + 1) {
            down = each(&down, &finer.parent);
        }
        down
    }
}
