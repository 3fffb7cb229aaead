//! The workload section: what is asked of the plan's tables beyond their cells. It is there where anything is.
//!
//! Nothing that is measured or recovered depends on it, so a reader that does not know it answers as well: it says what the plan was made for.

use super::rule;
use crate::cube::Cube;
use crate::plan::limits::MAX_CONDITION;
use crate::plan::{Asks, Plan, Ranges};
use crate::release::texts::is_plain;
use crate::release::{ReleaseError, codec};
use wincode::{SchemaRead, SchemaWrite};

const WHAT: &str = "the workload";

/// What is asked of one table of the plan, by its number there.
#[derive(SchemaWrite, SchemaRead)]
struct Entry {
    table: u32,
    asks: StoredAsks,
}

#[derive(SchemaWrite, SchemaRead)]
enum StoredAsks {
    #[wincode(tag = 1)]
    Product(Vec<Side>),
    #[wincode(tag = 2)]
    Query(String),
}

#[derive(SchemaWrite, SchemaRead)]
struct Side {
    dimension: u16,
    asked: StoredAsked,
}

#[derive(SchemaWrite, SchemaRead)]
enum StoredAsked {
    #[wincode(tag = 1)]
    Prefixes,
    #[wincode(tag = 2)]
    Ranges,
    #[wincode(tag = 3)]
    Total,
    #[wincode(tag = 4)]
    Intervals(Vec<Ends>),
}

#[derive(SchemaWrite, SchemaRead)]
struct Ends {
    first: u32,
    last: u32,
}

impl From<&Ranges> for StoredAsked {
    fn from(asked: &Ranges) -> StoredAsked {
        match asked {
            Ranges::Prefixes => StoredAsked::Prefixes,
            Ranges::All => StoredAsked::Ranges,
            Ranges::Total => StoredAsked::Total,
            // Single nodes are the cells, which no side names.
            Ranges::Cells => StoredAsked::Intervals(Vec::new()),
            Ranges::Intervals(list) => {
                StoredAsked::Intervals(list.iter().map(|&(first, last)| Ends { first, last }).collect())
            }
        }
    }
}

impl From<StoredAsked> for Ranges {
    fn from(asked: StoredAsked) -> Ranges {
        match asked {
            StoredAsked::Prefixes => Ranges::Prefixes,
            StoredAsked::Ranges => Ranges::All,
            StoredAsked::Total => Ranges::Total,
            StoredAsked::Intervals(list) => {
                Ranges::Intervals(list.into_iter().map(|e| (e.first, e.last)).collect())
            }
        }
    }
}

/// The bytes of the section; `None` where just cells are asked for.
pub fn encode_workload(plan: &Plan, cube: &Cube) -> Result<Option<Vec<u8>>, ReleaseError> {
    let asked = plan.rows().workload.iter().zip(0u32..).filter(|(t, _)| !t.asks.is_cells());
    let entries: Vec<Entry> = asked
        .map(|(t, table)| {
            let asks = match &t.asks {
                Asks::Query(text) => StoredAsks::Query(text.clone()),
                Asks::Product(of) => StoredAsks::Product(
                    of.iter().map(|(d, asked)| Side { dimension: *d, asked: asked.into() }).collect(),
                ),
            };
            Entry { table, asks }
        })
        .collect();
    if entries.is_empty() {
        return Ok(None);
    }
    check(plan, cube)?;
    codec::encode(WHAT, &entries).map(Some)
}

