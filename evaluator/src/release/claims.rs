//! What a manifest says, derived from what the file holds.
//!
//! The compiler writes a manifest with these functions and an audit calls them again: a claim that is not derived here
//! is not checked, so there is one way to derive each. What neither plan nor domain holds are the spec's [`Words`]; an
//! audit that cannot read the spec takes them from the manifest and says so.
//!
//! Texts and numbers belong to the format: those of version 1 never change.

use super::kind::FIRST_FORMAT;
use super::manifest::{
    About, AccountName, Accounting, Amount, Approximate, ClampingSummary, Currency, Dataset, Declared,
    LISTED_MEASUREMENTS, Manifest, MeasurementSummary, PlanSummary, Privacy, ProjectionSummary,
    RecipientSummary, SumSummary, TruncationSummary, Without,
};
use super::wire;
use crate::cube::{Cube, Frame, Legend, Quantity};
use crate::exact::Rational;
use crate::loss::Loss;
use crate::plan::cost::{self, Cost, CostError, WorstCase};
use crate::plan::{BudgetRule, Channel, Losses, Measure, Mode, Neighbours, Plan, Subject, convert};
use crate::projection::key::Key;
use crate::projection::{self, Design, Projection, Shape};
use serde::Serialize;

/// What a manifest says that only the spec can confirm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Words {
    /// Name, title and the like.
    pub about: About,
    /// Which data the counts are of.
    pub dataset: Option<Dataset>,
    /// Which account is charged; unknown where a manifest does not say it.
    pub account: Option<AccountName>,
    /// Whom the guarantee protects: `row`, or the identifying column.
    pub unit: String,
    /// The columns by which the rows of a unit that count are its first.
    pub order: Vec<String>,
    /// What becomes of rows that belong to no unit.
    pub without: Option<Without>,
    /// The δ at which the guarantee is also stated, where the cost is ρ.
    pub delta: Option<Rational>,
    /// Whether that is by the law of the release's own loss, where it has one.
    pub lossless: bool,
    /// Why each exact table is published so, in the plan's order.
    pub reasons: Vec<String>,
    /// What people read beside the names and codes of dimensions.
    pub legends: Vec<Legend>,
}

/// What a manifest says that follows from the plan, the domain and the spec's words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claims {
    /// Who is protected and how well.
    pub privacy: Privacy,
    /// What was measured.
    pub plan: PlanSummary,
    /// How counts were summed, where the release is a projection.
    pub projection: Option<ProjectionSummary>,
    /// Whose copy it is, where the measuring has several recipients.
    pub recipient: Option<RecipientSummary>,
    /// What is published without noise or changed after the noise.
    pub declared: Declared,
}

/// Why nothing can be derived.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// The cost of a measurement.
    #[error(transparent)]
    Cost(#[from] CostError),
    /// The cost of a projection.
    #[error("the cost of the projection does not fit the arithmetic")]
    Projection,
    /// A δ that is no probability.
    #[error("δ is not a probability that can be reckoned with")]
    Delta,
    /// Another number of reasons than of exact tables.
    #[error("there are {0} reasons for {1} exact tables")]
    Reasons(usize, usize),
}

/// The δ of guarantees for which the spec names none.
pub fn default_delta() -> Option<Rational> {
    Rational::new(1, 1_000_000_000)
}

/// The (ε, δ) of a cost ρ, by the conversion of a format version: that of version 1 is frozen.
pub fn approximate(format: u32, cost: Rational, delta: Rational) -> Option<Approximate> {
    let d = delta.to_f64();
    if !(d > 0.0 && d < 1.0) {
        return None;
    }
    let epsilon = match format {
        // Four decimals, rounded up, of what was trusted to doubles.
        FIRST_FORMAT => format!("{:.4}", (convert::epsilon_for(cost, d) * 1e4).ceil() / 1e4),
        _ => decimals_up(convert::least_epsilon(cost, delta)?),
    };
    let conversion = convert::CONVERSION.into();
    Some(Approximate { epsilon, delta: decimal(delta), conversion, accounting: None })
}

