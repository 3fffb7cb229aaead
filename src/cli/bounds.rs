//! `margins bounds`: how large amounts are, measured with noise, to choose their bounds from.

use super::output::{columns, figure};
use super::plan::sums;
use super::refusal::failure;
use super::signing::Signing;
use super::{Failure, Outcome, output, release, rows};
use crate::answer::Options;
use crate::cube::{Quantity, Weighing};
use crate::face::Release;
use crate::make::bounds::{self, Beyond, CONFIDENCE, Sides};
use crate::make::{MakeError, ReleaseOptions};
use crate::spec::{AmountSpec, Spec};
use crate::sql::quoted;
use crate::watch::Watch;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Count rows by the size of their amounts, with noise, and suggest bounds.
///
/// A release of its own, OUT/NAME-bounds-N.margins, charged, signed and verified like any other: cumulative counts at zero and at doublings of each
/// amount's step, or at the cuts that you give. What it suggests is computed from that file, and holds for all cuts together with 95 %. Nothing else chooses bounds from data.
#[derive(clap::Args)]
#[command(
    group = clap::ArgGroup::new("budget").required(true),
    after_help = "Example:\n  margins bounds survey.toml --rho 1/100 --key agency.key"
)]
pub(super) struct Args {
    /// The spec, with amounts
    spec: PathBuf,
    /// What it may spend, in zCDP, such as 1/100: discrete Gaussian noise
    #[arg(long, value_name = "RHO", group = "budget")]
    rho: Option<String>,
    /// What it may spend, in pure differential privacy: discrete Laplace noise
    #[arg(long, value_name = "EPSILON", group = "budget")]
    epsilon: Option<String>,
    /// Cut sizes here, ascending, instead of at doublings of the step
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', allow_hyphen_values = true)]
    cuts: Option<Vec<f64>>,
    /// The share of rows that may be beyond either bound that is suggested
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    beyond: f64,
    #[command(flatten)]
    rows: rows::Args,
    /// The folder for the release
    #[arg(long, value_name = "DIR", default_value = "out")]
    out: PathBuf,
    /// The ledger to charge, if the spec names none [default: ledger/ID.jsonl in the working folder]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    signing: Signing,
}

/// An amount, what was told of it, and what is suggested.
struct Sized {
    quantity: Arc<Quantity>,
    sides: Vec<Sides>,
    /// Multiples of the amount's step; of a weight the low end is 0, whatever was told.
    suggested: [Option<f64>; 2],
    /// Whether these are cuts as they were measured.
    at_cuts: bool,
}

impl Sized {
    /// The keys that the spec has for the ends, and what is suggested for them: `[weights]` has no `low`.
    fn ends(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> {
        let weight = self.quantity.weighing == Weighing::Weight;
        let [low, high] = self.suggested;
        [("low", low), ("high", high)].into_iter().skip(usize::from(weight))
    }
}

pub(super) fn run(args: &Args, watch: &Watch) -> Outcome {
    let spec = args.rows.spec(&args.spec, None)?;
    let wrong = |text: &str| Err(Failure::Message(text.into()));
    if spec.amounts.is_empty() {
        return wrong("the spec has no [[amount]]: there is nothing to choose bounds for");
    }
    if !(args.beyond > 0.0 && args.beyond < 0.5) {
        return wrong("--beyond is a share between 0 and 0.5, such as 0.01");
    }
    if args.cuts.as_ref().is_some_and(|cuts| {
        cuts.is_empty() || !cuts.is_sorted_by(|a, b| a < b) || cuts.iter().any(|c| !c.is_finite())
    }) {
        return wrong("--cuts are ascending numbers, such as 0,1000,5000");
    }
    // A spec with lists that nobody has confirmed counts nothing, here either.
    spec.confirmed().map_err(super::refusal::spec_failure)?;
    let budget = match (&args.rho, &args.epsilon) {
        (Some(rho), _) => ("rho", rho.as_str()),
        (None, epsilon) => ("epsilon", epsilon.as_deref().unwrap_or_default()),
    };
    let all = bounds::cuts(&spec, args.cuts.as_deref());
    if let Some(text) = unmeasured(&spec) {
        if all.is_empty() {
            return wrong(&text);
        }
        output::warn(&text);
    }
    let free = |n: &u32| {
        let path = args.out.join(format!("{}-bounds-{n}.margins", spec.name));
        path.symlink_metadata().is_err()
    };
    let Some(number) = (1..=999).find(free) else {
        return wrong("there are 999 such files already");
    };
    let counting = bounds::counting(&spec, &all, budget, number).map_err(failure)?;
    let options = ReleaseOptions::new().out(&args.out).watch(watch).warn(output::warn);
    let mut options = args.rows.given(&spec, options)?;
    if let Some(path) = &args.ledger {
        options = options.ledger(path.clone());
    }
    let made = counting.release(args.signing.of(options)).map_err(failure)?;
    let told = Release::open(made.path())?;
    let level = bounds::level(all.iter().map(|cut| cut.cuts.len()).sum());
    let sized = |cut: &bounds::Cut<'_>| -> Result<Sized, Failure> {
        let quantity = Arc::clone(&cut.amount.quantity);
        let sides = cut
            .cuts
            .iter()
            .map(|c| sides(&told, &quantity.name, *c, level))
            .collect::<Result<Vec<_>, _>>()?;
        let nearest = bounds::nearest(&sides, args.beyond, &quantity);
        let suggested = bounds::outwards(nearest, &quantity);
        let at_cuts = suggested == nearest;
        Ok(Sized { quantity, sides, suggested, at_cuts })
    };
    let sized: Vec<Sized> = all.iter().map(sized).collect::<Result<_, _>>()?;
    let errors = errors(&spec, &sized);
    if args.json {
        let mut value = json!({ "amounts": sized.iter().map(|s| shown(s, &errors)).collect::<Vec<_>>() });
        value["release"] = serde_json::from_str(&release::json(&made))?;
        value["beyond"] = args.beyond.into();
        value["confidence"] = CONFIDENCE.into();
        return output::json(&format!("{value:#}\n"));
    }
    let mut out = release::text(&made);
    for s in &sized {
        out.push_str(&text(s, &errors, args.beyond));
    }
    output::print(&out)
}

