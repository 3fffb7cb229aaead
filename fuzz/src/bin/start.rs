//! Writes where fuzzing begins: `start FOLDER`.

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).ok_or_else(|| std::io::Error::other("start FOLDER"))?;
    margins_fuzz::start(folder.as_ref())
}
