//! Nodes become what stands in a file: labels, whole numbers, numbers and days.
//!
//! Where the finest level that is released is a band of numbers or a span of days, a number or a day inside is drawn, each as likely as another: that is invented,
//! and the report says so. A band of anything else comes out as its label, under the level's name.

use super::random::{Purpose, Stream};
use crate::calendar;
use crate::cube::{Bounds, Categories, Cube, Level, Number};
use crate::render::ColumnKind;
use std::borrow::Cow;

/// One column of a file.
#[derive(Debug, Clone)]
pub struct RecordColumn {
    /// Its name.
    pub name: String,
    /// What stands in it.
    pub values: Values,
    /// Whether something was drawn inside of what is released.
    pub inside: bool,
}

/// The values of a column.
#[derive(Debug, Clone)]
pub enum Values {
    /// Text: labels, and which of them each record has.
    Labels(Vec<String>, Vec<u32>),
    /// Whole numbers.
    Whole(Vec<i64>),
    /// Numbers.
    Numbers(Vec<f64>),
    /// Whole numbers, of some records none.
    SomeWhole(Vec<Option<i64>>),
    /// Numbers, of some records none.
    SomeNumbers(Vec<Option<f64>>),
    /// Texts: numbers, and labels of what has none.
    Texts(Vec<String>),
}

impl Values {
    /// What stands in a record, as text.
    pub fn text(&self, record: usize) -> Cow<'_, str> {
        match self {
            Values::Labels(labels, nodes) => labels[nodes[record] as usize].as_str().into(),
            Values::Whole(numbers) => numbers[record].to_string().into(),
            Values::Numbers(numbers) => numbers[record].to_string().into(),
            Values::SomeWhole(numbers) => numbers[record].map_or(String::new(), |n| n.to_string()).into(),
            Values::SomeNumbers(numbers) => numbers[record].map_or(String::new(), |n| n.to_string()).into(),
            Values::Texts(texts) => texts[record].as_str().into(),
        }
    }
}

/// The column of a level, whose nodes the records have.
pub(super) fn drawn(cube: &Cube, level: Level, nodes: Vec<u32>, seed: u64) -> RecordColumn {
    let dimension = &cube.dimensions[level.dimension];
    let finest = &dimension.levels[dimension.finest()];
    let mut stream = Stream::new(seed, Purpose::Inside, level.dimension as u64, 0);
    let days = |c: &Categories| c.labels.iter().all(|l| calendar::span(l).is_some_and(|(a, b)| a == b));
    let splits = level.level < dimension.finest() && (finest.is_numeric() || days(finest));
    if !splits {
        let values = of_nodes(level.of(cube), nodes, &mut stream);
        let inside = !matches!(values, Values::Labels(..)) && !integers(level.of(cube));
        return RecordColumn { name: cube.level_name(level), values, inside };
    }
    let mut below = vec![Vec::new(); level.of(cube).len()];
    for (node, &up) in dimension.ancestors(dimension.finest(), level.level).iter().enumerate() {
        below[up as usize].push(node as u32);
    }
    let pick = |&node: &u32| {
        let own = &below[node as usize];
        own.get(stream.below(own.len())).copied().unwrap_or(0)
    };
    let nodes: Vec<u32> = nodes.iter().map(pick).collect();
    RecordColumn { name: dimension.name.clone(), values: of_nodes(finest, nodes, &mut stream), inside: true }
}

fn integers(level: &Categories) -> bool {
    ColumnKind::of_level(level) == ColumnKind::Integer
}

/// Labels, or numbers where bins have them.
fn of_nodes(level: &Categories, nodes: Vec<u32>, stream: &mut Stream) -> Values {
    if integers(level) {
        return Values::Whole(nodes.iter().map(|&n| level.labels[n as usize].parse().unwrap_or(0)).collect());
    }
    let finite = |b: &Bounds| b.lo.is_finite() && b.hi.is_finite();
    let several = (0..level.len()).any(|n| level.number(n) == Number::Several);
    let bins: Vec<Option<Bounds>> =
        (0..level.len()).map(|n| level.bounds.get(n).copied().flatten().filter(finite)).collect();
    if !several {
        return Values::Labels(level.labels.clone(), nodes);
    }
    let whole = bins.iter().flatten().all(|b| is_whole(b.lo) && is_whole(b.hi));
    if whole && bins.iter().all(Option::is_some) {
        return Values::Whole(
            nodes.iter().filter_map(|&n| Some(inside_whole(bins[n as usize]?, stream))).collect(),
        );
    }
    if bins.iter().all(Option::is_some) {
        return Values::Numbers(
            nodes.iter().filter_map(|&n| Some(inside(bins[n as usize]?, stream))).collect(),
        );
    }
    let text = |&n: &u32| match bins[n as usize] {
        None => level.labels[n as usize].clone(),
        Some(b) if whole => inside_whole(b, stream).to_string(),
        Some(b) => inside(b, stream).to_string(),
    };
    Values::Texts(nodes.iter().map(text).collect())
}

