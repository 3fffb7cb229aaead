//! The exact privacy loss of a plan: what δ it has at an ε, and the other way round.
//!
//! **Guarantee.** A unit that comes or goes moves the integers of a block by `⊗ w`, whole numbers, up to what the published contrasts do not
//! see (see each kind in [`super::block`]); all blocks together are one vector of integers with independent noises. What is
//! published is made of them, so it loses no more than they do, and their loss is a law ([`crate::loss`]). **Proof.** Post-processing; the loss of independent noises
//! is the sum of theirs. **Source.** Canonne, Kamath & Steinke 2020, section 3, for one noise.
//!
//! **The worst amount.** Beside the count a row moves sums of `t`, and others of what else it has, by `t·w`, with `|t| ≤ H`, and may have no value at all. Of all these rows one
//! at an end has the largest δ at every ε, and it is the one that is looked at. **Proof.** Every integer moves furthest for a row at an end, all together: the value by H, its
//! square by the most, and the counts of rows with a value and of those beyond that end by one. Let noise fall from 0 as its square does, so that `p(x − v)/p(x)` rises in x. The best test of
//! whether an integer moved by v is whether it is above a threshold, and the further it moves the more often it is there: so what tells v from 0 tells no less of a larger v, in one
//! integer, and then in several with independent noises (Dong, Roth & Su 2022, on products of trade-off functions). ∎
//!
//! Where a unit's cell matters, every kind of cell has a law of its own and the largest δ counts. That is so within one release, whose
//! scales are fixed before anything is seen: across releases ρ adds up.

use super::block::component_part;
use super::{Based, Block, Telling};
use super::{Basis, Measurement, Neighbours, Noise, Plan, Subject};
use crate::cube::{Axis, Frame, Level, walsh};
use crate::exact::Rational;
use crate::loss::{Loss, Moved};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

/// More kinds of cells are not looked at one by one, nor more blocks of all kinds together.
const MOST_KINDS: usize = 64;
const MOST_BLOCKS: usize = 1 << 21;
/// What a ratio of whole numbers may be from its double, and more.
const HAIR: f64 = 1.0 / (1u64 << 50) as f64;

/// The laws of a plan's privacy loss, one for every kind of cell that a unit may be in.
#[derive(Debug, Clone)]
pub struct Losses(Vec<Loss>);

/// Why a plan's δ comes from its ρ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apart {
    /// Pure ε needs no δ.
    Pure,
    /// A unit changes.
    Substitute,
    /// A unit has several rows.
    Rows,
    /// The rows that were moved to either end of an amount have noises of different scales.
    Ends,
    /// Copies for several recipients.
    Copies,
    /// The agency's own rows are measured.
    Own,
    /// Nodes have weights.
    Weights,
    /// Cells are of too many kinds.
    Kinds,
    /// Numbers that do not fit.
    Size,
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Apart::Pure => "its noise is pure",
            Apart::Substitute => "a unit may change its cell",
            Apart::Rows => "a unit may have several rows",
            Apart::Ends => "rows moved to either end have different noises",
            Apart::Copies => "there are several recipients",
            Apart::Own => "rows of its own are measured",
            Apart::Weights => "groups of unequal size have weights of their own",
            Apart::Kinds => "its cells are of too many kinds",
            Apart::Size => "its numbers are too large",
        })
    }
}

/// How a dimension of a block is told.
#[derive(Clone)]
enum Told {
    /// One of a table's cells.
    Cell,
    /// Scaled counts, of which contrasts are published.
    Scaled,
    /// One of two siblings.
    Pair,
    /// A sign in every coefficient.
    Signs,
    /// Rows of a basis.
    Basis(Arc<Basis>),
}

/// How far how many integers move, each distance once.
type Steps = Vec<(u64, u64)>;

/// The steps of all kinds there are, by number.
#[derive(Default)]
struct Known {
    numbers: HashMap<Steps, u32>,
    all: Vec<Steps>,
}

impl Known {
    fn number(&mut self, steps: Steps) -> u32 {
        let next = self.all.len() as u32;
        *self.numbers.entry(steps).or_insert_with_key(|steps| {
            self.all.push(steps.clone());
            next
        })
    }
}

