//! One look at a cluster: every kind read, side by side.

use std::collections::{BTreeMap, BTreeSet};

use controllers::ports::{ClusterListing, PortError};
use futures_util::StreamExt;
use futures_util::stream;
use manifests::Interner;

use crate::cluster_listing::Gathered;
use crate::connection::Connection;
use crate::item::ObjectProblem;
use crate::kind::{ALWAYS_READ, Kind, NODE, POD};
use crate::list::Listing;
use crate::table::{CaughtUp, Table};

/// Kinds read at a time: bounds connections, and pages in memory.
const SIDE_BY_SIDE: usize = 6;

/// How objects are read again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Every look lists everything, and keeps nothing.
    Poll,
    /// Long lists are kept, and brought up to date by what happened since; short ones, of which a list is
    /// the cheapest news and the fastest, are read again.
    Watch {
        /// From so many objects on a list is long.
        kept_from: usize,
    },
}

impl Reading {
    /// Watches what takes longer to list than to be told of: news of a kind takes about a second, and so does
    /// a list of some thousands.
    pub const WATCH: Self = Self::Watch { kept_from: 5000 };

    const fn keeps(self, length: usize) -> bool {
        match self {
            Self::Poll => false,
            Self::Watch { kept_from } => length >= kept_from,
        }
    }
}

/// What was seen.
#[derive(Clone, Debug)]
pub struct Look {
    /// The cluster.
    pub listing: ClusterListing,
    /// Objects that were left out, and what may be read otherwise than it was meant; sorted.
    pub problems: Vec<ObjectProblem>,
}

/// What a warm process keeps between looks.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    tables: BTreeMap<&'static str, Table>,
    /// Kinds whose watches did not get anywhere: there, listing is faster.
    not_watched: BTreeSet<&'static str>,
}

/// A look, and where its watches go on.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) look: Look,
    /// The resource version of the list of pods.
    pub(crate) pods: String,
    /// The resource version of the list of Nodes.
    pub(crate) nodes: String,
}

/// One kind as it was read.
enum Read {
    Listed(Listing),
    Kept(Table),
}

/// What became of one kind.
struct Outcome {
    kind: &'static Kind,
    read: Result<Read, PortError>,
    /// A watch was tried in vain.
    is_watched_in_vain: bool,
}

/// Looks at everything. What it answers is at least as new as the call.
pub(crate) async fn look(
    connection: &Connection,
    interner: &Interner,
    reading: Reading,
    kept: &mut Kept,
) -> Result<Seen, PortError> {
    let mut gathered = Gathered::default();
    let mut problems = Vec::new();
    let always = read_all(connection, interner, &ALWAYS_READ, kept).await?;
    let mut versions = BTreeMap::new();
    for (kind, read) in always {
        versions.insert(kind.name, resource_version(&read).to_owned());
        gather(kind, read, reading, kept, (&mut gathered, &mut problems));
    }
    let referred = gathered.referred();
    for (kind, read) in read_all(connection, interner, &referred, kept).await? {
        gather(kind, read, reading, kept, (&mut gathered, &mut problems));
    }
    interner.forget_unused();
    problems.sort();
    problems.dedup();
    let listing = gathered.into_listing();
    let mut version = |kind: &Kind| versions.remove(kind.name).unwrap_or_default();
    Ok(Seen { look: Look { listing, problems }, pods: version(&POD), nodes: version(&NODE) })
}

/// Reads kinds side by side. Where one fails, what was learnt of the others is not lost.
async fn read_all(
    connection: &Connection,
    interner: &Interner,
    kinds: &[&'static Kind],
    kept: &mut Kept,
) -> Result<Vec<(&'static Kind, Read)>, PortError> {
    let asked: Vec<_> = kinds.iter().map(|kind| (*kind, kept.tables.remove(kind.name))).collect();
    let not_watched = kept.not_watched.clone();
    let reads = asked.into_iter().map(|(kind, table)| {
        let table = table.filter(|_| !not_watched.contains(kind.name));
        read(connection, interner, kind, table)
    });
    let outcomes: Vec<Outcome> = stream::iter(reads).buffer_unordered(SIDE_BY_SIDE).collect().await;
    let mut all = Vec::with_capacity(outcomes.len());
    let mut failed = None;
    for Outcome { kind, read, is_watched_in_vain } in outcomes {
        if is_watched_in_vain {
            kept.not_watched.insert(kind.name);
        }
        match read {
            Ok(read) => all.push((kind, read)),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    let Some(error) = failed else { return Ok(all) };
    for (kind, read) in all {
        if let Read::Kept(table) = read {
            kept.tables.insert(kind.name, table);
        }
    }
    Err(error)
}

async fn read(
    connection: &Connection,
    interner: &Interner,
    kind: &'static Kind,
    table: Option<Table>,
) -> Outcome {
    let mut is_watched_in_vain = false;
    if let Some(mut table) = table {
        match table.catch_up(connection, kind, interner).await {
            Ok(CaughtUp::Yes) => {
                return Outcome { kind, read: Ok(Read::Kept(table)), is_watched_in_vain };
            }
            Ok(CaughtUp::Expired) => {}
            Ok(CaughtUp::InVain) => is_watched_in_vain = true,
            Err((failure, call)) => {
                let read = Err(failure.into_port_error(&call));
                return Outcome { kind, read, is_watched_in_vain };
            }
        }
        tracing::debug!(kind = kind.name, is_watched_in_vain, "listed again");
    }
    let listed = connection.list(kind, interner).await;
    let read = listed.map(Read::Listed).map_err(|(failure, call)| failure.into_port_error(&call));
    Outcome { kind, read, is_watched_in_vain }
}

fn resource_version(read: &Read) -> &str {
    match read {
        Read::Listed(listing) => &listing.resource_version,
        Read::Kept(table) => &table.resource_version,
    }
}

/// Takes what was read of one kind into the look, and keeps what is worth keeping.
fn gather(
    kind: &'static Kind,
    read: Read,
    reading: Reading,
    kept: &mut Kept,
    (gathered, problems): (&mut Gathered, &mut Vec<ObjectProblem>),
) {
    let is_watched = !kept.not_watched.contains(kind.name);
    let table = match read {
        Read::Kept(table) => Some(table),
        Read::Listed(listing) if is_watched && reading.keeps(listing.objects.len()) => {
            Table::of(listing)
        }
        Read::Listed(listing) => {
            for decoded in listing.objects {
                problems.extend(decoded.problems);
                if let Some(item) = decoded.item {
                    gathered.take(item);
                }
            }
            None
        }
    };
    if let Some(table) = table {
        problems.extend(table.problems.values().flatten().cloned());
        for item in table.items.values() {
            gathered.take(item.clone());
        }
        kept.tables.insert(kind.name, table);
    }
}
