//! The `margins` command, one verb a file.

/// Runs the command and returns its exit code.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
