use super::published::{Found, look, one_charge};
use super::*;
use crate::numeric::tries::tries;
use crate::plan::{Neighbours, convert};
use crate::release::keys;
use proptest::prelude::*;
use std::fs;

mod cells;
mod rules;

const DAY: &str = "2026-01-31";

fn key() -> SigningKey {
    SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap()
}

fn r(text: &str) -> Rational {
    text.parse().unwrap()
}

fn x(text: &str) -> Exact {
    spent::exact(r(text))
}

fn charge(release: &str, currency: Currency, amount: &str) -> Charge {
    Charge {
        release: release.into(),
        spec_blake3: ROOT.replace('0', "a"),
        unit: "row".into(),
        of: None,
        unit_of: 1,
        neighbours: Neighbours::AddRemove,
        part: None,
        period: None,
        snapshot: None,
        currency,
        charged: r(amount),
        invariants: Vec::new(),
        alone: None,
        cells: None,
        nonce: None,
    }
}

fn epsilon(amount: &str) -> Charge {
    charge("e", Currency::Epsilon, amount)
}

fn rho(amount: &str) -> Charge {
    charge("r", Currency::Rho, amount)
}

fn pure(amount: &str) -> Bound {
    Bound { epsilon: Some(r(amount)), delta: None, rho: None }
}

fn in_rho(amount: &str) -> Bound {
    Bound { epsilon: None, delta: None, rho: Some(r(amount)) }
}

/// An entry that follows `previous`, unsigned.
fn entry(said: Said, previous: &str) -> Entry {
    Entry { said, day: DAY.into(), previous: previous.into(), signer: None, signature: None }
}

fn ledger() -> (tempfile::TempDir, Ledger) {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::at(dir.path().join("ledger/people.jsonl"), "people").unwrap();
    (dir, ledger)
}

fn spent(charges: &[Charge]) -> Spent {
    Spent::of(&charges.iter().collect::<Vec<_>>())
}

/// Where nothing was charged, nothing is spent.
#[test]
fn nothing_is_spent_before_a_charge() {
    assert!(spent(&[]).is_nothing());
    let (_dir, ledger) = ledger();
    let text = crate::make::account::spent(&spent(&[]), &ledger.chain().unwrap());
    assert_eq!(text, "ρ = 0, which is ε = 0.0000 at δ = 1e-9");
}

/// A ledger that cannot be read is none that is empty: here a folder has its name.
#[test]
fn what_cannot_be_read_is_not_empty() {
    let (_dir, ledger) = ledger();
    assert!(ledger.chain().unwrap().charges().next().is_none());
    fs::create_dir_all(&ledger.path).unwrap();
    assert!(matches!(ledger.chain(), Err(LedgerError::Io(_))));
    assert!(ledger.charge(rho("1"), &key(), DAY).is_err());
}

#[test]
fn short_amounts_are_exact() {
    assert_eq!(short(r("1234567/1234577")), "1234567/1234577");
    assert_eq!(short(r("1234567/12345771")), "0.099999182");
}

/// A mixture of pure ε and ρ is held at one order, whatever it is: who took the best way to add up for each course of a release and the next, one of two that depend on the
/// first answer, passed a bound of (20, 1/2000) by 43 %.
#[test]
fn one_order_for_every_course() {
    let bound = Bound { epsilon: Some(r("20")), delta: Some(r("1/2000")), rho: None };
    let holds = |charges: &[Charge]| bound.holds(&Spent::of(&charges.iter().collect::<Vec<_>>()));
    let first = rho("1.654");
    assert!(holds(&[first.clone(), rho("5.238")]));
    assert!(!holds(&[first.clone(), epsilon("12.19")]));
    // What is pure stands as it is, until there is something else.
    assert!(
        holds(&[epsilon("19.9")]) && !holds(&[epsilon("20.1")]) && !holds(&[epsilon("19.9"), rho("1/100")])
    );
    // Beside ρ a large ε counts as itself and not as its square, at that one order.
    let rho_of_all = convert::largest_rho(r("20"), r("1/2000")).unwrap();
    let (above_one, most) = convert::order(rho_of_all, r("20"), r("1/2000")).unwrap();
    assert!((most / ((1.0 + above_one) * rho_of_all.to_f64()) - 1.0).abs() < 1e-9);
    let room = most - (1.0 + above_one) * 1.654;
    let beside = |part: f64| epsilon(&format!("{:.6}", room * part));
    assert!(holds(&[first.clone(), beside(0.999)]) && !holds(&[first.clone(), beside(1.001)]));
    assert!(0.5 * room * room + 1.654 > rho_of_all.to_f64());
    // To the last bit.
    let order = Exact::ONE + Exact::try_from(above_one).unwrap();
    let rest = Exact::try_from(most).unwrap() - &order * x("1.654");
    let beside = |rest: Exact| Charge { charged: spent::rational(&rest).unwrap(), ..epsilon("1") };
    assert!(holds(&[first.clone(), beside(rest.clone())]));
    assert!(!holds(&[first.clone(), beside(rest + x("1/1152921504606846976"))]));
    assert!(!holds(&[first.clone(), rho("6")]));
    // Who mixes is told so.
    let mixed = |charges: &[Charge]| bound.is_mixture(&spent(charges));
    assert!(mixed(&[first.clone(), epsilon("1")]));
    assert!(!mixed(&[first.clone(), rho("1")]) && !mixed(&[epsilon("1"), epsilon("2")]) && !mixed(&[]));
    assert!(!in_rho("9").is_mixture(&spent(&[first.clone(), epsilon("1")])));
    // A budget in (ε, δ) fills a bound of the same.
    assert!(holds(&[Charge { charged: rho_of_all, ..rho("1") }]));
}

