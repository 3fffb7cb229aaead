//! `margins studio`: a page for who plans a release, with the spec inside.
//!
//! The page is `studio/`'s: the planner in WebAssembly and the forms around it. A build with the feature `page` has it inside; what is added here is
//! JSON in which no letter means anything to HTML.

use super::page::{base64, cannot, is_page};
use super::{Failure, Outcome, output};
use crate::spec::{self, MAX_SPEC, Spec};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a page that plans a release in a browser: edit the spec in forms, and see how precise every table will be.
///
/// One HTML file that needs no server and no network. The planner of this program is inside, and the spec with the public lists that it
/// names; the data is not. Save the spec from the page when it is as you want it. Without a spec the page begins with a small one.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins studio specs/town.toml --out town-studio.html")]
pub(super) struct Args {
    /// The spec to begin with
    spec: Option<PathBuf>,
    /// The page to write
    #[arg(long, value_name = "FILE", default_value = "studio.html")]
    out: PathBuf,
    /// The page to put the spec into, if this program was built without one
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Print JSON: the page's name, its bytes, and the files inside
    #[arg(long)]
    json: bool,
}

/// Where a spec goes in the page.
const SLOT: &str = r#"<script type="application/json" id="inside">"#;

/// A page is not longer than that.
const MOST: u64 = 8 << 20;
/// Nor are the files that a spec names, in a page.
const MOST_FILES: usize = 64 << 20;

pub(super) fn run(args: &Args, own: Option<&str>) -> Outcome {
    if !is_page(&args.out) {
        return Err(Failure::Message("--out must name a page: its name ends with .html".into()));
    }
    let page = page(args, own)?;
    let Some((before, after)) = page.split_once(SLOT).filter(|(_, after)| after.starts_with("</script>"))
    else {
        return Err(Failure::Message("that is no studio of this program: it has no room for a spec".into()));
    };
    let inside = args.spec.as_ref().map(|spec| inside(spec)).transpose()?;
    let files: Vec<String> = inside.iter().flat_map(|inside| inside.files.keys().cloned()).collect();
    let text = inside.map_or(String::new(), |inside| inside.text());
    let write = || {
        let mut out = crate::files::unnamed(&args.out, false)?;
        [before, SLOT, &text, after].iter().try_for_each(|part| out.write_all(part.as_bytes()))?;
        let length = out.as_file().metadata()?.len();
        crate::files::named(out, &args.out, true)?;
        crate::files::settle(&args.out)?;
        Ok(length)
    };
    let length = write().map_err(|e: std::io::Error| cannot("write", &args.out, &e))?;
    if args.json {
        let said = json!({ "wrote": args.out.display().to_string(), "bytes": length, "spec": args.spec.is_some(), "files": files });
        return output::wrote(output::json(&(said.to_string() + "\n")));
    }
    let with = match (&args.spec, files.len()) {
        (None, _) => "with a small spec to begin with".to_owned(),
        (Some(_), 0) => "with the spec inside".to_owned(),
        (Some(_), n) => format!("with the spec and {} inside", output::counted(n as u64, "file")),
    };
    let (page, length) = (output::path(&args.out), output::grouped(length));
    output::wrote(output::print(&format!("wrote {page}: {length} bytes, {with}\n")))
}

/// The page without a spec.
fn page(args: &Args, own: Option<&str>) -> Result<String, Failure> {
    match (&args.page, own) {
        (Some(path), _) => crate::files::text(path, MOST).map_err(|e| cannot("read", path, &e)),
        (None, Some(page)) => Ok(page.into()),
        (None, None) => Err(Failure::Message(
            "this build of margins has no studio inside. The wheel has (pip install margins). From the sources: \
             studio/build makes studio/page.html, which --page takes; or build with --features page after it and explorer/build"
                .into(),
        )),
    }
}

/// What goes into the page.
struct Inside {
    name: String,
    source: String,
    files: Map<String, Value>,
}

