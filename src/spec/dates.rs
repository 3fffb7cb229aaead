//! `dates = ["2020-01-01", "2024-12-31"]`: every day from one to another, with the levels year, quarter and month.

use super::Coding;
use super::diagnostic::{Diagnostic, Sink};
use super::levels::{Finest, MAX_NODES, Numbers, Partition};
use super::read::{self, Value};
use crate::calendar;
use std::ops::Range;
use toml::de::DeValue;

/// The days of `dates`, with their levels.
pub(super) fn read(value: &Value<'_>, sink: &mut Sink) -> Option<Finest> {
    let (first, last) = ends(value, sink)?;
    let n = (last - first + 1) as usize;
    // The finest level and three coarser ones.
    sink.takes(&value.span(), 4 * n, n)?;
    let days = || (first..=last).map(calendar::civil);
    let level = |name: &str, label: &dyn Fn((i64, u32, u32)) -> String| {
        let mut partition = Partition {
            name: name.to_owned(),
            span: None,
            labels: Vec::new(),
            of: Vec::new(),
            from_file: true,
        };
        for day in days() {
            let label = label(day);
            if partition.labels.last() != Some(&label) {
                partition.labels.push(label);
            }
            partition.of.push((partition.labels.len() - 1) as u32);
        }
        partition
    };
    let partitions = vec![
        level("year", &|(y, ..)| format!("{y:04}")),
        level("quarter", &|(y, m, _)| format!("{y:04}-Q{}", m.div_ceil(3))),
        level("month", &|(y, m, _)| format!("{y:04}-{m:02}")),
    ];
    let labels = (first..=last).map(calendar::written).collect();
    let coding = Coding::Dates { first, last };
    Some(Finest { labels, own: 0, numbers: Numbers::None, coding, partitions, level_name: None }.sealed())
}

/// Refuses a dimension of days that is called like one of the levels that all of them have.
pub(super) fn check_name(name: &str, at: &Range<usize>, finest: &Finest, sink: &mut Sink) {
    let own = finest.partitions.iter().any(|level| level.span.is_none() && level.name == name);
    if own && matches!(finest.coding, Coding::Dates { .. }) {
        let wrong = Diagnostic::at(at.clone(), format!("a dimension of days cannot be called `{name}`"));
        let help = format!("give the dimension another name, and say `column = \"{name}\"`");
        sink.push(wrong.label("days have levels `year`, `quarter` and `month` of their own").help(help));
    }
}

/// The first and the last day.
fn ends(value: &Value<'_>, sink: &mut Sink) -> Option<(i64, i64)> {
    let items = read::list(value, "`dates`", sink)?;
    let mut items = items.iter();
    let (Some(first), Some(last), None) = (items.next(), items.next(), items.next()) else {
        sink.push(
            Diagnostic::at(value.span(), "`dates` is not a pair of days")
                .label("expected the first and the last day, such as [\"2020-01-01\", \"2024-12-31\"]"),
        );
        return None;
    };
    let (first, last) = (day(first, sink), day(last, sink));
    let (first, last) = (first?, last?);
    if first > last {
        let (first, last) = (calendar::written(first), calendar::written(last));
        let diagnostic = Diagnostic::at(value.span(), "`dates` runs backwards");
        sink.push(diagnostic.label(format!("expected [\"{last}\", \"{first}\"]")));
        return None;
    }
    if last - first >= MAX_NODES as i64 {
        // Ten thousand years are fewer days; should that change, this stays true.
        sink.push(Diagnostic::at(value.span(), "`dates` has too many days"));
        return None;
    }
    Some((first, last))
}

/// A day, as text or as TOML writes dates.
fn day(value: &Value<'_>, sink: &mut Sink) -> Option<i64> {
    let text = match value.get_ref() {
        DeValue::String(text) => text.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        _ => {
            read::expected(value, "an end of `dates`", "a day such as \"2024-01-31\"", sink);
            return None;
        }
    };
    let day = calendar::read(text.as_bytes());
    if day.is_none() {
        sink.push(
            Diagnostic::at(value.span(), "an end of `dates` is no day of the calendar")
                .label("expected year, month and day, such as \"2024-01-31\""),
        );
    }
    day
}
