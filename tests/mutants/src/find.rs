//! A file's changes, by its syntax: what each is called, and where which text makes it.

use std::collections::HashSet;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Block, Expr, ReturnType, Signature, Type, UnOp};

/// A change.
pub struct Mutant {
    /// File, function and what is changed: what it is called in `known.txt`. Lines move, so none is in it.
    pub name: String,
    pub line: usize,
}

/// Where changes stand in the text, with their numbers.
pub struct Edit {
    pub range: Range<usize>,
    pub kind: Kind,
}

pub enum Kind {
    /// Other expressions in place of one.
    Instead(Vec<(u32, String)>),
    /// A condition that is always true, and one that never is.
    Condition([u32; 2]),
    /// Values that a function gives at once.
    Body(Vec<(u32, String)>),
    /// An arm of a `match` that is left out, and whether it has a guard.
    Arm(u32, bool),
    /// No change by itself: a function, whose changes are left out where it is not known which of them does not compile.
    Function,
}

/// What was found in the files so far. A number is the place in the list, from 1 on.
#[derive(Default)]
pub struct Found {
    pub mutants: Vec<Mutant>,
    /// Functions that the compiler runs, which cannot ask what is on.
    pub constant: usize,
    names: HashSet<String>,
}

struct Finder<'a> {
    path: &'a str,
    text: &'a str,
    found: &'a mut Found,
    edits: Vec<Edit>,
    owner: String,
    function: String,
}

/// The changes of a file.
pub fn edits(path: &str, text: &str, found: &mut Found) -> Vec<Edit> {
    let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (owner, function) = Default::default();
    let mut finder = Finder { path, text, found, edits: Vec::new(), owner, function };
    finder.visit_file(&file);
    finder.edits
}

/// The files that a file has only for tests.
pub fn tests_only(text: &str) -> Vec<String> {
    let file = syn::parse_file(text).expect("it was read before");
    let only = file.items.into_iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() && for_tests(&module.attrs) => Some(module.ident),
        _ => None,
    });
    only.map(|name| name.to_string()).collect()
}

fn for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let tokens = match &attribute.meta {
            syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string(),
            _ => return attribute.path().is_ident("test"),
        };
        // Fixed seeds and planted faults are for tests, too.
        let is = |word: &str| tokens.split([' ', '(', ')', ',']).any(|one| one == word);
        (is("test") || is("\"test-seed\"") || is("\"faults\"")) && !is("not")
    })
}

/// What else an operator might have been.
fn others(op: &BinOp) -> &'static [&'static str] {
    match op {
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) => &["+", "/"],
        BinOp::Mul(_) => &["+", "/"],
        BinOp::Div(_) => &["*", "%"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::BitXor(_) => &["|", "&"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::Lt(_) => &["<=", ">", "=="],
        BinOp::Le(_) => &["<", ">"],
        BinOp::Ge(_) => &[">", "<"],
        BinOp::Gt(_) => &[">=", "<", "=="],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) => &["+=", "/="],
        BinOp::MulAssign(_) => &["+=", "/="],
        BinOp::DivAssign(_) => &["*=", "%="],
        BinOp::RemAssign(_) => &["/=", "+="],
        BinOp::BitXorAssign(_) => &["|=", "&="],
        BinOp::BitAndAssign(_) => &["|=", "^="],
        BinOp::BitOrAssign(_) => &["&=", "^="],
        BinOp::ShlAssign(_) => &[">>="],
        BinOp::ShrAssign(_) => &["<<="],
        _ => &[],
    }
}

/// A condition with a `let` in it can stand nowhere else.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(both) if matches!(both.op, BinOp::And(_)) => has_let(&both.left) || has_let(&both.right),
        _ => false,
    }
}

/// A text on one line; of a long one, the end that the other text is next to.
fn short(text: &str, keep_end: bool) -> String {
    const MOST: usize = 40;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = line.chars().count();
    match keep_end {
        _ if count <= MOST => line,
        true => format!("…{}", line.chars().skip(count - MOST).collect::<String>()),
        false => format!("{}…", line.chars().take(MOST).collect::<String>()),
    }
}

