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

use super::{Kind, Release, ReleaseError};
use crate::cube::{Cuboid, Frame, walsh};
use crate::exact::Rational;
use crate::plan::{Block, Noise, Plan};

/// The most dimensions.
pub const MAX_DIMENSIONS: usize = 4096;
/// The most levels of a dimension, total included.
pub const MAX_LEVELS: usize = 64;
/// The most nodes of a level.
pub const MAX_NODES: usize = 1 << 21;
/// The longest name or label, in bytes.
pub const MAX_TEXT: usize = 4096;
/// The most tables in the workload.
pub const MAX_TABLES: usize = 1 << 18;
/// The most measurements.
pub const MAX_MEASUREMENTS: usize = 1 << 18;
/// The most cells of a measured table.
pub const MAX_CELLS: u64 = 1 << 31;
/// The most values of one measurement: coefficients are more than cells, by less than one bit a dimension.
pub const MAX_VALUES: u64 = 1 << 32;
/// The most cells of a table that rows are written over.
pub const MAX_ROW_CELLS: u64 = 1 << 20;
/// The most tables published without noise: they are compared two by two.
pub const MAX_EXACT: u32 = 4096;
/// The most conditions, and the longest of them in bytes.
pub const MAX_ZEROS: u32 = 1024;
/// The longest condition, in bytes.
pub const MAX_CONDITION: u64 = 1 << 16;
/// Of so many values on, each takes at least one bit of the file.
pub const ALWAYS_A_BIT: usize = 64;

/// How many steps, each on one cell, may be spent on one system of equations over a file with this many values. What
/// needs more is refused: some seconds for a small file, and in proportion to the file for a large one.
pub const fn work(values: u64) -> u64 {
    (1u64 << 32).saturating_add(values.saturating_mul(4096))
}

/// The most numbers one vector over all components may have, for a file with this many values.
pub const fn held(values: u64) -> u64 {
    (1u64 << 25).saturating_add(values.saturating_mul(64))
}

/// Whether the sampler draws noise of this scale.
pub fn drawable(noise: Noise, scale: Rational) -> bool {
    !scale.is_zero() && scale <= noise.largest_scale()
}

/// Whether a text can be shown as it is: no control characters, and none that turn the direction of what follows.
pub fn is_plain(text: &str) -> bool {
    let turns =
        |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
    !text.chars().any(|c| c.is_control() || turns(c))
}

/// Whether all texts of a canonical JSON text are plain, but for line ends and tabs: descriptions may have those.
pub fn is_plain_json(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        // Canonical JSON writes control characters as \b, \f, \r, \u00xx, and nothing else like this.
        if b == b'\\' && matches!(bytes.next(), Some(b'b' | b'f' | b'r' | b'u')) {
            return false;
        }
    }
    is_plain(text.strip_suffix('\n').unwrap_or(text))
}

/// Refuses what a reader would refuse of a manifest's texts, before data is opened.
#[cfg(feature = "compile")]
pub(crate) fn check_texts(input: &super::ManifestInput) -> Result<(), ReleaseError> {
    let texts = (&input.about, &input.privacy, &input.plan, &input.declared, &input.attachments);
    match super::canonical::to_bytes(&texts) {
        Ok(written) if !is_plain_json(&written) => Err(ReleaseError::Manifest(NOT_PLAIN.into())),
        // What has no canonical form is refused where it is written.
        _ => Ok(()),
    }
}

/// Why a manifest with other texts is refused.
pub(super) const NOT_PLAIN: &str =
    "a text has control characters, or some that turn the direction of writing";

/// How many cells a table has; `None` when that does not fit. All levels must be in use.
pub fn cells(frame: &Frame, cuboid: &Cuboid) -> Option<u64> {
    cuboid.iter().try_fold(1u64, |n, (d, l)| n.checked_mul(frame.rung(d, l).real_len()))
}

