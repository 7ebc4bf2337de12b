//! Planning is laid out in layers: a file imports from its own layer and from those below, never
//! from one above.

use std::fs;
use std::path::{Path, PathBuf};

/// From the lowest to the highest.
const LAYERS: [&str; 10] = [
    "ids",
    "model",
    "feasibility",
    "relaxation",
    "work",
    "placement",
    "packing",
    "scheduling",
    "disruption",
    "explain",
];

/// Layers whose files import less than everything below.
const NARROW: [(&str, &[&str]); 1] = [("relaxation", &["ids"])];

/// Modules apart from the layers: what every layer may use, and what tests use.
const APART: [&str; 2] = ["testing", "virtual_pods"];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files_under(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            files_under(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The module path of a file, `["packing", "fill"]`.
fn module_of(file: &Path) -> Vec<String> {
    let relative = file.strip_prefix(source()).unwrap_or(file).with_extension("");
    let mut module: Vec<String> =
        relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    module.pop_if(|last| last == "mod");
    module
}

fn is_of_tests(module: &[String]) -> bool {
    module.iter().any(|part| part == "tests" || part == "testing")
}

/// Top-level modules that the code of a file names by path, from `crate::` or up through `super::`.
fn imports(text: &str, depth: usize) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut named = Vec::new();
    for line in lines {
        let up = "super::".repeat(depth);
        for path in ["crate::", up.as_str()] {
            for (start, _) in line.match_indices(path) {
                let rest = &line[start + path.len()..];
                let is_end = |letter: char| !letter.is_alphanumeric() && letter != '_';
                let name = rest.split(is_end).next().unwrap_or_default();
                if !name.is_empty() && name != "super" {
                    named.push(name.to_owned());
                }
            }
        }
    }
    named
}

/// What a layer may import.
fn allowed(layer: &str) -> Vec<&'static str> {
    if let Some((_, narrow)) = NARROW.iter().find(|(own, _)| *own == layer) {
        return narrow.iter().copied().chain([LAYERS[3]]).collect();
    }
    let below = LAYERS.iter().position(|own| *own == layer).unwrap_or(0);
    LAYERS[..=below].iter().chain(&APART).copied().collect()
}

#[test]
fn a_layer_imports_from_those_below() {
    let mut files = Vec::new();
    files_under(&source(), &mut files);
    let mut checked = 0;
    for file in files {
        let module = module_of(&file);
        let Some(layer) = module.first().filter(|first| LAYERS.contains(&first.as_str())) else {
            continue;
        };
        if is_of_tests(&module) {
            continue;
        }
        checked += 1;
        let text = fs::read_to_string(&file).unwrap();
        let allowed = allowed(layer);
        for import in imports(&text, module.len()) {
            assert!(
                allowed.contains(&import.as_str()),
                "{} imports from {import}, which is not below {layer}",
                module.join("/"),
            );
        }
    }
    assert!(checked > 40, "only {checked} files were checked");
}

#[test]
fn every_file_belongs_to_a_layer() {
    let mut files = Vec::new();
    files_under(&source(), &mut files);
    for module in files.iter().map(|file| module_of(file)) {
        let first = module.first().map_or("", String::as_str);
        let is_known = LAYERS.contains(&first) || APART.contains(&first) || first == "lib";
        assert!(is_known, "{} belongs to no layer", module.join("/"));
    }
}
