//! All files of a dataset, on all cores: pieces of them are handed out in order, and coded beside each other.
//!
//! What is made of the rows depends neither on the number of threads nor on the size of the pieces: whoever counts adds up, whoever needs an
//! order has the pieces' numbers. So do errors: the one that is told is that of the first row that has one.

use super::Groups;
use super::chunk::Chunk;
use super::error::{IngestError, Place};
use super::faults::Faults;
use super::fields::Fields;
use super::files::DataFile;
use super::piece::{Bad, Stop, What};
use super::text::{Block, Buffer, Layout, Stopped, Text, line};
use super::zeros::Zeros;
use crate::spec::{CsvOptions, Format};
use crate::watch::Watch;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Takes coded rows. Every thread has its own.
pub(in crate::secret) trait Take: Send {
    /// Some rows of a piece. Those of one piece come in order, and no others between them.
    fn take(&mut self, piece: usize, chunk: &Chunk);
    /// What was wrong with rows, where that is counted.
    fn faults(&mut self, _faults: Faults) {}
    /// The piece has no more rows, or cannot be read on.
    fn end(&mut self, _piece: usize) {}
}

/// How the work is shared out. Nothing that is made depends on it.
#[derive(Debug, Clone, Copy)]
pub(in crate::secret) struct Settings {
    pub threads: usize,
    /// How many bytes of a text are read at a time.
    pub block: usize,
    /// How many bytes rows of units may take that are held, where that is less than what is left of the limit.
    pub memory: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        let threads = rayon::current_num_threads();
        Settings { threads, block: super::text::BLOCK, memory: usize::MAX }
    }
}

/// One reading of all files.
pub(super) struct Run<'a> {
    pub files: &'a [DataFile],
    pub options: &'a CsvOptions,
    pub fields: &'a Fields<'a>,
    /// Where there can be no rows; looked at later where not all rows count.
    pub zeros: Option<&'a Zeros>,
    /// Whether rows that cannot be used are counted, instead of ending it.
    pub check: bool,
    pub settings: Settings,
    pub watch: &'a Watch,
    /// Told how many bytes are read.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// What a thread works on.
enum Piece {
    Text(Arc<Layout>, Block),
    Group(Arc<Groups>, usize),
}

/// A file that is being handed out.
enum Open {
    Text(Box<Text>, Arc<Layout>),
    Groups(Arc<Groups>, usize),
}

/// What is yet to be handed out.
struct Queue {
    /// The file that is open, and the number of the next one.
    open: Option<Open>,
    next: usize,
    /// For each piece that was handed out, of which file it is and how many rows it had.
    pieces: Vec<(usize, u64)>,
    bytes: u64,
    /// Memory of texts that were coded.
    spare: Vec<Buffer>,
    failed: Option<Failed>,
}

/// Why reading ends early.
struct Failed {
    piece: usize,
    file: usize,
    why: Why,
}

enum Why {
    /// With the byte of the file where the row is.
    Row(Bad, Option<u64>),
    Io(std::io::ErrorKind),
    Long(u64),
    File(IngestError),
}

