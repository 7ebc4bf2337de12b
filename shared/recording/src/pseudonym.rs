//! Names that tell nothing: a keyed hash, so that one name has one pseudonym in all recordings that
//! are made with the same key, and nobody without the key can try names out.

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value};
use sha2::Sha256;

/// The shortest key that is taken, in bytes: shorter ones can be tried out.
const KEY_BYTES_MIN: usize = 16;
/// Hexadecimal digits of a pseudonym: 64 bits, which no two of a million names share.
const DIGITS: usize = 16;

/// Letters that a controller puts behind its object's name, at most: five, or an index before them.
const ENDING_MAX: usize = 12;

/// Kinds whose objects say which nodes there may be. Their names and labels are what a replay is
/// compared by, and stay.
const CONFIGURATION: [&str; 5] =
    ["NodePool", "EC2NodeClass", "NodeOverlay", "StorageClass", "PriorityClass"];
/// Namespaces that every cluster has.
const COMMON_NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];
/// Members that scheduling does without, and that may hold what nobody else should see.
const PRIVATE: [&str; 4] = ["userData", "tags", "context", "volumeHandle"];
/// Members with the name of another object.
const NAMES: [&str; 2] = ["claimName", "volumeName"];
/// Members with a reference to another object, by its `name`.
const REFERENCES: [&str; 3] = ["scaleTargetRef", "scalableRef", "claimRef"];
/// Members that select objects by their labels.
const SELECTORS: [&str; 3] = ["labelSelector", "selector", "namespaceSelector"];

/// Why no pseudonyms can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PseudonymsError {
    /// It could be tried out.
    #[error(
        "the key has {0} bytes: it needs {KEY_BYTES_MIN} or more, such as `openssl rand -hex 32` prints"
    )]
    ShortKey(usize),
}

/// Makes pseudonyms with one key.
#[derive(Clone, Debug)]
pub struct Pseudonyms {
    keyed: Hmac<Sha256>,
}

impl Pseudonyms {
    /// With a secret key.
    pub fn new(key: &[u8]) -> Result<Self, PseudonymsError> {
        let short = PseudonymsError::ShortKey(key.len());
        if key.len() < KEY_BYTES_MIN {
            return Err(short);
        }
        Ok(Self { keyed: Hmac::new_from_slice(key).map_err(|_| short)? })
    }

    /// The pseudonym of a name; it is a valid name of any object and a valid label value.
    pub(crate) fn name(&self, name: &str) -> String {
        if name.is_empty() {
            return String::new();
        }
        let mut keyed = self.keyed.clone();
        keyed.update(name.as_bytes());
        let hash = keyed.finalize().into_bytes();
        let digits = hash.iter().flat_map(|byte| [byte >> 4, byte & 0xf]).take(DIGITS);
        let digits = digits.filter_map(|digit| char::from_digit(u32::from(digit), 16));
        std::iter::once('p').chain(digits).collect()
    }

    /// The pseudonym of a pod. What the owner's controller put behind the owner's name, random
    /// letters or a number, stays: pods of one owner keep their order, which decides between
    /// equals.
    pub(crate) fn pod_name(&self, owner: Option<&str>, name: &str) -> String {
        let behind = |owner| name.strip_prefix(owner)?.strip_prefix('-');
        let ending = owner.and_then(behind).filter(|ending| ending.len() <= ENDING_MAX);
        match (owner, ending) {
            (Some(owner), Some(ending)) => format!("{}-{ending}", self.name(owner)),
            _ => self.name(name),
        }
    }

    /// The pseudonym of a namespace.
    pub(crate) fn namespace(&self, name: &str) -> String {
        if COMMON_NAMESPACES.contains(&name) { name.to_owned() } else { self.name(name) }
    }

    /// A label of an object that is no node, as `(key, value)`. Keys of Kubernetes stay.
    pub(crate) fn label(&self, key: &str, value: &str) -> (String, String) {
        (self.label_key(key), self.label_value(key, value))
    }

    fn label_key(&self, key: &str) -> String {
        let domain = key.split_once('/').map(|(domain, _)| domain);
        let is_common = domain.is_some_and(|domain| {
            ["kubernetes.io", "k8s.io"].iter().any(|own| {
                domain.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            })
        });
        if is_common { key.to_owned() } else { self.name(key) }
    }

    fn label_value(&self, key: &str, value: &str) -> String {
        if key == "kubernetes.io/metadata.name" { self.namespace(value) } else { self.name(value) }
    }

