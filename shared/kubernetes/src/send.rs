//! Sends calls: time limits, retries, and tokens that the API server does not accept.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::timeout;

use crate::call::Call;
use crate::connection::Connection;
use crate::failure::{Failure, Refusal};
use crate::token::Token;

/// The pause before the first retry; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause, even where the server asks for a longer one: functions have deadlines.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The most retries of a call.
const RETRIES_MAX: usize = 4;

impl Connection {
    /// Makes a call, and retries it where that may help. Returns the body of the answer.
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

    /// Opens a stream. The time limit covers the head of the answer only.
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
                failure.is_retryable() && !is_answer
            })
            .adjust(|failure, pause| {
                let wanted = failure.retry_after().map(|wanted| wanted.min(LONGEST_PAUSE));
                pause.map(|pause| wanted.map_or(pause, |wanted| wanted.max(pause)))
            })
            .notify(|failure, pause| {
                if failure.is_connection_lost()
                    && let Err(error) = self.renew()
                {
                    tracing::warn!(%error, "failed to renew connections");
                }
                tracing::debug!(call = %call, %failure, ?pause, "retrying call");
            })
            .await
    }

    /// Sends a request; once more with a new token where the API server rejected the first.
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
