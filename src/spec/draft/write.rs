//! The draft as a text.

use super::super::{CsvOptions, Encoding, words};
use super::Drawn;
use super::survey::{GAPS, Survey, quoted};
use crate::spec::SUGGESTION;
use std::fmt::Write as _;
use std::path::{Component, Path};

pub(super) fn write(drawn: &Drawn, data: &Path, folder: &Path, csv: Option<&CsvOptions>) -> String {
    let columns = &drawn.columns;
    let stem = data.file_stem().and_then(|s| s.to_str()).unwrap_or("");
    let name: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let name: String = name.trim_matches('-').chars().take(100).collect();
    let name = if name.is_empty() { "release" } else { &name };
    let mut out = format!(
        "# A draft, made from the data: it holds values of the data, and all of it will be public.\n\
         # Read every line marked `confirm` before you show this file to anybody, change what nobody may know, and write\n\
         # `confirmed = true` below it. Lines that begin with #? are suggestions from the data: use them or not, and delete them.\n\
         # There is no release before that.\n\
         {}\
         name  = \"{name}\"\n\
         title = {}\n\n\
         [data]\n\
         path = {}                  # relative to this file\n",
        if csv.is_some() { nameless(columns) } else { String::new() },
        quoted(&format!("Tables from {}", if stem.is_empty() { "the data" } else { stem })),
        quoted(&relative(data, folder)),
    );
    let format = if csv.is_some() { "csv" } else { "parquet" };
    if crate::unpack::ending(data).as_deref() != Some(format) {
        let _ = writeln!(out, "format = \"{format}\"");
    }
    if let Some(csv) = csv {
        if csv.delimiter != b',' {
            let _ = writeln!(out, "delimiter = {}", quoted(&char::from(csv.delimiter).to_string()));
        }
        if csv.encoding != Encoding::Utf8 {
            let name = words::ENCODINGS.iter().find(|w| w.1 == csv.encoding).map_or("", |w| w.0);
            let _ = writeln!(out, "encoding = \"{name}\"");
        }
    }
    let gaps = drawn.gaps();
    let empty: Vec<String> =
        (0..).zip(GAPS).filter(|(gap, _)| gaps & 1 << gap != 0).map(|(_, text)| quoted(text)).collect();
    if !empty.is_empty() {
        let _ =
            writeln!(out, "empty = [{}]  # texts that stand for no value, in all columns", empty.join(", "));
    }
    out.push_str(
        "\n[privacy]\n\
         # Whom the guarantee protects. \"row\" is right if every row is another person. If people can have\n\
         # several rows: unit = { column = \"person_id\", max_rows = 3 }\n",
    );
    out.push_str(&unit(drawn));
    out.push_str(
        "unit = \"row\"\n\
         # How much may be learned about one unit: half of it means more noise. \"1/2\" is a common middle.\n\
         # Or `epsilon = 1` for pure differential privacy.\n\
         rho = \"1/2\"\n",
    );
    let mut used = 0usize;
    for (at, column) in columns.iter().enumerate() {
        let named = unambiguous(&column.name, columns);
        let mut name = quoted(&named);
        if named != column.name {
            let _ = write!(name, "\ncolumn = {}", quoted(&column.name));
        }
        match column.domain(gaps) {
            Ok(domain) => {
                used += 1;
                let levels = nested(drawn, at);
                let cost = cost(&domain);
                let _ = write!(
                    out,
                    "\n[[dimension]]\nname = {name}\n{domain}  # confirm: the name and this list will be public\nconfirmed = false\n{cost}{levels}"
                );
                if column.has_empty(gaps) {
                    out.push_str("missing = \"unknown\"  # for empty cells\n");
                }
            }
            Err(why) => {
                let name = quoted(&column.name).replace(['\n', '\r'], " ");
                let _ = write!(
                    out,
                    "\n{SUGGESTION} {why}\n{SUGGESTION} [[dimension]]\n{SUGGESTION} name = {name}\n{}",
                    nested(drawn, at)
                );
            }
        }
    }
    out.push_str(
        "\n# Every table of up to so many dimensions, the total included. More tables, more noise in each.\n",
    );
    let _ = write!(out, "[[table]]\nup_to = {}\n", used.min(2));
    out.push_str("\n[strategy]\nmeasure = \"auto\"\nbudgets = \"optimal\"\n");
    out
}

/// What bins cost, and what they take.
fn cost(domain: &str) -> String {
    match domain.strip_prefix("bins = ") {
        Some(edges) => {
            let bins = edges.matches(", ").count();
            format!(
                "# {bins} bins: every table with it has {bins} times the cells. Numbers within one bin are not told apart.\n"
            )
        }
        None => String::new(),
    }
}

