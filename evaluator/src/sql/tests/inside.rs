//! Groups that a CASE makes, levels with their parents, one SELECT inside another.

use super::{filter, parse, refused, town};
use crate::cube::{Filter, Level};
use crate::sql::bands::{Banded, too_many};
use crate::sql::{Portion, Query, SelectColumn};

/// Column names apart, which may be those of the outer SELECT.
fn unnamed(mut query: Query) -> Query {
    for column in &mut query.columns {
        match column {
            SelectColumn::Group { name, .. }
            | SelectColumn::Band { name, .. }
            | SelectColumn::Grouping { name, .. }
            | SelectColumn::Count { name }
            | SelectColumn::Quantile { name, .. }
            | SelectColumn::Rank { name, .. }
            | SelectColumn::Figure { name, .. } => name.clear(),
        }
    }
    query
}

#[test]
fn one_inside_another_is_one() {
    for (two, one) in [
        (
            "SELECT COUNT(*) FROM (SELECT * FROM town WHERE age < 20) t",
            "SELECT COUNT(*) FROM town WHERE age < 20",
        ),
        (
            "WITH young AS (SELECT * FROM town WHERE age < 20 OR sex = 'F') \
             SELECT young.sex, COUNT(*) AS n FROM young WHERE young.age.band <> '5-9' OR work = 'employed' GROUP BY sex ORDER BY n",
            "SELECT sex, COUNT(*) AS n FROM town WHERE (age < 20 OR sex = 'F') AND (age.band <> '5-9' OR work = 'employed') \
             GROUP BY sex ORDER BY n",
        ),
        (
            "SELECT s, AVG(a) FROM (SELECT sex AS s, age AS a FROM town AS x WHERE x.work = 'employed') GROUP BY s",
            "SELECT sex, AVG(age) FROM town WHERE work = 'employed' GROUP BY sex",
        ),
        (
            "WITH b AS (SELECT *, CASE WHEN age < 10 THEN 'kid' WHEN age < 20 THEN 'teen' ELSE 'other' END AS band FROM town) \
             SELECT band, sex, COUNT(*) FROM b GROUP BY band, sex",
            "SELECT CASE WHEN age < 10 THEN 'kid' WHEN age < 20 THEN 'teen' ELSE 'other' END AS band, sex, COUNT(*) \
             FROM town GROUP BY 1, sex",
        ),
        // One after the other.
        (
            "WITH young AS (SELECT * FROM town WHERE age < 20), b AS (SELECT *, CASE WHEN age < 10 THEN 'kid' ELSE 'teen' END AS band FROM young), \
             c AS (SELECT * FROM b), d AS (SELECT band, sex, COUNT(*) AS n FROM c GROUP BY band, sex), \
             e AS (SELECT sex, SUM(n) AS n FROM d GROUP BY sex) SELECT * FROM e WHERE n > 3 ORDER BY n",
            "SELECT sex, COUNT(*) AS n FROM town WHERE age < 20 GROUP BY sex HAVING n > 3 ORDER BY n",
        ),
        (
            "WITH a AS (SELECT * FROM town WHERE sex = 'F'), b AS (SELECT work, COUNT(*) AS n FROM town GROUP BY work) SELECT n FROM b",
            "SELECT COUNT(*) AS n FROM town GROUP BY work",
        ),
        // Rows of what was counted.
        (
            "SELECT * FROM (SELECT sex, work, COUNT(*) AS n FROM town GROUP BY sex, work) WHERE n > 10 AND sex = 'F' ORDER BY n DESC LIMIT 3",
            "SELECT sex, work, COUNT(*) AS n FROM town WHERE sex = 'F' GROUP BY sex, work HAVING n > 10 ORDER BY n DESC LIMIT 3",
        ),
        (
            "WITH c AS (SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM town GROUP BY sex HAVING COUNT(*) > 5) \
             SELECT mean, n FROM c WHERE NOT (n < 7 OR n > 90)",
            "SELECT AVG(age) AS mean, COUNT(*) AS n FROM town GROUP BY sex HAVING COUNT(*) > 5 AND (NOT (n < 7 OR n > 90))",
        ),
        (
            "SELECT sex FROM (SELECT sex, COUNT(*) FROM town GROUP BY sex)",
            "", // nothing is counted
        ),
        // Adding up what was counted.
        (
            "SELECT sex, SUM(n) AS n FROM (SELECT sex, work, COUNT(*) AS n FROM town GROUP BY sex, work) GROUP BY sex",
            "SELECT sex, COUNT(*) AS n FROM town GROUP BY sex",
        ),
        (
            "SELECT SUM(years) / SUM(n) FROM (SELECT sex, SUM(age) AS years, COUNT(*) AS n FROM town GROUP BY sex) WHERE sex = 'M'",
            "SELECT SUM(age) / COUNT(*) FROM town WHERE sex = 'M'",
        ),
        (
            "SELECT work, SUM(n) AS m FROM (SELECT sex, work, COUNT(*) FILTER (WHERE age < 9) AS n FROM town GROUP BY 1, 2) \
             GROUP BY work HAVING m > 3 ORDER BY SUM(n) DESC",
            "SELECT work, COUNT(*) FILTER (WHERE age < 9) AS m FROM town GROUP BY work HAVING m > 3 ORDER BY m DESC",
        ),
    ] {
        match one {
            "" => assert!(refused(two).contains("nothing is counted"), "{two}"),
            one => assert_eq!(unnamed(parse(two)), unnamed(parse(one)), "{two}"),
        }
    }
    let doubled: String =
        (0..9).fold("a AS (SELECT sex, COUNT(*) AS n FROM town GROUP BY sex)".into(), |all, i| {
            let before = if i == 0 { "a".into() } else { format!("b{}", i - 1) };
            format!("{all}, b{i} AS (SELECT sex, {} AS n FROM {before})", vec!["n"; 40].join(" + "))
        });
    assert!(refused(&format!("WITH {doubled} SELECT n FROM b8")).contains("too long"));
    let named = parse("SELECT n, \"count\" FROM (SELECT sex AS n, COUNT(*) FROM town GROUP BY sex)");
    assert_eq!(named.columns.iter().map(SelectColumn::name).collect::<Vec<_>>(), ["n", "count"]);
}

