//! `[[dimension]]`: the domain of one attribute and how the data spells it.

use super::diagnostic::{Diagnostic, Sink};
use super::keys::{Keys, Shape, key, required, shown, words};
use super::levels::{self, Finest, MAX_NODES, Numbers, Partition};
use super::read::{self, Fields, Value};
use super::words::{CONCEPTS, TIMES};
use super::{Coding, Column, DayFormat, Files, Taken, hierarchy, legend};
use crate::cube::Dimension;
use std::collections::HashMap;
use std::ops::Range;

/// The keys of `[[dimension]]`.
pub(super) const KEYS: Keys = Keys {
    what: "One attribute, its public list of categories, and coarser levels of them. Never copy that list from private data unseen.",
    keys: &[
        required("name", Shape::Text, "its name in tables and queries"),
        key("column", Shape::Text, "the column in the data (default: the name)"),
        shown(
            "categories",
            "categories = [\"F\", \"M\"]",
            Shape::List(&Shape::Text),
            "the categories are these texts",
        ),
        shown(
            "codes",
            "codes = 7",
            Shape::Whole(1, MAX_NODES as i64),
            "the categories are the numbers 0 to 6",
        ),
        shown(
            "range",
            "range = [0, 99]",
            Shape::Json(r#"{"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}"#),
            "the categories are these whole numbers, both ends included",
        ),
        shown(
            "bins",
            "bins = [0, 10.5, 100]",
            Shape::Json(r#"{"type": "array", "items": {"type": "number"}, "minItems": 2}"#),
            "the categories are the intervals [0, 10.5) and [10.5, 100]",
        ),
        shown(
            "dates",
            "dates = [\"2020-01-01\", \"2024-12-31\"]",
            Shape::Json(
                r#"{"type": "array", "items": {"type": "string", "pattern": "^\\d{4}-\\d{2}-\\d{2}$"}, "minItems": 2, "maxItems": 2}"#,
            ),
            "the categories are these days, both ends included, with the levels `year`, `quarter` and `month`",
        ),
        shown(
            "hierarchy",
            "hierarchy = \"areas.csv\"",
            Shape::Text,
            "the categories are the first column of this file; the other columns are coarser levels, named by the header",
        ),
        shown(
            "text",
            "text = true",
            Shape::Truth,
            "any text, without a list of categories; only in the key of a projection",
        ),
        key(
            "clamp",
            Shape::Truth,
            "with `range` and `bins`: `true` counts numbers below the first at the first and numbers beyond the last at the last, instead of as `other`",
        ),
        shown(
            "format",
            "format = \"DD.MM.YYYY\"",
            Shape::Text,
            "with `dates`: how days are written: `YYYY`, `MM` or `M`, `DD` or `D`, and marks between them (default `YYYY-MM-DD`)",
        ),
        key("time", words!(TIMES), "with `dates`: what counts where a time may stand behind each day"),
        shown(
            "levels",
            "levels = [...]",
            Shape::AnyList(&Shape::Table(&levels::KEYS)),
            "coarser levels: see below",
        ),
        shown(
            "missing",
            "missing = \"unknown\"",
            Shape::Text,
            "the category for empty cells, added to the list if it is not there",
        ),
        shown(
            "other",
            "other = \"elsewhere\"",
            Shape::Text,
            "the category for values outside the list, added to it if it is not there",
        ),
        key("description", Shape::Text, "what it is, in a line, for people"),
        key("unit", Shape::Text, "what its numbers are measured in, for people"),
        key(
            "concept",
            words!(CONCEPTS),
            "what kind of thing it is, for programs that draw maps and time series",
        ),
        shown(
            "labels",
            "labels = { 9E = \"Endeavor Air\" }",
            Shape::Either(&[
                Shape::Text,
                Shape::Map(&Shape::Either(&[Shape::Text, Shape::Map(&Shape::Text)])),
            ]),
            "what its codes stand for, or a CSV file with the columns `code` and `label`: see below",
        ),
        key(
            "confirmed",
            Shape::Truth,
            "`false` in drafts of `margins init`: the list came from the data. `margins release` refuses the spec until you change it to \
             `true` or remove the line",
        ),
    ],
    one_of: DOMAINS,
    rules: "{}",
};

/// The keys that say what the values are; each dimension has exactly one.
pub(super) const DOMAINS: &[&str] = &["categories", "codes", "range", "bins", "dates", "hierarchy", "text"];

/// A dimension as declared. One that is broken still has its name, so that the tables that mention
/// it are not reported as well.
pub(super) struct DeclaredDimension {
    /// Its name and where that stands.
    pub(super) name: Option<(String, Range<usize>)>,
    /// The column it reads, and where that is said.
    pub(super) column: Option<(String, Range<usize>)>,
    /// Where it says that nobody has confirmed its list.
    pub(super) unconfirmed: Option<Range<usize>>,
    /// The dimension itself, unless something is wrong with it.
    pub(super) built: Option<(Dimension, Column)>,
}

/// Reads one `[[dimension]]`.
pub(super) fn read(value: &Value<'_>, files: &mut Files<'_>, sink: &mut Sink) -> DeclaredDimension {
    let Some(fields) = Fields::open(value, "`[[dimension]]`", &KEYS, sink) else {
        return DeclaredDimension { name: None, column: None, unconfirmed: None, built: None };
    };
    let unconfirmed = fields
        .get("confirmed")
        .and_then(|v| Some((read::boolean(v, "`confirmed`", sink)?, v.span())))
        .and_then(|(confirmed, span)| (!confirmed).then_some(span));
    let name = fields
        .require("name", "`name = \"sex\"`", sink)
        .and_then(|v| Some((read::shown(v, "the dimension's name", false, sink)?.to_owned(), v.span())));
    let column = match fields.get("column") {
        Some(v) => read::text(v, "`column`", sink).map(|c| (c.to_owned(), v.span())),
        None => name.clone(),
    };
    let before = sink.count();
    if let Some(value) = fields.get("text") {
        let mut built = text(value, &fields, sink).and(name.as_ref().zip(column.as_ref())).map(
            |((name, _), (column, _))| {
                let column = Column {
                    column: column.clone(),
                    coding: Coding::Text,
                    missing: None,
                    other: None,
                    taken: Taken::default(),
                };
                (Dimension::plain(name, vec![ANY_TEXT.into()]), column)
            },
        );
        if let Some((dimension, _)) = &mut built {
            legend::read(&fields, dimension, None, files, sink);
        }
        return DeclaredDimension { name, column, unconfirmed, built };
    }
    let finest = domain(&fields, files, sink);
    let taken = taken(&fields, sink);
    let missing = extra(&fields, "missing", sink);
    let other = extra(&fields, "other", sink);
    let (mut built, mut alone) = (None, None);
    if let (Some(mut finest), Some((name, name_at)), Some((column, _))) = (finest, &name, &column) {
        let missing = missing.map(|label| finest.extra(label));
        let other = other.map(|label| finest.extra(label));
        // A category that is listed holds the values of its name, too, and that of `other` all others: those are not missing.
        alone = missing.filter(|&node| node as usize >= finest.own && other != Some(node));
        if let Some(value) = fields.get("levels") {
            levels::read(value, name, &mut finest, sink);
        }
        super::dates::check_name(name, name_at, &finest, sink);
        if sink.count() == before {
            built = finest.build(name, value.span(), sink).map(|(dimension, coding)| {
                (
                    dimension,
                    Column {
                        column: column.clone(),
                        coding,
                        missing,
                        other,
                        taken: taken.unwrap_or_default(),
                    },
                )
            });
        }
    }
    if let Some((dimension, _)) = &mut built {
        let labels = &dimension.levels[dimension.finest()].labels;
        let alone = alone.and_then(|node| labels.get(node as usize).cloned());
        legend::read(&fields, dimension, alone, files, sink);
    }
    DeclaredDimension { name, column, unconfirmed, built }
}

/// The one node of a dimension that holds any text.
pub(super) const ANY_TEXT: &str = "any text";

/// `text = true`: no other key about values fits.
fn text(value: &Value<'_>, fields: &Fields<'_, '_>, sink: &mut Sink) -> Option<()> {
    if !read::boolean(value, "`text`", sink)? {
        sink.push(Diagnostic::at(value.span(), "`text = false` says nothing").label("leave it out"));
        return None;
    }
    fields.exactly_one(DOMAINS, "`text = true`", sink)?;
    for key in ["levels", "missing", "other", "clamp", "format", "time", "labels"] {
        if let Some(span) = fields.key_span(key) {
            sink.push(
                Diagnostic::at(span, format!("`{key}` beside `text`"))
                    .label("any text is possible: leave it out"),
            );
            return None;
        }
    }
    Some(())
}

/// How its values are written and taken; of kinds of values that cannot be so it is a mistake.
fn taken(fields: &Fields<'_, '_>, sink: &mut Sink) -> Option<Taken> {
    let among = [("clamp", &["range", "bins"][..]), ("format", &["dates"]), ("time", &["dates"])];
    for (key, of) in among {
        if let Some(span) = fields.key_span(key)
            && !of.iter().any(|of| fields.get(of).is_some())
        {
            let of: Vec<String> = of.iter().map(|of| format!("`{of}`")).collect();
            sink.push(
                Diagnostic::at(span, format!("`{key}` goes with {}", of.join(" or ")))
                    .label("not with these values"),
            );
        }
    }
    let clamp = fields.get("clamp").map_or(Some(false), |v| read::boolean(v, "`clamp`", sink));
    let time =
        fields.get("time").map_or(Some(false), |v| read::choice(v, "time", TIMES, sink).map(|()| true));
    let format = match fields.get("format") {
        None => None,
        Some(v) => {
            let format = DayFormat::new(read::text(v, "`format`", sink)?);
            if format.is_none() {
                sink.push(
                    Diagnostic::at(v.span(), "`format` does not say how days are written")
                        .label("expected YYYY, MM or M, and DD or D, such as \"DD.MM.YYYY\""),
                );
            }
            Some(format?)
        }
    };
    Some(Taken { clamp: clamp?, format, time: time? })
}

/// The label of `missing` or `other`.
fn extra<'a>(fields: &Fields<'a, '_>, key: &str, sink: &mut Sink) -> Option<&'a str> {
    read::shown(fields.get(key)?, &format!("`{key}`"), false, sink)
}

/// The categories, from whichever key declares them.
fn domain(fields: &Fields<'_, '_>, files: &mut Files<'_>, sink: &mut Sink) -> Option<Finest> {
    let example = "one of them, such as `categories = [\"F\", \"M\"]` or `range = [0, 99]`";
    let (key, value) = fields.exactly_one(DOMAINS, example, sink)?;
    let finest = match key {
        "categories" => {
            let names = read::names(value, "`categories`", sink)?;
            let before = sink.count();
            for (name, at) in &names {
                if let Some((message, label)) = read::strange(name, "an entry of `categories`") {
                    sink.push(Diagnostic::at(at.clone(), message).label(label));
                }
            }
            if sink.count() > before {
                return None;
            }
            labelled(names.into_iter().map(|(name, _)| name.to_owned()).collect(), Vec::new())
        }
        "codes" => {
            let n = read::whole(value, "`codes`", 1, MAX_NODES as i64, sink)?;
            sink.takes(&value.span(), n as usize, n as usize)?;
            range(0, n - 1)
        }
        "range" => {
            let (lo, hi) = ends(value, sink)?;
            let n = (hi - lo + 1) as usize;
            sink.takes(&value.span(), n, n)?;
            range(lo, hi)
        }
        "bins" => bins(edges(value, sink)?),
        "dates" => super::dates::read(value, sink)?,
        _ => {
            let path = read::text(value, "`hierarchy`", sink)?;
            let (labels, coarser, finest_name) = hierarchy::read(path, value.span(), files, sink)?;
            Finest { level_name: Some(finest_name), ..labelled(labels, coarser) }
        }
    };
    if matches!(key, "categories" | "bins" | "hierarchy") {
        let (n, levels) = (finest.labels.len(), &finest.partitions);
        let coarser = levels.iter().map(|l| l.labels.len()).sum::<usize>();
        // A file's finest categories took their room line by line.
        let (grouped, nodes) =
            if key == "hierarchy" { (0, coarser) } else { ((levels.len() + 1) * n, coarser + n) };
        sink.takes(&value.span(), grouped, nodes)?;
    }
    let what = format!("`{key}`");
    if finest.labels.is_empty() {
        let diagnostic = Diagnostic::at(value.span(), format!("{what} is empty"));
        sink.push(diagnostic.label("expected at least one category"));
        return None;
    }
    if finest.labels.len() > MAX_NODES {
        let diagnostic = Diagnostic::at(value.span(), format!("{what} has too many categories"));
        sink.push(diagnostic.label(format!("must be at most {MAX_NODES}")));
        return None;
    }
    Some(finest)
}

fn labelled(labels: Vec<String>, partitions: Vec<Partition>) -> Finest {
    let coding: HashMap<String, u32> = labels.iter().cloned().zip(0..).collect();
    Finest {
        labels,
        own: 0,
        numbers: Numbers::None,
        coding: Coding::Labels(coding),
        partitions,
        level_name: None,
    }
    .sealed()
}

fn range(lo: i64, hi: i64) -> Finest {
    let labels = (lo..=hi).map(|n| n.to_string()).collect();
    let (numbers, coding) = (Numbers::Whole { lo }, Coding::Range { lo, hi });
    Finest { labels, own: 0, numbers, coding, partitions: Vec::new(), level_name: None }.sealed()
}

fn bins(edges: Vec<f64>) -> Finest {
    let last = edges.len().saturating_sub(2);
    let labels = edges
        .iter()
        .zip(edges.iter().skip(1))
        .enumerate()
        .map(|(i, (lo, hi))| levels::bin_label(*lo, *hi, i == last))
        .collect();
    let numbers = Numbers::Bins { edges: edges.clone() };
    let coding = Coding::Bins { edges };
    Finest { labels, own: 0, numbers, coding, partitions: Vec::new(), level_name: None }.sealed()
}

/// `range = [lo, hi]`.
fn ends(value: &Value<'_>, sink: &mut Sink) -> Option<(i64, i64)> {
    let items = read::list(value, "`range`", sink)?;
    let mut items = items.iter();
    let (Some(lo), Some(hi), None) = (items.next(), items.next(), items.next()) else {
        sink.push(
            Diagnostic::at(value.span(), "`range` is not a pair of numbers")
                .label("expected the first and the last number, such as [0, 99]"),
        );
        return None;
    };
    // Doubles hold these whole numbers exactly, and their differences cannot overflow.
    const FAR: i64 = 1 << 53;
    let low = read::whole(lo, "the first number of `range`", -FAR, FAR, sink);
    let high = read::whole(hi, "the last number of `range`", -FAR, FAR, sink);
    let (lo, hi) = (low?, high?);
    if lo > hi {
        let diagnostic = Diagnostic::at(value.span(), "`range` runs backwards");
        sink.push(diagnostic.label(format!("expected [{hi}, {lo}]")));
        return None;
    }
    if hi - lo >= MAX_NODES as i64 {
        let diagnostic = Diagnostic::at(value.span(), "`range` has too many numbers");
        sink.push(
            diagnostic
                .label(format!("must be at most {MAX_NODES}"))
                .help("use `bins = [...]` for a coarser grid".to_owned()),
        );
        return None;
    }
    Some((lo, hi))
}

/// `bins = [...]`.
fn edges(value: &Value<'_>, sink: &mut Sink) -> Option<Vec<f64>> {
    let edges = read::ascending(value, "`bins`", sink)?;
    if edges.len() < 2 {
        sink.push(
            Diagnostic::at(value.span(), "`bins` has no bin")
                .label("expected at least two edges, such as [0, 10, 100]"),
        );
        return None;
    }
    Some(edges.into_iter().map(|(edge, _)| edge).collect())
}
