//! Which cells a measured question is about: what it costs whom.
//!
//! The conditions of a measured question are public. A unit outside of them is in no row of the plan, so the answer tells nothing of it; and a
//! unit in some rows pays for those. A charge may therefore say what it costs a unit by the cell that this is in, and charges about the same rows add up
//! cell by cell (`super::spent`).
//!
//! **What is the same.** A cell means the same people in two releases only if both counted the same rows alike: the same snapshot of the data,
//! which the agency declares, the same period, the same domain, and the same way from rows to cells. That way is what the spec says of
//! `[data]`, dimensions and units, and its hash here leaves out only keys that are known to have no part in it: a key that is
//! new one day makes another hash, and so a sum in place of the dearest.
//!
//! All of it follows from plan, domain and spec, and so from a sealed release: [`Cells::of`] is what charges and what `ledger verify` recomputes.

use super::hash::is_hash;
use crate::cube::{Cube, Cuboid, Frame, Level};
use crate::exact::Rational;
use crate::plan::{Block, Channel, Neighbours, Plan, Rows, cost};
use crate::release::canonical;
use crate::spec::Spec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// The most classes, and the most runs of all dimensions together: a charge that needs more counts for everybody.
pub(crate) const MOST_CLASSES: usize = 4096;
/// The most factors of rows that are looked at.
const MOST_FACTORS: usize = 1 << 22;

/// What a charge costs whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cells {
    /// Which rows were counted, and how.
    #[serde(flatten)]
    pub same: Same,
    /// The dimensions in which cells are told apart, ascending. A class is one class of each of them.
    pub(crate) by: Vec<Along>,
    /// For each class, the last dimension's fastest: what it costs a unit that comes or goes and is in this class, as a share of `charged`.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub shares: Vec<Rational>,
}

/// Which rows, and how they become cells.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Same {
    /// The state of the data that the spec declares: `[dataset] snapshot`.
    pub snapshot: String,
    /// `[dataset] period`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<String>,
    /// The BLAKE3 hash of the domain section.
    pub domain: String,
    /// The BLAKE3 hash of what the spec says of the way from rows to cells.
    pub mapping: String,
}

/// The classes of the finest categories of one dimension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Along {
    /// Which dimension of the domain, counted from 0.
    pub dimension: u32,
    /// Each run of categories of one class: its first category and its class. Classes are numbered as they come.
    pub runs: Vec<(u32, u32)>,
}

impl Along {
    /// How many classes there are.
    pub(super) fn classes(&self) -> usize {
        self.runs.iter().map(|r| r.1 as usize + 1).max().unwrap_or(0)
    }

    /// The class of a category.
    pub(super) fn class(&self, category: u32) -> usize {
        let at = self.runs.partition_point(|r| r.0 <= category);
        self.runs.get(at.saturating_sub(1)).map_or(0, |r| r.1 as usize)
    }

    fn is_sound(&self) -> bool {
        let mut next = 0;
        let numbered = self.runs.iter().all(|&(_, class)| {
            let known = class <= next;
            next = next.max(class + u32::from(class < u32::MAX));
            known
        });
        let ascends = self.runs.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 != w[1].1);
        self.runs.first().is_some_and(|r| r.0 == 0) && self.runs.len() > 1 && ascends && numbered
    }
}

impl Cells {
    /// Of a release that measures questions about a declared snapshot, where each is a sum of counts and nothing else is told of anybody. `None` of
    /// all others: they cost everybody the same.
    pub(crate) fn of(spec: &Spec, plan: &Plan, cube: &Cube, domain: &str) -> Option<Cells> {
        let dataset = spec.dataset.as_ref()?;
        let same = Same {
            snapshot: dataset.snapshot.clone()?,
            period: dataset.period.clone(),
            domain: domain.into(),
            mapping: mapping(spec)?,
        };
        let rows = asked(plan)?;
        let (by, first) = told_apart(rows, cube)?;
        Some(Cells { shares: shares(plan, rows, cube, &first)?, same, by })
    }

    /// What is not the same in other cells.
    pub(super) fn difference(&self, found: &Cells) -> Option<String> {
        let (a, b) = (&self.same, &found.same);
        let period = |same: &Same| same.period.clone().unwrap_or("none".into());
        match () {
            () if a.snapshot != b.snapshot => Some(format!(
                "the snapshot is {} in the charge and {} in the release",
                a.snapshot, b.snapshot
            )),
            () if a.period != b.period => {
                Some(format!("the period is {} in the charge and {} in the release", period(a), period(b)))
            }
            () if a.domain != b.domain => Some("the domain is another one".into()),
            () if a.mapping != b.mapping => Some("rows become cells in another way".into()),
            () if self.by != found.by => Some("the questions tell other cells apart".into()),
            () if self.shares != found.shares => Some("the questions cost cells other shares".into()),
            () => None,
        }
    }

