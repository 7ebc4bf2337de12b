//! The API server: objects with uids and resource versions, conditional writes, and a log that
//! watches are served from.
//!
//! Source: <https://kubernetes.io/docs/reference/using-api/api-concepts/>.

mod object;
mod object_list;
mod pod_index;
mod table;
mod workload_id;

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::node::Node;
use domain::pod::{ObjectKey, Pod};
use domain::shared_list::SharedList;
use domain::{Text, Timestamp};

use crate::seed::Seed;

pub use object::{Kind, Object};
pub(crate) use pod_index::{LabelGroup, NodeLoad, OwnerKey, PodIndex, counted};
pub use table::Tables;
pub use workload_id::WorkloadId;

/// Why a write was refused, in the API's classes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// 404.
    #[error("{kind} {key} not found")]
    NotFound {
        /// The kind.
        kind: Kind,
        /// Its name, with the namespace where it has one.
        key: Text,
    },
    /// 409, reason AlreadyExists.
    #[error("{kind} {key} already exists")]
    AlreadyExists {
        /// The kind.
        kind: Kind,
        /// Its name, with the namespace where it has one.
        key: Text,
    },
    /// 409, reason Conflict: somebody else wrote first.
    #[error("{kind} {key} is at resource version {found}, not {expected}")]
    Conflict {
        /// The kind.
        kind: Kind,
        /// Its name, with the namespace where it has one.
        key: Text,
        /// The version that the writer had read.
        expected: u64,
        /// The version that is stored.
        found: u64,
    },
    /// 429: a PodDisruptionBudget does not allow the eviction now.
    #[error("cannot evict pod as it would violate the pod's disruption budget {budget}")]
    TooManyRequests {
        /// The budget.
        budget: Text,
    },
    /// 500: two budgets guard one pod, which the Eviction API does not support.
    #[error(
        "pod {pod} has more than one PodDisruptionBudget, which the eviction subresource does not support"
    )]
    SeveralBudgets {
        /// The pod.
        pod: Text,
    },
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It is different.
    Modified,
    /// It is gone.
    Deleted,
}

/// One entry of the log that watches are served from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchEvent {
    /// The resource version of the write.
    pub resource_version: u64,
    /// The kind.
    pub kind: Kind,
    /// Its name, with the namespace where it has one.
    pub key: Text,
    /// What happened to it.
    pub change: Change,
}

/// The API server and what it stores.
#[derive(Debug)]
pub struct ApiServer {
    seed: Seed,
    revision: u64,
    /// Of the latest write that the cluster's own controllers may act upon.
    stirred: u64,
    /// Of the latest write to each kind.
    latest: BTreeMap<Kind, u64>,
    tables: Tables,
    log: Vec<WatchEvent>,
}

impl ApiServer {
    /// An empty one; uids come from the seed.
    pub fn new(seed: Seed) -> Self {
        let (latest, tables) = (BTreeMap::new(), Tables::default());
        Self { seed, revision: 0, stirred: 0, latest, tables, log: Vec::new() }
    }

    /// The resource version of the latest write.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The resource version of the latest write that the scheduler or a workload controller may act
    /// upon: NodePools, node classes and NodeClaims mean nothing to them.
    pub(crate) fn stirred(&self) -> u64 {
        self.stirred
    }

    /// The resource version of the latest write to a kind; 0 before the first.
    pub(crate) fn latest(&self, kind: Kind) -> u64 {
        self.latest.get(&kind).copied().unwrap_or(0)
    }

    /// What was written after a resource version, oldest first.
    pub fn events_after(&self, resource_version: u64) -> &[WatchEvent] {
        let start = self.log.partition_point(|event| event.resource_version <= resource_version);
        &self.log[start..]
    }

    /// An object by its key.
    pub fn get<T: Object>(&self, key: &T::Key) -> Option<&T> {
        T::rows(&self.tables).get(key).map(|row| &*row.value)
    }

    /// The resource version of an object.
    pub fn version<T: Object>(&self, key: &T::Key) -> Option<u64> {
        T::rows(&self.tables).get(key).map(|row| row.resource_version)
    }

