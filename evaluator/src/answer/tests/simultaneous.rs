//! All rows of an answer at once: their joint law against the dense response, and how often all intervals cover.

use super::*;
use crate::answer::tell::AllRows;
use crate::joint::MaxZ;

/// Every pair of aggregates of every pair of rows: the covariance of the joint law is that of the estimates'
/// responses to every single noise.
#[test]
fn rows_share_their_noises() {
    let cube = cube();
    let sqls = [
        BANDS[0],
        BANDS[1],
        OVER,
        SETS[0],
        SETS[1],
        FIGURES,
        "SELECT c.half, a, COUNT(*) AS n, SUM(COUNT(*)) OVER (PARTITION BY a) AS all_of FROM t WHERE c <> 'p' GROUP BY c.half, a",
    ];
    for (noise, measure) in ALL {
        let plan = planned(noise, measure, "1/20");
        let frame = Frame::new(&cube, &plan.levels);
        let recovery = Recovery::new(cube.clone(), plan.clone(), measured(&plan, &TRUTH, |_, _| 0)).unwrap();
        for sql in sqls {
            let query = Query::parse(sql, &cube).unwrap();
            let asked = Question::new(&query).unwrap();
            let rows = placed(&plan, &asked, measured(&plan, &TRUTH, |_, _| 0));
            let nodes: Vec<(usize, &[u32])> = rows.iter().map(|(at, g)| (*at, &g.nodes[..])).collect();
            let portions: Vec<&[_]> = asked.portions.iter().map(|p| &p.aggregates[..]).collect();
            let coarser: Vec<&[Level]> = (0..portions.len()).map(|at| asked.levels(at)).collect();
            let aggregates = asked.aggregates.len();
            let width = rows.len() * aggregates;
            let mut dense = vec![0.0; width * width];
            for m in 0..plan.rows().measurements.len() {
                let law = recovery.noise(m)[0];
                for cell in 0..noises(&frame, &plan.rows().measurements[m].block) {
                    let unit = measured(&plan, &[0; 24], |i, c| i64::from(i == m && c == cell));
                    let response: Vec<f64> =
                        answered(&plan, &asked, unit).into_iter().flat_map(|g| g.estimates).collect();
                    for (i, a) in response.iter().enumerate() {
                        for (j, b) in response.iter().enumerate() {
                            dense[i * width + j] += a * b * law.variance();
                        }
                    }
                }
            }
            let evaluator =
                Evaluator::new(Recovery::new(cube.clone(), plan.clone(), Vec::<Vec<i64>>::new()).unwrap());
            let joint = evaluator
                .joint_rows(&AllRows {
                    portions: &portions,
                    group_by: &query.group_by,
                    coarser: &coarser,
                    rows: &nodes,
                    most: 1 << 20,
                })
                .unwrap()
                .unwrap();
            assert_eq!(joint.width(), width);
            let unit = |i: usize| (0..width).map(|j| f64::from(u8::from(i == j))).collect::<Vec<f64>>();
            for i in 0..width {
                for j in 0..width {
                    let want = dense[i * width + j];
                    let scale = (dense[i * width + i] * dense[j * width + j]).sqrt();
                    let got = joint.covariance(&unit(i), &unit(j));
                    assert!(
                        (got - want).abs() <= 1e-7 * scale,
                        "{noise:?} {measure:?} {i} {j}: {got} {want}"
                    );
                }
            }
            assert!(
                evaluator
                    .joint_rows(&AllRows {
                        portions: &portions,
                        group_by: &query.group_by,
                        coarser: &coarser,
                        rows: &nodes,
                        most: 10
                    })
                    .unwrap()
                    .is_none()
            );
        }
    }
}

/// All intervals of six rows at once, with wide and with little noise: at least as often as is said, and (where the
/// noise is not coarse) not more than the simulation's allowance; intervals a tenth narrower are found out.
#[test]
fn all_intervals_cover_together() {
    cover_together(
        "SELECT a, b, COUNT(*) AS n, COUNT(*) FILTER (WHERE b = 2) - COUNT(*) AS d FROM t GROUP BY a, b",
    );
}

/// The same of bands: they are rows like any others.
#[test]
fn all_intervals_of_bands_cover_together() {
    cover_together(
        "SELECT CASE WHEN a = 'x' AND b = 0 THEN 'p' WHEN b >= 1 THEN 'q' ELSE 'r' END AS band, b, COUNT(*) AS n, \
         SUM(COUNT(*)) OVER (PARTITION BY b) - 3 * COUNT(*) AS d FROM t GROUP BY band, b",
    );
}

