//! Free addresses of zones, for EC2NodeClasses that ask about them: what EC2 counted, less what
//! starting nodes and their pods are going to take.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::Text;
use crate::addresses::AddressPolicy;
use crate::label;
use crate::node_claim::{ConditionType, NodeClaim};
use crate::node_class::Ec2NodeClass;
use crate::pod::{Pod, PodKey};
use crate::requirement::Requirements;
use crate::snapshot::ClusterSnapshot;
use crate::workload::DaemonSet;

/// Addresses that are left in subnets. Subnets may be of several classes: what one takes, another
/// lacks.
#[derive(Clone, Debug)]
pub struct AddressLedger {
    /// Classes that ask about addresses, by name.
    classes: Arc<BTreeMap<Text, AddressPolicy>>,
    /// What is taken beyond EC2's count, by subnet.
    taken: BTreeMap<Text, u64>,
}

impl AddressLedger {
    /// As the snapshot is; `None` where no class asks about addresses.
    ///
    /// A node that is not initialized counts with its pods, whether EC2 counts some of its
    /// addresses already or not: so two plans in a row never count on the same ones.
    pub fn of(snapshot: &ClusterSnapshot) -> Option<Self> {
        let classes = snapshot.objects.node_classes.iter();
        let asking = |own: &Ec2NodeClass| {
            let policy = own.addresses.clone()?;
            let daemon_pods = daemon_pods(own, &snapshot.objects.daemon_sets);
            Some((own.name.clone(), AddressPolicy { daemon_pods, ..policy }))
        };
        let classes: BTreeMap<_, _> = classes.filter_map(asking).collect();
        if classes.is_empty() {
            return None;
        }
        let mut ledger = Self { classes: Arc::new(classes), taken: BTreeMap::new() };
        let mut bound: BTreeMap<&Text, BTreeSet<&PodKey>> = BTreeMap::new();
        // Those of DaemonSets count whether they are there already or not.
        let counts = |pod: &&Pod| !pod.is_terminal() && !pod.is_daemon() && !pod.is_static();
        for pod in snapshot.objects.pods.iter().filter(counts) {
            if let Some(node) = &pod.node_name {
                bound.entry(node).or_default().insert(&pod.key);
            }
        }
        for (node, pods) in &snapshot.nominations {
            bound.entry(node).or_default().extend(pods);
        }
        let starts =
            |claim: &&NodeClaim| claim.deleted.is_none() && !claim.is(ConditionType::Initialized);
        for claim in snapshot.node_claims.iter().filter(starts) {
            let names = [Some(&claim.name), claim.status.node_name.as_ref()];
            let pods: BTreeSet<&PodKey> = names
                .into_iter()
                .flatten()
                .filter_map(|own| bound.get(own))
                .flatten()
                .copied()
                .collect();
            ledger.take_of(claim, pods.len());
        }
        Some(ledger)
    }

    /// Counts a node that is starting: in its zone, or in each that it may turn out to be in.
    fn take_of(&mut self, claim: &NodeClaim, pods: usize) {
        let class = &claim.node_class_ref.name;
        let classes = Arc::clone(&self.classes);
        let Some(policy) = classes.get(class) else { return };
        let needed = policy.needed(pods);
        let requirements = Requirements::of(claim.requirements.iter());
        let allowed = requirements.get(label::ZONE);
        for zone in policy.zones() {
            let may_be_there = match claim.labels.get(label::ZONE) {
                Some(own) => own == zone,
                None => allowed.is_none_or(|own| own.values.contains(zone)),
            };
            if may_be_there {
                self.take(class, zone, needed);
            }
        }
    }

    /// What a class asks for.
    pub fn policy(&self, class: &Text) -> Option<&AddressPolicy> {
        self.classes.get(class)
    }

    /// Addresses of a zone that nothing has or is going to have, those that stay free included.
    /// `None` where the class does not ask about addresses, or EC2 did not say.
    pub fn free(&self, class: &Text, zone: &str) -> Option<i64> {
        let policy = self.policy(class)?;
        let mut subnets = policy.in_zone(zone).peekable();
        subnets.peek()?;
        let left = subnets.map(|own| i64::from(own.count) - self.taken_of(&own.subnet));
        Some(left.sum())
    }

    /// Addresses of a zone that nodes may still take.
    pub fn left(&self, class: &Text, zone: &str) -> Option<i64> {
        Some(self.free(class, zone)? - i64::from(self.policy(class)?.min_free))
    }

    /// Whether a zone has room for a node with so many pods.
    pub fn has_room(&self, class: &Text, zone: &str, pods: usize) -> bool {
        let needed = || self.policy(class).map_or(0, |policy| signed(policy.needed(pods)));
        self.left(class, zone).is_none_or(|left| left >= needed())
    }

    /// Counts addresses as taken: of the subnet that has most, and where that has too few, of the
    /// next.
    pub fn take(&mut self, class: &Text, zone: &str, addresses: u64) {
        let classes = Arc::clone(&self.classes);
        let Some(policy) = classes.get(class) else { return };
        let mut subnets: Vec<(i64, &Text)> = policy
            .in_zone(zone)
            .map(|own| (i64::from(own.count) - self.taken_of(&own.subnet), &own.subnet))
            .collect();
        subnets.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let mut rest = addresses;
        for (left, subnet) in &subnets {
            let own = rest.min(u64::try_from(*left).unwrap_or(0));
            *self.taken.entry((*subnet).clone()).or_default() += own;
            rest -= own;
        }
        // More than there is: the zone is short of it.
        if let Some((_, first)) = subnets.first() {
            *self.taken.entry((*first).clone()).or_default() += rest;
        }
    }

    fn taken_of(&self, subnet: &Text) -> i64 {
        self.taken.get(subnet).map_or(0, |own| signed(*own))
    }
}

/// How many DaemonSets may have a pod with an address of its own on a node of the class: those on
/// their node's network have none, and those for another operating system do not run there. What
/// else their pods select is left out of account, so this is never too few.
fn daemon_pods(class: &Ec2NodeClass, daemon_sets: &[DaemonSet]) -> u32 {
    let os = if class.spec.ami_family.is_windows() { "windows" } else { "linux" };
    let is_for_another_os = |own: &DaemonSet| {
        let selector = &own.template.spec.node_selector;
        selector.iter().any(|(key, value)| &**key == label::OS && &**value != os)
    };
    let has_address = |own: &&DaemonSet| !own.is_on_host_network && !is_for_another_os(own);
    u32::try_from(daemon_sets.iter().filter(has_address).count()).unwrap_or(u32::MAX)
}

fn signed(addresses: u64) -> i64 {
    i64::try_from(addresses).unwrap_or(i64::MAX)
}
