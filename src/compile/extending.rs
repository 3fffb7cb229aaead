//! A release that extends one that is out: what of its tables is missing, and worth measuring.
//!
//! What is out told each table of the new workload with some variance, or not at all. Both releases are asked together afterwards, and
//! independent answers combine by precision: `1/(1/v₀ + 1/v)`. So tables that are known well enough need not be measured
//! again, and all the budget goes to the rest. Which ones that is, is found by trial: the tables in the order of what is known of them, the
//! unknown ones first; a plan for every beginning of that list that is tried; the best by the spec's own objective, judged by the combined
//! variances. Nothing is looked at but two plans and their noises: it costs nothing.

use super::CompileError;
use crate::answer::{Answers, Evaluator};
use crate::cube::{Cube, Cuboid, Dimension, Quantity};
use crate::exact::Rational;
use crate::plan::{Asks, Block, Channel, Subject, Table, Target};
use crate::planner::closure::Spread;
use crate::planner::objective::keeps;
use crate::planner::predict::Prediction;
use crate::planner::{self, Request};
use crate::spec::{self, Spec};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// A spec of what is missing.
pub(crate) struct Missing {
    /// The spec to release: with fewer tables where some are known well enough.
    pub spec: Spec,
    /// The tables that are not measured again.
    pub known: Vec<String>,
}

/// So many beginnings of the list are tried.
const TRIED: usize = 4;

/// What is missing of a spec's tables beside a release of the same people. `origin` is where the spec stands. `None`: nothing, every
/// table is known as precisely as its target wants.
pub(crate) fn missing(spec: &Spec, origin: &Path, out: &Answers) -> Result<Option<Missing>, CompileError> {
    // Amounts are compared as what is out measures them.
    let plan = out.release().plan(out.cube()).ok();
    let request = plan.map_or_else(|| spec.request(), |plan| spec.measured(&plan).request());
    let request = request.ok_or(CompileError::NoBudget)?;
    let whole = || Missing { spec: spec.clone(), known: Vec::new() };
    let plain = spoken_of(spec).is_none();
    let without = |left: &HashSet<Cuboid>| -> Option<Missing> {
        let spec = rewritten(spec, origin, &called(out), left)?;
        let mut known: Vec<&Cuboid> = left.iter().collect();
        known.sort_unstable();
        Some(Missing { spec, known: known.iter().map(|c| request.cube.describe(c)).collect() })
    };
    // What several channels tell together is compared with margins alone: a table is left out if all that it has are kept.
    if !request.sums.is_empty() {
        let (kept, all) = kept(&request, out);
        return Ok(match kept.len() {
            n if n == all => None,
            0 => Some(whole()),
            _ => Some(plain.then(|| without(&kept)).flatten().unwrap_or_else(whole)),
        });
    }
    let cells = request.workload.iter().all(|t| t.asks == Asks::CELLS);
    let known = if cells { known(&request, out) } else { vec![None; request.workload.len()] };
    let met = |t: usize| request.target_variance(t).is_some_and(|v| known[t].is_some_and(|k| k.max <= v));
    if !known.is_empty() && (0..known.len()).all(met) {
        return Ok(None);
    }
    if !plain || known.iter().all(Option::is_none) {
        return Ok(Some(whole()));
    }
    let mut order: Vec<usize> = (0..known.len()).collect();
    let variance =
        |t: usize| known[t].map_or(f64::INFINITY, |k| k.mean * request.workload[t].weight.to_f64());
    order.sort_by(|&a, &b| variance(b).total_cmp(&variance(a)));
    let unknown = known.iter().filter(|k| k.is_none()).count();
    let mut best: Option<(f64, Vec<usize>)> = None;
    let mut refused = None;
    for size in beginnings(unknown, order.len()) {
        let mut chosen = order[..size].to_vec();
        chosen.sort_unstable();
        match planner::plan(&part(&request, &chosen)) {
            Ok(planned) => {
                let score =
                    planner::score(&request, &combined(&request, &known, &chosen, &planned.prediction), None);
                if best.as_ref().is_none_or(|b| score < b.0) {
                    best = Some((score, chosen));
                }
            }
            Err(why) => refused = Some(why),
        }
    }
    let Some((_, chosen)) = best else {
        return Err(refused.map_or(CompileError::NoBudget, CompileError::Plan));
    };
    let left = order.iter().filter(|t| !chosen.contains(t));
    let left: HashSet<Cuboid> = left.map(|&t| request.workload[t].cuboid.clone()).collect();
    Ok(Some(if left.is_empty() { whole() } else { without(&left).unwrap_or_else(whole) }))
}