    /// The rules that need nothing else.
    pub(super) fn sound(&self, neighbours: Neighbours) -> Result<(), String> {
        let texts = [Some(&self.same.snapshot), self.same.period.as_ref()];
        let printable =
            |p: &String| (1..=100).contains(&p.chars().count()) && !p.chars().any(char::is_control);
        if !texts.into_iter().flatten().all(printable)
            || !is_hash(&self.same.domain)
            || !is_hash(&self.same.mapping)
        {
            return Err("cells are of no snapshot, or of no domain".into());
        }
        let runs = self.by.iter().map(|a| a.runs.len()).sum::<usize>();
        let ascend = self.by.windows(2).all(|w| w[0].dimension < w[1].dimension);
        if runs > MOST_CLASSES || !ascend || !self.by.iter().all(Along::is_sound) {
            return Err("classes of cells are not written as they are numbered".into());
        }
        let classes = self.by.iter().try_fold(1usize, |n, a| n.checked_mul(a.classes()));
        if classes != Some(self.shares.len()) || self.shares.len() > MOST_CLASSES {
            return Err("there is not one share for each class of cells".into());
        }
        // One unit more or less costs no more than the charge, and someone that much. Where one is changed it may leave one class and
        // enter another, so that one of both has half of it in ε, and a quarter in ρ: (√a + √a)² = 4a.
        let most = self.shares.iter().max().copied().unwrap_or(Rational::ZERO);
        let dearest = match neighbours {
            Neighbours::AddRemove => most == Rational::ONE,
            Neighbours::Substitute => {
                most.checked_mul(Rational::whole(4)).is_some_and(|most| most >= Rational::ONE)
            }
        };
        if dearest { Ok(()) } else { Err("no class of cells costs what is charged".into()) }
    }
}

/// The rows of a plan that measures them and nothing else, all with one noise, for everybody alike.
fn asked(plan: &Plan) -> Option<&Rows> {
    let [channel] = &plan.channels[..] else { return None };
    let Channel { workload, measurements, .. } = channel;
    let ([only], true) = (&measurements[..], workload.is_empty()) else { return None };
    let plain = plan.copy.is_none() && plan.exact.is_empty() && *channel == *plan.rows();
    match &only.block {
        Block::Rows(rows) if plain => Some(rows),
        _ => None,
    }
}

/// In which dimensions the rows tell categories apart, into which classes; and for each class its first node of the rows' own level.
fn told_apart(rows: &Rows, cube: &Cube) -> Option<(Vec<Along>, Vec<Vec<usize>>)> {
    let levels: Vec<Level> = rows.cuboid.iter().collect();
    let sizes: Vec<usize> = sizes(&rows.cuboid, cube)?;
    if rows.rows.iter().map(Vec::len).sum::<usize>() > MOST_FACTORS {
        return None;
    }
    let (mut by, mut first) = (Vec::new(), Vec::new());
    for (at, Level { dimension, level }) in levels.into_iter().enumerate() {
        let inner: usize = sizes[at + 1..].iter().product();
        // What the rows say of each node: in which row, of which other categories, with which factor.
        let mut said: Vec<Vec<(usize, usize, i32)>> = vec![Vec::new(); sizes[at]];
        for (r, row) in rows.rows.iter().enumerate() {
            for &(cell, factor) in row {
                let cell = cell as usize;
                let node = cell / inner % sizes[at];
                said.get_mut(node)?.push((r, cell - node * inner, factor));
            }
        }
        let of = cube.dimensions.get(dimension)?;
        let (mut classes, mut runs, mut own) = (HashMap::new(), Vec::<(u32, u32)>::new(), Vec::new());
        for (category, node) in of.ancestors(of.finest(), level).into_iter().enumerate() {
            let node = node as usize;
            let next = classes.len() as u32;
            let class = *classes.entry(said.get(node)?).or_insert_with(|| {
                own.push(node);
                next
            });
            if runs.last().is_none_or(|last| last.1 != class) {
                runs.push((category as u32, class));
            }
        }
        // A dimension in which nothing is told apart stays in the table, and has one class.
        if own.len() > 1 {
            by.push(Along { dimension: dimension as u32, runs });
        }
        first.push(own);
    }
    let (runs, mut classes) = (by.iter().map(|a| a.runs.len()).sum::<usize>(), first.iter().map(Vec::len));
    let classes = classes.try_fold(1usize, |n, c| n.checked_mul(c));
    (runs <= MOST_CLASSES && classes.is_some_and(|n| n <= MOST_CLASSES)).then_some((by, first))
}

fn sizes(cuboid: &Cuboid, cube: &Cube) -> Option<Vec<usize>> {
    let size = |at: Level| Some(cube.dimensions.get(at.dimension)?.levels.get(at.level)?.len());
    cuboid.iter().map(size).collect()
}

