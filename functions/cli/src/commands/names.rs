//! Objects by the names that people type, and what was meant by a name that nothing has.

use std::collections::BTreeSet;

use domain::nearest::nearest;
use domain::pod::{Pod, PodKey};

use crate::commands::CommandError;
use crate::view::node_name::short;

/// Names suggested for one that nothing has.
const SUGGESTED_MAX: usize = 3;

/// A pod by `NAMESPACE/NAME`, or by a name that is in the namespace `default` or in one only.
pub(super) fn find_pod<'p>(pods: &[&'p Pod], name: &str) -> Result<Option<&'p Pod>, CommandError> {
    if let Some((namespace, name)) = name.split_once('/') {
        let key = PodKey::new(namespace, name);
        return Ok(pods.iter().find(|pod| pod.key == key).copied());
    }
    let named: Vec<&'p Pod> = pods.iter().filter(|pod| *pod.key.name == *name).copied().collect();
    let by_default = named.iter().find(|pod| &*pod.key.namespace == "default").copied();
    match named.as_slice() {
        [one] => Ok(Some(one)),
        several if by_default.is_none() && !several.is_empty() => {
            let keys: Vec<String> = several.iter().map(|pod| pod.key.to_string()).collect();
            Err(CommandError::SeveralPods { name: name.to_owned(), keys: keys.join(", ") })
        }
        _ => Ok(by_default),
    }
}

/// What may have been meant by the name of a pod that is not there: the pod of that name in another
/// namespace, pods whose names begin so, such as those of a Deployment, or pods whose names are
/// spelt nearly so.
pub(super) fn pods_meant(pods: &[&Pod], written: &str) -> Vec<String> {
    let (namespace, name) = match written.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, written),
    };
    let keys = |is_meant: &dyn Fn(&PodKey) -> bool| -> Vec<String> {
        let meant = pods.iter().map(|pod| &pod.key).filter(|key| is_meant(key));
        let meant: BTreeSet<String> = meant.map(ToString::to_string).collect();
        meant.into_iter().take(SUGGESTED_MAX).collect()
    };
    let elsewhere = keys(&|key| *key.name == *name);
    if !elsewhere.is_empty() {
        return elsewhere;
    }
    let begins_so = |key: &PodKey| {
        let rest = key.name.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with('-') && !name.is_empty())
    };
    let is_in = |key: &PodKey| namespace.is_none_or(|namespace| *key.namespace == *namespace);
    let replicas = keys(&|key| is_in(key) && begins_so(key));
    if !replicas.is_empty() {
        return replicas;
    }
    let spelt: Vec<(String, String)> = pods
        .iter()
        .map(|pod| match namespace {
            Some(_) => (pod.key.to_string(), pod.key.to_string()),
            None => (pod.key.name.to_string(), pod.key.to_string()),
        })
        .collect();
    let near = nearest(written, spelt.iter().map(|(spelling, _)| spelling.as_str()), SUGGESTED_MAX);
    let of = |spelling: &str| spelt.iter().find(|(own, _)| own == spelling);
    let near: Vec<String> = near.into_iter().filter_map(of).map(|(_, key)| key.clone()).collect();
    if !near.is_empty() {
        return near;
    }
    // Its neighbours: `web-0` where `web-999` was written.
    let Some((stem, _)) = name.rsplit_once('-').filter(|(stem, _)| !stem.is_empty()) else {
        return near;
    };
    keys(&|key| is_in(key) && key.name.strip_prefix(stem).is_some_and(|own| own.starts_with('-')))
}

/// A node by its name, or by the host part of it, as tables show it on terminals, if only one has
/// it.
pub(super) fn find_node<'n>(names: &[&'n str], written: &str) -> Option<&'n str> {
    if let Some(exact) = names.iter().find(|name| **name == written) {
        return Some(exact);
    }
    let mut hosts = names.iter().filter(|name| short(name) == written);
    match (hosts.next(), hosts.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// What may have been meant by the name of a node that is not there.
pub(super) fn nodes_meant(names: &[&str], written: &str) -> Vec<String> {
    // Names of one cluster end alike: their hosts are what may be misspelt.
    let host = short(written);
    let hosts = names.iter().map(|name| short(name));
    let near = nearest(host, hosts, SUGGESTED_MAX);
    let of = |host: &str| names.iter().find(|name| short(name) == host);
    near.into_iter().filter_map(of).map(|name| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn pods() -> Vec<Pod> {
        let pod = |(namespace, name)| Pod {
            key: PodKey::new(namespace, name),
            ..testing::pod(name, None)
        };
        [
            ("default", "web-0"),
            ("shop", "web-0"),
            ("shop", "db-0"),
            ("a", "cache-0"),
            ("b", "cache-0"),
            ("shop", "checkout-7d9f8-abcde"),
            ("shop", "checkout-7d9f8-fghij"),
        ]
        .map(pod)
        .into()
    }

    #[test]
    fn a_pod_without_a_namespace_is_in_the_default_one_or_in_the_only_one_that_has_it() {
        let pods = pods();
        let pods: Vec<&Pod> = pods.iter().collect();
        let found = |name| find_pod(&pods, name).unwrap().map(|pod| pod.key.to_string());
        assert_eq!(found("web-0").as_deref(), Some("default/web-0"));
        assert_eq!(found("shop/web-0").as_deref(), Some("shop/web-0"));
        assert_eq!(found("db-0").as_deref(), Some("shop/db-0"));
        assert_eq!(found("default/db-0"), None);
        assert_eq!(
            find_pod(&pods, "cache-0").unwrap_err().to_string(),
            "several pods are named cache-0: a/cache-0, b/cache-0"
        );
    }

    #[test]
    fn a_name_that_no_pod_has_leads_to_those_that_may_be_meant() {
        let pods = pods();
        let pods: Vec<&Pod> = pods.iter().collect();
        let meant = |name| pods_meant(&pods, name);
        assert_eq!(meant("default/db-0"), ["shop/db-0"], "another namespace");
        assert_eq!(
            meant("shop/checkout"),
            ["shop/checkout-7d9f8-abcde", "shop/checkout-7d9f8-fghij"],
            "a Deployment's pods"
        );
        assert_eq!(meant("shpo/db-1"), ["shop/db-0"], "letters");
        assert_eq!(meant("checkout-7d9f8-abcdf"), ["shop/checkout-7d9f8-abcde"]);
        assert_eq!(meant("checkout-999999999999"), meant("checkout"), "its neighbours");
        assert_eq!(meant("shop/web-99999"), ["shop/web-0"]);
        assert_eq!(meant("nothing-like-it"), [""; 0]);
    }

    #[test]
    fn a_node_is_known_by_its_host_too_and_nearly_so() {
        let names = [
            "ip-10-0-0-1.ap-northeast-2.compute.internal",
            "ip-10-0-0-17.ap-northeast-2.compute.internal",
            "default-x7k2p",
        ];
        assert_eq!(find_node(&names, "ip-10-0-0-1"), Some(names[0]));
        assert_eq!(find_node(&names, names[1]), Some(names[1]));
        assert_eq!(find_node(&names, "ip-10-0-0"), None);
        assert_eq!(nodes_meant(&names, "ip-10-0-0-16"), [names[0], names[1]]);
        assert_eq!(nodes_meant(&names, "default-x7k2"), [names[2]]);
    }
}
