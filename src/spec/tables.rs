//! `[[table]]`: the tables asked for.

use super::amounts::{self, TablesSummed};
use super::asks;
use super::diagnostic::{Diagnostic, Sink};
use super::dimension::DeclaredDimension;
use super::keys::{Keys, Shape, shown};
use super::named::{DimensionNames, level_list};
use super::read::{self, Fields, Value};
use crate::cube::{Cuboid, Level, Weighing};
use crate::exact::Rational;
use crate::plan::Target;
use crate::plan::{Asks, Ranges, Table};
use crate::spec::{AmountSpec, ExactTable};
use std::collections::{HashMap, HashSet};

/// The keys of `[[table]]`.
pub(super) const KEYS: Keys = Keys {
    what: "Tables to release: exactly one of `every`, `up_to` and `of` selects them. A table that several entries ask for in \
           the same way is made once, with the largest weight and the strictest target, and exact if one of them says so.",
    keys: &[
        shown(
            "of",
            "of = [\"sex\", \"age.band\"]",
            Shape::AnyList(&Shape::Text),
            "this table; `of = []` is the total",
        ),
        shown("every", "every = 2", Shape::Whole(1, u16::MAX as i64), "every table of two dimensions"),
        shown(
            "up_to",
            "up_to = 3",
            Shape::Whole(1, u16::MAX as i64),
            "every table of up to three dimensions, the total included",
        ),
        shown(
            "among",
            "among = [...]",
            Shape::AnyList(&Shape::Text),
            "with `every` and `up_to`: only these dimensions, at these levels",
        ),
        shown(
            "ask",
            "ask = { age = \"ranges\" }",
            Shape::Map(&asks::ASKED),
            "the sums that people will ask for along a dimension or level: see below. Tables without the dimension ignore it",
        ),
        shown(
            "sum",
            "sum = [\"income\"]",
            Shape::AnyList(&Shape::Text),
            "the amounts whose sums the table tells, beside its counts",
        ),
        shown(
            "count",
            "count = false",
            Shape::Truth,
            "with `sum`: counts matter only as far as sums need them. With `epsilon` a sum may be [measured from zero](methods/amounts.md#two-channels-are-enough) and need none: then the table tells neither counts nor means",
        ),
        shown(
            "weight",
            "weight = 2",
            Shape::Either(&[Shape::Exact, Shape::Map(&Shape::Exact)]),
            "how much the error of each answer matters (default 1). With `sum` also by name: `{ count = 1, income = 2 }`; the error of a sum \
             counts in units of its largest value",
        ),
        shown(
            "margin",
            "margin = 50",
            Shape::Either(&[Shape::Exact, Shape::Map(&Shape::Exact)]),
            "a target: the interval of every answer (every cell, if there is no `ask`) is at most ± 50. Intervals of counts end at whole \
             numbers: under Gaussian noise ± 2.6 is kept as ± 3. Whether a target is met `plan` and `verify` judge by the normal law: where they say that it is missed by less than one, the interval may still be as short as asked. Those of sums do so where half a step and the middle of the bounds are whole, and else end where they fall. With `sum` by name: `{ count = 50, income = 5e6 }`",
        ),
        shown(
            "level",
            "level = 0.9",
            Shape::Exact,
            "with `margin`: the coverage of that interval (default 0.95)",
        ),
        shown(
            "exact",
            "exact = true",
            Shape::Truth,
            "with `of`: publish the table without noise. No budget covers what it says about anybody, and the release says so",
        ),
        shown(
            "reason",
            "reason = \"...\"",
            Shape::Text,
            "required with `exact`: why; shown with the release",
        ),
    ],
    one_of: SHAPES,
    rules: r#"{"dependentSchemas": {
        "among": {"not": {"required": ["of"]}},
        "exact": {
            "required": ["of", "reason"],
            "properties": {"exact": {"const": true}},
            "not": {"anyOf": [{"required": ["weight"]}, {"required": ["margin"]}, {"required": ["ask"]}]}
        },
        "reason": {"required": ["exact"]},
        "level": {"required": ["margin"]}
    }}"#,
};

