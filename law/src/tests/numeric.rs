//! Factorisations and solutions of small systems, whole and of less than full rank.

use super::Digits;
use crate::numeric::cholesky::{Cholesky, Lower, dot};
use crate::numeric::conjugate::tests::Dense;
use crate::numeric::conjugate::{self, Rules};
use crate::numeric::cosine::Cosines;
use crate::numeric::dice::Dice;
use crate::numeric::pivoted::{Gram, Pivoted};
use crate::numeric::qr::Qr;
use crate::numeric::sparse::Sparse;
use crate::numeric::symmetric::eigenvalues;

/// A matrix by its rows: a product of small numbers, so that it has this rank, in columns of different sizes.
fn matrix(dice: &mut Dice, (rows, columns): (usize, usize), rank: usize) -> Vec<Vec<f64>> {
    let mut some = |rows: usize, columns: usize| -> Vec<Vec<f64>> {
        (0..rows).map(|_| (0..columns).map(|_| dice.below(13) as f64 / 3.0 - 2.0).collect()).collect()
    };
    let (left, right) = (some(rows, rank), some(rank, columns));
    let entry = |row: &Vec<f64>, j: usize| -> f64 {
        row.iter().zip(&right).map(|(a, b)| a * b[j]).sum::<f64>() * [1.0, 0.01, 100.0][j % 3]
    };
    left.iter().map(|row| (0..columns).map(|j| entry(row, j)).collect()).collect()
}

fn transposed(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    (0..rows.first().map_or(0, Vec::len)).map(|j| rows.iter().map(|row| row[j]).collect()).collect()
}

/// `AᵀA`.
fn squares(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let columns = transposed(rows);
    columns
        .iter()
        .map(|a| columns.iter().map(|b| a.iter().zip(b).map(|(a, b)| a * b).sum()).collect())
        .collect()
}

fn right(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i * i % 7) as f64 - 2.0).collect()
}

const SIZES: [((usize, usize), usize); 6] =
    [((1, 1), 1), ((7, 4), 4), ((4, 7), 4), ((20, 12), 9), ((33, 33), 33), ((150, 70), 66)];

#[test]
fn reflections() {
    let (mut digits, mut dice) = (Digits::default(), Dice::new(2));
    for ((m, n), rank) in SIZES {
        let rows = matrix(&mut dice, (m, n), rank);
        let qr = Qr::new(m, transposed(&rows).concat());
        let seen = qr.project(right(m));
        digits.say(&format!("{m} × {n}:"), qr.order().iter().map(|i| *i as f64));
        digits.say("  seen", seen.iter().copied().take(20));
        digits.say("  solved", qr.solve(seen.clone()).into_iter().take(20));
        digits.say("  transposed", qr.solve_transposed(seen.clone()).into_iter().take(20));
        digits.say("  spread", qr.spread(seen).into_iter().take(20));
        for j in (qr.rank()..n).take(2) {
            digits.say("  dependent", qr.dependent(j).iter().copied().take(20));
        }
    }
    digits.are_those_of("reflections.txt");
}

#[test]
fn pivots() {
    let (mut digits, mut dice) = (Digits::default(), Dice::new(3));
    for ((m, n), rank) in SIZES {
        let rows = matrix(&mut dice, (m, n), rank);
        let sparse =
            |row: &Vec<f64>| row.clone().into_iter().enumerate().filter(|e| e.1 != 0.0).collect::<Vec<_>>();
        let mut outer = Gram::zero(n);
        rows.iter().enumerate().for_each(|(i, row)| outer.add_outer(&sparse(row), 1.0 + i as f64));
        let grams = [
            Gram::of_rows(n, rows.iter().map(|row| sparse(row).into_iter())),
            Gram::dense(&squares(&rows).concat(), n),
            outer,
        ];
        for gram in grams {
            let pivoted = Pivoted::new(gram);
            digits.say(&format!("{m} × {n}:"), pivoted.order().iter().map(|i| *i as f64));
            digits.say("  solved", pivoted.solve(&right(n)).into_iter().take(20));
            let reachable: Vec<f64> = squares(&rows).iter().map(|row| dot(row, &right(n))).collect();
            digits.say("  solution", pivoted.solution(&reachable).unwrap_or_default().into_iter().take(20));
            digits.say("  none", [f64::from(u8::from(pivoted.solution(&right(n)).is_some()))]);
            digits.say("  combination", pivoted.combination(n - 1).into_iter().take(20));
        }
        let less = Pivoted::down_to(Gram::dense(&squares(&rows).concat(), n), 1e-3);
        digits.say("  down to 1e-3", less.order().iter().map(|i| *i as f64));
    }
    digits.are_those_of("pivots.txt");
}

