//! Scenarios: files that say what happens to a cluster, and what is expected to come of it.
//!
//! ```yaml
//! apiVersion: outrigger.dev/v1alpha1
//! kind: Scenario
//! metadata: {name: scale-down}
//! spec:
//!   about: What it shows, in a sentence or two.
//!   start: 2026-01-05T09:00:00Z   # when simulated time begins; this is the default
//!   duration: 30m                 # how long it lasts
//!   seed: 7                       # what everything random comes from; 0 when unset
//!   region: us-east-1             # EC2's catalogue of that region, or instead of it
//!   # catalog: FILE or an InstanceCatalog object
//!   scoring: LeastAllocated       # of kube-scheduler alone; or MostAllocated
//!   schedulerConfig: scheduler.yaml  # or an object: kube-scheduler's, where that is not what the
//!                                 # ConfigMap kube-system/outrigger of the cluster says
//!   provisioning: watch           # within seconds of a pod's wait, or poll: once a minute
//!   jobDuration: 5m               # how long a Job's pod works
//!   boot: 50s                     # from launch to a ready node; drawn (40 to 65 s) when unset
//!   podStart: 40s                 # from a pod's binding to its being ready; drawn when unset
//!   podStop: 60s                  # from a pod's deletion to its end, within its grace period;
//!                                 # drawn when unset
//!   settings: {featureGates: "SpotToSpotConsolidation=true", preferencePolicy: Respect,
//!              minValuesPolicy: Strict}
//!   faults: {throttledPerMille: 0, answersLostPerMille: 0, launchesFailedPerMille: 0,
//!            crashesPerMille: 0, crashAfterCall: 7, eventsDoubledPerMille: 0,
//!            eventsLatePerMille: 0, callMillisMax: 0}
//!   timeline:                     # one action an item; `at` counts from the start
//!   - at: 0s
//!     apply: [nodepool.yaml, {apiVersion: apps/v1, kind: Deployment, …}]
//!   - at: 10m
//!     scale: {kind: Deployment, namespace: default, name: web, replicas: 10}
//!   - advance: 5m                 # items without `at` follow where the one before left off
//!   - mark: busy                  # a name for this moment
//!   - delete: {kind: Deployment, namespace: default, name: web}
//!   - interrupt: {count: 1, node: NAME, nodePool: NAME, zone: NAME, instanceType: NAME,
//!                 capacityType: spot}
//!   - recommendRebalance: {count: 1}                # and the same filter
//!   - retire: {count: 1, in: 1h}                    # announced by AWS Health; it ends then
//!   - impair: {count: 1}                            # EC2's system checks fail from now on
//!   - outOfCapacity: {cheapest: 3, instanceType: NAME, zone: NAME, capacityType: spot, for: 10m}
//!   expect:                       # held against the world at `at`, or at the end
//!   - {at: 9m, nodes: {min: 3, zone: us-east-1a, capacityType: spot, instanceType: m5.large,
//!                      nodePool: default}}
//!   - zones: {min: 3}
//!   - launched: {max: 5, capacityType: spot}        # instances launched so far
//!   - hourlyUsd: {max: 1.5, lessThan: busy}         # or min, greaterThan; a mark or a figure
//!   - costUsd: {max: 0.5}                           # all of it so far
//!   - pods: {workload: web, running: 10, pending: 0}
//!   - waiting: {pod: web-, because: limit nvidia.com/gpu}
//!   - unplacedSeconds: {max: 120, since: 10m}       # the longest wait of a pod that fits;
//!                                                   # of those made after `since`, if set
//!   - withoutHomeSeconds: {max: 0}                  # after an eviction by choice
//!   - percentOfBound: {max: 110}                    # all nodes, of the least for the pods
//!   - costPercentOfBound: {max: 112}                # the whole run, of the least for its pods
//!   variants:                     # run once in each, to be compared
//!   - {name: as it is}
//!   - {name: with a schedule, apply: [schedule.yaml], expect: [{costUsd: {max: 0.6}}]}
//! ```
//!
//! Ranges take `count`, or `min` and `max`. Objects may be written in any version that
//! [`manifests::read`] converts. Paths are relative to the scenario's file.

mod definition;
mod duration;
mod expectation;
mod file;
mod filter;
mod not_simulated;
mod recorded;

pub use definition::{
    Action, Announcement, CatalogChoice, ProvisioningMode, Scenario, ScenarioError, SettingsChange,
    Step, Variant,
};
pub use expectation::{Expectation, Expected, PodCount, PriceBound, Range};
pub use filter::{InstanceFilter, SpotInterruptions};

#[cfg(test)]
mod tests;
