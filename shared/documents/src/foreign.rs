//! Texts in languages that are not read, recognised by how they look.

use crate::chunk::Chunk;
use crate::error::{Language, SyntaxProblem};

/// What begins a block of HCL at the top of a Terraform file.
///
/// Source: <https://developer.hashicorp.com/terraform/language/syntax/configuration>.
const HCL_BLOCKS: [&str; 12] = [
    "check",
    "data",
    "ephemeral",
    "import",
    "locals",
    "module",
    "moved",
    "output",
    "provider",
    "resource",
    "terraform",
    "variable",
];

/// The problem of a text that is HCL: neither YAML nor JSON has a first line such as
/// `resource "TYPE" "NAME" {`.
pub(crate) fn hcl(text: &str) -> Option<SyntaxProblem> {
    let first = text.lines().map(str::trim).find(|line| {
        !(line.is_empty() || line.starts_with(['#', '*']) || line.starts_with("//"))
    })?;
    let block = first.strip_suffix('{')?.trim_end();
    let (word, labels) = block.split_once(' ').unwrap_or((block, ""));
    let has_only_labels = labels
        .split_whitespace()
        .all(|label| label.strip_prefix('"').is_some_and(|label| label.ends_with('"')));
    (HCL_BLOCKS.contains(&word) && has_only_labels).then_some(SyntaxProblem::Foreign(Language::Hcl))
}

/// What to say of a chunk that is no YAML and has template actions in it; else the problem itself.
pub(crate) fn or_template(chunk: &Chunk<'_>, problem: SyntaxProblem) -> SyntaxProblem {
    let has_actions = chunk.text.split_once("{{").is_some_and(|(_, rest)| rest.contains("}}"));
    if has_actions { SyntaxProblem::Foreign(Language::Template) } else { problem }
}
