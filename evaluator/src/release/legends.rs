//! The legends of a manifest, put beside the dimensions of the domain.

use super::ReleaseError;
use super::kind::FIRST_FORMAT;
use super::manifest::Manifest;
use super::texts::is_plain;
use crate::cube::{Cube, Legend};

/// The most characters of a label and of a unit.
const LONGEST_LABEL: usize = 300;
/// The most characters of a dimension's description.
const LONGEST_LINE: usize = 2000;
/// The most labels of a release: its manifest is read whole.
const MOST_LABELS: usize = 1 << 17;

/// What is wrong with a label or a unit, or with a description, if anything is: each is one line that can be shown as it is.
pub fn fault(text: &str, is_description: bool) -> Option<String> {
    let most = if is_description { LONGEST_LINE } else { LONGEST_LABEL };
    match () {
        () if text.trim().is_empty() => Some("it is empty".into()),
        () if !is_plain(text) => {
            Some("it has control characters, or some that turn the direction of writing".into())
        }
        () if text.chars().count() > most => Some(format!("it has more than {most} characters")),
        () => None,
    }
}

/// Every text of a legend, and whether it is the description.
fn texts(legend: &Legend) -> impl Iterator<Item = (&str, bool)> {
    let labels = legend.labels.iter().flat_map(|of| &of.of).map(|[_, label]| label.as_str());
    let others = legend.unit.as_deref().into_iter().chain(labels).map(|text| (text, false));
    legend.description.as_deref().map(|text| (text, true)).into_iter().chain(others)
}

/// Gives the dimensions of a cube what the manifest says of them.
pub(super) fn attach(cube: &mut Cube, manifest: &Manifest) -> Result<(), ReleaseError> {
    let wrong = |why: String| Err(ReleaseError::Manifest(format!("legends: {why}")));
    let legends = &manifest.legends;
    if legends.is_empty() {
        return Ok(());
    }
    if manifest.format == FIRST_FORMAT {
        return wrong("format 1 has none".into());
    }
    let labels = legends.iter().flat_map(|l| &l.labels).map(|of| of.of.len());
    if labels.fold(0, usize::saturating_add) > MOST_LABELS {
        return wrong(format!("there are more than {MOST_LABELS} labels"));
    }
    let mut last = None;
    for legend in legends {
        if let Some(why) = texts(legend).find_map(|(text, is_description)| fault(text, is_description)) {
            return wrong(format!("a text of {}: {why}", legend.dimension));
        }
        let at = cube.dimension(&legend.dimension).filter(|&at| last.is_none_or(|last| at > last));
        let Some((at, dimension)) = at.and_then(|at| Some((at, cube.dimensions.get_mut(at)?))) else {
            return wrong(format!("there is no dimension {}, or it is there before", legend.dimension));
        };
        if *legend == (Legend { dimension: legend.dimension.clone(), ..Legend::default() }) {
            return wrong(format!("that of {} says nothing", legend.dimension));
        }
        last = Some(at);
        dimension.explain(legend.clone()).or_else(wrong)?;
    }
    Ok(())
}