#[test]
fn what_no_select_inside_can_say() {
    for (text, message) in [
        ("SELECT COUNT(*) FROM (SELECT COUNT(*) FROM town)", "COUNT(*) of rows that were counted"),
        (
            "SELECT AVG(n) FROM (SELECT sex, COUNT(*) AS n FROM town GROUP BY sex)",
            "AVG(n) of rows that were counted",
        ),
        (
            "SELECT SUM(m) FROM (SELECT sex, AVG(age) AS m FROM town GROUP BY sex)",
            "SUM(m) of rows that were counted",
        ),
        ("SELECT MAX(n) FROM (SELECT sex, COUNT(*) AS n FROM town GROUP BY sex)", "the function MAX"),
        (
            "SELECT SUM(n) FROM (SELECT sex, COUNT(*) AS n FROM town GROUP BY sex) WHERE n > 3",
            "grouping or choosing rows by a noisy figure",
        ),
        (
            "SELECT SUM(n) FROM (SELECT sex, COUNT(*) AS n FROM town GROUP BY sex LIMIT 1)",
            "adding up what HAVING, LIMIT or OFFSET left",
        ),
        (
            "SELECT n FROM (SELECT sex, COUNT(*) AS n FROM town GROUP BY sex LIMIT 1) ORDER BY n",
            "beside a LIMIT inside",
        ),
        (
            "SELECT n FROM (SELECT sex, COUNT(*) AS n FROM town GROUP BY sex) WHERE n > 3 OR sex = 'F'",
            "a condition on figures and labels at once",
        ),
        (
            "SELECT * FROM (SELECT sex, COUNT(*) / SUM(COUNT(*)) OVER () AS p FROM town GROUP BY sex) WHERE sex = 'F'",
            "a condition on labels beside OVER",
        ),
        ("SELECT COUNT(*) FROM (SELECT * FROM town LIMIT 10)", "LIMIT, OFFSET or HAVING"),
        ("SELECT COUNT(*) FROM (SELECT DISTINCT sex FROM town)", "DISTINCT"),
        (
            "SELECT work, COUNT(*) FROM (SELECT sex FROM town) GROUP BY work",
            "the SELECT in brackets has no column work",
        ),
        ("SELECT COUNT(*) FROM (SELECT * FROM (SELECT * FROM town))", "what stands in these brackets"),
        ("SELECT COUNT(*) FROM (town)", "what stands in these brackets"),
        ("SELECT COUNT(*) FROM (SELECT * FROM town", "expected )"),
        ("WITH a AS (SELECT * FROM town) SELECT COUNT(*) FROM town", "nothing is selected from a"),
        (
            "WITH a AS (SELECT * FROM town), b AS (SELECT * FROM a) SELECT COUNT(*) FROM town",
            "nothing is selected from b",
        ),
        ("WITH a AS (SELECT * FROM town), A AS (SELECT * FROM a) SELECT COUNT(*) FROM a", "A is there twice"),
        (
            "WITH a AS (SELECT sex, COUNT(*) AS n FROM town GROUP BY sex), b AS (SELECT AVG(n) FROM a) SELECT * FROM b",
            "AVG(n) of rows that were counted",
        ),
        (
            "WITH a AS (SELECT sex, COUNT(*) AS n FROM town GROUP BY sex LIMIT 1), b AS (SELECT SUM(n) AS m FROM a) SELECT m FROM b",
            "adding up what HAVING, LIMIT or OFFSET left",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT * FROM town UNION ALL SELECT * FROM town)",
            "UNION ALL cannot stand in brackets",
        ),
        ("WITH RECURSIVE a AS (SELECT * FROM town) SELECT COUNT(*) FROM a", "WITH RECURSIVE"),
        (
            "WITH a AS (WITH b AS (SELECT * FROM town) SELECT * FROM b) SELECT COUNT(*) FROM a",
            "WITH inside of another",
        ),
        ("WITH a (x) AS (SELECT * FROM town) SELECT COUNT(*) FROM a", "expected AS"),
        ("WITH", "expected a name"),
    ] {
        let error = Query::parse(text, &town()).expect_err(text);
        assert!(error.message.contains(message), "{text}: {}", error.message);
        assert!(error.place.is_some(), "{text}");
    }
}

