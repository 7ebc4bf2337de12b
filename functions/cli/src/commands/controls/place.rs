//! Where the switches of a cluster are: its ConfigMap, or the installation's table.

use std::collections::BTreeMap;
use std::future::Future;

use aws::store::{DynamoStore, Table};
use controllers::ports::{ClaimStore as _, ErrorKind, PortError};
use domain::{Text, Timestamp};
use kubernetes::Connection;

use crate::args::controls::SwitchPlace;
use crate::commands::CommandError;

/// Values to set by key; `None` takes one back.
pub(super) type Values = BTreeMap<&'static str, Option<Text>>;

/// Where values are read and written.
pub(super) enum Place {
    /// ConfigMap `kube-system/outrigger`.
    Cluster(Box<Connection>),
    /// The installation's table.
    Table(Box<DynamoStore>),
}

impl Place {
    /// The place that the arguments name.
    pub(super) async fn open(place: &SwitchPlace) -> Result<Self, PortError> {
        match (&place.table, &place.cluster) {
            (Some(table), Some(cluster)) => Ok(Self::Table(Box::new(store(table, cluster).await))),
            _ => Self::of_cluster(place.context.as_deref()).await,
        }
    }

    /// The ConfigMap of a kubeconfig's cluster.
    pub(super) async fn of_cluster(context: Option<&str>) -> Result<Self, PortError> {
        Ok(Self::Cluster(Box::new(Connection::from_kubeconfig(context).await?)))
    }

    /// Its name in messages.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Cluster(_) => "ConfigMap kube-system/outrigger",
            Self::Table(_) => "the table",
        }
    }

    /// All values.
    pub(super) async fn values(&self) -> Result<BTreeMap<Text, Text>, PortError> {
        match self {
            Self::Cluster(connection) => match connection.controls().await? {
                Some(object) => Ok(object.data),
                None => Err(missing()),
            },
            Self::Table(store) => store.controls().await,
        }
    }

    /// When a Karpenter in the cluster last renewed its lease, and how many NodeClaims there are;
    /// `None` where only the table is looked at.
    pub(super) async fn neighbours(&self) -> Result<Option<(Option<Timestamp>, usize)>, PortError> {
        let Self::Cluster(connection) = self else { return Ok(None) };
        let claims = connection.node_claims_left().await?;
        Ok(Some((connection.karpenter_renewed().await?, claims)))
    }

    /// Changes values.
    pub(super) async fn set(&self, values: &Values) -> Result<(), PortError> {
        match self {
            Self::Cluster(connection) => {
                let values = values.iter().map(|(key, value)| (*key, value.as_deref())).collect();
                match connection.set_controls(&values, None).await {
                    Err(error) if error.kind == ErrorKind::NotFound => Err(missing()),
                    set => set,
                }
            }
            Self::Table(store) => store.set_controls(values).await,
        }
    }
}

/// The records of a cluster.
pub(super) async fn store(table: &str, cluster: &str) -> DynamoStore {
    DynamoStore::new(Table::new(&aws::sdk::config().await, table), cluster)
}

fn missing() -> PortError {
    let why = "it does not exist: `kubectl apply --server-side -k infra/kubernetes` makes it";
    PortError::new(ErrorKind::NotFound, "get configmaps kube-system/outrigger", why)
}

/// Runs what talks to a cluster or to AWS.
pub(super) fn block_on<T>(
    work: impl Future<Output = Result<T, PortError>>,
) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work).map_err(CommandError::Remote)
}
