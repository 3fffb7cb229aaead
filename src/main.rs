//! The `margins` command: exit codes only, see [`margins::cli`].

fn main() -> std::process::ExitCode {
    margins::cli::main()
}
