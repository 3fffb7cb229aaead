//! `margins page`: a page for an agency's site, with the release inside.
//!
//! The page is `explorer/`'s: the evaluator in WebAssembly and what people see. A program may have it inside; what is added
//! here are bytes in base64, and a public key, which have no letters that mean anything to HTML.

mod map;

use super::verify::read_key;
use super::{Failure, Outcome, output};
use crate::audit;
use crate::release::{is_name, public_key_text};
use crate::watch::Watch;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Write a page that opens, verifies and explores a release in a browser, with the release inside.
///
/// One HTML file that needs no server and no network: readers see whom the release protects, browse its tables, ask questions, and
/// download CSV. Their browser checks every byte with the same code as this program. Without a release the page asks for one.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  margins page out/town.margins --pubkey agency.pub --out town.html\n  \
    margins page out/town.margins --geojson areas.geojson --out map.html\n  \
    margins page --out explorer.html")]
pub(super) struct Args {
    /// The release; without one the page is empty, and readers open their own
    file: Option<PathBuf>,
    /// The page to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The public key that must have signed, which the page checks too: a .pub file, or its line of base64
    #[arg(long, value_name = "KEY", requires = "file")]
    pubkey: Option<String>,
    /// Write the page even if the release does not verify; the page says so
    #[arg(long, requires = "file")]
    unverified: bool,
    /// Areas for a map, as GeoJSON: a property of its features must name categories of a level of the release
    #[arg(long, requires = "file", value_name = "FILE")]
    geojson: Option<PathBuf>,
    /// The page to put the release into, if this program was built without one
    #[arg(long, value_name = "FILE")]
    explorer: Option<PathBuf>,
    /// Print JSON: the page's name, its bytes, and whether a release is inside
    #[arg(long)]
    json: bool,
}

/// Where a release goes in the page.
const SLOT: &str = r#"<script type="text/plain" id="inside">"#;

/// Where a map goes in the page, before the release.
const MAP: &str = r#"<script type="text/plain" id="map">"#;

/// A page is not longer than that.
const MOST: u64 = 4 << 20;

/// Areas are not longer than that.
const MOST_GEOJSON: u64 = 64 << 20;

