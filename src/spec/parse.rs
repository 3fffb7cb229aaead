//! The whole file: TOML text to [`Spec`], with every mistake collected on the way.

use super::diagnostic::{Diagnostic, Sink, SpecErrors};
use super::dimension::{self, DeclaredDimension};
use super::keys::{Keys, Shape, key, required, shown, words};
use super::read::{self, Fields, Value};
use super::types::Unconfirmed;
use super::words::{BUDGETS, MEASURES, OBJECTIVES};
use super::{
    AmountSpec, Coding, Files, Privacy, ProjectionSpec, Spec, StrategySpec, amounts, asked, data, dataset,
    diagnostic, expected, levels, privacy, projection, queries, recipients, rows, shares, tables, zeros,
};
use crate::cube::Cube;
use crate::exact::Rational;
use crate::plan::Objective;
use crate::plan::{BudgetRule, Measure, Table};
use std::collections::HashMap;
use std::path::Path;
use toml::de::DeTable;

/// The keys of the file itself.
pub(super) const ROOT: Keys = Keys {
    what: "A release spec of margins: whose data it is, how it is protected, which tables are released.",
    keys: &[
        required(
            "name",
            Shape::Matches(r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"),
            "the file's name, and the name after FROM: letters, digits, `-`, `_`",
        ),
        required("title", Shape::Text, "a title of one line"),
        key("description", Shape::Text, "a longer description"),
        key("licence", Shape::Text, "the terms under which the release may be used"),
        key("contact", Shape::Text, "whom to ask about the release"),
        key("supersedes", Shape::Text, "the release that this one replaces"),
        key(
            "demo",
            Shape::Truth,
            "`true` if the data is made up: the release may then be signed with a throw-away key",
        ),
        key("release", Shape::Table(&RELEASE), "what readers are told of figures"),
        key("dataset", Shape::Table(&dataset::KEYS), "whose data this is"),
        key("data", Shape::Table(&data::KEYS), "where the rows are; optional for `margins plan`"),
        required("privacy", Shape::Table(&privacy::KEYS), "who is protected, and the budget"),
        required("dimension", Shape::Tables(&dimension::KEYS), "the dimensions, one entry each"),
        key("table", Shape::Tables(&tables::KEYS), "the tables to release"),
        key("query", Shape::Tables(&queries::KEYS), "SQL questions that the plan is made for"),
        key(
            "amount",
            Shape::Tables(&amounts::KEYS),
            "numbers that rows have, such as an income: their sums and means",
        ),
        key(
            "weights",
            Shape::Table(&amounts::WEIGHTS),
            "what rows count for, such as the weights of a survey",
        ),
        key("zero", Shape::AnyList(&Shape::Table(&zeros::KEYS)), "cells that are empty whatever the data"),
        key("strategy", Shape::Table(&STRATEGY), "what is measured; optional"),
        key("projection", Shape::Table(&projection::KEYS), "instead of tables: sums with random signs"),
        key("asked", Shape::Table(&asked::KEYS), "instead of tables: questions that are measured themselves"),
        key("recipients", Shape::Table(&recipients::KEYS), "how the copies for several recipients are made"),
        key("recipient", Shape::Tables(&recipients::RECIPIENT), "one recipient of a copy"),
    ],
    one_of: &[],
    rules: r#"{"oneOf": [
        {"anyOf": [{"required": ["table"]}, {"required": ["query"]}]}, {"required": ["projection"]}, {"required": ["asked"]}
    ]}"#,
};

/// The keys of `[release]`.
pub(super) const RELEASE: Keys = Keys {
    what: "What readers are told of figures; optional.",
    keys: &[shown(
        "reliability",
        "reliability = [16.6, 33.3]",
        Shape::List(&Shape::Exact),
        "where the classes A, B, C … of `--reliability` end: coefficients of variation in per cent, ascending (default 16.6 and 33.3)",
    )],
    one_of: &[],
    rules: "{}",
};

