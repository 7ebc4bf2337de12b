//! What was done about notices.

use domain::{Text, Timestamp};

use crate::lifecycle::LifecycleReport;
use crate::ports::ClaimPlace;
use crate::ports::error::PortError;
use crate::provisioning::ProvisioningReport;
use crate::run::Problems;

/// What came of notices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct InterruptionReport {
    /// What was done about each, in order. One with an error must come again: nothing is lost by that, and
    /// nothing is done twice.
    pub outcomes: Vec<Result<NoticeOutcome, PortError>>,
    /// What was done in the clusters concerned.
    pub clusters: Vec<ClusterReport>,
}

/// What was done about a notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticeOutcome {
    /// No claim has the instance.
    NotOurs,
    /// It is remembered with the claim, which stays.
    Noted(ClaimPlace),
    /// The claim ends.
    Ending {
        /// The claim.
        place: ClaimPlace,
        /// Its NodePool.
        node_pool: Text,
        /// Its end was decided, or made more urgent, by this notice.
        is_news: bool,
        /// By when its pods are gone.
        deadline: Option<Timestamp>,
    },
    /// The claim had gone meanwhile, or its instance was being ended already.
    AlreadyGone(ClaimPlace),
}

/// What was done in a cluster. All of it goes on without the notice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterReport {
    /// The cluster.
    pub cluster: Text,
    /// Nodes that take no more pods and no more traffic.
    pub tainted: Vec<Text>,
    /// What was planned and launched; `None` where another run held the lease all the time and plans itself.
    pub provisioning: Option<ProvisioningReport>,
    /// The first step of the drain; `None` where another run is at it.
    pub lifecycle: Option<LifecycleReport>,
    /// What did not work.
    pub problems: Problems,
}
