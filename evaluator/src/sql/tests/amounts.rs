//! Amounts of rows in figures.

use super::*;
use crate::cube::{NoValue, Quantity, Summand};

fn pay(missing: NoValue) -> Arc<Quantity> {
    Arc::new(Quantity {
        name: "pay".into(),
        low: 0,
        high: 1000,
        step: 2,
        places: 0,
        missing,
        weighing: Default::default(),
        from: Default::default(),
        unit: None,
        description: None,
    })
}

fn asked(figures: &str, missing: NoValue) -> Query {
    let text = format!("SELECT {figures} FROM town");
    Query::with_quantities(&text, &town(), &[pay(missing)]).unwrap_or_else(|e| panic!("{e}"))
}

/// What a figure is for six rows.
fn value(query: &Query) -> f64 {
    // (sex, what they have)
    let rows = [(0, Some(10.0)), (0, None), (1, Some(300.0)), (1, Some(7.0)), (1, None), (0, Some(44.0))];
    let told = |a: &Aggregate| -> f64 {
        let of = |(sex, pay): &(usize, Option<f64>)| {
            let mut cell = vec![0; town().dimensions.len()];
            cell[0] = *sex;
            let own = match (&a.subject, pay) {
                (Summand::Rows, _) | (Summand::Valued(_), Some(_)) => 1.0,
                (Summand::Sum(q), Some(pay)) => (pay - q.origin()) / q.grain(),
                (Summand::Squares(q), Some(pay)) => {
                    let (t, reach) = ((pay - q.origin()) / q.grain(), q.reach() as f64);
                    2.0 * t * t - reach * reach
                }
                (_, None) => 0.0,
            };
            own * a.filter.weight_at(&cell).unwrap()
        };
        rows.iter().map(of).sum()
    };
    let told: Vec<f64> = query.aggregates.iter().map(told).collect();
    match &query.columns[0] {
        SelectColumn::Figure { expr, .. } => expr.evaluate(&told),
        other => panic!("{other:?}"),
    }
}

#[test]
fn amounts_within_a_case() {
    for (figure, want) in [
        ("SUM(pay)", 361.0),
        ("COUNT(pay)", 4.0),
        ("AVG(pay)", 361.0 / 4.0),
        ("SUM(CASE WHEN sex = 'M' THEN pay END)", 307.0),
        ("SUM(pay) FILTER (WHERE sex = 'M')", 307.0),
        ("COUNT(CASE WHEN sex = 'M' THEN pay END)", 2.0),
        ("AVG(CASE WHEN sex = 'M' THEN pay END)", 307.0 / 2.0),
        ("AVG(CASE WHEN sex = 'M' THEN pay ELSE 0 END)", 307.0 / 5.0),
        ("SUM(CASE WHEN sex = 'M' THEN pay ELSE 5 END)", 322.0),
        ("SUM(CASE WHEN sex = 'M' THEN 5 ELSE pay END)", 69.0),
        ("SUM(CASE WHEN sex = 'M' THEN pay ELSE pay END)", 361.0),
        ("SUM(CASE WHEN sex = 'M' THEN pay END) / SUM(pay)", 307.0 / 361.0),
        ("SUM(SUM(CASE WHEN sex = 'M' THEN pay END)) OVER ()", 307.0),
        ("VAR_POP(pay)", 14876.1875),
        ("VAR_SAMP(pay)", 19834.916666666668),
        ("STDDEV_POP(pay)", 121.9679773547139),
        ("STDDEV(pay)", 140.8364891165165),
        ("VARIANCE(pay) FILTER (WHERE sex = 'M')", 42924.5),
    ] {
        let found = value(&asked(figure, NoValue::Skip));
        assert!((found - want).abs() < 1e-9, "{figure}: {found} {want}");
    }
}

/// The spread of numbers that are categories, against the plain formula; those of unknown age are left out, and the answer says so.
#[test]
fn variance_of_categories() {
    // Sex, and age; the thirty-first is unknown.
    let rows = [(0, 3), (0, 7), (0, 30), (1, 21), (1, 21), (1, 4), (1, 30), (0, 12)];
    let value = |figure: &str| {
        let query = Query::parse(&format!("SELECT {figure} FROM town"), &town()).unwrap();
        let told = |a: &Aggregate| {
            let of = |(sex, age): &(usize, usize)| {
                let mut cell = vec![0; town().dimensions.len()];
                (cell[0], cell[1]) = (*sex, *age);
                a.filter.weight_at(&cell).unwrap()
            };
            assert!(matches!(a.subject, Summand::Rows));
            rows.iter().map(of).sum()
        };
        let told: Vec<f64> = query.aggregates.iter().map(told).collect();
        let SelectColumn::Figure { expr, .. } = &query.columns[0] else { panic!("{query:?}") };
        (expr.evaluate(&told), query.left_out.len())
    };
    let spread = |of: &[f64], sample: bool| {
        let (n, sum) = (of.len() as f64, of.iter().sum::<f64>());
        let squares: f64 = of.iter().map(|v| (v - sum / n) * (v - sum / n)).sum();
        squares / if sample { n - 1.0 } else { n }
    };
    let (all, men) = (&[3.0, 7.0, 21.0, 21.0, 4.0, 12.0][..], &[21.0, 21.0, 4.0][..]);
    for (figure, want) in [
        ("VAR_POP(age)", spread(all, false)),
        ("VARIANCE(age)", spread(all, true)),
        ("STDDEV(age)", spread(all, true).sqrt()),
        ("STDDEV_POP(age) FILTER (WHERE sex = 'M')", spread(men, false).sqrt()),
        ("VAR_SAMP(CASE WHEN sex = 'M' THEN age END)", spread(men, true)),
        ("VAR_POP(CASE WHEN sex = 'M' THEN 1 ELSE 0 END)", 0.25),
    ] {
        let (found, left_out) = value(figure);
        assert!((found - want).abs() < 1e-9, "{figure}: {found} {want}");
        assert_eq!(left_out, usize::from(figure.contains("age")), "{figure}");
    }
    let refused =
        |figure: &str| Query::parse(&format!("SELECT {figure} FROM town"), &town()).unwrap_err().to_string();
    assert!(refused("STDDEV(sex)").contains("sex"));
    assert!(refused("STDDEV(age.band)").contains("is one number"));
}

