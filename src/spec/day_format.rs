//! How days are written: `DD.MM.YYYY` for `31.03.2024`.

use crate::calendar;

/// A stated way to write days: year, month and day once each, and what stands between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DayFormat {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Year,
    /// With a zero before a single digit, or without one.
    Month(bool),
    Day(bool),
    Mark(u8),
}

impl DayFormat {
    /// `YYYY`, `MM` or `M`, `DD` or `D`, in any order, and marks that are neither letters, digits nor blanks.
    pub(crate) fn new(text: &str) -> Option<DayFormat> {
        const WORDS: [(&str, Part); 5] = [
            ("YYYY", Part::Year),
            ("MM", Part::Month(true)),
            ("DD", Part::Day(true)),
            ("M", Part::Month(false)),
            ("D", Part::Day(false)),
        ];
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(&first) = rest.as_bytes().first() {
            let word = WORDS.iter().find(|(word, _)| rest.starts_with(word));
            let (part, len) = match word {
                Some((word, part)) => (*part, word.len()),
                None if first.is_ascii_punctuation() => (Part::Mark(first), 1),
                None => return None,
            };
            // Where one of them ends must be seen.
            let open = matches!(parts.last(), Some(Part::Month(false) | Part::Day(false)));
            if open && !matches!(part, Part::Mark(_)) {
                return None;
            }
            parts.push(part);
            rest = rest.get(len..)?;
        }
        let count = |is: fn(&Part) -> bool| parts.iter().filter(|part| is(part)).count();
        let once = count(|p| matches!(p, Part::Year)) == 1
            && count(|p| matches!(p, Part::Month(_))) == 1
            && count(|p| matches!(p, Part::Day(_))) == 1;
        once.then_some(DayFormat { parts })
    }

    /// The day that a text is.
    pub(crate) fn read(&self, text: &[u8]) -> Option<i64> {
        let (mut year, mut month, mut day) = (0, 0, 0);
        let mut rest = text;
        for part in &self.parts {
            let (digits, to) = match part {
                Part::Mark(mark) => {
                    rest = rest.strip_prefix(&[*mark])?;
                    continue;
                }
                Part::Year => (4, &mut year),
                Part::Month(full) => (if *full { 2 } else { open(rest) }, &mut month),
                Part::Day(full) => (if *full { 2 } else { open(rest) }, &mut day),
            };
            let (number, behind) = rest.split_at_checked(digits)?;
            let push = |n: u32, d: &u8| d.is_ascii_digit().then(|| 10 * n + u32::from(d - b'0'));
            *to = number.iter().try_fold(0, push)?;
            rest = behind;
        }
        if rest.is_empty() { calendar::day(year.into(), month, day) } else { None }
    }
}

/// One digit, or two.
fn open(rest: &[u8]) -> usize {
    if rest.get(1).is_some_and(u8::is_ascii_digit) { 2 } else { 1 }
}

/// Seconds and billionths of one from the beginning of the day, by what stands behind it.
pub(crate) fn clock(text: &[u8]) -> Option<(i64, u32)> {
    let two = |text: &[u8], below: i64| match text {
        [a, b] if a.is_ascii_digit() && b.is_ascii_digit() => {
            Some(i64::from(a - b'0') * 10 + i64::from(b - b'0')).filter(|n| *n < below)
        }
        _ => None,
    };
    let text = match text {
        [] => return Some((0, 0)),
        [b' ' | b'T', rest @ ..] => rest.strip_suffix(b"Z").unwrap_or(rest),
        _ => return None,
    };
    let (clock, fraction) = match text.iter().position(|&b| b == b'.') {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?),
        None => (text, &b"0"[..]),
    };
    let seconds = match clock {
        [hours @ .., b':', m1, m2, b':', s1, s2] => {
            two(hours, 24)? * 3600 + two(&[*m1, *m2], 60)? * 60 + two(&[*s1, *s2], 60)?
        }
        [hours @ .., b':', m1, m2] if fraction == b"0" => two(hours, 24)? * 3600 + two(&[*m1, *m2], 60)? * 60,
        _ => return None,
    };
    if fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let digit = |n: u32, d: &u8| d.is_ascii_digit().then(|| 10 * n + u32::from(d - b'0'));
    let nanos = fraction.iter().try_fold(0, digit)? * 10u32.pow(9 - fraction.len() as u32);
    Some((seconds, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_as_they_are_written() {
        let day = |format: &str, text: &str| {
            DayFormat::new(format).unwrap().read(text.as_bytes()).map(calendar::written)
        };
        for (format, text) in [
            ("DD.MM.YYYY", "31.03.2024"),
            ("MM/DD/YYYY", "03/31/2024"),
            ("M/D/YYYY", "3/31/2024"),
            ("M/D/YYYY", "03/31/2024"),
            ("YYYYMMDD", "20240331"),
            ("YYYY-MM-DD", "2024-03-31"),
        ] {
            assert_eq!(day(format, text).as_deref(), Some("2024-03-31"), "{format}");
        }
        for text in [
            "3.3.2024",
            "31.3.2024",
            "31.13.2024",
            "30.02.2024",
            "31.03.24",
            "31.03.2024 ",
            "31-03-2024",
            "",
            "é1.03.2024",
        ] {
            assert_eq!(day("DD.MM.YYYY", text), None, "{text}");
        }
        for wrong in
            ["", "DD.MM.YY", "DD.MM", "DD.MM.YYYY HH", "DDD.MM.YYYY", "MDYYYY", "dd.mm.yyyy", "DD.MM.YYYY.DD"]
        {
            assert_eq!(DayFormat::new(wrong), None, "{wrong}");
        }
    }
}
