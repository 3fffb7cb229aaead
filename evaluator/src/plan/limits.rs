//! How large what a file declares may be, and how much work reading it may take: all bounds in one place.
//!
//! Whoever has a key can sign any numbers, so a good signature makes no number harmless. Every size is compared with
//! its bound here before anything is allocated for it, and writers keep to the same bounds. (The caps of header and table
//! are in `layout`.)
//!
//! One rule makes most of the others unnecessary: **a block of 64 values or more has at least one bit for each**, so a file
//! has at most 63 values for each of its bytes. Of whole tables, what a release can tell has no more cells than the file
//! has values: a table is the direct sum of its components, and each component has at least one value that is its own.
//! So memory is bounded by the file, and what takes several passes over the cells has a bound of its own, [`work`].

use super::Noise;
use crate::cube::{Cuboid, Frame};
use crate::exact::Rational;

/// The most dimensions.
pub(crate) const MAX_DIMENSIONS: usize = 4096;
/// The most levels of a dimension, total included.
pub(crate) const MAX_LEVELS: usize = 64;
/// The most nodes of a level.
pub(crate) const MAX_NODES: usize = 1 << 24;
/// The longest name or label, in bytes.
pub const MAX_TEXT: usize = 4096;
/// The most tables in the workload.
pub(crate) const MAX_TABLES: usize = 1 << 18;
/// The most measurements.
pub const MAX_MEASUREMENTS: usize = 1 << 18;
/// The most cells of a measured table.
pub const MAX_CELLS: u64 = 1 << 34;
/// The most values of one measurement: coefficients are more than cells, by less than one bit a dimension.
pub(crate) const MAX_VALUES: u64 = 1 << 35;
/// The most cells of a table that rows are written over.
pub(crate) const MAX_ROW_CELLS: u64 = 1 << 20;
/// The most tables published without noise: they are compared two by two.
pub(crate) const MAX_EXACT: u32 = 4096;
/// The most conditions, and the longest of them in bytes.
pub(crate) const MAX_ZEROS: u32 = 1024;
/// The longest condition, in bytes.
pub const MAX_CONDITION: u64 = 1 << 16;
/// Of so many values on, each takes at least one bit of the file.
pub(crate) const ALWAYS_A_BIT: usize = 64;

/// How many steps, each on one cell, may be spent on one system of equations over a file with this many values. What
/// needs more is refused: some seconds for a small file, and in proportion to the file for a large one.
pub(crate) const fn work(values: u64) -> u64 {
    (1u64 << 32).saturating_add(values.saturating_mul(4096))
}

/// The most numbers one vector over all components may have, for a file with this many values.
pub(crate) const fn held(values: u64) -> u64 {
    (1u64 << 25).saturating_add(values.saturating_mul(64))
}

/// Whether the sampler draws noise of this scale.
pub(crate) fn drawable(noise: Noise, scale: Rational) -> bool {
    !scale.is_zero() && scale <= noise.largest_scale()
}

/// How many cells a table has; `None` when that does not fit. All levels must be in use.
pub fn cells(frame: &Frame, cuboid: &Cuboid) -> Option<u64> {
    cuboid.iter().try_fold(1u64, |n, level| n.checked_mul(frame.rung(level).real_len()))
}

/// The fewest bytes that so many values of one block take.
pub(crate) const fn least_bytes(values: u64) -> u64 {
    if values < ALWAYS_A_BIT as u64 { 1 } else { 1 + values.div_ceil(8) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales() {
        let r = |t: &str| t.parse::<Rational>().unwrap();
        assert!(
            drawable(Noise::Gaussian, Noise::Gaussian.largest_scale())
                && drawable(Noise::Laplace, Noise::Laplace.largest_scale())
        );
        assert!(!drawable(Noise::Laplace, r("1099511627777")) && !drawable(Noise::Gaussian, Rational::ZERO));
        assert!(!drawable(Noise::Gaussian, Noise::Gaussian.largest_scale().checked_add(r("1/3")).unwrap()));
    }
}
