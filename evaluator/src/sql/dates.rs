//! Comparisons of days, months, quarters and years with a day, a month, a quarter or a year.
//!
//! A category stands for its days, and so does the literal: `visit.month <= '2024-Q1'` is every month up to March.

use super::error::SqlError;
use super::literal::{Literal, Order};
use super::names::{Column, Names};
use super::span::Span;
use crate::calendar;

/// The nodes that are no days, as missing and other values are; `None` where the dimension has no days.
pub(super) fn dayless(names: &Names, column: Column) -> Option<Vec<bool>> {
    names.cube.dimensions.get(column.dim).filter(|d| d.is_of_days())?;
    Some(names.level(column).labels.iter().map(|label| calendar::span(label).is_none()).collect())
}

/// The nodes whose days compare as asked; `None` where the dimension has no days.
pub(super) fn ordered(
    names: &Names,
    column: Column,
    order: Order,
    value: &Literal,
    span: Span,
) -> Option<Result<Vec<bool>, SqlError>> {
    let dimension = names.cube.dimensions.get(column.dim).filter(|d| d.is_of_days())?;
    let level = names.level(column);
    let text = match value {
        Literal::Text(text) | Literal::Number(_, text) => text,
        Literal::Null | Literal::Boolean(_) => return None,
    };
    let name = names.name(column);
    let Some((first, last)) = calendar::span(text) else {
        let wrong = SqlError::new(format!("'{text}' is no date")).at(span);
        let help = format!(
            "compare {name} with a day, a month, a quarter or a year: '2024-01-31', '2024-01', '2024-Q1', '2024'"
        );
        return Some(Err(wrong.help(help)));
    };
    let compared = |node: usize| {
        let label = level.labels.get(node).map_or("", String::as_str);
        // Missing and other values are no days.
        let Some((begins, ends)) = calendar::span(label) else { return Ok(false) };
        let (true_, false_) = match order {
            Order::Less => (ends < first, begins >= first),
            Order::LessEqual => (ends <= last, begins > last),
            Order::Greater => (begins > last, ends <= last),
            Order::GreaterEqual => (begins >= first, ends < first),
        };
        match (true_, false_) {
            (true, _) => Ok(true),
            (_, true) => Ok(false),
            _ => {
                let what = SqlError::new(format!("{name} {label} lies across {text}")).at(span);
                Err(what.help(format!(
                    "compare at {}, or with the first or last day of a {name}",
                    dimension.name
                )))
            }
        }
    };
    Some((0..level.len()).map(compared).collect())
}

#[cfg(test)]
mod tests {
    use crate::cube::{Categories, Cube, Dimension, Filter};
    use crate::sql::Query;

    /// Three days with their months, and a category of missing ones.
    fn visits() -> Cube {
        let texts = |labels: &[&str]| labels.iter().map(|l| l.to_string()).collect();
        let level = |name: &str, labels: &[&str], parent: &[u32]| Categories {
            name: name.into(),
            labels: texts(labels),
            parent: parent.to_vec(),
            bounds: vec![None; labels.len()],
        };
        let days = ["2024-01-31", "2024-02-01", "2024-02-02", "missing"];
        let levels = vec![
            Categories::total(),
            level("month", &["2024-01", "2024-02", "missing"], &[0; 3]),
            level("day", &days, &[0, 1, 1, 2]),
        ];
        Cube { dimensions: vec![Dimension::new("day", levels)] }
    }

