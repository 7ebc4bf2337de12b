//! Waits for what provisioning acts upon: unschedulable pods, and Nodes that are being disrupted.

use std::collections::BTreeSet;
use std::time::Duration;

use controllers::ports::{ClusterListing, Demand, PortError};
use domain::node::Node;
use domain::pod::Pod;
use domain::{SignedDuration, Text, Timestamp};
use futures_util::FutureExt;
use manifests::{Interner, Object};
use tokio::time::{sleep, timeout};

use crate::call::Call;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::item::Item;
use crate::kind::{Kind, NODE, POD};
use crate::list::Listing;
use crate::watch::{Watch, WatchEvent, WatchRequest, is_as_new};

/// The timeout of a watch, seconds. The next one resumes where it ended, so that a connection that
/// died silently is noticed by then.
const WATCH_SECONDS: u64 = 30;
/// How long after its timeout a watch counts as dead.
const GRACE: SignedDuration = SignedDuration::from_secs(5);
/// The pause before a watch is resumed.
const PAUSE: Duration = Duration::from_millis(50);

/// The field selector of pods that are not bound.
const UNBOUND: &str = "spec.nodeName=";

/// Watches pods and Nodes between listings of the cluster.
#[derive(Debug)]
pub(crate) struct DemandWatch {
    pods: Follower,
    nodes: Follower,
    /// Uids of Nodes that are known to be disrupted.
    disrupted: BTreeSet<Text>,
    /// Uids of the pods that waited when the cluster was last listed or looked at; `None` before.
    waiting: Option<BTreeSet<Text>>,
    /// No event was missed since the cluster was last listed.
    is_gapless: bool,
    /// The gap was reported as a change: until the cluster is listed there is nothing to add.
    is_gap_reported: bool,
}

/// Follows the events of one kind.
#[derive(Debug)]
struct Follower {
    kind: &'static Kind,
    field_selector: &'static str,
    /// The resource version up to which the stream was read.
    position: String,
    /// The resource version up to which the cluster was listed.
    listed: String,
    stream: Option<Stream>,
}

#[derive(Debug)]
struct Stream {
    watch: Watch,
    /// When it counts as ended in any case.
    ends: Timestamp,
}

impl Default for DemandWatch {
    fn default() -> Self {
        Self {
            pods: Follower::new(&POD, UNBOUND),
            nodes: Follower::new(&NODE, ""),
            disrupted: BTreeSet::new(),
            waiting: None,
            is_gapless: false,
            is_gap_reported: false,
        }
    }
}

impl DemandWatch {
    /// Takes over a listing of the cluster, and its resource versions of pods and Nodes.
    pub(crate) fn note_listing(&mut self, listing: &ClusterListing, pods: String, nodes: String) {
        self.pods.set_listed(pods);
        self.nodes.set_listed(nodes);
        let disrupted = listing.objects.nodes.iter().filter(|node| node.is_disrupted());
        self.disrupted = disrupted.map(|node| node.uid.clone()).collect();
        let waiting = listing.objects.pods.iter().filter(|pod| is_waiting(pod));
        self.waiting = Some(waiting.map(|pod| pod.uid.clone()).collect());
        self.is_gapless = true;
        self.is_gap_reported = false;
    }

    /// Waits for a change of demand, at most until a time.
    pub(crate) async fn changed(
        &mut self,
        connection: &Connection,
        interner: &Interner,
        until: Timestamp,
    ) -> Result<Demand, PortError> {
        if !self.is_gapless {
            // The cluster was not listed yet, or events were missed; the next listing closes the
            // gap. Reported once: a caller that waits for a batching window to close would spin.
            if std::mem::replace(&mut self.is_gap_reported, true) {
                sleep(left(until)).await;
                return Ok(Demand::Unchanged);
            }
            return Ok(Demand::Changed);
        }
        loop {
            let left = left(until);
            let Self { pods, nodes, .. } = self;
            let event = tokio::select! {
                biased;
                event = pods.next(connection, interner) => event,
                event = nodes.next(connection, interner) => event,
                () = sleep(left) => return Ok(Demand::Unchanged),
            };
            if self.is_change(event)? {
                self.drain_pending(connection, interner);
                return Ok(Demand::Changed);
            }
        }
    }

