//! Copies of releases with amounts: the noise of each copy in every channel, what copies cost alone and together, and that they verify and answer.

use super::*;
use crate::answer::{Several, collude};
use crate::compile::{Job, Released};
use crate::plan::Mode;
use crate::planner::Look;
use crate::planner::copies::Copies as Planned;
use crate::recover::noise_of;
use crate::secret::ingest::Rows;

pub(super) const NESTED: &str = "mode = \"nested\"";
const SHIFTED: &str = "mode = \"shifted\"\nmean = 20";
const NAMES: [&str; 3] = ["office", "school", "press"];

/// The same spec for three recipients: all of its budget, a third and a twentieth.
pub(super) fn for_three(of: &Spec, mode: &str) -> Spec {
    let (key, budget) = match of.privacy.budget {
        crate::spec::Budget::Rho(rho) => ("rho", rho),
        crate::spec::Budget::Epsilon(epsilon) => ("epsilon", epsilon),
        crate::spec::Budget::EpsilonDelta(..) => panic!("no such test"),
    };
    let part = |n: u128| budget.checked_div(crate::exact::Rational::whole(n)).unwrap();
    let each = [(NAMES[2], part(20)), (NAMES[0], budget), (NAMES[1], part(3))];
    let each = each.map(|(name, part)| format!("[[recipient]]\nname = \"{name}\"\n{key} = \"{part}\"\n"));
    spec(&format!("{}[recipients]\n{mode}\n{}", of.source, each.concat()))
}

fn planned(spec: &Spec) -> Planned {
    let Job::Tables(choice) = Job::of(spec, Look::Needed).unwrap_or_else(|e| panic!("{e}")) else {
        panic!("a projection")
    };
    *choice.copies.unwrap()
}

/// Row i of 60: its cell, and the steps that its value is above the least.
fn row(i: u32) -> [u32; 3] {
    [i % 2, i % 3, (i * 37) % 506]
}

/// The integers of each copy and measurement, from this seed.
fn measured(spec: &Spec, plans: &[Plan], seed: u64) -> Vec<Vec<Vec<i64>>> {
    let column = |at: usize| (0..60).map(|i| row(i)[at]).collect::<Vec<u32>>();
    let rows = Rows::from_codes(&[2, 3, 506], &[column(0), column(1), column(2)]).unwrap();
    super::measured(&spec.cube, plans, rows, seed, narrow)
}

/// Of two lists around their own means: how many standard errors their correlation is from 0.
fn correlated(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let mean = |v: &[f64]| v.iter().sum::<f64>() / n;
    let (ma, mb) = (mean(a), mean(b));
    let sum = |of: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(x, y)| of(x - ma, y - mb)).sum::<f64>();
    (sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt() * n.sqrt()).abs()
}

/// A centre moves the counts of its copy, each by as much, and no sum.
#[test]
fn centres_move_counts_alone() {
    let of = |low: u32| {
        let alone = paid("rho = 1", "zero", "[strategy]\nmeasure = \"queries\"", "");
        let spec = for_three(&alone, &format!("mode = \"shifted\"\ncentres = [{low}, {}]", low + 10));
        let plans = planned(&spec).plans;
        (measured(&spec, &plans, 7), plans)
    };
    let ((near, plans), (far, _)) = (of(0), of(100));
    let mut sums = 0;
    for (near, far) in near.iter().zip(&far) {
        for (i, (near, far)) in near.iter().zip(far).enumerate() {
            let (channel, _) = plans[0].measurement(i).unwrap();
            let moved = if channel.subject == Subject::Rows { 100 } else { 0 };
            sums += u32::from(moved == 0);
            assert!(near.iter().zip(far).all(|(a, b)| b - a == moved), "{i}: {near:?} {far:?}");
        }
    }
    assert_eq!(sums, 3);
}

