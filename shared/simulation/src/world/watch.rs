//! What is noted of the controllers' doings, for the timeline, and held against the invariants.

use std::collections::{BTreeMap, BTreeSet};

use controllers::event::{Event, EventReason, Subject};
use controllers::record::claim::{ClaimPhase, ClaimRecord, EndReason};
use controllers::record::command::{CommandPhase, CommandRecord};
use controllers::record::launch::LaunchRequest;
use domain::label;
use domain::money::UsdPerHour;
use domain::node::Node;
use domain::node_claim::ConditionType;
use domain::node_pool::NodePool;
use domain::pdb::PodDisruptionBudget;
use domain::pod::{ObjectKey, Pod};
use domain::reason::DisruptionReason;
use domain::resource::{NODES, Resources};
use domain::{SignedDuration, Text, Timestamp};

use super::World;
use super::committed::cost_beyond;
use crate::api::ApiError;
use crate::ec2::{CapacityPool, FleetAnswer, FleetError, FleetRequest, Instance};
use crate::invariant::Violation;
use crate::ports::{CLAIM_TAG, CLAIM_UID_TAG};
use crate::report::Happening;
use crate::scheduler::{self, ClusterView, SchedulingPod};

/// How long an instance may live without a claim: lifecycle runs once a minute, and waits half of
/// one for claims that are being written.
const ORPHAN_GRACE: SignedDuration = SignedDuration::from_mins(3);

impl World {
    pub(crate) fn note_claim_created(&mut self, record: &ClaimRecord) {
        // The record of a node that is there is taken up, or rebuilt: nothing comes of it.
        if record.instance.is_some() {
            return;
        }
        let types: BTreeSet<&Text> =
            record.launch.offerings.iter().map(|own| &own.instance_type).collect();
        let created = Happening::NodeClaimCreated {
            claim: record.name().clone(),
            node_pool: record.launch.node_pool.clone(),
            pods: record.pods.len(),
            instance_types: types.len(),
        };
        let why = record.replaces.is_some().then(|| Text::from("it replaces nodes that go"));
        self.journal.add_because(self.now, created, why);
    }

    pub(crate) fn note_claim_changed(&mut self, before: &ClaimRecord, record: &ClaimRecord) {
        let became = |phase| before.phase() != phase && record.phase() == phase;
        let name = record.node_or_claim_name().clone();
        if became(ClaimPhase::Initialized) {
            self.journal.add(self.now, Happening::NodeInitialized(name));
        } else if became(ClaimPhase::Ending) {
            self.check_given_up(record);
            let why = record.ending.as_ref().map(|ending| Text::from(ending.reason.as_str()));
            self.journal.add_because(self.now, Happening::Draining(name), why);
        }
    }

    pub(crate) fn note_command_changed(
        &mut self,
        before: Option<&CommandRecord>,
        command: &CommandRecord,
    ) {
        // When the cluster was listed that the command follows from.
        let (CommandPhase::Starting { since: observed_at }
        | CommandPhase::Waiting { since: observed_at }
        | CommandPhase::Ending { since: observed_at }) = command.phase
        else {
            return;
        };
        if before.is_some_and(|own| own.phase != CommandPhase::Proposed) {
            return;
        }
        let disruption = &command.disruption;
        let proposed = disruption.nodes.iter().map(|node| (node.clone(), command.proposed));
        self.disrupting.extend(proposed);
        let replacements = disruption.replacements.iter().map(|own| own.name.clone()).collect();
        let why = match disruption.savings {
            UsdPerHour::ZERO => None,
            savings => Some(Text::from(format!("it saves {savings}"))),
        };
        let disrupting = Happening::Disrupting {
            reason: disruption.reason,
            nodes: disruption.nodes.clone(),
            replacements,
        };
        self.journal.add_because(self.now, disrupting, why);
        self.check_command(command, observed_at);
    }

    pub(crate) fn note_launched(
        &mut self,
        request: &LaunchRequest,
        instance: &Instance,
        insufficient: &[CapacityPool],
    ) {
        // A repeated request gets an answer that was noted before.
        if instance.launched != self.now {
            return;
        }
        let launched = Happening::Launched {
            claim: request.claim.clone(),
            instance: instance.id.clone(),
            instance_type: instance.pool.instance_type.clone(),
            zone: instance.pool.zone.clone(),
            capacity_type: instance.pool.capacity_type,
            price: instance.price,
        };
        self.journal.add_because(self.now, launched, none_left(insufficient));
        self.check_limits(&request.node_pool);
        self.check_size(request, instance);
        self.check_replacement(&request.claim);
    }

