//! Writes the history of a run: reads what was added to the timeline and to the log of watches
//! since the last look, so that a look costs as much as has changed.

use std::collections::{BTreeMap, BTreeSet};

use domain::label;
use domain::node::Node;
use domain::pod::{ObjectKey, Pod, PodPhase};
use domain::resource::{CPU, MEMORY, Resources};
use domain::{SignedDuration, Text, Timestamp};

use super::bound;
use super::clockwork::Clockwork;
use crate::api::{Kind, WatchEvent};
use crate::ec2::Instance;
use crate::history::{Bound, Came, History, HowEnded, NodeLife, PodLife, Sample};
use crate::ports::CLAIM_TAG;
use crate::report::{Entry, Happening};
use crate::scheduler;
use crate::world::World;

/// Pods for which bounds are worked out in a run, all bounds together: a plan of so many takes
/// some seconds.
const BOUND_PODS: usize = 40_000;
/// How many bounds there are at the least and at the most.
const BOUNDS: [usize; 2] = [4, 96];

/// How often the least that pods cost is worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BoundTerms {
    /// At the start: the pods stay the same.
    Once,
    /// Whenever pods have come or gone, within a run of this length.
    Within(SignedDuration),
}

/// What watches a run for its history.
pub(super) struct Historian {
    terms: BoundTerms,
    history: History,
    /// The resource version up to which writes were looked at.
    seen: u64,
    /// Entries of the timeline that were looked at.
    entries: usize,
    /// Nodes that are there or on their way: by Node, by claim and by instance.
    by_node: BTreeMap<Text, usize>,
    by_claim: BTreeMap<Text, usize>,
    by_instance: BTreeMap<Text, usize>,
    /// Pods that claims were made for.
    asked_for: BTreeMap<Text, usize>,
    /// What claims replace, and why that goes.
    replaces: BTreeMap<Text, (Vec<Text>, Text)>,
    /// Pods that are there, with their uid.
    live: BTreeMap<ObjectKey, (Text, usize)>,
    /// Pods without a node, and on nodes; those of DaemonSets left out.
    pending: BTreeSet<usize>,
    bound: BTreeSet<usize>,
    evicted: BTreeSet<ObjectKey>,
    lost: BTreeSet<ObjectKey>,
    /// Nodes that are tainted because they are to go.
    tainted: BTreeSet<usize>,
    /// Pods came or went since the last bound.
    is_other_demand: bool,
}

impl Historian {
    pub(super) fn new(terms: BoundTerms) -> Self {
        Self {
            terms,
            history: History::default(),
            seen: 0,
            entries: 0,
            by_node: BTreeMap::new(),
            by_claim: BTreeMap::new(),
            by_instance: BTreeMap::new(),
            asked_for: BTreeMap::new(),
            replaces: BTreeMap::new(),
            live: BTreeMap::new(),
            pending: BTreeSet::new(),
            bound: BTreeSet::new(),
            evicted: BTreeSet::new(),
            lost: BTreeSet::new(),
            tainted: BTreeSet::new(),
            is_other_demand: false,
        }
    }

    /// Notes what has changed since the last call.
    pub(super) fn observe(&mut self, world: &World, clockwork: &Clockwork) {
        let entries = world.journal.entries();
        // Pods of one moment may have been added to the last entry that was looked at.
        for entry in &entries[self.entries.saturating_sub(1).min(entries.len())..] {
            self.note_displaced(&entry.what);
        }
        for entry in &entries[self.entries.min(entries.len())..] {
            self.note(world, entry);
        }
        self.entries = entries.len();
        let mut looked_at: BTreeSet<(Kind, &Text)> = BTreeSet::new();
        for event in world.api().events_after(self.seen) {
            if looked_at.insert((event.kind, &event.key)) {
                self.changed(world, event);
            }
        }
        self.seen = world.api().revision();
        let sample = Sample {
            at: world.now(),
            hourly: world.ec2().hourly(),
            pending: self.pending.len(),
            bound: self.bound.len(),
        };
        let is_same = |last: &Sample| Sample { at: sample.at, ..*last } == sample;
        if !self.history.samples.last().is_some_and(is_same) {
            self.history.samples.push(sample);
        }
        self.note_bound(world, clockwork);
    }

    fn note_displaced(&mut self, what: &Happening) {
        match what {
            Happening::PodsEvicted { pods, .. } => self.evicted.extend(pods.iter().cloned()),
            Happening::PodsLost { pods, .. } => self.lost.extend(pods.iter().cloned()),
            _ => {}
        }
    }