/// Days of searching on any machine.
pub(crate) const MOST_EFFORT: u32 = 100_000;
/// The keys of `[strategy]`.
pub(super) const STRATEGY: Keys = Keys {
    what: "What is measured; optional. [Strategies](methods/strategies.md) describes each.",
    keys: &[
        key("measure", words!(MEASURES), "what is measured"),
        key("budgets", words!(BUDGETS), "how the budget is divided"),
        key("objective", words!(OBJECTIVES), "the [goal](methods/objectives.md) of the plan"),
        shown(
            "expected",
            "expected = { file = \"last-year.margins\", floor = 10 }",
            Shape::Table(&expected::KEYS),
            "with `\"relative\"`: the counts that are expected, of a release that is out",
        ),
        shown(
            "shares",
            "shares = [{ of = [\"sex\"], share = \"1/3\" }, …]",
            Shape::List(&Shape::Table(&shares::KEYS)),
            "with `\"given\"`: the measured tables, each with its exact share of the budget; the shares add up to 1",
        ),
        shown(
            "rows",
            "rows = { file = \"rows.csv\", of = [\"sex\", \"age.band\"] }",
            Shape::Table(&rows::KEYS),
            "with `\"matrix\"`: your own linear queries over a table's cells",
        ),
        key(
            "effort",
            Shape::Whole(0, MOST_EFFORT as i64),
            "search effort under Laplace noise, in [rounds](methods/strategies.md#tables) of a few seconds (default 1; 0 skips annealing). \
             More is never worse, and the same effort gives the same plan. `--effort` replaces it",
        ),
    ],
    one_of: &[],
    rules: "{}",
};

/// Reads a spec from its text. `origin` is the file it came from: its name is shown beside mistakes
/// and data paths are relative to its folder. `read_file` supplies the files the spec refers to, by
/// the names the spec gives them.
pub fn parse(
    source: &str,
    origin: &Path,
    read_file: impl Fn(&str) -> std::io::Result<Vec<u8>>,
) -> Result<Spec, SpecErrors> {
    parse_in(source, origin, (MOST_ROOM, ROOM_OF_BYTE), u64::MAX, read_file)
}

/// The bytes that the dimensions of a spec may take until it is planned, as [`size`] counts them.
const MOST_ROOM: u64 = 1 << 30;
/// And for each byte of a file of categories: what the shortest lines take.
const ROOM_OF_BYTE: u64 = 24;

/// The bytes that the dimensions of a cube take from when a spec is read until it is planned.
pub(crate) fn size(cube: &Cube) -> u64 {
    let of = |d: &crate::cube::Dimension| {
        let finest = d.levels.last().map_or(0, |l| l.len());
        d.levels.iter().map(|l| diagnostic::room(finest, l.len())).sum::<u64>()
    };
    cube.dimensions.iter().map(of).sum()
}

/// The same, of a spec whose dimensions take no more than `room`, and that makes no more `tables`: whoever signs `range = [0, 2000000]` or `every = 12`
/// makes a reader of a few bytes fill gigabytes otherwise.
pub(crate) fn parse_within(
    source: &str,
    origin: &Path,
    room: u64,
    tables: u64,
    read_file: impl Fn(&str) -> std::io::Result<Vec<u8>>,
) -> Result<Spec, SpecErrors> {
    parse_in(source, origin, (room, 0), tables, read_file)
}

fn parse_in(
    source: &str,
    origin: &Path,
    (room, of_byte): (u64, u64),
    tables: u64,
    read_file: impl Fn(&str) -> std::io::Result<Vec<u8>>,
) -> Result<Spec, SpecErrors> {
    let mut sink =
        Sink::new(origin.display().to_string(), source.to_owned(), room, of_byte).with_tables(tables);
    let (document, errors) = DeTable::parse_recoverable(source);
    let syntax = syntax_errors(source, &errors, &mut sink);
    if syntax {
        return sink.finish(None);
    }
    let mut files = Files::new(&read_file, of_byte == 0);
    let spec = whole_spec(document.get_ref(), source, origin, &mut files, &mut sink);
    sink.finish(spec)
}

