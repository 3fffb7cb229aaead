//! The bytes around the sections: header, table, tags and caps. See `schemas/RELEASE-FORMAT.md`.

use super::ReleaseError;
use super::kind::{CRITICAL, FIRST_FORMAT, Kind};

/// The first eight bytes of every release. The first one is no ASCII, so nothing takes the file for text.
pub const MAGIC: [u8; 8] = *b"\x8dMARGINS";
/// The format version this program writes.
pub const FORMAT: u32 = 2;
/// Bytes before the table: magic, version, section count, manifest length, signature length.
pub(crate) const HEADER_LEN: u64 = 32;
/// Bytes of one row of the table: tag, index, offset, length, BLAKE3.
pub(crate) const ROW_LEN: u64 = 56;
/// The most sections a release may have.
pub const MAX_SECTIONS: u32 = 65_536;
/// The longest a section may be: it is read into memory whole.
pub const MAX_SECTION: u64 = 1 << 30;
/// The longest a manifest may be.
pub(crate) const MAX_MANIFEST: u64 = 64 << 20;
/// The longest a signature may be.
pub(crate) const MAX_SIGNATURE: u64 = 4096;

impl Kind {
    /// The kind with this tag, in a file of this format version. A known number with the wrong critical bit is
    /// refused, and so is an unknown critical one; an unknown optional one is `None`.
    pub(crate) fn from_tag(tag: u32, version: u32) -> Result<Option<Kind>, ReleaseError> {
        let known = |k: &Kind| k.since() <= version && k.tag() & !CRITICAL == tag & !CRITICAL;
        if let Some(kind) = Kind::ALL.into_iter().find(known) {
            return if kind.tag() == tag {
                Ok(Some(kind))
            } else {
                Err(ReleaseError::Table("a known section has the wrong critical bit"))
            };
        }
        if tag & CRITICAL == 0 { Ok(None) } else { Err(ReleaseError::UnknownCritical { tag }) }
    }
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    /// Tag with the critical bit.
    pub tag: u32,
    /// Which of the sections with this tag.
    pub index: u32,
    /// Where its first byte is in the file.
    pub offset: u64,
    /// How many bytes it has.
    pub length: u64,
    /// The BLAKE3 hash of its bytes.
    pub hash: [u8; 32],
}

/// The first 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// The format version.
    pub version: u32,
    /// How many rows the table has.
    pub sections: u32,
    /// How many bytes the manifest has.
    pub manifest: u64,
    /// How many bytes the signature has.
    pub signature: u64,
}

/// `N` bytes of `bytes` at `at`; zeros where there are none (callers pass slices of the right length).
fn take<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..at + N).and_then(|b| b.try_into().ok()).unwrap_or([0; N])
}

fn cap(what: &'static str, found: u64, cap: u64) -> Result<(), ReleaseError> {
    if found > cap { Err(ReleaseError::TooLarge { what, found, cap }) } else { Ok(()) }
}

impl Header {
    /// The 32 bytes.
    #[cfg(any(test, feature = "compile"))]
    pub(crate) fn to_bytes(self) -> [u8; HEADER_LEN as usize] {
        let mut out = [0; HEADER_LEN as usize];
        out[..8].copy_from_slice(&MAGIC);
        out[8..12].copy_from_slice(&self.version.to_le_bytes());
        out[12..16].copy_from_slice(&self.sections.to_le_bytes());
        out[16..24].copy_from_slice(&self.manifest.to_le_bytes());
        out[24..].copy_from_slice(&self.signature.to_le_bytes());
        out
    }

    /// Reads the 32 bytes and checks every cap.
    pub(crate) fn parse(bytes: &[u8; HEADER_LEN as usize]) -> Result<Header, ReleaseError> {
        if bytes[..8] != MAGIC {
            return Err(ReleaseError::Magic);
        }
        let version = u32::from_le_bytes(take(bytes, 8));
        if !(FIRST_FORMAT..=FORMAT).contains(&version) {
            return Err(ReleaseError::Version { found: version, known: FORMAT });
        }
        let header = Header {
            version,
            sections: u32::from_le_bytes(take(bytes, 12)),
            manifest: u64::from_le_bytes(take(bytes, 16)),
            signature: u64::from_le_bytes(take(bytes, 24)),
        };
        cap("the number of sections", header.sections.into(), MAX_SECTIONS.into())?;
        cap("the manifest's length", header.manifest, MAX_MANIFEST)?;
        cap("the signature's length", header.signature, MAX_SIGNATURE)?;
        Ok(header)
    }

    /// Where the first section starts.
    pub(crate) fn bodies(self) -> u64 {
        HEADER_LEN + ROW_LEN * u64::from(self.sections)
    }
}

impl Row {
    /// The 56 bytes.
    #[cfg(any(test, feature = "compile"))]
    pub(crate) fn to_bytes(self) -> [u8; ROW_LEN as usize] {
        let mut out = [0; ROW_LEN as usize];
        out[..4].copy_from_slice(&self.tag.to_le_bytes());
        out[4..8].copy_from_slice(&self.index.to_le_bytes());
        out[8..16].copy_from_slice(&self.offset.to_le_bytes());
        out[16..24].copy_from_slice(&self.length.to_le_bytes());
        out[24..].copy_from_slice(&self.hash);
        out
    }

