//! `[projection]`: sums with random signs instead of tables.

use super::ProjectionSpec;
use super::diagnostic::{Diagnostic, Sink};
use super::dimension::DeclaredDimension;
use super::keys::{Keys, Shape, Words, key, shown, words};
use super::read::{self, Fields, Value};
use super::suggest;
use crate::exact::Rational;
use crate::plan::Noise;
use crate::projection::Size;
use crate::projection::design::{MAX_SPARSITY, MAX_VALUES, SKETCH_ROWS};

/// The keys of `[projection]`.
pub(super) const KEYS: Keys = Keys {
    what: "Instead of tables: sums with random signs, for domains too large to list. Exactly one of `rows`, `size` and `error` sets their number.",
    keys: &[
        key("kind", words!(KINDS), "how counts enter the sums"),
        shown(
            "of",
            "of = [\"code\", \"ward\"]",
            Shape::List(&Shape::Text),
            "the dimensions that make a key (default: all)",
        ),
        shown("rows", "rows = 16384", Shape::Whole(1, MAX_VALUES as i64), "the number of sums"),
        shown(
            "size",
            "size = \"20 MB\"",
            Shape::Either(&[Shape::Whole(1, i64::MAX), Shape::Text]),
            "as many sums as fit into this size (bytes, if no unit is given)",
        ),
        shown(
            "error",
            "error = 50",
            Shape::Exact,
            "as few sums as give a single cell at most this standard error",
        ),
        key(
            "sparsity",
            Shape::Whole(1, MAX_SPARSITY as i64),
            "the most cells that one query may add up (default 1000)",
        ),
        key(
            "queries",
            Shape::Whole(1, i64::MAX),
            "the number of queries that the guarantee holds for (default 1000)",
        ),
        key("failure", Shape::Exact, "the probability that the guarantee fails (default 0.01)"),
        key("noise", words!(NOISES), "the noise of each sum"),
        key(
            "norm_bound",
            Shape::Whole(1, i64::MAX),
            "a public upper bound on the sum of all squared counts (default: predictions assume 1 000 000, and intervals estimate it); one that is too small makes intervals too narrow, unless the released integers refute it: then it is not used, and answers say so",
        ),
        key(
            "sketch_rows",
            Shape::Whole(1, 4096),
            "with `kind = \"sketch\"`: the number of rows of buckets (default 16)",
        ),
    ],
    one_of: SIZES,
    rules: "{}",
};
/// The keys that say how large; there is exactly one.
pub(super) const SIZES: &[&str] = &["rows", "size", "error"];
/// `kind`.
pub(super) const KINDS: Words<bool> = &[
    ("dense", false, "every count enters every sum (default)"),
    ("sketch", true, "every count enters one bucket of each row"),
];
/// `noise`.
pub(super) const NOISES: Words<Noise> = &[
    ("gaussian", Noise::Gaussian, "discrete Gaussian noise (default)"),
    ("laplace", Noise::Laplace, "discrete Laplace noise, as in the published algorithm; the error is larger"),
];