/// Reports what the TOML parser found, and whether what is left is worth reading: a key that is there
/// twice leaves the rest readable. Anything else does not: what the parser makes of the remains would
/// be reported as mistakes that nobody made.
fn syntax_errors(source: &str, errors: &[toml::de::Error], sink: &mut Sink) -> bool {
    let mut syntax = false;
    let mut last_line = None;
    // Where the lines end: counting them anew for every mistake would take the square of a file's length.
    let ends: Vec<usize> =
        source.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at).collect();
    for error in errors {
        let Some(span) = error.span() else {
            syntax = true;
            sink.push(Diagnostic::nowhere(error.message()));
            continue;
        };
        if error.message() == "duplicate key" {
            sink.push(Diagnostic::at(span, "this key is there twice").label("the second time"));
            continue;
        }
        syntax = true;
        // One slip often upsets the parser several times in a row.
        let line = ends.partition_point(|&end| end < span.start);
        if last_line.replace(line) == Some(line) {
            continue;
        }
        let (message, expected) = error.message().split_once(", ").unwrap_or((error.message(), "here"));
        let at_line_end =
            source.get(span.start..).is_none_or(|s| s.is_empty() || s.starts_with(['\r', '\n']));
        if message.contains("must be quoted") && at_line_end {
            sink.push(Diagnostic::at(span, "a key without a value").label("expected a value"));
        } else if message.starts_with("missing comma between array") {
            // If it is the closing bracket that is missing, all that follows looks wrong.
            let message = "a list lacks a comma or its closing bracket";
            sink.push(Diagnostic::at(span, message).label("expected `,` or `]` before this"));
            break;
        } else {
            sink.push(Diagnostic::at(span, message).label(expected));
        }
    }
    syntax
}

fn whole_spec(
    table: &DeTable<'_>,
    source: &str,
    origin: &Path,
    files: &mut Files<'_>,
    sink: &mut Sink,
) -> Option<Spec> {
    let root = Fields::root(table, &ROOT, sink);
    let name = root.require("name", "`name = \"my-release\"`", sink).and_then(|v| release_name(v, sink));
    let title = root
        .require("title", "`title = \"...\"`, one line for people", sink)
        .and_then(|v| read::shown(v, "`title`", true, sink));
    let optional = |key: &str, sink: &mut Sink| {
        Some(read::shown(root.get(key)?, &format!("`{key}`"), true, sink)?.to_owned())
    };
    let (description, licence) = (optional("description", sink), optional("licence", sink));
    let (contact, supersedes) = (optional("contact", sink), optional("supersedes", sink));
    let reliability = root.get("release").map_or(Some(Vec::new()), |v| reliability(v, sink));
    let demo = root.get("demo").and_then(|v| read::boolean(v, "`demo`", sink)).unwrap_or(false);
    let dataset = root.get("dataset").map(|v| dataset::read(v, sink));
    let folder = origin.parent().unwrap_or(Path::new(""));
    let data = root.get("data").map(|v| data::read(v, origin, sink));
    let privacy = root
        .require("privacy", "`[privacy]` with `unit = \"row\"` and `rho = \"1/2\"`", sink)
        .and_then(|v| privacy::read(v, sink));
    let own = (privacy.as_ref().map(|p| p.unit.name()), files.sealed);
    let account = root.get("dataset").map(|v| dataset::account(v, folder, own, sink));
    if !files.sealed {
        data.iter().flatten().for_each(|data| files.keep_off(folder, &data.path));
    }
    let dimensions: Option<Vec<DeclaredDimension>> = root
        .require("dimension", "`[[dimension]]`, once for every attribute", sink)
        .and_then(|v| read::several(v, "dimension", sink))
        .map(|items| read_dimensions(&items, files, sink));
    if let Some(dimensions) = &dimensions {
        check_names(dimensions, sink);
    }
    let projection = projection(&root, dimensions.as_deref(), privacy.as_ref(), sink);
    instead_of_tables(&root, sink);
    let recipients = recipients::read(&root, privacy.as_ref(), sink);
    amounts::alone(&root, sink);
    let mut amounts = amounts::read(&root, dimensions.as_deref().unwrap_or(&[]), sink);
    amounts::affordable(&root, privacy.as_ref(), amounts.as_deref().unwrap_or(&[]), sink);
    // Tables speak of amounts by name: beside one that has mistakes of its own, each would seem to have some, too.
    let known = amounts.as_deref_mut();
    let asked = known.and_then(|known| asked(&root, source, dimensions.as_deref(), known, sink));
    let strategy = match root.get("strategy") {
        Some(v) => strategy(v, dimensions.as_deref(), files, sink),
        None => Some(StrategySpec::default()),
    };
    if let (Some(given), Some(strategy), Some(asked)) = (root.get("strategy"), &strategy, &asked) {
        check_targets(given, strategy, (asked, amounts.as_deref().unwrap_or(&[])), sink);
    }
    if let Some(Some(data)) = &data {
        data::check_columns(data, &root, dimensions.as_deref().unwrap_or(&[]), privacy.as_ref(), sink);
    }
    let data = all_or_none(data)?;
    if let Some(data) = &data {
        data::check_empty(data, dimensions.as_deref().unwrap_or(&[]), sink);
    }
    let unconfirmed = unconfirmed(dimensions.as_deref().unwrap_or(&[]), source, origin);
    let (built, columns): (Vec<_>, Vec<_>) =
        dimensions?.into_iter().map(|d| d.built).collect::<Option<Vec<_>>>()?.into_iter().unzip();
    let mut asked = asked?;
    let cube = Cube { dimensions: built };
    let zeros = match root.get("zero") {
        None => Vec::new(),
        Some(value) => zeros::read(value, &cube, &asked.tables, sink)?,
    };
    let strategy = finished(&root, strategy, &cube, &mut asked.tables, files, sink)?;
    Some(Spec {
        file: None,
        name: name?,
        title: title?.to_owned(),
        description,
        licence,
        contact,
        supersedes,
        reliability: reliability?,
        demo,
        dataset: all_or_none(dataset)?,
        account: all_or_none(account)?.unwrap_or_default(),
        projection: projection?,
        recipients: recipients?,
        data,
        privacy: privacy?,
        cube: cube.into(),
        columns,
        workload: asked.tables,
        amounts: amounts?,
        targets: asked.targets,
        exact: asked.exact,
        zeros,
        strategy,
        unconfirmed,
        source: source.to_owned(),
        attachments: files.take(),
    })
}

