//! Any query on any small cube, under any strategy: estimate and variance against dense least squares.

use crate::bases::dense_answers;
use crate::dense::{
    Measured, blue_covariance, blue_estimate, component_projection, cube_of_plan, grouped, measured,
    noise_variance, plain,
};
use crate::plans::request;
use crate::unequal::tree;
use margins::answer::Evaluator;
use margins::cube::{Cube, Cuboid, Filter, Frame, Level};
use margins::exact::Rational;
use margins::numeric::tries::tries;
use margins::plan::{Block, BudgetRule, Measure, Noise, Plan, Table};
use margins::planner::{plan, strategy};
use margins::recover::{Recovery, zeros};
use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;

/// A case as proptest draws it: small numbers that are read modulo what is possible, so that it can shrink.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    /// For each dimension the sizes of its groups; one group makes it plain.
    pub groups: Vec<Vec<usize>>,
    /// For each table a level of each dimension.
    pub tables: Vec<Vec<usize>>,
    pub measure: usize,
    pub laplace: bool,
    pub uniform: bool,
    /// Which table is asked, which of its nodes the filter keeps, how its conditions combine.
    pub asked: usize,
    pub keep: u64,
    pub any: bool,
    /// Which of the asked table's dimensions are grouped, and whether by a coarser level.
    pub by: Vec<(bool, bool)>,
    pub noise: u64,
    /// Which cells of which table are declared empty, if any.
    pub zero: Option<(usize, u64)>,
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    let dims = prop::collection::vec(prop::collection::vec(1usize..4, 1..4), 1..4);
    let tables = prop::collection::vec(prop::collection::vec(0usize..3, 3), 1..4);
    let by = prop::collection::vec(any::<(bool, bool)>(), 3);
    let measure = 0..strategy::general().count();
    let zero = prop::option::of(any::<(usize, u64)>());
    (dims, tables, measure, any::<[bool; 3]>(), 0usize..3, any::<u64>(), by, any::<u64>(), zero).prop_map(
        |(groups, tables, measure, [laplace, uniform, any], asked, keep, by, noise, zero)| Case {
            groups,
            tables,
            measure,
            laplace,
            uniform,
            asked,
            keep,
            any,
            by,
            noise,
            zero,
        },
    )
}

pub(crate) struct Bits(pub u64);

impl Bits {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }
}

impl Case {
    /// How many cells the full domain has.
    pub(crate) fn cells(&self) -> usize {
        self.cube().dimensions.iter().map(|d| d.levels[d.finest()].len()).product()
    }

    pub(crate) fn cube(&self) -> Cube {
        let dimension = |(i, sizes): (usize, &Vec<usize>)| match sizes[..] {
            [n] => plain(&format!("d{i}"), n + 1),
            _ => grouped(&format!("d{i}"), sizes),
        };
        Cube { dimensions: self.groups.iter().enumerate().map(dimension).collect() }
    }

    pub(crate) fn workload(&self, cube: &Cube) -> Vec<Table> {
        let mut tables: Vec<Table> = Vec::new();
        for levels in &self.tables {
            let pairs = cube.dimensions.iter().zip(levels).enumerate();
            let cuboid = Cuboid::new(pairs.map(|(d, (x, l))| (d, l % x.levels.len())));
            if !tables.iter().any(|t| t.cuboid == cuboid) {
                tables.push(Table::new(cuboid, Rational::ONE));
            }
        }
        tables
    }

