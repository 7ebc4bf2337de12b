//! NodeClaim objects, which mirror claims in the cluster.

use controllers::ports::{ErrorKind, ObjectRef, PortError};
use domain::label::TERMINATION_FINALIZER;
use domain::node_claim::{ConditionType, NodeClaim};
use http::StatusCode;
use serde_json::{Value as Json, json};

use super::{Change, FIELD_MANAGER, Target, set_finalizer, set_texts};
use crate::call::{Call, Verb};
use crate::cluster_listing::CLAIM_UID;
use crate::connection::Connection;
use crate::kind::{NODE_CLAIM, NODE_POOL};
use crate::patch::{member, text};
use crate::wire;

impl Connection {
    /// Creates or updates the NodeClaim object of a claim, and returns its uid. `pool` looks up the
    /// claim's NodePool, which only a new object needs.
    pub(crate) async fn mirror_node_claim(
        &self,
        claim: &NodeClaim,
        pool: impl AsyncFn() -> Result<Option<ObjectRef>, PortError>,
    ) -> Result<String, PortError> {
        let known = match self.get(&NODE_CLAIM, &claim.name).await? {
            Some(object) => object,
            None => match self.create_node_claim(claim, pool().await?.as_ref()).await? {
                Some(created) => created,
                // Somebody was faster: an earlier attempt of ours, or not.
                None => match self.get(&NODE_CLAIM, &claim.name).await? {
                    Some(object) => object,
                    None => return Err(super::not_found(Verb::Patch, &NODE_CLAIM, &claim.name)),
                },
            },
        };
        check_owner(&known, claim)?;
        let uid = text(&known, &["metadata", "uid"]).to_owned();
        let change = |object: &mut Json| show(object, claim);
        match self.update_from(&NODE_CLAIM, &claim.name, known, change).await {
            Err(error) if error.kind == ErrorKind::Conflict => {
                self.update(&NODE_CLAIM, &claim.name, change).await?;
            }
            other => other?,
        }
        Ok(uid)
    }

    /// Creates the object without its status, which a creation ignores; `None` where one of that
    /// name exists.
    async fn create_node_claim(
        &self,
        claim: &NodeClaim,
        pool: Option<&ObjectRef>,
    ) -> Result<Option<Json>, PortError> {
        let owners: Vec<Json> = pool.into_iter().map(owner).collect();
        let mut object = json!({
            "apiVersion": NODE_CLAIM.api_version(NODE_CLAIM.version()),
            "kind": NODE_CLAIM.name,
            "metadata": { "name": &*claim.name, "ownerReferences": owners },
            "spec": wire::claim_spec(claim),
        });
        set_texts(&mut object, &["metadata", "labels"], &claim.labels);
        set_texts(&mut object, &["metadata", "annotations"], &claim.annotations);
        *member(&mut object, &["metadata", "annotations", CLAIM_UID]) = Json::from(&*claim.uid);
        set_finalizer(&mut object, TERMINATION_FINALIZER, true);
        let version = NODE_CLAIM.version();
        let call = Call::new(Verb::Create, NODE_CLAIM.resource(), NODE_CLAIM.path(version))
            .on(&claim.name)
            .query(&[("fieldManager", FIELD_MANAGER)])
            .body(&object);
        match self.call(&call).await {
            Ok(body) => super::parsed(&body, &call).map(Some),
            Err(failure) if failure.is(StatusCode::CONFLICT) => Ok(None),
            Err(failure) => Err(failure.into_port_error(&call)),
        }
    }

    /// Deletes the NodeClaim object of a claim, and removes our finalizer.
    pub(crate) async fn remove_node_claim(
        &self,
        name: &str,
        claim_uid: &str,
    ) -> Result<(), PortError> {
        let Some(object) = self.get(&NODE_CLAIM, name).await? else { return Ok(()) };
        if shown_uid(&object) != claim_uid {
            return Ok(());
        }
        let uid = text(&object, &["metadata", "uid"]).to_owned();
        if object["metadata"]["deletionTimestamp"].is_null() {
            let options = json!({ "preconditions": { "uid": &uid } });
            self.delete(&NODE_CLAIM, &Target::of(&NODE_CLAIM, name), options).await?;
        }
        let let_go = |object: &mut Json| {
            if text(object, &["metadata", "uid"]) == uid {
                set_finalizer(object, TERMINATION_FINALIZER, false);
            }
            Ok(())
        };
        controllers::ports::error::found(self.update(&NODE_CLAIM, name, let_go).await).map(drop)
    }

