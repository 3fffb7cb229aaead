//! Amounts of records: numbers whose sums are those of the release's tables of sums.
//!
//! A table of sums is `step/2 · Σt + middle · COUNT`, of two channels with noise of their own; with it come all tables of one and two of its dimensions, as for counts. First
//! it is settled which records have a value, where rows may have none; then each gets a whole number of steps above the least value ([`super::numbers`]).
//! What is added up in a cell then misses the release's estimate by a part of a step, but where no values within the bounds add up to it, or overlapping tables
//! leave no way. How values lie within a cell no table of sums says: that is invented.

use super::numbers::{Aim, Drawing};
use super::report::{AmountReport, Gap, LEVEL};
use super::shape::Nodes;
use super::targets::{Wanted, at, together};
use super::tree::with_lower;
use super::values::{RecordColumn, Values};
use super::{RecordsError, share};
use crate::answer::tell::channels::ChannelValues;
use crate::answer::{AnswerError, Answers, Evaluator, Several};
use crate::cube::{Cube, Cuboid, MOST_PLACES, NoValue, Quantity, Summand, Weighing};
use crate::render::Caveat;
use crate::watch::Watch;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A table of sums, or of rows that have a value.
struct Held {
    cuboid: Cuboid,
    columns: Vec<usize>,
    estimates: Vec<f64>,
    error: f64,
    asked: bool,
}

/// What a release says of an amount.
struct Summed {
    quantity: Arc<Quantity>,
    column: String,
    sums: Vec<Held>,
    /// Where rows may have no value: how many have one.
    valued: Option<Vec<Held>>,
}

/// What a release, or several, say of amounts.
#[derive(Default)]
pub(super) struct Amounts {
    each: Vec<Summed>,
    notes: Vec<String>,
}

/// What records got.
#[derive(Default)]
pub(super) struct Given {
    pub columns: Vec<RecordColumn>,
    pub reports: Vec<AmountReport>,
    pub notes: Vec<String>,
}

