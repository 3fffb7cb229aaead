//! Whom a charge costs how much is derived again from the release that it became.

use crate::compile::tests::{released_by, spec};
use crate::ledger::published::{Confirmed, about};
use crate::ledger::{Charge, Ledger};
use crate::release::{Release, SigningKey};
use std::path::Path;

fn asked(name: &str, snapshot: &str, extra: &str, sql: &str) -> String {
    format!(
        "name = \"{name}\"\ntitle = \"T\"\ndemo = true\n[dataset]\nid = \"shop\"\n{snapshot}\n[privacy]\nunit = \"row\"\nepsilon = \"1/4\"\n{extra}\
         [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n\
         [[dimension]]\nname = \"age\"\nrange = [0, 9]\nlevels = [{{ name = \"half\", width = 5 }}]\n[asked]\nqueries = [\"{sql}\"]\n"
    )
}

/// The last charge of the ledger in a folder.
fn last(dir: &Path) -> Charge {
    let chain = Ledger::read(&dir.join("ledger.jsonl")).unwrap();
    chain.charges().last().unwrap().1.clone()
}

#[test]
fn a_lie_about_whom_a_charge_costs_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::throw_away().unwrap();
    let rows = "sex,age\nF,1\nM,7\n";
    let make = |text: &str| {
        let made = released_by(&key, dir.path(), &spec(text), rows);
        (Release::open(&made.sealed.path).unwrap(), last(dir.path()))
    };
    const SNAPSHOT: &str = "period = \"2026\"\nsnapshot = \"may\"";
    let (release, young) = make(&asked("a", SNAPSHOT, "", "SELECT COUNT(*) FROM a WHERE age < 5"));
    let (other, old) = make(&asked("b", SNAPSHOT, "", "SELECT COUNT(*) FROM b WHERE age >= 5"));
    assert_eq!((about(&young, &release), about(&old, &other)), (Confirmed::Same, Confirmed::Same));
    // The dearest decides, and the charge of each says what the other does not.
    let chain = Ledger::read(&dir.path().join("ledger.jsonl")).unwrap();
    assert_eq!(chain.spent().epsilon, Some(crate::ledger::spent::exact("1/4".parse().unwrap())));
    assert!(matches!(about(&young, &other), Confirmed::Not(why) if why.contains("other shares")));
    let lie = |change: &dyn Fn(&mut crate::ledger::cells::Cells)| {
        let mut charge = young.clone();
        charge.cells.iter_mut().for_each(change);
        match about(&charge, &release) {
            Confirmed::Not(why) => why,
            all => panic!("{all:?}"),
        }
    };
    assert!(lie(&|c| c.same.snapshot = "june".into()).contains("snapshot is june in the charge and may"));
    assert!(lie(&|c| c.same.period = None).contains("the period is none in the charge and 2026"));
    assert!(lie(&|c| c.same.domain = c.same.mapping.clone()).contains("domain"));
    assert!(lie(&|c| c.same.mapping = c.same.domain.clone()).contains("another way"));
    assert!(lie(&|c| c.by[0].runs[1].0 = 6).contains("other cells"));
    assert!(lie(&|c| c.shares.reverse()).contains("other shares"));

    // Whoever reads the rows in another way, or says no snapshot, is in no group with the first.
    let (_, coded) = make(
        &asked("c", SNAPSHOT, "", "SELECT COUNT(*) FROM c WHERE age < 5")
            .replace("name = \"sex\"\n", "name = \"sex\"\nmissing = \"M\"\n"),
    );
    let same = |c: &Charge| c.cells.as_ref().map(|c| c.same.clone());
    assert_ne!(same(&coded), same(&young));
    assert_eq!(same(&coded).map(|s| s.domain), same(&young).map(|s| s.domain));
    let (silent, nobody) = make(&asked("d", "period = \"2026\"", "", "SELECT COUNT(*) FROM d WHERE age < 5"));
    assert_eq!((nobody.cells.clone(), about(&nobody, &silent)), (None, Confirmed::Everybody));
    let claims = Charge { cells: young.cells.clone(), ..nobody };
    assert!(matches!(about(&claims, &silent), Confirmed::Not(why) if why.contains("everybody")));
    // Tables, and what is told of all units beside the questions, cost everybody.
    let (tables, table) = make(
        &asked("e", SNAPSHOT, "", "").replace("[asked]\nqueries = [\"\"]", "[[table]]\nof = [\"age.half\"]"),
    );
    assert_eq!((table.cells.clone(), about(&table, &tables)), (None, Confirmed::Everybody));
}

/// What a budget of any fraction leaves for rounding is found: exchanged rows cost what sums of parts, each rounded up, come to.
#[test]
fn a_question_fits_any_budget() {
    for (budget, sql) in [
        (
            "rho = \"1/10\"",
            "SELECT 3 * COUNT(*) FILTER (WHERE age < 5) + COUNT(*) FILTER (WHERE sex = 'F') FROM a",
        ),
        ("rho = \"1/3\"", "SELECT COUNT(*) FROM a WHERE age < 5"),
        ("epsilon = \"1/10\"", "SELECT COUNT(*) FROM a WHERE age < 5"),
    ] {
        for neighbours in ["add-remove", "substitute"] {
            let text = asked("a", "", &format!("neighbours = \"{neighbours}\"\n"), sql);
            let spec = spec(&text.replace("epsilon = \"1/4\"", budget));
            let planned = crate::planner::plan(&spec.request().unwrap()).unwrap();
            let used = planned.cost.total.to_f64() / planned.plan.budget.to_f64();
            assert!(
                planned.cost.total <= planned.plan.budget && used > 1.0 - 1e-9,
                "{budget} {neighbours} {used}"
            );
        }
    }
}
