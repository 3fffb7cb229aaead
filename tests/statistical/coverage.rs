//! Intervals cover as often as they say, and estimates vary as much as predicted, over thousands of releases.
//!
//! **Power.** With `N` releases the empirical variance is off by `√((κ−1)/N)` of itself (κ the kurtosis of the
//! error) and the coverage by `√(p(1−p)/N)`. Both must agree within 4.5 of these. The same comparisons reject
//! a law whose variance is 20 % smaller or larger, and in quick builds, where a fifteenth of the releases are made, 75 %: that is checked for
//! every figure, on the same releases.

use crate::dense::cube_of_plan;
use crate::small::{equal_cube, mixed_workload, plain_cube, planned, release, request, rows, unequal_cube};
use margins::answer::Evaluator;
use margins::cube::{Cube, Filter, Level};
use margins::law::{ErrorLaw, NoiseLaw};
use margins::numeric::tries::tries;
use margins::plan::{Asks, Block, BudgetRule, Measure, Measurement, Noise, Plan, Ranges};
use margins::recover::Recovery;
use margins::sql::Query;
use std::sync::Arc;

/// How far chance may take a figure, in standard errors.
const LIMIT: f64 = 4.5;
const LEVEL: f64 = 0.95;

/// One number that every release estimates.
struct Figure {
    name: String,
    truth: f64,
    law: Arc<ErrorLaw>,
    half: f64,
    /// The half-width of a law with so much less variance ([`WRONG`]).
    short: f64,
    covered: f64,
    short_covered: f64,
    sum: f64,
    squares: f64,
}

/// `Σ weight` over the rows of each group, counted directly.
fn truths(cube: &Cube, columns: &[Vec<u32>], filter: &Filter, by: &[Level]) -> Vec<f64> {
    let sizes: Vec<usize> = by.iter().map(|level| level.of(cube).len()).collect();
    let mut out = vec![0.0; sizes.iter().product()];
    for row in 0..columns[0].len() {
        let cell: Vec<usize> = columns.iter().map(|c| c[row] as usize).collect();
        let group = by.iter().zip(&sizes).fold(0, |at, (&Level { dimension: d, level: l }, size)| {
            let dimension = &cube.dimensions[d];
            at * size + dimension.ancestors(dimension.finest(), l)[cell[d]] as usize
        });
        out[group] += filter.weight_at(&cell).unwrap();
    }
    out
}

/// The kurtosis of `Σ a_k N_k`: cumulants add up.
fn kurtosis(law: &ErrorLaw) -> f64 {
    let fourth: f64 = law
        .terms()
        .iter()
        .map(|t| {
            let excess = match t.noise {
                NoiseLaw::DiscreteLaplace { scale } => 12.0 * scale.powi(4),
                _ => 0.0,
            };
            t.copies as f64 * t.coefficient.powi(4) * excess
        })
        .sum();
    3.0 + fourth / law.variance().powi(2)
}

/// `P(|E| <= w)`, a hair wider so that a lattice point at `w` is inside.
fn within(law: &ErrorLaw, w: f64) -> f64 {
    1.0 - 2.0 * law.sf(w * (1.0 + 1e-9))
}

/// By how much a variance is wrong that must be found out.
const WRONG: f64 = tries(75, 20) as f64 / 100.0;

fn check(cube: &Cube, noise: Noise, budget: &str, measure: Measure, rule: BudgetRule, questions: &[&str]) {
    let plan = planned(request(cube, mixed_workload(cube), noise, budget), measure, rule).plan;
    check_plan(cube, plan, questions);
}

