//! The region of a cluster, as its objects say it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use domain::Text;
use domain::label::{self, Labels};
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::node_class::Ec2NodeClass;
use domain::requirement::{Requirement, Requirements};
use domain::snapshot::ClusterSnapshot;

use crate::view::pricing::SaidBy;

/// A region, and what says that it is this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Region {
    /// The name.
    pub(super) name: Text,
    /// What says so.
    pub(super) said_by: SaidBy,
    /// How many objects of the same kind are of another.
    pub(super) others: BTreeMap<Text, usize>,
}

/// The region that most nodes are in; without nodes, NodeClaims are asked, then subnets of
/// EC2NodeClasses, then NodePools. Of several that are named as often, the first by name.
pub(super) fn of_objects(snapshot: &ClusterSnapshot) -> Option<Region> {
    let objects = &snapshot.objects;
    let nodes = objects.nodes.iter().filter_map(of_node).collect();
    let claims = snapshot.node_claims.iter().filter_map(of_claim).collect();
    let subnets = of_subnets(&objects.node_classes).collect();
    let pools = objects.node_pools.iter();
    let pools = pools.flat_map(|pool| of_requirements(pool.template.requirements.iter())).collect();
    let asked: [(&'static str, Vec<Text>); 4] =
        [("node", nodes), ("NodeClaim", claims), ("subnet", subnets), ("NodePool", pools)];
    let (kind, said) = asked.into_iter().find(|(_, said)| !said.is_empty())?;
    most(kind, said)
}

/// The region that most subnets of node classes are in.
pub(super) fn of_node_classes(node_classes: &[Ec2NodeClass]) -> Option<Region> {
    most("subnet", of_subnets(node_classes).collect())
}

fn of_subnets(node_classes: &[Ec2NodeClass]) -> impl Iterator<Item = Text> {
    let subnets = node_classes.iter().flat_map(|class| &class.status.subnets);
    subnets.filter_map(|subnet| of_zone(&subnet.zone))
}

/// The region that comes most often; of several, the first by name.
fn most(kind: &'static str, said: Vec<Text>) -> Option<Region> {
    let mut others: BTreeMap<Text, usize> = BTreeMap::new();
    for region in said {
        *others.entry(region).or_default() += 1;
    }
    let most = others.iter().min_by_key(|(name, count)| (Reverse(**count), Text::clone(name)));
    let (name, count) = most.map(|(name, count)| (name.clone(), *count))?;
    others.remove(&name);
    Some(Region { name, said_by: SaidBy::Objects { kind, count }, others })
}

fn of_node(node: &Node) -> Option<Text> {
    // `aws:///ap-northeast-2a/i-0123456789abcdef0`
    let zone_of_id = || node.provider_id.as_deref()?.strip_prefix("aws:///")?.split('/').next();
    of_labels(&node.labels).or_else(|| of_zone(zone_of_id()?))
}

fn of_claim(claim: &NodeClaim) -> Option<Text> {
    of_labels(&claim.labels).or_else(|| of_requirements(claim.requirements.iter()).next())
}

fn of_labels(labels: &Labels) -> Option<Text> {
    labels.get(label::REGION).cloned().or_else(|| of_zone(labels.get(label::ZONE)?))
}

/// At most one, as the requirements of one object.
fn of_requirements<'r>(
    requirements: impl Iterator<Item = &'r Requirement>,
) -> impl Iterator<Item = Text> {
    let requirements = Requirements::of(requirements);
    let listed = |key: &str| requirements.get(key)?.values.as_list()?.first().cloned();
    listed(label::REGION).or_else(|| of_zone(&listed(label::ZONE)?)).into_iter()
}

/// `ap-northeast-2` of `ap-northeast-2a`, and `us-west-2` of the Local Zone `us-west-2-lax-1a`;
/// `None` for a name that no zone of AWS has.
fn of_zone(zone: &str) -> Option<Text> {
    let digit = zone.find(|character: char| character.is_ascii_digit())?;
    let (words, rest) = zone.split_at(digit);
    let mut words = words.strip_suffix('-')?.split('-');
    let is_word = |word: &str| word.chars().all(|letter| letter.is_ascii_lowercase());
    let has_area = words.next().is_some_and(|area| area.len() == 2 && is_word(area));
    let directions: Vec<&str> = words.collect();
    let number = rest.chars().take_while(char::is_ascii_digit).count();
    let is_region = has_area && !directions.is_empty() && directions.iter().all(|own| is_word(own));
    is_region.then(|| zone[..digit + number].into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_zone_tells_its_region() {
        let of = |zone| of_zone(zone).map(|region| region.to_string());
        assert_eq!(of("ap-northeast-2a").as_deref(), Some("ap-northeast-2"));
        assert_eq!(of("us-gov-west-1b").as_deref(), Some("us-gov-west-1"));
        assert_eq!(of("us-west-2-lax-1a").as_deref(), Some("us-west-2"));
        for other in ["test-zone-1", "a", "", "1", "us-1a", "-east-1a"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn most_nodes_decide() {
        let mut snapshot = testing::snapshot();
        let regions = ["eu-west-1", "ap-south-1", "ap-south-1"];
        let node = snapshot.objects.nodes[0].clone();
        let node_in = |region: &&str| {
            let mut node = node.clone();
            node.labels.insert(label::REGION.into(), (*region).into());
            node
        };
        snapshot.objects.nodes = regions.iter().map(node_in).collect();
        let region = of_objects(&snapshot).unwrap();
        assert_eq!(&*region.name, "ap-south-1");
        assert_eq!(region.said_by, SaidBy::Objects { kind: "node", count: 2 });
        assert_eq!(region.others, BTreeMap::from([(Text::from("eu-west-1"), 1)]));
    }

    #[test]
    fn a_provider_id_tells_the_region_of_a_node_without_labels() {
        let mut snapshot = testing::snapshot();
        snapshot.objects.nodes.truncate(1);
        let node = &mut snapshot.objects.nodes[0];
        node.labels = Labels::new();
        node.provider_id = Some("aws:///sa-east-1c/i-0123456789abcdef0".into());
        assert_eq!(
            of_objects(&snapshot).map(|own| own.name.to_string()).as_deref(),
            Some("sa-east-1")
        );
    }
}
