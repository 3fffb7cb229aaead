//! A package as a tree of modules: what each defines, imports and names, as far as its text shows, and so which file takes what
//! from which.

use std::collections::{BTreeMap, BTreeSet};

/// The words and signs of a text, without comments, strings, numbers and lifetimes; `::` and `..` are one sign each.
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    let (mut all, mut rest) = (Vec::new(), text);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(c) = rest.chars().next() {
        let long = if is_word(c) {
            let long = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(long);
            let hashes = behind.len() - behind.trim_start_matches('#').len();
            let quoted = ["r", "b", "br", "c", "cr"].contains(&word) && behind[hashes..].starts_with('"');
            if quoted && word.ends_with('r') {
                let end = format!("\"{}", "#".repeat(hashes));
                long + hashes + 1 + after(&behind[hashes + 1..], &end)
            } else {
                if !quoted && !c.is_ascii_digit() {
                    all.push(word);
                }
                long
            }
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment(rest)
        } else if c == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |end| end + 2)
        } else if c == '\'' {
            let mut next = rest[1..].chars();
            match (next.next(), next.next()) {
                // The quote itself may be what is escaped.
                (Some('\\'), Some(escaped)) => {
                    let so_far = 2 + escaped.len_utf8();
                    so_far + after(&rest[so_far..], "'")
                }
                (Some(letter), Some('\'')) => 2 + letter.len_utf8(),
                _ => 1 + rest[1..].find(|c| !is_word(c)).unwrap_or(rest.len() - 1),
            }
        } else {
            let long = if rest.starts_with("::") || rest.starts_with("..") { 2 } else { c.len_utf8() };
            if !c.is_whitespace() {
                all.push(&rest[..long]);
            }
            long
        };
        rest = &rest[long..];
    }
    all
}

/// How long the comment is that a text begins with. Others may stand in it.
fn comment(text: &str) -> usize {
    let (mut long, mut open) = (2, 1);
    while open > 0 && long < text.len() {
        let rest = &text[long..];
        let (opens, closes) = (rest.starts_with("/*"), rest.starts_with("*/"));
        open = open + usize::from(opens) - usize::from(closes);
        long += if opens || closes { 2 } else { rest.chars().next().map_or(0, char::len_utf8) };
    }
    long
}

/// Where what follows the first `end` of a text begins.
fn after(text: &str, end: &str) -> usize {
    text.find(end).map_or(text.len(), |at| at + end.len())
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// How many tokens stand up to the end of what opens first, or up to a `;` before that.
fn item(tokens: &[&str]) -> usize {
    let (mut inside, import) = (0, tokens.iter().find(|t| is_name(t) && **t != "pub") == Some(&"use"));
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "{" | "(" | "[" => inside += 1,
            "}" | ")" | "]" => inside -= 1,
            _ => {}
        }
        if inside == 0 && (*token == ";" || *token == "}" && !import) {
            return at + 1;
        }
    }
    tokens.len()
}

/// The tokens without the items that are there for tests; and the names of the modules among these.
pub(crate) fn untested<'a>(tokens: &[&'a str]) -> (Vec<&'a str>, Vec<&'a str>) {
    let (mut kept, mut modules, mut at) = (Vec::new(), Vec::new(), 0);
    while at < tokens.len() {
        let rest = &tokens[at..];
        let test = rest.starts_with(&["#", "[", "cfg", "(", "test", ")"])
            || rest.starts_with(&["#", "[", "cfg", "(", "all", "(", "test"]);
        if !test {
            kept.push(tokens[at]);
            at += 1;
            continue;
        }
        while tokens[at..].starts_with(&["#"]) {
            at += tokens[at..].iter().position(|t| *t == "]").map_or(tokens.len() - at, |end| end + 1);
        }
        let long = item(&tokens[at..]);
        let named = tokens[at..at + long].windows(3).find(|w| w[0] == "mod" && w[2] == ";");
        modules.extend(named.map(|w| w[1]));
        at += long;
    }
    (kept, modules)
}

type Path<'a> = Vec<&'a str>;

