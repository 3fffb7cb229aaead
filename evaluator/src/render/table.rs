//! A table of plain text for a terminal.

use super::{ColumnKind, ResultCell, ResultFigure, ResultTable};
use crate::visible::visible;

/// The most characters of a line, where nobody knows how wide the terminal is.
pub(crate) const WIDTH: usize = 80;

/// Between two columns.
const GAP: usize = 2;

/// A text column and how it is set.
pub(super) struct Column {
    pub(super) header: String,
    pub(super) cells: Vec<String>,
    /// Numbers stand right and are never shortened.
    pub(super) number: bool,
    /// The column of the answer that it shows, or shows a part of.
    of: usize,
    /// Whether it is a standard error.
    std_error: bool,
}

/// The answer as lines of at most [`WIDTH`] characters.
pub fn table(result: &ResultTable) -> String {
    table_within(result, WIDTH)
}

/// The answer as lines of at most so many characters, each ended by a line feed.
///
/// Numbers are rounded to one digit below the first significant digit of the column's smallest standard
/// error; the ends of intervals are rounded outwards, so that the interval shown is never narrower than the
/// true one. Every row is one line: labels that do not fit are shortened with `…`, then columns are left out, with a note that says which. A
/// figure is never shown without its interval.
pub fn table_within(result: &ResultTable, width: usize) -> String {
    let (shown, left_out) = fitting(result, width);
    let mut text = set(shown, width);
    for (i, note) in left_out.into_iter().chain(result.told()).enumerate() {
        if i == 0 {
            text.push('\n');
        }
        text.push_str(&wrapped(&clean(&note), width.min(WIDTH)));
    }
    text
}

/// A note as lines of at most so many characters.
fn wrapped(note: &str, width: usize) -> String {
    let mut text = String::new();
    let mut room = width;
    for word in note.split(' ') {
        let needed = length(word) + usize::from(room < width);
        if needed > room && room < width {
            text.push('\n');
            room = width;
        }
        if room < width {
            text.push(' ');
            room -= 1;
        }
        text.push_str(word);
        room = room.saturating_sub(length(word));
    }
    text.push('\n');
    text
}

/// The columns that fit, and what is to be said of the others: first the standard errors go, which intervals make up for, then whole columns
/// from the right. The first figure stays.
fn fitting(result: &ResultTable, width: usize) -> (Vec<Column>, Option<String>) {
    let figures = result.columns.iter().filter(|c| c.kind == ColumnKind::Figure).count();
    let mut columns = side_by_side(result, figures > 1);
    let (mut left_out, mut dropped): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    // Labels need some room to be told apart.
    let needed = |columns: &[Column]| -> usize {
        columns.iter().map(|c| GAP + if c.number { natural(c) } else { natural(c).min(8) }).sum()
    };
    if needed(&columns) > width + GAP && columns.iter().filter(|c| c.number).count() > 4 {
        columns.retain(|c| !c.std_error);
        left_out.push("standard errors".into());
    }
    let first = columns.iter().find(|c| c.number).map_or(0, |c| c.of);
    while needed(&columns) > width + GAP
        && let Some(last) =
            columns.iter().rfind(|c| (c.number || is_class(result, c.of)) && c.of != first).map(|c| c.of)
    {
        columns.retain(|c| c.of != last);
        let name = result.columns.get(last).map_or("", |c| &c.name);
        dropped.insert(0, clean(name));
    }
    left_out.extend(dropped);
    let note = (!left_out.is_empty()).then(|| {
        format!(
            "Not shown, for want of room: {}. A wider terminal, --csv and --json show all.",
            left_out.join(", ")
        )
    });
    (columns, note)
}

/// Whether a column is the class of the figure before it, which says nothing without that: it is text, and no label.
fn is_class(result: &ResultTable, at: usize) -> bool {
    let named = |at: usize, kind: ColumnKind, what: &str| {
        let column = result.columns.get(at).filter(|c| c.kind == kind);
        column.is_some_and(|c| c.name.trim_end_matches('_').ends_with(what))
    };
    named(at, ColumnKind::Text, "reliability")
        && at.checked_sub(1).is_some_and(|before| named(before, ColumnKind::Number, "cv"))
}

