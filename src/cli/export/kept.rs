//! A finished table that may be too large to be held: a file without a name has its cells, area by area, eight bytes each.

use crate::cli::Failure;
use crate::cube::{Cube, Cuboid, Level};
use std::fs::File;
use std::io::{Error, Read, Seek, SeekFrom, Write};

/// The cells of a table by the areas of one dimension.
pub(super) struct Kept {
    dimension: usize,
    areas: usize,
    /// How many cells there are beside an area, and how many of them in the dimensions after that of the areas.
    each: usize,
    stride: usize,
    file: File,
}

fn failed(e: &Error) -> Failure {
    Failure::Message(format!("the temporary file of finished counts (TMPDIR says where it stands): {e}"))
}

impl Kept {
    /// A table of these areas by what is beside them, of which nothing is counted yet.
    pub(super) fn new(cube: &Cube, areas: Level, beside: &Cuboid) -> Result<Kept, Failure> {
        let cells = |of: &dyn Fn(&Level) -> bool| -> usize {
            beside.iter().filter(of).map(|l| l.of(cube).len()).product()
        };
        let dimension = areas.dimension;
        let kept = Kept {
            dimension,
            areas: areas.of(cube).len(),
            each: cells(&|_| true),
            stride: cells(&|l| l.dimension > dimension),
            file: tempfile::tempfile().map_err(|e| failed(&e))?,
        };
        // What nobody writes is 0.
        kept.file.set_len(kept.place(kept.areas as u32)).map_err(|e| failed(&e))?;
        Ok(kept)
    }

    fn place(&self, area: u32) -> u64 {
        u64::from(area) * self.each as u64 * 8
    }

    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// How many cells there are beside an area.
    pub(super) fn each(&self) -> usize {
        self.each
    }

    /// Adds to the cells of an area.
    pub(super) fn add(&mut self, area: u32, mut counts: Vec<u64>) -> Result<(), Failure> {
        self.of(area)?.iter().zip(&mut counts).for_each(|(before, n)| *n += before);
        let bytes: Vec<u8> = counts.into_iter().flat_map(u64::to_le_bytes).collect();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.place(area))).map_err(|e| failed(&e))?;
        file.write_all(&bytes).map_err(|e| failed(&e))
    }

    /// The cells of an area.
    pub(super) fn of(&self, area: u32) -> Result<Vec<u64>, Failure> {
        let (mut file, mut bytes) = (&self.file, vec![0; self.each * 8]);
        file.seek(SeekFrom::Start(self.place(area))).map_err(|e| failed(&e))?;
        file.read_exact(&mut bytes).map_err(|e| failed(&e))?;
        Ok(bytes.as_chunks().0.iter().map(|count| u64::from_le_bytes(*count)).collect())
    }

    /// All cells, the dimensions in their order.
    pub(super) fn all(&self) -> Result<Vec<u64>, Failure> {
        let mut out = vec![0; self.areas * self.each];
        for area in 0..self.areas {
            for (at, count) in self.of(area as u32)?.into_iter().enumerate() {
                let (outer, inner) = (at / self.stride, at % self.stride);
                out[(outer * self.areas + area) * self.stride + inner] = count;
            }
        }
        Ok(out)
    }
}
