//! Instances and their Nodes: boot, register, become ready, end.

use controllers::interruption::NoticeKind;
use controllers::ports::cloud::{InstanceStatus, StatusCheck};
use domain::instance_type::CapacityType;
use domain::label::{self, Labels};
use domain::node::{Node, NodeCondition};
use domain::node_claim::ConditionStatus;
use domain::node_pool::NodePool;
use domain::pod::Pod;
use domain::spot::{InterruptionCost, PodInterruption, SpotPolicy};
use domain::taint::{Taint, TaintEffect};
use domain::{SignedDuration, Text};

use super::World;
use crate::agenda::Due;
use crate::ec2::{
    CapacityPool, FleetAnswer, FleetError, FleetRequest, Instance, InstanceState, Reclaim,
    Registration,
};
use crate::report::Happening;

/// From launch to the Node's joining, where the world's options do not say. With [`READY_AFTER`] it
/// is 40 to 65 seconds to a ready Node, which is what AL2023 nodes on EKS take.
const JOINS_AFTER: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(35), SignedDuration::from_secs(55));
/// From joining to Ready: the network plugin starts.
const READY_AFTER: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(5), SignedDuration::from_secs(10));
/// From Ready to the end of startup taints: whatever removes them needs the network first.
const STARTUP_TAINTS_LAST: SignedDuration = SignedDuration::from_secs(5);
/// From the call to the end of an instance.
const ENDS_AFTER: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(5), SignedDuration::from_secs(20));
/// From an instance's end to the cloud controller's noticing.
const FORGOTTEN_AFTER: SignedDuration = SignedDuration::from_secs(10);
/// Between EC2's warning and its taking a spot instance back.
pub(crate) const SPOT_NOTICE: SignedDuration = SignedDuration::from_mins(2);

/// How long an instance lasts that EC2 has no room for after all.
const EARLY_END: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(1), SignedDuration::from_secs(15));

const NOT_READY: &str = "node.kubernetes.io/not-ready";

impl World {
    /// Requests an instance of EC2; its Node joins after a while.
    pub(crate) fn launch(&mut self, request: &FleetRequest) -> Result<FleetAnswer, FleetError> {
        let first = self.ec2.launched_for(&request.client_token).cloned();
        let answer = self.ec2.create_fleet(request, self.now);
        if let Some(first) = &first {
            self.check_token(request, first, &answer);
        }
        // The instance boots whether or not its caller hears of it.
        if first.is_none()
            && let Some(id) = self.ec2.launched_for(&request.client_token).cloned()
        {
            let drawn = self.seed.draw("boot", &id).between(JOINS_AFTER.0, JOINS_AFTER.1);
            let fixed = self.options.boot.map(|boot| boot - READY_AFTER.0);
            let delay = fixed.unwrap_or(drawn).max(SignedDuration::ZERO);
            self.agenda.add(self.now + delay, Due::NodeJoins { instance: id.clone() });
            self.draw_interruption(&id);
            if self.ec2.ends_early(&id) {
                let after = self.seed.draw("early-end", &id).between(EARLY_END.0, EARLY_END.1);
                self.agenda.add(self.now + after, Due::InstanceEndsEarly { instance: id });
            }
        }
        answer
    }

    /// Draws when EC2 takes a spot instance back, if it does so by itself: the times between events
    /// that come at a rate are exponentially distributed.
    fn draw_interruption(&mut self, id: &Text) {
        const STEPS: f64 = 9_007_199_254_740_992.0;
        let Some(instance) = self.ec2.instance(id) else { return };
        let is_spot = instance.pool.capacity_type == CapacityType::Spot;
        let rule = self.spot_interruptions.iter().find(|own| own.filter.matches(instance));
        let Some(rate) = rule.filter(|_| is_spot).map(|own| own.per_node_hour) else { return };
        #[expect(clippy::cast_precision_loss, reason = "53 bits are what a float holds")]
        let uniform = (self.seed.draw("interruption", id).next_u64() >> 11) as f64 / STEPS;
        let hours = -(1.0 - uniform).ln() / rate;
        // What lies beyond a year lies beyond any scenario.
        if hours < 24.0 * 366.0 {
            let after = SignedDuration::from_secs_f64(hours * 3600.0);
            let due = Due::InterruptionIsDrawn { instance: id.clone() };
            self.agenda.add(self.now + after, due);
        }
    }