/// Reads `[projection]`.
pub(super) fn read(
    value: &Value<'_>,
    dimensions: &[DeclaredDimension],
    sink: &mut Sink,
) -> Option<ProjectionSpec> {
    let fields = Fields::open(value, "`[projection]`", &KEYS, sink)?;
    let before = sink.count();
    let kind = fields.get("kind").map_or(Some(false), |v| read::choice(v, "kind", KINDS, sink));
    let of = match fields.get("of") {
        Some(v) => key_dimensions(v, dimensions, sink),
        None => Some((0..dimensions.len() as u16).collect()),
    };
    let size = fields.exactly_one(SIZES, "one of them, such as `rows = 16384`", sink).and_then(|(key, v)| {
        Some(match key {
            "rows" => Size::Rows(read::whole(v, "`rows`", 1, MAX_VALUES as i64, sink)? as u64),
            "size" => Size::Bytes(bytes(v, sink)?),
            _ => Size::Error(read::positive(v, "`error`", sink)?),
        })
    });
    let whole = |key: &str, default: i64, most: i64, sink: &mut Sink| {
        fields.get(key).map_or(Some(default), |v| read::whole(v, &format!("`{key}`"), 1, most, sink))
    };
    let sparsity = whole("sparsity", 1000, i64::from(MAX_SPARSITY), sink);
    let queries = whole("queries", 1000, i64::MAX, sink);
    let sketch_rows = whole("sketch_rows", SKETCH_ROWS.into(), 4096, sink);
    let norm_bound = fields
        .get("norm_bound")
        .map(|v| read::whole(v, "`norm_bound`", 1, i64::MAX, sink))
        .map_or(Some(None), |n| Some(Some(n?)));
    let failure = match fields.get("failure") {
        Some(v) => read::positive(v, "`failure`", sink).filter(|&f| {
            let sound = f < Rational::ONE;
            if !sound {
                sink.push(
                    Diagnostic::at(v.span(), "`failure` is not less than one")
                        .label("a probability, such as 0.01"),
                );
            }
            sound
        }),
        None => Rational::new(1, 100),
    };
    let noise = fields.get("noise").map_or(Some(Noise::Gaussian), |v| read::choice(v, "noise", NOISES, sink));
    if let (Some(false), Some(span)) = (kind, fields.key_span("sketch_rows")) {
        sink.push(
            Diagnostic::at(span, "`sketch_rows` without a sketch").label("goes with `kind = \"sketch\"`"),
        );
    }
    if sink.count() > before {
        return None;
    }
    Some(ProjectionSpec {
        sketch: kind?.then_some(sketch_rows? as u32),
        of: of?,
        size: size?,
        sparsity: sparsity? as u32,
        queries: queries? as u64,
        failure: failure?,
        noise: noise?,
        norm_bound: norm_bound?.map(|n| n as u64),
    })
}

/// The dimensions of the key, ascending.
fn key_dimensions(value: &Value<'_>, dimensions: &[DeclaredDimension], sink: &mut Sink) -> Option<Vec<u16>> {
    let items = read::names(value, "`of`", sink)?;
    let names = || dimensions.iter().filter_map(|d| d.name.as_ref().map(|(n, _)| n.as_str()));
    let mut out = Vec::with_capacity(items.len());
    let mut sound = true;
    for (name, span) in items {
        match dimensions.iter().position(|d| d.name.as_ref().is_some_and(|(n, _)| n == name)) {
            Some(at) => out.push(at as u16),
            None => {
                sound = false;
                sink.push(
                    Diagnostic::at(span, format!("unknown dimension `{name}`"))
                        .label("not a dimension of this spec")
                        .help(suggest::help(name, names())),
                );
            }
        }
    }
    if sound && out.is_empty() {
        sink.push(Diagnostic::at(value.span(), "`of` is empty").label("expected at least one dimension"));
        return None;
    }
    out.sort_unstable();
    sound.then_some(out)
}

/// `"20 MB"` or a number of bytes.
fn bytes(value: &Value<'_>, sink: &mut Sink) -> Option<u64> {
    if value.get_ref().is_integer() {
        return read::whole(value, "`size`", 1, i64::MAX, sink).map(|n| n as u64);
    }
    let text = read::text(value, "`size`", sink)?;
    let size = size(text);
    if size.is_none() {
        sink.push(
            Diagnostic::at(value.span(), "`size` is not a size")
                .label("expected a number and a unit, such as \"20 MB\" or \"200 kB\""),
        );
    }
    size
}

/// The bytes of `20 MB`, `200kB` or `1.5 GB`.
pub(crate) fn size(text: &str) -> Option<u64> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1u64,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return None,
    };
    let parsed = number.trim().parse::<f64>().ok().filter(|n| *n > 0.0 && n.is_finite());
    parsed.map(|n| (n * factor as f64) as u64)
}
