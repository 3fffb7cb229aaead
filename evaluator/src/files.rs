//! Files that are files.
//!
//! Opening a named pipe waits until somebody writes into it, and a device such as `/dev/zero` never ends. A command
//! that is given one by mistake, or by somebody who laid it there, must say so instead of hanging.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;
#[cfg(feature = "compile")]
use std::path::PathBuf;

/// Opens a file for reading; a link is followed to one.
///
/// The name is looked at first, because opening a pipe is what waits; what was opened is looked at again, because
/// the name may have changed hands.
pub fn open(path: &Path) -> io::Result<File> {
    regular(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// The text of a file of at most so many bytes.
#[cfg(feature = "compile")]
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    if open(path)?.take(most + 1).read_to_string(&mut text)? as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
    }
    Ok(text)
}

/// Writes a file, new or in the place of one; what is no file stays. Under another name first: whatever happens, what was there stays whole until the new text is.
#[cfg(feature = "compile")]
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    writable(path)?;
    // A link stays one.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let part = part(&path);
    let written = || {
        match fs::remove_file(&part) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let mut file = File::create_new(&part)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, &path)
    };
    written().inspect_err(|_| drop(fs::remove_file(&part)))?;
    settle(&path)
}

/// Writes a file whose name nobody has: it has its name only once it is whole and on the disk, and what fails leaves nothing. A private one is its owner's alone.
#[cfg(feature = "compile")]
pub fn write_new(path: &Path, text: &str, private: bool) -> io::Result<()> {
    let mut file = unnamed(path, private)?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    named(file, path, false)?;
    sync_folder(path).inspect_err(|_| drop(fs::remove_file(path)))
}

/// A file without its name yet, in the folder where it will stand: it vanishes unless it is given that. Unless it is private, all may read it whom the process's
/// files are for, a web server for instance.
#[cfg(feature = "compile")]
pub fn unnamed(path: &Path, private: bool) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".margins.").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(if private { 0o600 } else { 0o666 }));
    builder.tempfile_in(folder_of(path))
}

/// Gives a file its name, once all of it is on the disk; [`settle`] waits for the name.
#[cfg(feature = "compile")]
pub fn named(file: tempfile::NamedTempFile, path: &Path, replace: bool) -> io::Result<()> {
    file.as_file().sync_all()?;
    let done = if replace { file.persist(path) } else { file.persist_noclobber(path) };
    done.map(drop).map_err(|e| e.error)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Waits until the name of a file that is there is on the disk, too.
pub fn settle(path: &Path) -> io::Result<()> {
    let said = |e| format!("it has its name, but its folder could not be put on the disk: {e}");
    sync_folder(path).map_err(|e| io::Error::new(e.kind(), said(e)))
}

/// On Unix a new name is only safe when its folder is; elsewhere folders cannot be opened. A folder that cannot be put on the disk at all, as on some network
/// drives, is left to the system.
fn sync_folder(path: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(folder_of(path)).and_then(|folder| folder.sync_all()) {
        Err(e) if matches!(e.kind(), InvalidInput | PermissionDenied | Unsupported) => Ok(()),
        done => done,
    }
}

/// The lock of a folder, where there is such a thing, until it is dropped: whoever takes it changes the folder's files alone. That the folder can be read is needed
/// in any case, and is enough to lock it: so nobody is waited for longer than some seconds.
#[cfg(feature = "compile")]
pub fn locked(folder: &Path) -> io::Result<Option<File>> {
    #[cfg(unix)]
    {
        let folder = File::open(folder)?;
        for _ in 0..MOST_WAITS {
            match folder.try_lock() {
                Ok(()) => return Ok(Some(folder)),
                Err(fs::TryLockError::WouldBlock) => std::thread::sleep(WAIT),
                Err(fs::TryLockError::Error(_)) => return Ok(None),
            }
        }
        let waited = WAIT * MOST_WAITS;
        Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            format!("another program has kept its folder locked for {} seconds", waited.as_secs()),
        ))
    }
    #[cfg(not(unix))]
    fs::metadata(folder).map(|_| None)
}

