//! What is asked beyond cells: predictions against dense linear algebra, identities, dominance.

use crate::dense::{Measured, blue_covariance, cube_of_plan, measured, noise_variance, table_matrix, unit};
use crate::plans::request;
use crate::strategies::{Dice, random};
use margins::cube::{Cube, Cuboid, Level};
use margins::exact::Rational;
use margins::numeric::tries::tries;
use margins::plan::Objective;
use margins::plan::{Asks, BudgetRule, Measure, Neighbours, Noise, Ranges, Selected, Table};
use margins::planner::{PlanError, Planned, Request, compare, plan};
use nalgebra::DMatrix;
use std::path::Path;

/// Something to ask of so many nodes.
fn asked(dice: &mut Dice, n: usize) -> Ranges {
    match dice.below(5) {
        0 => Ranges::Cells,
        1 => Ranges::Prefixes,
        2 | 3 => Ranges::All,
        _ => {
            let list = (0..1 + dice.below(3)).map(|_| {
                let (a, b) = (dice.below(n) as u32, dice.below(n) as u32);
                (a.min(b), a.max(b))
            });
            Ranges::Intervals(list.collect())
        }
    }
}

/// A query in SQL, and its rows over the cells of the finest table.
fn select(dice: &mut Dice, cube: &Cube) -> (String, Vec<Vec<f64>>) {
    let sizes: Vec<usize> = cube.dimensions.iter().map(|d| d.levels[d.finest()].len()).collect();
    // For every dimension: its cells inside the condition, and whether rows are its categories.
    let mut inside: Vec<Vec<bool>> = sizes.iter().map(|&n| vec![true; n]).collect();
    let (mut conditions, mut groups) = (Vec::new(), Vec::new());
    for (d, &n) in sizes.iter().enumerate() {
        match dice.below(4) {
            0 => groups.push(d),
            1 if n > 1 => {
                let first = dice.below(n);
                inside[d] = (0..n).map(|i| i == first || dice.below(2) == 0).collect();
                let list: Vec<String> = (0..n).filter(|&i| inside[d][i]).map(|i| format!("'{i}'")).collect();
                conditions.push(format!("d{d} IN ({})", list.join(", ")));
            }
            _ => {}
        }
    }
    // Twice the count, minus those in one category of the first dimension.
    let special = dice.below(2) == 0;
    let figure = if special { "2 * COUNT(*) - 3 * COUNT(*) FILTER (WHERE d0 = '0')" } else { "COUNT(*)" };
    let names: Vec<String> = groups.iter().map(|d| format!("d{d}")).collect();
    let mut sql = format!("SELECT {}", names.iter().map(|n| format!("{n}, ")).collect::<String>());
    sql.push_str(&format!("{figure} AS figure FROM t"));
    if !conditions.is_empty() {
        sql.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
    }
    if !names.is_empty() {
        sql.push_str(&format!(" GROUP BY {}", names.join(", ")));
    }
    let cells: usize = sizes.iter().product();
    let place = |mut cell: usize| {
        let mut nodes = vec![0; sizes.len()];
        for d in (0..sizes.len()).rev() {
            nodes[d] = cell % sizes[d];
            cell /= sizes[d];
        }
        nodes
    };
    let mut rows: std::collections::BTreeMap<Vec<usize>, Vec<f64>> = Default::default();
    for cell in 0..cells {
        let nodes = place(cell);
        let row = rows.entry(groups.iter().map(|&d| nodes[d]).collect()).or_insert_with(|| vec![0.0; cells]);
        if nodes.iter().enumerate().all(|(d, &i)| inside[d][i]) {
            row[cell] = if special { if nodes[0] == 0 { -1.0 } else { 2.0 } } else { 1.0 };
        }
    }
    (sql, rows.into_values().collect())
}

