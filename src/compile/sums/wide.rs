//! Sums whose integers take more than 64 bits: the integers against those that are worked out by hand, the truth, copies, releases asked together, and files that nobody wrote.

use super::copies::{NESTED, for_three};
use super::*;
use crate::answer::Several;
use crate::cube::{Integer, Integers};
use crate::plan::{Block, Channel};
use crate::planner::capacity;
use crate::secret::count::Data;
use crate::secret::ingest::Rows;

/// Steps between the bounds.
const STEPS: u32 = 10_000_000;

/// `n × n × n` cells by components: with `square` the integers of a few hundred rows take more than 64 bits.
fn by_three(n: u32, rho: &str, square: &str) -> Spec {
    let dimension = |name| format!("[[dimension]]\nname = \"{name}\"\nrange = [0, {}]\n", n - 1);
    spec(&format!(
        "name = \"shop\"\ntitle = \"Shop\"\ndemo = true\n[dataset]\nid = \"shop\"\n[privacy]\nunit = \"row\"\nrho = {rho}\n[strategy]\nmeasure = \"residual\"\n{}\
         [[amount]]\nname = \"pay\"\nlow = 0\nhigh = {STEPS}\n{square}\n[[table]]\nof = [\"a\", \"b\", \"c\"]\nsum = [\"pay\"]\n",
        ["a", "b", "c"].map(dimension).concat()
    ))
}

const SQUARE: &str = "step = 1\nsquare = true";

/// Row i: where it is, and what it has: most are in one cell, at one end.
fn row(i: u32, n: u32) -> ([u32; 3], u32) {
    match i % 8 {
        0 => ([i / 8 % n, i * i % n, i / 7 % n], i.wrapping_mul(2_654_435_761) % STEPS),
        1 => ([n - 1; 3], 0),
        _ => ([n - 1; 3], STEPS),
    }
}

fn text(rows: u32, n: u32) -> String {
    let line = |i| {
        let ([a, b, c], pay) = row(i, n);
        format!("{a},{b},{c},{pay}\n")
    };
    "a,b,c,pay\n".to_owned() + &(0..rows).map(line).collect::<String>()
}

/// Without noise, without this program: a component's contrasts of a table, times its scale, and plainly in 128 bits.
fn contrasts(block: &Block, n: u32, adds: &dyn Fn(u32) -> i128, rows: u32) -> Vec<i128> {
    let Block::Component(own) = block else { panic!("another block") };
    let dims: Vec<usize> = own.iter().map(|level| level.dimension).collect();
    let scale = i128::from(n).pow(dims.len() as u32);
    let sum = |at: &[u32]| -> i128 {
        let inside = |i: &u32| dims.iter().zip(at).all(|(&d, &node)| row(*i, n).0[d] == node);
        (0..rows).filter(inside).map(adds).sum()
    };
    let all = (n - 1).pow(dims.len() as u32);
    let contrast = |k: u32| -> i128 {
        let mut left = k;
        let mut at: Vec<u32> = dims.iter().map(|_| 0).collect();
        for place in at.iter_mut().rev() {
            (*place, left) = (left % (n - 1) + 1, left / (n - 1));
        }
        // Each difference is of the node and the first.
        let signed = |subset: u32| {
            let first = |(d, &node): (usize, &u32)| if subset >> d & 1 == 1 { 0 } else { node };
            let corner: Vec<u32> = at.iter().enumerate().map(first).collect();
            let sign = if subset.count_ones() % 2 == 1 { -1 } else { 1 };
            sign * sum(&corner)
        };
        scale * (0..1u32 << dims.len()).map(signed).sum::<i128>()
    };
    (0..all).map(contrast).collect()
}

/// Whether some take more than 64 bits.
fn wide(values: &Integers) -> bool {
    values.iter().any(|v| i64::try_from(v).is_err())
}

