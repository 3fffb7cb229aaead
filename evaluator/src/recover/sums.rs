//! What all measured tables together say of a component: `b_A = P_A Σ_{B ⊇ A} w_B Upᵀ y_B`, the right-hand side of the normal equations.
//!
//! Coarse components are told by very many tables: the total by all. So the first answer goes through all tables once, and keeps the sums of
//! those components that would take long to add up again; the others are read where an answer needs them. What is kept depends on the
//! plan alone, and so does the order in which numbers are added: where the source [keeps](super::Keeps) the same sums from an earlier time,
//! they are the same to the last bit.

use super::context::Context;
use super::gls::{Gls, Parts, Weighted};
use super::{RecoverError, Source, Sum};
use crate::cube::frame::{push, take_off};
use crate::cube::{Cuboid, Frame, Level};
use rustc_hash::FxHashMap;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Values that are read again for an answer, rather than that their sums are kept.
const AGAIN: f64 = (1u64 << 18) as f64;
/// The most numbers that are kept.
const MOST: f64 = (1u64 << 24) as f64;

/// Sums of components, before they are projected.
type Kept = FxHashMap<Cuboid, Vec<f64>>;

/// The sums that are kept.
#[derive(Default)]
pub(super) struct Sums(Mutex<Option<Arc<Kept>>>);

impl Sums {
    /// `b_A` of these components, none of which is below an exact table.
    pub(super) fn parts<S: Source>(
        &self,
        context: &Context<S>,
        tables: &[Weighted],
        wanted: Vec<Cuboid>,
    ) -> Result<Parts, RecoverError> {
        let earlier = context.source.kept().filter(|kept| kept.is_there());
        let own = if earlier.is_some() { None } else { Some(self.kept(context, tables)?) };
        let mut missing: Kept = FxHashMap::default();
        let mut out = Parts::new();
        for a in &wanted {
            let sum = match (&own, earlier) {
                (Some(own), _) => own.get(a).cloned(),
                (None, Some(earlier)) => match earlier.sum(a) {
                    Sum::Found(sum) if sum.len() == context.frame.len(a) => Some(sum),
                    Sum::Found(_) | Sum::Absent => None,
                    // There is nothing any more: as if there had never been.
                    Sum::Gone => return self.parts(context, tables, wanted),
                },
                (None, None) => None,
            };
            match sum {
                Some(sum) => {
                    out.insert(a.clone(), project(&context.frame, a, sum));
                }
                None => {
                    let none = vec![0.0; context.frame.len(a)];
                    missing.insert(a.clone(), none);
                }
            }
        }
        add_up(context, tables, &mut missing)?;
        out.extend(missing.into_iter().map(|(a, sum)| {
            let part = project(&context.frame, &a, sum);
            (a, part)
        }));
        Ok(out)
    }

    fn kept<S: Source>(&self, context: &Context<S>, tables: &[Weighted]) -> Result<Arc<Kept>, RecoverError> {
        // Held all the way, so that two threads do not do the same. A panic elsewhere leaves nothing half-written here.
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &*held {
            return Ok(kept.clone());
        }
        let mut kept = worth_keeping(context, tables);
        add_up(context, tables, &mut kept)?;
        if let Some(keeps) = context.source.kept() {
            let mut sums: Vec<(&Cuboid, &[f64])> = kept.iter().map(|(a, sum)| (a, &sum[..])).collect();
            sums.sort_unstable_by_key(|(a, _)| *a);
            keeps.keep(&sums);
        }
        let kept = Arc::new(kept);
        *held = Some(kept.clone());
        Ok(kept)
    }
}

/// The components that would take long to add up again, with zeros: the smallest first, as many as may be kept.
fn worth_keeping<S: Source>(context: &Context<S>, tables: &[Weighted]) -> Kept {
    let mut read: FxHashMap<Cuboid, f64> = FxHashMap::default();
    for t in tables {
        let cells = context.frame.cells(&t.cuboid);
        for a in context.frame.below(&t.cuboid) {
            *read.entry(a).or_default() += cells;
        }
    }
    let mut worth: Vec<(u64, Cuboid)> = read
        .into_iter()
        .map(|(a, read)| (context.frame.cells(&a), read, a))
        .filter(|(own, read, a)| *read > AGAIN && 2.0 * own < *read && !context.is_exact(a))
        .map(|(own, _, a)| (own as u64, a))
        .collect();
    worth.sort_unstable();
    let mut held = 0.0;
    let fits = |(own, a): (u64, Cuboid)| {
        held += own as f64;
        (held <= MOST).then(|| (a, vec![0.0; own as usize]))
    };
    worth.into_iter().map_while(fits).collect()
}

