//! The `margins` command: see [`margins::cli`]. What is here is which pages a build has inside: not the library, so that it is the same with and without.

use margins::cli::Pages;

#[cfg(feature = "page")]
const PAGES: Pages = Pages {
    explorer: Some(include_str!("../explorer/page.html")),
    studio: Some(include_str!("../studio/page.html")),
};
#[cfg(not(feature = "page"))]
const PAGES: Pages = Pages { explorer: None, studio: None };

fn main() -> std::process::ExitCode {
    margins::cli::run(std::env::args_os().collect(), PAGES).into()
}