fn check_plan(cube: &Cube, plan: Plan, questions: &[&str]) {
    let (noise, measure) = (plan.noise, plan.measure);
    let n = tries(400, 6000) as u32 * if noise == Noise::Gaussian { 1 } else { 2 };
    // The levels that the plan speaks of; rows are finest nodes, which are the same.
    let cube = &cube_of_plan(cube, &plan);
    let columns = rows(cube, 60);
    let queries: Vec<Query> = questions.iter().map(|q| Query::parse(q, cube).unwrap()).collect();
    let mut figures: Vec<Figure> = Vec::new();
    for seed in 0..u64::from(n) {
        let values = release(cube, &plan, &columns, seed);
        let evaluator = Evaluator::new(Recovery::new(cube.clone(), plan.clone(), values).unwrap());
        let mut at = 0;
        for (query, text) in queries.iter().zip(questions) {
            if seed == 0 {
                let groups = evaluator.aggregate(&query.filter, &query.group_by).unwrap();
                let truths = truths(cube, &columns, &query.filter, &query.group_by);
                for (group, truth) in groups.iter().zip(truths) {
                    let law = group.law.clone();
                    let half = law.half_width(LEVEL);
                    figures.push(Figure {
                        name: format!("{} {noise:?}: {text} {:?}", measure.name(), group.nodes),
                        truth,
                        half,
                        short: half * (1.0 - WRONG).sqrt(),
                        law,
                        covered: 0.0,
                        short_covered: 0.0,
                        sum: 0.0,
                        squares: 0.0,
                    });
                }
            }
            for group in evaluator.aggregate(&query.filter, &query.group_by).unwrap() {
                let f = &mut figures[at];
                let error = group.estimate - f.truth;
                f.sum += error;
                f.squares += error * error;
                f.covered += f64::from(u8::from(error.abs() <= f.half * (1.0 + 1e-9)));
                f.short_covered += f64::from(u8::from(error.abs() <= f.short));
                at += 1;
            }
        }
    }
    let n = f64::from(n);
    for f in &figures {
        let variance = f.law.variance();
        let bias = f.sum / n / (variance / n).sqrt();
        assert!(bias.abs() < LIMIT, "{}: biased by {bias} standard errors", f.name);
        let off = |claimed: f64| (f.squares / n / claimed - 1.0) / ((kurtosis(&f.law) - 1.0) / n).sqrt();
        assert!(off(variance).abs() < LIMIT, "{}: variance off by {} standard errors", f.name, off(variance));
        assert!(
            off(variance * (1.0 - WRONG)).abs() > LIMIT,
            "{}: a variance that much smaller passes",
            f.name
        );
        assert!(
            off(variance * (1.0 + WRONG)).abs() > LIMIT,
            "{}: a variance that much larger passes",
            f.name
        );
        // On a lattice an interval may cover more than it must; its exact probability is known.
        let stated = within(&f.law, f.half);
        assert!((LEVEL - 1e-9..LEVEL + 0.02).contains(&stated), "{}: covers {stated}", f.name);
        let spread = (stated * (1.0 - stated) / n).sqrt();
        let off = |covered: f64| (covered / n - stated) / spread;
        assert!(off(f.covered).abs() < LIMIT, "{}: covered {} of {n}", f.name, f.covered);
        assert!(off(f.short_covered) < -LIMIT, "{}: intervals of a variance that much smaller pass", f.name);
    }
}

const PLAIN: &[&str] = &[
    "SELECT COUNT(*) FROM t",
    "SELECT b, COUNT(*) FROM t GROUP BY b",
    "SELECT a, b, COUNT(*) FROM t WHERE a = '1' AND b <> '0' GROUP BY a, b",
    "SELECT COUNT(*) FROM t WHERE b = '0' OR a = '1'",
];
const LEVELS: &[&str] = &[
    "SELECT COUNT(*) FROM t",
    "SELECT a.group, COUNT(*) FROM t GROUP BY a.group",
    "SELECT COUNT(*) FROM t WHERE a IN ('0', '3') AND b = '1'",
    "SELECT COUNT(*) FROM t WHERE a.group = 'g0' OR b = '0'",
];

/// Groups a filter empties have no error to test.
fn not_empty<'a>(questions: &[&'a str]) -> Vec<&'a str> {
    questions.iter().copied().filter(|q| !q.contains("GROUP BY a, b")).collect()
}

#[test]
fn residual_covers() {
    check(&plain_cube(), Noise::Gaussian, "1/60", Measure::Residual, BudgetRule::Optimal, &not_empty(PLAIN));
    check(&equal_cube(), Noise::Gaussian, "1/60", Measure::Residual, BudgetRule::Uniform, LEVELS);
    check(&unequal_cube(), Noise::Gaussian, "1/60", Measure::Residual, BudgetRule::Optimal, LEVELS);
}

