//! What questions about different people cost, against every pair of neighbours.

use super::super::cells::{Along, Cells};
use super::super::spent::Ready;
use super::*;
use crate::plan::{Plan, Rows};
use crate::planner::questions;
use crate::spec::Spec;

const A: usize = 3;
const B: usize = 4;

fn spec(rows: u32, neighbours: Neighbours, budget: &str, snapshot: &str) -> Spec {
    let unit = match rows {
        1 => "\"row\"".to_owned(),
        n => format!("{{ column = \"id\", max_rows = {n} }}"),
    };
    let text = format!(
        "name = \"t\"\ntitle = \"T\"\n[dataset]\nid = \"people\"\n{snapshot}\n[privacy]\nunit = {unit}\nneighbours = \"{}\"\n{budget} = 1\n\
         [[dimension]]\nname = \"a\"\ncategories = [\"0\", \"1\", \"2\"]\n\
         [[dimension]]\nname = \"b\"\nrange = [0, 3]\nlevels = [{{ name = \"half\", width = 2 }}]\n\
         [asked]\nqueries = [\"SELECT COUNT(*) FROM t\"]\n",
        match neighbours {
            Neighbours::AddRemove => "add-remove",
            Neighbours::Substitute => "substitute",
        }
    );
    crate::spec::parse(&text, Path::new("t.toml"), |_| Err(io::ErrorKind::NotFound.into())).unwrap()
}

/// The plan that measures these questions together at scale 1, and what it costs.
fn measured(spec: &Spec, questions: &[impl AsRef<str>]) -> (Plan, Rational) {
    let filter = |sql: &str| {
        let query = crate::sql::Query::parse(sql, &spec.cube).unwrap();
        crate::answer::linear::figures(&query, &spec.cube).unwrap().remove(0).filter
    };
    let filters: Vec<_> = questions.iter().map(|sql| filter(sql.as_ref())).collect();
    let mut request = spec.request().unwrap();
    request.workload.clear();
    let rows = Rows::of(&filters.iter().collect::<Vec<_>>(), &spec.cube).unwrap();
    questions::at_one(&request, &rows).unwrap()
}

/// Names of files and of labelled categories may have any letters: such specs have a mapping, too, and each file and label has a part in it.
#[test]
fn files_and_labels_are_part_of_the_way_to_cells() {
    let of = |labels: &str, file: &'static str| {
        let dimension = format!("[[dimension]]\nname = \"c\"\nhierarchy = \"My c.csv\"\n{labels}\n");
        let text = format!(
            "name = \"t\"\ntitle = \"T\"\n[dataset]\nid = \"people\"\nsnapshot = \"s\"\n[privacy]\nunit = \"row\"\nrho = 1\n{dimension}\
             [asked]\nqueries = [\"SELECT COUNT(*) FROM t WHERE c = 'X'\"]\n"
        );
        let spec = crate::spec::parse(&text, Path::new("t.toml"), |_| Ok(file.into())).unwrap();
        let (plan, _) = measured(&spec, &["SELECT COUNT(*) FROM t WHERE c = 'X'"]);
        Cells::of(&spec, &plan, &spec.cube, ROOT).unwrap()
    };
    let first = of("labels = { X = \"One\" }", "c\nX\nY\n");
    // Charges that are written stay comparable with those that come.
    assert_eq!(first.same.mapping, "62005a5356d5592190289e0b0d48be335b78e255f6766ad7b278f46e117dee79");
    assert_eq!(first, of("labels = { X = \"One\" }", "c\nX\nY\n"));
    for other in [of("labels = { X = \"Two\" }", "c\nX\nY\n"), of("labels = { X = \"One\" }", "c\nX\nY\n\n")]
    {
        assert_eq!(first.difference(&other), Some("rows become cells in another way".into()));
    }
}

/// A figure: the sum of the counts of some categories of `a` and of `b`, which a cell must both be in, times a factor.
type Figure = (u8, u8, i32);

/// How a cell counts in a figure, by definition.
fn factor(figure: Figure, cell: usize) -> f64 {
    let (a, b) = (cell / B, cell % B);
    if figure.0 >> a & 1 == 1 && figure.1 >> b & 1 == 1 { f64::from(figure.2) } else { 0.0 }
}