    pub(super) fn node_joins(&mut self, id: &Text) {
        let now = self.now;
        let Some(instance) = self.ec2.instance(id).filter(|own| own.is_billed()).cloned() else {
            return;
        };
        if self.images.iter().any(|own| !own.joins && own.id == instance.image) {
            return;
        }
        self.ec2.set_state(id, InstanceState::Running);
        let node = self.node_for(&instance);
        let name = node.name.clone();
        if self.api.create(node, now).is_err() {
            return;
        }
        let after = now.duration_since(instance.launched);
        self.journal.add(now, Happening::NodeJoined { node: name.clone(), after });
        let drawn = self.seed.draw("ready", id).between(READY_AFTER.0, READY_AFTER.1);
        let delay = self.options.boot.map_or(drawn, |boot| boot.min(READY_AFTER.0));
        self.agenda.add(now + delay, Due::NodeBecomesReady { node: name });
    }

    fn node_for(&self, instance: &Instance) -> Node {
        let Registration { node_name, labels, taints } = &instance.registration;
        let mut taints = taints.clone();
        taints.push(Taint {
            key: NOT_READY.into(),
            value: "".into(),
            effect: TaintEffect::NoSchedule,
        });
        Node {
            name: node_name.clone(),
            uid: "".into(),
            created: None,
            deleted: None,
            labels: self.labels_for(instance, labels),
            annotations: Labels::new(),
            taints,
            provider_id: Some(instance.provider_id()),
            capacity: instance.capacity.clone(),
            allocatable: instance.allocatable.clone(),
            conditions: vec![NodeCondition {
                kind: "Ready".into(),
                status: ConditionStatus::False,
                changed: Some(self.now),
            }],
        }
    }

    /// What user data says, and what the kubelet and the cloud controller find out by themselves.
    fn labels_for(&self, instance: &Instance, registered: &Labels) -> Labels {
        let types = self.ec2.types();
        let mut labels = registered.clone();
        let own = types.default.iter().find(|own| own.name == instance.pool.instance_type);
        for key in [label::ARCH, label::OS] {
            if let Some([value, ..]) = own.and_then(|own| own.labels.get(key)).map(Vec::as_slice) {
                labels.entry(key.into()).or_insert_with(|| value.clone());
            }
        }
        let zone = instance.pool.zone.clone();
        if let Some(zone_id) = types.zone_ids.get(&zone) {
            labels.insert(label::ZONE_ID.into(), zone_id.clone());
        }
        if let Some(region) = &types.region {
            labels.insert(label::REGION.into(), region.clone());
        }
        labels.insert(label::ZONE.into(), zone);
        labels.insert(label::INSTANCE_TYPE.into(), instance.pool.instance_type.clone());
        labels.insert(label::HOSTNAME.into(), instance.registration.node_name.clone());
        labels
    }

    pub(super) fn node_becomes_ready(&mut self, name: &Text) {
        let now = self.now;
        let node = self.api.get::<Node>(name);
        let instance = node.and_then(|node| self.instance_of(node));
        if !instance.is_some_and(Instance::is_billed) {
            return;
        }
        self.set_ready(name, ConditionStatus::True);
        self.api.alter::<Node>(name, |node| {
            node.taints.retain(|taint| &*taint.key != NOT_READY);
        });
        self.agenda.add(now + STARTUP_TAINTS_LAST, Due::StartupTaintsGo { node: name.clone() });
    }

    fn set_ready(&mut self, name: &Text, status: ConditionStatus) {
        let now = self.now;
        self.api.alter::<Node>(name, |node| {
            if let Some(ready) = node.conditions.iter_mut().find(|own| &*own.kind == "Ready")
                && ready.status != status
            {
                ready.status = status;
                ready.changed = Some(now);
            }
        });
    }

    /// The agents that NodePools' startup taints wait for have done their work.
    pub(super) fn startup_taints_go(&mut self, name: &Text) {
        let Some(node) = self.api.get::<Node>(name) else { return };
        let Some(pool) =
            node.labels.get(label::NODE_POOL).and_then(|pool| self.api.get::<NodePool>(pool))
        else {
            return;
        };
        let startup = pool.template.startup_taints.clone();
        self.api.alter::<Node>(name, |node| {
            node.taints.retain(|taint| !startup.contains(taint));
        });
    }

