use super::*;
use crate::exact::Rational;
use crate::plan::Neighbours;
use crate::release::Currency;
use std::fs;

fn charge(release: &str, dataset: &str, currency: Currency, amount: &str) -> Charge {
    Charge {
        release: release.into(),
        spec_blake3: ROOT.replace('0', "a"),
        dataset: dataset.into(),
        unit: "row".into(),
        neighbours: Neighbours::AddRemove,
        currency,
        charged: amount.parse().unwrap(),
        day: "2026-01-31".into(),
        invariants: Vec::new(),
    }
}

fn ledger() -> (tempfile::TempDir, Ledger) {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path().join("ledger.jsonl")).unwrap();
    (dir, ledger)
}

#[test]
fn charges_and_totals() {
    let (_dir, ledger) = ledger();
    assert_eq!(ledger.check().unwrap(), Summary { entries: 0, open: 0, head: ROOT.into() });
    let a = ledger.charge(charge("a", "people", Currency::Rho, "1/3")).unwrap();
    let b = ledger.charge(charge("b", "people", Currency::Rho, "1/6")).unwrap();
    ledger.charge(charge("c", "people", Currency::Epsilon, "2")).unwrap();
    ledger.charge(charge("d", "firms", Currency::Rho, "5")).unwrap();
    let file = ROOT.replace('0', "f");
    ledger.sealed(&a, &file, "2026-02-01").unwrap();
    ledger.abandoned(&b, "2026-02-02").unwrap();
    // Abandoned is spent; currencies and datasets do not mix.
    let totals = ledger.totals().unwrap();
    let short: Vec<_> =
        totals.iter().map(|t| (t.dataset.as_str(), t.currency, t.charged, t.charges, t.sealed)).collect();
    assert_eq!(
        short,
        [
            ("people", Currency::Rho, Rational::new(1, 2).unwrap(), 2, 1),
            ("people", Currency::Epsilon, Rational::whole(2), 1, 0),
            ("firms", Currency::Rho, Rational::whole(5), 1, 0),
        ]
    );
    let summary = ledger.check().unwrap();
    assert_eq!((summary.entries, summary.open), (6, 2));
    let open: Vec<_> = ledger.open_charges().unwrap().into_iter().map(|(_, e)| e.release).collect();
    assert_eq!(open, ["c", "d"]);
    let sealed = &ledger.entries().unwrap()[4];
    assert_eq!(
        (sealed.status, sealed.file_blake3.as_deref(), sealed.day.as_str()),
        (Status::Sealed, Some(file.as_str()), "2026-02-01")
    );

    // A charge is closed once, and only a charge is.
    for receipt in [a, b, Receipt { charge: summary.head }] {
        assert!(matches!(ledger.sealed(&receipt, &file, "2026-02-03"), Err(LedgerError::Refused(_))));
    }
    assert_eq!(ledger.check().unwrap().entries, 6);
    // Another process finds the same.
    assert_eq!(Ledger::open(ledger.path()).unwrap().entries().unwrap(), ledger.entries().unwrap());
}

/// Computed from the documented rule alone.
#[test]
fn the_chain_by_hand() {
    let (_dir, ledger) = ledger();
    let a = ledger.charge(charge("a", "people", Currency::Rho, "0.5")).unwrap();
    ledger.abandoned(&a, "2026-02-01").unwrap();
    let text = fs::read_to_string(ledger.path()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let spec = ROOT.replace('0', "a");
    assert_eq!(
        lines[0],
        format!(
            "{{\"charged\":\"1/2\",\"currency\":\"rho\",\"dataset\":\"people\",\"day\":\"2026-01-31\",\
             \"neighbours\":\"add-remove\",\"previous\":\"{ROOT}\",\"release\":\"a\",\"spec_blake3\":\"{spec}\",\
             \"status\":\"charged\",\"unit\":\"row\"}}"
        )
    );
    let first = blake3::hash(lines[0].as_bytes()).to_hex().to_string();
    assert_eq!(a.charge, first);
    let second: serde_json::Value = serde_json::from_str(lines[1]).unwrap();
    assert_eq!((&second["previous"], &second["charge"]), (&first.clone().into(), &first.into()));
    assert_eq!(ledger.check().unwrap().head, blake3::hash(lines[1].as_bytes()).to_hex().to_string());
}

#[test]
fn tampering_shows() {
    let (_dir, ledger) = ledger();
    for name in ["a", "b", "c"] {
        let receipt = ledger.charge(charge(name, "people", Currency::Rho, "1/7")).unwrap();
        ledger.abandoned(&receipt, "2026-02-01").unwrap();
    }
    let good = fs::read(ledger.path()).unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(ledger.path(), bytes).unwrap();
        ledger.check().is_err() && ledger.charge(charge("d", "people", Currency::Rho, "1")).is_err()
    };
    let lines: Vec<&[u8]> = good.split_inclusive(|&b| b == b'\n').collect();
    // The last line has no line after it that would notice a change to it: the head does.
    let last = good.len() - lines[5].len();
    for at in 0..last {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 5);
        assert!(refused(&bad), "byte {at}");
    }
    for at in 0..5 {
        let mut without = lines.clone();
        without.remove(at);
        assert!(refused(&without.concat()), "line {at} removed");
        let mut twice = lines.clone();
        twice.insert(at, lines[at]);
        assert!(refused(&twice.concat()), "line {at} twice");
        let mut swapped = lines.clone();
        swapped.swap(at, at + 1);
        assert!(refused(&swapped.concat()), "line {at} swapped");
    }
    for cut in 1..lines[5].len() {
        fs::write(ledger.path(), &good[..good.len() - cut]).unwrap();
        assert!(matches!(ledger.check(), Err(LedgerError::Torn { line: 6 })), "cut by {cut}");
    }
    assert!(refused(&[&good[..], b"\n"].concat()));
    assert!(refused(&[&good[..], b"\xff\n"].concat()));
    // What the chain cannot see, the head does.
    fs::write(ledger.path(), &good).unwrap();
    let head = ledger.check().unwrap().head;
    fs::write(ledger.path(), lines[..4].concat()).unwrap();
    assert_ne!(ledger.check().unwrap().head, head);
}

