//! Care for tables without a target, and the budget that is said to suffice.

use super::*;
use std::path::Path;

fn request(rho: &str, codes: usize, margin: u32, more: &str) -> Request {
    let text = format!(
        "name = \"m\"\ntitle = \"M\"\n[privacy]\nunit = \"row\"\nrho = \"{rho}\"\n[[dimension]]\nname = \"d\"\ncodes = {codes}\n\
         [[table]]\nof = []\nmargin = {margin}\n[[table]]\nof = [\"d\"]\n[strategy]\nobjective = \"targets\"\n{more}"
    );
    let nowhere = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    crate::spec::parse(&text, Path::new("m.toml"), nowhere).unwrap().request().unwrap()
}

/// Whatever measures it, and whether its target is within reach or not, the other table is let down by no more than is allowed beside
/// what the same request for the total gives it.
#[test]
fn nobody_is_let_down_further_than_allowed() {
    for (rho, budgets) in
        [("1/100", "optimal"), ("7/100", "optimal"), ("1/2", "optimal"), ("1/100", "uniform")]
    {
        for measure in ["auto", "queries", "hierarchy", "cluster", "tables", "residual", "wavelet", "base"] {
            let more = format!("measure = \"{measure}\"\nbudgets = \"{budgets}\"\n");
            let request = request(rho, 8, 5, &more);
            let own = plan(&request).unwrap();
            let total = plan(&request.of_total()).unwrap();
            let of = |planned: &Planned| planned.prediction.tables[1].max;
            let times = (of(&own) / of(&total)).sqrt();
            assert!(times <= 4.0 * (1.0 + 1e-3), "{rho} {measure}: {times}");
            let told = targets(&request, &own).unwrap().unwrap().others.unwrap();
            assert!((told / times - 1.0).abs() < 1e-9, "{rho} {measure}: {told} {times}");
        }
    }
}

/// The least budget, given in the place of the spec's own, meets all targets.
#[test]
fn the_budget_that_is_said_to_suffice_does() {
    for (codes, margin) in [(8, 5), (4, 5), (2, 3)] {
        for measure in ["auto", "queries", "cluster", "tables", "residual", "base"] {
            let request = request("1/100", codes, margin, &format!("measure = \"{measure}\"\n"));
            let own = plan(&request).unwrap();
            let least = targets(&request, &own).unwrap().unwrap().least.unwrap();
            let given = Request { budget: least.budget, ..request };
            let planned = plan(&given).unwrap();
            let found = targets(&given, &planned).unwrap().unwrap();
            assert!(found.outcomes.iter().all(|o| o.met), "{codes} {measure}: {found:?}");
        }
    }
}