pub(super) fn run(args: &Args, own: Option<&str>, watch: &Watch) -> Outcome {
    // A slip of the hand must not put a page in the place of a release or a key.
    if !is_page(&args.out) {
        return Err(Failure::Message("--out must name a page: its name ends with .html".into()));
    }
    let page = page(args, own)?;
    let Some((before, after)) = page.split_once(SLOT).filter(|(_, after)| after.starts_with("</script>"))
    else {
        return Err(Failure::Message("that is no page of this program: it has no room for a release".into()));
    };
    let mut attributes = String::new();
    let key = match &args.pubkey {
        Some(key) => Some(public_key_text(&read_key(key)?)?),
        None => None,
    };
    if let Some(file) = &args.file {
        let name = checked(file, key.as_deref(), args.unverified, watch)?;
        attributes.push_str(&format!(" data-name=\"{name}\""));
        if let Some(key) = &key {
            attributes.push_str(&format!(" data-key=\"{key}\""));
        }
        let beside = crate::release::sidecar_path(file);
        match crate::files::text(&beside, 1 << 16) {
            Ok(text) => {
                attributes.push_str(&format!(" data-minisig=\"{}\"", base64(text.as_bytes())));
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(cannot("read", &beside, &e)),
        }
    }
    let before = match (&args.file, &args.geojson) {
        (Some(file), Some(geojson)) => mapped(before, file, geojson)?,
        _ => before.into(),
    };
    let written = write(args, &before, &attributes, after);
    let length = written.map_err(|e| cannot("write", &args.out, &e))?;
    if args.json {
        let said = serde_json::json!({ "wrote": args.out.display().to_string(), "bytes": length, "release": args.file.is_some() });
        return output::wrote(output::json(&(said.to_string() + "\n")));
    }
    let with = if args.file.is_some() { "the release inside" } else { "room for a release" };
    let (page, length) = (output::path(&args.out), output::grouped(length));
    output::wrote(output::print(&format!("wrote {page}: {length} bytes, with {with}\n")))
}

/// Whether a file's name is that of a page.
pub(super) fn is_page(file: &Path) -> bool {
    file.extension().is_some_and(|e| e.eq_ignore_ascii_case("html") || e.eq_ignore_ascii_case("htm"))
}

pub(super) fn cannot(what: &str, path: &Path, why: &std::io::Error) -> Failure {
    Failure::Message(format!("cannot {what} {}: {why}", output::path(path)))
}

/// The page's beginning, with a map in it.
fn mapped(before: &str, file: &Path, geojson: &Path) -> Result<String, Failure> {
    let text = crate::files::text(geojson, MOST_GEOJSON).map_err(|e| cannot("read", geojson, &e))?;
    let release = crate::Release::open(file).map_err(|e| Failure::Message(e.to_string()))?;
    let made = map::map(&text, &release)
        .map_err(|why| Failure::Message(format!("{}: {why}", output::path(geojson))))?;
    let without = match made.without {
        0 => String::new(),
        n => format!("; {n} of its categories have no area"),
    };
    output::say(&format!("map: {} areas of {}{without}", made.shapes, crate::visible::visible(&made.level)));
    match before.split_once(MAP) {
        Some((first, rest)) => Ok(format!("{first}{MAP}{}{rest}", made.json)),
        None => Err(Failure::Message("that page has no room for a map: it is of an earlier version".into())),
    }
}

/// The page without a release.
fn page(args: &Args, own: Option<&str>) -> Result<String, Failure> {
    match (&args.explorer, own) {
        (Some(path), _) => crate::files::text(path, MOST).map_err(|e| cannot("read", path, &e)),
        (None, Some(page)) => Ok(page.into()),
        (None, None) => Err(Failure::Message(
            "this build of margins has no page inside. The wheel has (pip install margins). From the sources: \
             explorer/build makes explorer/page.html, which --explorer takes; or build with --features page after it"
                .into(),
        )),
    }
}

/// The name of a release that verifies, or that need not.
fn checked(file: &Path, key: Option<&str>, unverified: bool, watch: &Watch) -> Result<String, Failure> {
    let release = super::verify::opened(file)?.watched(watch);
    let report = audit::audit(&release, key)?;
    let name = &release.manifest().about.name;
    if !report.passed() {
        if !unverified {
            output::print(&report.to_text(&output::path(file)))?;
            return Err(Failure::Refuted);
        }
        output::say(&format!("warning: {} does not verify; the page says so", output::path(file)));
    } else if key.is_none() {
        output::say(
            "note: no --pubkey: the page checks that the file is whole, and leaves it to readers who signed",
        );
    }
    // A manifest with another name does not open; a page must not depend on that.
    if is_name(name) {
        Ok(name.clone())
    } else {
        Err(Failure::Message("the release has no sound name".into()))
    }
}

/// Writes the page beside its place, then renames it: no reader sees half of one.
fn write(args: &Args, before: &str, attributes: &str, after: &str) -> std::io::Result<u64> {
    let mut out = BufWriter::new(crate::files::unnamed(&args.out, false)?);
    out.write_all(before.as_bytes())?;
    let (open, close) = SLOT.split_at(SLOT.len() - 1);
    out.write_all(open.as_bytes())?;
    out.write_all(attributes.as_bytes())?;
    out.write_all(close.as_bytes())?;
    if let Some(file) = &args.file {
        let mut from = crate::files::open(file)?;
        // Whole groups of three bytes, so that the pieces join.
        let mut piece = vec![0; 3 << 16];
        loop {
            let n = filled(&mut from, &mut piece)?;
            out.write_all(base64(&piece[..n]).as_bytes())?;
            if n < piece.len() {
                break;
            }
        }
    }
    out.write_all(after.as_bytes())?;
    let done = out.into_inner().map_err(|e| e.into_error())?;
    let length = done.as_file().metadata()?.len();
    crate::files::named(done, &args.out, true)?;
    crate::files::settle(&args.out)?;
    Ok(length)
}

/// Reads until the buffer is full or the file is over.
fn filled(from: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut n = 0;
    while n < buffer.len() {
        match from.read(&mut buffer[n..])? {
            0 => break,
            more => n += more,
        }
    }
    Ok(n)
}

/// Base64 with the letters of RFC 4648, section 4.
pub(super) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let [a, b, c] = std::array::from_fn(|i| u32::from(group.get(i).copied().unwrap_or(0)));
        let all = a << 16 | b << 8 | c;
        for i in 0..4 {
            let letter = LETTERS[(all >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= group.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        let known = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ];
        for (bytes, text) in known {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xbf]), "+/+/");
    }
}
