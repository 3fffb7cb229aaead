//! Several releases taken together, through whole releases, against dense least squares over all that they measured.

use crate::dense::{Measured, blue_covariance, blue_estimate, measured, noise_variance, unit};
use margins::answer::tell::pool::{Combined as Together, Pool as Past};
use margins::answer::{Answers, Several, linear};
use margins::compile::asked::{Need, Question, Target};
use margins::compile::{self, Options as Making};
use margins::cube::{Cube, Filter};
use margins::law::NoiseLaw;
use margins::numeric::tries::tries;
use margins::recover::Source;
use margins::release::keys::keygen;
use margins::release::{Release, SigningKey};
use margins::render::{ResultCell, ResultFigure};
use margins::secret::ingest::Means;
use margins::secret::noise::Entropy;
use margins::spec;
use margins::sql::Query;
use nalgebra::{DMatrix, DVector};
use std::path::Path;

fn text(name: &str, budget: &str, what: &str) -> String {
    format!(
        "name = \"{name}\"\ntitle = \"Past\"\n[dataset]\nid = \"people\"\n[privacy]\nunit = \"row\"\n{budget}\n\
         [[dimension]]\nname = \"a\"\ncategories = [\"x\", \"y\", \"z\"]\n\
         [[dimension]]\nname = \"b\"\nrange = [0, 7]\nlevels = [{{ name = \"half\", width = 4 }}]\n\
         [[dimension]]\nname = \"c\"\ncategories = [\"0\", \"1\"]\n{what}"
    )
}

fn opened(text: &str, key: &SigningKey) -> Answers {
    let rows: String =
        (0..300).map(|i| format!("{},{},{}\n", ["x", "y", "z"][i % 3], i * i % 8, i % 2)).collect();
    let made = released(text, &("a,b,c\n".to_owned() + &rows), key);
    Answers::from_release(Release::from_bytes(made).unwrap()).unwrap()
}

/// A release of 300 people by their answers to three questions.
pub(crate) fn opened_over(text: &str, key: &SigningKey) -> Vec<u8> {
    let rows: String = (0..300).map(|i| format!("{},{},{}\n", i % 3, i * i % 8, i * 5 % 3)).collect();
    released(text, &("a,b,c\n".to_owned() + &rows), key)
}

pub(crate) fn released(text: &str, rows: &str, key: &SigningKey) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("rows.csv");
    std::fs::write(&data, rows).unwrap();
    let spec = spec::parse(text, Path::new("spec.toml"), |_| Err(std::io::ErrorKind::NotFound.into()))
        .unwrap_or_else(|e| panic!("{}", e.render(false)));
    let options = Making {
        out: folder.path(),
        data: Some((&data).into()),
        counts: None,
        ledger: &crate::ledger_of(&spec, key),
        key,
        replace: false,
        day: "2026-01-31",
        entropy: Entropy::from_os().unwrap(),
    };
    let made = compile::release(&spec, options, &Means::default()).unwrap();
    let bytes = std::fs::read(made.sealed.path).unwrap();
    let release = Release::from_bytes(bytes.clone()).unwrap();
    let audit = margins::audit::audit(&release, None).unwrap();
    assert!(audit.passed(), "{}", audit.to_text("past"));
    bytes
}

/// All that a release measured, and what came out.
pub(crate) fn all_of(release: &Answers) -> Vec<(Measured, DVector<f64>)> {
    let recovery = release.evaluator().recovery();
    let (cube, plan) = (recovery.cube(), recovery.plan());
    (0..plan.rows().measurements.len())
        .map(|i| {
            let m = &plan.rows().measurements[i];
            let variance = noise_variance(plan.noise, m.scale.to_f64());
            let block = measured(cube, plan, i, variance, unit(cube, plan, &m.block));
            let values = recovery.source().values(i).unwrap().iter().map(|v| v as f64).collect::<Vec<_>>();
            (block, DVector::from_vec(values))
        })
        .collect()
}

/// The filter over all cells, the last dimension fastest.
pub(crate) fn row(filter: &Filter, cube: &Cube) -> DMatrix<f64> {
    let sizes: Vec<usize> = cube.dimensions.iter().map(|d| d.levels[d.finest()].len()).collect();
    let cells: usize = sizes.iter().product();
    DMatrix::from_fn(1, cells, |_, cell| {
        let mut rest = cell;
        let mut at = vec![0; sizes.len()];
        for d in (0..sizes.len()).rev() {
            (at[d], rest) = (rest % sizes[d], rest / sizes[d]);
        }
        filter.weight_at(&at).unwrap()
    })
}

