use super::shape::{Attribute, Closed, Column, Nodes, Shape};
use super::*;
use crate::numeric::dice::Dice;
use crate::numeric::tries::tries;

/// Attributes of so many nodes, one level each.
fn plain(sizes: &[usize]) -> Shape {
    let column =
        |(attribute, &size): (usize, &usize)| Column { attribute, size, up: (0..size as u32).collect() };
    Shape {
        attributes: (0..sizes.len()).map(|c| Attribute { columns: vec![c] }).collect(),
        columns: sizes.iter().enumerate().map(column).collect(),
        ..Shape::default()
    }
}

/// The table of some columns of a cube of finest cells, the last quickest.
fn rolled(shape: &Shape, cells: &[f64], columns: &[usize]) -> Vec<f64> {
    let all: Vec<usize> = shape.attributes.iter().map(|a| a.columns[0]).collect();
    let (from, to) = (shape.strides(&all), shape.strides(columns));
    let mut out = vec![0.0; shape.sizes(columns).product()];
    for (cell, x) in cells.iter().enumerate() {
        let place = |(c, step): (&usize, &usize)| {
            let a = shape.columns[*c].attribute;
            let node = cell / from[a] % shape.columns[all[a]].size;
            shape.columns[*c].up[node] as usize * step
        };
        out[columns.iter().zip(&to).map(place).sum::<usize>()] += x;
    }
    out
}

/// Adds a table of these cells, with noise.
fn add(shape: &mut Shape, cells: &[f64], columns: &[usize], error: f32, noise: &mut dyn FnMut() -> f64) {
    let table = rolled(shape, cells, columns);
    let estimates = table.iter().map(|x| (x + f64::from(error) * noise()) as f32).collect();
    let exact = (error == 0.0).then(|| table.iter().map(|x| *x as u64).collect());
    shape.tables.push(Target { columns: columns.to_vec(), estimates, error, exact, asked: true });
    shape.tables.sort_by_key(|t| t.columns.len());
}

fn fitted(shape: &Shape, rows: usize, seed: u64, threads: usize) -> Nodes {
    fit::fit(shape, chain::Way { seed, threads, rows }, &Watch::default()).unwrap().nodes
}

/// Half the sum of |p − q|.
fn apart(p: &[f64], q: &[f64]) -> f64 {
    let (a, b): (f64, f64) = (p.iter().sum(), q.iter().sum());
    p.iter().zip(q).map(|(p, q)| (p / a - q / b).abs()).sum::<f64>() / 2.0
}

/// The cube of largest entropy with all pairs of these cells, by iterative proportional fitting: it shares nothing with the chain.
fn largest_entropy(shape: &Shape, cells: &[f64], pairs: &[[usize; 2]]) -> Vec<f64> {
    let mut x = vec![1.0; cells.len()];
    let all: Vec<usize> = (0..shape.columns.len()).collect();
    let steps = shape.strides(&all);
    for _ in 0..500 {
        for pair in pairs {
            let (want, have) = (rolled(shape, cells, pair), rolled(shape, &x, pair));
            let size = |c: usize| shape.columns[c].size;
            for (cell, x) in x.iter_mut().enumerate() {
                let node = |c: usize| cell / steps[c] % size(c);
                let at = node(pair[0]) * size(pair[1]) + node(pair[1]);
                *x *= if have[at] > 0.0 { want[at] / have[at] } else { 0.0 };
            }
        }
    }
    x
}

