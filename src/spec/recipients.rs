//! `[recipients]` and `[[recipient]]`: several copies of one measuring, each as precise as its recipient may have it.
//!
//! `[privacy]` bounds one copy, so no recipient is given more than it says; what all copies cost together follows from the mode, see
//! [`crate::plan::copies`].

use super::diagnostic::{Diagnostic, Sink};
use super::keys::{Keys, Shape, Words, key, required, shown, words};
use super::read::{self, Fields, Value};
use super::{Budget, Precision, Privacy, Recipients, Wanted};
use crate::exact::Rational;
use crate::plan::copies::{Centres, MAX_REACH, MAX_RECIPIENTS, Mode};
use crate::release::copies::is_recipient;
use std::collections::HashMap;
use std::ops::Range;

/// The keys of `[recipients]`.
pub(super) const KEYS: Keys = Keys {
    what: "How the copies for several recipients are made; optional.",
    keys: &[
        key("mode", words!(MODES), "how each copy is made"),
        key(
            "mean",
            Shape::Whole(-(MAX_REACH as i64), MAX_REACH as i64),
            "with `\"shifted\"`: centres are whole numbers, uniform from 0 to twice this number",
        ),
        shown(
            "centres",
            "centres = [-20, 20]",
            Shape::Json(r#"{"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}"#),
            "instead of `mean`, or beside it if it is their mean: the least and the largest centre, both even or both odd",
        ),
    ],
    one_of: &[],
    rules: r#"{"dependentSchemas": {
        "mean": {"required": ["mode"], "properties": {"mode": {"const": "shifted"}}},
        "centres": {"required": ["mode"], "properties": {"mode": {"const": "shifted"}}}
    }}"#,
};
/// The keys of `[[recipient]]`.
pub(super) const RECIPIENT: Keys = Keys {
    what: "A recipient. Exactly one of `epsilon`, `rho` and `margin` sets the precision of the copy.",
    keys: &[
        required(
            "name",
            Shape::Matches(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"),
            "the recipient, in the file's name and in the signed manifest: letters, digits, dots, `-`, `_`",
        ),
        key(
            "epsilon",
            Shape::Exact,
            "the budget of this copy alone, at most that of `[privacy]`, if that has `epsilon`; with a `delta`, ε at that δ",
        ),
        key("rho", Shape::Exact, "the budget of this copy alone, if `[privacy]` has `rho` or `delta`"),
        shown(
            "margin",
            "margin = 50",
            Shape::Exact,
            "instead of a budget: only as precise as needed for the 95 % interval of every cell's count to be at most ± 50",
        ),
    ],
    one_of: AMOUNTS,
    rules: "{}",
};
/// Of these, what says how precise the copy is.
pub(super) const AMOUNTS: &[&str] = &["epsilon", "rho", "margin"];
/// `mode`.
pub(super) const MODES: Words<ModeWord> = &[
    (
        "nested",
        ModeWord::Nested,
        "each copy adds noise to the next more precise one; together they cost what the most precise one costs (default)",
    ),
    (
        "shifted",
        ModeWord::Shifted,
        "each copy is measured by itself, around a secret centre; together they cost the sum",
    ),
];

/// `mode`, as a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModeWord {
    Nested,
    Shifted,
}

