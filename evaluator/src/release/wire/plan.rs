//! The plan section: who is protected, what is measured, at which scale.

use super::rule;
use crate::cube::{Cube, Cuboid, Frame, Level};
use crate::exact;
use crate::plan;
use crate::plan::index;
use crate::plan::limits::{self, MAX_MEASUREMENTS, MAX_TABLES};
use crate::plan::tellings::MOST_KINDS;
use crate::plan::{Basis, NodeWeights, Telling, Tellings};
use crate::release::ReleaseError;
use crate::release::codec::{self, Cursor};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;
use wincode::{SchemaRead, SchemaWrite};

const WHAT: &str = "the plan";

#[derive(SchemaWrite)]
#[cfg_attr(test, derive(SchemaRead))]
struct Plan {
    noise: Noise,
    budget: Rational,
    neighbours: Neighbours,
    max_rows: u32,
    measure: Measure,
    budgets: BudgetRule,
    levels: Vec<Vec<u8>>,
    workload: Vec<Table>,
    measurements: Vec<Measurement>,
}

#[derive(SchemaWrite, SchemaRead)]
pub(super) struct Rational {
    num: u128,
    den: u128,
}

/// Dimension and level, dimensions ascending.
type Pairs = Vec<(u16, u8)>;

#[derive(SchemaWrite)]
#[cfg_attr(test, derive(SchemaRead))]
struct Table {
    cuboid: Pairs,
    weight: Rational,
}

#[derive(SchemaWrite)]
#[cfg_attr(test, derive(SchemaRead))]
struct Measurement {
    block: Block,
    scale: Rational,
}

#[derive(SchemaWrite)]
#[cfg_attr(test, derive(SchemaRead))]
enum Block {
    #[wincode(tag = 1)]
    Component(Pairs),
    #[wincode(tag = 2)]
    Table(Pairs),
    #[wincode(tag = 3)]
    Pairs(Pairs),
    #[wincode(tag = 4)]
    Walsh(Pairs),
    #[wincode(tag = 5)]
    Rows { cuboid: Pairs, rows: Vec<Vec<Factor>> },
    #[wincode(tag = 6)]
    Based { cuboid: Pairs, axes: Vec<Told> },
}

/// How a dimension of a component is told. The first block with a basis or with weights holds them.
#[derive(SchemaWrite)]
#[cfg_attr(test, derive(SchemaRead))]
enum Told {
    #[wincode(tag = 1)]
    Siblings,
    #[wincode(tag = 2)]
    Known,
    #[wincode(tag = 3)]
    Basis(Vec<i32>),
    #[wincode(tag = 4)]
    Weights(Vec<Run>),
    /// Others than earlier blocks gave, for components that have weights of their own.
    #[wincode(tag = 5)]
    Others(Vec<Run>),
    /// Those that came after so many of this level.
    #[wincode(tag = 6)]
    Later(u8),
}

impl Told {
    /// `before` has what earlier blocks gave for the level.
    fn of(told: &Telling, before: &mut Vec<Telling>) -> Told {
        match before.iter().position(|own| own == told) {
            _ if *told == Telling::Siblings => return Told::Siblings,
            Some(0) => return Told::Known,
            Some(at) => return Told::Later(at as u8),
            None => before.push(told.clone()),
        }
        match told {
            Telling::Siblings => Told::Siblings,
            Telling::Basis(basis) => Told::Basis(basis.entries().to_vec()),
            Telling::Weights(weights) if before.len() == 1 => Told::Weights(runs(weights.factors())),
            Telling::Weights(weights) => Told::Others(runs(weights.factors())),
        }
    }
}

/// So many nodes beside each other with one factor.
#[derive(SchemaWrite)]
#[cfg_attr(test, derive(SchemaRead))]
struct Run {
    nodes: u32,
    factor: u32,
}

/// Factors as runs of equal ones.
fn runs(factors: &[u32]) -> Vec<Run> {
    factors.chunk_by(|a, b| a == b).map(|own| Run { nodes: own.len() as u32, factor: own[0] }).collect()
}

/// One coefficient of a query: the cell and its factor.
#[derive(SchemaWrite)]
#[cfg_attr(test, derive(SchemaRead))]
struct Factor {
    cell: u32,
    factor: i32,
}