/// The queries of a product over the finest cells, by adding up rows of the table's matrix.
fn product(cube: &Cube, table: &Table) -> Vec<Vec<f64>> {
    let matrix = table_matrix(cube, &table.cuboid);
    let mut queries: Vec<Vec<usize>> = vec![vec![0]];
    for Level { dimension: d, level: l } in table.cuboid.iter() {
        let n = cube.dimensions[d].levels[l].len();
        let list: Vec<(u32, u32)> = table.asks.of(d).unwrap_or(&Ranges::Cells).intervals(n as u32).collect();
        queries = queries
            .iter()
            .flat_map(|cells| {
                list.iter().map(move |&(a, b)| {
                    cells.iter().flat_map(|&c| (a as usize..=b as usize).map(move |i| c * n + i)).collect()
                })
            })
            .collect();
    }
    let sum = |cells: &Vec<usize>| {
        let rows = cells.iter().map(|&c| matrix.row(c).iter().copied().collect::<Vec<f64>>());
        rows.reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a + b).collect()).unwrap()
    };
    queries.iter().map(sum).collect()
}

/// A random workload of tables asked for sums and of queries, with the rows of each.
fn asking(dice: &mut Dice, most: usize) -> (Cube, Vec<Table>, Vec<Vec<Vec<f64>>>) {
    loop {
        let (cube, mut tables) = random(dice);
        let cells: usize = cube.dimensions.iter().map(|d| d.levels[d.finest()].len()).product();
        if cells > most {
            continue;
        }
        for t in &mut tables {
            let of = t.cuboid.iter().map(|Level { dimension: d, level: l }| {
                let n = cube.dimensions[d].levels[l].len();
                (d as u16, asked(dice, n))
            });
            t.asks = Asks::product(of.collect());
        }
        let mut rows: Vec<Vec<Vec<f64>>> = tables.iter().map(|t| product(&cube, t)).collect();
        for _ in 0..dice.below(3) {
            let (sql, own) = select(dice, &cube);
            let Ok(selected) = Selected::new(&cube, &sql) else { continue };
            let weight = Rational::new(1 + dice.below(4) as u128, 2).unwrap();
            assert_eq!(selected.queries(&cube), own.len() as f64, "{sql}");
            tables.push(Table { cuboid: selected.cuboid, weight, asks: Asks::Query(sql) });
            rows.push(own);
        }
        if dice.below(3) == 0 && tables.len() > 1 {
            // Queries may be all there is.
            let keep: Vec<bool> = tables.iter().map(|t| matches!(t.asks, Asks::Query(_))).collect();
            if keep.contains(&true) {
                let mut of = keep.iter();
                rows.retain(|_| *of.next().unwrap());
                tables.retain(|t| matches!(t.asks, Asks::Query(_)));
            }
        }
        return (cube, tables, rows);
    }
}

fn check(p: &Planned, r: &Request, rows: &[Vec<Vec<f64>>], what: &str) {
    let cube = cube_of_plan(&r.cube, &p.plan);
    let blocks: Vec<Measured> = p
        .plan
        .rows()
        .measurements
        .iter()
        .enumerate()
        .map(|(i, m)| {
            let variance = noise_variance(r.noise, m.scale.to_f64());
            measured(&cube, &p.plan, i, variance, unit(&cube, &p.plan, &m.block))
        })
        .collect();
    let (mut total, mut queries) = (0.0, 0.0);
    for (t, (own, spread)) in rows.iter().zip(&p.prediction.tables).enumerate() {
        let query = DMatrix::from_fn(own.len(), own[0].len(), |i, j| own[i][j]);
        let covariance = blue_covariance(&blocks, &query);
        let variances: Vec<f64> = (0..own.len()).map(|i| covariance[(i, i)]).collect();
        let mean = variances.iter().sum::<f64>() / own.len() as f64;
        let max = variances.iter().fold(0.0f64, |m, v| m.max(*v));
        let same = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs() + 1e-9;
        let asks = &p.plan.rows().workload[t].asks;
        assert!(same(spread.mean, mean), "{what}, {asks:?}: mean {} is not {mean}", spread.mean);
        assert!(same(spread.max, max), "{what}, {asks:?}: max {} is not {max}", spread.max);
        assert_eq!(p.prediction.asked[t], own.len() as f64);
        total += mean * own.len() as f64;
        queries += own.len() as f64;
    }
    assert!((p.prediction.total / total - 1.0).abs() < 1e-6);
    assert!((p.prediction.rms_error() / (total / queries).sqrt() - 1.0).abs() < 1e-6);
}

