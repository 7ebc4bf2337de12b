//! A region with clusters, and a queue as SQS has them.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use controllers::core::Core;
use controllers::interruption::{Clusters, NoticeOutcome, Terms};
use controllers::ports::{ClaimPlace, ClaimStore, ErrorKind, PortError};
use controllers::record::claim::{ClaimPhase, ClaimRecord};
use controllers::record::fuses::Urgency;
use controllers::run::Run;
use controllers::safeguards::Safeguards;
use controllers::{lifecycle, provisioning};
use domain::pod::Pod;
use domain::settings::Settings;
use domain::{SignedDuration, Text, Timestamp};
use interruption::{HandledBatch, SqsEvent, handle_batch};
use pollster::block_on;
use serde_json::json;
use simulation::ec2::{Faults, Supply};
use simulation::ports::{SharedWorld, Worlds};
use simulation::scenario::{Action, CatalogChoice, Scenario};
use simulation::seed::{Draw, Seed};
use simulation::world::{World, WorldOptions};

const CLUSTERS: usize = 5;
const NODES: usize = 30;
/// Of the nodes of each cluster.
const SAID_ABOUT: usize = 24;
/// After so many deliveries a message is a dead letter.
const RECEIVES_MAX: u32 = 5;
const VISIBLE_AGAIN_AFTER: SignedDuration = SignedDuration::from_secs(45);
const BATCH_MAX: u64 = 10;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Spot,
    Retirement,
    Stopped,
    Rebalance,
    Garbage,
    Unknown,
}

/// A message as it was sent.
pub(crate) struct Sent {
    pub(crate) kind: Kind,
    pub(crate) instance: Option<String>,
    pub(crate) is_duplicate: bool,
    body: String,
}

pub(crate) struct Region {
    seed: Seed,
    settings: Settings,
    safeguards: Safeguards,
    clusters: Vec<(Text, SharedWorld)>,
    said: Timestamp,
    fates: BTreeMap<String, Kind>,
    /// Instances whose claim cannot be looked up.
    pub(crate) poisoned: BTreeSet<String>,
}

fn scenario() -> Scenario {
    let text = "
apiVersion: outrigger.dev/v1alpha1
kind: Scenario
metadata: {name: soak}
spec:
  duration: 1m
  catalog:
    apiVersion: outrigger.dev/v1alpha1
    kind: InstanceCatalog
    metadata: {name: one-type}
    spec:
      region: us-east-1
      instanceTypes:
      - name: one
        architecture: amd64
        operatingSystems: [linux]
        capacity: {cpu: '2', memory: 8Gi, pods: '20'}
        allocatable: {cpu: '2', memory: 8Gi, pods: '20'}
        offerings:
        - {zone: us-east-1a, capacityType: spot, hourlyUsd: 0.03, available: true}
        - {zone: us-east-1b, capacityType: spot, hourlyUsd: 0.03, available: true}
        - {zone: us-east-1a, capacityType: on-demand, hourlyUsd: 0.1, available: true}
  timeline:
  - apply:
    - apiVersion: karpenter.k8s.aws/v1
      kind: EC2NodeClass
      metadata: {name: default}
      spec:
        amiSelectorTerms: [{alias: al2023@latest}]
        role: nodes
        subnetSelectorTerms: [{tags: {a: b}}]
        securityGroupSelectorTerms: [{tags: {a: b}}]
    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: default}
      spec:
        template:
          spec:
            nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
            requirements: [{key: karpenter.sh/capacity-type, operator: Exists}]
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: REPLICAS
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec:
            containers: [{name: c, image: x, resources: {requests: {cpu: 1500m, memory: 1Gi}}}]
"
    .replace("REPLICAS", &NODES.to_string());
    Scenario::read("soak.yaml", &text).unwrap()
}

impl Region {
    /// Clusters with a pod on each node, all up.
    pub(crate) fn start(seed: u64) -> Self {
        let scenario = scenario();
        let clusters = (0..CLUSTERS)
            .map(|index| {
                let CatalogChoice::Given(types) = &scenario.catalog else { unreachable!() };
                let number = seed * 100 + u64::try_from(index).unwrap();
                let options = WorldOptions::new(number, scenario.start);
                let mut world = World::new(options, Supply::Fixed((**types).clone()));
                let Action::Apply(objects) = &scenario.timeline[0].action else { unreachable!() };
                for object in objects {
                    world.apply_object(object.clone());
                }
                world.advance_to(scenario.start);
                (Text::from(format!("cluster-{index}")), SharedWorld::new(world))
            })
            .collect();
        let mut region = Self {
            seed: Seed::new(seed),
            settings: without_nominations(),
            safeguards: Safeguards { installation: "soak".into(), ..Safeguards::default() },
            clusters,
            said: scenario.start,
            fates: BTreeMap::new(),
            poisoned: BTreeSet::new(),
        };
        region.live(SignedDuration::from_mins(3));
        region.said = region.now();
        region.say();
        region
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clusters[0].1.read().now()
    }

