//! Counting against a map from cells to counts.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::cube::{Categories, Dimension, NoValue, Quantity};
use crate::secret::ingest::Means;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Cell by cell, row by row.
fn naive(columns: &[Vec<u32>], len: usize, axes: &[Axis<'_>]) -> Vec<i64> {
    let mut map: HashMap<Vec<usize>, i64> = HashMap::new();
    let node = |axis: &Axis<'_>, row: usize| {
        let code = columns[axis.dimension][row];
        axis.ancestors.map_or(code, |up| up[code as usize]) as usize
    };
    (0..len).for_each(|row| *map.entry(axes.iter().map(|axis| node(axis, row)).collect()).or_default() += 1);
    let cells: usize = axes.iter().map(|axis| axis.nodes).product();
    let mut table = vec![0; cells];
    for (nodes, count) in map {
        let mut stride = cells;
        let at = nodes.iter().zip(axes).map(|(node, axis)| {
            stride /= axis.nodes;
            node * stride
        });
        table[at.sum::<usize>()] = count;
    }
    table
}

/// Nodes, columns and for every dimension a map to a coarser level.
#[derive(Debug)]
struct Data {
    nodes: Vec<u32>,
    columns: Vec<Vec<u32>>,
    coarse: Vec<(usize, Vec<u32>)>,
    len: usize,
}

