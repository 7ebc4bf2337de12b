//! What makes EC2NodeClasses: AWSNodeTemplate v1alpha1, a Provisioner's inline `provider`, and
//! EC2NodeClass v1beta1.

use documents::Value;
use domain::node_class::AmiFamily;

use super::legacy_selector::{Selects, Term, terms};
use super::tree::{self, integer, line_of, list, object, own, text};
use crate::field::Field;

/// Families of images in older versions: Ubuntu was one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OldFamily {
    Known(AmiFamily),
    Ubuntu,
}

const OLD_FAMILIES: [(OldFamily, &str); 8] = [
    (OldFamily::Known(AmiFamily::Al2), "AL2"),
    (OldFamily::Known(AmiFamily::Al2023), "AL2023"),
    (OldFamily::Known(AmiFamily::Bottlerocket), "Bottlerocket"),
    (OldFamily::Known(AmiFamily::Custom), "Custom"),
    (OldFamily::Known(AmiFamily::Windows2019), "Windows2019"),
    (OldFamily::Known(AmiFamily::Windows2022), "Windows2022"),
    (OldFamily::Known(AmiFamily::Windows2025), "Windows2025"),
    (OldFamily::Ubuntu, "Ubuntu"),
];

/// Tags that v1 keeps to itself, whole or by their start.
const RESTRICTED_TAGS: [&str; 5] = [
    "eks:eks-cluster-name",
    "kubernetes.io/cluster",
    "karpenter.sh/nodepool",
    "karpenter.sh/nodeclaim",
    "karpenter.k8s.aws/ec2nodeclass",
];

/// The tag by which a cluster's subnets and security groups are found, by convention.
const DISCOVERY_TAG: &str = "karpenter.sh/discovery";

/// Fields that are the same in every version.
const COMMON: [&str; 5] = [
    "userData",
    "blockDeviceMappings",
    "detailedMonitoring",
    "context",
    "associatePublicIPAddress",
];

/// An EC2NodeClass of `metadata` and `spec`.
pub(super) fn node_class(metadata: Value<'static>, spec: Value<'static>) -> Value<'static> {
    let line = spec.line;
    object(
        line,
        [
            ("apiVersion", Some(text(line, "karpenter.k8s.aws/v1"))),
            ("kind", Some(text(line, "EC2NodeClass"))),
            ("metadata", Some(metadata)),
            ("spec", Some(spec)),
        ],
    )
}

