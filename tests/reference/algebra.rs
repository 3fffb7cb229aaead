//! Decompose, rebuild, contrast and expand against projection matrices.

use crate::dense::{component_projection, grouped, plain};
use margins::cube::{Cube, Cuboid, Frame};
use nalgebra::DVector;
use std::convert::Infallible;

fn cubes() -> Vec<(Cube, Cuboid)> {
    let cube = |dimensions| Cube { dimensions };
    vec![
        (cube(vec![plain("a", 3), plain("b", 4), plain("c", 2)]), Cuboid::new(vec![(0, 1), (1, 1), (2, 1)])),
        (cube(vec![grouped("a", &[2, 3, 1]), plain("b", 3)]), Cuboid::new(vec![(0, 2), (1, 1)])),
        (
            cube(vec![plain("b", 2), grouped("a", &[2, 2]), plain("one", 1)]),
            Cuboid::new(vec![(0, 1), (1, 2), (2, 1)]),
        ),
        (cube(vec![grouped("a", &[1, 1])]), Cuboid::new(vec![(0, 2)])),
    ]
}

fn numbers(n: usize) -> Vec<f64> {
    let mut state = 7u64;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 40) as i64 - (1 << 23)) as f64
        })
        .collect()
}

#[test]
fn components_are_projections_and_rebuild_the_table() {
    for (cube, top) in cubes() {
        let levels: Vec<Vec<u8>> =
            cube.dimensions.iter().map(|d| (0..d.levels.len() as u8).collect()).collect();
        let frame = Frame::new(&cube, &levels);
        let table = numbers(frame.len(&top));
        let expected_below = frame.below(&top);
        // The roll-up to A, projected, spread back, summed over A, is the table.
        let built: Result<Vec<f64>, Infallible> = frame.rebuild(&top, &mut |a| {
            let rolled = frame.roll_up(&top, a, table.clone());
            Ok(Some(
                (component_projection(&cube, &levels, a) * DVector::from_vec(rolled)).data.as_vec().clone(),
            ))
        });
        for (x, y) in built.unwrap().iter().zip(&table) {
            assert!((x - y).abs() < 1e-6, "{x} {y}");
        }
        // Contrasts carry exactly the projection.
        for a in &expected_below {
            let rolled = frame.roll_up(&top, a, table.clone());
            let p = component_projection(&cube, &levels, a) * DVector::from_vec(rolled.clone());
            let ints: Vec<i64> = rolled.iter().map(|&v| v as i64).collect();
            let contrasts = frame.contrast(a, ints).unwrap();
            assert_eq!(contrasts.len(), frame.contrasts(a));
            let back = frame.expand(a, contrasts.iter().map(|&v| v as f64).collect());
            for (x, y) in back.iter().zip(p.iter()) {
                assert!((x - y).abs() < 1e-6, "{x} {y}");
            }
        }
        // Decomposing a query is the adjoint of building from components.
        let query = numbers(table.len());
        let mut seen = Vec::new();
        let mut inner = 0.0;
        frame.decompose(&top, query.clone(), &mut |a, q| {
            let rolled = frame.roll_up(&top, &a, table.clone());
            let r = component_projection(&cube, &levels, &a) * DVector::from_vec(rolled);
            inner += q.iter().zip(r.iter()).map(|(x, y)| x * y).sum::<f64>();
            seen.push(a);
        });
        let direct: f64 = query.iter().zip(&table).map(|(x, y)| x * y).sum();
        assert!((inner - direct).abs() < 1e-9 * direct.abs().max(1.0) * 1e3, "{inner} {direct}");
        let (mut seen, mut below) = (seen, expected_below);
        seen.sort();
        below.sort();
        assert_eq!(seen, below);
    }
}

#[test]
fn pulling_back_is_the_adjoint_of_rolling_up() {
    for (cube, top) in cubes() {
        let levels: Vec<Vec<u8>> =
            cube.dimensions.iter().map(|d| (0..d.levels.len() as u8).collect()).collect();
        let frame = Frame::new(&cube, &levels);
        let table = numbers(frame.len(&top));
        for a in frame.below(&top) {
            let q = numbers(frame.len(&a));
            let rolled = frame.roll_up(&top, &a, table.clone());
            let pulled = frame.pull_back(&a, &top, q.clone());
            let left: f64 = q.iter().zip(&rolled).map(|(x, y)| x * y).sum();
            let right: f64 = pulled.iter().zip(&table).map(|(x, y)| x * y).sum();
            assert!((left - right).abs() <= 1e-9 * left.abs().max(1.0));
        }
    }
}

#[test]
fn lumping_keeps_counts() {
    let cube = Cube { dimensions: vec![grouped("a", &[3, 3, 2, 5])] };
    let frame = Frame::new(&cube, &[vec![0, 1, 2]]);
    let mut colour = vec![0; 13];
    colour[4] = 1;
    let (lumped, lumps) = frame.axes[0].lump(2, &colour);
    assert_eq!(lumped.rungs[1].real_len(), 4);
    assert_eq!(lumped.rungs[2].real_len(), 13);
    // Groups: the coloured one, the other of three, two, five; nodes: 3 | coloured + 2 | 2 | 5.
    assert_eq!(lumped.rungs[1].len(), 4);
    assert_eq!(lumped.rungs[2].len(), 5);
    assert_eq!(lumped.rungs[2].copies[lumps[2][4] as usize], 1);
    assert_eq!(lumped.rungs[2].copies[lumps[2][3] as usize], 2);
}
