//! `[[amount]]`: a number that every row may have, and the tables of its sums.

use super::diagnostic::{Diagnostic, Sink};
use super::dimension::DeclaredDimension;
use super::keys::{Keys, Shape, Words, key, required, words};
use super::read::{self, Fields, Value};
use super::suggest;
use super::types::{AmountSpec, MOST_FACTORS, Privacy};
use crate::cube::{Cuboid, MOST_PLACES, MOST_STEPS, MeasuredFrom, NoValue, Quantity, Weighing};
use crate::exact::{Rational, gcd};
use crate::plan::{Asks, Measure, Table, Target};
use std::collections::HashMap;
use std::sync::Arc;
use toml::de::DeValue;

/// The strategies that plan sums beside counts: what the planner looks at, and what `verify` lets a file with sums say.
pub(crate) const PLAN_SUMS: [Measure; 5] =
    [Measure::Residual, Measure::Queries, Measure::Base, Measure::Bases, Measure::Tables];

/// `missing`.
pub(super) const MISSING: Words<NoValue> = &[
    ("stop", NoValue::Stop, "the release is not made (default)"),
    ("skip", NoValue::Skip, "they are in no sum and no mean; how many rows have a value is counted beside"),
    (
        "zero",
        NoValue::Zero,
        "they count as 0, which must lie between `low` and `high`; `COUNT` of the amount counts them, too",
    ),
];

const BOUND: Shape = Shape::Json(r#"{"type": ["number", "string"]}"#);

/// The keys of `[[amount]]`.
pub(super) const KEYS: Keys = Keys {
    what: "A number that rows have, such as an income: tables that name it in `sum` tell its sums and means beside their counts.",
    keys: &[
        required("name", Shape::Text, "what queries call it: `SUM(income)`, `AVG(income)`"),
        key(
            "column",
            Shape::Either(&[Shape::Text, Shape::List(&Shape::Text)]),
            "the column of the data, or a list of at most four whose product the value is (default: the name)",
        ),
        required(
            "low",
            BOUND,
            "the least value; values below count as it. It is public, so choose it without the data",
        ),
        required("high", BOUND, "the largest value; values beyond count as it"),
        key(
            "step",
            Shape::Exact,
            "values are rounded to multiples of it, half to an even number of steps above `low`; `low` and `high` are multiples (default: the largest power of ten that is at \
             most a millionth of `high - low`)",
        ),
        key(
            "square",
            Shape::Truth,
            "whether squares are summed, too, for variances and standard deviations; the default step is then a thousandth (default: false)",
        ),
        key("missing", words!(MISSING), "rows whose cell is empty"),
        key(
            "measure_clamping",
            Shape::Either(&[Shape::Truth, Shape::Exact]),
            "`true` spends a hundredth of the budget on noisy counts of the rows whose value was moved to `low` and of those moved to `high`; a \
             number below 1 is another part of the budget",
        ),
        key(
            "weighted",
            Shape::Truth,
            "with `[weights]`: whether the weight, as it counts, is a further factor, and `low` and `high` are those of that product (default: true)",
        ),
        key("unit", Shape::Text, "what it is measured in, for people"),
        key("description", Shape::Text, "more for people"),
    ],
    one_of: &[],
    rules: "{}",
};

/// The keys of `[weights]`.
pub(super) const WEIGHTS: Keys = Keys {
    what: "What rows count for, such as the weights of a survey: COUNT(*) adds up weights, and sums those of values times weights.",
    keys: &[
        required("column", Shape::Text, "the column of the data: weights of at least 0"),
        key("name", Shape::Text, "what queries call it: `COUNT(name)` counts rows (default: the column)"),
        required(
            "high",
            BOUND,
            "the largest weight; those beyond count as it, and those below 0 as 0. It is public, so choose it without the data",
        ),
        key(
            "step",
            Shape::Exact,
            "weights are rounded to multiples of it, half to even; `high` is one (default: the largest power of ten that is at most a millionth of `high`)",
        ),
        key("missing", words!(OF_WEIGHTS), "rows whose weight is empty"),
        key(
            "unweighted",
            Shape::Truth,
            "whether tables also tell rows, `COUNT(name)`, for their own sake: these are measured in any case, but then have the weight of counts (default: false)",
        ),
        key(
            "measure_clamping",
            Shape::Either(&[Shape::Truth, Shape::Exact]),
            "as for an amount: noisy counts of the rows whose weight was moved to 0 and to `high`",
        ),
        key("unit", Shape::Text, "what it is measured in, for people"),
        key("description", Shape::Text, "more for people"),
    ],
    one_of: &[],
    rules: "{}",
};

/// `missing` of weights: where a row's weight is left out a mean would not know what it divides by.
const OF_WEIGHTS: Words<NoValue> = &[
    ("stop", NoValue::Stop, "the release is not made (default)"),
    ("zero", NoValue::Zero, "they weigh nothing"),
];

/// A decimal number: a whole number of units of `10^-places`.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i128,
    places: u32,
}