    /// EC2 announces that it takes an instance back. False if there is no such instance to take.
    pub fn interrupt(&mut self, id: &Text) -> bool {
        let reclaimed_at = self.now + SPOT_NOTICE;
        let node = match self.ec2.reclaim(id, reclaimed_at) {
            None => return false,
            Some(Reclaim::Announced) => return true,
            Some(Reclaim::New(node)) => node,
        };
        self.count_interruption(id, &node);
        self.announcements.push((id.clone(), NoticeKind::SpotInterruption));
        self.agenda.add(reclaimed_at, Due::InstanceIsReclaimed { instance: id.clone() });
        let warning = Happening::InterruptionWarning { node, gone_in: SPOT_NOTICE };
        self.journal.add(self.now, warning);
        true
    }

    /// Adds up what an interruption costs, as the NodePool and the pods on the node say it: the
    /// longest of their times, and the dollars of each.
    fn count_interruption(&mut self, id: &Text, node: &Text) {
        let Some(instance) = self.ec2.instance(id) else { return };
        let price = instance.price;
        let labels = &instance.registration.labels;
        let pool = labels.get(label::NODE_POOL).and_then(|name| self.api.get::<NodePool>(name));
        let policy = pool.map(|pool| SpotPolicy::of(&pool.annotations)).unwrap_or_default();
        let is_lost = |pod: &&Pod| {
            pod.node_name.as_ref() == Some(node) && pod.is_active() && !pod.is_daemon()
        };
        let pods = self.api.list::<Pod>().filter(is_lost);
        let mut costs: Vec<InterruptionCost> =
            pods.filter_map(|pod| policy.cost_of(PodInterruption::of(pod, self.now))).collect();
        if costs.is_empty() {
            // A node without pods costs its time all the same.
            costs.extend(policy.cost.filter(|own| matches!(own, InterruptionCost::NodeTime(_))));
        }
        let (mut time, mut dollars) = (SignedDuration::ZERO, 0_i128);
        for cost in costs {
            match cost {
                InterruptionCost::NodeTime(own) => time = time.max(own),
                InterruptionCost::PerPod(nanos) => dollars += i128::from(nanos),
            }
        }
        let nano_usd = i128::from(price.nanos()) * i128::from(time.as_secs()) / 3600 + dollars;
        let all = &mut self.interruptions;
        all.count = all.count.saturating_add(1);
        all.hourly += price;
        all.nano_usd += nano_usd;
    }

    /// EC2 recommends to replace a spot instance.
    pub(crate) fn recommend_rebalance(&mut self, id: &Text) {
        self.announcements.push((id.clone(), NoticeKind::RebalanceRecommendation));
        self.announced(id, "EC2 recommends to replace");
    }

    /// AWS Health announces that an instance is retired after a while; then it ends.
    pub(crate) fn schedule_retirement(&mut self, id: &Text, gone_in: SignedDuration) {
        let at = self.now + gone_in;
        self.announcements.push((id.clone(), NoticeKind::ScheduledChange { starts: Some(at) }));
        self.agenda.add(at, Due::InstanceIsReclaimed { instance: id.clone() });
        self.announced(id, &format!("AWS Health retires in {} s", gone_in.as_secs()));
    }

    /// The checks of an instance begin to fail.
    pub(crate) fn impair(&mut self, id: &Text) {
        let status = InstanceStatus {
            instance_id: id.clone(),
            impaired: vec![(StatusCheck::System, self.now)],
            scheduled: Vec::new(),
        };
        self.statuses.insert(id.clone(), status);
        self.announced(id, "system checks fail for");
    }

    fn announced(&mut self, id: &Text, what: &str) {
        let node = self.node_of_instance(id).map_or_else(|| id.clone(), |node| node.name.clone());
        let announced = Happening::Announced { node, what: what.into() };
        self.journal.add(self.now, announced);
    }

    pub(super) fn instance_is_reclaimed(&mut self, id: &Text) {
        if self.ec2.instance(id).is_some_and(Instance::is_billed) {
            self.end_instance(id);
        }
    }

    pub(super) fn instance_ends_early(&mut self, id: &Text) {
        if self.ec2.instance(id).is_some_and(Instance::is_billed) {
            self.announcements.push((id.clone(), NoticeKind::Terminated));
            self.announced(id, "EC2 has no room, and ends");
            self.end_instance(id);
        }
    }