/// Every copy's sums have noise of the copy's own law. Nested, what a copy has more than the one before is independent of it; shifted, copies have nothing in common, and
/// only counts have a centre.
#[test]
fn sums_of_copies_have_their_own_laws() {
    for (privacy, mode) in
        [("rho = 1", NESTED), ("epsilon = 2", NESTED), ("rho = 1", SHIFTED), ("epsilon = 2", SHIFTED)]
    {
        let plain = paid(privacy, "stop", "[strategy]\nmeasure = \"base\"", "");
        let spec = for_three(&plain, mode);
        let plans = planned(&spec).plans;
        let channels: Vec<&Subject> = plans[0].channels.iter().map(|c| &c.subject).collect();
        assert!(matches!(channels[..], [Subject::Rows, Subject::Sum(_)]) && plans[0].measured() == 2);
        let mut truth = vec![vec![0i64; 6]; 2];
        for [sex, age, step] in (0..60).map(row) {
            let cell = (3 * sex + age) as usize;
            truth[0][cell] += 1;
            truth[1][cell] += 2 * i64::from(step) - 505;
        }
        // Of each copy and channel.
        let mut errors = vec![vec![Vec::new(); 2]; 3];
        for seed in 0..tries(300, 900) as u64 {
            for (errors, copy) in errors.iter_mut().zip(measured(&spec, &plans, seed)) {
                for ((errors, values), truth) in errors.iter_mut().zip(copy).zip(&truth) {
                    errors.extend(values.iter().zip(truth).map(|(v, t)| (v - t) as f64));
                }
            }
        }
        let n = errors[0][0].len() as f64;
        for (k, plan) in plans.iter().enumerate() {
            for channel in 0..2 {
                let who = format!("{privacy} {mode}: copy {k}, channel {channel}");
                let noises: f64 = noise_of(plan, channel).iter().map(|law| law.variance()).sum();
                // One centre for six cells: uniform on 0 to 40.
                let centred = mode == SHIFTED && channel == 0;
                let variance = noises + if centred { 41.0 * 41.0 / 12.0 } else { 0.0 };
                let mean = errors[k][channel].iter().sum::<f64>() / n;
                let middle = if centred { 20.0 } else { 0.0 };
                let one = (noises / n).sqrt() + if centred { 12.0 / (n / 6.0).sqrt() } else { 0.0 };
                assert!((mean - middle).abs() < 4.5 * one, "{who}: {mean}");
                let found = errors[k][channel].iter().map(|e| (e - middle).powi(2)).sum::<f64>() / n;
                // The kurtosis of no noise is above 6; what cells have in common is a centre.
                let off = 4.5 * (5.0 * if centred { 6.0 } else { 1.0 } / n).sqrt();
                assert!((found / variance - 1.0).abs() < off, "{who}: {found} {variance}");
                assert!(k == 0 || found > 1.5 * noise_of(&plans[k - 1], channel)[0].variance(), "{who}");
            }
        }
        for k in 1..3 {
            let (before, own) = (&errors[k - 1][1], &errors[k][1]);
            let step: Vec<f64> = own.iter().zip(before).map(|(own, before)| own - before).collect();
            let (apart, more) = (correlated(before, own), correlated(before, &step));
            // What is much more precise than the other has little in common with it.
            let much = if k == 1 { 5.0 } else { 2.0 };
            match mode {
                NESTED => assert!(apart > much && more < 4.5, "{privacy} {mode} {k}: {apart} {more}"),
                _ => assert!(apart < 4.5 && more > much, "{privacy} {mode} {k}: {apart} {more}"),
            }
        }
    }
}

/// No neighbours are told apart by one copy more than it costs, and the dearest are nearly so; all together cost the first, or the sum.
#[test]
fn copies_cost_what_their_dearest_neighbours_do() {
    for (privacy, missing, strategy) in WAYS {
        for mode in [NESTED, SHIFTED] {
            let of = squared(&paid(privacy, missing, strategy, ""));
            let copies = planned(&for_three(&clamping::watched(&of, "0.1"), mode));
            let reach = copies.plans[0].summed().next().unwrap().0.reach() as i64;
            let codes = [None, Some(-1), Some(0), Some(reach / 2), Some(reach), Some(reach + 1)];
            for (plan, said) in copies.plans.iter().zip(&copies.costs) {
                let frame = Frame::new(&of.cube, &plan.levels);
                let each: Vec<Vec<f64>> = (0..6)
                    .flat_map(|c| codes.map(|code| moves(plan, &frame, [c / 3, c % 3], code)))
                    .collect();
                let cost = |v: &mut dyn Iterator<Item = f64>| match plan.noise {
                    Noise::Gaussian => v.map(|x| x * x).sum::<f64>() / 2.0,
                    Noise::Laplace => v.map(f64::abs).sum::<f64>(),
                };
                let mut dearest = each.iter().map(|v| cost(&mut v.iter().copied())).fold(0.0, f64::max);
                if plan.neighbours == Neighbours::Substitute {
                    let pairs = each.iter().flat_map(|a| each.iter().map(move |b| a.iter().zip(b)));
                    dearest = pairs.map(|pair| cost(&mut pair.map(|(a, b)| a - b))).fold(0.0, f64::max);
                }
                let total = said.total.to_f64();
                let who = format!("{privacy} {mode} {:?}: {dearest} {total}", plan.recipient());
                assert!(dearest <= total * (1.0 + 1e-9) && said.total <= plan.budget, "{who}");
                // Where noise is hardly wider than a count, a nested copy may have more of it than it needs.
                let least = match (plan.neighbours, plan.noise) {
                    (Neighbours::Substitute, _) => 0.3,
                    (_, Noise::Gaussian) if mode == NESTED => 0.8,
                    _ => 0.99,
                };
                assert!(dearest >= least * total, "{who}");
            }
            let costs = copies.costs.iter().map(|c| c.total.to_f64());
            let joint: f64 = if mode == NESTED { copies.costs[0].total.to_f64() } else { costs.sum() };
            assert!((copies.joint.to_f64() / joint - 1.0).abs() < 1e-12, "{privacy} {mode}");
        }
    }
}