impl Losses {
    /// Those of a plan; or why there are none.
    pub fn of(plan: &Plan, frame: &Frame) -> Result<Losses, Apart> {
        if plan.noise != Noise::Gaussian {
            return Err(Apart::Pure);
        }
        if plan.copy.is_some() {
            return Err(Apart::Copies);
        }
        if plan.neighbours != Neighbours::AddRemove {
            return Err(Apart::Substitute);
        }
        if plan.max_rows > 1 {
            return Err(Apart::Rows);
        }
        let mut known = Known::default();
        // For each dimension the ways it is told, and for each way the steps of the nodes of its level.
        let mut ways: Vec<Vec<(Level, Told, Vec<u32>)>> = vec![Vec::new(); frame.axes.len()];
        let mut blocks: Vec<Measured> = Vec::with_capacity(plan.measured());
        for (subject, m) in moved_together(plan)? {
            let mut own = Vec::with_capacity(m.block.cuboid().len());
            for (level, told) in told(&m.block)? {
                let ways = &mut ways[level.dimension];
                let like = ways.iter().position(|(l, t, _)| *l == level && same(t, &told));
                let at = match like {
                    Some(at) => at,
                    None => {
                        let steps = steps(frame, level, &told).ok_or(Apart::Size)?;
                        let numbers = steps.into_iter().map(|s| known.number(s)).collect();
                        ways.push((level, told, numbers));
                        ways.len() - 1
                    }
                };
                own.push((level.dimension, at));
            }
            let reach = subject.most(1).try_into().map_err(|_| Apart::Size)?;
            blocks.push(Measured { told: own, reach, variance: m.scale.to_f64() });
        }
        let kinds: Vec<Vec<Vec<u32>>> =
            ways.iter().zip(&frame.axes).map(|(ways, axis)| kinds(ways, axis)).collect();
        let many = kinds.iter().try_fold(1usize, |n, of| n.checked_mul(of.len()));
        let many = many.filter(|n| *n <= MOST_KINDS && n.saturating_mul(blocks.len()) <= MOST_BLOCKS);
        let all = (0..many.ok_or(Apart::Kinds)?).map(|mut number| {
            let kind: Vec<&Vec<u32>> = kinds
                .iter()
                .map(|of| {
                    let own = &of[number % of.len()];
                    number /= of.len();
                    own
                })
                .collect();
            loss(&blocks, &kind, &known.all).ok_or(Apart::Size)
        });
        Ok(Losses(all.collect::<Result<_, _>>()?))
    }

    /// δ at an ε: never less than it is.
    pub fn delta(&self, epsilon: f64) -> f64 {
        self.0.iter().map(|loss| loss.delta(epsilon).above).fold(0.0, f64::max)
    }

    /// Whether δ at this ε is no more than that, for certain.
    pub fn within(&self, epsilon: Rational, delta: Rational) -> bool {
        self.fits(epsilon.to_f64() * (1.0 - HAIR), Losses::goal(delta))
    }

    /// The same of doubles.
    pub fn fits(&self, epsilon: f64, delta: f64) -> bool {
        self.0.iter().all(|loss| loss.within(epsilon, delta))
    }

    /// A double that is no more than this δ.
    fn goal(delta: Rational) -> f64 {
        delta.to_f64() * (1.0 - HAIR)
    }

    /// The least ε at a δ, rounded up: δ there is no more, for certain. `None` for a δ of zero or not below 1, or beyond what doubles reach.
    pub fn epsilon(&self, delta: Rational) -> Option<f64> {
        let delta = Losses::goal(delta);
        if !(delta < 1.0) {
            return None;
        }
        let mut most = 0.0;
        for loss in &self.0 {
            // Of most kinds it is no more than that of one before.
            if most == 0.0 || !loss.within(most, delta) {
                most = loss.epsilon(delta)?;
            }
        }
        Some(most)
    }

    /// With all scales times a factor.
    pub fn scaled(&self, factor: f64) -> Losses {
        Losses(self.0.iter().map(|loss| loss.scaled(factor)).collect())
    }

    /// The largest ρ of a kind of cell, to within rounding.
    pub(crate) fn rho(&self) -> f64 {
        self.0.iter().map(Loss::rho).fold(0.0, f64::max)
    }
}

/// A block as a unit moves it.
struct Measured {
    /// For each of its dimensions the way in which it is told.
    told: Vec<(usize, usize)>,
    /// By how much the dearest row moves what one more row would move by one.
    reach: u64,
    variance: f64,
}

/// All that the dearest row moves: of the rows beyond either end of an amount it is one kind.
fn moved_together(plan: &Plan) -> Result<Vec<(&Subject, &Measurement)>, Apart> {
    let mut all = Vec::with_capacity(plan.measured());
    for channel in &plan.channels {
        if let Subject::Above(quantity) = &channel.subject
            && let Some(below) = plan.channel(&Subject::Below(quantity.clone()))
        {
            if below.measurements != channel.measurements {
                return Err(Apart::Ends);
            }
            continue;
        }
        all.extend(channel.measurements.iter().map(|m| (&channel.subject, m)));
    }
    Ok(all)
}

/// How the dimensions of a block are told.
fn told(block: &Block) -> Result<Vec<(Level, Told)>, Apart> {
    let all = |told: Told| block.cuboid().iter().map(|level| (level, told.clone())).collect();
    Ok(match block {
        Block::Table(_) => all(Told::Cell),
        Block::Component(_) => all(Told::Scaled),
        Block::Pairs(_) => all(Told::Pair),
        Block::Walsh(_) => all(Told::Signs),
        Block::Based(based) => of_based(based)?,
        Block::Rows(_) => return Err(Apart::Own),
    })
}