fn measured(spec: &Spec, plan: &Plan, data: Data) -> Vec<Integers> {
    super::measured(&spec.cube, std::slice::from_ref(plan), data, 5, |values| values).remove(0)
}

/// With the same noise, what rows add to each integer is exactly what it must be, whether the rows are kept or counted as they stream by; and more than 64 bits are there.
#[test]
fn rows_add_exactly_what_they_should() {
    let (n, rows) = (6, 2000);
    let spec = by_three(n, "1e6", SQUARE);
    let plan = &spec.choose(Look::Needed, &Watch::default()).unwrap().planned.plan;
    let frame = Frame::new(&spec.cube, &plan.levels);
    assert!(plan.channels.iter().any(|c| capacity::in_parts(&c.subject)));
    let column = |of: &dyn Fn(u32) -> u32| (0..rows).map(of).collect::<Vec<u32>>();
    let columns = [0, 1, 2].map(|d| column(&|i| row(i, n).0[d]));
    let [a, b, c] = columns;
    let all = [a, b, c, column(&|i| row(i, n).1)];
    let nodes = [n, n, n, STEPS + 1];
    let none: [Vec<u32>; 4] = Default::default();
    let of_rows = |columns: &[Vec<u32>]| Data::from(Rows::from_codes(&nodes, columns).unwrap());
    let noise = measured(&spec, plan, of_rows(&none));
    let found = measured(&spec, plan, of_rows(&all));
    let mut widest = 0;
    for (i, (found, noise)) in found.iter().zip(&noise).enumerate() {
        let (channel, m) = plan.measurement(i).unwrap();
        let adds = |i: u32| {
            let (t, h) = (2 * i128::from(row(i, n).1) - i128::from(STEPS), i128::from(STEPS));
            match &channel.subject {
                Subject::Sum(_) => t,
                Subject::Squares(_) => 2 * t * t - h * h,
                _ => 1,
            }
        };
        let want = contrasts(&m.block, n, &adds, rows);
        let own: Vec<i128> = found.iter().zip(noise.iter()).map(|(found, noise)| found - noise).collect();
        assert_eq!(own, want, "{i}");
        assert!(capacity::is_wide(plan, &frame, i) || !wide(found));
        widest = found.iter().map(i128::unsigned_abs).fold(widest, u128::max);
    }
    assert!(widest >> 64 > 0, "{widest}");
    // Tables of what rows add up to are as good as the rows.
    let dir = tempfile::tempdir().unwrap();
    let made = released_from(dir.path(), &spec, &text(rows, n));
    let release = Release::open(&made.sealed.path).unwrap();
    let beside = release.beside(&plan.of_rows(), &spec.cube).unwrap();
    let squares = beside.iter().find(|(c, ..)| matches!(c.subject, Subject::Squares(_))).unwrap();
    let first = plan.numbers(&squares.0.subject).start;
    for (at, values) in squares.1.iter().enumerate() {
        let (_, m) = plan.measurement(first + at).unwrap();
        // Noise of either, in each contrast 2^3 times.
        let most = 2.0 * 8.0 * plan.noise.reach(m.scale.to_f64(), 60.0);
        let far = |(a, b): (i128, i128)| ((a - b) as f64).abs() > most;
        assert!(!values.iter().zip(found[first + at].iter()).any(far), "{at}");
    }
}

/// Thirty categories in each of three dimensions and the default step, by the optimal strategy: there is room, and more than that for squares in steps as fine.
#[test]
fn what_was_refused_has_room() {
    for (rho, square) in [("\"1/2\"", ""), ("1e6", SQUARE)] {
        let spec = by_three(30, rho, square);
        let plan = spec.choose(Look::Needed, &Watch::default()).unwrap().planned.plan.clone();
        let frame = Frame::new(&spec.cube, &plan.levels);
        let most = capacity::most_rows(&plan, &frame);
        assert!(most >= 1 << 40, "{most}");
        let wide: Vec<bool> = (0..plan.measured()).map(|i| capacity::is_wide(&plan, &frame, i)).collect();
        let counts = plan.numbers(&Subject::Rows);
        assert!(!wide[counts.clone()].contains(&true) && wide[counts.end..].contains(&true));
        // One row more than there is room for is refused before anything is charged.
        assert!(capacity::check_rows(&plan, &frame, most).is_ok());
        assert!(capacity::check_rows(&plan, &frame, most + 1).is_err());
    }
}

