//! Sound releases that are easily accused, and specs that an audit cannot take, or not as it takes others.

use super::{audited, effort, tried};
use crate::audit::found::{Findings, group};
use crate::audit::parts::before;
use crate::audit::samples::{Column, Part};
use crate::audit::{probability, to_text};
use margins::Spec;
use margins::cli::Failure;
use margins::numeric::tries::tries;

const CELLS: &str = "[[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n[[table]]\nof = [\"sex\"]\n";

fn spec(privacy: &str, rest: &str) -> Spec {
    let text = format!("name = \"made\"\ntitle = \"Made up\"\ndemo = true\n[privacy]\n{privacy}\n{rest}");
    Spec::from_toml(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn row(budget: &str) -> String {
    format!("unit = \"row\"\n{budget}")
}

/// What would be found is never less than what is claimed.
fn holds(found: &Findings) {
    assert!(!found.refuted(), "{found:?}");
    assert!(found.bounds.iter().all(|b| b.detected.is_none_or(|d| d >= b.claim)), "{found:?}");
}

/// Plans spend the whole of what the law of whole numbers costs at a δ, which is less than by the normal law: up to a third, of little noise. So many
/// releases would show that.
#[test]
fn plans_that_spend_all_of_a_delta_are_not_accused() {
    let changed = "neighbours = \"substitute\"\n";
    for (budget, more, releases) in [
        ("epsilon = \"0.5\"\ndelta = \"0.2\"", "", tries(1000, 10_000)),
        ("epsilon = 4\ndelta = 1e-6", "", tries(1000, 20_000)),
        ("epsilon = 1\ndelta = 1e-6", changed, tries(400, 4000)),
    ]
    .into_iter()
    .take(tries(1, 3))
    {
        let found = audited(&spec(&row(&format!("{more}{budget}")), CELLS), releases, 1e-3, 31);
        holds(&found);
        assert!(found.bounds.iter().all(|b| b.what != "ε"), "{found:?}");
        let costs = found.bounds[0].estimate.unwrap() / found.claim;
        assert!(costs > 0.85 && costs < 1.15, "{budget}: {costs}");
    }
}

/// The published noise of a projection is paid in ρ, and is no normal noise: by its variance it would cost half.
#[test]
fn laplace_noise_that_is_paid_in_rho_is_judged_by_its_tails() {
    let projection = "[[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n[projection]\nrows = 64\nnoise = \"laplace\"\n";
    let found = audited(&spec(&row("epsilon = 1\ndelta = 1e-6"), projection), tries(150, 2000), 1e-3, 32);
    holds(&found);
    let first = &found.bounds[0];
    assert!(first.way.starts_with("tails") && first.what == "ρ", "{found:?}");
    assert!(first.least > 0.75 * first.claim && first.detected.unwrap() < 1.4 * first.claim, "{found:?}");
}

fn nested(budgets: &[&str]) -> String {
    let one =
        |(i, budget): (usize, &&str)| format!("[[recipient]]\nname = \"r{i}\"\nepsilon = \"{budget}\"\n");
    let all: String = budgets.iter().enumerate().map(one).collect();
    format!("[strategy]\nmeasure = \"queries\"\n[recipients]\nmode = \"nested\"\n{all}")
}

/// Copies that are so much less precise that so few releases do not show that they depend on the first: nothing is added up all the same.
#[test]
fn costs_of_copies_far_apart_are_not_added_up() {
    let rest = "[[dimension]]\nname = \"age\"\nrange = [0, 5]\n[[table]]\nof = [\"age\"]\n";
    let spec = spec(&row("epsilon = 1"), &format!("{rest}{}", nested(&["1", "1/12"])));
    for seed in 0..tries(2, 10) as u64 {
        holds(&audited(&spec, 300, 1e-3, 33 + seed));
    }
}

/// More integers than are looked at: copies of which one in the middle is left out come from the nearest that is there.
#[test]
fn chains_of_copies_with_gaps_are_not_said_to_depend() {
    let parts: Vec<Part> = (0..4).map(|copy| Part { copy, measurement: 0, integers: 2 }).collect();
    let columns = [(0, 1), (1, 2), (1, 3), (3, 6), (3, 7)];
    let columns = columns.map(|(part, at)| Column { part, terms: vec![(at, 1.0)] });
    assert_eq!(before(&columns, &parts), [None, None, Some(0), Some(1), Some(2)]);

    let dimensions: String = (0..5).map(|i| format!("[[dimension]]\nname = \"v{i}\"\ncodes = 2\n")).collect();
    let copies = nested(&["1", "0.5", "0.45", "0.42", "0.4"]);
    let spec = spec(&row("epsilon = 1"), &format!("{dimensions}[[table]]\nevery = 2\n{copies}"));
    // Slow, and few runs show nothing.
    for seed in 0..tries(0, 10) as u64 {
        holds(&audited(&spec, 300, 1e-3, 43 + seed));
    }
}

/// Units of many rows: fewer of them in a group, down to one, and then none.
#[test]
fn groups_have_so_many_rows_at_the_most() {
    let said = |one: f64, rows: usize| match group(one, rows) {
        Ok(units) => Ok(units),
        Err(Failure::Message(why)) => Err(why),
        Err(_) => unreachable!(),
    };
    assert_eq!(
        [said(1.0, 1), said(1e-3, 1), said(1e-3, 256), said(1.0, 1000), said(1.0, 4096)],
        [60, 4096, 16, 4, 1].map(Ok)
    );
    for rows in [4097, 4_000_000_000] {
        assert!(said(1.0, rows).unwrap_err().contains("4 096 rows at most"));
    }
    // A group of one.
    let unit =
        |rows: u64| spec(&format!("unit = {{ column = \"who\", max_rows = {rows} }}\nrho = \"1/2\""), CELLS);
    let found = audited(&unit(tries(2500, 4096) as u64), 100, 1e-3, 51);
    holds(&found);
    assert!(found.bounds[0].estimate.unwrap() > 0.5 * found.claim, "{found:?}");
    let why = tried(&unit(4_000_000_000), 100, 1e-3, 51, &|| ()).unwrap_err();
    assert!(why.contains("4 000 000 000 rows"), "{why}");
}

/// A column that is a dimension and orders the rows of a unit says what the dimension says.
#[test]
fn dimensions_may_order_the_rows_of_a_unit() {
    let days = "[[dimension]]\nname = \"day\"\ndates = [\"2024-01-01\", \"2024-01-03\"]\n[[table]]\nof = [\"day\"]\n";
    let ages = "[[dimension]]\nname = \"age\"\nrange = [0, 4]\n[[table]]\nof = [\"age\"]\n";
    for (order, rest) in [("day", days), ("age", ages)] {
        let unit = format!("unit = {{ column = \"who\", max_rows = 2, order = \"{order}\" }}\nrho = \"1/2\"");
        let found = audited(&spec(&unit, rest), 120, 1e-3, 52);
        holds(&found);
        assert!(found.pair.1.starts_with("2 rows: "), "{found:?}");
        let costs = found.bounds[0].estimate.unwrap() / found.claim;
        assert!(costs > 0.7, "{order}: {costs}");
    }
    let own = spec("unit = { column = \"sex\", max_rows = 2 }\nrho = \"1/2\"", CELLS);
    let why = tried(&own, 100, 1e-3, 53, &|| ()).unwrap_err();
    assert!(why.starts_with("the unit's own column \"sex\" is counted as well"), "{why}");
}

/// A unit that changes may be far beyond in one cell and far below in another.
#[test]
fn both_ends_are_tried_in_two_cells() {
    let amounts = "[[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n[[amount]]\nname = \"inc\"\nlow = -1\nhigh = 9\nstep = 1\n\
                   measure_clamping = 0.6\n[[table]]\nof = [\"sex\"]\nsum = [\"inc\"]\n";
    let found = audited(
        &spec(&row("neighbours = \"substitute\"\nrho = \"1/2\""), amounts),
        tries(200, 1000),
        1e-3,
        54,
    );
    holds(&found);
    let pair = [&found.pair.0, &found.pair.1];
    for words in ["sex = F", "sex = M", "beyond", "below"] {
        assert!(pair.iter().any(|one| one.contains(words)), "{words}: {pair:?}");
    }
    let costs = found.bounds[0].estimate.unwrap() / found.claim;
    assert!(costs > 0.85, "{costs}");
}

/// Small numbers leave room for the words beside them, and a confidence is never 100 %.
#[test]
fn texts_say_what_they_should() {
    for budget in ["rho = \"1e-12\"", "epsilon = \"1e-6\""] {
        let text = to_text(&audited(&spec(&row(budget), CELLS), 100, 1e-3, 55), &effort(100, 1e-12));
        assert!(!text.contains('…') && text.contains("confidence 99.9999999999 %"), "{text}");
    }
    let said = [0.5, 0.999, 0.99999, 1.0 - 1e-12, 1.0 - f64::EPSILON / 2.0].map(probability);
    assert_eq!(said, ["50.00 %", "99.90 %", "99.999 %", "99.9999999999 %", "99.99999999999999 %"]);
}
