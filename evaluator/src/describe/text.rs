//! A description for people.

use super::{Description, Table};
use crate::cube::Weighing;
use crate::render::WIDTH;
use std::fmt::{self, Display, Formatter};

/// How wide the names on the left are.
const LEFT: usize = 16;

/// Of the categories of a level so many characters are shown.
const LONG: usize = 56;

/// The most characters of a line: `{:100}` says that there is room for 100.
fn width(f: &Formatter) -> usize {
    f.width().unwrap_or(WIDTH)
}

/// Text in lines that leave `indent` free, but in the first.
fn wrapped(text: &str, indent: usize, width: usize) -> String {
    let (mut out, mut used) = (String::new(), indent);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > indent && used + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else if used > indent {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

/// A number to three or four digits.
fn number(x: f64) -> String {
    let size = x.abs();
    match () {
        () if !x.is_finite() => "unbounded".into(),
        () if size >= 100.0 => format!("{x:.0}"),
        () if size >= 10.0 => format!("{x:.1}"),
        () => format!("{x:.2}"),
    }
}

impl Table {
    /// The margin as a description shows it: `± 12.3`.
    pub fn margin_text(&self) -> Option<String> {
        self.margin.filter(|_| !self.exact).map(|m| format!("± {}", number(m)))
    }
}

/// `95 %`.
fn percent(level: f64) -> String {
    format!("{} %", crate::render::percent(level))
}

impl Description {
    /// What the errors that stand beside tables are; of a projection also how large they are.
    pub fn errors(&self) -> String {
        let note = errors_note(self);
        match self.tables.iter().find(|t| t.cells.is_none()).and_then(Table::margin_text) {
            Some(margin) => format!("{margin}. {note}"),
            None => note,
        }
    }
}

/// What the errors of tables are.
pub(super) fn errors_note(of: &Description) -> String {
    if of.is_projection() {
        return format!(
            "The error of the count of one key, by noise and by other counts; margin is half the width of its {} interval.",
            percent(of.level)
        );
    }
    format!(
        "Errors are those of the cell that is known least well; margin is half the width of its {} interval.",
        percent(of.level)
    )
}

/// A table of tables, with their errors.
fn tables(f: &mut Formatter, of: &[Table], level: f64, more: u64) -> fmt::Result {
    let error = |t: &Table| match (t.exact, t.std_error, t.margin) {
        (true, ..) => ["exact".into(), String::new()],
        (_, e, Some(_)) => [e.map_or("–".into(), number), t.margin_text().unwrap_or_default()],
        _ => [String::new(), String::new()],
    };
    let rows: Vec<(String, String, [String; 2])> =
        of.iter().map(|t| (t.name(), t.cells.map_or("any".into(), |n| n.to_string()), error(t))).collect();
    let wide = |s: &str| s.chars().count();
    let margin = percent(level);
    let cells = rows.iter().map(|r| wide(&r.1)).chain([5]).max().unwrap_or(5);
    let first = rows.iter().map(|r| wide(&r.2[0])).chain([9]).max().unwrap_or(9);
    let second = rows.iter().map(|r| wide(&r.2[1])).chain([wide(&margin)]).max().unwrap_or(9);
    let width = width(f);
    let room = width.saturating_sub(cells + first + second + 8).max(8);
    let names = rows.iter().map(|r| wide(&r.0)).chain([5]).max().unwrap_or(5).min(room);
    writeln!(f, "  {:names$}  {:>cells$}  {:>first$}  {margin:>second$}", "table", "cells", "std error")?;
    for (name, n, [std_error, margin]) in rows {
        let name = match wide(&name) > names {
            true => name.chars().take(names - 1).chain(['…']).collect(),
            false => name,
        };
        let line = format!("  {name:names$}  {n:>cells$}  {std_error:>first$}  {margin:>second$}");
        writeln!(f, "{}", line.trim_end())?;
    }
    if more > 0 {
        writeln!(f, "  … and {more} more")?;
    }
    Ok(())
}

impl Display for Description {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let width = width(f);
        let mut line = |name: &str, text: &str| match text.trim() {
            "" => Ok(()),
            // A name that leaves no gap before the text has a line of its own.
            text if name.chars().count() >= LEFT => {
                writeln!(f, "{name}\n{:LEFT$}{}", "", wrapped(text, LEFT, width.min(WIDTH)))
            }
            text => writeln!(f, "{name:<LEFT$}{}", wrapped(text, LEFT, width.min(WIDTH))),
        };
        line(&self.name, &self.title)?;
        line("about", self.description.as_deref().unwrap_or_default())?;
        line("people", self.dataset.as_deref().unwrap_or_default())?;
        line("protects", &self.protects)?;
        line("recipient", self.recipient.as_deref().unwrap_or_default())?;
        line("signed", &self.signed)?;
        // What is described is what the signer says.
        line("checked", "that its signer says so, and no more: margins verify FILE")?;
        line("made", &self.made)?;
        line("licence", self.licence.as_deref().unwrap_or_default())?;
        line("contact", self.contact.as_deref().unwrap_or_default())?;
        line("without noise", &self.exact.join("; "))?;
        line("empty", &self.empty.join("; "))?;
        for untrue in &self.untrue {
            line("untrue", untrue)?;
        }
        writeln!(f, "\nDimensions")?;
        for d in &self.dimensions {
            if d.levels.is_empty() {
                writeln!(f, "  {}: any text", d.name)?;
            }
            let unit = d.unit.as_ref().map(|unit| format!("in {unit}"));
            let missing = d.missing.as_ref().map(|label| format!("{label} is a missing value"));
            let said: Vec<String> = d.description.clone().into_iter().chain(unit).chain(missing).collect();
            if !said.is_empty() {
                let line = format!("{}: {}", d.name, said.join(", "));
                writeln!(f, "  {}", wrapped(&line, 4, width.min(WIDTH)))?;
            }
            for level in &d.levels {
                let n = level.categories.len();
                let line = format!(
                    "{} ({n}): {}",
                    level.name,
                    cut(&level.shown(), LONG.max(width.saturating_sub(24)))
                );
                writeln!(f, "  {}", wrapped(&line, 4, width))?;
            }
        }
        if !self.amounts.is_empty() {
            // Sums that were measured from zero have no counts beside them, and so no means.
            let told = if self.tables.is_empty() { "SUM" } else { "SUM, AVG and COUNT" };
            writeln!(f, "\nAmounts: {told} of")?;
        }
        for amount in &self.amounts {
            let about = amount.description.as_ref().map_or(String::new(), |d| format!(" {d}."));
            writeln!(f, "  {}", wrapped(&format!("{}{about}", amount.note), 4, width.min(WIDTH)))?;
        }
        let what = if self.is_projection() {
            "Counts of keys".to_owned()
        } else {
            match self.amounts.iter().find(|a| a.weighing == Weighing::Weight) {
                Some(weight) => {
                    format!("COUNT({}), rows by tables, and all that can be summed from them", weight.name)
                }
                None => "Tables, and all that can be summed from them".to_owned(),
            }
        };
        if self.tables.is_empty() && self.amounts.is_empty() && !self.is_projection() {
            let questions = "It has no tables: sums of counts were measured themselves, for the questions that its spec asks (margins inspect FILE --spec). \
                             Those can be asked, and sums and differences of them.";
            return writeln!(f, "\n{}", wrapped(questions, 0, width.min(WIDTH)));
        }
        if !self.tables.is_empty() || self.amounts.is_empty() {
            writeln!(f, "\n{what}")?;
            tables(f, &self.tables, self.level, self.more_tables)?;
        }
        for amount in &self.amounts {
            let unit = amount.unit.as_ref().map_or(String::new(), |u| format!(", in {u}"));
            match amount.weighing {
                Weighing::Weight => writeln!(f, "\nCOUNT(*), sums of the weights {}{unit}", amount.name)?,
                Weighing::Plain | Weighing::Weighted => writeln!(f, "\nSums of {}{unit}", amount.name)?,
            }
            tables(f, &amount.tables, self.level, amount.more_tables)?;
        }
        writeln!(f, "{}", wrapped(&errors_note(self), 0, width.min(WIDTH)))?;
        if !self.examples.is_empty() {
            writeln!(f, "\nIt answers, for example")?;
        }
        for example in &self.examples {
            writeln!(f, "  {}", wrapped(example, 4, width))?;
        }
        Ok(())
    }
}

/// `0, 1, 2, … 99`, cut after `most` characters.
pub(super) fn cut(categories: &[String], most: usize) -> String {
    let mut text = String::new();
    for (i, category) in categories.iter().enumerate() {
        if i > 0 && text.chars().count() + category.chars().count() > most {
            let last = categories.last().map_or("", String::as_str);
            return format!("{text}, … {last}");
        }
        if i > 0 {
            text.push_str(", ");
        }
        text.push_str(category);
    }
    text
}
