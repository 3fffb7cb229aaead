//! How many integers and which noise: what is decided before data is seen.
//!
//! In units of single counts, `v_i = Σ_j a_ij x_j + z_i` with `a_ij = ±1`. The estimate of `⟨q, x⟩` for m cells
//! is `⟨A q, v⟩/T`, unbiased, with variance
//! `(‖q‖²‖x‖² + ⟨q,x⟩² − 2Σ q_j²x_j²)/T + ‖q‖² var(z)/T`. The column of a unit has squared norm exactly `T`, so
//! Gaussian noise of ρ needs `var(z) = T/(2ρ)`: the second term is `m/(2ρ)` whatever T is, the noise a table would have, and
//! the first falls with T. That is all there is to choosing T.

use super::class::{self, Row};
use super::signs;
use crate::exact::Rational;
use crate::plan::{Neighbours, Noise};

/// The most integers.
pub const MAX_VALUES: u64 = 1 << 22;
/// The most cells of one query.
pub const MAX_SPARSITY: u32 = 1 << 20;

/// How counts are summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Every count is in every sum, with a random sign.
    Dense {
        /// How many sums.
        rows: u32,
    },
    /// Each row drops every count into one of its buckets, with a random sign.
    Sketch {
        /// How many rows, each with its own hash.
        rows: u32,
        /// How many buckets a row has: a power of two.
        buckets: u32,
    },
}

impl Shape {
    /// How many integers.
    pub fn values(self) -> u64 {
        match self {
            Shape::Dense { rows } => rows.into(),
            Shape::Sketch { rows, buckets } => u64::from(rows) * u64::from(buckets),
        }
    }

    /// How many of them one count is in: the squared norm of a column.
    pub fn column(self) -> u64 {
        match self {
            Shape::Dense { rows } | Shape::Sketch { rows, .. } => rows.into(),
        }
    }

    /// The bits a cell number may have: a dense point also holds the block.
    pub fn cell_bits(self) -> u32 {
        match self {
            Shape::Dense { rows } => 64 - signs::block_bits(rows.into()),
            Shape::Sketch { .. } => 64,
        }
    }

    /// `dense` or `sketch`.
    pub const fn name(self) -> &'static str {
        match self {
            Shape::Dense { .. } => "dense",
            Shape::Sketch { .. } => "sketch",
        }
    }
}

/// Everything that decides a projection but the seed, the data and the noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// Dense or sketch, and how large.
    pub shape: Shape,
    /// The dimensions of the key, in their order in the spec.
    pub key: Vec<u16>,
    /// Which of them hold any text, parallel to `key`.
    pub text: Vec<bool>,
    /// How many signs at once are independent.
    pub independence: u32,
    /// Which noise.
    pub noise: Noise,
    /// The parameter of the integer noise: the variance parameter s² of a Gaussian, the scale b of a Laplace law.
    pub scale: Rational,
    /// The budget ρ.
    pub budget: Rational,
    /// The neighbour relation.
    pub neighbours: Neighbours,
    /// How many rows one unit may own.
    pub max_rows: u32,
    /// For how many queries all signs are to be good.
    pub queries: u64,
    /// With which probability they are not.
    pub failure: Rational,
    /// The most cells of one query.
    pub sparsity: u32,
    /// A declared, public bound of ‖x‖².
    pub norm_bound: Option<u64>,
}

/// What decides how many integers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// So many.
    Rows(u64),
    /// As many as fit so many bytes.
    Bytes(u64),
    /// As few as give a single cell this standard error.
    Error(Rational),
}

/// What a projection is made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The rows of a sketch; `None` is a dense projection.
    pub sketch: Option<u32>,
    /// The dimensions of the key.
    pub key: Vec<u16>,
    /// Which of them hold any text.
    pub text: Vec<bool>,
    /// How many integers.
    pub size: Size,
    /// The most cells of one query.
    pub sparsity: u32,
    /// How many queries.
    pub queries: u64,
    /// β.
    pub failure: Rational,
    /// Which noise.
    pub noise: Noise,
    /// The budget ρ.
    pub budget: Rational,
    /// The (ε, δ) the Laplace noise of the published algorithm is calibrated to.
    pub published: Option<(Rational, Rational)>,
    /// The neighbour relation.
    pub neighbours: Neighbours,
    /// How many rows one unit may own.
    pub max_rows: u32,
    /// A declared bound of ‖x‖².
    pub norm_bound: Option<u64>,
}

