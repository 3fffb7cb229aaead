//! What is known of one column.

use super::Holds;
use super::days::Days;
use super::marks::{self, Marks};
use super::numbers::Numbers;
use super::text::SEPARATORS;
use crate::calendar;
use crate::release::texts::is_plain;
use crate::spec::Digits;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A column with more different values than this is left for people to decide.
const MOST_VALUES: usize = 200;

/// Texts that programs write where there is no value. Among numbers and days they are told at once; other columns may have them as words.
pub(super) const GAPS: [&str; 6] = ["NA", "NULL", "null", "NaN", "nan", "N/A"];

/// Whether a text is one of those that stand for no value.
pub(super) fn is_gap(value: &str, gaps: u8) -> bool {
    GAPS.iter().position(|gap| *gap == value).is_some_and(|gap| gaps & 1 << gap != 0)
}

/// So many different fractions are a list, more are numbers.
const FEW: usize = 20;

/// In bytes: a value or a name that is longer is no label for people.
pub(super) const LONGEST: usize = 1000;

/// Different values of which the rows are counted; of more only those whose hash begins with zeros.
const COUNTED: usize = 1 << 16;

/// What numbers of somebody are called.
const IDS: &[&str] = &["id", "ids", "uid", "uuid", "key", "pid", "nr"];

/// What people are called.
const PEOPLE: &[&str] = &[
    "person",
    "patient",
    "customer",
    "client",
    "user",
    "household",
    "member",
    "insured",
    "nhs",
    "nir",
    "dossier",
];

/// What is in the names of places, and of their codes.
const AREAS: &[&str] = &[
    "area",
    "bezirk",
    "block",
    "canton",
    "commune",
    "comuna",
    "county",
    "district",
    "gemeinde",
    "kommun",
    "kreis",
    "municip",
    "neighb",
    "parish",
    "postal",
    "postcode",
    "postnr",
    "precinct",
    "prefecture",
    "province",
    "quartier",
    "region",
    "stadt",
    "tract",
    "village",
    "wohnort",
    "zipcode",
];

/// And words that stand alone there: `capacity` is no city.
const PLACES: &[&str] = &[
    "city", "fips", "geoid", "insee", "iris", "lau", "lsoa", "msoa", "nuts", "oa", "ort", "place", "plz",
    "town", "township", "ward", "zip", "zone",
];

