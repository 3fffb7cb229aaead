//! The spec that a release holds.

use super::{MAX_SPEC, Spec, parse_within, size_of};
use crate::cube::Cube;
use crate::release::{Kind, Release, ReleaseError};
use std::collections::BTreeMap;
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

/// From which columns of the data the sealed spec reads what it names: see [`columns`]. Nothing of one that cannot be read.
pub(crate) fn read_from(release: &Release) -> BTreeMap<String, Vec<String>> {
    let text = release.section(Kind::Spec, 0).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.filter(|text| text.len() as u64 <= MAX_SPEC).map_or(BTreeMap::new(), |text| columns(&text))
}

/// By the names of dimensions and amounts, in small letters, the columns that a spec's text reads them from, in one order; of the weights also
/// under an empty name. Nothing else of it is looked at, nor need it be a spec that this version reads.
pub(crate) fn columns(text: &str) -> BTreeMap<String, Vec<String>> {
    let table: toml::Table = text.parse().unwrap_or_default();
    let entries = |key: &str| {
        let all = table.get(key).map(|v| v.as_array().map_or(std::slice::from_ref(v), Vec::as_slice));
        all.into_iter().flatten().filter_map(toml::Value::as_table).collect::<Vec<_>>()
    };
    let text = |entry: &toml::Table, key: &str| entry.get(key).and_then(|v| v.as_str()).map(str::to_owned);
    let mut out = BTreeMap::new();
    for entry in entries("dimension").into_iter().chain(entries("amount")) {
        let Some(name) = text(entry, "name") else { continue };
        let mut own: Vec<String> = match entry.get("column").and_then(|v| v.as_array()) {
            Some(several) => several.iter().filter_map(|c| c.as_str().map(str::to_owned)).collect(),
            None => vec![text(entry, "column").unwrap_or_else(|| name.clone())],
        };
        own.sort_unstable();
        out.insert(name.to_lowercase(), own);
    }
    for entry in entries("weights") {
        let Some(column) = text(entry, "column") else { continue };
        let name = text(entry, "name").unwrap_or_else(|| column.clone());
        out.insert(name.to_lowercase(), vec![column.clone()]);
        out.insert(String::new(), vec![column]);
    }
    out
}

/// What a release and a spec name alike and read from other columns, in words.
pub(crate) fn other_columns(release: &Release, spec: &Spec) -> Option<String> {
    let (there, here) = (read_from(release), columns(&spec.source));
    let mut pairs = here.iter().filter_map(|(name, own)| Some((name, own, there.get(name)?)));
    let (name, own, other) = pairs.find(|(_, own, other)| own != other)?;
    let what = if name.is_empty() { "the weights" } else { name };
    Some(format!(
        "it reads {what} from the column {}, and this spec from {}",
        other.join(" × "),
        own.join(" × ")
    ))
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_those_of_the_spec() {
        let text = r#"
            [weights]
            column = "fnlwgt"
            name = "W"
            [[dimension]]
            name = "Sex"
            categories = ["F"]
            [[dimension]]
            name = "age"
            column = "alter"
            [[amount]]
            name = "pay"
            column = ["rate", "hours"]
            [[amount]]
            name = "x"
        "#;
        let found = columns(text);
        let said: Vec<String> = found.iter().map(|(name, of)| format!("{name}={}", of.join("+"))).collect();
        assert_eq!(said, ["=fnlwgt", "age=alter", "pay=hours+rate", "sex=Sex", "w=fnlwgt", "x=x"]);
        assert!(columns("no spec").is_empty() && columns("dimension = 3\namount = [1]").is_empty());
    }
}