/// Why there is no design.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DesignError {
    /// Pure differential privacy.
    #[error(
        "a projection needs `rho`, or `epsilon` with `delta`: under pure differential privacy every row would need noise in proportion to their number"
    )]
    PureEpsilon,
    /// The published noise has no (ε, δ) to start from.
    #[error(
        "`noise = \"laplace\"` is the published algorithm, which needs `epsilon` and `delta` in [privacy]"
    )]
    LaplaceNeedsDelta,
    /// No number of rows reaches the error.
    #[error(
        "no number of rows gives a standard error of {asked}: the noise alone has {floor:.1} at this budget"
    )]
    ErrorBelowNoise {
        /// What was asked for.
        asked: Rational,
        /// What the noise has.
        floor: f64,
    },
    /// Too few or too many integers.
    #[error(
        "{0} rows; a projection has at least {1} and at most {MAX_VALUES}: ask for another size or error"
    )]
    Rows(u64, u64),
    /// A scale out of range.
    #[error("no noise that can be drawn fits this budget")]
    Scale,
}

/// ‖x‖² where the spec declares nothing: for predictions only, and shown as assumed.
pub(crate) const ASSUMED_NORM: u64 = 1_000_000;

/// Rows of a sketch unless the spec names them: enough for a 99 % interval from the rows' order alone.
pub const SKETCH_ROWS: u32 = 16;

impl Request {
    /// The largest change of one integer by a unit.
    fn change(&self) -> f64 {
        f64::from(self.max_rows) * if self.neighbours == Neighbours::Substitute { 2.0 } else { 1.0 }
    }

    fn norm(&self) -> f64 {
        self.norm_bound.unwrap_or(ASSUMED_NORM) as f64
    }

    /// var(z) divided by the squared norm of a column: the noise of a single cell.
    fn noise_of_cell(&self) -> Result<f64, DesignError> {
        let c = self.change();
        match (self.noise, self.published) {
            (Noise::Gaussian, _) => Ok(c * c / (2.0 * self.budget.to_f64())),
            (Noise::Laplace, Some((epsilon, delta))) => {
                let b = c * libm::sqrt(8.0 * -libm::log(delta.to_f64())) / epsilon.to_f64();
                Ok(2.0 * b * b)
            }
            (Noise::Laplace, None) => Err(DesignError::LaplaceNeedsDelta),
        }
    }

    /// The design.
    pub fn design(&self) -> Result<Design, DesignError> {
        let noise = self.noise_of_cell()?;
        let wanted = match self.size {
            Size::Rows(rows) => rows,
            Size::Bytes(bytes) => {
                // More integers are wider integers: the largest number that still fits.
                let fits = |n: u64| self.bytes(n, noise) <= bytes;
                let (mut lo, mut hi) = (0, MAX_VALUES + 1);
                while hi - lo > 1 {
                    let mid = lo + (hi - lo) / 2;
                    if fits(mid) { lo = mid } else { hi = mid }
                }
                lo / 64 * 64
            }
            Size::Error(asked) => {
                let left = asked.to_f64() * asked.to_f64() - noise;
                if left <= 0.0 {
                    return Err(DesignError::ErrorBelowNoise { asked, floor: libm::sqrt(noise) });
                }
                libm::ceil(self.norm() / left).min(1e18) as u64
            }
        };
        let shape = match self.sketch {
            None => Shape::Dense { rows: checked(wanted.max(64).next_multiple_of(64), 64)? },
            Some(rows) => {
                let least = u64::from(rows) * 16;
                let buckets = (wanted.max(least) / u64::from(rows)).max(1);
                // A power of two: above what an error needs, below what a size allows.
                let buckets = match self.size {
                    Size::Bytes(_) => 1u64 << buckets.ilog2(),
                    _ => wanted.max(least).div_ceil(u64::from(rows)).next_power_of_two(),
                };
                checked(buckets * u64::from(rows), least)?;
                Shape::Sketch { rows, buckets: checked(buckets, 1)? }
            }
        };
        // A hair upwards, so that rounding never takes the cost over the budget.
        let variance = noise * shape.column() as f64 * (1.0 + 1e-12);
        let scale = self.noise.scale_of(variance);
        let independence = signs::independence(self.queries, shape.values(), self.failure.to_f64());
        Ok(Design {
            shape,
            key: self.key.clone(),
            text: self.text.clone(),
            independence,
            noise: self.noise,
            scale: crate::plan::round_up(scale).ok_or(DesignError::Scale)?,
            budget: self.budget,
            neighbours: self.neighbours,
            max_rows: self.max_rows,
            queries: self.queries,
            failure: self.failure,
            sparsity: self.sparsity,
            norm_bound: self.norm_bound,
        })
    }

