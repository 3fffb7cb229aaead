//! How large the amounts of a spec are, measured with noise: what bounds are chosen from.
//!
//! Nothing of it is a mechanism of its own. The rows are counted by size as a release of a spec that is written here: one dimension an amount, its bins
//! between public cuts, cumulative counts. It is planned, charged, sealed and verified like any other. What is suggested afterwards is made of the
//! answers of that file and of the two specs alone.

use super::MakeError;
use crate::cube::{NoValue, Quantity, Weighing};
use crate::spec::{AmountSpec, Spec};
use std::path::Path;
use toml::{Table, Value};

/// Cuts go up to so many doublings of a step: no amount has more steps.
const DOUBLINGS: u32 = 24;
/// What rows are called that have no value.
const NO_VALUE: &str = "no value";

/// An amount and where its sizes are cut.
pub(crate) struct Cut<'s> {
    pub(crate) amount: &'s AmountSpec,
    /// Ascending.
    pub(crate) cuts: Vec<f64>,
}

/// The amounts of a spec that one column has (bins hold no products), cut where the caller says or else at zero and at the doublings of their steps: on both sides of zero where the
/// spec has bounds below it.
pub(crate) fn cuts<'s>(spec: &'s Spec, given: Option<&[f64]>) -> Vec<Cut<'s>> {
    let one = |amount: &'s AmountSpec| {
        let quantity = &amount.quantity;
        let cuts = given.map_or_else(|| doublings(quantity), <[f64]>::to_vec);
        Cut { amount, cuts }
    };
    spec.amounts.iter().filter(|amount| amount.columns.len() == 1).map(one).collect()
}

fn doublings(quantity: &Quantity) -> Vec<f64> {
    let unit = 10f64.powi(quantity.places.into());
    let up = (0..=DOUBLINGS).map(|k| quantity.step as f64 * f64::from(1u32 << k) / unit);
    let down = up.clone().rev().map(|cut| -cut).filter(|_| quantity.low < 0);
    down.chain([0.0]).chain(up).collect()
}

/// What values are rounded to, whatever they are measured from.
pub(crate) fn step(of: &Quantity) -> f64 {
    of.step as f64 / 10f64.powi(of.places.into())
}

/// A number in a spec: whole ones without a point, as bounds are written.
fn number(v: f64) -> Value {
    let whole = v.fract() == 0.0 && v.abs() < 1e15;
    if whole { Value::Integer(v as i64) } else { Value::Float(v) }
}

fn read(source: &str) -> Result<Table, MakeError> {
    source.parse().map_err(|_| MakeError::Wrong("the spec cannot be read again".into()))
}