/// One line for each row.
pub(super) fn side_by_side(result: &ResultTable, several: bool) -> Vec<Column> {
    let mut columns = Vec::new();
    for (i, column) in result.columns.iter().enumerate() {
        let cells = || result.rows.iter().map(move |row| row.get(i));
        if column.kind == ColumnKind::Number {
            columns.push(numbers(i, column.name.clone(), cells()));
            continue;
        }
        if column.kind != ColumnKind::Figure {
            columns.push(labels(i, column.name.clone(), cells()));
            continue;
        }
        let headers = figure_columns(column.name.clone(), result.level, several);
        let digits = digits(cells().filter_map(|c| figure(c).map(|f| f.std_error)));
        let shown: Vec<[String; 4]> =
            cells().map(|c| figure(c).map_or_else(Default::default, |f| show(f, digits))).collect();
        for (j, header) in headers.into_iter().enumerate() {
            let cells = shown.iter().map(|parts| parts[j].clone()).collect();
            columns.push(Column { header, cells, number: true, of: i, std_error: j == 1 });
        }
    }
    columns
}

/// A level in percent, to four decimals; nearer to none or all as many as it takes to tell it from these.
pub(crate) fn percent(level: f64) -> f64 {
    part_of(100.0, level, 4).parse().unwrap_or(100.0 * level)
}

/// A part of `all` with so many decimals, or with as many more as it takes to tell it from nothing and from all.
pub(super) fn part_of(all: f64, part: f64, decimals: usize) -> String {
    /// Of a double there are no more.
    const MOST: usize = 17;
    let text = |decimals: usize| format!("{:.decimals$}", all * part);
    let between = |text: &String| text.parse().is_ok_and(|shown: f64| 0.0 < shown && shown < all);
    (decimals..=MOST).map(text).find(between).unwrap_or_else(|| text(decimals))
}

fn figure_columns(name: String, level: f64, several: bool) -> [String; 4] {
    let percent = percent(level);
    let name = clean(&name);
    // A long name (an expression without an alias) would take the room of the labels.
    let name = shorten(&name, 16);
    match several {
        true => [name, "± s.e.".into(), "low".into(), "high".into()],
        false => [name, "std error".into(), format!("{percent} % from"), "to".into()],
    }
}

fn numbers<'a>(of: usize, header: String, cells: impl Iterator<Item = Option<&'a ResultCell>>) -> Column {
    let chance = ["prob", "p_value"].iter().any(|name| header.trim_end_matches('_').ends_with(name));
    let cells = cells
        .map(|cell| match cell {
            // A probability that is nearly certain is not certain.
            Some(ResultCell::Number(v)) if chance && *v > 0.0 && *v < 0.00005 => "<0.0001".into(),
            Some(ResultCell::Number(v)) if chance && *v < 1.0 && *v > 0.99995 => ">0.9999".into(),
            Some(ResultCell::Number(value)) if value.is_nan() => "not known".into(),
            Some(ResultCell::Number(value)) => number(*value, None, f64::round),
            _ => String::new(),
        })
        .collect();
    Column { header: shorten(&clean(&header), 24), cells, number: true, of, std_error: false }
}

fn labels<'a>(of: usize, header: String, cells: impl Iterator<Item = Option<&'a ResultCell>>) -> Column {
    let cells = cells
        .map(|cell| match cell {
            Some(ResultCell::Label(label)) => clean(label),
            Some(ResultCell::Figure(figure)) => {
                show(*figure, digits([figure.std_error].into_iter()))[0].clone()
            }
            Some(ResultCell::Number(value)) if value.is_nan() => "–".into(),
            Some(ResultCell::Number(value)) => number(*value, None, f64::round),
            None => String::new(),
        })
        .collect();
    Column { header: clean(&header), cells, number: false, of, std_error: false }
}

fn figure(cell: Option<&ResultCell>) -> Option<ResultFigure> {
    match cell {
        Some(ResultCell::Figure(figure)) => Some(*figure),
        _ => None,
    }
}

/// Labels come from a file, and each is one line.
fn clean(text: &str) -> String {
    visible(text).into_owned()
}