    /// All objects of a kind, by key.
    pub fn list<T: Object>(&self) -> impl Iterator<Item = &T> {
        T::rows(&self.tables).values().map(|row| &*row.value)
    }

    /// All Nodes by name, as a list to keep.
    pub(crate) fn node_list(&self) -> SharedList<Node> {
        let current = |name: &Text| self.get::<Node>(name).cloned();
        self.tables.node_list.borrow_mut().updated(Node::key, current)
    }

    /// All pods by key, as a list to keep.
    pub(crate) fn pod_list(&self) -> SharedList<Pod> {
        let current = |key: &ObjectKey| self.get::<Pod>(key).cloned();
        self.tables.pod_list.borrow_mut().updated(Pod::key, current)
    }

    /// All keys of a kind, in order.
    pub fn keys<T: Object>(&self) -> Vec<T::Key> {
        T::rows(&self.tables).keys().cloned().collect()
    }

    /// Pods by where they are and by what they belong to.
    pub(crate) fn pods(&self) -> &PodIndex {
        &self.tables.pod_index
    }

    /// Stores a new object and gives it a uid and a creation time where it has none.
    pub fn create<T: Object>(&mut self, mut value: T, now: Timestamp) -> Result<u64, ApiError> {
        let key = value.key();
        if T::rows(&self.tables).contains_key(&key) {
            return Err(ApiError::AlreadyExists { kind: T::KIND, key: T::shown(&key) });
        }
        let shown = T::shown(&key);
        // The revision makes a re-created object another one.
        let name = format!("{} {shown} {}", T::KIND, self.revision);
        let uid = self.seed.draw("uid", &name).uid();
        value.identify(uid, now);
        let revision = self.record::<T>(&key, Change::Added);
        self.put(key, value, revision);
        Ok(revision)
    }

    /// Changes an object in place. With `expected`, only if its resource version is still that one.
    /// A change that changes nothing writes nothing, as in Kubernetes.
    pub fn update<T: Object>(
        &mut self,
        key: &T::Key,
        expected: Option<u64>,
        change: impl FnOnce(&mut T),
    ) -> Result<u64, ApiError> {
        let not_found = || ApiError::NotFound { kind: T::KIND, key: T::shown(key) };
        let row = T::rows(&self.tables).get(key).ok_or_else(not_found)?;
        if let Some(expected) = expected.filter(|expected| *expected != row.resource_version) {
            let found = row.resource_version;
            return Err(ApiError::Conflict { kind: T::KIND, key: T::shown(key), expected, found });
        }
        let mut value = T::clone(&row.value);
        change(&mut value);
        if value == *row.value {
            return Ok(row.resource_version);
        }
        let revision = self.record::<T>(key, Change::Modified);
        self.put(key.clone(), value, revision);
        Ok(revision)
    }

    fn put<T: Object>(&mut self, key: T::Key, value: T, revision: u64) {
        let value = Arc::new(value);
        let row = table::Row { value: Arc::clone(&value), resource_version: revision };
        let before = T::rows_mut(&mut self.tables).insert(key, row).map(|row| row.value);
        T::note_write(&mut self.tables, before.as_ref(), Some(&value), revision);
    }

    /// Changes an object in place, where it is there: for what no longer matters once it is gone.
    pub(crate) fn alter<T: Object>(&mut self, key: &T::Key, change: impl FnOnce(&mut T)) {
        if self.get::<T>(key).is_some() {
            let _not_missing = self.update(key, None, change);
        }
    }

    /// Like [`Self::update`], for changes that neither the scheduler nor workload controllers
    /// watch.
    pub(crate) fn alter_unheard<T: Object>(&mut self, key: &T::Key, change: impl FnOnce(&mut T)) {
        let stirred = self.stirred;
        self.alter(key, change);
        self.stirred = stirred;
    }

