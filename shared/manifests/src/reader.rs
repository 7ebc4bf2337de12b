//! From texts to objects.

mod api;
mod extent;
mod kinds;

use documents::{Data, Document, Origin, Place, Source, Value, each_object, open_lists};
use domain::Text;

use crate::convert::Converter;
use crate::error::{ManifestError, Problem};
use crate::field::ObjectReader;
use crate::intern::Interner;
use crate::karpenter::unreadable_cluster_limit;
use crate::kubernetes::{check_as_an_api_server, is_scheduler_config};
use crate::object::{Identity, Located, Object, Objects};

use extent::Extent;
use kinds::{Unread, check_version, group_of, reader_of};

pub use api::{ApiKind, ApiRead, read_api_object};
pub use extent::{NODES_MAX, PODS_MAX};

/// The kind of which one object is read.
const CONFIG_MAP: &str = "ConfigMap";
/// What a list of objects of any kind is called.
const LIST: &str = "List";
/// The kind of which an object that cannot be read still counts.
const CLUSTER_LIMIT: &str = "ClusterLimit";

/// The kind of Kustomize's own file, which may leave it out.
const KUSTOMIZATION: &str = "Kustomization";
/// What Kustomize calls that file.
const KUSTOMIZATION_FILES: [&str; 2] = ["kustomization.yaml", "kustomization.yml"];

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
    extent: Extent,
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

    /// What was read; objects of older versions come last, since what they stand for depends on
    /// each other.
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
        if is_kustomization(value, origin) {
            *self.objects.skipped.entry(KUSTOMIZATION.to_owned()).or_default() += 1;
        } else if !self.converter.take(value, origin, 0) {
            self.converter.warn_of_old_names(value, origin);
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
        let reader = ObjectReader::named(value, origin, &self.interner);
        let root = reader.root();
        let Some(kind) = root.get("kind").required().str() else {
            return self
                .objects
                .errors
                .extend(reader.finish::<Object>(None).0.err().unwrap_or_default());
        };
        // What a list holds has been taken out of it: this one holds something else.
        if kind == LIST {
            let _none = root.get("items").texts();
        }
        let group = group_of(root);
        let mut known = None;
        let object = match reader_of(group, kind) {
            Ok(kind) if kind.name == CONFIG_MAP && !is_scheduler_config(root) => {
                *self.objects.skipped.entry(CONFIG_MAP.to_owned()).or_default() += 1;
                return;
            }
            Ok(kind) => {
                known = Some(kind.name);
                check_version(root, kind);
                let object = (kind.read)(root);
                check_as_an_api_server(root, kind.name);
                if let Some(object) = &object {
                    self.extent.add(object, root);
                }
                object
            }
            Err(Unread::OtherKind(name)) if !reader.is_broken() => {
                *self.objects.skipped.entry(name).or_default() += 1;
                return;
            }
            Err(Unread::OtherKind(_)) => None,
            Err(Unread::Misspelt(misspelling)) => {
                misspelling.note(root);
                None
            }
        };
        let called = if reader.is_broken() { reader.name() } else { None };
        let (result, warnings) = reader.finish(object);
        self.objects.warnings.extend(warnings);
        match result {
            Ok(object) => self.objects.objects.push(Located {
                file: origin.file.clone(),
                line: origin.line,
                value: object,
            }),
            Err(errors) => {
                let Some(identity) = known.map(|kind| identity_of(value, kind, called)) else {
                    self.objects.errors.extend(errors);
                    return;
                };
                // An object that cannot be read and counts nevertheless.
                if identity.kind == CLUSTER_LIMIT {
                    let limit = unreadable_cluster_limit(&identity.name, &errors);
                    self.objects.objects.push(Located {
                        file: origin.file.clone(),
                        line: origin.line,
                        value: Object::ClusterLimit(limit),
                    });
                }
                self.objects.unreadable.insert(identity);
                self.objects.errors.extend(errors);
            }
        }
    }
}

/// Whether Kustomize would take it for its own file, which needs neither kind nor version.
fn is_kustomization(value: &Value<'_>, origin: &Origin<'_>) -> bool {
    let name = origin.file.rsplit(['/', '\\', ':']).next().unwrap_or_default();
    KUSTOMIZATION_FILES.contains(&name)
        && matches!(value.data, Data::Object(_))
        && ["apiVersion", "kind"].iter().all(|key| value.get(key).is_none())
}

/// What identifies an object of which nothing but its kind is known to be right. It is in a
/// namespace if it is called `NAMESPACE/NAME`: kinds that live outside namespaces are not.
fn identity_of(value: &Value<'_>, kind: &'static str, called: Option<String>) -> Identity {
    let name = value.get("metadata").and_then(|own| own.get("name")).and_then(Value::as_str);
    let name = name.unwrap_or_default();
    let called = called.unwrap_or_default();
    let namespace = called.strip_suffix(name).and_then(|own| own.strip_suffix('/'));
    Identity { kind, namespace: namespace.map(Text::from), name: name.into() }
}

#[cfg(test)]
mod tests;
