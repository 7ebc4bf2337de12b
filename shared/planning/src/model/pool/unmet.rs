//! Which of a NodePool's own requirements no instance type meets, and what may have been meant.

use std::collections::{BTreeMap, BTreeSet};

use domain::instance_type::InstanceType;
use domain::label;
use domain::nearest::{by_similarity, nearest};
use domain::node_pool::NodePool;
use domain::reason::{Meant, UnmetRequirement, UnmetRequirements};
use domain::requirement::{KeyRequirement, Requirement, Requirements, ValueSet};
use domain::snapshot::ClusterSnapshot;
use domain::{Text, label::Labels};

use crate::model::intern::KeyKind;

/// Other labels shown that have the values that are required.
const KEYS_SHOWN_MAX: usize = 2;

/// Values shown of those that there are.
const VALUES_SHOWN_MAX: usize = 8;

/// What a NodePool without any node to launch is held against.
pub(super) struct Unmet<'a> {
    pub(super) snapshot: &'a ClusterSnapshot,
    pub(super) key_kinds: &'a BTreeMap<Text, KeyKind>,
    pub(super) node_pool: &'a NodePool,
    /// The pool's requirements and labels.
    pub(super) own: &'a Requirements,
    /// Instance types of its node class.
    pub(super) offered: &'a [InstanceType],
}

