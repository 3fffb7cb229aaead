//! Days of the civil calendar, as ISO 8601 writes them.

/// The day `2024-02-29` as a number of days since 1970-01-01; `None` where there is no such day (Hinnant's algorithm).
pub fn day(year: i64, month: u32, day: u32) -> Option<i64> {
    if !(0..=9999).contains(&year) || day == 0 || day > length(year, month)? {
        return None;
    }
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * (i64::from(month) + if month > 2 { -3 } else { 9 }) + 2) / 5 + i64::from(day) - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// How many days a month has; `None` for no month.
fn length(year: i64, month: u32) -> Option<u32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    Some(match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    })
}

/// Year, month and day of a number of days since 1970-01-01.
pub fn civil(days: i64) -> (i64, u32, u32) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (d, m) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    (yoe + era * 400 + i64::from(m <= 2), m as u32, d as u32)
}

/// The day that `2024-02-29` writes, with four, two and two digits and nothing else.
pub fn read(text: &[u8]) -> Option<i64> {
    let [y @ .., b'-', m1, m2, b'-', d1, d2] = text else { return None };
    if y.len() != 4 {
        return None;
    }
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0u32, |n, d| d.is_ascii_digit().then(|| 10 * n + u32::from(d - b'0')))
    };
    day(number(y)?.into(), number(&[*m1, *m2])?, number(&[*d1, *d2])?)
}

/// A day as it is written.
pub fn written(days: i64) -> String {
    let (y, m, d) = civil(days);
    format!("{y:04}-{m:02}-{d:02}")
}

/// The first and the last day of a day, a month (`2024-02`), a quarter (`2024-Q1`) or a year.
pub(crate) fn span(text: &str) -> Option<(i64, i64)> {
    if let Some(day) = read(text.as_bytes()) {
        return Some((day, day));
    }
    let (year, rest) = match text.split_once('-') {
        Some((year, rest)) => (year, Some(rest)),
        None => (text, None),
    };
    let digits = |text: &str, n: usize| text.len() == n && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(year, 4) {
        return None;
    }
    let year: i64 = year.parse().ok()?;
    let (first, last) = match rest {
        None => (1, 12),
        Some(rest) => match rest.strip_prefix('Q') {
            Some(quarter) if digits(quarter, 1) => {
                let quarter: u32 = quarter.parse().ok().filter(|q| (1..=4).contains(q))?;
                (3 * quarter - 2, 3 * quarter)
            }
            None if digits(rest, 2) => {
                let month = rest.parse().ok()?;
                (month, month)
            }
            _ => return None,
        },
    };
    Some((day(year, first, 1)?, day(year, last, length(year, last)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_ten_thousand_years() {
        let first = day(0, 1, 1).unwrap();
        let (mut year, mut month, mut of_month) = (0, 1, 1);
        for days in first..=day(9999, 12, 31).unwrap() {
            assert_eq!(civil(days), (year, month, of_month));
            assert_eq!(day(year, month, of_month), Some(days));
            let february = if year % 400 == 0 || (year % 4 == 0 && year % 100 != 0) { 29 } else { 28 };
            let length = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
            of_month += 1;
            if of_month > length {
                (month, of_month) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!(
            (day(1970, 1, 1), day(2024, 2, 29), day(2026, 11, 21)),
            (Some(0), Some(19_782), Some(20_778))
        );
    }

    #[test]
    fn as_it_is_written() {
        assert_eq!(read(b"2024-02-29").map(written).as_deref(), Some("2024-02-29"));
        for wrong in [
            "2023-02-29",
            "2024-13-01",
            "2024-00-01",
            "2024-01-00",
            "24-01-01",
            "2024-1-1",
            "2024-01-01 ",
            "2024/01/01",
            "+024-01-01",
            "",
        ] {
            assert_eq!(read(wrong.as_bytes()), None, "{wrong}");
        }
        let days = |text: &str| span(text).map(|(first, last)| last - first + 1);
        assert_eq!(
            ["2024-02-29", "2024-02", "2024-Q1", "2024-Q4", "2023", "2024"].map(days),
            [1, 29, 91, 92, 365, 366].map(Some)
        );
        assert_eq!(
            ["2024-Q5", "2024-Q0", "2024-3", "2024-003", "202", "unknown", "2024-", "é024"].map(days),
            [None; 8]
        );
    }
}