/// What to know of a file whose first line may be no names: then the names below are somebody's data.
fn nameless(columns: &[Survey]) -> String {
    let like: Vec<String> =
        (1..).zip(columns).filter(|(_, c)| c.named_by_value()).map(|(at, _)| at.to_string()).collect();
    if like.is_empty() {
        return String::new();
    }
    format!(
        "{SUGGESTION} The first line of the file was taken for the names of its columns, and what stands there looks like a value in {} {}.\n\
         {SUGGESTION} If that line is a row, the names below are somebody's data: write a line of names above it, and draft again.\n",
        if like.len() == 1 { "column" } else { "columns" },
        like.join(", ")
    )
}

/// Whose rows these may be.
fn unit(drawn: &Drawn) -> String {
    let mut out = String::new();
    // What lies in something else may well be an area.
    let units = drawn.columns.iter().enumerate().filter(|(at, column)| {
        column.names_units() || (column.may_name_units() && drawn.nested.chain(*at).is_empty())
    });
    for (_, column) in units {
        let name = quoted(&column.name);
        let _ = write!(
            out,
            "{SUGGESTION} {name} looks like whose rows these are, and has some values several times. Then it should be\n\
             {SUGGESTION}   unit = {{ column = {name}, max_rows = 3 }}\n\
             {SUGGESTION} with as many rows as one may have by what you know of the data, not by what is in it.\n"
        );
    }
    out
}

/// In which other columns a column lies.
fn nested(drawn: &Drawn, fine: usize) -> String {
    let chain = drawn.nested.chain(fine);
    let name = |at: usize| drawn.columns.get(at).map_or(String::new(), |c| quoted(&c.name));
    let mut out = String::new();
    let (Some(column), false) = (drawn.columns.get(fine), chain.is_empty()) else { return out };
    if column.names_units() {
        return out; // everybody lives somewhere
    }
    let lies: Vec<String> = chain.iter().map(|&at| format!("in one {}", name(at))).collect();
    let lies = lies.join(", and that ");
    let _ = writeln!(out, "{SUGGESTION} Every {} lies {lies}.", name(fine));
    if column.domain(drawn.gaps()).is_err() {
        let all: Vec<String> = std::iter::once(fine).chain(chain).map(name).collect();
        let _ = writeln!(
            out,
            "{SUGGESTION} A public list of them, a CSV file with the columns {}, can be one dimension: hierarchy = \"FILE.csv\"",
            all.join(", ")
        );
        return out;
    }
    let levels: Vec<String> = chain
        .iter()
        .filter_map(|&coarse| {
            let map =
                column.groups(drawn.columns.get(coarse)?, |value| drawn.nested.parent(fine, coarse, value));
            Some(format!("{{ name = {}, map = {{ {map} }} }}", name(coarse)))
        })
        .collect();
    let _ = write!(
        out,
        "{SUGGESTION} They can be one dimension with levels, in place of several:\n{SUGGESTION}   levels = [{}]\n",
        levels.join(", ")
    );
    out
}

/// A name for the dimension of a column. `e.e` beside `e` would also be a level of that: then `e-e`.
fn unambiguous(column: &str, columns: &[Survey]) -> String {
    let is_level = columns
        .iter()
        .any(|c| column.strip_prefix(&c.name).and_then(|r| r.strip_prefix('.')) == Some(&c.name));
    if !is_level {
        return column.to_owned();
    }
    let mut name = column.replacen('.', "-", 1);
    while columns.iter().any(|c| c.name == name) {
        name.push('-');
    }
    name
}

/// `path` as seen from `folder`, with forward slashes. The spec becomes public, so a way that would lead over the root, and name
/// every folder below it, is not written: then it is the file's name alone, and the data has to be put there or given with `--data`.
pub(super) fn relative(path: &Path, folder: &Path) -> String {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let name = || path.file_name().map_or(String::new(), |n| n.to_string_lossy().into_owned());
    let (Ok(path), Ok(folder)) = (std::path::absolute(path), std::path::absolute(here)) else {
        return name();
    };
    let (to, from): (Vec<_>, Vec<_>) = (path.components().collect(), folder.components().collect());
    let common = to.iter().zip(&from).take_while(|(a, b)| a == b).count();
    let climbs = from.get(common..).unwrap_or(&[]);
    // Another drive, nothing but the root in common, or a climb over `..`, which only the file system can resolve.
    let nothing = !to.iter().take(common).any(|c| matches!(c, Component::Normal(_)));
    if (nothing && !climbs.is_empty()) || climbs.contains(&Component::ParentDir) {
        return name();
    }
    let up = climbs.iter().map(|_| "..".to_owned());
    let down = to.get(common..).unwrap_or(&[]).iter().map(|c| c.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}
