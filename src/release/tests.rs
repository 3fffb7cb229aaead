//! The whole way: seal, open, verify; and every way to break a file.