    /// Stores an object whether it is there or not, as `kubectl apply` does: uid, creation time and
    /// what controllers wrote stay. Says whether anything changed.
    pub fn apply<T: Object>(&mut self, mut value: T, now: Timestamp) -> bool {
        let before = self.revision;
        let key = value.key();
        match self.get::<T>(&key) {
            Some(old) => {
                value.keep_identity(old);
                self.alter::<T>(&key, |own| *own = value);
            }
            None => {
                let _ = self.create(value, now);
            }
        }
        self.revision != before
    }

    /// Takes an object away at once and returns it.
    pub fn remove<T: Object>(&mut self, key: &T::Key) -> Result<T, ApiError> {
        let row = T::rows_mut(&mut self.tables)
            .remove(key)
            .ok_or_else(|| ApiError::NotFound { kind: T::KIND, key: T::shown(key) })?;
        let revision = self.record::<T>(key, Change::Deleted);
        T::note_write(&mut self.tables, Some(&row.value), None, revision);
        Ok(Arc::unwrap_or_clone(row.value))
    }

    fn record<T: Object>(&mut self, key: &T::Key, change: Change) -> u64 {
        self.revision += 1;
        if !matches!(T::KIND, Kind::NodePool | Kind::EC2NodeClass | Kind::NodeClaim) {
            self.stirred = self.revision;
        }
        self.latest.insert(T::KIND, self.revision);
        self.log.push(WatchEvent {
            resource_version: self.revision,
            kind: T::KIND,
            key: T::shown(key),
            change,
        });
        self.revision
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{node, start};

    fn server() -> ApiServer {
        ApiServer::new(Seed::new(1))
    }

    #[test]
    fn a_stale_writer_is_refused() {
        let mut api = server();
        let read = api.create(node("a").build(), start()).unwrap();
        api.update::<Node>(&"a".into(), Some(read), |node| node.taints.push(Node::cordon()))
            .unwrap();
        let refused = api.update::<Node>(&"a".into(), Some(read), |node| node.taints.clear());
        assert!(matches!(refused, Err(ApiError::Conflict { .. })), "{refused:?}");
        assert_eq!(api.get::<Node>(&"a".into()).unwrap().taints, [Node::cordon()]);
    }

    #[test]
    fn a_change_that_changes_nothing_is_not_seen_by_watches() {
        let mut api = server();
        api.create(node("a").build(), start()).unwrap();
        let before = api.revision();
        api.update::<Node>(&"a".into(), None, |_| {}).unwrap();
        assert!(api.events_after(before).is_empty());
        api.remove::<Node>(&"a".into()).unwrap();
        let changes: Vec<_> = api.events_after(0).iter().map(|event| event.change).collect();
        assert_eq!(changes, [Change::Added, Change::Deleted]);
    }

    #[test]
    fn a_list_that_is_kept_stays_as_it_was_and_the_next_has_every_write() {
        let mut api = server();
        for name in ["b", "a", "d"] {
            api.create(node(name).build(), start()).unwrap();
        }
        let kept = api.node_list();
        let names = |list: &SharedList<Node>| -> Vec<Text> {
            list.iter().map(|node| node.name.clone()).collect()
        };
        api.create(node("c").build(), start()).unwrap();
        api.remove::<Node>(&"a".into()).unwrap();
        api.update::<Node>(&"b".into(), None, |node| node.taints.push(Node::cordon())).unwrap();
        assert_eq!(names(&kept), ["a", "b", "d"].map(Text::from));
        let next = api.node_list();
        assert_eq!(names(&next), ["b", "c", "d"].map(Text::from));
        assert!(kept[1].taints.is_empty() && next[0].taints == [Node::cordon()]);
    }

    #[test]
    fn an_object_made_again_has_another_uid_and_an_applied_one_keeps_its_own() {
        let mut api = server();
        let uid = |api: &ApiServer| api.get::<Node>(&"a".into()).unwrap().uid.clone();
        api.create(node("a").build(), start()).unwrap();
        let first = uid(&api);
        assert!(api.create(node("a").build(), start()).is_err());
        assert!(api.apply(node("a").label("x", "y").build(), start()));
        assert_eq!(uid(&api), first);
        api.remove::<Node>(&"a".into()).unwrap();
        api.create(node("a").build(), start()).unwrap();
        assert_ne!(uid(&api), first);
    }
}
