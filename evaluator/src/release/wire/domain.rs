//! The domain section: dimensions, levels and labels.

use super::rule;
use crate::cube;
use crate::plan::limits::{MAX_DIMENSIONS, MAX_LEVELS, MAX_NODES, MAX_TEXT};
use crate::release::ReleaseError;
use crate::release::codec::{self, Cursor};
use crate::release::texts::is_plain;
use std::collections::HashSet;
use wincode::SchemaWrite;

const WHAT: &str = "the domain";

#[derive(SchemaWrite)]
enum Bound {
    #[wincode(tag = 0)]
    None,
    #[wincode(tag = 1)]
    HalfOpen { lo: f64, hi: f64 },
    #[wincode(tag = 2)]
    Closed { lo: f64, hi: f64 },
}

impl From<&Option<cube::Bounds>> for Bound {
    fn from(bounds: &Option<cube::Bounds>) -> Bound {
        match *bounds {
            None => Bound::None,
            Some(cube::Bounds { lo, hi, closed: false }) => Bound::HalfOpen { lo, hi },
            Some(cube::Bounds { lo, hi, closed: true }) => Bound::Closed { lo, hi },
        }
    }
}

/// The bytes of the domain section: a list of dimensions, each with its name and its levels but total, which is the same for every one. A cube that
/// a reader would refuse is refused here. There may be millions of labels, so no tree of copies is made of them.
pub fn encode_domain(cube: &cube::Cube) -> Result<Vec<u8>, ReleaseError> {
    check(cube)?;
    let mut out = codec::encode(WHAT, &(cube.dimensions.len() as u64))?;
    for dimension in &cube.dimensions {
        out.extend(codec::encode(WHAT, &dimension.name)?);
        out.extend(codec::encode(WHAT, &(dimension.levels.len() as u64 - 1))?);
        for level in dimension.levels.iter().skip(1) {
            let bounds: Vec<Bound> = level.bounds.iter().map(Bound::from).collect();
            out.extend(codec::encode(WHAT, &level.name)?);
            out.extend(codec::encode(WHAT, &(level.labels.len() as u64))?);
            for label in &level.labels {
                out.extend(codec::encode(WHAT, label)?);
            }
            out.extend(codec::encode(WHAT, &level.parent)?);
            out.extend(codec::encode(WHAT, &bounds)?);
        }
    }
    Ok(out)
}

/// The cube of a domain section.
pub fn decode_domain(bytes: &[u8]) -> Result<cube::Cube, ReleaseError> {
    let mut cursor = Cursor::new(WHAT, bytes);
    let dimensions = list(&mut cursor, |cursor| {
        let name = cursor.text()?;
        let own = list(cursor, level)?;
        let levels = std::iter::once(cube::Categories::total()).chain(own).collect();
        Ok(cube::Dimension::new(name, levels))
    })?;
    cursor.end()?;
    let cube = cube::Cube { dimensions };
    check(&cube)?;
    Ok(cube)
}

/// A list of what takes a byte at least, each: memory is made as it is filled, but where so little of it is meant that it need not be.
fn list<T>(
    cursor: &mut Cursor,
    mut item: impl FnMut(&mut Cursor) -> Result<T, ReleaseError>,
) -> Result<Vec<T>, ReleaseError> {
    let length = cursor.length()?;
    let mut out = Vec::with_capacity(length.min(1 << 10));
    for _ in 0..length {
        out.push(item(cursor)?);
    }
    out.shrink_to_fit();
    Ok(out)
}

fn level(cursor: &mut Cursor) -> Result<cube::Categories, ReleaseError> {
    Ok(cube::Categories {
        name: cursor.text()?,
        labels: list(cursor, |cursor| cursor.text())?,
        parent: list(cursor, |cursor| cursor.whole())?,
        bounds: list(cursor, |cursor| {
            let tag = cursor.byte()?;
            if tag == 0 {
                return Ok(None);
            }
            let bounds = cube::Bounds { lo: cursor.float()?, hi: cursor.float()?, closed: tag == 2 };
            if tag <= 2 { Ok(Some(bounds)) } else { Err(cursor.error(format!("there is no tag {tag}"))) }
        })?,
    })
}