/// Where classes of reliability end.
fn reliability(value: &Value<'_>, sink: &mut Sink) -> Option<Vec<Rational>> {
    let fields = Fields::open(value, "`[release]`", &RELEASE, sink)?;
    let Some(list) = fields.get("reliability") else { return Some(Vec::new()) };
    let items = read::list(list, "`reliability`", sink)?.iter();
    let cuts = items.map(|cut| read::positive(cut, "a cut", sink)).collect::<Option<Vec<_>>>()?;
    if !(1..=4).contains(&cuts.len()) || !cuts.is_sorted_by(|a, b| a < b) {
        let wrong = Diagnostic::at(list.span(), "`reliability` is no list of cuts");
        sink.push(wrong.label("expected one to four numbers, ascending, such as [16.6, 33.3]"));
        return None;
    }
    Some(cuts)
}

/// The strategy, with what depends on the domain: questions in place of tables, and tables weighed by expected counts.
fn finished(
    root: &Fields<'_, '_>,
    strategy: Option<StrategySpec>,
    cube: &Cube,
    tables: &mut [Table],
    files: &mut Files<'_>,
    sink: &mut Sink,
) -> Option<StrategySpec> {
    if let Some(value) = root.get("asked") {
        let rows = Some(super::asked::read(value, cube, sink)?);
        return Some(StrategySpec { measure: Some(Measure::Matrix), rows, ..StrategySpec::default() });
    }
    let mut strategy = strategy?;
    if let Some(given) = root.get("strategy") {
        let sums = root.get("amount").is_some() || root.get("weights").is_some();
        strategy.expected = expected::weigh(given, (cube, sums), tables, files, sink)?;
    }
    Some(strategy)
}