/// Each band has the units of its own condition that no earlier one took.
#[test]
fn bands_are_conditions() {
    let query = parse(
        "SELECT sex, CASE WHEN age < 10 THEN 'low' WHEN work = 'employed' OR age < 5 THEN 'work' WHEN age >= 25 THEN 'low' \
         ELSE 'rest' END AS band, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY band) AS p, \
         COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY sex) AS q FROM town WHERE sex = 'F' OR age > 2 \
         GROUP BY sex, band HAVING n > 2 ORDER BY band DESC, n LIMIT 4",
    );
    let whole = "(sex = 'F' OR age > 2)";
    let conditions = [
        ("low", "age < 10 OR (NOT (work = 'employed') AND age >= 25)"),
        ("work", "NOT (age < 10) AND work = 'employed'"),
        ("rest", "NOT (age < 10) AND NOT (work = 'employed') AND NOT (age >= 25)"),
    ];
    assert_eq!(query.order_by, [(1, true), (2, false)]);
    assert_eq!(query.limit, Some(4));
    assert_eq!(query.group_by, [Level::new(0, 1)]);
    let all = filter(whole);
    let windows: Vec<_> =
        query.aggregates.iter().filter_map(|a| Some((a.partition.clone()?, &a.filter))).collect();
    assert_eq!(windows, [(vec![1], &all), (vec![0], &all)]);
    let portions = query.portions(&query.aggregates).unwrap();
    assert_eq!(portions.len(), 3);
    for (at, ((label, condition), portion)) in conditions.iter().zip(&portions).enumerate() {
        assert_eq!((&*query.bands[0].each[at].0, &*portion.ranks), (*label, &[at][..]));
        let of_band = filter(&format!("{whole} AND ({condition})"));
        assert_eq!(portion.filter, of_band, "{label}");
        // What is counted of the row, the total of its band, and that of all bands of its sex.
        let filters: Vec<_> = portion.aggregates.iter().map(|a| (&a.partition, &a.filter)).collect();
        assert_eq!(filters, [(&None, &of_band), (&Some(vec![1]), &of_band), (&Some(vec![0]), &all)]);
    }
    // Units of unknown age are in no band by their age, and the answer says so.
    assert!(query.left_out.iter().any(|l| l.level == "age" && l.categories == ["unknown"]));
    let same = |a: &str, b: &str| assert_eq!(unnamed(parse(a)), unnamed(parse(b)));
    same(
        "SELECT CASE sex WHEN 'F' THEN 1 ELSE 2 END, COUNT(*) FROM town GROUP BY 1",
        "SELECT CASE WHEN sex = 'F' THEN 1 ELSE 2 END AS s, COUNT(*) FROM town GROUP BY s",
    );
    let pairs = parse(
        "SELECT COUNT(*) FROM town GROUP BY CASE WHEN age < 9 THEN 'a' ELSE 'b' END, CASE WHEN sex = 'F' THEN 'c' ELSE 'd' END",
    );
    let portions = pairs.portions(&pairs.aggregates).unwrap();
    let labels =
        |p: &Portion| p.ranks.iter().zip(&pairs.bands).map(|(&r, b)| &*b.each[r].0).collect::<String>();
    assert_eq!(portions.iter().map(labels).collect::<Vec<_>>(), ["ac", "ad", "bc", "bd"]);
    // Bands that no unit can be in are none.
    let apart = parse(
        "SELECT COUNT(*) FROM town GROUP BY CASE WHEN age < 9 THEN 'a' ELSE 'b' END, CASE WHEN age < 5 THEN 'c' ELSE 'd' END",
    );
    let ranks: Vec<_> = apart.portions(&[]).unwrap().into_iter().map(|p| p.ranks).collect();
    assert_eq!(ranks, [[0, 0], [0, 1], [1, 1]]);
}