/// The names of amounts' columns: that of an amount; values that were multiplied by a weight are not called what they were.
pub(super) fn names(cube: &Cube, quantities: &[Arc<Quantity>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for q in quantities {
        let mut name = q.name.clone();
        if q.weighing == Weighing::Weighted {
            name.push_str("_weighted");
        }
        let other =
            |name: &str| quantities.iter().any(|o| o.name != q.name && o.name.eq_ignore_ascii_case(name));
        while cube.resolve(&name).is_some() || names.contains(&name) || other(&name) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

/// The amounts that releases have, each once, and the names of those that are not one number in all.
pub(super) fn quantities(of: &Several) -> (Vec<Arc<Quantity>>, Vec<String>) {
    let (mut all, mut unlike): (Vec<Arc<Quantity>>, Vec<String>) = (Vec::new(), Vec::new());
    for quantity in of.releases().iter().flat_map(|r| r.channels().quantities()) {
        match all.iter().find(|known| known.name.eq_ignore_ascii_case(&quantity.name)) {
            Some(known) if known.is_alike(&quantity) => {}
            Some(known) => unlike.push(known.name.clone()),
            None => all.push(quantity),
        }
    }
    unlike.sort_unstable();
    unlike.dedup();
    all.retain(|q| !unlike.contains(&q.name));
    (all, unlike)
}

/// Of records whose areas are parted: they have none.
pub(super) fn none(of: &Several) -> Amounts {
    let (quantities, unlike) = quantities(of);
    let names: Vec<&str> =
        quantities.iter().map(|q| q.name.as_str()).chain(unlike.iter().map(String::as_str)).collect();
    let note = format!("Not in the records, as they are drawn area by area: {}.", names.join(", "));
    Amounts { each: Vec::new(), notes: if names.is_empty() { Vec::new() } else { vec![note] } }
}

/// Reads what is said of amounts.
pub(super) fn told(of: &Several, wanted: &mut Wanted, watch: &Watch) -> Result<Amounts, RecordsError> {
    let mut out = Amounts::default();
    let releases = of.releases();
    let cube = releases.first().ok_or(RecordsError::Nothing)?.cube();
    let (quantities, unlike) = quantities(of);
    for (quantity, column) in quantities.iter().zip(names(cube, &quantities)) {
        if watch.is_stopped() {
            return Err(RecordsError::Stopped);
        }
        out.each.extend(summed(releases, quantity, column, wanted)?);
    }
    out.notes.extend(notes(releases, &out.each)?);
    if !unlike.is_empty() {
        out.notes.push(format!(
            "Not in the records, as its bounds, steps or the like differ between the releases: {}.",
            unlike.join(", ")
        ));
    }
    Ok(out)
}

/// What is to be known of the amounts, in sentences.
fn notes(releases: &[Answers], each: &[Summed]) -> Result<Vec<String>, AnswerError> {
    let of = |keep: &dyn Fn(&Summed) -> bool| -> Vec<&str> {
        each.iter().filter(|s| keep(s)).map(|s| s.column.as_str()).collect()
    };
    let mut notes = Vec::new();
    let all = of(&|_| true);
    if !all.is_empty() {
        notes.push(format!(
            "{}: sums in the tables that have them come from the release; how values are spread within a cell is invented.",
            all.join(", ")
        ));
    }
    let squares = |s: &Summed| !tellers(releases, &Summand::Squares(s.quantity.clone())).is_empty();
    let squares = of(&squares);
    if !squares.is_empty() {
        notes.push(format!(
            "{}: the release knows variances, and the records do not have them.",
            squares.join(", ")
        ));
    }
    let weighted = of(&|s| s.quantity.weighing == Weighing::Weighted);
    if !weighted.is_empty() {
        notes.push(format!(
            "{}: values times the weight of their row, drawn apart from the weight: only their sums may be divided.",
            weighted.join(", ")
        ));
    }
    for Summed { quantity, .. } in each {
        notes.push(quantity.note());
        for release in releases {
            let Some(moved) = release.moved(quantity, LEVEL)? else { continue };
            let (amount, ends) = (quantity.name.clone(), quantity.ends());
            notes.push(Caveat::Clamped { amount, ends, moved, period: None }.text(LEVEL));
        }
    }
    Ok(notes)
}

/// What tells a subject of these releases.
fn tellers<'a>(releases: &'a [Answers], subject: &Summand) -> Vec<&'a Evaluator<ChannelValues>> {
    releases.iter().filter_map(|r| r.channels().teller(subject)).collect()
}

/// What releases say of one amount; nothing where none of its tables is told.
fn summed(
    releases: &[Answers],
    quantity: &Arc<Quantity>,
    column: String,
    wanted: &mut Wanted,
) -> Result<Option<Summed>, RecordsError> {
    let sums_of = tellers(releases, &Summand::Sum(quantity.clone()));
    let valued_of = match quantity.missing {
        NoValue::Skip => tellers(releases, &Summand::Valued(quantity.clone())),
        NoValue::Stop | NoValue::Zero => Vec::new(),
    };
    let rows: Vec<_> = releases.iter().map(Answers::evaluator).collect();
    let skips = !valued_of.is_empty();
    let counts = |cuboid: &Cuboid| match skips {
        true => together(&valued_of, cuboid),
        false => together(&rows, cuboid),
    };
    let all = sums_of.iter().flat_map(|of| &of.recovery().plan().only().workload).map(|t| t.cuboid.clone());
    let mut asked: BTreeSet<Cuboid> = all.collect();
    // Records tell cells apart by the tables of counts.
    let has = |cuboid: &Cuboid| at(&wanted.levels, cuboid).len() == cuboid.len();
    let held = |cuboid: &Cuboid| -> Result<Option<(Held, Held)>, RecordsError> {
        let (Some((own, of_sum)), Some((counts, of_count))) = (together(&sums_of, cuboid)?, counts(cuboid)?)
        else {
            return Ok(None);
        };
        let (halves, middle) = (quantity.grain(), quantity.origin());
        let estimates: Vec<f64> = own.iter().zip(&counts).map(|(t, n)| halves * t + middle * n).collect();
        if estimates.iter().any(|e| !e.is_finite()) {
            return Err(RecordsError::NotFinite);
        }
        let columns = at(&wanted.levels, cuboid);
        let held = |estimates, variance| Held {
            cuboid: cuboid.clone(),
            columns: columns.clone(),
            estimates,
            error: libm::sqrt(variance),
            asked: false,
        };
        let spread = halves * halves * of_sum + middle * middle * of_count;
        Ok(Some((held(estimates, spread), held(counts, of_count))))
    };
    let (mut found, mut untold) = (BTreeMap::new(), Vec::new());
    for cuboid in &asked {
        match has(cuboid).then(|| held(cuboid)).transpose()?.flatten() {
            Some(told) => _ = found.insert(cuboid.clone(), told),
            None => untold.push(cuboid.clone()),
        }
    }
    asked.retain(|cuboid| !untold.contains(cuboid));
    let mut known = Vec::new();
    for cuboid in with_lower(&asked) {
        match found.remove(&cuboid) {
            Some(told) => known.push(told),
            None => known.extend(held(&cuboid)?),
        }
    }
    let cube = releases.first().ok_or(RecordsError::Nothing)?.cube();
    wanted.untold.extend(untold.iter().map(|c| format!("sums of {} by {}", quantity.name, cube.describe(c))));
    let own = |mut of: Held| {
        of.asked = asked.contains(&of.cuboid);
        of
    };
    let (sums, valued): (Vec<Held>, Vec<Held>) = known.into_iter().map(|(s, v)| (own(s), own(v))).unzip();
    let told = !sums.is_empty();
    Ok(told.then(|| Summed { quantity: quantity.clone(), column, sums, valued: skips.then_some(valued) }))
}

/// Records to which amounts are given.
pub(super) struct Receivers<'a> {
    pub wanted: &'a Wanted,
    pub cube: &'a Cube,
    pub nodes: &'a Nodes,
    pub rows: usize,
    /// What one of them stands for.
    pub weight: f64,
    pub seed: u64,
    pub threads: usize,
}

