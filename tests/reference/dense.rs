//! The same mathematics with explicit matrices over all cells of the finest table.

use margins::cube::{Categories, Cube, Cuboid, Dimension, Frame, Integers, Level};
use margins::exact::Rational;
use margins::plan::{
    Block, BudgetRule, Channel, Measure, Measurement, Neighbours, NodeWeights, Noise, Plan, Rows, Table,
    Telling,
};
use margins::recover::{Source, SourceError};
use nalgebra::{DMatrix, DVector};

/// A plain dimension of `n` categories.
pub(crate) fn plain(name: &str, n: usize) -> Dimension {
    Dimension::plain(name, (0..n).map(|i| i.to_string()).collect())
}

/// By their definition: for each node but the first of its group its own number times its factor, less the same of the first, over the greatest
/// common divisor of the two factors.
pub(crate) fn weighted_contrasts(weights: &NodeWeights) -> DMatrix<f64> {
    let (parent, factors) = (weights.parent(), weights.factors());
    let first = |v: usize| (0..v).find(|&f| parent[f] == parent[v]);
    let rows: Vec<(usize, usize)> = (0..factors.len()).filter_map(|v| Some((v, first(v)?))).collect();
    let mut out = DMatrix::zeros(rows.len(), factors.len());
    for (r, &(v, f)) in rows.iter().enumerate() {
        let divisor = margins::exact::gcd(factors[v].into(), factors[f].into()) as f64;
        out[(r, v)] = f64::from(factors[v]) / divisor;
        out[(r, f)] = -f64::from(factors[f]) / divisor;
    }
    out
}

/// A dimension with one coarser level; `groups[i]` is the number of children of group i.
pub(crate) fn grouped(name: &str, groups: &[usize]) -> Dimension {
    let mut d = plain(name, groups.iter().sum());
    let parent = groups.iter().enumerate().flat_map(|(g, &n)| vec![g as u32; n]).collect();
    let coarse = Categories {
        name: "group".into(),
        labels: (0..groups.len()).map(|i| format!("g{i}")).collect(),
        parent: vec![0; groups.len()],
        bounds: Vec::new(),
    };
    d.levels[1].parent = parent;
    d.levels.insert(1, coarse);
    d
}

/// Node-by-cell incidence of one dimension's level over its finest nodes.
fn level_matrix(d: &Dimension, level: usize) -> DMatrix<f64> {
    let finest = d.finest();
    let up = d.ancestors(finest, level);
    let mut m = DMatrix::zeros(d.levels[level].len(), d.levels[finest].len());
    for (cell, &node) in up.iter().enumerate() {
        m[(node as usize, cell)] = 1.0;
    }
    m
}

/// `M_B`: the table of a cuboid as a matrix over the cells of the full domain.
pub(crate) fn table_matrix(cube: &Cube, cuboid: &Cuboid) -> DMatrix<f64> {
    cube.dimensions
        .iter()
        .enumerate()
        .fold(DMatrix::identity(1, 1), |m, (i, d)| m.kronecker(&level_matrix(d, cuboid.level(i))))
}

/// `I − averages within sibling groups` of one dimension, between a level in use and the next coarser one in use.
fn projection(d: &Dimension, level: usize, coarser: usize) -> DMatrix<f64> {
    let n = d.levels[level].len();
    let up = d.ancestors(level, coarser);
    DMatrix::from_fn(n, n, |i, j| {
        let group = up.iter().filter(|&&g| g == up[i]).count() as f64;
        let mean = if up[i] == up[j] { 1.0 / group } else { 0.0 };
        f64::from(u8::from(i == j)) - mean
    })
}

/// `P_A` over the cells of table A.
pub(crate) fn component_projection(cube: &Cube, levels: &[Vec<u8>], a: &Cuboid) -> DMatrix<f64> {
    a.iter().fold(DMatrix::identity(1, 1), |m, Level { dimension: d, level: l }| {
        let coarser = levels[d].iter().map(|&x| usize::from(x)).filter(|&x| x < l).max().unwrap();
        m.kronecker(&projection(&cube.dimensions[d], l, coarser))
    })
}