    /// The bytes of n packed integers with this noise: the widest of n draws, with a sign.
    fn bytes(&self, n: u64, noise_of_cell: f64) -> u64 {
        let column = match self.sketch {
            None => n as f64,
            Some(rows) => f64::from(rows),
        };
        let spread = match self.sketch {
            None => self.norm(),
            Some(_) => self.norm() * column / (n as f64).max(1.0),
        };
        packed_bytes(n, noise_of_cell * column + spread)
    }
}

fn checked(rows: u64, least: u64) -> Result<u32, DesignError> {
    u32::try_from(rows)
        .ok()
        .filter(|_| (least..=MAX_VALUES).contains(&rows))
        .ok_or(DesignError::Rows(rows, least))
}

/// The bytes of n integers of this variance, packed.
fn packed_bytes(n: u64, variance: f64) -> u64 {
    let widest = libm::sqrt(variance * 2.0 * libm::log(2.0 * n.max(2) as f64));
    let bits = libm::ceil(libm::log2(2.0 * widest + 2.0));
    (n as f64 * bits / 8.0) as u64 + 1
}

impl Design {
    /// var(z), or a hair more: the parameter of the discrete Gaussian bounds its variance.
    pub fn noise_variance(&self) -> f64 {
        self.noise.variance(self.scale.to_f64())
    }

    /// The declared ‖x‖², or the one assumed for predictions.
    pub fn predicted_norm(&self) -> f64 {
        self.norm_bound.unwrap_or(ASSUMED_NORM) as f64
    }

    /// The predicted standard error of a query over m cells that hold little of the data.
    pub fn predicted_error(&self, cells: u64) -> f64 {
        let noise = self.noise_variance() / self.shape.column() as f64;
        libm::sqrt(cells as f64 * (self.predicted_norm() / self.shape.values() as f64 + noise))
    }

    /// About how many bytes the integers take.
    pub fn predicted_bytes(&self) -> u64 {
        let share = match self.shape {
            Shape::Dense { .. } => 1.0,
            Shape::Sketch { buckets, .. } => f64::from(buckets),
        };
        packed_bytes(self.shape.values(), self.noise_variance() + self.predicted_norm() / share)
    }

    /// α of the guarantee for the whole class of `queries` queries over at most so many cells: with probability at least 1 − β every
    /// answer is within α of the truth, as long as ‖x‖² is at most [`Design::predicted_norm`]. See [`Row::alpha`]. Of a sketch it is that of the
    /// mean of the rows, by Chebyshev's inequality, which four-wise independence is enough for.
    pub fn guarantee(&self, cells: u64) -> f64 {
        let ln_share = libm::log(self.queries as f64 / self.failure.to_f64());
        let (norm, scale) = (self.predicted_norm(), self.scale.to_f64());
        let row = Row { cells, norm, noise: self.noise, scale };
        match self.shape {
            Shape::Dense { rows } => row.alpha(rows, ln_share, self.independence),
            Shape::Sketch { buckets, .. } => {
                let one = Row { norm: norm / f64::from(buckets), ..row };
                class::chebyshev(ln_share) * libm::sqrt(one.variance() / self.shape.column() as f64)
            }
        }
    }

    /// The number of rows that the published worst-case bound asks for, with n rows of data, k queries of m cells and failure β:
    /// `T = 4·64² ln(4k/β) (m^{3/2}/2 + n⁴/(2√m) + √m n²)`, which is `(8192/√m)(n² + m)² ln(4k/β)`. n is the fewest rows of data that can have
    /// this ‖x‖².
    pub fn published_rows(&self) -> f64 {
        let (m, n2) = (f64::from(self.sparsity), self.predicted_norm());
        let log = libm::log(4.0 * self.queries as f64 / self.failure.to_f64());
        8192.0 / libm::sqrt(m) * (n2 + m) * (n2 + m) * log
    }
}

#[cfg(test)]
pub(crate) mod tests;