    pub(crate) fn note_launch_failed(&mut self, claim: &Text, insufficient: &[CapacityPool]) {
        let failed = Happening::LaunchFailed { claim: claim.clone() };
        self.journal.add_because(self.now, failed, none_left(insufficient));
    }

    pub(crate) fn note_eviction_refused(&mut self, pod: &ObjectKey, error: &ApiError) {
        let refused = Happening::EvictionRefused(pod.clone());
        let why = Some(Text::from(error.to_string()));
        // A drain retries again and again; one entry in the timeline is enough.
        if self.reported.insert((pod.clone(), error.to_string().into())) {
            self.journal.add_because(self.now, refused, why);
        }
    }

    pub(crate) fn note_event(&mut self, event: &Event) {
        let (what, why) = match (&event.about, event.reason) {
            (Subject::Pod(key, _), EventReason::FailedScheduling) => {
                self.unschedulable.insert(key.clone(), event.message.clone());
                (Happening::PodsUnschedulable(vec![key.clone()]), event.message.clone())
            }
            _ => return,
        };
        let Subject::Pod(key, _) = &event.about else { return };
        if self.reported.insert((key.clone(), why.clone())) {
            self.journal.add_because(self.now, what, Some(why));
        }
    }

    /// Invariant 1: every instance has one claim, and every claim one instance.
    pub(crate) fn check_instances(&mut self) {
        let changes = (self.ec2.changes(), self.store.claims.changes());
        // An orphan grows older, though nothing changes.
        if self.checked == Some(changes) && self.orphans.is_empty() {
            return;
        }
        self.checked = Some(changes);
        let mut alive: BTreeMap<&Text, &Text> = BTreeMap::new();
        let mut found = Vec::new();
        let mut orphans: BTreeMap<Text, Timestamp> = BTreeMap::new();
        for instance in self.ec2.billed() {
            let Some(uid) = instance.tags.get(CLAIM_UID_TAG) else { continue };
            let claim = instance.tags.get(CLAIM_TAG);
            if let Some(first) = alive.insert(uid, &instance.id) {
                found.push(Violation::TwoInstances {
                    claim: claim.cloned().unwrap_or_default(),
                    first: first.clone(),
                    second: instance.id.clone(),
                });
            }
            let record = claim.and_then(|claim| self.store.claims.get(claim));
            if record.is_none_or(|own| own.record.claim.uid != *uid) {
                let since = self.orphans.get(&instance.id).copied().unwrap_or(self.now);
                if self.now.duration_since(since) > ORPHAN_GRACE {
                    let instance = instance.id.clone();
                    found.push(Violation::OrphanedInstance { instance });
                }
                orphans.insert(instance.id.clone(), since);
            }
        }
        self.orphans = orphans;
        for violation in found {
            self.violate(violation);
        }
    }

    /// Invariant 1: an instance that lives is not taken for gone, whatever EC2 shows of it.
    fn check_given_up(&mut self, record: &ClaimRecord) {
        let is_given_up =
            record.ending.as_ref().is_some_and(|own| own.reason == EndReason::InstanceGone);
        let Some(own) = record.instance.as_ref().filter(|_| is_given_up) else { return };
        let lives = |own: &Instance| own.is_billed() && own.reclaimed_at.is_none();
        if self.ec2.instance(&own.id).is_some_and(lives) {
            let (claim, instance) = (record.claim.name.clone(), own.id.clone());
            self.violate(Violation::LiveInstanceGivenUp { claim, instance });
        }
    }

    /// Invariant 6: a client token that has launched an instance is used again for the same claim
    /// only, and returns that instance.
    pub(crate) fn check_token(
        &mut self,
        request: &FleetRequest,
        first: &Text,
        answer: &Result<FleetAnswer, FleetError>,
    ) {
        let token = || request.client_token.clone();
        let launched_for =
            self.ec2.instance(first).and_then(|own| own.tags.get(CLAIM_TAG)).cloned();
        if let (Some(first), Some(second)) = (launched_for, request.tags.get(CLAIM_TAG).cloned())
            && first != second
        {
            self.violate(Violation::TokenReused { token: token(), first, second });
        }
        let second = answer.as_ref().ok().and_then(|answer| answer.instance.clone());
        if let Some(second) = second.filter(|second| second != first) {
            self.violate(Violation::TokenReused { token: token(), first: first.clone(), second });
        }
    }

