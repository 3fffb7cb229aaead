//! The spec that a release holds.

use super::{MAX_SPEC, Spec, parse_within, size_of};
use crate::answer::{self, ReadFrom, What};
use crate::cube::Cube;
use crate::plan::Plan;
use crate::release::{Kind, Release, ReleaseError};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// More tables than the plan has, that are still made and compared: what is wrong is said in the same words then.
const MORE_TABLES: u64 = 1 << 10;

/// Reads the sealed spec again, with the files that it refers to; or says why it is none. `cube` is the sealed domain, `plan` what was measured.
pub(crate) fn sealed(
    release: &Release,
    cube: &Cube,
    plan: &Plan,
) -> Result<Result<Spec, String>, ReleaseError> {
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
    // Nor may it ask for more tables: each is one of the plan's, of counts or of sums.
    let tables = plan.channels.iter().map(|c| c.workload.len() as u64).max().unwrap_or(0);
    Ok(parse_within(&text, Path::new("spec"), room, tables + MORE_TABLES, read).map_err(|e| {
        let first = e.diagnostics().first().map_or(String::new(), |d| d.message.escape_debug().to_string());
        format!("the sealed spec cannot be read, {} mistakes: {first}", e.diagnostics().len())
    }))
}

/// How the sealed spec reads what it names: see [`reads`]. Nothing of one that cannot be read.
pub(crate) fn read_from(release: &Release) -> ReadFrom {
    let text = release.section(Kind::Spec, 0).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.filter(|text| text.len() as u64 <= MAX_SPEC).map_or(ReadFrom::new(), |text| reads(&text))
}

/// The dimensions whose values beyond their ends the sealed spec counts at the ends.
pub(crate) fn clamped(release: &Release) -> Vec<String> {
    let text = release.section(Kind::Spec, 0).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.filter(|text| text.len() as u64 <= MAX_SPEC).unwrap_or_default();
    let table: toml::Table = text.parse().unwrap_or_default();
    let all = table.get("dimension").and_then(toml::Value::as_array);
    let clamped = |d: &&toml::Value| d.get("clamp").and_then(toml::Value::as_bool) == Some(true);
    let name = |d: &toml::Value| d.get("name")?.as_str().map(str::to_owned);
    all.into_iter().flatten().filter(clamped).filter_map(name).collect()
}

/// What decides which value a row of the data has of whatever a spec's text names. Nothing else of it is looked at, nor need it be a spec that this version reads.
///
/// How a file is written (its delimiter, its encoding) is not among it: that differs between files of the same data. `missing`, `other` and `format` are known only where
/// they are given, since a run without them stops at what they are for; so are `clamp` and `time`, unless `other` takes what they would.
pub(crate) fn reads(text: &str) -> ReadFrom {
    let table: toml::Table = text.parse().unwrap_or_default();
    let entries = |key: &str| {
        let all = table.get(key).map(|v| v.as_array().map_or(std::slice::from_ref(v), Vec::as_slice));
        all.into_iter().flatten().filter_map(toml::Value::as_table).collect::<Vec<_>>()
    };
    let text = |entry: &toml::Table, key: &str| entry.get(key).and_then(|v| v.as_str()).map(str::to_owned);
    let cells = cells(table.get("data").and_then(toml::Value::as_table));
    let read = |column: String, entry: &toml::Table, keys: &[&'static str]| {
        let given = keys.iter().filter_map(|key| Some((*key, entry.get(*key)?.to_string())));
        cells.clone().into_iter().chain(given).chain([("column", column)]).collect::<BTreeMap<_, _>>()
    };
    let mut out = ReadFrom::new();
    for (kind, keys) in [("dimension", &["missing", "other", "format"][..]), ("amount", &[])] {
        for entry in entries(kind) {
            let Some(name) = text(entry, "name") else { continue };
            let mut own: Vec<String> = match entry.get("column").and_then(|v| v.as_array()) {
                Some(several) => several.iter().filter_map(|c| c.as_str().map(str::to_owned)).collect(),
                None => vec![text(entry, "column").unwrap_or_else(|| name.clone())],
            };
            own.sort_unstable();
            let mut own = read(own.join(" × "), entry, keys);
            if entry.contains_key("other") {
                let or = |key: &str, none: &str| entry.get(key).map_or(none.to_owned(), ToString::to_string);
                own.extend([("clamp", or("clamp", "false")), ("time", or("time", "\"\""))]);
            }
            out.insert(What::Named(name.to_lowercase()), own);
        }
    }
    for entry in entries("weights") {
        let Some(column) = text(entry, "column") else { continue };
        let name = text(entry, "name").unwrap_or_else(|| column.clone());
        let own = read(column, entry, &[]);
        out.insert(What::Named(name.to_lowercase()), own.clone());
        out.insert(What::Weight, own);
    }
    let unit = table.get("privacy").and_then(|p| p.get("unit")).and_then(|u| u.get("column"));
    if let Some(column) = unit.and_then(toml::Value::as_str) {
        out.insert(What::Unit, read(column.to_owned(), &toml::Table::new(), &[]));
    }
    out
}

