//! Kubelet settings move from the pool to its EC2NodeClass.
//!
//! In older versions every pool had its own settings beside a template that several could share; in
//! v1 they are the node class's. Where pools that share a class differ, each setting gets a class
//! of its own.

use documents::Value;
use std::collections::BTreeMap;

use super::node_pool::Pool;
use super::placed::{NodeClass, Placed};
use super::tree::{is_same, set, text};
use crate::error::Warning;

/// Moves the settings of every pool into its class. The classes that come back are those given,
/// with settings, and copies of them; the warnings tell what was done beyond moving, and what could
/// not be done.
pub(super) fn move_settings(
    pools: &mut [Placed<Pool>],
    given: Vec<Placed<NodeClass>>,
) -> (Vec<Placed<NodeClass>>, Vec<Warning>) {
    let mut warnings = Vec::new();
    let mut users: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, pool) in pools.iter().enumerate() {
        users.entry(pool.value.node_class.clone()).or_default().push(index);
    }
    let mut classes = Vec::new();
    for class in given {
        let users = users.remove(&class.value.name).unwrap_or_default();
        let settled = settled(&class, &users, pools, &mut warnings);
        classes.extend(settled);
    }
    for pool in users.into_values().flatten().map(|index| &pools[index].value) {
        if let Some((_, place)) = &pool.kubelet {
            let what = format!(
                "kubelet settings are the EC2NodeClass's in v1, and {} is not among these older manifests: add \
                 them to its spec.kubelet",
                pool.node_class
            );
            warnings.push(Warning { what, place: Some(place.clone()) });
        }
    }
    (classes, warnings)
}

/// A class with the settings of the pools that use it, and a copy for every other settings among
/// them.
fn settled(
    class: &Placed<NodeClass>,
    users: &[usize],
    pools: &mut [Placed<Pool>],
    warnings: &mut Vec<Warning>,
) -> Vec<Placed<NodeClass>> {
    let name = &class.value.name;
    // Pools without settings keep the class as it is, whatever others want.
    let (plain, particular): (Vec<usize>, Vec<usize>) =
        users.iter().partition(|index| pools[**index].value.kubelet.is_none());
    let mut distinct: Vec<(String, Option<Value<'static>>)> = Vec::new();
    if !plain.is_empty() || particular.is_empty() {
        distinct.push((name.clone(), None));
    }
    for index in particular {
        let pool = &mut pools[index].value;
        let Some((settings, place)) = &pool.kubelet else { continue };
        let known = distinct
            .iter()
            .find(|(_, other)| other.as_ref().is_some_and(|other| is_same(other, settings)));
        let own_name = match known {
            Some((known, _)) => known.clone(),
            None if distinct.is_empty() => name.clone(),
            None => format!("{name}-{}", pool.name()),
        };
        if known.is_none() {
            distinct.push((own_name.clone(), Some(settings.clone())));
        }
        if own_name != *name {
            let what = format!(
                "other pools use {name} with other kubelet settings: EC2NodeClass {own_name}, a copy, has these"
            );
            warnings.push(Warning { what, place: Some(place.clone()) });
            pool.refer_to(own_name);
        }
    }
    distinct.into_iter().map(|(name, settings)| copy(class, name, settings)).collect()
}

/// The class under a name, with settings.
fn copy(
    class: &Placed<NodeClass>,
    name: String,
    settings: Option<Value<'static>>,
) -> Placed<NodeClass> {
    class.clone().map(|NodeClass { name: old_name, mut object }| {
        if name != old_name {
            let shown = text(object.line, name.as_str());
            set(&mut object, &["metadata", "name"], shown);
        }
        if let Some(settings) = settings {
            set(&mut object, &["spec", "kubelet"], settings);
        }
        NodeClass { name, object }
    })
}

impl Pool {
    fn name(&self) -> &str {
        self.object
            .get("metadata")
            .and_then(|metadata| metadata.get("name"))
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    fn refer_to(&mut self, class: String) {
        let path = ["spec", "template", "spec", "nodeClassRef", "name"];
        let name = text(self.object.line, class.as_str());
        set(&mut self.object, &path, name);
        self.node_class = class;
    }
}
