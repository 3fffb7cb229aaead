//! The draft as a text.

use super::super::{CsvOptions, Digits, Encoding, words};
use super::Drawn;
use super::areas::{TOTAL, Tree};
use super::survey::{GAPS, Survey, quoted};
use crate::release::texts::is_plain;
use crate::spec::{PIPE, SUGGESTION, is_pipe};
use std::fmt::Write as _;
use std::path::{Component, Path};

/// What people call a data file.
fn stem(data: &Path) -> &str {
    if is_pipe(data) {
        return "";
    }
    let stem = data.file_stem().and_then(|s| s.to_str()).unwrap_or("");
    if crate::unpack::is_packed(data) { stem.rsplit_once('.').map_or(stem, |(stem, _)| stem) } else { stem }
}

/// What the release of a data file is called.
pub(super) fn name(data: &Path) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = stem(data).chars().map(plain).collect();
    let name: String = name.trim_matches('-').chars().take(100).collect();
    if name.is_empty() { "release".into() } else { name }
}

pub(super) fn write(
    drawn: &Drawn,
    (name, data): (&str, &Path),
    folder: &Path,
    csv: Option<&CsvOptions>,
    trees: &[Tree],
) -> String {
    let columns = &drawn.columns;
    let (stem, way) = (stem(data), relative(data, folder));
    let mut out = format!(
        "# A draft, made from the data: it holds values of the data, and all of it will be public.\n\
         # Read every line marked `confirm` before you show this file to anybody, change what nobody may know, and set\n\
         # `confirmed = true` below it. Lines that begin with #? are suggestions from the data: use them or not, and delete them.\n\
         # There is no release before that.\n\
         {}\
         name  = \"{name}\"\n\
         title = {}\n\n\
         [data]\n\
         path = {}                  # {}\n",
        if csv.is_some() { nameless(columns) + &titled(columns) } else { String::new() },
        quoted(&format!("Tables from {}", if stem.is_empty() { "the data" } else { stem })),
        quoted(&way.clone().unwrap_or_else(|| {
            data.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
        })),
        match way {
            _ if is_pipe(data) => "standard input",
            Some(_) => "relative to this file",
            None => "put the data beside this file, or name it with --data",
        },
    );
    let format = if csv.is_some() { "csv" } else { "parquet" };
    if crate::unpack::ending(data).as_deref() != Some(format) {
        let _ = writeln!(out, "format = \"{format}\"");
    }
    if let Some(csv) = csv {
        if csv.delimiter != b',' {
            let _ = writeln!(out, "delimiter = {}", quoted(&char::from(csv.delimiter).to_string()));
        }
        out.push_str(&numbers(drawn, csv));
        if csv.encoding != Encoding::Utf8 {
            let name = words::ENCODINGS.iter().find(|w| w.1 == csv.encoding).map_or("", |w| w.0);
            let _ = writeln!(out, "encoding = \"{name}\"");
        }
    }
    let gaps = drawn.gaps();
    let words = (0..).zip(GAPS).filter(|(gap, _)| gaps & 1 << gap != 0).map(|(_, text)| text);
    let empty: Vec<String> = words.chain(drawn.blanks.iter().map(String::as_str)).map(quoted).collect();
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
    for at in 0..columns.len() {
        match trees.iter().find(|tree| tree.columns.contains(&at)) {
            // The coarser columns are levels of the finest.
            Some(tree) if tree.columns.first() != Some(&at) => {}
            Some(tree) => {
                used += 1;
                out.push_str(&listed(drawn, at, tree, &tree.file(drawn, name)));
            }
            None => {
                let (drafted, text) = dimension(drawn, at);
                used += usize::from(drafted);
                out.push_str(&text);
            }
        }
    }
    out.push_str(
        "\n# Every table of up to so many dimensions, the total included. More tables, more noise in each.\n",
    );
    // All pairs of very many columns take minutes to plan.
    let together = if used > MANY { 1 } else { used.min(2) };
    let _ = write!(out, "[[table]]\nup_to = {together}\n");
    out.push_str(&sums(drawn, trees));
    out.push_str(&by_level(drawn, trees));
    out.push_str("\n[strategy]\nmeasure = \"auto\"\nbudgets = \"optimal\"\n");
    out
}

