//! SELECTs that are products: of every dimension some intervals of nodes, as tables with `ask` have them.

use super::{Selected, Side};
use crate::cube::Cube;
use crate::plan::Ranges;

/// What a SELECT asks of each dimension of its table; `None` where that is no list of intervals.
pub(crate) type Sides = Vec<(usize, Option<Ranges>)>;

impl Selected {
    /// A single count whose condition is one on each dimension: its rows are products. `None` for all others.
    pub fn product(&self, cube: &Cube) -> Option<Sides> {
        let [figure] = self.figures.as_slice() else { return None };
        let [(at, coefficient)] = figure.as_slice() else { return None };
        let aggregate = self.aggregates.get(*at).filter(|a| *coefficient == 1.0 && a.partition.is_none())?;
        // In its smallest form a product of conditions has one weight, of one of two classes of each dimension.
        let filter = &aggregate.filter;
        let mut weighs = filter.weights.iter().enumerate().filter(|(_, w)| **w != 0.0);
        let (mut place, _) = weighs.next().filter(|(_, w)| **w == 1.0)?;
        if weighs.next().is_some() || filter.dims.iter().any(|c| c.classes != 2) {
            return None;
        }
        let mut inside: Vec<(usize, u32)> = Vec::new();
        for c in filter.dims.iter().rev() {
            inside.push((c.dim, place as u32 % c.classes));
            place /= c.classes as usize;
        }
        let side = |side: &Side| {
            let class = inside.iter().find(|(d, _)| *d == side.dim).map(|(_, class)| *class);
            let own = side.class_of.get(*at)?;
            let holds: Vec<bool> = own.iter().map(|c| class.is_none_or(|class| *c == class)).collect();
            Some((side.dim, intervals(&holds, side.group.as_ref().map(|(_, of)| of.as_slice()))))
        };
        self.sides(cube).iter().map(side).collect()
    }
}

/// The nodes of every group, or of all together, that the condition holds for.
fn intervals(holds: &[bool], group_of: Option<&[u32]>) -> Option<Ranges> {
    let group = |node: usize| group_of.map_or(0, |of| of[node] as usize);
    let mut ends: Vec<Option<(u32, u32)>> = Vec::new();
    for node in (0..holds.len()).filter(|&n| holds[n]) {
        let (own, at) = (group(node), node as u32);
        ends.resize(ends.len().max(own + 1), None);
        ends[own] = match ends[own] {
            None => Some((at, at)),
            Some((first, last)) if last + 1 == at => Some((first, at)),
            Some(_) => return None,
        };
    }
    let list: Vec<(u32, u32)> = ends.into_iter().flatten().collect();
    let n = holds.len();
    Some(match list.as_slice() {
        [] => return None,
        [(0, last)] if *last as usize + 1 == n && n > 1 => Ranges::Total,
        list if list.len() == n => Ranges::Cells,
        _ => Ranges::Intervals(list),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::{Categories, Dimension};

    fn cube() -> Cube {
        let numbers = |name: &str, n: usize| Dimension::plain(name, (0..n).map(|i| i.to_string()).collect());
        let mut age = numbers("age", 6);
        age.levels[1].parent = vec![0, 0, 0, 1, 1, 2];
        let exactly = |v: i32| crate::cube::Bounds { lo: v.into(), hi: v.into(), closed: true };
        age.levels[1].bounds = (0..6).map(|v| Some(exactly(v))).collect();
        let labels = ["young", "grown", "old"].map(String::from).to_vec();
        age.levels
            .insert(1, Categories { name: "band".into(), labels, parent: vec![0; 3], bounds: Vec::new() });
        Cube { dimensions: vec![age, numbers("sex", 2), numbers("area", 4)] }
    }

    #[test]
    fn what_is_a_product_of_intervals() {
        let cube = cube();
        let of = |sql: &str| Selected::new(&cube, sql).unwrap().product(&cube);
        let list = |l: &[(u32, u32)]| Some(Ranges::Intervals(l.to_vec()));
        assert_eq!(
            of("SELECT sex, COUNT(*) FROM t WHERE age IN ('1', '2', '3') GROUP BY sex"),
            Some(vec![(0, list(&[(1, 3)])), (1, Some(Ranges::Cells))])
        );
        // Groups of a level, cut by a condition.
        assert_eq!(
            of("SELECT age.band, COUNT(*) FROM t WHERE age <> '0' AND area = '2' GROUP BY age.band"),
            Some(vec![(0, list(&[(1, 2), (3, 4), (5, 5)])), (2, list(&[(2, 2)]))])
        );
        // A union is no interval; a sum of cells is no product.
        assert_eq!(of("SELECT COUNT(*) FROM t WHERE area IN ('0', '2')"), Some(vec![(2, None)]));
        for sql in [
            "SELECT COUNT(*) FROM t WHERE age = '1' OR sex = '0'",
            "SELECT 2 * COUNT(*) AS x FROM t WHERE sex = '0'",
            "SELECT COUNT(*) AS a, COUNT(*) FILTER (WHERE sex = '0') AS b FROM t",
        ] {
            assert_eq!(of(sql), None, "{sql}");
        }
    }

    /// Every row as weights of all cells, sorted.
    fn rows(sql: &str) -> Vec<Vec<i64>> {
        let cube = cube();
        let finest = (0..3).map(|d| (d, cube.dimensions[d].finest()));
        let cuboid = crate::cube::Cuboid::new(finest);
        let selected = Selected { cuboid, ..Selected::new(&cube, sql).unwrap() };
        let mut rows = Vec::new();
        selected.each(&cube, &mut |row| rows.push(row.iter().map(|w| *w as i64).collect()));
        rows.sort();
        rows
    }

    /// Bands are so many questions, each with its condition in WHERE; a total over a level above is that of its group.
    #[test]
    fn bands_are_questions_of_their_own() {
        let case = "CASE WHEN age IN ('0', '1') THEN 'a' WHEN sex = '1' THEN 'b' ELSE 'c' END";
        let figures = "area, COUNT(*) AS n, SUM(age) - 2 * COUNT(*) AS d";
        let whole =
            rows(&format!("SELECT {case} AS band, {figures} FROM t WHERE area <> '3' GROUP BY band, area"));
        let bands = [
            "age IN ('0', '1')",
            "NOT age IN ('0', '1') AND sex = '1'",
            "NOT age IN ('0', '1') AND sex = '0'",
        ];
        let mut apart: Vec<Vec<i64>> = (bands.iter())
            .flat_map(|band| {
                rows(&format!("SELECT {figures} FROM t WHERE area <> '3' AND {band} GROUP BY area"))
            })
            .collect();
        apart.sort();
        assert_eq!(whole, apart);
        assert_eq!(whole.len(), 3 * 3 * 2);
        let above = rows(
            "SELECT age, SUM(COUNT(*)) OVER (PARTITION BY age.band) - COUNT(*) AS rest FROM t GROUP BY age",
        );
        let of_group = |group: &[u8], age: u8| -> Vec<i64> {
            (0..48u8).map(|cell| cell / 8).map(|own| i64::from(group.contains(&own) && own != age)).collect()
        };
        let mut expected: Vec<Vec<i64>> = [&[0u8, 1, 2][..], &[3, 4]]
            .iter()
            .flat_map(|group| group.iter().map(|age| of_group(group, *age)))
            .collect();
        expected.sort();
        // The last is alone in its group: nothing is left there, and that is no question.
        assert_eq!(above, expected);
    }
}
