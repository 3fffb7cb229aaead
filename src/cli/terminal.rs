//! What the terminal can show. Where nobody says otherwise, lines have 80 characters and no colours.

use std::io::IsTerminal;
use terminal_size::{Width, terminal_size_of};

/// Prose in longer lines is hard to read.
const PROSE: usize = 80;

/// The width of tables: `COLUMNS` where it is set, else the terminal's, from 60 to 200.
pub(super) fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse::<usize>().ok());
    let seen = || terminal_size_of(std::io::stdout()).map(|(Width(width), _)| usize::from(width));
    told.filter(|w| *w > 0).or_else(seen).map_or(PROSE, |w| w.clamp(60, 200))
}

/// The width of text.
pub(crate) fn prose() -> usize {
    width().min(PROSE)
}

/// Whether it is no terminal that can only write letters one after the other.
fn is_able() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether standard error may have colours: not where `NO_COLOR` says no (https://no-color.org).
pub(crate) fn colours() -> bool {
    let no = std::env::var_os("NO_COLOR").is_some_and(|text| !text.is_empty());
    !no && is_able() && std::io::stderr().is_terminal()
}

/// Whether a line on standard error may be drawn over.
pub(crate) fn redraws() -> bool {
    is_able() && std::io::stderr().is_terminal()
}