/// What has no room in 128 bits is rounded up, by less than one part in 2^90.
#[test]
fn sums_are_rounded_up_by_next_to_nothing() {
    let fine = Exact::from_parts(1.into(), dashu_int::UBig::from(3u8).pow(100));
    for whole in ["0", "1/7", "5", "1000000"] {
        let sum = x(whole) + &fine;
        let up = spent::exact(spent::up(&sum).unwrap());
        assert!(up >= sum && up - &sum <= x("1/1208925819614629174706176"), "{whole}");
    }
}

#[test]
fn charges_add_up_and_the_bound_holds() {
    let (_dir, ledger) = ledger();
    let key = key();
    ledger.bind(pure("2"), DAY).unwrap();
    let a = ledger.charge(epsilon("1/3"), &key, DAY).unwrap();
    assert_eq!(a.line, 3);
    let b = ledger.charge(epsilon("2/3"), &key, DAY).unwrap();
    ledger.sealed(&a, &[&ROOT.replace('0', "f")], &key, DAY).unwrap();
    let chain = ledger.chain().unwrap();
    assert_eq!((chain.spent().epsilon, chain.spent().rho), (Some(x("1")), x("5/18")));
    assert_eq!((chain.open(), chain.lines().len(), chain.signed().len()), (1, 5, 3));
    // What is left, exactly; a hair more is refused, and the rest is taken.
    let Err(LedgerError::Bound { left, .. }) = ledger.charge(epsilon("1.000000001"), &key, DAY) else {
        panic!()
    };
    assert_eq!(left, Rational::ONE);
    assert!(matches!(ledger.ready(&epsilon("3/2")), Err(LedgerError::Bound { .. })));
    // Gaussian noise has no pure ε.
    assert!(matches!(ledger.ready(&rho("1e-9")), Err(LedgerError::Currency { .. })));
    ledger.charge(epsilon("1"), &key, DAY).unwrap();
    let Err(LedgerError::Bound { left, .. }) = ledger.charge(epsilon("1e-12"), &key, DAY) else { panic!() };
    assert!(left.is_zero());
    // A charge is closed once, and only a charge is; a bound is never changed.
    let none = Receipt { charge: ROOT.into(), line: 1 };
    assert!(
        ledger.sealed(&a, &[ROOT], &key, DAY).is_err() && ledger.sealed(&none, &[ROOT], &key, DAY).is_err()
    );
    assert!(ledger.sealed(&b, &[ROOT], &key, DAY).is_ok());
    assert!(ledger.sealed(&b, &[ROOT], &key, DAY).is_err());
    assert!(matches!(ledger.bind(pure("3"), DAY), Err(LedgerError::Bounded { .. })));
}