/// The spec that counts rows by size: of the same people, rows and ledger, with a budget of its own.
///
/// The first and the last bin hold all that is beyond the cuts: `clamp`.
pub(crate) fn counting(
    spec: &Spec,
    all: &[Cut<'_>],
    (currency, budget): (&str, &str),
    number_of: u32,
) -> Result<Spec, MakeError> {
    let mut old = read(&spec.source)?;
    let mut new = Table::new();
    let names: Vec<&str> = all.iter().map(|c| c.amount.quantity.name.as_str()).collect();
    new.insert("name".into(), format!("{}-bounds-{number_of}", spec.name).into());
    new.insert("title".into(), format!("Rows by size of {}, to choose bounds from", names.join(", ")).into());
    for key in ["licence", "contact", "demo", "dataset", "data", "privacy"] {
        if let Some(value) = old.remove(key) {
            new.insert(key.into(), value);
        }
    }
    if spec.dataset.is_none() {
        // Else it would be charged to a ledger of its own name.
        new.insert("dataset".into(), Table::from_iter([("id".to_owned(), spec.name.clone().into())]).into());
    }
    if let Some(privacy) = new.get_mut("privacy").and_then(Value::as_table_mut) {
        for key in ["rho", "epsilon", "delta", "measure_truncation"] {
            privacy.remove(key);
        }
        privacy.insert(currency.into(), budget.into());
    }
    let (mut dimensions, mut tables) = (Vec::new(), Vec::new());
    for Cut { amount, cuts } in all {
        let quantity = &amount.quantity;
        let ends = cuts.first().zip(cuts.last());
        let Some((first, last)) = ends else { continue };
        let step = step(quantity);
        let bins = [first - step].into_iter().chain(cuts.iter().copied()).chain([last + step]);
        let mut dimension = Table::from_iter([
            ("name".to_owned(), quantity.name.clone().into()),
            ("column".to_owned(), amount.columns.first().cloned().unwrap_or_default().into()),
            ("bins".to_owned(), bins.map(number).collect::<Vec<_>>().into()),
            ("clamp".to_owned(), true.into()),
        ]);
        if quantity.missing != NoValue::Stop {
            dimension.insert("missing".into(), NO_VALUE.into());
        }
        dimensions.push(Value::Table(dimension));
        let ask = Table::from_iter([(quantity.name.clone(), "prefixes".into())]);
        tables.push(Value::Table(Table::from_iter([
            ("of".to_owned(), vec![Value::from(quantity.name.clone())].into()),
            ("ask".to_owned(), ask.into()),
        ])));
    }
    new.insert("dimension".into(), dimensions.into());
    new.insert("table".into(), tables.into());
    again(spec, &new)
}

/// The spec with other bounds of its amounts.
pub(crate) fn bounded(spec: &Spec, bounds: &[(&str, [f64; 2])]) -> Result<Spec, MakeError> {
    let mut text = read(&spec.source)?;
    let amounts = text.get_mut("amount").and_then(Value::as_array_mut);
    for amount in amounts.into_iter().flatten().filter_map(Value::as_table_mut) {
        let name = amount.get("name").and_then(Value::as_str);
        let Some((_, [low, high])) = bounds.iter().find(|(n, _)| Some(*n) == name) else { continue };
        let Some(own) = spec.amounts.iter().find(|a| Some(a.quantity.name.as_str()) == name) else {
            continue;
        };
        amount.insert("low".into(), number(*low));
        amount.insert("high".into(), number(*high));
        amount.insert("step".into(), number(step(&own.quantity)));
    }
    let weights = text.get_mut("weights").and_then(Value::as_table_mut);
    let own = spec.amounts.iter().find(|a| a.quantity.weighing == Weighing::Weight);
    let given = own.and_then(|own| bounds.iter().find(|(name, _)| *name == own.quantity.name));
    if let (Some(weights), Some(own), Some((_, [_, high]))) = (weights, own, given) {
        weights.insert("high".into(), number(*high));
        weights.insert("step".into(), number(step(&own.quantity)));
    }
    again(spec, &text)
}

/// Mistakes are placed in the text as it was written here: it has no file, but what it refers to is found beside the spec.
fn again(spec: &Spec, text: &Table) -> Result<Spec, MakeError> {
    let name = text.get("name").and_then(Value::as_str).unwrap_or("spec");
    let origin = spec.file.as_deref().unwrap_or(Path::new("")).with_file_name(format!("{name}.toml"));
    let new = crate::spec::of_text(&text.to_string(), &origin)?;
    Ok(Spec { file: spec.file.clone(), ..new })
}

/// How many rows are beyond a cut, as a release tells it: the estimate and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Beyond {
    pub(crate) estimate: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The rows below a cut, and those at or above it.
pub(crate) struct Sides {
    pub(crate) cut: f64,
    pub(crate) below: Beyond,
    pub(crate) above: Beyond,
}

/// With which probability all intervals that a suggestion is made of hold.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// The level of each of the intervals, so that those of all cuts hold together: else the luckiest of many cuts would be chosen, and not the nearest.
///
/// **Proof.** These are two intervals a cut. Each fails with a probability of at most `(1 − CONFIDENCE)/2m`, all 2m together with `1 − CONFIDENCE` at most
/// (Boole). What is suggested follows from their ends. ∎
pub(crate) fn level(cuts: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE) / (2.0 * cuts.max(1) as f64)
}

/// The nearest cuts beyond which, by the upper ends of the intervals, at most this share of the rows with a value are, at either end: `None` where no cut has so few.
///
/// Rows without a value that count as zero want zero within the bounds, and a weight begins there whatever is measured.
pub(crate) fn nearest(sides: &[Sides], share: f64, of: &Quantity) -> [Option<f64>; 2] {
    // So many rows have a value at least, whichever cut tells it best.
    let all = sides.iter().map(|s| s.below.low + s.above.low).fold(0.0, f64::max);
    let few = |told: Beyond| told.high <= share * all;
    let (zero, weight) = (of.missing == NoValue::Zero, of.weighing == Weighing::Weight);
    let low = sides.iter().rev().find(|s| few(s.below) && !(zero && s.cut > 0.0)).map(|s| s.cut);
    let low = if weight { Some(0.0) } else { low };
    let above = |s: &&Sides| few(s.above) && !(zero && s.cut < 0.0) && low.is_none_or(|low| s.cut > low);
    [low, sides.iter().find(above).map(|s| s.cut)]
}

/// The next multiples of the step outwards: what is beyond these is beyond the cuts. The ends of an amount are no others.
pub(crate) fn outwards([low, high]: [Option<f64>; 2], of: &Quantity) -> [Option<f64>; 2] {
    let (unit, step) = (10f64.powi(of.places.into()), of.step.max(1) as f64);
    let multiple = |cut: f64, round: fn(f64) -> f64| {
        let steps = cut * unit / step;
        // A cut that is a multiple but for the last bits of a double stays.
        let steps = if (steps - steps.round()).abs() < 1e-6 { steps.round() } else { round(steps) };
        steps * step / unit
    };
    [low.map(|low| multiple(low, f64::floor)), high.map(|high| multiple(high, f64::ceil))]
}

