//! `margins-lab experiment dimensions`: how the error of all tables of k attributes grows with the number of attributes, beside closed forms.

use super::tables::{Kind, every};
use super::write;
use margins::cli::chart::{Chart, Series, svg};
use margins::cli::output::{columns, figure, wrapped};
use margins::cli::{Outcome, output};
use margins::cube::{Cube, Dimension};
use margins::exact::Rational;
use margins::plan::{BudgetRule, Measure, Noise, Table};
use margins::planner::{self, Request};
use serde_json::{Value, json};
use std::path::PathBuf;

/// How the error grows with the number of dimensions: all tables of K of D binary attributes, D = K … N.
///
/// The error of a table is the length of its vector of errors, root-mean-square over the tables, at ε = 1 (ρ = 1/2 under Gaussian noise);
/// at other budgets it is that over ε (over √2ρ). Beside the plans stand closed forms for equal budgets. Opens no data.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  margins-lab experiment dimensions --of 2 --most 10 --svg out/dimensions.svg"
)]
pub struct Args {
    /// How many attributes each table has
    #[arg(long, value_name = "K", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=4))]
    of: u32,
    /// Up to so many attributes
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(2..=16))]
    most: u32,
    /// Laplace noise for pure ε-DP, or Gaussian noise
    #[arg(long, value_enum, default_value_t = Kind::Laplace)]
    noise: Kind,
    /// Draw it
    #[arg(long, value_name = "FILE", value_parser = margins::cli::output::picture())]
    svg: Option<PathBuf>,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

const STRATEGIES: [Measure; 5] =
    [Measure::Base, Measure::Queries, Measure::Fourier, Measure::Cluster, Measure::Tables];

/// A number of attributes.
struct Line {
    attributes: u32,
    tables: usize,
    /// By formula, with equal budgets: base counts, the tables themselves, Fourier coefficients.
    formulas: [f64; 3],
    /// Of each strategy's plan, with optimal budgets; `None` where it makes none.
    plans: Vec<Option<f64>>,
}

pub fn run(args: &Args) -> Outcome {
    let lines: Vec<Line> = (args.of..=args.most).map(|d| line(args, d)).collect();
    if let Some(file) = &args.svg {
        write(file, &svg(&chart(args, &lines)))?;
    }
    if args.json { output::json(&to_json(args, &lines)) } else { output::print(&to_text(args, &lines)) }
}

/// `k` of `d`.
fn choose(d: u32, k: u32) -> f64 {
    (0..k).map(|i| f64::from(d - i) / f64::from(i + 1)).product()
}

/// With L tables and m' = Σ_{j≤k} C(d, j) Fourier coefficients behind them, at budget 1: every cell of the base has variance v, and a table adds up
/// to all of them; the tables share the budget, and least squares leaves m' of their L·2^k degrees of freedom; each coefficient
/// is 2^{-k/2} of a table's length.
fn formulas(d: u32, k: u32, noise: Noise) -> [f64; 3] {
    let (tables, behind) = (choose(d, k), (0..=k).map(|j| choose(d, j)).sum::<f64>());
    let base = f64::from(d).exp2();
    match noise {
        Noise::Laplace => [2.0 * base, 2.0 * tables * behind, 2.0 * behind * behind],
        Noise::Gaussian => [base, behind, behind],
    }
    .map(f64::sqrt)
}

fn line(args: &Args, attributes: u32) -> Line {
    let binary = |i| Dimension::plain(&format!("a{i}"), vec!["0".into(), "1".into()]);
    let cube = Cube { dimensions: (0..attributes).map(binary).collect() };
    let tables = every(&cube, args.of as usize);
    let workload: Vec<Table> = tables.iter().map(|c| Table::new(c.clone(), Rational::ONE)).collect();
    let noise = args.noise.noise();
    // ε = 1, or ρ = 1/2: a half, or the whole, of a budget in the noise's own terms.
    let budget = if noise.is_pure() { Some(Rational::ONE) } else { Rational::new(1, 2) };
    let plan = |measure: Measure| {
        let own = Request::new(cube.clone(), workload.clone(), noise, budget.unwrap_or(Rational::ONE));
        let request = Request { measure: Some(measure), budgets: BudgetRule::Optimal, ..own };
        let planned = planner::plan(&request).ok()?;
        Some((planned.prediction.total / workload.len() as f64).sqrt())
    };
    Line {
        attributes,
        tables: workload.len(),
        formulas: formulas(attributes, args.of, noise),
        plans: STRATEGIES.into_iter().map(plan).collect(),
    }
}