/// Computed from the documented rule alone.
#[test]
fn the_chain_by_hand() {
    let (_dir, ledger) = ledger();
    let key = key();
    ledger.bind(in_rho("1/2"), DAY).unwrap();
    let a = ledger.charge(charge("a", Currency::Rho, "0.25"), &key, DAY).unwrap();
    let text = fs::read_to_string(ledger.path()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        format!(
            "{{\"day\":\"{DAY}\",\"format\":2,\"id\":\"people\",\"kind\":\"opened\",\"previous\":\"{ROOT}\"}}"
        )
    );
    let hash = |line: &str| blake3::hash(line.as_bytes()).to_hex().to_string();
    assert_eq!(
        lines[1],
        format!(
            "{{\"day\":\"{DAY}\",\"kind\":\"bound\",\"previous\":\"{}\",\"rho\":\"1/2\"}}",
            hash(lines[0])
        )
    );
    let spec = ROOT.replace('0', "a");
    let (public, signature) =
        (key.public_key(), serde_json::from_str::<serde_json::Value>(lines[2]).unwrap());
    let signature = signature["signature"].as_str().unwrap().to_owned();
    let nonce =
        serde_json::from_str::<serde_json::Value>(lines[2]).unwrap()["nonce"].as_str().unwrap().to_owned();
    assert!(nonce.len() == 32 && nonce.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f')), "{nonce}");
    let unsigned = format!(
        "{{\"charged\":\"1/4\",\"currency\":\"rho\",\"day\":\"{DAY}\",\"kind\":\"charged\",\"neighbours\":\"add-remove\",\"nonce\":\"{nonce}\",\
         \"previous\":\"{}\",\"release\":\"a\",\"signer\":\"{public}\",\"spec_blake3\":\"{spec}\",\"unit\":\"row\"}}",
        hash(lines[1])
    );
    assert_eq!(
        lines[2],
        unsigned.replace(
            &format!("\"signer\":\"{public}\""),
            &format!("\"signature\":\"{signature}\",\"signer\":\"{public}\"")
        )
    );
    assert_eq!((a.charge, a.line), (hash(&unsigned), 3));
    // minisign's own library agrees.
    let (first, second) = signature.split_once(' ').unwrap();
    let text = format!(
        "untrusted comment: signature by margins, verify with minisign\n{first}\ntrusted comment: margins ledger people\n{second}\n"
    );
    let signed = minisign_verify::Signature::decode(&text).unwrap();
    let message = format!("{unsigned}\n");
    minisign_verify::PublicKey::from_base64(&public)
        .unwrap()
        .verify(message.as_bytes(), &signed, false)
        .unwrap();
}

#[test]
fn tampering_shows() {
    let (_dir, ledger) = ledger();
    let (key, other) = (key(), key());
    ledger.bind(in_rho("2"), DAY).unwrap();
    for name in ["a", "b"] {
        let receipt = ledger.charge(charge(name, Currency::Rho, "1/7"), &key, DAY).unwrap();
        ledger.sealed(&receipt, &[ROOT], &key, DAY).unwrap();
    }
    let good = fs::read(ledger.path()).unwrap();
    let lines: Vec<&[u8]> = good.split_inclusive(|&b| b == b'\n').collect();
    assert_eq!(lines.len(), 6);
    let refused = |bytes: &[u8]| Chain::of(bytes).is_err();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 5);
        assert!(refused(&bad), "byte {at}");
    }
    for at in 0..lines.len() {
        let mut without = lines.clone();
        without.remove(at);
        assert!(refused(&without.concat()) || at == 5, "line {at} removed");
        let mut twice = lines.clone();
        twice.insert(at, lines[at]);
        assert!(refused(&twice.concat()), "line {at} twice");
        if at + 1 < lines.len() {
            let mut swapped = lines.clone();
            swapped.swap(at, at + 1);
            assert!(refused(&swapped.concat()), "line {at} swapped");
        }
    }
    // Only its end is gone: that may be a charge.
    let unended = Chain::of(&good[..good.len() - 1]);
    assert!(matches!(unended, Err(LedgerError::Unended { line: 6 })));
    for cut in 2..lines[5].len() {
        let torn = Chain::of(&good[..good.len() - cut]);
        assert!(matches!(torn, Err(LedgerError::Torn { line: 6, .. })), "{cut}");
    }
    // Whether noise was drawn is told from the line.
    for (at, line) in lines.iter().enumerate() {
        let closing = line.starts_with(b"{\"charge\":");
        for left in [1, 11, line.len() - 2] {
            let whole: Vec<u8> = lines[..at].concat();
            let told = Chain::of(&[&whole, &line[..left]].concat()).unwrap_err().to_string();
            let before = at > 0 && lines[at - 1].starts_with(b"{\"charged\":");
            assert_eq!(
                told.contains("Noise was drawn"),
                if left == 1 { before } else { closing },
                "{at} {left}: {told}"
            );
        }
    }
    assert!(refused(&[&good[..], b"\n"].concat()) && refused(&[&good[..], b"\xff\n"].concat()));

    // Whoever writes another bound or amount and makes all hashes anew lacks the key for what follows.
    for (from, to) in [("\"rho\":\"2\"", "\"rho\":\"9\""), ("\"charged\":\"1/7\"", "\"charged\":\"1/8\"")] {
        let text = String::from_utf8(good.clone()).unwrap().replace(from, to);
        let mut previous = ROOT.to_owned();
        let mut out = Vec::new();
        for line in text.lines() {
            let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
            value["previous"] = previous.clone().into();
            out.extend(canonical::to_bytes(&value).unwrap());
            value.as_object_mut().unwrap().remove("signature");
            let message = canonical::to_bytes(&value).unwrap();
            previous = blake3::hash(message.strip_suffix(b"\n").unwrap()).to_hex().to_string();
        }
        let why = Chain::of(&out).unwrap_err().to_string();
        assert!(why.contains("signature"), "{why}");
    }
    // With another key all of it can be forged, and then the key shows.
    let again = Ledger::at(ledger.path().with_file_name("forged.jsonl"), "people").unwrap();
    again.charge(charge("a", Currency::Rho, "1/8"), &other, DAY).unwrap();
    assert!(again.chain().unwrap().signed().iter().all(|(key, _)| *key == other.public_key()));
    // A ledger is of one dataset.
    assert!(matches!(Ledger::at(ledger.path(), "firms"), Err(LedgerError::Other { .. })));
}

#[test]
fn entries_that_say_nothing_are_refused() {
    let (_dir, ledger) = ledger();
    let key = key();
    for bad in [
        Charge { release: "../a".into(), ..rho("1") },
        Charge { spec_blake3: "abc".into(), ..rho("1") },
        Charge { unit: String::new(), ..rho("1") },
        Charge { unit_of: 0, ..rho("1") },
        Charge { part: Some("north".into()), ..rho("1") },
        Charge { part: Some("region=M\u{e1}laga".into()), ..rho("1") },
        rho("0"),
    ] {
        assert!(
            matches!(
                ledger.charge(bad.clone(), &key, DAY),
                Err(LedgerError::Refused(_) | LedgerError::Part(_))
            ),
            "{bad:?}"
        );
    }
    assert!(ledger.charge(rho("1"), &key, "2026-02-30").is_err());
    assert_eq!(fs::read(ledger.path()).unwrap(), b"");
    for bad in
        [pure("0"), Bound { delta: Some(r("2")), ..pure("1") }, Bound { rho: Some(r("1")), ..pure("1") }]
    {
        assert!(ledger.bind(bad, DAY).is_err(), "{bad:?}");
    }
    ledger.charge(rho("1"), &key, DAY).unwrap();
    // Somebody else's privacy does not add up with this.
    let other = Charge { unit: "household".into(), ..rho("1") };
    let why = ledger.charge(other, &key, DAY).unwrap_err().to_string();
    assert!(why.contains("every `row`") && why.contains("unit_of"), "{why}");
    // A bound that is passed already is none; one that is not may still be set.
    assert!(matches!(ledger.bind(in_rho("1/2"), DAY), Err(LedgerError::Passed(_))));
    ledger.bind(in_rho("1"), DAY).unwrap();
    assert!(ledger.charge(rho("1e-9"), &key, DAY).is_err());
}

