//! Tables published without noise, one to a section with tag 6.
//!
//! A section is the number of dimensions (`u8`), for each of them its index (`u16`) and level (`u8`), ascending,
//! little-endian, and then the counts, packed like a measurement (see [`super::packing`]).

use super::packing::{pack, skip, unpack};
use super::{Kind, Release, ReleaseError};
use crate::cube::{Cube, Cuboid, Frame, Level};
use crate::plan::Plan;
use crate::plan::limits::{self, MAX_EXACT};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::hash_map::Entry;

const WHAT: &str = "a table published exactly";

fn invalid(why: impl Into<String>) -> ReleaseError {
    ReleaseError::Invalid { what: WHAT, why: why.into() }
}

/// The bytes of a section.
pub fn encode(cuboid: &Cuboid, counts: &[i64]) -> Result<Vec<u8>, ReleaseError> {
    let mut out = levels(cuboid)?;
    pack(&counts.to_vec().into(), &mut out);
    Ok(out)
}

/// A cuboid at the front of a section.
pub(super) fn levels(cuboid: &Cuboid) -> Result<Vec<u8>, ReleaseError> {
    let dimensions = u8::try_from(cuboid.len()).map_err(|_| invalid("too many dimensions"))?;
    let mut out = vec![dimensions];
    for at in cuboid.iter() {
        let d = u16::try_from(at.dimension).map_err(|_| invalid("a dimension's index is too large"))?;
        let l = u8::try_from(at.level).map_err(|_| invalid("a level's index is too large"))?;
        out.extend(d.to_le_bytes());
        out.push(l);
    }
    Ok(out)
}

/// The cuboid at the front of a section, and the rest of its bytes.
pub(super) fn shape<'b>(bytes: &'b [u8], cube: &Cube) -> Result<(Cuboid, &'b [u8]), ReleaseError> {
    let (cuboid, rest) = shape_of(bytes)?;
    let exists = |at: Level| cube.dimensions.get(at.dimension).is_some_and(|d| at.level < d.levels.len());
    if !cuboid.iter().all(exists) {
        return Err(invalid("its cuboid does not exist"));
    }
    Ok((cuboid, rest))
}

/// The same of any dimensions.
pub(super) fn shape_of(bytes: &[u8]) -> Result<(Cuboid, &[u8]), ReleaseError> {
    let short = || invalid("it ends too early");
    let (&n, mut rest) = bytes.split_first().ok_or_else(short)?;
    let mut pairs = SmallVec::new();
    for _ in 0..n {
        let (&[low, high, level], more) = rest.split_first_chunk::<3>().ok_or_else(short)?;
        rest = more;
        pairs.push((u16::from_le_bytes([low, high]), level));
    }
    let cuboid = Cuboid::ascending(pairs)
        .ok_or_else(|| invalid("its dimensions are not ascending, or one is at total"))?;
    Ok((cuboid, rest))
}

