//! Consistency in L1 and L∞: the optimum against enumeration of all vertices, medians and midranges; the factor two.

#[allow(dead_code)]
#[path = "../../../tests/reference/dense.rs"]
mod dense;

use super::nearest::Nearest;
use super::norm::Norm;
use dense::{Dice, Memory, grouped, plain, plan_of, random, signed, table_matrix};
use margins::cube::{Cube, Cuboid};
use margins::exact::Rational;
use margins::plan::{Block, Measure, Measurement};
use margins::recover::Recovery;
use nalgebra::{DMatrix, DVector};

const NORMS: [Norm; 2] = [Norm::L1, Norm::Linf];

/// All measured tables above each other, over the cells of the domain.
fn stacked(cube: &Cube, tables: &[Cuboid]) -> DMatrix<f64> {
    let all: Vec<DMatrix<f64>> = tables.iter().map(|t| table_matrix(cube, t)).collect();
    DMatrix::from_rows(&all.iter().flat_map(|m| m.row_iter()).collect::<Vec<_>>())
}

/// Columns that span the same space, none of them superfluous.
fn basis(m: &DMatrix<f64>) -> DMatrix<f64> {
    let mut kept: Vec<DVector<f64>> = Vec::new();
    for column in m.column_iter() {
        let mut rest = column.clone_owned();
        for k in &kept {
            rest -= k * k.dot(&rest);
        }
        if rest.norm() > 1e-9 {
            rest.normalize_mut();
            for k in &kept {
                rest -= k * k.dot(&rest);
            }
            kept.push(rest.normalize());
        }
    }
    DMatrix::from_columns(&kept)
}

fn subsets(n: usize, k: usize) -> Vec<Vec<usize>> {
    (0u32..1 << n)
        .filter(|s| s.count_ones() as usize == k)
        .map(|s| (0..n).filter(|i| s >> i & 1 == 1).collect())
        .collect()
}

/// `min ‖y − G x‖₁`: some optimum fits as many rows exactly as there are unknowns.
fn least_l1(g: &DMatrix<f64>, y: &DVector<f64>) -> f64 {
    let d = g.ncols();
    subsets(g.nrows(), d)
        .into_iter()
        .filter_map(|s| {
            let square = DMatrix::from_fn(d, d, |i, j| g[(s[i], j)]);
            let x = square.full_piv_lu();
            if !x.is_invertible() || x.determinant().abs() < 1e-9 {
                return None;
            }
            let x = x.solve(&DVector::from_fn(d, |i, _| y[s[i]]))?;
            Some((y - g * x).abs().sum())
        })
        .fold(f64::INFINITY, f64::min)
}

/// `min ‖y − G x‖_∞`: by duality the largest `|⟨λ, y⟩|/‖λ‖₁` over `Gᵀλ = 0` with one row more than unknowns.
fn least_linf(g: &DMatrix<f64>, y: &DVector<f64>) -> f64 {
    let d = g.ncols();
    subsets(g.nrows(), d + 1)
        .into_iter()
        .filter_map(|s| {
            // The minors of the rows chosen are the weights: Cramer's rule.
            let lambda: Vec<f64> = (0..=d)
                .map(|skip| {
                    let rows: Vec<usize> =
                        s.iter().enumerate().filter(|(i, _)| *i != skip).map(|e| *e.1).collect();
                    let minor = DMatrix::from_fn(d, d, |i, j| g[(rows[i], j)]).determinant();
                    if skip % 2 == 0 { minor } else { -minor }
                })
                .collect();
            let size: f64 = lambda.iter().map(|l| l.abs()).sum();
            let value: f64 = lambda.iter().zip(&s).map(|(l, &i)| l * y[i]).sum();
            (size > 1e-9).then_some(value.abs() / size)
        })
        .fold(0.0, f64::max)
}

fn noisy(truth: &[f64], dice: &mut Dice) -> Vec<i64> {
    truth.iter().map(|v| *v as i64 + dice.below(12) as i64 - dice.below(12) as i64).collect()
}

