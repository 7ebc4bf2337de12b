//! Waiting for what provisioning acts upon: pods that found no node, and Nodes that are going away.

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
use crate::watch::{Happened, Watch, Watched, is_as_new};

/// After so long the API server ends a watch, and another takes up where it stood: a connection that died
/// without a word is noticed by then.
const WATCH_SECONDS: u64 = 30;
/// How much later than that a watch counts as dead.
const GRACE: SignedDuration = SignedDuration::from_secs(5);
/// Between the end of one watch and the next that takes up where it stood.
const PAUSE: Duration = Duration::from_millis(50);

/// Pods that no scheduler has bound: the API server selects them.
const UNBOUND: &str = "spec.nodeName=";

/// What is followed between looks.
#[derive(Debug)]
pub(crate) struct DemandWatch {
    pods: Following,
    nodes: Following,
    /// Uids of Nodes that were seen going away.
    disrupted: BTreeSet<Text>,
    /// Nothing has been missed since somebody last looked.
    is_gapless: bool,
    /// What was missed has been answered as a change: until somebody looks there is nothing to add.
    is_gap_told: bool,
}

/// A kind whose events are followed.
#[derive(Debug)]
struct Following {
    kind: &'static Kind,
    field_selector: &'static str,
    /// How far the stream was read.
    position: String,
    /// Up to here somebody has seen everything.
    seen: String,
    stream: Option<Stream>,
}

#[derive(Debug)]
struct Stream {
    watch: Watch,
    /// When it is over, whatever is heard of it.
    ends: Timestamp,
}

impl Default for DemandWatch {
    fn default() -> Self {
        Self {
            pods: Following::new(&POD, UNBOUND),
            nodes: Following::new(&NODE, ""),
            disrupted: BTreeSet::new(),
            is_gapless: false,
            is_gap_told: false,
        }
    }
}

impl DemandWatch {
    /// Notes what a look saw, and at which resource versions of pods and Nodes.
    pub(crate) fn note_look(&mut self, listing: &ClusterListing, pods: String, nodes: String) {
        self.pods.note_seen(pods);
        self.nodes.note_seen(nodes);
        let disrupted = listing.objects.nodes.iter().filter(|node| node.is_disrupted());
        self.disrupted = disrupted.map(|node| node.uid.clone()).collect();
        self.is_gapless = true;
        self.is_gap_told = false;
    }

    /// Waits for a change, or until a moment.
    pub(crate) async fn changed(
        &mut self,
        connection: &Connection,
        interner: &Interner,
        until: Timestamp,
    ) -> Result<Demand, PortError> {
        if !self.is_gapless {
            // Nobody has looked yet, or something was missed; the look to come closes the gap. Told once: whoever
            // waits for a window to close would ask in a circle.
            if std::mem::replace(&mut self.is_gap_told, true) {
                sleep(left(until)).await;
                return Ok(Demand::Unchanged);
            }
            return Ok(Demand::Changed);
        }
        loop {
            let left = left(until);
            let Self { pods, nodes, .. } = self;
            let happened = tokio::select! {
                biased;
                happened = pods.next(connection, interner) => happened,
                happened = nodes.next(connection, interner) => happened,
                () = sleep(left) => return Ok(Demand::Unchanged),
            };
            if self.is_change(happened)? {
                self.take_rest(connection, interner);
                return Ok(Demand::Changed);
            }
        }
    }

    fn is_change(&mut self, happened: Result<Happened, Missed>) -> Result<bool, PortError> {
        match happened {
            Ok(Happened::Present(decoded)) => Ok(decoded.item.is_some_and(|item| self.asks(&item))),
            Ok(Happened::Gone(decoded)) => {
                if let Some(node) = decoded.item.as_ref().and_then(node_of) {
                    self.disrupted.remove(&node.uid);
                }
                Ok(false)
            }
            Ok(Happened::Bookmark(_)) => Ok(false),
            Err(missed) => {
                self.is_gapless = false;
                self.is_gap_told = true;
                match missed {
                    Missed::Expired => Ok(true),
                    Missed::Failed(error) => Err(error),
                }
            }
        }
    }

