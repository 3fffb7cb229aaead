//! Whether a text that would be published is the data itself.

/// Whether two texts have the same lines, in whatever order and with whatever line ends.
pub(super) fn same_lines(a: &[u8], b: &[u8]) -> bool {
    let lines = |text: &[u8]| -> Vec<Vec<u8>> {
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        let mut lines: Vec<Vec<u8>> = text.split(|b| *b == b'\n').map(|l| l.trim_ascii().to_vec()).collect();
        lines.retain(|l| !l.is_empty());
        lines.sort_unstable();
        lines
    };
    lines(a) == lines(b)
}
