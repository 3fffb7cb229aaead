//! What the first answer had to go through a whole release for, kept in a folder for the next question.
//!
//! One file a release, named by the BLAKE3 hash of its manifest: that names the hash of every section, so whatever differs in one bit has another
//! name. It holds sums of what the release publishes ([`crate::recover::Keeps`]), to the last bit as they were added up, and nothing else. What is
//! read of it is hashed first; a file that is damaged, of another release or of another version is made anew.
//!
//! The hash shows damage, not intent: whoever may write into the folder may write a file that fits. So a folder that everybody may write into is
//! refused, and files that others than their owner may read or write are not believed.
//!
//! The bytes, little-endian: the [`HEAD`]; its length (`u64`); the manifest's hash; how many sums (`u32`); for each the number of its
//! dimensions (`u8`), each one's index (`u16`) and level (`u8`), how many numbers it has (`u64`) and their BLAKE3 hash; the BLAKE3 hash of all
//! that; then the numbers, `f64`.

use super::ReleaseError;
use super::exact::{levels, shape_of};
use crate::cube::Cuboid;
use crate::recover::{Keeps, Sum};
use crate::watch::Watch;
use rustc_hash::FxHashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How a file begins: what it is, and of which version. The last number changes with the arithmetic of the sums.
const HEAD: &[u8] = concat!("margins sums ", env!("CARGO_PKG_VERSION"), " 1\n").as_bytes();
/// The most numbers of all sums together: 128 MB.
pub(crate) const MOST_NUMBERS: u64 = 1 << 24;
/// The longest head.
const MOST_HEAD: u64 = 64 << 20;

/// The sums of one release.
pub(crate) struct Kept {
    path: PathBuf,
    /// Of the manifest.
    hash: [u8; 32],
    state: Mutex<State>,
    watch: Watch,
}

enum State {
    /// Not yet looked for.
    Unknown,
    /// There is none, or none that may be believed.
    Nothing,
    There(Opened),
    /// Nothing could be kept.
    Refused(String),
}

struct Opened {
    file: File,
    entries: FxHashMap<Cuboid, Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    offset: u64,
    numbers: u64,
    hash: [u8; 32],
}

impl Kept {
    /// In a folder, which is made where there is none.
    pub(crate) fn in_folder(folder: &Path, manifest: &[u8], watch: &Watch) -> Result<Kept, ReleaseError> {
        own_folder(folder)?;
        let hash = blake3::hash(manifest);
        let path = folder.join(format!("{}.sums", hash.to_hex()));
        Ok(Kept { path, hash: *hash.as_bytes(), state: Mutex::new(State::Unknown), watch: watch.clone() })
    }

    /// Why nothing was kept, where it should have been.
    pub(crate) fn refused(&self) -> Option<String> {
        match &*self.lock() {
            State::Refused(why) => Some(format!("{}: {why}", self.path.display())),
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Unknown) {
            // Whatever is wrong with a file, it is made anew.
            *state = self.open().ok().flatten().map_or(State::Nothing, State::There);
        }
        state
    }

    fn open(&self) -> io::Result<Option<Opened>> {
        let mut file = crate::files::open(&self.path)?;
        let found = file.metadata()?;
        if !own(&found) {
            return Ok(None);
        }
        let mut start = [0; HEAD.len() + 8];
        file.read_exact(&mut start)?;
        let length = start.split_last_chunk::<8>().map_or(0, |(_, length)| u64::from_le_bytes(*length));
        if !start.starts_with(HEAD) || length > MOST_HEAD.min(found.len()) || length < 36 {
            return Ok(None);
        }
        let mut head = vec![0; length as usize];
        file.read_exact(&mut head)?;
        let mut check = [0; 32];
        file.read_exact(&mut check)?;
        let whole = blake3::Hasher::new().update(&start).update(&head).finalize();
        let bodies = (start.len() + head.len() + check.len()) as u64;
        let entries = match head.strip_prefix(&self.hash[..]) {
            Some(list) if *whole.as_bytes() == check => entries(list, bodies),
            _ => None,
        };
        let end = |(entries, end): (FxHashMap<Cuboid, Entry>, u64)| (end == found.len()).then_some(entries);
        Ok(entries.and_then(end).map(|entries| Opened { file, entries }))
    }