#[test]
fn ledgers_of_the_first_kind_say_so() {
    let line = format!(
        "{{\"charged\":\"1/2\",\"currency\":\"rho\",\"dataset\":\"people\",\"day\":\"2026-01-31\",\
         \"neighbours\":\"add-remove\",\"previous\":\"{ROOT}\",\"release\":\"a\",\"spec_blake3\":\"{ROOT}\",\
         \"status\":\"charged\",\"unit\":\"row\"}}\n"
    );
    assert!(matches!(Chain::of(line.as_bytes()), Err(LedgerError::FirstKind)));
}

/// By hand: what groups, changes, parts and currencies come to.
#[test]
fn composition_by_hand() {
    // ε-DP is ε²/2-zCDP, each by itself.
    let both = spent(&[epsilon("1"), epsilon("1/2"), rho("1/8")]);
    assert_eq!((both.rho.clone(), both.epsilon), (x("3/4"), None));
    assert_eq!(spent(&[epsilon("1"), epsilon("1/2")]).epsilon, Some(x("3/2")));

    let part = |c: Charge, part: &str| Charge { part: Some(part.into()), period: Some("2026".into()), ..c };
    let changed = |c: Charge| Charge { neighbours: Neighbours::Substitute, ..c };
    let (n, s, e) = (
        part(epsilon("1/2"), "region=n"),
        part(epsilon("1/3"), "region=s"),
        part(epsilon("1/5"), "region=e"),
    );
    // The dearest part; with what is of no part.
    assert_eq!(spent(&[n.clone(), s.clone(), e.clone()]).epsilon, Some(x("1/2")));
    assert_eq!(spent(&[n.clone(), s.clone(), epsilon("1")]).epsilon, Some(x("3/2")));
    // The same part twice; another partition.
    assert_eq!(spent(&[n.clone(), n.clone(), s.clone()]).epsilon, Some(x("1")));
    assert_eq!(spent(&[n.clone(), s.clone(), part(epsilon("1/7"), "sex=f")]).epsilon, Some(x("9/14")));
    // People move from one year to the next: of each year the dearest part.
    let of = |c: &Charge, year: &str| Charge { period: Some(year.into()), ..c.clone() };
    assert_eq!(spent(&[of(&n, "2025"), of(&s, "2025"), of(&s, "2026")]).epsilon, Some(x("5/6")));
    let in_may = Charge { snapshot: Some("May".into()), ..of(&s, "2025") };
    assert_eq!(spent(&[of(&n, "2025"), in_may, s.clone()]).epsilon, Some(x("7/6")));
    // What says no time may be of any.
    let untimed = |c: &Charge| Charge { period: None, ..c.clone() };
    assert_eq!(spent(&[untimed(&n), untimed(&s), n.clone(), s.clone()]).epsilon, Some(x("4/3")));
    // Capitals are no other part. What is no name today may be any part by another spelling: its charges all add up.
    let lower = |name: &str| part(epsilon("1/2"), name);
    assert_eq!(spent(&[n.clone(), lower("Region=N"), s.clone()]).epsilon, Some(x("1")));
    let spelt = ["region=M\u{e1}laga", "region=Ma\u{301}laga", "region=m\u{e1}laga", "region=m\u{430}laga"]
        .map(lower);
    assert_eq!(spent(&spelt).epsilon, Some(x("2")));
    assert_eq!(spent(&[spelt[0].clone(), lower("region=malaga"), lower("region=n")]).epsilon, Some(x("1")));
    // Under change the two dearest parts.
    let all = [changed(n.clone()), changed(s.clone()), changed(e)];
    assert_eq!(spent(&all).epsilon, Some(x("5/6")));
    assert_eq!(spent(&[changed(part(rho("1/2"), "a=1")), changed(part(rho("1/3"), "a=2"))]).rho, x("5/6"));
    // More or less is twice a change: 2ε, 4ρ.
    let mixed = spent(&[epsilon("1/2"), changed(epsilon("1/3"))]);
    assert_eq!((mixed.epsilon, mixed.neighbours), (Some(x("4/3")), Neighbours::Substitute));
    assert_eq!(spent(&[rho("1/2"), changed(rho("1/3"))]).rho, x("7/3"));
    // Within a part, or from one to another: whichever is dearer.
    assert_eq!(spent(&[n, s, changed(epsilon("1"))]).epsilon, Some(x("2")));
}

