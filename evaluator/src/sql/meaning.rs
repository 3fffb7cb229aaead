//! What a query means, in words that do not depend on the release it is asked of: which categories it tells apart, and what weight each has.
//!
//! Two releases may have a dimension of one name and yet cut it differently: one lists a category that the other counts under `other`, or
//! groups it elsewhere. What they answer is then about different people, however alike it looks, and is neither combined nor compared.

use super::{Query, SelectColumn};
use crate::cube::{Cube, Filter, Level};
use std::collections::BTreeMap;

/// A query's meaning.
pub(crate) struct Meaning<'a> {
    /// By name, the finest categories of every dimension that the query speaks of.
    dimensions: BTreeMap<&'a str, &'a [String]>,
    /// The levels it names, in their order.
    levels: Vec<Named<'a>>,
    /// Its weights, in their order.
    weights: Vec<Weights<'a>>,
}

/// A level: its dimension, its categories, and in which of them each of the finest is.
#[derive(PartialEq)]
struct Named<'a> {
    dimension: &'a str,
    labels: &'a [String],
    member: Vec<u32>,
}

/// Weights of cells: dimensions by name, each with the class of every finest category, and a weight for each combination of classes.
#[derive(PartialEq)]
struct Weights<'a> {
    classes: Vec<(&'a str, &'a [u32])>,
    weights: Vec<f64>,
}

impl<'a> Meaning<'a> {
    /// Of a query that was read against this cube.
    pub(crate) fn of(cube: &'a Cube, query: &'a Query) -> Meaning<'a> {
        let quantiles = query.columns.iter().filter_map(|column| match column {
            SelectColumn::Quantile { level, .. } => Some(*level),
            _ => None,
        });
        let above = query.bands.iter().filter_map(|band| band.above);
        let levels: Vec<Level> = query.group_by.iter().copied().chain(above).chain(quantiles).collect();
        let bands = query.bands.iter().flat_map(|band| band.each.iter().map(|(_, filter)| filter));
        let aggregates = query.aggregates.iter().map(|a| &a.filter);
        let filters: Vec<&Filter> = std::iter::once(&query.filter).chain(aggregates).chain(bands).collect();
        let spoken = filters.iter().flat_map(|f| f.dims.iter().map(|c| c.dim));
        let dimensions = spoken.chain(levels.iter().map(|l| l.dimension)).map(|d| {
            let d = &cube.dimensions[d];
            (d.name.as_str(), d.levels[d.finest()].labels.as_slice())
        });
        let named = |level: &Level| {
            let d = &cube.dimensions[level.dimension];
            Named {
                dimension: &d.name,
                labels: &level.of(cube).labels,
                member: d.ancestors(d.finest(), level.level).to_vec(),
            }
        };
        Meaning {
            dimensions: dimensions.collect(),
            levels: levels.iter().map(named).collect(),
            weights: filters.into_iter().map(|f| Weights::of(cube, f)).collect(),
        }
    }

    /// The dimensions that it speaks of, in small letters.
    pub(crate) fn names(&self) -> Vec<String> {
        self.dimensions.keys().map(|name| name.to_lowercase()).collect()
    }

    /// In what another release's meaning of the same words is different, if it is.
    pub(crate) fn unlike(&self, other: &Meaning) -> Option<String> {
        let differs = |(name, labels): (&&str, &&[String])| other.dimensions.get(name) != Some(labels);
        let of = |name: &str| Some(format!("have different categories of {name}"));
        if let Some((name, _)) = self.dimensions.iter().find(|(name, labels)| differs((name, labels))) {
            return of(name);
        }
        if let Some((level, _)) = self.levels.iter().zip(&other.levels).find(|(a, b)| a != b) {
            return of(level.dimension);
        }
        let same = self.levels.len() == other.levels.len() && self.weights == other.weights;
        (!same).then(|| "take the query to mean different things".into())
    }
}