    fn note(&mut self, world: &World, Entry { at, what, why }: &Entry) {
        let at = *at;
        match what {
            Happening::NodeClaimCreated { claim, pods, .. } => {
                self.asked_for.insert(claim.clone(), *pods);
            }
            Happening::Launched { claim, instance, .. } => self.launched(world, claim, instance),
            Happening::NodeJoined { node, .. } => {
                if let Some(index) = self.of_node(world, node) {
                    self.history.nodes[index].joined.get_or_insert(at);
                }
            }
            Happening::NodeInitialized(node) => {
                if let Some(life) = self.life(node) {
                    life.ready.get_or_insert(at);
                }
            }
            Happening::Disrupting { reason, nodes, replacements } => {
                let why = why.as_ref().map(|why| format!("{reason}: {why}"));
                let why: Text = why.unwrap_or_else(|| reason.to_string()).into();
                for node in nodes {
                    if let Some(life) = self.life(node) {
                        life.went = Some(why.clone());
                    }
                }
                for claim in replacements {
                    let replaced = (nodes.clone(), reason.as_str().into());
                    self.replaces.insert(claim.clone(), replaced);
                }
            }
            Happening::InterruptionWarning { node, gone_in } => {
                let went = format!("EC2 took it back, {} s ahead", gone_in.as_secs());
                self.goes_because(node, at, Some(&went.into()));
            }
            Happening::Draining(node) => self.goes_because(node, at, why.as_ref()),
            Happening::NodeRemoved { node, .. } => self.gone(node, at),
            Happening::InstanceEnded { claim, .. } => {
                if let Some(index) = self.by_claim.remove(claim) {
                    let life = &mut self.history.nodes[index];
                    life.gone.get_or_insert(at);
                    life.went.get_or_insert("its Node never joined".into());
                }
            }
            _ => {}
        }
    }

    fn launched(&mut self, world: &World, claim: &Text, id: &Text) {
        let Some(instance) = world.ec2().instance(id) else { return };
        let index = self.history.nodes.len();
        self.by_claim.insert(claim.clone(), index);
        self.by_instance.insert(id.clone(), index);
        self.history.nodes.push(NodeLife {
            claim: Some(claim.clone()),
            came: Came::Unknown,
            ..life_of(instance, claim)
        });
    }

    /// The node of a name, joined by now.
    fn of_node(&mut self, world: &World, name: &Text) -> Option<usize> {
        if let Some(index) = self.by_node.get(name) {
            return Some(*index);
        }
        let node = world.api().get::<Node>(name)?;
        let instance = world.instance_of(node);
        let known = instance.and_then(|own| self.by_instance.get(&own.id)).copied();
        let index = known.unwrap_or_else(|| {
            self.history.nodes.push(life_of_applied(node, instance));
            self.history.nodes.len() - 1
        });
        let life = &mut self.history.nodes[index];
        life.name = name.clone();
        (life.cpu, life.memory) = amounts(&node.allocatable);
        self.by_node.insert(name.clone(), index);
        Some(index)
    }

    fn life(&mut self, name: &Text) -> Option<&mut NodeLife> {
        let index = self.by_node.get(name).or_else(|| self.by_claim.get(name))?;
        self.history.nodes.get_mut(*index)
    }

    fn goes_because(&mut self, node: &Text, at: Timestamp, why: Option<&Text>) {
        if let Some(life) = self.life(node) {
            life.draining.get_or_insert(at);
            if life.went.is_none() {
                life.went = why.cloned();
            }
        }
    }

    fn gone(&mut self, node: &Text, at: Timestamp) {
        if let Some(life) = self.life(node) {
            life.gone.get_or_insert(at);
        }
        if let Some(claim) = self.life(node).and_then(|life| life.claim.clone()) {
            self.by_claim.remove(&claim);
        }
        self.by_node.remove(node);
    }

    fn changed(&mut self, world: &World, event: &WatchEvent) {
        match event.kind {
            Kind::Node => self.node_changed(world, &event.key),
            Kind::Pod => {
                let Some((namespace, name)) = event.key.split_once('/') else { return };
                self.pod_changed(world, &ObjectKey::new(namespace, name));
            }
            _ => {}
        }
    }

    fn node_changed(&mut self, world: &World, name: &Text) {
        let Some(node) = world.api().get::<Node>(name) else {
            return self.gone(name, world.now());
        };
        let Some(index) = self.of_node(world, name) else { return };
        let life = &mut self.history.nodes[index];
        if life.claim.is_none() && !node.is_not_ready() {
            life.ready.get_or_insert(world.now());
        }
        if node.deleted.is_some() || node.is_disrupted() {
            self.tainted.insert(index);
            life.draining.get_or_insert(world.now());
        } else if self.tainted.remove(&index) {
            // A command was given up: the node stays.
            (life.draining, life.went) = (None, None);
        }
    }

