//! Many releases of one dataset, in memory.

use margins::cli::{Failure, output::grouped};
use margins::make::PlannedRelease;
use margins::secret::noise::Entropy;
use margins::watch::{Stage, Watch};
use margins::{Frame, MakeError};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the noise of releases comes from.
pub(super) enum Seeds {
    /// The operating system, as for any release.
    System,
    /// Numbers that tests count up.
    #[cfg(test)]
    Counted(AtomicU64),
}

/// What stands in a release: for each measurement of each copy how many integers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub copy: usize,
    pub measurement: usize,
    pub integers: usize,
}

/// A number that is made of a release: an integer of it, or a sum of several with weights.
#[derive(Debug, Clone)]
pub(super) struct Column {
    /// Of which part.
    pub part: usize,
    pub terms: Vec<(usize, f64)>,
}

/// Releases of one dataset: of each the same numbers.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub width: usize,
    numbers: Vec<f64>,
}

impl Sample {
    pub(super) fn new(width: usize, numbers: Vec<f64>) -> Sample {
        Sample { width, numbers }
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len() / self.width.max(1)
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.numbers.chunks_exact(self.width.max(1))
    }

    pub(super) fn means(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.width];
        self.rows().for_each(|row| sums.iter_mut().zip(row).for_each(|(s, x)| *s += x));
        sums.iter().map(|s| s / self.len() as f64).collect()
    }

    /// The first half, and the second.
    pub(super) fn halves(&self) -> (Sample, Sample) {
        let (first, second) = self.numbers.split_at(self.len() / 2 * self.width);
        (Sample::new(self.width, first.to_vec()), Sample::new(self.width, second.to_vec()))
    }
}

/// Makes releases of a plan.
pub(super) struct Maker<'a> {
    plan: &'a PlannedRelease,
    seeds: Seeds,
    /// What every thread does before it makes its first.
    ready: &'a (dyn Fn() + Sync),
    watch: &'a Watch,
    /// Which numbers are made of each release; all integers at first.
    columns: Vec<Column>,
    pub parts: Vec<Part>,
    made: AtomicU64,
}

impl<'a> Maker<'a> {
    /// `rows` are any: a release of them shows what stands in one.
    pub(super) fn new(
        plan: &'a PlannedRelease,
        seeds: Seeds,
        ready: &'a (dyn Fn() + Sync),
        watch: &'a Watch,
        rows: &Frame,
    ) -> Result<Maker<'a>, Failure> {
        let mut maker = Maker {
            plan,
            seeds,
            ready,
            watch,
            columns: Vec::new(),
            parts: Vec::new(),
            made: AtomicU64::new(0),
        };
        let release = alone()?.install(|| {
            ready();
            plan.integers(rows, maker.entropy(0)?)
        })?;
        maker.parts = parts(&release);
        let each = |(part, of): (usize, &Part)| (0..of.integers).map(move |_| part);
        let owners = maker.parts.iter().enumerate().flat_map(each);
        maker.columns = owners.enumerate().map(|(i, part)| Column { part, terms: vec![(i, 1.0)] }).collect();
        Ok(maker)
    }

    fn entropy(&self, number: u64) -> Result<Entropy, MakeError> {
        match &self.seeds {
            Seeds::System => {
                let _ = number;
                Entropy::from_os().map_err(|e| MakeError::Wrong(e.to_string()))
            }
            #[cfg(test)]
            Seeds::Counted(next) => Ok(Entropy::fixed(next.load(Ordering::Relaxed) + number)),
        }
    }

    /// How many releases were made.
    pub(super) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// From now on these numbers are made of each release.
    pub(super) fn keep(&mut self, columns: Vec<Column>) {
        self.columns = columns;
    }

    /// So many releases of some rows. The numbers do not depend on the threads.
    pub(super) fn sample(&self, rows: &Frame, releases: usize) -> Result<Sample, Failure> {
        let width = self.columns.len();
        let mut numbers = vec![0.0; releases * width];
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        let each = releases.div_ceil(threads).max(1);
        let stage = self.watch.stage("auditing", releases as u64);
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (at, out) in numbers.chunks_mut((each * width).max(1)).enumerate() {
                let (from, stage) = ((at * each) as u64, &stage);
                threads.push(scope.spawn(move || self.some(rows, from, out, stage)));
            }
            let threads = threads.into_iter();
            let joined = threads.map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
            joined.collect::<Result<Vec<()>, Failure>>()
        })?;
        self.made.fetch_add(releases as u64, Ordering::Relaxed);
        #[cfg(test)]
        if let Seeds::Counted(next) = &self.seeds {
            next.fetch_add(releases as u64, Ordering::Relaxed);
        }
        Ok(Sample::new(width, numbers))
    }

    /// Some of them, on one thread.
    fn some(&self, rows: &Frame, from: u64, out: &mut [f64], stage: &Stage) -> Result<(), Failure> {
        alone()?.install(|| {
            (self.ready)();
            for (number, out) in (from..).zip(out.chunks_exact_mut(self.columns.len())) {
                if self.watch.is_stopped() {
                    return Err(Failure::Message("interrupted".into()));
                }
                let release = self.plan.integers(rows, self.entropy(number)?)?;
                self.fits(&release)?;
                let all: Vec<f64> =
                    release.iter().flatten().flatten().map(|&integer| integer as f64).collect();
                for (out, column) in out.iter_mut().zip(&self.columns) {
                    *out = column.terms.iter().map(|&(i, weight)| weight * all[i]).sum();
                }
                stage.advance(1);
            }
            Ok(())
        })
    }

    /// How many integers stand where must not depend on rows.
    fn fits(&self, release: &[Vec<Vec<i64>>]) -> Result<(), Failure> {
        if parts(release) == self.parts {
            return Ok(());
        }
        let count = |parts: &[Part]| grouped(parts.iter().map(|p| p.integers as u64).sum());
        Err(Failure::Refused(format!(
            "how many integers a release has depends on the rows: {} of some, {} of others",
            count(&self.parts),
            count(&parts(release))
        )))
    }
}

fn parts(release: &[Vec<Vec<i64>>]) -> Vec<Part> {
    let of_copy = |(copy, all): (usize, &Vec<Vec<i64>>)| -> Vec<Part> {
        let part = |(measurement, own): (usize, &Vec<i64>)| Part { copy, measurement, integers: own.len() };
        all.iter().enumerate().map(part).collect()
    };
    release.iter().enumerate().flat_map(of_copy).collect()
}

/// One thread for a release: many are made beside each other.
fn alone() -> Result<rayon::ThreadPool, Failure> {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|e| Failure::Message(e.to_string()))
}