/// A mixture in ε at δ: never more than either way to say it, and never less than a bound's own ρ lets.
#[test]
fn one_release_counts_by_its_own_law_until_there_is_another() {
    let (rho, delta) = ("0.0165", r("1e-9"));
    let bound = Bound { epsilon: Some(r("1")), delta: Some(delta), rho: None };
    let alone = Some(Alone { epsilon: r("1"), delta });
    let first = Charge { alone, ..charge("a", Currency::Rho, rho) };
    let by_rho = charge("a", Currency::Rho, rho);
    let at = |charges: &[Charge]| spent(charges).epsilon_at(delta).unwrap().to_f64().value();
    assert_eq!(at(std::slice::from_ref(&first)), 1.0);
    let converted = at(std::slice::from_ref(&by_rho));
    assert!(converted > 1.04, "{converted}");
    let second = Charge { alone, ..charge("b", Currency::Rho, "1e-9") };
    let both = [by_rho.clone(), charge("b", Currency::Rho, "1e-9")];
    assert_eq!(at(&[first.clone(), second.clone()]), at(&both));
    let holds = |charges: &[Charge]| bound.holds(&spent(charges));
    assert!(holds(std::slice::from_ref(&first)) && !holds(&[by_rho]) && !holds(&[first.clone(), second]));
    // What is said of one δ says nothing of a smaller one.
    assert!(spent(&[first]).epsilon_at(r("1e-10")).unwrap().to_f64().value() > converted);
}

#[test]
fn mixtures_in_epsilon_at_delta() {
    let delta = r("1e-9");
    let at = |charges: &[Charge]| spent(charges).epsilon_at(delta).unwrap();
    assert_eq!(at(&[epsilon("1/100")]), x("1/100"));
    let gauss = at(&[rho("1/2")]);
    assert!((gauss.to_f64().value() - 6.4741).abs() < 1e-4);
    // A little pure ε is cheapest as ε²/2; much of it added as it is.
    let (little, much) = (at(&[rho("1/2"), epsilon("1/10")]), at(&[rho("1/100"), epsilon("5")]));
    assert!(little < &gauss + x("1/10") && little > gauss);
    assert_eq!(much, at(&[rho("1/100")]) + x("5"));
    let bound = Bound { epsilon: Some(r("3")), delta: Some(delta), rho: None };
    let whole = crate::plan::convert::largest_rho(r("3"), delta).unwrap();
    assert!(bound.holds(&spent(&[rho(&whole.to_string())])));
    assert!(!bound.holds(&spent(&[rho(&whole.to_string()), rho("1e-6")])));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tries(8, 64) as u32))]

    /// Whatever is asked for in whatever order: what is accepted stays within the bound, in arithmetic that is exact; and what is told to be
    /// left is taken, and hardly more.
    #[test]
    fn accepted_charges_stay_within_the_bound(
        wanted in prop::collection::vec((1u128..1 << 40, 1u128..1 << 44, 0u8..2, 0u8..4, 1u32..4), 1..24),
        bound in (1u128..1 << 20, 1u128..1 << 18),
        kind in 0u8..3,
    ) {
        let amount = Rational::new(bound.0, bound.1).unwrap();
        let bound = match kind {
            0 => Bound { epsilon: Some(amount), delta: None, rho: None },
            1 => Bound { epsilon: None, delta: None, rho: Some(amount) },
            _ => Bound { epsilon: Some(amount), delta: Some(r("1e-6")), rho: None },
        };
        prop_assume!(bound.sound().is_ok());
        let mut taken: Vec<Charge> = Vec::new();
        for (num, den, currency, part, neighbours) in wanted {
            let wanted = Charge {
                charged: Rational::new(num, den).unwrap(),
                part: (part > 0).then(|| format!("p={part}")),
                period: (part > 0).then(|| "2026".into()),
                neighbours: if neighbours == 1 { Neighbours::Substitute } else { Neighbours::AddRemove },
                ..if currency == 0 || kind == 0 { epsilon("1") } else { rho("1") }
            };
            let before: Vec<&Charge> = taken.iter().collect();
            let left = bound.left(&before, &wanted);
            let with = |c: &Charge| Spent::of(&before.iter().copied().chain([c]).collect::<Vec<_>>());
            if !left.is_zero() {
                let rest = Charge { charged: left, ..wanted.clone() };
                prop_assert!(bound.holds(&with(&rest)), "{}", left);
            }
            let more = left.checked_mul(r("1.000001")).and_then(|l| l.checked_add(r("1e-12")));
            if let Some(more) = more {
                let beyond = Charge { charged: more, ..wanted.clone() };
                prop_assert!(!bound.holds(&with(&beyond)), "{}", left);
            }
            if bound.holds(&with(&wanted)) {
                taken.push(wanted);
            }
        }
        let all = spent(&taken);
        // The sum by another road: pure ε and ρ of all of no part and the dearest part are at least what is spent.
        match kind {
            0 => prop_assert!(all.epsilon.unwrap_or_default() <= spent::exact(amount)),
            1 => prop_assert!(all.rho <= spent::exact(amount)),
            _ => prop_assert!(bound.holds(&all)),
        }
    }
}

/// Writers that hold the file open on their own, as processes do: no line is lost, torn or mixed, and together they never pass the bound.
#[test]
fn writers_take_turns() {
    const WRITERS: usize = 6;
    let (_dir, ledger) = ledger();
    ledger.bind(in_rho("1/2"), DAY).unwrap();
    let accepted = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                let (ledger, key) = (Ledger::at(ledger.path(), "people").unwrap(), key());
                for _ in 0..8 {
                    match ledger.charge(rho("1/32"), &key, DAY) {
                        Ok(_) => accepted.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
                        Err(LedgerError::Bound { .. }) => 0,
                        Err(e) => panic!("{e}"),
                    };
                }
            });
        }
    });
    assert_eq!(accepted.into_inner(), 16);
    let chain = ledger.chain().unwrap();
    assert_eq!((chain.spent().rho, chain.charges().count()), (x("1/2"), 16));
}

