//! Rows that come through a pipe: kept, so that they can be read as often as rows of a file are, and never written in the clear.

use super::error::{IngestError, Place};
use super::spill::{Block, Spill};
use crate::spec::Format;
use std::fmt;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use zeroize::Zeroizing;

/// So many bytes are enciphered at a time.
const BLOCK: usize = 1 << 18;
/// So many blocks stay in memory: few rows never touch the disk.
const HELD: usize = 8;

/// What somebody writes into a pipe. It is read when its rows are, once, and not before.
///
/// **Guarantee.** Nobody reads on the disk what came through: what does not stay in memory is in a [`Spill`].
#[derive(Clone)]
pub struct Piped(Arc<Inner>);

struct Inner {
    format: Format,
    from: Mutex<Option<Box<dyn Read + Send>>>,
    kept: OnceLock<Result<Kept, IngestError>>,
}

/// All that came, in blocks of [`BLOCK`] bytes but the last.
struct Kept {
    size: u64,
    spill: Spill,
    blocks: Vec<Part>,
}

enum Part {
    Held(Zeroizing<Vec<u8>>),
    Put(Block),
}

impl Piped {
    /// Rows in this format, from whatever gives them.
    pub(crate) fn new(from: impl Read + Send + 'static, format: Format) -> Piped {
        Piped(Arc::new(Inner { format, from: Mutex::new(Some(Box::new(from))), kept: OnceLock::new() }))
    }

    pub(super) fn format(&self) -> Format {
        self.0.format
    }

    /// How many bytes there are: waits until all have come.
    pub(super) fn size(&self) -> Result<u64, IngestError> {
        self.kept().map(|kept| kept.size)
    }

    fn kept(&self) -> Result<&Kept, IngestError> {
        let kept = self.0.kept.get_or_init(|| {
            let from = self.0.from.lock().unwrap_or_else(PoisonError::into_inner).take();
            Kept::all(from.ok_or(IngestError::Changed)?)
        });
        kept.as_ref().map_err(Clone::clone)
    }

    /// Reads from this byte on.
    pub(super) fn at(&self, at: u64) -> Reader {
        Reader { piped: self.clone(), at, block: None }
    }
}

impl fmt::Debug for Piped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Piped { <private> }")
    }
}

/// More memory would not help: only so many blocks are held.
fn full(error: IngestError) -> IngestError {
    match error {
        IngestError::Spill(why) => IngestError::Put(why),
        error => error,
    }
}

impl Kept {
    fn all(mut from: impl Read) -> Result<Kept, IngestError> {
        let mut kept = Kept { size: 0, spill: Spill::new(), blocks: Vec::new() };
        loop {
            let mut block = Zeroizing::new(Vec::with_capacity(BLOCK));
            (&mut from).take(BLOCK as u64).read_to_end(&mut block).map_err(|error| IngestError::Read {
                after: Place { row: 0, line: None },
                error: error.kind(),
            })?;
            let len = block.len();
            kept.size += len as u64;
            kept.blocks.push(match kept.blocks.len() < HELD {
                true => Part::Held(block),
                false => Part::Put(kept.spill.write(&mut block).map_err(full)?),
            });
            if len < BLOCK {
                return Ok(kept);
            }
        }
    }

    fn block(&self, number: usize) -> Result<Zeroizing<Vec<u8>>, IngestError> {
        match self.blocks.get(number) {
            None => Ok(Zeroizing::default()),
            Some(Part::Held(block)) => Ok(block.clone()),
            Some(Part::Put(block)) => self.spill.read(block),
        }
    }
}

/// Reads what came, from some byte on.
pub(super) struct Reader {
    piped: Piped,
    at: u64,
    /// The block it is in.
    block: Option<(usize, Zeroizing<Vec<u8>>)>,
}