/// What a release is by itself, by the law of its own loss: ε and δ. `None` where it is stated by ρ.
pub fn alone(stated: &Approximate) -> Option<(Rational, Rational)> {
    let exact = stated.accounting == Some(Accounting::Exact);
    exact.then(|| Some((stated.epsilon.parse().ok()?, stated.delta.parse().ok()?))).flatten()
}

/// The law's name, for manifests.
pub(crate) const EXACT: &str = "the exact law of the privacy loss of all noises of this release together";

/// The (ε, δ) of a release of tables: by the law of its own loss, where it has one.
pub fn stated(format: u32, cost: Rational, delta: Rational, losses: Option<&Losses>) -> Option<Approximate> {
    let exact = losses.and_then(|losses| {
        let fits = |text: &str| text.parse().is_ok_and(|epsilon| losses.within(epsilon, delta));
        // Found to a hair: where that is beyond a short number, the number itself may do.
        let short = |least: f64| Some(decimals_up(least * (1.0 - 1e-7))).filter(|short| fits(short));
        // Continuous noise, whose law is quickly known, is seldom a digit away.
        let guess = Loss::smooth(losses.rho()).epsilon(delta.to_f64()).and_then(short);
        let epsilon = match guess.filter(|guess| !one_less(guess).is_some_and(|less| fits(&less))) {
            Some(epsilon) => epsilon,
            None => {
                let least = losses.epsilon(delta)?;
                short(least).unwrap_or_else(|| decimals_up(least))
            }
        };
        let accounting = Some(Accounting::Exact);
        Some(Approximate { epsilon, delta: decimal(delta), conversion: EXACT.into(), accounting })
    });
    exact.or_else(|| approximate(format, cost, delta))
}

/// A decimal number less one in its last place.
fn one_less(text: &str) -> Option<String> {
    let places = text.split_once('.')?.1.len();
    let digits: u128 = text.replace('.', "").parse().ok()?;
    let less = digits.checked_sub(1)?;
    Some(format!("{less}e-{places}"))
}

/// Four decimals, and of a small number four digits, rounded up: never less than `x`.
pub fn decimals_up(x: f64) -> String {
    let places =
        if x >= 0.1 || x <= 0.0 { 4 } else { (3 - libm::floor(libm::log10(x)) as i32).clamp(4, 40) as usize };
    // As text both are rounded to the nearest: where that is down, or as near as the product's own rounding, one more in the last place.
    let text = format!("{x:.places$}");
    if text.parse::<f64>().is_ok_and(|t| t >= x) {
        return text;
    }
    let step = libm::pow(10.0, -(places as f64));
    format!("{:.places$}", x + step)
}

/// `1e-9` where that is exactly the number, the ratio otherwise.
fn decimal(r: Rational) -> String {
    let short = format!("{:e}", r.to_f64());
    if short.parse() == Ok(r) { short } else { r.to_string() }
}

/// The guarantee in a sentence, up to its full stop.
fn guarantee(currency: Currency, budget: Rational, whom: &str, neighbours: Neighbours) -> String {
    let symbol = currency.symbol();
    let kind = match currency {
        Currency::Rho => "zero-concentrated differential privacy",
        Currency::Epsilon => "pure differential privacy",
    };
    let neighbours = match neighbours {
        Neighbours::AddRemove => "whether it is in the data or not",
        Neighbours::Substitute => "whatever it says (the number of rows is public)",
    };
    format!("{symbol} <= {budget} of {kind} for {whom}, {neighbours}.")
}

fn whom(unit: &str, max_rows: u32, without: Option<Without>) -> String {
    if max_rows > 1 || unit != "row" {
        let alone = match without {
            Some(Without::Own) => ", and for every single row without one",
            Some(Without::Drop) | None => "",
        };
        format!("every {unit}, of which at most {max_rows} rows count{alone}")
    } else {
        "every row".into()
    }
}

/// That rows without a unit are left out, where they are.
fn dropped(words: &Words) -> String {
    match words.without {
        Some(Without::Drop) => format!(" {}", Without::Drop.text(&words.unit)),
        Some(Without::Own) | None => String::new(),
    }
}

