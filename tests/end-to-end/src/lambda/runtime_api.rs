//! Lambda's runtime API: the four endpoints that a custom runtime uses.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot, watch};
use tokio::task::JoinHandle;

const ROOT: &str = "/2018-06-01/runtime/";

/// An error as a runtime reports it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct FunctionError {
    /// Its kind.
    #[serde(default)]
    pub error_type: String,
    /// A sentence.
    #[serde(default)]
    pub error_message: String,
}

/// What an invocation brings.
pub(super) struct Event {
    pub(super) request_id: String,
    pub(super) body: String,
    /// Milliseconds since the epoch.
    pub(super) deadline_ms: i64,
    pub(super) arn: String,
}

type Answer = Result<Value, FunctionError>;

/// Where the answer of a function comes in.
pub(super) type Answered = oneshot::Receiver<Answer>;

/// The API for one process.
#[derive(Debug)]
pub(super) struct RuntimeApi {
    /// `HOST:PORT`, for `AWS_LAMBDA_RUNTIME_API`.
    pub(super) address: String,
    shared: Arc<Shared>,
    events: mpsc::UnboundedSender<Event>,
    waits: watch::Receiver<Waiting>,
    serving: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    events: AsyncMutex<mpsc::UnboundedReceiver<Event>>,
    answers: Mutex<BTreeMap<String, oneshot::Sender<Answer>>>,
    waits: watch::Sender<Waiting>,
}

/// Whether the process waits for an event, and since when it did first.
#[derive(Clone, Debug, Default)]
struct Waiting {
    first: Option<Instant>,
    now: bool,
    init_error: Option<FunctionError>,
}

impl Drop for RuntimeApi {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl RuntimeApi {
    pub(super) async fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?.to_string();
        let (events, receiver) = mpsc::unbounded_channel();
        let (waits, waits_receiver) = watch::channel(Waiting::default());
        let shared = Arc::new(Shared {
            events: AsyncMutex::new(receiver),
            answers: Mutex::default(),
            waits,
        });
        let serving = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, events, waits: waits_receiver, serving })
    }

    /// When the process asked for its first event.
    pub(super) async fn first_request(&mut self, within: Duration) -> Result<Instant> {
        let settled = |waiting: &Waiting| waiting.first.is_some() || waiting.init_error.is_some();
        let waiting = tokio::time::timeout(within, self.waits.wait_for(settled))
            .await
            .context("it did not ask for an event in time")??
            .clone();
        match (waiting.first, waiting.init_error) {
            (_, Some(error)) => bail!("init: {}: {}", error.error_type, error.error_message),
            (Some(first), None) => Ok(first),
            (None, None) => bail!("it did not ask for an event"),
        }
    }

    /// Hands an event over; the receiver gets what the function answers.
    pub(super) fn deliver(&self, event: Event) -> Result<Answered> {
        let (sender, receiver) = oneshot::channel();
        self.shared
            .answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(event.request_id.clone(), sender);
        self.events.send(event).ok().context("the runtime API is gone")?;
        Ok(receiver)
    }

    /// Waits until the process asks for its next event, at most so long.
    pub(super) async fn idle(&mut self, within: Duration) {
        let _ = tokio::time::timeout(within, self.waits.wait_for(|waiting| waiting.now)).await;
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let shared = Arc::clone(&shared);
                async move { shared.answer(request).await }
            });
            // The process may go away at any time: that is what its exit status tells.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

impl Shared {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>> {
        let path = request.uri().path().strip_prefix(ROOT).unwrap_or_default().to_owned();
        let method = request.method().clone();
        if method == Method::GET && path == "invocation/next" {
            return self.next().await;
        }
        let body = request.into_body().collect().await?.to_bytes();
        let parts: Vec<_> = path.split('/').collect();
        match (method, parts.as_slice()) {
            (Method::POST, ["invocation", id, "response"]) => {
                let answer = serde_json::from_slice(&body).unwrap_or(Value::Null);
                Ok(self.settle(id, Ok(answer)))
            }
            (Method::POST, ["invocation", id, "error"]) => {
                Ok(self.settle(id, Err(serde_json::from_slice(&body)?)))
            }
            (Method::POST, ["init", "error"]) => {
                let error: FunctionError = serde_json::from_slice(&body)?;
                self.waits.send_modify(|waiting| waiting.init_error = Some(error));
                Ok(status(202))
            }
            _ => Ok(status(404)),
        }
    }

    async fn next(&self) -> Result<Response<Full<Bytes>>> {
        self.waits.send_modify(|waiting| {
            waiting.first.get_or_insert_with(Instant::now);
            waiting.now = true;
        });
        let event = self.events.lock().await.recv().await.context("no more events")?;
        self.waits.send_modify(|waiting| waiting.now = false);
        Ok(Response::builder()
            .header("content-type", "application/json")
            .header("Lambda-Runtime-Aws-Request-Id", event.request_id)
            .header("Lambda-Runtime-Deadline-Ms", event.deadline_ms)
            .header("Lambda-Runtime-Invoked-Function-Arn", event.arn)
            .header("Lambda-Runtime-Trace-Id", "Root=1-00000000-000000000000000000000000;Sampled=0")
            .body(Full::from(event.body))?)
    }

    fn settle(&self, id: &str, answer: Answer) -> Response<Full<Bytes>> {
        let sender = self.answers.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        match sender {
            Some(sender) => {
                // Nobody waits any more where the time was over.
                let _ = sender.send(answer);
                status(202)
            }
            None => status(400),
        }
    }
}

fn status(code: u16) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from("{\"status\":\"OK\"}"));
    if let Ok(code) = code.try_into() {
        *response.status_mut() = code;
    }
    response
}
