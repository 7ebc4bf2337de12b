//! Scenarios made from recordings: the recorded pods come and leave, and the recorded objects stand
//! at their times, unless others are given in their place.

use std::sync::Arc;

use domain::buffer::PrewarmTarget;
use domain::label;
use domain::pod::ObjectKey;
use domain::{SignedDuration, Text};
use manifests::Object;
use recording::{ObjectChange, Recording};

use super::definition::{Action, CatalogChoice, ProvisioningMode, Scenario, SettingsChange, Step};
use super::file::{NAMESPACED, OF_CLUSTER};
use crate::ec2::{Ec2Behaviour, Faults};
use crate::region::SaidBy;
use crate::replay::Replay;
use crate::world::DeleteTarget;

/// The region of a recording that names none.
const DEFAULT_REGION: &str = "us-east-1";

/// Kinds that say which nodes there may be. Whoever gives any object of a kind gives all of it:
/// what was recorded of that kind is left out.
const GIVEN_WHOLE: [&str; 3] = ["NodePool", "EC2NodeClass", "NodeOverlay"];

impl Scenario {
    /// What replays a recording over an empty cluster, under a name.
    pub fn of_recording(name: &str, recording: &Recording) -> Self {
        let catalog = match recording.header.region.as_deref() {
            Some(region) => CatalogChoice::Region(region.into(), SaidBy::Recording),
            None => CatalogChoice::Region(DEFAULT_REGION.into(), SaidBy::Nothing),
        };
        Self {
            name: name.into(),
            about: recording.header.about.as_deref().unwrap_or("A recorded cluster.").into(),
            start: recording.start,
            duration: recording.length,
            seed: 0,
            catalog,
            own_scheduler: None,
            provisioning: ProvisioningMode::default(),
            job_duration: SignedDuration::from_mins(5),
            boot: None,
            pod_start: None,
            pod_stop: None,
            settings: SettingsChange::default(),
            spot_interruptions: Vec::new(),
            images: Vec::new(),
            faults: Faults::default(),
            ec2: Ec2Behaviour::default(),
            every_run: false,
            timeline: steps(recording),
            expectations: Vec::new(),
            variants: Vec::new(),
            replay: Some(Arc::new(Replay::of(recording))),
            manifests: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Lets objects stand from the start: in place of recorded ones of their name, and, of
    /// NodePools, EC2NodeClasses and NodeOverlays, of all recorded ones of their kind.
    pub fn with_objects(mut self, objects: Vec<Object>) -> Self {
        if objects.is_empty() {
            return self;
        }
        let given: Vec<_> = objects.iter().filter_map(Object::identity).collect();
        let is_given_whole =
            |kind: &str| GIVEN_WHOLE.contains(&kind) && given.iter().any(|own| own.kind == kind);
        for step in &mut self.timeline {
            if let Action::Apply(own) = &mut step.action {
                own.retain(|object| {
                    let identity = object.identity();
                    identity.is_none_or(|own| !is_given_whole(own.kind) && !given.contains(&own))
                });
            }
        }
        self.timeline.retain(|step| match &step.action {
            Action::Apply(own) => !own.is_empty(),
            Action::Delete { target: DeleteTarget::Cluster(kind, _), .. } => {
                !is_given_whole(&kind.to_string())
            }
            _ => true,
        });
        let objects = objects.into_iter().filter_map(stands).collect();
        let step = Step { at: SignedDuration::ZERO, action: Action::Apply(objects) };
        self.timeline.insert(0, step);
        self
    }

    /// Lets what a scenario does happen while recorded pods come and leave: its timeline, its
    /// faults, its settings, its expectations and its variants.
    pub fn over(self, recorded: Self) -> Self {
        let mut timeline = recorded.timeline;
        timeline.extend(self.timeline);
        timeline.sort_by_key(|step| step.at);
        Self {
            name: recorded.name,
            about: recorded.about,
            start: recorded.start,
            duration: recorded.duration,
            catalog: recorded.catalog,
            replay: recorded.replay,
            timeline,
            ..self
        }
    }

    /// Whether any NodePool is ever applied.
    pub fn has_node_pool(&self) -> bool {
        self.applied().any(|object| matches!(object, Object::NodePool(_)))
    }
}

/// What happened to recorded objects, those of one moment together.
fn steps(recording: &Recording) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for own in &recording.objects {
        let at = own.at.max(SignedDuration::ZERO);
        match &own.change {
            ObjectChange::Applied(object) => {
                let Some(object) = stands((**object).clone()) else { continue };
                match steps.last_mut() {
                    Some(Step { at: last, action: Action::Apply(objects) }) if *last == at => {
                        objects.push(object);
                    }
                    _ => steps.push(Step { at, action: Action::Apply(vec![object]) }),
                }
            }
            ObjectChange::Gone { kind, namespace, name } => {
                let target = target(kind, namespace.as_ref(), name);
                let shown = format!("{kind} {name}").into();
                steps.extend(
                    target.map(|target| Step { at, action: Action::Delete { target, shown } }),
                );
            }
        }
    }
    steps
}

/// An object as it stands beside pods that are replayed; `None` for those that would make pods or
/// nodes of their own. A schedule does not scale what was scaled when it was recorded.
fn stands(object: Object) -> Option<Object> {
    match object {
        Object::Pod(_) | Object::Workload(_) | Object::NodeClaim(_) => None,
        Object::Node(node) if node.labels.contains_key(label::NODE_POOL) => None,
        Object::PrewarmSchedule(mut own) => {
            if let PrewarmTarget::Workload { scale, .. } = &mut own.target {
                *scale = false;
            }
            Some(Object::PrewarmSchedule(own))
        }
        other => Some(other),
    }
}

fn target(kind: &str, namespace: Option<&Text>, name: &Text) -> Option<DeleteTarget> {
    if let Some(namespace) = namespace {
        let (kind, _) = NAMESPACED.iter().find(|(_, word)| *word == kind)?;
        let key = ObjectKey::new(namespace.clone(), name.clone());
        return Some(DeleteTarget::Namespaced(*kind, key));
    }
    let (kind, _) = OF_CLUSTER.iter().find(|(_, word)| *word == kind)?;
    Some(DeleteTarget::Cluster(*kind, name.clone()))
}
