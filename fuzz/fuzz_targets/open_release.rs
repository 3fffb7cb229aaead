//! A release file that anybody may have made: opened, audited and asked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use margins::answer::Answers;
use margins::audit;
use margins::release::Release;

fuzz_target!(|bytes: &[u8]| {
    let Ok(release) = Release::from_bytes(bytes.to_vec()) else { return };
    let _ = audit::audit(&release, None);
    // Sections behind the signature, decoded whether or not the audit is content.
    if let Ok(answers) = Answers::from_release(release) {
        let _ = answers.query(&format!("SELECT COUNT(*) FROM {}", answers.name()), 0.95);
    }
});
