//! Sources written anew: older manifests become v1, and whatever needs no conversion stays byte for
//! byte.

mod mark;
mod part;
mod strict;

use documents::{Chunk, Document, Origin, Source, Value, chunks_of, each_object_of};

use crate::convert::{Converter, rewritten, tree};
use crate::error::{ManifestError, Place, Problem, Warning};
use crate::print::PrintError;
use crate::reader::Reader;

/// What some editors begin a file with.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// API groups of kinds that a cluster has a CustomResourceDefinition of ours for.
const OWN_GROUPS: [&str; 4] =
    ["autoscaling.x-k8s.io", "karpenter.k8s.aws", "karpenter.sh", "outrigger.dev"];

/// Manifests of which none is of an older version any more.
#[derive(Debug, Default)]
pub struct Converted {
    /// What became of each source, in order.
    pub files: Vec<ConvertedFile>,
    /// What has no equal in v1, and what was decided for the user.
    pub warnings: Vec<Warning>,
    /// What is wrong. Objects that cannot be converted for it stay as they are, and are marked like
    /// gaps.
    pub errors: Vec<ManifestError>,
    /// What an API server would refuse of the result; it is marked there by comments that begin
    /// with `# FILL IN:`.
    pub gaps: Vec<ManifestError>,
}

/// A source of which no object is of an older version any more.
#[derive(Debug, Default)]
pub struct ConvertedFile {
    /// The source's name.
    pub name: String,
    /// The source, its changed documents written anew and every other byte as it was.
    pub text: String,
    /// Whether the text differs from the source's.
    pub is_changed: bool,
    /// Whether a changed document was JSON: it is YAML in the text.
    pub was_json: bool,
    /// The documents as YAML.
    pub documents: Vec<String>,
    /// The objects in order, those that were converted and those that needed no conversion.
    pub objects: Vec<Value<'static>>,
}

impl Converted {
    /// The documents of all sources as YAML.
    pub fn to_yaml(&self) -> String {
        let documents = self.files.iter().flat_map(|file| &file.documents);
        documents.map(String::as_str).collect::<Vec<_>>().join("---\n")
    }
}

/// What an object of a source is, and what becomes of it.
struct Entry {
    /// The object; `None` if it is of an older version, unless it cannot be converted.
    value: Option<Value<'static>>,
    /// The object as it is, if it is of an older version.
    old: Option<Value<'static>>,
    origin: Origin<'static>,
    /// The lines on which old names stood.
    lines: Vec<u32>,
    /// What it stands for, if it is of an older version.
    becomes: Vec<Value<'static>>,
}

impl Entry {
    fn is_old(&self) -> bool {
        self.value.is_none()
    }

    /// Whether it is of an older version and cannot be converted: why is among the errors.
    fn is_left(&self) -> bool {
        self.old.is_some() && self.becomes.is_empty()
    }

    fn objects(&self) -> impl Iterator<Item = &Value<'static>> {
        self.value.iter().chain(&self.becomes)
    }
}