    /// Invariant 3: limits of a NodePool, once one of its instances was launched. What goes does
    /// not count: its replacement stands beside it for a while.
    fn check_limits(&mut self, pool: &Text) {
        let Some(limits) = self.api.get::<NodePool>(pool).map(|own| own.limits.clone()) else {
            return;
        };
        let mut used = Resources::new();
        for instance in self.ec2.billed() {
            if instance.tags.get(label::NODE_POOL) == Some(pool) && !self.is_going(instance) {
                used.add(&instance.capacity);
                used.add(&Resources::new().with(NODES, 1));
            }
        }
        for (resource, limit) in limits.iter() {
            if used.get(resource) > limit {
                self.violate(Violation::LimitExceeded {
                    node_pool: pool.clone(),
                    resource: resource.clone(),
                    used: used.get(resource),
                    limit,
                });
            }
        }
    }

    /// Whether an instance's claim ends, or a command that has started takes its node.
    fn is_going(&self, instance: &Instance) -> bool {
        let claim = instance.tags.get(CLAIM_TAG).and_then(|name| self.store.claims.get(name));
        claim.is_some_and(|own| {
            own.record.ending.is_some() || own.record.claim.is(ConditionType::DisruptionReason)
        })
    }

    /// Invariant 5, as far as a launch shows it: the instance holds what was planned for it.
    fn check_size(&mut self, request: &LaunchRequest, instance: &Instance) {
        let Some(record) = self.store.claims.get(&request.claim) else { return };
        let lacking = record
            .record
            .claim
            .requests
            .iter()
            .find(|(name, amount)| *amount > instance.allocatable.get(name))
            .map(|(name, _)| name.clone());
        if let Some(resource) = lacking {
            self.violate(Violation::TooSmallInstance {
                claim: request.claim.clone(),
                instance_type: instance.pool.instance_type.clone(),
                resource,
            });
        }
    }

    /// No cycles: what consolidation launches costs less than what goes, once all of it is
    /// launched.
    fn check_replacement(&mut self, claim: &Text) {
        let replaces = self.store.claims.get(claim).and_then(|own| own.record.replaces.clone());
        let Some(command) = replaces.and_then(|id| self.store.commands.get(&id)) else { return };
        let command = &command.record;
        if command.disruption.reason != DisruptionReason::Underutilized {
            return;
        }
        // By its tag: a claim that was attempted anew has several tokens.
        let instance = |name: &Text| {
            let uid = self.store.claims.get(name).map(|own| &own.record.claim.uid);
            let is_its = |own: &&Instance| uid.is_some() && own.tags.get(CLAIM_UID_TAG) == uid;
            self.ec2.instances().find(is_its)
        };
        let of = |names: Vec<&Text>| -> Option<Vec<&Instance>> {
            names.into_iter().map(instance).collect()
        };
        let went = of(command.candidates.iter().collect());
        let came = of(command.disruption.replacements.iter().map(|own| &own.name).collect());
        let Some((went, came)) = went.zip(came) else { return };
        let (before, after) = if let Some(commitments) = self.commitments() {
            // Both run at this moment: what else does is the same with either.
            let without = |gone: &[&Instance]| {
                let gone: BTreeSet<Text> = gone.iter().map(|own| own.id.clone()).collect();
                let rest = self.ec2.billed().filter(|own| !gone.contains(&own.id));
                cost_beyond(&commitments, &rest.collect::<Vec<&Instance>>())
            };
            (without(&came), without(&went))
        } else {
            let price = |own: &[&Instance]| -> UsdPerHour { own.iter().map(|own| own.price).sum() };
            (price(&went), price(&came))
        };
        if after >= before {
            let command = command.id.clone();
            self.violate(Violation::DearerReplacement { command, before, after });
        }
    }

