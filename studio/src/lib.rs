//! The planner of `margins` for a browser.
//!
//! [`Session`] is what the page asks: requests and replies are JSON, and every figure in a reply is the library's, as `margins plan --json`
//! prints it. `text` keeps the spec's text and the forms of the page in step. `door` hands bytes through the wall of WebAssembly; everything
//! else is ordinary safe Rust, which tests run on the machine itself.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod door;
mod session;
mod text;

pub use session::Session;