/// How numbers are written, where that is not as programs write them.
fn numbers(drawn: &Drawn, csv: &CsvOptions) -> String {
    let (mut out, own) = (String::new(), csv.numbers);
    if own.decimal != b'.' {
        let _ = writeln!(out, "decimal = {}", quoted(&char::from(own.decimal).to_string()));
    }
    if let Some(mark) = own.thousands {
        let _ = writeln!(out, "thousands = {}", quoted(&mark.to_string()));
    }
    if drawn.digits().1 {
        let _ = writeln!(
            out,
            "{SUGGESTION} Whether a {} in a number stands before its fraction or before its last three digits is not told by the data: look at one.{}",
            if own == Digits::default() { "point" } else { "comma" },
            if own == Digits::default() { " The latter: decimal = \",\" and thousands = \".\"" } else { "" }
        );
    }
    out
}

/// How a dimension and its column are called in the spec.
fn called(drawn: &Drawn, column: &Survey) -> String {
    let named = unambiguous(&column.name, &drawn.columns);
    let mut name = format!("name = {}", quoted(&named));
    if named != column.name {
        let _ = write!(name, "\ncolumn = {}", quoted(&column.name));
    }
    name
}

/// The dimension of a column, if one can be made of it, and otherwise why not.
fn dimension(drawn: &Drawn, at: usize) -> (bool, String) {
    let gaps = drawn.gaps();
    let Some(column) = drawn.columns.get(at) else { return (false, String::new()) };
    match column.domain(gaps) {
        Ok(domain) => (
            true,
            format!(
                "\n[[dimension]]\n{}\n{domain}  # confirm: the name and this list will be public\nconfirmed = false\n{}{}{}{}",
                called(drawn, column),
                cost(&domain),
                nested(drawn, at, &domain),
                missing(column, gaps),
                if may_be_added_up(column, &domain) { amount(column, gaps) } else { String::new() }
            ),
        ),
        Err(why) => {
            let name = quoted(&column.name).replace(['\n', '\r'], " ");
            let lies = nested(drawn, at, "");
            (
                false,
                format!(
                    "\n{SUGGESTION} {why}\n{SUGGESTION} [[dimension]]\n{SUGGESTION} name = {name}\n{lies}"
                ),
            )
        }
    }
}

/// The dimension of areas within areas, whose list is in a file.
fn listed(drawn: &Drawn, at: usize, tree: &Tree, file: &str) -> String {
    let Some(column) = drawn.columns.get(at) else { return String::new() };
    let of = |&at: &usize| drawn.columns.get(at).map_or(String::new(), |c| quoted(&c.name));
    let levels: Vec<String> = tree.columns.iter().map(of).collect();
    let lies = levels.join(", that in one ").replacen(", that in one ", " lies in one ", 1);
    format!(
        "\n# Every {lies}: areas within areas, and one dimension with levels.\n\
         # Their list is from the data too: take the public one of the mapping agency, with the areas where no rows are.\n\
         [[dimension]]\n{}\nhierarchy = {}  # confirm: the names and this list will be public\nconfirmed = false\n{}",
        called(drawn, column),
        quoted(file),
        missing(column, drawn.gaps())
    )
}

/// A table for each coarser level of areas.
fn by_level(drawn: &Drawn, trees: &[Tree]) -> String {
    let mut out = String::new();
    for tree in trees {
        let columns: Vec<&Survey> = tree.columns.iter().filter_map(|&at| drawn.columns.get(at)).collect();
        let Some((finest, coarser)) = columns.split_first() else { continue };
        let named = unambiguous(&finest.name, &drawn.columns);
        let of =
            |level: &&Survey| format!("[[table]]\nof = [{}]\n", quoted(&format!("{named}.{}", level.name)));
        let _ = write!(out, "\n# Larger areas, which are known better if they have tables of their own.\n");
        out.extend(coarser.iter().map(of));
    }
    out
}

