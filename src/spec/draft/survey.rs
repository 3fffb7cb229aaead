//! What is known of one column.

use crate::calendar;
use crate::release::texts::is_plain;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A column with more different values than this is left for people to decide.
const MOST_VALUES: usize = 200;

/// In bytes: a value or a name that is longer is no label for people.
pub(super) const LONGEST: usize = 1000;

/// Different values of which the rows are counted; of more only those whose hash begins with zeros.
const COUNTED: usize = 1 << 16;

/// Stands for a value where it need not be shown.
pub(super) fn hash(value: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What is known about a column when all rows have been seen.
pub(super) struct Survey {
    pub name: String,
    /// Why no dimension can be made of it, whatever its values.
    strange: Option<&'static str>,
    /// The different values and their numbers, one more than may be listed at most.
    values: HashMap<String, u32>,
    /// Smallest and largest, as long as all values are whole numbers.
    whole: Option<(i64, i64)>,
    /// First and last, as long as all values are days.
    days: Option<(i64, i64)>,
    /// All values are numbers.
    numbers: bool,
    pub empty: bool,
    /// Some value is too long to be listed.
    long: bool,
    /// How many rows some values have, by their hashes.
    rows: HashMap<u64, u64>,
    /// The hashes of those begin with so many zeros.
    zeros: u32,
}

impl Survey {
    pub fn new(name: String, strange: Option<&'static str>) -> Survey {
        Survey {
            name,
            strange,
            values: HashMap::new(),
            whole: None,
            days: None,
            numbers: true,
            empty: false,
            long: false,
            rows: HashMap::new(),
            zeros: 0,
        }
    }

    /// Takes a cell, and gives the number of its value, if it has one.
    pub(crate) fn see(&mut self, value: &str, hash: Option<u64>) -> Option<u32> {
        // A cell of blanks looks empty to people; it cannot be a label.
        let Some(hash) = hash else {
            self.empty = true;
            return None;
        };
        self.count(hash);
        if value.len() > LONGEST {
            (self.long, self.whole, self.days, self.numbers) = (true, None, None, false);
            return None;
        }
        if self.values.len() > MOST_VALUES && self.whole.is_none() && self.days.is_none() && !self.numbers {
            return self.values.get(value).copied();
        }
        let first = self.values.is_empty() && !self.long;
        // 007 and +7 are spellings, not numbers.
        let whole = value.parse::<i64>().ok().filter(|n| n.to_string() == value);
        let wider = |n: Option<i64>, ends: Option<(i64, i64)>| match (n, ends) {
            (Some(n), _) if first => Some((n, n)),
            (Some(n), Some((lo, hi))) => Some((lo.min(n), hi.max(n))),
            _ => None,
        };
        self.whole = wider(whole, self.whole);
        self.days = wider(calendar::read(value.as_bytes()), self.days);
        self.numbers &= value.parse::<f64>().is_ok_and(f64::is_finite);
        let next = self.values.len() as u32;
        match self.values.get(value) {
            Some(place) => Some(*place),
            None if self.values.len() <= MOST_VALUES => {
                self.values.insert(value.to_owned(), next);
                Some(next)
            }
            None => None,
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

    /// Whether its values seem to name those whose rows they are: a name or a number of somebody, with one row for some and several for others.
    pub(crate) fn names_units(&self) -> bool {
        const WORDS: [&str; 14] = [
            "id",
            "ids",
            "uid",
            "uuid",
            "key",
            "pid",
            "nr",
            "person",
            "patient",
            "customer",
            "client",
            "user",
            "household",
            "member",
        ];
        let name = self.name.to_lowercase();
        let named = name.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word));
        let camel = self.name.ends_with("Id") || self.name.ends_with("ID");
        let rows: u64 = self.rows.values().sum();
        let values = self.rows.len() as u64;
        (named || camel) && self.strange.is_none() && rows > values && values > 20 && rows < 20 * values
    }

    /// Its values as the groups of a level: `map` gives for the hash of each the number of a value of `coarse`.
    pub(crate) fn groups(&self, coarse: &Survey, map: impl Fn(u64) -> Option<u32>) -> String {
        let mut groups: Vec<(&String, Vec<&String>)> = coarse
            .values
            .iter()
            .map(|(label, place)| {
                let mut own: Vec<&String> =
                    self.values.keys().filter(|value| map(hash(value)) == Some(*place)).collect();
                own.sort_unstable();
                (label, own)
            })
            .filter(|(_, own)| !own.is_empty())
            .collect();
        groups.sort_unstable();
        let list = |own: &[&String]| own.iter().map(|v| quoted(v)).collect::<Vec<_>>().join(", ");
        groups
            .iter()
            .map(|(label, own)| format!("{} = [{}]", quoted(label), list(own)))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Whether its name looks like one of its values: a number, a day, or a text that a row has, too.
    pub(crate) fn named_by_value(&self) -> bool {
        let name = self.name.trim();
        let number = name.parse::<f64>().is_ok();
        number || calendar::read(name.as_bytes()).is_some() || self.values.contains_key(&self.name)
    }

    /// The line that declares the domain, or why there is none.
    pub(crate) fn domain(&self) -> Result<String, &'static str> {
        if let Some(why) = self.strange {
            return Err(why);
        }
        if self.long {
            return Err("some values are longer than 1 000 bytes: list its categories, the rest is `other`");
        }
        if !self.values.keys().all(|value| is_plain(value)) {
            return Err(
                "some values have line ends or other characters that no category may have: list its categories, the rest is `other`",
            );
        }
        let listed = |values: Vec<String>| format!("categories = [{}]", values.join(", "));
        const EXACT: i64 = 1 << 53;
        const YEARS: i64 = 200 * 366;
        match (self.whole, self.days) {
            _ if self.values.is_empty() => Err("every cell is empty"),
            (_, Some((first, last))) if last - first < YEARS => {
                Ok(format!("dates = [\"{}\", \"{}\"]", calendar::written(first), calendar::written(last)))
            }
            (Some((lo, hi)), _)
                if hi.saturating_sub(lo) < MOST_VALUES as i64 && lo >= -EXACT && hi <= EXACT =>
            {
                Ok(format!("range = [{lo}, {hi}]"))
            }
            (Some(_), _) if self.values.len() <= MOST_VALUES => {
                let mut values: Vec<i64> = self.values.keys().filter_map(|v| v.parse().ok()).collect();
                values.sort_unstable();
                Ok(listed(values.into_iter().map(|n| format!("\"{n}\"")).collect()))
            }
            _ if self.values.len() <= MOST_VALUES => {
                let mut values: Vec<&String> = self.values.keys().collect();
                values.sort_unstable();
                Ok(listed(values.into_iter().map(|v| quoted(v)).collect()))
            }
            _ if self.numbers => {
                Err("too many different numbers: give it a `range` of whole numbers or `bins`")
            }
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