const QUESTIONS: [&str; 6] = [
    "SELECT COUNT(*) FROM q WHERE b < 3",
    "SELECT COUNT(*) FROM q WHERE b BETWEEN 3 AND 5 AND a = 'x'",
    "SELECT COUNT(*) FROM q WHERE b < 3 OR (b <= 5 AND a = 'x')",
    "SELECT a, COUNT(*) FROM q WHERE c = '1' GROUP BY a",
    "SELECT SUM(b) FROM q WHERE a <> 'y'",
    "SELECT COUNT(*) FROM q",
];

/// Rows and one release of tables: the best there is, whatever the noises.
#[test]
fn tables_and_questions_together_are_the_dense_best() {
    let key = SigningKey::from_text(&keygen(None).unwrap().secret, None).unwrap();
    let tables = "[[table]]\nof = [\"a\", \"b\"]\n[[table]]\nof = [\"b\", \"c\"]\n[[table]]\nof = [\"a\", \"c\"]\n[strategy]\nmeasure = \"queries\"\n";
    let asked = |sql: &[&str]| format!("[asked]\nqueries = {sql:?}\n");
    let base = opened(&text("base", "epsilon = 1", tables), &key);
    let one = opened(&text("one", "epsilon = \"1/3\"", &asked(&QUESTIONS[..2])), &key);
    let two = opened(&text("two", "rho = \"1/50\"", &asked(&QUESTIONS[3..5])), &key);
    let cube = base.cube().clone();
    for with in [vec![&base, &one, &two], vec![&base, &two], vec![&one, &two], vec![&base]] {
        let (blocks, values): (Vec<Measured>, Vec<DVector<f64>>) =
            with.iter().flat_map(|r| all_of(r)).unzip();
        let past = Past::new(&cube, &with).unwrap();
        for sql in QUESTIONS {
            let query = Query::parse(sql, &cube).unwrap();
            let figures = linear::figures(&query, &cube).unwrap();
            let filters: Vec<&Filter> = figures.iter().map(|f| &f.filter).collect();
            let together = Together::new(&past, &filters).unwrap();
            let solved = together.with(&[]);
            for (i, filter) in filters.iter().enumerate() {
                let q = row(filter, &cube);
                let Some(best) = solved.best(i).unwrap() else {
                    assert!(with.len() == 2 && !with.iter().any(|r| r.name() == "base"), "{sql}");
                    continue;
                };
                let (estimate, variance) =
                    (blue_estimate(&blocks, &values, &q)[0], blue_covariance(&blocks, &q)[(0, 0)]);
                assert!(
                    (best.law.variance() - variance).abs() < 1e-6 * variance,
                    "{sql}: {} {variance}",
                    best.law.variance()
                );
                assert!(
                    (best.estimate - estimate).abs() < 1e-5 * (1.0 + estimate.abs()),
                    "{sql}: {} {estimate}",
                    best.estimate
                );
            }
        }
    }
    // What two rows tell of their sum: no release holds it by itself.
    let several = Several::new(vec![one, two]).unwrap();
    let answer = several.ask(
        "SELECT COUNT(*) FROM one WHERE b < 3 OR (b <= 5 AND a = 'x')",
        &margins::answer::Options::at(0.9),
    );
    assert!(answer.unwrap().notes.iter().any(|n| n.contains("taken together")));
    assert!(several.ask(&QUESTIONS[5].replace("q", "one"), &margins::answer::Options::at(0.9)).is_err());
}