    pub(crate) fn said(&self) -> Timestamp {
        self.said
    }

    /// What is said about an instance that can be looked up.
    pub(crate) fn fate(&self, instance: &str) -> Option<&Kind> {
        self.fates.get(instance).filter(|_| !self.poisoned.contains(instance))
    }

    /// Chooses what is said about whom.
    fn say(&mut self) {
        let mut draw = self.seed.draw("fate", "");
        for (_, world) in &self.clusters {
            for record in claims_of(world).into_iter().take(SAID_ABOUT) {
                let id = record.instance.unwrap().id;
                let kind = match draw.below(10) {
                    0 => Kind::Retirement,
                    1 => Kind::Stopped,
                    2 => Kind::Rebalance,
                    _ => Kind::Spot,
                };
                if draw.below(60) == 0 {
                    self.poisoned.insert(id.to_string());
                } else if kind == Kind::Spot {
                    world.change().interrupt(&id);
                }
                self.fates.insert(id.to_string(), kind);
            }
        }
    }

    /// All messages, in the order in which they come: 80 % about our instances, 10 % of all twice.
    pub(crate) fn messages(&self) -> Vec<Sent> {
        let mut draw = self.seed.draw("messages", "");
        let mut sent: Vec<Sent> =
            self.fates.iter().map(|(id, kind)| self.sent(*kind, Some(id), &mut draw)).collect();
        let distinct = sent.len();
        for index in 0..distinct / 8 {
            let of = usize::try_from(draw.below(distinct as u64)).unwrap();
            let twice = Sent {
                kind: sent[of].kind,
                instance: sent[of].instance.clone(),
                is_duplicate: true,
                body: sent[of].body.clone(),
            };
            sent.push(twice);
            if index % 2 == 0 {
                sent.push(self.sent(Kind::Garbage, None, &mut draw));
                sent.push(self.sent(Kind::Unknown, None, &mut draw));
            }
        }
        for index in (1..sent.len()).rev() {
            let other = usize::try_from(draw.below(index as u64 + 1)).unwrap();
            sent.swap(index, other);
        }
        sent
    }

    fn sent(&self, kind: Kind, instance: Option<&String>, draw: &mut Draw) -> Sent {
        let event = |detail_type: &str, source: &str, detail: serde_json::Value| {
            json!({
                "version": "0", "detail-type": detail_type, "source": source,
                "account": "111122223333", "time": self.said.to_string(), "region": "us-east-1",
                "resources": [], "detail": detail,
            })
            .to_string()
        };
        let spot = "EC2 Spot Instance Interruption Warning";
        let of_instance = |id: &str| json!({"instance-id": id, "instance-action": "terminate"});
        let id = instance.cloned().unwrap_or_default();
        let body = match kind {
            Kind::Spot => event(spot, "aws.ec2", of_instance(&id)),
            Kind::Rebalance => {
                event("EC2 Instance Rebalance Recommendation", "aws.ec2", of_instance(&id))
            }
            Kind::Stopped => {
                let detail = json!({"instance-id": id, "state": "stopping"});
                event("EC2 Instance State-change Notification", "aws.ec2", detail)
            }
            Kind::Retirement => {
                let detail = json!({
                    "service": "EC2", "eventTypeCategory": "scheduledChange",
                    "statusCode": "upcoming", "startTime": "Mon, 19 Jan 2026 16:00:00 GMT",
                    "affectedEntities": [{"entityValue": id}],
                });
                event("AWS Health Event", "aws.health", detail)
            }
            Kind::Unknown => {
                event(spot, "aws.ec2", of_instance(&format!("i-{:017x}", draw.next_u64())))
            }
            Kind::Garbage => {
                let whole = event(spot, "aws.ec2", of_instance("i-0"));
                let cut = usize::try_from(draw.below(whole.len() as u64)).unwrap();
                match draw.below(4) {
                    0 => whole[..cut].to_owned(),
                    1 => whole.replace("instance-id", "instance"),
                    2 => whole.replace("i-0", "nobody"),
                    _ => "\u{0}\u{1}not even text".to_owned(),
                }
            }
        };
        Sent { kind, instance: instance.cloned(), is_duplicate: false, body }
    }