/// The keys that say which tables; each entry has exactly one.
pub(super) const SHAPES: &[&str] = &["every", "up_to", "of"];

/// Several entries may ask for the same tables: so many choices are looked at in all.
const MAX_CHOICES: u64 = 5_000_000;

/// All tables asked for, each once.
#[derive(Default)]
pub(super) struct TablesAsked {
    pub(super) tables: Vec<Table>,
    /// Parallel to the tables.
    pub(super) targets: Vec<Option<Target>>,
    pub(super) exact: Vec<ExactTable>,
    /// For each amount the tables of its sums.
    pub(super) sums: Vec<TablesSummed>,
}

/// Reads all `[[table]]` entries. A table that comes up in several entries, asked the same, is kept once, where it
/// first came up, with the largest of its weights and the strictest of its targets; if one of them says so, it
/// is exact.
pub(super) fn read(
    value: &Value<'_>,
    dimensions: &[DeclaredDimension],
    amounts: &[AmountSpec],
    sink: &mut Sink,
) -> Option<TablesAsked> {
    let items = read::list(value, "`table`", sink)?;
    let names = DimensionNames::new(dimensions);
    let before = sink.count();
    let mut entries = Vec::with_capacity(items.len());
    for item in items.iter() {
        entries.extend(entry(item, dimensions, &names, amounts, sink));
    }
    // Where a table names what has mistakes of its own, nothing is said of the others as if they were all.
    if sink.count() > before || entries.len() < items.len() {
        return None;
    }
    let total = entries.iter().map(|e| e.count).fold(0u64, u64::saturating_add);
    let most = sink.tables();
    let asked =
        (total <= MAX_CHOICES).then(|| gather(&entries, total.min(most) as usize, amounts.len(), most));
    let asked = asked.flatten();
    if asked.is_none() {
        sink.push(
            Diagnostic::at(value.span(), format!("the spec asks for {total} tables"))
                .label(format!("must be at most {most}")),
        );
    }
    asked
}

/// One `[[table]]`: choices of `smallest ..= largest` of the levels in `from`.
struct TableEntry {
    from: Vec<Level>,
    smallest: usize,
    largest: usize,
    /// Of its counts; `None` where only sums are asked for.
    weight: Option<Rational>,
    /// Of the sums of each amount.
    sums: Vec<(usize, Rational)>,
    target: Option<Target>,
    /// Of the sums of amounts.
    sum_targets: Vec<(usize, Target)>,
    exact: Option<String>,
    asks: Vec<(u16, Ranges)>,
    count: u64,
}

/// The stricter of two targets.
pub(super) fn stricter(a: Option<Target>, b: Option<Target>) -> Option<Target> {
    match (a, b) {
        (Some(a), Some(b)) if b.variance() < a.variance() => Some(b),
        (None, b) => b,
        (a, _) => a,
    }
}

/// Tables with their targets, in the order in which they first come up.
#[derive(Default)]
struct Gathered {
    tables: Vec<(Table, Option<Target>)>,
    at: HashMap<(Cuboid, Asks), usize>,
}

impl Gathered {
    /// One more; `indexed`: it may be there already.
    fn add(&mut self, table: Table, target: Option<Target>, indexed: bool) {
        if indexed {
            let key = (table.cuboid.clone(), table.asks.clone());
            if let Some((own, strictest)) = self.at.get(&key).and_then(|&at| self.tables.get_mut(at)) {
                own.weight = own.weight.max(table.weight);
                *strictest = stricter(*strictest, target);
                return;
            }
            self.at.insert(key, self.tables.len());
        }
        self.tables.push((table, target));
    }

    /// What is published as it is has no error to have a target for.
    fn finish(mut self, exact: &HashSet<Cuboid>) -> Vec<(Table, Option<Target>)> {
        self.tables
            .iter_mut()
            .filter(|(t, _)| exact.contains(&t.cuboid))
            .for_each(|(_, target)| *target = None);
        self.tables
    }
}

