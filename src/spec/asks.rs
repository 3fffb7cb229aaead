//! `ask = { age = "ranges" }`: what is asked of the tables of an entry beyond their cells.
//!
//! A level's categories are ordered as the spec lists them, numbers and names alike. A list has one entry for each interval: a category
//! (`"18"`), a stretch (`"18-64"`, `"65+"`), or a pair of its first and its last one.

use super::diagnostic::{Diagnostic, Sink};
use super::dimension::DeclaredDimension;
use super::keys::{Shape, Words, words};
use super::named::{DimensionNames, Named};
use super::read::{self, Value};
use crate::cube::{Categories, Dimension, Level};
use crate::plan::{MOST_INTERVALS, MOST_PREFIXES, MOST_RANGES, Ranges};
use std::collections::HashSet;

/// What may be asked of a dimension, besides a list of intervals.
pub(super) const WORDS: Words<()> = &[
    ("cells", (), "each category (default)"),
    ("prefixes", (), "the first *k* categories, for every *k*: cumulative counts, medians, quantiles"),
    ("ranges", (), "all categories from one to another, for every pair: `age BETWEEN 18 AND 64`"),
    ("total", (), "all categories together: the table without the dimension"),
];

/// What may be asked along one dimension.
pub(super) const ASKED: Shape = Shape::Either(&[
    words!(WORDS),
    Shape::List(&Shape::Either(&[
        Shape::Text,
        Shape::Json(
            r#"{"type": "array", "items": {"type": ["string", "number"]}, "minItems": 2, "maxItems": 2}"#,
        ),
    ])),
]);

fn word(name: &str) -> Option<Ranges> {
    [Ranges::Cells, Ranges::Prefixes, Ranges::All, Ranges::Total].into_iter().find(|a| a.name() == name)
}

/// What is asked of each of the levels `from` that is named. Dimensions that `from` lacks are left out.
pub(super) fn read(
    value: &Value<'_>,
    from: &[Level],
    dimensions: &[DeclaredDimension],
    names: &DimensionNames<'_>,
    sink: &mut Sink,
) -> Option<Vec<(u16, Ranges)>> {
    let Some(table) = value.get_ref().as_table() else {
        read::expected(value, "`ask`", "a table such as { age = \"ranges\" }", sink);
        return None;
    };
    let before = sink.count();
    let mut out: Vec<(u16, Ranges)> = Vec::new();
    for (name, span, own) in read::entries(table) {
        let (d, named) = match names.resolve(name) {
            Named::Level(at) => (at.dimension, at.level),
            Named::Broken(_) | Named::Unreadable => return None,
            Named::Nothing(help) => {
                let unknown = Diagnostic::at(span, format!("unknown dimension or level `{name}`"));
                sink.push(unknown.label("not a dimension of this spec").help(help));
                continue;
            }
        };
        let dimension = dimensions.get(d)?.built.as_ref().map(|(d, _)| d)?;
        let used = from.iter().find(|at| at.dimension == d).map(|at| at.level);
        // By its own name a dimension is meant at whatever level the tables have.
        let bare = named == dimension.finest();
        if let Some(level) = used.filter(|&level| !bare && level != named) {
            let has = level_name(dimension, level);
            sink.push(
                Diagnostic::at(span, format!("these tables have {has}, not `{name}`"))
                    .label("another level of the same dimension")
                    .help(format!("write `{has}`, or ask for tables of `{name}`")),
            );
            continue;
        }
        let at = used.unwrap_or(named);
        let Some(level) = dimension.levels.get(at) else { continue };
        let Some(asked) = one(own, &level_name(dimension, at), level, sink) else { continue };
        if used.is_none() {
            continue;
        }
        if out.iter().any(|(other, _)| usize::from(*other) == d) {
            let twice = Diagnostic::at(span, format!("{} is asked twice", dimension.name));
            sink.push(twice.label("the second time").help("name it once".to_owned()));
            continue;
        }
        out.push((u16::try_from(d).ok()?, asked));
    }
    // What planning for ranges takes grows with the cube of a level's size.
    let cube = |&(d, ref asked): &(u16, Ranges)| {
        let at = from.iter().find(|at| at.dimension == usize::from(d)).filter(|_| *asked == Ranges::All)?;
        Some((dimensions.get(at.dimension)?.built.as_ref()?.0.levels.get(at.level)?.len() as u64).pow(3))
    };
    if out.iter().filter_map(cube).sum::<u64>() > MOST_TOGETHER {
        let many =
            Diagnostic::at(value.span(), "too many categories for ranges of all these dimensions together");
        sink.push(
            many.label("planning for them would take long")
                .help("ask for ranges of coarser levels, or list the intervals that matter".to_owned()),
        );
    }
    (sink.count() == before).then_some(out)
}

/// The cubes of the sizes of all levels whose ranges one table is asked for: one of [`MOST_RANGES`], with room for smaller ones beside it.
const MOST_TOGETHER: u64 = 3 * (MOST_RANGES as u64).pow(3) / 2;

fn level_name(dimension: &Dimension, level: usize) -> String {
    match dimension.levels.get(level) {
        Some(l) if level != dimension.finest() => format!("{}.{}", dimension.name, l.name),
        _ => dimension.name.clone(),
    }
}