    /// From now on calls fail and processes die.
    pub(crate) fn break_things(&self) {
        let faults = Faults { throttled_per_mille: 2, crashes_per_mille: 1, ..Faults::default() };
        self.set_faults(faults);
    }

    pub(crate) fn mend_things(&self) {
        self.set_faults(Faults::default());
    }

    fn set_faults(&self, faults: Faults) {
        for (_, world) in &self.clusters {
            world.change().set_faults(faults);
        }
    }

    fn advance(&self, to: Timestamp) {
        for (_, world) in &self.clusters {
            world.change().advance_to(to);
        }
    }

    /// Invokes the function with messages; `None` where it dies on the way.
    pub(crate) fn invoke(&self, sent: &[Sent], batch: &[usize]) -> Option<HandledBatch> {
        let records: Vec<_> = batch
            .iter()
            .map(|index| json!({"messageId": index.to_string(), "body": sent[*index].body}))
            .collect();
        let event: SqsEvent = serde_json::from_value(json!({ "Records": records })).unwrap();
        let handles: Vec<(Text, Rc<SharedWorld>)> = self
            .clusters
            .iter()
            .map(|(name, world)| (name.clone(), Rc::new(world.clone())))
            .collect();
        let clusters =
            Table { worlds: Worlds::new(handles.clone()), poisoned: self.poisoned.clone() };
        let id = format!("{}-{batch:?}", self.now());
        let deadline = self.now() + SignedDuration::from_secs(35);
        let process_ends = deadline + SignedDuration::from_secs(5);
        let (settings, safeguards) = (&self.settings, &self.safeguards);
        let core = Core::standard();
        let terms =
            Terms { settings, safeguards, core, id: &id, deadline, process_ends, wakes: false };
        let mut future = pin!(handle_batch(&clusters, &terms, &event));
        loop {
            for (_, handle) in &handles {
                handle.wake();
            }
            let mut context = Context::from_waker(Waker::noop());
            if let Poll::Ready(handled) = future.as_mut().poll(&mut context) {
                return Some(handled);
            }
            if handles.iter().any(|(_, handle)| handle.is_dead()) {
                return None;
            }
            let next = handles.iter().filter_map(|(_, handle)| handle.wakes_at()).min().unwrap();
            self.advance(next);
        }
    }

    /// Lets the other functions run, with nothing going wrong.
    pub(crate) fn live(&self, lasts: SignedDuration) {
        let until = self.now() + lasts;
        while self.now() < until {
            for (name, world) in &self.clusters {
                let id = format!("run-{}", self.now());
                let run = Run {
                    cluster: name,
                    settings: &self.settings,
                    safeguards: &self.safeguards,
                    urgency: Urgency::Routine,
                    core: Core::standard(),
                    id: &id,
                    deadline: self.now() + SignedDuration::from_secs(50),
                    process_ends: self.now() + SignedDuration::from_secs(55),
                    wakes: false,
                    continues: None,
                };
                let _planned = block_on(provisioning::provision(world, &run)).unwrap();
                let _advanced = block_on(lifecycle::advance(world, &run)).unwrap();
            }
            self.advance(self.now() + SignedDuration::from_secs(15));
        }
    }

    /// Claims by their instance.
    pub(crate) fn claims(&self) -> BTreeMap<String, ClaimRecord> {
        self.clusters
            .iter()
            .flat_map(|(_, world)| claims_of(world))
            .filter_map(|record| Some((record.instance.as_ref()?.id.to_string(), record)))
            .collect()
    }

    /// In the end every pod runs, nothing happened that must never happen, and no node was launched
    /// in vain.
    pub(crate) fn check_rest(&self, before: &BTreeMap<String, ClaimRecord>) {
        for (name, world) in &self.clusters {
            let world = world.read();
            let running =
                world.api().list::<Pod>().filter(|pod| pod.is_active() && pod.ready == Some(true));
            assert_eq!(running.count(), NODES, "{name}");
            assert!(world.violations().is_empty(), "{name}: {:?}", world.violations());
            let launched = world.ec2().instances().count();
            let taken = world
                .ec2()
                .instances()
                .filter(|own| before.contains_key(&*own.id))
                .filter(|own| self.fate(&own.id).is_some_and(|kind| *kind != Kind::Rebalance))
                .count();
            assert_eq!(launched, NODES + taken, "{name}: one node for one that was taken");
        }
    }
}

