//! DaemonSets: what each new node must have room for besides its pods.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::instance_type::InstanceType;
use domain::label;
use domain::pod::{HostPort, NodeSelectorTerm, PodSpec};
use domain::requirement::{Requirement, Requirements, ValueSet};
use domain::taint::{Taint, first_untolerated};
use domain::workload::DaemonSet;

use super::intern::KeyKind;
use super::resources::ResourceNames;

/// What a DaemonSet's pod takes of a node it runs on.
struct Daemon<'a> {
    spec: &'a PodSpec,
    requests: Vec<i64>,
    /// One of these must be possible.
    terms: Vec<Requirements>,
}

/// The DaemonSets that could run on nodes of one NodePool.
pub(crate) struct Daemons<'a> {
    daemons: Vec<Daemon<'a>>,
}

/// What DaemonSets take of a node of one instance type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Overhead {
    /// Requests, by resource index.
    pub(crate) requests: Vec<i64>,
    /// Host ports they open.
    pub(crate) ports: Vec<DaemonPort>,
}

/// A host port that a DaemonSet opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DaemonPort {
    port: HostPort,
    /// The zones on whose nodes it may be open, by name; `None` for all.
    zones: Option<Vec<Text>>,
}

impl DaemonPort {
    /// Whether a pod that opens the other port cannot be on a node of the zone.
    pub(crate) fn conflicts_in(&self, zone: &Text, other: &HostPort) -> bool {
        self.port.conflicts_with(other)
            && self.zones.as_ref().is_none_or(|zones| zones.contains(zone))
    }
}

impl Daemon<'_> {
    /// The host ports that it opens on nodes of a type, and where.
    fn ports_on(
        &self,
        instance_type: &InstanceType,
        own: &Requirements,
        key_kinds: &BTreeMap<Text, KeyKind>,
    ) -> Vec<DaemonPort> {
        let ports = &self.spec.host_ports;
        let names_zones = |term: &Requirements| {
            term.iter().any(|(key, _)| matches!(key_kinds.get(key), Some(KeyKind::Zone)))
        };
        let zones = (!ports.is_empty() && self.terms.iter().any(names_zones)).then(|| {
            let zones: BTreeSet<&Text> =
                instance_type.offerings.iter().map(|offering| &offering.zone).collect();
            let may_run = |zone: &Text| {
                let mut here = own.clone();
                here.add(&Requirement::is_in(label::ZONE, [zone.clone()]));
                self.terms.iter().any(|term| is_possible(term, instance_type, &here, key_kinds))
            };
            zones.into_iter().filter(|zone| may_run(zone)).cloned().collect::<Vec<_>>()
        });
        ports.iter().map(|port| DaemonPort { port: port.clone(), zones: zones.clone() }).collect()
    }
}

impl<'a> Daemons<'a> {
    /// Those whose pods tolerate the taints (startup taints pass, and a preference keeps no daemon
    /// off). Pods that wait for devices of dynamic resource allocation run on no node that is
    /// planned here, so they are no overhead, as with Karpenter's `IGNORE_DRA_REQUESTS`.
    pub(crate) fn tolerating(
        daemon_sets: &'a [DaemonSet],
        taints: &[Taint],
        resources: &ResourceNames,
    ) -> Self {
        let daemons = daemon_sets
            .iter()
            .map(|daemon_set| &*daemon_set.template.spec)
            .filter(|spec| spec.resource_claims.is_empty())
            .filter(|spec| first_untolerated(&spec.tolerations, taints).is_none())
            .map(|spec| Daemon {
                spec,
                requests: resources.array(&spec.requests),
                terms: strict_terms(spec),
            })
            .collect();
        Self { daemons }
    }

    /// What they take of a node of the type in a pool whose nodes have labels within `own`.
    ///
    /// A daemon counts if it could run on some node of the type that the pool might launch, so that
    /// what is left for pods is never overstated.
    pub(crate) fn overhead_on(
        &self,
        instance_type: &InstanceType,
        own: &Requirements,
        key_kinds: &BTreeMap<Text, KeyKind>,
        resource_count: usize,
    ) -> Overhead {
        let mut overhead = Overhead { requests: vec![0; resource_count], ports: Vec::new() };
        for daemon in &self.daemons {
            let may_run =
                daemon.terms.iter().any(|term| is_possible(term, instance_type, own, key_kinds));
            if may_run {
                for (sum, amount) in overhead.requests.iter_mut().zip(&daemon.requests) {
                    *sum += amount;
                }
                overhead.ports.extend(daemon.ports_on(instance_type, own, key_kinds));
            }
        }
        overhead
    }

