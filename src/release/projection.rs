//! The projection of a release that has one, and its integers.

use super::packing::{CHUNK, unpack};
use super::{Kind, Release, ReleaseError, wire};
use crate::cube::Cube;
use crate::projection::Projection;

/// The projection of a release; `None` when it is one of tables.
pub fn projection(release: &Release, cube: &Cube) -> Result<Option<Projection>, ReleaseError> {
    match release.count(Kind::Projection) {
        0 => Ok(None),
        1 => wire::decode_projection(&release.section(Kind::Projection, 0)?, cube).map(Some),
        n => Err(invalid(format!("there are {n} of them"))),
    }
}

pub(crate) fn invalid(why: String) -> ReleaseError {
    ReleaseError::Invalid { what: "the projection", why }
}

/// The integers of a projection, every section checked.
pub fn values(release: &Release, projection: &Projection) -> Result<Vec<i64>, ReleaseError> {
    let all = projection.design.shape.values() as usize;
    let sections = all.div_ceil(CHUNK);
    let held = release.count(Kind::Measurements) as usize;
    if held != sections {
        return Err(invalid(format!("{held} sections of integers; its size needs {sections}")));
    }
    let mut out = Vec::with_capacity(all);
    for index in 0..sections {
        let bytes = release.section(Kind::Measurements, index as u32)?;
        let mut rest = &bytes[..];
        out.extend(unpack(&mut rest, (all - out.len()).min(CHUNK))?);
        if !rest.is_empty() {
            return Err(invalid(format!("section {index} has {} bytes too many", rest.len())));
        }
    }
    Ok(out)
}