    fn write(&self, sums: &[(&Cuboid, &[f64])]) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        // Another process may be at the same.
        let part = folder.join(format!(
            ".{}.{}.part",
            blake3::Hash::from_bytes(self.hash).to_hex(),
            std::process::id()
        ));
        let written = self.watch.whole(|| {
            let mut file = new_file(&part)?;
            file.write_all(&self.bytes(sums)?)?;
            file.sync_all()?;
            fs::rename(&part, &self.path)
        });
        written.inspect_err(|_| {
            let _ = fs::remove_file(&part);
        })
    }

    fn bytes(&self, sums: &[(&Cuboid, &[f64])]) -> io::Result<Vec<u8>> {
        let mut head = self.hash.to_vec();
        let mut bodies = Vec::new();
        head.extend((sums.len() as u32).to_le_bytes());
        for (cuboid, numbers) in sums {
            head.extend(levels(cuboid).map_err(io::Error::other)?);
            let body: Vec<u8> = numbers.iter().flat_map(|v| v.to_bits().to_le_bytes()).collect();
            head.extend((numbers.len() as u64).to_le_bytes());
            head.extend(blake3::hash(&body).as_bytes());
            bodies.extend(body);
        }
        let mut out = HEAD.to_vec();
        out.extend((head.len() as u64).to_le_bytes());
        out.extend(head);
        out.extend(blake3::hash(&out).as_bytes());
        out.extend(bodies);
        Ok(out)
    }
}

impl Keeps for Kept {
    fn is_there(&self) -> bool {
        matches!(*self.lock(), State::There(_))
    }

    fn sum(&self, a: &Cuboid) -> Sum {
        let mut state = self.lock();
        let State::There(opened) = &mut *state else { return Sum::Gone };
        let Some(entry) = opened.entries.get(a).copied() else { return Sum::Absent };
        match opened.read(entry) {
            Ok(numbers) => Sum::Found(numbers),
            Err(_) => {
                *state = State::Nothing;
                Sum::Gone
            }
        }
    }

    fn keep(&self, sums: &[(&Cuboid, &[f64])]) {
        let numbers: u64 = sums.iter().map(|(_, s)| s.len() as u64).sum();
        if numbers > MOST_NUMBERS {
            return;
        }
        let written = self.write(sums);
        // What has been added up is in memory: the file is for others.
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) =
            written.map_or_else(|e| State::Refused(e.to_string()), |()| State::Nothing);
    }
}

impl Opened {
    fn read(&mut self, entry: Entry) -> io::Result<Vec<f64>> {
        let mut bytes = vec![0; entry.numbers as usize * 8];
        self.file.seek(SeekFrom::Start(entry.offset))?;
        self.file.read_exact(&mut bytes)?;
        if *blake3::hash(&bytes).as_bytes() != entry.hash {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        let (numbers, _) = bytes.as_chunks::<8>();
        Ok(numbers.iter().map(|b| f64::from_bits(u64::from_le_bytes(*b))).collect())
    }
}

/// The entries of a head behind the manifest's hash, and where the last one's numbers end.
fn entries(mut rest: &[u8], mut offset: u64) -> Option<(FxHashMap<Cuboid, Entry>, u64)> {
    let (count, more) = rest.split_first_chunk::<4>()?;
    rest = more;
    let mut out = FxHashMap::default();
    let mut left = MOST_NUMBERS;
    for _ in 0..u32::from_le_bytes(*count) {
        let (cuboid, more) = shape_of(rest).ok()?;
        let (numbers, more) = more.split_first_chunk::<8>()?;
        let (hash, more) = more.split_first_chunk::<32>()?;
        let numbers = u64::from_le_bytes(*numbers);
        left = left.checked_sub(numbers)?;
        out.insert(cuboid, Entry { offset, numbers, hash: *hash });
        offset += 8 * numbers;
        rest = more;
    }
    rest.is_empty().then_some((out, offset))
}

/// Makes the folder, or refuses it where others may write into it.
pub fn own_folder(folder: &Path) -> io::Result<()> {
    let mut make = fs::DirBuilder::new();
    make.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700);
    make.create(folder)?;
    let found = fs::metadata(folder)?;
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::mode(&found) & 0o002 != 0 {
        let why =
            "everybody may write into it: whoever does can change answers. Keep them in a folder of your own";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    if found.is_dir() { Ok(()) } else { Err(io::Error::from(io::ErrorKind::NotADirectory)) }
}

/// Whether a file is as it is written: its owner's alone.
fn own(_found: &fs::Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::mode(_found) & 0o077 == 0;
    #[cfg(not(unix))]
    true
}

fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(all(test, feature = "compile"))]
mod tests {
    use super::*;
    use crate::cube::{Cube, Dimension, Integers};
    use crate::exact::Rational;
    use crate::plan::{Block, BudgetRule, Channel, Measure, Measurement, Neighbours, Noise, Plan, Table};
    use crate::recover::{Recovery, Source, SourceError};
    use std::cell::Cell;