    fn pod_changed(&mut self, world: &World, key: &ObjectKey) {
        let now = world.now();
        let pod = world.api().get::<Pod>(key);
        if let Some((uid, index)) = self.live.get(key).cloned()
            && pod.is_none_or(|pod| pod.uid != uid || pod.is_terminal())
        {
            let ended = pod.filter(|pod| pod.uid == uid).map(|pod| pod.phase);
            let how = if self.lost.remove(key) {
                HowEnded::Lost
            } else if self.evicted.remove(key) {
                HowEnded::Evicted
            } else {
                match ended {
                    Some(PodPhase::Failed) => HowEnded::Failed,
                    Some(_) => HowEnded::Succeeded,
                    None => HowEnded::Deleted,
                }
            };
            self.history.pods[index].ended = Some((now, how));
            self.is_other_demand |= self.pending.remove(&index) | self.bound.remove(&index);
            self.live.remove(key);
        }
        let Some(pod) = pod.filter(|pod| !pod.is_terminal()) else { return };
        let index = match self.live.get(key) {
            Some((_, index)) => *index,
            None => self.made(pod, now),
        };
        let is_counted = !pod.is_daemon() && !pod.is_static();
        if is_counted && scheduler::is_waiting(pod) {
            self.pending.insert(index);
        } else {
            self.pending.remove(&index);
        }
        if self.history.pods[index].bound.is_none()
            && let Some(node) = &pod.node_name
            && let Some(node) = self.of_node(world, node)
        {
            self.history.pods[index].bound = Some((now, node));
            if is_counted {
                self.bound.insert(index);
            }
        }
        if let Some(why) = world.unschedulable.get(key) {
            self.history.pods[index].unschedulable = Some(why.clone());
        }
    }

    fn made(&mut self, pod: &Pod, now: Timestamp) -> usize {
        let index = self.history.pods.len();
        let (cpu, memory) = amounts(&pod.spec.requests);
        self.history.pods.push(PodLife {
            key: pod.key.clone(),
            is_daemon: pod.is_daemon() || pod.is_static(),
            cpu,
            memory,
            created: pod.created.unwrap_or(now),
            bound: None,
            ended: None,
            unschedulable: None,
        });
        self.live.insert(pod.key.clone(), (pod.uid.clone(), index));
        self.is_other_demand |= !pod.is_daemon() && !pod.is_static();
        index
    }

    fn note_bound(&mut self, world: &World, clockwork: &Clockwork) {
        let pods = self.pending.len() + self.bound.len();
        let bounds = &mut self.history.bounds;
        if !self.is_other_demand {
            return;
        }
        let now = world.now();
        match self.terms {
            BoundTerms::Once if !bounds.is_empty() || pods == 0 => return,
            BoundTerms::Once => {}
            BoundTerms::Within(length) => {
                let count = (BOUND_PODS / pods.max(1)).clamp(BOUNDS[0], BOUNDS[1]);
                let interval = length / i32::try_from(count).unwrap_or(i32::MAX);
                self.history.bound_interval = self.history.bound_interval.max(interval);
                if bounds.last().is_some_and(|last| now.duration_since(last.at) < interval) {
                    return;
                }
            }
        }
        self.is_other_demand = false;
        let least = bound::least(world, &clockwork.core(), clockwork.settings());
        bounds.push(Bound { at: now, hourly: least.hourly });
    }

    pub(super) fn into_history(mut self) -> History {
        for life in &mut self.history.nodes {
            let Some(claim) = &life.claim else { continue };
            life.came = match (self.replaces.remove(claim), self.asked_for.get(claim)) {
                (Some((nodes, reason)), _) => Came::Replaces(nodes, reason),
                (None, Some(pods @ 1..)) => Came::ForPods(*pods),
                (None, _) => Came::Unknown,
            };
        }
        self.history
    }
}

/// CPU in millicores and memory in bytes.
fn amounts(resources: &Resources) -> (i64, i64) {
    (resources.get(CPU), resources.get(MEMORY))
}

fn life_of(instance: &Instance, name: &Text) -> NodeLife {
    let (cpu, memory) = amounts(&instance.allocatable);
    NodeLife {
        name: name.clone(),
        claim: None,
        node_pool: instance.tags.get(label::NODE_POOL).cloned(),
        instance_type: instance.pool.instance_type.clone(),
        zone: instance.pool.zone.clone(),
        capacity_type: Some(instance.capacity_type()),
        price: Some(instance.price),
        cpu,
        memory,
        launched: instance.launched,
        joined: None,
        ready: None,
        draining: None,
        gone: None,
        came: Came::Applied,
        went: None,
    }
}

/// A node that was there, or that somebody applied.
fn life_of_applied(node: &Node, instance: Option<&Instance>) -> NodeLife {
    let of = |key: &str| node.labels.get(key).cloned();
    let since = node.created.or(instance.map(|own| own.launched));
    let launched = since.unwrap_or(Timestamp::UNIX_EPOCH);
    let own = instance.map(|own| {
        let claim = own.tags.get(CLAIM_TAG).unwrap_or(&own.id);
        life_of(own, claim)
    });
    let (cpu, memory) = amounts(&node.allocatable);
    NodeLife {
        name: node.name.clone(),
        claim: None,
        node_pool: of(label::NODE_POOL),
        instance_type: of(label::INSTANCE_TYPE).unwrap_or_default(),
        zone: of(label::ZONE).unwrap_or_default(),
        capacity_type: own
            .as_ref()
            .and_then(|own| own.capacity_type)
            .or_else(|| domain::instance_type::CapacityType::parse(&of(label::CAPACITY_TYPE)?)),
        price: own.and_then(|own| own.price),
        cpu,
        memory,
        launched,
        joined: Some(launched),
        ready: (!node.is_not_ready()).then_some(launched),
        draining: None,
        gone: None,
        came: Came::Applied,
        went: None,
    }
}
