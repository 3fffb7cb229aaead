//! Several releases asked together, against dense least squares over all that any of them measured: random specs and sets of releases.

use crate::dense::{Blue, Measured, blue_covariance};
use crate::past::{all_of, opened_over, released, row, shown};
use margins::answer::{Answers, Options, Several, linear};
use margins::numeric::dice::Dice;
use margins::numeric::tries::tries;
use margins::release::SigningKey;
use margins::release::keys::keygen;
use margins::sql::Query;
use nalgebra::DVector;

const PEOPLE: &str = "[[dimension]]\nname = \"a\"\ncategories = [\"0\", \"1\", \"2\"]\n\
    [[dimension]]\nname = \"b\"\nrange = [0, 7]\nlevels = [{ name = \"half\", width = 4 }, { name = \"pair\", width = 2 }]\n\
    [[dimension]]\nname = \"c\"\nrange = [0, 2]\nlevels = [{ name = \"group\", width = 2 }]\n";

fn spec(name: &str, budget: &str, what: &str) -> String {
    format!(
        "name = \"{name}\"\ntitle = \"Pooled\"\n[dataset]\nid = \"people\"\n[privacy]\nunit = \"row\"\n{budget}\n{PEOPLE}{what}"
    )
}

/// Releases that measure in as many ways as there are, of tables that overlap in part.
fn any(dice: &mut Dice, name: &str) -> String {
    const TABLES: [&str; 8] = [
        "[\"a\", \"b\"]",
        "[\"b\", \"c\"]",
        "[\"a\", \"c\"]",
        "[\"a\"]",
        "[\"b.half\", \"c\"]",
        "[\"b.pair\", \"a\"]",
        "[\"c.group\", \"a\"]",
        "[\"c.group\", \"b\"]",
    ];
    let budget = ["epsilon = 1", "epsilon = \"1/3\"", "rho = \"1/20\"", "rho = \"1/3\""][dice.below(4)];
    let measure = ["queries", "residual", "base", "hierarchy"][dice.below(4)];
    if dice.below(4) == 0 {
        let asked = [
            "SELECT COUNT(*) FROM q WHERE b < 3 AND a <> '1'",
            "SELECT a, COUNT(*) FROM q WHERE c = 1 GROUP BY a",
        ];
        return spec(name, budget, &format!("[asked]\nqueries = {asked:?}\n"));
    }
    let mut tables = String::new();
    for table in TABLES {
        if dice.below(3) == 0 || (tables.is_empty() && table == TABLES[7]) {
            tables += &format!("[[table]]\nof = {table}\n");
        }
    }
    // Components are measured with Gaussian noise.
    let measure = if measure == "residual" && budget.starts_with("epsilon") { "queries" } else { measure };
    spec(name, budget, &format!("{tables}[strategy]\nmeasure = \"{measure}\"\n"))
}

const QUESTIONS: [&str; 6] = [
    "SELECT COUNT(*) AS n FROM r0 WHERE b < 3",
    "SELECT a, COUNT(*) AS n FROM r0 GROUP BY a",
    "SELECT b.half, c, COUNT(*) AS n FROM r0 GROUP BY b.half, c",
    "SELECT 3 * COUNT(*) FILTER (WHERE b = 1) - COUNT(*) FILTER (WHERE a = '2') AS n FROM r0",
    "SELECT SUM(b) AS n FROM r0 WHERE a = '1'",
    "SELECT COUNT(*) AS n FROM r0",
];

/// Whatever the releases: every figure that they tell together has the estimate and the standard error of the dense optimum, and no
/// release more makes it less precise.
#[test]
fn any_releases_together_are_the_dense_best() {
    let key = SigningKey::from_text(&keygen(None).unwrap().secret, None).unwrap();
    let mut dice = Dice::new(2024);
    let (mut compared, mut better) = (0, 0);
    for case in 0..tries(5, 20) {
        let releases = 2 + dice.below(3);
        let texts: Vec<String> = (0..releases).map(|i| any(&mut dice, &format!("r{i}"))).collect();
        let made: Vec<Vec<u8>> = texts.iter().map(|t| opened_over(t, &key)).collect();
        let open = |n: usize| -> Vec<Answers> {
            let one = |bytes: &Vec<u8>| {
                Answers::from_release(margins::release::Release::from_bytes(bytes.clone()).unwrap()).unwrap()
            };
            made[..n].iter().map(one).collect()
        };
        let mut before: Vec<Vec<Option<f64>>> = vec![Vec::new(); QUESTIONS.len()];
        for n in 2..=releases {
            let all = open(n);
            let cube = all[0].cube().clone();
            let (blocks, values): (Vec<Measured>, Vec<DVector<f64>>) = all.iter().flat_map(all_of).unzip();
            let blue = Blue::new(&blocks, blocks[0].rows.ncols());
            let several = Several::new(all).unwrap();
            for (sql, before) in QUESTIONS.iter().zip(&mut before) {
                // A narrower interval may be that of some releases: at this level it hardly is.
                let Ok(table) = several.ask(sql, &Options::at(0.95)) else { continue };
                let query = Query::parse(sql, &cube).unwrap();
                let figures = linear::figures(&query, &cube).unwrap();
                assert_eq!(table.rows.len(), figures.len(), "{sql}");
                before.resize(figures.len(), None);
                for ((cells, figure), before) in table.rows.iter().zip(&figures).zip(before) {
                    let q = row(&figure.filter, &cube);
                    let variance = blue.covariance(&q)[(0, 0)];
                    let got = shown(cells);
                    let best = (got.std_error / variance.sqrt() - 1.0).abs() < 1e-5;
                    if best {
                        // Of components fewer integers are published than there are rows.
                        if blocks.iter().zip(&values).all(|(b, v)| b.rows.nrows() == v.len()) {
                            let estimate = blue.estimate(&values, &q)[0];
                            let near = (got.estimate - estimate).abs() < 1e-4 * (1.0 + estimate.abs());
                            assert!(near, "{case} {sql}: {} {estimate}\n{}", got.estimate, texts.join("\n"));
                        }
                        compared += 1;
                    } else {
                        // Chosen for its interval.
                        assert!(
                            got.std_error > variance.sqrt() && got.std_error < 1.4 * variance.sqrt(),
                            "{case} {n} {sql}: {} {}\n{}",
                            got.std_error,
                            variance.sqrt(),
                            texts.join("\n")
                        );
                        better += 1;
                    }
                    if let Some(before) = before {
                        assert!(variance.sqrt() <= *before * (1.0 + 1e-9));
                    }
                    *before = Some(variance.sqrt());
                }
            }
        }
    }
    assert!(compared > 40 && better * 4 < compared, "{compared} {better}");
}