fn open(released: &Released) -> Vec<Answers> {
    let files = std::iter::once(&released.sealed).chain(&released.further);
    files.map(|file| Answers::open(&file.path).unwrap()).collect()
}

/// Whether the copies of a release verify, each as what it is.
fn verified(answers: &[Answers], released: &Released, mode: &str) {
    for (answers, name) in answers.iter().zip(NAMES) {
        let audit = audit::audit(answers.release(), None).unwrap();
        assert!(audit.passed(), "{name}: {audit:?}");
        let said = answers.release().manifest().recipient.as_ref().unwrap();
        assert_eq!((said.name.as_str(), said.joint_cost.amount), (name, released.job.cost()));
        assert_eq!(said.centre.as_ref().is_some_and(|c| c.contains("all counts")), mode == SHIFTED);
    }
}

/// Every copy verifies, and its intervals of counts, sums and means cover as they say.
#[test]
fn copies_of_sums_verify_and_cover() {
    let (text, rows) = rows();
    let sql = "SELECT sex, COUNT(*), SUM(pay), AVG(pay), COUNT(pay) FROM shop GROUP BY sex";
    for (privacy, missing, mode) in
        [("rho = 4", "skip", NESTED), ("epsilon = 6", "zero", NESTED), ("rho = 4", "zero", SHIFTED)]
    {
        let of = clamping::watched(&squared(&paid(privacy, missing, "", "")), "0.05");
        let spec = for_three(&of, mode);
        let draws = tries(12, 200);
        let truth: Vec<[f64; 4]> = (0..2)
            .map(|sex| {
                let own = || rows.iter().filter(|r| r.0 == sex);
                let sum: f64 = own().filter_map(|r| r.2).sum();
                let n = own().filter(|r| r.2.is_some() || missing == "zero").count() as f64;
                [own().count() as f64, sum, sum / n, n]
            })
            .collect();
        let one = |draw: usize| {
            let mut covered = [0usize; 12];
            let dir = tempfile::tempdir().unwrap();
            let made = released_from(dir.path(), &spec, &text);
            let copies = open(&made);
            if draw == 0 {
                verified(&copies, &made, mode);
            }
            for (k, answers) in copies.iter().enumerate() {
                let table = answers.query(sql, 0.9).unwrap();
                for (row, truth) in table.rows.iter().zip(&truth) {
                    for (i, (f, want)) in row.iter().filter_map(figure).zip(truth).enumerate() {
                        covered[4 * k + i] += usize::from(f.low - 1e-6 <= *want && *want <= f.high + 1e-6);
                    }
                }
            }
            covered
        };
        let least = least_covered(draws);
        for (i, covered) in added_up(draws, one).iter().enumerate() {
            let rate = *covered as f64 / (2 * draws) as f64;
            assert!(rate >= least, "{privacy} {mode}: copy {}, figure {}: {rate}", i / 4, i % 4);
        }
    }
}

/// Copies that are asked together: of nested ones the best answers, for sums as for counts; shifted ones are combined. Colluders have what is said.
#[test]
fn copies_of_sums_asked_together() {
    let sql = "SELECT sex, SUM(pay) FROM shop GROUP BY sex";
    for mode in [NESTED, SHIFTED] {
        let dir = tempfile::tempdir().unwrap();
        let made = released_from(dir.path(), &for_three(&paid("rho = 1", "zero", "", ""), mode), &rows().0);
        let errors = |several: &Several| -> Vec<f64> {
            let table = several.ask(sql, &crate::answer::Options::at(0.9)).unwrap();
            table.rows.iter().flatten().filter_map(figure).map(|f| f.std_error).collect()
        };
        let best = errors(&Several::new(open(&made).into_iter().take(1).collect()).unwrap());
        let all = errors(&Several::new(open(&made)).unwrap());
        let collusion = collude::collude(&open(&made), Some(sql)).unwrap();
        for ((best, all), row) in best.iter().zip(&all).zip(&collusion.rows) {
            assert!((row.best / best - 1.0).abs() < 1e-9);
            match collusion.mode {
                Mode::Nested => assert!(best == all && row.least == row.best && row.mean > row.best),
                Mode::Shifted { .. } => assert!(*all < 0.9 * best && row.least < 0.9 * row.best),
            }
        }
    }
}

