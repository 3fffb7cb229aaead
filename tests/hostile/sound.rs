//! Honest releases that have, together, every kind of section: what is damaged to see whether a reader holds. They are kept as files, so that the same
//! damage is the same file again.

use super::file::File;
use std::path::{Path, PathBuf};

/// Where the files are.
pub(crate) fn folder(root: &Path) -> PathBuf {
    root.join("tests/hostile/sound")
}

/// All of them in parts, by name, with those of `tests/vectors/v2`; `root` is the repository's folder.
pub(crate) fn files(root: &Path) -> Vec<(String, File)> {
    let mut paths: Vec<PathBuf> = [folder(root), root.join("tests/vectors/v2")]
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "margins"))
        .collect();
    paths.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), File::parse(&std::fs::read(path).unwrap()))).collect()
}

/// The same, to be read thousands of times: without a spec where its plan takes long to find again.
pub(crate) fn quick(root: &Path) -> Vec<(String, File)> {
    let mut files = files(root);
    for (name, file) in &mut files {
        if ["v2-bases", "together"].contains(&name.as_str()) {
            file.put(super::file::SPEC, vec![b"none".to_vec()]);
        }
    }
    files
}
