//! Parts of a partition of the people: `region=north`.

/// The partition and the part: `region`, `north`. `None` for what is not written so.
pub fn sides(part: &str) -> Option<(&str, &str)> {
    let (by, is) = part.split_once('=')?;
    let plain = |s: &str| !s.is_empty() && s == s.trim() && !s.chars().any(char::is_control);
    (part.len() <= 200 && plain(by) && plain(is)).then_some((by, is))
}

#[cfg(test)]
mod tests {
    use super::sides;

    #[test]
    fn parts() {
        assert_eq!(sides("region=north"), Some(("region", "north")));
        assert_eq!(sides("a=b=c"), Some(("a", "b=c")));
        for bad in ["", "north", "=north", "region=", "region =north", "region= north", "a=b\n"] {
            assert_eq!(sides(bad), None, "{bad:?}");
        }
    }
}
