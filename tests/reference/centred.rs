//! A secret centre is in every noise with the noise's own sign: of rows that are otherwise alike one may have it and the other not.

use crate::dense::plain;
use margins::answer::Evaluator;
use margins::cube::{Cube, Cuboid, Filter, Level};
use margins::exact::Rational;
use margins::law::NoiseLaw;
use margins::plan::copies::Centres;
use margins::plan::{Block, Mode, Noise, Plan, Recipient, Table};
use margins::planner::{PlanError, Request, plan, strategy};
use margins::recover::Recovery;
use margins::sql::Aggregate;

/// Answers from measurements that all are 0, or where the centre is off by this.
fn evaluator(cube: &Cube, plan: &Plan, off: i64) -> Evaluator<Vec<Vec<i64>>> {
    let frame = margins::cube::Frame::new(cube, &plan.levels);
    let values = plan.rows().measurements.iter().map(|m| {
        // A centre cancels in published contrasts.
        let cancels = match &m.block {
            Block::Component(a) => !a.is_empty(),
            Block::Based(b) => b.axes.iter().any(|told| told.basis().is_none()),
            _ => false,
        };
        vec![if cancels { 0 } else { off }; m.block.values(&frame)]
    });
    Evaluator::new(Recovery::new(cube.clone(), plan.clone(), values.collect()).unwrap())
}

/// Under every strategy and both noises each row of GROUP BY is what WHERE says of it, and has the centre as often as its estimate does.
#[test]
fn rows_have_their_own_share_of_the_centre() {
    let of = |d: &[usize]| Table::new(Cuboid::new(d.iter().map(|&d| (d, 1))), Rational::ONE);
    let mut tried = 0;
    for measure in strategy::general() {
        for noise in [Noise::Gaussian, Noise::Laplace] {
            let cube = Cube { dimensions: vec![plain("a", 2), plain("b", 4), plain("c", 3)] };
            let mut request = Request::new(cube, vec![of(&[0]), of(&[0, 1]), of(&[2])], noise, Rational::ONE);
            request.measure = Some(measure);
            let planned = match plan(&request) {
                Ok(planned) => planned.plan,
                Err(PlanError::NotApplicable(..)) => continue,
                Err(e) => panic!("{measure:?} {noise:?}: {e}"),
            };
            let cube = request.over(measure).cube.clone();
            let recipients = ["a", "b"].map(|name| Recipient { name: name.into(), factor: Rational::ONE });
            let mode = Mode::Shifted { centres: Centres::new(0, 40).unwrap() };
            let copy = planned.copies(mode, recipients.into()).unwrap().swap_remove(0);
            let (held, higher) = (evaluator(&cube, &copy, 0), evaluator(&cube, &copy, 1));
            for dims in [&[0][..], &[0, 1], &[2]] {
                let levels: Vec<Level> =
                    dims.iter().map(|&d| Level::new(d, cube.dimensions[d].finest())).collect();
                let grouped = held.aggregate(&Filter::everything(), &levels).unwrap();
                let moved = higher.aggregate(&Filter::everything(), &levels).unwrap();
                for (row, moved) in grouped.iter().zip(&moved) {
                    let name = format!("{measure:?} {noise:?} {dims:?} {:?}", row.nodes);
                    let mut filter = Filter::everything();
                    for (level, &node) in levels.iter().zip(&row.nodes) {
                        let inside: Vec<bool> =
                            (0..level.of(&cube).len()).map(|n| n == node as usize).collect();
                        filter = filter.and(&Filter::nodes(level.dimension, &inside)).unwrap();
                    }
                    let alone = &held.aggregate(&filter, &[]).unwrap()[0];
                    let same =
                        |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * (1.0 + a.abs()), "{name}: {a} {b}");
                    same(row.estimate, alone.estimate);
                    same(row.law.std_error(), alone.law.std_error());
                    same(row.law.half_width(0.95), alone.law.half_width(0.95));
                    let aggregate = [Aggregate::rows(filter, None)];
                    same(row.law.variance(), held.law(&aggregate, &[1.0], &[], &[]).unwrap().variance());
                    let centre =
                        row.law.terms().iter().filter(|t| matches!(t.noise, NoiseLaw::Uniform { .. }));
                    let share: f64 = centre.map(|t| t.coefficient.abs()).sum();
                    same(share, (moved.estimate - row.estimate).abs());
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 100, "{tried}");
}