/// What the manifest of a release of tables says, in a format version.
pub fn of_tables(
    format: u32,
    cube: &Cube,
    plan: &Plan,
    cost: &Cost,
    words: &Words,
) -> Result<Claims, ClaimError> {
    let frame = Frame::new(cube, &plan.levels);
    let currency = Currency::of_tables(plan.noise);
    let measurements = (0..plan.rows().measurements.len().min(LISTED_MEASUREMENTS))
        .map(|i| {
            let m = &plan.rows().measurements[i];
            let (sensitivity, cost) = cost::measurement_cost(plan, &frame, i)?;
            let (block, kind) = (cube.describe(m.block.cuboid()), m.block.kind().into());
            Ok(MeasurementSummary { block, kind, scale: m.scale, sensitivity, cost })
        })
        .collect::<Result<_, CostError>>()?;
    // Of a bound the first format said that it is one over pairs, whoever is protected.
    let over = match cost.worst_case {
        WorstCase::Bound if format == FIRST_FORMAT => Neighbours::Substitute,
        _ => plan.neighbours,
    };
    let worst = cost.worst_case.words(over).map_or(String::new(), |of| format!(" The cost is {of}."));
    let beyond = if plan.exact.is_empty() {
        ""
    } else {
        " This is relative to the tables declared as published exactly: what they say is public, and the \
         guarantee covers what the release tells beyond them."
    };
    let (n, reasons) = (plan.exact.len(), &words.reasons);
    if reasons.len() != n {
        return Err(ClaimError::Reasons(reasons.len(), n));
    }
    let cut = plan.channel(&Subject::CutUnits).and_then(|c| c.measurements.first());
    let promise =
        guarantee(currency, plan.budget, &whom(&words.unit, plan.max_rows, words.without), plan.neighbours);
    Ok(Claims {
        privacy: Privacy {
            unit: words.unit.clone(),
            max_rows: plan.max_rows,
            order: words.order.clone(),
            without: words.without,
            neighbours: plan.neighbours,
            budget: Amount { currency, amount: plan.budget },
            cost: Amount { currency, amount: cost.total },
            approximate: match (currency, words.delta) {
                (Currency::Rho, Some(delta)) => {
                    let losses = words.lossless.then(|| Losses::of(plan, &frame).ok()).flatten();
                    let stated = stated(format, cost.total, delta, losses.as_ref());
                    Some(stated.ok_or(ClaimError::Delta)?)
                }
                (Currency::Rho, None) => return Err(ClaimError::Delta),
                (Currency::Epsilon, _) => None,
            },
            truncation: cut.map(|m| TruncationSummary { scale: m.scale }),
            note: format!("{promise}{}{worst}{beyond}", dropped(words)),
        },
        plan: PlanSummary {
            measure: plan.measure.name().into(),
            budgets: plan.budgets.name().into(),
            mechanism: plan.noise,
            workload: (plan.rows().workload.iter().take(LISTED_MEASUREMENTS))
                .map(|t| t.describe(cube))
                .collect(),
            count: plan.rows().measurements.len() as u64,
            measurements,
            sums: sums(cube, plan, cost)?,
        },
        projection: None,
        recipient: recipient(plan, &frame)?,
        declared: Declared {
            invariants: declared(cube, plan, reasons),
            constraints: plan.zeros.clone(),
            post_processing: Vec::new(),
        },
    })
}

/// The plan section of a release without tables. The format wants that section of every release, with who is protected and how
/// well, and readers of both kinds take these from it. It measures no table, so its strategy and rule say nothing: format 1
/// wrote `base` and `uniform`, and the audit of a projection expects just this plan.
pub fn no_tables(cube: &Cube, design: &Design) -> Plan {
    Plan {
        noise: design.noise,
        budget: design.budget,
        neighbours: design.neighbours,
        max_rows: design.max_rows,
        measure: Measure::Base,
        budgets: BudgetRule::Uniform,
        levels: vec![vec![0]; cube.dimensions.len()],
        channels: vec![Channel::rows(Vec::new(), Vec::new())],
        exact: Vec::new(),
        zeros: Vec::new(),
        copy: None,
    }
}

