//! A reader's own districts, through whole releases, against dense least squares over all cells: every row, and sums of rows.

use crate::bases::{dense, dense_answers};
use crate::dense::{blue_covariance, blue_estimate};
use crate::past::{released, row};
use margins::answer::Answers;
use margins::answer::tell::AllRows;
use margins::cube::{Filter, Level};
use margins::numeric::dice::Dice;
use margins::numeric::tries::tries;
use margins::plan::Block;
use margins::recover::Source;
use margins::release::keys::keygen;
use margins::release::{Release, SigningKey};
use margins::render::ResultCell;
use margins::sql::Aggregate;
use nalgebra::{DMatrix, DVector};

/// Places in counties of 1, 3, 5 and 2, these in two states.
fn text(measure: &str) -> String {
    let places: Vec<String> = (0..11).map(|p| format!("\"p{p}\"")).collect();
    let of = |ends: &[usize], names: &[&str]| -> String {
        let mut from = 0;
        let groups = ends.iter().zip(names).map(|(&end, name)| {
            let own = places[from..end].join(", ");
            from = end;
            format!("{name} = [{own}]")
        });
        groups.collect::<Vec<_>>().join(", ")
    };
    let (counties, states) = (of(&[1, 4, 9, 11], &["A", "B", "C", "D"]), of(&[4, 11], &["N", "S"]));
    format!(
        "name = \"areas\"\ntitle = \"Areas\"\ndemo = true\n[privacy]\nunit = \"row\"\nrho = 1\n\
         [[dimension]]\nname = \"place\"\ncategories = [{}]\n\
         levels = [{{ name = \"county\", map = {{ {counties} }} }}, {{ name = \"state\", map = {{ {states} }} }}]\n\
         [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n\
         [[table]]\nof = [\"sex\"]\n[[table]]\nof = [\"place.state\"]\n[[table]]\nof = [\"place.county\", \"sex\"]\n\
         [[table]]\nof = [\"place\"]\n[[table]]\nof = [\"place\", \"sex\"]\n[strategy]\nmeasure = \"{measure}\"\n",
        places.join(", ")
    )
}

/// A level, and some of its nodes with their labels, in up to four districts.
fn areas(dice: &mut Dice) -> (&'static str, Vec<(u64, String, String)>) {
    let (level, labels): (&'static str, Vec<String>) = match dice.below(3) {
        0 => ("place.county", ["A", "B", "C", "D"].map(String::from).to_vec()),
        _ => ("place", (0..11).map(|p| format!("p{p}")).collect()),
    };
    let mut listed = Vec::new();
    for (line, label) in (2..).zip(labels) {
        if dice.below(5) > 0 || listed.is_empty() {
            listed.push((line, label, format!("d{}", dice.below(4))));
        }
    }
    (level, listed)
}