/// Every strategy's promise for random products and queries is what least squares over dense matrices gives, on average and at worst.
#[test]
fn predictions_are_those_of_dense_least_squares() {
    let mut dice = Dice(7);
    let mut seen = std::collections::HashMap::new();
    for round in 0..tries(5, 50) {
        let (cube, workload, rows) = asking(&mut dice, 100);
        let noise = if round % 2 == 0 { Noise::Gaussian } else { Noise::Laplace };
        let mut r = request(cube, workload, noise, "1/2");
        r.effort = 0;
        let all = match compare(&r, &[BudgetRule::Optimal]) {
            Err(PlanError::Public | PlanError::NoTables) => continue,
            all => all.unwrap(),
        };
        for c in &all {
            let Ok(p) = &c.outcome else { continue };
            check(p, &r, &rows, &format!("round {round}, {:?}", c.measure));
            *seen.entry((c.measure, noise)).or_insert(0) += 1;
        }
    }
    for measure in [Measure::Queries, Measure::Base, Measure::Hierarchy, Measure::Tables, Measure::Wavelet] {
        for noise in [Noise::Gaussian, Noise::Laplace] {
            assert!(seen[&(measure, noise)] > tries(0, 10), "{measure:?} {noise:?}: {seen:?}");
        }
    }
    assert!(seen[&(Measure::Residual, Noise::Gaussian)] > tries(0, 10));
}

/// Over many random workloads optimal budgets are never worse than uniform ones, and `auto` never than any line of the comparison.
#[test]
fn optimal_is_never_worse() {
    let mut dice = Dice(11);
    for round in 0..tries(6, 200) {
        let (cube, workload, _) = asking(&mut dice, 36);
        let noise = if round % 2 == 0 { Noise::Laplace } else { Noise::Gaussian };
        let mut r = request(cube, workload, noise, "1/10");
        r.effort = 0;
        if round % 7 == 0 {
            r.neighbours = Neighbours::Substitute;
        }
        if round % 3 == 0 {
            r.objective = Objective::Worst;
        }
        let all = match compare(&r, &BudgetRule::ALL) {
            Err(PlanError::Public) => continue,
            all => all.unwrap(),
        };
        let auto = plan(&r).unwrap();
        for c in &all {
            let Ok(p) = &c.outcome else { continue };
            let (score, best) = (p.score(&r), auto.score(&r));
            // Rows over all cells are taken where they save half a percent.
            let worth = if c.measure == Measure::Together { 5e-3 } else { 1e-9 };
            assert!(c.vast || best <= score * (1.0 + worth), "round {round}: {:?} {best} {score}", c.measure);
            let other = all.iter().find(|o| o.measure == c.measure && o.budgets == BudgetRule::Uniform);
            if let Some(Ok(uniform)) = other.map(|o| &o.outcome)
                && c.budgets == BudgetRule::Optimal
            {
                let equal = uniform.score(&r);
                assert!(score <= equal * (1.0 + 1e-8), "round {round}: {:?} {score} {equal}", c.measure);
            }
        }
    }
}

fn spec(tables: &str) -> margins::spec::Spec {
    let text = format!(
        "name = \"t\"\ntitle = \"T\"\n[privacy]\nunit = \"row\"\nepsilon = 1\n\
         [[dimension]]\nname = \"age\"\nrange = [0, 19]\nlevels = [{{ name = \"band\", width = 5 }}]\n\
         [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n{tables}"
    );
    margins::spec::parse(&text, Path::new("t.toml"), |_| Err(std::io::Error::other("none"))).unwrap()
}

