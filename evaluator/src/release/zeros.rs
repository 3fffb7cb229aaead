//! Conditions whose cells are empty whatever the data, one to a section with tag 7: UTF-8 text, as after WHERE.

use super::texts::is_plain;
use super::{Kind, Release, ReleaseError};
use crate::plan::limits::{MAX_CONDITION, MAX_ZEROS};

/// The conditions of a release, which are those its manifest declares.
pub(super) fn conditions(release: &Release) -> Result<Vec<String>, ReleaseError> {
    let invalid = |why: &str| ReleaseError::Invalid { what: "a structural zero", why: why.into() };
    if release.count(Kind::Zero) > MAX_ZEROS {
        return Err(invalid(&format!("there are more than {MAX_ZEROS} of them")));
    }
    for i in 0..release.count(Kind::Zero) {
        if release.section_length(Kind::Zero, i)? > MAX_CONDITION {
            return Err(invalid(&format!("it is longer than {MAX_CONDITION} bytes")));
        }
    }
    let conditions = (0..release.count(Kind::Zero))
        .map(|i| {
            String::from_utf8(release.section(Kind::Zero, i)?).map_err(|_| invalid("it is not UTF-8 text"))
        })
        .collect::<Result<Vec<_>, _>>()?;
    if release.manifest().declared.constraints != conditions {
        return Err(invalid("the manifest declares other conditions than the file holds"));
    }
    if !conditions.iter().all(|c| is_plain(&c.replace(['\n', '\t'], " "))) {
        return Err(invalid("it has a control character, or one that turns the direction of writing"));
    }
    Ok(conditions)
}
