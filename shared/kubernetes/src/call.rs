//! One call to the API server: what it does, and what its errors say.

use std::fmt;
use std::time::Duration;

use controllers::ports::PortError;
use form_urlencoded::Serializer;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, StatusCode};
use kube::client::Body;
use serde_json::Value as Json;

use crate::failure::{Failure, Refusal};
use crate::token::Token;

/// How long one attempt may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long one page of a list may take: it may be megabytes.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// What a call does to a resource: a verb of RBAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Patch,
    Delete,
}

impl Verb {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }

    const fn method(self) -> Method {
        match self {
            Self::Get | Self::List | Self::Watch => Method::GET,
            Self::Create => Method::POST,
            Self::Patch => Method::PATCH,
            Self::Delete => Method::DELETE,
        }
    }

    const fn content_type(self) -> &'static str {
        match self {
            Self::Patch => "application/merge-patch+json",
            _ => "application/json",
        }
    }

    pub(crate) const fn timeout(self) -> Duration {
        match self {
            Self::List => LIST_TIMEOUT,
            _ => TIMEOUT,
        }
    }
}

/// One call.
///
/// Every call is idempotent: reads are, writes name the uid of their object or a name of their own.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) verb: Verb,
    /// The resource as RBAC names it: `pods`, `pods/eviction`, `nodepools.karpenter.sh`.
    pub(crate) resource: String,
    /// `NAMESPACE/NAME`, or `NAME`; empty for lists.
    pub(crate) object: String,
    target: String,
    content_type: &'static str,
    body: Vec<u8>,
    /// Refusals that are an answer to this call, not a reason to retry.
    pub(crate) is_answer: fn(&Refusal) -> bool,
}

impl Call {
    pub(crate) fn new(verb: Verb, resource: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            verb,
            resource: resource.into(),
            object: String::new(),
            target: path.into(),
            content_type: verb.content_type(),
            body: Vec::new(),
            is_answer: |_| false,
        }
    }

    /// Sets the object, as errors show it.
    pub(crate) fn on(mut self, object: impl fmt::Display) -> Self {
        self.object = object.to_string();
        self
    }

    /// Sets the query.
    pub(crate) fn query(mut self, parameters: &[(&str, &str)]) -> Self {
        let query = Serializer::new(String::new()).extend_pairs(parameters).finish();
        self.target = format!("{}?{query}", self.target);
        self
    }

    /// Sets the body.
    pub(crate) fn body(mut self, body: &Json) -> Self {
        self.body = body.to_string().into_bytes();
        self
    }

    /// Sets a body of operations that are done together or not at all (JSON Patch, RFC 6902).
    pub(crate) fn operations(mut self, operations: &Json) -> Self {
        self.content_type = "application/json-patch+json";
        self.body(operations)
    }

    /// Sets a body of the fields that are to be ours (server-side apply).
    pub(crate) fn applied(mut self, fields: &Json) -> Self {
        // JSON is YAML; the type of its own for JSON is not known to every version.
        self.content_type = "application/apply-patch+yaml";
        self.body(fields)
    }

    /// Accepts some refusals as an answer: one by a PodDisruptionBudget must not be retried.
    pub(crate) fn once_answered(mut self, is_answer: fn(&Refusal) -> bool) -> Self {
        self.is_answer = is_answer;
        self
    }

    pub(crate) fn request(&self, token: Option<&Token>) -> Result<Request<Body>, Failure> {
        let mut request = Request::builder()
            .method(self.verb.method())
            .uri(&self.target)
            .header(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        if let Some(token) = token {
            let bearer = format!("Bearer {}", token.secret);
            let mut value = HeaderValue::try_from(bearer)
                .map_err(|error| Failure::Broken(error.to_string()))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        request
            .body(Body::from(self.body.clone()))
            .map_err(|error| Failure::Broken(error.to_string()))
    }
}

impl fmt::Display for Call {
    /// `patch nodes web-1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb.as_str(), self.resource)?;
        if !self.object.is_empty() {
            write!(f, " {}", self.object)?;
        }
        Ok(())
    }
}

impl Failure {
    fn message(&self, call: &Call) -> String {
        let verb = call.verb.as_str();
        match self {
            // The authorizer's message names the user, which on EKS may be an ARN.
            Self::Refused(refusal) if refusal.is_by_rbac() => {
                format!("RBAC does not let us {verb} {}", call.resource)
            }
            Self::Refused(refusal) if refusal.code == StatusCode::UNAUTHORIZED => {
                "the API server does not know who we are (on EKS: is there an access entry for the role?)"
                    .to_owned()
            }
            Self::Refused(refusal) if refusal.message.is_empty() => refusal.code.to_string(),
            Self::Refused(refusal) => refusal.message.clone(),
            other => other.to_string(),
        }
    }

    /// The error for the caller of the port.
    pub(crate) fn into_port_error(self, call: &Call) -> PortError {
        if let Self::NoToken(error) = self {
            return error;
        }
        let error = PortError::new(self.kind(), call.to_string(), self.message(call));
        // The message of a refusal is complete.
        if matches!(self, Self::Refused(_)) { error } else { error.because(self) }
    }
}
