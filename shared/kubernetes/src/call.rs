//! One call to the API server, with its time limit and its retries.

use std::fmt;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use bytes::Bytes;
use form_urlencoded::Serializer;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value as Json;
use tokio::time::timeout;

use crate::connection::Connection;
use crate::failure::{Failure, Refusal};
use crate::token::Token;

/// How long one attempt may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long one page of a list may take: it may be megabytes.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// The first pause before trying again; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause, also where the server asks for a longer one: nobody's function runs for ever.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How often a call is tried again.
const RETRIES_MAX: usize = 4;

/// What is done to a resource, in the words of RBAC.
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

    const fn content_type(self) -> HeaderValue {
        match self {
            Self::Patch => HeaderValue::from_static("application/merge-patch+json"),
            _ => HeaderValue::from_static("application/json"),
        }
    }

    const fn timeout(self) -> Duration {
        match self {
            Self::List => LIST_TIMEOUT,
            _ => TIMEOUT,
        }
    }
}

/// One call.
///
/// Every call may be repeated: reads are, writes carry the uid of what they mean or a name of their own.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) verb: Verb,
    /// The resource as RBAC names it: `pods`, `pods/eviction`, `nodepools.karpenter.sh`.
    pub(crate) resource: String,
    /// `NAMESPACE/NAME`, or `NAME`; empty for lists.
    pub(crate) object: String,
    target: String,
    body: Vec<u8>,
    /// Refusals that are an answer here, rather than a reason to ask again.
    is_answer: fn(&Refusal) -> bool,
}

impl Call {
    pub(crate) fn new(verb: Verb, resource: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            verb,
            resource: resource.into(),
            object: String::new(),
            target: path.into(),
            body: Vec::new(),
            is_answer: |_| false,
        }
    }

    /// On an object.
    pub(crate) fn on(mut self, object: impl fmt::Display) -> Self {
        self.object = object.to_string();
        self
    }

    /// With a query.
    pub(crate) fn query(mut self, parameters: &[(&str, &str)]) -> Self {
        let query = Serializer::new(String::new()).extend_pairs(parameters).finish();
        self.target = format!("{}?{query}", self.target);
        self
    }

    /// With a body.
    pub(crate) fn body(mut self, body: &Json) -> Self {
        self.body = body.to_string().into_bytes();
        self
    }

    /// Takes some refusals as an answer: that of a PodDisruptionBudget is not to be asked for again.
    pub(crate) fn once_answered(mut self, is_answer: fn(&Refusal) -> bool) -> Self {
        self.is_answer = is_answer;
        self
    }

    fn request(&self, token: Option<&Token>) -> Result<Request<Body>, Failure> {
        let mut request = Request::builder()
            .method(self.verb.method())
            .uri(&self.target)
            .header(CONTENT_TYPE, self.verb.content_type());
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

impl Connection {
    /// Makes a call, again and again within bounds where it may succeed later. Gives the answer's body.
    pub(crate) async fn call(&self, call: &Call) -> Result<Bytes, Failure> {
        let attempt = || async {
            let limit = call.verb.timeout();
            let answer = timeout(limit, async {
                let response = self.send(call).await?;
                let body = response.into_body().collect().await.map_err(Failure::unreachable)?;
                Ok::<_, Failure>(body.to_bytes())
            });
            answer.await.unwrap_or(Err(Failure::TimedOut(limit)))
        };
        self.retried(call, attempt).await
    }

    /// Opens a stream: the call's time limit ends with the head of the answer.
    pub(crate) async fn stream(&self, call: &Call) -> Result<Body, Failure> {
        let attempt = || async {
            let limit = call.verb.timeout();
            let answer = timeout(limit, self.send(call));
            answer.await.unwrap_or(Err(Failure::TimedOut(limit))).map(Response::into_body)
        };
        self.retried(call, attempt).await
    }

    async fn retried<T, F>(&self, call: &Call, attempt: impl FnMut() -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let pauses = ExponentialBuilder::default()
            .with_min_delay(FIRST_PAUSE)
            .with_max_delay(LONGEST_PAUSE)
            .with_max_times(RETRIES_MAX)
            .with_jitter();
        attempt
            .retry(pauses)
            .when(|failure| {
                let is_answer =
                    matches!(failure, Failure::Refused(refusal) if (call.is_answer)(refusal));
                failure.is_passing() && !is_answer
            })
            .adjust(|failure, pause| {
                let asked = failure.retry_after().map(|asked| asked.min(LONGEST_PAUSE));
                pause.map(|pause| asked.map_or(pause, |asked| asked.max(pause)))
            })
            .notify(|failure, pause| {
                if failure.is_connection_lost()
                    && let Err(error) = self.renew()
                {
                    tracing::warn!(%error, "connections could not be renewed");
                }
                tracing::debug!(call = %call, %failure, ?pause, "trying again");
            })
            .await
    }

    /// Sends a request; once more with a new token where the one sent was not taken.
    async fn send(&self, call: &Call) -> Result<Response<Body>, Failure> {
        let token = self.token().await.map_err(Failure::NoToken)?;
        match self.send_as(call, token.as_ref()).await {
            Err(failure) if failure.is(StatusCode::UNAUTHORIZED) && self.refuse(token.as_ref()) => {
                let token = self.token().await.map_err(Failure::NoToken)?;
                self.send_as(call, token.as_ref()).await
            }
            other => other,
        }
    }

    async fn send_as(&self, call: &Call, token: Option<&Token>) -> Result<Response<Body>, Failure> {
        let client = self.client().map_err(Failure::NoToken)?;
        let response = client.send(call.request(token)?).await.map_err(Failure::unreachable)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(Failure::unreachable)?.to_bytes();
        Err(Failure::Refused(Refusal::read(head.status, &head.headers, &body)))
    }
}
