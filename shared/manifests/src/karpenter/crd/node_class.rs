//! EC2NodeClass.

use domain::node_class::AmiFamily;
use serde_json::json;

use super::common::status;
use super::kind::{AGE, Kind, READY, column, wide};
use super::schema::Schema;
use crate::karpenter::block_device::{INITIALIZATION_RATE, MAPPINGS_MAX, VOLUME_TYPES};
use crate::karpenter::network::INTERFACES_MAX;
use crate::karpenter::node_class::{RESTRICTED_TAG_PREFIX, RESTRICTED_TAGS};
use crate::karpenter::selector_term::{ALIAS_MAX, TAGS_MAX, TERMS_MAX};

/// What EBS makes of one volume: up to 59000Gi, 64000G, 58Ti or 64T.
const VOLUME_SIZE: &str = "^(([1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-8][0-9]{3}|59000)Gi|([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-3][0-9]{3}|64000)G|([1-9]|[1-4][0-9]|5[0-8])Ti|([1-9]|[1-5][0-9]|6[0-4])T)$";

pub(super) fn kind() -> Kind {
    Kind {
        group: "karpenter.k8s.aws",
        version: "v1",
        name: "EC2NodeClass",
        plural: "ec2nodeclasses",
        short_names: &["ec2nc", "ec2ncs"],
        categories: &["karpenter"],
        is_namespaced: false,
        about: "How an instance is set up.",
        spec: spec(),
        status: Some(node_class_status()),
        scale: None,
        columns: vec![
            READY,
            AGE,
            column("Family", "string", ".spec.amiFamily"),
            wide("Role", "string", ".spec.role"),
        ],
    }
}

fn spec() -> Schema {
    let name = || Schema::text().at_least_long(1);
    Schema::object([
        ("subnetSelectorTerms", subnets()),
        ("securityGroupSelectorTerms", security_groups()),
        ("capacityReservationSelectorTerms", reservations()),
        ("placementGroupSelector", placement_group()),
        ("associatePublicIPAddress", Schema::boolean()),
        ("ipPrefixCount", Schema::count_32(0)),
        ("amiSelectorTerms", images()),
        ("amiFamily", Schema::word_from::<AmiFamily>()),
        ("userData", Schema::text()),
        ("role", name().about("The role of nodes; an instance profile is created for it.")),
        ("instanceProfile", name().about("An existing instance profile.")),
        ("tags", tags()),
        ("kubelet", Schema::any_object().open().about("Fields of a KubeletConfiguration.")),
        ("blockDeviceMappings", block_devices()),
        ("instanceStorePolicy", Schema::word_of(["RAID0"])),
        ("networkInterfaces", network_interfaces()),
        ("detailedMonitoring", Schema::boolean()),
        ("metadataOptions", metadata_options()),
        ("connectionTracking", connection_tracking()),
        ("context", Schema::text()),
        ("cpuOptions", Schema::object([("nestedVirtualization", switch())])),
    ])
    .required(&["amiSelectorTerms", "securityGroupSelectorTerms", "subnetSelectorTerms"])
    .rule("has(self.role) != has(self.instanceProfile)", "exactly one of role and instanceProfile is needed")
    .rule(
        "has(self.amiFamily) || self.amiSelectorTerms.exists(term, has(term.alias))",
        "amiFamily is needed where no alias of amiSelectorTerms names the family",
    )
    .rule(
        "!has(self.amiFamily) || self.amiFamily == 'Custom' || self.amiSelectorTerms.all(term, !has(term.alias) || term.alias.find('^[^@]*') == self.amiFamily.lowerAscii())",
        "amiFamily does not match the alias of amiSelectorTerms",
    )
}