/// Asking for cells says nothing: the plan is the same, bit for bit, whatever the noise.
#[test]
fn cells_are_what_is_asked_unless_told() {
    let plain = "[[table]]\nevery = 2\n[[table]]\nof = [\"age.band\"]\nweight = 3\n";
    let said = "[[table]]\nevery = 2\nask = { age = \"cells\", sex = \"cells\" }\n[[table]]\nof = [\"age.band\"]\nweight = 3\nask = { \"age.band\" = \"cells\" }\n";
    for noise in [Noise::Laplace, Noise::Gaussian] {
        let of = |tables: &str| {
            let mut r = spec(tables).request().unwrap();
            r.noise = noise;
            r.effort = 0;
            let all = compare(&r, &BudgetRule::ALL).unwrap();
            all.into_iter()
                .map(|c| (c.measure, c.outcome.map(|p| (p.plan.clone(), p.prediction.total.to_bits()))))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(plain), of(said));
    }
}

/// The words of a spec, a level's own asks, intervals by numbers and by names, and the total, which is the table without the dimension.
#[test]
fn what_a_spec_asks() {
    let of = |tables: &str| spec(tables).workload;
    let one = |pairs: Vec<(usize, usize)>, asks: Vec<(u16, Ranges)>| Table {
        asks: Asks::product(asks),
        ..Table::new(Cuboid::new(pairs), Rational::ONE)
    };
    assert_eq!(
        of("[[table]]\nup_to = 2\nask = { age = \"ranges\" }\n"),
        [
            one(vec![], vec![]),
            one(vec![(0, 2)], vec![(0, Ranges::All)]),
            one(vec![(1, 1)], vec![]),
            one(vec![(0, 2), (1, 1)], vec![(0, Ranges::All)]),
        ]
    );
    let list = "[\"0-4\", \"5+\", [7, 9], [\"3\", \"3\"], \"19\"]";
    let intervals = vec![(0, 4), (5, 19), (7, 9), (3, 3), (19, 19)];
    assert_eq!(
        of(&format!("[[table]]\nof = [\"age\"]\nask = {{ age = {list} }}\n")),
        [one(vec![(0, 2)], vec![(0, Ranges::Intervals(intervals))])]
    );
    // Bands are known by their numbers, too.
    assert_eq!(
        of("[[table]]\nof = [\"age.band\", \"sex\"]\nask = { age = [\"0-9\", \"10+\"], sex = [\"F\"] }\n"),
        [one(
            vec![(0, 1), (1, 1)],
            vec![(0, Ranges::Intervals(vec![(0, 1), (2, 3)])), (1, Ranges::Intervals(vec![(0, 0)]))]
        )]
    );
    assert_eq!(
        of("[[table]]\nevery = 2\nask = { age = \"total\" }\nweight = 2\n[[table]]\nof = [\"sex\"]\n"),
        [Table { weight: Rational::whole(2), ..one(vec![(1, 1)], vec![]) }]
    );
    // Two questions of one table stand side by side.
    assert_eq!(
        of("[[table]]\nof = [\"age\"]\n[[table]]\nof = [\"age\"]\nask = { age = \"prefixes\" }\n").len(),
        2
    );
    let sql = "SELECT sex, COUNT(*) FROM t WHERE age < 10 GROUP BY sex";
    let alone = of(&format!("[[query]]\nsql = \"{sql}\"\nweight = 3\n[[query]]\nsql = \"{sql}\"\n"));
    let asks = Asks::Query(sql.into());
    assert_eq!(alone, [Table { weight: Rational::whole(3), asks, ..one(vec![(0, 1), (1, 1)], vec![]) }]);
}