/// The tables of all entries; `None` where they are more than `most`, of counts or of the sums of one amount.
fn gather(entries: &[TableEntry], total: usize, amounts: usize, most: u64) -> Option<TablesAsked> {
    let mut sums: Vec<(Gathered, Vec<Cuboid>, HashSet<Cuboid>)> = Vec::new();
    sums.resize_with(amounts, Default::default);
    let mut counts = Gathered { tables: Vec::with_capacity(total), ..Gathered::default() };
    let mut exact: Vec<ExactTable> = Vec::new();
    let mut known: HashSet<Cuboid> = HashSet::new();
    let mut fits = true;
    // Within one entry no table comes up twice, so a single entry needs no index; unless the total of a dimension is asked for, which is
    // the table without it.
    let indexed = entries.len() > 1 || entries.iter().flat_map(|e| &e.asks).any(|(_, a)| *a == Ranges::Total);
    for entry in entries {
        let mut add = |chosen: &[Level]| {
            if !fits {
                return;
            }
            let own = |d: usize| entry.asks.iter().find(|(of, _)| usize::from(*of) == d);
            let kept = chosen.iter().filter(|at| own(at.dimension).is_none_or(|(_, a)| *a != Ranges::Total));
            let cuboid = Cuboid::new(kept.copied());
            let asks = Asks::product(cuboid.iter().filter_map(|at| own(at.dimension).cloned()).collect());
            if let Some(reason) = &entry.exact
                && known.insert(cuboid.clone())
            {
                exact.push(ExactTable { cuboid: cuboid.clone(), reason: reason.clone() });
            }
            for (amount, weight) in &entry.sums {
                let Some((tables, exact, known)) = sums.get_mut(*amount) else { continue };
                if entry.exact.is_some() && known.insert(cuboid.clone()) {
                    exact.push(cuboid.clone());
                }
                let own = entry.sum_targets.iter().find(|(a, _)| a == amount).map(|(_, target)| *target);
                let table = Table { cuboid: cuboid.clone(), weight: *weight, asks: asks.clone() };
                tables.add(table, own, true);
                fits &= tables.tables.len() as u64 <= most;
            }
            let Some(weight) = entry.weight else { return };
            counts.add(Table { cuboid, weight, asks }, entry.target, indexed);
            fits &= counts.tables.len() as u64 <= most;
        };
        for k in entry.smallest..=entry.largest {
            choose(&entry.from, k, &mut Vec::with_capacity(k), &mut add);
        }
    }
    if !fits {
        return None;
    }
    let (tables, targets) = counts.finish(&known).into_iter().unzip();
    let sums = sums.into_iter();
    let sums =
        sums.map(|(tables, exact, known)| TablesSummed { tables: tables.finish(&known), exact }).collect();
    Some(TablesAsked { tables, targets, exact, sums })
}

/// Every choice of `k` items, in lexicographic order.
fn choose<T: Copy>(from: &[T], k: usize, chosen: &mut Vec<T>, each: &mut impl FnMut(&[T])) {
    if k == 0 {
        return each(chosen);
    }
    for (at, &item) in from.iter().enumerate().take((from.len() + 1).saturating_sub(k)) {
        chosen.push(item);
        choose(from.get(at + 1..).unwrap_or(&[]), k - 1, chosen, each);
        chosen.pop();
    }
}

/// How many ways to choose `k` of `n`, or `u64::MAX`.
fn binomial(n: u64, k: u64) -> u64 {
    let mut ways = 1u128;
    for i in 0..k.min(n.saturating_sub(k)) {
        ways = ways * u128::from(n - i) / u128::from(i + 1);
        if ways > u128::from(u64::MAX) {
            return u64::MAX;
        }
    }
    if k > n { 0 } else { ways as u64 }
}