impl Read for Reader {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let number = usize::try_from(self.at / BLOCK as u64).map_err(io::Error::other)?;
        let block = match self.block.take().filter(|(own, _)| *own == number) {
            Some((_, block)) => block,
            None => self
                .piped
                .kept()
                .and_then(|kept| kept.block(number))
                .map_err(full)
                .map_err(io::Error::other)?,
        };
        let rest = block.get((self.at % BLOCK as u64) as usize..).unwrap_or_default();
        let read = rest.len().min(to.len());
        to.iter_mut().zip(rest).for_each(|(to, byte)| *to = *byte);
        self.at += read as u64;
        self.block = Some((number, block));
        Ok(read)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::files::{Origin, files};
    use super::super::tests::{codes, in_order, labels, lenient, spec, with_unit};
    use super::super::{Means, check, read};
    use super::*;

    /// As from a file, also where what came is longer than what is held.
    #[test]
    fn rows_of_a_pipe() {
        let mut text = String::from("id,sex\n");
        for i in 0..400_000 {
            text += &format!("{},{}\n", i % 1000, ["F", "M", ""][i % 3]);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, &text).unwrap();
        assert!(text.len() > BLOCK * HELD);
        let plain = spec([lenient(labels("sex", &["F", "M"]))]);
        for spec in [plain.clone(), with_unit(plain.clone(), "id", 7)] {
            let piped = Piped::new(io::Cursor::new(text.clone()), Format::Csv);
            let found = read(&spec, Origin::Piped(&piped), &Means::default()).unwrap();
            let expected = read(&spec, &path, &Means::default()).unwrap();
            assert_eq!(in_order(&spec, codes(&found)), in_order(&spec, codes(&expected)));
            assert_eq!(check(&spec, Origin::Piped(&piped), &Means::default()).unwrap().rows, 400_000);
            // Whether a list that would be published is the rows is asked of a pipe, too.
            let [file] = &files(&spec, Origin::Piped(&piped)).unwrap()[..] else { panic!() };
            assert!(file.has_lines(text.as_bytes()).unwrap() && !file.has_lines(b"id,sex\n").unwrap());
        }
        let wrong = Piped::new(io::Cursor::new(text + "1,X\n"), Format::Csv);
        let strict = spec([labels("sex", &["F", "M", ""])]);
        let told = read(&strict, Origin::Piped(&wrong), &Means::default()).unwrap_err().to_string();
        assert!(told.starts_with("row 400001 (line 400002), column \"sex\": the value is outside"), "{told}");
        let nothing = Piped::new(io::empty(), Format::Csv);
        let told = read(&plain, Origin::Piped(&nothing), &Means::default()).unwrap_err();
        assert_eq!(told, IngestError::NoHeader);
    }

    /// From every place, across blocks in memory and on the disk, as often as wanted; and nothing is read before.
    #[test]
    fn what_came_is_read_again_and_again() {
        let sent: Vec<u8> = (0..BLOCK * (HELD + 2) + 77).map(|i| (i * i % 251) as u8).collect();
        let piped = Piped::new(io::Cursor::new(sent.clone()), Format::Csv);
        assert!(piped.0.kept.get().is_none());
        assert_eq!(piped.size().unwrap(), sent.len() as u64);
        let end = sent.len() as u64;
        for at in [0, 1, BLOCK as u64 - 1, BLOCK as u64, (BLOCK * HELD) as u64 + 5, end - 1, end, end + 9] {
            let mut read = Vec::new();
            piped.at(at).read_to_end(&mut read).unwrap();
            assert!(read == sent[sent.len().min(at as usize)..], "{at}");
        }
        assert_eq!(format!("{piped:?}"), "Piped { <private> }");
        let whole = Piped::new(io::Cursor::new(vec![7; BLOCK]), Format::Csv);
        let mut read = Vec::new();
        assert_eq!(
            (whole.size().unwrap(), whole.at(0).read_to_end(&mut read).unwrap()),
            (BLOCK as u64, BLOCK)
        );
        assert_eq!(Piped::new(io::empty(), Format::Csv).size().unwrap(), 0);
    }

    #[test]
    fn a_pipe_that_breaks_gives_no_rows() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
        let piped = Piped::new(Broken, Format::Csv);
        assert!(piped.size().is_err() && piped.size().is_err());
    }
}
