//! Which file of a crate uses which, read from its `use` declarations and paths.
//!
//! A plain reading of text, without macros and without types: it knows modules, nested `use` trees
//! and re-exports, which is all that is needed to find files that use each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::workspace::Source;

/// The path of a module in its crate; empty for the crate's root.
type Module = Vec<String>;

/// The files of a crate, and which uses which.
#[derive(Debug)]
pub struct Imports {
    files: BTreeMap<Module, String>,
    uses: BTreeMap<Module, BTreeSet<Module>>,
}

impl Imports {
    /// Reads the sources of a crate, whose paths start with `folder` (`shared/domain/src`).
    pub fn read(folder: &str, sources: &[Source]) -> Self {
        let codes: BTreeMap<Module, String> = sources
            .iter()
            .filter_map(|source| Some((module_of(folder, source)?, code_of(&source.text))))
            .collect();
        let files = sources
            .iter()
            .filter_map(|source| {
                Some((module_of(folder, source)?, source.path.display().to_string()))
            })
            .collect();
        let uses = codes
            .iter()
            .map(|(module, code)| (module.clone(), used_by(module, code, &codes)))
            .collect();
        Self { files, uses }
    }

    /// Uses between files that are part of a circle, as `a uses b`. A module and the modules below
    /// it may use each other.
    pub fn circles(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (user, used) in &self.uses {
            for other in used.iter().filter(|other| !is_family(user, other)) {
                if self.reaches(other, user) {
                    found.push(format!("{} uses {}", self.files[user], self.files[other]));
                }
            }
        }
        found
    }

    fn reaches(&self, from: &Module, to: &Module) -> bool {
        let mut known = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(module) = open.pop() {
            if module == to {
                return true;
            }
            open.extend(self.uses[module].iter().filter(|next| known.insert(next)));
        }
        false
    }
}

/// Whether one of two modules is below the other. The crate's root is nobody's family.
fn is_family(a: &Module, b: &Module) -> bool {
    let is_above = |above: &Module, below: &Module| !above.is_empty() && below.starts_with(above);
    is_above(a, b) || is_above(b, a)
}

/// `a::b` of `FOLDER/a/b.rs` and of `FOLDER/a/b/mod.rs`.
fn module_of(folder: &str, source: &Source) -> Option<Module> {
    let path = source.path.strip_prefix(folder).ok()?.with_extension("");
    let mut module: Module = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let is_root = module.len() == 1 && matches!(module[0].as_str(), "lib" | "main");
    if is_root || module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    Some(module)
}

/// The text without comments and without its test module.
fn code_of(text: &str) -> String {
    let production = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = production.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The other files that a file uses, re-exports resolved.
fn used_by(module: &Module, code: &str, codes: &BTreeMap<Module, String>) -> BTreeSet<Module> {
    let mut paths = used_paths(code).into_iter().map(|used| used.path).collect::<Vec<_>>();
    paths.extend(inline_paths(code));
    let absolute = paths.iter().filter_map(|path| absolute(module, path, codes));
    absolute
        .filter_map(|path| defining_module(&path, codes))
        .filter(|used| used != module)
        .collect()
}

/// A path of a `use` declaration.
struct UsedPath {
    path: Vec<String>,
    is_public: bool,
}

/// The paths of all `use` declarations, nested trees taken apart and new names left out.
fn used_paths(code: &str) -> Vec<UsedPath> {
    let mut used = Vec::new();
    for Declaration { tree, is_public, .. } in declarations(code) {
        let mut paths = Vec::new();
        take_apart("", tree, &mut paths);
        used.extend(paths.into_iter().map(|path| UsedPath { path: segments(&path), is_public }));
    }
    used
}

/// A `use` declaration: where it stands, and what it names.
struct Declaration<'a> {
    start: usize,
    end: usize,
    tree: &'a str,
    is_public: bool,
}

fn declarations(code: &str) -> impl Iterator<Item = Declaration<'_>> {
    code.match_indices("use ").filter_map(|(start, word)| {
        let before = code[..start].rsplit('\n').next().unwrap_or_default().trim();
        let is_public = before.starts_with("pub") && !before.contains(' ');
        let tree = code[start + word.len()..].split(';').next()?;
        let end = start + word.len() + tree.len();
        (is_public || before.is_empty()).then_some(Declaration { start, end, tree, is_public })
    })
}

fn take_apart(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    for branch in branches(tree) {
        if let Some((more, inner)) = branch.split_once('{') {
            let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
            take_apart(&format!("{prefix}{}", more.trim()), inner, paths);
            continue;
        }
        let name = branch.split(" as ").next().unwrap_or_default().trim();
        if !name.is_empty() {
            paths.push(format!("{prefix}{name}"));
        }
    }
}

/// The parts of a tree between commas that stand in no braces.
fn branches(tree: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (index, character) in tree.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&tree[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&tree[start..]);
    parts
}

fn segments(path: &str) -> Vec<String> {
    path.split("::").map(|part| part.trim().to_owned()).collect()
}

