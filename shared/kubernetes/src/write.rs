//! Writes: each is conditional on the state that was read, and retried on a conflict.

mod claim;
pub(crate) mod event;
mod node;
mod pod;
mod rollout;
mod scale;
mod status;

use controllers::ports::{ErrorKind, PortError};
use domain::label::Labels;
use domain::pod::ObjectKey;
use http::StatusCode;
use serde_json::{Value as Json, json};

use crate::call::{Call, Verb};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::kind::Kind;
use crate::patch::{difference, edit_list, member, text};

/// The field manager, for `metadata.managedFields`.
pub(crate) const FIELD_MANAGER: &str = "outrigger";

/// The most retries of a write that conflicts with another.
const CONFLICTS_MAX: usize = 5;

/// One object: its path, and its name in errors.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) path: String,
    pub(crate) shown: String,
}

impl Target {
    /// A cluster-scoped object.
    pub(crate) fn of(kind: &Kind, name: &str) -> Self {
        Self { path: kind.path_of(name), shown: name.to_owned() }
    }

    /// An object in a namespace.
    pub(crate) fn in_namespace(kind: &Kind, key: &ObjectKey) -> Self {
        Self { path: kind.path_in(&key.namespace, &key.name), shown: key.to_string() }
    }
}

/// Whether a change of an object was accepted.
pub(crate) type Change = Result<(), PortError>;

impl Connection {
    /// A cluster-scoped object; `None` where it does not exist, or its kind is not installed.
    pub(crate) async fn get(&self, kind: &Kind, name: &str) -> Result<Option<Json>, PortError> {
        self.get_at(kind, &Target::of(kind, name)).await
    }

    pub(crate) async fn get_at(
        &self,
        kind: &Kind,
        target: &Target,
    ) -> Result<Option<Json>, PortError> {
        let call = Call::new(Verb::Get, kind.resource(), &target.path).on(&target.shown);
        match self.call(&call).await {
            Ok(body) => parsed(&body, &call).map(Some),
            Err(failure) if failure.is(StatusCode::NOT_FOUND) => Ok(None),
            Err(failure) => Err(failure.into_port_error(&call)),
        }
    }

    /// Reads a cluster-scoped object, changes it, and writes the difference: `status` first, so
    /// that it is written even where the rest removes the last finalizer. Writes nothing where
    /// nothing changes.
    ///
    /// `NotFound` where the object does not exist; the change may refuse.
    pub(crate) async fn update(
        &self,
        kind: &'static Kind,
        name: &str,
        change: impl Fn(&mut Json) -> Change,
    ) -> Result<(), PortError> {
        self.update_at(kind, &Target::of(kind, name), change).await
    }

    /// Updates an object in any scope, as [`Connection::update`] does.
    async fn update_at(
        &self,
        kind: &'static Kind,
        target: &Target,
        change: impl Fn(&mut Json) -> Change,
    ) -> Result<(), PortError> {
        let mut conflicts = 0;
        loop {
            let Some(object) = self.get_at(kind, target).await? else {
                return Err(not_found(Verb::Patch, kind, &target.shown));
            };
            match self.update_at_from(kind, target, object, &change).await {
                Err(error) if error.kind == ErrorKind::Conflict && conflicts < CONFLICTS_MAX => {
                    conflicts += 1;
                }
                other => return other,
            }
        }
    }

    /// Updates a cluster-scoped object from a state that was read.
    pub(crate) async fn update_from(
        &self,
        kind: &'static Kind,
        name: &str,
        before: Json,
        change: impl Fn(&mut Json) -> Change,
    ) -> Result<(), PortError> {
        self.update_at_from(kind, &Target::of(kind, name), before, change).await
    }

    async fn update_at_from(
        &self,
        kind: &'static Kind,
        Target { path, shown }: &Target,
        before: Json,
        change: impl Fn(&mut Json) -> Change,
    ) -> Result<(), PortError> {
        let mut after = before.clone();
        change(&mut after)?;
        let Some(Json::Object(mut patch)) = difference(&before, &after) else { return Ok(()) };
        let mut version = text(&before, &["metadata", "resourceVersion"]).to_owned();
        if let Some(status) = patch.remove("status") {
            let call = Call::new(Verb::Patch, kind.subresource("status"), format!("{path}/status"));
            let body = json!({ "metadata": { "resourceVersion": version }, "status": status });
            let written = self.patch(call.on(shown), &body).await?;
            text(&written, &["metadata", "resourceVersion"]).clone_into(&mut version);
        }
        if patch.is_empty() {
            return Ok(());
        }
        let mut patch = Json::Object(patch);
        patch["metadata"]["resourceVersion"] = version.into();
        let call = Call::new(Verb::Patch, kind.resource(), path).on(shown);
        self.patch(call, &patch).await.map(drop)
    }

    pub(crate) async fn patch(&self, call: Call, body: &Json) -> Result<Json, PortError> {
        let call = call.query(&[("fieldManager", FIELD_MANAGER)]).body(body);
        match self.call(&call).await {
            Ok(body) => parsed(&body, &call),
            Err(failure) => Err(failure.into_port_error(&call)),
        }
    }

    /// Deletes an object of a uid. One that does not exist any more, or has a successor, is
    /// ignored.
    pub(crate) async fn delete(
        &self,
        kind: &Kind,
        Target { path, shown }: &Target,
        options: Json,
    ) -> Result<(), PortError> {
        let call = Call::new(Verb::Delete, kind.resource(), path).on(shown).body(&options);
        match self.call(&call).await {
            Ok(_) => Ok(()),
            Err(failure) if is_gone(&failure) => Ok(()),
            Err(failure) => Err(failure.into_port_error(&call)),
        }
    }
}

/// Whether the object of a uid does not exist any more: there is none, or a successor.
pub(crate) fn is_gone(failure: &Failure) -> bool {
    failure.is(StatusCode::NOT_FOUND) || failure.is(StatusCode::CONFLICT)
}

pub(crate) fn parsed(body: &[u8], call: &Call) -> Result<Json, PortError> {
    serde_json::from_slice(body).map_err(|error| {
        Failure::Broken(format!("the answer is not JSON: {error}")).into_port_error(call)
    })
}

pub(crate) fn not_found(verb: Verb, kind: &Kind, name: &str) -> PortError {
    let operation = format!("{} {} {name}", verb.as_str(), kind.resource());
    PortError::new(ErrorKind::NotFound, operation, format!("{} {name} is not there", kind.name))
}

/// Refuses an object that has another uid.
pub(crate) fn check_uid(object: &Json, uid: &str, kind: &Kind, name: &str) -> Change {
    if text(object, &["metadata", "uid"]) == uid {
        Ok(())
    } else {
        Err(not_found(Verb::Patch, kind, name))
    }
}

/// Sets string members below a path.
pub(crate) fn set_texts(object: &mut Json, path: &[&str], texts: &Labels) {
    if texts.is_empty() {
        return;
    }
    for (key, value) in texts {
        *member(object, &[path, &[&**key]].concat()) = Json::from(&**value);
    }
}

/// Adds or removes a finalizer.
pub(crate) fn set_finalizer(object: &mut Json, finalizer: &str, wanted: bool) {
    let finalizers = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let is_there = finalizers.iter().any(|known| known.as_str() == Some(finalizer));
    if is_there == wanted {
        return;
    }
    edit_list(object, &["metadata", "finalizers"], |list| {
        if wanted {
            list.push(finalizer.into());
        } else {
            list.retain(|known| known.as_str() != Some(finalizer));
        }
    });
}
