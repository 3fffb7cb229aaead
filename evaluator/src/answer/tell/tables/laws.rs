//! The joint laws of a query's groups: one for each kind of group that the release cannot tell apart.

use super::Evaluator;
use super::part::{Part, Reach};
use crate::answer::error::AnswerError;
use crate::answer::tell::AllRows;
use crate::cube::{Axis, Frame, Level, MAX_WEIGHTS, Members, Numbers};
use crate::joint::{JointLaw, Noise, merge_gaussians};
use crate::law::NoiseLaw;
use crate::recover::zeros::Lumped;
use crate::recover::{RecoverError, Recovery, Source};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The most coefficients of noises behind all kinds of rows of one answer, where rows do not look alike.
const MOST_COEFFICIENTS: f64 = 1e10;

/// How many words of what a law depends on are kept with it.
const MOST_LOOK: usize = 1 << 12;

/// How many laws are kept of groups that come one after the other.
const MOST_KNOWN: usize = 1 << 8;

/// The most nodes that are gone through to make all kinds of groups at once.
const MOST_MADE: f64 = (1u64 << 24) as f64;

/// What one dimension contributes to all aggregates together.
pub(super) struct Side {
    pub(super) dim: usize,
    /// The finest level of any part.
    pub(super) level: usize,
    /// For each of its nodes what all filters together say of it.
    pub(super) colour: Vec<u32>,
    /// For each of its nodes what is known of it to be empty; nothing where all are alike.
    empty: Vec<u32>,
    /// Where the level grouped by stands in GROUP BY, if any part keeps to its groups, and the level.
    pub(super) group: Option<(usize, usize)>,
    /// For each node the group it belongs to (0 without grouping).
    pub(super) group_of: Vec<u32>,
    pub(super) groups: usize,
    /// Where a row's law depends on the nodes of its own group alone: those of each group.
    own: Option<Members>,
}

/// One dimension on which like nodes are lumped.
struct Ladder {
    dim: usize,
    axis: Axis,
    /// For each rung up to the side's one node of each lump.
    nodes: Vec<Vec<u32>>,
}

/// One kind of group along one dimension: what its error law depends on.
pub(super) struct Kind {
    lumped: Ladder,
    /// For each lump of the side's level: the colour, and whether it is in the group.
    lumps: Vec<(u32, bool)>,
    /// A group of this kind.
    pub(super) group: u32,
}

/// The kinds of groups along one dimension.
pub(super) enum Kinds {
    /// And for each group its kind.
    Few(Vec<Kind>, Vec<usize>),
    /// Too many to make them all: for each group the first that looks like it, whose kind is made when it is looked at.
    Apart(Vec<u32>),
}