/// For each class what it costs a unit in it, over what the rows cost: both at scale 1, where both are exact. One row more or less in the dearest
/// cell is what the rows cost where units come and go, and others cost in proportion; `max_rows` is a factor of all.
fn shares(plan: &Plan, rows: &Rows, cube: &Cube, first: &[Vec<usize>]) -> Option<Vec<Rational>> {
    let mut columns: HashMap<usize, u128> = HashMap::new();
    for &(cell, factor) in rows.rows.iter().flatten() {
        let column = columns.entry(cell as usize).or_insert(0);
        *column = column.checked_add(plan.noise.powered(factor.unsigned_abs().into())?)?;
    }
    let most = Rational::whole(columns.values().copied().max()?);
    let mut at_one = plan.clone();
    at_one.measurements_mut().for_each(|m| m.scale = Rational::ONE);
    let total = |neighbours: Neighbours| {
        let plan = Plan { neighbours, ..at_one.clone() };
        Some(cost::cost(&plan, &Frame::new(cube, &plan.levels)).ok()?.total)
    };
    let (dearest, charged) = (total(Neighbours::AddRemove)?, total(plan.neighbours)?);
    let times = if charged.is_zero() { return None } else { dearest.checked_div(charged)? };
    let mut cells = vec![0usize];
    for (own, size) in first.iter().zip(sizes(&rows.cuboid, cube)?) {
        cells = cells.iter().flat_map(|c| own.iter().map(move |node| c * size + node)).collect();
    }
    let share = |cell: &usize| match columns.get(cell) {
        None => Some(Rational::ZERO),
        Some(&column) => Rational::whole(column).checked_div(most)?.checked_mul(times),
    };
    cells.iter().map(share).collect()
}

/// What of a spec has no part in how rows become cells; everything else is taken to have one. `dataset` is compared apart.
const APART: [&str; 17] = [
    "name",
    "title",
    "description",
    "licence",
    "contact",
    "supersedes",
    "dataset",
    "table",
    "query",
    "amount",
    "zero",
    "strategy",
    "projection",
    "asked",
    "recipient",
    "recipients",
    "demo",
];
/// The same of `[privacy]`: how much, not of whom.
const AMOUNTS: [&str; 4] = ["rho", "epsilon", "delta", "measure_truncation"];

/// The hash of the way from rows to cells: of the spec as canonical JSON without what has no part in it, and of the files that dimensions name.
fn mapping(spec: &Spec) -> Option<String> {
    let mut table: toml::Table = spec.source.parse().ok()?;
    APART.iter().for_each(|key| drop(table.remove(*key)));
    for (section, keys) in [("privacy", &AMOUNTS[..]), ("data", &["path"])] {
        if let Some(section) = table.get_mut(section).and_then(toml::Value::as_table_mut) {
            keys.iter().for_each(|key| drop(section.remove(*key)));
        }
    }
    let rows = spec.source.parse::<toml::Table>().ok()?;
    let rows = rows.get("strategy").and_then(|s| s.get("rows")?.get("file")?.as_str());
    let files = spec.attachments.iter().filter(|(name, _)| Some(name.as_str()) != rows);
    let files =
        files.map(|(name, bytes)| (name.clone(), Value::from(blake3::hash(bytes).to_hex().to_string())));
    let whole = Map::from_iter([
        ("spec".to_owned(), json(&toml::Value::Table(table))),
        ("files".to_owned(), object(files)),
    ]);
    let bytes = canonical::to_bytes(&Value::Object(whole)).ok()?;
    Some(blake3::hash(&bytes).to_hex().to_string())
}

/// These pairs, as an object where canonical JSON can write all keys: those of files and labels may have any letters.
fn object(pairs: impl Iterator<Item = (String, Value)>) -> Value {
    let pairs: BTreeMap<String, Value> = pairs.collect();
    let keys: Map<String, Value> = pairs.keys().map(|key| (key.clone(), Value::Null)).collect();
    if canonical::to_bytes(&keys).is_ok() {
        return Value::Object(pairs.into_iter().collect());
    }
    let listed = pairs.into_iter().map(|(key, value)| Value::Array(vec![key.into(), value])).collect();
    Value::Object(Map::from_iter([("pairs".to_owned(), Value::Array(listed))]))
}

/// TOML as JSON: what canonical JSON has no way to write becomes an object of its text.
fn json(value: &toml::Value) -> Value {
    let apart =
        |kind: &str, text: String| Value::Object(Map::from_iter([(kind.to_owned(), Value::from(text))]));
    match value {
        toml::Value::String(text) => Value::from(text.as_str()),
        toml::Value::Boolean(is) => Value::from(*is),
        toml::Value::Integer(n) => apart("integer", n.to_string()),
        toml::Value::Float(x) => apart("float", x.to_string()),
        toml::Value::Datetime(day) => apart("day", day.to_string()),
        toml::Value::Array(all) => all.iter().map(json).collect(),
        toml::Value::Table(table) => object(table.iter().map(|(key, v)| (key.clone(), json(v)))),
    }
}
