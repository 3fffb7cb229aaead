//! What a misspelt name was probably meant to be.

/// The known name nearest to `name`, when one is near enough to be meant.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let letters = wanted.chars().count();
    // A third of the letters may be wrong; a single letter must at least agree but for its case.
    let tolerance = if letters < 2 { 0 } else { (letters / 3).max(1) };
    known
        .into_iter()
        .filter(|k| k.chars().count().abs_diff(letters) <= tolerance)
        .map(|k| (strsim::damerau_levenshtein(&wanted, &k.to_lowercase()), k))
        .filter(|&(distance, _)| distance <= tolerance)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, k)| k)
}

/// "did you mean …?", or what there is to choose from.
pub(super) fn help<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(k) => format!("did you mean `{k}`?"),
        None => format!("there is {}", listed(known)),
    }
}

/// The names, a dozen at most.
pub(super) fn listed<'a>(known: impl IntoIterator<Item = &'a str>) -> String {
    let mut known = known.into_iter();
    let mut shown: Vec<String> = known.by_ref().take(12).map(|k| format!("`{k}`")).collect();
    let left = known.count();
    if left > 0 {
        return format!("{} and {left} more", shown.join(", "));
    }
    match shown.pop() {
        None => "nothing".into(),
        Some(last) if shown.is_empty() => last,
        Some(last) => format!("{} and {last}", shown.join(", ")),
    }
}

/// "a, b or c".
pub(super) fn any_of(words: impl IntoIterator<Item = String>) -> String {
    let mut words: Vec<String> = words.into_iter().collect();
    match words.pop() {
        Some(last) if !words.is_empty() => format!("{} or {last}", words.join(", ")),
        last => last.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far() {
        let known = ["categories", "codes", "range", "bins", "A"];
        assert_eq!(nearest("catagories", known), Some("categories"));
        assert_eq!(nearest("cdoes", known), Some("codes"));
        assert_eq!(nearest("RANGE", known), Some("range"));
        assert_eq!(nearest("a", known), Some("A"));
        assert_eq!(nearest("b", known), None);
        assert_eq!(nearest("hierarchy", known), None);
        assert_eq!(help("zzz", ["x", "y"]), "there is `x` and `y`");
    }
}