impl Finder<'_> {
    fn text(&self, node: &impl Spanned) -> &str {
        &self.text[node.span().byte_range()]
    }

    /// A number for a change.
    fn number(&mut self, node: &impl Spanned, change: &str) -> u32 {
        let plain = format!("{}: {}: {change}", self.path, self.function);
        let (mut name, mut times) = (plain.clone(), 1);
        while !self.found.names.insert(name.clone()) {
            times += 1;
            name = format!("{plain} ({times})");
        }
        self.found.mutants.push(Mutant { name, line: node.span().start().line });
        self.found.mutants.len() as u32
    }

    fn condition(&mut self, condition: &Expr) {
        if !has_let(condition) {
            let text = short(self.text(condition), false);
            let numbers = ["true", "false"].map(|to| self.number(condition, &format!("if {text} [-> {to}]")));
            self.edits.push(Edit { range: condition.span().byte_range(), kind: Kind::Condition(numbers) });
        }
    }

    fn function(&mut self, signature: &Signature, block: &Block, inside: impl FnOnce(&mut Self)) {
        if signature.constness.is_some() {
            self.found.constant += 1;
            return;
        }
        let name = format!("{}{}", self.owner, signature.ident);
        let outer = std::mem::replace(&mut self.function, name);
        let values = match &signature.output {
            _ if block.stmts.is_empty() || (signature.ident == "default" && signature.inputs.is_empty()) => {
                Vec::new()
            }
            ReturnType::Default => vec![String::new()],
            ReturnType::Type(_, of) => self.values(of),
        };
        let body = block.span().byte_range();
        let same = |value: &String| self.text[body.start + 1..body.end - 1].trim() == value;
        let values: Vec<_> = values.into_iter().filter(|value| !same(value)).collect();
        let named = |value: String, it: &mut Self| {
            let change = if value.is_empty() { "[-> nothing]".into() } else { format!("[-> {value}]") };
            (it.number(signature, &change), value)
        };
        let values = values.into_iter().map(|value| named(value, self)).collect();
        self.edits.push(Edit { range: body.clone(), kind: Kind::Function });
        self.edits.push(Edit { range: body, kind: Kind::Body(values) });
        inside(self);
        self.function = outer;
    }

    /// Plausible values of a type: what stands behind something that was never done. None where no value can be named.
    fn values(&self, of: &Type) -> Vec<String> {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        match of {
            Type::Paren(inner) => self.values(&inner.elem),
            Type::Tuple(tuple) if tuple.elems.is_empty() => texts(&["()"]),
            Type::Tuple(tuple) => {
                let parts: Vec<_> = tuple.elems.iter().map(|part| self.values(part)).collect();
                let most = parts.iter().map(Vec::len).max().unwrap_or(0);
                let one = |i: usize| {
                    parts.iter().map(|part| part.get(i).or(part.last()).cloned()).collect::<Option<Vec<_>>>()
                };
                (0..most).filter_map(one).map(|parts| format!("({})", parts.join(", "))).collect()
            }
            Type::Array(array) => {
                let length = self.text(&array.len);
                let each = self.values(&array.elem).into_iter();
                each.map(|value| format!("[(); {length}].map(|()| {value})")).collect()
            }
            Type::Reference(to) => match &*to.elem {
                Type::Path(path) if path.path.is_ident("str") => texts(&["\"\"", "\"xyzzy\""]),
                Type::Slice(slice) => {
                    let one =
                        self.values(&slice.elem).into_iter().map(|value| format!("Vec::leak(vec![{value}])"));
                    std::iter::once("Vec::leak(Vec::new())".into()).chain(one).collect()
                }
                Type::TraitObject(_) => Vec::new(),
                inner => self
                    .values(inner)
                    .into_iter()
                    .map(|value| format!("Box::leak(Box::new({value}))"))
                    .collect(),
            },
            Type::Path(path) => match path.path.segments.last() {
                Some(last) => self.named_values(last),
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn named_values(&self, name: &syn::PathSegment) -> Vec<String> {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let inner = || match &name.arguments {
            syn::PathArguments::AngleBracketed(all) => match all.args.first() {
                Some(syn::GenericArgument::Type(of)) => self.values(of),
                Some(syn::GenericArgument::Lifetime(_)) | None => Vec::new(),
                _ => vec!["Default::default()".to_owned()],
            },
            _ => vec!["Default::default()".to_owned()],
        };
        let inside =
            |make: &str| inner().into_iter().map(|value| format!("{make}({value})")).collect::<Vec<_>>();
        let name = name.ident.to_string();
        match &name[..] {
            "bool" => texts(&["true", "false"]),
            "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => texts(&["0", "1"]),
            "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => texts(&["0", "1", "-1"]),
            "f32" | "f64" => texts(&["0.0", "1.0", "-1.0"]),
            "String" => texts(&["String::new()", "\"xyzzy\".into()"]),
            "Option" => [texts(&["None"]), inside("Some")].concat(),
            "Result" => inside("Ok"),
            "Box" | "Arc" | "Rc" | "Zeroizing" => inside(&format!("{name}::new")),
            "Vec" => {
                let one = inner().into_iter().map(|value| format!("vec![{value}]"));
                std::iter::once("vec![]".to_owned()).chain(one).collect()
            }
            _ => texts(&["Default::default()"]),
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Trait(item) => &item.attrs,
            // Neither constants nor types nor macros ask at run time.
            _ => return,
        };
        if !for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of = self.text(&*item.self_ty).split('<').next().unwrap_or("").trim().to_owned();
        let is = item
            .trait_
            .as_ref()
            .map(|(_, path, _)| path.segments.last().map_or(String::new(), |s| s.ident.to_string()));
        // Words for people.
        if is.as_deref().is_some_and(|name| ["Debug", "Display", "Error"].contains(&name)) {
            return;
        }
        let owner = is.map_or(format!("{of}::"), |name| format!("<{of} as {name}>::"));
        let outer = std::mem::replace(&mut self.owner, owner);
        visit::visit_item_impl(self, item);
        self.owner = outer;
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let outer = std::mem::replace(&mut self.owner, format!("{}::", item.ident));
        visit::visit_item_trait(self, item);
        self.owner = outer;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let outer = if self.function.is_empty() { String::new() } else { format!("{}::", self.function) };
        let outer = std::mem::replace(&mut self.owner, outer);
        self.function(&item.sig, &item.block, |it| it.visit_block(&item.block));
        self.owner = outer;
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !for_tests(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !for_tests(&item.attrs) {
            self.function(&item.sig, &item.block, |it| it.visit_block(&item.block));
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block, |it| it.visit_block(block));
        }
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        let range = expr.span().byte_range();
        match expr {
            Expr::If(branch) if for_tests(&branch.attrs) => return,
            Expr::Binary(both) if !has_let(expr) => {
                let (left, right) = (self.text(&both.left).to_owned(), self.text(&both.right).to_owned());
                let (near, far) = (short(&left, true), short(&right, false));
                let op = self.text(&both.op).to_owned();
                let one = |to: &&str| {
                    let number = self.number(&both.op, &format!("{near} [{op} -> {to}] {far}"));
                    (number, format!("(({left}){to}({right}))"))
                };
                let all = others(&both.op).iter().map(one).collect();
                self.edits.push(Edit { range, kind: Kind::Instead(all) });
            }
            Expr::Unary(one) if !matches!(one.op, UnOp::Deref(_)) => {
                let inner = self.text(&one.expr).to_owned();
                let change = format!("[{} ->] {}", self.text(&one.op), short(&inner, false));
                let number = self.number(one, &change);
                self.edits.push(Edit { range, kind: Kind::Instead(vec![(number, format!("({inner})"))]) });
            }
            Expr::If(branch) => self.condition(&branch.cond),
            _ => {}
        }
        match expr {
            Expr::Const(_) | Expr::Macro(_) => {}
            Expr::Repeat(repeat) => self.visit_expr(&repeat.expr),
            _ => visit::visit_expr(self, expr),
        }
    }

    fn visit_expr_match(&mut self, all: &'ast syn::ExprMatch) {
        self.visit_expr(&all.expr);
        let rest = all.arms.iter().any(|arm| matches!(arm.pat, syn::Pat::Wild(_)) && arm.guard.is_none());
        for arm in &all.arms {
            let guard = arm.guard.as_ref().map(|(_, guard)| &**guard);
            if rest && !matches!(arm.pat, syn::Pat::Wild(_)) && !guard.is_some_and(has_let) {
                let number =
                    self.number(&arm.pat, &format!("arm {} [left out]", short(self.text(&arm.pat), false)));
                let range = guard.map_or(arm.pat.span().byte_range(), |guard| guard.span().byte_range());
                self.edits.push(Edit { range, kind: Kind::Arm(number, guard.is_some()) });
            }
            if let Some(guard) = guard {
                self.condition(guard);
                self.visit_expr(guard);
            }
            self.visit_expr(&arm.body);
        }
    }

    // Nothing in them is asked at run time.
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
}
