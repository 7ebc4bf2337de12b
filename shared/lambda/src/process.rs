//! What a process keeps from one invocation to the next: clients, connections, and their caches.
//! All of it only saves time: a process that has just started behaves the same.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use aws::cluster::ClusterFacts;
use aws::eks::Eks;
use aws::store::{DynamoStore, RegionBlobs, Table};
use aws::throttle::SharedBudget;
use aws::wakes::{ClusterQueues, Queues};
use controllers::ports::{Clock as _, PortError, Ports};
use domain::{SignedDuration, Text, Timestamp};
use ec2::catalogue::Catalogue;
use ec2::{Calls, Ec2};
use kubernetes::{Connection, Endpoint, KubernetesCluster, ListMode, Token};

use crate::clock::SystemClock;
use crate::environment::Environment;
use crate::failure::Failure;

/// How long a loaded catalogue is used before a newer one is looked for. Function `catalog` stores
/// one every hour.
const CATALOGUE_TTL: SignedDuration = SignedDuration::from_mins(15);
/// How long the description of a cluster is used before EKS is asked again: its version changes
/// once in months.
const FACTS_TTL: SignedDuration = SignedDuration::from_mins(15);

/// The clients of one process.
#[derive(Debug)]
pub struct Process {
    environment: Environment,
    calls: Calls,
    eks: Eks,
    queues: Queues,
    table: Table,
    blobs: RegionBlobs,
    clock: SystemClock,
    clusters: RefCell<BTreeMap<Text, Rc<Adapters>>>,
}

/// The ports of one cluster.
#[derive(Debug)]
pub struct Adapters {
    cluster: KubernetesCluster,
    cloud: Ec2,
    store: DynamoStore,
    clock: SystemClock,
    wakes: ClusterQueues,
    facts: ClusterFacts,
    facts_checked: Cell<Timestamp>,
    catalogue_checked: Cell<Timestamp>,
    /// When the function noted last that it had succeeded.
    success_noted: Cell<Option<Timestamp>>,
}

impl Adapters {
    /// Whether this process has noted a success after a moment.
    pub(crate) fn has_noted_success_since(&self, moment: Timestamp) -> bool {
        self.success_noted.get().is_some_and(|noted| noted > moment)
    }

    /// Takes note that a success was noted.
    pub(crate) fn set_success_noted(&self, now: Timestamp) {
        self.success_noted.set(Some(now));
    }
}

impl Ports for Adapters {
    type Cluster = KubernetesCluster;
    type Cloud = Ec2;
    type Store = DynamoStore;
    type Clock = SystemClock;
    type Wakes = ClusterQueues;

    fn cluster(&self) -> &KubernetesCluster {
        &self.cluster
    }

    fn cloud(&self) -> &Ec2 {
        &self.cloud
    }

    fn store(&self) -> &DynamoStore {
        &self.store
    }

    fn clock(&self) -> &SystemClock {
        &self.clock
    }

    fn wakes(&self) -> &ClusterQueues {
        &self.wakes
    }
}

impl Process {
    /// Creates the clients; calls nothing yet.
    pub async fn new(environment: Environment) -> Result<Self, Failure> {
        let config = aws::sdk::config().await;
        let table = Table::new(&config, &environment.table_name);
        let region = config.region().map(ToString::to_string).unwrap_or_default();
        let budget = SharedBudget::new(table.clone(), &region);
        Ok(Self {
            calls: Calls::new(&config, Arc::new(budget))?,
            eks: Eks::new(&config),
            queues: Queues::new(&config, environment.wakes.clone()),
            blobs: RegionBlobs::new(table.clone(), &region),
            table,
            clock: SystemClock::default(),
            clusters: RefCell::default(),
            environment,
        })
    }

    /// The configuration.
    pub const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The clients of EC2, IAM, Systems Manager and the price list.
    pub const fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Where the instance catalogue is stored.
    pub const fn blobs(&self) -> &RegionBlobs {
        &self.blobs
    }

    /// The DynamoDB table.
    pub const fn table(&self) -> &Table {
        &self.table
    }