impl<'a> Weights<'a> {
    fn of(cube: &'a Cube, filter: &'a Filter) -> Weights<'a> {
        let name = |i: &usize| cube.dimensions[filter.dims[*i].dim].name.as_str();
        let mut order: Vec<usize> = (0..filter.dims.len()).collect();
        order.sort_unstable_by_key(name);
        // How far apart the weights of a dimension's classes are.
        let step = |i: usize| filter.dims[i + 1..].iter().map(|c| c.classes as usize).product::<usize>();
        let mut places = vec![0];
        for &i in &order {
            let (classes, step) = (filter.dims[i].classes as usize, step(i));
            places = places.iter().flat_map(|&p| (0..classes).map(move |k| p + k * step)).collect();
        }
        Weights {
            classes: order.iter().map(|i| (name(i), filter.dims[*i].class_of.as_slice())).collect(),
            weights: places.into_iter().map(|p| filter.weights[p]).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::{Categories, Dimension};

    fn plain(name: &str, labels: &[&str]) -> Dimension {
        Dimension::plain(name, labels.iter().map(|&l| l.into()).collect())
    }

    /// Work with a level of states, of which these categories are the first.
    fn work(labels: &[&str], first: usize) -> Dimension {
        let mut work = plain("work", labels);
        work.levels[1].parent = (0..labels.len()).map(|i| u32::from(i >= first)).collect();
        let states = Categories {
            name: "state".into(),
            labels: vec!["in".into(), "out".into()],
            parent: vec![0; 2],
            bounds: Vec::new(),
        };
        work.levels.insert(1, states);
        work
    }

    fn unlike(a: &[Dimension], b: &[Dimension], sql: &str) -> Option<String> {
        let [a, b] = [a, b].map(|d| Cube { dimensions: d.to_vec() });
        let [p, q] = [&a, &b].map(|cube| Query::parse(sql, cube).unwrap());
        Meaning::of(&a, &p).unlike(&Meaning::of(&b, &q))
    }

    #[test]
    fn other_categories_are_seen() {
        let (all, some) = (["emp", "une", "ret", "none"], ["emp", "une", "none"]);
        let sex = || plain("sex", &["F", "M"]);
        let (p, q) = ([work(&all, 2), sex()], [work(&some, 2), sex()]);
        let asks = [
            "SELECT COUNT(*) FROM t WHERE work = 'none'",
            "SELECT COUNT(*) FROM t WHERE work <> 'emp'",
            "SELECT sex, COUNT(*) FILTER (WHERE work = 'none') AS n FROM t GROUP BY sex",
            "SELECT work.state, COUNT(*) FROM t GROUP BY work.state",
            "SELECT CASE WHEN work = 'none' THEN 'no' ELSE 'yes' END AS at, COUNT(*) FROM t GROUP BY at",
        ];
        for sql in asks {
            assert_eq!(unlike(&p, &q, sql).unwrap(), "have different categories of work", "{sql}");
            assert_eq!(unlike(&p, &p, sql), None, "{sql}");
        }
        // What does not speak of work means the same.
        for sql in ["SELECT COUNT(*) FROM t", "SELECT sex, COUNT(*) FROM t GROUP BY sex"] {
            assert_eq!(unlike(&p, &q, sql), None, "{sql}");
        }
    }

    #[test]
    fn other_groups_are_seen() {
        let all = ["emp", "une", "ret", "none"];
        let (p, q) = ([work(&all, 2)], [work(&all, 3)]);
        let grouped = "SELECT work.state, COUNT(*) FROM t GROUP BY work.state";
        assert_eq!(unlike(&p, &q, grouped).unwrap(), "have different categories of work");
        let one = "SELECT COUNT(*) FROM t WHERE work.state = 'in'";
        assert_eq!(unlike(&p, &q, one).unwrap(), "take the query to mean different things");
        assert_eq!(unlike(&p, &q, "SELECT work, COUNT(*) FROM t GROUP BY work"), None);
        // Nor may a total be taken over others, or over such as have other names.
        let mut named = work(&all, 2);
        named.levels[1].labels[1] = "away".into();
        let total =
            "SELECT work, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY work.state) AS p FROM t GROUP BY work";
        for other in [&q, &[named]] {
            assert_eq!(unlike(&p, other, total).unwrap(), "have different categories of work");
        }
    }

    /// In which order a release has its dimensions makes no difference.
    #[test]
    fn the_order_of_dimensions_means_nothing() {
        let dims = || [plain("a", &["x", "y", "z"]), plain("b", &["u", "v"]), plain("c", &["k", "l"])];
        let [a, b, c] = dims();
        let sql = "SELECT c, COUNT(*) FROM t WHERE a = 'x' OR b = 'v' AND a <> 'z' OR c = 'k' GROUP BY c";
        assert_eq!(unlike(&dims(), &[c, a, b], sql), None);
        let [a, mut b, c] = dims();
        b.levels[1].labels.reverse();
        assert!(unlike(&dims(), &[c, a, b], sql).is_some());
    }
}