    /// Conditions on whole nodes of the asked table, one a dimension, all or any of which must hold.
    pub(crate) fn filter(&self, cube: &Cube, asked: &Cuboid) -> Filter {
        let mut bits = Bits(self.keep);
        let mut filter: Option<Filter> = None;
        for Level { dimension: d, level: l } in asked.iter() {
            let dimension = &cube.dimensions[d];
            if bits.next().is_multiple_of(3) {
                continue;
            }
            let kept: Vec<bool> =
                dimension.levels[l].labels.iter().map(|_| bits.next().is_multiple_of(2)).collect();
            let finest = dimension.ancestors(dimension.finest(), l);
            let members: Vec<bool> = finest.iter().map(|&n| kept[n as usize]).collect();
            let condition = Filter::nodes(d, &members);
            filter = Some(match filter {
                None => condition,
                Some(f) if self.any => f.or(&condition).unwrap(),
                Some(f) => f.and(&condition).unwrap(),
            });
        }
        filter.unwrap_or_else(Filter::everything)
    }

    /// What may stand after WHERE: some nodes of every dimension of a table.
    pub(crate) fn zero(&self, cube: &Cube, workload: &[Table]) -> Option<String> {
        let (table, bits) = self.zero?;
        let mut bits = Bits(bits);
        let one = |level: Level| {
            let labels = &level.of(cube).labels;
            let listed: Vec<String> = labels
                .iter()
                .filter(|_| !bits.next().is_multiple_of(3))
                .map(|label| format!("'{label}'"))
                .collect();
            (!listed.is_empty()).then(|| format!("{} IN ({})", cube.level_name(level), listed.join(", ")))
        };
        let conditions: Vec<String> =
            workload[table % workload.len()].cuboid.iter().filter_map(one).collect();
        let condition = conditions.join(" AND ");
        zeros::filter(cube, &condition).is_ok().then_some(condition)
    }

    /// The same said by several conditions, of which none covers what all cover: one for each node of the first dimension.
    fn zeros(&self, cube: &Cube, workload: &[Table]) -> Vec<String> {
        let Some(condition) = self.zero(cube, workload) else { return Vec::new() };
        let parts = condition.split_once(" IN (").and_then(|(of, rest)| Some((of, rest.split_once(')')?)));
        match parts {
            Some((of, (nodes, more))) if self.noise.is_multiple_of(2) => {
                nodes.split(", ").map(|node| format!("{of} = {node}{more}")).collect()
            }
            _ => vec![condition],
        }
    }

    pub(crate) fn group_by(&self, asked: &Cuboid) -> Vec<Level> {
        let chosen = asked.iter().zip(&self.by).filter(|(_, (yes, _))| *yes);
        let level = |(at, (_, coarser)): (Level, &(bool, bool))| {
            Level::new(at.dimension, if *coarser && at.level > 1 { at.level - 1 } else { at.level })
        };
        chosen.map(level).collect()
    }
}

/// The finest nodes of a cell of the full domain.
pub(crate) fn cell_at(cube: &Cube, at: usize) -> Vec<usize> {
    let mut rest = at;
    let mut cell = vec![0; cube.dimensions.len()];
    for (c, d) in cell.iter_mut().zip(&cube.dimensions).rev() {
        let n = d.levels[d.finest()].len();
        *c = rest % n;
        rest /= n;
    }
    cell
}

/// One row a group: the filter's weight on each cell of the full domain.
pub(crate) fn query_matrix(cube: &Cube, filter: &Filter, by: &[Level]) -> DMatrix<f64> {
    let finest: Vec<usize> = cube.dimensions.iter().map(|d| d.levels[d.finest()].len()).collect();
    let sizes: Vec<usize> = by.iter().map(|level| level.of(cube).len()).collect();
    let mut q = DMatrix::zeros(sizes.iter().product(), finest.iter().product());
    for at in 0..q.ncols() {
        let cell = cell_at(cube, at);
        let group = by.iter().zip(&sizes).fold(0, |g, (&Level { dimension: d, level: l }, size)| {
            let x = &cube.dimensions[d];
            g * size + x.ancestors(x.finest(), l)[cell[d]] as usize
        });
        q[(group, at)] = filter.weight_at(&cell).unwrap();
    }
    q
}