impl Kinds {
    /// A group of each kind, and how many there are of it.
    pub(super) fn groups(&self) -> Vec<(u32, f64)> {
        match self {
            Kinds::Few(kinds, kind_of) => {
                let mut each: Vec<(u32, f64)> = kinds.iter().map(|k| (k.group, 0.0)).collect();
                kind_of.iter().for_each(|&k| each[k].1 += 1.0);
                each
            }
            Kinds::Apart(like) => {
                let mut each: BTreeMap<u32, f64> = BTreeMap::new();
                like.iter().for_each(|&group| *each.entry(group).or_default() += 1.0);
                each.into_iter().collect()
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Kinds::Few(kinds, _) => kinds.len(),
            Kinds::Apart(like) => (0u32..).zip(like).filter(|(group, like)| group == *like).count(),
        }
    }

    /// The number of a group's kind.
    fn of(&self, group: usize) -> usize {
        match self {
            Kinds::Few(_, kind_of) => kind_of[group],
            Kinds::Apart(like) => like[group] as usize,
        }
    }
}

impl<S: Source> Evaluator<S> {
    /// What all parts together tell apart along each dimension.
    pub(super) fn sides(&self, parts: &[Part], group_by: &[Level]) -> Vec<Side> {
        let mut levels: BTreeMap<usize, usize> = BTreeMap::new();
        for reach in parts.iter().flat_map(|p| &p.reaches) {
            let level = levels.entry(reach.dim).or_default();
            *level = reach.level.max(*level);
        }
        // What is known to be empty weighs on every estimate, also of dimensions that no part names.
        let zeros = self.recovery.zeros();
        for (dim, _) in zeros.iter().flat_map(|z| z.classes()) {
            let in_use = self.recovery.frame().axes[dim].rungs.last().map_or(0, |r| r.level);
            levels.insert(dim, in_use);
        }
        levels
            .into_iter()
            .map(|(dim, level)| {
                let d = &self.cube().dimensions[dim];
                let mut colour = vec![0u32; d.levels[level].len()];
                let mut group = None;
                // The common refinement of the classes so far and some others.
                let refine = |colour: &mut [u32], from: usize, class_of: &[u32]| {
                    let mut known = Numbers::default();
                    for (c, up) in colour.iter_mut().zip(d.ancestors(level, from)) {
                        *c = known.of((*c, class_of[up as usize]), || ());
                    }
                };
                for (_, class_of) in zeros.iter().flat_map(|z| z.classes()).filter(|(at, _)| *at == dim) {
                    // A class is the same for all finest nodes below a node in use, or no table tells them apart.
                    let mut of_node = vec![0; colour.len()];
                    for (finest, &node) in d.ancestors(d.finest(), level).iter().enumerate() {
                        of_node[node as usize] = class_of[finest];
                    }
                    refine(&mut colour, level, &of_node);
                }
                let empty = if colour.iter().any(|&c| c > 0) { colour.clone() } else { Vec::new() };
                for reach in parts.iter().flat_map(|p| &p.reaches).filter(|r| r.dim == dim) {
                    group = group.or(reach.group.map(|i| (i, group_by[i].level)));
                    if reach.classes > 1 {
                        refine(&mut colour, reach.level, &reach.class_of);
                    }
                }
                let group_of = match group {
                    Some((_, g)) => d.ancestors(level, g),
                    None => vec![0; colour.len()],
                };
                let groups = group.map_or(1, |(_, g)| d.level(g).len());
                let mut side = Side { dim, level, colour, empty, group, group_of, groups, own: None };
                side.own = self.own(&side, parts);
                side
            })
            .collect()
    }

    /// The nodes of each group, where nothing outside of a row's own has a part in its law: no figure is of other groups, nothing is known to be
    /// empty, and what hangs together from one node can be lumped.
    fn own(&self, side: &Side, parts: &[Part]) -> Option<Members> {
        let mut reaches = parts.iter().flat_map(|p| &p.reaches).filter(|r| r.dim == side.dim);
        let alone = side.group.is_some() && reaches.all(|r| r.group.is_some());
        if !alone || !self.recovery.prunes(side.dim) {
            return None;
        }
        Some(Members::new(&side.group_of, side.groups))
    }

    /// What a group looks like along one dimension.
    fn kind(&self, side: &Side, group: u32) -> Kind {
        let full = &self.recovery.frame().axes[side.dim];
        let at = full.rung(side.level).unwrap_or(0);
        if let Some(members) = &side.own {
            let (colour, kin) = (|node: u32| side.colour[node as usize], self.recovery.kin(side.dim));
            let (axis, nodes) = full.prune_to(at, members.of(group), colour, kin);
            return Kind { lumped: Ladder { dim: side.dim, axis, nodes }, lumps: Vec::new(), group };
        }
        let inside = |node: usize| side.group.is_none() || side.group_of[node] == group;
        let colour: Vec<u32> =
            (0..side.colour.len()).map(|n| side.colour[n] * 2 + u32::from(inside(n))).collect();
        let (axis, nodes) = self.recovery.lump(side.dim, at, &colour);
        let lumps = nodes[at].iter().map(|&n| (side.colour[n as usize], inside(n as usize))).collect();
        Kind { lumped: Ladder { dim: side.dim, axis, nodes }, lumps, group }
    }