/// A closed enum of the format: the same names as in memory, a fixed tag each, and conversions that
/// the compiler keeps complete.
macro_rules! tags {
    ($name:ident { $($variant:ident = $tag:literal),+ $(,)? }) => {
        #[derive(SchemaWrite, SchemaRead)]
        pub(super) enum $name {
            $(#[wincode(tag = $tag)] $variant),+
        }
        impl From<plan::$name> for $name {
            fn from(v: plan::$name) -> $name {
                match v { $(plan::$name::$variant => $name::$variant),+ }
            }
        }
        impl From<$name> for plan::$name {
            fn from(v: $name) -> plan::$name {
                match v { $($name::$variant => plan::$name::$variant),+ }
            }
        }
        impl $name {
            fn of_tag(tag: u8) -> Option<plan::$name> {
                match tag {
                    $($tag => Some(plan::$name::$variant),)+
                    _ => None,
                }
            }
        }
        #[cfg(test)]
        impl $name {
            const TAGS: &[(plan::$name, u8)] = &[$((plan::$name::$variant, $tag)),+];
        }
    };
}

tags!(Noise { Gaussian = 1, Laplace = 2 });
tags!(Neighbours { AddRemove = 1, Substitute = 2 });
tags!(BudgetRule { Optimal = 1, Uniform = 2 });

macro_rules! tags_of_strategies {
    ($($(#[$help:meta])* $name:ident = $tag:literal $word:literal $file:ident;)+) => {
        tags!(Measure { $($name = $tag),+ });
    };
}

plan::strategy::strategies!(tags_of_strategies);

impl From<exact::Rational> for Rational {
    fn from(r: exact::Rational) -> Rational {
        Rational { num: r.numerator(), den: r.denominator() }
    }
}

pub(super) fn rational(r: Rational) -> Result<exact::Rational, ReleaseError> {
    exact::Rational::lowest(r.num, r.den)
        .ok_or_else(|| ReleaseError::Invalid { what: WHAT, why: "a rational is not in lowest terms".into() })
}

fn pairs(cuboid: &Cuboid) -> Pairs {
    cuboid.iter().map(|at| (at.dimension as u16, at.level as u8)).collect()
}

/// The bytes of the plan section. A plan that a reader would refuse is refused here.
pub fn encode_plan(plan: &plan::Plan, cube: &Cube) -> Result<Vec<u8>, ReleaseError> {
    check(plan, cube)?;
    let mut written: FxHashMap<(usize, usize), Vec<Telling>> = FxHashMap::default();
    let mut block = |b: &plan::Block| match b {
        plan::Block::Component(c) => Block::Component(pairs(c)),
        plan::Block::Table(c) => Block::Table(pairs(c)),
        plan::Block::Pairs(c) => Block::Pairs(pairs(c)),
        plan::Block::Walsh(c) => Block::Walsh(pairs(c)),
        plan::Block::Rows(r) => Block::Rows {
            cuboid: pairs(&r.cuboid),
            rows: r
                .rows
                .iter()
                .map(|row| row.iter().map(|&(cell, factor)| Factor { cell, factor }).collect())
                .collect(),
        },
        plan::Block::Based(b) => {
            let told = |(d, l, told)| Told::of(told, written.entry((d, l)).or_default());
            Block::Based { cuboid: pairs(&b.cuboid), axes: b.dimensions().map(told).collect() }
        }
    };
    let stored = Plan {
        noise: plan.noise.into(),
        budget: plan.budget.into(),
        neighbours: plan.neighbours.into(),
        max_rows: plan.max_rows,
        measure: plan.measure.into(),
        budgets: plan.budgets.into(),
        levels: plan.levels.clone(),
        workload: (plan.rows().workload.iter())
            .map(|t| Table { cuboid: pairs(&t.cuboid), weight: t.weight.into() })
            .collect(),
        measurements: (plan.rows().measurements.iter())
            .map(|m| Measurement { block: block(&m.block), scale: m.scale.into() })
            .collect(),
    };
    codec::encode(WHAT, &stored)
}

/// The plan of a plan section, whose cuboids must exist in the cube.
pub fn decode_plan(bytes: &[u8], cube: &Cube) -> Result<plan::Plan, ReleaseError> {
    decode_framed(bytes, cube).map(|(plan, _)| plan)
}

/// The same with the frame of its levels in use.
pub(in crate::release) fn decode_framed(
    bytes: &[u8],
    cube: &Cube,
) -> Result<(plan::Plan, Frame), ReleaseError> {
    let plan = Reading { cursor: Cursor::new(WHAT, bytes), known: FxHashMap::default(), cube }.plan()?;
    let frame = check(&plan, cube)?;
    Ok((plan, frame))
}

/// The section as it is read, measurement by measurement: the mirror above would take an allocation for each.
struct Reading<'a> {
    cursor: Cursor<'a>,
    /// The bases and weights that came before: of a level several, where components have weights of their own.
    known: FxHashMap<(usize, usize), Vec<Telling>>,
    cube: &'a Cube,
}

impl Reading<'_> {
    fn plan(mut self) -> Result<plan::Plan, ReleaseError> {
        let noise = self.tag(Noise::of_tag)?;
        let budget = self.rational()?;
        let neighbours = self.tag(Neighbours::of_tag)?;
        let max_rows = self.cursor.whole()?;
        let measure = self.tag(Measure::of_tag)?;
        let budgets = self.tag(BudgetRule::of_tag)?;
        let levels = self.list(usize::MAX, "", |own| own.list(usize::MAX, "", |own| own.cursor.byte()))?;
        let workload =
            self.list(MAX_TABLES, "tables", |own| Ok(plan::Table::new(own.cuboid()?, own.rational()?)))?;
        let measurements = self.list(MAX_MEASUREMENTS, "measurements", |own| {
            Ok(plan::Measurement { block: own.block(&levels)?, scale: own.rational()? })
        })?;
        self.cursor.end()?;
        Ok(plan::Plan {
            noise,
            budget,
            neighbours,
            max_rows,
            measure,
            budgets,
            levels,
            // Other channels have sections of their own, as have these.
            channels: vec![plan::Channel::rows(workload, measurements)],
            exact: Vec::new(),
            zeros: Vec::new(),
            copy: None,
        })
    }

    fn tag<T>(&mut self, of: fn(u8) -> Option<T>) -> Result<T, ReleaseError> {
        let tag = self.cursor.byte()?;
        of(tag).ok_or_else(|| self.cursor.error(format!("there is no tag {tag}")))
    }

    /// A list of at most so many items.
    fn list<T>(
        &mut self,
        most: usize,
        items: &str,
        mut item: impl FnMut(&mut Self) -> Result<T, ReleaseError>,
    ) -> Result<Vec<T>, ReleaseError> {
        let length = self.cursor.length()?;
        rule(length <= most, WHAT, || format!("it has more than {most} {items}"))?;
        if length.saturating_mul(size_of::<T>()) > codec::PREALLOCATION_LIMIT {
            return Err(self.cursor.error("a list is longer than any may be"));
        }
        let mut out = Vec::with_capacity(length);
        for _ in 0..length {
            out.push(item(self)?);
        }
        Ok(out)
    }

    fn rational(&mut self) -> Result<exact::Rational, ReleaseError> {
        rational(Rational { num: self.cursor.number()?, den: self.cursor.number()? })
    }

    fn cuboid(&mut self) -> Result<Cuboid, ReleaseError> {
        let mut pairs = SmallVec::new();
        for _ in 0..self.cursor.length()? {
            pairs.push((self.cursor.whole()?, self.cursor.byte()?));
        }
        Cuboid::ascending(pairs).ok_or_else(|| ReleaseError::Invalid {
            what: WHAT,
            why: "a cuboid's dimensions are not ascending, or one is at total".into(),
        })
    }

    fn block(&mut self, levels: &[Vec<u8>]) -> Result<plan::Block, ReleaseError> {
        Ok(match self.cursor.byte()? {
            1 => plan::Block::Component(self.cuboid()?),
            2 => plan::Block::Table(self.cuboid()?),
            3 => plan::Block::Pairs(self.cuboid()?),
            4 => plan::Block::Walsh(self.cuboid()?),
            5 => plan::Block::Rows(plan::Rows {
                cuboid: self.cuboid()?,
                rows: self.list(usize::MAX, "", |own| {
                    own.list(usize::MAX, "", |own| Ok((own.cursor.whole()?, own.cursor.signed()?)))
                })?,
            }),
            6 => plan::Block::Based(self.based(levels)?),
            tag => return Err(self.cursor.error(format!("there is no tag {tag}"))),
        })
    }

    /// A component with its bases.
    fn based(&mut self, levels: &[Vec<u8>]) -> Result<plan::Based, ReleaseError> {
        let cuboid = self.cuboid()?;
        let axes = self.cursor.length()?;
        rule(axes == cuboid.len(), WHAT, || {
            "a component has another number of bases than dimensions".into()
        })?;
        let mut out = Vec::with_capacity(axes);
        for at in cuboid.pairs() {
            out.push(match self.cursor.byte()? {
                1 => Telling::Siblings,
                2 => self.came_before(at, 0)?,
                3 => self.basis(at, levels)?,
                4 => self.weights(at, levels, true)?,
                5 => self.weights(at, levels, false)?,
                6 => {
                    let number = self.cursor.byte()?;
                    // The first ones have a tag of their own.
                    rule(number > 0, WHAT, || "weights are named in two ways".into())?;
                    self.came_before(at, number.into())?
                }
                tag => return Err(self.cursor.error(format!("there is no tag {tag}"))),
            });
        }
        Ok(plan::Based { cuboid, axes: out })
    }

    fn basis(&mut self, at: (usize, usize), levels: &[Vec<u8>]) -> Result<Telling, ReleaseError> {
        let entries = self.list(usize::MAX, "", |own| own.cursor.signed())?;
        let basis = Basis::new(self.parents(at, levels, "a basis is")?, entries).map_err(wrong)?;
        self.learn(at, Telling::Basis(Arc::new(basis)), true)
    }

    /// Those that an earlier block gave, after so many others.
    fn came_before(&self, at: (usize, usize), number: usize) -> Result<Telling, ReleaseError> {
        let known = self.known.get(&at).and_then(|known| known.get(number));
        known.cloned().ok_or_else(|| wrong("a basis is missing"))
    }

    fn weights(
        &mut self,
        at: (usize, usize),
        levels: &[Vec<u8>],
        first: bool,
    ) -> Result<Telling, ReleaseError> {
        let parent = self.parents(at, levels, "weights are")?;
        let runs = self.list(parent.len(), "runs of factors", |own| {
            Ok(Run { nodes: own.cursor.whole()?, factor: own.cursor.whole()? })
        })?;
        let alike = |w: &[Run]| w[0].factor == w[1].factor;
        rule(runs.iter().all(|r| r.nodes > 0) && !runs.windows(2).any(alike), WHAT, || {
            "a run of factors is empty, or is one with the next".into()
        })?;
        let nodes = runs.iter().fold(0u64, |n, r| n.saturating_add(r.nodes.into()));
        rule(nodes == parent.len() as u64, WHAT, || {
            "a level has another number of factors than nodes".into()
        })?;
        let factors = runs.iter().flat_map(|r| std::iter::repeat_n(r.factor, r.nodes as usize)).collect();
        let weights = NodeWeights::new(parent, factors).map_err(wrong)?;
        self.learn(at, Telling::Weights(Arc::new(weights)), first)
    }

    /// For each node of a level in use the coarser one it is below; the levels themselves are checked with the whole plan.
    fn parents(
        &self,
        (d, l): (usize, usize),
        levels: &[Vec<u8>],
        what: &str,
    ) -> Result<Vec<u32>, ReleaseError> {
        let used = levels.get(d).map_or(&[][..], Vec::as_slice);
        let at = used.iter().position(|&u| usize::from(u) == l).filter(|&at| at > 0);
        let coarser = at.map(|at| usize::from(used[at - 1])).filter(|&c| c < l);
        let dimension = self.cube.dimensions.get(d).filter(|d| l < d.levels.len());
        match (coarser, dimension) {
            (Some(coarser), Some(dimension)) => Ok(dimension.ancestors(l, coarser)),
            _ => Err(wrong(&format!("{what} of a level that is not in use"))),
        }
    }

    /// `first` says whether it is the first of its level.
    fn learn(&mut self, at: (usize, usize), told: Telling, first: bool) -> Result<Telling, ReleaseError> {
        let known = self.known.entry(at).or_default();
        rule(known.is_empty() || !first, WHAT, || "a basis is given twice".into())?;
        rule(first || !known.is_empty(), WHAT, || "a basis is missing".into())?;
        rule(!known.contains(&told), WHAT, || "the same weights are given twice".into())?;
        rule(known.len() < MOST_KINDS, WHAT, || "a level has too many weights".into())?;
        known.push(told.clone());
        Ok(told)
    }
}

fn wrong(why: &str) -> ReleaseError {
    ReleaseError::Invalid { what: WHAT, why: why.into() }
}

/// Its rules; where they hold, the frame of its levels in use.
fn check(plan: &plan::Plan, cube: &Cube) -> Result<Frame, ReleaseError> {
    rule(!plan.budget.is_zero(), WHAT, || "the budget is zero".into())?;
    rule(plan.max_rows > 0, WHAT, || "a unit may own no rows".into())?;
    rule(plan.rows().workload.len() <= MAX_TABLES, WHAT, || format!("it has more than {MAX_TABLES} tables"))?;
    rule(plan.rows().measurements.len() <= MAX_MEASUREMENTS, WHAT, || {
        format!("it has more than {MAX_MEASUREMENTS} measurements")
    })?;
    rule(plan.levels.len() == cube.dimensions.len(), WHAT, || {
        "not every dimension has its levels in use".into()
    })?;
    for (levels, dimension) in plan.levels.iter().zip(&cube.dimensions) {
        let ascending = levels.first() == Some(&0) && levels.windows(2).all(|w| w[0] < w[1]);
        rule(ascending, WHAT, || "levels in use are not ascending from total".into())?;
        rule(levels.iter().all(|&l| usize::from(l) < dimension.levels.len()), WHAT, || {
            "a level in use does not exist".into()
        })?;
    }
    let used = |at: Level| plan.uses(at);
    // Of a level between those in use the next finer one tells all.
    let told = |at: Level| {
        let finest = plan.levels.get(at.dimension).and_then(|levels| levels.last());
        finest.is_some_and(|&finest| at.level <= usize::from(finest))
    };
    for table in &plan.rows().workload {
        let exists = |at: Level| cube.dimensions.get(at.dimension).is_some_and(|d| at.level < d.levels.len());
        rule(table.cuboid.iter().all(exists), WHAT, || "a table's cuboid does not exist".into())?;
        rule(table.cuboid.iter().all(told), WHAT, || {
            "a table is not made of levels in use or of coarser ones".into()
        })?;
    }
    // Those have sections of their own: here a writer is told before it opens any data.
    rule(plan.exact.len() <= limits::MAX_EXACT as usize, WHAT, || {
        format!("it has more than {} tables without noise", limits::MAX_EXACT)
    })?;
    let condition = |z: &String| z.len() as u64 <= limits::MAX_CONDITION;
    rule(plan.zeros.len() <= limits::MAX_ZEROS as usize && plan.zeros.iter().all(condition), WHAT, || {
        format!(
            "it has more than {} conditions, or one of more than {} bytes",
            limits::MAX_ZEROS,
            limits::MAX_CONDITION
        )
    })?;
    let single = |form| matches!(form, plan::Form::Component | plan::Form::Based);
    rule(index::are_distinct(&plan.rows().measurements, |m| single(m.block.form())), WHAT, || {
        "a component is measured twice".into()
    })?;
    let frame = Frame::new(cube, &plan.levels);
    let based = plan.rows().measurements.iter().any(|m| m.block.form() == plan::Form::Based);
    for plan::Measurement { block, scale } in &plan.rows().measurements {
        let cuboid = block.cuboid();
        rule(cuboid.iter().all(used), WHAT, || "a measured cuboid is not made of levels in use".into())?;
        rule(!scale.is_zero(), WHAT, || "a measurement has no noise".into())?;
        rule(limits::drawable(plan.noise, *scale), WHAT, || {
            "a measurement has more noise than can be drawn".into()
        })?;
        block.check_size(&frame).or_else(|why| rule(false, WHAT, || why.into()))?;
        block.check(&plan.levels, cube, &frame).map_err(|why| ReleaseError::Invalid { what: WHAT, why })?;
    }
    if based {
        let blocks = plan.rows().measurements.iter().map(|m| &m.block);
        Tellings::of(blocks).map_err(wrong)?;
    }
    Ok(frame)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::domain::tests::example as cube;
    use super::*;
    use proptest::prelude::*;

    fn r(text: &str) -> exact::Rational {
        text.parse().unwrap()
    }

    pub(crate) fn example() -> plan::Plan {
        let sex_age = Cuboid::new(vec![(0, 1), (1, 2)]);
        plan::Plan {
            noise: plan::Noise::Gaussian,
            budget: r("1/10"),
            neighbours: plan::Neighbours::AddRemove,
            max_rows: 1,
            measure: plan::Measure::Residual,
            budgets: plan::BudgetRule::Optimal,
            levels: vec![vec![0, 1], vec![0, 2]],
            channels: vec![plan::Channel::rows(
                vec![plan::Table::new(sex_age.clone(), r("1"))],
                vec![
                    plan::Measurement { block: plan::Block::Component(Cuboid::total()), scale: r("300") },
                    plan::Measurement { block: plan::Block::Table(sex_age), scale: r("542/339") },
                ],
            )],
            exact: Vec::new(),
            zeros: Vec::new(),
            copy: None,
        }
    }

    #[test]
    fn bytes_are_pinned() {
        let want = [
            1, // Gaussian
            1, 10, // budget 1/10
            1, 1, // add or remove, one row
            1, 1, // residual, optimal
            2, 2, 0, 1, 2, 0, 2, // levels in use of two dimensions
            1, 2, 0, 1, 1, 2, 1, 1, // one table: two pairs, weight 1/1
            2, // two measurements
            1, 0, 251, 44, 1, 1, // component, no pairs, 300/1
            2, 2, 0, 1, 1, 2, 251, 30, 2, 251, 83, 1, // table, two pairs, 542/339
        ];
        assert_eq!(encode_plan(&example(), &cube()).unwrap(), want);
        assert_eq!(decode_plan(&want, &cube()).unwrap(), example());
        for end in 0..want.len() {
            assert!(decode_plan(&want[..end], &cube()).is_err(), "{end}");
        }
    }

    /// The numbers are the format: changing one breaks every published file.
    #[test]
    fn tags_are_fixed() {
        use plan::{BudgetRule as R, Measure as M, Neighbours as Ne, Noise as No};
        assert_eq!(Noise::TAGS, [(No::Gaussian, 1), (No::Laplace, 2)]);
        assert_eq!(Neighbours::TAGS, [(Ne::AddRemove, 1), (Ne::Substitute, 2)]);
        assert_eq!(
            Measure::TAGS,
            [
                (M::Residual, 1),
                (M::Queries, 2),
                (M::Base, 3),
                (M::Hierarchy, 4),
                (M::Cluster, 5),
                (M::Tables, 6),
                (M::Given, 7),
                (M::Wavelet, 8),
                (M::Fourier, 9),
                (M::Matrix, 10),
                (M::Bases, 11),
                (M::Together, 12)
            ]
        );
        let format = include_str!("../../../../schemas/RELEASE-FORMAT.md");
        let listed = format.lines().find_map(|l| l.strip_prefix("5. strategy: tag ")).unwrap();
        let tags: Vec<String> = Measure::TAGS.iter().map(|(m, tag)| format!("{tag} {}", m.name())).collect();
        assert_eq!(listed, format!("{};", tags.join(", ")), "the document has every strategy");
        assert_eq!(BudgetRule::TAGS, [(R::Optimal, 1), (R::Uniform, 2)]);
        for &(v, tag) in Noise::TAGS {
            assert_eq!(codec::encode(WHAT, &Noise::from(v)).unwrap(), [tag]);
        }
        for &(v, tag) in Neighbours::TAGS {
            assert_eq!(codec::encode(WHAT, &Neighbours::from(v)).unwrap(), [tag]);
        }
        for &(v, tag) in Measure::TAGS {
            assert_eq!(codec::encode(WHAT, &Measure::from(v)).unwrap(), [tag]);
        }
        for &(v, tag) in BudgetRule::TAGS {
            assert_eq!(codec::encode(WHAT, &BudgetRule::from(v)).unwrap(), [tag]);
        }
    }

    #[test]
    fn broken_plans_are_refused() {
        type Damage = fn(&mut plan::Plan);
        let breaks: [(&str, Damage); 12] = [
            ("budget is zero", |p| p.budget = exact::Rational::ZERO),
            ("no rows", |p| p.max_rows = 0),
            ("every dimension", |p| p.levels.truncate(1)),
            ("ascending from total", |p| p.levels[1] = vec![2, 0]),
            ("in use does not exist", |p| p.levels[1] = vec![0, 3]),
            ("cuboid does not exist", |p| p.rows_mut().workload[0].cuboid = Cuboid::new(vec![(1, 3)])),
            ("cuboid does not exist", |p| p.rows_mut().workload[0].cuboid = Cuboid::new(vec![(2, 1)])),
            ("levels in use", |p| {
                p.rows_mut().measurements[0].block = plan::Block::Table(Cuboid::new(vec![(1, 1)]))
            }),
            ("more noise", |p| p.rows_mut().measurements[0].scale = exact::Rational::whole((1 << 104) + 1)),
            ("measured twice", |p| {
                let again = p.rows().measurements[0].clone();
                p.rows_mut().measurements.push(again);
            }),
            ("or of coarser ones", |p| p.levels[0] = vec![0]),
            ("no noise", |p| p.rows_mut().measurements[0].scale = exact::Rational::ZERO),
        ];
        for (why, damage) in breaks {
            let mut plan = example();
            damage(&mut plan);
            let error = encode_plan(&plan, &cube()).unwrap_err().to_string();
            assert!(error.contains(why), "{error:?} does not say {why:?}");
        }
    }

    #[test]
    fn bytes_no_writer_makes_are_refused() {
        let good = encode_plan(&example(), &cube()).unwrap();
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            decode_plan(&bytes, &cube()).unwrap_err().to_string()
        };
        assert!(with(2, 0).contains("lowest terms"), "zero denominator");
        assert!(with(1, 5).contains("lowest terms"), "5/10");
        assert!(with(0, 3).contains("tag"), "unknown noise");
        assert!(with(16, 1).contains("ascending"), "a dimension twice");
        assert!(with(17, 0).contains("total"), "level 0 in a cuboid");
    }

    fn small_rational() -> impl Strategy<Value = exact::Rational> {
        (1u128.., 1u128..).prop_map(|(a, b)| exact::Rational::new(a, b).unwrap())
    }

    prop_compose! {
        fn any_plan()(
            budget in small_rational(),
            laplace: bool, substitute: bool, uniform: bool,
            measure in 0..Measure::TAGS.len(),
            max_rows in 1u32..,
            tables in prop::collection::vec((0..2usize, 0..3usize, small_rational()), 0..4),
            blocks in prop::collection::vec((0..2usize, 0..3usize, any::<bool>(), small_rational()), 0..6),
        ) -> plan::Plan {
            let shape = |a, b| Cuboid::new(vec![(0, a), (1, b)]);
            plan::Plan {
                noise: if laplace { plan::Noise::Laplace } else { plan::Noise::Gaussian },
                budget,
                neighbours: if substitute { plan::Neighbours::Substitute } else { plan::Neighbours::AddRemove },
                max_rows,
                measure: Measure::TAGS[measure].0,
                budgets: if uniform { plan::BudgetRule::Uniform } else { plan::BudgetRule::Optimal },
                levels: vec![vec![0, 1], vec![0, 1, 2]],
                channels: vec![plan::Channel::rows(tables.into_iter().map(|(a, b, weight)| plan::Table::new(shape(a, b), weight)).collect(), blocks.into_iter().enumerate().map(|(i, (a, b, table, scale))| plan::Measurement {
                    // Components come once: those after the first are tables.
                    block: if table || i > 0 { plan::Block::Table(shape(a, b)) } else { plan::Block::Component(shape(a, b)) },
                    scale,
                }).collect())],
                exact: Vec::new(),
                zeros: Vec::new(),
                copy: None,
            }
        }
    }

    proptest! {
        #[test]
        fn round_trip(plan in any_plan()) {
            let bytes = encode_plan(&plan, &cube()).unwrap();
            prop_assert_eq!(decode_plan(&bytes, &cube()).unwrap(), plan);
        }

        #[test]
        fn never_panics(bytes: Vec<u8>) {
            let _ = decode_plan(&bytes, &cube());
        }

        /// What is read piece by piece is what the mirror of the format says.
        #[test]
        fn two_readers_agree(plan in any_plan(), at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
            let mut bytes = encode_plan(&plan, &cube()).unwrap();
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            let own = matches!(decode_plan(&bytes, &cube()), Err(ReleaseError::Decode { .. }));
            let mirror = codec::decode::<Plan>(WHAT, &bytes).is_err();
            // Other faults may be met before what is malformed.
            prop_assert!(own <= mirror);
            prop_assert!(mirror <= decode_plan(&bytes, &cube()).is_err());
        }

        /// Damage is refused, or is another plan that encodes to just these bytes.
        #[test]
        fn one_encoding(plan in any_plan(), at in any::<prop::sample::Index>(), byte: u8) {
            let mut bytes = encode_plan(&plan, &cube()).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(read) = decode_plan(&bytes, &cube()) {
                prop_assert_eq!(encode_plan(&read, &cube()).unwrap(), bytes);
            }
        }
    }
}