/// What of a spec speaks of its tables by name, so that all of them must stay.
fn spoken_of(spec: &Spec) -> Option<&'static str> {
    let is_question = |t: &Table| matches!(t.asks, Asks::Query(_));
    match () {
        () if spec.workload.iter().any(is_question) => Some("[[query]]"),
        () if !spec.exact.is_empty() => Some("exact tables"),
        () if !spec.zeros.is_empty() => Some("[[zero]]"),
        () if !spec.strategy.shares.is_empty() => Some("shares of the budget"),
        () if spec.strategy.rows.is_some() => Some("rows of its own"),
        () => None,
    }
}

/// Why nothing is left out of a spec, whatever is known of its tables; nothing where that depends on what is known.
pub(crate) fn leaves_nothing_out(spec: &Spec) -> Option<String> {
    // What ranges of a table are known to, beside cells, is compared nowhere.
    let asked = spec.amounts.is_empty() && spec.workload.iter().any(|t| t.asks != Asks::CELLS);
    let why = spoken_of(spec).or_else(|| asked.then_some("`ask` in a table"))?;
    Some(format!("no table is left out of a spec with {why}"))
}

/// How a spec names the release that it extends: as `b3sum` does its file.
fn called(out: &Answers) -> String {
    match out.release().blake3() {
        Ok(hash) => format!("{} (the file whose BLAKE3 hash is {hash})", out.name()),
        Err(_) => out.name().to_owned(),
    }
}

/// Of which dimension that both have in what they measure the categories are others, or those of a level of one name: what both say of it is never taken
/// together, so it would be paid for twice.
pub(crate) fn other_categories(spec: &Spec, out: &Answers) -> Option<String> {
    let (here, there) = (&*spec.cube, out.cube());
    let plan = out.release().plan(there).ok()?;
    let own = spec.workload.iter().chain(spec.amounts.iter().flat_map(|a| &a.tables)).map(|t| &t.cuboid);
    let own =
        own.chain(spec.exact.iter().map(|e| &e.cuboid)).chain(spec.strategy.rows.iter().map(|r| &r.cuboid));
    let own: HashSet<usize> = own.flat_map(|c| c.iter().map(|level| level.dimension)).collect();
    let measured = |channel: &Channel| {
        let tables = channel.workload.iter().map(|t| &t.cuboid);
        let blocks = channel.measurements.iter().map(|m| m.block.cuboid());
        let exact = plan.exact.iter().chain(&channel.exact);
        tables
            .chain(blocks)
            .chain(exact)
            .flat_map(|c| c.iter().map(|level| level.dimension))
            .collect::<Vec<_>>()
    };
    let theirs: HashSet<usize> = plan.channels.iter().flat_map(measured).collect();
    let differs = |one: &Dimension, other: &Dimension| {
        let (a, b) = (one.finest(), other.finest());
        let of_level = |l: usize| {
            let level = &one.levels[l];
            let named = (1..other.levels.len()).find(|&m| m != b && other.levels[m].name == level.name);
            named.is_some_and(|m| {
                other.levels[m].labels != level.labels || other.ancestors(b, m) != one.ancestors(a, l)
            })
        };
        one.levels[a].labels != other.levels[b].labels
            || (1..one.levels.len()).filter(|&l| l != a).any(of_level)
    };
    let mut all = here.dimensions.iter().enumerate().filter(|(d, _)| own.contains(d));
    let (_, found) = all.find(|(_, one)| {
        let same = there.dimensions.iter().enumerate().find(|(_, other)| other.name == one.name);
        same.is_some_and(|(d, other)| theirs.contains(&d) && differs(one, other))
    })?;
    Some(format!(
        "they have different categories of {}, so the two are never asked together about it",
        found.name
    ))
}