/// Tables and queries: one of them must be there, unless there is a projection instead.
fn asked(
    root: &Fields<'_, '_>,
    source: &str,
    dimensions: Option<&[DeclaredDimension]>,
    amounts: &mut [AmountSpec],
    sink: &mut Sink,
) -> Option<tables::TablesAsked> {
    if root.get("projection").is_some() || root.get("asked").is_some() {
        return Some(tables::TablesAsked::default());
    }
    let queries = root.get("query").filter(|v| read::several(v, "query", sink).is_some());
    let tables = match root.get("query") {
        Some(_) => root.get("table"),
        None => root.require("table", "`[[table]]` with `every = 2`", sink),
    };
    let mut asked = match (tables.filter(|v| read::several(v, "table", sink).is_some()), dimensions) {
        (Some(value), Some(dimensions)) => tables::read(value, dimensions, amounts, sink)?,
        _ if tables.is_none() && queries.is_some() => tables::TablesAsked::default(),
        _ => return None,
    };
    if let Some((value, cube)) = queries.zip(dimensions.and_then(cube_of)) {
        let name = root.get("name").and_then(|v| v.as_ref().as_str()).unwrap_or_default();
        let read = queries::read(value, (name, source), (&cube, amounts), sink).unwrap_or_default();
        let (tables, targets): (Vec<_>, Vec<_>) = read.into_iter().unzip();
        asked.tables.extend(tables);
        asked.targets.extend(targets);
    }
    let sums = std::mem::take(&mut asked.sums);
    amounts::weigh((&mut asked.tables, &mut asked.targets), sums, amounts)?;
    amounts::told(root, amounts, sink);
    Some(asked)
}

/// The cube, where every dimension could be read.
fn cube_of(dimensions: &[DeclaredDimension]) -> Option<Cube> {
    let built = dimensions.iter().map(|d| d.built.as_ref().map(|(d, _)| d.clone()));
    built.collect::<Option<Vec<_>>>().filter(|d| !d.is_empty()).map(|dimensions| Cube { dimensions })
}

/// What may be left out and, where it is there, must be read: the inner `None` is a mistake.
fn all_or_none<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    read.map_or(Some(None), |read| read.map(Some))
}

/// Questions stand alone.
fn instead_of_tables(root: &Fields<'_, '_>, sink: &mut Sink) {
    let beside =
        ["table", "query", "zero", "strategy", "projection"].into_iter().find_map(|key| root.key_span(key));
    if let (Some(_), Some(span)) = (root.get("asked"), beside) {
        sink.push(
            Diagnostic::at(span, "tables or a projection beside `[asked]`")
                .label("a release is one or the other")
                .help("release them under a spec of their own; the ledger adds up both".to_owned()),
        );
    }
}

/// The projection, `Some(None)` for tables: a release is one or the other.
fn projection(
    root: &Fields<'_, '_>,
    dimensions: Option<&[DeclaredDimension]>,
    privacy: Option<&Privacy>,
    sink: &mut Sink,
) -> Option<Option<ProjectionSpec>> {
    let projected = root.get("projection");
    if let (Some(_), Some(span)) =
        (projected, ["table", "query", "strategy", "zero"].iter().find_map(|key| root.key_span(key)))
    {
        sink.push(
            Diagnostic::at(span, "tables beside a projection")
                .label("a release is one or the other")
                .help("release the tables under a spec of their own; the ledger adds up both".to_owned()),
        );
    }
    let projection = match (projected, dimensions) {
        (Some(value), Some(dimensions)) => projection::read(value, dimensions, sink).map(Some),
        (Some(_), None) => None,
        (None, _) => {
            for (d, c) in dimensions.iter().copied().flatten().filter_map(|d| d.built.as_ref()) {
                if c.coding == Coding::Text {
                    sink.push(
                        Diagnostic::nowhere(format!("`{}` holds any text, and tables need a list", d.name))
                            .help("give it `categories`, or release a `[projection]` of it".to_owned()),
                    );
                }
            }
            Some(None)
        }
    };
    if let (Some(_), Some(Privacy { cut_units: Some(_), .. })) = (projected, privacy) {
        let value = root.get("privacy").and_then(|p| p.get_ref().get("measure_truncation"));
        sink.push(
            Diagnostic::at(value.map_or(0..0, |v| v.span()), "`measure_truncation` with a projection")
                .label("is measured beside tables only"),
        );
    }
    projection
}

