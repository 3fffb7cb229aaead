//! `margins export`: a whole recovered table, every cell with its interval.

mod amounts;
mod described;
mod files;
mod finished;
mod json_stat;
mod kept;
#[cfg(feature = "parquet")]
mod parquet;
mod parted;
mod parting;
mod registry;
mod ro_crate;
mod sdmx;
mod structure;
pub(super) mod tidy;

use super::{Failure, Outcome, output, terminal};
use crate::answer::{Answers, Group};
use crate::cube::{Cube, Cuboid, Level, odometer};
use crate::release::Release;
use crate::render::{self, ColumnKind, Cuts, ResultCell, ResultColumn, ResultTable};
use crate::watch::Watch;
use amounts::{SummedBeside, TidyMeasure};
use finished::Finisher;
use std::path::PathBuf;

/// Export whole tables from a release, every cell with its standard error and interval.
///
/// The cells are the best linear unbiased estimates: they agree with every other table of the release, and they may be negative
/// or fractional. --finish adds a column of non-negative whole numbers that add up; it is biased and labelled so, and the
/// intervals are not about it.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  margins export out/town.margins --table sex,age.band --format csv > table.csv\n  \
    margins export out/town.margins --table work --finish nonnegative-integral\n  \
    margins export out/town.margins --all --format json-stat --out tables\n  \
    margins export out/town.margins --registry > town.yaml"
)]
pub(crate) struct Args {
    /// The release
    file: PathBuf,
    /// The table's dimensions and levels, separated by commas (a name that has one stands in double quotes, as in queries); `total` for the table without any
    #[arg(long, value_name = "NAMES", required_unless_present_any = ["all", "registry"])]
    table: Option<String>,
    /// Export every table that the spec asked for
    #[arg(long, conflicts_with = "table", requires = "format")]
    all: bool,
    /// Draft an entry for the public registry of deployments of differential privacy, as YAML
    #[arg(long, conflicts_with_all = ["table", "all", "format", "json", "finish", "level", "cache"])]
    registry: bool,
    /// The format of the output
    #[arg(long, value_enum, conflicts_with = "json")]
    format: Option<files::Format>,
    /// Write files into this folder, with a datapackage.json that describes them
    #[arg(long, value_name = "FOLDER", requires = "format")]
    out: Option<PathBuf>,
    /// Replace files that no export made; without it they are kept, and the command is refused
    #[arg(long, requires = "out")]
    replace: bool,
    /// The probability with which each interval covers the truth
    #[arg(long, default_value_t = 0.95, value_name = "P")]
    level: f64,
    /// Add a column of finished counts: non-negative whole numbers, biased
    #[arg(long, value_enum, value_name = "HOW")]
    finish: Option<Finish>,
    /// Add each cell's coefficient of variation in per cent (cv) and its class (reliability)
    #[arg(long)]
    reliability: bool,
    /// Hide the cells whose standard error is more than this part of the estimate, in per cent
    #[arg(long, value_name = "CV", value_parser = cut)]
    hide_above: Option<f64>,
    /// Keep sums over the whole release in this folder, so that later queries are faster; answers are the same
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A coefficient of variation above which cells are hidden.
fn cut(text: &str) -> Result<f64, String> {
    match text.trim().trim_end_matches('%').trim_end().parse::<f64>() {
        Ok(cut) if cut >= 0.0 && cut.is_finite() => Ok(cut),
        _ => Err("expected a number of per cent, such as 33.3".into()),
    }
}

impl Args {
    /// Whether reliability is shown, and what is hidden.
    fn told(&self) -> (bool, Option<f64>) {
        (self.reliability, self.hide_above)
    }
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Finish {
    /// Each table by itself: its counts add up to its rounded total.
    #[value(alias = "integral")]
    NonnegativeIntegral,
    /// All tables of the release at once: any two agree wherever they overlap.
    Consistent,
}

impl Finish {
    fn name(self) -> &'static str {
        match self {
            Finish::NonnegativeIntegral => "nonnegative-integral",
            Finish::Consistent => "consistent",
        }
    }

