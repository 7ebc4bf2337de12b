//! What callers have asked for since the start, whatever the case: one example of each kind of
//! call. Whoever judges which rights a function needs reads it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::call::{Head, Side};
use super::permission::{self, Permission};

/// Calls by what they are, each once.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    kinds: BTreeMap<Kind, Observed>,
    /// What IAM had to permit, by the caller.
    permissions: BTreeMap<(String, Permission), u64>,
}

/// Calls that take the same rights, as far as the names of their parameters tell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    caller: String,
    side: Side,
    /// `ec2:CreateFleet`, `list pods`.
    action: String,
    parameters: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct Observed {
    example: Value,
    times: u64,
}

/// A call to the Kubernetes API in the words of RBAC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Such as `list`.
    pub verb: String,
    /// The API group; empty for the core.
    pub group: String,
    /// Such as `pods`; empty where the path is no resource.
    pub resource: String,
    /// Such as `eviction`; empty for none.
    pub subresource: String,
    /// The path, where it is no resource.
    pub path: String,
}

impl Asked {
    /// Of a method, a path and a query.
    pub fn of(method: &str, path: &str, query: &str) -> Self {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _version, rest @ ..] => ("", rest),
            ["apis", group, _version, rest @ ..] => (*group, rest),
            _ => ("", [].as_slice()),
        };
        let rest = match rest {
            ["namespaces", _name, rest @ ..] if !rest.is_empty() => rest,
            other => other,
        };
        let is_watch = query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"));
        let verb = match (method, rest.get(1)) {
            ("GET", _) if is_watch => "watch",
            ("GET", None) if !rest.is_empty() => "list",
            ("GET" | "HEAD", _) => "get",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", None) => "deletecollection",
            ("DELETE", Some(_)) => "delete",
            (other, _) => other,
        };
        let text = |place: usize| rest.get(place).copied().unwrap_or_default().to_owned();
        let path = if rest.is_empty() { path.to_owned() } else { String::new() };
        Self {
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: text(0),
            subresource: text(2),
            path,
        }
    }
}

impl Usage {
    pub(super) fn note(&mut self, head: &Head) {
        for needed in permission::needed(head) {
            *self.permissions.entry((head.caller.clone(), needed)).or_default() += 1;
        }
        let (action, parameters, example) = match head.side {
            Side::Kubernetes => {
                let (method, path) = head.action.split_once(' ').unwrap_or_default();
                let asked = Asked::of(method, path, &head.detail);
                let action = format!(
                    "{} {}/{}/{}{}",
                    asked.verb, asked.group, asked.resource, asked.subresource, asked.path
                );
                (action, BTreeSet::new(), json!(asked))
            }
            Side::Aws | Side::DynamoDb => {
                let parameters = parameters(head);
                let names = parameters.keys().map(|name| unnumbered(name)).collect();
                let (service, name) = head.action.split_once(':').unwrap_or_default();
                let example = json!({
                    "service": service,
                    "action": name,
                    "region": head.region,
                    "parameters": parameters,
                });
                (head.action.clone(), names, example)
            }
        };
        let kind = Kind { caller: head.caller.clone(), side: head.side, action, parameters };
        self.kinds.entry(kind).or_insert(Observed { example, times: 0 }).times += 1;
    }

    /// Takes in what was called in another world.
    pub fn add(&mut self, other: Self) {
        for (kind, seen) in other.kinds {
            let own =
                self.kinds.entry(kind).or_insert(Observed { example: seen.example, times: 0 });
            own.times += seen.times;
        }
        for (permission, times) in other.permissions {
            *self.permissions.entry(permission).or_default() += times;
        }
    }

    /// What callers with a name needed at DynamoDB, as our cloud tells of the other services.
    pub fn permissions(&self, name_of: impl Fn(&str) -> Option<String>) -> Vec<Value> {
        let named = self.permissions.iter().filter_map(|((caller, needed), times)| {
            let Permission { action, resource, partitions } = needed;
            let mut context = Map::new();
            if !partitions.is_empty() {
                context.insert("dynamodb:LeadingKeys".to_owned(), json!(partitions));
            }
            Some(json!({
                "function": name_of(caller)?,
                "action": action,
                "resource": resource,
                "context": context,
                "times": times,
            }))
        });
        named.collect()
    }