/// Adds what every table says to the sums that are wanted.
fn add_up<S: Source>(
    context: &Context<S>,
    tables: &[Weighted],
    wanted: &mut Kept,
) -> Result<(), RecoverError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let frame = &context.frame;
    // Over unequal groups what is known is in the way; over equal ones it has no part in other components.
    let known = if context.balanced { Parts::new() } else { context.exact_parts()? };
    let gls = Gls::new(frame, tables, context.balanced);
    let stage = context.source.watch().stage("adding up", tables.len() as u64);
    for (index, t) in tables.iter().enumerate() {
        stage.advance(1);
        let below: Vec<Cuboid> =
            frame.below(&t.cuboid).into_iter().filter(|a| wanted.contains_key(a)).collect();
        if below.is_empty() {
            continue;
        }
        let mut values = context.read(index)?.floats();
        if !known.is_empty() {
            values.iter_mut().zip(gls.build(&t.cuboid, &known)).for_each(|(v, known)| *v -= known);
        }
        let table = t.to_cells(frame, values);
        let below: Vec<&Cuboid> = below.iter().collect();
        let levels: Vec<Level> = t.cuboid.iter().collect();
        each_mean(frame, &levels, levels.len(), &below, &table, &mut |a, mean| {
            if let Some(sum) = wanted.get_mut(a) {
                sum.iter_mut().zip(mean).for_each(|(s, v)| *s += t.weight * v);
            }
        });
    }
    Ok(())
}

/// Hands over the means of a table over the cells of each of the coarser tables in `below`. Dimensions from `upto` on are as they shall be;
/// of the others the last one is made coarser first, so that the most of the work is on rows of memory.
fn each_mean(
    frame: &Frame,
    levels: &[Level],
    upto: usize,
    below: &[&Cuboid],
    table: &[f64],
    visit: &mut dyn FnMut(&Cuboid, &[f64]),
) {
    let Some(i) = upto.checked_sub(1) else {
        below.iter().for_each(|a| visit(a, table));
        return;
    };
    let (d, mut at) = (levels[i].dimension, levels[i].level);
    let rungs = &frame.axes[d].rungs;
    let inner: usize = levels[i + 1..].iter().map(|&l| frame.rung(l).len()).product();
    let mut coarser: Option<Vec<f64>> = None;
    let mut rest = below.to_vec();
    loop {
        let (here, further): (Vec<&Cuboid>, Vec<&Cuboid>) = rest.into_iter().partition(|a| a.level(d) == at);
        let own = coarser.as_deref().unwrap_or(table);
        if !here.is_empty() {
            let mut levels = levels.to_vec();
            levels[i].level = at;
            each_mean(frame, &levels, i, &here, own, visit);
        }
        let Some(r) = frame.axes[d].rung(at).filter(|&r| r > 0 && !further.is_empty()) else { return };
        coarser = Some(push(own, inner, &rungs[r]));
        at = rungs[r - 1].level;
        rest = further;
    }
}

/// `P_A`: what no coarser table knows.
fn project(frame: &Frame, a: &Cuboid, mut table: Vec<f64>) -> Vec<f64> {
    let mut inner = 1;
    for at in a.iter().rev() {
        let rung = frame.rung(at);
        let mean = push(&table, inner, rung);
        take_off(&mut table, &mean, inner, rung);
        inner *= rung.len();
    }
    table
}

/// The means of a component's numbers over nodes that are lumped: `lumps` has for each dimension and rung the lump of each node.
pub(super) fn lumped(
    (whole, small): (&Frame, &Frame),
    lumps: &HashMap<usize, Vec<Vec<u32>>>,
    a: &Cuboid,
    mut part: Vec<f64>,
) -> Vec<f64> {
    let mut inner = 1;
    for at in a.iter().rev() {
        let (from, to) = (whole.rung(at), small.rung(at));
        let rung = whole.axes[at.dimension].rung(at.level).unwrap_or(0);
        if let Some(lump) =
            lumps.get(&at.dimension).and_then(|of| of.get(rung)).filter(|_| from.len() > to.len())
        {
            let mut sums = vec![0.0; part.len() / from.len() * to.len()];
            let rows = part.chunks_exact(from.len() * inner).zip(sums.chunks_exact_mut(to.len() * inner));
            for (row, sums) in rows {
                for (values, &k) in row.chunks_exact(inner).zip(lump) {
                    let share = 1.0 / to.multiplicity[k as usize] as f64;
                    let sums = &mut sums[k as usize * inner..(k as usize + 1) * inner];
                    sums.iter_mut().zip(values).for_each(|(s, v)| *s += share * v);
                }
            }
            part = sums;
        }
        inner *= to.len();
    }
    part
}
