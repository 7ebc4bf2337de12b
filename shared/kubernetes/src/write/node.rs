//! Writes on Nodes.

use controllers::ports::cluster::{FinalizerChange, NodePatch};
use controllers::ports::{NodeRef, ObjectRef, PortError};
use domain::Text;
use domain::label::TERMINATION_FINALIZER;
use domain::taint::{Taint, TaintEffect};
use serde_json::{Value as Json, json};

use super::{Target, check_uid, set_finalizer, set_texts};
use crate::connection::Connection;
use crate::kind::{NODE, NODE_CLAIM};
use crate::patch::{edit_list, text};
use crate::wire;

impl Connection {
    /// Changes a Node in one write.
    pub(crate) async fn patch_node(
        &self,
        node: &NodeRef,
        patch: &NodePatch,
    ) -> Result<(), PortError> {
        self.update(&NODE, &node.name, |object| {
            check_uid(object, &node.uid, &NODE, &node.name)?;
            apply(object, patch);
            Ok(())
        })
        .await
    }

    /// Asks for the deletion of a Node.
    pub(crate) async fn delete_node(&self, node: &NodeRef) -> Result<(), PortError> {
        let options = json!({ "preconditions": { "uid": &*node.uid } });
        self.delete(&NODE, &Target::of(&NODE, &node.name), options).await
    }
}

/// The Node after the change.
fn apply(node: &mut Json, change: &NodePatch) {
    let NodePatch {
        labels,
        remove_labels,
        annotations,
        add_taints,
        remove_taints,
        finalizer,
        owner,
    } = change;
    set_texts(node, &["metadata", "labels"], labels);
    if let Some(Json::Object(own)) = node.pointer_mut("/metadata/labels") {
        for key in remove_labels {
            own.remove(&**key);
        }
    }
    set_texts(node, &["metadata", "annotations"], annotations);
    set_taints(node, add_taints, remove_taints);
    match finalizer {
        FinalizerChange::Keep => {}
        FinalizerChange::Add => set_finalizer(node, TERMINATION_FINALIZER, true),
        FinalizerChange::Remove => set_finalizer(node, TERMINATION_FINALIZER, false),
    }
    if let Some(owner) = owner {
        set_owner(node, owner);
    }
}

/// Changes taints; those that are not named keep what only the API knows of them, such as
/// `timeAdded`.
fn set_taints(node: &mut Json, add: &[Taint], remove: &[(Text, TaintEffect)]) {
    let is = |known: &Json, key: &str, effect: TaintEffect| {
        known["key"].as_str() == Some(key) && known["effect"].as_str() == Some(effect.as_str())
    };
    if add.is_empty() && node["spec"]["taints"].is_null() {
        return;
    }
    edit_list(node, &["spec", "taints"], |taints| {
        taints.retain(|known| !remove.iter().any(|(key, effect)| is(known, key, *effect)));
        for taint in add {
            let is_same = |known: &Json| text(known, &["value"]) == &*taint.value;
            match taints.iter_mut().find(|known| is(known, &taint.key, taint.effect)) {
                Some(known) if is_same(known) => {}
                Some(known) => *known = wire::taint(taint),
                None => taints.push(wire::taint(taint)),
            }
        }
    });
}

/// Names an owner beside others.
fn set_owner(node: &mut Json, owner: &ObjectRef) {
    let owners = node["metadata"]["ownerReferences"].as_array();
    let is_owner = |known: &Json| known["uid"].as_str() == Some(&*owner.uid);
    if owners.is_some_and(|owners| owners.iter().any(is_owner)) {
        return;
    }
    let reference = json!({
        "apiVersion": NODE_CLAIM.api_version(NODE_CLAIM.version()),
        "kind": NODE_CLAIM.name,
        "name": &*owner.name,
        "uid": &*owner.uid,
        "blockOwnerDeletion": true,
    });
    edit_list(node, &["metadata", "ownerReferences"], |owners| owners.push(reference));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::difference;

    fn patched(node: &Json, change: &NodePatch) -> Option<Json> {
        let mut after = node.clone();
        apply(&mut after, change);
        difference(node, &after)
    }

    fn taint(key: &str, value: &str) -> Taint {
        Taint { key: key.into(), value: value.into(), effect: TaintEffect::NoSchedule }
    }

    #[test]
    fn a_taint_replaces_the_one_of_its_key_and_effect_and_leaves_others() {
        let node = json!({"spec": {"taints": [
            {"key": "a", "value": "1", "effect": "NoSchedule"},
            {"key": "a", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
            {"key": "b", "effect": "NoSchedule"},
        ]}});
        let change = NodePatch {
            add_taints: vec![taint("a", "2"), taint("c", "")],
            remove_taints: vec![("b".into(), TaintEffect::NoSchedule)],
            ..NodePatch::default()
        };
        let expected = json!({"spec": {"taints": [
            {"key": "a", "value": "2", "effect": "NoSchedule"},
            {"key": "a", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
            {"key": "c", "effect": "NoSchedule"},
        ]}});
        assert_eq!(patched(&node, &change), Some(expected));
    }

    #[test]
    fn what_is_as_asked_already_needs_no_write() {
        let node = json!({
            "metadata": {
                "labels": {"a": "1"},
                "finalizers": ["karpenter.sh/termination"],
                "ownerReferences": [{"uid": "u1"}],
            },
            "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
        });
        let change = NodePatch {
            labels: [("a".into(), "1".into())].into(),
            remove_labels: vec!["gone".into()],
            add_taints: vec![taint("a", "")],
            remove_taints: vec![("x".into(), TaintEffect::NoSchedule)],
            finalizer: FinalizerChange::Add,
            owner: Some(ObjectRef { name: "c".into(), uid: "u1".into() }),
            ..NodePatch::default()
        };
        assert_eq!(patched(&node, &change), None);
        assert_eq!(patched(&json!({"metadata": {}}), &NodePatch::default()), None);
    }

    #[test]
    fn labels_finalizer_and_owner_are_changed_beside_those_of_others() {
        let node = json!({"metadata": {
            "labels": {"keep": "1", "drop": "1"},
            "finalizers": ["other", "karpenter.sh/termination"],
        }});
        let change = NodePatch {
            labels: [("new".into(), "2".into())].into(),
            remove_labels: vec!["drop".into()],
            finalizer: FinalizerChange::Remove,
            owner: Some(ObjectRef { name: "c".into(), uid: "u1".into() }),
            ..NodePatch::default()
        };
        let expected = json!({"metadata": {
            "labels": {"new": "2", "drop": null},
            "finalizers": ["other"],
            "ownerReferences": [{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": "c",
                "uid": "u1", "blockOwnerDeletion": true}],
        }});
        assert_eq!(patched(&node, &change), Some(expected));
    }
}
