//! Tables weighed by expected counts: against closed forms, against the plan for the total, and what is refused.

use super::sums::objectives::{price, told};
use super::tests::released_from;
use crate::answer::Answers;
use crate::planner::{self, Planned};
use crate::render::ResultCell;
use crate::spec::Spec;
use std::path::Path;

/// Few old people and fewer of the other sex.
fn rows() -> String {
    let mut text = "sex,age\n".to_owned();
    for (sex, age, n) in [("F", 0, 400), ("M", 0, 390), ("F", 1, 90), ("M", 1, 30), ("F", 2, 9), ("M", 2, 1)]
    {
        (0..n).for_each(|_| text.push_str(&format!("{sex},{age}\n")));
    }
    text
}

const DOMAIN: &str = "[[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n[[dimension]]\nname = \"age\"\nrange = [0, 2]\n";

fn text(name: &str, budget: &str, more: &str) -> String {
    format!("name = \"{name}\"\ntitle = \"T\"\ndemo = true\n[privacy]\nunit = \"row\"\n{budget}\n{more}")
}

fn read(folder: &Path, text: &str) -> Result<Spec, String> {
    crate::spec::parse(text, Path::new("now.toml"), |file| std::fs::read(folder.join(file)))
        .map_err(|e| e.to_string())
}

const TABLES: &str =
    "[[table]]\nof = [\"sex\"]\n[[table]]\nof = [\"age\"]\nweight = 2\n[[table]]\nof = [\"sex\", \"age\"]\n";

/// A spec with these tables, planned for the total or relative to `earlier.margins`.
fn now(folder: &Path, budget: &str, measure: &str, floor: Option<&str>) -> Result<Spec, String> {
    let objective = floor.map_or(String::new(), |floor| {
        format!("objective = \"relative\"\nexpected = {{ file = \"earlier.margins\", floor = {floor} }}\n")
    });
    let more = format!("{DOMAIN}{TABLES}[strategy]\nmeasure = \"{measure}\"\n{objective}");
    read(folder, &text("now", budget, &more))
}

fn earlier(folder: &Path) -> Answers {
    let more = format!("{DOMAIN}[[table]]\nof = [\"sex\", \"age\"]\n");
    let made = released_from(folder, &read(folder, &text("earlier", "rho = 1", &more)).unwrap(), &rows());
    Answers::open(&made.sealed.path).unwrap()
}

/// The mean of 1/expected of each of the tables, from the earlier release's own answers.
fn means(earlier: &Answers, floor: f64) -> [f64; 3] {
    ["sex", "age", "sex, age"].map(|by| {
        let told = earlier.query(&format!("SELECT {by}, COUNT(*) FROM earlier GROUP BY {by}"), 0.9).unwrap();
        let of = |row: &Vec<ResultCell>| match row.last() {
            Some(ResultCell::Figure(f)) => 1.0 / f.estimate.max(floor),
            other => panic!("{other:?}"),
        };
        told.rows.iter().map(of).sum::<f64>() / told.rows.len() as f64
    })
}

/// The sum of variances over expected counts, weighed; the tables are those of [`TABLES`].
fn relative(planned: &Planned, means: [f64; 3]) -> f64 {
    let of = |at: usize| {
        planned.prediction.tables[at].mean * [2.0, 3.0, 6.0][at] * [1.0, 2.0, 1.0][at] * means[at]
    };
    (0..3).map(of).sum()
}

fn plan_of(spec: &Spec) -> Planned {
    planner::plan(&spec.request().unwrap()).unwrap()
}

/// Components of plain dimensions have a closed form: `(Σ_A √(v_A p_A))²/2ρ`, with v_A what a unit of A's variance adds to the sum of variances over expected counts.
#[test]
fn the_plan_is_the_least_of_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    let earlier = earlier(folder.path());
    for floor in [1.0, 10.0, 1e6] {
        let means = means(&earlier, floor);
        let spec = now(folder.path(), "rho = \"1/100\"", "residual", Some(&format!("{floor}"))).unwrap();
        for (factor, mean) in spec.strategy.expected.iter().map(|e| e.factor).zip(means) {
            assert!((factor.to_f64() / mean - 1.0).abs() < 1e-6, "{factor} {mean}");
        }
        let planned = plan_of(&spec);
        let tables = [(1, 2.0, 1.0), (2, 3.0, 2.0), (3, 6.0, 1.0)];
        let root = |a: usize| -> f64 {
            let v: f64 =
                tables.iter().zip(means).map(|((t, cells, w), mean)| w * cells * mean * told(*t, a)).sum();
            (v * price(a)).sqrt()
        };
        let least = (0..4).map(root).sum::<f64>().powi(2) / (2.0 / 100.0);
        let found = relative(&planned, means);
        assert!((found / least - 1.0).abs() < 1e-6, "{found} {least}");
        assert!((planned.prediction.weighted_total / found - 1.0).abs() < 1e-6);
    }
}

