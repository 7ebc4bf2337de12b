//! `networkInterfaces`, `metadataOptions` and `connectionTracking` of an EC2NodeClass.

use std::collections::BTreeSet;

use domain::node_class::{ConnectionTracking, MetadataOptions, NetworkInterface};

use crate::field::Field;

/// Most interfaces.
pub(super) const INTERFACES_MAX: usize = 150;

/// Which rule a network setting breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NetworkRule {
    /// Too many interfaces.
    #[error("{0} network interfaces are too many: at most 150 are allowed")]
    TooMany(usize),
    /// No primary interface.
    #[error(
        "the primary interface is needed: networkCardIndex 0, deviceIndex 0, interfaceType interface"
    )]
    NoPrimary,
    /// Two interfaces in one place.
    #[error("networkCardIndex {0} and deviceIndex {1} are taken by another interface")]
    Taken(u32, u32),
    /// Two efa-only interfaces of one card.
    #[error("network card {0} has another interface of type efa-only: one is allowed")]
    TwoEfaOnly(u32),
    /// A number out of range.
    #[error("{found} is out of range: it takes {least} to {most}")]
    Range {
        /// What was written.
        found: i64,
        /// The smallest allowed.
        least: u32,
        /// The largest allowed.
        most: u32,
    },
    /// A mapping that sets nothing.
    #[error("at least one of tcpEstablishedTimeout, udpStreamTimeout and udpTimeout is needed")]
    NoTimeout,
}

/// Reads `networkInterfaces`.
pub(crate) fn read_network_interfaces(list: Field<'_>) -> Vec<NetworkInterface> {
    let mut places = BTreeSet::new();
    let mut efa_only_cards = BTreeSet::new();
    let mut interfaces = Vec::new();
    for item in list.items() {
        let Some(interface) = read_interface(item) else { continue };
        let NetworkInterface { network_card_index: card, device_index: device, is_efa_only } =
            interface;
        if !places.insert((card, device)) {
            item.note_rule(NetworkRule::Taken(card, device));
        }
        if is_efa_only && !efa_only_cards.insert(card) {
            item.note_rule(NetworkRule::TwoEfaOnly(card));
        }
        interfaces.push(interface);
    }
    if interfaces.len() > INTERFACES_MAX {
        list.note_rule(NetworkRule::TooMany(interfaces.len()));
    }
    let primary = NetworkInterface { network_card_index: 0, device_index: 0, is_efa_only: false };
    if list.exists() && !interfaces.contains(&primary) {
        list.note_rule(NetworkRule::NoPrimary);
    }
    interfaces
}

fn read_interface(item: Field<'_>) -> Option<NetworkInterface> {
    item.only_or_newer(&["networkCardIndex", "deviceIndex", "interfaceType"]);
    let card = item.get("networkCardIndex").required().count();
    let device = item.get("deviceIndex").required().count();
    let is_efa_only =
        item.get("interfaceType").required().choice(&[(false, "interface"), (true, "efa-only")]);
    Some(NetworkInterface {
        network_card_index: card?,
        device_index: device?,
        is_efa_only: is_efa_only?,
    })
}

/// Reads `metadataOptions`: every field has a default.
pub(crate) fn read_metadata_options(field: Field<'_>) -> MetadataOptions {
    field.only_or_newer(&[
        "httpEndpoint",
        "httpProtocolIPv6",
        "httpPutResponseHopLimit",
        "httpTokens",
    ]);
    let switch = [(true, "enabled"), (false, "disabled")];
    let tokens = [(true, "required"), (false, "optional")];
    let defaults = MetadataOptions::default();
    MetadataOptions {
        http_endpoint: field.get("httpEndpoint").choice(&switch).unwrap_or(defaults.http_endpoint),
        http_protocol_ipv6: field
            .get("httpProtocolIPv6")
            .choice(&switch)
            .unwrap_or(defaults.http_protocol_ipv6),
        hop_limit: ranged(field.get("httpPutResponseHopLimit"), 1, 64)
            .unwrap_or(defaults.hop_limit),
        tokens_required: field
            .get("httpTokens")
            .choice(&tokens)
            .unwrap_or(defaults.tokens_required),
    }
}

/// Reads `connectionTracking`, in seconds.
pub(crate) fn read_connection_tracking(field: Field<'_>) -> Option<ConnectionTracking> {
    if !field.exists() {
        return None;
    }
    field.only_or_newer(&["tcpEstablishedTimeout", "udpStreamTimeout", "udpTimeout"]);
    let tracking = ConnectionTracking {
        tcp_established_seconds: ranged(field.get("tcpEstablishedTimeout"), 60, 432_000),
        udp_stream_seconds: ranged(field.get("udpStreamTimeout"), 60, 180),
        udp_seconds: ranged(field.get("udpTimeout"), 30, 60),
    };
    if field.entries().next().is_none() {
        field.note_rule(NetworkRule::NoTimeout);
    }
    Some(tracking)
}

fn ranged(field: Field<'_>, least: u32, most: u32) -> Option<u32> {
    let found = field.integer()?;
    let fitting = u32::try_from(found).ok().filter(|found| (least..=most).contains(found));
    if fitting.is_none() {
        field.note_rule(NetworkRule::Range { found, least, most });
    }
    fitting
}
