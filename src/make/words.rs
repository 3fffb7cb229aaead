//! Numbers for people.

use crate::exact::Rational;
use crate::price::price;
use crate::release::Currency;

/// A currency's name, as manifests have it.
pub(crate) const fn currency(of: Currency) -> &'static str {
    match of {
        Currency::Rho => "rho",
        Currency::Epsilon => "epsilon",
    }
}

/// What was spent.
pub(crate) fn decimals(r: Rational) -> String {
    price(r.to_f64())
}

/// A text as one word for a shell: what is inside is not obeyed by it.
pub(crate) fn word(text: &str) -> String {
    if !text.is_empty()
        && text.chars().all(|c| c.is_alphanumeric() || "_./:@%+=,-".contains(c) || cfg!(windows) && c == '\\')
    {
        return text.into();
    }
    // In double quotes, as people write it, but for what cannot be escaped there.
    if text.contains('!') {
        return format!("'{}'", text.replace('\'', "'\\''"));
    }
    let mut out = String::from('"');
    for c in text.chars() {
        if matches!(c, '"' | '$' | '`' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}