#[test]
fn districts_are_dense_sums() {
    let key = SigningKey::from_text(&keygen(None).unwrap().secret, None).unwrap();
    let people: String = (0..400).map(|i| format!("p{},{}\n", i * i % 11, ["F", "M"][i % 3 % 2])).collect();
    let mut several = 0;
    for measure in ["residual", "queries", "hierarchy"] {
        let made = released(&text(measure), &("place,sex\n".to_owned() + &people), &key);
        let mut answers = Answers::from_release(Release::from_bytes(made).unwrap()).unwrap();
        let mut dice = Dice::new(7);
        for _ in 0..tries(12, 60) {
            let (level, listed) = areas(&mut dice);
            answers.among(level, Some("district"), &listed).unwrap();
            let recovery = answers.evaluator().recovery();
            let (cube, plan) = (recovery.cube(), recovery.plan());
            let blocks = dense(cube, plan);
            let values = |(i, m): (usize, &margins::plan::Measurement)| {
                let own = recovery.source().values(i).unwrap().iter().map(|v| v as i64).collect::<Vec<_>>();
                match &m.block {
                    Block::Based(b) => dense_answers(cube, plan, b, &own),
                    _ => DVector::from_iterator(own.len(), own.iter().map(|&v| v as f64)),
                }
            };
            let values: Vec<_> = plan.rows().measurements.iter().enumerate().map(values).collect();

            let (own, where_) = match dice.below(3) {
                0 => ("district, sex", ""),
                1 => ("district", "WHERE sex = 'F' OR place <> 'p6'"),
                _ => ("district", ""),
            };
            let sql = format!("SELECT {own}, COUNT(*) FROM areas {where_} GROUP BY {own}");
            let query = answers.parse(&sql).unwrap();
            let count = Aggregate::rows(query.filter.clone(), None);
            // The groups by their nodes, and the cells of each by what the list says.
            let district = |place: usize| {
                let county = [0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3][place];
                let label = match level {
                    "place" => format!("p{place}"),
                    _ => ["A", "B", "C", "D"][county].to_owned(),
                };
                listed.iter().find(|l| l.1 == label).map(|l| l.2.clone())
            };
            let table = answers.query(&sql, 0.95).unwrap();
            let mut wanted = Vec::new();
            for shown in &table.rows {
                let label = |at: usize| match &shown[at] {
                    ResultCell::Label(label) => label.clone(),
                    _ => panic!(),
                };
                let in_row = |place: usize, sex: usize| {
                    let counted = where_.is_empty() || sex == 0 || place != 6;
                    let sex = !own.contains("sex") || label(1) == ["F", "M"][sex];
                    counted && sex && district(place) == Some(label(0))
                };
                let q = DMatrix::from_fn(1, 22, |_, cell| f64::from(u8::from(in_row(cell / 2, cell % 2))));
                let (estimate, variance) =
                    (blue_estimate(&blocks, &values, &q)[0], blue_covariance(&blocks, &q)[(0, 0)]);
                let ResultCell::Figure(figure) = shown.last().unwrap() else { panic!() };
                assert!(
                    (figure.estimate - estimate).abs() < 1e-6 * (1.0 + estimate.abs()),
                    "{sql} {listed:?}"
                );
                let is = figure.std_error * figure.std_error;
                assert!((is - variance).abs() < 1e-6 * (1.0 + variance), "{sql} {listed:?}: {is} {variance}");
                wanted.push(q);
            }
            // All rows share their noises.
            let levels: &[Level] = &query.group_by;
            let groups = answers.evaluator().aggregate(&query.filter, levels).unwrap();
            let there: Vec<(usize, &[u32])> = groups.iter().map(|g| (0, &g.nodes[..])).collect();
            let figures = [count];
            let all = AllRows {
                portions: &[&figures],
                group_by: levels,
                coarser: &[],
                rows: &there,
                most: 1 << 24,
            };
            let joint = answers.evaluator().joint_rows(&all).unwrap().unwrap();
            let weights: Vec<f64> = there.iter().map(|_| dice.below(7) as f64 - 3.0).collect();
            let mut q = DMatrix::zeros(1, 22);
            for (group, weight) in groups.iter().zip(&weights) {
                let mut own = figures[0].filter.clone();
                for (level, &node) in levels.iter().zip(&group.nodes) {
                    let d = &cube.dimensions[level.dimension];
                    let inside: Vec<bool> =
                        d.ancestors(d.finest(), level.level).iter().map(|n| *n == node).collect();
                    own = own.and(&Filter::nodes(level.dimension, &inside)).unwrap();
                }
                q += row(&own, cube) * *weight;
            }
            let want = blue_covariance(&blocks, &q)[(0, 0)];
            let is = joint.combine(&weights).unwrap().variance();
            assert!((is - want).abs() < 1e-6 * (1.0 + want), "{sql}: {is} {want}");
            several += usize::from(wanted.len() > 2);
        }
    }
    assert!(several > 5, "{several}");
}