/// Time passes between runs only, so no run may pause for nominations to be heard of.
fn without_nominations() -> Settings {
    let mut settings = Settings::default();
    settings.feature_gates.pod_nomination = false;
    settings
}

fn claims_of(world: &SharedWorld) -> Vec<ClaimRecord> {
    let claims = block_on(ClaimStore::claims(&world.clone())).unwrap();
    claims
        .into_iter()
        .map(|claim| claim.record)
        .filter(|record| matches!(record.phase(), ClaimPhase::Initialized | ClaimPhase::Ending))
        .collect()
}

/// Claims that a batch brought news of.
pub(crate) fn news(handled: &HandledBatch) -> Vec<String> {
    let mut claims = BTreeSet::new();
    for outcome in handled.messages.iter().flat_map(|own| &own.outcomes).flatten() {
        if let NoticeOutcome::Ending { place, is_news: true, .. } = outcome {
            claims.insert(format!("{}/{}", place.cluster, place.claim));
        }
    }
    claims.into_iter().collect()
}

/// The table, in which some instances cannot be looked up.
struct Table {
    worlds: Worlds,
    poisoned: BTreeSet<String>,
}

impl Clusters for Table {
    type Ports = SharedWorld;
    type Records = SharedWorld;

    async fn claim_of_instance(&self, instance_id: &str) -> Result<Option<ClaimPlace>, PortError> {
        if self.poisoned.contains(instance_id) {
            return Err(PortError::new(ErrorKind::Unknown, "Query", "this partition is ill"));
        }
        self.worlds.claim_of_instance(instance_id).await
    }

    fn records(&self, cluster: &Text) -> Result<Rc<SharedWorld>, PortError> {
        self.worlds.records(cluster)
    }

    async fn open(&self, cluster: &Text) -> Result<Rc<SharedWorld>, PortError> {
        self.worlds.open(cluster).await
    }

    fn now(&self) -> Timestamp {
        self.worlds.now()
    }

    async fn within<T>(&self, until: Timestamp, work: impl Future<Output = T>) -> Option<T> {
        self.worlds.within(until, work).await
    }
}

/// A queue with a visibility timeout and dead letters.
pub(crate) struct Queue {
    /// When each message is visible, and how often it was received.
    messages: BTreeMap<usize, (Timestamp, u32)>,
    pub(crate) dead_letters: BTreeSet<usize>,
    pub(crate) came_back: usize,
    draw: Draw,
}

impl Queue {
    pub(crate) fn new(sent: &[Sent]) -> Self {
        Self {
            messages: (0..sent.len()).map(|index| (index, (Timestamp::UNIX_EPOCH, 0))).collect(),
            dead_letters: BTreeSet::new(),
            came_back: 0,
            draw: Seed::new(sent.len() as u64).draw("queue", ""),
        }
    }

    /// The next messages that are visible; time passes until there are some. `None` when none are
    /// left.
    pub(crate) fn next_batch(&mut self, region: &Region) -> Option<Vec<usize>> {
        region.advance(region.now() + SignedDuration::from_millis(500));
        loop {
            let now = region.now();
            let spent: Vec<usize> = self
                .messages
                .iter()
                .filter(|(_, (visible, receives))| *visible <= now && *receives >= RECEIVES_MAX)
                .map(|(index, _)| *index)
                .collect();
            for index in spent {
                self.messages.remove(&index);
                self.dead_letters.insert(index);
            }
            let size = usize::try_from(1 + self.draw.below(BATCH_MAX)).unwrap();
            let visible = self.messages.iter().filter(|(_, (visible, _))| *visible <= now);
            let batch: Vec<usize> = visible.map(|(index, _)| *index).take(size).collect();
            if !batch.is_empty() {
                for index in &batch {
                    let (visible, receives) = self.messages.get_mut(index).unwrap();
                    *visible = now + VISIBLE_AGAIN_AFTER;
                    *receives += 1;
                    self.came_back += usize::from(*receives > 1);
                }
                return Some(batch);
            }
            let next = self.messages.values().map(|(visible, _)| *visible).min()?;
            region.advance(next);
        }
    }

    /// Whether one of the messages would be a dead letter after one more failure or two.
    pub(crate) fn is_last_chance(&self, batch: &[usize]) -> bool {
        batch.iter().any(|index| self.messages[index].1 + 1 >= RECEIVES_MAX)
    }

    pub(crate) fn delete(&mut self, batch: &[usize], failed: &BTreeSet<&str>) {
        for index in batch {
            if !failed.contains(&*index.to_string()) {
                self.messages.remove(index);
            }
        }
    }
}