/// Of which amounts no bounds are measured, and why.
fn unmeasured(spec: &Spec) -> Option<String> {
    // The column of the weights is the last factor of a weighted amount.
    let own = |amount: &&AmountSpec| match amount.quantity.weighing {
        Weighing::Weighted => amount.columns.len() > 2,
        _ => amount.columns.len() > 1,
    };
    let named = |amounts: Vec<&AmountSpec>| {
        let names: Vec<&str> = amounts.iter().map(|amount| amount.quantity.name.as_str()).collect();
        names.join(", ")
    };
    let (products, single): (Vec<_>, Vec<_>) =
        spec.amounts.iter().filter(|amount| amount.columns.len() > 1).partition(own);
    let mut out = Vec::new();
    if !products.is_empty() {
        let why = "rows are counted by the cells of one column, so name a column that has the product";
        out.push(format!("no bounds are measured for {}, a product of columns: {why}", named(products)));
    }
    if !single.is_empty() {
        let why = "its bounds are those of that product, and rows are counted by the cells of one column. \
            Name a column that has the product, with `weighted = false`";
        out.push(format!("no bounds are measured for {}, which the weight multiplies: {why}", named(single)));
    }
    (!out.is_empty()).then(|| out.join("; "))
}

/// What the file tells of both sides of a cut.
fn sides(release: &Release, name: &str, cut: f64, level: f64) -> Result<Sides, Failure> {
    let count = |how: &str| -> Result<Beyond, Failure> {
        let sql = format!(
            "SELECT COUNT(*) AS n FROM {} WHERE {} {how} {cut}",
            quoted(release.name()),
            quoted(name)
        );
        let answer = release.ask(&sql, &Options::at(level))?;
        let row = answer.rows().next().ok_or_else(|| Failure::Message("an answer has no row".into()))?;
        let figure = row.figure("n")?;
        Ok(Beyond { estimate: figure.estimate, low: figure.low, high: figure.high })
    };
    Ok(Sides { cut, below: count("<")?, above: count(">=")? })
}

/// The largest standard error of a cell's sum of each amount: with the spec's bounds, and with those that are suggested; or why they cannot be.
struct Errors {
    own: Vec<(String, f64)>,
    suggested: Result<Vec<(String, f64)>, String>,
}