/// The least weight, and one over the largest, of which the worst cell of several channels is made.
const LEAST_WEIGHT: f64 = 1e-20;

/// Whoever plans for targets has some; and what is planned for can be weighed.
fn check_targets(
    given: &Value<'_>,
    strategy: &StrategySpec,
    (asked, amounts): (&tables::TablesAsked, &[AmountSpec]),
    sink: &mut Sink,
) {
    let asked_more = amounts.iter().flat_map(|a| &a.tables).any(|t| !t.asks.is_cells());
    if strategy.objective != Objective::Total && asked_more {
        sink.push(
            Diagnostic::at(given.span(), "`ask` beside sums with this objective")
                .label("sums of more than cells are planned for the least total alone")
                .help("leave `objective` out, or `ask`".to_owned()),
        );
    }
    let weights = amounts.iter().flat_map(|a| &a.tables).chain(&asked.tables).map(|t| t.weight.to_f64());
    let extreme = { weights }.any(|weight| !(LEAST_WEIGHT..=1.0 / LEAST_WEIGHT).contains(&weight));
    if strategy.objective == Objective::Worst && !amounts.is_empty() && extreme {
        let span = given.get_ref().get("objective").map_or(given.span(), |v| v.span());
        sink.push(
            Diagnostic::at(span, "weights are too far apart for the worst cell of counts and sums")
                .label("an error in one table would count 10^20 times as much as in another, or less than a part in 10^20")
                .help(
                    "bring the weights of tables nearer to each other, or the bounds of amounts nearer to 0: the error of a sum counts in units of \
                     its largest value"
                        .to_owned(),
                ),
        );
    }
    let of_sums = amounts.iter().flat_map(|a| &a.targets);
    if strategy.objective == Objective::Targets && asked.targets.iter().chain(of_sums).all(Option::is_none) {
        sink.push(
            Diagnostic::at(given.span(), "`objective = \"targets\"` without a target")
                .label("no table says how precise it must be")
                .help("give a `[[table]]` a `margin`".to_owned()),
        );
    }
}

/// The lists that nobody has confirmed, as a release is refused because of them.
fn unconfirmed(dimensions: &[DeclaredDimension], source: &str, origin: &Path) -> Option<Unconfirmed> {
    let mut diagnostics: Vec<Diagnostic> = dimensions
        .iter()
        .filter_map(|d| {
            let name = d.name.as_ref().map_or("?", |(name, _)| name.as_str());
            let message = format!("nobody has confirmed that the list of `{name}` may be public");
            Some(
                Diagnostic::at(d.unconfirmed.clone()?, message)
                    .label("there is no release before this is `true`")
                    .help("it came from the data: read it, then write `confirmed = true`".to_owned()),
            )
        })
        .collect();
    let lists = diagnostics.len();
    let mut at = 0;
    for line in source.split_inclusive('\n') {
        if line.starts_with(super::SUGGESTION) {
            diagnostics.push(
                Diagnostic::at(
                    at..at + line.trim_end().len(),
                    "a suggestion of `margins init` is still there",
                )
                .label("it came from the data, and would be published with the spec")
                .help("use it or not, and delete its lines".to_owned()),
            );
        }
        at += line.len();
    }
    let name = origin.display().to_string();
    let suggestions = diagnostics.len() - lists;
    (lists + suggestions > 0).then(|| Unconfirmed {
        mistakes: SpecErrors::in_spec(name, source.to_owned(), diagnostics),
        lists,
        suggestions,
    })
}

