//! A release made once with zeros in place of everything that is measured, and thrown away.
//!
//! Whatever would keep a real one from being written or read (a plan its readers refuse, too many sections, a manifest that
//! is too long) shows here, before data is opened and anything is charged. `margins plan` does the same.

use super::{CompileError, begin, manifest};
use crate::cube::Frame;
use crate::planner::Planned;
use crate::release::packing::{chunks, pack_zeros};
use crate::release::{Kind, Release, SealError, SigningKey, Truncation};
use crate::spec::Spec;

/// Writes the release of a plan with zeros and reads it as its readers will. `day` is `YYYY-MM-DD`.
pub fn rehearse(spec: &Spec, planned: &Planned, day: &str) -> Result<(), CompileError> {
    let spec = &*spec.planned(&planned.plan);
    let plan = &planned.plan;
    let folder = tempfile::tempdir().map_err(CompileError::Temporary)?;
    let frame = Frame::new(&spec.cube, &plan.levels);
    let chunks = chunks(plan, &frame);
    let input = manifest(spec, planned, day, false)?;
    let mut writer = begin(spec, plan, chunks.len(), (folder.path(), false))?;
    for (i, chunk) in chunks.iter().enumerate() {
        let mut packed = Vec::new();
        for m in &plan.measurements[chunk.clone()] {
            pack_zeros(m.block.values(&frame), &mut packed);
        }
        writer.write_section(Kind::Measurements, i as u32, &packed)?;
    }
    for (i, cuboid) in plan.exact.iter().enumerate() {
        let zeros = vec![0; frame.len(cuboid)];
        writer.write_section(Kind::Exact, i as u32, &crate::release::exact::encode(cuboid, &zeros)?)?;
    }
    for (i, condition) in spec.zeros.iter().enumerate() {
        writer.write_section(Kind::Zero, i as u32, condition.as_bytes())?;
    }
    if let Some(scale) = plan.truncation {
        writer.write_section(Kind::Truncation, 0, &Truncation { scale, noisy: 0 }.encode()?)?;
    }
    let sealed = writer.seal(input, &SigningKey::throw_away().map_err(SealError::from)?)?;
    let release = Release::open(&sealed.path)?;
    release.plan(&release.cube()?)?;
    Ok(())
}
