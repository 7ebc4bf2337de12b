//! Lists of objects, as `kubectl get -o yaml` and API servers write them.

use crate::document::{Document, Origin};
use crate::value::{Data, Value};

/// Hands over a document, or the items of the list that it is.
pub fn open_lists<'t>(document: Document<'t>, take: &mut impl FnMut(Document<'t>)) {
    let Some(list) = ListKind::of(&document.value) else { return take(document) };
    let Data::Object(members) = document.value.data else { return };
    for (key, member) in members {
        if let (true, Data::List(items)) = (key == "items", member.data) {
            for mut item in items {
                list.complete(&mut item);
                let origin = Origin { line: item.line, ..document.origin.clone() };
                open_lists(Document { value: item, origin }, take);
            }
        }
    }
}

/// The kind of the items of a list: those of a `PodList` do not repeat that they are Pods.
#[derive(Clone, Debug)]
pub(crate) struct ListKind {
    /// The kind of the items; empty for a plain `List`.
    pub(crate) kind: String,
    /// `GROUP/VERSION` of the list and its items.
    pub(crate) api_version: Option<String>,
}

impl ListKind {
    /// What a value says about its items if it is a list of objects; `None` if it is none.
    fn of(value: &Value<'_>) -> Option<Self> {
        let kind = value.get("kind")?.as_str()?.strip_suffix("List")?;
        // An empty `List` may come without items; of other kinds, items tell a list from a kind
        // whose name happens to end so.
        let items = value.get("items").map(|items| items.as_list().is_some());
        let api_version = || value.get("apiVersion").and_then(Value::as_str).map(str::to_owned);
        items
            .unwrap_or(kind.is_empty())
            .then(|| Self { kind: kind.to_owned(), api_version: api_version() })
    }

    /// Adds kind and version to an item that does not name its kind.
    pub(crate) fn complete(&self, item: &mut Value<'_>) {
        let line = item.line;
        let Data::Object(members) = &mut item.data else { return };
        if self.kind.is_empty() || members.iter().any(|(key, _)| key == "kind") {
            return;
        }
        members.push(("kind".into(), Value::text(line, self.kind.clone())));
        if let Some(version) = self.api_version.clone() {
            members.push(("apiVersion".into(), Value::text(line, version)));
        }
    }
}