    /// Terminates an instance. False if there is none by that id.
    pub(crate) fn terminate(&mut self, id: &Text) -> bool {
        let was_billed = self.ec2.instance(id).is_some_and(Instance::is_billed);
        let is_known = self.ec2.terminate(id);
        if was_billed {
            self.ec2.note_end(id, self.now);
            let delay = self.seed.draw("end", id).between(ENDS_AFTER.0, ENDS_AFTER.1);
            self.agenda.add(self.now + delay, Due::InstanceEnds { instance: id.clone() });
            if let Some(node) = self.node_of_instance(id).map(|node| node.name.clone()) {
                self.set_ready(&node, ConditionStatus::Unknown);
            }
        }
        is_known
    }

    pub(super) fn instance_ends(&mut self, id: &Text) {
        self.end_instance(id);
    }

    fn end_instance(&mut self, id: &Text) {
        self.ec2.set_state(id, InstanceState::Terminated);
        self.ec2.note_end(id, self.now);
        self.statuses.remove(id);
        if let Some(node) = self.node_of_instance(id).map(|node| node.name.clone()) {
            self.set_ready(&node, ConditionStatus::Unknown);
            self.agenda.add(self.now + FORGOTTEN_AFTER, Due::NodeIsForgotten { node });
        }
    }

    /// Requests a Node's deletion; our finalizer holds it.
    pub(crate) fn ask_node_deletion(&mut self, name: &Text) {
        let now = self.now;
        if self.node_finalizers.contains(name) {
            self.api.alter::<Node>(name, |node| {
                node.deleted.get_or_insert(now);
            });
        } else {
            self.remove_node(name);
        }
    }

    pub(crate) fn remove_node(&mut self, name: &Text) {
        self.node_finalizers.remove(name);
        let Ok(node) = self.api.remove::<Node>(name) else { return };
        let lived = node.created.map_or(SignedDuration::ZERO, |made| self.now.duration_since(made));
        let price = self.instance_of(&node).map(|own| own.price).unwrap_or_default();
        self.journal.add(self.now, Happening::NodeRemoved { node: name.clone(), price, lived });
    }

    /// The instance that a Node runs on.
    pub(crate) fn instance_of(&self, node: &Node) -> Option<&Instance> {
        let id = node.provider_id.as_deref()?.rsplit('/').next()?;
        self.ec2.instance(id)
    }

    /// Puts a Node that a scenario brings along on an instance of its own, priced by its labels. A
    /// Node whose type, zone and capacity type the catalogue does not know gets none and costs
    /// nothing.
    pub fn adopt_node(&mut self, mut node: Node) {
        let label = |key: &str| node.labels.get(key).cloned();
        let pool =
            label(label::INSTANCE_TYPE).zip(label(label::ZONE)).map(|(own, zone)| CapacityPool {
                instance_type: own,
                zone,
                capacity_type: label(label::CAPACITY_TYPE)
                    .or_else(|| {
                        label("eks.amazonaws.com/capacityType")
                            .map(|own| own.to_lowercase().replace('_', "-").into())
                    })
                    .and_then(|own| CapacityType::parse(&own))
                    .unwrap_or(CapacityType::OnDemand),
            });
        let known = self.api.get::<Node>(&node.name).is_some();
        let class = label(label::NODE_CLASS).unwrap_or_default();
        let offer = pool.and_then(|pool| {
            let (own, offering) = self.ec2.offering(&class, &pool)?;
            Some((pool, own.clone(), offering.price))
        });
        if let Some((pool, own, price)) = offer.filter(|_| !known) {
            let id: Text = match node.provider_id.as_deref().and_then(|id| id.rsplit('/').next()) {
                Some(id) => id.into(),
                None => format!("i-{}", self.seed.draw("adopted", &node.name).hex(17)).into(),
            };
            let instance = Instance {
                id,
                pool,
                price,
                launched: node.created.unwrap_or(self.now),
                state: InstanceState::Running,
                reclaimed_at: None,
                tags: Labels::new(),
                image: "".into(),
                reservation: None,
                capacity: own.capacity.clone(),
                allocatable: own.allocatable.clone(),
                registration: Registration {
                    node_name: node.name.clone(),
                    ..Registration::default()
                },
            };
            node.provider_id.get_or_insert_with(|| instance.provider_id());
            if node.allocatable.is_empty() {
                node.capacity = own.capacity;
                node.allocatable = own.allocatable;
            }
            self.ec2.adopt(instance);
        }
        self.apply(node);
    }
}