/// The cuboids of all exact tables of a release: in the workload, each once, and those its manifest declares, by name
/// and in their order. With them the number of their cells, which are all in the file.
pub(super) fn cuboids(
    release: &Release,
    cube: &Cube,
    frame: &Frame,
    plan: &Plan,
) -> Result<(Vec<Cuboid>, u64), ReleaseError> {
    let mut out: Vec<Cuboid> = Vec::new();
    let mut seen = FxHashSet::default();
    let mut total = 0u64;
    let count = release.count(Kind::Exact);
    if count > MAX_EXACT {
        return Err(invalid(format!("there are {count}; at most {MAX_EXACT} are possible")));
    }
    let asked: FxHashSet<&Cuboid> = if count == 0 {
        FxHashSet::default()
    } else {
        let at_levels_in_use = |c: &&Cuboid| frame.telling(c).is_some_and(|told| told == **c);
        plan.rows().workload.iter().map(|t| &t.cuboid).filter(at_levels_in_use).collect()
    };
    for index in 0..count {
        let bytes = release.section(Kind::Exact, index)?;
        let (cuboid, mut rest) = shape(&bytes, cube)?;
        if !seen.insert(cuboid.clone()) {
            return Err(invalid(format!("{} is there twice", cube.describe(&cuboid))));
        }
        if !asked.contains(&cuboid) {
            let name = cube.describe(&cuboid);
            return Err(invalid(format!("{name} is not a table of the release, made of levels in use")));
        }
        let cells = limits::cells(frame, &cuboid).unwrap_or(u64::MAX);
        skip(&mut rest, usize::try_from(cells).unwrap_or(usize::MAX))?;
        total = total.saturating_add(cells);
        out.push(cuboid);
    }
    let declared = &release.manifest().declared.invariants;
    // Behind them exact sums are declared, which are counted where they are read.
    let more = declared.len() > out.len() && release.count(Kind::Sums) == 0;
    if declared.len() < out.len() || more {
        return Err(invalid(format!(
            "the manifest declares {}, the file holds {}",
            declared.len(),
            out.len()
        )));
    }
    for (cuboid, declared) in out.iter().zip(declared) {
        let table = cube.describe(cuboid);
        if super::claims::reason(&table, declared).is_none() {
            return Err(invalid(format!(
                "{table} is there, which the manifest does not declare with a reason"
            )));
        }
    }
    Ok((out, total))
}

/// The counts of exact table number `index` of these.
pub(crate) fn counts(
    release: &Release,
    cube: &Cube,
    frame: &Frame,
    tables: &[Cuboid],
    index: usize,
) -> Result<Vec<i64>, ReleaseError> {
    let number = u32::try_from(index).map_err(|_| invalid("there is no such table"))?;
    let bytes = release.section(Kind::Exact, number)?;
    let (cuboid, mut rest) = shape(&bytes, cube)?;
    if tables.get(index) != Some(&cuboid) {
        return Err(invalid("it is not the table that the plan names"));
    }
    let counts = unpack(&mut rest, frame.len(&cuboid))?;
    if !rest.is_empty() {
        return Err(invalid(format!("it has {} bytes too many", rest.len())));
    }
    if counts.iter().any(|&c| c < 0) {
        return Err(invalid("a count is below zero"));
    }
    Ok(counts)
}

/// Whether exact tables agree with each other wherever they overlap: counts of one dataset do. Whatever two of them share
/// is rolled up once from each table, and all are compared with the first.
pub(crate) fn agree(
    cube: &Cube,
    frame: &Frame,
    exact: &[Cuboid],
    tables: &[Vec<i64>],
) -> Result<(), ReleaseError> {
    let mut shared: FxHashMap<Cuboid, (usize, Vec<f64>)> = FxHashMap::default();
    let mut left = limits::work(tables.iter().map(|t| t.len() as u64).sum());
    for (i, (a, x)) in exact.iter().zip(tables).enumerate() {
        let others = exact.iter().enumerate().filter(|&(k, _)| k != i);
        let meets: FxHashSet<Cuboid> = others.map(|(_, b)| a.meet(b)).collect();
        for meet in meets {
            left = left.checked_sub(x.len() as u64).ok_or_else(|| {
                invalid("comparing them with each other takes more work than a reader spends".to_string())
            })?;
            let up = frame.roll_up(a, &meet, x.iter().map(|&v| v as f64).collect());
            match shared.entry(meet) {
                Entry::Vacant(first) => {
                    first.insert((i, up));
                }
                Entry::Occupied(first) if first.get().1 != up => {
                    let (a, b) = (cube.describe(a), exact.get(first.get().0));
                    let b = b.map(|b| cube.describe(b)).unwrap_or_default();
                    return Err(invalid(format!("{b} and {a} contradict each other")));
                }
                Entry::Occupied(_) => {}
            }
        }
    }
    Ok(())
}