/// The least budget that answers, where a smaller variance has the wider interval: an answer that much is known of has less of the cusp of a single
/// Laplace noise. And where more is left than anything could need, it is the same.
#[test]
fn the_least_budget_is_found() {
    let key = SigningKey::from_text(&keygen(None).unwrap().secret, None).unwrap();
    let told = ["SELECT COUNT(*) FROM q WHERE c = '0'"];
    let past: Vec<Answers> = (0..6)
        .map(|i| {
            let asked = format!("[asked]\nqueries = {told:?}\n");
            opened(&text(&format!("q{i}"), "epsilon = \"18/1000\"", &asked), &key)
        })
        .collect();
    let like = opened(&text("q", "epsilon = 1", "[[table]]\nof = [\"c\"]\n"), &key);
    let cube = like.cube().clone();
    let past = Past::new(&cube, &past.iter().collect::<Vec<_>>()).unwrap();
    let query = Query::parse("SELECT c, COUNT(*) FROM q GROUP BY c", &cube).unwrap();
    let figures = linear::figures(&query, &cube).unwrap();
    let filters: Vec<&Filter> = figures.iter().map(|f| &f.filter).collect();
    let together = Together::new(&past, &filters).unwrap();
    let spec = text("q", "epsilon = 1", "[[table]]\nof = [\"c\"]\n");
    let spec =
        spec::parse(&spec, Path::new("spec.toml"), |_| Err(std::io::ErrorKind::NotFound.into())).unwrap();
    let target = Target { within: 3.5, level: 0.3 };
    let question = Question::new(&spec, &figures, figures.len(), &together, target).unwrap();
    // Of disjoint rows one person is in one: scale 1/ε.
    let known = |budget: f64| -> Vec<(f64, f64)> {
        let noise = NoiseLaw::DiscreteLaplace { scale: 1.0 / budget };
        let solved = together.with(&[(0, noise), (1, noise)]);
        let one = |i: usize| solved.best(i).unwrap().unwrap();
        (0..2).map(|i| (one(i).law.variance(), one(i).reach(target.level))).collect()
    };
    for most in ["1000000", "1", "1000"].into_iter().take(tries(1, 3)) {
        let Need::Budget(budget) = question.need(most.parse().unwrap()).unwrap() else { panic!("{most}") };
        let budget = budget.to_f64();
        let [(variance, told), (alone, other)] = known(budget)[..] else { panic!() };
        assert!(variance < 0.95 * alone && told > other, "{variance} {alone}; {told} {other}");
        assert!(told <= target.within, "{told}");
        assert!(known(0.998 * budget).iter().any(|k| k.1 > target.within), "{most}: {budget}");
    }
    assert!(
        matches!(question.need("1/1000".parse().unwrap()).unwrap(), Need::More(reach) if reach > target.within)
    );
}

/// The figure of a row.
pub(crate) fn shown(row: &[ResultCell]) -> ResultFigure {
    let figure = |cell: &ResultCell| if let ResultCell::Figure(f) = cell { Some(*f) } else { None };
    row.iter().find_map(figure).unwrap()
}

/// A release that does not hold what is asked, but knows what it adds up to, tells of it, too.
#[test]
fn sums_known_elsewhere_count() {
    let key = SigningKey::from_text(&keygen(None).unwrap().secret, None).unwrap();
    let tables = |of: &str| format!("[[table]]\nof = {of}\n[strategy]\nmeasure = \"queries\"\n");
    let precise = opened(&text("precise", "epsilon = 6", &tables("[\"a\", \"c\"]")), &key);
    let coarse = opened(&text("coarse", "epsilon = 1", &tables("[\"b\", \"c\"]")), &key);
    let cube = precise.cube().clone();
    let (blocks, values): (Vec<Measured>, Vec<DVector<f64>>) =
        [&precise, &coarse].into_iter().flat_map(all_of).unzip();
    let alone = coarse.query("SELECT b, c, COUNT(*) AS n FROM coarse GROUP BY b, c", 0.95).unwrap();
    let both = Several::new(vec![precise, coarse]).unwrap();
    let options = margins::answer::Options::at(0.95);
    for sql in [
        "SELECT b, COUNT(*) AS n FROM coarse GROUP BY b",
        "SELECT b, c, COUNT(*) AS n FROM coarse GROUP BY b, c",
    ] {
        let together = both.ask(sql, &options).unwrap();
        let query = Query::parse(sql, &cube).unwrap();
        let figures = linear::figures(&query, &cube).unwrap();
        assert_eq!(figures.len(), together.rows.len());
        for (at, (row_of, figure)) in together.rows.iter().zip(&figures).enumerate().step_by(tries(4, 1)) {
            let q = row(&figure.filter, &cube);
            let (estimate, variance) =
                (blue_estimate(&blocks, &values, &q)[0], blue_covariance(&blocks, &q)[(0, 0)]);
            let n = shown(row_of);
            assert!((n.estimate - estimate).abs() < 1e-6, "{sql}: {n:?} {estimate}");
            assert!((n.std_error / variance.sqrt() - 1.0).abs() < 1e-6, "{sql}: {n:?} {variance}");
            let one = shown(&alone.rows[at]);
            assert!(!sql.contains("b, c") || n.std_error < 0.99 * one.std_error);
        }
    }
}