/// Paths in code that are written out where they are used, such as `super::view::rows`.
fn inline_paths(code: &str) -> Vec<Vec<String>> {
    let (mut rest, mut done) = (String::new(), 0);
    for Declaration { start, end, .. } in declarations(code) {
        rest.push_str(&code[done..start]);
        done = end;
    }
    rest.push_str(&code[done..]);
    let is_of_path = |character: char| character.is_alphanumeric() || "_:!".contains(character);
    // Macros are found by their names alone, wherever they are defined.
    rest.split(|character| !is_of_path(character))
        .map(|word| word.trim_start_matches('!'))
        .filter(|word| word.contains("::") && !word.starts_with(':') && !word.ends_with('!'))
        .map(|word| segments(word.trim_end_matches(':')))
        .collect()
}

/// A path from the crate's root; `None` for one into another crate.
fn absolute(
    module: &Module,
    path: &[String],
    codes: &BTreeMap<Module, String>,
) -> Option<Vec<String>> {
    let supers = path.iter().take_while(|part| *part == "super").count();
    let below = |module: &[String], rest: &[String]| [module, rest].concat();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some(below(module, &path[1..])),
        "super" => {
            let above = module.len().checked_sub(supers)?;
            Some(below(&module[..above], &path[supers..]))
        }
        child => {
            let own = below(module, &[child.to_owned()]);
            codes.contains_key(&own).then(|| below(module, path))
        }
    }
}

/// The module in which a path's item is defined: that of the longest beginning of the path, or the
/// one that it re-exports the item from.
fn defining_module(path: &[String], codes: &BTreeMap<Module, String>) -> Option<Module> {
    let (module, rest) = (0..=path.len())
        .rev()
        .map(|length| path.split_at(length))
        .find(|(module, _)| codes.contains_key(*module))?;
    let reexported = rest.first().and_then(|name| {
        let used = used_paths(codes.get(module)?);
        let own = used.iter().find(|own| own.is_public && own.path.last() == Some(name))?;
        let path = absolute(&module.to_vec(), &own.path, codes)?;
        (1..path.len())
            .rev()
            .map(|length| path[..length].to_vec())
            .find(|own| codes.contains_key(own))
    });
    Some(reexported.unwrap_or_else(|| module.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_of(files: &[(&str, &str)]) -> Imports {
        let source = |(path, text): &(&str, &str)| Source {
            path: format!("shared/x/src/{path}").into(),
            text: (*text).to_owned(),
        };
        Imports::read("shared/x/src", &files.iter().map(source).collect::<Vec<_>>())
    }

    #[test]
    fn two_files_that_use_each_other_are_a_circle() {
        let found = crate_of(&[
            ("lib.rs", "mod a;\nmod b;"),
            ("a.rs", "use crate::b::{self, B};"),
            ("b.rs", "fn f() { super::a::g() }"),
        ]);
        let expected = [
            "shared/x/src/a.rs uses shared/x/src/b.rs",
            "shared/x/src/b.rs uses shared/x/src/a.rs",
        ];
        assert_eq!(found.circles(), expected);
    }

    #[test]
    fn a_module_and_its_children_may_use_each_other() {
        let found = crate_of(&[
            ("lib.rs", "mod a;"),
            ("a.rs", "mod inner;\nuse inner::Inner;"),
            ("a/inner.rs", "use super::A;"),
        ]);
        assert_eq!(found.circles(), [""; 0]);
    }

    #[test]
    fn a_circle_through_a_third_file_is_found() {
        let found = crate_of(&[
            ("lib.rs", "mod a;\nmod b;\nmod c;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::{c::C, d};"),
            ("c.rs", "use super::a::A;"),
        ]);
        assert_eq!(found.circles().len(), 3);
    }

    #[test]
    fn a_reexport_counts_as_the_file_that_it_comes_from() {
        let found = crate_of(&[
            ("lib.rs", "mod a;\nmod b;"),
            ("a.rs", "mod inner;\npub use inner::Inner;\nuse crate::b::B;"),
            ("a/inner.rs", "pub struct Inner;"),
            ("b.rs", "use crate::a::Inner;"),
        ]);
        assert_eq!(found.circles(), [""; 0]);
    }

    #[test]
    fn a_tree_uses_what_it_names_and_not_what_it_hangs_on() {
        let found = crate_of(&[
            ("lib.rs", "mod a;\nmod b;\nuse crate::a::A;"),
            ("a.rs", "use crate::{b::B};"),
            ("b.rs", ""),
        ]);
        assert_eq!(found.circles(), [""; 0]);
    }

    #[test]
    fn comments_and_tests_use_nothing() {
        let found = crate_of(&[
            ("lib.rs", "mod a;\nmod b;"),
            ("a.rs", "// use crate::b::B;\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}"),
            ("b.rs", "use crate::a::A;"),
        ]);
        assert_eq!(found.circles(), [""; 0]);
    }
}
