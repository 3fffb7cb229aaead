//! The plan of a release, and whether the file has room for what it promises.

use super::packing::{Layout, layout};
use super::{FIRST_FORMAT, Kind, Release, ReleaseError};
use crate::cube::{Cube, Frame};
use crate::plan::limits::{cells, least_bytes};
use crate::plan::{Block, Form, Measurement, Plan, Table};

/// A plan, the frame of its levels in use, and where its measurements stand.
pub(crate) struct Framed {
    pub plan: Plan,
    pub frame: Frame,
    pub layout: Layout,
}

impl Release {
    /// The plan, checked against the dimensions, with the tables that are published exactly and the zeros.
    pub fn plan(&self, cube: &Cube) -> Result<Plan, ReleaseError> {
        self.framed(cube).map(|framed| framed.plan)
    }

    /// The same, with what takes a look at every node of the dimensions.
    pub(crate) fn framed(&self, cube: &Cube) -> Result<Framed, ReleaseError> {
        let (mut plan, frame) = super::wire::decode_framed(&self.section(Kind::Plan, 0)?, cube)?;
        if let Some(later) = later(&plan).filter(|_| self.manifest().format == FIRST_FORMAT) {
            return Err(ReleaseError::Invalid { what: "the plan", why: format!("format 1 has no {later}") });
        }
        if self.count(Kind::Workload) > 0 {
            super::wire::decode_workload(&self.section(Kind::Workload, 0)?, &mut plan, cube)?;
        }
        let (exact, cells) = super::exact::cuboids(self, cube, &frame, &plan)?;
        plan.exact = exact;
        let layout = check_room(self, &plan, &frame, cells)?;
        plan.zeros = super::zeros::conditions(self)?;
        let beside = self.beside(&plan, cube)?;
        plan.channels.extend(beside.into_iter().map(|(channel, ..)| channel));
        let declared = self.manifest().declared.invariants.len();
        if declared != plan.exact.len() + plan.exact_sums().count() {
            let why = format!("the manifest declares {declared} exact tables, and the file holds others");
            return Err(ReleaseError::Invalid { what: "a table published exactly", why });
        }
        plan = self.copy(plan)?;
        // One that cannot be resolved would make every answer an error.
        crate::recover::zeros::Zeros::of_plan(cube, &frame, &plan)
            .map_err(|why| ReleaseError::Invalid { what: "a structural zero", why })?;
        Ok(Framed { plan, frame, layout })
    }
}

/// What a plan has that came with format 2.
fn later(plan: &Plan) -> Option<&'static str> {
    let weighted = |m: &Measurement| matches!(&m.block, Block::Based(b) if b.is_weighted());
    let used = |table: &Table| table.cuboid.iter().all(|at| plan.uses(at));
    match plan.rows() {
        rows if rows.measurements.iter().any(weighted) => Some("weights of nodes"),
        rows if !rows.workload.iter().all(used) => Some("tables of levels that are not in use"),
        _ => None,
    }
}

/// Refuses a plan whose values the file has no room for, before anybody makes room for them. `exact` are the cells of the tables
/// published without noise, which have been compared with the file already.
fn check_room(release: &Release, plan: &Plan, frame: &Frame, exact: u64) -> Result<Layout, ReleaseError> {
    let refuse = |why: String| Err(ReleaseError::Invalid { what: "measurements", why });
    let found = release.count(Kind::Measurements) as usize;
    // A projection has no blocks; its integers are compared with its own size.
    if plan.rows().measurements.is_empty() {
        // So has one of sums that need no counts, and nothing stands in their place.
        return match release.count(Kind::Projection) {
            0 if found > 0 => refuse(format!("{found} sections of measurements; the plan needs none")),
            _ => Ok(layout(plan, frame)),
        };
    }
    // All together first: how large measurements are cut takes a look at each of their nodes.
    let lengths = (0..found as u32).map(|index| release.section_length(Kind::Measurements, index));
    let bytes = lengths.sum::<Result<u64, _>>()?;
    let values = plan.rows().measurements.iter().map(|m| m.block.checked_values(frame).unwrap_or(u64::MAX));
    let least = values.fold(0u64, |n, v| n.saturating_add(least_bytes(v)));
    if found > 0 && bytes < least {
        return refuse(format!("its sections have {bytes} bytes; its values take at least {least}"));
    }
    let layout = layout(plan, frame);
    let Layout { counts, chunks: sections, slices } = &layout;
    if found != sections.len() {
        return refuse(format!("{found} sections of measurements; the plan needs {}", sections.len()));
    }
    let mut total = exact;
    for (index, chunk) in sections.iter().enumerate() {
        let mut least = 0u64;
        for m in chunk.measurements.clone() {
            let slice = chunk.slice.and_then(|slice| Some(slices.get(&m)?.values(slice)));
            let n = match slice.or(counts.get(m).copied()).unwrap_or(0) {
                usize::MAX => u64::MAX,
                n => n as u64,
            };
            least = least.saturating_add(least_bytes(n));
            total = total.saturating_add(n);
        }
        let bytes = release.section_length(Kind::Measurements, index as u32)?;
        if bytes < least {
            return refuse(format!("section {index} has {bytes} bytes; its values take at least {least}"));
        }
    }
    // What is measured must be part of something that is wholly there: see the head of this file.
    let too_large = |m: &&crate::plan::Measurement| {
        m.block.form() != Form::Rows && cells(frame, m.block.cuboid()).is_none_or(|n| n > total)
    };
    match plan.rows().measurements.iter().find(too_large) {
        Some(_) => refuse("a part of a table is measured whose other parts are not in the file".into()),
        None => Ok(layout),
    }
}
