//! Names that are devices on Windows: what is written under one is lost, whatever follows after a dot.

/// What no file may be called there.
pub(crate) fn is_reserved(stem: &str) -> bool {
    const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
    let name = stem.split('.').next().unwrap_or_default().to_lowercase();
    let port = |kind| {
        name.strip_prefix(kind).is_some_and(|n| {
            matches!(n, "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
        })
    };
    DEVICES.contains(&name.as_str()) || port("com") || port("lpt")
}

/// Why nothing is called so.
pub(crate) fn device(what: &str, name: &str) -> Option<String> {
    is_reserved(name).then(|| {
        format!(
            "{what} `{name}` is a device on Windows, where no file may be called so, with any ending: choose another"
        )
    })
}
