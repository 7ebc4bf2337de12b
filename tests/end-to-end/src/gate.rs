//! The gate: every call that a function makes goes through it, to AWS, to DynamoDB and to the API
//! server alike. It keeps the record of calls, and it is where things go wrong on purpose: a caller
//! killed in the middle of a call, an action denied or throttled, a whole side that nobody can
//! reach, a watch that has expired.

mod answer;
mod call;
mod permission;
mod traffic;
mod usage;
mod watch;

pub use call::{Call, Side};
pub use traffic::{Moment, Traffic, Trap};
pub use usage::{Asked, Usage};

use std::sync::Arc;

use anyhow::{Context as _, Result};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::authority::Identity;
use answer::Refusal;
use call::Head;
use traffic::Verdict;

/// What our cloud answers with where IAM denies an action: its name.
const DENIED: &str = "x-rig-denied";

/// A failure while a body is passed on ends the connection; who made the call sees that and nothing
/// else.
type Failure = anyhow::Error;
type Body = BoxBody<Bytes, Failure>;
type Upstream = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// One side's gate.
#[derive(Debug)]
pub struct Gate {
    /// Where callers find it.
    pub endpoint: String,
    listening: JoinHandle<()>,
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

struct Passage {
    side: Side,
    upstream: Uri,
    client: Upstream,
    traffic: Arc<Traffic>,
}

impl Gate {
    /// In front of a server that speaks plain HTTP.
    pub async fn plain(side: Side, upstream: &str, traffic: Arc<Traffic>) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let passage = Arc::new(Passage {
            side,
            upstream: upstream.parse()?,
            client: upstream_client(RootCertStore::empty()),
            traffic,
        });
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                tokio::spawn(serve(stream, Arc::clone(&passage)));
            }
        });
        Ok(Self { endpoint, listening })
    }

    /// In front of the API server: shows a certificate of the same authority, and trusts that
    /// authority.
    pub async fn tls(
        side: Side,
        upstream: &str,
        authority: &str,
        identity: &Identity,
        traffic: Arc<Traffic>,
    ) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let endpoint = format!("https://{}", listener.local_addr()?);
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.as_bytes())?)?;
        let passage = Arc::new(Passage {
            side,
            upstream: upstream.parse()?,
            client: upstream_client(roots),
            traffic,
        });
        let acceptor = TlsAcceptor::from(Arc::new(server_config(identity)?));
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let (acceptor, passage) = (acceptor.clone(), Arc::clone(&passage));
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, passage).await;
                    }
                });
            }
        });
        Ok(Self { endpoint, listening })
    }
}

fn server_config(identity: &Identity) -> Result<ServerConfig> {
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes())?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
    ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .context("the gate's certificate")
}

fn upstream_client(roots: RootCertStore) -> Upstream {
    let tls = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(http);
    // A connection that was closed between two calls would look like a failure of the server.
    Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector)
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    passage: Arc<Passage>,
) {
    let mut closing = passage.traffic.closings();
    let service = service_fn(move |request| {
        let passage = Arc::clone(&passage);
        async move { pass(request, &passage).await }
    });
    let serving =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let mut serving = std::pin::pin!(serving);
    // An error here is a caller that went away, or one that was sent away.
    tokio::select! {
        _ = serving.as_mut() => {}
        _ = closing.recv() => {
            serving.as_mut().graceful_shutdown();
            let _ = serving.await;
        }
    }
}

/// Passes one call on, unless the traffic rules say otherwise.
async fn pass(request: Request<Incoming>, passage: &Passage) -> Result<Response<Body>, Failure> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let described = Head::read(passage.side, &head, &body);
    let traffic = &passage.traffic;
    let number = match traffic.admit(&described).await {
        Verdict::Pass(number) => number,
        Verdict::Answer(number, answer) => {
            traffic.answered(number, answer.status().as_u16());
            return Ok(answer.map(|text| whole(Full::from(text))));
        }
        Verdict::Drop => anyhow::bail!("the connection is cut"),
    };
    let mut onward = Request::from_parts(head, Full::new(body));
    *onward.uri_mut() = at(&passage.upstream, onward.uri())?;
    let answer = passage.client.request(onward).await?;
    if let Some(denied) = answer.headers().get(DENIED).and_then(|action| action.to_str().ok()) {
        let refusal = answer::refuse(&described.action, denied, Refusal::Denied);
        traffic.answered(number, refusal.status().as_u16());
        return Ok(refusal.map(|text| whole(Full::from(text))));
    }
    traffic.answered(number, answer.status().as_u16());
    if described.is_watch() && answer.status().is_success() {
        let expired = traffic.expiries();
        let cut = traffic.cuts();
        return Ok(answer.map(|body| watch::until_cut(body, passage.side, cut, expired).boxed()));
    }
    let (head, body) = answer.into_parts();
    let body = body.collect().await?.to_bytes();
    if traffic.after(&described, head.status, &body).await.is_break() {
        anyhow::bail!("the answer does not arrive");
    }
    Ok(Response::from_parts(head, whole(Full::new(body))))
}

fn whole(body: Full<Bytes>) -> Body {
    body.map_err(|never| match never {}).boxed()
}

fn at(upstream: &Uri, asked: &Uri) -> Result<Uri, Failure> {
    let mut parts = asked.clone().into_parts();
    parts.scheme = upstream.scheme().cloned();
    parts.authority = upstream.authority().cloned();
    Ok(Uri::from_parts(parts)?)
}