    /// The kinds of groups along one dimension. Where `one` group is asked for, no other's is made.
    fn kinds(&self, side: &Side, one: bool) -> Kinds {
        let axis = &self.recovery.frame().axes[side.dim];
        let at = axis.rung(side.level).unwrap_or(0);
        let lumps = self.recovery.lumps(side.dim);
        let own = side.group.is_some_and(|(_, g)| g > self.cube().dimensions[side.dim].finest());
        if own || side.group.is_some() && self.recovery.prunes(side.dim) {
            return Kinds::Apart((0..side.groups as u32).collect());
        }
        // Groups that a symmetry of the (coloured) axis maps to each other are of one kind.
        let orbit: Vec<u32> = match side.group.map(|(_, g)| axis.rung(g)) {
            None => vec![0],
            Some(Some(rung)) if self.recovery.collapses(side.dim) => axis.alike(at, &side.colour, rung),
            Some(Some(rung)) if lumps => axis.lump(at, &side.colour).1.swap_remove(rung),
            // A level that was not measured has no rung of its own, and signed sums have no symmetry: every group
            // is worked out by itself.
            Some(_) => (0..side.groups as u32).collect(),
        };
        let orbits = orbit.iter().max().map_or(0, |&o| o as usize + 1);
        if one || orbits as f64 * side.colour.len() as f64 > MOST_MADE {
            let mut first: Vec<Option<u32>> = vec![None; orbits];
            let like = (0u32..).zip(&orbit).map(|(group, &o)| *first[o as usize].get_or_insert(group));
            return Kinds::Apart(like.collect());
        }
        let mut kinds: Vec<Kind> = Vec::new();
        let mut of_orbit: HashMap<u32, usize> = HashMap::new();
        let kind_of = orbit
            .iter()
            .enumerate()
            .map(|(group, &o)| {
                *of_orbit.entry(o).or_insert_with(|| {
                    let kind = self.kind(side, group as u32);
                    match kinds
                        .iter()
                        .position(|k| k.lumped.axis == kind.lumped.axis && k.lumps == kind.lumps)
                    {
                        Some(known) => known,
                        None => {
                            kinds.push(kind);
                            kinds.len() - 1
                        }
                    }
                })
            })
            .collect();
        Kinds::Few(kinds, kind_of)
    }
}

/// The joint laws of a query's groups, each kind worked out when it is first needed.
pub(super) struct Laws<'a, S> {
    evaluator: &'a Evaluator<S>,
    parts: &'a [Part<'a>],
    pub(super) sides: Vec<Side>,
    pub(super) kinds: Vec<Kinds>,
    known: HashMap<Vec<usize>, Arc<JointLaw>>,
    /// Whether laws that no other group has are kept for no later query.
    passing: bool,
}

