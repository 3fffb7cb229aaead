//! How the keys of a spec are declared: once, in the file that reads them. The reader refuses all others, and the JSON Schema
//! and the tables of `docs/spec.md` are made from the declarations.

/// A table of a spec: `[privacy]`, or one `[[dimension]]`.
pub(crate) struct Keys {
    /// What the table says.
    pub(super) what: &'static str,
    /// Its keys, in the order of the manual.
    pub(super) keys: &'static [Key],
    /// Of these there is exactly one.
    pub(super) one_of: &'static [&'static str],
    /// Further rules, as members of a JSON Schema.
    pub(super) rules: &'static str,
}

/// One key.
pub(crate) struct Key {
    pub(super) name: &'static str,
    /// How it is written, where a name alone does not show it.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the manual, which a test writes"))]
    pub(super) example: &'static str,
    pub(super) required: bool,
    pub(super) shape: Shape,
    /// What it means, for editors and for the manual.
    pub(super) what: &'static str,
}

/// What may stand behind a key.
pub(crate) enum Shape {
    /// Text that is not empty.
    Text,
    /// Text of at most so many characters.
    Short(u32),
    /// Text that matches.
    Matches(&'static str),
    /// `true` or `false`.
    Truth,
    /// A whole number from one to another.
    Whole(i64, i64),
    /// A number greater than zero that is kept exactly.
    Exact,
    /// One of some words, each with its meaning.
    Words(fn() -> Vec<(&'static str, &'static str)>),
    /// A list, not empty.
    List(&'static Shape),
    /// Any list.
    AnyList(&'static Shape),
    /// A table.
    Table(&'static Keys),
    /// Several tables.
    Tables(&'static Keys),
    /// A table whose keys the agency chooses.
    Map(&'static Shape),
    /// One or another.
    Either(&'static [Shape]),
    /// As JSON Schema.
    Json(&'static str),
}

impl Keys {
    /// The names of the keys.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.keys.iter().map(|k| k.name)
    }
}

/// A key that may be left out.
pub(super) const fn key(name: &'static str, shape: Shape, what: &'static str) -> Key {
    Key { name, example: "", required: false, shape, what }
}

/// A key that is written like this.
pub(super) const fn shown(
    name: &'static str,
    example: &'static str,
    shape: Shape,
    what: &'static str,
) -> Key {
    Key { name, example, required: false, shape, what }
}

/// A key that must be there.
pub(super) const fn required(name: &'static str, shape: Shape, what: &'static str) -> Key {
    Key { name, example: "", required: true, shape, what }
}

/// A list of words with their values and meanings, as the reader takes it.
pub(super) type Words<T> = &'static [(&'static str, T, &'static str)];

/// The shape of one of some [`Words`].
macro_rules! words {
    ($list:expr) => {
        $crate::spec::keys::Shape::Words(|| $list.iter().map(|w| (w.0, w.2)).collect())
    };
}
pub(super) use words;