impl Queue {
    /// Notes a failure, unless one is known that comes before it.
    fn fail(&mut self, failed: Failed) {
        if self.failed.as_ref().is_none_or(|f| failed.piece < f.piece) {
            self.failed = Some(failed);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run<'_> {
    /// Codes all rows. Gives back what took them, and of each piece its file and the number of its rows.
    pub(super) fn all<S: Take>(
        &self,
        make: &(dyn Fn() -> S + Sync),
    ) -> Result<(Vec<S>, Vec<(usize, u64)>), IngestError> {
        // Of several files without header rows some may well have no rows; but not all of them.
        if self.options.columns.is_some() && self.files.iter().all(|file| file.size == 0) {
            return Err(IngestError::NoBytes);
        }
        // A wrong file among many is told before the first is read.
        if self.files.len() > 1 {
            for at in 0..self.files.len() {
                self.open(at).map_err(|error| self.named(at, error))?;
            }
        }
        let queue =
            Queue { open: None, next: 0, pieces: Vec::new(), bytes: 0, spare: Vec::new(), failed: None };
        let queue = Mutex::new(queue);
        let sinks = if self.settings.threads <= 1 {
            vec![self.work(&queue, make())]
        } else {
            std::thread::scope(|scope| {
                let start = |_| scope.spawn(|| self.work(&queue, make()));
                let threads: Vec<_> = (0..self.settings.threads).map(start).collect();
                threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
            })
        };
        let queue = queue.into_inner().unwrap_or_else(PoisonError::into_inner);
        match queue.failed {
            Some(failed) => Err(self.error(failed, &queue.pieces)),
            None => Ok((sinks, queue.pieces)),
        }
    }

    /// Opens a file, and finds the columns in it.
    pub(crate) fn try_file(&self, file: usize) -> Result<(), IngestError> {
        self.open(file).map(drop)
    }

    fn open(&self, file: usize) -> Result<Open, IngestError> {
        let Some(file) = self.files.get(file) else { return Err(IngestError::Changed) };
        Ok(match file.format {
            Format::Csv => {
                let (text, layout) = Text::open(file, self.options, self.fields, self.settings.block)?;
                Open::Text(Box::new(text), Arc::new(layout))
            }
            Format::Parquet => Open::Groups(Arc::new(Groups::open(file, self.fields)?), 0),
        })
    }

    /// The next piece and its number.
    fn next(&self, queue: &Mutex<Queue>) -> Option<(usize, Piece)> {
        let queue = &mut *lock(queue);
        if queue.failed.is_some() {
            return None;
        }
        let piece = queue.pieces.len();
        if self.watch.is_stopped() {
            queue.fail(Failed { piece, file: self.files.len(), why: Why::File(IngestError::Stopped) });
            return None;
        }
        loop {
            let file = queue.next.saturating_sub(1);
            let found = match &mut queue.open {
                None if queue.next == self.files.len() => return None,
                None => match self.open(queue.next) {
                    Ok(open) => {
                        queue.open = Some(open);
                        queue.next += 1;
                        continue;
                    }
                    Err(error) => Err((queue.next, Why::File(error))),
                },
                Some(Open::Text(text, layout)) => match text.next(&mut queue.spare) {
                    Ok(Some(block)) => Ok(Piece::Text(layout.clone(), block)),
                    Ok(None) => {
                        queue.open = None;
                        continue;
                    }
                    Err(Stopped::Io(error)) => Err((file, Why::Io(error))),
                    Err(Stopped::Long(at)) => Err((file, Why::Long(at))),
                },
                Some(Open::Groups(groups, next)) if *next < groups.len() => {
                    *next += 1;
                    Ok(Piece::Group(groups.clone(), *next - 1))
                }
                Some(Open::Groups(..)) => {
                    queue.open = None;
                    continue;
                }
            };
            return match found {
                Ok(found) => {
                    queue.pieces.push((file, 0));
                    Some((piece, found))
                }
                Err((file, why)) => {
                    queue.fail(Failed { piece, file, why });
                    None
                }
            };
        }
    }

    /// Takes piece after piece until there are no more.
    fn work<S: Take>(&self, queue: &Mutex<Queue>, mut sink: S) -> S {
        let mut chunk = Chunk::new(self.fields);
        chunk.faults = self.check.then(Faults::default);
        while let Some((number, piece)) = self.next(queue) {
            let coded = catch_unwind(AssertUnwindSafe(|| self.code(number, &piece, &mut chunk, &mut sink)));
            // Others may wait for their turn.
            sink.end(number);
            let coded = coded.unwrap_or_else(|panic| resume_unwind(panic));
            let queue = &mut *lock(queue);
            let Some((file, known)) = queue.pieces.get_mut(number) else { return sink };
            let (file, bytes) = (*file, piece.bytes());
            match coded {
                Ok(rows) => *known = rows,
                Err(stop) => {
                    let why = match (stop, &piece) {
                        (Stop::File(error), _) => Why::File(error),
                        (Stop::Row(bad), Piece::Text(_, block)) => {
                            let at = bad.offset.map(|at| block.offset + at);
                            Why::Row(bad, at)
                        }
                        (Stop::Row(bad), Piece::Group(..)) => Why::Row(bad, None),
                    };
                    queue.fail(Failed { piece: number, file, why });
                }
            }
            queue.bytes += bytes;
            if let Piece::Text(_, block) = piece {
                queue.spare.push(block.bytes);
            }
            (self.progress)(queue.bytes);
        }
        if let Some(faults) = chunk.faults.take() {
            sink.faults(faults);
        }
        sink
    }

    /// Codes a piece, and says how many rows it has.
    fn code<S: Take>(
        &self,
        number: usize,
        piece: &Piece,
        chunk: &mut Chunk,
        sink: &mut S,
    ) -> Result<u64, Stop> {
        let mut take = |chunk: &mut Chunk| {
            if let Some(zeros) = self.zeros {
                zeros.see(chunk);
            }
            sink.take(number, chunk);
        };
        if let Some(faults) = &mut chunk.faults {
            faults.begin(
                number,
                match piece {
                    Piece::Text(_, block) => Some(block.offset),
                    Piece::Group(..) => None,
                },
            );
        }
        match piece {
            Piece::Text(layout, block) => Ok(layout.decode(&block.bytes, self.fields, chunk, &mut take)?),
            Piece::Group(groups, group) => groups.decode(*group, self.fields, chunk, &mut take),
        }
    }

    /// The error that is told. All pieces before the one that failed have been read.
    fn error(&self, failed: Failed, pieces: &[(usize, u64)]) -> IngestError {
        let before = pieces.iter().take(failed.piece).filter(|(file, _)| *file == failed.file);
        let before: u64 = before.map(|(_, rows)| *rows).sum();
        let line = |at| self.files.get(failed.file).and_then(|file| line(file, at));
        let error = match failed.why {
            Why::File(error) => error,
            Why::Io(error) => IngestError::Read { after: Place { row: before, line: None }, error },
            Why::Long(at) => IngestError::Long {
                after: Place { row: before + 1, line: line(at) },
                longest: self.fields.memory.longest(),
            },
            Why::Row(bad, at) => {
                let place = Place { row: before + bad.row, line: at.and_then(line) };
                match bad.what {
                    What::Ragged { expected, found } => IngestError::Ragged { place, expected, found },
                    What::Unclosed => IngestError::Unclosed { place },
                    What::Cell { column, fault } => IngestError::Cell { place, column, fault },
                }
            }
        };
        self.named(failed.file, error)
    }

    /// Says in which file, where there are several.
    pub(super) fn named(&self, file: usize, error: IngestError) -> IngestError {
        match self.files.get(file) {
            Some(DataFile { path, .. }) if self.files.len() > 1 => IngestError::InFile {
                name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                number: file + 1,
                of: self.files.len(),
                error: Box::new(error),
            },
            _ => error,
        }
    }
}

impl Piece {
    /// How many bytes of the file it is.
    fn bytes(&self) -> u64 {
        match self {
            Piece::Text(_, block) => block.bytes.len() as u64,
            Piece::Group(groups, group) => groups.bytes(*group),
        }
    }
}