/// A closing line that tells another story about its charge, in a chain that holds.
#[test]
fn closings_must_repeat_their_charge() {
    let (_dir, ledger) = ledger();
    let a = ledger.charge(charge("a", "people", Currency::Rho, "1/7")).unwrap();
    let mut closing = ledger.entries().unwrap().remove(0);
    closing.status = Status::Abandoned;
    closing.charge = Some(a.charge.clone());
    closing.previous = a.charge.clone();
    let good = fs::read(ledger.path()).unwrap();
    let with = |entry: &Entry| {
        fs::write(ledger.path(), [good.clone(), canonical::to_bytes(entry).unwrap()].concat()).unwrap();
        ledger.check()
    };
    assert!(with(&closing).is_ok());
    assert!(with(&Entry { charged: Rational::ONE, ..closing.clone() }).is_err());
    assert!(with(&Entry { dataset: "firms".into(), ..closing.clone() }).is_err());
    assert!(with(&Entry { charge: Some(ROOT.into()), ..closing.clone() }).is_err());
    assert!(with(&Entry { file_blake3: Some(ROOT.into()), ..closing.clone() }).is_err());
    assert!(with(&Entry { charge: None, ..closing }).is_err());
}

#[test]
fn entries_that_say_nothing_are_refused() {
    let (_dir, ledger) = ledger();
    let good = || charge("a", "people", Currency::Rho, "1/7");
    for bad in [
        Charge { release: "../a".into(), ..good() },
        Charge { spec_blake3: "abc".into(), ..good() },
        Charge { dataset: String::new(), ..good() },
        Charge { day: "2026-02-30".into(), ..good() },
        charge("a", "people", Currency::Rho, "0"),
    ] {
        assert!(matches!(ledger.charge(bad.clone()), Err(LedgerError::Refused(_))), "{bad:?}");
    }
    assert_eq!(fs::read(ledger.path()).unwrap(), b"");
    assert!(ledger.charge(good()).is_ok());
}

/// Writers that hold the file open on their own, as processes do: no line is lost, torn or mixed.
#[test]
fn writers_take_turns() {
    const WRITERS: usize = 8;
    const CHARGES: usize = 12;
    let (_dir, ledger) = ledger();
    std::thread::scope(|scope| {
        for w in 0..WRITERS {
            let path = ledger.path();
            scope.spawn(move || {
                let ledger = Ledger::open(path).unwrap();
                for i in 0..CHARGES {
                    let receipt =
                        ledger.charge(charge(&format!("r{w}-{i}"), "people", Currency::Rho, "1/96")).unwrap();
                    if i % 2 == 0 {
                        ledger.sealed(&receipt, ROOT, "2026-02-01").unwrap();
                    }
                }
            });
        }
    });
    let summary = ledger.check().unwrap();
    assert_eq!(summary.entries, WRITERS * CHARGES * 3 / 2);
    assert_eq!(summary.open, WRITERS * CHARGES / 2);
    let total = &ledger.totals().unwrap()[0];
    assert_eq!((total.charged, total.charges), (Rational::ONE, WRITERS * CHARGES));
}

#[test]
fn schema() {
    crate::release::tests::check_schema(
        "ledger-entry.schema.json",
        super::SCHEMA,
        &format!("{:#}\n", schemars::schema_for!(super::Entry).to_value()),
    );
}