fn as_floats(values: &[Vec<i64>]) -> Vec<Vec<f64>> {
    values.iter().map(|t| t.iter().map(|&v| v as f64).collect()).collect()
}

fn close(x: f64, y: f64) {
    assert!((x - y).abs() <= 1e-6 * (1.0 + y.abs()), "{x} is not {y}");
}

/// Plain dimensions, equal and unequal groups, a chain: the distance is the least there is.
#[test]
fn the_distance_is_that_of_the_best_vertex() {
    let c = |pairs: &[(usize, usize)]| Cuboid::new(pairs.to_vec());
    let square = Cube { dimensions: vec![plain("a", 2), plain("b", 2)] };
    let oblong = Cube { dimensions: vec![plain("a", 2), plain("b", 3)] };
    let unequal = Cube { dimensions: vec![grouped("a", &[1, 3])] };
    let mixed = Cube { dimensions: vec![grouped("a", &[1, 2]), plain("b", 2)] };
    let three = Cube { dimensions: vec![plain("a", 2), plain("b", 2), plain("c", 2)] };
    let cases = [
        (&square, vec![c(&[(0, 1)]), c(&[(1, 1)]), c(&[(0, 1), (1, 1)]), c(&[])]),
        (&oblong, vec![c(&[(0, 1)]), c(&[(1, 1)]), c(&[(0, 1), (1, 1)])]),
        (&unequal, vec![c(&[(0, 2)]), c(&[(0, 1)]), c(&[])]),
        (&mixed, vec![c(&[(0, 1), (1, 1)]), c(&[(0, 2)]), c(&[(1, 1)])]),
        (&three, vec![c(&[(0, 1), (1, 1)]), c(&[(1, 1), (2, 1)]), c(&[(0, 1), (2, 1)])]),
    ];
    let mut dice = Dice(7);
    let mut gained = 0;
    for (cube, tables) in cases {
        let m = stacked(cube, &tables);
        let g = basis(&m);
        for _ in 0..6 {
            let truth = DVector::from_fn(m.ncols(), |_, _| dice.below(40) as f64);
            let values: Vec<Vec<i64>> = tables
                .iter()
                .map(|t| noisy((table_matrix(cube, t) * &truth).as_slice(), &mut dice))
                .collect();
            let y = DVector::from_vec(as_floats(&values).concat());
            let recovery = Recovery::new(cube.clone(), plan_of(cube, &tables, &[]), values).unwrap();
            for norm in NORMS {
                let found = Nearest::new(&recovery, norm).unwrap();
                let least = if norm == Norm::L1 { least_l1(&g, &y) } else { least_linf(&g, &y) };
                close(found.distance(), least);
                gained += usize::from(found.least_squares_distance() > least + 0.01);
            }
        }
    }
    assert!(gained > 30, "least squares was optimal almost always: the test says nothing ({gained})");
}

/// Several measurements of one number: the median, and the middle between the extremes.
#[test]
fn one_unknown_is_the_median_or_the_midrange() {
    let cube = Cube { dimensions: (0..3).map(|i| plain(&format!("d{i}"), 1)).collect() };
    let one = |d: usize| Cuboid::new(vec![(d, 1)]);
    let tables = [Cuboid::total(), one(0), one(1), one(2), Cuboid::new(vec![(0, 1), (1, 1)])];
    let values = vec![vec![112], vec![95], vec![103], vec![99], vec![131]];
    let recovery = Recovery::new(cube.clone(), plan_of(&cube, &tables, &[]), values).unwrap();
    for (norm, expected) in [(Norm::L1, 103.0), (Norm::Linf, 113.0)] {
        let nearest = Nearest::new(&recovery, norm).unwrap();
        for t in &tables {
            close(nearest.table(&recovery, t).unwrap()[0], expected);
        }
    }
    // Of an even number the middle of what is best, not an end of it.
    let values = vec![vec![100], vec![104]];
    let recovery = Recovery::new(cube.clone(), plan_of(&cube, &tables[..2], &[]), values).unwrap();
    let nearest = Nearest::new(&recovery, Norm::L1).unwrap();
    close(nearest.distance(), 4.0);
    let found = nearest.table(&recovery, &tables[0]).unwrap()[0];
    assert!(found > 100.5 && found < 103.5, "{found}");
}

