//! What is missing beside a release that is out.

use super::{MakeError, account};
use crate::answer::{Answers, agreeing};
use crate::compile::{Job, extending};
use crate::cube::{Quantity, Weighing};
use crate::plan::{Mode, Plan};
use crate::planner::Look;
use crate::release::keys::SigningKey;
use crate::release::{Dataset, Release};
use crate::spec::{Spec, Unit, read_otherwise};
use crate::visible::visible;
use crate::watch::Watch;
use std::path::Path;
use std::sync::Arc;

/// The spec of what is missing beside a release that is out, the tables that it tells well enough, and what was planned: where amounts are, how they are measured must fit.
pub(super) fn extended(
    spec: &Spec,
    file: &Path,
    key: &SigningKey,
    watch: &Watch,
) -> Result<(Spec, Option<Job>, Vec<String>), MakeError> {
    let name = visible(&file.display().to_string()).into_owned();
    let refuse =
        |why: String| Err(MakeError::Wrong(format!("{name} cannot be extended by this spec: {why}")));
    // Before anything is opened: whatever the file holds, the two could never be asked together.
    if spec.projection.is_some() {
        return refuse(
            "it is of a projection, and a projection is asked alone. Release it without --extends".into(),
        );
    }
    let out = Answers::open(file).map_err(|e| MakeError::about(file, &e))?;
    let manifest = out.release().manifest();
    if spec.recipients.is_some() {
        return refuse(
            "it has recipients, and what is missing beside one file is not missing alike to all of them. Extend each recipient's \
             own copy with a spec of its own"
                .into(),
        );
    }
    if out.copy().is_some_and(|c| matches!(c.mode, Mode::Shifted { .. })) {
        return refuse("it is a shifted copy, whose secret centre is in every count".into());
    }
    if manifest.dataset.is_none() || manifest.dataset != spec.dataset {
        return refuse(
            "they do not say that they are of the same people at the same time ([dataset] id, period and snapshot)"
                .into(),
        );
    }
    if manifest.signer.public_key != key.public_key() {
        return refuse("another key signed it, so the two are never asked together".into());
    }
    if let Some(why) = other_truth(out.release(), spec).or_else(|| extending::other_categories(spec, &out)) {
        return refuse(why);
    }
    let plan = out.release().plan(out.cube()).ok();
    if let Some(why) = plan.as_ref().and_then(|there| other_numbers(there, spec)) {
        return refuse(why);
    }
    let Some(missing) = extending::missing(spec, spec.file.as_deref().unwrap_or(Path::new("")), &out)? else {
        return Err(MakeError::Refused(format!(
            "nothing is missing: {name} tells every table of this spec as precisely as its margin asks"
        )));
    };
    let spec = Spec { file: spec.file.clone(), ..missing.spec };
    let job = match spec.summed().next() {
        None => None,
        Some(_) => Some(Job::watched(&spec, Look::Needed, watch)?),
    };
    if let (Some(Job::Tables(choice)), Some(there)) = (&job, &plan)
        && let Some(why) = from_elsewhere(&choice.planned.plan, there)
    {
        return refuse(why);
    }
    Ok((spec, job, missing.known))
}

/// In what the counts of a release and those of a spec about the same people have different truths, as far as both say. What only one of them says is a
/// difference, too: else two releases that contradict each other would both be like a spec that says nothing.
pub(crate) fn other_truth(release: &Release, spec: &Spec) -> Option<String> {
    let (said, own) = (release.manifest(), &spec.privacy.unit);
    let when =
        |d: &Option<Dataset>| d.as_ref().map(|d| (d.period.clone(), d.snapshot.clone())).unwrap_or_default();
    if when(&said.dataset) != when(&spec.dataset) {
        return Some("they are of different times ([dataset] period and snapshot)".into());
    }
    let part = said.account.as_ref().and_then(|a| a.name.part.as_deref());
    if !account::same_part(part, spec.account.part.as_deref()) {
        return Some("they are of different parts of the people".into());
    }
    let rows = match own {
        Unit::Row => 1,
        Unit::Column { max_rows, .. } => *max_rows,
    };
    let p = &said.privacy;
    let same = (p.unit.as_str(), p.max_rows) == (own.name(), rows)
        && p.order == own.order()
        && p.without == own.without();
    if !same {
        return Some("it counts other rows of a unit".into());
    }
    read_otherwise(release, spec)
}

/// In what a number of the spec is another one than that of its name in the release, or rows are weighed otherwise: what both then say of it is never taken together.
fn other_numbers(plan: &Plan, spec: &Spec) -> Option<String> {
    // What is missing is measured from where the release measures it.
    let here = spec.measured(plan).request()?.sums;
    let there: Vec<&Arc<Quantity>> = plan.channels.iter().filter_map(|c| c.subject.quantity()).collect();
    let weight = |q: &&Arc<Quantity>| q.weighing == Weighing::Weight;
    let own = here.iter().map(|sum| &sum.quantity);
    let differs = |own: &Arc<Quantity>| {
        let how = there.iter().filter(|q| q.name.eq_ignore_ascii_case(&own.name)).find_map(|q| q.unlike(own));
        how.map(|how| format!("both have {}, and {how}", own.name))
    };
    if let Some(why) = own.clone().find_map(differs) {
        return Some(why);
    }
    match (there.iter().copied().find(weight), own.clone().find(weight)) {
        (Some(one), Some(other)) => one.unlike(other).map(|_| "they weigh rows by different numbers".into()),
        (None, None) => None,
        _ => Some("one of them weighs rows, and the other does not".into()),
    }
}

/// Which amount a plan measures from elsewhere than the release does, in words: what both say of it is never taken together.
fn from_elsewhere(plan: &Plan, there: &Plan) -> Option<String> {
    let elsewhere = |q: &Quantity| {
        let mut of_name =
            there.summed().map(|(other, _)| other).filter(|o| o.name.eq_ignore_ascii_case(&q.name));
        of_name.any(|other| other.from != q.from)
    };
    let (quantity, _) = plan.summed().find(|(quantity, _)| elsewhere(quantity))?;
    Some(format!(
        "one of them measures {} from zero and the other from the middle of its bounds, so the two are never asked \
         together. Ask for counts beside its sums in both, or in neither (count = false)",
        quantity.name
    ))
}

/// Why a release and the one that it extends are not of the same rows, as far as what both publish without noise shows it: known only when that is counted.
pub(super) fn apart(out: &Path, made: &Path) -> Option<String> {
    agreeing(vec![Answers::open(out).ok()?, Answers::open(made).ok()?]).err().map(|e| e.to_string())
}