#[test]
fn bands_that_cannot_be() {
    for (case, message) in [
        ("CASE WHEN age < 9 THEN 'a' END", "CASE leaves units without a label"),
        ("CASE WHEN age < 9 THEN sex ELSE 'b' END", "sex is not the label of a group"),
        ("CASE WHEN age < 9 THEN 'a' ELSE NULL END", "NULL is not the label of a group"),
        ("CASE WHEN COUNT(*) < 9 THEN 'a' ELSE 'b' END", "the function COUNT cannot be compared"),
        ("CASE WHEN age.band < 7 THEN 'a' ELSE 'b' END", "age.band 5-9"),
    ] {
        let error = refused(&format!("SELECT {case} AS x, COUNT(*) FROM town GROUP BY x"));
        assert!(error.contains(message), "{case}: {error}");
    }
    // Enough that WHERE leaves none.
    parse("SELECT CASE WHEN sex = 'F' THEN 'a' END AS x, COUNT(*) FROM town WHERE sex = 'F' GROUP BY x");
    let selected = refused("SELECT CASE WHEN sex = 'F' THEN 'a' ELSE 'b' END AS x, COUNT(*) FROM town");
    assert!(selected.contains("CASE is selected but not grouped"), "{selected}");
    let many: Vec<String> = (0..30).map(|i| format!("WHEN age = {i} THEN {i}")).collect();
    let case = |sex: &str| format!("CASE {} WHEN sex = '{sex}' THEN 99 ELSE 100 END", many.join(" "));
    let text = format!("SELECT COUNT(*) FROM town GROUP BY {}, {}, {}", case("F"), case("M"), case("F"));
    assert_eq!(parse(&text).bands.iter().map(|b| b.each.len()).collect::<Vec<_>>(), [32, 32]);
    let text = format!("{text}, CASE WHEN work = 'employed' THEN 1 ELSE 2 END");
    assert!(refused(&text).contains("the most combinations of bands is 1024"));
    // Of ages within bands of ages there are no more combinations than ages.
    let text = "SELECT age.band, age, COUNT(*) - LAG(COUNT(*)) OVER (PARTITION BY age.band ORDER BY age) AS d FROM town GROUP BY age.band, age";
    let query = parse(text);
    let sizes: Vec<usize> = query.bands.iter().map(|b| b.each.len()).collect();
    let ages = sizes.iter().max().unwrap();
    assert!(sizes.iter().product::<usize>() > *ages, "{sizes:?}");
    assert_eq!(query.portions(&query.aggregates).unwrap().len(), *ages);
    // So 366 days may stand within 12 months.
    let of = |each: usize| {
        let band = |band: usize| {
            let is: Vec<bool> = (0..366).map(|day| day * each / 366 == band).collect();
            (band.to_string(), Filter::nodes(0, &is))
        };
        Banded { above: None, each: (0..each).map(band).collect() }
    };
    assert_eq!(too_many(&[of(366), of(12)]), None);
    let whole = Banded { above: None, each: vec![(String::new(), Filter::constant(1.0)); 3] };
    assert_eq!(
        too_many(&[of(366), of(12), whole]),
        Some("the most combinations of bands is 1024".to_owned())
    );
}

