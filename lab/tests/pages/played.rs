//! The product's command, for the sessions that play it beside the lab's.

fn main() -> std::process::ExitCode {
    margins::cli::main()
}