/// How many values a block has; `None` when that does not fit. All levels must be in use.
pub fn values(frame: &Frame, block: &Block) -> Option<u64> {
    match block {
        Block::Component(a) | Block::Pairs(a) => a.iter().try_fold(1u64, |n, (d, l)| {
            let rung = frame.rung(d, l);
            n.checked_mul(rung.real_len().checked_sub(rung.siblings.len() as u64)?)
        }),
        Block::Walsh(a) => {
            a.iter().try_fold(1u64, |n, (d, l)| n.checked_mul(walsh::padded(frame.rung(d, l).real_len()) - 1))
        }
        Block::Rows(rows) => Some(rows.rows.len() as u64),
        Block::Table(b) => cells(frame, b),
    }
}

/// Refuses a block that is larger than any may be, or that holds nothing.
pub(super) fn check_block(frame: &Frame, block: &Block) -> Result<(), &'static str> {
    let most = if matches!(block, Block::Rows(_)) { MAX_ROW_CELLS } else { MAX_CELLS };
    if cells(frame, block.cuboid()).is_none_or(|n| n > most) {
        return Err("a measured table has more cells than any may have");
    }
    match values(frame, block) {
        None => Err("a measurement has more values than any may have"),
        Some(0) => Err("a measurement has no values"),
        Some(n) if n > MAX_VALUES => Err("a measurement has more values than any may have"),
        Some(_) => Ok(()),
    }
}

/// The fewest bytes that so many values of one block take.
pub const fn least_bytes(values: u64) -> u64 {
    if values < ALWAYS_A_BIT as u64 { 1 } else { 1 + values.div_ceil(8) }
}

/// Refuses a plan whose values the file has no room for, before anybody makes room for them. `exact` are the cells of the tables
/// published without noise, which have been compared with the file already.
pub(super) fn check_room(
    release: &Release,
    plan: &Plan,
    frame: &Frame,
    exact: u64,
) -> Result<(), ReleaseError> {
    let refuse = |why: String| Err(ReleaseError::Invalid { what: "measurements", why });
    let sections = super::packing::chunks(plan, frame);
    let found = release.count(Kind::Measurements) as usize;
    // A projection has no blocks; its integers are compared with its own size.
    if plan.measurements.is_empty() {
        return Ok(());
    }
    if found != sections.len() {
        return refuse(format!("{found} sections of measurements; the plan needs {}", sections.len()));
    }
    let mut total = exact;
    for (index, chunk) in sections.into_iter().enumerate() {
        let mut least = 0u64;
        for m in plan.measurements.get(chunk).unwrap_or_default() {
            let n = values(frame, &m.block).unwrap_or(u64::MAX);
            least = least.saturating_add(least_bytes(n));
            total = total.saturating_add(n);
        }
        let bytes = release.section_length(Kind::Measurements, index as u32)?;
        if bytes < least {
            return refuse(format!("section {index} has {bytes} bytes; its values take at least {least}"));
        }
    }
    // What is measured must be part of something that is wholly there: see the head of this file.
    let too_large = |m: &&crate::plan::Measurement| {
        !matches!(m.block, Block::Rows(_)) && cells(frame, m.block.cuboid()).is_none_or(|n| n > total)
    };
    match plan.measurements.iter().find(too_large) {
        Some(_) => refuse("a part of a table is measured whose other parts are not in the file".into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts() {
        for good in ["", "20–39", "it's \"q\"", "naïve 日本 עברית", "a\u{200f}b"] {
            assert!(is_plain(good), "{good:?}");
        }
        for bad in
            ["\x1b[2J", "a\tb", "a\nb", "\u{9b}1m", "\x7f", "a\u{202e}b", "\u{2066}x", "\0", "a\u{2028}b"]
        {
            assert!(!is_plain(bad), "{bad:?}");
        }
    }

    #[test]
    fn plain_json() {
        let written = |t: &str| crate::release::canonical::to_bytes(&[t]).unwrap();
        for good in ["a", "two\nlines\tand \\ back \\u001b slashes", "naïve"] {
            assert!(is_plain_json(&written(good)), "{good:?}");
        }
        for bad in ["\x1b[2J", "\r", "\x08", "\0", "\u{9b}", "\u{202e}", "\x7f", "\x0c"] {
            assert!(!is_plain_json(&written(bad)), "{bad:?}");
        }
        assert!(!is_plain_json(b"\xff"));
    }

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