/// Reads both; `None` in the outer sense is a mistake.
pub(super) fn read(
    root: &Fields<'_, '_>,
    privacy: Option<&Privacy>,
    sink: &mut Sink,
) -> Option<Option<Recipients>> {
    let (about, list) = (root.get("recipients"), root.get("recipient"));
    if about.is_none() && list.is_none() {
        return Some(None);
    }
    let before = sink.count();
    if let (Some(_), Some(span)) =
        (root.get("projection"), root.key_span("recipient").or(root.key_span("recipients")))
    {
        sink.push(
            Diagnostic::at(span, "recipients of a projection")
                .label("copies are made of tables only")
                .help("release the projection by itself, or release tables to these recipients".to_owned()),
        );
    }
    let mode = about.map_or(Some(Mode::Nested), |v| mode(v, sink));
    let Some(list) = list else {
        let span = about.map_or(0..0, |v| v.span());
        sink.push(
            Diagnostic::at(span, "`[recipients]` and nobody to receive")
                .label("needs `[[recipient]]`, once for everybody who gets a copy")
                .help("add `[[recipient]]` with `name = \"agency-a\"` and `epsilon = \"1/2\"`".to_owned()),
        );
        return None;
    };
    let items = read::several(list, "recipient", sink)?;
    if items.len() > MAX_RECIPIENTS {
        sink.push(
            Diagnostic::at(list.span(), "too many recipients").label(format!("at most {MAX_RECIPIENTS}")),
        );
        return None;
    }
    let mut seen: HashMap<String, Range<usize>> = HashMap::new();
    let weighted = root.get("weights").is_some();
    let read: Vec<Option<Wanted>> =
        items.into_iter().map(|item| one(item, (privacy, weighted), &mut seen, sink)).collect();
    let list: Option<Vec<Wanted>> = read.into_iter().collect();
    if sink.count() > before {
        return None;
    }
    Some(Some(Recipients { mode: mode?, list: list? }))
}

fn mode(value: &Value<'_>, sink: &mut Sink) -> Option<Mode> {
    let fields = Fields::open(value, "`[recipients]`", &KEYS, sink)?;
    let word = fields.get("mode").map_or(Some(ModeWord::Nested), |v| read::choice(v, "mode", MODES, sink))?;
    if word == ModeWord::Nested {
        for key in ["mean", "centres"] {
            if let Some(span) = fields.key_span(key) {
                sink.push(
                    Diagnostic::at(span, format!("`{key}` without `mode = \"shifted\"`"))
                        .label("nested copies have no centres"),
                );
                return None;
            }
        }
        return Some(Mode::Nested);
    }
    let most = i64::from(MAX_REACH);
    let mean = match fields.get("mean") {
        Some(v) => Some((read::whole(v, "`mean`", -most, most, sink)?, v.span())),
        None => None,
    };
    let centres = match (fields.get("centres"), &mean) {
        (Some(v), _) => interval(v, sink)?,
        // From 0 to twice the mean.
        (None, Some((mean, _))) if *mean > 0 => Centres::new(0, 2 * mean)?,
        (None, Some((mean, span))) => {
            sink.push(
                Diagnostic::at(span.clone(), format!("`mean = {mean}` and no `centres`"))
                    .label("centres from 0 on have a mean above 0")
                    .help(format!(
                        "say from where to where, such as `centres = [{}, {}]`",
                        mean - 20,
                        mean + 20
                    )),
            );
            return None;
        }
        (None, None) => {
            let example = "`mean = 20`: centres are whole numbers, uniform on 0 to twice the mean; or `centres = [-20, 20]`";
            fields.require("mean", example, sink);
            return None;
        }
    };
    if let Some((mean, span)) = mean.filter(|(mean, _)| *mean != i64::from(centres.mean)) {
        sink.push(
            Diagnostic::at(span, format!("`mean = {mean}` is not the mean of `centres`"))
                .label(format!("uniform on {centres} they have the mean {}", centres.mean)),
        );
        return None;
    }
    Some(Mode::Shifted { centres })
}

