//! Node classes: resolves their selectors into `status`, and deletes what was created for a node
//! class once no claim uses it.
//!
//! Runs without a lease: what it writes follows from what it reads, and writing it twice is the
//! same as writing it once.

use std::collections::BTreeMap;

use domain::addresses::free_addresses_annotation;
use domain::image_age::held_back_annotation;
use domain::label::{AMIS_HELD_BACK, FREE_ADDRESSES, Labels};
use domain::node_claim::ConditionStatus;
use domain::node_class::Ec2NodeClass;
use domain::stamp::Stamp;
use domain::{SignedDuration, Text};

use crate::event::{Event, EventReason, Subject};
use crate::ports::cloud::NodeClassResolution;
use crate::ports::cluster::{FinalizerChange, NodeClassUpdate};
use crate::ports::error::{PortError, found};
use crate::ports::{ClaimStore, Clock, Cloud, Cluster, ClusterListing, ObjectRef, Ports};
use crate::run::{Problems, Run, is_over, record_events};
use crate::status::{NodeClassCondition, Observed};
use crate::steps::node_class_status::node_class_status;

/// The result of reconciling node classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct NodeClassReport {
    /// Node classes that are ready.
    pub ready: Vec<Text>,
    /// Node classes that are not ready, with the first condition that is not True.
    pub not_ready: Vec<(Text, Text)>,
    /// Of node classes with a minimum age of images: for how long the youngest image is held back
    /// still, zero where none is.
    pub images_held_back: Vec<(Text, SignedDuration)>,
    /// Of node classes that ask about addresses: how many are free, by class and zone.
    pub free_addresses: BTreeMap<(Text, Text), u64>,
    /// Node classes whose finalizer was removed.
    pub released: Vec<Text>,
    /// Node classes that are being deleted and still in use, with the number of claims.
    pub held: Vec<(Text, usize)>,
    /// Node classes left to the next run because the deadline was near.
    pub left: usize,
    /// Calls that failed without stopping the run.
    pub problems: Problems,
}

/// Reconciles every node class once.
pub async fn resolve<P: Ports>(ports: &P, run: &Run<'_>) -> Result<NodeClassReport, PortError> {
    let listing = ports.cluster().observe().await?;
    let mut class_run = NodeClassRun {
        ports,
        listing: &listing,
        report: NodeClassReport::default(),
        events: Vec::new(),
    };
    let total = listing.objects.node_classes.len();
    for (done, class) in listing.objects.node_classes.iter().enumerate() {
        if is_over(ports, run) {
            class_run.report.left = total - done;
            break;
        }
        if class.is_deleting {
            class_run.release(class).await;
        } else {
            class_run.resolve(class).await;
        }
    }
    let NodeClassRun { mut report, events, .. } = class_run;
    record_events(ports.cluster(), &events, &mut report.problems).await;
    Ok(report)
}

/// What the class is to say of the images that its minimum age holds back: nothing new for a class
/// that has no minimum and never had one, nor where its images are not known.
fn annotation_of_images(
    class: &Ec2NodeClass,
    resolution: &NodeClassResolution,
) -> Option<(Text, Text)> {
    let is_unknown = resolution.amis.as_ref().is_err_and(|why| why.is_passing);
    let is_said = class.annotations.contains_key(AMIS_HELD_BACK);
    if is_unknown || (resolution.held_back.is_empty() && !is_said) {
        return None;
    }
    Some((AMIS_HELD_BACK.into(), held_back_annotation(&resolution.held_back).into()))
}

/// What the class is to say of free addresses: nothing for a class that does not ask about them,
/// nor where its subnets are not known.
fn annotation_of_addresses(
    class: &Ec2NodeClass,
    resolution: &NodeClassResolution,
) -> Option<(Text, Text)> {
    let is_known = class.addresses.is_some() && resolution.subnets.is_ok();
    let annotation = || free_addresses_annotation(&resolution.free_addresses);
    is_known.then(|| (FREE_ADDRESSES.into(), annotation().into()))
}

struct NodeClassRun<'a, P> {
    ports: &'a P,
    listing: &'a ClusterListing,
    report: NodeClassReport,
    events: Vec<Event>,
}

