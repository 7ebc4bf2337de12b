//! Steps of the timeline, carried out.

use domain::Text;
use domain::instance_type::{InstanceType, Offering};
use domain::label;
use domain::node_pool::NodePool;
use domain::requirement::{KeyRequirement, Requirements};
use manifests::{JobSpec, Object};

use super::Simulation;
use crate::ec2::CapacityPool;
use crate::report::Happening;
use crate::scenario::{Action, Announcement, InstanceFilter, ScenarioError, Step};
use crate::store::Store;
use crate::world::{DeleteTarget, World};

impl Simulation {
    pub(super) fn act(&mut self, step: &Step) -> Result<(), ScenarioError> {
        let not_there = |what: Text| ScenarioError::NotThere { at: step.at, what };
        let mut world = self.world.change();
        let now = world.now();
        match &step.action {
            Action::Apply(objects) => {
                let names = objects.iter().map(shown).collect();
                let stand_ins = world.apply_objects(objects);
                let why = (!stand_ins.is_empty()).then(|| why(&stand_ins));
                world.journal.add_because(now, Happening::Applied(names), why);
            }
            Action::Scale { workload, replicas } => {
                let shown: Text = workload.to_string().into();
                let from = world.scale(workload, *replicas);
                let from = from.ok_or_else(|| not_there(shown.clone()))?;
                let scaled = Happening::Scaled { workload: shown, from, to: *replicas };
                world.journal.add(now, scaled);
            }
            Action::Delete { target, shown } => {
                let was_there = delete(&mut world, target, shown);
                if !was_there && self.scenario.replay.is_none() {
                    return Err(not_there(shown.clone()));
                }
            }
            Action::Interrupt { filter, count } => {
                let chosen = instances(&world, filter, *count);
                if chosen.is_empty() {
                    nothing_there(&mut world, "interrupt", &format!("instance{}", filter.shown()));
                }
                for id in chosen {
                    world.interrupt(&id);
                }
            }
            Action::Announce { what, filter, count } => {
                let chosen = instances(&world, filter, *count);
                if chosen.is_empty() {
                    let meant = format!("instance{}", filter.shown());
                    nothing_there(&mut world, action(*what), &meant);
                }
                for id in chosen {
                    match what {
                        Announcement::RebalanceRecommendation => world.recommend_rebalance(&id),
                        Announcement::Retirement(gone_in) => {
                            world.schedule_retirement(&id, *gone_in);
                        }
                        Announcement::Impairment => world.impair(&id),
                    }
                }
            }
            Action::OutOfCapacity { filter, cheapest, lasts } => {
                let mut pools = offerings(&world, filter);
                pools.truncate(cheapest.unwrap_or(usize::MAX));
                if pools.is_empty() {
                    let meant = format!("offering{}", filter.shown());
                    nothing_there(&mut world, "outOfCapacity", &meant);
                } else {
                    world.run_out(&pools, *lasts);
                }
            }
            Action::LoseRecords => {
                world.store = Store::default();
                world.journal.add(now, Happening::Fault("the table is empty".into()));
            }
            Action::Mark(mark) => {
                let hourly = world.ec2().hourly();
                self.marks.insert(mark.clone(), hourly);
                world.journal.add(now, Happening::Marked(mark.clone()));
            }
        }
        Ok(())
    }
}

/// Deletes an object. False if there is none.
fn delete(world: &mut World, target: &DeleteTarget, shown: &Text) -> bool {
    let was_there = world.delete_object(target);
    if was_there {
        let now = world.now();
        world.journal.add(now, Happening::Deleted(shown.clone()));
    } else {
        nothing_there(world, "delete", shown);
    }
    was_there
}

/// A variant of a scenario may lack what another has: that is shown, and is no mistake.
fn nothing_there(world: &mut World, action: &str, what: &str) {
    let now = world.now();
    let nothing = Happening::NothingThere { action: action.into(), what: what.into() };
    world.journal.add(now, nothing);
}

/// What a scenario file calls it.
const fn action(what: Announcement) -> &'static str {
    match what {
        Announcement::RebalanceRecommendation => "recommendRebalance",
        Announcement::Retirement(_) => "retire",
        Announcement::Impairment => "impair",
    }
}

/// What stands in for owners of pods that nobody applied.
fn why(stand_ins: &[Text]) -> Text {
    const SHOWN_MAX: usize = 6;
    let shown = &stand_ins[..stand_ins.len().min(SHOWN_MAX)];
    let more = match stand_ins.len() - shown.len() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("what owns pods and is not there is made from them: {}{more}", shown.join(", ")).into()
}

/// `Deployment default/web`, with what is scaled: `Deployment default/web (3 replicas)`.
fn shown(object: &Object) -> Text {
    let Some(identity) = object.identity() else { return "an object".into() };
    match object {
        Object::Workload(own) => match &own.job {
            None => format!("{identity} ({})", counted(own.workload.replicas, "replica")).into(),
            Some(JobSpec { completions: None, parallelism, .. }) => {
                format!("{identity} ({parallelism} at once)").into()
            }
            Some(JobSpec { completions: Some(completions), parallelism, .. }) => {
                let completions = counted(*completions, "completion");
                format!("{identity} ({completions}, {parallelism} at once)").into()
            }
        },
        _ => identity.to_string().into(),
    }
}

/// `1 replica`, `2 replicas`.
fn counted(count: u32, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// The oldest of the instances that are meant and live, by id among those of one moment.
fn instances(world: &World, filter: &InstanceFilter, count: usize) -> Vec<Text> {
    let mut meant: Vec<_> = world
        .ec2()
        .instances()
        .filter(|own| own.is_billed() && own.reclaimed_at.is_none() && filter.matches(own))
        .collect();
    meant.sort_by_key(|own| (own.launched, own.id.clone()));
    meant.into_iter().take(count).map(|own| own.id.clone()).collect()
}

/// The offerings that are meant and that some NodePool allows, cheapest first.
fn offerings(world: &World, filter: &InstanceFilter) -> Vec<CapacityPool> {
    let types = world.ec2().types();
    let mut allowed = Vec::new();
    for node_pool in world.api().list::<NodePool>() {
        let requirements = Requirements::of(&node_pool.template.requirements);
        for own in types.of(&node_pool.template.node_class_ref.name).iter() {
            for offering in own.offerings.iter().filter(|offering| offering.is_usable()) {
                let pool = CapacityPool {
                    instance_type: own.name.clone(),
                    zone: offering.zone.clone(),
                    capacity_type: offering.capacity_type,
                };
                if filter.matches_pool(&pool) && allows(&requirements, own, offering) {
                    allowed.push((offering.price, pool));
                }
            }
        }
    }
    allowed.sort();
    allowed.dedup();
    allowed.into_iter().map(|(_, pool)| pool).collect()
}

/// Whether a NodePool's requirements leave an offering. Labels that no instance type has are the
/// NodePool's own and rule nothing out.
fn allows(requirements: &Requirements, own: &InstanceType, offering: &Offering) -> bool {
    requirements.iter().all(|(key, required): (_, &KeyRequirement)| match &**key {
        label::ZONE => required.values.contains(&offering.zone),
        label::CAPACITY_TYPE => required.values.contains(offering.capacity_type.as_str()),
        key => match own.labels.get(key) {
            Some(values) => values.iter().any(|value| required.values.contains(value)),
            None => required.may_be_absent || !label::WELL_KNOWN.contains(&key),
        },
    })
}
