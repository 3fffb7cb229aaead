//! Parts of a partition of the people: `region=north`.

use super::manifest::is_name;

/// The partition and the part: `region`, `north`. `None` for what is not written so.
pub fn sides(part: &str) -> Option<(&str, &str)> {
    let (by, is) = part.split_once('=')?;
    let plain = |s: &str| !s.is_empty() && s == s.trim() && !s.chars().any(char::is_control);
    (part.len() <= 200 && plain(by) && plain(is)).then_some((by, is))
}

/// The same as parts are told apart: both sides have the alphabet of ids, and capitals are no difference. `None` for what an older program took:
/// letters that look alike, or are one letter in two encodings, would be two parts of which only the dearest counts.
pub fn folded(part: &str) -> Option<(String, String)> {
    let (by, is) = sides(part).filter(|(by, is)| is_name(by) && is_name(is))?;
    Some((by.to_ascii_lowercase(), is.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::{folded, sides};

    #[test]
    fn parts() {
        assert_eq!(sides("region=north"), Some(("region", "north")));
        assert_eq!(sides("a=b=c"), Some(("a", "b=c")));
        for bad in ["", "north", "=north", "region=", "region =north", "region= north", "a=b\n"] {
            assert_eq!(sides(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn what_looks_alike_is_no_other_part() {
        assert_eq!(folded("Region=North-1"), Some(("region".into(), "north-1".into())));
        // Composed, decomposed, a space without width, a Cyrillic letter, a full-width one.
        for other in [
            "r=M\u{e1}laga",
            "r=Ma\u{301}laga",
            "r=mal\u{200b}aga",
            "r=m\u{430}laga",
            "\u{ff52}=malaga",
            "a=b=c",
        ] {
            assert!(sides(other).is_some() && folded(other).is_none(), "{other:?}");
        }
    }
}
