//! Cells to steps: against exact rationals, and the short way against the long one.

use super::*;
use crate::numeric::dice::Dice;
use crate::numeric::tries::tries;
use dashu_ratio::RBig;
use proptest::prelude::*;

fn quantity(low: i64, high: i64, step: u64, places: u8, missing: NoValue) -> Quantity {
    let name = "income".to_owned();
    let (weighing, from) = Default::default();
    let q =
        Quantity { name, low, high, step, places, missing, weighing, from, unit: None, description: None };
    q.check().unwrap();
    q
}

fn of(q: &Quantity, cell: &str) -> Option<u32> {
    steps(&Scale::new(q, false), cell.as_bytes()).ok()
}

/// The product of cells, by their texts.
fn times(q: &Quantity, cells: &[&str]) -> Result<u32, Fault> {
    let factors: Result<Vec<Factor>, Fault> =
        cells.iter().map(|cell| Factor::read(q.missing, cell.as_bytes())).collect();
    product(&Scale::new(q, false), &factors?)
}

#[test]
fn products_are_exact() {
    let q = quantity(0, 100, 1, 0, NoValue::Skip);
    for (cells, want) in [
        (&["5", "3"][..], 15),
        (&["-5", "-3"], 15),
        (&["-5", "3"], 0),
        (&["0", "-1e300", "1e300"], 0),
        (&["0.5", "5"], 2),
        (&["0.5", "7"], 4),
        (&["0.1", "0.1", "0.1", "2.5e3"], 2),
        // A little more than a half, in the last of 76 digits; and a little less.
        (&["5.0000000000000000000000000000000000001", "0.5"], 3),
        (&["5.0000000000000000000000000000000000001", "0.49999999999999999999999999999999999999"], 2),
        // A little less than 2.5, of long factors: 2^60 and 2.5/2^60.
        (&["1152921504606846976", "0.00000000000000000216840434497100886801"], 2),
        (&["99999999999999999999999999999999999999", "99999999999999999999999999999999999999"], 100),
        (&["99999999999999999999999999999999999999e-38", "1e1", "1e1", "1"], 100),
        (&["1e1000000", "1e-1000000"], 1),
        (&["7", ""], 101),
        (&["", "0"], 101),
    ] {
        assert_eq!(times(&q, cells).unwrap(), want, "{cells:?}");
    }
    assert_eq!(times(&q, &["1", "123456789012345678901234567890123456789"]), Err(Fault::LongFactor));
    assert_eq!(times(&q, &["1", "x"]), Err(Fault::NotAmount));
    assert_eq!(times(&quantity(0, 9, 1, 0, NoValue::Stop), &["", "1"]), Err(Fault::NoAmount));
    assert_eq!(times(&quantity(-9, 9, 1, 0, NoValue::Zero), &["", "1"]), Ok(9));
}

/// Beyond its ends, between its steps and below 0, a weight multiplies by what it counts as.
#[test]
fn weights_multiply_as_they_count() {
    let weight = |step: u64, places: u8, high: i64, missing| Quantity {
        weighing: Weighing::Weight,
        ..quantity(0, high, step, places, missing)
    };
    let q = quantity(-1000, 1000, 1, 0, NoValue::Stop);
    let times = |weight: &Quantity, w: &str, cell: &str| {
        let factors = [
            Factor::read(NoValue::Stop, cell.as_bytes())?,
            Factor::of_weight(&Scale::new(weight, false), w.as_bytes())?,
        ];
        product(&Scale::new(&q, false), &factors).map(|steps| i64::from(steps) - 1000)
    };
    let whole = weight(1, 0, 10, NoValue::Stop);
    for (w, as_if) in [
        ("60", 10),
        ("10.4", 10),
        ("-60", 0),
        ("-0.5", 0),
        ("0.5", 0),
        ("1.5", 2),
        ("2.5", 2),
        ("2.50000000000000000000000000000000000000000000000001", 3),
        ("3e0", 3),
        ("1e300", 10),
    ] {
        for value in [1, -1, 7, 60] {
            assert_eq!(times(&whole, w, &value.to_string()), Ok(as_if * value), "{w} {value}");
        }
    }
    // Steps of 0.25, up to 2.5.
    let quarters = weight(25, 2, 250, NoValue::Zero);
    for (w, as_if) in [("2.6", 250), ("0.12", 0), ("0.125", 0), ("0.375", 50), ("0.13", 25), ("", 0)] {
        assert_eq!(times(&quarters, w, "100"), Ok(as_if), "{w}");
        assert_eq!(times(&quarters, w, "-100"), Ok(-as_if), "{w}");
    }
    assert_eq!(times(&whole, "", "1"), Err(Fault::NoAmount));
    assert_eq!(times(&whole, "x", "1"), Err(Fault::NotAmount));
    assert_eq!(times(&quarters, "", ""), Err(Fault::NoAmount));
}

