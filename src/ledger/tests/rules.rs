//! Each rule by itself: what it just lets pass, and what it just refuses, with its own words.

use super::super::cells::{Along, Cells, MOST_CLASSES, Same};
use super::*;
use crate::release::{Accounting, Approximate};
use std::collections::BTreeSet;

fn approximate(epsilon: &str, delta: &str) -> Bound {
    Bound { epsilon: Some(r(epsilon)), delta: Some(r(delta)), rho: None }
}

/// An entry with words where a signature stands.
fn signed(said: Said) -> Entry {
    Entry { signer: Some("s".into()), signature: Some("s".into()), ..entry(said, ROOT) }
}

#[test]
fn bounds_have_a_probability_and_a_noise() {
    for good in [pure("1"), in_rho("1"), approximate("1", "1e-9"), approximate("1", "0.999")] {
        assert_eq!(good.sound(), Ok(()), "{good}");
        assert_eq!(good.delta(), good.delta);
    }
    for (bad, why) in [
        (approximate("1", "0"), "not a probability"),
        (approximate("1", "1"), "not a probability"),
        (approximate("1", "2"), "not a probability"),
        (approximate("1e31", "1e-9"), "no noise that can be drawn"),
    ] {
        assert!(bad.sound().is_err_and(|said| said.contains(why)), "{bad}");
    }
}

/// All of a bound may be spent, and no more; what is left is exact where charges add up, and else short of the most by less than one part in 2^32.
#[test]
fn what_is_left_is_all_that_is_left() {
    let charges = [epsilon("0.1234567890123"), rho("0.1234567890123")];
    for (bound, before, left) in [
        (pure("1"), &charges[0], "0.8765432109877"),
        (in_rho("1/2"), &charges[1], "0.3765432109877"),
        (in_rho("0.1234567890123"), &charges[1], "0"),
    ] {
        assert_eq!(bound.left(&[before], before), r(left), "{bound}");
        let with = |more: &str| {
            bound.holds(&spent(&[before.clone(), Charge { charged: r(more), ..before.clone() }]))
        };
        assert!(left == "0" || with(left), "{bound}");
        assert!(!with(&format!("{left}1")) && bound.holds(&spent(std::slice::from_ref(before))), "{bound}");
    }
    // ε under a bound of ρ counts by its square, and beside what was spent under a bound of (ε, δ).
    for (bound, before, like) in [
        (in_rho("1"), rho("1/3"), epsilon("1")),
        (approximate("1", "1e-9"), rho("1/1000"), rho("1")),
        (approximate("1", "1e-9"), rho("1/1000"), epsilon("1")),
        (approximate("3", "1e-6"), epsilon("1/1000"), rho("1")),
    ] {
        let left = bound.left(&[&before], &like);
        let holds = |times: f64| {
            let amount = format!("{:.15e}", left.to_f64() * times);
            bound.holds(&spent(&[before.clone(), Charge { charged: r(&amount), ..like.clone() }]))
        };
        assert!(holds(1.0 - 1e-14) && !holds(1.0 + 2.4e-10), "{bound} {left}");
    }
}

#[test]
fn a_line_says_why_it_does_not_follow() {
    let (_dir, ledger) = ledger();
    let key = key();
    ledger.bind(in_rho("2"), DAY).unwrap();
    let receipt = ledger.charge(rho("1"), &key, DAY).unwrap();
    ledger.sealed(&receipt, &[ROOT], &key, DAY).unwrap();
    let (chain, text) = (ledger.chain().unwrap(), fs::read_to_string(ledger.path()).unwrap());
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let read = |text: &str| Chain::of(text.as_bytes()).unwrap_err();
    assert!(matches!(read(&[lines[0], lines[2]].concat()), LedgerError::Chain { line: 2 }));
    // What is closed already, and what is no charge.
    for charge in [&receipt.charge[..], ROOT] {
        let closing = entry(Said::Sealed { charge: charge.into(), files: vec![ROOT.into()] }, chain.head());
        let line = String::from_utf8(canonical::to_bytes(&closing).unwrap()).unwrap();
        let why = read(&(text.clone() + &line)).to_string();
        assert!(why.contains("closes no open charge"), "{why}");
    }
    let why = |said: Said, previous: &str| chain.accepts(&entry(said, previous)).unwrap_err();
    assert!(why(Said::Bound(in_rho("3")), chain.head()).contains("never changed"));
    assert!(why(Said::Bound(in_rho("3")), ROOT).contains("does not follow"));
    // A line of the first kind of ledger has a status and a charge, and no kind.
    for other in [
        "{\"status\":\"a\"}\n",
        "{\"charged\":\"1\"}\n",
        "{\"charged\":\"1\",\"kind\":\"a\",\"status\":\"a\"}\n",
    ] {
        assert!(matches!(read(other), LedgerError::Line { line: 1, .. }), "{other}");
    }
}

/// What counts less than its amount is named by its line, and counts for that only where the line is believed.
#[test]
fn what_counts_less_is_claimed_by_its_line() {
    let key = key();
    let alone = Some(Alone { epsilon: r("1"), delta: r("1e-9") });
    let charged = |alone: Option<Alone>| {
        let (dir, ledger) = ledger();
        ledger.charge(Charge { alone, ..rho("0.0165") }, &key, DAY).unwrap();
        (ledger.chain().unwrap(), dir)
    };
    let (plain, _dir) = charged(None);
    assert_eq!(plain.claiming(), BTreeSet::new());
    let (chain, _dir) = charged(alone);
    assert_eq!(chain.claiming(), BTreeSet::from([2]));
    let at = |lines: &[usize]| {
        chain.spent_for_sure(&lines.iter().copied().collect()).epsilon_at(r("1e-9")).unwrap().to_f64().value()
    };
    assert_eq!(at(&[2]), 1.0);
    assert!(at(&[]) > 1.04 && at(&[1]) > 1.04 && at(&[3]) > 1.04);
}