/// Why an amount cannot have these bounds with the step that it has, in words.
pub(crate) fn cannot([low, high]: [f64; 2], of: &Quantity) -> Option<String> {
    let unit = 10f64.powi(of.places.into());
    let at = |v: f64| (v * unit).round() as i64;
    Quantity { low: at(low), high: at(high), ..of.clone() }.check().err()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAY: &str = "name = 'pay'\ntitle = 'Pay'\n[privacy]\nunit = { column = 'who', max_rows = 2 }\nepsilon = 1\n\
        [[dimension]]\nname = 'k'\nrange = [0, 1]\n[[amount]]\nname = 'a b'\ncolumn = 'a'\nlow = 0\nhigh = 1\nstep = 0.1\nmissing = 'zero'\n\
        [[table]]\nof = ['k']\nsum = ['a b']\n";

    #[test]
    fn rows_are_counted_by_size_of_the_same_people() {
        let spec = Spec::from_toml(PAY).unwrap();
        let all = cuts(&spec, None);
        assert_eq!(all[0].cuts.len(), 26);
        assert_eq!(all[0].cuts[..4], [0.0, 0.1, 0.2, 0.4]);
        let counting = counting(&spec, &all, ("rho", "1/10"), 3).unwrap();
        assert_eq!(counting.name, "pay-bounds-3");
        assert_eq!(counting.dataset.as_ref().unwrap().id, "pay");
        assert_eq!(counting.privacy.unit, spec.privacy.unit);
        assert_eq!(counting.columns[0].column, "a");
        // Below, 25 stretches, beyond, and no value.
        assert_eq!(counting.cube.dimensions[0].levels[1].labels.len(), 28);
        let wider = bounded(&spec, &[("a b", [-0.8, 12.8])]).unwrap();
        assert_eq!(wider.amounts[0].quantity.ends(), ["-0.8", "12.8"]);
        assert_eq!(wider.amounts[0].quantity.reach(), 136);
    }

    #[test]
    fn suggestions_are_the_nearest_that_surely_cut_few() {
        let told = |n: f64| Beyond { estimate: n, low: n - 5.0, high: n + 5.0 };
        let at =
            |(cut, below): &(f64, f64)| Sides { cut: *cut, below: told(*below), above: told(1000.0 - below) };
        let rows = [(-1.0, 0.0), (0.0, 4.0), (1.0, 6.0), (2.0, 985.0), (4.0, 996.0), (8.0, 1000.0)];
        let sides: Vec<Sides> = rows.iter().map(at).collect();
        let spec = Spec::from_toml(PAY).unwrap();
        let of = |missing| Quantity { missing, ..(*spec.amounts[0].quantity).clone() };
        let (skip, zero) = (of(NoValue::Skip), of(NoValue::Zero));
        // Of 990 rows at least: 9.9, 11.0 and 0.99.
        assert_eq!(nearest(&sides, 0.01, &skip), [Some(0.0), Some(4.0)]);
        assert_eq!(nearest(&sides, 0.0112, &skip), [Some(1.0), Some(4.0)]);
        assert_eq!(nearest(&sides, 0.0112, &zero), [Some(0.0), Some(4.0)]);
        assert_eq!(nearest(&sides, 0.001, &skip), [None, None]);
        let weight = Quantity { weighing: Weighing::Weight, ..zero };
        assert_eq!(nearest(&sides, 0.001, &weight), [Some(0.0), None]);
        assert_eq!(nearest(&sides, 0.0112, &weight), [Some(0.0), Some(4.0)]);
    }

    #[test]
    fn ends_are_rounded_outwards() {
        let spec = Spec::from_toml(PAY).unwrap();
        let of = &spec.amounts[0].quantity;
        assert_eq!(outwards([Some(-0.05), Some(0.71)], of), [Some(-0.1), Some(0.8)]);
        assert_eq!(outwards([Some(0.3), None], of), [Some(0.3), None]);
        assert_eq!(cannot([-0.1, 0.8], of), None);
        assert!(cannot([0.0, 1e7], of).unwrap().contains("steps"));
    }

    /// What fails of 2m intervals together is what may fail, however many cuts there are.
    #[test]
    fn intervals_of_all_cuts_hold_together() {
        for m in [1usize, 6, 26, 400] {
            assert!(2.0 * m as f64 * (1.0 - level(m)) <= 1.0 - CONFIDENCE + 1e-12, "{m}");
        }
    }
}