/// The charge of some figures, measured together; and what a squared or absolute way of 1 costs.
fn asked(spec: &Spec, figures: &[Figure], amount: Rational) -> (Charge, f64) {
    let list = |mask: u8, n: usize| -> Vec<String> {
        (0..n).filter(|i| mask >> i & 1 == 1).map(|i| format!("'{i}'")).collect()
    };
    let sql = |f: &Figure| {
        format!(
            "SELECT {} * COUNT(*) FROM t WHERE a IN ({}) AND b IN ({})",
            f.2,
            list(f.0, A).join(", "),
            list(f.1, B).join(", ").replace('\'', "")
        )
    };
    let (plan, unit) = measured(spec, &figures.iter().map(sql).collect::<Vec<_>>());
    let cells = Cells::of(spec, &plan, &spec.cube, &ROOT.replace('0', "d"));
    let currency = Currency::of_tables(plan.noise);
    let charge = Charge {
        unit: spec.privacy.unit.name().into(),
        neighbours: spec.privacy.neighbours,
        cells,
        ..charge("q", currency, &amount.to_string())
    };
    let one = amount.to_f64() / unit.to_f64() / if currency == Currency::Rho { 2.0 } else { 1.0 };
    (charge, one)
}

/// No more classes than questions tell apart; a dimension in which nothing is has none. What tells more than these questions has no cells.
#[test]
fn classes_are_what_the_questions_tell_apart() {
    let spec = spec(1, Neighbours::AddRemove, "rho", "snapshot = \"s\"");
    let by = |figures: &[Figure]| asked(&spec, figures, Rational::ONE).0.cells.unwrap().by;
    let along = |dimension, runs: &[(u32, u32)]| Along { dimension, runs: runs.to_vec() };
    assert_eq!(by(&[(0b011, 0b1111, 1)]), [along(0, &[(0, 0), (2, 1)])]);
    assert_eq!(by(&[(0b011, 0b0011, 1)]), [along(0, &[(0, 0), (2, 1)]), along(1, &[(0, 0), (2, 1)])]);
    assert_eq!(
        by(&[(0b101, 0b0110, 1)]),
        [along(0, &[(0, 0), (1, 1), (2, 0)]), along(1, &[(0, 0), (1, 1), (3, 0)])]
    );
    let (plan, _) = measured(&spec, &["SELECT COUNT(*) FROM t WHERE a = '1'"]);
    let of = |plan: &Plan| Cells::of(&spec, plan, &spec.cube, ROOT);
    assert!(of(&plan).is_some());
    assert!(of(&Plan { exact: vec![crate::cube::Cuboid::total()], ..plan.clone() }).is_none());
}

/// All ways in which up to `k` rows lie in cells, as counts.
fn multisets(k: u32) -> Vec<Vec<f64>> {
    let mut all = vec![vec![0.0; A * B]];
    let mut last = all.clone();
    for _ in 0..k {
        last = last
            .iter()
            .flat_map(|m| {
                (0..A * B).map(|c| {
                    let mut more = m.clone();
                    more[c] += 1.0;
                    more
                })
            })
            .collect();
        all.extend(last.clone());
    }
    all
}

/// The most that all charges cost any pair of neighbours: by ε, and by ρ with ε²/2 for ε.
fn brute(asked: &[(Vec<Figure>, Charge, f64)], k: u32, neighbours: Neighbours) -> (f64, f64) {
    let mut all = multisets(k);
    if neighbours == Neighbours::Substitute && k == 1 {
        all.remove(0); // A row takes another's place: their number stays.
    }
    let none = vec![vec![0.0; A * B]];
    let other = if neighbours == Neighbours::Substitute { &all } else { &none };
    let (mut epsilon, mut rho) = (0f64, 0f64);
    for x in &all {
        for y in other {
            let (mut e, mut r) = (0.0, 0.0);
            for (figures, charge, one) in asked {
                let mut seen: Vec<Vec<f64>> = Vec::new();
                let mut way = 0.0;
                for &f in figures {
                    // Like figures are measured once.
                    let column: Vec<f64> = (0..A * B).map(|c| factor(f, c)).collect();
                    if seen.contains(&column) {
                        continue;
                    }
                    let moved: f64 = (0..A * B).map(|c| (x[c] - y[c]) * column[c]).sum();
                    way += if charge.currency == Currency::Rho { moved * moved } else { moved.abs() };
                    seen.push(column);
                }
                match charge.currency {
                    Currency::Epsilon => (e, r) = (e + way * one, r + (way * one).powi(2) / 2.0),
                    Currency::Rho => r += way * one,
                }
            }
            (epsilon, rho) = (epsilon.max(e), rho.max(r));
        }
    }
    (epsilon, rho)
}