fn data() -> impl Strategy<Value = Data> {
    // Around the block's length, and none at all; columns of all three widths.
    let len = prop_oneof![0usize..50, (BLOCK - 1)..=(BLOCK + 1), Just(2 * BLOCK + 7)];
    let size = prop_oneof![5 => 1u32..12, 1 => 250u32..300, 1 => Just(70_000u32)];
    (len, prop::collection::vec(size, 1..5)).prop_flat_map(|(len, nodes)| {
        let columns: Vec<_> = nodes.iter().map(|&n| prop::collection::vec(0..n, len)).collect();
        let coarse: Vec<_> = nodes
            .iter()
            .map(|&n| {
                (1u32..6).prop_flat_map(move |m| {
                    prop::collection::vec(0..m, n as usize).prop_map(move |up| (m as usize, up))
                })
            })
            .collect();
        (Just(nodes), columns, coarse, Just(len)).prop_map(|(nodes, columns, coarse, len)| Data {
            nodes,
            columns,
            coarse,
            len,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn counts_as_a_map_does(data in data(), picks in prop::collection::vec((0usize..5, any::<bool>()), 0..4)) {
        let rows = Rows::from_codes(&data.nodes, &data.columns).unwrap();
        let mut counter = Counter::new(&rows);
        let mut axes: Vec<Axis<'_>> = Vec::new();
        for (dimension, fine) in picks.into_iter().filter(|&(d, _)| d < data.nodes.len()) {
            let (nodes, up) = &data.coarse[dimension];
            axes.push(match fine {
                true => Axis { dimension, ancestors: None, nodes: data.nodes[dimension] as usize },
                false => Axis { dimension, ancestors: Some(up), nodes: *nodes },
            });
        }
        // Two columns of 70 000 nodes would not fit.
        if axes.iter().filter(|axis| axis.nodes > 1000).count() > 1 {
            axes.truncate(1);
        }
        let expected = naive(&data.columns, data.len, &axes);
        let first = counter.table(&axes).unwrap().into_cells();
        prop_assert_eq!(&*first, &expected);
        // A used counter, a fresh one, another thread: the same.
        prop_assert_eq!(&*counter.table(&axes).unwrap().into_cells(), &expected);
        let elsewhere = std::thread::scope(|s| s.spawn(|| table(&rows, &axes).unwrap().into_cells()).join().unwrap());
        prop_assert_eq!(&*elsewhere, &expected);
    }
}

#[test]
fn total_of_no_axes() {
    let rows = Rows::from_codes(&[3], &[vec![0, 2, 2, 1, 0]]).unwrap();
    assert_eq!(*table(&rows, &[]).unwrap().into_cells(), [5]);
    let none = Rows::from_codes(&[], &[]).unwrap();
    assert_eq!(*table(&none, &[]).unwrap().into_cells(), [0]);
}

#[test]
fn cuboids_of_a_cube() {
    let mut age = Dimension::plain("age", (0..4).map(|age| age.to_string()).collect());
    let band = Categories {
        name: "band".into(),
        labels: vec!["low".into(), "high".into()],
        parent: vec![0, 0],
        bounds: vec![],
    };
    age.levels.insert(1, band);
    age.levels[2].parent = vec![0, 0, 0, 1];
    let cube = Cube { dimensions: vec![Dimension::plain("sex", vec!["a".into(), "b".into()]), age] };
    let rows = Rows::from_codes(&[2, 4], &[vec![0, 0, 1, 1, 1], vec![0, 3, 2, 3, 3]]).unwrap();
    let mut counter = Counter::new(&rows);
    let mut count = |pairs: &[(usize, usize)]| {
        let counts = counter.cuboid(&cube, &Cuboid::new(pairs.to_vec()));
        counts.map(|counts| counts.into_cells().to_vec())
    };
    assert_eq!(count(&[]).unwrap(), [5]);
    assert_eq!(count(&[(1, 1), (0, 1)]).unwrap(), [1, 1, 1, 2]);
    assert_eq!(count(&[(1, 2)]).unwrap(), [1, 0, 1, 3]);
    assert_eq!(count(&[(0, 1), (1, 2)]).unwrap(), [1, 0, 0, 1, 0, 0, 1, 2]);
    assert_eq!(count(&[(1, 3)]), Err(CountError::Axis(0)));
    assert_eq!(count(&[(0, 1), (7, 1)]), Err(CountError::Axis(1)));
}

#[test]
fn axes_must_fit() {
    let rows = Rows::from_codes(&[3, 50_000, 50_000], &[vec![0], vec![0], vec![0]]).unwrap();
    let fail = |axes: &[Axis<'_>]| table(&rows, axes).unwrap_err();
    let axis = |dimension, ancestors, nodes| Axis { dimension, ancestors, nodes };
    assert_eq!(fail(&[axis(0, None, 2)]), CountError::Axis(0));
    assert_eq!(fail(&[axis(0, None, 3), axis(3, None, 1)]), CountError::Axis(1));
    assert_eq!(fail(&[axis(0, Some(&[0, 1]), 2)]), CountError::Axis(0));
    assert_eq!(fail(&[axis(0, Some(&[0, 1, 2]), 2)]), CountError::Axis(0));
    assert_eq!(fail(&[axis(1, None, 50_000), axis(2, None, 50_000)]), CountError::TooManyCells);
}

#[test]
fn debug_shows_nothing() {
    let rows = Rows::from_codes(&[2], &[vec![1; 31]]).unwrap();
    let counts = table(&rows, &[]).unwrap();
    assert_eq!(format!("{counts:?} {counts:#?}"), "Counts { <private> } Counts { <private> }");
}

/// A real file as category names and as codes: the same counts in every table of at most two dimensions.
#[test]
fn labelled_and_coded_files_count_alike() {
    use crate::secret::ingest::{read, tests as files};
    use crate::spec::Coding;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let Ok(names) = std::fs::read_to_string(folder.join("adult8.labels.json")) else {
        println!("skipped: there is no {}", folder.display());
        return;
    };
    let names: std::collections::BTreeMap<String, Vec<String>> = serde_json::from_str(&names).unwrap();
    let labelled =
        files::spec(names.iter().map(|(column, names)| {
            files::labels(column, &names.iter().map(String::as_str).collect::<Vec<_>>())
        }));
    let coded = files::spec(names.iter().map(|(column, names)| {
        files::column(column, names.len(), Coding::Range { lo: 0, hi: names.len() as i64 - 1 })
    }));
    let by_name = read(&labelled, &folder.join("adult8.labelled.csv"), &Means::default()).unwrap();
    let by_code = read(&coded, &folder.join("adult8.csv"), &Means::default()).unwrap();
    let (mut a, mut b) = (Counter::new(&by_name), Counter::new(&by_code));
    for i in 0..names.len() {
        for j in i..names.len() {
            let cuboid = Cuboid::new(vec![(i, 1), (j, 1)]);
            let counts = a.cuboid(&labelled.cube, &cuboid).unwrap().into_cells();
            assert_eq!(counts, b.cuboid(&coded.cube, &cuboid).unwrap().into_cells());
            assert_eq!(counts.iter().sum::<i64>(), 32_561);
        }
    }
}

/// Counted while the rows stream by, in any pieces on any number of threads, or from the rows that were kept: the same tables, at every level.
#[test]
fn streamed_and_kept_count_alike() {
    use crate::secret::ingest::{Settings, read, tests as files};
    use crate::spec::Coding;
    let mut columns = vec![
        files::labels("a", &["x", "y", "z"]),
        files::lenient(files::column("b", 4, Coding::Range { lo: 0, hi: 3 })),
        files::column("c", 50, Coding::Range { lo: 0, hi: 49 }),
    ];
    // Ten to a band.
    let bands = Categories {
        name: "band".into(),
        labels: (0..5).map(|b| b.to_string()).collect(),
        parent: vec![0; 5],
        bounds: vec![],
    };
    columns[2].0.levels.insert(1, bands);
    columns[2].0.levels[2].parent = (0..50).map(|n| n / 10).collect();
    let mut spec = files::spec(columns);
    spec.amounts = vec![pay("d", NoValue::Skip), pay("e", NoValue::Zero)];
    spec.amounts[1].clamping = Some(crate::exact::Rational::ONE);
    let added = Addend::all(&spec, spec.cube.dimensions.len());
    assert_eq!(added.len(), 7);
    let mut text = "c,a,b,e,d\n".to_owned();
    for row in 0..20_000usize {
        let at = row.wrapping_mul(0x9e37_79b9) >> 7;
        let pay = |of: usize| {
            if of.is_multiple_of(9) { String::new() } else { format!("{}.5", of as i64 % 60 - 10) }
        };
        text += &format!(
            "{},{},{},{},{}\n",
            at % 50,
            ["x", "y", "z"][at / 50 % 3],
            ["", "0", "1", "2", "3", "MARS"][at / 150 % 6],
            pay(at / 900),
            pay(at / 7)
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.csv");
    std::fs::write(&path, text).unwrap();
    let tables = [
        vec![],
        vec![(0, 1)],
        vec![(1, 1), (2, 1)],
        vec![(0, 1), (2, 2)],
        vec![(2, 1)],
        vec![(0, 1), (1, 1), (2, 2)],
    ];
    let tables = tables.map(Cuboid::new);
    let rows = read(&spec, &path, &Means::default()).unwrap();
    for wanted in [&tables[..], &tables[..2], &tables[2..5]] {
        let wanted: Vec<&Cuboid> = wanted.iter().collect();
        for (threads, block) in [(1, 1 << 18), (2, 1000), (8, 1)] {
            let data = super::Data::read_with(
                &spec,
                &spec.cube,
                &wanted,
                &path,
                &Means::default(),
                Settings { threads, block, memory: 1 << 20 },
            )
            .unwrap();
            assert_eq!(data.rows(), 20_000);
            let (mut streamed, mut kept) = (data.counter(), Counter::new(&rows));
            for table in &wanted {
                let expected = kept.cuboid(&spec.cube, table).unwrap().into_cells();
                assert_eq!(streamed.cuboid(&spec.cube, table).unwrap().into_cells(), expected);
                for &addend in &added {
                    let expected = kept.added(&spec.cube, table, addend).unwrap().into_cells();
                    assert!(expected.iter().any(|&n| n != 0));
                    assert_eq!(streamed.added(&spec.cube, table, addend).unwrap().into_cells(), expected);
                }
            }
        }
    }
    // Nothing that was not announced.
    let data =
        super::Data::read(&spec, &spec.cube, &[&tables[1]], (&path).into(), &Means::default()).unwrap();
    assert_eq!(data.counter().cuboid(&spec.cube, &tables[4]).err(), Some(CountError::NotCounted));
    assert_eq!(format!("{data:?}"), "Data { <private> }");
    assert!(data.into_rows().is_none());
}

/// A number of rows, from -3 to 40 in whole steps, that is summed with its squares.
fn pay(column: &str, missing: NoValue) -> crate::spec::AmountSpec {
    crate::spec::AmountSpec {
        quantity: Arc::new(Quantity {
            name: column.into(),
            low: -3,
            high: 40,
            step: 1,
            places: 0,
            missing,
            weighing: Default::default(),
            from: Default::default(),
            unit: None,
            description: None,
        }),
        columns: vec![column.into()],
        tables: vec![crate::plan::Table::new(Cuboid::total(), crate::exact::Rational::ONE)],
        square: true,
        unweighted: false,
        targets: Vec::new(),
        exact: Vec::new(),
        clamping: None,
    }
}

/// Counted somewhere else, rows add up to the same; and what no rows within the bounds can add up to is refused.
#[test]
fn sums_that_were_counted_elsewhere_are_those_of_the_rows() {
    use super::given::{column, fingerprint, levels, needed};
    use crate::secret::ingest::tests as files;
    use crate::spec::Coding;
    let of = |name: &str, hi| files::column(name, hi as usize + 1, Coding::Range { lo: 0, hi });
    let mut spec = files::spec(vec![of("a", 2), of("b", 3)]);
    spec.amounts = vec![pay("d", NoValue::Skip), pay("e", NoValue::Zero)];
    spec.amounts[1].clamping = Some(crate::exact::Rational::ONE);
    let wanted = [vec![(0, 1)], vec![(1, 1)]].map(Cuboid::new);
    let wanted: Vec<&Cuboid> = wanted.iter().collect();
    let tables = needed(&wanted).unwrap();
    let (levels, own) = (levels(&tables), fingerprint(&spec, &spec.cube, &tables));
    // Of each cell: rows, and of both numbers how many have it, its steps and their squares; of the second how many are beyond its ends.
    let mut cells: std::collections::BTreeMap<String, [i64; 9]> = Default::default();
    let mut text = "a,b,d,e\n".to_owned();
    for row in 0..3000usize {
        let at = row.wrapping_mul(0x9e37_79b9) >> 7;
        let node = [at % 3, at / 3 % 3];
        // Ends, halves and what is beyond.
        let halves = [at / 9, at / 100].map(|of| (!of.is_multiple_of(9)).then_some((of % 120) as i64 - 20));
        let written = |v: i64| format!("{}{}.{}", if v < 0 { "-" } else { "" }, v.abs() / 2, v.abs() % 2 * 5);
        let [d, e] = halves.map(|v| v.map_or(String::new(), written));
        text += &format!("{},{},{d},{e}\n", node[0], node[1]);
        // From −3 to 40, and of two whole numbers that are equally near the even one.
        let steps = |v: i64| {
            let (whole, half) = ((v + 6).div_euclid(2), (v + 6).rem_euclid(2));
            (whole + half * whole.rem_euclid(2)).clamp(0, 43)
        };
        let (d, e) = (halves[0].map(steps), halves[1].map_or(3, steps));
        let beyond = halves[1].map_or([false; 2], |v| [v < -6, v > 80]).map(i64::from);
        let d = [d.map_or(0, |_| 1), d.unwrap_or(0), d.unwrap_or(0).pow(2)];
        let adds = [1, d[0], d[1], d[2], 1, e, e * e, beyond[0], beyond[1]];
        for table in &tables {
            let place = |level: &Level| {
                table.iter().find(|l| l == level).map_or(String::new(), |l| node[l.dimension].to_string())
            };
            let place: Vec<String> = levels.iter().map(place).collect();
            cells
                .entry(place.join(","))
                .or_default()
                .iter_mut()
                .zip(adds)
                .for_each(|(sum, more)| *sum += more);
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let (path, counts) = (dir.path().join("rows.csv"), dir.path().join("counts.csv"));
    std::fs::write(&path, text).unwrap();
    let names: Vec<String> = levels.iter().map(|level| column(*level)).collect();
    let told =
        "valued1,steps1,squares1,valued2,steps2,squares2,below2,above2,impossible,cut,unread1,unread2,spec";
    let head = format!("{},n,{told}\n", names.join(","));
    let given = |change: &dyn Fn(&mut [i64; 9]), rest: &str| {
        let mut text = head.clone();
        for (at, (place, sums)) in cells.iter().enumerate() {
            let mut sums = *sums;
            // The last cell of the last table.
            if at + 1 == cells.len() {
                change(&mut sums);
            }
            let sums = sums.map(|n| n.to_string()).join(",");
            text += &format!("{place},{sums},{rest},{own}\n");
        }
        std::fs::write(&counts, text).unwrap();
        super::Data::given(&spec, &spec.cube, &wanted, &counts)
    };
    let data = given(&|_| {}, "0,0,0,0").unwrap();
    let rows = super::Data::read(&spec, &spec.cube, &wanted, (&path).into(), &Means::default()).unwrap();
    for table in wanted.iter().copied().chain([&Cuboid::total()]) {
        let counted = |data: &super::Data| data.counter().cuboid(&spec.cube, table).unwrap().into_cells();
        assert_eq!(counted(&data), counted(&rows));
        for addend in Addend::all(&spec, 2) {
            let added =
                |data: &super::Data| data.counter().added(&spec.cube, table, addend).unwrap().into_cells();
            assert_eq!(added(&data), added(&rows), "{addend:?}");
        }
    }
    let refused = |change: &dyn Fn(&mut [i64; 9]), rest: &str| given(change, rest).unwrap_err().to_string();
    let values = "another number of values than rows could have";
    let steps = "its steps are not those";
    let squares = "its squares are not those";
    for (at, to, why) in [
        (1, -1, values),
        (1, i64::MAX, values),
        (4, 0, "another number of values than rows"),
        (2, -1, steps),
        (2, i64::MAX, steps),
        (5, i64::MAX, steps),
        (3, i64::MAX, squares),
        (3, 0, squares),
        (6, -1, squares),
        (7, -1, "moved to an end"),
        (7, i64::MAX, "moved to an end"),
        (8, i64::MAX, "moved to an end"),
    ] {
        let said = refused(&|sums| sums[at] = to, "0,0,0,0");
        assert!(said.contains(why), "{said}");
    }
    // The smallest that could be: the tables do not agree.
    let said = refused(&|sums| sums[3] += 1, "0,0,0,0");
    assert!(said.contains(squares), "{said}");
    for at in [1, 3, 7, 8] {
        let said = refused(
            &|sums| {
                sums[at] += match at {
                    3 => 2,
                    _ if sums[at] > 0 => -1,
                    _ => 1,
                }
            },
            "0,0,0,0",
        );
        assert!(said.contains("do not agree"), "{said}");
    }
    assert!(refused(&|_| {}, "0,0,1,0").contains("whose d is empty"));
    assert!(refused(&|_| {}, "0,0,0,1").contains("whose e is empty"));
}

/// A tree of areas in the middle of two plain dimensions, cut into slices of very few cells: whether rows are kept or tables were counted, every slice
/// has the counts that the whole table has there.
#[test]
fn slices_are_parts_of_the_whole_table() {
    use crate::cube::Cube;
    use crate::plan::Block;
    use crate::secret::count::slice::{Shares, Starts, of_rows, of_table};
    let labels = |n: usize| (0..n).map(|v| v.to_string()).collect::<Vec<_>>();
    let level = |name: &str, parent: Vec<u32>| Categories {
        name: name.into(),
        labels: labels(parent.len()),
        parent,
        bounds: Vec::new(),
    };
    // Counties, tracts and blocks, none of them in the order of what they are in.
    let tracts: Vec<u32> = (0..23u32).map(|t| t * 5 % 7).collect();
    let blocks: Vec<u32> = (0..400u32).map(|b| b * 7 % 23).collect();
    let area = Dimension::new(
        "area",
        vec![Categories::total(), level("county", vec![0; 7]), level("tract", tracts), level("area", blocks)],
    );
    let cube =
        Cube { dimensions: vec![Dimension::plain("a", labels(3)), area, Dimension::plain("b", labels(2))] };
    let rows = 3 * BLOCK + 11;
    let column = |n: u32, k: u64| -> Vec<u32> {
        (0..rows as u64).map(|r| (r.wrapping_mul(k) >> 7) as u32 % n).collect()
    };
    let columns = [column(3, 911), column(400, 1_000_003), column(2, 77_777)];
    let mut kept = Rows::from_codes(&[3, 400, 2], &columns).unwrap();
    let frame = crate::cube::Frame::new(&cube, &[vec![0, 1], vec![0, 1, 2, 3], vec![0, 1]]);
    let starts = {
        let mut counter = Counter::new(&kept);
        let whole: Vec<Counts> = [2, 3]
            .map(|level| counter.cuboid(&cube, &Cuboid::new(vec![(0, 1), (1, level), (2, 1)])).unwrap())
            .into();
        let starts = Starts::sort(&mut kept, 1).unwrap();
        (whole, starts)
    };
    let (whole, starts) = starts;
    let finest = Cuboid::new(vec![(0, 1), (1, 3), (2, 1)]);
    let held = Counter::new(&kept).cuboid(&cube, &finest).unwrap();
    for (level, whole) in [2, 3].into_iter().zip(whole) {
        let cuboid = Cuboid::new(vec![(0, 1), (1, level), (2, 1)]);
        let again = Counter::new(&kept).cuboid(&cube, &cuboid).unwrap();
        assert_eq!(again.cells(), whole.cells(), "the order of rows does not matter");
        let slices = Block::Table(cuboid.clone()).slices_of(&frame, 60).unwrap();
        assert!(slices.count() > 2);
        let shares = Shares::new(&cube, slices.clone()).unwrap();
        let mut all = 0;
        for slice in 0..slices.count() {
            let own = of_rows(&kept, &starts, (&cube, &cuboid), (&shares, slice)).unwrap();
            for from in [(&cuboid, &whole), (&finest, &held)] {
                let of_whole = of_table(&cube, &cuboid, from, (&shares, slice)).unwrap();
                assert_eq!(own.cells(), of_whole.cells(), "{level} {slice}");
            }
            all += own.cells().iter().sum::<i64>();
        }
        assert_eq!(all, rows as i64);
    }
    // Of a table without one of the dimensions, from one that has it at a finer level.
    let cuboid = Cuboid::new(vec![(1, 2), (2, 1)]);
    let cut = Block::Table(cuboid.clone()).slices_of(&frame, 12).unwrap();
    let shares = Shares::new(&cube, cut.clone()).unwrap();
    let tracts = Cuboid::new(vec![(0, 1), (1, 2), (2, 1)]);
    let of_tracts = Counter::new(&kept).cuboid(&cube, &tracts).unwrap();
    for slice in 0..cut.count() {
        let own = of_rows(&kept, &starts, (&cube, &cuboid), (&shares, slice)).unwrap();
        for from in [(&finest, &held), (&tracts, &of_tracts)] {
            assert_eq!(of_table(&cube, &cuboid, from, (&shares, slice)).unwrap().cells(), own.cells());
        }
    }
    assert!(Starts::sort(&mut kept, 3).is_none());
}