#[test]
fn what_no_table_says_is_as_random_as_it_can_be() {
    let mut dice = Dice::new(5);
    for sizes in [[3, 2, 4], [2, 2, 2], [5, 3, 3]].into_iter().take(tries(1, 3)) {
        let rows = 20_000.0;
        let mut shape = plain(&sizes);
        // Pairs that depend on each other strongly.
        let weights: Vec<f64> = (0..sizes.iter().product()).map(|_| dice.unit().powi(3) + 0.01).collect();
        let sum: f64 = weights.iter().sum();
        let cells: Vec<f64> = weights.iter().map(|w| (w / sum * rows).round()).collect();
        shape.total = cells.iter().sum();
        let pairs = [[0, 1], [0, 2], [1, 2]];
        pairs.iter().for_each(|p| add(&mut shape, &cells, p, 1.0, &mut || 0.0));
        (0..3).for_each(|c| add(&mut shape, &cells, &[c], 1.0, &mut || 0.0));
        let nodes = fitted(&shape, shape.total as usize, 1, 2);
        let found: Vec<f64> =
            shape.count(&[0, 1, 2], &nodes, shape.total as usize).into_iter().map(f64::from).collect();
        let want = largest_entropy(&shape, &cells, &pairs);
        // Of so many independent records the cube would be as far as this from its own law.
        let chance: f64 = want.iter().map(|w| (w / rows * 0.16 / rows).sqrt()).sum();
        let (far, truth) = (apart(&found, &want), apart(&cells, &want));
        assert!(
            far < 2.0 * chance && far < truth / 3.0,
            "{sizes:?}: {far} of chance {chance}, the data at {truth}"
        );
        for pair in pairs {
            let gap = rolled(&shape, &cells, &pair).into_iter().zip(shape.count(
                &pair,
                &nodes,
                shape.total as usize,
            ));
            let most = gap.map(|(e, c)| (e - f64::from(c)).abs()).fold(0.0, f64::max);
            assert!(most <= 2.0, "{pair:?} is off by {most}");
        }
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "long where nothing is optimised: cargo test --release")]
fn the_chain_comes_to_its_end_and_says_so() {
    // Eight attributes that depend on each other by way of five types, which every pair tells.
    let sizes = [9, 7, 6, 5, 4, 3, 2, 2];
    let mut dice = Dice::new(8);
    let typical: Vec<[usize; 8]> = (0..5).map(|_| sizes.map(|n| dice.below(n))).collect();
    let mut shape = plain(&sizes);
    shape.total = 6000.0;
    let truth: Vec<[usize; 8]> = (0..6000)
        .map(|i| {
            std::array::from_fn(|a| if dice.below(10) < 2 { dice.below(sizes[a]) } else { typical[i % 5][a] })
        })
        .collect();
    let pairs: Vec<[usize; 2]> = (0..8).flat_map(|a| (a + 1..8).map(move |b| [a, b])).collect();
    for columns in (0..8).map(|a| vec![a]).chain(pairs.iter().map(|p| p.to_vec())) {
        let steps = shape.strides(&columns);
        let mut estimates = vec![0.0; shape.sizes(&columns).product()];
        for row in &truth {
            estimates[columns.iter().zip(&steps).map(|(&c, s)| row[c] * s).sum::<usize>()] += 1.0;
        }
        shape.tables.push(Target { columns, estimates, error: 2.0, exact: None, asked: true });
    }
    let way = chain::Way { seed: 1, threads: 2, rows: 6000 };
    let settled = fit::fit(&shape, way, &Watch::default()).unwrap().chains;
    assert!(settled < 1.3, "a second chain differs {settled} times as much as chance");
    // Two chains that have not ended are told apart.
    let first = start::start(&shape, 6000, 1, 1).unwrap();
    let mut chain = chain::Chain::new(&shape, way);
    let mut early = first.clone();
    assert!(chain.sweep(&mut early, 0, &Watch::default()));
    assert!(report::unlike(&shape, &early, &fitted(&shape, 6000, 2, 2)) > 3.0);
}