fn double(x: &Exact) -> f64 {
    x.to_f64().value()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tries(40, 400) as u32))]

    /// No pair of neighbours pays more than what is said to be spent. One row that comes or goes pays just that; and nobody pays more than the
    /// charges added up.
    #[test]
    fn no_neighbours_pay_more_than_is_spent(
        questions in prop::collection::vec(
            (prop::collection::vec((1u8..8, 1u8..16, -2i32..3), 1..4), 1u128..40, any::<bool>()),
            1..6,
        ),
        k in 1u32..3,
        substitute: bool,
        pure: bool,
    ) {
        let neighbours = if substitute { Neighbours::Substitute } else { Neighbours::AddRemove };
        let specs = ["epsilon", "rho"].map(|budget| spec(k, neighbours, budget, "snapshot = \"s\""));
        let mut all: Vec<(Vec<Figure>, Charge, f64)> = Vec::new();
        for (figures, amount, gauss) in questions {
            let figures: Vec<Figure> = figures.into_iter().map(|f| (f.0, f.1, if f.2 < 1 { f.2 - 1 } else { f.2 })).collect();
            let whole = |f: &Figure| (f.0, f.1) == (7, 15);
            if k == 1 && substitute && figures.iter().all(whole) {
                continue; // The number of rows is public, and its noise costs nothing.
            }
            let spec = &specs[usize::from(gauss && !pure)];
            let (charge, one) = asked(spec, &figures, Rational::new(amount, 16).unwrap());
            prop_assert!(charge.cells.as_ref().is_some_and(|c| c.sound(neighbours).is_ok()), "{:?}", charge.cells);
            all.push((figures, charge, one));
        }
        prop_assume!(!all.is_empty());
        let charges: Vec<Charge> = all.iter().map(|a| a.1.clone()).collect();
        let got = spent(&charges);
        let (epsilon, rho) = brute(&all, k, neighbours);
        let bare: Vec<Charge> = charges.iter().map(|c| Charge { cells: None, ..c.clone() }).collect();
        let sum = spent(&bare);
        prop_assert!(got.rho <= sum.rho && rho <= double(&got.rho) * (1.0 + 1e-9), "{rho} {}", got.rho);
        if let Some(e) = &got.epsilon {
            prop_assert!(*e <= sum.epsilon.unwrap() && epsilon <= double(e) * (1.0 + 1e-9), "{epsilon} {e}");
            prop_assert!(substitute || (epsilon / double(e) - 1.0).abs() < 1e-9, "{epsilon} {e}");
        }
        // Of Gaussian noises alone, or of one row, ρ is just the dearest, too.
        if !substitute && (k == 1 || charges.iter().all(|c| c.currency == Currency::Rho)) {
            prop_assert!((rho / double(&got.rho) - 1.0).abs() < 1e-9, "{rho} {}", got.rho);
        }
        // One more in another order, or as the charge to come, is the same.
        let (last, before) = charges.split_last().unwrap();
        let ready = Ready::new(before.iter().collect(), Some(last)).spent(Some(&spent::exact(last.charged)));
        prop_assert_eq!((&ready.rho, &ready.epsilon), (&got.rho, &got.epsilon));
        let reversed: Vec<Charge> = charges.iter().rev().cloned().collect();
        prop_assert_eq!(spent(&reversed).rho, got.rho);
        // What is told to be left is within the bound, and hardly more is not.
        let bound = in_rho("20");
        let refs: Vec<&Charge> = before.iter().collect();
        let left = bound.left(&refs, last);
        let with = |amount: Rational| {
            let more = Charge { charged: amount, ..last.clone() };
            spent(&before.iter().cloned().chain([more]).collect::<Vec<_>>())
        };
        prop_assert!(left.is_zero() || bound.holds(&with(left)));
        let more = left.checked_mul(r("1.000001")).and_then(|l| l.checked_add(r("1e-9")));
        prop_assert!(more.is_none_or(|more| !bound.holds(&with(more))), "{left}");
    }
}