    /// Whether functions can wake each other by message.
    pub fn has_queues(&self) -> bool {
        !self.queues.is_empty()
    }

    /// The clock.
    pub const fn clock(&self) -> &SystemClock {
        &self.clock
    }

    /// Opens the connections that the first event would have to wait for. That event retries what
    /// fails here.
    pub async fn warm_up(&self) {
        let table = self.table.warm_up();
        let cluster = async {
            match &self.environment.cluster {
                Some(name) => self.adapters(name).await.map(drop),
                None => Ok(()),
            }
        };
        let (table, cluster) = tokio::join!(table, cluster);
        if let Err(error) = table.map_err(Failure::from).and(cluster) {
            tracing::warn!(%error, "failed to open a connection before the first event");
        }
    }

    /// The ports of a cluster, connected on first use.
    pub async fn adapters(&self, cluster: &Text) -> Result<Rc<Adapters>, Failure> {
        let known = self.clusters.borrow().get(cluster).cloned();
        if let Some(known) = known
            && self.is_current(&known).await
        {
            self.refresh_catalogue(&known).await;
            return Ok(known);
        }
        let adapters = Rc::new(self.open(cluster).await?);
        self.clusters.borrow_mut().insert(cluster.clone(), Rc::clone(&adapters));
        Ok(adapters)
    }

    async fn open(&self, cluster: &Text) -> Result<Adapters, Failure> {
        let (facts, catalogue) = tokio::join!(self.eks.describe(cluster), self.catalogue());
        let facts = facts?;
        let connection = self.connect(&facts).await?;
        if let Err(error) = connection.warm_up().await {
            tracing::warn!(%error, %cluster, "API server does not answer");
        }
        let now = self.clock.now();
        Ok(Adapters {
            cluster: KubernetesCluster::new(connection, ListMode::WATCH),
            cloud: Ec2::new(self.calls.clone(), facts.clone(), catalogue?, self.environment.ec2)
                .of_installation(&self.environment.safeguards.installation),
            store: DynamoStore::new(self.table.clone(), cluster),
            clock: SystemClock::default(),
            wakes: self.queues.of_cluster(cluster),
            facts,
            facts_checked: Cell::new(now),
            catalogue_checked: Cell::new(now),
            success_noted: Cell::new(None),
        })
    }

    async fn connect(&self, facts: &ClusterFacts) -> Result<Connection, PortError> {
        let endpoint = Endpoint {
            url: facts.endpoint.clone(),
            certificate_authority: Some(facts.certificate_authority.clone()),
        };
        let (eks, cluster) = (self.eks.clone(), facts.name.clone());
        let tokens = move || {
            let (eks, cluster) = (eks.clone(), cluster.clone());
            async move {
                let token = eks.token(&cluster).await?;
                Ok(Token { secret: token.secret, expires: token.expires })
            }
        };
        Connection::with_tokens(&endpoint, tokens).await
    }

    async fn catalogue(&self) -> Result<Catalogue, Failure> {
        Ok(Catalogue::load(&self.blobs, &self.calls.region).await?)
    }

    /// Whether a cluster is unchanged since its adapters were made. Assumed where EKS cannot be
    /// asked.
    async fn is_current(&self, adapters: &Adapters) -> bool {
        let now = self.clock.now();
        if now.duration_since(adapters.facts_checked.get()) < FACTS_TTL {
            return true;
        }
        match self.eks.describe(&adapters.facts.name).await {
            Ok(facts) => {
                adapters.facts_checked.set(now);
                facts == adapters.facts
            }
            Err(error) => {
                tracing::warn!(%error, "failed to refresh the description of the cluster");
                true
            }
        }
    }

    async fn refresh_catalogue(&self, adapters: &Adapters) {
        let now = self.clock.now();
        if now.duration_since(adapters.catalogue_checked.get()) < CATALOGUE_TTL {
            return;
        }
        match self.catalogue().await {
            Ok(catalogue) => {
                adapters.catalogue_checked.set(now);
                adapters.cloud.set_catalogue(catalogue);
            }
            Err(error) => tracing::warn!(%error, "failed to refresh the catalogue"),
        }
    }
}