    /// Invariant 3: budgets and do-not-disrupt hold for a command that starts; `observed_at` is
    /// when the cluster was listed that it follows from.
    fn check_command(&mut self, command: &CommandRecord, observed_at: Timestamp) {
        let disruption = &command.disruption;
        if !disruption.reason.is_voluntary() {
            return;
        }
        for node in &disruption.nodes {
            self.check_consolidate_after(node, disruption.reason, observed_at);
            if let Some(refuses) = self.refuses_disruption(node) {
                self.violate(Violation::DoNotDisruptIgnored { node: node.clone(), refuses });
            }
        }
        let pools: BTreeSet<Text> =
            disruption.nodes.iter().filter_map(|node| self.pool_of(node)).collect();
        for pool in pools {
            self.check_budget(&pool, disruption.reason);
        }
    }

    /// Invariant 3: a node is consolidated only if no pod event happened for `consolidateAfter`
    /// before the cluster was listed.
    ///
    /// Events after the list, and pods that came and went between two lists, could not be known.
    fn check_consolidate_after(
        &mut self,
        node: &Text,
        reason: DisruptionReason,
        observed_at: Timestamp,
    ) {
        let is_consolidated =
            matches!(reason, DisruptionReason::Empty | DisruptionReason::Underutilized);
        let pool = self.pool_of(node);
        let pool = pool.and_then(|pool| self.api.get::<NodePool>(&pool));
        let after = pool.and_then(|own| own.disruption.consolidate_after.duration());
        let noted = self.record_of(node).and_then(|own| own.claim.status.last_pod_event);
        let event = self.pod_events.last_event(node, observed_at, noted);
        let (Some(after), Some(event)) = (after, event) else { return };
        let since_event = observed_at.duration_since(event);
        if is_consolidated && since_event < after {
            let (node, seconds_since_event) = (node.clone(), since_event.as_secs());
            self.violate(Violation::ConsolidatedTooSoon { node, reason, seconds_since_event });
        }
    }

    fn pool_of(&self, node: &Text) -> Option<Text> {
        let of_node = self.api.get::<Node>(node).and_then(|own| own.labels.get(label::NODE_POOL));
        let of_claim = || self.store.claims.get(node).and_then(|own| own.record.claim.node_pool());
        of_node.or_else(of_claim).cloned()
    }

    fn refuses_disruption(&self, node: &Text) -> Option<Text> {
        let is_refused = |annotations: &label::Labels| {
            annotations.get(label::DO_NOT_DISRUPT).is_some_and(|value| &**value == "true")
        };
        if self.api.get::<Node>(node).is_some_and(|own| is_refused(&own.annotations)) {
            return Some(format!("node {node}").into());
        }
        self.api
            .list::<Pod>()
            .filter(|pod| pod.node_name.as_ref() == Some(node) && pod.is_active())
            .find(|pod| pod.refuses_disruption(self.now))
            .map(|pod| format!("pod {}", pod.key).into())
    }

    /// Counts nodes of a pool that go by choice against what its budgets allow. One whose instance
    /// is ending has no pods left to disturb and counts no more, as in Karpenter, whether or not
    /// that was written down before lifecycle died.
    fn check_budget(&mut self, pool: &Text, reason: DisruptionReason) {
        let mut going: BTreeSet<Text> = BTreeSet::new();
        let mut total = 0;
        for record in self.store.claims.iter() {
            if record.claim.node_pool() != Some(pool)
                || record.claim.is(ConditionType::InstanceTerminating)
            {
                continue;
            }
            total += u32::from(self.is_initialized(record));
            let is_by_choice = record.ending.as_ref().is_some_and(
                |ending| matches!(ending.reason, EndReason::Disrupted(own) if own.is_voluntary()),
            );
            if is_by_choice && !self.has_instance_ended(record) {
                going.insert(record.claim.name.clone());
            }
        }
        for command in self.store.commands.iter() {
            if command.phase != CommandPhase::Proposed {
                let of_pool = |claim: &&Text| {
                    self.store
                        .claims
                        .get(claim)
                        .map(|own| &own.record)
                        .filter(|own| !self.has_instance_ended(own))
                        .filter(|own| !own.claim.is(ConditionType::InstanceTerminating))
                        .is_some_and(|own| own.claim.node_pool() == Some(pool))
                };
                going.extend(command.candidates.iter().filter(of_pool).cloned());
            }
        }
        let disrupting = u32::try_from(going.len()).unwrap_or(u32::MAX);
        let allowed = self
            .api
            .get::<NodePool>(pool)
            .and_then(|own| own.allowed_disruptions(reason, total, self.now));
        if let Some(allowed) = allowed.filter(|allowed| disrupting > *allowed) {
            let node_pool = pool.clone();
            self.violate(Violation::BudgetExceeded { node_pool, reason, disrupting, allowed });
        }
    }