/// Released, verified and asked: every figure is that of the rows within its noise, which is small.
#[test]
fn answers_are_near_the_rows() {
    let (n, rows) = (30, 3000);
    let (dir, key) = (tempfile::tempdir().unwrap(), SigningKey::throw_away().unwrap());
    let one = by_three(n, "1e6", SQUARE);
    let made = released_by(&key, dir.path(), &one, &text(rows, n));
    let release = Release::open(&made.sealed.path).unwrap();
    assert!(audit::audit(&release, None).unwrap().passed());
    let cube = release.cube().unwrap();
    let beside = release.beside(&release.plan(&cube).unwrap().of_rows(), &cube).unwrap();
    assert!(beside.iter().any(|(_, values, _)| values.iter().any(wide)), "nothing takes more than 64 bits");
    let answers = Answers::open(&made.sealed.path).unwrap();
    let table =
        answers.query("SELECT a, SUM(pay), AVG(pay), VARIANCE(pay) FROM shop GROUP BY a", 0.9).unwrap();
    for (a, cells) in table.rows.iter().enumerate() {
        let own: Vec<f64> =
            (0..rows).map(|i| row(i, n)).filter(|r| r.0[0] as usize == a).map(|r| f64::from(r.1)).collect();
        let (sum, count) = (own.iter().sum::<f64>(), own.len() as f64);
        let mean = sum / count;
        let variance = own.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (count - 1.0);
        let found: Vec<ResultFigure> = cells.iter().filter_map(figure).collect();
        for (f, want) in found.iter().zip([sum, mean, variance]) {
            assert!((f.estimate - want).abs() < 8.0 * f.std_error, "{a} {f:?} {want}");
            assert!(f.std_error < 0.1 * want, "{a} {f:?} {want}");
        }
    }
    // Two releases of the same rows are better than one.
    let again = spec(&one.source.replacen("\"shop\"", "\"again\"", 1));
    let again = released_by(&key, dir.path(), &again, &text(rows, n));
    let both = Several::new(vec![answers, Answers::open(&again.sealed.path).unwrap()]).unwrap();
    let joint =
        both.ask("SELECT a, SUM(pay) FROM shop GROUP BY a", &crate::answer::Options::at(0.9)).unwrap();
    for (one, both) in table.rows.iter().zip(&joint.rows) {
        let (one, both) = (figure(&one[1]).unwrap(), figure(&both[1]).unwrap());
        assert!((both.std_error / one.std_error - 0.5f64.sqrt()).abs() < 0.02, "{one:?} {both:?}");
        assert!((both.estimate - one.estimate).abs() < 8.0 * one.std_error);
    }
}

/// Nested copies are each the one before and more noise, in as many bits.
#[test]
fn copies_are_nested() {
    let (n, rows) = (12, 3000);
    let dir = tempfile::tempdir().unwrap();
    let made = released_from(dir.path(), &for_three(&by_three(n, "1e6", SQUARE), NESTED), &text(rows, n));
    let paths = std::iter::once(&made.sealed.path).chain(made.further.iter().map(|f| &f.path));
    let (mut before, mut many) = (None::<Vec<Vec<Integers>>>, 0);
    for path in paths {
        let release = Release::open(path).unwrap();
        assert!(audit::audit(&release, None).unwrap().passed());
        let cube = release.cube().unwrap();
        let plan = release.plan(&cube).unwrap();
        let values: Vec<Vec<Integers>> =
            release.beside(&plan.of_rows(), &cube).unwrap().into_iter().map(|(_, v, _)| v).collect();
        many += values.iter().flatten().filter(|v| wide(v)).count();
        for (i, (own, before)) in values.iter().flatten().zip(before.iter().flatten().flatten()).enumerate() {
            let scale = plan.measurement(plan.rows().measurements.len() + i).unwrap().1.scale.to_f64();
            let most = 8.0 * plan.noise.reach(scale, 60.0);
            assert!(own.iter().zip(before.iter()).all(|(a, b)| ((a - b) as f64).abs() < most));
            assert!(own != before);
        }
        before = Some(values);
    }
    assert!(many >= 3, "{many}");
}

