//! The projection section: how counts were summed, which signs, which noise.

use super::plan::{Neighbours, Noise, Rational, rational};
use super::rule;
use crate::cube::Cube;
use crate::plan::limits;
use crate::projection::design::{Design, MAX_SPARSITY, MAX_VALUES};
use crate::projection::{self, Part, cost};
use crate::release::{ReleaseError, codec};
use wincode::{SchemaRead, SchemaWrite};

const WHAT: &str = "the projection";

#[derive(SchemaWrite, SchemaRead)]
struct Projection {
    shape: Shape,
    /// Dimension, and whether it holds any text.
    key: Vec<(u16, bool)>,
    independence: u32,
    seed: [u8; 32],
    noise: Noise,
    scale: Rational,
    budget: Rational,
    neighbours: Neighbours,
    max_rows: u32,
    queries: u64,
    failure: Rational,
    sparsity: u32,
    /// Zero is none.
    norm_bound: u64,
}

#[derive(SchemaWrite, SchemaRead)]
enum Shape {
    #[wincode(tag = 1)]
    Dense { rows: u32 },
    #[wincode(tag = 2)]
    Sketch { rows: u32, buckets: u32 },
}

/// The bytes of the projection section. What a reader would refuse is refused here.
pub fn encode_projection(p: &projection::Projection, cube: &Cube) -> Result<Vec<u8>, ReleaseError> {
    check(p, cube)?;
    let d = &p.design;
    let stored = Projection {
        shape: match d.shape {
            projection::Shape::Dense { rows } => Shape::Dense { rows },
            projection::Shape::Sketch { rows, buckets } => Shape::Sketch { rows, buckets },
        },
        key: d.key.iter().copied().zip(d.text.iter().copied()).collect(),
        independence: d.independence,
        seed: p.seed,
        noise: d.noise.into(),
        scale: d.scale.into(),
        budget: d.budget.into(),
        neighbours: d.neighbours.into(),
        max_rows: d.max_rows,
        queries: d.queries,
        failure: d.failure.into(),
        sparsity: d.sparsity,
        norm_bound: d.norm_bound.unwrap_or(0),
    };
    codec::encode(WHAT, &stored)
}

/// The projection of a projection section.
pub fn decode_projection(bytes: &[u8], cube: &Cube) -> Result<projection::Projection, ReleaseError> {
    let s: Projection = codec::decode(WHAT, bytes)?;
    let (key, text) = s.key.into_iter().unzip();
    let projection = projection::Projection {
        design: Design {
            shape: match s.shape {
                Shape::Dense { rows } => projection::Shape::Dense { rows },
                Shape::Sketch { rows, buckets } => projection::Shape::Sketch { rows, buckets },
            },
            key,
            text,
            independence: s.independence,
            noise: s.noise.into(),
            scale: rational(s.scale)?,
            budget: rational(s.budget)?,
            neighbours: s.neighbours.into(),
            max_rows: s.max_rows,
            queries: s.queries,
            failure: rational(s.failure)?,
            sparsity: s.sparsity,
            norm_bound: (s.norm_bound > 0).then_some(s.norm_bound),
        },
        seed: s.seed,
    };
    check(&projection, cube)?;
    Ok(projection)
}

/// The parts of the key, as cells are numbered by them.
pub fn parts(design: &Design, cube: &Cube) -> Vec<Part> {
    let part = |(&d, &text): (&u16, &bool)| {
        let nodes = cube.dimensions.get(usize::from(d)).and_then(|d| d.levels.last()).map_or(0, |l| l.len());
        if text { Part::Text } else { Part::Nodes(nodes as u64) }
    };
    design.key.iter().zip(&design.text).map(part).collect()
}

fn check(p: &projection::Projection, cube: &Cube) -> Result<(), ReleaseError> {
    let d = &p.design;
    let whole = match d.shape {
        projection::Shape::Dense { rows } => rows >= 64 && rows.is_multiple_of(64),
        projection::Shape::Sketch { rows, buckets } => rows > 0 && buckets.is_power_of_two() && buckets > 1,
    };
    rule(whole && d.shape.values() <= MAX_VALUES, WHAT, || {
        "its numbers of rows or buckets are impossible".into()
    })?;
    rule(p.seed.iter().any(|&b| b != 0), WHAT, || "its seed is zero".into())?;
    rule((4..=512).contains(&d.independence), WHAT, || "its signs have an impossible independence".into())?;
    let ascending = d.key.windows(2).all(|w| w.first() < w.last()) && !d.key.is_empty();
    rule(ascending && d.key.len() == d.text.len(), WHAT, || "its key is not of ascending dimensions".into())?;
    let exist = d.key.iter().all(|&k| usize::from(k) < cube.dimensions.len());
    rule(exist, WHAT, || "a dimension of its key does not exist".into())?;
    rule(!d.scale.is_zero() && !d.budget.is_zero(), WHAT, || "it has no noise or no budget".into())?;
    rule(limits::drawable(d.noise, d.scale), WHAT, || "it has more noise than can be drawn".into())?;
    let failure = d.failure.to_f64();
    rule(failure > 0.0 && failure < 1.0 && d.queries > 0, WHAT, || {
        "its signs are good for no query, or with no probability".into()
    })?;
    rule(d.max_rows > 0, WHAT, || "a unit may own no rows".into())?;
    rule((1..=MAX_SPARSITY).contains(&d.sparsity), WHAT, || "it answers no query".into())?;
    rule(cost::cost(d).is_some(), WHAT, || "its cost cannot be computed".into())
}