fn of_based(based: &Based) -> Result<Vec<(Level, Told)>, Apart> {
    let told = |(d, l, told): (usize, usize, &Telling)| {
        let told = match told {
            Telling::Siblings => Told::Scaled,
            Telling::Basis(basis) => Told::Basis(basis.clone()),
            // Few cells are of one kind where there are many groups, and nobody has worked out the others.
            Telling::Weights(_) => return Err(Apart::Weights),
        };
        Ok((Level::new(d, l), told))
    };
    based.dimensions().map(told).collect()
}

fn same(a: &Told, b: &Told) -> bool {
    match (a, b) {
        (Told::Basis(a), Told::Basis(b)) => Arc::ptr_eq(a, b) || a == b,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// How far a unit in each node of a level moves what is measured of the dimension. `None` where that does not fit.
fn steps(frame: &Frame, level: Level, told: &Told) -> Option<Vec<Steps>> {
    let rung = frame.rung(level);
    let sorted = |moved: &mut dyn Iterator<Item = (u64, u64)>| -> Steps {
        let mut all: BTreeMap<u64, u64> = BTreeMap::new();
        moved.filter(|m| m.0 > 0 && m.1 > 0).for_each(|(by, copies)| *all.entry(by).or_default() += copies);
        all.into_iter().collect()
    };
    let of_group = |node: usize| rung.siblings.get(*rung.parent.get(node)? as usize).copied();
    (0..rung.len())
        .map(|node| match told {
            Told::Cell => Some(vec![(1, 1)]),
            Told::Pair => Some(sorted(&mut [(1, u64::from(of_group(node)? > 1))].into_iter())),
            Told::Signs => Some(sorted(&mut [(1, walsh::padded(rung.real_len()) - 1)].into_iter())),
            Told::Scaled => {
                let (own, others) = component_part(rung, of_group(node)?)?;
                Some(sorted(&mut [(own, 1), (others, u64::from(of_group(node)?) - 1)].into_iter()))
            }
            Told::Basis(basis) => {
                let entries = (0..basis.rows()).map(|row| basis.row(row)[node].unsigned_abs().into());
                Some(sorted(&mut entries.map(|by| (by, 1))))
            }
        })
        .collect()
}

/// The kinds of cells of a dimension: for each the number of its steps in every way.
fn kinds(ways: &[(Level, Told, Vec<u32>)], axis: &Axis) -> Vec<Vec<u32>> {
    let Some(finest) = ways.iter().map(|(level, ..)| level.level).max().and_then(|l| axis.rung(l)) else {
        return vec![Vec::new()];
    };
    // From the finest rung upwards, where each of its nodes is.
    let mut at: Vec<u32> = (0..axis.rungs[finest].len() as u32).collect();
    let mut found = vec![vec![0; ways.len()]; at.len()];
    for rung in axis.rungs[..=finest].iter().rev() {
        for (w, (level, _, numbers)) in ways.iter().enumerate() {
            if level.level == rung.level {
                found.iter_mut().zip(&at).for_each(|(kind, node)| kind[w] = numbers[*node as usize]);
            }
        }
        if rung.level > 0 {
            at.iter_mut().for_each(|node| *node = rung.parent[*node as usize]);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The loss of a kind of cell. `None` where something does not fit.
fn loss(blocks: &[Measured], kind: &[&Vec<u32>], known: &[Steps]) -> Option<Loss> {
    // Most blocks of a large plan are alike.
    let mut alike: HashMap<(Vec<u32>, u64, u64), u64> = HashMap::new();
    for block in blocks {
        let mut own: Vec<u32> = block.told.iter().map(|&(d, way)| kind[d][way]).collect();
        own.sort_unstable();
        *alike.entry((own, block.reach, block.variance.to_bits())).or_default() += 1;
    }
    let mut moved = Vec::new();
    // In an order of their own, so that sums are the same everywhere.
    let alike: BTreeMap<_, _> = alike.into_iter().collect();
    for ((dimensions, reach, bits), times) in alike {
        let mut product: Steps = vec![(reach, times)];
        for number in dimensions {
            let steps = known.get(number as usize)?;
            let mut next: BTreeMap<u64, u64> = BTreeMap::new();
            for (by, copies) in &product {
                for (more, others) in steps {
                    let entry = next.entry(by.checked_mul(*more)?).or_default();
                    *entry = entry.checked_add(copies.checked_mul(*others)?)?;
                }
            }
            product = next.into_iter().collect();
        }
        let variance = f64::from_bits(bits);
        moved.extend(product.into_iter().map(|(by, copies)| Moved { by, copies, variance }));
    }
    Loss::new(moved)
}

#[cfg(test)]
mod tests;