impl<'a, S: Source> Laws<'a, S> {
    /// Of all groups, or of `one` that is asked for.
    pub(super) fn new(
        evaluator: &'a Evaluator<S>,
        parts: &'a [Part<'a>],
        group_by: &[Level],
        one: bool,
    ) -> Result<Laws<'a, S>, AnswerError> {
        let sides = evaluator.sides(parts, group_by);
        let classes = |s: &Side| s.colour.iter().max().map_or(1, |&c| c as usize + 1);
        let told_apart = sides.iter().try_fold(1usize, |n, s| n.checked_mul(classes(s)));
        if told_apart.is_none_or(|n| n > MAX_WEIGHTS) {
            return Err(AnswerError::Intricate);
        }
        let kinds: Vec<_> = sides.iter().map(|s| evaluator.kinds(s, one)).collect();
        let several = if one { 1.0 } else { kinds.iter().map(|k| k.len() as f64).product::<f64>() };
        let each: f64 = parts.iter().map(|p| evaluator.recovery.coefficients_behind(&p.cuboid)).sum();
        if several * each > MOST_COEFFICIENTS {
            return Err(RecoverError::TooMuch("the law of every row's error".into()).into());
        }
        Ok(Laws { evaluator, parts, sides, kinds, known: HashMap::new(), passing: false })
    }

    /// Forgets the laws that were worked out once they are many, and says whether it did: thousands of unequal groups have each their own.
    pub(super) fn forget(&mut self) -> bool {
        self.passing = true;
        let many = self.known.len() >= MOST_KNOWN;
        if many {
            self.known.clear();
        }
        many
    }

    /// The joint law of the group with these nodes.
    pub(super) fn of(&mut self, nodes: &[u32]) -> Result<Arc<JointLaw>, AnswerError> {
        let key: Vec<usize> = self
            .sides
            .iter()
            .zip(&self.kinds)
            .map(|(side, kinds)| kinds.of(side.group.map_or(0, |(i, _)| nodes[i] as usize)))
            .collect();
        if let Some(law) = self.known.get(&key) {
            return Ok(law.clone());
        }
        let apart: Vec<Option<Kind>> = (self.sides.iter().zip(&self.kinds).zip(&key))
            .map(|((side, kinds), &k)| {
                matches!(kinds, Kinds::Apart(_)).then(|| self.evaluator.kind(side, k as u32))
            })
            .collect();
        let kinds: Vec<&Kind> = self
            .kinds
            .iter()
            .zip(&key)
            .zip(&apart)
            .filter_map(|((kinds, &k), apart)| match kinds {
                Kinds::Few(kinds, _) => kinds.get(k),
                Kinds::Apart(_) => apart.as_ref(),
            })
            .collect();
        // Every reach has a side; its lumps never mix what this part tells apart.
        let group = |reach: &Reach| Some(kinds[self.sides.iter().position(|s| s.dim == reach.dim)?].group);
        let lumped: Vec<&Ladder> = kinds.iter().map(|k| &k.lumped).collect();
        let query = |p: &Part| whole_query(p, &lumped, |reach| reach.group.and_then(|_| group(reach)));
        let queries: Vec<Vec<f64>> = self.parts.iter().map(query).collect();
        let look = self.look(&kinds, &queries);
        let made = || self.work_out(&lumped, queries).map(Arc::new);
        // Of thousands of nodes no other group is the same, and what it depends on takes more room than its law.
        let alone = (self.passing || look.len() > MOST_LOOK) && apart.iter().any(Option::is_some);
        let law = if alone { made()? } else { self.evaluator.laws.of(look, made)? };
        self.known.insert(key, law.clone());
        Ok(law)
    }

    /// All a joint law depends on, as a key.
    fn look(&self, kinds: &[&Kind], queries: &[Vec<f64>]) -> Vec<u64> {
        let mut key = Vec::new();
        for (part, query) in self.parts.iter().zip(queries) {
            key.push(part.cuboid.len() as u64);
            key.extend(part.cuboid.iter().flat_map(|at| [at.dimension as u64, at.level as u64]));
            key.push(query.len() as u64);
            key.extend(query.iter().map(|w| w.to_bits()));
        }
        for (side, kind) in self.sides.iter().zip(kinds) {
            key.push(side.dim as u64);
            // Lumps that are alike but for what is known to be empty of them have other laws.
            let at = self.evaluator.recovery.frame().axes[side.dim].rung(side.level).unwrap_or(0);
            let nodes = kind.lumped.nodes.get(at).filter(|_| !side.empty.is_empty()).into_iter().flatten();
            key.extend(nodes.map(|&node| u64::from(side.empty[node as usize])));
            for rung in &kind.lumped.axis.rungs {
                key.push(rung.len() as u64);
                key.extend(rung.parent.iter().map(|&p| u64::from(p)));
                key.extend(rung.copies.iter().map(|&c| u64::from(c)));
                key.extend(&rung.multiplicity);
                // Nodes with weights are not alike, wherever they hang.
                key.extend(rung.stands_for().iter().map(|&node| u64::from(node)));
            }
        }
        key
    }

    fn work_out(&self, lumped: &[&Ladder], queries: Vec<Vec<f64>>) -> Result<JointLaw, AnswerError> {
        let recovery = &self.evaluator.recovery;
        let frame = self.evaluator.lumped_frame(lumped);
        let mut gathered = Gathered::new(self.parts.len());
        let mut slack = Vec::with_capacity(self.parts.len());
        for (column, (part, query)) in self.parts.iter().zip(queries).enumerate() {
            slack.push(recovery.slack(&part.cuboid, &query)?);
            gathered.add(recovery.coefficients(&frame, &part.cuboid, query)?, &[column]);
        }
        Ok(joint_law(recovery, &frame.frame, gathered, slack))
    }
}

