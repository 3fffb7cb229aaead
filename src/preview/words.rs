//! Numbers in sentences.

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

/// `1 group`, `8 groups`.
pub fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// How many times as large: two decimals, while that is readable.
pub(crate) fn times(x: f64) -> String {
    if x < 1e6 { format!("{x:.2}") } else { figure(x) }
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
    let before = if size < 1.0 { 1 } else { libm::log10(size).floor() as usize + 1 };
    format!("{x:.*}", 4 - before.min(3))
}