/// A list of selector terms, each of some fields, of which one must stand and some must stand
/// alone.
fn terms(fields: Vec<(&'static str, Schema)>, selecting: &[&str], alone: &[&str]) -> Schema {
    let all: Vec<&str> = fields.iter().map(|(name, _)| *name).chain(["tags"]).collect();
    let mut term = Schema::object(fields.into_iter().chain([("tags", term_tags())]));
    let any = selecting.iter().map(|name| format!("has(self.{name})")).collect::<Vec<_>>();
    term = term.rule(&any.join(" || "), &format!("the term needs one of {}", selecting.join(", ")));
    for name in alone {
        let others = all.iter().filter(|other| *other != name);
        let none = others.map(|other| format!("!has(self.{other})")).collect::<Vec<_>>();
        term = term.rule(
            &format!("!has(self.{name}) || ({})", none.join(" && ")),
            &format!("{name} stands alone in its term"),
        );
    }
    Schema::list(term)
}

fn term_tags() -> Schema {
    Schema::map(Schema::text()).entries_at_most(TAGS_MAX).rule(
        "self.all(key, key != '' && self[key] != '')",
        "a tag's key and value may not be empty: write \"*\" for any value",
    )
}

fn id(prefix: &str) -> Schema {
    Schema::text().length(0, 64).pattern(&format!("^{prefix}[0-9a-z]+$"))
}

fn subnets() -> Schema {
    terms(vec![("id", id("subnet-"))], &["tags", "id"], &["id"]).items(1, TERMS_MAX)
}

fn security_groups() -> Schema {
    let fields = vec![("id", id("sg-")), ("name", Schema::text().length(1, 255))];
    terms(fields, &["tags", "id", "name"], &["id", "name"]).items(1, TERMS_MAX)
}

fn reservations() -> Schema {
    let fields = vec![
        ("id", id("cr-")),
        ("ownerID", Schema::text().pattern("^[0-9]{12}$")),
        ("instanceMatchCriteria", Schema::word_of(["open", "targeted"])),
    ];
    terms(fields, &["tags", "id", "instanceMatchCriteria"], &["id"]).items(0, TERMS_MAX)
}

fn images() -> Schema {
    let families: Vec<String> = AmiFamily::ALL
        .iter()
        .map(|family| family.as_str().to_lowercase())
        .filter(|word| AmiFamily::parse_alias(word).is_some())
        .collect();
    let quoted: Vec<String> = families.iter().map(|family| format!("'{family}'")).collect();
    let alias = Schema::text()
        .length(1, ALIAS_MAX)
        .pattern("^[a-zA-Z0-9]+@.+$")
        .rule(
            &format!("self.find('^[^@]*') in [{}]", quoted.join(", ")),
            &format!("the family of an alias is one of {}", families.join(", ")),
        )
        .rule(
            "!self.startsWith('windows') || self.endsWith('@latest')",
            "Windows images have no version but latest",
        )
        .about("A family and a version, such as al2023@latest.");
    let fields = vec![
        ("alias", alias),
        ("id", id("ami-")),
        ("name", Schema::text().length(1, 128)),
        ("owner", Schema::text().length(1, 64)),
        ("ssmParameter", Schema::text().length(1, 1011)),
    ];
    terms(fields, &["tags", "id", "name", "alias", "ssmParameter"], &["id", "alias"])
        .items(1, TERMS_MAX)
        .rule(
            "self.size() == 1 || self.all(term, !has(term.alias))",
            "an alias must be the only term",
        )
}

fn placement_group() -> Schema {
    Schema::object([("id", id("pg-")), ("name", Schema::text().length(1, 255))])
        .rule("has(self.id) != has(self.name)", "exactly one of name and id is needed")
}

fn tags() -> Schema {
    let restricted = RESTRICTED_TAGS.map(|key| format!("key != '{key}'")).join(" && ");
    Schema::map(Schema::text())
        .entries_at_most(50)
        .rule("self.all(key, key != '')", "a tag's key may not be empty")
        .rule(
            &format!("self.all(key, {restricted} && !key.startsWith('{RESTRICTED_TAG_PREFIX}'))"),
            "a tag that says whose the instance is cannot be set",
        )
}

fn block_devices() -> Schema {
    let rate = Schema::count_32(i64::from(*INITIALIZATION_RATE.start()));
    let ebs = Schema::object([
        ("deleteOnTermination", Schema::boolean()),
        ("encrypted", Schema::boolean()),
        ("iops", Schema::count(0)),
        ("kmsKeyID", Schema::text()),
        ("snapshotID", Schema::text()),
        ("throughput", Schema::count(0)),
        ("volumeInitializationRate", rate.at_most(i64::from(*INITIALIZATION_RATE.end()))),
        ("volumeSize", Schema::text().pattern(VOLUME_SIZE)),
        ("volumeType", Schema::word(&VOLUME_TYPES)),
    ])
    .rule("has(self.snapshotID) || has(self.volumeSize)", "snapshotID or volumeSize is needed")
    .rule(
        "!has(self.volumeInitializationRate) || has(self.snapshotID)",
        "volumeInitializationRate needs snapshotID beside it",
    );
    let mapping = Schema::object([
        ("deviceName", Schema::text()),
        ("rootVolume", Schema::boolean()),
        ("ebs", ebs),
    ]);
    Schema::list(mapping).items(0, MAPPINGS_MAX).rule(
        "self.filter(mapping, has(mapping.rootVolume) && mapping.rootVolume).size() <= 1",
        "only one volume can be the rootVolume",
    )
}

fn network_interfaces() -> Schema {
    let interface = Schema::object([
        ("networkCardIndex", Schema::count_32(0)),
        ("deviceIndex", Schema::count_32(0)),
        ("interfaceType", Schema::word_of(["interface", "efa-only"])),
    ])
    .required(&["deviceIndex", "interfaceType", "networkCardIndex"]);
    Schema::list(interface).items(0, INTERFACES_MAX).rule(
        "self.exists(own, own.networkCardIndex == 0 && own.deviceIndex == 0 && own.interfaceType == 'interface')",
        "the primary interface is needed: networkCardIndex 0, deviceIndex 0, interfaceType interface",
    )
}

fn switch() -> Schema {
    Schema::word_of(["enabled", "disabled"])
}

fn metadata_options() -> Schema {
    let options = json!({
        "httpEndpoint": "enabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": 1,
        "httpTokens": "required",
    });
    Schema::object([
        ("httpEndpoint", switch().default("enabled")),
        ("httpProtocolIPv6", switch().default("disabled")),
        ("httpPutResponseHopLimit", Schema::count(1).at_most(64).default(1)),
        ("httpTokens", Schema::word_of(["required", "optional"]).default("required")),
    ])
    .default(options)
}

fn connection_tracking() -> Schema {
    let seconds = |least, most| Schema::count_32(least).at_most(most);
    Schema::object([
        ("tcpEstablishedTimeout", seconds(60, 432_000)),
        ("udpStreamTimeout", seconds(60, 180)),
        ("udpTimeout", seconds(30, 60)),
    ])
    .about("Seconds after which an idle connection is no longer tracked.")
    .rule(
        "has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)",
        "at least one of tcpEstablishedTimeout, udpStreamTimeout and udpTimeout is needed",
    )
}

/// What selectors were resolved to. A controller writes it.
fn node_class_status() -> Schema {
    let text = Schema::text;
    let subnet = Schema::object([("id", text()), ("zone", text()), ("zoneID", text())]);
    let group = Schema::object([("id", text()), ("name", text())]);
    let image = Schema::object([
        ("id", text()),
        ("name", text()),
        ("deprecated", Schema::boolean()),
        ("requirements", Schema::list(Schema::any_object().open())),
    ]);
    status([
        ("subnets", Schema::list(subnet.required(&["id", "zone"]))),
        ("securityGroups", Schema::list(group.required(&["id"]))),
        ("amis", Schema::list(image.required(&["id", "requirements"]))),
        ("capacityReservations", Schema::list(Schema::any_object().open())),
        ("instanceProfile", text()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::karpenter::node_class::SPEC_FIELDS;

    #[test]
    fn the_schema_knows_the_fields_that_the_reader_knows() {
        let schema = spec().into_value();
        let known: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        let mut read: Vec<&str> = SPEC_FIELDS.into_iter().chain(["cpuOptions"]).collect();
        read.sort_unstable();
        assert_eq!(known, read);
    }
}
