//! Our own routines beside those of `nalgebra` and `sprs`: what docs/decisions says of each comes from here. Own eigenvalues take two threads
//! from 700 rows on.

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use margins_law::numeric::cholesky::{Cholesky, Lower, dot};
use margins_law::numeric::dice::Dice;
use margins_law::numeric::pivoted::{Gram, Pivoted};
use margins_law::numeric::qr::Qr;
use margins_law::numeric::sparse::Sparse;
use margins_law::numeric::symmetric::eigenvalues;
use nalgebra::{DMatrix, DVector};
use sprs::{CsMat, TriMat, prod};
use std::hint::black_box;

fn random(dice: &mut Dice, rows: usize, columns: usize) -> DMatrix<f64> {
    DMatrix::from_fn(rows, columns, |_, _| dice.unit() - 0.5)
}

/// `RᵀR + 1`.
fn definite(dice: &mut Dice, n: usize) -> DMatrix<f64> {
    let r = random(dice, n, n);
    r.transpose() * r + DMatrix::identity(n, n)
}

fn lower(m: &DMatrix<f64>) -> Vec<Vec<f64>> {
    (0..m.nrows()).map(|i| (0..=i).map(|j| m[(i, j)]).collect()).collect()
}

/// Eigenvalues alone: the bound of every Gaussian mechanism.
fn values(c: &mut Criterion) {
    let (mut dice, mut group) = (Dice::new(1), c.benchmark_group("eigenvalues"));
    group.sample_size(10);
    for n in [64, 512, 1500] {
        let m = definite(&mut dice, n);
        let rows = lower(&m);
        group.bench_function(BenchmarkId::new("own", n), |b| {
            b.iter_batched(|| rows.clone(), eigenvalues, BatchSize::LargeInput)
        });
        group.bench_function(BenchmarkId::new("nalgebra", n), |b| {
            b.iter_batched(|| m.clone(), |m| m.symmetric_eigenvalues(), BatchSize::LargeInput)
        });
    }
}

/// A factorisation and a solution: recovery from rows.
fn cholesky(c: &mut Criterion) {
    let (mut dice, mut group) = (Dice::new(2), c.benchmark_group("cholesky"));
    for n in [64, 512] {
        let m = definite(&mut dice, n);
        let mut packed = Lower::default();
        lower(&m).iter().for_each(|row| packed.push(row));
        let right = DVector::from_fn(n, |_, _| dice.unit());
        group.bench_function(BenchmarkId::new("own", n), |b| {
            b.iter(|| {
                let mut x = right.as_slice().to_vec();
                Cholesky::new(packed.clone()).expect("definite").solve(&mut x);
                x
            })
        });
        group.bench_function(BenchmarkId::new("nalgebra", n), |b| {
            b.iter(|| nalgebra::Cholesky::new(m.clone()).expect("definite").solve(&right))
        });
    }
}

/// Pivoted columns: histories.
fn qr(c: &mut Criterion) {
    let (mut dice, mut group) = (Dice::new(3), c.benchmark_group("pivoted qr"));
    for (rows, columns) in [(40, 20), (200, 100), (800, 400)] {
        let a = random(&mut dice, rows, columns);
        let name = format!("{rows}x{columns}");
        group.bench_function(BenchmarkId::new("own", &name), |b| {
            b.iter(|| Qr::new(rows, a.as_slice().to_vec()))
        });
        group.bench_function(BenchmarkId::new("nalgebra", &name), |b| b.iter(|| a.clone().col_piv_qr()));
    }
}

/// What is independent in a Gram matrix of low rank: larger histories, releases pooled. Of `nalgebra` only eigenvectors tell that.
fn rank(c: &mut Criterion) {
    let (mut dice, mut group) = (Dice::new(4), c.benchmark_group("rank of a gram matrix"));
    group.sample_size(10);
    for n in [100, 500] {
        let r = random(&mut dice, n / 2, n);
        let m = r.transpose() * r;
        group.bench_function(BenchmarkId::new("own", n), |b| {
            b.iter(|| Pivoted::new(Gram::dense(m.as_slice(), n)).rank())
        });
        group.bench_function(BenchmarkId::new("nalgebra", n), |b| b.iter(|| m.clone().symmetric_eigen()));
    }
}

/// `A v` and `Aᵀ u`: each step of conjugate gradients over a history.
fn sparse(c: &mut Criterion) {
    let (mut dice, mut group) = (Dice::new(5), c.benchmark_group("sparse"));
    for (rows, columns, each) in [(4000, 2000, 10), (2000, 2000, 200)] {
        let entries: Vec<(u32, u32, f64)> =
            (0..rows * each).map(|k| ((k / each) as u32, dice.below(columns) as u32, dice.unit())).collect();
        let own = Sparse::new((rows, columns), entries.clone());
        let mut triplets = TriMat::new((rows, columns));
        entries.iter().for_each(|&(i, j, v)| triplets.add_triplet(i as usize, j as usize, v));
        let other: CsMat<f64> = triplets.to_csr();
        let v: Vec<f64> = (0..columns).map(|_| dice.unit()).collect();
        let u: Vec<f64> = (0..rows).map(|_| dice.unit()).collect();
        let name = |what: &str| BenchmarkId::new(what, format!("{rows}x{columns}, {each} a row"));
        group.bench_function(name("A v, own"), |b| b.iter(|| own.times(&v)));
        group.bench_function(name("A v, sprs"), |b| {
            b.iter(|| {
                let mut out = vec![0.0; rows];
                prod::mul_acc_mat_vec_csr(other.view(), &v[..], &mut out[..]);
                out
            })
        });
        group.bench_function(name("Aᵀ u, own"), |b| b.iter(|| own.transposed_times(&u)));
        group.bench_function(name("Aᵀ u, sprs"), |b| {
            b.iter(|| {
                let mut out = vec![0.0; columns];
                prod::mul_acc_mat_vec_csc(other.transpose_view(), &u[..], &mut out[..]);
                out
            })
        });
    }
}

/// A product of two vectors, which everything dense is made of.
fn vectors(c: &mut Criterion) {
    let (mut dice, mut group) = (Dice::new(6), c.benchmark_group("dot"));
    for n in [30, 1000] {
        let (x, y) = (random(&mut dice, n, 1), random(&mut dice, n, 1));
        group.bench_function(BenchmarkId::new("own", n), |b| {
            b.iter(|| dot(black_box(x.as_slice()), black_box(y.as_slice())))
        });
        group
            .bench_function(BenchmarkId::new("nalgebra", n), |b| b.iter(|| black_box(&x).dot(black_box(&y))));
    }
}

criterion_group!(algebra, values, cholesky, qr, rank, sparse, vectors);
criterion_main!(algebra);