    /// A manifest without names and without what scheduling does not need.
    pub(crate) fn manifest(&self, mut object: Value) -> Value {
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        if CONFIGURATION.contains(&&*kind) {
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                spec.retain(|key, _| !PRIVATE.contains(&key.as_str()));
            }
            return object;
        }
        if kind == "Node" {
            return self.node(object);
        }
        if let Some(Value::String(name)) = object.pointer_mut("/metadata/name") {
            *name = if kind == "Namespace" { self.namespace(name) } else { self.name(name) };
        }
        self.part(object)
    }

    /// A Node without its name. Its other labels stay: pods ask for them.
    fn node(&self, mut node: Value) -> Value {
        for pointer in ["/metadata/name", "/metadata/labels/kubernetes.io~1hostname"] {
            if let Some(Value::String(name)) = node.pointer_mut(pointer) {
                *name = self.name(name);
            }
        }
        node
    }

    /// Part of a manifest, such as `spec` of a pod.
    pub(crate) fn part(&self, value: Value) -> Value {
        match value {
            Value::Object(members) => {
                let own = members.into_iter().filter(|(key, _)| !PRIVATE.contains(&key.as_str()));
                own.map(|(key, value)| self.member(key, value)).collect::<Map<_, _>>().into()
            }
            Value::Array(items) => {
                items.into_iter().map(|item| self.part(item)).collect::<Vec<_>>().into()
            }
            other => other,
        }
    }

    fn member(&self, key: String, value: Value) -> (String, Value) {
        let value = match (&*key, value) {
            ("namespace", Value::String(name)) => self.namespace(&name).into(),
            ("namespaces", Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                names.map(|name| self.namespace(name)).collect::<Vec<_>>().into()
            }
            ("labels", Value::Object(labels)) => self.labels(labels).into(),
            (own, Value::String(name)) if NAMES.contains(&own) => self.name(&name).into(),
            (own, Value::Object(mut target)) if REFERENCES.contains(&own) => {
                if let Some(Value::String(name)) = target.get_mut("name") {
                    *name = self.name(name);
                }
                self.part(target.into())
            }
            (own, Value::Object(selector)) if SELECTORS.contains(&own) => {
                self.selector(selector).into()
            }
            (_, other) => self.part(other),
        };
        (key, value)
    }

    fn labels(&self, labels: Map<String, Value>) -> Map<String, Value> {
        let own = labels.into_iter().map(|(key, value)| match value {
            Value::String(value) => {
                let (key, value) = self.label(&key, &value);
                (key, value.into())
            }
            other => (self.label_key(&key), other),
        });
        own.collect()
    }

    fn selector(&self, selector: Map<String, Value>) -> Map<String, Value> {
        let members = selector.into_iter().map(|(member, value)| match (&*member, value) {
            ("matchLabels", Value::Object(labels)) => (member, self.labels(labels).into()),
            ("matchExpressions", Value::Array(own)) => {
                let own: Vec<Value> = own.into_iter().map(|one| self.expression(one)).collect();
                (member, own.into())
            }
            (_, other) => (member, other),
        });
        members.collect()
    }

    fn expression(&self, mut expression: Value) -> Value {
        let key = expression.get("key").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(Value::Array(values)) = expression.get_mut("values") {
            for value in values {
                if let Value::String(own) = value {
                    *own = self.label_value(&key, own);
                }
            }
        }
        if let Some(own) = expression.get_mut("key") {
            *own = self.label_key(&key).into();
        }
        expression
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pseudonyms() -> Pseudonyms {
        Pseudonyms::new(b"0123456789abcdef").unwrap()
    }

    #[test]
    fn a_name_has_one_pseudonym_for_each_key() {
        let own = pseudonyms();
        assert_eq!(own.name("web"), pseudonyms().name("web"));
        assert_ne!(own.name("web"), own.name("db"));
        let other = Pseudonyms::new(b"another key of 16").unwrap();
        assert_ne!(own.name("web"), other.name("web"));
        assert_eq!(own.name("web").len(), 1 + DIGITS);
    }

    #[test]
    fn pods_of_one_owner_keep_their_order_and_not_its_name() {
        let own = pseudonyms();
        let named = |name| own.pod_name(Some("web-5d9"), name);
        assert!(named("web-5d9-abcde") < named("web-5d9-fghij"));
        assert!(named("web-5d9-abcde").starts_with(&own.name("web-5d9")));
        assert_eq!(own.pod_name(Some("other"), "web-0"), own.name("web-0"));
        assert_eq!(own.pod_name(None, "web-0"), own.name("web-0"));
    }

    #[test]
    fn a_key_that_can_be_tried_out_is_refused() {
        let error = Pseudonyms::new(b"short").unwrap_err();
        assert_eq!(error, PseudonymsError::ShortKey(5));
    }

    #[test]
    fn labels_and_what_selects_them_change_alike() {
        let own = pseudonyms();
        let (key, value) = own.label("team", "blue");
        let term = json!({"labelSelector": {
            "matchLabels": {"team": "blue"},
            "matchExpressions": [{"key": "team", "operator": "In", "values": ["blue"]}],
        }});
        let expected = json!({"labelSelector": {
            "matchLabels": {&key: value},
            "matchExpressions": [{"key": key, "operator": "In", "values": [value]}],
        }});
        assert_eq!(own.part(term), expected);
    }

    #[test]
    fn what_nodes_are_asked_for_stays() {
        let own = pseudonyms();
        let spec = json!({
            "nodeSelector": {"example.com/disk": "fast"},
            "tolerations": [{"key": "team", "value": "blue"}],
        });
        assert_eq!(own.part(spec.clone()), spec);
        let pool = json!({
            "kind": "NodePool",
            "metadata": {"name": "default"},
            "spec": {"template": {"metadata": {"labels": {"team": "blue"}}}},
        });
        assert_eq!(own.manifest(pool.clone()), pool);
    }

    #[test]
    fn secrets_of_node_classes_are_left_out() {
        let class = json!({
            "kind": "EC2NodeClass",
            "metadata": {"name": "default"},
            "spec": {"role": "nodes", "userData": "TOKEN=1", "tags": {"owner": "me"}},
        });
        let spec = &pseudonyms().manifest(class)["spec"];
        assert_eq!(*spec, json!({"role": "nodes"}));
    }
}