    /// What stands below the table.
    fn note(self) -> &'static str {
        match self {
            Finish::NonnegativeIntegral => {
                "non-negative whole numbers that add up. Biased, for display\n\
                only; the intervals are those of the unbiased estimates."
            }
            Finish::Consistent => {
                "non-negative whole numbers, the same wherever two tables of\n\
                this release meet. Biased, for display only; the intervals are those of the\n\
                unbiased estimates."
            }
        }
    }
}

/// The most cells of a table that is laid out whole, at some hundred bytes each.
const MOST_WHOLE: u64 = 1 << 21;

/// Refuses what would be laid out whole, and cannot be.
fn whole(cube: &Cube, levels: &[Level]) -> Outcome {
    match cube.cells(&Cuboid::new(levels.iter().copied())).filter(|&cells| cells <= MOST_WHOLE) {
        Some(_) => Ok(()),
        None => Err(Failure::Message(format!(
            "this table has more than {} cells, too many to be laid out at once: --format csv, parquet or sdmx-csv writes them part by part",
            output::grouped(MOST_WHOLE)
        ))),
    }
}

/// The finished column's name carries its label into every format.
const FINISHED: &str = "finished_biased";

pub(crate) fn run(args: &Args, watch: &Watch) -> Outcome {
    if args.registry {
        return registry::run(&args.file);
    }
    if !(args.level > 0.0 && args.level < 1.0) {
        return Err(Failure::Message(format!("--level must lie between 0 and 1, not {}", args.level)));
    }
    let answers =
        super::answers(Release::open(&args.file)?.watched(watch), &args.file, args.cache.as_deref())?;
    let exported = match args.format {
        Some(format) => files::run(args, format, &answers, watch),
        None => one(args, &answers),
    };
    super::not_kept(&answers);
    exported
}

fn one(args: &Args, answers: &Answers) -> Outcome {
    let group_by = table(answers.cube(), args.table.as_deref().unwrap_or("total"))?;
    whole(answers.cube(), &group_by)?;
    let summed = SummedBeside::new(answers)?;
    let beside = summed.beside(&group_by, args.level)?;
    let groups = summed.counts(&group_by, &beside)?;
    if args.finish.is_some() {
        summed.finished(std::slice::from_ref(&group_by))?;
    }
    let finish = |(how, groups): (Finish, &Vec<Group>)| {
        let estimates: Vec<f64> = groups.iter().map(|g| g.estimate).collect();
        Finisher::new(answers, how, std::slice::from_ref(&group_by))?.table(&group_by, &estimates)
    };
    let finished = args.finish.zip(groups.as_ref()).map(finish).transpose()?;
    let how = args.finish.filter(|_| finished.is_some());
    let mut result = labels(answers.cube(), &group_by, args.level);
    if let Some(finished) = finished {
        result.columns.push(ResultColumn { name: FINISHED.into(), kind: ColumnKind::Integer });
        let cells = finished.iter().map(|count| ResultCell::Label(count.to_string()));
        result.rows.iter_mut().zip(cells).for_each(|(row, count)| row.push(count));
    }
    let mut counts = groups.map(|groups| summed.of_rows(&group_by, &groups, args.level)).transpose()?;
    if let Some(counts) = &mut counts {
        match () {
            // Beside its other parts the count is the estimate, and stands once.
            () if args.json && beside.is_empty() => counts.name = "estimate".into(),
            () if counts.name == tidy::COUNT => counts.name = "count".into(),
            () => {}
        }
    }
    let measures: Vec<TidyMeasure> = counts.into_iter().chain(beside).collect();
    (result.caveats, result.notes) = summed.said(&measures);
    for measure in measures {
        result.methods.push((measure.name.clone(), measure.method));
        result.columns.push(ResultColumn { name: measure.name, kind: ColumnKind::Figure });
        let cells = measure.cells.into_iter().map(ResultCell::Figure);
        result.rows.iter_mut().zip(cells).for_each(|(row, figure)| row.push(figure));
    }
    if let Some(cut) = args.hide_above {
        hide(&mut result, cut);
    }
    if args.reliability {
        reliable(&mut result, &Cuts::of(&answers.release().manifest().about));
    }
    if args.json {
        rename(&mut result, answers.cube(), &group_by);
        let mut more = serde_json::Map::new();
        more.insert("release".into(), answers.name().into());
        if let Some(finish) = how {
            let about = serde_json::json!({
                "column": FINISHED, "method": finish.name(), "biased": true,
                "note": "for display only: intervals are those of the unbiased estimates",
            });
            more.insert("finish".into(), about);
        }
        return output::json(&(render::json(&result, &more)? + "\n"));
    }
    let mut text = render::table_within(&result, terminal::width());
    if let Some(finish) = how {
        text.push_str(&format!("\n{FINISHED}: {}\n", finish.note()));
    }
    output::print(&text)
}

