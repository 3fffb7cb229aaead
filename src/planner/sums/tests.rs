//! Sums over groups of unequal size: factors of nodes leave room for how far a row moves sums.

use super::*;
use crate::cube::Quantity;
use crate::plan::{Block, BudgetRule};
use std::path::Path;

/// 25 blocks in states of 10 and 15, by counties of unequal size.
fn tree() -> String {
    let block = |b: usize| {
        let county = match b {
            0..5 => "A1",
            5..10 => "A2",
            10..14 => "B1",
            14..16 => "B2",
            _ => "B3",
        };
        format!("b{b},{county},{}\n", &county[..1])
    };
    "block,county,state\n".to_owned() + &(0..25).map(block).collect::<String>()
}

fn request(high: &str, more: &str) -> Request {
    let table = |of: &str| format!("[[table]]\nof = [\"{of}\", \"sex\"]\nsum = [\"pay\"]\n");
    let text = format!(
        "name = \"m\"\ntitle = \"M\"\n[data]\npath = \"rows.csv\"\n[privacy]\nunit = {{ column = \"id\", max_rows = 2 }}\nrho = \"1/2\"\n\
         [[dimension]]\nname = \"block\"\nhierarchy = \"tree.csv\"\n[[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n\
         [[amount]]\nname = \"pay\"\nlow = 0\nhigh = {high}\nstep = 1\n{}{}[[table]]\nof = [\"block\"]\n\
         [strategy]\nmeasure = \"residual\"\n{more}\n",
        table("block.state"),
        table("block.county"),
    );
    let read = |name: &str| match name {
        "tree.csv" => Ok(tree().into_bytes()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    crate::spec::parse(&text, Path::new("m.toml"), read).unwrap_or_else(|e| panic!("{e}")).request().unwrap()
}

fn planned(high: &str, more: &str) -> Result<Planned, PlanError> {
    let request = request(high, more);
    choose(&request, Look::Needed).map(|choice| (*choice.planned).clone())
}

/// The largest factor of a channel's nodes; none where nodes share evenly.
fn largest(channel: &Channel) -> Option<u32> {
    let of = |m: &crate::plan::Measurement| match &m.block {
        Block::Based(b) => b.axes.iter().flat_map(|t| t.weights()?.factors().iter().copied().max()).max(),
        _ => None,
    };
    channel.measurements.iter().filter_map(of).max()
}

#[test]
fn factors_leave_room_for_sums() {
    // What is larger moves integers further, and has coarser factors; sums of what is too large for any are shared out evenly.
    let mut before = u32::MAX;
    for high in ["1", "80", "10_000", "16_000_000"] {
        let plan = planned(high, "").unwrap_or_else(|e| panic!("{high}: {e}")).plan;
        let sums = &plan.channels[1];
        assert!(matches!(sums.subject, Subject::Sum(_)));
        let own = largest(sums).unwrap_or(0);
        assert!(own <= before && (high == "1" || own < before), "{high}: {own} {before}");
        assert!(largest(plan.rows()).unwrap() > 1 << 16, "{high}");
        before = own;
    }
    assert_eq!(before, 0);
    // A row of sums is worth no less by these factors than by none.
    for high in ["1", "80"] {
        let [own, even] = ["", "budgets = \"uniform\""].map(|more| planned(high, more).unwrap());
        assert_eq!((even.plan.budgets, largest(&even.plan.channels[1])), (BudgetRule::Uniform, None));
        let sums = |planned: &Planned| planned.sums.iter().map(|s| s.weighted_total).sum::<f64>();
        assert!(sums(&own) <= sums(&even), "{high}: {} {}", sums(&own), sums(&even));
    }
    let mut far = request("80", "");
    far.sums[0].quantity = Arc::new(Quantity { high: 1 << 48, ..(*far.sums[0].quantity).clone() });
    far.budget = Rational::whole(1 << 20);
    let why = choose(&far, Look::Needed).unwrap_err().to_string();
    assert!(why.contains("would not fit") && why.contains("larger `step`"), "{why}");
}

/// Counts are asked of blocks, and sums of what is coarser, of one level with another dimension and of the next without: kinds of components of the sums reach no block.
#[test]
fn sums_of_coarser_levels_alone() {
    let file = |name: &str| match name {
        "tree.csv" => Ok(tree().into_bytes()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    let text = "name = \"m\"\ntitle = \"M\"\n[privacy]\nunit = \"row\"\nrho = \"1/2\"\n\
                [[dimension]]\nname = \"block\"\nhierarchy = \"tree.csv\"\n[[dimension]]\nname = \"age\"\ncodes = 8\n\
                [[amount]]\nname = \"pay\"\nlow = 0\nhigh = 10\nstep = 1\n\
                [[table]]\nof = [\"block.state\", \"age\"]\nsum = [\"pay\"]\n[[table]]\nof = [\"block.county\"]\nsum = [\"pay\"]\n[[table]]\nof = [\"block\"]\n\
                [strategy]\nmeasure = \"residual\"\n";
    let request = crate::spec::parse(text, Path::new("m.toml"), file).unwrap().request().unwrap();
    let plan = choose(&request, Look::Needed).unwrap().planned.plan.clone();
    assert!(largest(plan.rows()).is_some() && largest(&plan.channels[1]).is_some());
}

/// Nearly ten million steps, the most that a default has, in a table of usual size: by the optimal strategy, for 2^40 rows.
#[test]
fn default_steps_have_room() {
    let text = "name = \"m\"\ntitle = \"M\"\n[data]\npath = \"rows.csv\"\n[privacy]\nunit = \"row\"\nrho = \"1/2\"\n\
                [[dimension]]\nname = \"a\"\ncodes = 16\n[[dimension]]\nname = \"b\"\ncodes = 15\n\
                [[amount]]\nname = \"pay\"\nlow = 0\nhigh = 99_999\n[[table]]\nof = [\"a\", \"b\"]\nsum = [\"pay\"]\n\
                [strategy]\nmeasure = \"residual\"\n";
    let read = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let spec = crate::spec::parse(text, Path::new("m.toml"), read).unwrap_or_else(|e| panic!("{e}"));
    let request = spec.request().unwrap();
    assert_eq!(request.sums[0].quantity.steps(), 9_999_900);
    let plan = &choose(&request, Look::Needed).unwrap().planned.plan;
    let most = crate::planner::capacity::most_rows(plan, &Frame::new(&request.cube, &plan.levels));
    assert!(most >= crate::planner::capacity::ROWS, "{most}");
}

/// Halves of halves are planned for counts alone, so `tables` refuses sums of ranges of one dimension; `auto` has others.
#[test]
fn ranges_of_one_dimension_are_no_halves() {
    let read = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let of = |measure: &str| {
        let text = format!(
            "name = \"m\"\ntitle = \"M\"\n[privacy]\nunit = \"row\"\nrho = 2\n[[dimension]]\nname = \"a\"\ncodes = 7\n\
             [[amount]]\nname = \"x\"\nlow = 0\nhigh = 100\n[[table]]\nof = [\"a\"]\nask = {{ a = \"ranges\" }}\nsum = [\"x\"]\n\
             [strategy]\nmeasure = \"{measure}\"\n"
        );
        let spec = crate::spec::parse(&text, Path::new("m.toml"), read).unwrap_or_else(|e| panic!("{e}"));
        choose(&spec.request().unwrap(), Look::Everywhere).map_err(|e| e.to_string())
    };
    let why = of("tables").unwrap_err();
    assert!(why.contains("halves of halves"), "{why}");
    assert!(of("auto").is_ok());
}