    fn parse(bytes: &[u8]) -> Row {
        Row {
            tag: u32::from_le_bytes(take(bytes, 0)),
            index: u32::from_le_bytes(take(bytes, 4)),
            offset: u64::from_le_bytes(take(bytes, 8)),
            length: u64::from_le_bytes(take(bytes, 16)),
            hash: take(bytes, 24),
        }
    }

    /// The order of sections in a file.
    pub(crate) fn order(&self) -> (u32, u32) {
        (self.tag & !CRITICAL, self.index)
    }
}

/// Reads the table: contiguous from the end of the table on, ascending by tag number and index,
/// indices without holes, tags known or optional. Returns it with the offset of the manifest.
pub(crate) fn parse_table(header: Header, bytes: &[u8]) -> Result<(Vec<Row>, u64), ReleaseError> {
    let rows: Vec<Row> = bytes.chunks_exact(ROW_LEN as usize).map(Row::parse).collect();
    let mut offset = header.bodies();
    let mut before: Option<&Row> = None;
    for row in &rows {
        let kind = Kind::from_tag(row.tag, header.version)?;
        cap("a section's length", row.length, MAX_SECTION)?;
        if row.offset != offset {
            return Err(ReleaseError::Table("the sections do not follow each other without a gap"));
        }
        offset = offset.checked_add(row.length).ok_or(ReleaseError::Table("the lengths overflow"))?;
        let same = before.filter(|b| b.tag & !CRITICAL == row.tag & !CRITICAL);
        if before.is_some_and(|b| b.order() >= row.order()) {
            return Err(ReleaseError::Table("the sections are not in ascending order"));
        }
        if same.is_some_and(|b| b.tag != row.tag) {
            return Err(ReleaseError::Table("one section number appears with and without the critical bit"));
        }
        if row.index != same.map_or(0, |b| b.index + 1) {
            return Err(ReleaseError::Table("the indices of a kind do not run from 0 without holes"));
        }
        if kind.is_some_and(|k| !k.repeats() && row.index != 0) {
            return Err(ReleaseError::Table("a kind that is there once appears twice"));
        }
        before = Some(row);
    }
    for kind in Kind::ALL.into_iter().filter(|k| k.single()) {
        if !rows.iter().any(|r| r.tag == kind.tag()) {
            return Err(ReleaseError::Missing { kind, index: 0 });
        }
    }
    Ok((rows, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers are the format: changing one breaks every published file.
    #[test]
    fn tags_are_fixed() {
        let pinned = [
            (Kind::Domain, 0x8000_0001, "domain"),
            (Kind::Plan, 0x8000_0002, "plan"),
            (Kind::Spec, 3, "spec"),
            (Kind::Attachment, 4, "attachment"),
            (Kind::Measurements, 0x8000_0005, "measurements"),
            (Kind::Exact, 0x8000_0006, "exact"),
            (Kind::Zero, 0x8000_0007, "zero"),
            (Kind::Projection, 0x8000_0008, "projection"),
            (Kind::CutUnits, 0x8000_0009, "truncation"),
            (Kind::Workload, 10, "workload"),
            (Kind::Copies, 0x8000_000b, "copies"),
            (Kind::Sums, 0x8000_000c, "sums"),
        ];
        assert_eq!(pinned.map(|(k, _, _)| k), Kind::ALL);
        for (kind, tag, name) in pinned {
            assert_eq!((kind.tag(), kind.name()), (tag, name));
            assert_eq!(Kind::from_tag(tag, FORMAT).unwrap(), Some(kind));
            assert!(Kind::from_tag(tag ^ CRITICAL, FORMAT).is_err());
        }
        let unknown = Kind::from_tag(CRITICAL | 13, FORMAT);
        assert!(matches!(unknown, Err(ReleaseError::UnknownCritical { .. })));
        assert_eq!(Kind::from_tag(77, FORMAT).unwrap(), None);
    }

    /// The list of format 1 is closed: what came later is unknown to it.
    #[test]
    fn later_kinds_are_unknown_to_format_1() {
        for kind in Kind::ALL {
            let found = Kind::from_tag(kind.tag(), 1);
            match kind {
                Kind::Workload => assert_eq!(found.unwrap(), None),
                Kind::CutUnits | Kind::Copies | Kind::Sums => {
                    assert!(matches!(found, Err(ReleaseError::UnknownCritical { .. })));
                }
                _ => assert_eq!(found.unwrap(), Some(kind)),
            }
        }
        assert_eq!(Kind::from_tag(9, 1).unwrap(), None);
    }

    #[test]
    fn header_bytes_are_pinned() {
        let header = Header { version: 2, sections: 3, manifest: 0x0102, signature: 7 };
        let bytes = header.to_bytes();
        assert_eq!(bytes, *b"\x8dMARGINS\x02\0\0\0\x03\0\0\0\x02\x01\0\0\0\0\0\0\x07\0\0\0\0\0\0\0");
        assert_eq!(Header::parse(&bytes).unwrap(), header);
        let row = Row { tag: CRITICAL | 5, index: 2, offset: 9, length: 4, hash: [0xab; 32] };
        assert_eq!(Row::parse(&row.to_bytes()), row);
        assert_eq!(row.to_bytes()[..9], [5, 0, 0, 0x80, 2, 0, 0, 0, 9]);
    }
}
