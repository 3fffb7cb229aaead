//! Cells that weigh each by itself, against dense algebra: the value of every plan by the covariance of all cells, bounds by a dual of its own, and what it gains on
//! weights of whole tables.

use crate::bases::Dice;
use crate::dense::{
    blue_covariance, cube_of_plan, grouped, measured, noise_variance, plain, table_matrix, unit,
};
use crate::plans::request;
use margins::cube::{Cube, Cuboid};
use margins::exact::Rational;
use margins::numeric::tries::tries;
use margins::plan::{BudgetRule, Measure, Noise, Table};
use margins::planner::{Planned, Request, plan};
use nalgebra::{DMatrix, DVector};

/// One or two dimensions of unequal groups, or none, and tables at any levels of them.
fn skewed(dice: &mut Dice, noise: Noise, budget: &str) -> Request {
    let mut dimensions = vec![plain("a", 2 + dice.below(2))];
    for name in ["b", "c"].iter().take(dice.below(3)) {
        dimensions.push(grouped(name, &[1 + dice.below(2), 2, 1 + dice.below(3)]));
    }
    let cube = Cube { dimensions };
    let mut workload: Vec<Table> = Vec::new();
    while workload.len() < 2 {
        let levels: Vec<usize> = cube.dimensions.iter().map(|d| dice.below(d.levels.len())).collect();
        let weight = Rational::new(1 + dice.below(5) as u128, 2).unwrap();
        let table = Table::new(Cuboid::new(levels.into_iter().enumerate().collect::<Vec<_>>()), weight);
        if !workload.iter().any(|t| t.cuboid == table.cuboid) {
            workload.push(table);
        }
    }
    let mut r = request(cube, workload, noise, budget);
    let by_cell = r.workload.iter().map(|t| {
        let n = table_matrix(&r.cube, &t.cuboid).nrows();
        // From one to some hundreds, as 1/expected.
        let counts: Vec<f64> = (0..n).map(|_| (0.02 * dice.below(300) as f64).exp()).collect();
        let mean = counts.iter().map(|c| 1.0 / c).sum::<f64>() / n as f64;
        counts.iter().map(|c| 1.0 / (c * mean)).collect()
    });
    r.by_cell = by_cell.collect();
    r
}

/// What the request makes small, by the covariance of all cells of a plan.
fn value(r: &Request, p: &Planned) -> f64 {
    let cube = cube_of_plan(&r.cube, &p.plan);
    let blocks: Vec<_> = (p.plan.rows().measurements.iter().enumerate())
        .map(|(i, m)| {
            let noise = noise_variance(p.plan.noise, m.scale.to_f64());
            measured(&cube, &p.plan, i, noise, unit(&cube, &p.plan, &m.block))
        })
        .collect();
    let one = |((asked, own), cells): ((&Table, &Table), &std::sync::Arc<[f64]>)| {
        // Over halves a table is another level of the same categories.
        let all = blue_covariance(&blocks, &table_matrix(&cube, &own.cuboid));
        asked.weight.to_f64() * all.diagonal().iter().zip(cells.iter()).map(|(v, w)| v * w).sum::<f64>()
    };
    r.workload.iter().zip(&p.plan.rows().workload).zip(&r.by_cell).map(one).sum()
}

/// Every strategy's value is that of dense algebra, whatever it measures and over whatever groups.
#[test]
fn values_are_those_of_dense_algebra() {
    let mut dice = Dice(5);
    let mut made = 0;
    for round in 0..tries(8, 60) {
        let (noise, budget) = [(Noise::Gaussian, "1/50"), (Noise::Laplace, "1/4")][round % 2];
        let mut r = skewed(&mut dice, noise, budget);
        if round % 3 == 2 {
            r.budgets = BudgetRule::Uniform;
        }
        for measure in Measure::ALL {
            let Ok(p) = plan(&Request { measure: Some(*measure), ..r.clone() }) else { continue };
            let (found, want) = (p.prediction.weighted_total, value(&r, &p));
            assert!((found / want - 1.0).abs() < 1e-5, "round {round} {measure:?}: {found} {want}");
            made += 1;
        }
    }
    assert!(made > 25, "{made}");
}