/// Also of a number that a double does not tell from the end.
#[test]
fn nearer_ends() {
    let end = |cell: &str| nearer_end(-3, 60, cell.as_bytes());
    for cell in ["60.5", "60.00000000000000000000000001", "6.05e1", "1e300", "+60.5"] {
        assert_eq!(end(cell), Some(60), "{cell}");
    }
    for cell in ["-3.5", "-3.00000000000000000000000001", "-1e300"] {
        assert_eq!(end(cell), Some(-3), "{cell}");
    }
    for cell in ["59.99999999999999999999999999", "-2.5", "-3.0", "60", "0.5", "", "inf", "nan", "x", "1.5.2"]
    {
        assert_eq!(end(cell), None, "{cell}");
    }
}

/// However a number is written, and no other number, however near.
#[test]
fn equal_numbers_are_equal() {
    let of = |cell: &str| exactly(cell.as_bytes());
    for cell in
        ["-99", "-99.0", "-9.9e1", "-099", "-99.000000000000000000000000000000000000000000000", "-990E-1"]
    {
        assert_eq!(of(cell), of("-99"), "{cell}");
        assert!(of(cell).is_some());
    }
    for cell in ["0", "-0", "+0.0", "0e9", "-.0", "00"] {
        assert_eq!(of(cell), of("0"), "{cell}");
    }
    for cell in ["99", "-99.0000000000000000000000000000001", "-9.9", "-990", "x", "", "nan", "-inf"] {
        assert_ne!(of(cell), of("-99"), "{cell}");
    }
    assert_eq!(of("x"), None);
    assert_eq!(of("-99.0000000000000000000000000000000000000000000000000001"), None);
}

/// Which side of the bounds a value is on is told exactly, also of long ones.
#[test]
fn values_beyond_the_bounds_are_told_apart() {
    let q = quantity(-1000, 200_000, 100, 0, NoValue::Skip);
    let [below, above] = beyond(q.steps()).map(|n| n as u32);
    let told = |cell: &str| steps(&Scale::new(&q, true), cell.as_bytes()).unwrap();
    for (cell, want) in [
        ("-1000", 0),
        ("-1e3", 0),
        ("-999.99999999999999999999999999", 0),
        ("-1000.0000000000000000000000000000000001", below),
        ("-1001", below),
        ("-1e300", below),
        ("200000", 2010),
        ("199999.999999999999999999999999999", 2010),
        ("200000.0000000000000000000000000000000001", above),
        ("200001", above),
        ("1e99", above),
        ("0", 10),
        ("", 2011),
    ] {
        assert_eq!(told(cell), want, "{cell}");
        // A release counts it as the end.
        let end = if want == below {
            0
        } else if want == above {
            2010
        } else {
            want
        };
        assert_eq!(of(&q, cell), Some(end), "{cell}");
    }
}

#[test]
fn cells_become_steps() {
    let q = quantity(0, 200_000, 100, 0, NoValue::Stop);
    for (cell, want) in [
        ("0", 0),
        ("-5", 0),
        ("49", 0),
        ("50", 0),
        ("50.000000000000000000000000000000000000000000000001", 1),
        ("150", 2),
        ("250", 2),
        ("+1.2e3", 12),
        ("12e2", 12),
        ("200000", 2000),
        ("1e300", 2000),
        ("-1e300", 0),
        ("1e-300", 0),
        (".5e4", 50),
        ("000000000000000000000000000000000000000000000100", 1),
        ("0.00000000000000000000000000000000001e37", 1),
    ] {
        assert_eq!(of(&q, cell), Some(want), "{cell}");
    }
    for bad in ["", " 5", "5 ", "1,000", "nan", "inf", "1e", "e5", ".", "-", "0x10", "1.2.3"] {
        assert_eq!(of(&q, bad), None, "{bad:?}");
    }
    assert_eq!(of(&quantity(-100, 100, 100, 0, NoValue::Zero), ""), Some(1));
    assert_eq!(of(&quantity(-100, 100, 100, 0, NoValue::Skip), ""), Some(3));
}