/// Puts what the section says into the plan of the plan section.
pub(crate) fn decode_workload(bytes: &[u8], plan: &mut Plan, cube: &Cube) -> Result<(), ReleaseError> {
    let entries: Vec<Entry> = codec::decode(WHAT, bytes)?;
    rule(!entries.is_empty(), WHAT, || "it says nothing".into())?;
    rule(entries.windows(2).all(|w| w[0].table < w[1].table), WHAT, || "its tables do not ascend".into())?;
    for Entry { table, asks } in entries {
        let own = plan.rows_mut().workload.get_mut(table as usize);
        let own = own.ok_or(ReleaseError::Invalid {
            what: WHAT,
            why: "it names a table that does not exist".into(),
        })?;
        own.asks = match asks {
            StoredAsks::Query(text) => Asks::Query(text),
            StoredAsks::Product(sides) => {
                Asks::Product(sides.into_iter().map(|s| (s.dimension, s.asked.into())).collect())
            }
        };
        rule(!own.asks.is_cells(), WHAT, || "it asks for just the cells of a table".into())?;
    }
    check(plan, cube)
}

/// What is asked exists in the tables. A query is text here, such as the conditions are: it is read where the spec is.
fn check(plan: &Plan, cube: &Cube) -> Result<(), ReleaseError> {
    for t in &plan.rows().workload {
        if let Asks::Query(text) = &t.asks {
            let sound = !text.is_empty() && text.len() as u64 <= MAX_CONDITION;
            rule(sound && is_plain(&text.replace(['\n', '\t'], " ")), WHAT, || {
                "a query is empty, too long, or has control characters".into()
            })?;
            continue;
        }
        let nodes = |d: usize, l: usize| {
            cube.dimensions.get(d).and_then(|d| d.levels.get(l)).map_or(0, |level| level.len())
        };
        t.asks.check(&t.cuboid, nodes).or_else(|why| rule(false, WHAT, || why.into()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cube, plan};
    use super::*;

    fn asking(asks: Asks) -> Plan {
        let mut plan = plan();
        plan.rows_mut().workload[0].asks = asks;
        plan
    }

    #[test]
    fn bytes_are_pinned() {
        assert_eq!(encode_workload(&plan(), &cube()).unwrap(), None);
        // age is dimension 1, with 0 to 2 at its finest level.
        let list = Ranges::Intervals(vec![(0, 1), (1, 1)]);
        for (asked, bytes) in [
            (Ranges::Prefixes, &[1u8][..]),
            (Ranges::All, &[2]),
            (Ranges::Total, &[3]),
            (list, &[4, 2, 0, 1, 1, 1]),
        ] {
            let plan = asking(Asks::product(vec![(1, asked)]));
            let want = [&[1u8, 0, 1, 1, 1], bytes].concat();
            assert_eq!(encode_workload(&plan, &cube()).unwrap().unwrap(), want);
            let mut back = super::super::tests::plan();
            decode_workload(&want, &mut back, &cube()).unwrap();
            assert_eq!(back, plan);
            for end in 0..want.len() {
                assert!(decode_workload(&want[..end], &mut super::super::tests::plan(), &cube()).is_err());
            }
        }
        let plan = asking(Asks::Query("SELECT 1".into()));
        let want = [&[1u8, 0, 2, 8], &b"SELECT 1"[..]].concat();
        assert_eq!(encode_workload(&plan, &cube()).unwrap().unwrap(), want);
        let mut back = super::super::tests::plan();
        decode_workload(&want, &mut back, &cube()).unwrap();
        assert_eq!(back, plan);
    }

    #[test]
    fn broken_ones_are_refused() {
        let refused: [&[u8]; 12] = [
            &[0],
            &[1, 1, 1, 1, 1, 2],
            &[2, 0, 1, 1, 1, 2, 0, 1, 1, 1, 2],
            &[1, 0, 1, 0],
            &[1, 0, 1, 1, 7, 2],
            &[1, 0, 1, 1, 1, 5],
            &[1, 0, 1, 1, 1, 4, 0],
            &[1, 0, 1, 1, 1, 4, 1, 0, 200],
            &[1, 0, 1, 1, 1, 4, 1, 1, 0],
            &[1, 0, 1, 2, 1, 2, 0, 2],
            &[1, 0, 2, 0],
            &[1, 0, 2, 2, 65, 7],
        ];
        for bytes in refused {
            assert!(decode_workload(bytes, &mut plan(), &cube()).is_err(), "{bytes:?}");
        }
    }
}