fn check(cube: &cube::Cube) -> Result<(), ReleaseError> {
    rule(cube.dimensions.len() <= MAX_DIMENSIONS, WHAT, || {
        format!("it has more than {MAX_DIMENSIONS} dimensions")
    })?;
    distinct(cube.dimensions.iter().map(|d| d.name.as_str()), || "two dimensions have the same name".into())?;
    for dimension in &cube.dimensions {
        let name = &dimension.name;
        text(name)?;
        let levels = dimension.levels.len();
        rule((2..=MAX_LEVELS).contains(&levels), WHAT, || {
            format!("dimension {name:?} has {levels} levels, total included; 2 to {MAX_LEVELS} are possible")
        })?;
        rule(dimension.levels.first() == Some(&cube::Categories::total()), WHAT, || {
            format!("the first level of dimension {name:?} is not total")
        })?;
        let names = dimension.levels.iter().skip(1).map(|l| l.name.as_str());
        distinct(names, || format!("two levels of dimension {name:?} have the same name"))?;
        for (coarse, fine) in dimension.levels.iter().zip(dimension.levels.iter().skip(1)) {
            text(&fine.name)?;
            check_level(fine, coarse.len()).map_err(|e| match e {
                ReleaseError::Invalid { what, why } => ReleaseError::Invalid {
                    what,
                    why: format!("level {:?} of dimension {name:?}: {why}", fine.name),
                },
                other => other,
            })?;
        }
    }
    Ok(())
}

fn check_level(level: &cube::Categories, parents: usize) -> Result<(), ReleaseError> {
    let nodes = level.len();
    rule((1..=MAX_NODES).contains(&nodes), WHAT, || format!("{nodes} nodes; 1 to {MAX_NODES} are possible"))?;
    level.labels.iter().try_for_each(|label| text(label))?;
    distinct(level.labels.iter().map(String::as_str), || "two nodes have the same label".into())?;
    rule(level.parent.len() == nodes, WHAT, || "not every node has a parent".into())?;
    let mut has_child = vec![false; parents];
    for &parent in &level.parent {
        match has_child.get_mut(parent as usize) {
            Some(child) => *child = true,
            None => rule(false, WHAT, || "a node's parent does not exist".into())?,
        }
    }
    rule(has_child.iter().all(|&c| c), WHAT, || "a node of the level above has no children".into())?;
    rule(level.bounds.is_empty() || level.bounds.len() == nodes, WHAT, || {
        "some nodes have no entry for their numbers".into()
    })?;
    // Also false when either is not a number.
    let ordered = level.bounds.iter().flatten().all(|b| b.lo <= b.hi);
    rule(ordered, WHAT, || "a node's smallest number is above its largest".into())
}

fn text(text: &str) -> Result<(), ReleaseError> {
    rule(text.len() <= MAX_TEXT, WHAT, || format!("a name or label is longer than {MAX_TEXT} bytes"))?;
    rule(is_plain(text), WHAT, || {
        format!(
            "the name or label {text:?} has a control character, or one that turns the direction of writing"
        )
    })
}

