//! The only way out to a terminal. Whatever is printed passes [`crate::visible`], because names and labels come from
//! files that somebody else made; a closed pipe ends the command quietly, it is not an error.

use super::{Failure, Outcome};
use crate::exact::Rational;
pub(crate) use crate::make::words::{decimals as spent, word};
pub use crate::preview::{counted, figure, grouped};
use crate::render::{self, Caveat, ResultTable};
use crate::visible::{visible, visible_json, visible_lines};
use clap::builder::{PathBufValueParser, TypedValueParser};
use std::borrow::Cow;
use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Prints text for people.
pub fn print(text: &str) -> Outcome {
    write(&visible_lines(text))
}

/// Prints JSON: what could act on a terminal is written with JSON's own escapes, so nothing is lost.
pub fn json(text: &str) -> Outcome {
    write(&visible_json(text))
}

/// Prints JSON that is too long to be held, piece by piece; each piece is whole characters.
pub(crate) fn json_pieces(pieces: impl Iterator<Item = String>) -> Outcome {
    let mut held = String::new();
    for piece in pieces {
        held.push_str(&piece);
        if held.len() > 1 << 16 {
            write(&visible_json(&held))?;
            held.clear();
        }
    }
    write(&visible_json(&held))
}

/// Prints what programs read (CSV, a spec, a completion script): byte for byte, but to a terminal as text.
pub(crate) fn data(text: &str) -> Outcome {
    write(&for_programs(text, std::io::stdout().is_terminal()))
}

/// The longest text file that is read: of queries, or a history.
pub(crate) const MOST: u64 = 1 << 30;

/// What goes out of a line of CSV, or of other text for programs.
pub(crate) fn for_programs(text: &str, terminal: bool) -> Cow<'_, str> {
    if terminal { visible_lines(&text.replace("\r\n", "\n")).into_owned().into() } else { text.into() }
}

/// Says something on standard error. When nobody can hear it, there is nobody to tell.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", visible_lines(text));
}

/// Says a warning or a note, whose further lines stand below its text.
pub(crate) fn warn(text: &str) {
    let indent = if text.starts_with("note: ") { 6 } else { 9 };
    say(&wrapped(text, indent));
}

/// Asks on standard error, and reads a line: whether it is a yes.
pub(crate) fn confirm(question: &str) -> bool {
    let mut answer = String::new();
    let asked = write!(std::io::stderr(), "{}", visible_lines(question)).is_ok();
    asked
        && std::io::stdin().read_line(&mut answer).is_ok()
        && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// The same for diagnostics, which may have colours.
pub(crate) fn say_coloured(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", crate::visible::visible_coloured(text));
}

/// What was done stays done where it cannot be printed, which is said: nobody should do it twice, or be charged twice.
pub(super) fn done(printed: Outcome, what: &str) -> Outcome {
    printed.map_err(|failure| match failure {
        Failure::Message(why) => Failure::Message(format!("{why}\n{what}")),
        failure => failure,
    })
}

/// The same of files that were written.
pub(super) fn wrote(printed: Outcome) -> Outcome {
    done(printed, "what was asked for is written")
}

/// Whether nobody reads any more what is printed: long answers may stop.
pub(crate) fn gone() -> bool {
    GONE.load(Ordering::Relaxed)
}

/// Standard output is the process's own, and so is this: only the command prints, and the library that programs use never asks.
static GONE: AtomicBool = AtomicBool::new(false);

fn write(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => {
            GONE.store(true, Ordering::Relaxed);
            Ok(())
        }
        Err(e) => Err(Failure::Message(format!("cannot write to standard output: {e}"))),
    }
}

/// Prints an answer as CSV. What the table for people has below it is said on standard error: CSV has no room for sentences, and to which bounds
/// values were moved is in none of its columns.
pub(crate) fn print_csv(table: &ResultTable) -> Outcome {
    data(&render::csv(table))?;
    table.told().iter().for_each(|sentence| note(sentence));
    Ok(())
}

/// Says on standard error what makes numbers untrue besides noise.
pub(crate) fn tell(caveats: &[Caveat], level: f64) {
    caveats.iter().for_each(|caveat| note(&caveat.text(level)));
}

/// A note beside data.
pub(crate) fn note(text: &str) {
    say(&wrapped(&format!("note: {text}"), 6));
}

/// Takes the file for a picture only if it can be one: what it shows may be the work of hours.
pub fn picture() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|file| crate::files::writable(&file).map(|()| file))
}

/// [`amount`] of a text.
pub(crate) fn short(text: &str) -> String {
    text.parse().map_or_else(|_| text.into(), Rational::shown)
}

/// Lines wider than a terminal broken at blanks, what follows indented. Lines that are indented already (an
/// excerpt with a caret, a table) stay as they are.
pub fn wrapped(text: &str, indent: usize) -> String {
    let most = super::terminal::prose();
    let width = |s: &str| s.chars().count();
    let wrap = |line: &str| -> String {
        if line.starts_with(' ') || width(line) <= most {
            return line.into();
        }
        let (mut out, mut used) = (String::new(), 0);
        for word in line.split(' ') {
            if used > 0 && used + 1 + width(word) > most {
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                used = indent;
            } else if used > 0 {
                out.push(' ');
                used += 1;
            }
            out.push_str(word);
            used += width(word);
        }
        out
    };
    text.split('\n').map(wrap).collect::<Vec<_>>().join("\n")
}

/// A path, in one line: anything can be in a file's name.
pub fn path(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}

