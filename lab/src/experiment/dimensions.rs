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
/// at other budgets it is that over ε (over √2ρ). Beside the plans stand closed forms for equal budgets; below them what optimal budgets
/// give the coefficients, and a bound that no measurement of its kind passes. Opens no data.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  margins-lab experiment dimensions --of 2 --most 10 --svg out/dimensions.svg"
)]
pub(super) struct Args {
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
    /// By formula, of Fourier coefficients with optimal budgets.
    optimal: f64,
    /// The least there can be.
    least: f64,
    /// Of each strategy's plan, with optimal budgets; `None` where it makes none.
    plans: Vec<Option<f64>>,
}

pub(super) fn run(args: &Args) -> Outcome {
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

/// The coefficients of weight j number N_j = C(d, j), and each is in c_j = C(d − j, k − j) tables, of whose squared length it gives 2^{-k}.
/// Under Laplace noise of the scales b_j they cost Σ N_j/b_j and have the total 2^{1−k} Σ N_j c_j b_j², least where b_j ∝ c_j^{-1/3}:
/// 2^{1−k} (Σ N_j c_j^{1/3})³. Under Gaussian noise they cost Σ N_j/s_j², and the least total at ρ = 1/2 is 2^{-k} (Σ N_j √c_j)².
fn optimal(d: u32, k: u32, noise: Noise) -> f64 {
    let sum =
        |root: f64| -> f64 { (0..=k).map(|j| choose(d, j) * libm::pow(choose(d - j, k - j), root)).sum() };
    let (part, tables) = (f64::from(k).exp2(), choose(d, k));
    match noise {
        Noise::Laplace => 2.0 * sum(1.0 / 3.0).powi(3) / part / tables,
        Noise::Gaussian => sum(0.5).powi(2) / part / tables,
    }
    .sqrt()
}

/// A bound on every way to measure linear queries with independent noise and to recover the tables from them without bias.
///
/// Let row i have the factors a_i and noise of the variance v_i, X = Σ a_i a_iᵀ/v_i, and G the Gram matrix of all cells of all tables. The total
/// variance is at least tr(G X⁻¹) (Gauss and Markov), by Cauchy and Schwarz at least (tr √G)²/tr X, and tr X is at most the number of
/// cells of the domain times the largest X_jj. Under Gaussian noise X_jj ≤ 2ρ. Under Laplace noise of the scales b_i a unit costs Σ |a_ij|/b_i ≤ ε, so
/// X_jj = Σ a_ij²/2b_i² ≤ ε²/2: the least is √2 times that of Gaussian noise at ρ = 1/2, with ε for √2ρ. Whole factors have
/// b_i ≥ 1/ε, and a discrete Laplace law of such a scale has at least ((ε/2)/sinh(ε/2))² of the variance 2b².
/// (A discrete Gaussian's variance falls short of its parameter only where that is below one: [`least`] is of the continuous law there.)
fn least(d: u32, k: u32, noise: Noise) -> f64 {
    let gaussian = optimal(d, k, Noise::Gaussian);
    match noise {
        Noise::Laplace => std::f64::consts::SQRT_2 * gaussian * 0.5 / libm::sinh(0.5),
        Noise::Gaussian => gaussian,
    }
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
        optimal: optimal(attributes, args.of, noise),
        least: least(attributes, args.of, noise),
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
        even: false,
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
    out.push_str(&format!("\n{}\n\n", wrapped(note, 0)));
    let head = ["D", "tables", "fourier†", "least‡", "best plan", "of", "over the least"];
    let rows: Vec<Vec<String>> = lines
        .iter()
        .filter_map(|l| {
            let (measure, best) = best(l)?;
            let name = measure.name().to_string();
            let [d, tables] = [l.attributes.to_string(), l.tables.to_string()];
            Some(vec![
                d,
                tables,
                figure(l.optimal),
                figure(l.least),
                figure(best),
                name,
                format!("{:.2}×", best / l.least),
            ])
        })
        .collect();
    out.push_str(&columns(&head, &rows));
    let note = match args.noise.noise() {
        Noise::Laplace => {
            "† by formula, with optimal budgets: √(2^(1−K) (Σ C(D,j) C(D−j,K−j)^(1/3))³/L). ‡ no linear queries in whole numbers with Laplace noise, \
             however recovered without bias, leave less: √(2^(1−K)/L) · Σ C(D,j) C(D−j,K−j)^(1/2) · (1/2)/sinh(1/2), of the order √C(D,K)."
        }
        Noise::Gaussian => {
            "† by formula, with optimal budgets: √(2^−K/L) · Σ C(D,j) C(D−j,K−j)^(1/2). ‡ no linear queries with Gaussian noise, however recovered \
             without bias, leave less: the same formula, of the order √C(D,K)."
        }
    };
    out.push_str(&format!("\n{}\n", wrapped(note, 0)));
    out
}

/// The strategy with the least error.
fn best(l: &Line) -> Option<(Measure, f64)> {
    let each = STRATEGIES.into_iter().zip(&l.plans).filter_map(|(m, p)| Some((m, (*p)?)));
    each.min_by(|a, b| a.1.total_cmp(&b.1))
}

fn to_json(args: &Args, lines: &[Line]) -> String {
    let one = |l: &Line| -> Value {
        let plans = STRATEGIES.iter().zip(&l.plans).map(|(m, p)| (m.name().to_owned(), json!(p)));
        json!({
            "attributes": l.attributes, "tables": l.tables,
            "formulas": {"base": l.formulas[0], "queries": l.formulas[1], "fourier": l.formulas[2]},
            "fourier_optimal": l.optimal, "least": l.least,
            "plans": plans.collect::<serde_json::Map<_, _>>(),
        })
    };
    let lines: Vec<Value> = lines.iter().map(one).collect();
    format!("{:#}\n", json!({"of": args.of, "noise": args.noise.noise(), "lines": lines}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(d: u32) -> Cube {
        let plain = |i| Dimension::plain(&format!("a{i}"), vec!["0".into(), "1".into()]);
        Cube { dimensions: (0..d).map(plain).collect() }
    }

    /// The closed form for optimal budgets is what the planner finds, where noise is large.
    #[test]
    fn coefficients_have_their_optimal_budgets() {
        for (noise, scale) in [(Noise::Laplace, 1e-3), (Noise::Gaussian, 1e-3)] {
            for (d, k) in [(4, 1), (6, 2), (6, 3)] {
                let cube = binary(d);
                let tables = every(&cube, k as usize);
                let workload: Vec<Table> =
                    tables.iter().map(|c| Table::new(c.clone(), Rational::ONE)).collect();
                let exact = Rational::new(1, if noise.is_pure() { 1000 } else { 2_000_000 }).unwrap();
                let own = Request::new(cube, workload, noise, exact);
                let request =
                    Request { measure: Some(Measure::Fourier), budgets: BudgetRule::Optimal, ..own };
                let found = (planner::plan(&request).unwrap().prediction.total / tables.len() as f64).sqrt();
                // ε, or √2ρ.
                let formula = optimal(d, k, noise) / scale;
                assert!((found / formula - 1.0).abs() < 1e-4, "{noise:?} {d} {k}: {found} {formula}");
            }
        }
    }

    /// The bound against explicit matrices: no random strategy passes it, and the coefficients under Gaussian noise meet it.
    #[test]
    fn nothing_is_below_the_least() {
        use nalgebra::DMatrix;
        let (d, k) = (4u32, 2u32);
        let cells = 1usize << d;
        let bit = |cell: usize, i: u32| cell >> i & 1;
        let tables: Vec<Vec<u32>> = (0..d).flat_map(|i| (i + 1..d).map(move |j| vec![i, j])).collect();
        let row = |of: &[u32], at: usize| -> Vec<f64> {
            let inside = |cell: usize| of.iter().enumerate().all(|(n, &i)| bit(cell, i) == at >> n & 1);
            (0..cells).map(|cell| f64::from(u8::from(inside(cell)))).collect()
        };
        let asked: Vec<Vec<f64>> = tables.iter().flat_map(|of| (0..1 << k).map(|at| row(of, at))).collect();
        let asked = DMatrix::from_fn(asked.len(), cells, |i, j| asked[i][j]);
        // A table's error, root-mean-square, of rows with these noises scaled to the budget 1.
        let error = |rows: &DMatrix<f64>, scales: &[f64], noise: Noise| {
            let cost = |j: usize| -> f64 {
                let each = rows.column(j).iter().zip(scales).map(|(a, b)| a / b).collect::<Vec<f64>>();
                match noise {
                    Noise::Laplace => each.iter().map(|x| x.abs()).sum(),
                    Noise::Gaussian => each.iter().map(|x| x * x).sum::<f64>().sqrt(),
                }
            };
            let most = (0..cells).map(cost).fold(0.0, f64::max);
            let per = if noise == Noise::Laplace { 2.0 } else { 1.0 };
            let scaled = DMatrix::from_fn(rows.nrows(), cells, |i, j| rows[(i, j)] / (scales[i] * most));
            let inverse = (scaled.transpose() * scaled / per).try_inverse().unwrap();
            ((&asked * inverse * asked.transpose()).trace() / tables.len() as f64).sqrt()
        };
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f64 / 2f64.powi(31)
        };
        for noise in [Noise::Laplace, Noise::Gaussian] {
            let continuous =
                least(d, k, noise) * if noise == Noise::Laplace { libm::sinh(0.5) / 0.5 } else { 1.0 };
            for _ in 0..50 {
                let rows = DMatrix::from_fn(24, cells, |_, _| (next() * 4.0).floor() - 1.0);
                let scales: Vec<f64> = (0..24).map(|_| 0.5 + next()).collect();
                let found = error(&rows, &scales, noise);
                assert!(found >= continuous * (1.0 - 1e-9), "{noise:?} {found} {continuous}");
            }
        }
        // All coefficients; those of more than k attributes with next to no budget.
        let sign =
            |set: usize, cell: usize| if (set & cell).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
        let rows = DMatrix::from_fn(cells, cells, sign);
        let inside = |set: usize| choose(d - set.count_ones(), k - set.count_ones());
        let scale = |set: usize| if set.count_ones() > k { 1e4 } else { inside(set).powf(-0.25) };
        let found = error(&rows, &(0..cells).map(scale).collect::<Vec<_>>(), Noise::Gaussian);
        assert!((found / least(d, k, Noise::Gaussian) - 1.0).abs() < 1e-6, "{found}");
    }

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