/// The signed rows of a block over the cells of its own table, by their definition.
pub(crate) fn signed(cube: &Cube, levels: &[Vec<u8>], block: &Block) -> DMatrix<f64> {
    block.cuboid().iter().fold(DMatrix::identity(1, 1), |m, Level { dimension: d, level: l }| {
        let n = cube.dimensions[d].levels[l].len();
        let rows: Vec<Vec<f64>> = match block {
            Block::Pairs(_) => {
                let coarser = levels[d].iter().map(|&x| usize::from(x)).filter(|&x| x < l).max().unwrap();
                let up = cube.dimensions[d].ancestors(l, coarser);
                let pairs =
                    (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).filter(|&(i, j)| up[i] == up[j]);
                pairs
                    .map(|(i, j)| {
                        (0..n).map(|k| f64::from(u8::from(k == j)) - f64::from(u8::from(k == i))).collect()
                    })
                    .collect()
            }
            Block::Walsh(_) => {
                let sign = |mask: usize, k: usize| {
                    if (mask & k).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
                };
                let bits = (0..).find(|&b| 1usize << b >= n).unwrap();
                (1..1usize << bits).map(|mask| (0..n).map(|k| sign(mask, k)).collect()).collect()
            }
            _ => panic!("no signed sums"),
        };
        m.kronecker(&DMatrix::from_fn(rows.len(), n, |i, k| rows[i][k]))
    })
}

/// Rows as a matrix over the cells of their table.
pub(crate) fn written(rows: &Rows, cells: usize) -> DMatrix<f64> {
    let mut m = DMatrix::zeros(rows.rows.len(), cells);
    for (r, row) in rows.rows.iter().enumerate() {
        row.iter().for_each(|&(cell, factor)| m[(r, cell as usize)] = f64::from(factor));
    }
    m
}

/// The cube whose levels a plan speaks of.
pub(crate) fn cube_of_plan(cube: &Cube, plan: &Plan) -> Cube {
    if plan.measure.refines(&plan.rows().workload) { (*cube.refined().cube).clone() } else { cube.clone() }
}

/// The integers in one unit of a block.
pub(crate) fn unit(cube: &Cube, plan: &Plan, block: &Block) -> f64 {
    match block {
        Block::Component(a) => {
            margins::plan::block::component_scale(&Frame::new(cube, &plan.levels), a).unwrap() as f64
        }
        _ => 1.0,
    }
}

/// The measured rows and the covariance of their noise, as floats: whole tables, or `P_A (M_A x + z/m)`.
pub(crate) struct Measured {
    pub rows: DMatrix<f64>,
    pub covariance: DMatrix<f64>,
}

/// One block of a plan.
pub(crate) fn measured(cube: &Cube, plan: &Plan, index: usize, noise_variance: f64, scale: f64) -> Measured {
    match &plan.rows().measurements[index].block {
        Block::Table(b) => {
            let rows = table_matrix(cube, b);
            let n = rows.nrows();
            Measured { rows, covariance: DMatrix::identity(n, n) * noise_variance }
        }
        Block::Component(a) => {
            let p = component_projection(cube, &plan.levels, a);
            let rows = &p * table_matrix(cube, a);
            Measured { rows, covariance: &p * p.transpose() * (noise_variance / (scale * scale)) }
        }
        Block::Rows(own) => {
            let rows =
                written(own, table_matrix(cube, &own.cuboid).nrows()) * table_matrix(cube, &own.cuboid);
            let n = rows.nrows();
            Measured { rows, covariance: DMatrix::identity(n, n) * noise_variance }
        }
        Block::Based(b) => {
            let (mut rows, mut covariance) = (DMatrix::identity(1, 1), DMatrix::identity(1, 1));
            for (d, l, told) in b.dimensions() {
                let (own, noise) = match told {
                    Telling::Basis(basis) => {
                        let (k, n) = (basis.rows(), basis.nodes());
                        let own = DMatrix::from_fn(k, n, |i, j| f64::from(basis.row(i)[j]));
                        (own, DMatrix::identity(k, k))
                    }
                    Telling::Weights(weights) => {
                        let own = weighted_contrasts(weights);
                        let factors = weights.factors().iter().map(|c| f64::from(*c));
                        let scaled = DMatrix::from_diagonal(&DVector::from_iterator(own.ncols(), factors));
                        (&own * scaled, &own * own.transpose())
                    }
                    Telling::Siblings => {
                        let one = Cuboid::new(vec![(d, l)]);
                        let p = component_projection(cube, &plan.levels, &one);
                        let frame = Frame::new(cube, &plan.levels);
                        let m = margins::plan::block::component_scale(&frame, &one).unwrap() as f64;
                        (p.clone(), &p * p.transpose() / (m * m))
                    }
                };
                rows = rows.kronecker(&own);
                covariance = covariance.kronecker(&noise);
            }
            Measured { rows: rows * table_matrix(cube, &b.cuboid), covariance: covariance * noise_variance }
        }
        block => {
            let rows = signed(cube, &plan.levels, block) * table_matrix(cube, block.cuboid());
            let n = rows.nrows();
            Measured { rows, covariance: DMatrix::identity(n, n) * noise_variance }
        }
    }
}

