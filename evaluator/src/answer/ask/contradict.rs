//! Whether tables that two releases publish without noise can be of the same rows.
//!
//! What is published without noise has no error, so two releases of the same rows say the same of it. Where they do not, one of them is of other
//! rows (of data that were corrected, say), and no figure is of both. Two tables are compared where they meet: each is added up to the levels
//! that both have, in whole numbers. Every two tables have at least the total.

use crate::answer::error::QueryError;
use crate::answer::tell::open::Answers;
use crate::answer::tell::{channels, pool};
use crate::cube::{Cube, Cuboid, Level};
use crate::plan::limits;
use crate::recover::{RecoverError, Recovery, Source};
use rustc_hash::FxHashSet;

/// Refuses releases of one period where two are not of the same rows.
pub(super) fn refused(releases: &[&Answers]) -> Result<(), QueryError> {
    for (i, b) in releases.iter().enumerate() {
        for a in releases.iter().take(i) {
            why_not(a, b)?.map_or(Ok(()), |why| Err(QueryError::Together(why)))?;
        }
    }
    Ok(())
}

/// Why two releases of one period are not of the same rows; none where no exact table shows it.
fn why_not(a: &Answers, b: &Answers) -> Result<Option<String>, QueryError> {
    let mut found = differing(a.evaluator().recovery(), b.evaluator().recovery())?.map(|at| (None, at));
    for (subject, own, other) in a.channels().shared(b.channels()) {
        if found.is_none() {
            found = differing(own, other)?.map(|at| (Some(channels::named(subject)), at));
        }
    }
    let (first, second) = (a.title(), b.title());
    Ok(found.map(|(what, [at, one, other])| {
        let what = what.unwrap_or_else(|| "the counts of rows".into());
        format!(
            "{first} publishes {what} by {one} without noise, {second} by {other}, and they contradict each other in the table {at}: one of the \
             two is of other rows (of data that were corrected, say), so ask one of them alone"
        )
    }))
}

/// A level of a dimension in each of two releases that makes the same groups there.
type Pair = (Level, Level);

/// The first tables that contradict each other: where they meet, and both themselves.
fn differing<S: Source>(a: &Recovery<S>, b: &Recovery<S>) -> Result<Option<[String; 3]>, RecoverError> {
    let (of_a, of_b) = (&a.plan().exact, &b.plan().exact);
    if of_a.is_empty() || of_b.is_empty() {
        return Ok(None);
    }
    let read = |of: &Recovery<S>, tables: &[Cuboid]| {
        (0..tables.len()).map(|i| of.source().exact(i)).collect::<Result<Vec<_>, _>>()
    };
    let (counts_a, counts_b) = (read(a, of_a)?, read(b, of_b)?);
    let cells = counts_a.iter().chain(&counts_b).map(|t| t.len() as u64).sum();
    let mut left = limits::work(cells);
    let pairs = same_groups(a.cube(), b.cube());
    // Tables of one release agree with each other, so where several meet at one place, the first tell it.
    let mut seen = FxHashSet::default();
    for (one, x) in of_a.iter().zip(&counts_a) {
        for (other, y) in of_b.iter().zip(&counts_b) {
            let meet = meet(&pairs, one, other);
            if !seen.insert(meet.clone()) {
                continue;
            }
            left = left
                .checked_sub((x.len() + y.len()) as u64)
                .ok_or_else(|| RecoverError::TooMuch("comparing exact tables of several releases".into()))?;
            let at = |own: fn(&Pair) -> Level| meet.iter().map(own).collect::<Vec<_>>();
            let (at_a, at_b) = (at(|p| p.0), at(|p| p.1));
            if rolled(a.cube(), one, x, &at_a) != rolled(b.cube(), other, y, &at_b) {
                let names = [&Cuboid::new(at_a), one].map(|c| a.cube().describe(c));
                let [at, one] = names;
                return Ok(Some([at, one, b.cube().describe(other)]));
            }
        }
    }
    Ok(None)
}

/// All levels of two releases that make the same groups of the same categories, coarser ones first; without the total.
fn same_groups(a: &Cube, b: &Cube) -> Vec<Pair> {
    let mut out = Vec::new();
    for (i, own) in a.dimensions.iter().enumerate() {
        let Some(j) = b.dimensions.iter().position(|d| pool::alike(d, own)) else { continue };
        let other = &b.dimensions[j];
        let theirs: Vec<_> = (1..=other.finest()).map(|l| other.ancestors(other.finest(), l)).collect();
        for level in 1..=own.finest() {
            let groups = own.ancestors(own.finest(), level);
            let same = theirs.iter().position(|t| *t == groups);
            out.extend(same.map(|at| (Level::new(i, level), Level::new(j, at + 1))));
        }
    }
    out
}

/// The finest levels that two tables both tell, one of each dimension.
fn meet(pairs: &[Pair], a: &Cuboid, b: &Cuboid) -> Vec<Pair> {
    let told = |at: Level| {
        let both = |(x, y): &&Pair| {
            x.dimension == at.dimension && x.level <= at.level && y.level <= b.level(y.dimension)
        };
        pairs.iter().rev().find(both).copied()
    };
    a.iter().filter_map(told).collect()
}

/// A table added up to some of its levels or coarser ones, cells in the order of these.
fn rolled(cube: &Cube, cuboid: &Cuboid, table: &[i64], to: &[Level]) -> Vec<i128> {
    let size = |at: &Level| cube.dimensions[at.dimension].levels[at.level].len();
    // For each cell of the table where it goes.
    let mut places = vec![0usize];
    for at in cuboid.iter() {
        let steps: Vec<usize> = match to.iter().position(|t| t.dimension == at.dimension) {
            Some(i) => {
                let step: usize = to[i + 1..].iter().map(size).product();
                let up = cube.dimensions[at.dimension].ancestors(at.level, to[i].level);
                up.into_iter().map(|node| node as usize * step).collect()
            }
            None => vec![0; size(&at)],
        };
        places = places.iter().flat_map(|p| steps.iter().map(move |s| p + s)).collect();
    }
    let mut out = vec![0; to.iter().map(size).product()];
    places.into_iter().zip(table).for_each(|(at, &v)| out[at] += i128::from(v));
    out
}