/// How many of the list are tried: all that is unknown, everything, and some between.
fn beginnings(unknown: usize, all: usize) -> Vec<usize> {
    let least = unknown.max(1);
    let step = |i: usize| least + (all - least) * i / (TRIED - 1);
    let mut sizes: Vec<usize> = (0..TRIED).map(step).collect();
    sizes.dedup();
    sizes
}

/// The request for some of its tables.
fn part(request: &Request, chosen: &[usize]) -> Request {
    Request {
        workload: chosen.iter().map(|&t| request.workload[t].clone()).collect(),
        by_cell: chosen.iter().filter_map(|&t| request.by_cell.get(t).cloned()).collect(),
        targets: chosen.iter().map(|&t| request.targets.get(t).copied().flatten()).collect(),
        ..request.clone()
    }
}

/// What both releases together tell of every table.
fn combined(request: &Request, known: &[Option<Spread>], chosen: &[usize], new: &Prediction) -> Prediction {
    let mut out = Prediction::default();
    for (t, table) in request.workload.iter().enumerate() {
        let own = chosen.iter().position(|&c| c == t).and_then(|at| new.tables.get(at));
        let both = |old: f64, new: f64| if old + new > 0.0 { old * new / (old + new) } else { 0.0 };
        let spread = match (known[t], own) {
            (Some(k), Some(n)) => Spread { mean: both(k.mean, n.mean), max: both(k.max, n.max) },
            (Some(one), None) => one,
            (None, Some(one)) => *one,
            (None, None) => Spread { mean: f64::INFINITY, max: f64::INFINITY },
        };
        let cells = request.cube.cells(&table.cuboid).map_or(f64::INFINITY, |n| n as f64);
        out.cells += cells;
        out.queries += cells;
        out.asked.push(cells);
        out.total += cells * spread.mean;
        out.weighted_total += table.weight.to_f64() * cells * spread.mean;
        out.max = out.max.max(spread.max);
        out.tables.push(spread);
    }
    out
}

/// What a release tells of every table of a request: the variance of its cells, `None` where it does not hold it.
fn known(request: &Request, out: &Answers) -> Vec<Option<Spread>> {
    let recovery = out.evaluator().recovery();
    let (cube, plan) = (recovery.cube(), recovery.plan());
    let mut known = vec![None; request.workload.len()];
    if plan.rows().measurements.iter().any(|m| matches!(m.block, Block::Rows(_))) {
        return known;
    }
    let held: Vec<(usize, Cuboid)> = (request.workload.iter().enumerate())
        .filter_map(|(t, table)| Some((t, translated(&request.cube, &table.cuboid, cube)?)))
        .filter(|(_, cuboid)| recovery.frame().telling(cuboid).is_some_and(|told| recovery.holds(&told)))
        .collect();
    let tables: Vec<Table> =
        held.iter().map(|(t, c)| Table { cuboid: c.clone(), ..request.workload[*t].clone() }).collect();
    let asked = Request {
        cube: cube.clone().into(),
        targets: vec![None; tables.len()],
        by_cell: Vec::new(),
        exact: plan.exact.clone(),
        zeros: plan.zeros.clone(),
        noise: plan.noise,
        workload: tables.clone(),
        ..request.clone()
    };
    for ((t, _), spread) in held.iter().zip(planner::judge(&asked, plan, tables)) {
        known[*t] = Some(spread);
    }
    known
}