/// The pseudo-inverse of a symmetric matrix, by its eigenvectors: nalgebra's own goes through a singular value
/// decomposition that is not reliable for repeated singular values.
pub(crate) fn pseudo_inverse(m: &DMatrix<f64>) -> DMatrix<f64> {
    // A zero on the diagonal of a semidefinite matrix is a row and a column of zeros: nalgebra's iteration may not
    // survive those.
    let kept: Vec<usize> = (0..m.nrows()).filter(|&i| m[(i, i)] != 0.0).collect();
    if kept.is_empty() {
        return DMatrix::zeros(m.nrows(), m.ncols());
    }
    if kept.len() < m.nrows() {
        let small = pseudo_inverse(&m.select_rows(&kept).select_columns(&kept));
        let mut out = DMatrix::zeros(m.nrows(), m.ncols());
        for (i, &a) in kept.iter().enumerate() {
            for (j, &b) in kept.iter().enumerate() {
                out[(a, b)] = small[(i, j)];
            }
        }
        return out;
    }
    let eigen = m.clone().symmetric_eigen();
    let whole = eigen.eigenvalues.iter().chain(eigen.eigenvectors.iter()).all(|v| v.is_finite());
    let (values, vectors) = if whole { (eigen.eigenvalues, eigen.eigenvectors) } else { jacobi(m.clone()) };
    let cut = 1e-12 * values.amax().max(1e-300);
    let inverse = values.map(|v| if v.abs() > cut { 1.0 / v } else { 0.0 });
    &vectors * DMatrix::from_diagonal(&inverse) * vectors.transpose()
}

/// Eigenvalues and eigenvectors of a symmetric matrix by Jacobi's rotations: slow and unfailing, for the matrices of
/// low rank where the QR iteration divides by zero.
fn jacobi(mut m: DMatrix<f64>) -> (DVector<f64>, DMatrix<f64>) {
    let n = m.nrows();
    let mut vectors = DMatrix::identity(n, n);
    let size = m.norm();
    for _ in 0..60 {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|at| m[at] * m[at]).sum();
        if off.sqrt() <= 1e-15 * size {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if m[(p, q)] == 0.0 {
                    continue;
                }
                let theta = (m[(q, q)] - m[(p, p)]) / (2.0 * m[(p, q)]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..n {
                    let (a, b) = (m[(k, p)], m[(k, q)]);
                    (m[(k, p)], m[(k, q)]) = (c * a - s * b, s * a + c * b);
                }
                for k in 0..n {
                    let (a, b) = (m[(p, k)], m[(q, k)]);
                    (m[(p, k)], m[(q, k)]) = (c * a - s * b, s * a + c * b);
                    let (a, b) = (vectors[(k, p)], vectors[(k, q)]);
                    (vectors[(k, p)], vectors[(k, q)]) = (c * a - s * b, s * a + c * b);
                }
            }
        }
    }
    (m.diagonal(), vectors)
}

/// Generalised least squares over measurements of independent errors, for any number of queries.
pub(crate) struct Blue<'a> {
    blocks: &'a [Measured],
    weights: Vec<DMatrix<f64>>,
    inverse: DMatrix<f64>,
}

