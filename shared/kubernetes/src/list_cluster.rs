//! Lists a whole cluster: every kind, concurrently.

use std::collections::{BTreeMap, BTreeSet};

use controllers::ports::cluster::WarnedObject;
use controllers::ports::{ClusterListing, ErrorKind, PortError};
use futures_util::StreamExt;
use futures_util::stream;
use manifests::Interner;

use crate::cluster_listing::Gathered;
use crate::connection::Connection;
use crate::item::ObjectProblem;
use crate::kind::{ALWAYS_READ, Kind, NODE, NODE_CLASS, NODE_POOL, POD, SERVICES};
use crate::list::Listing;
use crate::reflector::{CatchUp, Reflector};

/// Kinds listed concurrently: bounds connections, and pages in memory.
const LIST_CONCURRENCY_MAX: usize = 6;

/// How a cluster is listed again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListMode {
    /// Lists every kind each time, and keeps nothing.
    Poll,
    /// Keeps long lists and brings them up to date by a watch. Short lists are read anew: that is
    /// cheaper and faster.
    Watch {
        /// The number of objects from which a list is kept.
        cached_from: usize,
    },
}

impl ListMode {
    /// Keeps lists that take longer to read than to watch: a watch takes about a second to catch
    /// up, and so does a list of some thousands of objects.
    pub const WATCH: Self = Self::Watch { cached_from: 5000 };

    const fn caches(self, length: usize) -> bool {
        match self {
            Self::Poll => false,
            Self::Watch { cached_from } => length >= cached_from,
        }
    }
}

/// The objects of a cluster.
#[derive(Clone, Debug)]
pub struct ListedCluster {
    /// The objects.
    pub listing: ClusterListing,
    /// Objects that were left out, and what may be read otherwise than it was meant; sorted.
    pub problems: Vec<ObjectProblem>,
}

/// What a warm process keeps from one listing to the next.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    reflectors: BTreeMap<&'static str, Reflector>,
    /// Kinds whose watches stalled: listing them is faster.
    not_watched: BTreeSet<&'static str>,
}

/// A listed cluster, and where watches of demand resume.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) cluster: ListedCluster,
    /// The resource version of the list of pods.
    pub(crate) pods: String,
    /// The resource version of the list of Nodes.
    pub(crate) nodes: String,
}

/// The objects of one kind.
enum KindObjects {
    Listed(Listing),
    Cached(Reflector),
}

impl KindObjects {
    fn resource_version(&self) -> &str {
        match self {
            Self::Listed(listing) => &listing.resource_version,
            Self::Cached(reflector) => &reflector.resource_version,
        }
    }
}

/// The outcome of one kind.
struct KindOutcome {
    kind: &'static Kind,
    objects: Result<KindObjects, PortError>,
    is_watch_stalled: bool,
}

/// What reads kinds, and collects their objects.
struct Lister<'a> {
    connection: &'a Connection,
    interner: &'a Interner,
    mode: ListMode,
    cache: &'a mut Cache,
    gathered: Gathered,
    problems: Vec<ObjectProblem>,
}

/// Lists the whole cluster; Services only where they are asked for. The result is at least as new
/// as the call.
pub(crate) async fn list_cluster(
    connection: &Connection,
    interner: &Interner,
    mode: ListMode,
    cache: &mut Cache,
    reads_services: bool,
) -> Result<Listed, PortError> {
    let (gathered, problems) = (Gathered::default(), Vec::new());
    let mut lister = Lister { connection, interner, mode, cache, gathered, problems };
    let mut versions = BTreeMap::new();
    for (kind, objects) in lister.read_all(&ALWAYS_READ).await? {
        versions.insert(kind.name, objects.resource_version().to_owned());
        lister.collect(kind, objects);
    }
    let referred = lister.gathered.referred();
    for (kind, objects) in lister.read_all(&referred).await? {
        lister.collect(kind, objects);
    }
    if reads_services {
        lister.read_services().await?;
    }
    interner.forget_unused();
    let Lister { gathered, mut problems, .. } = lister;
    problems.sort();
    problems.dedup();
    let mut listing = gathered.into_listing();
    listing.object_warnings = object_warnings(&problems);
    let mut version = |kind: &Kind| versions.remove(kind.name).unwrap_or_default();
    let (pods, nodes) = (version(&POD), version(&NODE));
    Ok(Listed { cluster: ListedCluster { listing, problems }, pods, nodes })
}