fn entry(
    value: &Value<'_>,
    dimensions: &[DeclaredDimension],
    names: &DimensionNames<'_>,
    amounts: &[AmountSpec],
    sink: &mut Sink,
) -> Option<TableEntry> {
    let fields = Fields::open(value, "`[[table]]`", &KEYS, sink)?;
    let (weight, sums) = weights(&fields, amounts, sink)?;
    let (target, sum_targets) = aims(&fields, amounts, &sums, sink)?;
    let exact = exact(&fields, sink);
    let among = fields.get("among").map(|v| (v, level_list(v, "`among`", names, sink)));
    let (key, shape) = fields.exactly_one(SHAPES, "one of them, such as `every = 2`", sink)?;
    let (from, smallest, largest, count) = if key == "of" {
        let of = level_list(shape, "`of`", names, sink);
        if let Some((v, _)) = &among {
            let span = fields.key_span("among").unwrap_or(v.span());
            sink.push(
                Diagnostic::at(span, "`among` beside `of`")
                    .label("only for `every` and `up_to`")
                    .help("`of` already names the dimensions of one table; leave `among` out".to_owned()),
            );
            return None;
        }
        let from = of?;
        let k = from.len();
        (from, k, k, 1)
    } else {
        let k = read::whole(shape, &format!("`{key}`"), 1, i64::from(u16::MAX), sink);
        let from = match among {
            Some((_, from)) => from,
            None => names.all(),
        };
        let (k, available) = (k? as usize, from.as_ref().map_or(names.count, Vec::len));
        if k > available {
            let whose = if fields.get("among").is_some() { "in `among`" } else { "in the spec" };
            sink.push(
                Diagnostic::at(shape.span(), format!("`{key} = {k}` needs {k} dimensions"))
                    .label(format!("only {available} {whose}")),
            );
            return None;
        }
        let from = from?;
        let smallest = if key == "every" { k } else { 0 };
        let ways = (smallest..=k).map(|k| binomial(from.len() as u64, k as u64));
        let count = ways.fold(0, u64::saturating_add);
        // Of dimensions whose totals are asked for several choices are one table.
        let one_each = fields.get("ask").is_none();
        let most = if one_each { sink.tables() } else { MAX_CHOICES };
        if count > most {
            let shown = if count == u64::MAX { "more than 10^19".to_owned() } else { count.to_string() };
            sink.push(
                Diagnostic::at(shape.span(), format!("`{key} = {k}` asks for {shown} tables"))
                    .label(format!("must be at most {most}"))
                    .help("take fewer dimensions a table, or name some with `among`".to_owned()),
            );
            return None;
        }
        (from, smallest, k, count)
    };
    let asks = ask(&fields, &from, dimensions, names, sink)?;
    Some(TableEntry {
        asks,
        from,
        smallest,
        largest,
        weight,
        sums,
        target,
        sum_targets,
        exact: exact?,
        count,
    })
}

/// The weight of counts, if they are asked for.
type CountWeight = Option<Rational>;

/// `sum`, `count` and `weight`: how much counts matter, and the sums of each amount.
///
/// Where rows have weights these are what is counted.
fn weights(
    fields: &Fields<'_, '_>,
    amounts: &[AmountSpec],
    sink: &mut Sink,
) -> Option<(CountWeight, Vec<(usize, Rational)>)> {
    let weight = amounts.iter().position(|a| a.quantity.weighing == Weighing::Weight);
    let (count, mut sums) = of_rows(fields, amounts, weight.is_some(), sink)?;
    let Some((weight, count)) = weight.zip(count) else { return Some((count, sums)) };
    sums.retain(|(own, _)| *own != weight);
    sums.push((weight, count));
    let beside = amounts.get(weight).is_some_and(|a| a.unweighted);
    Some((Some(count).filter(|_| beside), sums))
}

