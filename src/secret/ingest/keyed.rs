//! Folders that say what a column holds: `year=2024/area=N/part.parquet`, as Hive, Spark, DuckDB, polars and pyarrow write them.
//!
//! What such a folder is called is data: no error shows it.

use super::error::IngestError;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// What folders call an empty cell.
const NOTHING: &str = "__HIVE_DEFAULT_PARTITION__";
/// Folders lie no deeper in each other: links may go round.
const DEEPEST: usize = 32;

/// A column, and what it holds in all rows of a file: nothing where the cell is empty.
pub(crate) type Key = (String, Arc<Zeroizing<String>>);

/// A file with the columns that its folders say.
pub(super) type Listed = (PathBuf, Vec<Key>);

/// All files of a folder, in the order of their names, but those whose names begin with `.` or `_`, where these say no column: those who write
/// folders mark so what is no data.
pub(super) fn folder(path: &Path) -> Result<Vec<Listed>, IngestError> {
    let mut files = Vec::new();
    within(path, &[], &mut files)?;
    alike(files)
}

/// The same files, with the columns that folders say from that of number `from` on.
pub(super) fn of_pattern(paths: Vec<PathBuf>, from: usize) -> Result<Vec<Listed>, IngestError> {
    let keyed = |path: PathBuf| {
        let folders = path.parent().unwrap_or(Path::new("")).components();
        let folders = folders.filter(|part| *part != Component::CurDir).skip(from);
        let names =
            folders.filter_map(|part| if let Component::Normal(name) = part { name.to_str() } else { None });
        let keys = names.filter_map(|name| key(name).transpose()).collect::<Result<Vec<_>, _>>();
        keys.map(|keys| (path, keys))
    };
    alike(paths.into_iter().map(keyed).collect::<Result<_, _>>()?)
}

fn within(path: &Path, keys: &[Key], files: &mut Vec<Listed>) -> Result<(), IngestError> {
    let failed = |error: std::io::Error| match keys {
        [] => IngestError::Open { path: path.to_owned(), error: error.kind() },
        _ => IngestError::Folder("has a folder inside that cannot be opened"),
    };
    let mut listed = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let marked = match name.first() {
            Some(b'.') => true,
            Some(b'_') => !name.contains(&b'='),
            _ => false,
        };
        if !marked {
            listed.push(path);
        }
    }
    listed.sort();
    for path in listed {
        if !path.is_dir() {
            files.push((path, keys.to_vec()));
            continue;
        }
        let own = path.file_name().and_then(|name| name.to_str()).map(key).transpose()?.flatten();
        let Some(own) = own.filter(|_| keys.len() < DEEPEST) else {
            return Err(IngestError::Folder(
                "holds other folders, whose names are not like year=2024: name the files with a pattern such as data/*/*.parquet",
            ));
        };
        let keys: Vec<Key> = keys.iter().cloned().chain([own]).collect();
        within(&path, &keys, files)?;
    }
    Ok(())
}

/// Refuses files whose folders say different columns, or one of them twice.
fn alike(files: Vec<Listed>) -> Result<Vec<Listed>, IngestError> {
    let names = |keys: &[Key]| keys.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let first = files.first().map(|(_, keys)| names(keys)).unwrap_or_default();
    if files.iter().any(|(_, keys)| names(keys) != first) {
        return Err(IngestError::Folder(
            "names files in folders such as year=2024 that do not all say the same columns in the same order",
        ));
    }
    let mut sorted = first;
    sorted.sort_unstable();
    if sorted.windows(2).any(|two| two[0] == two[1]) {
        return Err(IngestError::Folder("names folders that say one column twice"));
    }
    Ok(files)
}

/// What a folder of this name says; nothing where it is like any other.
fn key(name: &str) -> Result<Option<Key>, IngestError> {
    let Some((column, value)) = name.split_once('=').filter(|(column, _)| !column.is_empty()) else {
        return Ok(None);
    };
    let value = if value == NOTHING { String::new() } else { unescaped(value)? };
    Ok(Some((unescaped(column)?, Arc::new(Zeroizing::new(value)))))
}