/// Three releases of one's tables a, b and a × b.
#[test]
fn three_times_one_count_less_another() {
    let key = SigningKey::from_text(&keygen(None).unwrap().secret, None).unwrap();
    let tables = |of: &[&str]| -> String { of.iter().map(|t| format!("[[table]]\nof = {t}\n")).collect() };
    let of = |name: &str, budget: &str, of: &[&str]| {
        spec(name, budget, &format!("{}[strategy]\nmeasure = \"queries\"\n", tables(of)))
    };
    let texts = [
        of("r0", "epsilon = 1", &["[\"a\", \"b\"]"]),
        of("r1", "epsilon = 1", &["[\"a\"]"]),
        of("r2", "epsilon = 1", &["[\"b\"]"]),
    ];
    let made: Vec<Vec<u8>> = texts.iter().map(|t| opened_over(t, &key)).collect();
    let error = |with: &[usize]| {
        let one = |&i: &usize| {
            Answers::from_release(margins::release::Release::from_bytes(made[i].clone()).unwrap()).unwrap()
        };
        let several = Several::new(with.iter().map(one).collect()).unwrap();
        shown(&several.ask(QUESTIONS[3], &Options::at(0.95)).unwrap().rows[0]).std_error
    };
    let (one, two, three) = (error(&[0]), error(&[0, 2]), error(&[0, 1, 2]));
    println!("{one} {two} {three}");
    assert!(one > two && two > three, "{one} {two} {three}");
}

/// Nodes of two trees have weights: noises are as wide as their coefficients are small, and none of them is a trace.
#[test]
fn noises_under_weights_are_no_traces() {
    let key = SigningKey::from_text(&keygen(None).unwrap().secret, None).unwrap();
    let rows: String = (0..300).map(|i| format!("{},{}\n", i % 3, i * 5 % 3)).collect();
    let of = |name: &str, rho: &str, what: &str| {
        let dimension = |name: &str| {
            format!(
                "[[dimension]]\nname = \"{name}\"\nrange = [0, 2]\nlevels = [{{ name = \"group\", width = 2 }}]\n"
            )
        };
        let text = format!(
            "name = \"{name}\"\ntitle = \"Trees\"\n[dataset]\nid = \"people\"\n[privacy]\nunit = \"row\"\n\
             rho = \"{rho}\"\n{}{}{what}",
            dimension("b"),
            dimension("c")
        );
        let bytes = released(&text, &("b,c\n".to_owned() + &rows), &key);
        Answers::from_release(margins::release::Release::from_bytes(bytes).unwrap()).unwrap()
    };
    let tables = "[[table]]\nof = [\"b\", \"c\"]\n[[table]]\nof = [\"c.group\", \"b.group\"]\n[strategy]\nmeasure = \"residual\"\n";
    let asked = "[asked]\nqueries = [\"SELECT COUNT(*) FROM q WHERE b = 0 AND c = 0\", \"SELECT COUNT(*) FROM q WHERE b = 2\"]\n";
    let all = vec![of("w", "1/5", tables), of("q", "1", asked)];
    let cube = all[0].cube().clone();
    let blocks: Vec<Measured> = all.iter().flat_map(all_of).map(|(block, _)| block).collect();
    let several = Several::new(all).unwrap();
    for sql in [
        "SELECT COUNT(*) AS n FROM w WHERE b = 0",
        "SELECT 1000 * COUNT(*) FILTER (WHERE b = 0 AND c = 0) + COUNT(*) FILTER (WHERE b = 1) AS n FROM w",
    ] {
        let figures = linear::figures(&Query::parse(sql, &cube).unwrap(), &cube).unwrap();
        let best = blue_covariance(&blocks, &row(&figures[0].filter, &cube))[(0, 0)].sqrt();
        let told = shown(&several.ask(sql, &Options::at(0.95)).unwrap().rows[0]).std_error;
        assert!((told / best - 1.0).abs() < 1e-6, "{sql}: {told} {best}");
    }
}
