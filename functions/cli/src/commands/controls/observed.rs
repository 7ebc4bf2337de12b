//! `outrigger diff --observed`: what functions that only observe would have done.

use std::fmt::Write as _;

use controllers::ports::ClaimStore as _;
use controllers::record::observation::{Observation, ObservedDisruption, ObservedLaunch};
use domain::money::UsdPerHour;

use super::place::{block_on, store};
use crate::args::diff::ObservedArgs;
use crate::commands::CommandError;
use crate::console;
use crate::status::Status;
use crate::view::money::Savings;

/// `outrigger diff --observed`.
pub(crate) fn observed(args: &ObservedArgs) -> Result<Status, CommandError> {
    let observations =
        block_on(async { store(&args.table, &args.cluster).await.observations().await })?;
    console::write(&shown(&observations))?;
    Ok(Status::Done)
}

fn shown(observations: &[Observation]) -> String {
    if observations.is_empty() {
        return "no plan is stored: functions store one while they observe\n".to_owned();
    }
    let mut text = String::new();
    for observation in observations {
        // Writing to a string never fails.
        let _ = writeln!(text, "{} at {:.0}", observation.function, observation.at);
        let lines = lines(observation);
        if lines.is_empty() {
            text.push_str("  nothing to do\n");
        }
        for line in lines {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

fn lines(observation: &Observation) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for launch in &observation.launches {
        lines.push(format!("+ {} for {}", launched(launch), pods(launch.pods.len())));
    }
    if !observation.placements.is_empty() {
        let count = observation.placements.len();
        lines.push(format!("= {} have a place on nodes that are there", pods(count)));
    }
    for (pod, why) in &observation.unschedulable {
        lines.push(format!("! {pod}: {why}"));
    }
    for disruption in &observation.disruptions {
        lines.push(disrupted(disruption));
    }
    for rule in &observation.refused {
        lines.push(format!("! the plan would have been refused: {rule}"));
    }
    lines
}

fn launched(launch: &ObservedLaunch) -> String {
    let ObservedLaunch { node_pool, instance_type, zone, capacity_type, price, .. } = launch;
    format!("{instance_type} {capacity_type} in {zone} from NodePool {node_pool}, {}", usd(*price))
}

fn disrupted(disruption: &ObservedDisruption) -> String {
    let ObservedDisruption { reason, nodes, replacements, savings } = disruption;
    let replaced = match replacements.as_slice() {
        [] => String::new(),
        own => format!(", replaced by {}", own.iter().map(launched).collect::<Vec<_>>().join(", ")),
    };
    format!("- {} ({reason}){replaced}, {}", nodes.join(", "), Savings(*savings))
}

fn usd(price: UsdPerHour) -> String {
    format!("${:.4}/h", price.to_f64())
}

fn pods(count: usize) -> String {
    if count == 1 { "1 pod".to_owned() } else { format!("{count} pods") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use controllers::record::observation::Observer;
    use domain::instance_type::CapacityType;
    use domain::pod::PodKey;
    use domain::reason::DisruptionReason;

    #[test]
    fn what_would_have_been_done_is_said_a_line_each() {
        let launch = ObservedLaunch {
            node_pool: "default".into(),
            instance_type: "m5.large".into(),
            zone: "eu-west-1a".into(),
            capacity_type: CapacityType::Spot,
            price: UsdPerHour::from_nanos(40_000_000),
            pods: vec![PodKey { namespace: "shop".into(), name: "web-0".into() }],
        };
        let disruption = ObservedDisruption {
            reason: DisruptionReason::Empty,
            nodes: vec!["node-a".into()],
            replacements: Vec::new(),
            savings: UsdPerHour::from_nanos(96_000_000),
        };
        let observation = Observation {
            function: Observer::Provisioning,
            at: domain::Timestamp::UNIX_EPOCH,
            launches: vec![launch],
            placements: Vec::new(),
            unschedulable: Vec::new(),
            disruptions: vec![disruption],
            refused: Vec::new(),
        };
        let expected = "provisioning at 1970-01-01T00:00:00Z\n  \
                        + m5.large spot in eu-west-1a from NodePool default, $0.0400/h for 1 pod\n  \
                        - node-a (Empty), saves $0.0960/h ($70.08 a month)\n";
        assert_eq!(shown(&[observation]), expected);
    }
}
