//! Which marks the numbers of a file have: a decimal comma, groups of three digits.

use crate::spec::Digits;
use std::borrow::Cow;

const fn style(decimal: u8, thousands: char) -> Digits {
    Digits { decimal, thousands: Some(thousands) }
}

/// Ways in which numbers are written. The first is that of programs; of others that fit equally the first is taken, so that `1,234` is no fraction.
const STYLES: [Digits; 9] = [
    Digits { decimal: b'.', thousands: None },
    style(b'.', ','),
    Digits { decimal: b',', thousands: None },
    style(b',', '.'),
    style(b',', ' '),
    style(b',', '\u{a0}'),
    style(b',', '\u{202f}'),
    style(b'.', '\''),
    style(b'.', '’'),
];

/// A number without its marks, if it is one.
pub(super) fn plain(digits: Digits, value: &str) -> Option<Cow<'_, str>> {
    if digits == Digits::default() {
        return Some(value.into());
    }
    let mut plain = [0; Digits::LONGEST];
    let len = digits.plainly(value.as_bytes(), &mut plain)?;
    let plain = String::from_utf8(plain.get(..len)?.to_vec()).ok()?;
    Some(if plain == value { value.into() } else { plain.into() })
}

/// Digits behind a zero are the code of something, no number: 01001.
pub(super) fn is_code(value: &str) -> bool {
    let mut characters = value.strip_prefix(['-', '+']).unwrap_or(value).chars();
    characters.next() == Some('0') && characters.next().is_some_and(|c| c.is_ascii_digit())
}

/// A number as programs write it.
pub(super) fn number(plain: &str) -> Option<f64> {
    plain.parse::<f64>().ok().filter(|n| n.is_finite() && !is_code(plain))
}

/// In which styles all values of a column are numbers, as bits; and whether some value has a mark.
#[derive(Clone, Copy)]
pub(super) struct Marks(u16, bool);

impl Marks {
    pub(super) fn new() -> Marks {
        Marks((1 << STYLES.len()) - 1, false)
    }

    pub(super) fn none() -> Marks {
        Marks(0, false)
    }

    pub(super) fn see(&mut self, value: &str) {
        // What begins with a letter is a number in no style, and what has digits alone in all.
        if self.0 == 0 || value.bytes().all(|b| b.is_ascii_digit()) && !is_code(value) {
            return;
        }
        self.1 |= value.contains(['.', ',']);
        for (at, digits) in STYLES.iter().enumerate() {
            if self.fits(at) && plain(*digits, value).and_then(|plain| number(&plain)).is_none() {
                self.0 &= !(1 << at);
            }
        }
    }

    fn fits(self, at: usize) -> bool {
        self.0 & 1 << at != 0
    }
}

/// The style in which most columns are numbers; and whether some column has marks and is as well one of other numbers: `1,234`, `1.234`.
pub(super) fn common(columns: impl Iterator<Item = Marks> + Clone) -> (Digits, bool) {
    let fits = |at: usize| columns.clone().filter(|marks| marks.fits(at)).count();
    let most = (0..STYLES.len()).map(fits).max().unwrap_or(0);
    let taken = (0..STYLES.len()).find(|&at| fits(at) == most).unwrap_or(0);
    let digits = STYLES[taken];
    let other = |at: usize| STYLES[at].decimal != digits.decimal;
    let either = |marks: Marks| marks.fits(taken) && (0..STYLES.len()).any(|at| other(at) && marks.fits(at));
    let mut marked = columns.clone().filter(|marks| marks.1 && marks.fits(taken)).peekable();
    // Where one column tells what a mark is, it is the same in all.
    (digits, marked.peek().is_some() && marked.all(either))
}
