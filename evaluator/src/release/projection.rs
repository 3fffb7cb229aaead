//! The projection of a release that has one, and its integers.

use super::packing::{CHUNK, unpack};
use super::{Kind, Release, ReleaseError, wire};
use crate::cube::Cube;
use crate::plan::limits;
use crate::projection::Projection;

/// The projection of a release; `None` when it is one of tables.
pub fn projection(release: &Release, cube: &Cube) -> Result<Option<Projection>, ReleaseError> {
    // Its answers and its guarantee know nothing of either.
    let tables = [Kind::Exact, Kind::Zero, Kind::CutUnits, Kind::Workload]
        .iter()
        .map(|&k| release.count(k))
        .sum::<u32>();
    match release.count(Kind::Projection) {
        0 => Ok(None),
        1 if tables > 0 => {
            Err(invalid("there are exact tables, empty cells or counts of cut units beside it".into()))
        }
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
    // Room for the integers is made when the file is known to have them.
    for index in 0..sections {
        let here = (all - index * CHUNK).min(CHUNK) as u64;
        let (bytes, least) =
            (release.section_length(Kind::Measurements, index as u32)?, limits::least_bytes(here));
        if bytes < least {
            return Err(invalid(format!(
                "section {index} has {bytes} bytes; its integers take at least {least}"
            )));
        }
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