/// `(tr (Λ^½GΛ^½)^½)²/2ρ` for weights of cells that rounds of `λ ← λ X` find: no Gaussian mechanism is below.
fn least(r: &Request) -> f64 {
    let cells = table_matrix(
        &r.cube,
        &Cuboid::new(r.cube.dimensions.iter().map(|d| d.finest()).enumerate().collect::<Vec<_>>()),
    )
    .nrows();
    let mut g = DMatrix::zeros(cells, cells);
    for (t, own) in r.workload.iter().zip(&r.by_cell) {
        let m = table_matrix(&r.cube, &t.cuboid);
        let weights = DMatrix::from_diagonal(&DVector::from_iterator(own.len(), own.iter().copied()));
        g += m.transpose() * weights * m * t.weight.to_f64();
    }
    let mut lambda = vec![1.0 / cells as f64; cells];
    let mut best = 0.0f64;
    for _ in 0..300 {
        let root = DMatrix::from_diagonal(&DVector::from_iterator(cells, lambda.iter().map(|l| l.sqrt())));
        let found = (&root * &g * &root).symmetric_eigen();
        let roots = found.eigenvalues.map(|v| v.max(0.0).sqrt());
        let tau = roots.sum();
        best = best.max(tau * tau);
        let x = &found.eigenvectors * DMatrix::from_diagonal(&roots) * found.eigenvectors.transpose();
        lambda.iter_mut().enumerate().for_each(|(j, l)| *l = x[(j, j)].max(1e-14) / tau);
        let sum: f64 = lambda.iter().sum();
        lambda.iter_mut().for_each(|l| *l /= sum);
    }
    best / (2.0 * r.budget.to_f64())
}

/// Of Gaussian noise: no bound is above the least of every mechanism, the plan chosen is near it, and it is better than one that weighs whole tables.
#[test]
fn nearly_the_least_of_every_mechanism() {
    let mut dice = Dice(8);
    let (mut ratios, mut gains) = (Vec::new(), Vec::new());
    for round in 0..tries(3, 40) {
        let r = skewed(&mut dice, Noise::Gaussian, "1/50");
        let least = least(&r);
        let p = plan(&r).unwrap();
        let own = value(&r, &p);
        // Rounding of scales and discrete noise.
        assert!(own > least * (1.0 - 1e-4), "round {round}: {own} {least}");
        ratios.push(own / least);
        for measure in [Measure::Together, Measure::Residual] {
            let p = plan(&Request { measure: Some(measure), ..r.clone() }).unwrap();
            let own = value(&r, &p);
            let Some(proof) = p.certificate else { continue };
            assert!(
                (proof.value / own - 1.0).abs() < 2e-3,
                "round {round} {measure:?}: {} {own}",
                proof.value
            );
            assert!(proof.bound <= own * (1.0 + 1e-6));
            let gaussian = proof.wider.iter().flatten().filter(|w| w.0 == "every Gaussian mechanism");
            for bound in gaussian.map(|w| w.1).chain((measure == Measure::Together).then_some(proof.bound)) {
                assert!(bound <= least * (1.0 + 1e-3), "round {round} {measure:?}: {bound} {least}");
            }
        }
        // The same tables, each weighed as a whole.
        let whole = plan(&Request { by_cell: Vec::new(), ..r.clone() }).unwrap();
        let whole = value(&r, &whole);
        assert!(own <= whole * (1.0 + 6e-3), "round {round}: {own} {whole}");
        gains.push(own / whole);
    }
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    println!(
        "over the least: mean {:.4}, worst {worst:.4}; over weights of whole tables: mean {:.3}",
        mean(&ratios),
        mean(&gains)
    );
    assert!(worst < 1.02 && mean(&gains) < 1.0);
}