/// Made-up noisy integers for every block: as the release holds them, and as least squares wants them.
pub(crate) fn answers(
    cube: &Cube,
    plan: &Plan,
    seed: u64,
) -> (Vec<Vec<i64>>, Vec<DVector<f64>>, Vec<Measured>) {
    let frame = Frame::new(cube, &plan.levels);
    let mut bits = Bits(seed);
    let (mut values, mut dense, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
    for (i, m) in plan.rows().measurements.iter().enumerate() {
        let c = m.block.cuboid();
        let noisy: Vec<i64> = (0..frame.len(c)).map(|_| (bits.next() % 2001) as i64 - 1000).collect();
        let floats = DVector::from_iterator(noisy.len(), noisy.iter().map(|&v| v as f64));
        let variance = noise_variance(plan.noise, m.scale.to_f64());
        match &m.block {
            Block::Table(_) => {
                blocks.push(measured(cube, plan, i, variance, 1.0));
                values.push(noisy);
                dense.push(floats);
            }
            Block::Component(a) => {
                let scale = margins::plan::block::component_scale(&frame, a).unwrap() as f64;
                blocks.push(measured(cube, plan, i, variance, scale));
                values.push(frame.contrast(a, noisy).unwrap());
                dense.push(component_projection(cube, &plan.levels, a) * floats / scale);
            }
            block => {
                let noisy: Vec<i64> =
                    (0..block.values(&frame)).map(|_| (bits.next() % 2001) as i64 - 1000).collect();
                blocks.push(measured(cube, plan, i, variance, 1.0));
                dense.push(match block {
                    Block::Based(b) => dense_answers(cube, plan, b, &noisy),
                    _ => DVector::from_iterator(noisy.len(), noisy.iter().map(|&v| v as f64)),
                });
                values.push(noisy);
            }
        }
    }
    (values, dense, blocks)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: tries(10, 160) as u32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_dense_least_squares(case in case()) {
        let cube = case.cube();
        let workload = case.workload(&cube);
        let all: Vec<Measure> = strategy::general().collect();
        let measure = all[case.measure % all.len()];
        let laplace = case.laplace && measure != Measure::Residual;
        let noise = if laplace { Noise::Laplace } else { Noise::Gaussian };
        let mut r = request(cube.clone(), workload.clone(), noise, "1/3");
        r.measure = Some(measure);
        r.budgets = if case.uniform { BudgetRule::Uniform } else { BudgetRule::Optimal };
        r.zeros.extend(case.zeros(&cube, &workload));
        // Not every strategy applies to every workload.
        let Ok(planned) = plan(&r) else { return Ok(()) };
        let plan = planned.plan;
        // From here on all is about the levels that the plan speaks of.
        let cube = cube_of_plan(&cube, &plan);
        let workload = r.over(measure).workload.clone();
        let (values, dense, mut blocks) = answers(&cube, &plan, case.noise);
        // Equality constraints, the dense way: only the cells that can be filled are unknown.
        let declared: Vec<Filter> = plan.zeros.iter().map(|z| zeros::filter(&cube, z).unwrap()).collect();
        let empty = |at: usize| declared.iter().any(|f| f.weight_at(&cell_at(&cube, at)).unwrap() != 0.0);
        let filled = DVector::from_fn(blocks[0].rows.ncols(), |at, _| if empty(at) { 0.0 } else { 1.0 });
        for b in &mut blocks {
            b.rows *= DMatrix::from_diagonal(&filled);
        }
        let evaluator = Evaluator::new(Recovery::new(cube.clone(), plan, values).unwrap());
        // What has been asked before must not matter: first the total, then the query.
        let asked = &workload[case.asked % workload.len()].cuboid;
        let questions = [(Filter::everything(), vec![]), (case.filter(&cube, asked), case.group_by(asked))];
        for (filter, by) in questions {
            let q = query_matrix(&cube, &filter, &by) * DMatrix::from_diagonal(&filled);
            let estimates = blue_estimate(&blocks, &dense, &q);
            let variances = blue_covariance(&blocks, &q).diagonal();
            let groups = evaluator.aggregate(&filter, &by).unwrap();
            prop_assert_eq!(groups.len(), q.nrows());
            for (g, (e, v)) in groups.iter().zip(estimates.iter().zip(variances.iter())) {
                prop_assert!((g.estimate - e).abs() < 1e-5 * (1.0 + e.abs()), "{} is not {e}", g.estimate);
                let law = g.law.variance();
                prop_assert!((law - v).abs() < 1e-6 * (1e-3 + v.abs()), "variance {law} is not {v}");
            }
        }
    }

    /// Splitting any table into components and building it again changes nothing.
    #[test]
    fn rebuilding_what_was_split_is_the_identity(case in case()) {
        let cube = case.cube();
        let workload = case.workload(&cube);
        let levels = Frame::levels_of(&cube, workload.iter().map(|t| &t.cuboid));
        let frame = Frame::new(&cube, &levels);
        let mut bits = Bits(case.noise);
        for t in &workload {
            let table: Vec<f64> = (0..frame.len(&t.cuboid)).map(|_| bits.next() as f64 / 1e6).collect();
            // Of the table's roll-up to each component, the part that no coarser one knows.
            let built: Result<Vec<f64>, std::convert::Infallible> =
                frame.rebuild(&t.cuboid, &mut |a| {
                    let mut own = None;
                    frame.decompose(a, frame.roll_up(&t.cuboid, a, table.clone()), &mut |c, part| {
                        if c == *a {
                            own = Some(part);
                        }
                    });
                    Ok(own)
                });
            for (x, y) in built.unwrap().iter().zip(&table) {
                prop_assert!((x - y).abs() < 1e-7 * (1.0 + y.abs()), "{x} is not {y}");
            }
        }
    }
}

/// Cells declared empty hold all areas of a tree together. What hangs below an area that a question does not tell apart is one node to them, of whatever
/// shape it is: here over three levels of unequal groups, with conditions beside the tree and in it.
#[test]
fn cells_declared_empty_beside_a_tree() {
    let coarser = [vec![0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1], vec![0, 0, 0, 0, 1, 1, 2, 0, 0, 1, 2]];
    let cube = Cube { dimensions: vec![tree("d0", 11, &coarser), plain("d1", 3), plain("d2", 2)] };
    let label = |level: Level, node: usize| {
        format!("{} = '{}'", cube.level_name(level), level.of(&cube).labels[node])
    };
    let [block, county, one, two] = [(0, 3), (0, 1), (1, 1), (2, 1)].map(|(d, l)| Level::new(d, l));
    let both = |a: String, b: String| format!("{a} AND {b}");
    let beside = both(label(one, 2), label(two, 1));
    let of_block = both(label(block, 5), label(one, 0));
    let of_county = both(label(county, 1), label(two, 0));
    let tables = [
        vec![(0, 1), (1, 1), (2, 1)],
        vec![(0, 2), (1, 1)],
        vec![(0, 2), (2, 1)],
        vec![(0, 3), (1, 1), (2, 1)],
        vec![(1, 1), (2, 1)],
    ];
    let workload: Vec<Table> = tables.map(|t| Table::new(Cuboid::new(t), Rational::ONE)).to_vec();
    for zeros in [vec![beside.clone()], vec![of_block.clone()], vec![beside, of_block, of_county]] {
        let mut r = request(cube.clone(), workload.clone(), Noise::Gaussian, "1/3");
        r.measure = Some(Measure::Residual);
        r.zeros.extend(zeros.iter().cloned());
        let plan = plan(&r).unwrap().plan;
        assert!(plan.rows().measurements.iter().all(|m| matches!(m.block, Block::Component(_))));
        let (values, dense, mut blocks) = answers(&cube, &plan, 5);
        let declared: Vec<Filter> =
            zeros.iter().map(|z| margins::recover::zeros::filter(&cube, z).unwrap()).collect();
        let empty = |at: usize| declared.iter().any(|f| f.weight_at(&cell_at(&cube, at)).unwrap() != 0.0);
        let filled = DVector::from_fn(66, |at, _| if empty(at) { 0.0 } else { 1.0 });
        blocks.iter_mut().for_each(|b| b.rows *= DMatrix::from_diagonal(&filled));
        let evaluator = Evaluator::new(Recovery::new(cube.clone(), plan, values).unwrap());
        let mut kinds = std::collections::BTreeSet::new();
        for table in &workload {
            let by: Vec<Level> = table.cuboid.iter().collect();
            let q = query_matrix(&cube, &Filter::everything(), &by) * DMatrix::from_diagonal(&filled);
            let estimates = blue_estimate(&blocks, &dense, &q);
            let variances = blue_covariance(&blocks, &q).diagonal();
            let groups = evaluator.aggregate(&Filter::everything(), &by).unwrap();
            assert_eq!(groups.len(), q.nrows());
            for (g, (e, v)) in groups.iter().zip(estimates.iter().zip(variances.iter())) {
                assert!((g.estimate - e).abs() < 1e-5 * (1.0 + e.abs()), "{} is not {e}", g.estimate);
                let law = g.law.variance();
                assert!(
                    (law - v).abs() < 1e-6 * (1e-3 + v.abs()),
                    "{zeros:?} {table:?}: variance {law} is not {v}"
                );
                kinds.insert((v * 1e6).round() as u64);
            }
        }
        assert!(kinds.len() > 15, "{}", kinds.len());
    }
}

/// What no condition empties alone several may: the table of an area and the dimension that they do not name is empty where they cover the area.
#[test]
fn conditions_that_cover_an_area_together() {
    let cube = Cube { dimensions: vec![plain("d0", 2), plain("d1", 3), plain("d2", 2)] };
    let tables = [vec![(0, 1), (1, 1)], vec![(0, 1), (2, 1)]];
    let workload: Vec<Table> = tables.map(|t| Table::new(Cuboid::new(t), Rational::ONE)).to_vec();
    let label = |d: usize, node: usize| {
        let level = Level::new(d, 1);
        format!("{} = '{}'", cube.level_name(level), level.of(&cube).labels[node])
    };
    let mut r = request(cube.clone(), workload.clone(), Noise::Gaussian, "1/3");
    r.measure = Some(Measure::Residual);
    r.zeros.extend((0..3).map(|node| format!("{} AND {}", label(0, 0), label(1, node))));
    let plan = plan(&r).unwrap().plan;
    let (values, dense, mut blocks) = answers(&cube, &plan, 5);
    let filled = DVector::from_fn(12, |at, _| if cell_at(&cube, at)[0] == 0 { 0.0 } else { 1.0 });
    blocks.iter_mut().for_each(|b| b.rows *= DMatrix::from_diagonal(&filled));
    let evaluator = Evaluator::new(Recovery::new(cube.clone(), plan, values).unwrap());
    for table in &workload {
        let by: Vec<Level> = table.cuboid.iter().collect();
        let q = query_matrix(&cube, &Filter::everything(), &by) * DMatrix::from_diagonal(&filled);
        let (estimates, variances) =
            (blue_estimate(&blocks, &dense, &q), blue_covariance(&blocks, &q).diagonal());
        let groups = evaluator.aggregate(&Filter::everything(), &by).unwrap();
        for (g, (e, v)) in groups.iter().zip(estimates.iter().zip(variances.iter())) {
            let law = g.law.variance();
            assert!(
                (g.estimate - e).abs() < 1e-6 && (law - v).abs() < 1e-6,
                "{} ± {law} is not {e} ± {v}",
                g.estimate
            );
        }
        assert!(groups.iter().any(|g| g.estimate == 0.0 && g.law.variance() == 0.0));
    }
}
