//! The evaluator of `margins` for a browser.
//!
//! [`Session`] is what the page asks: requests and replies are JSON, and every digit and every sentence in a reply is the library's, as the
//! command line prints it. `door` hands its bytes through the wall of WebAssembly; everything else is ordinary safe Rust, which tests
//! run on the machine itself.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod answer;
mod door;
mod picture;
mod records;
mod session;

pub use session::Session;