/// Leaves the figures of a shown table out that are less reliable than wanted; the whole number beside a count with it.
fn hide(result: &mut ResultTable, cut: f64) {
    let finished = result.columns.iter().position(|c| c.name == FINISHED);
    let (mut hidden, mut all) = (0, 0);
    for row in &mut result.rows {
        let mut first = true;
        for at in 0..row.len() {
            let Some(ResultCell::Figure(figure)) = row.get_mut(at) else { continue };
            all += 1;
            if tidy::is_left_out(figure, cut) {
                hidden += 1;
                if let Some(cell) = finished.filter(|_| first).and_then(|at| row.get_mut(at)) {
                    *cell = ResultCell::Number(f64::NAN);
                }
            }
            first = false;
        }
    }
    result.notes.push(tidy::hidden_note(hidden, all, cut));
}

/// Adds coefficients of variation and their classes.
fn reliable(result: &mut ResultTable, cuts: &Cuts) {
    let figures: Vec<usize> =
        (0..result.columns.len()).filter(|&i| result.columns[i].kind == ColumnKind::Figure).collect();
    let several = figures.len() > 1;
    for &at in figures.iter().rev() {
        let name = |what: &str| match several {
            true => format!("{}_{what}", result.columns[at].name),
            false => what.to_owned(),
        };
        let [cv, class] = tidy::RELIABILITY.map(name);
        result.columns.insert(at + 1, ResultColumn { name: cv, kind: ColumnKind::Number });
        result.columns.insert(at + 2, ResultColumn { name: class, kind: ColumnKind::Text });
        for row in &mut result.rows {
            let Some(ResultCell::Figure(figure)) = row.get(at).cloned() else { continue };
            row.insert(at + 1, ResultCell::Number(figure.cv()));
            row.insert(at + 2, ResultCell::Label(cuts.class(&figure).into()));
        }
    }
    result.notes.push(cuts.note());
}

/// The level, or the finest of the dimension, that is called so.
fn named(cube: &Cube, name: &str) -> Option<Level> {
    cube.dimensions.iter().enumerate().find_map(|(d, dimension)| {
        if dimension.name == name {
            return Some(Level::new(d, dimension.finest()));
        }
        (1..dimension.levels.len()).map(|l| Level::new(d, l)).find(|&level| cube.level_name(level) == name)
    })
}

/// What stands between the commas of a list. In double quotes a comma is part of a name, and two quotes are one, as in queries; where quotes do not end they are part of names.
fn listed(names: &str) -> Vec<String> {
    if !names.matches('"').count().is_multiple_of(2) {
        return names.split(',').map(str::to_owned).collect();
    }
    let (mut all, mut inside) = (vec![String::new()], false);
    let mut left = names.chars().peekable();
    while let Some(c) = left.next() {
        match c {
            '"' if inside && left.next_if_eq(&'"').is_some() => {
                all.last_mut().into_iter().for_each(|n| n.push('"'))
            }
            '"' => inside = !inside,
            ',' if !inside => all.push(String::new()),
            c => all.last_mut().into_iter().for_each(|n| n.push(c)),
        }
    }
    all
}