/// The tables that have a margin for all that is asked of them, counts and sums, where what is out keeps all of these by the laws of its noises; and how
/// many tables there are.
fn kept(request: &Request, out: &Answers) -> (HashSet<Cuboid>, usize) {
    let sums = request.sums.iter().flat_map(|s| &s.tables);
    let all: HashSet<Cuboid> = request.workload.iter().chain(sums).map(|t| t.cuboid.clone()).collect();
    let many = all.len();
    let read = out.release().plan(out.cube()).ok().zip(planner::own_weights(request));
    let Some((plan, wanted)) = read else { return (HashSet::new(), many) };
    let cube: Arc<Cube> = out.evaluator().recovery().cube().clone().into();
    let mut missed: HashSet<Cuboid> = HashSet::new();
    // A table that was asked for is told, and what follows from it.
    let mut aimed = |table: &Table, target: Option<Target>, told: &[Table]| {
        let own = translated(&request.cube, &table.cuboid, &cube).filter(|_| table.asks.is_cells());
        let own = own.filter(|own| told.iter().any(|t| own.is_below(&t.cuboid))).zip(target);
        if own.is_none() {
            missed.insert(table.cuboid.clone());
        }
        own.map(|(there, target)| Aim { of: table.cuboid.clone(), there, target })
    };
    // Counts that only sums need have no margin of their own.
    let counts = request.workload.iter().zip(&request.targets).zip(&wanted).filter(|(_, w)| **w > 0.0);
    let counts: Vec<Aim> =
        counts.filter_map(|((t, target), _)| aimed(t, *target, &plan.rows().workload)).collect();
    let mut sums = Vec::new();
    for own in &request.sums {
        let said = |q: &Quantity| Quantity { description: None, ..q.clone() };
        let of = |subject: &dyn Fn(&Subject) -> bool| {
            let alike = |q: &Arc<Quantity>| said(q) == said(&own.quantity);
            plan.channels.iter().find(|c| c.subject.quantity().is_some_and(alike) && subject(&c.subject))
        };
        let channel = of(&|s| matches!(s, Subject::Sum(_)));
        let squares = !own.square || of(&|s| matches!(s, Subject::Squares(_))).is_some();
        let ends = own.clamping.is_none() || of(&Subject::is_of_an_end).is_some();
        let channel = channel.filter(|_| squares && ends);
        let told = channel.map_or(&[][..], |c| &c.workload);
        let aims = own.tables.iter().zip(&own.targets).filter_map(|(t, target)| aimed(t, *target, told));
        let aims: Vec<Aim> = aims.collect();
        if let Some(quantity) = channel.and_then(|c| c.subject.quantity()) {
            sums.push((quantity, aims));
        }
    }
    let asked: Vec<_> = sums.iter().map(|(q, aims)| (*q, Aim::there(aims))).collect();
    let halves = Evaluator::half_widths(&cube, &plan, &Aim::there(&counts), &asked);
    let keeps = |aim: &Aim, half: Option<f64>| half.is_some_and(|h| keeps(aim.target.margin.to_f64(), h));
    let aims = counts.iter().chain(sums.iter().flat_map(|(_, aims)| aims));
    let halves = halves.into_iter().chain(std::iter::repeat(None));
    missed.extend(aims.zip(halves).filter(|(aim, half)| !keeps(aim, *half)).map(|(aim, _)| aim.of.clone()));
    (&all - &missed, many)
}

/// A margin of a table, and the same table of what is out.
struct Aim {
    of: Cuboid,
    there: Cuboid,
    target: Target,
}

impl Aim {
    fn there(aims: &[Aim]) -> Vec<(&Cuboid, Target)> {
        aims.iter().map(|a| (&a.there, a.target)).collect()
    }
}

/// The same table of another cube: dimensions and levels of the same names, with the same categories.
fn translated(from: &Cube, cuboid: &Cuboid, to: &Cube) -> Option<Cuboid> {
    let pairs = cuboid.iter().map(|at| {
        let own = &from.dimensions[at.dimension];
        let dim = to.dimensions.iter().position(|x| x.name == own.name)?;
        let labels = &at.of(from).labels;
        let level = to.dimensions[dim].levels.iter().position(|x| x.labels == *labels)?;
        Some((dim, level))
    });
    pairs.collect::<Option<Vec<_>>>().map(Cuboid::new)
}