/// What the manifest of a release of a projection says, in a format version.
pub fn of_projection(
    format: u32,
    cube: &Cube,
    projection: &Projection,
    words: &Words,
) -> Result<Claims, ClaimError> {
    let design = &projection.design;
    let total = projection::cost::cost(design).ok_or(ClaimError::Projection)?;
    let squared = projection::cost::sensitivity_squared(design).ok_or(ClaimError::Projection)?;
    let key: Vec<String> = (design.key.iter())
        .filter_map(|&d| Some(cube.dimensions.get(usize::from(d))?.name.clone()))
        .collect();
    let collision =
        Key::new(wire::parts(design, cube), design.shape.cell_bits(), &projection.seed).collision();
    let (kind, rows, buckets) = match design.shape {
        Shape::Dense { rows } => ("dense", rows, None),
        Shape::Sketch { rows, buckets } => ("sketch", rows, Some(buckets)),
    };
    // Version 1 says "every row" also of a column of that name.
    let whom = match (format, words.unit.as_str()) {
        (FIRST_FORMAT, "row") => "every row".into(),
        (_, unit) => whom(unit, design.max_rows, words.without),
    };
    let currency = Currency::OF_PROJECTIONS;
    let amount = |amount| Amount { currency, amount };
    let delta = words.delta.ok_or(ClaimError::Delta)?;
    Ok(Claims {
        privacy: Privacy {
            unit: words.unit.clone(),
            max_rows: design.max_rows,
            order: words.order.clone(),
            without: words.without,
            neighbours: design.neighbours,
            budget: amount(design.budget),
            cost: amount(total),
            approximate: Some(approximate(format, total, delta).ok_or(ClaimError::Delta)?),
            truncation: None,
            note: guarantee(currency, design.budget, &whom, design.neighbours) + &dropped(words),
        },
        plan: PlanSummary {
            measure: format!("{kind} projection"),
            budgets: BudgetRule::Uniform.name().into(),
            mechanism: design.noise,
            workload: Vec::new(),
            count: 1,
            measurements: vec![MeasurementSummary {
                block: key.join(" × "),
                kind: "projection".into(),
                scale: design.scale,
                sensitivity: squared,
                cost: total,
            }],
            sums: Vec::new(),
        },
        projection: Some(ProjectionSummary {
            kind: kind.into(),
            key,
            rows,
            buckets,
            independence: design.independence,
            seed: blake3::Hash::from_bytes(projection.seed).to_hex().to_string(),
            sparsity: design.sparsity,
            collision: format!("{collision:.1e}"),
        }),
        recipient: None,
        declared: Declared::default(),
    })
}

/// What a cost is to an account one unit of which is at most `unit_of` of those that the release protects.
///
/// **Guarantee.** `k` units at once cost `kε` and `k²ρ`. **Proof.** Go from one dataset to the other by one unit at a time: ε adds up
/// along the way, and Rényi divergences obey the triangle inequality that makes it `k²`. **Source.** Bun & Steinke 2016, Proposition 27.
pub fn charged(cost: Amount, unit_of: u32) -> Option<Amount> {
    let k = u128::from(unit_of);
    let times = match cost.currency {
        Currency::Epsilon => k,
        Currency::Rho => k * k,
    };
    Some(Amount { amount: cost.amount.checked_mul(Rational::whole(times))?, ..cost })
}

/// What is measured of numbers.
fn sums(cube: &Cube, plan: &Plan, cost: &Cost) -> Result<Vec<SumSummary>, ClaimError> {
    let mut out = Vec::new();
    for channel in &plan.channels {
        let Some(of) = channel.subject.quantity().filter(|_| !channel.subject.is_of_an_end()) else {
            continue;
        };
        let each = cost.each.get(plan.numbers(&channel.subject)).unwrap_or_default();
        out.push(SumSummary {
            subject: channel.subject.name().into(),
            of: Quantity::clone(of),
            workload: channel.workload.iter().take(LISTED_MEASUREMENTS).map(|t| t.describe(cube)).collect(),
            count: channel.measurements.len() as u64,
            cost: cost::sum_up(each).ok_or(CostError::Overflow(0))?,
            clamping: match &channel.subject {
                Subject::Sum(of) => {
                    cost.of_ends(plan, of).map(|(scale, cost)| ClampingSummary { scale, cost })
                }
                _ => None,
            },
        });
    }
    Ok(out)
}