/// The levels named by `sex,age.band`.
pub fn table(cube: &Cube, names: &str) -> Result<Vec<Level>, Failure> {
    let mut out: Vec<Level> = Vec::new();
    if names.trim() == "total" {
        return Ok(out);
    }
    if let Some(whole) = named(cube, names.trim()) {
        return Ok(vec![whole]);
    }
    for name in listed(names) {
        let name = name.trim();
        let Some(level) = named(cube, name) else {
            let known: Vec<&str> = cube.dimensions.iter().map(|d| d.name.as_str()).collect();
            return Err(Failure::Message(format!(
                "no dimension or level is called `{name}`; there is {}",
                known.join(", ")
            )));
        };
        if out.iter().any(|other| other.dimension == level.dimension) {
            return Err(Failure::Message(format!(
                "--table names `{}` twice",
                cube.dimensions[level.dimension].name
            )));
        }
        out.push(level);
    }
    Ok(out)
}

/// Gives dimensions that are called as figures are names of their own: JSON has one value of a name.
fn rename(result: &mut ResultTable, cube: &Cube, levels: &[Level]) {
    let (own, others) = result.columns.split_at_mut(levels.len());
    let is_part = |name: &str, figure: &str| {
        name.strip_prefix(figure).is_some_and(|part| matches!(part, "" | "_std_error" | "_low" | "_high"))
    };
    let is_taken = |name: &str| tidy::is_taken(name) || others.iter().any(|c| is_part(name, &c.name));
    own.iter_mut().zip(tidy::named(cube, levels, is_taken)).for_each(|(column, name)| column.name = name);
}

/// The labels of a table's cells.
fn labels(cube: &Cube, group_by: &[Level], level: f64) -> ResultTable {
    let column = |level: &Level| ResultColumn {
        name: cube.level_name(*level),
        kind: ColumnKind::of_level(level.of(cube)),
    };
    let size = |at: usize| group_by[at].of(cube).len();
    let mut nodes = vec![0u32; group_by.len()];
    let rows = (0..(0..group_by.len()).map(size).product()).map(|_: usize| {
        let label = |(level, &node): (&Level, &u32)| {
            ResultCell::Label(level.of(cube).labels.get(node as usize).cloned().unwrap_or_default())
        };
        let row: Vec<ResultCell> = group_by.iter().zip(&nodes).map(label).collect();
        odometer::next(&mut nodes, size);
        row
    });
    let rows = rows.collect();
    ResultTable::new(group_by.iter().map(column).collect(), rows, level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::Dimension;

    /// A name may have commas, quotes and blanks: alone it is meant as it stands, and in a list it stands in quotes.
    #[test]
    fn names_with_commas_are_tables() {
        let names = ["a,b", "a", "b", "say \"x\"", "odd\""];
        let dimensions = names.map(|name| Dimension::plain(name, vec!["x".into(), "y".into()])).to_vec();
        let cube = Cube { dimensions };
        let read = |text: &str| -> Vec<usize> {
            table(&cube, text).ok().unwrap().iter().map(|level| level.dimension).collect()
        };
        for (text, levels) in [
            ("a,b", vec![0]),
            ("\"a,b\"", vec![0]),
            ("\"a\", b", vec![1, 2]),
            ("b,\"a,b\", a", vec![2, 0, 1]),
            ("\"say \"\"x\"\"\",a", vec![3, 1]),
            ("say \"x\"", vec![3]),
            ("odd\",a", vec![4, 1]),
            ("total", vec![]),
        ] {
            assert_eq!(read(text), levels, "{text}");
        }
        assert!(table(&cube, "a,\"c,d\"").is_err() && table(&cube, "").is_err());
    }
}