/// `a%2Fb` is `a/b`; a per cent sign that no two digits follow is itself.
fn unescaped(text: &str) -> Result<String, IngestError> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    while let [byte, after @ ..] = rest {
        let code = after.first().and_then(digit).zip(after.get(1).and_then(digit)).filter(|_| *byte == b'%');
        out.push(code.map_or(*byte, |(high, low)| (16 * high + low) as u8));
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8(out)
        .map_err(|_| IngestError::Folder("names folders that say a value which is not UTF-8"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::tests::{codes, column, in_order, labels, lenient, spec, with_unit};
    use super::super::{Means, check, read};
    use super::*;
    use crate::spec::{Coding, Spec};
    use tempfile::TempDir;

    fn dates() -> Spec {
        let year = lenient(column("year", 3, Coding::Range { lo: 2022, hi: 2024 }));
        spec([year, labels("area", &["N", "S/W", "é"]), labels("sex", &["F", "M"])])
    }

    /// Files of two rows in these folders, with this header.
    fn files(header: &str, folders: &[&str]) -> TempDir {
        let dir = TempDir::new().unwrap();
        for (at, folder) in folders.iter().enumerate() {
            let within = dir.path().join(folder);
            std::fs::create_dir_all(&within).unwrap();
            let more = header.matches(',').map(|_| ",2022").collect::<String>();
            std::fs::write(
                within.join("part.csv"),
                format!("{header}\nF{more}\n{}{more}\n", ["F", "M"][at % 2]),
            )
            .unwrap();
        }
        dir
    }

    /// The same rows as in one file that has the columns, whoever the units are.
    #[test]
    fn folders_are_columns() {
        let dir = files(
            "sex",
            &["year=2022/area=N", "year=2024/area=S%2FW", "year=__HIVE_DEFAULT_PARTITION__/area=%c3%a9"],
        );
        std::fs::write(dir.path().join("_SUCCESS"), "").unwrap();
        let text = "year,area,sex\n2022,N,F\n2022,N,F\n2024,S/W,F\n2024,S/W,M\n,é,F\n,é,F\n";
        let one = dir.path().join(".one.csv");
        std::fs::write(&one, text).unwrap();
        for spec in [dates(), with_unit(dates(), "area", 1), with_unit(dates(), "year", 9)] {
            let unit_is_missing = read(&spec, &one, &Means::default()).is_err();
            let (found, expected) =
                (read(&spec, dir.path(), &Means::default()), read(&spec, &one, &Means::default()));
            if unit_is_missing {
                let told = found.unwrap_err().to_string();
                assert!(
                    told.starts_with("part.csv (file 3 of 3): row 1 (line 2), column \"year\""),
                    "{told}"
                );
                continue;
            }
            assert_eq!(in_order(&spec, codes(&found.unwrap())), in_order(&spec, codes(&expected.unwrap())));
        }
        let pattern = dir.path().join("year=*/*/*.csv");
        assert_eq!(codes(&read(&dates(), &pattern, &Means::default()).unwrap()).len(), 6);
        // What the pattern itself names is not said by folders.
        let told = read(&dates(), &dir.path().join("year=2022/*/*.csv"), &Means::default()).unwrap_err();
        assert!(told.to_string().contains("no column \"year\" among its 2"), "{told}");
    }

    /// No value, though it stands in the name of a folder.
    #[test]
    fn what_cannot_be_used_is_told_without_it() {
        let told = |header: &str, folders: &[&str]| {
            let dir = files(header, folders);
            read(&dates(), dir.path(), &Means::default()).unwrap_err().to_string()
        };
        let strange = ["year=2022/area=N", "year=2024/area=MARS"];
        let said = told("sex", &strange);
        assert_eq!(
            said,
            "part.csv (file 2 of 2): row 1 (line 2), column \"area\": the value is outside the domain, and the dimension has no `other`"
        );
        assert!(told("sex", &["year=2022/area=N", "year=2024"]).contains("do not all say the same columns"));
        assert!(
            told("sex", &["year=2022/area=N", "area=N/year=2022"])
                .contains("do not all say the same columns")
        );
        assert!(told("sex", &["year=2022/year=2023/area=N"]).contains("say one column twice"));
        assert!(told("sex", &["2022/area=N"]).contains("not like year=2024"));
        assert!(told("sex,year", &["year=2022/area=N"]).contains("which of them holds is not known"));
        assert!(told("sex", &["year=2022"]).contains("no column \"area\" among its 2"));
        let dir = files("sex", &strange);
        let report = check(&dates(), dir.path(), &Means::default()).unwrap();
        assert_eq!((report.rows, report.unusable), (4, 2));
        assert_eq!(report.problems[0].first, "part.csv (file 2 of 2), row 1 (line 2)");
        #[cfg(unix)]
        {
            std::fs::remove_file(dir.path().join(strange[1]).join("part.csv")).unwrap();
            std::os::unix::fs::symlink("/nowhere/at/all", dir.path().join(strange[1]).join("part.csv"))
                .unwrap();
            let gone = read(&dates(), dir.path(), &Means::default()).unwrap_err().to_string();
            assert_eq!(gone, "cannot open part.csv: entity not found");
            let round = dir.path().join("year=2022/area=N/area=N");
            std::os::unix::fs::symlink(dir.path().join("year=2022/area=N"), &round).unwrap();
            assert!(read(&dates(), dir.path(), &Means::default()).is_err(), "folders without an end");
        }
    }

    #[test]
    fn names_of_folders() {
        let said = |name: &str| key(name).unwrap().map(|(column, value)| (column, value.to_string()));
        let is = |name: &str, column: &str, value: &str| {
            assert_eq!(said(name), Some((column.to_owned(), value.to_owned())), "{name}");
        };
        is("year=2024", "year", "2024");
        is("_x=1", "_x", "1");
        is("area=A%2FB %C3%A9=x", "area", "A/B é=x");
        is("share=5%", "share", "5%");
        is("share=%zz%4", "share", "%zz%4");
        is("my%20year=1", "my year", "1");
        is("year=", "year", "");
        is("year=__HIVE_DEFAULT_PARTITION__", "year", "");
        is("year=%5F_HIVE_DEFAULT_PARTITION__", "year", "__HIVE_DEFAULT_PARTITION__");
        assert_eq!((said("year"), said("=2024")), (None, None));
        assert!(key("area=%ff").unwrap_err().to_string().contains("not UTF-8"));
    }
}
