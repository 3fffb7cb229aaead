//! Columns of days, in whichever way they are written.

use crate::calendar;
use crate::spec::{DayFormat, clock};

/// Ways in which days are written; the stricter one of two comes first. Of those of one kind the month comes first, or the day.
const WAYS: [(&str, bool); 8] = [
    ("YYYY-MM-DD", true),
    ("YYYY/MM/DD", true),
    ("DD.MM.YYYY", false),
    ("D.M.YYYY", false),
    ("MM/DD/YYYY", true),
    ("M/D/YYYY", true),
    ("DD/MM/YYYY", false),
    ("D/M/YYYY", false),
];

/// Days so far, in every way in which all of them could be read.
pub(super) struct Days {
    ways: Vec<Way>,
    time: bool,
}

struct Way {
    text: &'static str,
    format: DayFormat,
    month_first: bool,
    ends: Option<(i64, i64)>,
}

impl Days {
    pub(super) fn new() -> Days {
        let way = |(text, month_first): &(&'static str, bool)| {
            Some(Way { text, format: DayFormat::new(text)?, month_first: *month_first, ends: None })
        };
        Days { ways: WAYS.iter().filter_map(way).collect(), time: false }
    }

    /// One more; `None` where it is no day in any of the ways of the others.
    pub(super) fn and(mut self, value: &str) -> Option<Days> {
        let blank = value.find([' ', 'T']).unwrap_or(value.len());
        let (day, time) = value.split_at_checked(blank)?;
        clock(time.as_bytes())?;
        self.time |= !time.is_empty();
        self.ways.retain_mut(|way| match way.format.read(day.as_bytes()) {
            Some(day) => {
                let (first, last) = way.ends.unwrap_or((day, day));
                way.ends = Some((first.min(day), last.max(day)));
                true
            }
            None => false,
        });
        (!self.ways.is_empty()).then_some(self)
    }

    fn ends(&self) -> (i64, i64) {
        self.ways.first().and_then(|way| way.ends).unwrap_or((0, 0))
    }

    /// From the first to the last.
    pub(super) fn length(&self) -> i64 {
        let (first, last) = self.ends();
        last - first
    }

    /// The lines that declare them.
    pub(super) fn domain(&self) -> Result<String, &'static str> {
        let Some(way) = self.ways.first() else { return Err("no days") };
        if self.ways.iter().any(|other| other.month_first != way.month_first) {
            return Err(
                "days, and it is not told whether the month or the day comes first: give it `dates` and a `format`, \"MM/DD/YYYY\" or \"DD/MM/YYYY\"",
            );
        }
        let (first, last) = self.ends();
        let mut lines = String::new();
        if way.text != "YYYY-MM-DD" {
            lines += &format!("format = \"{}\"\n", way.text);
        }
        if self.time {
            lines += "time = \"day\"\n";
        }
        Ok(format!("{lines}dates = [\"{}\", \"{}\"]", calendar::written(first), calendar::written(last)))
    }
}
