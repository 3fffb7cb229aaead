//! Errors of the library, in the words of the command.

use super::{Failure, output, terminal};
use crate::make::MakeError;
use crate::spec::SpecErrors;

/// Spec errors as they are shown: with colour on a terminal.
pub(crate) fn spec_failure(errors: SpecErrors) -> Failure {
    Failure::Rendered(errors.render(terminal::colours()))
}

/// An error of the library, in the words of the command.
pub(crate) fn failure(e: MakeError) -> Failure {
    match e {
        MakeError::Spec(errors) => spec_failure(errors),
        MakeError::Refused(why) => Failure::Refused(why),
        MakeError::Exists(path) => Failure::Message(format!(
            "{} exists; it is overwritten only with --replace",
            output::path(&path)
        )),
        MakeError::NoData => Failure::Message(
            "the spec names no data file: add a [data] section or give --data FILE".into(),
        ),
        MakeError::NoKey => Failure::Message(
            "a release is signed, and no key was given. Make one once, keep it, and use it for every release:\n  \
             margins keygen --out agency.key\n  margins release SPEC --key agency.key"
                .into(),
        ),
        other => other.into(),
    }
}