/// The manifest of a release that was charged so.
/// Editors and copying tools put another file in the place of a ledger; who waited for the old one's lock writes to the new one.
#[cfg(unix)]
#[test]
fn what_is_charged_stands_in_the_file_of_that_name() {
    let (dir, ledger) = ledger();
    ledger.bind(in_rho("1/2"), DAY).unwrap();
    let held = File::open(ledger.path()).unwrap();
    held.lock_shared().unwrap();
    let receipt = std::thread::scope(|scope| {
        let charges = scope.spawn(|| ledger.charge(rho("1/32"), &key(), DAY).unwrap());
        // Whether it waits yet or not: the charge is in the new file.
        std::thread::sleep(std::time::Duration::from_millis(200));
        let copy = dir.path().join("copy");
        fs::copy(ledger.path(), &copy).unwrap();
        fs::rename(&copy, ledger.path()).unwrap();
        drop(held);
        charges.join().unwrap()
    });
    assert_eq!(ledger.chain().unwrap().head(), receipt.charge);
}

fn manifest(receipt: &Receipt, amount: &str, key: &SigningKey) -> crate::release::Manifest {
    use crate::release::{Account, AccountName, Amount};
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/v2/v2-zeros.margins");
    let mut m = crate::release::Release::open(&path).unwrap().manifest().clone();
    m.about.name = "r".into();
    m.declared.invariants.clear();
    m.sources.spec = ROOT.replace('0', "a");
    m.privacy.neighbours = Neighbours::AddRemove;
    m.signer.public_key = key.public_key();
    m.account = Some(Account {
        name: AccountName { id: "people".into(), unit: "row".into(), unit_of: 1, part: None },
        charged: Amount { currency: Currency::Rho, amount: r(amount) },
        line: receipt.line,
        head: receipt.charge.clone(),
    });
    m
}

/// A charge of a part says the release's own period and snapshot, or, as older lines, none; then it counts for everybody.
#[test]
fn a_charge_of_a_part_is_of_its_time() {
    let (_dir, ledger) = ledger();
    let key = key();
    let of = |period: Option<&str>| Charge {
        part: Some("region=north".into()),
        period: period.map(str::to_owned),
        ..rho("1/4")
    };
    let dated = ledger.charge(of(Some("2026")), &key, DAY).unwrap();
    let old = ledger.charge(of(None), &key, DAY).unwrap();
    let chain = ledger.chain().unwrap();
    let found = |receipt: &Receipt, period: Option<&str>| {
        let mut m = manifest(receipt, "1/4", &key);
        m.account.as_mut().unwrap().name.part = Some("region=north".into());
        let dataset =
            |p: &str| crate::release::Dataset { id: "people".into(), period: Some(p.into()), snapshot: None };
        m.dataset = period.map(dataset);
        look(&chain, &m, || Ok(file('1')))
    };
    assert_eq!(found(&dated, Some("2026")), Found::Open(2));
    assert!(matches!(found(&dated, Some("2025")), Found::Not(_)));
    assert!(matches!(found(&dated, None), Found::Not(_)));
    assert_eq!((found(&old, Some("2026")), found(&old, None)), (Found::Open(3), Found::Open(3)));
    assert_eq!(chain.spent().rho, x("1/2"));
}

fn file(digit: char) -> String {
    ROOT.replace('0', &digit.to_string())
}

/// A release that names a line which another copy of the ledger has not, or has otherwise.
#[test]
fn cut_and_forked_ledgers_show_beside_a_release() {
    let (_dir, ledger) = ledger();
    let key = key();
    let first = ledger.charge(rho("1/4"), &key, DAY).unwrap();
    let before = fs::read(ledger.path()).unwrap();
    let second = ledger.charge(rho("1/8"), &key, DAY).unwrap();
    let look = |receipt: &Receipt, amount: &str| {
        look(&ledger.chain().unwrap(), &manifest(receipt, amount, &key), || Ok(file('1')))
    };
    assert_eq!((look(&first, "1/4"), look(&second, "1/8")), (Found::Open(2), Found::Open(3)));
    assert!(matches!(look(&second, "1/9"), Found::Not(_)));
    // Another release, or one with a table that no charge covers, says what this charge does not.
    let chain = ledger.chain().unwrap();
    let changed = |change: &dyn Fn(&mut crate::release::Manifest)| {
        let mut m = manifest(&second, "1/8", &key);
        change(&mut m);
        super::published::look(&chain, &m, || Ok(file('1')))
    };
    assert_eq!(changed(&|_| {}), Found::Open(3));
    assert!(matches!(changed(&|m| m.about.name = "other".into()), Found::Not(_)));
    assert!(matches!(changed(&|m| m.declared.invariants.push("sex: why".into())), Found::Not(_)));
    // Cut, and gone on from there.
    fs::write(ledger.path(), &before).unwrap();
    assert!(matches!(look(&second, "1/8"), Found::Not(_)));
    // The very same charge on the same day is another one.
    let again = ledger.charge(rho("1/8"), &key, DAY).unwrap();
    assert!(again.line == second.line && again.charge != second.charge);
    assert_eq!((look(&first, "1/4"), look(&again, "1/8")), (Found::Open(2), Found::Open(3)));
    assert!(matches!(look(&second, "1/8"), Found::Not(_)));
}