    /// Numbers in memory, and how often they were read.
    struct Numbers<'a> {
        values: &'a [Vec<i64>],
        kept: Option<Kept>,
        read: &'a Cell<usize>,
    }

    impl Source for Numbers<'_> {
        fn values(&self, index: usize) -> Result<Integers, SourceError> {
            self.read.set(self.read.get() + 1);
            Ok(self.values[index].clone().into())
        }

        fn kept(&self) -> Option<&dyn Keeps> {
            self.kept.as_ref().map(|kept| kept as &dyn Keeps)
        }
    }

    /// Three tables of three dimensions, so large that coarse components are worth keeping; one has groups of unequal size.
    fn tables() -> (Cube, Plan, Vec<Vec<i64>>) {
        let sizes = [900u32, 400, 300];
        let dimension = |(i, n): (usize, &u32)| {
            let mut d = Dimension::plain(&format!("d{i}"), (0..*n).map(|v| v.to_string()).collect());
            if i == 2 {
                let groups = [0, 0, 0, 1, 1, 2];
                let mut finest = d.levels.pop().unwrap();
                finest.parent = (0..*n).map(|v| groups[v as usize % 6]).collect();
                let coarse = crate::cube::Categories {
                    name: "group".into(),
                    labels: ["a", "b", "c"].map(String::from).to_vec(),
                    parent: vec![0; 3],
                    bounds: Vec::new(),
                };
                d.levels.extend([coarse, finest]);
            }
            d
        };
        let cube = Cube { dimensions: sizes.iter().enumerate().map(dimension).collect() };
        let cuboids =
            [vec![(0, 1), (1, 1)], vec![(0, 1), (2, 2)], vec![(1, 1), (2, 1)], vec![(0, 1), (2, 1)]];
        let cuboids: Vec<Cuboid> = cuboids.into_iter().map(Cuboid::new).collect();
        let mut state = 1u64;
        let mut draw = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as i64 % 1000
        };
        let values = cuboids.iter().map(|c| (0..cube.cells(c).unwrap()).map(&mut draw).collect()).collect();
        let block = |c: &Cuboid| Measurement { block: Block::Table(c.clone()), scale: Rational::whole(3) };
        let workload = cuboids.iter().map(|c| Table::new(c.clone(), Rational::ONE));
        let plan = Plan {
            noise: Noise::Gaussian,
            budget: Rational::ONE,
            neighbours: Neighbours::AddRemove,
            max_rows: 1,
            measure: Measure::Queries,
            budgets: BudgetRule::Uniform,
            levels: vec![vec![0, 1], vec![0, 1], vec![0, 1, 2]],
            channels: vec![Channel::rows(workload.collect(), cuboids.iter().map(block).collect())],
            exact: Vec::new(),
            zeros: Vec::new(),
            copy: None,
        };
        (cube, plan, values)
    }

    /// The hash of the bits of some tables, and how many measurements were read for them.
    fn answers(of: &(Cube, Plan, Vec<Vec<i64>>), kept: Option<Kept>) -> (String, usize) {
        let read = Cell::new(0);
        let source = Numbers { values: &of.2, kept, read: &read };
        let recovery = Recovery::new(of.0.clone(), of.1.clone(), source).unwrap();
        let asked = [vec![], vec![(0, 1)], vec![(2, 1)], vec![(1, 1)]];
        let table = |c: Vec<(usize, usize)>| recovery.table(&Cuboid::new(c)).unwrap();
        let bits: Vec<u8> =
            asked.into_iter().flat_map(table).flat_map(|v| v.to_bits().to_le_bytes()).collect();
        (blake3::hash(&bits).to_string(), read.get())
    }

    #[test]
    fn the_same_to_the_last_bit_and_nothing_is_read_again() {
        let of = tables();
        let folder = tempfile::tempdir().unwrap();
        let kept =
            || Kept::in_folder(&folder.path().join("new/deep"), b"manifest", &Watch::default()).unwrap();
        let (without, read) = answers(&of, None);
        assert!(read >= of.2.len());
        assert_eq!(answers(&of, Some(kept())), (without.clone(), read));
        let path = kept().path;
        // Once all are gone through; what is in one of them alone is read there.
        let few = read - of.2.len();
        assert_eq!(answers(&of, Some(kept())), (without.clone(), few));
        // One of another release is not taken for it.
        let other = Kept::in_folder(path.parent().unwrap(), b"another", &Watch::default()).unwrap();
        assert_eq!(answers(&of, Some(other)), (without.clone(), read));
        assert_eq!(answers(&of, Some(kept())).1, few);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
            // What others may write into is not believed, and nothing is kept where everybody may write.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
            assert_eq!(answers(&of, Some(kept())), (without.clone(), read));
            assert_eq!((mode(&path), answers(&of, Some(kept())).1), (0o600, few));
            fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
            let refused = Kept::in_folder(path.parent().unwrap(), b"manifest", &Watch::default())
                .map(|_| ())
                .unwrap_err();
            assert!(refused.to_string().contains("everybody may write"), "{refused}");
        }
        // Nothing but whole files is left.
        let names = fs::read_dir(path.parent().unwrap()).unwrap().map(|e| e.unwrap().path());
        assert!(names.into_iter().all(|p| p.extension().is_some_and(|e| e == "sums")));
    }

    /// Whatever becomes of the file, answers are the same, and a sound one takes its place.
    #[test]
    fn damage_is_seen_and_made_good() {
        let of = tables();
        let folder = tempfile::tempdir().unwrap();
        let kept = || Kept::in_folder(folder.path(), b"manifest", &Watch::default()).unwrap();
        let (without, read) = answers(&of, Some(kept()));
        let path = kept().path;
        let sound = fs::read(&path).unwrap();
        let (end, head) =
            (sound.len(), u64::from_le_bytes(sound[HEAD.len()..HEAD.len() + 8].try_into().unwrap()));
        // The first number: the total's.
        let body = HEAD.len() + 8 + head as usize + 32;
        let flipped = |at: usize| {
            let mut bytes = sound.clone();
            bytes[at] ^= 1;
            bytes
        };
        let elsewhere = {
            let other = Kept {
                path: folder.path().join("x"),
                hash: [7; 32],
                state: Mutex::new(State::Unknown),
                watch: Watch::default(),
            };
            other.bytes(&[(&Cuboid::total(), &[1.0])]).unwrap()
        };
        let longer = [&sound[..], b"x"].concat();
        let mut damaged: Vec<Vec<u8>> =
            [0, HEAD.len() - 2, HEAD.len(), HEAD.len() + 9, HEAD.len() + 60, body - 1, body]
                .map(flipped)
                .to_vec();
        damaged.extend([Vec::new(), sound[..20].to_vec(), sound[..end - 1].to_vec(), longer, elsewhere]);
        for (i, bytes) in damaged.into_iter().enumerate() {
            fs::write(&path, bytes).unwrap();
            let (bits, again) = answers(&of, Some(kept()));
            assert!(bits == without && again >= of.2.len(), "{i}");
            assert!(fs::read(&path).unwrap() == sound, "{i}");
        }
        assert_eq!(answers(&of, Some(kept())), (without.clone(), read - of.2.len()));
        // Sound in itself, but of other sizes: nobody writes such a file, and it is not believed.
        let odd = kept().bytes(&[(&Cuboid::total(), &[1.0, 2.0])]).unwrap();
        fs::write(&path, odd).unwrap();
        assert_eq!(answers(&of, Some(kept())).0, without);
    }

    #[test]
    fn what_cannot_be_kept_is_said() {
        let of = tables();
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::in_folder(folder.path(), b"manifest", &Watch::default()).unwrap();
        // A folder in the file's place.
        fs::create_dir(&kept.path).unwrap();
        let read = Cell::new(0);
        let source = Numbers { values: &of.2, kept: Some(kept), read: &read };
        let recovery = Recovery::new(of.0.clone(), of.1.clone(), source).unwrap();
        recovery.table(&Cuboid::total()).unwrap();
        let why = recovery.source().kept.as_ref().unwrap().refused().unwrap();
        assert!(why.contains(".sums: "), "{why}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        // Later answers are from memory.
        let before = read.get();
        recovery.table(&Cuboid::total()).unwrap();
        assert_eq!(read.get(), before);
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(Kept::in_folder(&file, b"manifest", &Watch::default()).is_err());
    }
}
