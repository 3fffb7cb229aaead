//! Areas within areas: their list as a file of its own, when it is too long for the spec.

use super::Drawn;
use super::survey::{LONGEST, is_gap};
use crate::release::texts::is_plain;

/// No dimension is called so, and no level.
pub(super) const TOTAL: &str = "total";

/// A shorter list is easier to read in the spec.
const SHORT: usize = 20;

/// A column of names or codes, and those in which it lies, the finest first.
pub(super) struct Tree {
    pub(super) columns: Vec<usize>,
}

/// The trees among the columns. A column is in one of them at most.
pub(super) fn trees(drawn: &Drawn) -> Vec<Tree> {
    let mut found: Vec<Tree> = (0..drawn.columns.len()).filter_map(|fine| tree(drawn, fine)).collect();
    // The deepest first: tracts in counties are a part of blocks in tracts in counties.
    found.sort_by_key(|tree| std::cmp::Reverse(tree.columns.len()));
    let mut taken: Vec<usize> = Vec::new();
    found.retain(|tree| {
        let new = tree.columns.iter().all(|column| !taken.contains(column));
        if new {
            taken.extend(&tree.columns);
        }
        new
    });
    found.sort_by_key(|tree| tree.columns.first().copied());
    found
}

fn tree(drawn: &Drawn, fine: usize) -> Option<Tree> {
    let names = |at: &usize| drawn.columns.get(*at).is_some_and(|column| column.names());
    let columns: Vec<usize> = std::iter::once(fine).chain(drawn.nested.chain(fine)).collect();
    // A list of people is no list of areas, though each lies in some.
    let people = drawn.columns.get(fine).is_none_or(|column| column.may_be_people());
    if columns.len() < 2 || people || !columns.iter().all(names) {
        return None;
    }
    let label = |label: &&str| is_plain(label) && label.len() <= LONGEST && label.trim() == *label;
    let rows = drawn.nested.rows(&columns);
    let header = columns.iter().filter_map(|&at| drawn.columns.get(at)).map(|c| c.name.as_str());
    // Each column is a level.
    let named = header.clone().all(|name| name != TOTAL);
    let fit = named && rows.iter().flatten().copied().chain(header).all(|text| label(&text));
    (fit && rows.len() > SHORT).then_some(Tree { columns })
}

impl Tree {
    /// What its list is called, beside a draft of this name.
    pub(super) fn file(&self, drawn: &Drawn, name: &str) -> String {
        let column = self.columns.first().and_then(|&at| drawn.columns.get(at)).map_or("", |c| &c.name);
        let plain = |c: char| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
        format!("{name}-{}.csv", column.chars().take(60).map(plain).collect::<String>())
    }

    /// The list: a row for each finest area, in the order of all names from the coarsest.
    pub(super) fn list(&self, drawn: &Drawn) -> String {
        let gaps = drawn.gaps();
        let mut rows = drawn.nested.rows(&self.columns);
        rows.retain(|row| !row.first().is_some_and(|finest| is_gap(finest, gaps)));
        rows.sort_unstable_by(|a, b| a.iter().rev().cmp(b.iter().rev()));
        let header: Vec<&str> =
            self.columns.iter().filter_map(|&at| drawn.columns.get(at)).map(|c| c.name.as_str()).collect();
        let mut out = csv::Writer::from_writer(Vec::new());
        // In memory, and all rows are as long as the header: nothing can fail.
        let _ = std::iter::once(&header).chain(&rows).try_for_each(|row| out.write_record(row));
        String::from_utf8(out.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}
