//! Marks in YAML where something has to be filled in.

use crate::error::{ManifestError, Problem};

/// What a mark begins with.
pub(super) const MARK: &str = "# FILL IN:";

/// What to write in a field that is missing, by its path.
const ADVICE: [(&str, &str); 4] = [
    (
        "spec.subnetSelectorTerms",
        "the subnets of nodes, such as [{tags: {karpenter.sh/discovery: CLUSTER}}]",
    ),
    (
        "spec.securityGroupSelectorTerms",
        "the security groups of nodes, such as [{tags: {karpenter.sh/discovery: CLUSTER}}]",
    ),
    (
        "spec.amiSelectorTerms",
        "the images of nodes, such as [{id: ami-…}], [{name: …, owner: …}] or [{ssmParameter: …}]",
    ),
    (
        "spec.template.spec.nodeClassRef",
        "whose nodes they are, such as {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}",
    ),
];

/// A gap as users read it: the problem, and what to write.
pub(super) fn advised(error: ManifestError) -> ManifestError {
    let advice = error.place.field.as_deref().and_then(advice);
    let problem = match (advice, &error.problem) {
        (Some(advice), problem) => Problem::rule(format!("{problem}: it takes {advice}")),
        (None, problem) => problem.clone(),
    };
    ManifestError { problem, ..error }
}

fn advice(field: &str) -> Option<&'static str> {
    ADVICE.iter().find(|(path, _)| *path == field).map(|(_, advice)| *advice)
}

/// The text with a mark at every error, which lie on its lines counted from `first`. A mark that is
/// there already is not repeated.
pub(super) fn marked(text: &str, first: u32, errors: &[ManifestError]) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut marks: Vec<(usize, String)> = Vec::new();
    for error in errors {
        let own = usize::try_from(error.place.line.saturating_sub(first)).unwrap_or(usize::MAX);
        let own = own.min(lines.len().saturating_sub(1));
        let field = error.place.field.as_deref().unwrap_or("the object");
        let what = format!("{MARK} {field}: {}", advised(error.clone()).problem);
        // A line break in it would end the comment.
        let what = what.replace(|c: char| c.is_control(), " ");
        let (before, indent) = position(&lines, own, matches!(error.problem, Problem::Missing));
        let mark = format!("{indent}{what}\n");
        let is_there =
            |at: usize| lines.get(at).is_some_and(|line| line.trim_end() == mark.trim_end());
        let neighbours = before.saturating_sub(errors.len())..before + errors.len();
        if !neighbours.clone().any(is_there) && !marks.contains(&(before, mark.clone())) {
            marks.push((before, mark));
        }
    }
    marks.sort_by_key(|(before, _)| *before);
    let mut marked = String::with_capacity(text.len());
    let mut marks = marks.into_iter().peekable();
    for (index, line) in lines.iter().enumerate() {
        while let Some((_, mark)) = marks.next_if(|(before, _)| *before == index) {
            marked.push_str(&mark);
        }
        marked.push_str(line);
    }
    if !marked.ends_with('\n') {
        marked.push('\n');
    }
    marked.extend(marks.map(|(_, mark)| mark));
    marked
}

/// Before which line a mark stands, and how far it is indented: at the field, or, where that is
/// missing, at the beginning of what it is missing from.
fn position<'t>(lines: &[&'t str], own: usize, is_missing: bool) -> (usize, &'t str) {
    let indent = |at: usize| {
        let line = lines.get(at).copied().unwrap_or_default();
        &line[..line.len() - line.trim_start_matches(' ').len()]
    };
    let opens = lines.get(own).is_some_and(|line| line.trim_end().ends_with(':'));
    if is_missing && opens && indent(own + 1).len() >= indent(own).len() {
        return (own + 1, indent(own + 1));
    }
    let is_marker = lines.get(own).is_some_and(|line| line.starts_with("---"));
    if is_marker { (own + 1, "") } else { (own, indent(own)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use documents::Source;

    fn errors(text: &str) -> Vec<ManifestError> {
        crate::read(&[Source::new("in.yaml", text)]).errors
    }

    const CLASS: &str = "\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: a
spec:
  role: r
  amiSelectorTerms:
  - alias: al2023
  subnetSelectorTerms:
  - tags:
      a: b
";

    #[test]
    fn a_mark_stands_at_the_field_or_where_it_is_missing() {
        let marked = marked(CLASS, 1, &errors(CLASS));
        let lines: Vec<&str> = marked.lines().collect();
        assert!(
            lines[5].starts_with(
                "  # FILL IN: spec.securityGroupSelectorTerms: the field is missing: it takes"
            ),
            "{marked}"
        );
        let at = lines.iter().position(|line| line.contains("alias: al2023")).unwrap();
        assert!(
            lines[at - 1].starts_with("  # FILL IN: spec.amiSelectorTerms[0].alias: "),
            "{marked}"
        );
        assert_eq!(errors(&marked).len(), errors(CLASS).len(), "marks are comments: {marked}");
    }

    #[test]
    fn a_mark_is_set_once() {
        let once = marked(CLASS, 1, &errors(CLASS));
        assert_eq!(marked(&once, 1, &errors(&once)), once);
    }
}