    /// Lists pods without a node, and Nodes, where changes cannot be followed from where they were
    /// read to; whether any of them is demand that was not known.
    pub(crate) async fn follow(
        &mut self,
        connection: &Connection,
        interner: &Interner,
    ) -> Result<Demand, PortError> {
        if self.is_gapless {
            return Ok(Demand::Unchanged);
        }
        let failed = |(failure, call): (Failure, Call)| failure.into_port_error(&call);
        // Nodes first: a pod that waits for one of them is listed after it.
        let nodes = connection.list(&NODE, interner).await.map_err(failed)?;
        let pods = connection.list_cached(&POD, UNBOUND, interner).await.map_err(failed)?;
        let disrupted: BTreeSet<Text> = nodes
            .objects
            .iter()
            .filter_map(|decoded| decoded.item.as_ref().and_then(node_of))
            .filter(|node| node.is_disrupted())
            .map(|node| node.uid.clone())
            .collect();
        let waiting = waiting_in(&pods);
        let is_known = disrupted.is_subset(&self.disrupted)
            && self.waiting.as_ref().map_or(waiting.is_empty(), |known| waiting.is_subset(known));
        self.pods.set_listed(pods.resource_version);
        self.nodes.set_listed(nodes.resource_version);
        self.disrupted = disrupted;
        self.waiting = Some(waiting);
        self.is_gapless = true;
        self.is_gap_reported = false;
        Ok(if is_known { Demand::Unchanged } else { Demand::Changed })
    }

    /// Whether a pod waits that did not when the cluster was last listed or looked at.
    pub(crate) async fn now(
        &mut self,
        connection: &Connection,
        interner: &Interner,
    ) -> Result<Demand, PortError> {
        let Some(known) = &self.waiting else { return Ok(Demand::Changed) };
        let listed = connection.list_cached(&POD, UNBOUND, interner).await;
        let listed = listed.map_err(|(failure, call)| failure.into_port_error(&call))?;
        let waiting = waiting_in(&listed);
        let is_known = waiting.is_subset(known);
        self.waiting = Some(waiting);
        Ok(if is_known { Demand::Unchanged } else { Demand::Changed })
    }

    fn is_change(&mut self, event: Result<WatchEvent, FollowError>) -> Result<bool, PortError> {
        match event {
            Ok(WatchEvent::Applied(decoded)) => {
                Ok(decoded.item.is_some_and(|item| self.is_demand(&item)))
            }
            Ok(WatchEvent::Deleted(decoded)) => {
                if let Some(node) = decoded.item.as_ref().and_then(node_of) {
                    self.disrupted.remove(&node.uid);
                }
                Ok(false)
            }
            Ok(WatchEvent::Bookmark(_)) => Ok(false),
            Err(error) => {
                self.is_gapless = false;
                self.is_gap_reported = true;
                match error {
                    FollowError::Expired => Ok(true),
                    FollowError::Failed(error) => Err(error),
                }
            }
        }
    }

    /// Whether an object that was added or modified needs nodes.
    fn is_demand(&mut self, item: &Item) -> bool {
        match item {
            Item::Pod(object) => is_waiting(&object.pod),
            Item::Other(_) => node_of(item).is_some_and(|node| self.becomes_disrupted(node)),
            Item::Unreadable(_) | Item::LeftOut(_) => false,
        }
    }

    fn becomes_disrupted(&mut self, node: &Node) -> bool {
        if node.is_disrupted() {
            self.disrupted.insert(node.uid.clone())
        } else {
            self.disrupted.remove(&node.uid);
            false
        }
    }

    /// Consumes events that have arrived already, so that a hundred pods created at once are one
    /// change.
    fn drain_pending(&mut self, connection: &Connection, interner: &Interner) {
        while self.pods.stream.is_some()
            && let Some(Ok(event)) = self.pods.next(connection, interner).now_or_never()
        {
            let _: Result<bool, PortError> = self.is_change(Ok(event));
        }
    }
}

