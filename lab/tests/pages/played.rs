//! The product's command, for the sessions that play it beside the lab's.

fn main() -> std::process::ExitCode {
    let words = ["margins".into()].into_iter().chain(std::env::args_os().skip(1));
    margins::cli::run(words.collect(), margins::cli::Pages::default()).into()
}
