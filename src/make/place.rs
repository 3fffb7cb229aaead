//! Where releases must not go: in the place of what they need.

use super::MakeError;
use crate::release::file_name;
use crate::spec::Spec;
use crate::visible::visible;
use std::path::Path;

/// What the release's files are called, up to their endings.
pub(crate) fn names(spec: &Spec) -> Vec<String> {
    match &spec.recipients {
        None => vec![spec.name.clone()],
        Some(r) => r.list.iter().map(|r| file_name(&spec.name, Some(&r.name))).collect(),
    }
}

/// Refuses to put a release where its own ledger, spec, key or data is.
pub(crate) fn stays(out: &Path, name: &str, path: &Path) -> Result<(), MakeError> {
    let here = |path: &Path| {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        path.canonicalize().or_else(|_| Ok(folder.canonicalize()?.join(path.file_name().unwrap_or_default())))
    };
    let endings = ["margins", "margins.minisig"];
    for ending in endings {
        let target = out.join(format!("{name}.{ending}"));
        let same: std::io::Result<bool> = here(&target).and_then(|t| Ok(t == here(path)?));
        // What is not there cannot be lost; whether it should be is for others to say.
        if same.unwrap_or(false) {
            let target = visible(&target.display().to_string()).into_owned();
            return Err(MakeError::Wrong(format!(
                "the release would take the place of {target}, which it needs"
            )));
        }
    }
    Ok(())
}