/// A tree of uneven groups whose nodes have weights, beside a plain dimension.
#[test]
fn weights_of_nodes_cover() {
    let mut cube = unequal_cube();
    let mut middle = cube.dimensions[0].levels[2].clone();
    middle.name = "middle".into();
    cube.dimensions[0].levels.insert(2, middle);
    let finest = &mut cube.dimensions[0].levels[3];
    finest.parent = vec![0, 1, 1, 1, 1, 2, 3, 3, 4, 5, 5, 5, 5, 5];
    finest.labels = (0..finest.parent.len()).map(|b| format!("b{b}")).collect();
    let plan = planned(
        request(&cube, mixed_workload(&cube), Noise::Gaussian, "1/60"),
        Measure::Residual,
        BudgetRule::Optimal,
    )
    .plan;
    let weighted =
        |m: &Measurement| matches!(&m.block, Block::Based(b) if b.axes.iter().any(|t| t.weights().is_some()));
    assert!(plan.rows().measurements.iter().any(weighted));
    let questions = [
        "SELECT COUNT(*) FROM t",
        "SELECT a.group, COUNT(*) FROM t GROUP BY a.group",
        "SELECT COUNT(*) FROM t WHERE a IN ('b0', 'b3', 'b12') AND b = '1'",
        "SELECT a, COUNT(*) FROM t WHERE b = '0' GROUP BY a",
        "SELECT COUNT(*) FROM t WHERE a.group = 'g0' OR b = '0'",
    ];
    check_plan(&cube, plan, &questions);
}

#[test]
fn queries_cover_under_gaussian_noise() {
    check(&plain_cube(), Noise::Gaussian, "1/60", Measure::Queries, BudgetRule::Optimal, &not_empty(PLAIN));
    check(&unequal_cube(), Noise::Gaussian, "1/60", Measure::Queries, BudgetRule::Uniform, LEVELS);
}

#[test]
fn queries_cover_under_laplace_noise() {
    check(&plain_cube(), Noise::Laplace, "1/5", Measure::Queries, BudgetRule::Optimal, &not_empty(PLAIN));
    check(&unequal_cube(), Noise::Laplace, "1/5", Measure::Queries, BudgetRule::Optimal, LEVELS);
}

#[test]
fn differences_cover() {
    check(&plain_cube(), Noise::Gaussian, "1/60", Measure::Wavelet, BudgetRule::Optimal, &not_empty(PLAIN));
    check(&unequal_cube(), Noise::Laplace, "1/5", Measure::Wavelet, BudgetRule::Uniform, LEVELS);
}

#[test]
fn coefficients_cover() {
    check(&plain_cube(), Noise::Gaussian, "1/60", Measure::Fourier, BudgetRule::Uniform, &not_empty(PLAIN));
    check(&plain_cube(), Noise::Laplace, "1/5", Measure::Fourier, BudgetRule::Optimal, &not_empty(PLAIN));
}

#[test]
fn searched_tables_cover() {
    check(&plain_cube(), Noise::Laplace, "1/5", Measure::Cluster, BudgetRule::Optimal, &not_empty(PLAIN));
    check(&unequal_cube(), Noise::Laplace, "1/5", Measure::Hierarchy, BudgetRule::Optimal, LEVELS);
    check(&equal_cube(), Noise::Laplace, "1/5", Measure::Tables, BudgetRule::Uniform, LEVELS);
}

#[test]
fn base_covers() {
    check(&equal_cube(), Noise::Gaussian, "1/60", Measure::Base, BudgetRule::Optimal, LEVELS);
    check(&unequal_cube(), Noise::Laplace, "1/5", Measure::Base, BudgetRule::Optimal, LEVELS);
}

/// Ranges and cells of a plan for ranges, with levels and a dimension of cells beside them.
#[test]
fn ranges_of_bases() {
    let cube = unequal_cube();
    let mut workload = mixed_workload(&cube);
    for table in &mut workload {
        if table.cuboid.level(0) > 0 {
            table.asks = Asks::product(vec![(0, Ranges::All)]);
        }
    }
    let plan =
        planned(request(&cube, workload, Noise::Gaussian, "1/10"), Measure::Bases, BudgetRule::Optimal).plan;
    let questions = [
        "SELECT COUNT(*) FROM t WHERE a IN ('1', '2', '3')",
        "SELECT b, COUNT(*) FROM t WHERE a IN ('2', '3', '4', '5') GROUP BY b",
        "SELECT a, COUNT(*) FROM t GROUP BY a",
        "SELECT a.group, COUNT(*) FROM t GROUP BY a.group",
        "SELECT COUNT(*) FROM t WHERE a = '0' OR b = '1'",
    ];
    check_plan(&cube, plan, &questions);
}