/// The `spec` of an EC2NodeClass that `spec` of an AWSNodeTemplate, or `spec.provider` of a
/// Provisioner, stands for.
pub(super) fn spec_of_template(template: Field<'_>) -> Value<'static> {
    template.only(&[
        // The inline provider may say what it is.
        "apiVersion",
        "kind",
        "amiFamily",
        "amiSelector",
        "subnetSelector",
        "securityGroupSelector",
        "instanceProfile",
        "launchTemplate",
        "tags",
        "userData",
        "blockDeviceMappings",
        "metadataOptions",
        "detailedMonitoring",
        "context",
        "associatePublicIPAddress",
    ]);
    if template.get("launchTemplate").exists() {
        template.get("launchTemplate").warn(
            "a launch template of your own has no equal in v1: write its image, security groups, user data \
             and volumes into the EC2NodeClass",
        );
    }
    let (family, images) = images_of_template(template);
    let line = line_of(template);
    let mut members = vec![("amiFamily", family), ("amiSelectorTerms", images)];
    for (new, old) in [
        ("subnetSelectorTerms", "subnetSelector"),
        ("securityGroupSelectorTerms", "securityGroupSelector"),
    ] {
        members.push((new, selector_terms(template.get(old), Selects::Network)));
    }
    members.extend(identity_of_template(template));
    members.push(("tags", tags(template.get("tags"))));
    members.extend(COMMON.map(|key| (key, own(template.get(key)))));
    members.push((
        "metadataOptions",
        Some(metadata_options(template.get("metadataOptions"), Era::V1Alpha1)),
    ));
    object(line, members)
}

/// The `spec` of an EC2NodeClass v1 that one of v1beta1 stands for.
pub(super) fn spec_of_beta(spec: Field<'_>) -> Value<'static> {
    const SAME: [&str; 5] = [
        "subnetSelectorTerms",
        "securityGroupSelectorTerms",
        "role",
        "instanceProfile",
        "instanceStorePolicy",
    ];
    let known: Vec<&str> = ["amiFamily", "amiSelectorTerms", "tags", "metadataOptions"]
        .into_iter()
        .chain(SAME)
        .chain(COMMON)
        .collect();
    spec.only(&known);
    let family = spec.get("amiFamily");
    let terms = spec.get("amiSelectorTerms");
    let has_terms = terms.items().len() > 0;
    let (family, images) =
        images(family, family.choice(&OLD_FAMILIES), has_terms.then(|| own(terms)).flatten());
    let mut members = vec![("amiFamily", family), ("amiSelectorTerms", images)];
    members.extend(SAME.map(|key| (key, own(spec.get(key)))));
    members.push(("tags", tags(spec.get("tags"))));
    members.extend(COMMON.map(|key| (key, own(spec.get(key)))));
    members.push((
        "metadataOptions",
        Some(metadata_options(spec.get("metadataOptions"), Era::V1Beta1)),
    ));
    object(line_of(spec), members)
}

fn images_of_template(template: Field<'_>) -> (Option<Value<'static>>, Option<Value<'static>>) {
    let field = template.get("amiFamily");
    let family = if field.exists() {
        field.choice(&OLD_FAMILIES)
    } else {
        // The default of v1alpha1.
        Some(OldFamily::Known(AmiFamily::Al2))
    };
    let selector = template.get("amiSelector");
    images(field, family, selector_terms(selector, Selects::Images))
}

/// `amiFamily` and `amiSelectorTerms`: the latest images of the family where none were selected.
fn images(
    field: Field<'_>,
    family: Option<OldFamily>,
    terms: Option<Value<'static>>,
) -> (Option<Value<'static>>, Option<Value<'static>>) {
    let line = line_of(field);
    let Some(family) = family else { return (None, terms) };
    if let Some(terms) = terms {
        let word = match family {
            OldFamily::Known(family) => family.as_str(),
            OldFamily::Ubuntu => {
                field.warn(
                    "family Ubuntu has no equal in v1: AL2, whose bootstrap script Ubuntu's images for EKS \
                     have too, stands for it; its default volume is /dev/xvda, not /dev/sda1",
                );
                AmiFamily::Al2.as_str()
            }
        };
        return (Some(text(line, word)), Some(terms));
    }
    match family {
        OldFamily::Ubuntu => {
            field.warn(
                "images of family Ubuntu have no alias in v1: name them in amiSelectorTerms, such as \
                 [{ssmParameter: /aws/service/canonical/ubuntu/eks/22.04/1.29/stable/current/amd64/hvm/ebs-gp2/ami-id}] \
                 with the cluster's version; family AL2, whose bootstrap script Ubuntu's images for EKS have too, stands \
                 for it; its default volume is /dev/xvda, not /dev/sda1",
            );
            (Some(text(line, AmiFamily::Al2.as_str())), None)
        }
        OldFamily::Known(AmiFamily::Custom) => {
            field.warn(
                "images of family Custom have no alias in v1: name them in amiSelectorTerms, by id, name or tags",
            );
            (Some(text(line, AmiFamily::Custom.as_str())), None)
        }
        OldFamily::Known(family) => {
            let alias = format!("{}@latest", family.as_str().to_lowercase());
            let term = object(line, [("alias", Some(text(line, alias)))]);
            (None, Some(list(line, vec![term])))
        }
    }
}

fn selector_terms(selector: Field<'_>, selects: Selects) -> Option<Value<'static>> {
    let line = line_of(selector);
    let entries: Vec<(String, String)> = selector
        .entries()
        .filter_map(|(key, value)| Some((key.to_owned(), value.str()?.to_owned())))
        .collect();
    if entries.is_empty() {
        return None;
    }
    let found = terms(selects, &entries);
    for key in found.dropped {
        if let Some((_, entry)) = selector.entries().find(|(name, _)| *name == key) {
            entry.warn(format!(
                "{key} has no equal beside ids: a term of v1 that names an id has nothing else"
            ));
        }
    }
    Some(list(line, found.terms.into_iter().map(|term| term_value(line, term)).collect()))
}

fn term_value(line: u32, term: Term) -> Value<'static> {
    let tags = object(
        line,
        term.tags.iter().map(|(key, value)| (key.as_str(), Some(text(line, value.as_str())))),
    );
    let fields = term.fields.into_iter().map(|(key, value)| (key, Some(text(line, value))));
    object(line, fields.chain([("tags", tree::unless_empty(tags))]))
}

/// `instanceProfile`, or a role where it was left to a global setting that is no more.
fn identity_of_template(template: Field<'_>) -> [(&'static str, Option<Value<'static>>); 2] {
    let profile = template.get("instanceProfile");
    if profile.exists() {
        return [("role", None), ("instanceProfile", own(profile))];
    }
    let cluster = ["subnetSelector", "securityGroupSelector"]
        .into_iter()
        .find_map(|selector| template.get(selector).get(DISCOVERY_TAG).str())
        .filter(|cluster| !cluster.is_empty() && *cluster != "*");
    let role = match cluster {
        Some(cluster) => format!("KarpenterNodeRole-{cluster}"),
        None => "KarpenterNodeRole".to_owned(),
    };
    profile.warn(format!(
        "the default instance profile was a global setting, which v1 does not have: role {role} stands for it by \
         the usual naming; make sure that it is the one of your nodes"
    ));
    [("role", Some(text(line_of(profile), role))), ("instanceProfile", None)]
}

fn tags(tags: Field<'_>) -> Option<Value<'static>> {
    let members = tags.entries().filter_map(|(key, tag)| {
        if RESTRICTED_TAGS.iter().any(|restricted| key.starts_with(restricted)) {
            tag.warn(format!("tag {key} is left out: v1 sets it by itself"));
            return None;
        }
        Some((key, own(tag)))
    });
    tree::unless_empty(object(line_of(tags), members.collect::<Vec<_>>()))
}

/// Which version's defaults hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Era {
    V1Alpha1,
    V1Beta1,
}

/// `metadataOptions` with older defaults written out: v1's are others, and a conversion must not
/// close the metadata service to pods that use it.
///
/// Without the field, both older versions allowed two hops. With it, v1alpha1 left what was not
/// said to EC2 (one hop, tokens optional).
fn metadata_options(field: Field<'_>, era: Era) -> Value<'static> {
    let line = line_of(field);
    let to_ec2 = era == Era::V1Alpha1 && field.exists();
    let (hops, tokens) = if to_ec2 { (1, "optional") } else { (2, "required") };
    field.only(&["httpEndpoint", "httpProtocolIPv6", "httpPutResponseHopLimit", "httpTokens"]);
    object(
        line,
        [
            ("httpEndpoint", text(line, "enabled")),
            ("httpProtocolIPv6", text(line, "disabled")),
            ("httpPutResponseHopLimit", integer(line, hops)),
            ("httpTokens", text(line, tokens)),
        ]
        .map(|(key, default)| (key, Some(own(field.get(key)).unwrap_or(default)))),
    )
}