/// Whoever writes more bits than a value may have, fewer than there are, or something behind the last one is refused; who takes more bits than needed is read.
#[test]
fn what_nobody_writes_is_refused() {
    let (n, rows) = (8, 3000);
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap();
    let made = released_by(&key, dir.path(), &by_three(n, "1e6", SQUARE), &text(rows, n));
    let release = Release::open(&made.sealed.path).unwrap();
    let passes = |forged: Result<Release, crate::release::ReleaseError>| {
        forged.is_ok_and(|release| audit::audit(&release, None).is_ok_and(|audit| audit.passed()))
    };
    let cube = release.cube().unwrap();
    let plan = release.plan(&cube).unwrap();
    let beside = release.beside(&plan.of_rows(), &cube).unwrap();
    let at = beside.iter().position(|(c, ..)| matches!(c.subject, Subject::Squares(_))).unwrap();
    let (channel, values, _) = &beside[at];
    let encoded = |channel: &Channel, values: &[Integers]| {
        crate::release::channels::encode(&plan, &cube, channel, (values, &[])).unwrap().1
    };
    let bytes = encoded(channel, values);
    assert_eq!(bytes, release.section(Kind::Sums, at as u32).unwrap());
    let with = |bytes: &[u8]| {
        resealed(&release, &key, |_, bodies| {
            let mut sums = bodies.iter_mut().filter(|(tag, _)| *tag == Kind::Sums.tag());
            sums.nth(at).unwrap().1 = bytes.to_vec();
        })
    };
    assert!(passes(with(&bytes)));
    let last = values.last().unwrap();
    assert!(wide(last));
    let changed = |of: &dyn Fn(i128) -> i128| {
        let all = i128::all(last.iter().map(of).collect()).unwrap();
        let mut values = values.clone();
        *values.last_mut().unwrap() = all;
        encoded(channel, &values)
    };
    // The furthest that a value may be, which no noise explains but no reader can tell.
    assert!(passes(with(&changed(&|v| if v > 0 { (1 << 126) - 1 } else { -(1 << 126) }))));
    // Where the last list begins: its width, that of its widest value.
    let widest = last.iter().fold(0, |w, v| w | ((v << 1) ^ (v >> 127)) as u128);
    let width = (128 - widest.leading_zeros()) as usize;
    let begins = bytes.len() - 1 - (last.iter().count() * width).div_ceil(8);
    assert_eq!(usize::from(bytes[begins]), width);
    for width in [0, 1, 63, 64, 128, 129, 255] {
        let mut forged = bytes.clone();
        forged[begins] = width;
        assert!(!passes(with(&forged)), "{width}");
    }
    for change in [-1i32, 1] {
        let mut forged = bytes.clone();
        forged[begins] = (i32::from(forged[begins]) + change) as u8;
        assert!(!passes(with(&forged)), "{change}");
    }
    // Bits behind the last value: 343 values of an odd number of bits end within a byte.
    let bits = last.iter().count() * usize::from(bytes[begins]);
    if bits % 8 > 0 {
        let mut forged = bytes.clone();
        *forged.last_mut().unwrap() |= 0x80;
        assert!(!passes(with(&forged)));
    }
}