    /// Parts of days against the calendar itself: the days that a condition leaves, and the bands that they are grouped by.
    #[test]
    fn parts_of_days_are_sets_of_days() {
        let read = |sql: &str| Query::parse(sql, &visits()).unwrap();
        for (condition, holds) in [
            ("day >= DATE '2024-02-01' AND day < '2024-02-02'::DATE", [0.0, 1.0, 0.0, 0.0]),
            ("EXTRACT(MONTH FROM day) = 2", [0.0, 1.0, 1.0, 0.0]),
            ("2 <> extract(month from day)", [1.0, 0.0, 0.0, 0.0]),
            ("NOT MONTH(day.month) = 2", [1.0, 0.0, 0.0, 1.0]),
            ("EXTRACT(ISODOW FROM day) IN (3, 5)", [1.0, 0.0, 1.0, 0.0]),
            ("date_part('doy', day) BETWEEN 31 AND 32", [1.0, 1.0, 0.0, 0.0]),
            ("DATE_TRUNC('month', day) = DATE '2024-02-01'", [0.0, 1.0, 1.0, 0.0]),
            ("'2024-02' > date_trunc('month', day.month)", [1.0, 0.0, 0.0, 0.0]),
        ] {
            let query = read(&format!("SELECT COUNT(*) FROM visits WHERE {condition}"));
            let of_day: Vec<f64> = (0..4).map(|day| query.filter.weight_at(&[day]).unwrap()).collect();
            assert_eq!(of_day, holds, "{condition}");
        }
        for (part, bands) in [
            ("DATE_TRUNC('month', day)", vec![("2024-01-01", [1, 0, 0, 0]), ("2024-02-01", [0, 1, 1, 0])]),
            ("EXTRACT(DAY FROM day)", vec![("1", [0, 1, 0, 0]), ("2", [0, 0, 1, 0]), ("31", [1, 0, 0, 0])]),
        ] {
            let query =
                read(&format!("SELECT {part} AS p, COUNT(*) FROM visits GROUP BY ALL ORDER BY {part}"));
            let own = |(label, units): &(String, Filter)| {
                (label.clone(), (0..4).map(|day| units.weight_at(&[day]).unwrap() as i32).collect::<Vec<_>>())
            };
            let mut want: Vec<_> = bands.iter().map(|(l, d)| (l.to_string(), d.to_vec())).collect();
            want.push(("missing".into(), vec![0, 0, 0, 1]));
            assert_eq!(query.bands[0].each.iter().map(own).collect::<Vec<_>>(), want);
        }
        for (sql, why) in [
            ("EXTRACT(DAY FROM day.month) = 1", "day.month 2024-01 has days of more than one DAY"),
            ("EXTRACT(HOUR FROM day) = 1", "days have no part HOUR"),
            ("EXTRACT(MONTH FROM day) = 'March'", "this is compared with a number"),
            ("DATE_TRUNC('month', day) = 3", "this is compared with a day, such as DATE '2024-03-01'"),
            ("day > DATE '2024-02-30'", "'2024-02-30' is no date"),
        ] {
            let sql = format!("SELECT COUNT(*) FROM visits WHERE {sql}");
            assert_eq!(Query::parse(&sql, &visits()).unwrap_err().message, why);
        }
        let sql = "SELECT EXTRACT(MONTH FROM day), COUNT(*) FROM visits GROUP BY day";
        let error = Query::parse(sql, &visits()).unwrap_err();
        assert_eq!(error.message, "EXTRACT(MONTH FROM day) is selected but not grouped");
    }

    /// A day before another one is compared, and does not meet; only what is no day is in doubt.
    #[test]
    fn days_outside_are_no_missing_ones() {
        for (condition, holds) in [
            ("day >= '2024-02'", [0.0, 1.0, 1.0, 0.0]),
            ("NOT day >= '2024-02'", [1.0, 0.0, 0.0, 1.0]),
            ("day.month BETWEEN '2024-02' AND '2024-03'", [0.0, 1.0, 1.0, 0.0]),
        ] {
            let query =
                Query::parse(&format!("SELECT COUNT(*) FROM visits WHERE {condition}"), &visits()).unwrap();
            let of_day: Vec<f64> = (0..4).map(|day| query.filter.weight_at(&[day]).unwrap()).collect();
            assert_eq!(of_day, holds, "{condition}");
            let named: Vec<_> = query.left_out.iter().map(|l| &l.categories).collect();
            assert_eq!(named, [&["missing".to_string()]], "{condition}");
        }
        let query = "SELECT COUNT(*) FROM visits WHERE day >= '2024-02' AND day <> 'missing'";
        assert!(Query::parse(query, &visits()).unwrap().left_out.is_empty());
    }
}
