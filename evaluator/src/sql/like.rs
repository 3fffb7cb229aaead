//! Patterns of labels: `%` is any text, `_` any one character.

/// Whether a label is as the pattern says. Work grows with the product of their lengths, whatever the pattern.
pub(super) fn matches(pattern: &str, label: &str, any_case: bool) -> bool {
    let chars = |text: &str| -> Vec<char> {
        if any_case { text.to_lowercase().chars().collect() } else { text.chars().collect() }
    };
    let (pattern, label) = (chars(pattern), chars(label));
    // Which beginnings of the label the pattern read so far can be.
    let mut reached = vec![false; label.len() + 1];
    reached[0] = true;
    for &sign in &pattern {
        if sign == '%' {
            let first = reached.iter().position(|r| *r).unwrap_or(reached.len());
            reached.iter_mut().skip(first).for_each(|r| *r = true);
            continue;
        }
        for at in (1..reached.len()).rev() {
            reached[at] = reached[at - 1] && (sign == '_' || sign == label[at - 1]);
        }
        reached[0] = false;
    }
    reached[label.len()]
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (pattern, label, any_case, expected) in [
            ("", "", false, true),
            ("", "a", false, false),
            ("%", "", false, true),
            ("self%", "self-employed", false, true),
            ("self%", "Self-employed", false, false),
            ("self%", "Self-employed", true, true),
            ("%emp%d", "self-employed", false, true),
            ("_", "é", false, true),
            ("__", "é", false, false),
            ("a%b%c", "aXbYbZc", false, true),
            ("a%b%c", "aXcYb", false, false),
            ("10_0", "1000", false, true),
        ] {
            assert_eq!(matches(pattern, label, any_case), expected, "{pattern} {label}");
        }
        assert!(!matches(&"%a".repeat(1000), &"b".repeat(1000), false));
    }
}