/// What decides which value any cell of the data has. Files of Parquet have numbers that are written in one way.
fn cells(data: Option<&toml::Table>) -> BTreeMap<&'static str, String> {
    let get = |key: &str| data.and_then(|data| data.get(key));
    let or = |key: &str, none: &str| get(key).map_or(none.to_owned(), ToString::to_string);
    let list = |key: &str| get(key).and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
    // A cell with nothing in it is empty, whether that is said or not.
    let mut empty: Vec<String> = list("empty").iter().map(ToString::to_string).collect();
    empty.retain(|text| text != "\"\"");
    empty.sort_unstable();
    empty.dedup();
    let mut out =
        BTreeMap::from([("empty", format!("[{}]", empty.join(", "))), ("trim", or("trim", "false"))]);
    let parquet = get("format").and_then(|f| f.as_str()).map(|f| f == "parquet").unwrap_or_else(|| {
        let path = get("path").and_then(|p| p.as_str()).unwrap_or_default().to_ascii_lowercase();
        path.ends_with(".parquet")
    });
    if !parquet {
        out.extend([("decimal", or("decimal", "\".\"")), ("thousands", or("thousands", "\"\""))]);
    }
    out.extend(get("columns").map(|names| ("columns", names.to_string())));
    out
}

/// What a release and a spec name alike and read otherwise, in words.
pub(crate) fn read_otherwise(release: &Release, spec: &Spec) -> Option<String> {
    let (there, here) = (read_from(release), reads(&spec.source));
    answer::read_otherwise(here.keys(), ("the release", &there), ("this spec", &here))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let named = |what: &What| match what {
            What::Named(name) => name.clone(),
            other => format!("{other:?}"),
        };
        let found = reads(text);
        let said: Vec<String> = found.iter().map(|(what, of)| named(what) + "=" + &of["column"]).collect();
        assert_eq!(said, ["Weight=fnlwgt", "age=alter", "pay=hours × rate", "sex=Sex", "w=fnlwgt", "x=x"]);
        assert!(reads("no spec").is_empty() && reads("dimension = 3\namount = [1]").is_empty());
        assert!(reads("data = 3\nprivacy = 4").is_empty());
    }

    /// Specs of one data file, and whether `x` and `pay` are read alike in both.
    #[test]
    fn what_a_cell_means() {
        let of = |data: &str, x: &str| {
            reads(&format!(
                "[data]\npath = \"rows.csv\"\n{data}\n[privacy]\nunit = {{ column = \"id\", max_rows = 1 }}\n[[amount]]\nname = \"pay\"\n\
                 [[dimension]]\nname = \"x\"\n{x}\n"
            ))
        };
        for (one, other, differs) in [
            (("", ""), ("empty = [\"\"]\ntrim = false\ndecimal = \".\"", ""), None),
            (("empty = [\"a\", \"b\"]", ""), ("empty = [\"b\", \"\", \"a\", \"a\"]", ""), None),
            (("delimiter = \";\"\nquote = \"'\"", ""), ("encoding = \"latin-1\"", ""), None),
            (("", "missing = \"F\""), ("", ""), None),
            (("", "clamp = true"), ("", ""), None),
            (("format = \"parquet\"", ""), ("decimal = \",\"", ""), None),
            (("", ""), ("empty = [\"NA\"]", ""), Some("empty = [] in A and with empty = [\"NA\"] in B")),
            (("", ""), ("trim = true", ""), Some("trim = false in A and with trim = true in B")),
            (("", ""), ("decimal = \",\"", ""), Some("decimal = \".\" in A and with decimal = \",\" in B")),
            (
                ("", ""),
                ("thousands = \".\"", ""),
                Some("thousands = \"\" in A and with thousands = \".\" in B"),
            ),
            (("columns = [\"x\", \"pay\"]", ""), ("columns = [\"pay\", \"x\"]", ""), Some("columns = ")),
            (("", "missing = \"F\""), ("", "missing = \"M\""), Some("missing = \"F\" in A and")),
            (("", "other = \"F\""), ("", "other = \"M\""), Some("other = \"F\" in A and")),
            (
                ("", "format = \"DD/MM/YYYY\""),
                ("", "format = \"MM/DD/YYYY\""),
                Some("format = \"DD/MM/YYYY\" in A"),
            ),
            (
                ("", "clamp = true\nother = \"9+\""),
                ("", "other = \"9+\""),
                Some("clamp = true in A and with clamp = false in B"),
            ),
            (("", "column = \"y\""), ("", ""), Some("x is read from the column y in A and from x in B")),
        ] {
            let (one, other) = (of(one.0, one.1), of(other.0, other.1));
            let found = answer::read_otherwise(one.keys(), ("A", &one), ("B", &other));
            match differs {
                None => assert_eq!(found, None),
                Some(words) => {
                    assert!(found.clone().is_some_and(|f| f.contains(words)), "{found:?}: {words}")
                }
            }
        }
    }
}