#[test]
fn disjoint_groups_cost_the_dearest() {
    let spec = spec(1, Neighbours::AddRemove, "epsilon", "snapshot = \"s\"");
    let part: Vec<Charge> =
        (0..3).map(|a| asked(&spec, &[(1 << a, 15, 1)], Rational::new(1 + a, 8).unwrap()).0).collect();
    assert_eq!(spent(&part).epsilon, Some(x("3/8")));
    // Everybody pays for a question about everybody, and for what is no question.
    let all = asked(&spec, &[(7, 15, 1)], r("1/8")).0;
    assert_eq!(all.cells.as_ref().unwrap().by, []);
    let with = |more: Charge| [&part[..], &[more]].concat();
    assert_eq!(spent(&with(all)).epsilon, Some(x("1/2")));
    assert_eq!(spent(&with(epsilon("1/8"))).epsilon, Some(x("1/2")));
    // Other rows may be of the same people: another snapshot, period, domain or way to read the data, another unit. Each is a group of its own.
    let cells = |change: &dyn Fn(&mut Cells)| {
        let mut other = part[2].clone();
        other.cells.iter_mut().for_each(change);
        spent(&with(other)).epsilon.unwrap()
    };
    let other = ROOT.replace('0', "e");
    assert_eq!(cells(&|_| {}), x("6/8"));
    let change: [&dyn Fn(&mut Cells); 4] = [
        &|c| c.same.snapshot = "later".into(),
        &|c| c.same.period = Some("2027".into()),
        &|c| c.same.domain = other.clone(),
        &|c| c.same.mapping = other.clone(),
    ];
    for change in change {
        let mut first = part[0].clone();
        first.cells.iter_mut().for_each(change);
        assert_eq!(spent(&with(first)).epsilon, Some(x("4/8")));
    }
    let first = Charge { unit_of: 2, ..part[0].clone() };
    assert_eq!(spent(&with(first)).epsilon, Some(x("4/8")));
    // Of different parts the dearest; in a part that has no name today a charge is for everybody.
    let at = |c: &Charge, p: &str| Charge { part: Some(p.into()), snapshot: Some("s".into()), ..c.clone() };
    let parts = [at(&part[0], "r=n"), at(&part[1], "r=n"), at(&part[2], "r=s")];
    assert_eq!(spent(&parts).epsilon, Some(x("3/8")));
    let odd = [at(&part[0], "r=\u{e9}"), at(&part[1], "r=\u{e9}"), at(&part[2], "r=\u{e9}")];
    assert_eq!(spent(&odd).epsilon, Some(x("6/8")));
}

/// Somebody changed leaves one group and enters another: both pay, together no more than the two dearest.
#[test]
fn a_change_costs_the_two_dearest() {
    let of = |budget: &str| {
        let spec = spec(1, Neighbours::Substitute, budget, "snapshot = \"s\"");
        let one = |a: u128| asked(&spec, &[(1 << a, 15, 1)], Rational::new(1 + 3 * a, 8).unwrap()).0;
        spent(&[one(0), one(1), one(2)])
    };
    assert_eq!(of("epsilon").epsilon, Some(x("11/8")));
    // (√(4/8) + √(7/8))² = 11/8 + 2√28/8, which is more than the sum of 12/8.
    assert_eq!(of("rho").rho, x("12/8"));
    let spec = spec(1, Neighbours::Substitute, "rho", "snapshot = \"s\"");
    // One cell pays `first` and all others `rest`, in eighths.
    let cells = |first: u128, rest: u128, n: u8| {
        let amount = |cell: u8| Rational::new(if cell == 0 { first } else { rest }, 8).unwrap();
        let one = |cell: u8| asked(&spec, &[(1 << (cell / 4), 1 << (cell % 4), 1)], amount(cell)).0;
        spent(&(0..n).map(one).collect::<Vec<_>>()).rho
    };
    // A root that is exact: (√(9/8) + √(4/8))² = 25/8, of 29/8 in all.
    assert_eq!(cells(9, 4, 6), x("25/8"));
    // And one that is not, of 38/8 in all.
    let (got, roots) = (cells(5, 3, 12), (0.625f64.sqrt() + 0.375f64.sqrt()).powi(2));
    assert!(double(&got) >= roots * (1.0 - 1e-15) && double(&got) < roots * (1.0 + 1e-12), "{got} {roots}");
}