/// The same of subtotals, which rest on the noises of their parts.
#[test]
fn all_intervals_of_subtotals_cover_together() {
    cover_together(
        "SELECT a, b, COUNT(*) AS n, SUM(COUNT(*)) OVER (PARTITION BY a ORDER BY b) AS d FROM t GROUP BY a, b",
    );
    cover_together("SELECT a, b, COUNT(*) AS n, SUM(b) AS s FROM t GROUP BY ROLLUP (a, b)");
}

fn cover_together(sql: &str) {
    let cube = cube();
    let query = Query::parse(sql, &cube).unwrap();
    let asked = Question::new(&query).unwrap();
    let level = 0.9;
    for (noise, measure, budget, draws) in [
        (Noise::Gaussian, Measure::Residual, "1/20", 3000u64),
        (Noise::Laplace, Measure::Queries, "1/5", 3000),
        (Noise::Laplace, Measure::Base, "1/5", 3000),
        (Noise::Gaussian, Measure::Queries, "2", 1500),
        (Noise::Laplace, Measure::Queries, "6", 1500),
    ] {
        let plan = planned(noise, measure, budget);
        let response = Response::new(&plan, &asked);
        let rows = &response.rows;
        let placed = placed(&plan, &asked, measured(&plan, &TRUTH, |_, _| 0));
        let nodes: Vec<(usize, &[u32])> = placed.iter().map(|(at, g)| (*at, &g.nodes[..])).collect();
        let portions: Vec<&[_]> = asked.portions.iter().map(|p| &p.aggregates[..]).collect();
        let coarser: Vec<&[Level]> = (0..portions.len()).map(|at| asked.levels(at)).collect();
        let evaluator =
            Evaluator::new(Recovery::new(cube.clone(), plan.clone(), Vec::<Vec<i64>>::new()).unwrap());
        let joint = evaluator
            .joint_rows(&AllRows {
                portions: &portions,
                group_by: &query.group_by,
                coarser: &coarser,
                rows: &nodes,
                most: 1 << 20,
            })
            .unwrap()
            .unwrap();
        let aggregates = asked.aggregates.len();
        let weights: Vec<Vec<f64>> =
            asked.figures.iter().flatten().map(|f| f.weights(aggregates).remove(0)).collect();
        let combine = |row: &[f64]| -> Vec<f64> {
            weights.iter().map(|w| w.iter().zip(row).map(|(w, c)| w * c).sum()).collect()
        };
        let noises: Vec<_> = joint
            .noises()
            .map(|(n, c)| (*n, c.chunks_exact(aggregates).flat_map(combine).collect::<Vec<f64>>()))
            .collect();
        let width = rows.len() * weights.len();
        let z = MaxZ::simulate(width, noises.iter().map(|(n, c)| (n, &c[..])), level).unwrap();
        let sigma: Vec<f64> = (0..width)
            .map(|i| {
                noises
                    .iter()
                    .map(|(n, c)| c[i] * c[i] * n.copies as f64 * n.law.variance())
                    .sum::<f64>()
                    .sqrt()
            })
            .collect();
        let exact: Vec<f64> = rows.iter().flat_map(|g| combine(&g.estimates)).collect();
        let (mut covered, mut narrow) = (0, 0);
        for seed in 0..draws {
            let drawn = response.draw(seed);
            let largest = drawn
                .iter()
                .flat_map(|g| combine(&g.estimates))
                .zip(exact.iter().zip(&sigma))
                .map(|(e, (t, s))| (e - t).abs() / s)
                .fold(0.0, f64::max);
            covered += u64::from(largest <= z.critical);
            narrow += u64::from(largest <= 0.9 * z.critical);
        }
        let share = |n: u64| n as f64 / draws as f64;
        let error = 4.0 * (level * (1.0 - level) / draws as f64).sqrt();
        assert!(share(covered) > level - error, "{noise:?} {measure:?}: {}", share(covered));
        if draws == 3000 {
            let most = z.covered + error;
            assert!(share(covered) < most && share(narrow) < level - error, "{noise:?} {measure:?} {z:?}");
        }
        // Bonferroni's inequality wants more of independent rows; here they share noises as well.
        assert!(z.covered >= level && z.draws >= 4000);
    }
}