/// How long whoever holds a folder is waited for, and how often one looks again.
#[cfg(all(feature = "compile", unix))]
const WAIT: std::time::Duration = std::time::Duration::from_millis(10);
#[cfg(all(feature = "compile", unix))]
const MOST_WAITS: u32 = if cfg!(test) { 20 } else { 1000 };

/// Makes a folder, and those that it is in, where they are not there; their names are on the disk then. Those that were made, the innermost first.
pub fn folders(path: &Path) -> io::Result<Vec<&Path>> {
    let absent = path.ancestors().filter(|folder| !folder.as_os_str().is_empty());
    let made: Vec<&Path> = absent.take_while(|folder| !folder.exists()).collect();
    fs::create_dir_all(path)?;
    made.iter().try_for_each(|folder| settle(folder))?;
    Ok(made)
}

/// Where a file is until it is whole.
#[cfg(feature = "compile")]
fn part(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}

/// Refuses the name of what is no file, and of a file in no folder.
#[cfg(feature = "compile")]
pub fn writable(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => match folder_of(path).exists() {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::NotFound, "its folder does not exist")),
        },
        found => regular(&found?),
    }
}

/// Refuses what is no file.
pub fn regular(found: &Metadata) -> io::Result<()> {
    match () {
        () if found.is_file() => Ok(()),
        () if found.is_dir() => {
            Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder, not a file"))
        }
        () => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe or a device, not a file")),
    }
}

/// Files that are offered as delimited text and are none, told by how they begin; and what to do.
#[cfg(feature = "compile")]
pub fn foreign(start: &[u8]) -> Option<&'static str> {
    const ARROW: &str =
        "is Arrow IPC (Feather): write it as Parquet, as pandas' and polars' to_parquet and write_parquet do";
    let known: [(&[u8], &'static str); 19] = [
        (
            b"PAR1",
            "is Parquet, not delimited text: its name should end in .parquet, or say `format = \"parquet\"` in [data]; of standard input say --format parquet",
        ),
        (
            b"\x1f\x8b",
            "is compressed with gzip: its name should end in .csv.gz; unpack what goes through a pipe (gunzip)",
        ),
        (
            b"\x28\xb5\x2f\xfd",
            "is compressed with zstd: its name should end in .csv.zst; unpack what goes through a pipe (unzstd)",
        ),
        (b"BZh91AY&SY", "is compressed with bzip2: unpack it first"),
        (b"\xfd7zXZ\0", "is compressed with xz: unpack it first"),
        (b"\xff\xfe", "is UTF-16: save it as UTF-8"),
        (b"\xfe\xff", "is UTF-16: save it as UTF-8"),
        (b"ARROW1", ARROW),
        (b"FEA1", ARROW),
        (b"\xff\xff\xff\xff", ARROW),
        (b"ORC", "is ORC: write it as Parquet"),
        (b"Obj\x01", "is Avro: write it as Parquet"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            "is an old spreadsheet (.xls): save its sheet as \"CSV UTF-8\"",
        ),
        (
            b"SQLite format 3\0",
            "is an SQLite database, not delimited text: sqlite3 -csv -header FILE \"SELECT * FROM …\" > rows.csv",
        ),
        (b"%PDF", "is a PDF: ask for the table itself"),
        (b"$FL2", "is an SPSS file: write it as CSV or Parquet"),
        (b"<stata_dta>", "is a Stata file: write it as CSV or Parquet"),
        (b"RDX", "is an R file: write it with write.csv(…, row.names = FALSE), or as Parquet"),
        (b"\x8dMARGINS", "is a release, not data"),
    ];
    if start.starts_with(b"PK\x03\x04") {
        let within = |part: &[u8]| start.windows(part.len()).take(4096).any(|bytes| bytes == part);
        return Some(match within(b"[Content_Types].xml") || within(b"xl/") {
            true => "is a spreadsheet (.xlsx): save its sheet as \"CSV UTF-8\"",
            false => "is a ZIP archive or a spreadsheet: unpack it, or save it as CSV",
        });
    }
    if start.get(8..12) == Some(b"DUCK") {
        return Some(
            "is a DuckDB database, not delimited text: duckdb FILE \"COPY (SELECT * FROM …) TO 'rows.parquet'\"",
        );
    }
    let mut marks = start
        .strip_prefix("\u{feff}".as_bytes())
        .unwrap_or(start)
        .iter()
        .filter(|b| !b.is_ascii_whitespace());
    match (marks.next(), marks.next()) {
        (Some(b'{'), Some(b'"')) | (Some(b'['), Some(b'{')) => Some(
            "is JSON, not delimited text: write it as CSV or Parquet: duckdb -c \"COPY (FROM 'FILE') TO 'rows.parquet'\"",
        ),
        _ => known.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, what)| *what),
    }
}

