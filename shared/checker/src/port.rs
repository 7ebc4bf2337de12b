//! No two pods of a node open one host port.

use rustc_hash::FxHashMap;

use domain::pod::HostPort;

use crate::place::Place;
use crate::plan_index::PlanIndex;
use crate::pods::PodId;
use crate::report::Report;
use crate::violation::Rule;

/// Who holds a port.
#[derive(Clone, Copy)]
enum Holder {
    Pod(PodId),
    DaemonSet,
}

/// Who may hold ports of one place.
pub(crate) struct Occupants<'a> {
    /// Pods that stay.
    pub(crate) residents: &'a [PodId],
    /// Pods that come.
    pub(crate) arrivals: &'a [PodId],
    /// Ports of DaemonSets that are not among the residents.
    pub(crate) daemon_ports: &'a [HostPort],
}

/// Judges arrivals against residents, DaemonSets, and each other.
pub(crate) fn check(
    index: &PlanIndex<'_>,
    place: &Place<'_>,
    occupants: &Occupants<'_>,
    report: &mut Report,
) {
    let Occupants { residents, arrivals, daemon_ports } = *occupants;
    let ports_of = |pod: &PodId| index.pods().spec(*pod).host_ports.as_slice();
    if arrivals.iter().all(|pod| ports_of(pod).is_empty()) {
        return;
    }
    let mut held: FxHashMap<u16, Vec<(&HostPort, Holder)>> = FxHashMap::default();
    for pod in residents {
        for port in ports_of(pod) {
            held.entry(port.port).or_default().push((port, Holder::Pod(*pod)));
        }
    }
    for port in daemon_ports {
        held.entry(port.port).or_default().push((port, Holder::DaemonSet));
    }
    for pod in arrivals {
        let clash = ports_of(pod).iter().find_map(|port| {
            let holders = held.get(&port.port)?;
            let clash = holders.iter().find(|(other, _)| port.conflicts_with(other))?;
            Some((port, clash.1))
        });
        if let Some((port, holder)) = clash {
            let holder = match holder {
                Holder::Pod(other) => index.pods().pod(other).key.to_string(),
                Holder::DaemonSet => "a DaemonSet".to_owned(),
            };
            let message =
                format!("port {} {} is taken by {holder} on {place}", port.protocol, port.port);
            report.add(Rule::HostPort, &index.pods().pod(*pod).key, message);
        }
        for port in ports_of(pod) {
            held.entry(port.port).or_default().push((port, Holder::Pod(*pod)));
        }
    }
}
