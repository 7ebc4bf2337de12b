//! One set of manifests applied to a cluster in place of another.

use std::collections::BTreeSet;

use domain::Timestamp;
use domain::label;
use domain::pod::{OwnerKind, Pod};
use manifests::{Identity, Located, Object, Objects};

use super::differences::{ByIdentity, Difference, ObjectChange, by_identity, differences, invalid};
use super::live::completed;
use super::owned::follow;

/// A cluster, and the two sets of manifests whose effects on it are compared.
#[derive(Clone, Debug)]
pub(crate) struct Change<'a> {
    cluster: &'a Objects,
    live: ByIdentity<'a>,
    old: ByIdentity<'a>,
    new: ByIdentity<'a>,
    /// Objects of the old and of the new set that cannot be read.
    invalid: [BTreeSet<Identity>; 2],
    now: Timestamp,
}

/// The objects of a cluster with a set applied to them.
#[derive(Clone, Debug)]
pub(crate) struct Applied {
    /// The objects, and which cannot be read. Errors, warnings and skipped kinds of the sources are
    /// not among them.
    pub(crate) objects: Objects,
    /// What cannot be known before the set is really applied.
    pub(crate) open: BTreeSet<String>,
}

impl<'a> Change<'a> {
    /// Of the objects of a cluster, which may be none, by both sets, at a moment.
    ///
    /// What the new set says of an object that cannot be read changes nothing: an API server
    /// refuses it, and has what the old set says.
    pub(crate) fn new(cluster: &'a Objects, [old, new]: [&'a Objects; 2], now: Timestamp) -> Self {
        let invalid = [old, new].map(invalid);
        let [live, old, mut new] = [cluster, old, new].map(by_identity);
        for identity in &invalid[1] {
            if let Some(was) = old.get(identity) {
                new.insert(identity.clone(), was);
            }
        }
        Self { cluster, live, old, new, invalid, now }
    }

    /// What differs between both sets.
    pub(crate) fn differences(&self) -> Vec<ObjectChange> {
        differences(&self.old, &self.new, &self.invalid[1])
    }

    /// The cluster with the old set applied. Pods that are there stay as they are.
    pub(crate) fn before(&self) -> Applied {
        self.apply(&self.old, &BTreeSet::new(), &self.invalid[0])
    }

    /// The cluster with the new set applied: what only the old one has is gone, and pods that are
    /// there follow what differs between both in their workloads. What a workload of both sets says
    /// alike makes no difference to its pods, whatever their number: something else may scale it.
    pub(crate) fn after(&self) -> Applied {
        let removed = self.old.keys().filter(|identity| !self.new.contains_key(identity)).collect();
        let mut applied = self.apply(&self.new, &removed, &self.invalid[1]);
        let differences = self.differences().into_iter();
        for difference in differences.filter(|own| own.difference != Difference::Invalid) {
            // Of what the old set does not have, the cluster says what it was.
            let identity = &difference.identity;
            let was = self.old.get(identity).or_else(|| self.live.get(identity));
            if let Some(was) = was {
                let is = self.new.get(identity).map(|located| &located.value);
                let objects = &mut applied.objects.objects;
                match (&was.value, is) {
                    (Object::NodePool(pool), None) => delete_claims(objects, &pool.name, self.now),
                    (was, is) => follow(objects, was, is),
                }
            }
        }
        applied
    }

    fn apply(
        &self,
        own: &ByIdentity<'_>,
        removed: &BTreeSet<&Identity>,
        invalid: &BTreeSet<Identity>,
    ) -> Applied {
        let stays = |located: &&Located<Object>| {
            located.value.identity().is_none_or(|identity| {
                let is_given = own.contains_key(&identity) && !self.keeps_live(&identity);
                !is_given && !removed.contains(&identity) && !is_orphan(&located.value, removed)
            })
        };
        let mut objects: Vec<Located<Object>> =
            self.cluster.objects.iter().filter(stays).cloned().collect();
        let mut open = BTreeSet::new();
        for (identity, located) in own.iter().filter(|(identity, _)| !self.keeps_live(identity)) {
            let live = self.live.get(identity).map(|located| &located.value);
            let value = completed(&located.value, live, &mut open);
            objects.push(Located { value, ..(*located).clone() });
        }
        let pods: Vec<Pod> = objects.iter().filter_map(|located| pod(&located.value)).collect();
        for located in &mut objects {
            if let Object::PodDisruptionBudget(budget) = &mut located.value {
                budget.complete_status(&pods);
            }
        }
        let unreadable = self.cluster.unreadable.union(invalid).cloned().collect();
        Applied { objects: Objects { objects, unreadable, ..Objects::default() }, open }
    }

    /// Whether the cluster's own object counts: both sets have it alike, and it is of a kind that
    /// others complete or change once it is applied. NodePools and classes are not: what the sets
    /// say of them is what is wanted.
    fn keeps_live(&self, identity: &Identity) -> bool {
        let is_alike = match (self.old.get(identity), self.new.get(identity)) {
            (Some(old), Some(new)) => old.value == new.value,
            _ => false,
        };
        is_alike
            && self.live.contains_key(identity)
            && !["NodePool", "EC2NodeClass", "NodeOverlay"].contains(&identity.kind)
    }
}

/// Kubernetes deletes what a deleted object owns: a NodePool takes its NodeClaims along, and they
/// their nodes, whatever budgets say.
fn delete_claims(objects: &mut [Located<Object>], node_pool: &str, now: Timestamp) {
    for located in objects {
        if let Object::NodeClaim(claim) = &mut located.value
            && claim.labels.get(label::NODE_POOL).is_some_and(|own| &**own == node_pool)
        {
            claim.deleted.get_or_insert(now);
        }
    }
}