    /// Removes the annotation that marks the NodeClaim object of a claim as ours.
    pub(crate) async fn release_node_claim(
        &self,
        name: &str,
        claim_uid: &str,
    ) -> Result<(), PortError> {
        let release = |object: &mut Json| {
            if shown_uid(object) == claim_uid
                && let Some(Json::Object(annotations)) = object.pointer_mut("/metadata/annotations")
            {
                annotations.remove(CLAIM_UID);
            }
            Ok(())
        };
        controllers::ports::error::found(self.update(&NODE_CLAIM, name, release).await).map(drop)
    }
}

/// The uid of the claim that an object mirrors, or that was adopted from it.
fn shown_uid(object: &Json) -> &str {
    match text(object, &["metadata", "annotations", CLAIM_UID]) {
        "" => text(object, &["metadata", "uid"]),
        uid => uid,
    }
}

fn owner(pool: &ObjectRef) -> Json {
    json!({
        "apiVersion": NODE_POOL.api_version(NODE_POOL.version()),
        "kind": NODE_POOL.name,
        "name": &*pool.name,
        "uid": &*pool.uid,
        "blockOwnerDeletion": true,
    })
}

/// Refuses an object that mirrors another claim.
fn check_owner(object: &Json, claim: &NodeClaim) -> Change {
    if shown_uid(object) == &*claim.uid {
        return Ok(());
    }
    let operation = format!("patch {} {}", NODE_CLAIM.resource(), claim.name);
    let message = format!("NodeClaim {} belongs to another claim", claim.name);
    Err(PortError::new(ErrorKind::Conflict, operation, message))
}

/// Makes an object mirror a claim. Its `spec` never changes.
fn show(object: &mut Json, claim: &NodeClaim) -> Change {
    check_owner(object, claim)?;
    if let Some(Json::Object(labels)) = object.pointer_mut("/metadata/labels") {
        labels.retain(|key, _| claim.labels.contains_key(key.as_str()));
    }
    set_texts(object, &["metadata", "labels"], &claim.labels);
    set_texts(object, &["metadata", "annotations"], &claim.annotations);
    // Of an object that goes, finalizers can only be taken away.
    if object["metadata"]["deletionTimestamp"].is_null() {
        set_finalizer(object, TERMINATION_FINALIZER, true);
    }
    show_status(object, claim);
    Ok(())
}

fn show_status(object: &mut Json, claim: &NodeClaim) {
    let status = member(object, &["status"]);
    if !status.is_object() {
        *status = json!({});
    }
    let Json::Object(members) = status else { return };
    for (key, value) in wire::claim_status(claim) {
        match value {
            Some(value) => {
                members.insert(key.to_owned(), value);
            }
            None => {
                members.remove(key);
            }
        }
    }
    let known = members.get("conditions").and_then(Json::as_array).cloned().unwrap_or_default();
    let conditions = merged_conditions(
        &known,
        claim.status.conditions.iter().map(|condition| wire::claim_condition(condition, claim)),
        |word| ConditionType::parse(word).is_some(),
    );
    if !(conditions.is_empty() && known.is_empty()) {
        members.insert("conditions".to_owned(), conditions.into());
    }
    if members.is_empty()
        && let Json::Object(object) = object
    {
        object.remove("status");
    }
}

/// Our conditions, merged into those of other controllers. One that exists already keeps the fields
/// that only the API server knows (`observedGeneration`).
pub(super) fn merged_conditions(
    known: &[Json],
    own: impl Iterator<Item = Json>,
    is_ours: impl Fn(&str) -> bool,
) -> Vec<Json> {
    let kind = |condition: &Json| text(condition, &["type"]).to_owned();
    let foreign = known.iter().filter(|condition| !is_ours(&kind(condition))).cloned();
    let shown = own.map(|condition| {
        let known = known.iter().find(|known| kind(known) == kind(&condition));
        let mut shown = known.cloned().unwrap_or_else(|| json!({}));
        if let (Json::Object(shown), Json::Object(condition)) = (&mut shown, condition) {
            shown.extend(condition);
        }
        shown
    });
    // In place: a list that merely changes its order would be written again and again.
    let mut merged: Vec<Json> = foreign.chain(shown).collect();
    let place = |condition: &Json| {
        known.iter().position(|known| kind(known) == kind(condition)).unwrap_or(usize::MAX)
    };
    merged.sort_by_key(place);
    merged
}