fn chart(args: &Args, lines: &[Line]) -> Chart {
    let series = |colour: usize, measure: &Measure| Series {
        name: measure.name().into(),
        points: lines.iter().filter_map(|l| Some((f64::from(l.attributes), l.plans[colour]?))).collect(),
        dashed: false,
        colour,
    };
    Chart {
        title: format!("All tables of {} binary attributes", args.of),
        subtitle: format!("{} noise, optimal budgets", args.noise.noise().name()),
        x_label: "attributes".into(),
        y_label: "error of a table".into(),
        series: STRATEGIES.iter().enumerate().map(|(i, m)| series(i, m)).collect(),
        mark: None,
    }
}

fn to_text(args: &Args, lines: &[Line]) -> String {
    let at = if args.noise.noise().is_pure() { "ε = 1" } else { "ρ = 1/2" };
    let mut out = format!(
        "all tables of {} of D binary attributes: error of a table, root-mean-square,\n{} noise at {at}\n\n",
        args.of,
        args.noise.noise().name()
    );
    let mut head = vec!["D", "tables", "base*", "queries*", "fourier*"];
    head.extend(STRATEGIES.map(Measure::name));
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|l| {
            let mut row = vec![l.attributes.to_string(), l.tables.to_string()];
            row.extend(l.formulas.map(figure));
            row.extend(l.plans.iter().map(|p| p.map_or("–".into(), figure)));
            row
        })
        .collect();
    out.push_str(&columns(&head, &rows));
    let note = match args.noise.noise() {
        Noise::Laplace => {
            "* by formula, with equal budgets: √(2·2^D), √(2 L m′) and √2 m′, with L tables and m′ the coefficients behind them. The other columns \
             are of plans with optimal budgets."
        }
        Noise::Gaussian => {
            "* by formula, with equal budgets: √(2^D), √m′ and √m′, m′ being the coefficients behind the tables. The other columns are of plans with \
             optimal budgets; those of `fourier` are the least that any Gaussian mechanism has."
        }
    };
    out.push_str(&format!("\n{}\n", wrapped(note, 0)));
    out
}

fn to_json(args: &Args, lines: &[Line]) -> String {
    let one = |l: &Line| -> Value {
        let plans = STRATEGIES.iter().zip(&l.plans).map(|(m, p)| (m.name().to_owned(), json!(p)));
        json!({
            "attributes": l.attributes, "tables": l.tables,
            "formulas": {"base": l.formulas[0], "queries": l.formulas[1], "fourier": l.formulas[2]},
            "plans": plans.collect::<serde_json::Map<_, _>>(),
        })
    };
    let lines: Vec<Value> = lines.iter().map(one).collect();
    format!("{:#}\n", json!({"of": args.of, "noise": args.noise.noise(), "lines": lines}))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the formulas say is what the planner predicts with equal budgets.
    #[test]
    fn formulas_are_what_plans_predict() {
        for noise in [Noise::Laplace, Noise::Gaussian] {
            for (d, k) in [(3, 1), (4, 2), (5, 3)] {
                let binary = |i| Dimension::plain(&format!("a{i}"), vec!["0".into(), "1".into()]);
                let cube = Cube { dimensions: (0..d).map(binary).collect() };
                let tables = every(&cube, k as usize);
                let workload: Vec<Table> =
                    tables.iter().map(|c| Table::new(c.clone(), Rational::ONE)).collect();
                let budget =
                    if noise == Noise::Laplace { Rational::ONE } else { Rational::new(1, 2).unwrap() };
                let found = [Measure::Base, Measure::Queries, Measure::Fourier].map(|measure| {
                    let own = Request::new(cube.clone(), workload.clone(), noise, budget);
                    let request = Request { measure: Some(measure), budgets: BudgetRule::Uniform, ..own };
                    (planner::plan(&request).unwrap().prediction.total / workload.len() as f64).sqrt()
                });
                for (formula, found) in formulas(d, k, noise).into_iter().zip(found) {
                    // A discrete Laplace law is narrower than the continuous one of the formulas: by 4 % at b = 1, by less beyond.
                    assert!((found / formula - 1.0).abs() < 0.045, "{noise:?} {d} {k}: {found} {formula}");
                }
            }
        }
    }
}