/// Refuses a name that is there twice. Names of areas are mostly in order, and then neighbours tell it: a table of a million of them takes longer
/// than all else that is read.
fn distinct<'a>(
    names: impl ExactSizeIterator<Item = &'a str> + Clone,
    why: impl FnOnce() -> String,
) -> Result<(), ReleaseError> {
    let ascend = names.clone().zip(names.clone().skip(1)).all(|(one, next)| one < next);
    let mut seen = HashSet::with_capacity(if ascend { 0 } else { names.len() });
    let mut names = names;
    rule(ascend || names.all(|n| seen.insert(n)), WHAT, why)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use cube::{Bounds, Categories, Cube};
    use proptest::prelude::*;

    /// Sex, and age with a band; the band's nodes and one age have numbers.
    pub(crate) fn example() -> Cube {
        let labels = |l: &[&str]| l.iter().map(ToString::to_string).collect::<Vec<_>>();
        let age = |lo, hi| Some(Bounds { lo, hi, closed: true });
        let sex = cube::Dimension::plain("sex", labels(&["f", "m"]));
        let band = Categories {
            name: "band".into(),
            labels: labels(&["young", "old", "unknown"]),
            parent: vec![0, 0, 0],
            bounds: vec![age(0.0, 1.0), Some(Bounds { lo: 2.0, hi: f64::INFINITY, closed: false }), None],
        };
        let fine = Categories {
            name: "age".into(),
            labels: labels(&["0", "1", "2", "?"]),
            parent: vec![0, 0, 1, 2],
            bounds: vec![age(0.0, 0.0), age(1.0, 1.0), age(2.0, 2.0), None],
        };
        let age = cube::Dimension::new("age", vec![Categories::total(), band, fine]);
        Cube { dimensions: vec![sex, age] }
    }

    #[test]
    fn bytes_are_pinned() {
        let cube = Cube { dimensions: vec![cube::Dimension::plain("s", vec!["f".into(), "m".into()])] };
        let want = [
            1, // one dimension
            1, b's', // its name
            1,    // one level besides total
            1, b's', // its name
            2, 1, b'f', 1, b'm', // its labels
            2, 0, 0, // their parents
            0, // no numbers
        ];
        assert_eq!(encode_domain(&cube).unwrap(), want);
        assert_eq!(decode_domain(&want).unwrap(), cube);
    }

    #[test]
    fn round_trip() {
        let bytes = encode_domain(&example()).unwrap();
        assert_eq!(decode_domain(&bytes).unwrap(), example());
        for end in 0..bytes.len() {
            assert!(decode_domain(&bytes[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn broken_domains_are_refused() {
        type Damage = fn(&mut Cube);
        let breaks: [(&str, Damage); 14] = [
            ("same name", |c| c.dimensions[1].name = "sex".into()),
            ("levels", |c| c.dimensions[0].levels.truncate(1)),
            ("not total", |c| c.dimensions[0].levels[0].labels[0] = "all".into()),
            ("same name", |c| c.dimensions[1].levels[1].name = "age".into()),
            ("same label", |c| c.dimensions[0].levels[1].labels[1] = "f".into()),
            ("0 nodes", |c| c.dimensions[0].levels[1].labels.clear()),
            ("has a parent", |c| c.dimensions[0].levels[1].parent.push(0)),
            ("does not exist", |c| c.dimensions[1].levels[2].parent[0] = 3),
            ("no children", |c| c.dimensions[1].levels[2].parent[3] = 0),
            ("no entry", |c| c.dimensions[1].levels[2].bounds.truncate(1)),
            ("above its largest", |c| {
                c.dimensions[1].levels[2].bounds[0] = Some(Bounds { lo: f64::NAN, hi: 1.0, closed: true });
            }),
            ("control character", |c| c.dimensions[0].levels[1].labels[0] = "\x1b[2J".into()),
            ("control character", |c| c.dimensions[0].name = "a\u{202e}b".into()),
            ("longer than", |c| c.dimensions[0].levels[1].labels[0] = "x".repeat(MAX_TEXT + 1)),
        ];
        for (why, damage) in breaks {
            let mut cube = example();
            damage(&mut cube);
            let error = encode_domain(&cube).unwrap_err().to_string();
            assert!(error.contains(why), "{error:?} does not say {why:?}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(bytes: Vec<u8>) {
            let _ = decode_domain(&bytes);
        }

        /// Damage is refused, or is another domain that encodes to just these bytes.
        #[test]
        fn one_encoding(at in any::<prop::sample::Index>(), byte: u8) {
            let mut bytes = encode_domain(&example()).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(cube) = decode_domain(&bytes) {
                prop_assert_eq!(encode_domain(&cube).unwrap(), bytes);
            }
        }
    }
}