#[test]
fn a_release_alone_has_its_own_law() {
    let stated = |accounting| Approximate {
        epsilon: "1".into(),
        delta: "1e-9".into(),
        conversion: String::new(),
        accounting,
    };
    let alone = Alone { epsilon: r("1"), delta: r("1e-9") };
    assert_eq!(Alone::of(&stated(Some(Accounting::Exact))), Some(alone));
    assert_eq!(Alone::of(&stated(Some(Accounting::Zcdp))), None);
    // Of rows that come and go, of one unit, in ρ; at a probability.
    let sound = |charge: Charge| signed(Said::Charged(Box::new(charge))).sound();
    let good = Charge { alone: Some(alone), ..rho("1") };
    assert_eq!(sound(good.clone()), Ok(()));
    let at = |delta: &str| Some(Alone { delta: r(delta), ..alone });
    for bad in [
        Charge { unit_of: 2, ..good.clone() },
        Charge { neighbours: Neighbours::Substitute, ..good.clone() },
        Charge { currency: Currency::Epsilon, ..good.clone() },
        Charge { alone: at("0"), ..good.clone() },
        Charge { alone: at("1"), ..good.clone() },
    ] {
        assert!(sound(bad.clone()).is_err_and(|why| why.contains("by itself")), "{bad:?}");
    }
}

#[test]
fn lines_have_what_their_kind_has() {
    let sealed = |charge: &str, file: &str| Said::Sealed { charge: charge.into(), files: vec![file.into()] };
    assert_eq!(signed(sealed(ROOT, ROOT)).sound(), Ok(()));
    for bad in [sealed("a", ROOT), sealed(ROOT, "a")] {
        assert!(signed(bad).sound().is_err_and(|why| why.contains("hash")));
    }
    for half in [
        Entry { signature: None, ..signed(sealed(ROOT, ROOT)) },
        Entry { signer: None, ..signed(sealed(ROOT, ROOT)) },
        Entry { signature: None, ..signed(Said::Bound(pure("1"))) },
        Entry { signer: None, ..signed(Said::Bound(pure("1"))) },
    ] {
        assert!(half.sound().is_err_and(|why| why.contains("signed")));
    }
    // One unit of one is not written.
    let text = |unit_of| serde_json::to_string(&Charge { unit_of, ..rho("1") }).unwrap();
    assert!(!text(1).contains("unit_of") && text(4).contains("\"unit_of\":4"));
}

#[test]
fn classes_are_written_as_they_are_numbered() {
    let same = || Same { snapshot: "s".into(), period: None, domain: ROOT.into(), mapping: ROOT.into() };
    let along = |dimension, runs: &[(u32, u32)]| Along { dimension, runs: runs.to_vec() };
    let sound = |by: Vec<Along>, shares: &[&str], neighbours| {
        Cells { same: same(), by, shares: shares.iter().map(|share| r(share)).collect() }.sound(neighbours)
    };
    let add =
        |runs: &[(u32, u32)], shares: &[&str]| sound(vec![along(0, runs)], shares, Neighbours::AddRemove);
    assert_eq!(add(&[(0, 0), (2, 1)], &["1", "1/2"]), Ok(()));
    assert_eq!(add(&[(0, 0), (1, 1), (2, 0)], &["0", "1"]), Ok(()));
    let two = ["1", "1/2"];
    for (runs, shares) in [
        (&[(0, 0), (0, 1)][..], &two[..]),
        (&[(0, 0), (2, 1), (1, 0)], &two),
        (&[(0, 0), (1, 1), (2, 1)], &two),
        (&[(1, 0), (2, 1)], &two),
        (&[(0, 0)], &["1"]),
        (&[], &["1"]),
        (&[(0, 1), (1, 0)], &two),
        (&[(0, 0), (1, 2)], &["1", "1", "1"]),
        (&[(0, 0), (1, u32::MAX)], &two),
    ] {
        assert!(add(runs, shares).is_err(), "{runs:?}");
    }
    assert!(
        add(&[(0, 0), (2, 1)], &["1/2", "1/2"]).is_err_and(|why| why.contains("no class of cells costs"))
    );
    // Where one is changed, two classes may share what it costs.
    let changed = |most: &str| sound(vec![along(0, &[(0, 0), (2, 1)])], &[most, "0"], Neighbours::Substitute);
    assert!(changed("1/4").is_ok() && changed("1").is_ok() && changed("0.2499").is_err());
    let two = |first, second, n: usize| {
        let runs = |n: usize| (0..n as u32).map(|i| (i, i)).collect::<Vec<_>>();
        let by = vec![along(first, &runs(64)), along(second, &runs(n))];
        sound(by, &vec!["1"; 64 * n], Neighbours::AddRemove)
    };
    assert!(
        two(0, 1, 64).is_ok() && two(0, 1, 65).is_err() && two(1, 1, 64).is_err() && two(1, 0, 64).is_err()
    );
    let many = |n: usize| add(&(0..n as u32).map(|i| (i, i % 2)).collect::<Vec<_>>(), &["1", "0"]);
    assert!(many(MOST_CLASSES).is_ok() && many(MOST_CLASSES + 1).is_err());
}