/// Warnings about the objects that say what is launched; other kinds have them in logs only, since
/// there may be thousands of pods.
fn object_warnings(problems: &[ObjectProblem]) -> BTreeMap<WarnedObject, usize> {
    let mut counts = BTreeMap::new();
    for problem in problems.iter().filter(|problem| !problem.is_left_out) {
        let kinds = [NODE_POOL.name, NODE_CLASS.name];
        let named = kinds.into_iter().find_map(|kind| {
            let name = problem.object.strip_prefix(kind)?.strip_prefix(' ')?;
            Some(WarnedObject { kind, name: name.into() })
        });
        if let Some(object) = named {
            *counts.entry(object).or_default() += 1;
        }
    }
    counts
}

impl Lister<'_> {
    /// Reads kinds concurrently. Where one fails, the reflectors of the others are kept.
    async fn read_all(
        &mut self,
        kinds: &[&'static Kind],
    ) -> Result<Vec<(&'static Kind, KindObjects)>, PortError> {
        let (connection, interner) = (self.connection, self.interner);
        let reflectors = &mut self.cache.reflectors;
        let known: Vec<_> =
            kinds.iter().map(|kind| (*kind, reflectors.remove(kind.name))).collect();
        let not_watched = self.cache.not_watched.clone();
        let reads = known.into_iter().map(|(kind, reflector)| {
            let reflector = reflector.filter(|_| !not_watched.contains(kind.name));
            read(connection, interner, kind, reflector)
        });
        let outcomes: Vec<KindOutcome> =
            stream::iter(reads).buffer_unordered(LIST_CONCURRENCY_MAX).collect().await;
        let mut all = Vec::with_capacity(outcomes.len());
        let mut failed = None;
        for KindOutcome { kind, objects, is_watch_stalled } in outcomes {
            if is_watch_stalled {
                self.cache.not_watched.insert(kind.name);
            }
            match objects {
                Ok(objects) => all.push((kind, objects)),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let Some(error) = failed else { return Ok(all) };
        for (kind, objects) in all {
            if let KindObjects::Cached(reflector) = objects {
                self.cache.reflectors.insert(kind.name, reflector);
            }
        }
        Err(error)
    }

    /// Reads Services. An installation whose rights are older plans without them, and says so.
    async fn read_services(&mut self) -> Result<(), PortError> {
        match self.read_all(&[SERVICES]).await {
            Ok(all) => {
                for (kind, objects) in all {
                    self.collect(kind, objects);
                }
                Ok(())
            }
            Err(error) if error.kind == ErrorKind::Denied => {
                let what = format!(
                    "{error}: pods that nothing but a Service selects have no default constraints"
                );
                let object = "Services".to_owned();
                self.problems.push(ObjectProblem { object, field: None, what, is_left_out: false });
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Collects the objects of one kind, and keeps them where that is worth it.
    fn collect(&mut self, kind: &'static Kind, objects: KindObjects) {
        let is_watched = !self.cache.not_watched.contains(kind.name);
        let reflector = match objects {
            KindObjects::Cached(reflector) => Some(reflector),
            KindObjects::Listed(listing)
                if is_watched && self.mode.caches(listing.objects.len()) =>
            {
                Reflector::of(listing)
            }
            KindObjects::Listed(listing) => {
                for decoded in listing.objects {
                    self.problems.extend(decoded.problems);
                    if let Some(item) = decoded.item {
                        self.gathered.take(item);
                    }
                }
                None
            }
        };
        if let Some(reflector) = reflector {
            self.problems.extend(reflector.problems.values().flatten().cloned());
            for item in reflector.items.values() {
                self.gathered.take(item.clone());
            }
            self.cache.reflectors.insert(kind.name, reflector);
        }
    }
}

/// Brings a reflector up to date; lists the kind where that does not work, or there is none.
async fn read(
    connection: &Connection,
    interner: &Interner,
    kind: &'static Kind,
    reflector: Option<Reflector>,
) -> KindOutcome {
    let mut is_watch_stalled = false;
    if let Some(mut reflector) = reflector {
        match reflector.catch_up(connection, kind, interner).await {
            Ok(CatchUp::Current) => {
                let objects = Ok(KindObjects::Cached(reflector));
                return KindOutcome { kind, objects, is_watch_stalled };
            }
            Ok(CatchUp::Expired) => {}
            Ok(CatchUp::Stalled) => is_watch_stalled = true,
            Err((failure, call)) => {
                let objects = Err(failure.into_port_error(&call));
                return KindOutcome { kind, objects, is_watch_stalled };
            }
        }
        tracing::debug!(kind = kind.name, is_watch_stalled, "listing again");
    }
    let listed = connection.list(kind, interner).await;
    let objects =
        listed.map(KindObjects::Listed).map_err(|(failure, call)| failure.into_port_error(&call));
    KindOutcome { kind, objects, is_watch_stalled }
}