proptest! {
    /// Against exact rationals: the product as one cell that has all its digits.
    #[test]
    fn products_are_those_of_rationals(
        factors in proptest::collection::vec((0u128..10u128.pow(38), 0u32..39, -44i32..4, any::<bool>()), 1..5),
        step in 1u64..500, places in 0u8..4,
    ) {
        let q = quantity(-400 * step as i64, 500 * step as i64, step, places, NoValue::Stop);
        let (mut cells, mut value) = (Vec::new(), RBig::ONE);
        for (digits, cut, exponent, negative) in factors {
            let digits = digits / 10u128.pow(cut);
            let exponent = exponent + cut.min(40) as i32 / 2;
            cells.push(format!("{}{digits}e{exponent}", if negative { "-" } else { "" }));
            let power = RBig::from(10u32).pow(exponent.unsigned_abs() as isize);
            let power = if exponent < 0 { RBig::ONE / power } else { power };
            value *= RBig::from(digits) * power * RBig::from(if negative { -1 } else { 1 });
        }
        let unit = RBig::from(step) / RBig::from(10u32).pow(isize::from(places));
        let steps = value / unit + RBig::from(400);
        let floor = steps.floor();
        let rest = steps - RBig::from(floor.clone());
        let half = RBig::ONE / RBig::from(2);
        let even = (&floor % dashu_int::IBig::from(2)) == dashu_int::IBig::ZERO;
        let up = rest > half || (rest == half && !even);
        let whole = (floor + i32::from(up)).max(0.into()).min(900.into());
        let whole = u32::try_from(whole).unwrap();
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        prop_assert_eq!(times(&q, &cells), Ok(whole), "{:?}", cells);
    }

    /// Against exact rationals.
    #[test]
    fn rounding_is_exact(
        low in -3000i64..3000, count in 1i64..400, step in 1u64..500, places in 0u8..4,
        digits in -400_000i64..400_000, exponent in -6i32..4, tail in 0u32..3,
    ) {
        let low = low * step as i64;
        let q = quantity(low, low + count * step as i64, step, places, NoValue::Stop);
        let long = ["", "00000000000000000000000000000", "000000000000000000000000000000000001"][tail as usize];
        let cell = format!("{digits}{}{long}e{exponent}", if tail == 0 { "" } else { "." });
        let ten = |n: i32| {
            let power = RBig::from(10u32).pow(n.unsigned_abs() as isize);
            if n < 0 { RBig::ONE / power } else { power }
        };
        let sign = if cell.starts_with('-') { -1 } else { 1 };
        let value = (RBig::from(digits) + if tail == 2 { RBig::from(sign) * ten(-36) } else { RBig::ZERO }) * ten(exponent);
        let steps = (value - RBig::from(low) * ten(-i32::from(places))) / (RBig::from(step) * ten(-i32::from(places)));
        let floor = steps.floor();
        let rest = steps - RBig::from(floor.clone());
        let half = RBig::ONE / RBig::from(2);
        let even = (&floor % dashu_int::IBig::from(2)) == dashu_int::IBig::ZERO;
        let up = rest > half || (rest == half && !even);
        let whole = i64::try_from(floor + i32::from(up)).unwrap().clamp(0, count);
        prop_assert_eq!(of(&q, &cell), Some(whole as u32), "{} {:?}", cell, q);
    }

    /// The short way is the long way, wherever it goes: of texts that are hardly numbers, of any bounds and steps, told apart or not.
    #[test]
    fn the_short_way_is_the_long_way(
        cell in "[-+]?[0-9]{0,3}[.]?[0-9]{0,20}|[-+]?0{0,17}[0-9]{0,19}|[-+]?[0-9]{1,15}[.][05]{0,4}|[-+.0-9e ]{0,6}|[-+]?9007199254740[0-9]{3}",
        q in anything(), told in any::<bool>(),
    ) {
        let scale = Scale::new(&q, told);
        if let Some(node) = scale.read(cell.as_bytes()) {
            prop_assert_eq!(at_length(&scale, cell.as_bytes()), Ok(node), "{} {:?}", cell, q);
        }
    }

    /// About ends and halves, where a step more or less is another node.
    #[test]
    fn the_short_way_is_the_long_way_at_edges(
        q in anything(), told in any::<bool>(), step in 0u64..100_000, halves in 0i128..3, off in -2i128..3, behind in 0usize..19,
    ) {
        let (scale, ten) = (Scale::new(&q, told), |n: usize| 10i128.pow(n as u32));
        let at = 2 * i128::from(q.low) + (2 * i128::from(step % (q.steps() + 2)) + halves - 1) * i128::from(q.step);
        let digits = at * ten(behind) / (2 * ten(q.places.into())) + off;
        if let Some((digits, node)) = i64::try_from(digits).ok().and_then(|digits| Some((digits, scale.node(digits, behind)?))) {
            let cell = format!("{digits}e-{behind}");
            prop_assert_eq!(at_length(&scale, cell.as_bytes()), Ok(node), "{} {:?}", cell, q);
        }
    }

    /// What a float is by its bits is what its text is.
    #[test]
    fn floats_are_their_texts(
        q in anything(), told in any::<bool>(), bits in any::<u64>(), digits in -10_000_000_000_000_000i64..10_000_000_000_000_000, cut in 0u32..16, behind in 0i32..12, next in -1i64..2,
    ) {
        let scale = Scale::new(&q, told);
        let short = digits / 10i64.pow(cut);
        let text = format!("{short}e-{behind}");
        let (decimal, single): (f64, f32) = (text.parse().unwrap(), text.parse().unwrap());
        for bits in [bits, decimal.to_bits(), decimal.to_bits().wrapping_add_signed(next), (short as f64).to_bits()] {
            float_is_its_text(&scale, scale.of_double(bits), f64::from_bits(bits));
        }
        for bits in [bits as u32, single.to_bits(), single.to_bits().wrapping_add_signed(next as i32), (short as f32).to_bits()] {
            float_is_its_text(&scale, scale.of_single(bits), f32::from_bits(bits));
        }
        // And that way is taken.
        let places = i32::from(q.places);
        let all = i128::from(short) * 10i128.pow((places - behind).max(0) as u32);
        if behind <= places && (1..10i128.pow(15)).contains(&all) {
            let told = scale.of_double(decimal.to_bits());
            prop_assert!(told.is_some() || scale.node(short, behind as usize).is_none(), "{} {:?}", decimal, q);
        }
        if behind <= places && (1..10i128.pow(6)).contains(&all) {
            let told = scale.of_single(single.to_bits());
            prop_assert!(told.is_some() || scale.node(short, behind as usize).is_none(), "{} {:?}", single, q);
        }
    }
}