    /// Those that run on nodes of some zones only, or on nodes that are bought in some ways only.
    pub(crate) fn local(mut self, key_kinds: &BTreeMap<Text, KeyKind>) -> Self {
        let is_local =
            |key: &Text| matches!(key_kinds.get(key), Some(KeyKind::Zone | KeyKind::CapacityType));
        self.daemons.retain(|daemon| {
            let mut terms = daemon.terms.iter();
            terms.any(|term| term.iter().any(|(key, _)| is_local(key)))
        });
        self
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.daemons.is_empty()
    }

    /// Sum of the requests of DaemonSet pods that belong on an existing node with these labels.
    pub(crate) fn requests_on(&self, labels: &label::Labels, resource_count: usize) -> Vec<i64> {
        let mut requests = vec![0; resource_count];
        for daemon in &self.daemons {
            if node_terms_hold(daemon.spec, labels) {
                for (sum, amount) in requests.iter_mut().zip(&daemon.requests) {
                    *sum += amount;
                }
            }
        }
        requests
    }
}

/// nodeSelector and each required term together; one of them must hold.
pub(crate) fn strict_terms(spec: &PodSpec) -> Vec<Requirements> {
    let selector = || {
        let mut requirements = Requirements::default();
        for (key, value) in &spec.node_selector {
            requirements.add(&Requirement::is_in(key, [value.clone()]));
        }
        requirements
    };
    match &spec.required_node_terms {
        None => vec![selector()],
        Some(terms) => terms
            .iter()
            .map(|term| {
                let mut requirements = selector();
                add_term(&mut requirements, term);
                requirements
            })
            .collect(),
    }
}

/// Adds a term's expressions; fields become requirements on [`NODE_NAME_FIELD`].
fn add_term(requirements: &mut Requirements, term: &NodeSelectorTerm) {
    for expression in &term.expressions {
        requirements.add(expression);
    }
    for field in &term.fields {
        requirements.add(&Requirement { key: NODE_NAME_FIELD.into(), ..field.clone() });
    }
}

/// Stands for the field `metadata.name` among label keys: no label key holds a space.
pub(crate) const NODE_NAME_FIELD: &str = "field metadata.name";

/// Whether nodeSelector and required node affinity hold on a node with exactly these labels.
pub(crate) fn node_terms_hold(spec: &PodSpec, labels: &label::Labels) -> bool {
    let selected = spec.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value));
    selected
        && spec
            .required_node_terms
            .as_ref()
            .is_none_or(|terms| terms.iter().any(|term| term_holds(term, labels)))
}

/// Whether a node selector term holds on a node with exactly these labels; its name is the host
/// name's label.
pub(crate) fn term_holds(term: &NodeSelectorTerm, labels: &label::Labels) -> bool {
    let name: label::Labels = labels
        .get(label::HOSTNAME)
        .map(|name| (Text::from("metadata.name"), name.clone()))
        .into_iter()
        .collect();
    term.expressions.iter().all(|expression| expression.holds_for(labels))
        && term.fields.iter().all(|field| field.holds_for(&name))
}

fn is_possible(
    term: &Requirements,
    instance_type: &InstanceType,
    own: &Requirements,
    key_kinds: &BTreeMap<Text, KeyKind>,
) -> bool {
    term.iter().all(|(key, wanted)| {
        let pool = own.get(key).map(|own| &own.values);
        let narrowed = |set: ValueSet| pool.map_or(set.clone(), |pool| set.intersection(pool));
        match key_kinds.get(key) {
            Some(KeyKind::InstanceType { .. }) => match instance_type.labels.get(key) {
                Some(values) => {
                    narrowed(ValueSet::list(values.iter().cloned())).intersects(&wanted.values)
                }
                None => wanted.may_be_absent,
            },
            Some(KeyKind::Zone) => instance_type.offerings.iter().any(|offering| {
                narrowed(ValueSet::one(offering.zone.clone())).intersects(&wanted.values)
            }),
            Some(KeyKind::CapacityType) => instance_type.offerings.iter().any(|offering| {
                narrowed(ValueSet::one(offering.capacity_type.as_str().into()))
                    .intersects(&wanted.values)
            }),
            // A new node's name, and so its host name, is none that anybody could list.
            Some(KeyKind::Hostname) => wanted.may_be_absent || wanted.values.as_list().is_none(),
            Some(
                KeyKind::Region | KeyKind::ZoneId | KeyKind::Reservation | KeyKind::Interruption,
            ) => true,
            None if &**key == NODE_NAME_FIELD => wanted.may_be_absent,
            None => match pool {
                Some(pool) => pool.intersects(&wanted.values),
                None => wanted.may_be_absent,
            },
        }
    })
}