fn pod(object: &Object) -> Option<Pod> {
    match object {
        Object::Pod(object) => Some(object.pod.clone()),
        _ => None,
    }
}

/// A ReplicaSet whose Deployment is removed.
fn is_orphan(object: &Object, removed: &BTreeSet<&Identity>) -> bool {
    let Object::Workload(object) = object else { return false };
    let Some(owner) = object.owner.as_ref().filter(|own| own.kind == OwnerKind::Deployment) else {
        return false;
    };
    removed.contains(&Identity {
        kind: "Deployment",
        namespace: Some(object.workload.key.namespace.clone()),
        name: owner.name.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use manifests::Source;

    fn read(text: &str) -> Objects {
        let objects = manifests::read(&[Source::new("test.yaml", text)]);
        assert!(objects.errors.is_empty(), "{:?}", objects.errors);
        objects
    }

    fn workload(kind: &str, name: &str, replicas: u32) -> String {
        format!(
            "---\napiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n  \
             replicas: {replicas}\n  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    \
             metadata: {{labels: {{app: {name}}}}}\n    spec: {{containers: [{{name: a}}]}}\n"
        )
    }

    fn pod_of(kind: &str, owner: &str, name: &str, app: &str, node: Option<&str>) -> String {
        let node = node.map(|node| format!("nodeName: {node}, ")).unwrap_or_default();
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\n  labels: {{app: {app}}}\n  \
             ownerReferences: [{{apiVersion: apps/v1, kind: {kind}, name: {owner}, uid: u, \
             controller: true}}]\nspec: {{{node}containers: [{{name: a}}]}}\n"
        )
    }

    /// Names of pods once the new set is applied to the cluster, sorted.
    #[track_caller]
    fn check(cluster: &str, old: &str, new: &str, expected: &[&str]) {
        let [cluster, old, new] = [cluster, old, new].map(read);
        let change = Change::new(&cluster, [&old, &new], Timestamp::UNIX_EPOCH);
        let before = change.before().objects.objects.into_iter();
        let pods = |objects: &mut dyn Iterator<Item = Located<Object>>| -> Vec<String> {
            let mut names: Vec<String> = objects
                .filter_map(|own| pod(&own.value))
                .map(|pod| pod.key.name.to_string())
                .collect();
            names.sort();
            names
        };
        let there = pods(&mut cluster.objects.clone().into_iter());
        assert_eq!(pods(&mut { before }), there, "the old set changes no pod");
        assert_eq!(pods(&mut change.after().objects.objects.into_iter()), expected);
    }

    #[test]
    fn a_stateful_set_gives_up_its_highest_ordinals() {
        let pods: String = [10, 2, 1, 0]
            .map(|at| pod_of("StatefulSet", "db", &format!("db-{at}"), "db", Some("one")))
            .concat();
        let (four, two) = (workload("StatefulSet", "db", 4), workload("StatefulSet", "db", 2));
        check(&pods, &four, &two, &["db-0", "db-1"]);
        check(&pods, &two, &four, &["db-0", "db-1", "db-10", "db-2"]);
    }

    #[test]
    fn a_deployment_gives_up_pods_without_a_node_first_and_takes_free_names() {
        let pods = [("web-1", None), ("web-2", Some("one"))]
            .map(|(name, node)| pod_of("ReplicaSet", "web-5d4f", name, "web", node))
            .concat();
        let replicas = |count| workload("Deployment", "web", count);
        check(&pods, &replicas(2), &replicas(1), &["web-2"]);
        check(&pods, &replicas(2), &replicas(4), &["web-0", "web-1", "web-2", "web-3"]);
        check(&pods, &replicas(2), &replicas(0), &[]);
    }

    #[test]
    fn pods_of_others_are_left_alone() {
        let own = pod_of("ReplicaSet", "web-5d4f", "own", "web", None);
        let longer = pod_of("ReplicaSet", "web-api-5d4f", "longer", "web", None);
        let labelled = pod_of("ReplicaSet", "web-777", "labelled", "other", None);
        let job = pod_of("Job", "web", "job", "web", None);
        let cluster = [own, longer, labelled, job].concat();
        let web = workload("Deployment", "web", 1);
        check(&cluster, &web, "# removed", &["job", "labelled", "longer"]);
    }

    #[test]
    fn replica_sets_of_a_removed_deployment_go_with_it() {
        let web = workload("Deployment", "web", 1);
        let replica_set = workload("ReplicaSet", "web-5d4f", 1).replace(
            "metadata: {name: web-5d4f}",
            "metadata: {name: web-5d4f, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, \
             name: web, uid: d, controller: true}]}",
        );
        let [cluster, old, new] =
            [web.clone() + &replica_set, web, "# removed".to_owned()].map(|text| read(&text));
        let change = Change::new(&cluster, [&old, &new], Timestamp::UNIX_EPOCH);
        assert_eq!(change.before().objects.objects.len(), 2);
        assert!(change.after().objects.objects.is_empty());
    }

    #[test]
    fn what_both_say_alike_is_as_the_cluster_has_it() {
        let [old, new] = [workload("Deployment", "web", 3), workload("Deployment", "web", 3)];
        let [cluster, old, new] =
            [workload("Deployment", "web", 12), old, new].map(|text| read(&text));
        let change = Change::new(&cluster, [&old, &new], Timestamp::UNIX_EPOCH);
        assert_eq!(change.differences(), []);
        for applied in [change.before(), change.after()] {
            assert_eq!(applied.objects.objects.len(), 1);
            assert_eq!(applied.objects.objects[0].value, cluster.objects[0].value);
        }
    }
}
