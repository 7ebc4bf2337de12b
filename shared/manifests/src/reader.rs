//! From texts to objects.

mod api;

use documents::{Data, Document, Origin, Place, Source, Value, each_object, open_lists};

use crate::convert::Converter;
use crate::error::{ManifestError, Problem};
use crate::field::{Field, ObjectReader};
use crate::intern::Interner;
use crate::object::{Located, Object, Objects};
use crate::{karpenter, kubernetes};

pub use api::{ApiKind, ApiRead, read_api_object};

/// Reads every object of the sources, in order.
pub fn read(sources: &[Source]) -> Objects {
    let mut reader = Reader::default();
    for source in sources {
        reader.read_source(source);
    }
    reader.into_objects()
}

/// Reads objects one after another, sharing what they have in common.
#[derive(Debug, Default)]
pub struct Reader {
    interner: Interner,
    converter: Converter,
    objects: Objects,
}

impl Reader {
    /// Reads every object of a source.
    pub fn read_source(&mut self, source: &Source) {
        each_object(source, &mut |document| match document {
            Ok(document) => self.read_object(&document.value, &document.origin),
            Err(error) => self.objects.errors.push(error.into()),
        });
    }

    /// Reads an object that stands inside another document, or the items of the list that it is.
    pub fn read_value(&mut self, value: &Value<'_>, origin: &Origin<'_>) {
        // Lines are looked up from the start of an object, which this is not.
        let line = if value.line > 0 { value.line } else { origin.line };
        let origin = Origin { file: origin.file.clone(), line, json: None };
        let document = Document { value: value.clone(), origin };
        open_lists(document, &mut |document| {
            self.read_object(&document.value, &document.origin);
        });
    }

    /// What was read; objects of older versions come last, since what they stand for depends on each other.
    pub fn into_objects(mut self) -> Objects {
        let conversion = std::mem::take(&mut self.converter).finish();
        self.objects.warnings.extend(conversion.warnings);
        self.objects.errors.extend(conversion.errors);
        for converted in &conversion.objects {
            self.read_current(&converted.value, &converted.origin);
        }
        self.objects
    }

    fn read_object(&mut self, value: &Value<'_>, origin: &Origin<'_>) {
        if !self.converter.take(value, origin, 0) {
            self.read_current(value, origin);
        }
    }

    fn read_current(&mut self, value: &Value<'_>, origin: &Origin<'_>) {
        if !matches!(value.data, Data::Object(_)) {
            let problem = Problem::WrongType { expected: "an object", found: value.described() };
            let place = Place::line(origin.file.clone(), origin.line);
            self.objects.errors.push(ManifestError { problem, place });
            return;
        }
        let reader = ObjectReader::new(value, origin, &self.interner);
        let root = reader.root();
        reader.set_name(name_of(value));
        let Some(kind) = root.get("kind").required().str() else {
            return self
                .objects
                .errors
                .extend(reader.finish::<Object>(None).0.err().unwrap_or_default());
        };
        let group = group_of(root);
        let read = match reader_of(group, kind) {
            Ok(read) => read,
            Err(skipped) => {
                *self.objects.skipped.entry(skipped).or_default() += 1;
                return;
            }
        };
        check_version(root, kind);
        let object = read(root);
        let (result, warnings) = reader.finish(object);
        self.objects.warnings.extend(warnings);
        match result {
            Ok(object) => self.objects.objects.push(Located {
                file: origin.file.clone(),
                line: origin.line,
                value: object,
            }),
            Err(errors) => self.objects.errors.extend(errors),
        }
    }
}

/// A function that reads one kind; `None` where something was noted that leaves nothing to return.
pub(crate) type ReadKind = fn(Field<'_>) -> Option<Object>;

/// The API group; `None` where the object does not say which version of the API it is written in.
fn group_of(root: Field<'_>) -> Option<&str> {
    let version = root.get("apiVersion").str()?;
    Some(version.rsplit_once('/').map_or("", |(group, _)| group))
}

/// Notes a version of one of our kinds that is not read. Kubernetes' own kinds are read in every version:
/// the fields that count are the same in all.
fn check_version(root: Field<'_>, kind: &str) {
    let read: &[&str] = match kind {
        "NodePool" | "NodeClaim" | "EC2NodeClass" => &["v1"],
        "NodeOverlay" | "ScaledObject" | "PrewarmSchedule" | "InstanceCatalog" => &["v1alpha1"],
        "CapacityBuffer" => &["v1beta1", "v1alpha1"],
        _ => return,
    };
    let field = root.get("apiVersion");
    let Some((_, version)) = field.str().and_then(|version| version.rsplit_once('/')) else {
        return;
    };
    if !read.contains(&version) {
        field.note_rule(format!(
            "{kind} is not read in version {version}, only in {}",
            read.join(", ")
        ));
    }
}

/// How a kind is read, or what it is called among those that are not.
///
/// Without an API version the kind alone decides; a known kind of a foreign group (Volcano's Job) is
/// another kind, told apart by its group.
fn reader_of(group: Option<&str>, kind: &str) -> Result<ReadKind, String> {
    let known = kubernetes::reader_of(kind)
        .or_else(|| karpenter::reader_of(kind))
        .or_else(|| catalog_reader(kind));
    match (known, group) {
        (None, _) => Err(kind.to_owned()),
        (Some((own, _)), Some(foreign)) if foreign != own => Err(format!("{kind}.{foreign}")),
        (Some((_, read)), _) => Ok(read),
    }
}

fn catalog_reader(kind: &str) -> Option<(&'static str, ReadKind)> {
    fn catalog(root: Field<'_>) -> Option<Object> {
        root.value().map(|value| Object::InstanceCatalog(value.clone().into_owned()))
    }
    (kind == "InstanceCatalog").then_some(("outrigger.dev", catalog as ReadKind))
}

/// What errors call an object: by namespace if it names one.
///
/// Readers of namespaced kinds set the default namespace.
pub(crate) fn name_of(value: &Value<'_>) -> String {
    let metadata = value.get("metadata");
    let part = |key| metadata.and_then(|metadata| metadata.get(key)).and_then(Value::as_str);
    let name = part("name").or_else(|| part("generateName")).unwrap_or("(unnamed)");
    match part("namespace") {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests;