/// Where classes are too many to tell apart, what is spent is no less than where they are, and no more than the sum.
#[test]
fn too_many_classes_cost_no_less() {
    let same = asked(&spec(1, Neighbours::AddRemove, "rho", "snapshot = \"s\""), &[(1, 1, 1)], r("1")).0;
    let same = same.cells.unwrap().same;
    let mut random = 12345u64;
    let mut next = |n: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % n
    };
    // Each charge is about one category of two of twelve dimensions.
    let mut charges = Vec::new();
    for _ in 0..30 {
        let (p, q) = (next(12) as u32, next(12) as u32);
        let mut dimensions = vec![p.min(q), p.max(q)];
        dimensions.dedup();
        let by: Vec<Along> = dimensions
            .iter()
            .map(|&dimension| {
                let at = 1 + next(6) as u32;
                Along { dimension, runs: vec![(0, 0), (at, 1), (at + 1, 0)] }
            })
            .collect();
        let mut shares = vec![Rational::ZERO; 1 << by.len()];
        *shares.last_mut().unwrap() = Rational::ONE;
        let cells = Cells { same: same.clone(), by, shares };
        assert_eq!(cells.sound(Neighbours::AddRemove), Ok(()));
        charges.push(Charge { cells: Some(cells), ..rho("1/8") });
    }
    let (got, sum) = (spent(&charges).rho, x("30/8"));
    // A hundred thousand cells, drawn at random.
    let mut most = 0;
    for _ in 0..100_000 {
        let cell: Vec<u32> = (0..12).map(|_| next(8) as u32).collect();
        let inside = |c: &&Charge| {
            c.cells.as_ref().unwrap().by.iter().all(|a| a.class(cell[a.dimension as usize]) == 1)
        };
        most = most.max(charges.iter().filter(inside).count());
    }
    assert!(got >= x(&format!("{most}/8")) && got < sum, "{got} {most}");
}

/// Where a dimension is not told apart for want of room, one class holds many cells: whoever changes may leave the dearest and enter another as dear.
#[test]
fn a_class_of_many_cells_holds_two() {
    let same = asked(&spec(1, Neighbours::AddRemove, "rho", "snapshot = \"s\""), &[(1, 1, 1)], r("1")).0;
    let same = same.cells.unwrap().same;
    let charge = |first: u32| {
        let runs = std::iter::once((0, 0)).chain((1..4096).map(|class| (3 * class + first, class)));
        let mut shares = vec![Rational::ZERO; 4096];
        (shares[1], shares[2]) = (r("1/4"), r("1/4"));
        let by = vec![Along { dimension: 0, runs: runs.collect() }];
        let cells = Cells { same: same.clone(), by, shares };
        assert_eq!(cells.sound(Neighbours::Substitute), Ok(()));
        Charge { cells: Some(cells), neighbours: Neighbours::Substitute, ..rho("1/8") }
    };
    assert_eq!(spent(&[0, 1, 2].map(charge)).rho, x("3/8"));
}

#[test]
fn what_is_no_class_of_cells_is_refused() {
    let spec = spec(1, Neighbours::AddRemove, "epsilon", "snapshot = \"s\"");
    let good = asked(&spec, &[(2, 3, 1)], r("1/8")).0;
    let refused = |change: &dyn Fn(&mut Cells)| {
        let mut cells = good.cells.clone().unwrap();
        change(&mut cells);
        cells.sound(Neighbours::AddRemove).is_err()
    };
    assert!(!refused(&|_| {}));
    let broken: [&dyn Fn(&mut Cells); 12] = [
        &|c| c.same.snapshot = String::new(),
        &|c| c.same.snapshot = "a\u{1b}".into(),
        &|c| c.same.period = Some(String::new()),
        &|c| c.same.domain = "x".into(),
        &|c| c.same.mapping = ROOT.replace('0', "G"),
        &|c| c.by[0].runs[0].0 = 1,
        &|c| c.by[0].runs[1].1 = 9,
        &|c| c.by[0].runs.reverse(),
        &|c| c.by.reverse(),
        &|c| c.shares.truncate(c.shares.len() - 1),
        &|c| c.shares.iter_mut().for_each(|s| *s = r("1/2")),
        &|c| c.shares.iter_mut().for_each(|s| *s = r("2")),
    ];
    for (i, change) in broken.into_iter().enumerate() {
        assert!(refused(change), "{i}");
    }
    // Without a snapshot nobody says that the rows are the same.
    let silent = super::cells::spec(1, Neighbours::AddRemove, "epsilon", "");
    assert_eq!(asked(&silent, &[(2, 3, 1)], r("1/8")).0.cells, None);
}
