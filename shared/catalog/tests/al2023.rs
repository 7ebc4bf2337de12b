//! What a plain AL2023 node class sees, held against published figures.
//!
//! The figures lie outside the repository, in the folder `shared/facts` beside it; where that
//! folder is missing, the comparison is skipped and says so.

#![expect(clippy::unwrap_used, reason = "figures that are not what they were end the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use catalog::CatalogOptions;
use domain::instance_type::InstanceType;
use domain::resource::Resources;
use serde_json::Value;

const FIGURES: &str = "../../../shared/facts/ec2-allocatable-al2023.json";
/// At least so many types in a thousand must be equal in everything.
const EQUAL_PERMILLE_MIN: usize = 995;

#[test]
fn nearly_every_type_has_the_published_labels_and_amounts() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FIGURES);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: there are no figures at shared/facts beside the repository");
        return;
    };
    let published: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    // A region that sells everything, so that no type goes unseen.
    let catalog = catalog::embedded().unwrap();
    let types = catalog.instance_types(&[], &CatalogOptions::of("everywhere-1"));
    let mut known = 0;
    let mut differing = BTreeMap::new();
    for own in types.default.iter() {
        let Some(theirs) = published.get(&*own.name) else { continue };
        known += 1;
        let differences = differences(own, theirs);
        if !differences.is_empty() {
            differing.insert(own.name.clone(), differences);
        }
    }
    for (name, differences) in &differing {
        println!("{name}: {}", differences.join(", "));
    }
    let equal = known - differing.len();
    println!("{equal} of {known} types are equal in every label and amount");
    assert!(known > 1200, "only {known} types are known to both");
    assert!(
        equal * 1000 >= known * EQUAL_PERMILLE_MIN,
        "{equal} of {known} types are equal; see above which differ"
    );
}

/// Each label and amount that differs, as `key: ours instead of theirs`.
fn differences(own: &InstanceType, theirs: &Value) -> Vec<String> {
    let labels: BTreeMap<String, String> =
        own.labels.iter().map(|(key, values)| (key.to_string(), values.join("|"))).collect();
    let their_labels = strings(&theirs["labels"]);
    let mut differences = compared(&labels, &their_labels);

    let amounts: BTreeMap<String, i64> =
        own.allocatable.iter().map(|(name, amount)| (name.to_string(), amount)).collect();
    let their_amounts: BTreeMap<String, i64> = strings(&theirs["allocatable"])
        .into_iter()
        .map(|(name, quantity)| {
            let amount = Resources::amount_of(&name, quantity.parse().unwrap());
            (name, amount)
        })
        .collect();
    differences.extend(compared(&amounts, &their_amounts));
    differences
}

fn strings(object: &Value) -> BTreeMap<String, String> {
    let entries = object.as_object().unwrap().iter();
    entries.map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned())).collect()
}

fn compared<T: PartialEq + std::fmt::Debug>(
    ours: &BTreeMap<String, T>,
    theirs: &BTreeMap<String, T>,
) -> Vec<String> {
    let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    keys.into_iter()
        .filter(|key| ours.get(*key) != theirs.get(*key))
        .map(|key| format!("{key}: {:?} instead of {:?}", ours.get(key), theirs.get(key)))
        .collect()
}