/// A charge pays for the files that close it, and for no other that names it.
#[test]
fn one_charge_pays_for_one_measuring() {
    let (_dir, ledger) = ledger();
    let key = key();
    let (alone, copies) =
        (ledger.charge(rho("1/4"), &key, DAY).unwrap(), ledger.charge(rho("1/8"), &key, DAY).unwrap());
    ledger.sealed(&alone, &[&file('1')], &key, DAY).unwrap();
    ledger.sealed(&copies, &[&file('2'), &file('3')], &key, DAY).unwrap();
    let chain = ledger.chain().unwrap();
    let found = |m: &crate::release::Manifest, digit: char| look(&chain, m, || Ok(file(digit)));
    let one = manifest(&alone, "1/4", &key);
    assert_eq!(found(&one, '1'), Found::Charged(2));
    assert!(matches!(found(&one, '4'), Found::Not(why) if why.contains("another file")));
    let copy = |name: &str, measuring: &str| {
        let mut m = manifest(&copies, "1/8", &key);
        m.recipient = Some(crate::release::RecipientSummary {
            name: name.into(),
            mode: "nested".into(),
            copies: 2,
            measuring: measuring.into(),
            joint_cost: m.privacy.cost,
            centre: None,
            note: String::new(),
        });
        m
    };
    let (office, public) = (copy("office", "01"), copy("public", "01"));
    assert_eq!((found(&office, '2'), found(&public, '3')), (Found::Charged(3), Found::Charged(3)));
    assert!(matches!(found(&office, '1'), Found::Not(_)));
    // Two files under one charge are two only if they say that they are copies of one measuring.
    assert!(
        matches!(found(&manifest(&copies, "1/8", &key), '2'), Found::Not(why) if why.contains("2 files"))
    );
    assert!(!one_charge(&office, &public) && !one_charge(&office, &office) && !one_charge(&one, &office));
    assert!(one_charge(&office, &copy("public", "02")));
    let other_day =
        |m: &crate::release::Manifest| crate::release::Manifest { created: "1999-12-31".into(), ..m.clone() };
    assert!(one_charge(&office, &other_day(&office)) && one_charge(&one, &other_day(&one)));
    // What is lost, what is another account, and what is no charge.
    let not = |chain: &Chain, m: &crate::release::Manifest, what: &str| {
        assert!(matches!(look(chain, m, || Ok(file('1'))), Found::Not(why) if why.contains(what)), "{what}");
    };
    not(&Chain::default(), &one, "is empty");
    let mut first = one.clone();
    first.account.as_mut().unwrap().head = chain.lines()[0].0.clone();
    not(&chain, &first, "is no charge");
    let mut firms = one.clone();
    firms.account.as_mut().unwrap().name.id = "firms".into();
    not(&chain, &firms, "the account `firms`");
    // Cut before the line that says what became of it.
    let lines = fs::read_to_string(ledger.path()).unwrap();
    let cut: String = lines.lines().take(3).map(|l| format!("{l}\n")).collect();
    assert_eq!(look(&Chain::of(cut.as_bytes()).unwrap(), &one, || Ok(file('1'))), Found::Open(2));
}

/// A nonce is from the system's randomness: whoever has the key and writes a charge a second time shows it.
#[test]
fn no_two_charges_have_one_nonce() {
    let (_dir, ledger) = ledger();
    let key = key();
    let charged = |nonce: &str| {
        let charge = Charge { nonce: Some(nonce.repeat(16)), ..epsilon("1") };
        ledger.append(DAY, |_| Ok((Said::Charged(Box::new(charge)), Some(&key)))).unwrap();
        let bytes = fs::read(ledger.path()).unwrap();
        // Also where the lines before were read already.
        Chain::of(&bytes).and_then(|_| ledger.chain())
    };
    assert!(charged("0a").is_ok() && charged("0b").is_ok());
    let why = charged("0a").unwrap_err().to_string();
    assert!(why.contains("line 4") && why.contains("the nonce of a charge before it"), "{why}");
}

/// Lines of older programs: charges without a nonce, and parts of any letters.
#[test]
fn older_lines_are_read() {
    let (_dir, ledger) = ledger();
    let key = key();
    let old = |part: Option<&str>| {
        let charge = Charge { part: part.map(str::to_owned), ..epsilon("1") };
        ledger.append(DAY, |_| Ok((Said::Charged(Box::new(charge)), Some(&key)))).unwrap()
    };
    let (first, _) = old(None);
    assert!(!fs::read_to_string(ledger.path()).unwrap().contains("nonce"));
    old(Some("region=M\u{e1}laga"));
    let chain = ledger.chain().unwrap();
    assert_eq!((chain.charges().count(), chain.line_of(&first)), (2, Some(2)));
    assert_eq!(chain.spent().epsilon, Some(x("2")));
    ledger.charge(Charge { part: Some("Region=malaga".into()), ..epsilon("1") }, &key, DAY).unwrap();
    let parts = ledger.chain().unwrap().parts();
    assert_eq!(
        parts.into_iter().map(|(by, of)| (by, of.len())).collect::<Vec<_>>(),
        [("region".to_owned(), 1)]
    );
}

