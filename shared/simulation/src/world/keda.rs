//! KEDA, as far as cron triggers go: scales targets of ScaledObjects when windows open and close.
//!
//! Source: KEDA's "Scaling Deployments" and the cron scaler. A target goes back to
//! `minReplicaCount` once no window has been open for `cooldownPeriod` (to zero), or for the five
//! minutes by which an HPA holds back (to one or more).

use domain::buffer::{CronTrigger, ScaledObject, due_replicas};
use domain::pod::ObjectKey;
use domain::{SignedDuration, Timestamp};

use super::World;
use crate::agenda::Due;
use crate::api::WorkloadId;
use crate::report::Happening;

/// `behavior.scaleDown.stabilizationWindowSeconds` of an HPA that does not say.
const SCALE_DOWN_STABILIZATION: SignedDuration = SignedDuration::from_mins(5);

/// What KEDA remembers of a ScaledObject.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// Whether a window was open at the last poll.
    is_open: bool,
    /// When a window last was open.
    active: Option<Timestamp>,
    /// When it polls next.
    polls_at: Option<Timestamp>,
}

impl World {
    /// Schedules a poll of a ScaledObject.
    pub(super) fn wake_keda(&mut self, key: &ObjectKey, at: Timestamp) {
        self.keda.entry(key.clone()).or_default().polls_at = Some(at);
        self.agenda.add(at, Due::ScaledObjectTurns { scaled_object: key.clone() });
    }

    /// Polls a ScaledObject: scales its target, and schedules the next poll at the next change.
    pub(super) fn scaled_object_turns(&mut self, key: &ObjectKey) {
        let Some(scaled) = self.api.get::<ScaledObject>(key).cloned() else {
            self.keda.remove(key);
            return;
        };
        let now = self.now;
        let memory = self.keda.entry(key.clone()).or_default();
        if memory.polls_at != Some(now) {
            // The object was changed since: another poll is scheduled.
            return;
        }
        let limits = (scaled.min_replicas, scaled.max_replicas);
        let wanted = due_replicas(&scaled.triggers, limits, now, SignedDuration::ZERO);
        if wanted.is_some() || memory.is_open {
            memory.active = Some(now);
        }
        memory.is_open = wanted.is_some();
        let rests_at = memory.active.map(|active| active + cooldown(&scaled));
        let replicas = match wanted {
            None if rests_at.is_none_or(|rests| rests <= now) => Some(scaled.min_replicas),
            wanted => wanted,
        };
        if let Some(replicas) = replicas {
            self.scale_target(&scaled, replicas);
        }
        let turns = scaled.triggers.iter().flat_map(|trigger| turns(trigger, now));
        if let Some(next) = turns.chain(rests_at.filter(|rests| *rests > now)).min() {
            self.wake_keda(key, next);
        }
    }

    fn scale_target(&mut self, scaled: &ScaledObject, replicas: u32) {
        let (kind, name) = scaled.target.clone();
        let target = WorkloadId { kind, key: ObjectKey::new(scaled.key.namespace.clone(), name) };
        let Some(from) = self.scale(&target, replicas).filter(|from| *from != replicas) else {
            return;
        };
        let workload = target.to_string().into();
        self.journal.add(self.now, Happening::Scaled { workload, from, to: replicas });
    }
}

/// When a window next opens, and when it next closes.
fn turns(trigger: &CronTrigger, now: Timestamp) -> impl Iterator<Item = Timestamp> {
    let next = [&trigger.start, &trigger.end].map(|turn| turn.next_after(now, &trigger.timezone));
    next.into_iter().flatten()
}

fn cooldown(scaled: &ScaledObject) -> SignedDuration {
    if scaled.min_replicas == 0 { scaled.cooldown_period } else { SCALE_DOWN_STABILIZATION }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ec2::Supply;
    use crate::testing::{pod, start, workload};
    use crate::world::WorldOptions;
    use domain::instance_type::InstanceTypes;
    use domain::schedule::time_zone;
    use domain::workload::WorkloadKind;
    use manifests::WorkloadObject;

    /// A Deployment that is scaled to three for two minutes, five minutes after the start.
    fn world(min_replicas: u32, cooldown: SignedDuration) -> World {
        let mut world =
            World::new(WorldOptions::new(1, start()), Supply::Fixed(InstanceTypes::default()));
        world.apply(workload(pod("x"), WorkloadKind::Deployment, "web", min_replicas));
        let clock = |minutes| {
            let time = (start() + SignedDuration::from_mins(minutes)).strftime("%-M %-H * * *");
            time.to_string().parse().unwrap()
        };
        let scaled = ScaledObject {
            key: ObjectKey::new("default", "web"),
            uid: "u".into(),
            target: (WorkloadKind::Deployment, "web".into()),
            min_replicas,
            max_replicas: 9,
            cooldown_period: cooldown,
            triggers: vec![CronTrigger {
                timezone: time_zone("UTC").unwrap(),
                start: clock(5),
                end: clock(7),
                desired_replicas: 3,
            }],
            lead_time: None,
        };
        world.apply_object(manifests::Object::ScaledObject(scaled));
        world
    }

    #[track_caller]
    fn check(world: &mut World, seconds: i64, replicas: u32) {
        world.advance_to(start() + SignedDuration::from_secs(seconds));
        let web =
            WorkloadId { kind: WorkloadKind::Deployment, key: ObjectKey::new("default", "web") };
        let found = world.api().get::<WorkloadObject>(&web).map(|own| own.workload.replicas);
        assert_eq!(found, Some(replicas), "{seconds} s after the start");
    }

    #[test]
    fn a_target_has_its_replicas_while_the_window_is_open_and_for_the_cooldown() {
        let mut world = world(0, SignedDuration::from_secs(30));
        check(&mut world, 299, 0);
        check(&mut world, 300, 3);
        check(&mut world, 449, 3);
        check(&mut world, 450, 0);
        check(&mut world, 24 * 3600 + 300, 3);
    }

    #[test]
    fn an_hpa_holds_back_before_it_scales_down_to_one_or_more() {
        let mut world = world(1, SignedDuration::from_secs(30));
        check(&mut world, 300, 3);
        check(&mut world, 719, 3);
        check(&mut world, 720, 1);
    }
}
