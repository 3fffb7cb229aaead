//! Writing to standard output: a closed pipe ends the command quietly, it is not an error.

use super::{Failure, Outcome};
use crate::exact::Rational;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Prints text as it is.
pub fn print(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::Message(format!("cannot write: {e}"))),
        _ => Ok(()),
    }
}

/// A whole number with thin groups of three: `21 345 678`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// A budget or a probability for people: `1/2`, `1e-9`; where the exact ratio is long, nine decimals of it.
pub fn amount(r: Rational) -> String {
    let (num, den) = (r.numerator(), r.denominator());
    let text = r.to_string();
    if num == 1 && den >= 1000 && 10u128.checked_pow(den.ilog10()) == Some(den) {
        format!("1e-{}", den.ilog10())
    } else if text.len() <= 15 {
        text
    } else if r.to_f64() < 1e-4 {
        format!("{:.5e}", r.to_f64())
    } else {
        format!("{:.9}", r.to_f64())
    }
}

/// What was spent: nine decimals, or nine digits of very little.
pub fn spent(r: Rational) -> String {
    let x = r.to_f64();
    if x < 1e-4 { format!("{x:.8e}") } else { format!("{x:.9}") }
}

/// [`amount`] of a text.
pub fn short(text: &str) -> String {
    text.parse().map_or_else(|_| text.into(), amount)
}

/// Lines wider than a terminal broken at blanks, what follows indented. Lines that are indented already (an
/// excerpt with a caret, a table) stay as they are.
pub fn wrapped(text: &str, indent: usize) -> String {
    const WIDTH: usize = 80;
    let width = |s: &str| s.chars().count();
    let wrap = |line: &str| -> String {
        if line.starts_with(' ') || width(line) <= WIDTH {
            return line.into();
        }
        let (mut out, mut used) = (String::new(), 0);
        for word in line.split(' ') {
            if used > 0 && used + 1 + width(word) > WIDTH {
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

/// `1 group`, `8 groups`.
pub fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// What went wrong with a file, which is named unless the message does so.
pub fn about(path: &Path, error: &dyn std::error::Error) -> Failure {
    let (name, text) = (path.display().to_string(), error.to_string());
    Failure::Message(if text.contains(&name) { text } else { format!("{name}: {text}") })
}

/// A figure to four significant digits, without an exponent while that is readable.
pub fn figure(x: f64) -> String {
    if !x.is_finite() {
        return "unbounded".into();
    }
    let size = x.abs();
    if size >= 1e15 || (size > 0.0 && size < 1e-4) {
        return format!("{x:.3e}");
    }
    if size >= 1000.0 {
        let whole = grouped(size.round() as u64);
        return if x < 0.0 { format!("-{whole}") } else { whole };
    }
    let before = if size < 1.0 { 1 } else { size.log10().floor() as usize + 1 };
    format!("{x:.*}", 4 - before.min(3))
}

/// Columns padded to their widest cell; the first is left-aligned, the others right. Cells of the first
/// column are cut so that no line is wider than 80.
pub fn columns(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |s: &str| s.chars().count();
    let mut widths: Vec<usize> = head.iter().map(|h| width(h)).collect();
    for row in rows {
        for (w, cell) in widths.iter_mut().zip(row) {
            *w = (*w).max(width(cell));
        }
    }
    let rest: usize = widths[1..].iter().map(|w| w + 2).sum();
    widths[0] = widths[0].min(78usize.saturating_sub(rest).max(12));
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
    for row in rows {
        out.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(grouped(21_345_678), "21 345 678");
        assert_eq!(grouped(999), "999");
        assert_eq!([counted(1, "group"), counted(2000, "group")], ["1 group", "2 000 groups"]);
        let shown = |s: &str| amount(s.parse().unwrap());
        assert_eq!([shown("0.5"), shown("1e-9"), shown("1/3")], ["1/2", "1e-9", "1/3"]);
        assert_eq!(shown("813945766995/4398046511104"), "0.185069841");
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