/// A category for empty cells, where there are any.
fn missing(column: &Survey, gaps: u8) -> &'static str {
    if column.has_empty(gaps) { "missing = \"unknown\"  # for empty cells\n" } else { "" }
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

/// Whether a column looks like a number whose sums say something: one that is too fine to be listed.
fn may_be_added_up(column: &Survey, domain: &str) -> bool {
    domain.starts_with("bins = ") && !column.names_units()
}

/// The same column as an amount. Its bounds are left open: they would tell of the data if they came from it.
fn amount(column: &Survey, gaps: u8) -> String {
    let name = quoted(&column.name);
    let skip = match column.has_empty(gaps) {
        true => format!("{SUGGESTION}   missing = \"skip\"  # empty cells are in no sum\n"),
        false => String::new(),
    };
    format!(
        "{SUGGESTION} Sums and means of {name} can be told, too, by this in place of the dimension above, or beside it under another `name`.\n\
         {SUGGESTION} Choose `low` and `high` by what is known of such numbers, never by these rows: both will be public, and values beyond count as they.\n\
         {SUGGESTION}   [[amount]]\n\
         {SUGGESTION}   name = {name}\n\
         {SUGGESTION}   column = {name}\n\
         {SUGGESTION}   low =      # such as 0\n\
         {SUGGESTION}   high =     # nearer means less noise\n\
         {SUGGESTION}   step =     # values are rounded to multiples of it; both bounds are multiples\n\
         {skip}"
    )
}

