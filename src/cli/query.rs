//! tmp
use super::Outcome;
/// x
#[derive(clap::Args)]
pub struct Args {}
pub fn run(_: &Args) -> Outcome { Ok(()) }