/// Whose copy a plan is of, and what all copies cost together.
fn recipient(plan: &Plan, frame: &Frame) -> Result<Option<RecipientSummary>, CostError> {
    let Some(copy) = &plan.copy else { return Ok(None) };
    let currency = Currency::of_tables(plan.noise);
    let (symbol, copies) = (currency.symbol(), copy.recipients.len());
    let note = match copy.mode {
        Mode::Nested => format!(
            "One of {copies} copies of one measuring. Every less precise copy is made from a more precise one by adding independent noise, \
             so all of them together tell, and cost, what the most precise one does: {symbol} <= {}.",
            copy.budget
        ),
        Mode::Shifted { .. } => format!(
            "One of {copies} copies, each measured by itself, with noise around a secret centre. A centre does not protect against \
             recipients who put their copies together: one known count, one public mean or the difference of two counts removes \
             it. Together the copies cost the sum of what each costs alone."
        ),
    };
    // Sums have no centre.
    let what = if plan.summed().next().is_some() { "counts" } else { "integers" };
    let centre = plan.centres().map(|centres| {
        format!("one whole number for all {what} of this copy, uniform on {centres}; intervals allow for it")
    });
    Ok(Some(RecipientSummary {
        name: copy.recipient().into(),
        mode: copy.mode.name().into(),
        copies: copies as u64,
        measuring: copy.measuring.iter().map(|b| format!("{b:02x}")).collect(),
        joint_cost: Amount { currency, amount: cost::joint_cost(plan, frame)? },
        centre,
        note,
    }))
}

/// How exact tables are declared, of counts and then of sums, which are exact for the same reasons.
pub fn declared(cube: &Cube, plan: &Plan, reasons: &[String]) -> Vec<String> {
    let counts = plan.exact.iter().zip(reasons);
    let counts = counts.map(|(e, reason)| invariant(&cube.describe(e), reason));
    let sums = plan.exact_sums().filter_map(|(quantity, e)| {
        let reason = plan.exact.iter().position(|own| own == e).and_then(|at| reasons.get(at))?;
        Some(invariant(&exact_sums(quantity, &cube.describe(e)), reason))
    });
    counts.chain(sums).collect()
}

/// What exact sums of a table are called.
pub(crate) fn exact_sums(quantity: &Quantity, table: &str) -> String {
    format!("sums of {} by {table}", quantity.name)
}

/// How an exact table is declared.
fn invariant(table: &str, reason: &str) -> String {
    format!("{table}: {reason}")
}

/// The reason in the declaration of an exact table, if it is one of this table.
pub(super) fn reason<'a>(table: &str, declared: &'a str) -> Option<&'a str> {
    let reason = declared.strip_prefix(table)?.strip_prefix(": ")?;
    (!reason.trim().is_empty()).then_some(reason)
}

impl Words {
    /// The words a manifest itself has, for a plan whose exact tables it declares.
    pub fn of(manifest: &Manifest, cube: &Cube, plan: &Plan) -> Words {
        let reasons = plan.exact.iter().zip(&manifest.declared.invariants);
        Words {
            about: manifest.about.clone(),
            dataset: manifest.dataset.clone(),
            account: manifest.account.as_ref().map(|a| a.name.clone()),
            unit: manifest.privacy.unit.clone(),
            order: manifest.privacy.order.clone(),
            without: manifest.privacy.without,
            delta: manifest.privacy.approximate.as_ref().and_then(|a| a.delta.parse().ok()),
            lossless: manifest.privacy.lossless().is_some(),
            reasons: reasons
                .map(|(table, declared)| reason(&cube.describe(table), declared).unwrap_or_default().into())
                .collect(),
            legends: manifest.legends.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three units of one person cost three times the ε, and nine times the ρ.
    #[test]
    fn units_of_units_cost_more() {
        let of = |currency| {
            let cost = Amount { amount: Rational::new(1, 2).unwrap(), currency };
            charged(cost, 3).unwrap()
        };
        assert_eq!(of(Currency::Epsilon).amount, Rational::new(3, 2).unwrap());
        assert_eq!(of(Currency::Rho).amount, Rational::new(9, 2).unwrap());
        assert_eq!(of(Currency::Rho).currency, Currency::Rho);
    }
}