/// Reads the dimensions, and none further once they have more categories than any release needs.
fn read_dimensions(items: &[&Value<'_>], files: &mut Files<'_>, sink: &mut Sink) -> Vec<DeclaredDimension> {
    let mut nodes = 0usize;
    let mut dimensions = Vec::with_capacity(items.len());
    for item in items {
        let mut declared = dimension::read(item, files, sink);
        if let Some((d, _)) = &declared.built {
            nodes = d.levels.iter().skip(1).map(|l| l.len()).fold(nodes, usize::saturating_add);
        }
        if nodes > levels::MAX_NODES {
            sink.push(
                Diagnostic::at(item.span(), "the dimensions have too many categories together")
                    .label(format!("{nodes} up to here, must be at most {}", levels::MAX_NODES)),
            );
            declared.built = None;
            nodes = 0;
        }
        dimensions.push(declared);
    }
    dimensions
}

/// A name that is safe as a file name and on a command line.
fn release_name(value: &Value<'_>, sink: &mut Sink) -> Option<String> {
    let name = read::text(value, "`name`", sink)?;
    let safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.chars().all(safe) && name.len() <= 100 && !name.starts_with(['-', '_']) {
        return Some(name.to_owned());
    }
    let kept: String = name.chars().map(|c| if safe(c) { c.to_ascii_lowercase() } else { '-' }).collect();
    let kept: String = kept.trim_matches(['-', '_']).chars().take(100).collect();
    sink.push(
        Diagnostic::at(value.span(), "`name` is not safe as a file name")
            .label("expected letters, digits, - and _, a letter or digit first, at most 100")
            .help((!kept.is_empty()).then(|| format!("for instance \"{kept}\"; `title` is for people"))),
    );
    None
}

fn strategy(
    value: &Value<'_>,
    dimensions: Option<&[DeclaredDimension]>,
    files: &mut Files<'_>,
    sink: &mut Sink,
) -> Option<StrategySpec> {
    let fields = Fields::open(value, "`[strategy]`", &STRATEGY, sink)?;
    let measure = fields.get("measure").map_or(Some(None), |v| read::choice(v, "strategy", MEASURES, sink));
    let budgets = fields
        .get("budgets")
        .map_or(Some(BudgetRule::Optimal), |v| read::choice(v, "budget rule", BUDGETS, sink));
    let objective = fields
        .get("objective")
        .map_or(Some(Some(Objective::Total)), |v| read::choice(v, "objective", OBJECTIVES, sink));
    let effort =
        fields.get("effort").map_or(Some(1), |v| read::whole(v, "`effort`", 0, i64::from(MOST_EFFORT), sink));
    let shares = shares::read(&fields, measure, dimensions, sink);
    let rows = rows::read(&fields, measure, dimensions, files, sink);
    Some(StrategySpec {
        measure: measure?,
        budgets: budgets?,
        // Relative to expected counts is the total of tables that are weighed so.
        objective: objective?.unwrap_or(Objective::Total),
        shares: shares?,
        rows: rows?,
        effort: u32::try_from(effort?).ok()?,
        expected: Vec::new(),
    })
}

/// Every name in a query must mean one thing.
fn check_names(dimensions: &[DeclaredDimension], sink: &mut Sink) {
    let mut seen = HashMap::new();
    for (name, span) in dimensions.iter().filter_map(|d| d.name.as_ref()) {
        if name == "total" {
            let diagnostic = Diagnostic::at(span.clone(), "a dimension cannot be called `total`");
            sink.push(diagnostic.label("that is the table of no dimensions"));
        }
        if let Some(first) = seen.insert(name.as_str(), span.clone()) {
            sink.push(
                Diagnostic::at(span.clone(), format!("two dimensions are called `{name}`"))
                    .label("the second one")
                    .related(first, "the first one"),
            );
        }
    }
    for (d, _) in dimensions.iter().filter_map(|d| d.built.as_ref()) {
        for level in d.levels.iter().skip(1) {
            let full = format!("{}.{}", d.name, level.name);
            if let Some(span) = seen.get(full.as_str()) {
                sink.push(
                    Diagnostic::at(span.clone(), format!("`{full}` could mean two things"))
                        .label(format!("it is also a level of `{}`", d.name)),
                );
            }
        }
    }
}