fn float_is_its_text(scale: &Scale<'_>, node: Option<u32>, float: impl std::fmt::Debug) {
    if let Some(node) = node {
        let cell = format!("{float:?}");
        assert_eq!(at_length(scale, cell.as_bytes()), Ok(node), "{cell} {:?}", scale.quantity);
    }
}

/// Of any bits and of such that amounts have: near whole numbers and halves, powers of two and of ten, subnormal, infinite, none at all.
#[test]
fn millions_of_floats_are_their_texts() {
    let mut dice = Dice::new(1);
    let mut next = || dice.bits();
    let quantities = [
        quantity(0, 200_000, 1, 0, NoValue::Stop),
        quantity(-100_000, 2_000_000, 25, 2, NoValue::Skip),
        quantity(0, 1 << 24, 1, 3, NoValue::Stop),
        quantity(-(1 << 40), 1 << 40, 1 << 20, 9, NoValue::Stop),
    ];
    let scales = quantities.each_ref().map(|q| Scale::new(q, true));
    for _ in 0..tries(20_000, 2_000_000) {
        let (bits, near) = (next(), next());
        // Of usual sizes, too.
        let usual = 1075 - 60 + (near & 63);
        let double =
            [bits, bits & !(0x7ff << 52) | usual << 52, (near & 15) << 52 | bits & 1][bits as usize % 3];
        let short = (bits >> (20 + near % 40)) as i64;
        let decimal = short as f64 / 10f64.powi((near >> 8) as i32 % 8);
        let half = (bits >> 44) as f64 / 2.0;
        let step = (near >> 60) as i64 - 8;
        for double in [double, decimal.to_bits(), half.to_bits(), (bits << 52).wrapping_add_signed(step)] {
            let double = double.wrapping_add_signed(if near & 64 == 0 { 0 } else { step });
            scales.iter().for_each(|s| float_is_its_text(s, s.of_double(double), f64::from_bits(double)));
        }
        for single in [near as u32, (decimal as f32).to_bits(), (half as f32).to_bits(), (near as u32) << 23]
        {
            let single = single.wrapping_add_signed(if near & 64 == 0 { 0 } else { step as i32 });
            scales.iter().for_each(|s| float_is_its_text(s, s.of_single(single), f32::from_bits(single)));
        }
    }
}

/// Numbers with bounds of all sizes.
fn anything() -> impl Strategy<Value = Quantity> {
    let size = prop_oneof![0u64..3, 1u64..500, 1u64..1 << 29];
    (-1i64 << 24..1 << 24, prop_oneof![1u64..3, 1u64..1 << 24], size, 0u8..=9).prop_map(
        |(low, count, step, places)| {
            let step = step + 1;
            let low = low.rem_euclid(((1i64 << 53) / step as i64).min(1 << 24))
                * step as i64
                * if low < 0 { -1 } else { 1 };
            let room = ((1u64 << 53).saturating_add_signed(-low)) / step;
            quantity(low, low + (count.min(room.max(1)) * step) as i64, step, places, NoValue::Skip)
        },
    )
}
