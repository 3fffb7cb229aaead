//! `shares` of `[strategy]`: which tables are measured, and each one's exact part of the budget.

use super::diagnostic::{Diagnostic, Sink};
use super::dimension::DeclaredDimension;
use super::keys::{Keys, Shape, required};
use super::named::{DimensionNames, level_list};
use super::read::{self, Fields};
use crate::cube::Cuboid;
use crate::exact::Rational;
use crate::plan::{Measure, Share};
use std::collections::HashMap;

/// The keys of one share.
pub(super) const KEYS: Keys = Keys {
    what: "A table that is measured.",
    keys: &[
        required(
            "of",
            Shape::AnyList(&Shape::Text),
            "the table's dimensions or levels; an empty list is the total",
        ),
        required("share", Shape::Exact, "its share of the budget, such as `\"1256/4099\"`"),
    ],
    one_of: &[],
    rules: "{}",
};

/// Reads the shares of a strategy's table. They go with `given`, and only with it; they add up to exactly one.
pub(super) fn read(
    strategy: &Fields<'_, '_>,
    measure: Option<Option<Measure>>,
    dimensions: Option<&[DeclaredDimension]>,
    sink: &mut Sink,
) -> Option<Vec<Share>> {
    let given = measure == Some(Some(Measure::Given));
    let Some(value) = strategy.get("shares") else {
        if given {
            strategy.require("shares", "`shares = [{ of = [\"sex\"], share = \"1/2\" }, ...]`", sink);
            return None;
        }
        return Some(Vec::new());
    };
    if measure.is_some() && !given {
        let span = strategy.key_span("shares").unwrap_or(value.span());
        sink.push(
            Diagnostic::at(span, "`shares` without `measure = \"given\"`")
                .label("only \"given\" measures what is named here")
                .help("add `measure = \"given\"`, or leave `shares` out".to_owned()),
        );
        return None;
    }
    let items = read::list(value, "`shares`", sink)?;
    if items.is_empty() {
        sink.push(Diagnostic::at(value.span(), "`shares` is empty").label("expected at least one table"));
        return None;
    }
    let names = DimensionNames::new(dimensions?);
    let before = sink.count();
    let mut seen = HashMap::new();
    let mut shares = Vec::with_capacity(items.len());
    for item in items.iter() {
        let Some(fields) = Fields::open(item, "a share", &KEYS, sink) else { continue };
        let of = fields
            .require("of", "`of = [\"sex\"]`; an empty list is the total", sink)
            .and_then(|v| Some((v.span(), level_list(v, "`of`", &names, sink)?)));
        let share = fields
            .require("share", "`share = \"1/2\"`: its part of the budget", sink)
            .and_then(|v| read::positive(v, "`share`", sink));
        let (Some((span, of)), Some(share)) = (of, share) else { continue };
        let cuboid = Cuboid::new(of);
        match seen.insert(cuboid.clone(), span.clone()) {
            Some(first) => sink.push(
                Diagnostic::at(span, "this table has a share already")
                    .label("the second time")
                    .related(first, "the first time")
                    .help("give it the sum of both, once".to_owned()),
            ),
            None => shares.push(Share { cuboid, share }),
        }
    }
    // Of a share whose table has mistakes of its own nobody knows, so the others need not add up.
    if sink.count() > before || shares.len() < items.len() {
        return None;
    }
    let Some(sum) = shares.iter().try_fold(Rational::ZERO, |sum, s| sum.checked_add(s.share)) else {
        sink.push(
            Diagnostic::at(value.span(), "the sum of the shares has too many digits to be kept exactly")
                .label("use fewer different denominators"),
        );
        return None;
    };
    if sum == Rational::ONE {
        return Some(shares);
    }
    let help = match left_to_one(sum) {
        Some(rest) => format!("give the rest to a table, for instance `{{ of = [], share = \"{rest}\" }}`"),
        None => "lower some of them".to_owned(),
    };
    let way = if sum < Rational::ONE { "less" } else { "more" };
    sink.push(
        Diagnostic::at(value.span(), format!("the shares add up to {way} than one"))
            .label(format!("their sum is {sum}, about {:.6}", sum.to_f64()))
            .help(help),
    );
    None
}

fn left_to_one(sum: Rational) -> Option<Rational> {
    let rest = sum.denominator().checked_sub(sum.numerator())?;
    Rational::new(rest, sum.denominator())
}