impl Unmet<'_> {
    /// Why no instance type meets the pool's requirements, or is sold as they want it.
    pub(super) fn reason(&self) -> UnmetRequirements {
        if let Some(key) = self.own.contradiction() {
            return UnmetRequirements::Contradiction {
                key: key.clone(),
                requirements: self.written(key),
            };
        }
        if self.own.get(label::HOSTNAME).is_some() {
            return UnmetRequirements::Hostname;
        }
        if self.offered.is_empty() {
            let node_class = self.node_pool.template.node_class_ref.name.clone();
            return UnmetRequirements::NoTypes { node_class };
        }
        let unmet = |(key, rule): (&Text, &KeyRequirement)| self.unmet_alone(key, rule);
        if let Some(unmet) = self.own.iter().find_map(unmet) {
            return UnmetRequirements::One(unmet);
        }
        self.unmet_together().unwrap_or(UnmetRequirements::NotSold)
    }

    /// What is written about a label, requirement by requirement.
    fn written(&self, key: &Text) -> Vec<Text> {
        let template = &self.node_pool.template;
        let requirements = template.requirements.iter().filter(|own| own.key == *key);
        let labels: &Labels = &template.labels;
        let label = labels.get(key).map(|value| format!("label {value}"));
        // Without the key, which is shown already.
        let keyless = |own: &Requirement| Requirement { key: "".into(), ..own.clone() }.to_string();
        let written = requirements.map(|own| keyless(own).trim_start().to_owned());
        written.chain(label).map(Text::from).collect()
    }

    /// The requirement, where it leaves no instance type and no offering by itself.
    fn unmet_alone(&self, key: &Text, rule: &KeyRequirement) -> Option<UnmetRequirement> {
        let region = self.snapshot.instance_types.region.as_ref();
        let meant = match self.key_kinds.get(key)? {
            KeyKind::Hostname => return None,
            KeyKind::Region => {
                let is_met = region.is_none_or(|region| rule.values.contains(region));
                let values = region.into_iter().cloned().collect();
                (!is_met).then_some(Meant::Offered { values, more: 0 })?
            }
            KeyKind::Zone => {
                let zones = self.values_of(key);
                let is_met = zones.iter().any(|zone| rule.values.contains(zone));
                (!is_met).then(|| offered(&zones))?
            }
            _ => {
                let is_met = |one: &InstanceType| self.is_met_by(one, key, rule);
                if self.offered.iter().any(is_met) {
                    return None;
                }
                self.meant(key, &rule.values)
            }
        };
        let is_of_region = matches!(&**key, label::ZONE | label::REGION);
        Some(UnmetRequirement {
            key: key.clone(),
            required: rule.values.clone(),
            region: region.filter(|_| is_of_region).cloned(),
            meant,
        })
    }

    fn is_met_by(&self, one: &InstanceType, key: &Text, rule: &KeyRequirement) -> bool {
        let values = self.values_on(one, key);
        if values.is_empty() {
            return rule.may_be_absent;
        }
        values.iter().any(|value| rule.values.contains(value))
    }

    /// Values of a label that nodes of a type may have, whether it or its offerings decide it.
    fn values_on<'t>(&'t self, one: &'t InstanceType, key: &Text) -> Vec<&'t str> {
        let offerings = || one.offerings.iter();
        match self.key_kinds.get(key) {
            Some(KeyKind::Zone) => offerings().map(|own| &*own.zone).collect(),
            Some(KeyKind::ZoneId) => {
                let zone_ids = &self.snapshot.instance_types.zone_ids;
                offerings().filter_map(|own| zone_ids.get(&own.zone)).map(|id| &**id).collect()
            }
            Some(KeyKind::CapacityType) => {
                offerings().map(|own| own.capacity_type.as_str()).collect()
            }
            Some(KeyKind::Reservation) => {
                let reservations = offerings().filter_map(|own| own.reservation.as_ref());
                reservations.filter_map(|own| own.label(key)).collect()
            }
            Some(KeyKind::InstanceType { .. }) => {
                one.labels.get(key).into_iter().flatten().map(|value| &**value).collect()
            }
            Some(KeyKind::Region | KeyKind::Hostname | KeyKind::Interruption) | None => Vec::new(),
        }
    }

    fn values_of(&self, key: &Text) -> BTreeSet<&str> {
        self.offered.iter().flat_map(|one| self.values_on(one, key)).collect()
    }

    /// What may have been meant: another label that has the values, or numbers next to them, or
    /// values that are spelt nearly so; else what there is.
    fn meant(&self, key: &Text, required: &ValueSet) -> Meant {
        let known = self.values_of(key);
        if let Some(numbers) = numbers_next_to(required, &known) {
            return Meant::Numbers(numbers);
        }
        let Some(listed) = required.as_list().filter(|listed| !listed.is_empty()) else {
            return offered(&known);
        };
        // Many labels are true or false.
        let tells = listed.iter().any(|value| !["true", "false"].contains(&&**value));
        let has_them = |other: &&Text| {
            *other != key && tells && {
                let values = self.values_of(other);
                listed.iter().all(|value| values.contains(&**value))
            }
        };
        let keys = self.key_kinds.keys().filter(has_them).map(|other| &**other);
        let keys: Vec<Text> =
            by_similarity(key, keys).into_iter().take(KEYS_SHOWN_MAX).map(Text::from).collect();
        if !keys.is_empty() {
            return Meant::Keys(keys);
        }
        let near: BTreeSet<&str> =
            listed.iter().flat_map(|value| nearest(value, known.iter().copied(), 1)).collect();
        if near.is_empty() {
            return offered(&known);
        }
        Meant::Values(near.into_iter().map(Text::from).collect())
    }

    /// The first requirement that leaves none of the types that those before it left, and the one
    /// of those that is enough for that, if one is.
    fn unmet_together(&self) -> Option<UnmetRequirements> {
        let mut left: Vec<&InstanceType> = self.offered.iter().collect();
        let mut before: Vec<(&Text, &KeyRequirement)> = Vec::new();
        for (key, rule) in self.own.iter() {
            if !matches!(self.key_kinds.get(key), Some(KeyKind::InstanceType { .. })) {
                continue;
            }
            let is_left = |one: &&InstanceType| self.is_met_by(one, key, rule);
            let kept: Vec<&InstanceType> = left.iter().copied().filter(is_left).collect();
            if kept.is_empty() {
                let clashes = |(own_key, own): &&(&Text, &KeyRequirement)| {
                    let both = |one: &InstanceType| {
                        self.is_met_by(one, own_key, own) && self.is_met_by(one, key, rule)
                    };
                    !self.offered.iter().any(both)
                };
                let clash = before.iter().find(clashes);
                let others = match clash {
                    Some((own_key, own)) => format!("{own_key} {}", own.values).into(),
                    None => "its other requirements".into(),
                };
                let among: Vec<&InstanceType> = match clash {
                    Some((own_key, own)) => self
                        .offered
                        .iter()
                        .filter(|one| self.is_met_by(one, own_key, own))
                        .collect(),
                    None => left,
                };
                let values: BTreeSet<&str> =
                    among.into_iter().flat_map(|one| self.values_on(one, key)).collect();
                return Some(UnmetRequirements::Together {
                    others,
                    requirement: format!("{key} {}", rule.values).into(),
                    more: values.len().saturating_sub(VALUES_SHOWN_MAX),
                    offered: values.into_iter().take(VALUES_SHOWN_MAX).map(Text::from).collect(),
                });
            }
            left = kept;
            before.push((key, rule));
        }
        None
    }
}

fn offered(known: &BTreeSet<&str>) -> Meant {
    Meant::Offered {
        values: known.iter().copied().take(VALUES_SHOWN_MAX).map(Text::from).collect(),
        more: known.len().saturating_sub(VALUES_SHOWN_MAX),
    }
}

/// Of known numbers, those next to the required ones; `None` where either are not numbers.
fn numbers_next_to(required: &ValueSet, known: &BTreeSet<&str>) -> Option<Vec<Text>> {
    let number = |value: &str| value.parse::<i64>().ok();
    let known: BTreeSet<i64> = known.iter().map(|value| number(value)).collect::<Option<_>>()?;
    let wanted: Vec<i64> = match required.as_list() {
        Some(listed) => listed.iter().map(|value| number(value)).collect::<Option<_>>()?,
        None => vec![number(&required.representative()?)?],
    };
    let next: BTreeSet<i64> = wanted
        .into_iter()
        .flat_map(|value| [known.range(..value).next_back(), known.range(value..).next()])
        .flatten()
        .copied()
        .collect();
    let next: Vec<Text> = next.into_iter().map(|value| value.to_string().into()).collect();
    (!next.is_empty()).then_some(next)
}
