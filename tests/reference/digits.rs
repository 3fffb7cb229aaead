//! What double precision must not lose: large counts beside small noise, and tables next to each other that are measured well and badly.

use crate::dense::{Measured, Memory, blue_estimate, grouped, noise_variance, plain, plan_of, table_matrix};
use crate::strategies::Dice;
use margins::cube::{Cube, Cuboid};
use margins::exact::Rational;
use margins::plan::{Noise, Plan};
use margins::recover::Recovery;
use nalgebra::{DMatrix, DVector};

/// These tables measured with Laplace noise of these scales, beside exact ones and cells known to be empty.
fn plan(cube: &Cube, tables: &[(Cuboid, Rational)], exact: &[Cuboid], zeros: &[&str]) -> Plan {
    let measured: Vec<Cuboid> = tables.iter().map(|t| t.0.clone()).collect();
    let mut plan = plan_of(cube, &measured, exact);
    plan.rows_mut().measurements.iter_mut().zip(tables).for_each(|(m, t)| m.scale = t.1);
    plan.zeros = zeros.iter().map(|z| (*z).into()).collect();
    plan
}

fn counts(cube: &Cube, table: &Cuboid, rows: &DVector<f64>) -> Vec<i64> {
    (table_matrix(cube, table) * rows).iter().map(|v| *v as i64).collect()
}

/// Cells that are empty and sums that are known say the same thing twice, and what rounding leaves of the difference is nothing: estimates
/// are the truth where there is no noise, and otherwise off by the same for a hundred people and for ten milliards.
#[test]
fn zeros_beside_exact_tables_at_any_size() {
    for a in [grouped("a", &[3, 1, 2]), grouped("a", &[2, 2, 2])] {
        let cube = Cube { dimensions: vec![a, plain("b", 4), plain("c", 2)] };
        let c = |pairs: &[(usize, usize)]| Cuboid::new(pairs.to_vec());
        let scale = Rational::new(3, 2).unwrap();
        let tables = [
            (c(&[(0, 2), (1, 1)]), scale),
            (c(&[(1, 1), (2, 1)]), scale),
            (c(&[(0, 1), (1, 1), (2, 1)]), scale),
            (c(&[(0, 2), (2, 1)]), scale),
        ];
        let exact = [c(&[(0, 1)]), c(&[(1, 1), (2, 1)])];
        let zeros = ["b = '0' AND c = '1'", "a = '1' AND b = '2'", "c = '0' AND b = '3'"];
        let plan = plan(&cube, &tables, &exact, &zeros);
        let mut dice = Dice(8);
        let mut draw = || DVector::from_fn(48, |_, _| dice.below(40) as f64);
        let empty = |cell: usize| {
            let (a, b, c) = (cell / 8, cell / 2 % 4, cell % 2);
            b == 0 && c == 1 || a == 1 && b == 2 || c == 0 && b == 3
        };
        let truth = DVector::from_fn(48, |i, _| if empty(i) { 0.0 } else { 1.0 }).component_mul(&draw());
        let noise: Vec<Vec<i64>> = tables
            .iter()
            .map(|(t, _)| counts(&cube, t, &draw()).iter().map(|v| v % 7 - 3).collect())
            .collect();
        let mut errors: Vec<Vec<f64>> = Vec::new();
        for people in [1.0, 1e3, 1e6, 1e8] {
            let rows = &truth * people;
            for noisy in [false, true] {
                let values = |((t, _), noise): (&(Cuboid, Rational), &Vec<i64>)| {
                    let add = |(v, n): (i64, &i64)| if noisy { v + n } else { v };
                    counts(&cube, t, &rows).into_iter().zip(noise).map(add).collect()
                };
                let memory = Memory {
                    values: tables.iter().zip(&noise).map(values).collect(),
                    exact: exact.iter().map(|t| counts(&cube, t, &rows)).collect(),
                };
                let recovery = Recovery::new(cube.clone(), plan.clone(), memory).unwrap();
                let mut off = Vec::new();
                for (table, _) in &tables {
                    let found = recovery.table(table).unwrap_or_else(|e| panic!("{people} {noisy}: {e}"));
                    let want = table_matrix(&cube, table) * &rows;
                    off.extend(found.iter().zip(want.iter()).map(|(f, w)| f - w));
                }
                if noisy {
                    assert!(off.iter().any(|e| e.abs() > 0.3), "{people}: noise is seen");
                    errors.push(off);
                } else {
                    off.iter().for_each(|e| assert!(e.abs() < 1e-9 * people, "{people}: off by {e}"));
                }
            }
        }
        for (more, off) in errors.iter().enumerate() {
            for (one, e) in errors[0].iter().zip(off) {
                assert!((one - e).abs() < 1e-5, "{more}: {one} {e}");
            }
        }
    }
}

/// Noise that is hardly ever there beside noise of an ordinary size, over groups that differ: weights are 10²⁶ apart, and estimates those of
/// dense least squares where they are 10⁶ apart.
#[test]
fn weights_of_any_ratio() {
    let cube = Cube { dimensions: vec![grouped("a", &[3, 1, 2]), plain("b", 4), plain("c", 3)] };
    let c = |pairs: &[(usize, usize)]| Cuboid::new(pairs.to_vec());
    let (fine, middle, coarse) = (Rational::new(1, 60).unwrap(), Rational::whole(3), Rational::whole(9));
    let tables = [
        (c(&[(0, 2), (1, 1)]), fine),
        (c(&[(0, 2), (2, 1)]), coarse),
        (c(&[(0, 1), (1, 1), (2, 1)]), middle),
        (c(&[(0, 1)]), coarse),
    ];
    let mut dice = Dice(4);
    let truth = DVector::from_fn(72, |_, _| dice.below(400) as f64);
    let values: Vec<Vec<i64>> = tables
        .iter()
        .map(|(t, scale)| {
            let noise = |v: i64| if *scale == fine { v } else { v + dice.below(40) as i64 - 20 };
            counts(&cube, t, &truth).into_iter().map(noise).collect()
        })
        .collect();
    let blocks: Vec<Measured> = tables
        .iter()
        .map(|(t, scale)| {
            let rows = table_matrix(&cube, t);
            let variance = if *scale == fine { 1e-6 } else { noise_variance(Noise::Laplace, scale.to_f64()) };
            let covariance = DMatrix::identity(rows.nrows(), rows.nrows()) * variance;
            Measured { rows, covariance }
        })
        .collect();
    let answers: Vec<DVector<f64>> =
        values.iter().map(|v| DVector::from_iterator(v.len(), v.iter().map(|&v| v as f64))).collect();
    let plan = plan(&cube, &tables, &[], &[]);
    let recovery = Recovery::new(cube.clone(), plan, Memory { values, exact: Vec::new() }).unwrap();
    let asked = [c(&[(2, 1)]), c(&[(0, 2), (2, 1)]), c(&[(0, 1), (1, 1), (2, 1)]), c(&[]), c(&[(1, 1)])];
    for table in asked {
        let found = recovery.table(&table).unwrap();
        let want = blue_estimate(&blocks, &answers, &table_matrix(&cube, &table));
        for (f, w) in found.iter().zip(want.iter()) {
            assert!((f - w).abs() < 1e-3, "{}: {f} {w}", cube.describe(&table));
        }
    }
}