/// The same of rows, which may be `weighted` or not.
fn of_rows(
    fields: &Fields<'_, '_>,
    amounts: &[AmountSpec],
    weighted: bool,
    sink: &mut Sink,
) -> Option<(CountWeight, Vec<(usize, Rational)>)> {
    let sum = fields.get("sum");
    let of = sum.map_or(Some(Vec::new()), |v| amounts::summed(v, amounts, sink))?;
    let counted = fields.get("count").map_or(Some(true), |v| read::boolean(v, "`count`", sink))?;
    if of.is_empty()
        && let Some(span) = fields.key_span("count").filter(|_| !counted)
    {
        sink.push(
            Diagnostic::at(span, "`count = false` without `sum`").label("the table would tell nothing"),
        );
        return None;
    }
    let sums = !of.is_empty() || weighted;
    let by_name = fields.get("margin").is_some_and(|v| v.get_ref().as_table().is_some());
    let refused = [
        (
            "margin",
            !by_name,
            "a margin of counts or of sums?",
            "say of what: `margin = { count = 50, income = 5e6 }`, with the names that are in `sum`",
        ),
        (
            "ask",
            by_name,
            "margins of sums are those of the cells of a table",
            "give the cells a margin in a `[[table]]` of their own",
        ),
        (
            "exact",
            !counted,
            "without the counts exact sums cannot be told",
            "leave `count = false` out: the counts of the table are published, too",
        ),
    ];
    for (key, wrong, label, help) in refused {
        if let Some(span) = fields.key_span(key).filter(|_| sums && wrong) {
            let beside = match (key, of.is_empty()) {
                ("exact", _) => "`count = false`",
                ("ask", _) => "`margin`",
                (_, true) => "`[weights]`",
                (_, false) => "`sum`",
            };
            sink.push(
                Diagnostic::at(span, format!("`{key}` beside {beside}")).label(label).help(help.to_owned()),
            );
            return None;
        }
    }
    if !counted {
        uncounted(fields, sink)?;
    }
    let Some(value) = fields.get("weight") else {
        return Some((
            counted.then_some(Rational::ONE),
            of.into_iter().map(|a| (a, Rational::ONE)).collect(),
        ));
    };
    let Some(table) = value.get_ref().as_table() else {
        let weight = read::positive(value, "`weight`", sink)?;
        return Some((counted.then_some(weight), of.into_iter().map(|a| (a, weight)).collect()));
    };
    let name = |a: usize| amounts.get(a).map_or("", |a| a.quantity.name.as_str());
    let weight = |key: &str, sink: &mut Sink| {
        table
            .get(key)
            .map_or(Some(Rational::ONE), |v| read::positive(v, &format!("the weight of `{key}`"), sink))
    };
    for (key, span, _) in read::entries(table) {
        if key != "count" && !of.iter().any(|&a| name(a) == key) {
            sink.push(
                Diagnostic::at(span, format!("`{key}` is not summed in this table"))
                    .label("no weight is needed"),
            );
            return None;
        }
    }
    let count = weight("count", sink)?;
    let sums = of.iter().map(|&a| Some((a, weight(name(a), sink)?))).collect::<Option<_>>()?;
    Some((counted.then_some(count), sums))
}

/// Refuses what is said of counts where none are asked for.
fn uncounted(fields: &Fields<'_, '_>, sink: &mut Sink) -> Option<()> {
    for what in ["weight", "margin"] {
        let table = fields.get(what).and_then(|v| v.get_ref().as_table());
        let mut keys = table.map(read::entries).unwrap_or_default().into_iter();
        if let Some((_, span, _)) = keys.find(|(key, ..)| *key == "count") {
            sink.push(
                Diagnostic::at(span, format!("a {what} of `count` beside `count = false`"))
                    .label("counts of this table are not asked for")
                    .help(format!("leave out `count = false`, or this {what}")),
            );
            return None;
        }
    }
    Some(())
}

/// `ask`: nothing, unless told.
fn ask(
    fields: &Fields<'_, '_>,
    from: &[Level],
    dimensions: &[DeclaredDimension],
    names: &DimensionNames<'_>,
    sink: &mut Sink,
) -> Option<Vec<(u16, Ranges)>> {
    fields.get("ask").map_or(Some(Vec::new()), |v| asks::read(v, from, dimensions, names, sink))
}

/// `margin` and `level`.
pub(super) fn target(fields: &Fields<'_, '_>, sink: &mut Sink) -> Option<Option<Target>> {
    let Some(margin) = fields.get("margin") else {
        if let Some(span) = fields.key_span("level") {
            sink.push(
                Diagnostic::at(span, "`level` without `margin`").label("goes with `margin` only").help(
                    "add `margin = 50`: the half-width that intervals of this level may have".to_owned(),
                ),
            );
            return None;
        }
        return Some(None);
    };
    let margin = read::positive(margin, "`margin`", sink);
    let level = level(fields, sink);
    Some(Some(Target { margin: margin?, level: level? }))
}

