//! Which pod starts a group of pods that seek each other, where nobody can follow anybody.
//!
//! Of pods with the same required affinity one may be the first, and where it is makes a
//! difference: elsewhere the others need a pod that their terms select. Whoever will find one once
//! others have started had better not be the first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::pods::PodId;

/// Waiting pods with the same required affinity that must find others in the same domains.
pub(crate) struct FamilyPart {
    /// The number of all pods with that affinity.
    pub(crate) family: usize,
    /// The pods.
    pub(crate) pods: Vec<PodId>,
    /// The numbers of other parts whose pods meet terms of these pods where they are; empty where
    /// some term is met by none of them.
    pub(crate) others: BTreeSet<usize>,
}

/// Parts to start with, each with its pod: of those that `starter` has a pod for, the ones that the
/// fewest others could help to start; of a family where most of its pods are. Where all could help
/// each other only one starts, of the family that has to start in the fewest places.
pub(crate) fn next_to_start(
    parts: &[FamilyPart],
    starter: impl Fn(&FamilyPart) -> Option<PodId>,
) -> Vec<(usize, PodId)> {
    let able = parts.iter().enumerate();
    let able = able.filter_map(|(number, part)| Some((number, starter(part)?)));
    let able: Vec<(usize, PodId, usize)> =
        able.map(|(number, pod)| (number, pod, helpers(parts, number))).collect();
    let least = able.iter().map(|(_, _, helpers)| *helpers).min().unwrap_or(0);
    let mut families: BTreeMap<usize, Vec<(usize, PodId)>> = BTreeMap::new();
    for (number, pod, _) in able.into_iter().filter(|(_, _, helpers)| *helpers == least) {
        families.entry(parts[number].family).or_default().push((number, pod));
    }
    let crowd = |(number, _): &&(usize, PodId)| Reverse(parts[*number].pods.len());
    let of_family = |own: &Vec<(usize, PodId)>| own.iter().min_by_key(crowd).copied();
    if least == 0 {
        return families.values().filter_map(of_family).collect();
    }
    let one = families.values().min_by_key(|own| own.len()).and_then(of_family);
    one.into_iter().collect()
}

/// How many other parts could help a part to start, by way of others too.
fn helpers(parts: &[FamilyPart], number: usize) -> usize {
    let mut found: BTreeSet<usize> = BTreeSet::from([number]);
    let mut open = vec![number];
    while let Some(next) = open.pop() {
        open.extend(parts[next].others.iter().copied().filter(|other| found.insert(*other)));
    }
    found.len() - 1
}