impl<P: Ports> NodeClassRun<'_, P> {
    async fn resolve(&mut self, class: &Ec2NodeClass) {
        let name = &class.name;
        let resolution = self.ports.cloud().resolve_node_class(class).await;
        let operation = || format!("resolve EC2NodeClass {name}");
        let Some(resolution) = self.report.problems.record(operation, resolution) else { return };
        let nothing = Observed::default();
        let before = self.listing.node_class_states.get(name).unwrap_or(&nothing);
        let now = self.ports.clock().now();
        let stamp = resolution.stamp.as_ref().map(Stamp::node_class_annotations);
        let held_back = annotation_of_images(class, &resolution);
        let addresses = annotation_of_addresses(class, &resolution);
        let said = held_back.into_iter().chain(addresses);
        let annotations: Labels = stamp.unwrap_or_default().into_iter().chain(said).collect();
        if class.addresses.is_some() && resolution.subnets.is_ok() {
            for own in &resolution.free_addresses {
                let zone = (name.clone(), own.zone.clone());
                *self.report.free_addresses.entry(zone).or_default() += u64::from(own.count);
            }
        }
        if class.image_age.min.is_some() {
            let last = resolution.held_back.iter().map(|own| own.until).max();
            let left = last.map(|until| until.duration_since(now)).unwrap_or_default();
            self.report.images_held_back.push((name.clone(), left));
        }
        let status = node_class_status(resolution, before, now);
        let fault = status
            .conditions
            .iter()
            .filter(|own| own.kind != NodeClassCondition::Ready)
            .find(|own| own.status != ConditionStatus::True);
        match fault {
            None => self.report.ready.push(name.clone()),
            Some(fault) => {
                let what = format!("{}: {}", fault.kind.as_str(), fault.message);
                self.report.not_ready.push((name.clone(), what.into()));
            }
        }
        let is_stamped =
            annotations.iter().all(|(key, value)| class.annotations.get(key) == Some(value));
        if status == before.status && before.has_finalizer && is_stamped {
            return;
        }
        let finalizer = FinalizerChange::Add;
        let update = NodeClassUpdate { annotations, finalizer, status: Some(status) };
        self.update(class, &update).await;
    }

    /// Deletes what was created for a node class that is being deleted, once no claim uses it.
    async fn release(&mut self, class: &Ec2NodeClass) {
        let name = &class.name;
        if !self.listing.node_class_states.get(name).is_some_and(|own| own.has_finalizer) {
            return;
        }
        let claims = self.ports.store().claims().await;
        let Some(claims) = self.report.problems.record(|| "read claims".to_owned(), claims) else {
            return;
        };
        let recorded =
            claims.iter().map(|claim| (&claim.record.claim.name, &claim.record.launch.node_class));
        let shown = self
            .listing
            .node_claims
            .iter()
            .map(|object| (&object.claim.name, &object.claim.node_class_ref.name));
        let users: std::collections::BTreeSet<&Text> = recorded
            .chain(shown)
            .filter(|(_, class)| *class == name)
            .map(|(claim, _)| claim)
            .collect();
        if !users.is_empty() {
            let message = format!("{} NodeClaims still use it", users.len());
            let about = Subject::NodeClass(name.clone());
            let reason = EventReason::WaitingOnNodeClaimTermination;
            self.events.push(Event::new(about, reason, message));
            self.report.held.push((name.clone(), users.len()));
            return;
        }
        let released = self.ports.cloud().release_node_class(class).await;
        let operation = || format!("delete AWS resources of EC2NodeClass {name}");
        if self.report.problems.record(operation, released).is_none() {
            return;
        }
        let update =
            NodeClassUpdate { finalizer: FinalizerChange::Remove, ..NodeClassUpdate::default() };
        if self.update(class, &update).await {
            self.report.released.push(name.clone());
        }
    }

    async fn update(&mut self, class: &Ec2NodeClass, update: &NodeClassUpdate) -> bool {
        let written = self.ports.cluster().update_node_class(&ObjectRef::from(class), update).await;
        let operation = || format!("write EC2NodeClass {}", class.name);
        self.report.problems.record(operation, found(written)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::cloud::Unresolved;
    use crate::testing::world::{World, resolution};
    use crate::testing::{at, launched_record, node_class};
    use domain::addresses::{AddressPolicy, FreeAddresses};
    use domain::image_age::HeldBackImage;
    use pollster::block_on;

    fn world() -> World {
        let world = World::new();
        world.cluster.listing.borrow_mut().objects.node_classes.push(node_class("default"));
        world
    }

    fn resolve_once(world: &World) -> NodeClassReport {
        block_on(resolve(world, &world.run("run"))).unwrap()
    }

    #[test]
    fn a_class_shows_what_its_selectors_mean_and_gets_the_finalizer() {
        let world = world();
        assert_eq!(resolve_once(&world).ready.len(), 1);
        let listing = world.cluster.listing.borrow();
        let state = &listing.node_class_states["default"];
        assert!(state.has_finalizer);
        assert_eq!(state.status.subnets.len(), 1);
    }

    #[test]
    fn a_class_bears_the_hash_of_its_specification_once_that_is_known() {
        let world = world();
        let stamp = Stamp { hash: "7".into(), version: "v6".into() };
        let recorded = || {
            Stamp::of_node_class(
                &world.cluster.listing.borrow().objects.node_classes[0].annotations,
            )
        };
        let _report = resolve_once(&world);
        assert_eq!(recorded(), None);
        let found = NodeClassResolution { stamp: Some(stamp.clone()), ..resolution() };
        world.cloud.resolution.replace(Some(found));
        let _report = resolve_once(&world);
        assert_eq!(recorded(), Some(stamp));
    }

    #[test]
    fn a_class_says_which_images_are_too_young_until_none_is() {
        let world = world();
        let said = || {
            let listing = world.cluster.listing.borrow();
            listing.objects.node_classes[0].annotations.get(AMIS_HELD_BACK).cloned()
        };
        let _report = resolve_once(&world);
        assert_eq!(said(), None);
        let now = world.clock().now();
        let until = now + SignedDuration::from_hours(2);
        world.cluster.listing.borrow_mut().objects.node_classes[0].image_age.min =
            Some(SignedDuration::from_hours(168));
        let held_back = vec![HeldBackImage { id: "ami-2".into(), until }];
        let found = NodeClassResolution { held_back, ..resolution() };
        world.cloud.resolution.replace(Some(found.clone()));
        let report = resolve_once(&world);
        assert_eq!(report.images_held_back, [("default".into(), SignedDuration::from_hours(2))]);
        assert_eq!(said().as_deref(), Some(&*format!("ami-2={until}")));
        // What cannot be said does not change what was.
        let amis = Err(Unresolved {
            reason: "Throttled".into(),
            message: "slow down".into(),
            is_passing: true,
        });
        world.cloud.resolution.replace(Some(NodeClassResolution { amis, ..resolution() }));
        let _report = resolve_once(&world);
        assert!(said().is_some_and(|own| !own.is_empty()));
        world.cloud.resolution.replace(Some(resolution()));
        let _report = resolve_once(&world);
        assert_eq!(said().as_deref(), Some(""));
    }

    #[test]
    fn a_class_that_asks_about_addresses_says_how_many_its_subnets_have() {
        let world = world();
        let own = |zone: &str, subnet: &str, count| FreeAddresses {
            zone: zone.into(),
            subnet: subnet.into(),
            count,
        };
        let free_addresses = vec![own("a", "subnet-1", 100), own("a", "subnet-2", 20)];
        let found = NodeClassResolution { free_addresses, ..resolution() };
        world.cloud.resolution.replace(Some(found));
        let said = || {
            let listing = world.cluster.listing.borrow();
            listing.objects.node_classes[0].annotations.get(FREE_ADDRESSES).cloned()
        };
        let report = resolve_once(&world);
        assert_eq!((said(), report.free_addresses.len()), (None, 0));
        let policy = AddressPolicy { per_pod: 1, min_free: 32, daemon_pods: 0, free: Vec::new() };
        world.cluster.listing.borrow_mut().objects.node_classes[0].addresses = Some(policy);
        let report = resolve_once(&world);
        assert_eq!(said().as_deref(), Some("a/subnet-1=100,a/subnet-2=20"));
        assert_eq!(report.free_addresses[&("default".into(), "a".into())], 120);
        // What cannot be said does not change what was.
        let subnets = Err(Unresolved {
            reason: "Throttled".into(),
            message: "slow down".into(),
            is_passing: true,
        });
        world.cloud.resolution.replace(Some(NodeClassResolution { subnets, ..resolution() }));
        let report = resolve_once(&world);
        assert!(said().is_some_and(|own| !own.is_empty()) && report.free_addresses.is_empty());
    }

    #[test]
    fn a_deleted_class_waits_for_its_claims_and_is_then_removed_with_its_aws_resources() {
        let world = world();
        let _report = resolve_once(&world);
        world.cluster.listing.borrow_mut().objects.node_classes[0].is_deleting = true;
        world.store.put(launched_record("web-1", at(0)));
        assert_eq!(resolve_once(&world).held, [("default".into(), 1)]);
        assert!(world.cluster.has_event(EventReason::WaitingOnNodeClaimTermination));
        assert!(world.cloud.released.borrow().is_empty());
        world.store.delete("web-1");
        assert_eq!(resolve_once(&world).released, ["default".into()] as [Text; 1]);
        assert_eq!(*world.cloud.released.borrow(), ["default".into()] as [Text; 1]);
        assert!(!world.cluster.listing.borrow().node_class_states["default"].has_finalizer);
    }
}
