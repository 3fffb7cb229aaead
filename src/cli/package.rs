//! What exports and records know of `datapackage.json`, which describes all files of its folder (<https://specs.frictionlessdata.io/data-package/>).

/// Its name.
pub(super) const NAME: &str = "datapackage.json";
/// The most bytes of one that is read.
pub(super) const MOST: u64 = 1 << 28;

/// The first of these names of a file, and then the last with a number behind it, that no other file has.
pub(super) fn free<const N: usize>(names: [String; N], taken: impl Fn(&str) -> bool) -> String {
    let last = names.last().cloned().unwrap_or_default();
    let numbered = (2u32..).map(|n| format!("{last}-{n}"));
    names.into_iter().chain(numbered).find(|name| !taken(name)).unwrap_or(last)
}