/// Random small releases: everything agrees, nothing nearer is found, and the distance from the truth is at most twice
/// that of the noise.
#[test]
fn within_twice_the_noise_of_the_truth() {
    let mut dice = Dice(2013);
    let mut checked = 0;
    for _ in 0..60 {
        let (cube, workload) = random(&mut dice);
        let tables: Vec<Cuboid> = workload.into_iter().map(|t| t.cuboid).collect();
        let m = stacked(&cube, &tables);
        let x = DVector::from_fn(m.ncols(), |_, _| dice.below(30) as f64);
        let truth: Vec<Vec<f64>> =
            tables.iter().map(|t| (table_matrix(&cube, t) * &x).as_slice().to_vec()).collect();
        let values: Vec<Vec<i64>> = truth.iter().map(|t| noisy(t, &mut dice)).collect();
        let measured = as_floats(&values);
        let recovery = Recovery::new(cube.clone(), plan_of(&cube, &tables, &[]), values).unwrap();
        for norm in NORMS {
            let nearest = Nearest::new(&recovery, norm).unwrap();
            let found: Vec<Vec<f64>> = tables.iter().map(|t| nearest.table(&recovery, t).unwrap()).collect();
            let distance = norm.distance(&found, &measured);
            close(nearest.distance(), distance);
            let noise = norm.distance(&truth, &measured);
            assert!(distance <= noise * (1.0 + 1e-6) + 1e-9, "the truth is nearer: {distance} > {noise}");
            assert!(norm.distance(&found, &truth) <= 2.0 * noise * (1.0 + 1e-6) + 1e-9);
            assert!(distance <= nearest.least_squares_distance() * (1.0 + 1e-6) + 1e-9);
            // Every table below a measured one is its roll-up, whichever it is rolled up from.
            for (t, table) in tables.iter().zip(&found) {
                for a in recovery.frame().below(t) {
                    let coarse = recovery.frame().roll_up(t, &a, table.clone());
                    let direct = nearest.table(&recovery, &a).unwrap();
                    for (c, d) in coarse.iter().zip(&direct) {
                        assert!((c - d).abs() < 1e-6, "{t:?} and {a:?}: {c} {d}");
                    }
                    checked += 1;
                }
            }
            // No other consistent tables nearby are nearer.
            for _ in 0..40 {
                let step = DVector::from_fn(m.ncols(), |_, _| (dice.below(201) as f64 - 100.0) / 50.0);
                let size = [1e-3, 0.1, 1.0][dice.below(3)];
                let moved: Vec<Vec<f64>> = tables
                    .iter()
                    .zip(&found)
                    .map(|(t, f)| {
                        (DVector::from_vec(f.clone()) + table_matrix(&cube, t) * &step * size)
                            .as_slice()
                            .to_vec()
                    })
                    .collect();
                assert!(norm.distance(&moved, &measured) >= distance * (1.0 - 1e-6) - 1e-9);
            }
        }
    }
    assert!(checked > 500, "{checked}");
}