/// `centres = [low, high]`.
fn interval(value: &Value<'_>, sink: &mut Sink) -> Option<Centres> {
    let items = read::list(value, "`centres`", sink)?;
    let mut items = items.iter();
    let (Some(low), Some(high), None) = (items.next(), items.next(), items.next()) else {
        sink.push(
            Diagnostic::at(value.span(), "`centres` is not a pair of numbers")
                .label("expected `[lowest, highest]`, both whole numbers"),
        );
        return None;
    };
    let most = 2 * i64::from(MAX_REACH);
    let low = read::whole(low, "the lowest centre", -most, most, sink)?;
    let high = read::whole(high, "the highest centre", -most, most, sink)?;
    let made = Centres::new(low, high);
    if made.is_none() {
        let label = match high - low {
            ..=0 => "the second must be above the first: one number alone would be no secret",
            n if n % 2 == 1 => "both must be even, or both odd: readers take the mean off whole numbers",
            _ => {
                "the interval must reach at most 2^30 to either side of its mean, and the mean must lie within 2^30 of 0"
            }
        };
        sink.push(Diagnostic::at(value.span(), "centres cannot be drawn from this interval").label(label));
    }
    made
}

fn one(
    item: &Value<'_>,
    (privacy, weighted): (Option<&Privacy>, bool),
    seen: &mut HashMap<String, Range<usize>>,
    sink: &mut Sink,
) -> Option<Wanted> {
    let fields = Fields::open(item, "`[[recipient]]`", &RECIPIENT, sink)?;
    let name = fields
        .require("name", "`name = \"agency-a\"`: part of the file's name", sink)
        .and_then(|v| Some((read::text(v, "`name`", sink)?, v.span())));
    if let Some((name, span)) = &name {
        if !is_recipient(name) {
            sink.push(
                Diagnostic::at(span.clone(), "`name` is not safe as part of a file name")
                    .label("expected letters, digits, dots, - and _, a letter or digit first, at most 64"),
            );
        }
        // Some file systems do not tell letters of two cases apart.
        if let Some(first) = seen.insert(name.to_ascii_lowercase(), span.clone()) {
            sink.push(
                Diagnostic::at(span.clone(), "this recipient is named already")
                    .label("the second time")
                    .related(first, "the first time"),
            );
        }
    }
    let example = "one of them, such as `epsilon = \"1/2\"`";
    let (key, v) = fields.exactly_one(AMOUNTS, example, sink)?;
    let amount = read::positive(v, &format!("`{key}`"), sink)?;
    if key == "margin" && weighted {
        sink.push(
            Diagnostic::at(v.span(), "a recipient's `margin` beside `[weights]`")
                .label("it is one of counts of rows, and these weigh")
                .help("give this recipient a budget".to_owned()),
        );
        return None;
    }
    let precision = match key {
        "margin" => Precision::Margin(amount),
        _ => Precision::Budget(budget(key, amount, v.span(), privacy?, sink)?),
    };
    Some(Wanted { name: name?.0.to_owned(), precision })
}

/// A recipient's own budget in the noise's currency: in that of `[privacy]`, and not above it.
fn budget(
    key: &str,
    amount: Rational,
    span: Range<usize>,
    privacy: &Privacy,
    sink: &mut Sink,
) -> Option<Rational> {
    let own = match (key, privacy.budget) {
        ("rho", Budget::Rho(_) | Budget::EpsilonDelta(..)) => Budget::Rho(amount),
        ("epsilon", Budget::Epsilon(_)) => Budget::Epsilon(amount),
        ("epsilon", Budget::EpsilonDelta(_, delta)) => Budget::EpsilonDelta(amount, delta),
        _ => {
            let other = if key == "rho" { "epsilon" } else { "rho" };
            sink.push(
                Diagnostic::at(span, format!("`{key}` where `[privacy]` has `{other}`"))
                    .label(format!("expected `{other}`: all copies have one kind of noise")),
            );
            return None;
        }
    };
    let all = privacy.budget.noise();
    match (own.noise(), all) {
        (Some((_, own)), Some((_, all))) if own <= all => Some(own),
        (Some(_), Some(_)) => {
            sink.push(
                Diagnostic::at(span, "more than `[privacy]` allows one copy")
                    .label("must be at most the budget of `[privacy]`"),
            );
            None
        }
        _ => {
            sink.push(Diagnostic::at(span, "no noise that can be drawn fits this budget").label("too small"));
            None
        }
    }
}
