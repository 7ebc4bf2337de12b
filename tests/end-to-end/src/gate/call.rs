//! What a call is, as far as the wire tells.

use std::time::Instant;

use hyper::http::request::Parts;

/// Whom a call goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// AWS's services but DynamoDB.
    Aws,
    /// DynamoDB.
    DynamoDb,
    /// The Kubernetes API server.
    Kubernetes,
}

/// A call that was made.
#[derive(Clone, Debug)]
pub struct Call {
    /// To whom.
    pub side: Side,
    /// The access key of whom it was made by; empty where it does not say.
    pub caller: String,
    /// `ec2:CreateFleet`, `dynamodb:PutItem`, `GET /api/v1/pods`.
    pub action: String,
    /// Query string and body, each on a line of its own, as far as they are text.
    pub detail: String,
    /// When it was received.
    pub received: Instant,
    /// The status it was answered with; `None` while it was not.
    pub status: Option<u16>,
}

impl Call {
    /// Whether it may leave a trace on the other side that outlasts its time.
    pub fn is_change(&self) -> bool {
        is_change(self.side, &self.action, &self.detail)
    }
}

/// Whether a call may leave a trace on the other side that outlasts its time: leases run out,
/// budgets of calls fill up again, and that a function has succeeded says so of a paused one, too.
fn is_change(side: Side, action: &str, detail: &str) -> bool {
    if side == Side::Kubernetes {
        return !action.starts_with("GET ");
    }
    let name = action.split_once(':').map_or("", |(_, name)| name);
    let is_read = ["Describe", "Get", "List", "Query", "Scan", "BatchGet", "TransactGet"]
        .into_iter()
        .any(|prefix| name.starts_with(prefix));
    let passes = action == "dynamodb:UpdateItem"
        && ["\"lease#", "\"throttle#", "\"successes\""].iter().any(|key| detail.contains(key));
    !is_read && !passes && !detail.contains("DryRun=true")
}

/// A call that is being made.
pub(super) struct Head {
    pub(super) side: Side,
    pub(super) caller: String,
    /// What its signature is for; empty for Kubernetes.
    pub(super) region: String,
    pub(super) action: String,
    pub(super) path: String,
    pub(super) detail: String,
    pub(super) received: Instant,
}

impl Head {
    pub(super) fn read(side: Side, head: &Parts, body: &[u8]) -> Self {
        let header = |name: &str| {
            head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
        };
        let authorization = header("authorization");
        let query = head.uri.query().unwrap_or_default();
        let body_text = String::from_utf8_lossy(body);
        let parts = [query, &body_text];
        let detail =
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
        let path = head.uri.path().to_owned();
        let (caller, region, action) = match side {
            Side::Kubernetes => {
                let caller = bearer_key(authorization).unwrap_or_default();
                (caller, String::new(), format!("{} {path}", head.method))
            }
            Side::Aws | Side::DynamoDb => {
                let Scope { key, region, service } = Scope::of(authorization).unwrap_or_default();
                let name = action_name(header("x-amz-target"), body)
                    .unwrap_or_else(|| rest_action(&service, head.method.as_str(), &path));
                (key, region, format!("{service}:{name}"))
            }
        };
        Self { side, caller, region, action, path, detail, received: Instant::now() }
    }

    /// A watch of the Kubernetes API.
    pub(super) fn is_watch(&self) -> bool {
        self.side == Side::Kubernetes
            && self.detail.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"))
    }

    /// See [`is_change`].
    pub(super) fn is_change(&self) -> bool {
        is_change(self.side, &self.action, &self.detail)
    }

    pub(super) fn call(&self) -> Call {
        Call {
            side: self.side,
            caller: self.caller.clone(),
            action: self.action.clone(),
            detail: self.detail.clone(),
            received: self.received,
            status: None,
        }
    }
}

/// What `AWS4-HMAC-SHA256 Credential=KEY/DATE/REGION/SERVICE/aws4_request, …` says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Scope {
    key: String,
    region: String,
    service: String,
}

impl Scope {
    fn of(authorization: &str) -> Option<Self> {
        let scope = authorization.split_once("Credential=")?.1;
        let mut parts = scope.split([',', '/']).map(str::to_owned);
        let (key, _date) = (parts.next()?, parts.next()?);
        Some(Self { key, region: parts.next()?, service: parts.next()? })
    }
}

/// The access key inside a token of EKS.
fn bearer_key(authorization: &str) -> Option<String> {
    use base64::Engine as _;
    let encoded = authorization.strip_prefix("Bearer k8s-aws-v1.")?;
    let url = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(encoded).ok()?;
    let url = String::from_utf8(url).ok()?;
    let scope = url.split_once("X-Amz-Credential=")?.1;
    Some(scope.split(['%', '/', '&']).next()?.to_owned())
}

/// By `X-Amz-Target: Service_Version.Action`, or the form field `Action`.
fn action_name(target: &str, body: &[u8]) -> Option<String> {
    if let Some((_, action)) = target.rsplit_once('.') {
        return Some(action.to_owned());
    }
    let form = std::str::from_utf8(body).ok()?;
    let action = form.split('&').find_map(|pair| pair.strip_prefix("Action="))?;
    Some(action.to_owned())
}

fn rest_action(service: &str, method: &str, path: &str) -> String {
    let depth = path.split('/').filter(|part| !part.is_empty()).count();
    match (service, method, depth) {
        ("eks", "GET", 2) if path.starts_with("/clusters/") => "DescribeCluster".to_owned(),
        _ => format!("{method} {path}"),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;

    use super::*;

    #[test]
    fn a_signed_call_names_its_caller_and_service() {
        let header = "AWS4-HMAC-SHA256 Credential=AKIA1/20260101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0";
        let [key, region, service] = ["AKIA1", "us-east-1", "ec2"].map(str::to_owned);
        assert_eq!(Scope::of(header), Some(Scope { key, region, service }));
        assert_eq!(Scope::of("Bearer x"), None);
    }

    #[test]
    fn a_token_names_its_caller() {
        let url = "https://sts.us-east-1.amazonaws.com/?Action=GetCallerIdentity&X-Amz-Credential=AKIA1%2F20260101";
        let token = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(url);
        assert_eq!(bearer_key(&format!("Bearer k8s-aws-v1.{token}")).as_deref(), Some("AKIA1"));
    }

    #[test]
    fn actions_are_found_in_every_protocol() {
        assert_eq!(action_name("DynamoDB_20120810.PutItem", b"{}").as_deref(), Some("PutItem"));
        assert_eq!(
            action_name("", b"Action=CreateFleet&Version=1").as_deref(),
            Some("CreateFleet")
        );
        assert_eq!(action_name("", b"{}"), None);
        assert_eq!(rest_action("eks", "GET", "/clusters/rig"), "DescribeCluster");
    }
}