/// What is published exactly stays so, and the rest is optimal given that.
#[test]
fn exact_tables_are_kept() {
    let cube = Cube { dimensions: vec![plain("a", 2), plain("b", 3)] };
    let c = |pairs: &[(usize, usize)]| Cuboid::new(pairs.to_vec());
    let (tables, exact) = ([c(&[(0, 1), (1, 1)]), c(&[(1, 1)])], [c(&[(0, 1)])]);
    let m = stacked(&cube, &tables);
    let e = stacked(&cube, &exact);
    let inverse = e.clone().pseudo_inverse(1e-9).unwrap();
    let free = DMatrix::identity(6, 6) - &inverse * &e;
    let g = basis(&(&m * &free));
    let mut dice = Dice(11);
    for _ in 0..8 {
        let x = DVector::from_fn(6, |_, _| dice.below(30) as f64);
        let values: Vec<Vec<i64>> =
            tables.iter().map(|t| noisy((table_matrix(&cube, t) * &x).as_slice(), &mut dice)).collect();
        let known: Vec<f64> = (&e * &x).as_slice().to_vec();
        let y = DVector::from_vec(as_floats(&values).concat()) - &m * &inverse * &e * &x;
        let source = Memory { values, exact: vec![known.iter().map(|&v| v as i64).collect()] };
        let recovery = Recovery::new(cube.clone(), plan_of(&cube, &tables, &exact), source).unwrap();
        for norm in NORMS {
            let nearest = Nearest::new(&recovery, norm).unwrap();
            close(nearest.distance(), if norm == Norm::L1 { least_l1(&g, &y) } else { least_linf(&g, &y) });
            assert_eq!(nearest.table(&recovery, &exact[0]).unwrap(), known);
            let fine = nearest.table(&recovery, &tables[0]).unwrap();
            let rolled = recovery.frame().roll_up(&tables[0], &exact[0], fine);
            rolled.iter().zip(&known).for_each(|(r, k)| close(*r, *k));
        }
    }
}

/// Cells declared empty are empty, and the rest is optimal given that.
#[test]
fn declared_zeros_are_kept() {
    let cube = Cube { dimensions: vec![plain("a", 2), plain("b", 3)] };
    let c = |pairs: &[(usize, usize)]| Cuboid::new(pairs.to_vec());
    let tables = [c(&[(0, 1), (1, 1)]), c(&[(1, 1)]), c(&[(0, 1)])];
    let empty = 2; // a = 0, b = 2
    let m = stacked(&cube, &tables);
    let open: Vec<DVector<f64>> = (0..6).filter(|&i| i != empty).map(|i| m.column(i).clone_owned()).collect();
    let g = basis(&DMatrix::from_columns(&open));
    let mut dice = Dice(17);
    for _ in 0..6 {
        let x = DVector::from_fn(6, |i, _| if i == empty { 0.0 } else { dice.below(30) as f64 });
        let values: Vec<Vec<i64>> =
            tables.iter().map(|t| noisy((table_matrix(&cube, t) * &x).as_slice(), &mut dice)).collect();
        let y = DVector::from_vec(as_floats(&values).concat());
        let mut plan = plan_of(&cube, &tables, &[]);
        plan.zeros = vec!["a = '0' AND b = '2'".into()];
        let recovery = Recovery::new(cube.clone(), plan, values).unwrap();
        for norm in NORMS {
            let nearest = Nearest::new(&recovery, norm).unwrap();
            close(nearest.distance(), if norm == Norm::L1 { least_l1(&g, &y) } else { least_linf(&g, &y) });
            assert_eq!(nearest.table(&recovery, &tables[0]).unwrap()[empty], 0.0);
        }
    }
}