/// Converts every object of the sources that is of an older version; fields that only a cluster
/// sets are left out of those, so that the result can be committed. Labels that pods select nodes
/// by get their new names. Whatever needs no conversion stays as it is written.
pub fn convert(sources: &[Source]) -> Converted {
    let mut converter = Converter::default();
    let mut converted = Converted::default();
    let mut entries: Vec<Entry> = Vec::new();
    let mut parts: Vec<Vec<(Chunk<'_>, std::ops::Range<usize>)>> = Vec::new();
    for source in sources {
        let chunks = chunks_of(source).unwrap_or_else(|error| {
            converted.errors.push(error.into());
            Vec::new()
        });
        let mut own = Vec::new();
        for chunk in chunks {
            let first = entries.len();
            each_object_of(&chunk, &mut |document| match document {
                Err(error) => converted.errors.push(error.into()),
                Ok(document) => entries.push(entry(&document, entries.len(), &mut converter)),
            });
            own.push((chunk, first..entries.len()));
        }
        parts.push(own);
    }
    let conversion = converter.finish();
    for object in conversion.objects {
        if let Some(entry) = entries.get_mut(object.position) {
            entry.becomes.push(without_cluster_fields(object.value));
        }
    }
    for entry in entries.iter_mut().filter(|entry| entry.is_left()) {
        entry.value.clone_from(&entry.old);
    }
    converted.warnings = conversion.warnings;
    converted.errors.extend(conversion.errors);
    for (source, parts) in sources.iter().zip(&parts) {
        let file = file(source, parts, &entries, &mut converted);
        converted.files.push(file);
    }
    converted
}

fn entry(document: &Document<'_>, position: usize, converter: &mut Converter) -> Entry {
    let Document { value, origin } = document;
    // What an older object becomes is known in the end; its place is kept.
    let is_old = converter.take(value, origin, position);
    let lines = if is_old { Vec::new() } else { converter.rename(value, origin) };
    let own = tree::own_document(value, origin);
    let (old, unchanged) = if is_old { (own, None) } else { (None, own) };
    let value = unchanged.map(|own| if lines.is_empty() { own } else { rewritten(own) });
    let origin = Origin { file: origin.file.clone(), line: origin.line, json: None };
    Entry { value, old, origin, lines, becomes: Vec::new() }
}

fn file(
    source: &Source,
    parts: &[(Chunk<'_>, std::ops::Range<usize>)],
    entries: &[Entry],
    converted: &mut Converted,
) -> ConvertedFile {
    let mut file = ConvertedFile { name: source.name.clone(), ..ConvertedFile::default() };
    // Nothing but comments, or what cannot be read at all.
    if parts.is_empty() {
        file.text.clone_from(&source.text);
        return file;
    }
    if source.text.starts_with(BYTE_ORDER_MARK) {
        file.text.push(BYTE_ORDER_MARK);
    }
    for (chunk, range) in parts {
        let own = entries.get(range.clone()).unwrap_or_default();
        let is_changed = own.iter().any(|entry| entry.is_old() || !entry.lines.is_empty());
        let documents = match documents_of(chunk, own, is_changed, &mut converted.gaps) {
            Ok(documents) => documents,
            Err(error) => {
                let place = Place::line(chunk.file.clone(), chunk.line);
                let problem = Problem::rule(error);
                converted.errors.push(ManifestError { problem, place });
                continue;
            }
        };
        file.objects.extend(own.iter().flat_map(Entry::objects).cloned());
        let written = documents.join("---\n");
        let plain = without_marker(chunk);
        if chunk.is_json() && !is_changed || written == plain {
            file.text.push_str(chunk.text);
        } else {
            file.is_changed = true;
            file.was_json |= chunk.is_json();
            let marker = if chunk.has_marker() { "---\n" } else { "" };
            let written = format!("{marker}{written}").replace("\r\n", "\n");
            let is_dos = source.text.contains("\r\n");
            file.text.push_str(&if is_dos { written.replace('\n', "\r\n") } else { written });
        }
        file.documents.extend(documents);
    }
    file
}

/// The documents of a part as YAML, marked where an API server would refuse them.
fn documents_of(
    chunk: &Chunk<'_>,
    entries: &[Entry],
    is_changed: bool,
    gaps: &mut Vec<ManifestError>,
) -> Result<Vec<String>, PrintError> {
    let objects: Vec<&Value<'static>> = entries.iter().flat_map(Entry::objects).collect();
    for entry in entries.iter().filter(|entry| !entry.is_left()) {
        for object in entry.objects() {
            gaps.extend(refused(object, &entry.origin).into_iter().map(mark::advised));
        }
    }
    let is_old = entries.iter().any(Entry::is_old);
    let verbatim = match (chunk.is_json(), is_changed, is_old) {
        (true, _, _) | (_, _, true) => None,
        (false, false, false) => Some(without_marker(chunk).to_owned()),
        (false, true, false) => {
            let lines: Vec<u32> = entries.iter().flat_map(|entry| entry.lines.clone()).collect();
            part::with_names_rewritten(chunk, &lines, &objects)
                .map(|text| without_marker(&Chunk { text: &text, ..chunk.clone() }).to_owned())
        }
    };
    if let Some(mut text) = verbatim.filter(|text| !text.is_empty()) {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let errors = refused_in(&text);
        return Ok(vec![if errors.is_empty() { text } else { mark::marked(&text, 1, &errors) }]);
    }
    let owned: Vec<Value<'static>> = objects.into_iter().cloned().collect();
    let mut texts = part::printed(chunk, &owned)?;
    for text in &mut texts {
        let errors = refused_in(text);
        if !errors.is_empty() {
            *text = mark::marked(text, 1, &errors);
        }
    }
    Ok(texts)
}

/// The part without the bare document marker that it begins with.
fn without_marker<'t>(chunk: &Chunk<'t>) -> &'t str {
    let rest = chunk.text.strip_prefix("---");
    rest.and_then(|rest| rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')))
        .unwrap_or(chunk.text)
}

/// What an API server would refuse of a text's documents, by the lines of the text.
fn refused_in(text: &str) -> Vec<ManifestError> {
    let source = Source::new("converted", text);
    let mut errors = Vec::new();
    documents::each_object(&source, &mut |document| {
        if let Ok(Document { value, origin }) = document {
            errors.extend(refused(&value, &origin));
        }
    });
    errors
}

/// What an API server would refuse of an object, if it is of a kind of ours.
fn refused(object: &Value<'_>, origin: &Origin<'_>) -> Vec<ManifestError> {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let group = version.split_once('/').map_or(version, |(group, _)| group);
    if !OWN_GROUPS.contains(&group) && !Converter::is_of_older_version(object) {
        return Vec::new();
    }
    let mut reader = Reader::default();
    reader.read_value(object, origin);
    let mut errors = reader.into_objects().errors;
    errors.extend(strict::errors(object, origin));
    errors
}

/// Fields that the API server or a controller sets.
const CLUSTER_METADATA: [&str; 9] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Annotations that a client or a controller sets, of no use once the object has changed.
const CLUSTER_ANNOTATIONS: [&str; 6] = [
    "karpenter.k8s.aws/ec2nodeclass-hash",
    "karpenter.k8s.aws/ec2nodeclass-hash-version",
    "karpenter.sh/nodepool-hash",
    "karpenter.sh/nodepool-hash-version",
    "karpenter.sh/stored-version-migrated",
    "kubectl.kubernetes.io/last-applied-configuration",
];

fn without_cluster_fields(object: Value<'static>) -> Value<'static> {
    let mut object = tree::without(object, &["status"]);
    let Some(metadata) = object.get("metadata").cloned() else { return object };
    let annotations = metadata
        .get("annotations")
        .cloned()
        .and_then(|all| tree::unless_empty(tree::without(all, &CLUSTER_ANNOTATIONS)));
    let mut metadata = tree::without(metadata, &CLUSTER_METADATA);
    match annotations {
        Some(annotations) => tree::set(&mut metadata, &["annotations"], annotations),
        None => metadata = tree::without(metadata, &["annotations"]),
    }
    tree::set(&mut object, &["metadata"], metadata);
    object
}