#[cfg(all(test, feature = "compile"))]
mod tests {
    use super::*;

    #[test]
    fn folders_and_long_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "12345").unwrap();
        assert_eq!(text(&path, 5).unwrap(), "12345");
        assert_eq!(text(&path, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(text(dir.path(), 5).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(open(&dir.path().join("b")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    /// A name that is taken keeps what it has, a link to nowhere included; a private file is so from the first.
    #[cfg(unix)]
    #[test]
    fn new_files_take_no_name_that_is_taken() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("a"), dir.path().join("link"));
        write_new(&path, "1", true).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::os::unix::fs::symlink(dir.path().join("nowhere"), &link).unwrap();
        for taken in [&path, &link] {
            assert_eq!(write_new(taken, "2", false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!((fs::read(&path).unwrap(), fs::read_dir(dir.path()).unwrap().count()), (b"1".into(), 2));
    }

    #[test]
    fn folders_are_made_with_those_that_they_are_in() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b/c");
        let made = ["a/b/c", "a/b", "a"].map(|name| dir.path().join(name));
        assert_eq!(folders(&deep).unwrap(), made);
        assert!(folders(&deep).unwrap().is_empty());
        assert!(deep.is_dir());
        settle(&deep.join("not there")).unwrap();
        assert!(settle(&dir.path().join("nowhere/file")).is_err());
    }

    /// Told by its first bytes, with what to do; a table of text is none of them.
    #[test]
    fn other_kinds_of_files() {
        for (start, said) in [
            (&b"{\"sex\": \"F\"}\n"[..], "is JSON"),
            (b"\xef\xbb\xbf [\n {", "is JSON"),
            (b"ARROW1\0\0", "Arrow IPC"),
            (b"\xff\xff\xff\xff\x10", "Arrow IPC"),
            (b"PK\x03\x04\x14\0\x06\0\x08\0[Content_Types].xml", "spreadsheet (.xlsx)"),
            (b"PK\x03\x04\x14\0\0\0rows.csv", "ZIP archive"),
            (b"SQLite format 3\0", "sqlite3 -csv"),
            (b"12345678DUCK\x40", "COPY (SELECT"),
        ] {
            assert!(foreign(start).is_some_and(|what| what.contains(said)), "{start:?}");
        }
        for start in [&b"sex,age\n"[..], b"\"[a]\",b\n", b"{a},b\n", b"[0-4],b\n", b""] {
            assert_eq!(foreign(start), None);
        }
    }

    /// Not only refused: a test that waits for a pipe would never end.
    #[cfg(unix)]
    #[test]
    fn devices_and_pipes_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [&pipe, Path::new("/dev/zero")] {
            assert_eq!(text(path, 5).unwrap_err().kind(), io::ErrorKind::InvalidInput);
            assert_eq!(write(path, "x").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