/// Random shapes: some cells closed, a table exact, a dimension with bands. The truth obeys all of it.
fn random(dice: &mut Dice) -> (Shape, usize) {
    let sizes: Vec<usize> = (0..3 + dice.below(2)).map(|_| 1 + dice.below(5)).collect();
    let mut shape = plain(&sizes);
    let closed: Vec<bool> = (0..sizes[0] * sizes[1]).map(|c| c > 0 && dice.below(3) == 0).collect();
    let inner: usize = sizes[2..].iter().product();
    let cells: Vec<f64> = (0..closed.len() * inner)
        .map(|c| if closed[c / inner] { 0.0 } else { (dice.unit().powi(4) * 200.0).round() })
        .collect();
    // The last attribute in two bands.
    let last = sizes.len() - 1;
    let up = (0..sizes[last] as u32).map(|n| u32::from(n >= 1)).collect();
    shape.columns.push(Column { attribute: last, size: 2.min(sizes[last]), up });
    shape.attributes[last].columns.push(last + 1);
    shape.closed.push(Closed { columns: vec![0, 1], cells: closed });
    shape.total = cells.iter().sum();
    let mut noise = {
        let mut d = Dice::new(dice.bits());
        move || (d.unit() - 0.5) * 3.4
    };
    add(&mut shape, &cells, &[1, 2], 0.0, &mut noise);
    add(&mut shape, &cells, &[0, 1], 3.0, &mut noise);
    add(&mut shape, &cells, &[0, last + 1], 3.0, &mut noise);
    (0..sizes.len()).for_each(|c| add(&mut shape, &cells, &[c], 2.0, &mut noise));
    let rows = shape.total as usize;
    (shape, rows)
}

#[test]
fn zeros_are_never_broken_and_exact_tables_are_met() {
    let mut dice = Dice::new(11);
    for round in 0..tries(5, 20) as u64 {
        let (shape, rows) = random(&mut dice);
        let nodes = fitted(&shape, rows, round, 1);
        assert_eq!(report::in_closed(&shape, &nodes, rows), 0, "round {round}");
        let exact = shape.tables.iter().find(|t| t.exact.is_some()).unwrap();
        let counts: Vec<u64> = shape.count(&exact.columns, &nodes, rows).into_iter().map(u64::from).collect();
        assert_eq!(&counts, exact.exact.as_ref().unwrap(), "round {round}");
        for (c, column) in shape.columns.iter().enumerate() {
            let finest = shape.attributes[column.attribute].columns[0];
            assert!((0..rows).all(|r| nodes[c][r] == column.up[nodes[finest][r] as usize]), "levels agree");
        }
    }
}

#[test]
fn exact_tables_that_share_one_attribute_are_met_together() {
    let mut dice = Dice::new(23);
    for round in 0..10 {
        let sizes: Vec<usize> = (0..4).map(|_| 2 + dice.below(4)).collect();
        let mut shape = plain(&sizes);
        let cells: Vec<f64> =
            (0..sizes.iter().product()).map(|_| (dice.unit().powi(4) * 20.0).round()).collect();
        shape.total = cells.iter().sum();
        let mut noise = || 0.7;
        for pair in [[0, 1], [1, 2], [2, 3]] {
            add(&mut shape, &cells, &pair, 0.0, &mut noise);
        }
        add(&mut shape, &cells, &[0, 3], 3.0, &mut noise);
        (0..4).for_each(|c| add(&mut shape, &cells, &[c], 0.0, &mut noise));
        let rows = shape.total as usize;
        let nodes = fitted(&shape, rows, round, 2);
        for t in &shape.tables {
            let counts = shape.count(&t.columns, &nodes, rows).into_iter().map(u64::from);
            assert!(t.exact.iter().all(|e| counts.clone().eq(e.iter().copied())), "{round}: {:?}", t.columns);
        }
    }
}

