//! The measurements of a release file, read and checked as they are needed.

use super::kept::Kept;
use super::packing::{Chunk, Layout, layout, skip, unpack, unpack_integers};
use super::sums::{self, Measured};
use super::{FIRST_FORMAT, Kind, Release, ReleaseError, exact};
use crate::cube::{Cube, Cuboid, Frame, Integer, Integers};
use crate::plan::slices::Slices;
use crate::plan::{Plan, Subject};
use crate::recover::{Keeps, Source, SourceError};
use crate::watch::Watch;
use std::borrow::Borrow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Reads measured integers section by section, those of channels beside rows after those of rows; every section's hash is checked when it is read.
pub struct Values<R = Release> {
    release: R,
    layout: Layout,
    frame: Arc<Frame>,
    cube: Arc<Cube>,
    /// The tables published exactly.
    exact: Vec<Cuboid>,
    /// The section read last: small measurements come many to a section.
    last: Mutex<Option<(usize, Arc<[u8]>)>>,
    /// The values of channels beside rows.
    beside: Vec<Integers>,
    /// The channels, and their exact tables.
    channels: Vec<Measured>,
    /// Sums of them from an earlier time.
    kept: Option<Kept>,
}

fn missing(measurement: usize) -> ReleaseError {
    ReleaseError::Invalid { what: "measurements", why: format!("there is no measurement {measurement}") }
}

impl<R: Borrow<Release>> Values<R> {
    /// The measurements of `release`, which were made by `plan`.
    pub fn new(release: R, cube: &Cube, plan: &Plan) -> Result<Values<R>, ReleaseError> {
        let frame = Frame::new(cube, &plan.levels);
        let layout = layout(plan, &frame);
        Values::laid_out(release, Arc::new(cube.clone()), plan, (Arc::new(frame), layout))
    }

    /// The same, of which it is known where they stand.
    pub(crate) fn laid_out(
        release: R,
        cube: Arc<Cube>,
        plan: &Plan,
        (frame, layout): (Arc<Frame>, Layout),
    ) -> Result<Values<R>, ReleaseError> {
        let held = release.borrow().count(Kind::Measurements) as usize;
        if held != layout.chunks.len() {
            let why = format!("{held} sections of measurements; the plan needs {}", layout.chunks.len());
            return Err(ReleaseError::Invalid { what: "measurements", why });
        }
        let beside = match plan.beside().next() {
            Some(_) => release.borrow().beside(&plan.of_rows(), &cube)?,
            None => Vec::new(),
        };
        let mut channels = Vec::with_capacity(beside.len());
        let mut values = Vec::new();
        for (channel, own, exact) in beside {
            values.extend(own);
            channels.push((channel, Vec::new(), exact));
        }
        Ok(Values {
            release,
            beside: values,
            channels,
            layout,
            frame,
            cube,
            exact: plan.exact.clone(),
            last: Mutex::new(None),
            kept: None,
        })
    }

    /// Keeps in a folder what an answer went through all measurements for: see [`Kept`].
    pub(crate) fn kept_in(self, folder: &Path) -> Result<Values<R>, ReleaseError> {
        let kept = Kept::in_folder(folder, self.release().manifest_bytes(), &self.release().watch)?;
        Ok(Values { kept: Some(kept), ..self })
    }

    /// Why nothing was kept, where it should have been.
    pub(crate) fn not_kept(&self) -> Option<String> {
        self.kept.as_ref()?.refused()
    }

    /// The file.
    pub(crate) fn release(&self) -> &Release {
        self.release.borrow()
    }

