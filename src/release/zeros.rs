//! Conditions whose cells are empty whatever the data, one to a section with tag 7: UTF-8 text, as after WHERE.

use super::{Kind, Release, ReleaseError};

/// The conditions of a release, which are those its manifest declares.
pub(super) fn conditions(release: &Release) -> Result<Vec<String>, ReleaseError> {
    let invalid = |why: &str| ReleaseError::Invalid { what: "a structural zero", why: why.into() };
    let conditions = (0..release.count(Kind::Zero))
        .map(|i| {
            String::from_utf8(release.section(Kind::Zero, i)?).map_err(|_| invalid("it is not UTF-8 text"))
        })
        .collect::<Result<Vec<_>, _>>()?;
    if release.manifest().declared.constraints != conditions {
        return Err(invalid("the manifest declares other conditions than the file holds"));
    }
    Ok(conditions)
}