/// Tables of random attributes that can be put in an order in which each meets those before it in a single one, at levels of their own; in an order that is not that one.
fn orderly(dice: &mut Dice) -> (Shape, Vec<Vec<usize>>, Vec<f64>) {
    let count = 4 + dice.below(3);
    let sizes: Vec<usize> = (0..count).map(|_| 2 + dice.below(3)).collect();
    let mut shape = plain(&sizes);
    // Some attributes in two bands, too.
    let coarser: Vec<Option<usize>> = (0..count)
        .map(|a| {
            (dice.below(3) == 0).then(|| {
                let up = (0..sizes[a] as u32).map(|n| u32::from(n >= 1)).collect();
                shape.columns.push(Column { attribute: a, size: 2, up });
                shape.attributes[a].columns.push(shape.columns.len() - 1);
                shape.columns.len() - 1
            })
        })
        .collect();
    let mut tables: Vec<Vec<usize>> = Vec::new();
    for a in 0..count {
        // With each attribute a table of it and of some that one table before has.
        let before = if tables.is_empty() { Vec::new() } else { tables[dice.below(tables.len())].clone() };
        let mut own: Vec<usize> = before.into_iter().filter(|_| dice.below(2) == 0).take(2).collect();
        own.push(coarser[a].filter(|_| dice.below(2) == 0).unwrap_or(a));
        tables.push(own);
        // At times one that is finer in this attribute alone.
        if let (Some(last), true) = (tables.last().cloned(), dice.below(3) == 0) {
            let finer = |c: &usize| if shape.columns[*c].attribute == a { a } else { *c };
            tables.push(last.iter().map(finer).collect());
        }
    }
    for table in &mut tables {
        table.sort_by_key(|c| (shape.columns[*c].attribute, *c));
    }
    tables.sort();
    tables.dedup();
    for i in (1..tables.len()).rev() {
        tables.swap(i, dice.below(i + 1));
    }
    let cells: Vec<f64> = (0..sizes.iter().product()).map(|_| (dice.unit().powi(6) * 12.0).floor()).collect();
    shape.total = cells.iter().sum();
    (shape, tables, cells)
}

/// Adds exact tables with all that follows from them, of one and of two columns, and a noisy one of all attributes that pulls away from them.
fn add_exact(shape: &mut Shape, tables: &[Vec<usize>], cells: &[f64], dice: &mut Dice) {
    let mut all: std::collections::BTreeSet<Vec<usize>> = tables.iter().cloned().collect();
    for table in tables {
        all.extend(table.iter().map(|&c| vec![c]));
        all.extend(
            table.iter().enumerate().flat_map(|(i, &a)| table[i + 1..].iter().map(move |&b| vec![a, b])),
        );
    }
    all.iter().for_each(|table| add(shape, cells, table, 0.0, &mut || 0.0));
    let every: Vec<usize> = shape.attributes.iter().map(|a| a.columns[0]).collect();
    let wrong: Vec<f64> = cells.iter().map(|_| dice.unit() * 4.0).collect();
    add(shape, &wrong, &every[..2], 1.0, &mut || 0.0);
}

fn missed(shape: &Shape, nodes: &Nodes, rows: usize) -> Vec<Vec<usize>> {
    let off = |t: &&Target| {
        let counts = shape.count(&t.columns, nodes, rows).into_iter().map(u64::from);
        t.exact.as_ref().is_some_and(|e| !counts.eq(e.iter().copied()))
    };
    shape.tables.iter().filter(off).map(|t| t.columns.clone()).collect()
}

#[test]
fn exact_tables_that_have_an_order_are_all_met() {
    let mut dice = Dice::new(41);
    for round in 0..tries(60, 400) as u64 {
        let (mut shape, tables, cells) = orderly(&mut dice);
        // The order in which tables stand, and the places of columns, tell nothing.
        add_exact(&mut shape, &tables, &cells, &mut dice);
        let rows = shape.total as usize;
        let nodes = fitted(&shape, rows, round, 1);
        assert_eq!(missed(&shape, &nodes, rows), Vec::<Vec<usize>>::new(), "{round}: {tables:?}");
        // Whatever has moved, they can be met again.
        let mut moved = start::start(&shape, rows, round, 1).unwrap();
        exact::Exact::of(&shape).mend(round, &mut moved, rows);
        assert_eq!(missed(&shape, &moved, rows), Vec::<Vec<usize>>::new(), "{round}: {tables:?}");
    }
}

/// Three pairs of which the one in the middle comes last where tables stand in the order of their columns.
#[test]
fn a_chain_of_pairs_is_met_whatever_its_middle() {
    let mut dice = Dice::new(43);
    let mut shape = plain(&[6, 6, 5, 2]);
    let cells: Vec<f64> = (0..360).map(|_| dice.below(28) as f64).collect();
    shape.total = cells.iter().sum();
    let tables = [vec![0, 2], vec![1, 3], vec![2, 3]];
    add_exact(&mut shape, &tables, &cells, &mut dice);
    let rows = shape.total as usize;
    for seed in 1..tries(5, 20) as u64 {
        assert_eq!(missed(&shape, &fitted(&shape, rows, seed, 2), rows), Vec::<Vec<usize>>::new(), "{seed}");
    }
}