/// A total over the labels of a level above: of the same units as that level's own group.
#[test]
fn totals_of_a_level_above() {
    for (by, partition) in [("age", "age.band"), ("age, age.band", "age.band"), ("sex, age", "sex, age.band")]
    {
        let query = parse(&format!(
            "SELECT age, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY {partition}) AS p FROM town WHERE age < 25 GROUP BY {by}"
        ));
        let levels = query.group_by.len();
        assert_eq!(query.bands.len(), 1);
        assert_eq!(query.bands[0].above, Some(Level::new(1, 1)));
        for portion in query.portions(&query.aggregates).unwrap() {
            let label = &query.bands[0].each[portion.ranks[0]].0;
            let of_band = filter(&format!("age < 25 AND age.band = '{label}'"));
            assert_eq!((&portion.filter, &portion.aggregates[1].filter), (&of_band, &of_band), "{label}");
            let sex = query.group_by.iter().position(|l| l.dimension == 0);
            let kept: Vec<usize> =
                sex.into_iter().filter(|_| partition.starts_with("sex")).chain([levels]).collect();
            assert_eq!(portion.aggregates[1].partition, Some(kept));
        }
    }
    // At its own level there is nothing above; below it nothing is known.
    assert!(
        parse("SELECT SUM(COUNT(*)) OVER (PARTITION BY age.band) FROM town GROUP BY age.band")
            .bands
            .is_empty()
    );
    for by in ["age", "district"] {
        let text = format!("SELECT SUM(COUNT(*)) OVER (PARTITION BY {by}) FROM town GROUP BY age.band");
        assert!(refused(&text).contains("PARTITION BY needs a level of GROUP BY, or one above it"));
    }
}

#[test]
fn a_level_with_its_parent() {
    let query = parse("SELECT age.band, age, sex, COUNT(*) FROM town GROUP BY age.band, sex, age");
    assert_eq!(query.group_by, [Level::new(1, 2), Level::new(0, 1)]);
    let shown = |at: usize| match &query.columns[at] {
        SelectColumn::Group { index, level, .. } => (*index, *level),
        other => panic!("{other:?}"),
    };
    assert_eq!((shown(0), shown(1)), ((0, Level::new(1, 1)), (0, Level::new(1, 2))));
    assert!(
        refused("SELECT age.band, COUNT(*) FROM town GROUP BY age")
            .contains("age.band is selected but not grouped")
    );
}
