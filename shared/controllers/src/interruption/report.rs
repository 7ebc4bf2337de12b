//! What was done about notices.

use std::collections::BTreeMap;

use domain::{Text, Timestamp};

use crate::lifecycle::LifecycleReport;
use crate::ports::ClaimPlace;
use crate::ports::error::PortError;
use crate::provisioning::ProvisioningReport;
use crate::run::Problems;
use crate::safeguards::Stopped;

/// The result of handling notices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct InterruptionReport {
    /// One outcome a notice, in order. A notice with an error must be delivered again; handling it
    /// twice is safe.
    pub outcomes: Vec<Result<NoticeOutcome, PortError>>,
    /// One report for each cluster that was acted on.
    pub clusters: Vec<ClusterReport>,
}

/// What a notice led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticeOutcome {
    /// No claim has this instance.
    NotOurs,
    /// It is recorded on the claim, which stays.
    Noted(ClaimPlace),
    /// The claim ends.
    Ending {
        /// The claim.
        place: ClaimPlace,
        /// Its NodePool.
        node_pool: Text,
        /// This notice made the claim end, or moved its deadline forward.
        is_news: bool,
        /// When its pods must be gone.
        deadline: Option<Timestamp>,
    },
    /// The claim is gone, or its instance is being terminated already.
    AlreadyGone(ClaimPlace),
}

/// What was done in a cluster. All of it is completed by later runs, without the notice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterReport {
    /// The cluster.
    pub cluster: Text,
    /// Why nothing was done in it, although notices were stored.
    pub stopped: Option<Stopped>,
    /// Nodes that were tainted and taken out of load balancers.
    pub tainted: Vec<Text>,
    /// What was planned and launched; `None` when another run held the lease throughout and plans
    /// itself.
    pub provisioning: Option<ProvisioningReport>,
    /// The first step of the drain; `None` when another run holds lifecycle's lease.
    pub lifecycle: Option<LifecycleReport>,
    /// Spot interruptions that were not counted before, by instance type and zone.
    pub spot_interruptions: BTreeMap<(Text, Text), u32>,
    /// Calls that failed without stopping the run.
    pub problems: Problems,
}