#[test]
fn schema() {
    crate::spec::schema::tests::check_text(
        "schemas/ledger-entry.schema.json",
        super::SCHEMA,
        &format!("{:#}\n", schemars::schema_for!(super::Entry).to_value()),
    );
}

/// From a release's charge to a head, line by line; and nothing else passes for it.
#[test]
fn proofs_hold_line_by_line() {
    let (_dir, ledger) = ledger();
    let (key, other) = (key(), key());
    ledger.bind(in_rho("2"), DAY).unwrap();
    ledger.charge(rho("1/2"), &key, DAY).unwrap();
    let early = ledger.chain().unwrap().head().to_owned();
    let receipt = ledger.charge(rho("1/4"), &key, DAY).unwrap();
    ledger.sealed(&receipt, &[&file('1')], &key, DAY).unwrap();
    ledger.charge(rho("1/8"), &other, DAY).unwrap();
    let (chain, bytes) = (ledger.chain().unwrap(), fs::read(ledger.path()).unwrap());
    let ours = manifest(&receipt, "1/4", &key);
    let of = |head: Option<&str>| proof::of(&chain, &bytes, &ours, head);
    let text = String::from_utf8(of(None).unwrap()).unwrap();
    assert!(proof::is_proof(text.as_bytes()) && !proof::is_proof(&bytes));
    let read = proof::read(text.as_bytes(), &ours).unwrap();
    assert_eq!((read.line, read.later, read.head.as_str()), (4, 2, chain.head()));
    assert_eq!(read.files, Some(vec![file('1')]));
    let keys: Vec<String> = read.signed.into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, [key.public_key(), key.public_key(), other.public_key()]);
    // To its own line alone; never to a head of before, or of nothing.
    let own = of(Some(&receipt.charge)).unwrap();
    assert_eq!(proof::read(&own, &ours).unwrap().head, receipt.charge);
    assert!(of(Some(&early)).unwrap_err().contains("before its charge"));
    assert_eq!(of(Some(&file('9'))).unwrap_err(), proof::NO_HEAD);
    // Whatever is changed shows: a line left out, exchanged, said twice, cut, or from another ledger.
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let refused = |lines: &[&str]| assert!(proof::read(lines.concat().as_bytes(), &ours).is_err());
    // Each says in which line.
    let opened = Said::Opened { format: LEDGER_FORMAT, id: "people".into() };
    let opened = entry(opened, &receipt.charge);
    let opened = String::from_utf8(canonical::to_bytes(&opened).unwrap()).unwrap();
    let unsound = opened.replace(DAY, "2026-02-30");
    for (lines, why) in [
        (&[lines[0], lines[2]][..], "line 2: it does not follow"),
        (&[lines[0], lines[1], lines[2].trim_end()], "line 3: it is incomplete"),
        (&[lines[0], "{}\n"], "line 2: "),
        (&[lines[0], &unsound], "line 2: the day"),
        (&[lines[0], &opened], "line 2: a ledger is opened once"),
    ] {
        let told = proof::read(lines.concat().as_bytes(), &ours).unwrap_err();
        assert!(told.starts_with(why), "{told}");
    }
    // What no ledger lets anybody write: the same charge closed once more, signed as it should be.
    let again = Said::Sealed { charge: receipt.charge.clone(), files: vec![file('2')] };
    let mut again = Entry { signer: Some(key.public_key()), ..entry(again, chain.head()) };
    let words = key.sign_words(&again.message().unwrap(), &chain::comment("people")).unwrap();
    again.signature = Some(words);
    let again = String::from_utf8(canonical::to_bytes(&again).unwrap()).unwrap();
    let told = proof::read([&text[..], &again].concat().as_bytes(), &ours).unwrap_err();
    assert!(told.starts_with("line 4: it closes no open charge"), "{told}");
    assert!(!proof::is_proof(lines[1].as_bytes()));
    assert!(proof::read(lines.concat().as_bytes(), &ours).is_ok());
    refused(&lines[1..]);
    refused(&[lines[0], lines[2]]);
    refused(&[lines[0], lines[2], lines[1]]);
    refused(&[lines[0], lines[1], lines[1]]);
    refused(&[]);
    let whole = std::str::from_utf8(&bytes).unwrap();
    refused(&whole.split_inclusive('\n').collect::<Vec<_>>());
    refused(&[lines[0], lines[1], lines[2].trim_end()]);
    for (i, line) in lines.iter().enumerate() {
        let mut changed = lines.clone();
        let said = line.replace(DAY, "2026-01-30");
        changed[i] = &said;
        refused(&changed);
        // The hash leaves the signature out; the signature still must be one.
        let at = line.find("\"signature\":\"").unwrap() + 40;
        let mut bent = (*line).to_owned();
        bent.replace_range(at..at + 1, if &line[at..at + 1] == "A" { "B" } else { "A" });
        changed[i] = &bent;
        let told = proof::read(changed.concat().as_bytes(), &ours).unwrap_err();
        assert!(told.starts_with(&format!("line {}: its signature", i + 1)), "{told}");
    }
    // Another release's charge.
    assert!(proof::read(text.as_bytes(), &manifest(&receipt, "1/5", &key)).is_err());
    assert!(proof::read(text.as_bytes(), &manifest(&receipt, "1/4", &other)).is_err());
}
