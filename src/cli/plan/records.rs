//! How near records of a release would come to the truth: `margins plan --records`.

use crate::answer::Several;
use crate::cli::output::{self, counted};
use crate::cli::refusal::failure;
use crate::cli::{Failure, answers};
use crate::compile::Job;
use crate::compile::simulated::simulated;
use crate::make::{PlannedRelease, signer, today};
use crate::records::{Likeness, Options, People, seconds};
use crate::release::Release;
use crate::secret::noise::Entropy;
use crate::watch::Watch;
use serde_json::{Value, json};
use std::path::Path;

/// What was tried out.
pub(super) struct Tried {
    /// Who the people are.
    of: String,
    left_out: u64,
    evenly: Vec<String>,
    seconds: f64,
    likeness: Likeness,
}

/// The noise of the trial.
fn entropy(seed: Option<u64>) -> Result<Entropy, Failure> {
    #[cfg(feature = "test-seed")]
    if let Some(seed) = seed {
        return Ok(Entropy::fixed(seed));
    }
    let _ = seed;
    signer::random().map_err(failure)
}

/// Makes a release of people that everybody may know, and records of it.
pub(super) fn tried(
    planned: &PlannedRelease,
    what: &str,
    seed: Option<u64>,
    watch: &Watch,
) -> Result<Tried, Failure> {
    let Job::Tables(choice) = planned.job() else {
        return Err(Failure::Message(
            "a projection has no tables, so no records can be drawn from it".into(),
        ));
    };
    let plan = &choice.planned.plan;
    let spec = planned.spec().planned(plan);
    let options = Options { seed: 1, ..Options::default() };
    let (people, of) = match what.parse::<u64>() {
        Ok(0) => return Err(Failure::Message("--records 0: there would be nobody".into())),
        Ok(rows) => {
            let people = People::new(&spec.cube, plan, Err(rows), options.seed, watch)?;
            (people, format!("{} spread evenly", counted(rows, "row")))
        }
        Err(_) => {
            let file = Path::new(what);
            let release = Release::open(file).map_err(|e| output::about(file, &e))?;
            let earlier = answers(release.watched(watch), file, None)?;
            let title = earlier.title();
            let people =
                People::new(&spec.cube, plan, Ok(&Several::new(vec![earlier])?), options.seed, watch)?;
            (people, format!("the records of {title}"))
        }
    };
    let rows = people.nodes.first().map_or(0, Vec::len) as u64;
    let seconds = seconds(&spec.cube, plan, rows);
    output::say(&format!(
        "note: trying out records of {}: about {} of one processor",
        counted(rows, "row"),
        super::takes::seconds(seconds)
    ));
    let made = simulated(planned.spec(), planned.job(), &people.nodes, entropy(seed)?, &today(), watch)?;
    let several = Several::new(vec![crate::answer::Answers::from_release(made.release.watched(watch))?])?;
    let likeness = people.likeness(&several, &options, watch)?;
    Ok(Tried { of, left_out: people.left_out, evenly: people.evenly, seconds, likeness })
}

impl Tried {
    /// For people.
    pub(super) fn text(&self) -> String {
        let left_out = match self.left_out {
            0 => String::new(),
            n => format!(", without {n} in cells declared empty"),
        };
        let evenly = match &self.evenly[..] {
            [] => String::new(),
            some => format!(", spread evenly over {}, which it does not tell", some.join(", ")),
        };
        let text = format!(
            "records   tried out on {}{left_out}{evenly}: a release of them with this plan's noise, and records of that. Total variation distance between both, mean of \
             all tables of two and of three dimensions (0: equal, 1: nothing in common)",
            self.of
        );
        let mut out = format!("\n{}\n\n{}", output::wrapped(&text, 10), self.likeness);
        let note = "The last line is chance alone: as many rows, drawn anew among them. Other noise and other people give other figures.";
        out.push_str(&format!("  {}\n", crate::audit::wrap(note, 78, 2)));
        out
    }

    /// For programs.
    pub(super) fn json(&self) -> Result<Value, Failure> {
        let mut value = serde_json::to_value(&self.likeness)?;
        if let Some(fields) = value.as_object_mut() {
            fields.insert("of".into(), json!(self.of));
            fields.insert("left_out".into(), json!(self.left_out));
            fields.insert("evenly".into(), json!(self.evenly));
            fields.insert("seconds".into(), json!(self.seconds));
        }
        Ok(value)
    }
}
