//! Why a call failed.

use std::time::Duration;

use controllers::ports::{ErrorKind, PortError};
use domain::account_id::without_account_ids;
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The API server answered with an error.
    #[error("{} {}", .0.code.as_u16(), .0.message)]
    Refused(Refusal),
    /// No answer, or an incomplete one.
    #[error("{}", shown(.0))]
    Unreachable(#[source] kube::Error),
    /// No answer within the time limit.
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// There is no token, or no client.
    #[error(transparent)]
    NoToken(PortError),
    /// The answer or the request is malformed.
    #[error("{0}")]
    Broken(String),
}

/// An error answer.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: StatusCode,
    /// `reason` of the answer's Status: a word, such as `AlreadyExists`.
    pub(crate) reason: String,
    /// Its `message`, with account ids redacted.
    pub(crate) message: String,
    /// `reason` of each of its causes.
    pub(crate) causes: Vec<String>,
    retry_after: Option<Duration>,
}

/// `meta.k8s.io/v1` Status, as far as it is read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    reason: String,
    message: String,
    details: Details,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    causes: Vec<Cause>,
    retry_after_seconds: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cause {
    reason: String,
}

/// The most characters kept of an answer that is not a Status, such as a proxy's HTML page.
const MESSAGE_CHARS_MAX: usize = 300;

impl Refusal {
    pub(crate) fn read(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let status = serde_json::from_slice::<Status>(body).unwrap_or_else(|_| Status {
            message: String::from_utf8_lossy(body).chars().take(MESSAGE_CHARS_MAX).collect(),
            ..Status::default()
        });
        let in_header = headers
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok())
            .and_then(|seconds| seconds.parse().ok());
        let in_body = Some(status.details.retry_after_seconds).filter(|seconds| *seconds > 0);
        Self {
            code,
            reason: status.reason,
            message: without_account_ids(&status.message).into_owned(),
            causes: status.details.causes.into_iter().map(|cause| cause.reason).collect(),
            retry_after: in_header.or(in_body).map(Duration::from_secs),
        }
    }

    /// Whether RBAC refused it, rather than an admission plugin or a quota.
    pub(crate) fn is_by_rbac(&self) -> bool {
        self.code == StatusCode::FORBIDDEN
            && self.message.contains("User \"")
            && self.message.contains("\" cannot ")
    }

    /// Whether admission control refused it, and not RBAC: a plugin, a webhook with whatever code
    /// it likes, or a ValidatingAdmissionPolicy.
    ///
    /// Source:
    /// <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/>.
    pub(crate) fn is_by_admission(&self) -> bool {
        self.code == StatusCode::FORBIDDEN && !self.is_by_rbac()
            || self.code.is_client_error()
                && (self.message.starts_with("admission webhook \"")
                    || self.message.contains("ValidatingAdmissionPolicy '"))
    }
}

impl Failure {
    pub(crate) fn unreachable(error: kube::Error) -> Self {
        Self::Unreachable(error)
    }

    /// Whether the API server answered with this status code.
    pub(crate) fn is(&self, code: StatusCode) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == code)
    }

    /// Whether the resource version is too old, or the continue token of a list has expired.
    pub(crate) fn is_expired(&self) -> bool {
        self.is(StatusCode::GONE)
            || matches!(self, Self::Refused(refusal) if refusal.reason == "Expired")
    }

    /// Whether the same call may succeed later.
    pub(crate) fn is_retryable(&self) -> bool {
        match self {
            Self::Refused(refusal) => {
                refusal.code == StatusCode::TOO_MANY_REQUESTS || refusal.code.is_server_error()
            }
            Self::Unreachable(_) | Self::TimedOut(_) => true,
            Self::NoToken(_) | Self::Broken(_) => false,
        }
    }

    /// Whether the connection may be broken.
    pub(crate) const fn is_connection_lost(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::TimedOut(_))
    }

    /// How long the API server asked us to wait before a retry.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(refusal) => refusal.retry_after,
            _ => None,
        }
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Self::Refused(refusal) => match refusal.code.as_u16() {
                401 | 403 => ErrorKind::Denied,
                404 | 410 => ErrorKind::NotFound,
                409 => ErrorKind::Conflict,
                400 | 405 | 406 | 413 | 415 | 422 => ErrorKind::Invalid,
                429 => ErrorKind::Throttled,
                500.. => ErrorKind::Unavailable,
                _ => ErrorKind::Unknown,
            },
            Self::Unreachable(_) | Self::TimedOut(_) => ErrorKind::Unavailable,
            Self::NoToken(error) => error.kind,
            Self::Broken(_) => ErrorKind::Invalid,
        }
    }
}