/// What is asked of one level.
fn one(value: &Value<'_>, name: &str, level: &Categories, sink: &mut Sink) -> Option<Ranges> {
    if value.get_ref().as_array().is_some() {
        return list(value, name, level, sink);
    }
    if value.get_ref().as_str().is_none() {
        read::expected(value, &format!("what is asked of `{name}`"), "a word or a list of intervals", sink);
        return None;
    }
    let text = value.get_ref().as_str().unwrap_or_default();
    let Some(asked) = word(text) else {
        // The list of words says which there are.
        return read::choice(value, "`ask`", WORDS, sink).and(None);
    };
    let most = match asked {
        Ranges::Prefixes => MOST_PREFIXES,
        Ranges::All => MOST_RANGES,
        _ => usize::MAX,
    };
    if level.len() > most {
        sink.push(
            Diagnostic::at(value.span(), format!("`{name}` has too many categories for {text}"))
                .label(format!("{} of them; must be at most {most}", level.len()))
                .help("ask for them of a coarser level, or list the intervals that matter".to_owned()),
        );
        return None;
    }
    Some(asked)
}

fn list(value: &Value<'_>, name: &str, level: &Categories, sink: &mut Sink) -> Option<Ranges> {
    let items = read::list(value, "intervals", sink)?;
    let before = sink.count();
    if items.is_empty() || items.len() > MOST_INTERVALS {
        sink.push(
            Diagnostic::at(value.span(), format!("the list of intervals of `{name}` is empty or too long"))
                .label(format!("expected one to {MOST_INTERVALS}, such as \"18-64\"")),
        );
        return None;
    }
    let mut out = Vec::with_capacity(items.len());
    let mut seen = HashSet::new();
    for item in items.iter() {
        let ends = match item.get_ref().as_array() {
            Some(pair) => match (pair.first(), pair.get(1), pair.len()) {
                (Some(first), Some(last), 2) => ends(first, level, true).zip(ends(last, level, false)),
                _ => None,
            },
            None => item.get_ref().as_str().and_then(|text| stretch(text.trim(), level)),
        };
        let Some((first, last)) = ends else {
            sink.push(
                Diagnostic::at(item.span(), format!("this is no interval of `{name}`"))
                    .label("expected a category, or its first and last one")
                    .help(example(level)),
            );
            continue;
        };
        if first > last {
            let order = Diagnostic::at(item.span(), "this interval ends before it begins");
            sink.push(order.label("categories are in the order of the spec"));
        } else if !seen.insert((first, last)) {
            sink.push(Diagnostic::at(item.span(), "this interval is there twice").label("the second time"));
        } else {
            out.push((first as u32, last as u32));
        }
    }
    (sink.count() == before).then_some(Ranges::Intervals(out))
}

/// An example made of the level's own categories.
fn example(level: &Categories) -> String {
    let (first, last) = (level.labels.first(), level.labels.last());
    let (first, last) = (first.map_or("", |l| l.as_str()), last.map_or("", |l| l.as_str()));
    let mut numbers = level.bounds.iter().flatten();
    if let Some(lowest) = numbers.next() {
        let highest = numbers.next_back().unwrap_or(lowest);
        let (lo, hi) = (lowest.lo, highest.hi);
        format!("write for instance \"{lo}-{hi}\", \"{lo}+\", or [\"{first}\", \"{last}\"]")
    } else {
        format!("write for instance \"{first}\", or [\"{first}\", \"{last}\"]")
    }
}

/// One end of a pair: a category, or a number at which one begins or ends.
fn ends(value: &Value<'_>, level: &Categories, begins: bool) -> Option<usize> {
    match value.get_ref() {
        toml::de::DeValue::String(text) => end(text, level, begins),
        toml::de::DeValue::Integer(n) => end(n.as_str(), level, begins),
        toml::de::DeValue::Float(n) => end(n.as_str(), level, begins),
        _ => None,
    }
}

fn end(text: &str, level: &Categories, begins: bool) -> Option<usize> {
    if let Some(node) = level.node(text) {
        return Some(node);
    }
    let number: f64 = text.parse().ok()?;
    let at = |b: &Option<crate::cube::Bounds>| {
        b.is_some_and(|b| if begins { b.lo == number } else { b.hi == number })
    };
    level.bounds.iter().position(at)
}

/// A text that stands for an interval: a category, `A-B` or `A+`.
fn stretch(text: &str, level: &Categories) -> Option<(usize, usize)> {
    if let Some(node) = level.node(text) {
        return Some((node, node));
    }
    if let Some(first) = text.strip_suffix('+') {
        // Beyond the numbers there may be categories without one, such as a missing value.
        let last = level.bounds.iter().rposition(Option::is_some)?;
        return Some((end(first.trim(), level, true)?, last));
    }
    // A category may itself have a dash in it: only one way to part the text makes sense.
    let mut found = text.char_indices().filter(|(_, c)| matches!(c, '-' | '–')).filter_map(|(at, c)| {
        let (first, last) = (text.get(..at)?.trim(), text.get(at + c.len_utf8()..)?.trim());
        Some((end(first, level, true)?, end(last, level, false)?))
    });
    let one = found.next()?;
    found.next().is_none().then_some(one)
}