/// Stands for a value where it need not be shown.
pub(super) fn hash(value: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What is known about a column when all rows have been seen.
pub(super) struct Survey {
    pub name: String,
    pub holds: Holds,
    /// The different values, one more than may be listed at most.
    values: HashSet<String>,
    /// Smallest and largest, as long as all values are whole numbers.
    whole: Option<(i64, i64)>,
    /// As long as all values are days.
    days: Option<Days>,
    /// Which texts were met that often stand for no value.
    gaps: u8,
    /// A value that is none of them was met.
    begun: bool,
    /// As long as all values are numbers.
    numbers: Option<Numbers>,
    /// Some number has a point or an exponent, or marks.
    pointed: bool,
    /// How numbers are taken to be written.
    digits: Digits,
    /// How they may be.
    pub marks: Marks,
    /// As long as all values are numbers with a sign such as % behind them.
    signed: bool,
    pub empty: bool,
    /// Some value is too long to be listed.
    long: bool,
    /// How many rows some values have, by their hashes.
    rows: HashMap<u64, u64>,
    /// The hashes of those begin with so many zeros.
    zeros: u32,
}

impl Survey {
    pub(super) fn new(name: String, holds: Holds, digits: Digits) -> Survey {
        Survey {
            name,
            holds,
            values: HashSet::new(),
            whole: None,
            days: Some(Days::new()),
            gaps: 0,
            begun: false,
            numbers: Some(Numbers::new()),
            pointed: false,
            digits,
            marks: Marks::new(),
            signed: true,
            empty: false,
            long: false,
            rows: HashMap::new(),
            zeros: 0,
        }
    }

    /// Takes a cell.
    pub(super) fn see(&mut self, value: &str, hash: Option<u64>) {
        // A cell of blanks looks empty to people; it cannot be a label.
        let Some(hash) = hash else {
            self.empty = true;
            return;
        };
        self.count(hash);
        if value.len() > LONGEST {
            (self.long, self.whole, self.days, self.numbers) = (true, None, None, None);
            (self.marks, self.signed) = (Marks::none(), false);
            return;
        }
        if self.values.len() > MOST_VALUES && self.days.is_none() && self.numbers.is_none() {
            return;
        }
        if let Some(gap) = GAPS.iter().position(|gap| *gap == value) {
            self.gaps |= 1 << gap;
            return self.keep(value);
        }
        let first = !std::mem::replace(&mut self.begun, true);
        self.marks.see(value);
        let unsigned = value.trim_end_matches(['%', '€', '$', '£', ' ']);
        self.signed &= unsigned.len() < value.len() && unsigned.ends_with(|c: char| c.is_ascii_digit());
        // 007 and +7 are spellings, not numbers; 7.0 is how data frames write whole numbers with gaps.
        let number = marks::plain(self.digits, value);
        let number = number.as_deref().unwrap_or("");
        let plain = number.strip_suffix(".0").unwrap_or(number);
        let whole = plain.parse::<i64>().ok().filter(|n| n.to_string() == plain || number == "-0.0");
        self.whole = match (whole, self.whole) {
            (Some(n), _) if first => Some((n, n)),
            (Some(n), Some((lo, hi))) => Some((lo.min(n), hi.max(n))),
            _ => None,
        };
        self.days = self.days.take().and_then(|days| days.and(value));
        self.pointed |= plain.len() < value.len() || whole.is_none();
        match (marks::number(number), &mut self.numbers) {
            (Some(number), Some(numbers)) => numbers.see(number),
            _ => self.numbers = None,
        }
        self.keep(value);
    }

    fn keep(&mut self, value: &str) {
        if self.values.len() <= MOST_VALUES && !self.values.contains(value) {
            self.values.insert(value.to_owned());
        }
    }

    fn count(&mut self, hash: u64) {
        if hash.leading_zeros() < self.zeros {
            return;
        }
        *self.rows.entry(hash).or_default() += 1;
        while self.rows.len() > COUNTED {
            self.zeros += 1;
            let zeros = self.zeros;
            self.rows.retain(|hash, _| hash.leading_zeros() >= zeros);
        }
    }

    /// Whether its name is what people call the number of somebody.
    fn called_id(&self) -> bool {
        let name = self.name.to_lowercase();
        let mut words = name.split(|c: char| !c.is_alphanumeric());
        // A number of something stands last: `number_of_rooms` is none.
        let number = |word: &str| ["nr", "nummer", "number"].iter().any(|end| word.ends_with(end));
        let last = words.clone().next_back().is_some_and(|w| number(w) || ["no", "num"].contains(&w));
        last || ["Id", "ID", "No", "Num"].iter().any(|end| self.name.ends_with(end))
            || words.any(|word| IDS.contains(&word) || PEOPLE.contains(&word))
    }

    /// Whether its name is what people call a place, and nobody.
    pub(super) fn called_area(&self) -> bool {
        let name = self.name.to_lowercase();
        let mut words = name.split(|c: char| !c.is_alphanumeric());
        let area = AREAS.iter().any(|area| name.contains(area)) || words.clone().any(|w| PLACES.contains(&w));
        area && !words.any(|word| PEOPLE.contains(&word))
    }

    /// Whether its values seem to name those whose rows they are: a name or a number of somebody, with one row for some and several for others.
    pub(crate) fn names_units(&self) -> bool {
        self.called_id() && !self.called_area() && self.repeats()
    }

    /// Whether a list of its values may be one of people: many, or texts with few rows each, and no name that says that they are places. Everybody
    /// lives somewhere, so that they lie in places says nothing.
    pub(super) fn may_be_people(&self) -> bool {
        let few_rows = self.numbers.is_none() && self.repeats();
        !self.called_area() && self.days.is_none() && (self.values.len() > MOST_VALUES || few_rows)
    }

    /// Whether its values may name those whose rows they are, by whatever name: texts too many to be categories, most of them several times.
    pub(crate) fn may_name_units(&self) -> bool {
        let typed = self.numbers.is_some() || self.days.is_some() || self.signed;
        let texts = self.values.len() > MOST_VALUES && !typed;
        let rows: u64 = self.rows.values().sum();
        texts && !self.long && !self.called_area() && self.repeats() && 2 * rows >= 3 * self.rows.len() as u64
    }

    fn repeats(&self) -> bool {
        let rows: u64 = self.rows.values().sum();
        let values = self.rows.len() as u64;
        !matches!(self.holds, Holds::Nothing(_)) && rows > values && values > 20 && rows < 20 * values
    }

    /// Whether its values are names or codes, neither numbers nor days.
    pub(super) fn names(&self) -> bool {
        let typed = self.numbers.is_some() || self.days.is_some() || self.whole.is_some();
        self.begun && !typed && !self.long && self.holds == Holds::Anything && !self.names_units()
    }

    /// Which texts stand for no value, as bits: those that stand among numbers or days.
    pub(crate) fn gaps(&self) -> u8 {
        let typed = self.begun && (self.numbers.is_some() || self.days.is_some());
        if typed { self.gaps } else { 0 }
    }

    /// Whether some of its cells are empty, if these texts stand for no value.
    pub(crate) fn has_empty(&self, gaps: u8) -> bool {
        self.empty || self.gaps & gaps != 0
    }

    /// Whether its name looks like one of its values: a number, a day, or a text that a row has, too.
    pub(crate) fn named_by_value(&self) -> bool {
        let name = self.name.trim();
        let number = name.parse::<f64>().is_ok();
        number || calendar::read(name.as_bytes()).is_some() || self.values.contains(&self.name)
    }

    /// Whether its values are days.
    pub(super) fn has_days(&self) -> bool {
        self.begun && self.days.is_some()
    }

    /// Whether each of its values looks like several cells: all have something that separates cells, equally often.
    pub(super) fn may_be_split(&self) -> bool {
        let typed = self.numbers.is_some() || self.signed;
        let often = |by: char| {
            let mut counts = self.values.iter().map(|value| value.matches(by).count());
            let first = counts.next().unwrap_or(0);
            first > 0 && counts.all(|n| n == first)
        };
        self.begun && !typed && SEPARATORS.iter().any(|&by| often(by.into()))
    }

    /// The line that declares the domain, or why there is none.
    pub(crate) fn domain(&self, gaps: u8) -> Result<String, &'static str> {
        if let Holds::Nothing(why) = self.holds {
            return Err(why);
        }
        if self.long {
            return Err("some values are longer than 1 000 bytes: list its categories, the rest is `other`");
        }
        if !self.values.iter().all(|value| is_plain(value)) {
            return Err(
                "some values have line ends or other characters that no category may have: list its categories, the rest is `other`",
            );
        }
        let listed = |values: Vec<String>| format!("categories = [{}]", values.join(", "));
        const EXACT: i64 = 1 << 53;
        const YEARS: i64 = 200 * 366;
        let values: Vec<&String> = self.values.iter().filter(|value| !is_gap(value, gaps)).collect();
        let days = self.days.as_ref().filter(|_| self.begun);
        match (self.whole, days) {
            _ if values.is_empty() => Err("every cell is empty"),
            (_, Some(days)) if days.length() < YEARS => days.domain(),
            (Some((lo, hi)), _)
                if hi.saturating_sub(lo) < MOST_VALUES as i64 && lo >= -EXACT && hi <= EXACT =>
            {
                Ok(format!("range = [{lo}, {hi}]"))
            }
            // At least half of the numbers between the ends are there.
            (Some((lo, hi)), _)
                if values.len() > FEW
                    && hi.saturating_sub(lo) < 2 * values.len() as i64
                    && lo >= -EXACT
                    && hi <= EXACT =>
            {
                Ok(format!("range = [{lo}, {hi}]"))
            }
            // Few numbers are a list, and so are those that name somebody; of others people want to know how many are in a range.
            (Some(_), _)
                if self.values.len() <= MOST_VALUES
                    && (values.len() <= FEW || self.called_id())
                    && !self.pointed
                    && self.holds == Holds::Anything =>
            {
                let mut values: Vec<i64> = values.into_iter().filter_map(|v| v.parse().ok()).collect();
                values.sort_unstable();
                Ok(listed(values.into_iter().map(|n| format!("\"{n}\"")).collect()))
            }
            // The number of a person, or of a row, is no quantity.
            (Some(_), _) if self.values.len() > MOST_VALUES && self.called_id() => {
                Err("numbers that look like whose row it is: no dimension is made of them")
            }
            _ if self.numbers.is_some()
                && (self.holds == Holds::Fractions || self.whole.is_some() || self.values.len() > FEW) =>
            {
                let edges = self.numbers.as_ref().and_then(Numbers::bins);
                let edges = edges.ok_or("numbers of very different sizes: give it `bins`")?;
                Ok(format!("bins = [{}]", edges.join(", ")))
            }
            _ if self.holds == Holds::Fractions => {
                Err("fractions, and some cells are no numbers: give it `bins` and `other`")
            }
            _ if self.values.len() <= MOST_VALUES => {
                let mut values = values;
                values.sort_unstable();
                Ok(listed(values.into_iter().map(|v| quoted(v)).collect()))
            }
            _ if self.signed => Err(
                "numbers with a sign behind them, such as %: write them as plain numbers, and draft again",
            ),
            _ => Err("too many different values: leave it out, or list its categories"),
        }
    }
}

/// A TOML string on one line.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
