//! The spec that a release holds.

use super::{MAX_SPEC, Spec, parse_within, size_of};
use crate::cube::Cube;
use crate::release::{Kind, Release, ReleaseError};
use std::io;
use std::path::Path;

/// Reads the sealed spec again, with the files that it refers to; or says why it is none. `cube` is the sealed domain.
pub(crate) fn sealed(release: &Release, cube: &Cube) -> Result<Result<Spec, String>, ReleaseError> {
    let attachments = &release.manifest().sources.attachments;
    let Ok(text) = String::from_utf8(release.section(Kind::Spec, 0)?) else {
        return Ok(Err("the sealed spec is not UTF-8 text".into()));
    };
    if text.len() as u64 > MAX_SPEC {
        return Ok(Err(format!(
            "the sealed spec has {} bytes, and no spec may be longer than {MAX_SPEC}",
            text.len()
        )));
    }
    let read = |name: &str| {
        let index = attachments.iter().position(|a| a.name == name).ok_or(io::ErrorKind::NotFound)?;
        release.section(Kind::Attachment, index as u32).map_err(io::Error::other)
    };
    // What the spec makes must be the sealed domain, so it may not take more than that does, but for a little.
    let room = size_of(cube) + (1 << 14);
    Ok(parse_within(&text, Path::new("spec"), room, read).map_err(|e| {
        let first = e.diagnostics().first().map_or(String::new(), |d| d.message.escape_debug().to_string());
        format!("the sealed spec cannot be read, {} mistakes: {first}", e.diagnostics().len())
    }))
}