    fn has_instance_ended(&self, record: &ClaimRecord) -> bool {
        let instance = record.instance.as_ref().and_then(|own| self.ec2.instance(&own.id));
        instance.is_some_and(|own| !own.is_billed())
    }

    /// As planning sees it: by its record, or by the label of its Node, which may be there a moment
    /// before.
    fn is_initialized(&self, record: &ClaimRecord) -> bool {
        let node =
            record.claim.status.node_name.as_ref().and_then(|name| self.api.get::<Node>(name));
        record.phase() >= ClaimPhase::Initialized
            || node.is_some_and(|node| {
                node.labels.get(label::INITIALIZED).is_some_and(|value| &**value == "true")
            })
    }

    /// Invariant 4: who is moved by choice has somewhere to go.
    ///
    /// Room that was there when the command was proposed may have gone to pods that users added
    /// since; no planner can know of them, so a command that they came after is not held against
    /// it.
    pub(crate) fn check_eviction(&mut self, key: &ObjectKey) {
        let Some(pod) = self.api.get::<Pod>(key) else { return };
        let Some(node) = pod.node_name.clone().filter(|_| pod.is_active()) else { return };
        if !pod.is_reschedulable() {
            return;
        }
        let Some(EndReason::Disrupted(reason)) = self.end_reason(&node) else { return };
        if !reason.is_voluntary() {
            return;
        }
        if let Some(owner) = pod.owner.clone() {
            let key = ObjectKey::new(pod.key.namespace.clone(), owner.name);
            self.moved.insert((owner.kind, key), self.now);
        }
        let Some(pod) = self.api.get::<Pod>(key) else { return };
        if self.has_new_demand(&node) {
            return;
        }
        let config = self.scheduler_config();
        let mut view = ClusterView::new(&self.api, &config);
        view.let_end(pod);
        let except = BTreeSet::from([node.clone()]);
        if !scheduler::has_room(&view, &SchedulingPod::of(pod), &except) {
            let pod = key.clone();
            self.violate(Violation::EvictedWithoutReplacement { pod, node, reason });
        }
    }

    /// Whether pods were added, other than in place of moved ones, since a Node's command was
    /// proposed.
    fn has_new_demand(&self, node: &Text) -> bool {
        let Some(proposed) = self.disrupting.get(node) else { return false };
        let is_new = |pod: &Pod| {
            pod.created.is_some_and(|made| made > *proposed)
                && !pod.is_daemon()
                && !self.is_successor_of_moved(pod)
        };
        self.api.list::<Pod>().any(is_new)
    }

    /// Invariant 3: a budget is passed over only where a deadline forces it.
    pub(crate) fn check_forced_deletion(&mut self, key: &ObjectKey) {
        let Some(pod) = self.api.get::<Pod>(key) else { return };
        let guard = self
            .api
            .list::<PodDisruptionBudget>()
            .find(|budget| budget.guards(pod) && budget.disruptions_allowed == Some(0));
        let Some(budget) = guard.map(|budget| budget.key.to_string().into()) else { return };
        let has_deadline = pod.node_name.as_ref().is_some_and(|node| {
            self.record_of(node)
                .and_then(|record| record.ending.as_ref())
                .is_some_and(|ending| ending.deadline.is_some())
        });
        if !has_deadline {
            self.violate(Violation::PdbBypassed { pod: key.clone(), budget });
        }
    }

    /// The claim of a Node.
    pub(crate) fn record_of(&self, node: &Text) -> Option<&ClaimRecord> {
        self.store.claims.iter().find(|own| own.claim.status.node_name.as_ref() == Some(node))
    }

    fn end_reason(&self, node: &Text) -> Option<EndReason> {
        self.record_of(node)?.ending.as_ref().map(|ending| ending.reason)
    }
}

fn none_left(insufficient: &[CapacityPool]) -> Option<Text> {
    let shown: Vec<String> = insufficient.iter().map(ToString::to_string).collect();
    (!shown.is_empty()).then(|| format!("EC2 has no {} left", shown.join(", ")).into())
}

#[cfg(test)]
mod tests;