/// A line for the table that is to tell the sums of what may be added up.
fn sums(drawn: &Drawn, trees: &[Tree]) -> String {
    let gaps = drawn.gaps();
    let in_tree = |at: &usize| trees.iter().any(|tree| tree.columns.contains(at));
    let own = drawn.columns.iter().enumerate().filter(|(at, _)| !in_tree(at));
    let own = own.filter(|(_, c)| c.domain(gaps).is_ok_and(|domain| may_be_added_up(c, &domain)));
    let names: Vec<String> = own.map(|(_, c)| quoted(&c.name)).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(
        "{SUGGESTION} With the amounts above, in each table that is to tell their sums:\n{SUGGESTION}   sum = [{}]\n",
        names.join(", ")
    )
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

/// What to know of a file whose first line may be a title above the names: then the cells of all other lines are one value here.
fn titled(columns: &[Survey]) -> String {
    match columns {
        [column] if column.may_be_split() => format!(
            "{SUGGESTION} The first line of the file is one name, and each line below it looks like several cells.\n\
             {SUGGESTION} If the first line is a title, remove it, and draft again.\n"
        ),
        _ => String::new(),
    }
}

/// Whose rows these may be.
fn unit(drawn: &Drawn) -> String {
    let mut out = String::new();
    for column in drawn.columns.iter().filter(|c| c.names_units() || c.may_name_units()) {
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

/// In which other columns a column lies, whose domain is drafted so.
fn nested(drawn: &Drawn, fine: usize, domain: &str) -> String {
    let chain = drawn.nested.chain(fine);
    let name = |at: usize| drawn.columns.get(at).map_or(String::new(), |c| quoted(&c.name));
    let mut out = String::new();
    let (Some(column), false) = (drawn.columns.get(fine), chain.is_empty()) else { return out };
    if column.names_units() {
        return out; // everybody lives somewhere
    }
    let lies: Vec<String> = chain.iter().map(|&at| format!("in one {}", name(at))).collect();
    let lies = lies.join(", and that ");
    let as_people = if column.may_be_people() { ", as areas do, and people who live there" } else { "" };
    let _ = writeln!(out, "{SUGGESTION} Every {} lies {lies}{as_people}.", name(fine));
    // Only labels that are listed can be put in groups here.
    if !domain.starts_with("categories") && !domain.starts_with("range") {
        let all: Vec<String> = std::iter::once(fine).chain(chain).map(name).collect();
        let _ = writeln!(
            out,
            "{SUGGESTION} {} public list of them, a CSV file with the columns {}, can be one dimension: hierarchy = \"FILE.csv\"",
            if column.may_be_people() { "If these are no people, a" } else { "A" },
            all.join(", ")
        );
        return out;
    }
    let level = |&coarse: &usize| {
        let list = |own: &[&str]| own.iter().map(|v| quoted(v)).collect::<Vec<_>>().join(", ");
        let groups = drawn.nested.groups(fine, coarse);
        let map: Vec<String> =
            groups.iter().map(|(label, own)| format!("{} = [{}]", quoted(label), list(own))).collect();
        format!("{{ name = {}, map = {{ {} }} }}", name(coarse), map.join(", "))
    };
    let levels: Vec<String> = chain.iter().map(level).collect();
    let _ = write!(
        out,
        "{SUGGESTION} They can be one dimension with levels, in place of several:\n{SUGGESTION}   levels = [{}]\n",
        levels.join(", ")
    );
    out
}

/// What can be shown of a column's name: no release may show control characters.
fn clean(column: &str) -> String {
    let plain: Vec<&str> = column
        .split(|c: char| !is_plain(c.encode_utf8(&mut [0; 4])))
        .filter(|part| !part.is_empty())
        .collect();
    if plain.is_empty() { "column".into() } else { plain.join(" ") }
}

/// A name for the dimension of a column. `e.e` beside `e` would also be a level of that: then `e-e`.
fn unambiguous(column: &str, columns: &[Survey]) -> String {
    if !is_plain(column) {
        let mut name = clean(column);
        let before = columns.iter().take_while(|c| c.name != column).filter(|c| !is_plain(&c.name));
        name.push_str(&"-".repeat(before.filter(|c| clean(&c.name) == name).count()));
        while columns.iter().any(|c| c.name == name) {
            name.push('-');
        }
        return unambiguous(&name, columns);
    }
    let is_level = columns
        .iter()
        .any(|c| column.strip_prefix(&c.name).and_then(|r| r.strip_prefix('.')) == Some(&c.name));
    // Days have levels of their own.
    let of_days = DAYS.contains(&column) && columns.iter().any(|c| c.has_days() && clean(&c.name) == column);
    if !is_level && !of_days && column != TOTAL {
        return column.to_owned();
    }
    let mut name = if is_level { column.replacen('.', "-", 1) } else { format!("{column}-") };
    while columns.iter().any(|c| c.name == name) {
        name.push('-');
    }
    name
}

/// The levels of days, which is what no dimension of days is called.
const DAYS: [&str; 3] = ["year", "quarter", "month"];
/// More columns than whose pairs are drafted.
const MANY: usize = 100;

/// `path` as seen from `folder`, with forward slashes. The spec becomes public, so a way that would lead over the root, and name
/// every folder below it, is none: then the data has to be put beside the draft or given with `--data`.
pub(super) fn relative(path: &Path, folder: &Path) -> Option<String> {
    if is_pipe(path) {
        return Some(PIPE.into());
    }
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let (path, folder) = (std::path::absolute(path).ok()?, std::path::absolute(here).ok()?);
    let (to, from): (Vec<_>, Vec<_>) = (path.components().collect(), folder.components().collect());
    let common = to.iter().zip(&from).take_while(|(a, b)| a == b).count();
    let climbs = from.get(common..).unwrap_or(&[]);
    // Another drive, nothing but the root in common, or a climb over `..`, which only the file system can resolve.
    let nothing = !to.iter().take(common).any(|c| matches!(c, Component::Normal(_)));
    if (nothing && !climbs.is_empty()) || climbs.contains(&Component::ParentDir) {
        return None;
    }
    let up = climbs.iter().map(|_| "..".to_owned());
    let down = to.get(common..).unwrap_or(&[]).iter().map(|c| c.as_os_str().to_string_lossy().into_owned());
    Some(up.chain(down).collect::<Vec<_>>().join("/"))
}
