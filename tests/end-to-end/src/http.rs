//! HTTP as the rig itself speaks it.

use std::sync::OnceLock;

use anyhow::{Context as _, Result, ensure};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// A client for servers on this machine.
pub type PlainClient = Client<HttpConnector, Full<Bytes>>;

/// The one client; it keeps no connection open, because moto closes each.
pub fn client() -> &'static PlainClient {
    static CLIENT: OnceLock<PlainClient> = OnceLock::new();
    CLIENT.get_or_init(|| {
        Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build_http()
    })
}

/// Sends a document and reads one. Anything but 2xx is an error that holds the answer.
pub async fn exchange(method: Method, url: &str, document: Option<&Value>) -> Result<Value> {
    let body = document.map(ToString::to_string).unwrap_or_default();
    let request = Request::builder()
        .method(&method)
        .uri(url)
        .header("content-type", "application/json")
        .body(Full::from(body))?;
    let answer = client().request(request).await.with_context(|| format!("{method} {url}"))?;
    let status = answer.status();
    let bytes = answer.into_body().collect().await?.to_bytes();
    ensure!(status.is_success(), "{method} {url}: {status}: {}", String::from_utf8_lossy(&bytes));
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&bytes).with_context(|| format!("{method} {url}: no JSON"))
}

/// Whether somebody answers there, with whatever.
pub async fn answers(url: &str) -> bool {
    let Ok(request) = Request::builder().uri(url).body(Full::default()) else { return false };
    client().request(request).await.is_ok()
}