    /// Whether an object that appeared or changed asks for nodes.
    fn asks(&mut self, item: &Item) -> bool {
        match item {
            Item::Pod(object) => is_waiting(&object.pod),
            Item::Other(_) => node_of(item).is_some_and(|node| self.starts_to_go(node)),
            Item::Unreadable(_) => false,
        }
    }

    fn starts_to_go(&mut self, node: &Node) -> bool {
        if node.is_disrupted() {
            self.disrupted.insert(node.uid.clone())
        } else {
            self.disrupted.remove(&node.uid);
            false
        }
    }

    /// Takes what has come in already, so that a hundred pods made at once are one change.
    fn take_rest(&mut self, connection: &Connection, interner: &Interner) {
        while self.pods.stream.is_some()
            && let Some(Ok(happened)) = self.pods.next(connection, interner).now_or_never()
        {
            let _: Result<bool, PortError> = self.is_change(Ok(happened));
        }
    }
}

/// How long it is until a moment; nothing where it is past.
fn left(until: Timestamp) -> Duration {
    Duration::try_from(until.duration_since(Timestamp::now())).unwrap_or(Duration::ZERO)
}

fn node_of(item: &Item) -> Option<&Node> {
    match item {
        Item::Other(other) => match &other.0 {
            Object::Node(node) => Some(node),
            _ => None,
        },
        Item::Pod(_) | Item::Unreadable(_) => None,
    }
}

/// Whether a pod waits for a node that only provisioning can bring.
fn is_waiting(pod: &Pod) -> bool {
    pod.node_name.is_none() && pod.marked_unschedulable && pod.is_active() && !pod.is_daemon()
}

/// Why a stream does not go on where it stood.
#[derive(Debug)]
enum Missed {
    /// What happened meanwhile is no longer known.
    Expired,
    /// Nobody can say.
    Failed(PortError),
}

impl Following {
    fn new(kind: &'static Kind, field_selector: &'static str) -> Self {
        let (position, seen) = (String::new(), String::new());
        Self { kind, field_selector, position, seen, stream: None }
    }

    /// Everything up to a resource version has been seen by other means.
    fn note_seen(&mut self, resource_version: String) {
        if self.stream.is_none() || is_as_new(&self.position, &resource_version).is_none() {
            self.stream = None;
            self.position.clone_from(&resource_version);
        }
        self.seen = resource_version;
    }

    /// What happened next that nobody has seen. Nothing is lost where this is given up while it waits.
    async fn next(
        &mut self,
        connection: &Connection,
        interner: &Interner,
    ) -> Result<Happened, Missed> {
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
                Ok(Some(Ok(happened))) => {
                    happened.resource_version().clone_into(&mut self.position);
                    if is_as_new(&self.seen, &self.position) != Some(true) {
                        return Ok(happened);
                    }
                }
                Ok(Some(Err(failure))) if failure.is_expired() => {
                    // The next one starts from what the next look sees.
                    self.stream = None;
                    return Err(Missed::Expired);
                }
                ended => {
                    tracing::debug!(kind = self.kind.name, ?ended, "watch ended, and goes on");
                    self.stream = None;
                    // A server that ends every watch at once is not to be asked in a circle.
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn open(&self, connection: &Connection, now: Timestamp) -> Result<Stream, Missed> {
        let watched = Watched {
            kind: self.kind,
            version: self.kind.version(),
            field_selector: self.field_selector,
            resource_version: &self.position,
            seconds: WATCH_SECONDS,
        };
        let length = SignedDuration::from_secs(WATCH_SECONDS.cast_signed()) + GRACE;
        match connection.watch(&watched).await {
            Ok(watch) => Ok(Stream { watch, ends: now + length }),
            Err((failure, call)) => Err(missed(failure, &call)),
        }
    }
}

fn missed(failure: Failure, call: &Call) -> Missed {
    if failure.is_expired() {
        Missed::Expired
    } else {
        Missed::Failed(failure.into_port_error(call))
    }
}