/// A part's query on the lumps of its table: the filter's weight where all its dimensions are inside the group that each is in.
fn whole_query(part: &Part, lumped: &[&Ladder], group: impl Fn(&Reach) -> Option<u32>) -> Vec<f64> {
    part.query(|reach| {
        let own = lumped.iter().find(|l| l.dim == reach.dim)?;
        let rung = own.axis.rung(reach.level).unwrap_or(0);
        let group = group(reach);
        let inside = |node: u32| group.is_none_or(|g| reach.group_of[node as usize] == g);
        Some(own.nodes[rung].iter().map(|&n| (n, inside(n))).collect())
    })
}

/// The coefficients of every noise of every measurement in each of some figures.
struct Gathered {
    width: usize,
    of: BTreeMap<usize, Vec<Vec<f64>>>,
}

impl Gathered {
    fn new(width: usize) -> Gathered {
        Gathered { width, of: BTreeMap::new() }
    }

    /// Adds those of one query to some figures.
    fn add(&mut self, measured: Vec<(usize, Vec<f64>)>, figures: &[usize]) {
        for (measurement, coefficients) in measured {
            let none = || vec![vec![0.0; self.width]; coefficients.len()];
            let noises = self.of.entry(measurement).or_insert_with(none);
            for (noise, c) in noises.iter_mut().zip(coefficients) {
                figures.iter().for_each(|&figure| noise[figure] += c);
            }
        }
    }
}

impl<S: Source> Evaluator<S> {
    fn lumped_frame(&self, lumped: &[&Ladder]) -> Lumped {
        self.recovery.lumped_frame(lumped.iter().map(|l| (l.dim, l.axis.clone(), l.nodes.clone())))
    }