fn errors(spec: &Spec, sized: &[Sized]) -> Errors {
    let of = |spec: &Spec| {
        let planned = spec.plan().map_err(plain)?;
        Ok(sums::worst(planned.job()))
    };
    let bounds: Vec<(&str, [f64; 2])> = sized
        .iter()
        .filter_map(|s| Some((s.quantity.name.as_str(), [s.suggested[0]?, s.suggested[1]?])))
        .collect();
    let cannot = bounds.iter().find_map(|(name, ends)| {
        let own = sized.iter().find(|s| s.quantity.name == *name)?;
        let why = bounds::cannot(*ends, &own.quantity)?;
        Some(format!("with its step of {}, {name}: {why}", bounds::step(&own.quantity)))
    });
    let suggested = match cannot {
        Some(why) => Err(why),
        None => bounds::bounded(spec, &bounds).map_err(plain).and_then(|new| of(&new)),
    };
    Errors { own: of(spec).unwrap_or_default(), suggested }
}

/// An error in one sentence: what stands in a spec that was written here is in no file that the user has.
fn plain(error: MakeError) -> String {
    match &error {
        MakeError::Spec(errors) => {
            errors.diagnostics().first().map_or_else(String::new, |d| d.message.clone())
        }
        other => other.to_string(),
    }
}

impl Errors {
    /// Of one amount.
    fn of(&self, name: &str) -> (Option<f64>, Option<f64>) {
        let find = |all: &[(String, f64)]| all.iter().find(|(n, _)| n == name).map(|(_, e)| *e);
        (find(&self.own), self.suggested.as_deref().ok().and_then(find))
    }
}

fn text(s: &Sized, errors: &Errors, beyond: f64) -> String {
    let unit = s.quantity.unit.as_ref().map_or(String::new(), |u| format!(", in {u}"));
    let percent = 100.0 * CONFIDENCE;
    let mut out = format!(
        "\nRows by {}{unit}, with intervals that all hold together with {percent:.0} %\n",
        s.quantity.name
    );
    let told = |t: &Beyond| [figure(t.estimate), figure(t.low), figure(t.high)];
    let row = |side: &Sides| {
        let mut row = vec![side.cut.to_string()];
        row.extend(told(&side.below));
        row.extend(told(&side.above));
        row
    };
    let rows: Vec<Vec<String>> = s.sides.iter().map(row).collect();
    out.push_str(&columns(&["cut", "below", "low", "high", "at or above", "low", "high"], &rows));
    let share = 100.0 * beyond;
    let found: Vec<String> = s.ends().filter_map(|(end, at)| Some(format!("{end} = {}", at?))).collect();
    let lacking: Vec<&str> = s.ends().filter(|(_, at)| at.is_none()).map(|(end, _)| end).collect();
    let mut words = String::new();
    if !found.is_empty() {
        let rounded = if s.at_cuts { "" } else { ", rounded outwards to the step" };
        let either = if found.len() > 1 { "either" } else { "it" };
        words = format!(
            "suggested: {}{rounded}. By the ends of these intervals at most {share} % of the rows with a value are beyond {either}, with {percent:.0} % confidence.",
            found.join(", ")
        );
    }
    if lacking.is_empty() {
        match (errors.of(&s.quantity.name), &errors.suggested) {
            (_, Err(why)) => words.push_str(&format!(" The spec cannot have them: {why}.")),
            ((Some(own), Some(new)), _) => words.push_str(&format!(
                " The std error of a sum would be {} where it is {} with the spec's bounds.",
                figure(new),
                figure(own)
            )),
            _ => {}
        }
    } else {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(&format!(
            "No {} is suggested: at no cut do the intervals show at most {share} % of the rows with a value beyond it. Cut elsewhere (--cuts), allow more (--beyond), or spend more.",
            lacking.join(" and no ")
        ));
    }
    out + &crate::audit::wrap(&words, 78, 0) + "\n"
}

/// The same for scripts.
fn shown(s: &Sized, errors: &Errors) -> serde_json::Value {
    let told = |t: Beyond| json!({ "estimate": t.estimate, "low": t.low, "high": t.high });
    let side =
        |side: &Sides| json!({ "cut": side.cut, "below": told(side.below), "at_or_above": told(side.above) });
    let (own, new) = errors.of(&s.quantity.name);
    let end = |which| s.ends().find(|(end, _)| *end == which).and_then(|(_, at)| at);
    json!({
        "name": s.quantity.name,
        "cuts": s.sides.iter().map(side).collect::<Vec<_>>(),
        "low": end("low"),
        "high": end("high"),
        "std_error": own,
        "suggested_std_error": new,
        "refused": errors.suggested.as_ref().err(),
    })
}
