//! Writing to standard output: a closed pipe ends the command quietly, it is not an error.

use super::{Failure, Outcome};
use std::io::{ErrorKind, Write};

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
        assert_eq!(figure(1_234_567.8), "1 234 568");
        assert_eq!(figure(12.345), "12.35");
        assert_eq!(figure(0.12345), "0.123");
        assert_eq!(figure(-4321.0), "-4 321");
        assert_eq!(figure(f64::INFINITY), "unbounded");
    }
}