/// Whether a number is whole, and small enough to be counted with.
fn is_whole(x: f64) -> bool {
    x.fract() == 0.0 && x.abs() < 9e15
}

/// A whole number of a bin.
fn inside_whole(b: Bounds, stream: &mut Stream) -> i64 {
    let (lo, hi) = (b.lo as i64, b.hi as i64);
    let numbers = (hi - lo).max(0) + i64::from(b.closed || hi == lo);
    lo + stream.below(numbers as usize) as i64
}

/// A number of a bin.
fn inside(b: Bounds, stream: &mut Stream) -> f64 {
    let x = b.lo + stream.fine() * (b.hi - b.lo);
    // Rounding may reach the edge, which belongs to the next bin.
    if x < b.hi || b.closed { x } else { b.lo }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::Dimension;

    fn bins(edges: &[f64]) -> Categories {
        let pairs: Vec<&[f64]> = edges.windows(2).collect();
        Categories {
            name: "x".into(),
            labels: pairs.iter().map(|p| format!("{}-{}", p[0], p[1])).collect(),
            parent: vec![0; pairs.len()],
            bounds: pairs
                .iter()
                .enumerate()
                .map(|(i, p)| Some(Bounds { lo: p[0], hi: p[1], closed: i + 1 == pairs.len() }))
                .collect(),
        }
    }

    #[test]
    fn numbers_lie_in_their_bins() {
        for edges in [&[0.0, 10.0, 20.0][..], &[-0.5, 0.25, 7.5], &[3.0, 4.0]] {
            let level = bins(edges);
            let cube = Cube { dimensions: vec![Dimension::new("x", vec![Categories::total(), level])] };
            let nodes: Vec<u32> = (0..1000).map(|i| i % (edges.len() as u32 - 1)).collect();
            let of = |seed| drawn(&cube, Level::new(0, 1), nodes.clone(), seed);
            let column = of(1);
            assert!(column.inside);
            for (i, &n) in nodes.iter().enumerate() {
                let x: f64 = column.values.text(i).parse().unwrap();
                let (lo, hi) = (edges[n as usize], edges[n as usize + 1]);
                assert!(lo <= x && (x < hi || (x == hi && n as usize + 2 == edges.len())), "{lo} {x} {hi}");
            }
            assert_eq!(column.values.text(7), of(1).values.text(7));
        }
    }

    #[test]
    fn days_lie_in_their_months_and_places_keep_their_county() {
        let labels = |l: &[&str]| l.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        let level = |name: &str, l: &[&str], parent: Vec<u32>| Categories {
            name: name.into(),
            labels: labels(l),
            parent,
            bounds: vec![],
        };
        let dates = Dimension::new(
            "day",
            vec![
                Categories::total(),
                level("month", &["2024-01", "2024-02"], vec![0, 0]),
                level("day", &["2024-01-30", "2024-01-31", "2024-02-01"], vec![0, 0, 1]),
            ],
        );
        let place = Dimension::new(
            "place",
            vec![
                Categories::total(),
                level("county", &["A", "B"], vec![0, 0]),
                level("place", &["a", "b"], vec![0, 1]),
            ],
        );
        let cube = Cube { dimensions: vec![dates, place] };
        let day = drawn(&cube, Level::new(0, 1), vec![0, 1, 0, 0, 0, 0, 0], 3);
        assert_eq!((day.name.as_str(), day.values.text(1).as_ref(), day.inside), ("day", "2024-02-01", true));
        assert!((2..7).all(|i| day.values.text(i).starts_with("2024-01-3")));
        let county = drawn(&cube, Level::new(1, 1), vec![1, 0], 3);
        assert_eq!(
            (county.name.as_str(), county.values.text(0).as_ref(), county.inside),
            ("place.county", "B", false)
        );
    }
}
