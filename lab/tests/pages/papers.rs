//! What the pages of docs/papers print is what the commands print: every block marked `console` is played like a session; those marked
//! `console long`, which take minutes where nothing is optimised, by `cargo test --release`.

use super::play::play;
use margins::numeric::tries::tries;

/// The page as it would be printed now.
fn printed(page: &str) -> String {
    let (mut out, mut block) = (String::new(), None::<String>);
    for line in page.lines() {
        match &mut block {
            Some(script) if line == "```" => {
                out.push_str(play(script).trim_end());
                out.push_str("\n```\n");
                block = None;
            }
            Some(script) => {
                script.push_str(line);
                script.push('\n');
            }
            None => {
                out.push_str(line);
                out.push('\n');
                if line == "```console" || line == "```console long" && tries(0, 1) == 1 {
                    block = Some(String::new());
                }
            }
        }
    }
    assert!(block.is_none(), "a block without an end");
    out
}

#[test]
fn pages_print_what_commands_print() {
    let folder = super::product().join("docs/papers");
    let mut blocks = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let page = std::fs::read_to_string(&path).unwrap();
        blocks += page.matches("```console").count();
        let now = printed(&page);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, now).unwrap();
            continue;
        }
        for (i, (page, now)) in page.lines().zip(now.lines()).enumerate() {
            assert_eq!(page, now, "{}, line {}; UPDATE=1 keeps what is printed now", path.display(), i + 1);
        }
        assert_eq!(page.lines().count(), now.lines().count(), "{}", path.display());
    }
    assert!(blocks > 4, "{blocks} blocks are not all");
}