#[test]
fn of_fewer_records_exact_tables_are_rounded() {
    for (rows, want) in [(10, [5, 0, 0, 5]), (20, [10, 0, 0, 10]), (4016, [2000, 6, 10, 2000])] {
        let mut shape = plain(&[2, 2, 2]);
        let cells = [1000.0, 0.0, 0.0, 3.0, 5.0, 0.0, 1000.0, 0.0];
        shape.total = cells.iter().sum();
        add_exact(&mut shape, &[vec![0, 1]], &cells, &mut Dice::new(1));
        for seed in 1..5 {
            assert_eq!(shape.count(&[0, 1], &fitted(&shape, rows, seed, 1), rows), want, "{rows} at {seed}");
        }
    }
}

#[test]
fn threads_change_nothing_and_seeds_do() {
    let (shape, rows) = random(&mut Dice::new(3));
    let rows = rows.max(CHUNK + 100);
    let one = fitted(&shape, rows, 9, 1);
    assert!([2, 5].into_iter().take(tries(1, 2)).all(|threads| one == fitted(&shape, rows, 9, threads)));
    assert_ne!(one, fitted(&shape, rows, 10, 2));
    // The same on every machine: a change of these is a change of everybody's records.
    let bytes: Vec<u8> = one.iter().flatten().flat_map(|n| n.to_le_bytes()).collect();
    assert_eq!(&blake3::hash(&bytes).to_hex()[..16], "704bc914a54a8345");
}

/// A long chain has more records than kinds, a short one does not: it works everything out record by record, and both begin with the same records.
#[test]
fn what_is_worked_out_once_is_what_each_record_would_get() {
    let mut dice = Dice::new(31);
    for _ in 0..tries(5, 20) {
        let (shape, rows) = random(&mut dice);
        let second = |records: usize| {
            let mut nodes = fitted(&shape, rows, 4, 1);
            let mut chain = chain::Chain::new(&shape, chain::Way { seed: 4, threads: 2, rows });
            (0..3).for_each(|sweep| assert!(chain.sweep(&mut nodes, sweep, &Watch::default())));
            chain.second(records, 3, &Watch::default()).unwrap()
        };
        for (long, short) in second(CHUNK + 1000).into_iter().zip(second(1)) {
            assert_eq!(long[..1], short);
        }
    }
}

#[test]
fn odd_shapes() {
    // One attribute of one category; nobody; all estimates below 0.
    let mut shape = plain(&[1]);
    shape.total = 1.0;
    add(&mut shape, &[1.0], &[0], 1.0, &mut || 0.0);
    assert_eq!(fitted(&shape, 1, 1, 1), vec![vec![0]]);
    assert_eq!(fitted(&shape, 0, 1, 2), vec![Vec::<u32>::new()]);
    let mut shape = plain(&[3, 2]);
    shape.total = 2.0;
    add(&mut shape, &[0.0; 6], &[0, 1], 5.0, &mut || -3.0);
    assert_eq!(fitted(&shape, 2, 1, 1)[0].len(), 2);
    // Everything is closed, or all but one cell that independent draws would hardly find.
    let mut cells = vec![true; 40 * 40];
    let mut shape = plain(&[40, 40]);
    shape.total = 5.0;
    shape.closed.push(Closed { columns: vec![0, 1], cells: cells.clone() });
    let way = chain::Way { seed: 1, threads: 1, rows: 5 };
    assert!(matches!(fit::fit(&shape, way, &Watch::default()), Err(RecordsError::Closed)));
    cells[17 * 40 + 23] = false;
    shape.closed[0].cells = cells;
    assert_eq!(fitted(&shape, 5, 1, 1), vec![vec![17; 5], vec![23; 5]]);
    let stopped = Watch::default();
    stopped.stop();
    assert!(matches!(fit::fit(&shape, way, &stopped), Err(RecordsError::Stopped)));
}