    /// The joint law of the errors of all aggregates in all of many rows. Each group alone is worked out over axes on which everything outside
    /// of it is lumped. For statements about all groups together their errors must be combinations of the *same* noises, so here the nodes
    /// of all groups are told apart at once, and only what no group and no condition tells apart is lumped.
    pub fn joint_rows(&self, all: &AllRows) -> Result<Option<JointLaw>, AnswerError> {
        let AllRows { portions, group_by, rows, most, .. } = *all;
        let (aggregates, width) = (all.figures(), all.width());
        // Aggregate `i` of portion `p` is part `p · aggregates + i`.
        let of_all = portions.iter().enumerate().flat_map(|(p, own)| own.iter().map(move |a| (p, a)));
        let parts: Vec<Part> = of_all.map(|(p, a)| self.part(a, all.levels(p))).collect::<Result<_, _>>()?;
        let lump = |side: &Side| {
            let at = self.recovery.frame().axes[side.dim].rung(side.level).unwrap_or(0);
            let mut known = Numbers::default();
            let each = side.colour.iter().zip(&side.group_of).map(|pair| known.of(pair, || ()));
            let (axis, nodes) = self.recovery.lump(side.dim, at, &each.collect::<Vec<u32>>());
            Ladder { dim: side.dim, axis, nodes }
        };
        let lumped: Vec<Ladder> = self.sides(&parts, group_by).iter().map(lump).collect();
        let lumped: Vec<&Ladder> = lumped.iter().collect();
        let frame = self.lumped_frame(&lumped);
        let blocks = self.recovery.plan().only().measurements.iter().map(|m| m.block.noises(&frame.frame));
        let noises: usize = blocks.fold(0, usize::saturating_add);
        // Over unequal groups, and beside structural zeros, every row takes a run of conjugate gradients.
        let simple = self.recovery.frame().is_balanced() && self.recovery.zeros().is_empty();
        let dear = if simple { 1 } else { 64 };
        if width.saturating_mul(noises).saturating_mul(dear) > most {
            return Ok(None);
        }
        let mut gathered = Gathered::new(width);
        for (at, part) in parts.iter().enumerate() {
            let (portion, column) = (at / aggregates, at % aggregates);
            // Totals over other groups are the same for many rows.
            let mut known: HashMap<Vec<u32>, Vec<usize>> = HashMap::new();
            for (r, (_, row)) in rows.iter().enumerate().filter(|(_, row)| row.0 == portion) {
                let own = part.reaches.iter().filter_map(|reach| row.get(reach.group?).copied()).collect();
                known.entry(own).or_default().push(r);
            }
            let mut kinds: Vec<_> = known.into_values().collect();
            kinds.sort_unstable();
            for same in kinds {
                let Some(&(_, row)) = same.first().and_then(|&r| rows.get(r)) else { continue };
                let query = whole_query(part, &lumped, |reach| row.get(reach.group?).copied());
                let figures: Vec<usize> = same.iter().map(|r| r * aggregates + column).collect();
                gathered.add(self.recovery.coefficients(&frame, &part.cuboid, query)?, &figures);
            }
        }
        Ok(Some(joint_law(&self.recovery, &frame.frame, gathered, vec![0.0; width])))
    }
}

/// The joint law of figures, from the coefficients of every noise of every measurement in each: with all layers of each noise, and with
/// the secret centre that they have in common, where there is one. `slack` is what each figure may be off by beside its noises.
fn joint_law<S: Source>(
    recovery: &Recovery<S>,
    frame: &Frame,
    gathered: Gathered,
    mut slack: Vec<f64>,
) -> JointLaw {
    let width = slack.len();
    let mut noises = Vec::new();
    let mut shares: Vec<Vec<(f64, u64)>> = vec![Vec::new(); width];
    let centre = recovery.centre();
    for (measurement, cells) in gathered.of {
        let copies = recovery.copies(frame, measurement);
        if centre.is_some() {
            for (coefficients, &copies) in cells.iter().zip(&copies) {
                shares.iter_mut().zip(coefficients).for_each(|(s, &c)| s.push((c, copies)));
            }
        }
        for law in recovery.noise(measurement) {
            if let NoiseLaw::DiscreteGaussian { variance } = law
                && merge_gaussians::is_wide(cells.len(), variance)
                && recovery.copies_are_one(measurement)
            {
                let (few, off) = merge_gaussians::merged(&cells, width);
                slack.iter_mut().zip(off).for_each(|(s, off)| *s += off);
                let law = NoiseLaw::Gaussian { variance };
                noises
                    .extend(few.into_iter().map(|c| (Noise { release: 0, measurement, copies: 1, law }, c)));
                continue;
            }
            let each = cells.iter().zip(&copies);
            noises
                .extend(each.map(|(c, &copies)| (Noise { release: 0, measurement, copies, law }, c.clone())));
        }
    }
    if let Some(law) = centre {
        let coefficients = shares.into_iter().map(|s| recovery.shift(s.into_iter())).collect();
        noises.push((Noise { release: 0, measurement: Noise::CENTRE, copies: 1, law }, coefficients));
    }
    JointLaw::new(width, noises).with_slack(slack)
}
