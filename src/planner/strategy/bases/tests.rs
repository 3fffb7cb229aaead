use crate::cube::{Cube, Cuboid, Dimension};
use crate::exact::Rational;
use crate::numeric::tries::tries;
use crate::plan::{Asks, Measure, Noise, Ranges, Table};
use crate::planner::{self, Planned, Request};

/// All tables of some numbers of dimensions, of which the first few are asked in this way.
fn request(sizes: &[usize], ordered: usize, asked: &Ranges, ways: &[usize]) -> Request {
    let plain = |(i, &n): (usize, &usize)| {
        Dimension::plain(&format!("d{i}"), (0..n).map(|v| v.to_string()).collect())
    };
    let cube = Cube { dimensions: sizes.iter().enumerate().map(plain).collect() };
    let sets = (1u32..1 << sizes.len()).filter(|s| ways.contains(&(s.count_ones() as usize)));
    let table = |set: u32| {
        let dims = (0..sizes.len()).filter(|d| set >> d & 1 == 1);
        let asks = dims.clone().filter(|&d| d < ordered).map(|d| (d as u16, asked.clone()));
        Table {
            asks: Asks::product(asks.collect()),
            ..Table::new(Cuboid::new(dims.map(|d| (d, 1))), Rational::ONE)
        }
    };
    let half = Rational::new(1, 2).unwrap();
    Request {
        measure: Some(Measure::Bases),
        ..Request::new(cube, sets.map(table).collect(), Noise::Gaussian, half)
    }
}

fn rmse(p: &Planned) -> f64 {
    p.prediction.rms_error()
}

/// The figures of docs/methods/bases.md: RMSE at ρ = 1/2.
#[test]
fn figures() {
    let sizes = [50, 100, 7, 4, 2];
    for (asked, want) in
        [(Ranges::Prefixes, [3.064, 5.817, 7.301, 7.563]), (Ranges::All, [3.159, 5.888, 8.393, 8.720])]
    {
        for (ways, want) in [&[1][..], &[2], &[3], &[1, 2, 3]].into_iter().zip(want).take(tries(2, 4)) {
            let planned = planner::plan(&request(&sizes, 2, &asked, ways)).unwrap();
            println!(
                "{asked:?} {ways:?} {} want {want} gap {:?}",
                rmse(&planned),
                planned.certificate.map(|c| c.gap())
            );
            assert!(rmse(&planned) <= want, "{asked:?} {ways:?} {}", rmse(&planned));
        }
    }
    for (n, want) in [(50, 2.0255), (100, 2.2356)] {
        let planned = planner::plan(&request(&[n], 1, &Ranges::Prefixes, &[1])).unwrap();
        println!("{n} {} {:?}", rmse(&planned), planned.certificate.map(|c| c.gap()));
        assert!(rmse(&planned) <= want, "{}", rmse(&planned));
    }
}

#[test]
#[ignore = "some seconds"]
fn figures_of_fourteen() {
    let sizes = [85, 100, 100, 100, 99, 9, 16, 7, 15, 6, 5, 2, 42, 2];
    for (ways, want) in [&[1][..], &[2], &[3], &[1, 2, 3]].into_iter().zip([4.993, 16.78, 43.71, 43.64]) {
        let now = std::time::Instant::now();
        let planned = planner::plan(&request(&sizes, 5, &Ranges::Prefixes, ways)).unwrap();
        println!("{ways:?} {} want {want} {:?}", rmse(&planned), now.elapsed());
    }
}