impl Decimal {
    /// From its text; the fewest places that hold it.
    fn parse(text: &str) -> Option<Decimal> {
        let text = text.trim().replace('_', "");
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (&text[..], 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let both = format!("{whole}{fraction}");
        if fraction.starts_with(['+', '-']) || both.trim_start_matches(['+', '-']).is_empty() {
            return None;
        }
        let mut digits: i128 = both.parse().ok()?;
        let mut places = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        while places > 0 && digits % 10 == 0 {
            (digits, places) = (digits / 10, places - 1);
        }
        while places < 0 {
            (digits, places) = (digits.checked_mul(10)?, places + 1);
        }
        Some(Decimal { digits, places: u32::try_from(places).ok()? })
    }

    /// In units of `10^-places`.
    fn at(self, places: u32) -> Option<i128> {
        10i128.checked_pow(places.checked_sub(self.places)?)?.checked_mul(self.digits)
    }
}

fn decimal(value: &Value<'_>, what: &str, sink: &mut Sink) -> Option<Decimal> {
    let text = match value.get_ref() {
        DeValue::Integer(n) if n.radix() == 10 => n.as_str(),
        DeValue::Float(n) => n.as_str(),
        DeValue::String(s) => &**s,
        _ => {
            read::expected(value, what, "a number", sink);
            return None;
        }
    };
    let read = Decimal::parse(text).filter(|d| d.places <= MOST_PLACES.into());
    if read.is_none() {
        sink.push(
            Diagnostic::at(value.span(), format!("{what} is not a decimal number"))
                .label(format!("expected digits, with at most {MOST_PLACES} decimal places")),
        );
    }
    read
}

/// Refuses sums where there is nothing to sum in, or where they are not made.
pub(super) fn alone(root: &Fields<'_, '_>, sink: &mut Sink) {
    let others = ["projection", "asked"];
    let beside = |others: &[&'static str]| others.iter().copied().find(|key| root.get(key).is_some());
    if let Some((span, other)) = root.key_span("amount").zip(beside(&others)) {
        sink.push(
            Diagnostic::at(span, format!("`[[amount]]` beside `{other}`"))
                .label("sums stand beside the counts of tables"),
        );
    }
    let others = ["projection", "asked", "query"];
    if let Some((span, other)) = root.key_span("weights").zip(beside(&others)) {
        sink.push(
            Diagnostic::at(span, format!("`[weights]` beside `{other}`"))
                .label("weights are added up over the cells of tables"),
        );
    }
}

/// Refuses weights and amounts that no table tells.
pub(super) fn told(root: &Fields<'_, '_>, amounts: &[AmountSpec], sink: &mut Sink) {
    let names =
        root.get("amount").and_then(|v| v.get_ref().as_array()).into_iter().flat_map(|all| all.iter());
    let names = names.filter_map(|item| item.get_ref().get("name").map(|name| name.span()));
    let own = amounts.iter().filter(|a| a.quantity.weighing != Weighing::Weight);
    for (amount, span) in own.zip(names).filter(|(a, _)| a.tables.is_empty()) {
        let name = &amount.quantity.name;
        sink.push(
            Diagnostic::at(span, format!("no table tells the sum of `{name}`"))
                .label("in no `sum` of any `[[table]]`")
                .help(format!("add `sum = [\"{name}\"]` to a table, or leave this `[[amount]]` out")),
        );
    }
    let silent = |a: &AmountSpec| a.quantity.weighing == Weighing::Weight && a.tables.is_empty();
    if let Some(span) = root.key_span("weights").filter(|_| amounts.iter().any(silent)) {
        sink.push(
            Diagnostic::at(span, "no table tells the sum of weights")
                .label("all of them say `count = false`, and weighted means are parts of weighted counts"),
        );
    }
}

/// The part of the budget that `true` spends on a count beside the tables.
const PART: (u128, u128) = (1, 100);

/// `true`, or a part of the budget.
pub(super) fn part_of_budget(value: &Value<'_>, what: &str, sink: &mut Sink) -> Option<Option<Rational>> {
    let share = match value.get_ref().as_bool() {
        Some(false) => return Some(None),
        Some(true) => Rational::new(PART.0, PART.1)?,
        None => read::positive(value, what, sink)?,
    };
    if share >= Rational::ONE {
        sink.push(
            Diagnostic::at(value.span(), format!("{what} takes the whole budget"))
                .label("expected `true`, or a part of the budget such as 0.01"),
        );
        return None;
    }
    Some(Some(share))
}

/// Refuses counts beside the tables that leave nothing for these.
pub(super) fn affordable(
    root: &Fields<'_, '_>,
    privacy: Option<&Privacy>,
    amounts: &[AmountSpec],
    sink: &mut Sink,
) {
    if amounts.iter().all(|a| a.clamping.is_none()) {
        return;
    }
    let shares = amounts.iter().filter_map(|a| a.clamping).chain(privacy.and_then(|p| p.cut_units));
    let together = shares.into_iter().try_fold(Rational::ZERO, |sum, share| sum.checked_add(share));
    if together.is_none_or(|sum| sum >= Rational::ONE) {
        sink.push(
            Diagnostic::at(
                root.key_span("amount").or(root.key_span("weights")).unwrap_or(0..0),
                "`measure_clamping` takes the whole budget",
            )
            .label("of all amounts, and with `measure_truncation`, it must leave a part for the tables"),
        );
    }
}

/// Reads `[weights]`, which are the first number where they are there, and all `[[amount]]` entries.
pub(super) fn read(
    root: &Fields<'_, '_>,
    dimensions: &[DeclaredDimension],
    sink: &mut Sink,
) -> Option<Vec<AmountSpec>> {
    let before = sink.count();
    let mut out: Vec<AmountSpec> = Vec::new();
    let mut all: Vec<(&Value<'_>, Role)> =
        root.get("weights").map(|v| (v, Role::Weight)).into_iter().collect();
    if let Some(value) = root.get("amount") {
        all.extend(read::several(value, "amount", sink)?.into_iter().map(|item| (item, Role::Amount)));
    }
    for (item, role) in all {
        let weight = out.first().filter(|a| a.quantity.weighing == Weighing::Weight);
        let weight = weight.and_then(|a| a.columns.first()).cloned();
        if let (Role::Amount, None, Some(span)) = (role, root.get("weights"), weighted_at(item)) {
            sink.push(
                Diagnostic::at(span, "`weighted` of an amount without weights")
                    .label("there is no `[weights]` for it to speak of")
                    .help("leave it out, or add `[weights]` with the column of the weights".to_owned()),
            );
        }
        let Some((amount, span)) = one(item, role, weight.as_deref(), sink) else { continue };
        let name = &amount.quantity.name;
        let alike = |other: &str| other.eq_ignore_ascii_case(name);
        let dimension = dimensions.iter().filter_map(|d| d.name.as_ref()).any(|(d, _)| alike(d));
        let built = dimensions.iter().filter_map(|d| Some(&d.built.as_ref()?.0));
        let mut levels = built.flat_map(|d| d.levels.iter().map(move |l| format!("{}.{}", d.name, l.name)));
        let dimension = dimension || levels.any(|level| alike(&level));
        if alike("count") || dimension || out.iter().any(|a| alike(&a.quantity.name)) {
            let why = if alike("count") {
                "`count` means the number of rows"
            } else {
                "something else has this name"
            };
            sink.push(Diagnostic::at(span, format!("an amount cannot be called `{name}`")).label(why));
        }
        out.push(amount);
    }
    (sink.count() == before).then_some(out)
}

/// Where an amount says whether it is weighted.
fn weighted_at(item: &Value<'_>) -> Option<std::ops::Range<usize>> {
    item.get_ref().get("weighted").map(|value| value.span())
}

/// What an entry declares.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Weight,
    Amount,
}

/// An amount, or the weights: `weight` is the column of those.
fn one(
    value: &Value<'_>,
    role: Role,
    weight: Option<&str>,
    sink: &mut Sink,
) -> Option<(AmountSpec, std::ops::Range<usize>)> {
    let fields = match role {
        Role::Weight => Fields::open(value, "`[weights]`", &WEIGHTS, sink)?,
        Role::Amount => Fields::open(value, "`[[amount]]`", &KEYS, sink)?,
    };
    let text = |key: &str, sink: &mut Sink| match fields.get(key) {
        None => Some(None),
        Some(v) => {
            read::shown(v, &format!("`{key}`"), key == "description", sink).map(|t| Some(t.to_owned()))
        }
    };
    let (name, columns) = named(&fields, role, sink);
    let low = match role {
        Role::Weight => Some(Decimal { digits: 0, places: 0 }),
        Role::Amount => {
            let low = fields.require("low", "`low = 0`: values below count as it", sink);
            low.and_then(|v| decimal(v, "`low`", sink))
        }
    };
    let high = fields.require("high", "`high = 200000`: values beyond count as it", sink);
    let high = high.and_then(|v| Some((decimal(v, "`high`", sink)?, v.span())));
    let step = fields.get("step").map(|v| decimal(v, "`step`", sink));
    let square = fields.get("square").map_or(Some(false), |v| read::boolean(v, "`square`", sink));
    let words = if role == Role::Weight { OF_WEIGHTS } else { MISSING };
    let missing =
        fields.get("missing").map_or(Some(NoValue::Stop), |v| read::choice(v, "`missing`", words, sink));
    let unweighted = fields.get("unweighted").map_or(Some(false), |v| read::boolean(v, "`unweighted`", sink));
    let clamping = match fields.get("measure_clamping") {
        None => Some(None),
        Some(v) => part_of_budget(v, "`measure_clamping`", sink),
    };
    let mut columns = columns?.unwrap_or_else(|| name.iter().map(|(name, _)| name.clone()).collect());
    let (unit, description) = (text("unit", sink), text("description", sink));
    let weighing = match role {
        Role::Weight => Weighing::Weight,
        Role::Amount => weighed(&fields, weight, &mut columns, sink)?,
    };
    let ((name, at), low, (high, high_at)) = (name?, low?, high?);
    let (square, missing, unit, description) = (square?, missing?, unit?, description?);
    // Squares of more steps, of many rows, would not fit 64 bits.
    let parts = if square { 1000 } else { 1_000_000 };
    let given = step.is_some();
    let step = match step {
        None => default_step(low, high, parts),
        // What is wrong with it was said.
        Some(step) => Some(step?),
    };
    let built = step.and_then(|step| {
        let places = low.places.max(high.places).max(step.places);
        Some(Quantity {
            name: name.clone(),
            low: i64::try_from(low.at(places)?).ok()?,
            high: i64::try_from(high.at(places)?).ok()?,
            step: u64::try_from(step.at(places)?).ok()?,
            places: u8::try_from(places).ok()?,
            missing,
            weighing,
            from: MeasuredFrom::Middle,
            unit: unit.clone(),
            description: description.clone(),
        })
    });
    if let Some((problem, help)) = wrong(built.as_ref(), (low, high), (step, given), role) {
        sink.push(
            Diagnostic::at(high_at, format!("amount `{name}`: {problem}"))
                .label("with these bounds")
                .help(help),
        );
        return None;
    }
    let (quantity, tables, clamping) = (Arc::new(built?), Vec::new(), clamping?);
    Some((
        AmountSpec {
            quantity,
            columns,
            tables,
            targets: Vec::new(),
            exact: Vec::new(),
            square,
            clamping,
            unweighted: unweighted?,
        },
        at,
    ))
}

/// What is wrong with the bounds, the step and `missing` of an amount, if anything is, and what to do about just that. `given`: whether the step was written.
fn wrong(
    built: Option<&Quantity>,
    (low, high): (Decimal, Decimal),
    (step, given): (Option<Decimal>, bool),
    role: Role,
) -> Option<(String, String)> {
    let places = low.places.max(high.places);
    let ends = low.at(places).zip(high.at(places));
    if ends.is_some_and(|(low, high)| low >= high) {
        return Some(match role {
            Role::Weight => ("`high` is not above 0".into(), "the largest weight is more than 0".into()),
            Role::Amount => (
                "`low` is not below `high`".into(),
                "`low` is the least value that counts, and `high` the largest".into(),
            ),
        });
    }
    if let Some(step) = step.filter(|step| step.digits <= 0) {
        let what = if step.digits == 0 { "`step` is 0" } else { "`step` is below 0" };
        return Some((what.into(), "values are rounded to multiples of `step`, such as 0.01 or 100".into()));
    }
    let fewer = format!(
        "choose `low`, `high` and `step` with at most {MOST_STEPS} steps, each bound a multiple of `step`"
    );
    let Some(quantity) = built else {
        return Some(("`low`, `high` and `step` are too far apart".into(), fewer));
    };
    let problem = quantity.check().err()?;
    let (low, high, own) = (i128::from(quantity.low), i128::from(quantity.high), i128::from(quantity.step));
    if low % own != 0 || high % own != 0 {
        // The largest step that both are multiples of, if it is none of too many.
        let fits = gcd(low.unsigned_abs(), high.unsigned_abs()).max(1) as i128;
        let shown = |digits: i128| digits as f64 / 10f64.powi(quantity.places.into());
        let such = match (high - low) / fits <= i128::from(MOST_STEPS) {
            true => format!(", such as {}", shown(fits)),
            false => String::new(),
        };
        return Some(match given {
            true => (
                problem,
                format!("choose bounds that are multiples of {}, or another `step`{such}", shown(own)),
            ),
            false => (
                format!("`low` and `high` are not multiples of {}", shown(own)),
                format!("none is written, so that `step` was chosen: write one that fits both{such}"),
            ),
        });
    }
    let zero_outside = quantity.missing == NoValue::Zero && !(low <= 0 && 0 <= high);
    if zero_outside {
        let help = "choose bounds with 0 between them, or `missing = \"skip\"`";
        return Some((problem, help.into()));
    }
    Some((problem, fewer))
}

/// What it is called, and where; and its columns.
type Named = (Option<(String, std::ops::Range<usize>)>, Option<Option<Vec<String>>>);

/// The name and the columns: each stands for the other where that is not told. Weights have one column.
fn named(fields: &Fields<'_, '_>, role: Role, sink: &mut Sink) -> Named {
    let (name, columns) = match role {
        Role::Amount => {
            let columns = fields.get("column").map_or(Some(None), |v| columns(v, sink).map(Some));
            (fields.require("name", "`name = \"income\"`", sink), columns)
        }
        Role::Weight => {
            let column = fields.require("column", "`column = \"weight\"`", sink);
            let one =
                column.and_then(|v| read::text(v, "`column`", sink)).map(|one| Some(vec![one.to_owned()]));
            // What is wrong with the column is said once.
            let name = fields.get("name").or(column.filter(|_| one.is_some()));
            (name, one)
        }
    };
    (name.and_then(|v| Some((read::shown(v, "`name`", true, sink)?.to_owned(), v.span()))), columns)
}

/// Whether an amount is multiplied by the column of weights, which is then one of its own. Refuses what no weighted mean could be made of.
fn weighed(
    fields: &Fields<'_, '_>,
    weight: Option<&str>,
    columns: &mut Vec<String>,
    sink: &mut Sink,
) -> Option<Weighing> {
    let wanted = fields.get("weighted").map_or(Some(true), |v| read::boolean(v, "`weighted`", sink))?;
    let Some(weight) = weight.filter(|_| wanted) else { return Some(Weighing::Plain) };
    columns.push(weight.to_owned());
    let many = columns.len() > MOST_FACTORS;
    let refused = [
        ("column", many, format!("with the weight these are more than {MOST_FACTORS} factors")),
        (
            "square",
            fields.get("square").is_some_and(|v| v.get_ref().as_bool() == Some(true)),
            "squares of products are not a weighted variance".to_owned(),
        ),
        (
            "missing",
            fields.get("missing").is_some_and(|v| v.get_ref().as_str() == Some("skip")),
            "a weighted mean needs the weights of all rows".to_owned(),
        ),
    ];
    for (key, refused, why) in refused {
        if let Some(span) = fields.key_span(key).filter(|_| refused) {
            sink.push(
                Diagnostic::at(span, format!("`{key}` of an amount with weights"))
                    .label(why)
                    .help("`weighted = false` leaves an amount as its rows have it".to_owned()),
            );
            return None;
        }
    }
    Some(Weighing::Weighted)
}

/// One column, or several that are multiplied.
fn columns(value: &Value<'_>, sink: &mut Sink) -> Option<Vec<String>> {
    let DeValue::Array(list) = value.get_ref() else {
        return read::text(value, "`column`", sink).map(|one| vec![one.to_owned()]);
    };
    if list.is_empty() || list.len() > MOST_FACTORS {
        sink.push(
            Diagnostic::at(value.span(), format!("`column` names {} columns", list.len()))
                .label(format!("expected one, or up to {MOST_FACTORS} that are multiplied")),
        );
        return None;
    }
    list.iter().map(|one| read::text(one, "a column", sink).map(str::to_owned)).collect()
}

/// The largest power of ten of which so many, or more, are between the bounds.
fn default_step(low: Decimal, high: Decimal, parts: i128) -> Option<Decimal> {
    let places = low.places.max(high.places).max(MOST_PLACES.into());
    let distance = high.at(places)?.checked_sub(low.at(places)?)?;
    let mut step: i128 = 1;
    while step.checked_mul(10)?.checked_mul(parts)? <= distance {
        step *= 10;
    }
    let mut places = places;
    while places > 0 && step % 10 == 0 {
        (step, places) = (step / 10, places - 1);
    }
    Some(Decimal { digits: step, places })
}

/// `sum` of a `[[table]]`: which amounts.
pub(super) fn summed(value: &Value<'_>, amounts: &[AmountSpec], sink: &mut Sink) -> Option<Vec<usize>> {
    let mut out = Vec::new();
    for (name, span) in read::names(value, "`sum`", sink)? {
        let found = amounts.iter().position(|a| a.quantity.name == name);
        if found.is_none() {
            let known = || amounts.iter().map(|a| a.quantity.name.as_str());
            sink.push(
                Diagnostic::at(span, format!("there is no amount `{name}`"))
                    .label("not the name of an `[[amount]]`")
                    .help(suggest::help(name, known())),
            );
        }
        out.push(found?);
    }
    Some(out)
}

/// The sums of an amount that tables ask for.
#[derive(Default, Clone)]
pub(super) struct TablesSummed {
    pub(super) tables: Vec<(Table, Option<Target>)>,
    /// Those that are published without noise.
    pub(super) exact: Vec<Cuboid>,
}

/// Gives each amount its tables; and those of rows what sums want of counts.
///
/// `SUM = step/2 · Σt + middle · COUNT`, so a sum of weight w puts the weight `w · middle²` on the count, in units of the largest value.
pub(super) fn weigh(
    (counted, targets): (&mut Vec<Table>, &mut Vec<Option<Target>>),
    sums: Vec<TablesSummed>,
    amounts: &mut [AmountSpec],
) -> Option<()> {
    let mut at: HashMap<(Cuboid, Asks), usize> = HashMap::new();
    if sums.iter().any(|of| !of.tables.is_empty()) {
        for (i, own) in counted.iter().enumerate() {
            at.entry((own.cuboid.clone(), own.asks.clone())).or_insert(i);
        }
    }
    for (amount, TablesSummed { tables, exact }) in amounts.iter_mut().zip(sums) {
        amount.exact = exact;
        let (of_count, of_sum) = amount.quantity.stakes()?;
        for (table, target) in tables {
            let counts = !of_count.is_zero() && amount.quantity.missing != NoValue::Skip;
            if counts {
                let weight = table.weight.checked_mul(of_count)?;
                let key = (table.cuboid.clone(), table.asks.clone());
                match at.get(&key).and_then(|&at| counted.get_mut(at)) {
                    Some(own) => own.weight = own.weight.checked_add(weight)?,
                    None => {
                        at.insert(key, counted.len());
                        counted.push(Table { weight, ..table.clone() });
                        targets.push(None);
                    }
                }
            }
            let weight = table.weight.checked_mul(of_sum)?;
            amount.tables.push(Table { weight, ..table });
            amount.targets.push(target);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let at = |text: &str| Decimal::parse(text).map(|d| (d.digits, d.places));
        assert_eq!(at("0.10"), Some((1, 1)));
        assert_eq!(at("-12.5"), Some((-125, 1)));
        assert_eq!(at("5e6"), Some((5_000_000, 0)));
        assert_eq!(at("1.5e-3"), Some((15, 4)));
        assert_eq!(at("1_000"), Some((1000, 0)));
        assert_eq!(at("-.5"), Some((-5, 1)));
        for bad in ["", "-", ".", "1.-5", "1e", "nan", "inf", "1e60"] {
            assert_eq!(at(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_default_step_is_a_millionth() {
        let step = |low: &str, high: &str| {
            let [low, high] = [low, high].map(|text| Decimal::parse(text).unwrap());
            let step = default_step(low, high, 1_000_000).unwrap();
            (step.digits, step.places)
        };
        assert_eq!(step("0", "200000"), (1, 1));
        assert_eq!(step("0", "1e6"), (1, 0));
        assert_eq!(step("-5e7", "5e7"), (100, 0));
        assert_eq!(step("0", "99"), (1, 5));
    }
}
