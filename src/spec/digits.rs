//! How numbers are written in text: what stands before the fraction, and between groups of three digits.

/// How numbers are written in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digits {
    /// Before the fraction; a point by default.
    pub decimal: u8,
    /// Between groups of three digits.
    pub thousands: Option<char>,
}

impl Default for Digits {
    /// `1234.5`.
    fn default() -> Digits {
        Digits { decimal: b'.', thousands: None }
    }
}

#[cfg(feature = "compile")]
fn begins_with_nought(group: &[u8]) -> bool {
    group.iter().find(|byte| byte.is_ascii_digit()) == Some(&b'0')
}

#[cfg(feature = "compile")]
impl Digits {
    /// A number of more bytes is none, where numbers are written in other ways than by default.
    pub(crate) const LONGEST: usize = 64;

    /// Writes a number with a point and without groups of digits, and says how many bytes that has. Groups have three digits, but for the first, and
    /// either all are set apart or none.
    pub(crate) fn plainly(self, cell: &[u8], to: &mut [u8; Digits::LONGEST]) -> Option<usize> {
        let find = |byte: u8, text: &[u8]| text.iter().position(|&b| b == byte);
        let whole = find(self.decimal, cell).unwrap_or(cell.len());
        let (whole, rest) = cell.split_at_checked(whole)?;
        if self.decimal != b'.' && find(b'.', rest).is_some() {
            return None;
        }
        let mut bytes = [0; 4];
        let mark = self.thousands.map(|mark| mark.encode_utf8(&mut bytes).as_bytes());
        let mut len = 0;
        let mut push = |byte: u8| {
            *to.get_mut(len)? = byte;
            len += 1;
            Some(())
        };
        let (mut at, mut group, mut groups) = (0, 0, 0);
        while let Some(&byte) = whole.get(at) {
            if mark.is_some_and(|mark| whole.get(at..).is_some_and(|rest| rest.starts_with(mark))) {
                // A thousand does not begin with a nought: that is a fraction, written otherwise than is said.
                let nought = groups == 0 && whole.get(..at).is_some_and(begins_with_nought);
                if nought || group == 0 || group > 3 || (groups > 0 && group != 3) {
                    return None;
                }
                at += mark.map_or(1, <[u8]>::len);
                (group, groups) = (0, groups + 1);
                continue;
            }
            if self.decimal != b'.' && byte == b'.' {
                return None;
            }
            group += usize::from(byte.is_ascii_digit());
            push(byte)?;
            at += 1;
        }
        if groups > 0 && group != 3 {
            return None;
        }
        for &byte in rest {
            push(if byte == self.decimal { b'.' } else { byte })?;
        }
        Some(len)
    }
}