    fn section(&self, index: usize) -> Result<Arc<[u8]>, ReleaseError> {
        let lock = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, bytes)) = &*lock()
            && *at == index
        {
            return Ok(bytes.clone());
        }
        let bytes: Arc<[u8]> = self.release().section(Kind::Measurements, index as u32)?.into();
        *lock() = Some((index, bytes.clone()));
        Ok(bytes)
    }

    fn read(&self, measurement: usize) -> Result<Integers, ReleaseError> {
        let Layout { counts, chunks, slices } = &self.layout;
        if let Some(beside) = measurement.checked_sub(counts.len()) {
            return self.beside.get(beside).cloned().ok_or_else(|| missing(measurement));
        }
        let section = chunks.partition_point(|c| c.measurements.end <= measurement);
        let Chunk { measurements, slice } = chunks.get(section).ok_or_else(|| missing(measurement))?;
        if let (Some(_), Some(cut)) = (slice, slices.get(&measurement)) {
            return self.read_slices(measurement, counts[measurement], cut);
        }
        let bytes = self.section(section)?;
        let mut rest = &bytes[..];
        for before in measurements.start..measurement {
            skip(&mut rest, counts[before])?;
        }
        self.unpack(&mut rest, counts[measurement])
    }

    /// Takes one measurement off the front. Version 1 has no more than 64 bits.
    fn unpack(&self, bytes: &mut &[u8], count: usize) -> Result<Integers, ReleaseError> {
        match self.release().manifest().format {
            FIRST_FORMAT => Ok(unpack(bytes, count)?.into()),
            _ => unpack_integers(bytes, count),
        }
    }

    /// A measurement that is cut, slice by slice; in 128 bits from the first slice on that does not fit 64.
    fn read_slices(&self, measurement: usize, count: usize, cut: &Slices) -> Result<Integers, ReleaseError> {
        let (mut whole, mut wide) = (vec![0i64; count], Vec::<i128>::new());
        for slice in 0..cut.count() {
            let part = self.read_slice(measurement, slice)?;
            match part.narrow() {
                Ok(part) if wide.is_empty() => cut.put(slice, part, &mut whole),
                _ => {
                    if wide.is_empty() {
                        wide = std::mem::take(&mut whole).into_iter().map(i128::from).collect();
                    }
                    cut.put(slice, &part.iter().collect::<Vec<_>>(), &mut wide);
                }
            }
        }
        if wide.is_empty() { Ok(whole.into()) } else { i128::all(wide).ok_or_else(|| missing(measurement)) }
    }

    fn read_slice(&self, measurement: usize, slice: usize) -> Result<Integers, ReleaseError> {
        let Layout { chunks, slices, .. } = &self.layout;
        let cut = slices.get(&measurement).filter(|cut| slice < cut.count());
        let cut = cut.ok_or_else(|| missing(measurement))?;
        let first = chunks.partition_point(|c| c.measurements.end <= measurement);
        self.unpack(&mut &self.section(first + slice)?[..], cut.values(slice))
    }

    /// Decodes every measurement: what an auditor does before trusting that all are there. Returns how many
    /// values there are.
    pub fn check_all(&self) -> Result<u64, ReleaseError> {
        let Layout { counts, chunks, slices } = &self.layout;
        let mut values = 0;
        let stage = self.release().watch.stage("decoding", chunks.len() as u64);
        for (i, chunk) in chunks.iter().enumerate() {
            stage.advance(1);
            let bytes = self.section(i)?;
            let mut rest = &bytes[..];
            for m in chunk.measurements.clone() {
                let cut = chunk.slice.and_then(|slice| Some(slices.get(&m)?.values(slice)));
                values += self.unpack(&mut rest, cut.unwrap_or(counts[m]))?.len() as u64;
            }
            if !rest.is_empty() {
                let why = format!("section {i} has {} bytes too many", rest.len());
                return Err(ReleaseError::Invalid { what: "measurements", why });
            }
        }
        Ok(values)
    }

    /// Decodes every table that is published exactly; they must agree with each other. Returns how many counts
    /// there are.
    pub fn check_exact(&self) -> Result<u64, ReleaseError> {
        let read = |i| exact::counts(self.release(), &self.cube, &self.frame, &self.exact, i);
        let tables: Vec<Vec<i64>> = (0..self.exact.len()).map(read).collect::<Result<_, _>>()?;
        exact::agree(&self.cube, &self.frame, &self.exact, &tables)?;
        self.check_exact_sums()?;
        let mut all: usize = tables.iter().map(Vec::len).sum();
        for (channel, _, sums) in &self.channels {
            exact::agree(&self.cube, &self.frame, &channel.exact, sums)?;
            all += sums.iter().map(Vec::len).sum::<usize>();
        }
        Ok(all as u64)
    }

    /// The sums that are published exactly are such as their rows can have. Reads the counts of their tables alone: all else of them was decoded at the start.
    pub(crate) fn check_exact_sums(&self) -> Result<(), ReleaseError> {
        sums::exact_alike(&self.channels, |cuboid| {
            let at = self.exact.iter().position(|e| e == cuboid);
            let counts = |i| exact::counts(self.release(), &self.cube, &self.frame, &self.exact, i);
            at.map_or(Ok(Vec::new()), counts)
        })
    }

    /// The exact tables of a channel beside rows.
    pub(crate) fn exact_of(&self, subject: &Subject) -> Vec<Vec<i64>> {
        let own = self.channels.iter().find(|(channel, ..)| channel.subject == *subject);
        own.map_or(Vec::new(), |(.., exact)| exact.clone())
    }
}

impl<R: Borrow<Release>> Source for Values<R> {
    fn values(&self, index: usize) -> Result<Integers, SourceError> {
        self.read(index).map_err(|e| SourceError(Box::new(e)))
    }

    fn slices(&self, index: usize) -> Option<Arc<Slices>> {
        self.layout.slices.get(&index).cloned()
    }

    fn slice(&self, index: usize, slice: usize) -> Result<Integers, SourceError> {
        self.read_slice(index, slice).map_err(|e| SourceError(Box::new(e)))
    }

    fn exact(&self, index: usize) -> Result<Vec<i64>, SourceError> {
        exact::counts(self.release(), &self.cube, &self.frame, &self.exact, index)
            .map_err(|e| SourceError(Box::new(e)))
    }

    fn watch(&self) -> Watch {
        self.release().watch.clone()
    }

    fn kept(&self) -> Option<&dyn Keeps> {
        self.kept.as_ref().map(|kept| kept as &dyn Keeps)
    }
}