#[test]
fn an_amount_is_no_dimension() {
    for text in
        ["COUNT(*) FROM town WHERE pay > 3", "pay, COUNT(*) FROM town GROUP BY pay", "MEDIAN(pay) FROM town"]
    {
        let refused = Query::with_quantities(&format!("SELECT {text}"), &town(), &[pay(NoValue::Stop)]);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("pay is an amount: rows are not told apart by it"), "{refused}");
        assert!(refused.contains("MEDIAN wants it in `bins`"), "{refused}");
    }
}

/// With weights COUNT(*) is their sum, means divide by it, and COUNT of the weight counts rows.
#[test]
fn counts_are_weighted() {
    use crate::cube::Weighing;
    let with = |name: &str, weighing| {
        let plain = Quantity::clone(&pay(NoValue::Stop));
        Arc::new(Quantity { name: name.into(), weighing, ..plain })
    };
    let all = [with("w", Weighing::Weight), with("pay", Weighing::Weighted), with("bill", Weighing::Plain)];
    let parts = |figure: &str| -> Vec<String> {
        let query = Query::with_quantities(&format!("SELECT {figure} FROM town"), &town(), &all).unwrap();
        let name = |a: &Aggregate| match &a.subject {
            Summand::Rows => "rows".to_owned(),
            Summand::Sum(q) => q.name.clone(),
            other => format!("{other:?}"),
        };
        query.aggregates.iter().map(name).collect()
    };
    for (figure, want) in [
        ("COUNT(*)", &["w", "rows"][..]),
        ("SUM(CASE WHEN sex = 'M' THEN 2 END)", &["w", "rows"]),
        ("COUNT(w)", &["rows"]),
        ("COUNT(pay)", &["w", "rows"]),
        ("COUNT(bill)", &["rows"]),
        ("AVG(pay)", &["pay", "rows", "w"]),
        ("AVG(bill)", &["bill", "rows"]),
        ("AVG(w)", &["w", "rows"]),
    ] {
        assert_eq!(parts(figure), want, "{figure}");
    }
    assert!(Query::with_quantities("SELECT MEDIAN(age) FROM town", &town(), &all).is_err());

    // Of both kinds there is a sum, and nothing that a mean could divide by.
    let mixed = "CASE WHEN sex = 'M' THEN pay ELSE bill END";
    assert_eq!(parts(&format!("SUM({mixed})")), ["pay", "rows", "bill", "rows"]);
    for figure in [
        format!("AVG({mixed})"),
        format!("COUNT({mixed})"),
        "SUM(CASE WHEN sex = 'M' THEN pay WHEN age = 1 THEN bill ELSE 1 END)".to_owned(),
        "AVG(CASE WHEN sex = 'M' THEN w ELSE pay END)".to_owned(),
    ] {
        let text = format!("SELECT {figure} FROM town");
        let refused = Query::with_quantities(&text, &town(), &all).unwrap_err().to_string();
        assert!(refused.contains("some of these values are multiplied by weights"), "{figure}: {refused}");
    }
}

/// Whoever counts as 0 has a value all the same: a variance that does not know of them is none.
#[test]
fn a_variance_is_of_an_amount_alone() {
    let read = |figure: &str| {
        let text = format!("SELECT {figure} AS v FROM town");
        Query::with_quantities(&text, &town(), &[pay(NoValue::Skip)])
    };
    for name in ["VARIANCE", "VAR_POP", "STDDEV"] {
        for otherwise in ["0", "1", "-0.0", "age"] {
            let text = format!("{name}(CASE WHEN sex = 'F' THEN pay ELSE {otherwise} END)");
            assert_eq!(read(&text).unwrap_err().message, format!("{name} is only known of one amount"));
        }
        let filtered = read(&format!("{name}(pay) FILTER (WHERE sex = 'F')")).unwrap();
        for otherwise in ["", "ELSE NULL "] {
            let alone = read(&format!("{name}(CASE WHEN sex = 'F' THEN pay {otherwise}END)")).unwrap();
            assert_eq!(alone.aggregates, filtered.aggregates, "{otherwise}");
        }
    }
}