    /// As JSON: calls to AWS (DynamoDB among them) and to Kubernetes, of callers that have a name.
    pub fn document(&self, name_of: impl Fn(&str) -> Option<String>) -> Value {
        let of = |is_wanted: fn(Side) -> bool| -> Vec<Value> {
            let wanted = self.kinds.iter().filter(|(kind, _)| is_wanted(kind.side));
            wanted
                .filter_map(|(kind, seen)| {
                    let mut call = seen.example.as_object()?.clone();
                    call.insert("function".to_owned(), name_of(&kind.caller)?.into());
                    call.insert("times".to_owned(), seen.times.into());
                    Some(Value::Object(call))
                })
                .collect()
        };
        json!({
            "aws": of(|side| side != Side::Kubernetes),
            "kubernetes": of(|side| side == Side::Kubernetes),
        })
    }
}

/// What a call to AWS says: the form of the query protocol, a JSON document, or the path of a REST
/// call.
fn parameters(head: &Head) -> Map<String, Value> {
    if let Ok(Value::Object(document)) = serde_json::from_str(&head.detail) {
        return document;
    }
    let form = form_urlencoded::parse(head.detail.as_bytes());
    let mut parameters: Map<String, Value> = form
        .filter(|(name, _)| name != "Action" && name != "Version")
        .map(|(name, value)| (name.into_owned(), Value::String(value.into_owned())))
        .collect();
    if !head.path.is_empty() && head.path != "/" {
        parameters.insert("path".to_owned(), head.path.clone().into());
    }
    parameters
}

/// `InstanceId.17` and `InstanceId.1` are one parameter.
fn unnumbered(name: &str) -> String {
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    name.split('.').filter(|part| !is_number(part)).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn asked(method: &str, path: &str, query: &str) -> String {
        let Asked { verb, group, resource, subresource, path } = Asked::of(method, path, query);
        format!("{verb} {group} {resource} {subresource} {path}")
    }

    #[test]
    fn paths_of_the_kubernetes_api_are_read_as_rbac_does() {
        let pods = "/api/v1/namespaces/default/pods";
        assert_eq!(asked("GET", pods, "limit=500"), "list  pods  ");
        assert_eq!(asked("GET", "/api/v1/pods", "watch=true"), "watch  pods  ");
        assert_eq!(asked("POST", &format!("{pods}/a/eviction"), ""), "create  pods eviction ");
        assert_eq!(asked("PATCH", "/api/v1/nodes/a", ""), "patch  nodes  ");
        assert_eq!(asked("GET", "/api/v1/namespaces/a", ""), "get  namespaces  ");
        let status = "/apis/karpenter.sh/v1/nodepools/a/status";
        assert_eq!(asked("PATCH", status, ""), "patch karpenter.sh nodepools status ");
        assert_eq!(asked("GET", "/version", ""), "get    /version");
    }

    #[test]
    fn calls_that_differ_in_values_alone_are_one_with_an_example() {
        let mut usage = Usage::default();
        for id in ["InstanceId.1=i-1", "InstanceId.1=i-1&InstanceId.2=i-2"] {
            usage.note(&Head {
                side: Side::Aws,
                caller: "AKIA1".to_owned(),
                region: "us-east-1".to_owned(),
                action: "ec2:TerminateInstances".to_owned(),
                path: "/".to_owned(),
                detail: format!("Action=TerminateInstances&Version=2016-11-15&{id}"),
                received: Instant::now(),
            });
        }
        let expected = json!({"kubernetes": [], "aws": [{
            "function": "lifecycle",
            "service": "ec2",
            "action": "TerminateInstances",
            "region": "us-east-1",
            "parameters": {"InstanceId.1": "i-1"},
            "times": 2,
        }]});
        assert_eq!(usage.document(|_| Some("lifecycle".to_owned())), expected);
        assert_eq!(usage.document(|_| None)["aws"], json!([]), "nobody's");
    }
}