/// The spec without these tables; `None` where it is not known how to write that.
fn rewritten(spec: &Spec, origin: &Path, title: &str, left: &HashSet<Cuboid>) -> Option<Spec> {
    let mut written: toml::Table = spec.source.parse().ok()?;
    if written.contains_key("query") {
        return None;
    }
    let cube = &spec.cube;
    let text = |t: String| toml::Value::String(t);
    let name = |c: &Cuboid| -> Vec<String> { c.iter().map(|level| cube.level_name(level)).collect() };
    let sums = spec.amounts.iter().flat_map(|a| &a.tables);
    let every: BTreeMap<Cuboid, Vec<String>> =
        (spec.workload.iter().chain(sums)).map(|t| (t.cuboid.clone(), name(&t.cuboid))).collect();
    let by_name: HashMap<Vec<&str>, &Cuboid> = (every.iter())
        .map(|(cuboid, own)| {
            let mut own: Vec<&str> = own.iter().map(String::as_str).collect();
            own.sort_unstable();
            (own, cuboid)
        })
        .collect();
    // Each entry once for each table that it chooses and that stays.
    let mut entries = Vec::new();
    for entry in written.get("table")?.as_array()? {
        let entry = entry.as_table()?;
        let names = |key: &str| -> Option<Vec<&str>> {
            entry.get(key)?.as_array()?.iter().map(|v| v.as_str()).collect()
        };
        let size = |key: &str| entry.get(key).and_then(|v| v.as_integer());
        let among = names("among");
        let finest = |c: &Cuboid| c.iter().all(|l| l.level == cube.dimensions[l.dimension].finest());
        let is_among = |c: &Cuboid, own: &[String]| match &among {
            Some(among) => own.iter().all(|n| among.contains(&n.as_str())),
            None => finest(c),
        };
        let has_size = |many: i64| {
            size("every").is_none_or(|k| k == many) && size("up_to").is_none_or(|most| many <= most)
        };
        let chosen: Vec<&Cuboid> = match names("of") {
            Some(mut of) => {
                of.sort_unstable();
                by_name.get(&of).copied().into_iter().collect()
            }
            None => {
                let those = every.iter().filter(|(c, own)| has_size(c.len() as i64) && is_among(c, own));
                those.map(|(c, _)| c).collect()
            }
        };
        for cuboid in chosen.into_iter().filter(|c| !left.contains(c)) {
            let mut own = entry.clone();
            ["every", "up_to", "among"].iter().for_each(|key| drop(own.remove(*key)));
            own.insert("of".into(), toml::Value::Array(name(cuboid).into_iter().map(text).collect()));
            entries.push(toml::Value::Table(own));
        }
    }
    // An amount that no table tells would be refused.
    let told: HashSet<String> = (entries.iter().filter_map(|e| e.get("sum")?.as_array()).flatten())
        .filter_map(|v| Some(v.as_str()?.to_owned()))
        .collect();
    let is_told = |a: &toml::Value| a.get("name").and_then(|v| v.as_str()).is_some_and(|n| told.contains(n));
    if let Some(amounts) = written.get_mut("amount").and_then(|v| v.as_array_mut()) {
        amounts.retain(is_told);
    }
    written.insert("table".into(), toml::Value::Array(entries));
    let before = spec.description.as_ref().map_or(String::new(), |d| format!("{d} "));
    written.insert("description".into(), text(format!("{before}Extends {title}.")));
    let attached = |file: &str| {
        let found = spec.attachments.iter().find(|(name, _)| name == file);
        found.map(|(_, bytes)| bytes.clone()).ok_or_else(|| std::io::ErrorKind::NotFound.into())
    };
    let read = spec::parse(&toml::to_string(&written).ok()?, origin, attached).ok()?;
    // It asks for what is left, and as it did.
    let asked = |spec: &Spec| -> HashMap<(Option<String>, Cuboid, Asks), (Rational, Option<Target>)> {
        let counts = (spec.workload.iter().zip(&spec.targets)).map(|of| (None, of));
        let sums = spec.amounts.iter().flat_map(|a| {
            let own = a.tables.iter().zip(&a.targets);
            own.map(|of| (Some(a.quantity.name.clone()), of))
        });
        let one = |(of, (t, target)): (_, (&Table, &Option<Target>))| {
            ((of, t.cuboid.clone(), t.asks.clone()), (t.weight, *target))
        };
        counts.chain(sums).map(one).collect()
    };
    let mut wanted = asked(spec);
    wanted.retain(|(_, cuboid, _), _| !left.contains(cuboid));
    (wanted == asked(&read)).then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::make::ReleaseOptions;
    use crate::secret::ingest::{Frame, Held};

    const HEAD: &str = "name = \"shop\"\ntitle = \"Shop\"\n[privacy]\nunit = \"row\"\nrho = 1\n\
        [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n\
        [[dimension]]\nname = \"age\"\nrange = [0, 9]\nlevels = [{ name = \"band\", width = 5 }]\n\
        [[dimension]]\nname = \"region\"\ncategories = [\"N\", \"E\", \"S\"]\n";
    const AMOUNTS: &str = "[[amount]]\nname = \"pay\"\ncolumn = \"pay\"\nlow = 0\nhigh = 900\nstep = 1\n\
        [[amount]]\nname = \"tax\"\ncolumn = \"tax\"\nlow = 100\nhigh = 900\nstep = 1\nsquare = true\n";
    const WEIGHTS: &str = "[weights]\ncolumn = \"w\"\nhigh = 40\nstep = 1\n";

    /// Without any one of its tables, and without any two, a spec asks for all others as it did: whichever way they were asked for.
    #[test]
    fn all_but_what_is_left_out_stays_as_it_was() {
        let counts = "[[table]]\nevery = 2\nweight = 3\n[[table]]\nup_to = 2\namong = [\"sex\", \"age.band\"]\nmargin = 50\n\
            [[table]]\nof = [\"sex\", \"age\"]\nmargin = 20\nlevel = 0.9\n[[table]]\nof = []\n";
        let asked = "[[table]]\nof = [\"age\"]\nask = { age = \"ranges\" }\n[[table]]\nevery = 1\n";
        let sums = "[[table]]\nevery = 1\nsum = [\"pay\"]\nmargin = { count = 50, pay = 5000 }\nlevel = 0.9\n\
            [[table]]\nof = [\"region\", \"sex\"]\nsum = [\"tax\"]\ncount = false\nweight = { tax = 2 }\n\
            [[table]]\nof = [\"age.band\"]\n";
        let weighed =
            "[[table]]\nevery = 2\nsum = [\"pay\", \"tax\"]\n[[table]]\nof = [\"sex\"]\nweight = 7\n";
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let plain = AMOUNTS.replace("square = true\n", "");
        for tables in [
            counts.to_owned(),
            asked.to_owned(),
            format!("{AMOUNTS}{sums}"),
            format!("{WEIGHTS}{plain}{weighed}"),
            format!("{WEIGHTS}{asked}"),
        ] {
            let spec = spec::parse(&format!("{HEAD}{tables}"), Path::new("shop.toml"), none).unwrap();
            let sums = spec.amounts.iter().flat_map(|a| &a.tables);
            let all: HashSet<Cuboid> = spec.workload.iter().chain(sums).map(|t| t.cuboid.clone()).collect();
            assert!(all.len() > 2);
            for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
                let left = HashSet::from([one.clone(), other.clone()]);
                let read = rewritten(&spec, Path::new("shop.toml"), "what is out", &left);
                let read = read.unwrap_or_else(|| panic!("{tables}: {left:?}"));
                let sums = read.amounts.iter().flat_map(|a| &a.tables);
                let there: HashSet<Cuboid> =
                    read.workload.iter().chain(sums).map(|t| t.cuboid.clone()).collect();
                assert_eq!(there, &all - &left);
                assert!(read.amounts.iter().all(|a| !a.tables.is_empty()));
                assert_eq!(read.description.as_deref(), Some("Extends what is out."));
            }
        }
    }

    /// What both measure must have the same categories: of what only one of them measures nothing is ever taken together.
    #[test]
    fn other_categories_are_known_before_a_charge() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("agency.key");
        std::fs::write(&key, crate::release::keys::keygen(None).unwrap().secret).unwrap();
        let columns = ["sex", "age", "region"].map(|name| (name.into(), Held::Text)).to_vec();
        let mut rows = Frame::new(columns);
        ["F", "3", "N"].iter().for_each(|cell| rows.cell(cell.as_bytes()));
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let read = |text: &str| spec::parse(text, Path::new("shop.toml"), none).unwrap();
        let head = HEAD.replace("[privacy]", "[dataset]\nid = \"people\"\n[privacy]");
        let base = format!("{head}[[table]]\nof = [\"sex\", \"age.band\"]\n");
        let options = ReleaseOptions::new().out(folder.path()).ledger(folder.path().join("l.jsonl"));
        let made = read(&base).release(options.rows(&rows).key(&key)).unwrap();
        let out = Answers::open(made.path()).unwrap();
        assert!(called(&out).contains(&out.release().blake3().unwrap()));
        let unlike = |was: &str, is: &str, tables: &str| {
            assert!(head.contains(was), "{was}");
            other_categories(&read(&format!("{}{tables}", head.replace(was, is))), &out)
        };
        let (ages, regions) = ("[[table]]\nof = [\"age\"]\n", "[[table]]\nof = [\"region\"]\n");
        let sexes = "[[table]]\nof = [\"sex\"]\n";
        let bands = ("width = 5", "width = 2");
        for (was, is, tables, of) in [
            ("title", "title", sexes, None),
            ("\"F\", \"M\"", "\"F\", \"M\", \"X\"", sexes, Some("sex")),
            ("\"F\", \"M\"", "\"M\", \"F\"", sexes, Some("sex")),
            ("\"F\", \"M\"", "\"M\", \"F\"", regions, None),
            ("range = [0, 9]", "range = [0, 14]", ages, Some("age")),
            (bands.0, bands.1, ages, Some("age")),
            (bands.0, bands.1, sexes, None),
            ("\"N\", \"E\"", "\"E\"", regions, None),
        ] {
            let found = unlike(was, is, tables);
            let wanted = of.map(|of| format!("different categories of {of}, "));
            let told = wanted.as_ref().is_none_or(|w| found.as_ref().is_some_and(|f| f.contains(w)));
            assert_eq!((told, found.is_some()), (true, of.is_some()), "{is} {tables}: {found:?}");
        }
    }

    /// Where nothing is ever left out, it is said why; ranges beside sums may be.
    #[test]
    fn what_leaves_nothing_out() {
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let why = |tables: &str| {
            leaves_nothing_out(
                &spec::parse(&format!("{HEAD}{tables}"), Path::new("shop.toml"), none).unwrap(),
            )
        };
        let plain = "[[table]]\nof = [\"sex\"]\n";
        let query = "[[query]]\nsql = \"SELECT COUNT(*) FROM shop WHERE age < 3\"\n";
        let asks = "[[table]]\nof = [\"age\"]\nask = { age = \"ranges\" }\n";
        assert_eq!(why(plain), None);
        assert!(why(&format!("{plain}{query}")).unwrap().ends_with("[[query]]"));
        assert!(why(&format!("{plain}{asks}")).unwrap().contains("`ask`"));
        let exact = "[[table]]\nof = [\"region\"]\nexact = true\nreason = \"r\"\n";
        assert!(why(&format!("{plain}{exact}")).unwrap().ends_with("exact tables"));
    }
}