/// How many decimals to show: the place one below the first significant digit of the smallest standard
/// error. Negative for tens and hundreds. `None` for figures without error.
fn digits(std_errors: impl Iterator<Item = f64>) -> Option<i32> {
    let smallest = std_errors.filter(|s| s.is_finite() && *s > 0.0).reduce(f64::min)?;
    Some((1 - libm::log10(smallest).floor() as i32).clamp(-15, 9))
}

/// A positive number with two digits that count.
pub(crate) fn rough(value: f64) -> String {
    number(value, digits([value].into_iter()), f64::round)
}

/// A single figure: estimate, standard error, low, high.
pub(super) fn brief(f: ResultFigure) -> [String; 4] {
    show(f, digits([f.std_error].into_iter()))
}

/// Estimate, standard error, low, high.
fn show(f: ResultFigure, digits: Option<i32>) -> [String; 4] {
    if f.is_null() {
        return ["NULL", "–", "–", "–"].map(String::from);
    }
    [
        number(f.estimate, digits, f64::round),
        match f.std_error {
            0.0 => "exact".into(),
            none if none.is_nan() => "–".into(),
            std_error => number(std_error, digits, f64::round),
        },
        number(f.low, digits, f64::floor),
        number(f.high, digits, f64::ceil),
    ]
}

/// A number with so many decimals (at most four if it is exact, nine if it is small as well) and commas between thousands.
fn number(value: f64, digits: Option<i32>, round: impl Fn(f64) -> f64) -> String {
    if value.is_nan() {
        return "?".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞".into() } else { "−∞".into() };
    }
    if value.abs() >= 1e15 {
        return format!("{value:.3e}");
    }
    // What is exact and small has as many decimals as bounds and steps may have.
    let small = digits.is_none() && (5e-10..5e-5).contains(&value.abs());
    let decimals = digits.unwrap_or(if small { 9 } else { 4 });
    let scale = 10f64.powi(decimals);
    // What is on the grid but for the last bits of a double is not moved a whole step outwards.
    let scaled = value * scale;
    let nearest = scaled.round();
    let steps =
        if (scaled - nearest).abs() <= 1e-12 * scaled.abs().max(1.0) { nearest } else { round(scaled) };
    let text = format!("{:.*}", usize::try_from(decimals).unwrap_or(0), (steps / scale).abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction = if digits.is_none() { fraction.trim_end_matches('0') } else { fraction };
    let mut shown = String::new();
    if steps < 0.0 {
        shown.push('-');
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    if !fraction.is_empty() {
        shown.push('.');
        shown.push_str(fraction);
    }
    shown
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn natural(column: &Column) -> usize {
    column.cells.iter().map(|c| length(c)).max().unwrap_or(0).max(length(&column.header))
}

fn shorten(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.into();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// Column widths: as wide as needed, the widest labels shortened first.
fn widths(columns: &[Column], width: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = columns.iter().map(natural).collect();
    let gaps = GAP * columns.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let widest =
            (0..columns.len()).filter(|&i| !columns[i].number && widths[i] > 1).max_by_key(|&i| widths[i]);
        match widest {
            Some(i) => widths[i] -= 1,
            None => break, // numbers alone are too wide: the lines are cut
        }
    }
    widths
}

fn set(columns: Vec<Column>, most: usize) -> String {
    let widths = widths(&columns, most);
    let rows = columns.iter().map(|c| c.cells.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut line = |cell: &dyn Fn(&Column, usize) -> String| {
        let mut line = String::new();
        for (i, (column, &width)) in columns.iter().zip(&widths).enumerate() {
            let cell = shorten(&cell(column, width), width);
            let pad = " ".repeat(width - length(&cell).min(width));
            if i > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            line.push_str(&if column.number { pad + &cell } else { cell + &pad });
        }
        text.push_str(&shorten(line.trim_end(), most));
        text.push('\n');
    };
    line(&|c, _| c.header.clone());
    line(&|_, width| "─".repeat(width));
    for row in 0..rows {
        line(&|c, _| c.cells.get(row).cloned().unwrap_or_default());
    }
    text
}
