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

/// Where the worst answer matters the bases are for it: no Gaussian mechanism is better by more than the proof says.
#[test]
fn bases_for_the_worst_answer() {
    use crate::planner::objective::{Among, Objective};
    let cases: [(&[usize], usize, Ranges, f64); 4] = [
        (&[8], 1, Ranges::All, 2.679),
        (&[8], 1, Ranges::Prefixes, 2.283),
        (&[5, 3], 2, Ranges::All, f64::INFINITY),
        (&[6, 4], 1, Ranges::Prefixes, f64::INFINITY),
    ];
    for (sizes, ordered, asked, want) in cases {
        let all = sizes.len();
        let worst = Request { objective: Objective::Worst, ..request(sizes, ordered, &asked, &[all]) };
        let planned = planner::plan(&worst).unwrap();
        let proof = planned.certificate.unwrap();
        println!("{sizes:?} {asked:?} {} {}", proof.value, proof.bound);
        assert!(proof.value <= want && proof.gap() < 2e-3 && proof.among == Among::Gaussian, "{proof:?}");
        assert!((planned.prediction.max / proof.value - 1.0).abs() < 1e-3, "{}", planned.prediction.max);
        let total = planner::plan(&request(sizes, ordered, &asked, &[all])).unwrap();
        assert!(planned.prediction.max < total.prediction.max * 0.99);
    }
    // Several tables: never better than the bound, and never worse than the bases for the total.
    let worst = Request { objective: Objective::Worst, ..request(&[9, 4, 2], 1, &Ranges::All, &[1, 2]) };
    let planned = planner::plan(&worst).unwrap();
    let total = planner::plan(&request(&[9, 4, 2], 1, &Ranges::All, &[1, 2])).unwrap();
    assert!(planned.prediction.max <= total.prediction.max);
    let proof = planned.certificate.unwrap();
    assert!(proof.among == Among::Gaussian || proof.wider[0].unwrap().1 <= proof.value, "{proof:?}");
}

/// Categories that no interval tells apart cost nothing: a list asked of many of them is planned as one of few.
#[test]
fn a_list_over_many_categories() {
    let ends = [0, 20, 25, 60, 61, 100, 150, 180, 200];
    let list = |at: &dyn Fn(usize) -> u32, last: &dyn Fn(usize) -> u32| {
        let pairs = [(0, 2), (1, 4), (3, 3), (2, 6), (0, 7), (5, 7)];
        Ranges::Intervals(pairs.iter().map(|&(a, b)| (at(a), last(b))).collect())
    };
    let many = list(&|i| ends[i] as u32, &|i| ends[i + 1] as u32 - 1);
    let few = list(&|i| i as u32, &|i| i as u32);
    let of = |n: usize, asked: &Ranges| planner::plan(&request(&[n, 3], 1, asked, &[1, 2])).unwrap();
    let (many, few) = (of(200, &many), of(8, &few));
    let [a, b] = [&many, &few].map(|p| p.prediction.weighted_total);
    println!("{a} {b}");
    // What tells the categories of a kind apart costs a little.
    assert!((a / b - 1.0).abs() < 1e-2, "{a} {b}");
}

/// The worst of many questions: prefixes keep the short way under weights, and no kind of question is taken for a bound of others.
#[test]
fn the_worst_of_many_questions() {
    use crate::planner::objective::Objective;
    for (asked, n) in [(Ranges::Prefixes, tries(100, 200)), (Ranges::All, 40)] {
        let worst = Request { objective: Objective::Worst, ..request(&[n], 1, &asked, &[1]) };
        let proof = planner::plan(&worst).unwrap().certificate.unwrap();
        println!("{asked:?} {n}: {} {}", proof.value, proof.gap());
        assert!(proof.gap() < 5e-3, "{asked:?} {n} {proof:?}");
    }
}
