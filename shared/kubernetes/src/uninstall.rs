//! What uninstalling does in a cluster: nodes are let go of, or their NodePools are deleted.

use controllers::ports::PortError;
use controllers::ports::error::found;
use domain::label::{AUTO_MODE_NODE_CLASS, TERMINATION_FINALIZER};
use serde_json::{Value as Json, json};

use crate::call::{Call, Verb};
use crate::connection::Connection;
use crate::kind::{Kind, NODE, NODE_CLAIM, NODE_CLASS, NODE_POOL};
use crate::patch::text;
use crate::write::{Target, parsed, set_finalizer};

/// The finalizer of EC2NodeClasses.
const CLASS_FINALIZER: &str = "karpenter.k8s.aws/termination";
/// Objects per page.
const PAGE: &str = "500";

/// What was let go of, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Nodes whose finalizer was removed; they stay.
    pub nodes: usize,
    /// NodeClaims that were deleted, without their Nodes.
    pub node_claims: usize,
    /// NodePools that were deleted, without their NodeClaims.
    pub node_pools: usize,
    /// EC2NodeClasses that were deleted.
    pub node_classes: usize,
    /// Instances that were launched and had not registered: they join with a taint that nobody
    /// takes away any more.
    pub unregistered: Vec<Unregistered>,
}

/// An instance whose Node had not registered when its NodeClaim was let go of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unregistered {
    /// The NodeClaim that was deleted.
    pub node_claim: String,
    /// Its `status.providerID`, with the instance's id at the end.
    pub provider_id: String,
}

impl Connection {
    /// Removes our finalizers, and deletes NodeClaims, NodePools and EC2NodeClasses without what
    /// they own. Objects of other classes, such as those of EKS Auto Mode, are left alone. May be
    /// repeated.
    pub async fn let_go_of_nodes(&self) -> Result<Leftovers, PortError> {
        let mut leftovers =
            Leftovers { unregistered: self.unregistered().await?, ..Leftovers::default() };
        let is_held = |node: &Json| {
            has_finalizer(node, TERMINATION_FINALIZER)
                && node["metadata"]["labels"][AUTO_MODE_NODE_CLASS].is_null()
        };
        for (name, _) in self.ours(&NODE, is_held).await? {
            self.drop_finalizer(&NODE, &name, TERMINATION_FINALIZER).await?;
            leftovers.nodes += 1;
        }
        // Before their NodePools: nothing is left for the garbage collector then.
        for (kind, count) in [
            (&NODE_CLAIM, &mut leftovers.node_claims),
            (&NODE_POOL, &mut leftovers.node_pools),
            (&NODE_CLASS, &mut leftovers.node_classes),
        ] {
            let finalizer =
                if *kind == NODE_CLASS { CLASS_FINALIZER } else { TERMINATION_FINALIZER };
            for (name, uid) in self.ours(kind, is_of_ec2_node_class).await? {
                self.drop_finalizer(kind, &name, finalizer).await?;
                let options =
                    json!({ "preconditions": { "uid": uid }, "propagationPolicy": "Orphan" });
                self.delete(kind, &Target::of(kind, &name), options).await?;
                *count += 1;
            }
        }
        Ok(leftovers)
    }

    /// Deletes all NodePools of EC2NodeClasses, and with them their NodeClaims.
    pub async fn delete_node_pools(&self) -> Result<usize, PortError> {
        let pools = self.ours(&NODE_POOL, is_of_ec2_node_class).await?;
        for (name, uid) in &pools {
            let options =
                json!({ "preconditions": { "uid": uid }, "propagationPolicy": "Background" });
            self.delete(&NODE_POOL, &Target::of(&NODE_POOL, name), options).await?;
        }
        Ok(pools.len())
    }

    /// How many NodeClaims of EC2NodeClasses there are.
    pub async fn node_claims_left(&self) -> Result<usize, PortError> {
        Ok(self.ours(&NODE_CLAIM, is_of_ec2_node_class).await?.len())
    }

    async fn unregistered(&self) -> Result<Vec<Unregistered>, PortError> {
        let is_unregistered = |claim: &Json| {
            is_of_ec2_node_class(claim)
                && !is_true(claim, "Registered")
                && !text(claim, &["status", "providerID"]).is_empty()
        };
        let read = |claim: &Json| Unregistered {
            node_claim: text(claim, &["metadata", "name"]).to_owned(),
            provider_id: text(claim, &["status", "providerID"]).to_owned(),
        };
        self.all(&NODE_CLAIM, is_unregistered, read).await
    }

    /// Names and uids of objects for which `is_ours` holds.
    async fn ours(
        &self,
        kind: &Kind,
        is_ours: impl Fn(&Json) -> bool,
    ) -> Result<Vec<(String, String)>, PortError> {
        let read = |object: &Json| {
            let field = |name| text(object, &["metadata", name]).to_owned();
            (field("name"), field("uid"))
        };
        self.all(kind, is_ours, read).await
    }

    /// What is read of objects for which `is_wanted` holds.
    async fn all<T>(
        &self,
        kind: &Kind,
        is_wanted: impl Fn(&Json) -> bool,
        read: impl Fn(&Json) -> T,
    ) -> Result<Vec<T>, PortError> {
        let mut found = Vec::new();
        let mut next = String::new();
        loop {
            let mut query = vec![("limit", PAGE)];
            if !next.is_empty() {
                query.push(("continue", &next));
            }
            let call =
                Call::new(Verb::List, kind.resource(), kind.path(kind.version())).query(&query);
            let body = self.call(&call).await.map_err(|failure| failure.into_port_error(&call))?;
            let page = parsed(&body, &call)?;
            let objects = page["items"].as_array().into_iter().flatten();
            found.extend(objects.filter(|object| is_wanted(object)).map(&read));
            text(&page, &["metadata", "continue"]).clone_into(&mut next);
            if next.is_empty() {
                return Ok(found);
            }
        }
    }

    async fn drop_finalizer(
        &self,
        kind: &'static Kind,
        name: &str,
        finalizer: &str,
    ) -> Result<(), PortError> {
        let change = |object: &mut Json| {
            set_finalizer(object, finalizer, false);
            Ok(())
        };
        found(self.update(kind, name, change).await).map(drop)
    }
}

fn has_finalizer(object: &Json, finalizer: &str) -> bool {
    let all = object["metadata"]["finalizers"].as_array();
    all.into_iter().flatten().any(|own| own.as_str() == Some(finalizer))
}

fn is_true(object: &Json, condition: &str) -> bool {
    let all = object.pointer("/status/conditions").and_then(Json::as_array);
    all.into_iter()
        .flatten()
        .any(|own| text(own, &["type"]) == condition && text(own, &["status"]) == "True")
}

/// Whether an object is of an EC2NodeClass, or is one. A missing group counts, as everywhere.
fn is_of_ec2_node_class(object: &Json) -> bool {
    let reference = object
        .pointer("/spec/nodeClassRef")
        .or_else(|| object.pointer("/spec/template/spec/nodeClassRef"));
    reference.is_none_or(|own| matches!(text(own, &["group"]), "" | "karpenter.k8s.aws"))
}