/// A command to be copied behind what it is for, over two lines where one would be too wide: its last word is then the second one.
pub(crate) fn command(what: &str, words: &[&str]) -> String {
    let line = format!("{what}{}", words.join(" "));
    match words {
        [first @ .., last] if !first.is_empty() && line.chars().count() > super::terminal::prose() => {
            format!("{what}{} \\\n{:2$}{last}\n", first.join(" "), "", what.chars().count() + 2)
        }
        _ => line + "\n",
    }
}

/// A path for JSON, which has no other bytes than text.
pub(crate) fn plain(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// An error as it is shown.
pub(crate) fn error(text: &str) -> String {
    wrapped(&format!("error: {text}"), 7)
}

/// What went wrong with a file, which is named unless the message does so.
pub fn about(path: &Path, error: &dyn std::error::Error) -> Failure {
    let (name, text) = (path.display().to_string(), error.to_string());
    Failure::Message(if text.contains(&name) {
        text.replace(&name, &visible(&name))
    } else {
        format!("{}: {text}", visible(&name))
    })
}

/// Columns padded to their widest cell; the first is left-aligned, the others right. Cells of the first
/// column are cut so that no line is wider than the terminal.
pub fn columns(head: &[&str], rows: &[Vec<String>]) -> String {
    // A cell is one line.
    let rows: Vec<Vec<Cow<str>>> =
        rows.iter().map(|row| row.iter().map(|cell| visible(cell)).collect()).collect();
    let width = |s: &str| s.chars().count();
    let mut widths: Vec<usize> = head.iter().map(|h| width(h)).collect();
    for row in &rows {
        for (w, cell) in widths.iter_mut().zip(row) {
            *w = (*w).max(width(cell));
        }
    }
    let rest: usize = widths[1..].iter().map(|w| w + 2).sum();
    let most = super::terminal::width() - 2;
    widths[0] = widths[0].min(most.saturating_sub(rest).max(12));
    let cut = |s: &str, w: usize| -> String {
        if width(s) <= w { s.into() } else { s.chars().take(w - 1).chain(['…']).collect() }
    };
    let line = |cells: Vec<&str>| {
        let mut out = format!("  {:<1$}", cut(cells[0], widths[0]), widths[0]);
        for (cell, w) in cells[1..].iter().zip(&widths[1..]) {
            out.push_str(&format!("  {cell:>w$}"));
        }
        out.trim_end().to_string() + "\n"
    };
    let mut out = line(head.to_vec());
    out.push_str(&format!("  {}\n", "─".repeat(widths[0] + rest)));
    for row in &rows {
        out.push_str(&line(row.iter().map(AsRef::as_ref).collect()));
    }
    out
}

/// Why a file cannot be written, with its name.
pub(super) fn cannot_write(file: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::Message(unwritten(file, why))
}

fn unwritten(file: &Path, why: &dyn std::fmt::Display) -> String {
    format!("cannot write {}: {why}", path(file))
}

/// An open file of which every error says what it is called: whoever writes in it may do other things that fail.
pub(super) struct Written {
    file: File,
    path: PathBuf,
}

impl Written {
    pub(super) fn new(file: File, path: &Path) -> Written {
        Written { file, path: path.to_owned() }
    }

    /// Leaves nothing to be written later.
    pub(super) fn sync(&self) -> std::io::Result<()> {
        self.named(self.file.sync_all())
    }

    fn named<T>(&self, done: std::io::Result<T>) -> std::io::Result<T> {
        done.map_err(|e| std::io::Error::new(e.kind(), unwritten(&self.path, &e)))
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let done = self.file.write(bytes);
        self.named(done)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let done = self.file.flush();
        self.named(done)
    }
}

/// What the Parquet library could not do: where that is the file's own error, it names the file.
#[cfg(feature = "parquet")]
pub(super) fn no_parquet(e: ::parquet::errors::ParquetError) -> Failure {
    match e {
        ::parquet::errors::ParquetError::External(own) => Failure::Message(own.to_string()),
        e => Failure::Message(format!("cannot write Parquet: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As on a full disk.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_cannot_be_written_is_named() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = Written::new(full, Path::new("out/table.csv")).write_all(b"x").unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("cannot write out/table.csv: No space left"), "{text}");
        #[cfg(feature = "parquet")]
        {
            let Failure::Message(text) = no_parquet(error.into()) else { panic!("no message") };
            assert!(text.starts_with("cannot write out/table.csv: No space left"), "{text}");
        }
    }

    /// Held against the shell itself.
    #[cfg(unix)]
    #[test]
    fn a_word_is_one_word_to_a_shell() {
        let texts = [
            "",
            "out/a.margins",
            "SELECT a, \"b \"\"c\" FROM \"d$(date)`date`\\$HOME\"",
            "it's !!",
            "a\nb\\",
            "*~#&|;<>(){}[]?",
            "Größe 'x'",
        ];
        for text in texts {
            let said = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", word(text))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), text, "{}", word(text));
        }
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(grouped(21_345_678), "21 345 678");
        assert_eq!(grouped(999), "999");
        assert_eq!([counted(1, "group"), counted(2000, "group")], ["1 group", "2 000 groups"]);
        let long = format!("error: {}", "word ".repeat(20).trim_end());
        let broken = wrapped(&long, 7);
        assert!(broken.lines().all(|l| l.chars().count() <= 80) && broken.lines().count() == 2, "{broken}");
        assert_eq!(
            broken.split_whitespace().collect::<Vec<_>>(),
            long.split_whitespace().collect::<Vec<_>>()
        );
        assert_eq!(wrapped(&format!("  {long}"), 7), format!("  {long}"));
        assert_eq!(figure(1_234_567.8), "1 234 568");
        assert_eq!(figure(12.345), "12.35");
        assert_eq!(figure(0.12345), "0.123");
        assert_eq!(figure(-4321.0), "-4 321");
        assert_eq!(figure(f64::INFINITY), "unbounded");
    }
}