#[derive(Default)]
struct Module<'a> {
    file: usize,
    above: Option<usize>,
    below: Vec<(&'a str, usize)>,
    /// What stands in it.
    items: BTreeSet<&'a str>,
    /// Of these the types and traits that others than its neighbours may use.
    types: Vec<&'a str>,
    /// What it calls a thing from elsewhere, and where that is.
    aliases: Vec<(&'a str, Path<'a>)>,
    /// From where it takes all.
    globs: Vec<Path<'a>>,
    /// What it names: its imports, without those it only hands on, and all paths in its code.
    named: BTreeSet<Path<'a>>,
}

/// What a path leads to.
#[derive(Clone, Copy)]
enum Target<'a> {
    Module(usize),
    Item(usize, &'a str),
}

#[derive(Default)]
pub(crate) struct Tree<'a> {
    files: Vec<&'a str>,
    modules: Vec<Module<'a>>,
}

impl<'a> Tree<'a> {
    /// Of files by their paths inside the package. Files that are only there for tests are left out.
    pub(crate) fn of(files: &'a [(String, String)]) -> Tree<'a> {
        let root = if files.iter().any(|(file, _)| file == "lib.rs") { "lib.rs" } else { "main.rs" };
        let mut paths: Vec<(Path<'a>, &'a str, &'a str)> = files
            .iter()
            .filter(|(file, _)| file == root || !["lib.rs", "main.rs"].contains(&&**file))
            .map(|(file, text)| {
                let parts = file.trim_end_matches(".rs").split('/');
                let path = parts.filter(|part| *part != "mod" && file != root).collect();
                (path, &**file, &**text)
            })
            .collect();
        paths.sort_by_key(|(path, ..)| path.len());
        let mut tree = Tree::default();
        let mut at: BTreeMap<Path<'a>, usize> = BTreeMap::new();
        let mut tests: BTreeSet<Path<'a>> = BTreeSet::new();
        for (path, file, text) in paths {
            if (1..=path.len()).any(|n| path[n - 1] == "tests" || tests.contains(&path[..n])) {
                continue;
            }
            let (kept, modules) = untested(&tokens(text));
            tests.extend(modules.iter().map(|name| [&path[..], &[*name]].concat()));
            let above = path.split_last().and_then(|(_, above)| at.get(above)).copied();
            let module = tree.module(tree.files.len(), above, path.last().copied());
            tree.files.push(file);
            at.insert(path, module);
            tree.read(module, &kept);
        }
        tree
    }

    /// The files that are no tests.
    pub(crate) fn files(&self) -> &[&'a str] {
        &self.files
    }

    fn module(&mut self, file: usize, above: Option<usize>, name: Option<&'a str>) -> usize {
        self.modules.push(Module { file, above, ..Module::default() });
        let module = self.modules.len() - 1;
        if let (Some(above), Some(name)) = (above, name) {
            self.modules[above].below.push((name, module));
        }
        module
    }

    fn read(&mut self, module: usize, tokens: &[&'a str]) {
        let (mut at, mut depth, mut macros) = (0, 0, 0);
        while at < tokens.len() {
            let token = tokens[at];
            let next = tokens.get(at + 1).copied().unwrap_or("");
            let before = at.checked_sub(1).map_or("", |at| tokens[at]);
            match token {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    macros = if macros > depth { 0 } else { macros };
                }
                "macro_rules" => {
                    self.modules[module].items.extend(tokens.get(at + 2));
                    macros = depth + 1;
                }
                "mod" if tokens.get(at + 2) == Some(&"{") => {
                    let end = at + item(&tokens[at..]);
                    let inner = self.module(self.modules[module].file, Some(module), Some(next));
                    self.read(inner, &tokens[at + 3..end - 1]);
                    at = end;
                    continue;
                }
                "use" if is_name(next) => {
                    let end = at + item(&tokens[at..]);
                    self.import(module, &tokens[at + 1..end - 1], before == "pub" || before == ")");
                    at = end;
                    continue;
                }
                "struct" | "enum" | "trait" if is_name(next) => {
                    self.modules[module].items.insert(next);
                    if before == "pub" || tokens[..at].ends_with(&["pub", "(", "crate", ")"]) {
                        self.modules[module].types.push(next);
                    }
                }
                // Those of a type are its own.
                "fn" | "type" | "const" | "static" if is_name(next) && (depth == 0 || macros > 0) => {
                    self.modules[module].items.insert(next);
                }
                _ if is_name(token) && !["::", "."].contains(&before) => {
                    let mut path = vec![token];
                    while tokens.get(at + 1) == Some(&"::") && tokens.get(at + 2).is_some_and(|t| is_name(t))
                    {
                        path.push(tokens[at + 2]);
                        at += 2;
                    }
                    self.modules[module].named.insert(path);
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// What stands behind `use`.
    fn import(&mut self, module: usize, tokens: &[&'a str], hands_on: bool) {
        let (mut path, mut open): (Path<'a>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut at = 0;
        // A name ends a path if nothing follows it but a new name for it.
        while at < tokens.len() {
            let token = tokens[at];
            at += 1;
            match token {
                "{" => open.push(path.len()),
                "}" => path.truncate(open.pop().unwrap_or(0)),
                "," => path.truncate(open.last().copied().unwrap_or(0)),
                "*" => self.modules[module].globs.push(path.clone()),
                name if is_name(name) => {
                    let follows = tokens.get(at).copied();
                    if name != "self" || path.is_empty() {
                        path.push(name);
                    }
                    if follows == Some("::") {
                        continue;
                    }
                    let mut alias = path.last().copied().unwrap_or("");
                    if follows == Some("as") {
                        alias = tokens.get(at + 1).copied().unwrap_or("");
                        at += 2;
                    }
                    self.modules[module].aliases.push((alias, path.clone()));
                    if !hands_on {
                        self.modules[module].named.insert(path.clone());
                    }
                }
                _ => {}
            }
        }
    }

    /// What a name may be in a module.
    fn lookup(&self, module: usize, name: &'a str, steps: usize) -> Vec<Target<'a>> {
        let here = &self.modules[module];
        let mut all: Vec<Target<'a>> =
            here.items.get(name).map(|_| Target::Item(module, name)).into_iter().collect();
        all.extend(here.below.iter().filter(|(n, _)| *n == name).map(|(_, below)| Target::Module(*below)));
        // A path that comes back to itself leads nowhere.
        let Some(steps) = steps.checked_sub(1) else { return all };
        for (_, path) in here.aliases.iter().filter(|(alias, path)| *alias == name && path[..] != [name]) {
            all.extend(self.follow(module, path, steps));
        }
        if all.is_empty() {
            for glob in &here.globs {
                for target in self.follow(module, glob, steps) {
                    if let Target::Module(glob) = target {
                        all.extend(self.lookup(glob, name, steps));
                    }
                }
            }
        }
        all
    }

    /// What a path leads to that stands in a module.
    fn follow(&self, module: usize, path: &[&'a str], steps: usize) -> Vec<Target<'a>> {
        let mut targets = vec![Target::Module(module)];
        for (n, name) in path.iter().enumerate() {
            let step = |target: Target<'a>| match (target, *name) {
                (Target::Module(_), "crate") => vec![Target::Module(0)],
                (Target::Module(_), "self") => vec![target],
                (Target::Module(module), "super") => {
                    self.modules[module].above.map(Target::Module).into_iter().collect()
                }
                (Target::Module(module), name) => {
                    let mut found = self.lookup(module, name, steps);
                    // A function may be called as a module is: it leads nowhere.
                    if n + 1 < path.len() && found.iter().any(|target| matches!(target, Target::Module(_))) {
                        found.retain(|target| matches!(target, Target::Module(_)));
                    }
                    // What its text does not show, a macro may make there.
                    let made = found.is_empty() && n > 0 && module != 0;
                    if made { vec![Target::Item(module, name)] } else { found }
                }
                (item, _) => vec![item],
            };
            targets = targets.into_iter().flat_map(step).collect();
        }
        targets
    }

    /// The types and traits that are `pub` or `pub(crate)`, each with its file.
    pub(crate) fn types(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let of = |module: &Module<'a>| {
            module.types.iter().map(|name| (*name, self.files[module.file])).collect::<Vec<_>>()
        };
        self.modules.iter().flat_map(of)
    }

    /// Which file takes something from which other, and the names of it.
    pub(crate) fn imports(&self) -> BTreeMap<(&'a str, &'a str), BTreeSet<&'a str>> {
        let mut all: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (at, module) in self.modules.iter().enumerate() {
            for target in module.named.iter().chain(&module.globs).flat_map(|path| self.follow(at, path, 8)) {
                let Target::Item(owner, name) = target else { continue };
                let owner = self.modules[owner].file;
                if owner != module.file {
                    all.entry((self.files[module.file], self.files[owner])).or_default().insert(name);
                }
            }
        }
        all
    }
}