impl<'a> Blue<'a> {
    /// Of so many unknown counts.
    pub(crate) fn new(blocks: &'a [Measured], n: usize) -> Blue<'a> {
        let weights: Vec<DMatrix<f64>> = blocks.iter().map(|b| pseudo_inverse(&b.covariance)).collect();
        let mut information = DMatrix::<f64>::zeros(n, n);
        for (b, weight) in blocks.iter().zip(&weights) {
            information += b.rows.transpose() * weight * &b.rows;
        }
        Blue { blocks, weights, inverse: pseudo_inverse(&information) }
    }

    /// The covariance of the best linear unbiased estimate of queries.
    pub(crate) fn covariance(&self, query: &DMatrix<f64>) -> DMatrix<f64> {
        query * &self.inverse * query.transpose()
    }

    /// The estimate itself. Beside noise of a million the inverse of what is known to a ten-millionth is not close; what it leaves is solved for again.
    pub(crate) fn estimate(&self, answers: &[DVector<f64>], query: &DMatrix<f64>) -> DVector<f64> {
        let mut cells = DVector::<f64>::zeros(query.ncols());
        for _ in 0..4 {
            let mut left = DVector::<f64>::zeros(query.ncols());
            for ((b, weight), y) in self.blocks.iter().zip(&self.weights).zip(answers) {
                left += b.rows.transpose() * (weight * (y - &b.rows * &cells));
            }
            cells += &self.inverse * left;
        }
        query * cells
    }
}

/// The covariance for these queries alone.
pub(crate) fn blue_covariance(blocks: &[Measured], query: &DMatrix<f64>) -> DMatrix<f64> {
    Blue::new(blocks, query.ncols()).covariance(query)
}

/// Their estimate.
pub(crate) fn blue_estimate(
    blocks: &[Measured],
    answers: &[DVector<f64>],
    query: &DMatrix<f64>,
) -> DVector<f64> {
    Blue::new(blocks, query.ncols()).estimate(answers, query)
}

/// The variance of one integer noise, by summing its law. A Gaussian as wide as those of bases are has its parameter's, to all digits.
pub(crate) fn noise_variance(noise: Noise, scale: f64) -> f64 {
    if noise == Noise::Gaussian && scale > 1e6 {
        return scale;
    }
    let spread = if noise == Noise::Gaussian { scale.sqrt() } else { scale };
    let reach = (60.0 * spread.max(1.0)) as i64 + 100;
    let p = |x: i64| {
        let x = x as f64;
        match noise {
            Noise::Gaussian => (-x * x / (2.0 * scale)).exp(),
            Noise::Laplace => (-x.abs() / scale).exp(),
        }
    };
    let (mut weight, mut square) = (0.0, 0.0);
    for x in -reach..=reach {
        weight += p(x);
        square += (x * x) as f64 * p(x);
    }
    square / weight
}

/// Noisy integers and exact counts in memory.
pub(crate) struct Memory {
    pub values: Vec<Vec<i64>>,
    pub exact: Vec<Vec<i64>>,
}

impl Source for Memory {
    fn values(&self, index: usize) -> Result<Integers, SourceError> {
        Ok(self.values[index].clone().into())
    }

    fn exact(&self, index: usize) -> Result<Vec<i64>, SourceError> {
        Ok(self.exact[index].clone())
    }
}

/// A small generator.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// A small random workload: two to four dimensions, some with one category, some with groups (equal and unequal), tables
/// of random levels and weights.
pub(crate) fn random(dice: &mut Dice) -> (Cube, Vec<Table>) {
    let dimensions: Vec<_> = (0..2 + dice.below(3))
        .map(|i| match dice.below(6) {
            0 => grouped(&format!("d{i}"), &[2, 2]),
            1 => grouped(&format!("d{i}"), &[1, 2]),
            _ => plain(&format!("d{i}"), 1 + dice.below(5)),
        })
        .collect();
    let cube = Cube { dimensions };
    let mut tables: Vec<Table> = Vec::new();
    for _ in 0..1 + dice.below(6) {
        let pairs = cube.dimensions.iter().enumerate().map(|(d, x)| (d, dice.below(x.levels.len())));
        let cuboid = Cuboid::new(pairs);
        if !tables.iter().any(|t| t.cuboid == cuboid) {
            let weight = Rational::new(1 + dice.below(5) as u128, 1 + dice.below(3) as u128).unwrap();
            tables.push(Table::new(cuboid, weight));
        }
    }
    (cube, tables)
}

/// These tables measured, with noise of different scales.
pub(crate) fn plan_of(cube: &Cube, tables: &[Cuboid], exact: &[Cuboid]) -> Plan {
    let workload = tables.iter().map(|c| Table::new(c.clone(), Rational::ONE));
    let measurements = tables.iter().enumerate().map(|(i, c)| Measurement {
        block: Block::Table(c.clone()),
        scale: Rational::new(5 + i as u128, 2).unwrap(),
    });
    Plan {
        noise: Noise::Laplace,
        budget: Rational::ONE,
        neighbours: Neighbours::AddRemove,
        max_rows: 1,
        measure: Measure::Queries,
        budgets: BudgetRule::Optimal,
        levels: Frame::levels_of(cube, tables.iter().chain(exact)),
        channels: vec![Channel::rows(workload.collect(), measurements.collect())],
        exact: exact.to_vec(),
        zeros: Vec::new(),
        copy: None,
    }
}