/// One measured table agrees with itself in every sense; components were not measured cell by cell; too much is too much.
#[test]
fn what_it_is_not_for() {
    let cube = Cube { dimensions: vec![plain("a", 3), plain("b", 300), plain("c", 60)] };
    let table = Cuboid::new(vec![(0, 1)]);
    let mut plan = plan_of(&cube, std::slice::from_ref(&table), &[]);
    let recovery = Recovery::new(cube.clone(), plan.clone(), vec![vec![3, -4, 8]]).unwrap();
    let nearest = Nearest::new(&recovery, Norm::Linf).unwrap();
    assert_eq!(nearest.table(&recovery, &table).unwrap(), [3.0, -4.0, 8.0]);
    assert_eq!(nearest.distance(), 0.0);
    let other = Cuboid::new(vec![(1, 1)]);
    assert!(nearest.table(&recovery, &other).is_err());

    plan.rows_mut().measurements = vec![
        Measurement { block: Block::Component(Cuboid::total()), scale: Rational::ONE },
        Measurement { block: Block::Component(table), scale: Rational::ONE },
    ];
    plan.measure = Measure::Residual;
    let recovery = Recovery::new(cube.clone(), plan, vec![vec![1], vec![2, 3]]).unwrap();
    let why = Nearest::new(&recovery, Norm::L1).unwrap_err();
    assert!(why.contains("residual") && why.contains("measured directly"), "{why}");

    let tables = [Cuboid::new(vec![(0, 1), (1, 1), (2, 1)]), other];
    let recovery = Recovery::new(cube.clone(), plan_of(&cube, &tables, &[]), Vec::new()).unwrap();
    let why = Nearest::new(&recovery, Norm::L1).unwrap_err();
    assert!(why.contains("54300 cells"), "{why}");
}

/// Coefficients of three categories, coded in two bits: more than there are unknowns. The distance is the least there is.
#[test]
fn coefficients_are_measured_too() {
    let cube = Cube { dimensions: vec![plain("a", 3)] };
    let table = Cuboid::new(vec![(0, 1)]);
    let mut plan = plan_of(&cube, &[Cuboid::total(), table.clone()], &[]);
    for m in &mut plan.rows_mut().measurements {
        m.block = Block::Walsh(m.block.cuboid().clone());
    }
    plan.measure = Measure::Fourier;
    let h = signed(&cube, &plan.levels, &Block::Walsh(table.clone()));
    let all = DMatrix::from_fn(4, 3, |i, j| if i == 0 { 1.0 } else { h[(i - 1, j)] });
    let mut dice = Dice(5);
    let mut gained = 0;
    for _ in 0..10 {
        let truth = DVector::from_fn(3, |_, _| dice.below(40) as f64);
        let y = noisy((&all * truth).as_slice(), &mut dice);
        let recovery =
            Recovery::new(cube.clone(), plan.clone(), vec![y[..1].to_vec(), y[1..].to_vec()]).unwrap();
        let y = DVector::from_iterator(4, y.iter().map(|&v| v as f64));
        for norm in NORMS {
            let found = Nearest::new(&recovery, norm).unwrap();
            let least = if norm == Norm::L1 { least_l1(&all, &y) } else { least_linf(&all, &y) };
            close(found.distance(), least);
            let cells = DVector::from_vec(found.table(&recovery, &table).unwrap());
            close(norm.distance(&[(&all * cells).as_slice().to_vec()], &[y.as_slice().to_vec()]), least);
            gained += usize::from(found.least_squares_distance() > least + 0.01);
        }
    }
    assert!(gained > 5, "{gained}");
}

/// Of binary attributes all coefficients agree as they are: nothing is changed.
#[test]
fn binary_coefficients_agree_as_they_are() {
    let cube = Cube { dimensions: vec![plain("a", 2), plain("b", 2)] };
    let c = |pairs: &[(usize, usize)]| Cuboid::new(pairs.to_vec());
    let tables = [c(&[]), c(&[(0, 1)]), c(&[(1, 1)]), c(&[(0, 1), (1, 1)])];
    let mut plan = plan_of(&cube, &tables, &[]);
    for m in &mut plan.rows_mut().measurements {
        m.block = Block::Walsh(m.block.cuboid().clone());
    }
    plan.measure = Measure::Fourier;
    let recovery = Recovery::new(cube, plan, vec![vec![7], vec![3], vec![2], vec![-4]]).unwrap();
    let nearest = Nearest::new(&recovery, Norm::L1).unwrap();
    close(nearest.distance() + nearest.least_squares_distance(), 0.0);
    assert_eq!(nearest.table(&recovery, &tables[3]).unwrap(), recovery.table(&tables[3]).unwrap());
}