/// No plan is worse in what it is planned for than that of the total, and most are better.
#[test]
fn it_is_better_than_the_total() {
    let folder = tempfile::tempdir().unwrap();
    let means = means(&earlier(folder.path()), 2.0);
    let mut better = 0;
    for (budget, measure) in [
        ("rho = \"1/100\"", "residual"),
        ("rho = \"1/100\"", "queries"),
        ("rho = \"1/100\"", "base"),
        ("epsilon = \"1/10\"", "queries"),
        ("epsilon = \"1/10\"", "auto"),
    ] {
        let of = |floor: Option<&str>| {
            relative(&plan_of(&now(folder.path(), budget, measure, floor).unwrap()), means)
        };
        let (own, total) = (of(Some("2")), of(None));
        println!("{budget} {measure}: {:.3}", own / total);
        assert!(own <= total * (1.0 + 1e-6), "{budget} {measure}: {own} {total}");
        better += usize::from(own < 0.98 * total);
    }
    assert!(better >= 3, "{better}");
}

/// Weights that are not those of a table's cells are no weights: they are refused, and not taken for equal ones.
#[test]
fn as_many_weights_as_cells() {
    let folder = tempfile::tempdir().unwrap();
    earlier(folder.path());
    let spec = now(folder.path(), "rho = 1", "residual", Some("2")).unwrap();
    let whole = spec.request().unwrap();
    let (mut fewer, mut short) = (whole.clone(), whole.clone());
    fewer.by_cell.pop();
    short.by_cell[2] = short.by_cell[2].iter().copied().skip(1).collect();
    assert!(planner::plan(&whole).is_ok());
    for wrong in [fewer, short] {
        let why = planner::plan(&wrong).err().unwrap().to_string();
        assert!(why.contains("one weight for each cell"), "{why}");
    }
}

/// What cannot be weighed is refused where the spec is read, with the reason.
#[test]
fn what_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    earlier(folder.path());
    for (floor, why) in [
        ("-1", "`floor` is not a positive number"),
        ("0", "`floor` is not a positive number"),
        ("nan", "`floor`"),
        ("inf", "`floor`"),
        ("1e30", "`floor` is not between"),
        ("\"1/1000000\"", "`floor` is not between"),
        ("\"many\"", "`floor` is not a positive number"),
    ] {
        let refused = now(folder.path(), "rho = 1", "auto", Some(floor)).map(|_| ()).unwrap_err();
        assert!(refused.contains(why), "{floor}: {refused}");
    }
    let good = now(folder.path(), "rho = 1", "auto", Some("10")).unwrap().source;
    std::fs::write(folder.path().join("none.margins"), "margins").unwrap();
    std::fs::write(folder.path().join("half.margins"), {
        let whole = std::fs::read(folder.path().join("earlier.margins")).unwrap();
        whole[..whole.len() / 2].to_vec()
    })
    .unwrap();
    for (from, to, why) in [
        ("expected = {", "# {", "without `expected`"),
        ("objective = \"relative\"", "objective = \"worst\"", "without `objective = \"relative\"`"),
        ("earlier.margins", "later.margins", "cannot read `later.margins`"),
        ("earlier.margins", "none.margins", "does not say what to expect"),
        ("earlier.margins", "half.margins", "does not say what to expect"),
        // Another domain: no such dimension, and categories that are not here.
        ("name = \"sex\"", "name = \"gender\"", "does not say what to expect"),
        ("of = [\"age\"]", "of = [\"age\"]\nask = { age = \"ranges\" }", "asks for more than cells"),
        (
            "[[table]]",
            "[[amount]]\nname = \"pay\"\nlow = 0\nhigh = 10\n[[table]]",
            "sums of amounts have no expected counts",
        ),
    ] {
        let to = if from == "name = \"sex\"" {
            good.replace("\"sex\"", "\"gender\"")
        } else {
            good.replacen(from, to, 1)
        };
        let refused = read(folder.path(), &to).map(|_| ()).unwrap_err();
        assert!(refused.contains(why), "{from}: {refused}");
    }
    // Categories that the earlier release does not have count as the floor.
    let more = read(
        folder.path(),
        &good.replace("categories = [\"F\", \"M\"]", "categories = [\"F\", \"M\", \"X\"]"),
    )
    .unwrap();
    let plain = read(folder.path(), &good).unwrap();
    let [of, other] = [&more, &plain].map(|s| s.strategy.expected[0].factor.to_f64());
    assert!((of - (2.0 * other + 0.1) / 3.0).abs() < 1e-7, "{of} {other}");
}