/// An error with its causes, in one line.
pub(crate) fn shown(error: &dyn std::error::Error) -> String {
    let mut shown = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Many errors repeat their cause.
        if !shown.contains(&text) {
            shown.push_str(": ");
            shown.push_str(&text);
        }
        cause = error.source();
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Call, Verb};

    fn refused(code: u16, body: &str) -> Failure {
        let code = StatusCode::from_u16(code).unwrap();
        Failure::Refused(Refusal::read(code, &HeaderMap::new(), body.as_bytes()))
    }

    fn as_error(code: u16, message: &str) -> PortError {
        let body = serde_json::json!({"kind": "Status", "message": message}).to_string();
        let call = Call::new(Verb::Patch, "nodes", "/api/v1/nodes/n1").on("n1");
        refused(code, &body).into_port_error(&call)
    }

    #[test]
    fn what_rbac_refuses_is_named_without_saying_who_we_are() {
        let error = as_error(
            403,
            "nodes \"n1\" is forbidden: User \"arn:aws:sts::123456789012:assumed-role/x/y\" cannot patch resource \"nodes\" in API group \"\" at the cluster scope",
        );
        assert_eq!(
            error.to_string(),
            "patch nodes n1: not allowed: RBAC does not let us patch nodes"
        );
    }

    #[test]
    fn what_admission_refuses_is_told_in_its_own_words_without_account_ids() {
        let error = as_error(403, "denied: owner 123456789012 is not 12345");
        assert_eq!(
            error.to_string(),
            "patch nodes n1: not allowed: denied: owner ACCOUNT is not 12345"
        );
    }

    #[test]
    fn codes_have_one_kind_each() {
        let kind = |code| as_error(code, "").kind;
        assert_eq!(kind(401), ErrorKind::Denied);
        assert_eq!(kind(404), ErrorKind::NotFound);
        assert_eq!(kind(409), ErrorKind::Conflict);
        assert_eq!(kind(422), ErrorKind::Invalid);
        assert_eq!(kind(429), ErrorKind::Throttled);
        assert_eq!(kind(500), ErrorKind::Unavailable);
        assert_eq!(kind(504), ErrorKind::Unavailable);
    }

    #[test]
    fn the_pause_that_the_server_asks_for_is_read_from_header_or_body() {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, "3".parse().unwrap());
        let code = StatusCode::TOO_MANY_REQUESTS;
        let by_header = Failure::Refused(Refusal::read(code, &headers, b"slow down"));
        assert_eq!(by_header.retry_after(), Some(Duration::from_secs(3)));
        let by_body = refused(429, r#"{"details": {"retryAfterSeconds": 7}}"#);
        assert_eq!(by_body.retry_after(), Some(Duration::from_secs(7)));
        assert_eq!(refused(429, "{}").retry_after(), None);
    }

    #[test]
    fn an_answer_that_is_no_status_is_shown_in_part() {
        let failure = refused(502, &"x".repeat(5000));
        assert!(failure.is_retryable());
        assert_eq!(failure.to_string().len(), "502 ".len() + MESSAGE_CHARS_MAX);
    }
}