impl Amounts {
    /// Gives each record its amounts. Each amount has random numbers of its own.
    pub(super) fn give(self, to: &Receivers, watch: &Watch) -> Result<Given, RecordsError> {
        let stage = watch.stage("adding amounts", self.each.len() as u64);
        let mut made: Vec<Option<(RecordColumn, AmountReport)>> = self.each.iter().map(|_| None).collect();
        share::each(to.threads, self.each.iter().zip(&mut made).enumerate(), |(i, (summed, made))| {
            *made = to.one(summed, i as u64, watch);
            stage.advance(1);
        });
        let made = made.into_iter().collect::<Option<Vec<_>>>().ok_or(RecordsError::Stopped)?;
        let (columns, reports) = made.into_iter().unzip();
        Ok(Given { columns, reports, notes: self.notes })
    }
}

impl Receivers<'_> {
    /// One amount of every record; `None` when it was stopped.
    fn one(&self, of: &Summed, place: u64, watch: &Watch) -> Option<(RecordColumn, AmountReport)> {
        let (shape, nodes, seed) = (&self.wanted.shape, self.nodes, self.seed);
        let all = vec![true; self.rows];
        let numbers = |has: &[bool], reach, place, aims: &[Aim]| {
            Drawing { shape, nodes, has, reach, seed, place }.draw(aims, watch)
        };
        let has = match &of.valued {
            None => all,
            Some(tables) => {
                let aim = |t: &Held| Aim {
                    columns: t.columns.clone(),
                    sums: t.estimates.iter().map(|e| e / self.weight).collect(),
                    error: t.error / self.weight,
                };
                let bits = numbers(&all, 1, 2 * place, &tables.iter().map(aim).collect::<Vec<_>>())?;
                bits.into_iter().map(|bit| bit == 1).collect()
            }
        };
        let (low, step) = (of.quantity.low(), of.quantity.step());
        let aim = |t: &Held| {
            let counts = self.added(t, &has, |_| 1.0);
            let steps = |(sum, n): (&f64, f64)| (sum / self.weight - low * n) / step;
            Aim {
                columns: t.columns.clone(),
                sums: t.estimates.iter().zip(counts).map(steps).collect(),
                error: t.error / self.weight / step,
            }
        };
        let aims: Vec<Aim> = of.sums.iter().map(aim).collect();
        // No more than 2^24 steps.
        let steps = numbers(&has, of.quantity.steps() as u32, 2 * place + 1, &aims)?;
        let sums = of.sums.iter().zip(&aims).filter(|(t, _)| t.asked).map(|(t, aim)| {
            let own = self.added(t, &has, |r| f64::from(steps[r]));
            self.gap(t, aim.sums.iter().zip(own).map(|(want, have)| (want - have) * step * self.weight))
        });
        let valued = of.valued.iter().flatten().filter(|t| t.asked).map(|t| {
            let own = self.added(t, &has, |_| self.weight);
            self.gap(t, t.estimates.iter().zip(own).map(|(want, have)| want - have))
        });
        let report = AmountReport {
            name: of.quantity.name.clone(),
            column: of.column.clone(),
            step,
            unit: of.quantity.unit.clone(),
            with_value: has.iter().filter(|has| **has).count() as u64,
            sums: sums.collect(),
            valued: valued.collect(),
        };
        let values = values(&of.quantity, &steps, &has);
        Some((RecordColumn { name: of.column.clone(), values, inside: false }, report))
    }

    /// What the records that have a value add up to in each cell of a table.
    fn added(&self, table: &Held, has: &[bool], what: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; table.estimates.len()];
        let cells = self.wanted.shape.cells(&table.columns, self.nodes, self.rows);
        cells.enumerate().filter(|(r, _)| has[*r]).for_each(|(r, cell)| sums[cell] += what(r));
        sums
    }

    /// How far a table's cells are from the release's.
    fn gap(&self, table: &Held, gaps: impl Iterator<Item = f64>) -> Gap {
        let (sum, largest) = gaps.fold((0.0, 0.0f64), |(sum, most), g| (sum + g.abs(), most.max(g.abs())));
        let cells = table.estimates.len();
        Gap {
            table: self.cube.describe(&table.cuboid),
            cells: cells as u64,
            std_error: table.error,
            mean: sum / cells.max(1) as f64,
            largest,
        }
    }
}

/// What stands in the file: whole numbers where the bounds have no decimal places.
fn values(quantity: &Quantity, steps: &[u32], has: &[bool]) -> Values {
    let units = |&k: &u32| quantity.low.saturating_add_unsigned(u64::from(k).saturating_mul(quantity.step));
    let one = 10u64.pow(quantity.places.min(MOST_PLACES).into()) as f64;
    let every = has.iter().all(|has| *has);
    let some = steps.iter().zip(has).map(|(k, has)| has.then(|| units(k)));
    match (quantity.places == 0, every) {
        (true, true) => Values::Whole(steps.iter().map(units).collect()),
        (true, false) => Values::SomeWhole(some.collect()),
        (false, true) => Values::Numbers(steps.iter().map(|k| units(k) as f64 / one).collect()),
        (false, false) => Values::SomeNumbers(some.map(|u| u.map(|u| u as f64 / one)).collect()),
    }
}