#[test]
fn roots() {
    let (mut digits, mut dice) = (Digits::default(), Dice::new(4));
    for n in [1, 5, 23, 70] {
        let rows = matrix(&mut dice, (n + 9, n), n);
        let mut pushed = Lower::default();
        squares(&rows).iter().enumerate().for_each(|(i, row)| pushed.push(&row[..=i]));
        let mut added = Lower::zero(n);
        for row in &rows {
            let entries: Vec<(u32, f64)> = (0..).zip(row.iter().copied()).collect();
            added.add_outer(&entries, 0.7);
        }
        for lower in [pushed, added] {
            digits.say(&format!("{n}"), lower.row(n - 1).iter().copied().take(20));
            let Some(cholesky) = Cholesky::new(lower) else {
                digits.say("  none", []);
                continue;
            };
            let mut solved = right(n);
            cholesky.solve(&mut solved);
            digits.say("  solved", solved.into_iter().take(20));
            digits.say("  quadratic", [cholesky.quadratic(right(n))]);
        }
    }
    digits.are_those_of("roots.txt");
}

#[test]
fn spectra() {
    let (mut digits, mut dice) = (Digits::default(), Dice::new(5));
    for (n, rank) in [(1, 1), (2, 2), (7, 5), (40, 40), (70, 3)] {
        let square = squares(&matrix(&mut dice, (n + 2, n), rank));
        let lower = |by: f64| -> Vec<Vec<f64>> {
            square.iter().enumerate().map(|(i, row)| row[..=i].iter().map(|x| x * by).collect()).collect()
        };
        for by in [1.0, 1e-100] {
            digits.say(&format!("{n}"), eigenvalues(lower(by)).unwrap());
        }
    }
    digits.are_those_of("spectra.txt");
}

#[test]
fn searches() {
    let (mut digits, mut dice) = (Digits::default(), Dice::new(6));
    for ((m, n), rank) in SIZES {
        let system = Dense(squares(&matrix(&mut dice, (m, n), rank)));
        for (tolerance, floor, most_steps, singular, growth) in [
            (1e-12, 0.0, 500, false, None),
            (1e-6, 0.0, 500, true, None),
            (1e-12, 1e-3, 500, true, Some(1e3)),
            (1e-12, 0.0, 3, false, Some(10.0)),
        ] {
            let rules = Rules { tolerance, floor, most_steps, singular, growth };
            for right in [right(n), vec![0.0; n]] {
                match conjugate::solve(&system, vec![0.0; n], right, &rules) {
                    Some(found) => {
                        digits.say(&format!("{m} × {n}:"), [found.start, found.left]);
                        digits.say("  solved", found.solution.into_iter().take(20));
                    }
                    None => digits.say("  none", []),
                }
            }
        }
    }
    digits.are_those_of("searches.txt");
}

#[test]
fn transforms() {
    let (mut digits, mut dice) = (Digits::default(), Dice::new(7));
    let mut cosines = Cosines::default();
    for m in [1usize, 2, 4, 64, 16] {
        let half: Vec<f64> = (0..=m).map(|_| dice.unit() - 0.5).collect();
        digits.say(&format!("{m}"), cosines.transform(&half));
    }
    let entries = (0..30).map(|_| (dice.below(6) as u32, dice.below(9) as u32, dice.unit() - 0.3)).collect();
    let mut sparse = Sparse::new((6, 9), entries);
    sparse.scale_rows(|i| 1.0 + i as f64);
    digits.say("sparse", sparse.entries().flat_map(|(i, j, x)| [i as f64, j as f64, x]));
    digits.say("  rows", (0..sparse.rows()).map(|i| sparse.row(i).map(|(_, x)| x).sum()));
    digits.say("  values", sparse.values().iter().copied());
    digits.say("  times", sparse.times(&right(sparse.columns())));
    digits.say("  transposed", sparse.transposed_times(&right(6)));
    digits.are_those_of("transforms.txt");
}