/// `level`, or 0.95.
fn level(fields: &Fields<'_, '_>, sink: &mut Sink) -> Option<Rational> {
    let Some(v) = fields.get("level") else { return Rational::new(19, 20) };
    let level = read::positive(v, "`level`", sink)?;
    if level >= Rational::ONE {
        let diagnostic = Diagnostic::at(v.span(), "`level` is not less than one");
        sink.push(diagnostic.label("expected a probability, such as 0.95"));
        return None;
    }
    Some(level)
}

/// Of counts, and of the sums of amounts.
type Aims = (Option<Target>, Vec<(usize, Target)>);

/// `margin`: of the counts, or by what each is of: `{ count = 50, income = 5e6 }`.
fn aims(
    fields: &Fields<'_, '_>,
    amounts: &[AmountSpec],
    sums: &[(usize, Rational)],
    sink: &mut Sink,
) -> Option<Aims> {
    let Some(table) = fields.get("margin").and_then(|v| v.get_ref().as_table()) else {
        return target(fields, sink).map(|target| (target, Vec::new()));
    };
    let level = level(fields, sink)?;
    let weight = amounts.iter().position(|a| a.quantity.weighing == Weighing::Weight);
    let (mut of_count, mut of_sums) = (None, Vec::new());
    for (key, span, value) in read::entries(table) {
        let margin = read::positive(value, &format!("the margin of `{key}`"), sink)?;
        let target = Target { margin, level };
        let named = |a: &usize| amounts.get(*a).is_some_and(|a| a.quantity.name == key);
        let own =
            sums.iter().map(|(a, _)| *a).find(|a| if key == "count" { Some(*a) == weight } else { named(a) });
        match own {
            Some(own) => of_sums.push((own, target)),
            None if key == "count" => of_count = Some(target),
            None => {
                sink.push(
                    Diagnostic::at(span, format!("`{key}` is not summed in this table"))
                        .label("no margin is needed"),
                );
                return None;
            }
        }
    }
    Some((of_count, of_sums))
}

/// `exact` and `reason`: the reason, for a table published without noise.
fn exact(fields: &Fields<'_, '_>, sink: &mut Sink) -> Option<Option<String>> {
    let Some(value) = fields.get("exact") else {
        if let Some(span) = fields.key_span("reason") {
            sink.push(
                Diagnostic::at(span, "`reason` without `exact`").label("goes with `exact = true` only"),
            );
            return None;
        }
        return Some(None);
    };
    if !read::boolean(value, "`exact`", sink)? {
        sink.push(
            Diagnostic::at(value.span(), "`exact = false`")
                .label("leave it out: tables have noise by default"),
        );
        return None;
    }
    for (key, why) in [
        ("every", "every table that is exact is named one by one, with `of`"),
        ("up_to", "every table that is exact is named one by one, with `of`"),
        ("weight", "an exact table has no error to weigh"),
        ("margin", "an exact table has no error"),
        ("ask", "an exact table has no error, whatever is asked of it"),
    ] {
        if let Some(span) = fields.key_span(key) {
            sink.push(Diagnostic::at(span, format!("`{key}` beside `exact`")).label(why));
            return None;
        }
    }
    let reason = fields
        .require("reason", "`reason = \"...\"`: why this table may be published without noise", sink)
        .and_then(|v| read::shown(v, "`reason`", true, sink))?;
    Some(Some(reason.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_match_the_binomial() {
        for n in 0..8usize {
            let from: Vec<usize> = (0..n).collect();
            for k in 0..10 {
                let mut all = Vec::new();
                choose(&from, k, &mut Vec::new(), &mut |c: &[usize]| all.push(c.to_vec()));
                let brute = (0..1u32 << n).filter(|m| m.count_ones() as usize == k).count();
                assert_eq!(all.len(), brute);
                assert_eq!(binomial(n as u64, k as u64), brute as u64);
                assert!(all.windows(2).all(|w| w[0] < w[1]), "ordered, none twice");
            }
        }
        assert_eq!((0..=3).map(|k| binomial(100, k)).sum::<u64>(), 166_751);
        assert_eq!(binomial(65_535, 30_000), u64::MAX);
    }
}