/// The time left; zero where it is past.
fn left(until: Timestamp) -> Duration {
    Duration::try_from(until.duration_since(Timestamp::now())).unwrap_or(Duration::ZERO)
}

fn node_of(item: &Item) -> Option<&Node> {
    match item {
        Item::Other(other) => match &other.0 {
            Object::Node(node) => Some(node),
            _ => None,
        },
        Item::Pod(_) | Item::Unreadable(_) | Item::LeftOut(_) => None,
    }
}

/// Uids of the pods in a list that wait.
fn waiting_in(listing: &Listing) -> BTreeSet<Text> {
    let pods = listing.objects.iter().filter_map(|decoded| match &decoded.item {
        Some(Item::Pod(object)) => Some(&object.pod),
        _ => None,
    });
    pods.filter(|pod| is_waiting(pod)).map(|pod| pod.uid.clone()).collect()
}

/// Whether a pod waits for a node that only provisioning can launch.
fn is_waiting(pod: &Pod) -> bool {
    pod.node_name.is_none()
        && pod.nominated_node_name.is_none()
        && pod.marked_unschedulable
        && pod.is_active()
        && !pod.is_daemon()
}

/// Why a stream cannot be resumed.
#[derive(Debug)]
enum FollowError {
    /// The resource version expired: events were missed.
    Expired,
    /// The call failed.
    Failed(PortError),
}

impl Follower {
    fn new(kind: &'static Kind, field_selector: &'static str) -> Self {
        let (position, listed) = (String::new(), String::new());
        Self { kind, field_selector, position, listed, stream: None }
    }

    /// The cluster was listed up to a resource version.
    fn set_listed(&mut self, resource_version: String) {
        if self.stream.is_none() || is_as_new(&self.position, &resource_version).is_none() {
            self.stream = None;
            self.position.clone_from(&resource_version);
        }
        self.listed = resource_version;
    }

    /// The next event that no listing contains. Cancel-safe.
    async fn next(
        &mut self,
        connection: &Connection,
        interner: &Interner,
    ) -> Result<WatchEvent, FollowError> {
        loop {
            let now = Timestamp::now();
            if self.stream.as_ref().is_some_and(|stream| stream.ends < now) {
                self.stream = None;
            }
            let stream = if let Some(stream) = &mut self.stream {
                stream
            } else {
                let opened = self.open(connection, now).await?;
                self.stream.insert(opened)
            };
            let left = Duration::try_from(stream.ends.duration_since(now)).unwrap_or_default();
            match timeout(left, stream.watch.next(interner)).await {
                Ok(Some(Ok(event))) => {
                    event.resource_version().clone_into(&mut self.position);
                    if is_as_new(&self.listed, &self.position) != Some(true) {
                        return Ok(event);
                    }
                }
                Ok(Some(Err(failure))) if failure.is_expired() => {
                    // The next one resumes from the next listing.
                    self.stream = None;
                    return Err(FollowError::Expired);
                }
                ended => {
                    tracing::debug!(kind = self.kind.name, ?ended, "watch ended, resuming it");
                    self.stream = None;
                    // Do not spin where a server ends every watch at once.
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn open(&self, connection: &Connection, now: Timestamp) -> Result<Stream, FollowError> {
        let request = WatchRequest {
            kind: self.kind,
            version: self.kind.version(),
            field_selector: self.field_selector,
            resource_version: &self.position,
            seconds: WATCH_SECONDS,
        };
        let length = SignedDuration::from_secs(WATCH_SECONDS.cast_signed()) + GRACE;
        match connection.watch(&request).await {
            Ok(watch) => Ok(Stream { watch, ends: now + length }),
            Err((failure, call)) => Err(follow_error(failure, &call)),
        }
    }
}

fn follow_error(failure: Failure, call: &Call) -> FollowError {
    if failure.is_expired() {
        FollowError::Expired
    } else {
        FollowError::Failed(failure.into_port_error(call))
    }
}