impl Inside {
    /// JSON, for the inside of an element.
    fn text(&self) -> String {
        let all = json!({ "name": self.name, "text": self.source, "files": self.files });
        all.to_string().replace('<', "\\u003c")
    }
}

/// The spec and the public lists that it names. One with mistakes can be put right in the page, but what is no TOML is no spec: it may be the data.
fn inside(path: &Path) -> Result<Inside, Failure> {
    let name = path.file_name().map_or("spec.toml".into(), |name| name.to_string_lossy().into_owned());
    let errors = match spec::load(path) {
        Ok(spec) => return Ok(Inside { name, files: files(&spec)?, source: spec.source }),
        Err(errors) => errors,
    };
    let source = crate::files::text(path, MAX_SPEC).ok().filter(|text| text.parse::<toml::Table>().is_ok());
    let Some(source) = source else { return Err(super::refusal::spec_failure(errors)) };
    output::say("note: the spec has mistakes, which the page shows; hand it the files that the spec names");
    Ok(Inside { name, files: Map::new(), source })
}

fn files(spec: &Spec) -> Result<Map<String, Value>, Failure> {
    let bytes: usize = spec.attachments.iter().map(|(_, bytes)| bytes.len()).sum();
    if bytes > MOST_FILES {
        return Err(Failure::Message(format!(
            "the files that the spec names have {} bytes together: a page holds at most {}",
            output::grouped(bytes as u64),
            output::grouped(MOST_FILES as u64)
        )));
    }
    Ok(spec.attachments.iter().map(|(name, bytes)| (name.clone(), base64(bytes).into())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(spec: &str) -> Result<String, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("page.html"), format!("<p>{SLOT}</script></p>")).unwrap();
        std::fs::write(at("spec.toml"), spec).unwrap();
        std::fs::write(at("rows.csv"), "a\n1\n").unwrap();
        std::fs::write(at("areas.csv"), "area,district\nx,</script>\ny,e\n").unwrap();
        let args = Args {
            spec: Some(at("spec.toml")),
            out: at("out.html"),
            page: Some(at("page.html")),
            json: false,
        };
        run(&args, None)?;
        Ok(std::fs::read_to_string(at("out.html")).unwrap())
    }

    fn spec(title: &str, path: &str) -> String {
        format!(
            "name = \"s\"\ntitle = \"{title}\"\n[data]\npath = \"{path}\"\n[privacy]\nunit = \"row\"\nrho = 1\n\
             [[dimension]]\nname = \"area\"\nhierarchy = \"areas.csv\"\n[[table]]\nof = [\"area\"]\n"
        )
    }

    #[test]
    fn the_spec_and_its_lists_are_inside_and_no_html() {
        let own = spec("</script><b>", "rows.csv");
        let page = written(&own).unwrap_or_else(|_| panic!("it is written"));
        let inside =
            page.strip_prefix(&format!("<p>{SLOT}")).and_then(|t| t.strip_suffix("</script></p>")).unwrap();
        assert!(!inside.contains('<'), "{inside}");
        let inside: Value = serde_json::from_str(inside).unwrap();
        assert_eq!((&inside["text"], &inside["name"]), (&json!(own), &json!("spec.toml")));
        assert_eq!(inside["files"], json!({ "areas.csv": base64(b"area,district\nx,</script>\ny,e\n") }));
    }

    #[test]
    fn what_may_be_data_is_not() {
        // Mistakes are put right in the page, without the file that the spec names.
        let wrong = spec("t", "areas.csv");
        let page = written(&wrong).unwrap_or_else(|_| panic!("it is written"));
        assert!(page.contains("\"files\":{}"), "{page}");
        for no_spec in ["a,b\n1,2\n", "{\"a\": 1}", "\u{0}\u{1}"] {
            assert!(written(no_spec).is_err(), "{no_spec}");
        }
    }
}