/// Whoever changes what a copy says of its sums is found out: the section speaks of the most precise copy's noise.
#[test]
fn lies_about_copies_of_sums_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap();
    let spec = for_three(&paid("rho = 1", "zero", "", ""), NESTED);
    let made = released_by(&key, dir.path(), &spec, &rows().0);
    let release = Release::open(&made.further[0].path).unwrap();
    let passes = |forged: Result<Release, crate::release::ReleaseError>| {
        forged.is_ok_and(|release| audit::audit(&release, None).is_ok_and(|audit| audit.passed()))
    };
    assert!(passes(resealed(&release, &key, |_, _| {})));
    let length = release.section(Kind::Sums, 0).unwrap().len();
    for byte in (0..length.saturating_sub(24)).step_by(tries(5, 1)) {
        assert!(
            !passes(resealed(&release, &key, |_, bodies| {
                let body = bodies.iter_mut().find(|(tag, _)| *tag == Kind::Sums.tag()).unwrap();
                body.1[byte] ^= 1;
            })),
            "byte {byte}"
        );
    }
}

/// Copies that say that they are of one measuring, and say different things of its noise, are not: nobody pools them or sets one aside for the other.
#[test]
fn copies_that_contradict_each_other_are_refused_together() {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap();
    let made = released_by(&key, dir.path(), &for_three(&paid("rho = 1", "zero", "", ""), NESTED), &rows().0);
    let path = |at: usize| if at == 0 { &made.sealed.path } else { &made.further[at - 1].path };
    let release = Release::open(path(1)).unwrap();
    let forged = |change: &dyn Fn(&mut crate::plan::Copy)| {
        let mut plan = release.plan(&release.cube().unwrap()).unwrap();
        change(plan.copy.as_mut().unwrap());
        let body = crate::release::copies::encode(&plan).unwrap().unwrap();
        let forged = resealed(&release, &key, |_, bodies| {
            bodies.iter_mut().find(|(tag, _)| *tag == Kind::Copies.tag()).unwrap().1.clone_from(&body);
        });
        Answers::from_release(forged.unwrap()).unwrap()
    };
    let together = |at: usize, other: Answers| {
        let both = || vec![Answers::open(path(at)).unwrap(), forged(&|_| ())];
        assert!(Several::new(both()).is_ok() && collude::collude(&both(), None).is_ok());
        let ask = [Answers::open(path(at)).unwrap(), other];
        let colluding = collude::collude(&ask, None).unwrap_err().to_string();
        let ask = Several::new(ask.into()).err().unwrap().to_string();
        assert_eq!(ask, colluding);
        ask
    };
    let louder: &dyn Fn(&mut crate::plan::Copy) =
        &|copy| copy.further[0][0] = copy.further[0][0].checked_add(crate::exact::Rational::ONE).unwrap();
    let why = together(2, forged(louder));
    assert!(why.contains("do not say the same of the noise that was added from copy to copy"), "{why}");
    let why = together(0, forged(&|copy| copy.recipients[2].name = "others".into()));
    assert!(why.contains("do not name the same recipients and budgets"), "{why}");
}

/// No copy changes what is published without noise: with another exact sum it is none of the one that is said to be more precise.
#[test]
fn copies_with_other_exact_sums_are_refused_together() {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap();
    let made =
        released_by(&key, dir.path(), &for_three(&told::exactly("rho = 1", "zero", ""), NESTED), &rows().0);
    let release = Release::open(&made.further[0].path).unwrap();
    let cube = release.cube().unwrap();
    let plan = release.plan(&cube).unwrap();
    let (channel, values, mut exact) = release.beside(&plan.of_rows(), &cube).unwrap().remove(0);
    exact[0][0] -= 2;
    let body = crate::release::channels::encode(&plan, &cube, &channel, (&values[..], &exact[..])).unwrap().1;
    let forged = || {
        let forged = resealed(&release, &key, |_, bodies| {
            bodies.iter_mut().find(|(tag, _)| *tag == Kind::Sums.tag()).unwrap().1.clone_from(&body);
        });
        Answers::from_release(forged.unwrap()).unwrap()
    };
    assert!(Several::new(open(&made)).is_ok());
    let first = || Answers::open(&made.sealed.path).unwrap();
    for both in [vec![first(), forged()], vec![forged(), first()]] {
        let why = Several::new(both).err().unwrap().to_string();
        assert!(why.contains("the sums of pay by sex") && why.contains("contradict each other"), "{why}");
    }
}
