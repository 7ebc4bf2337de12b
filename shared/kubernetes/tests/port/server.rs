//! A small HTTP server that plays an API server by a script.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kubernetes::{Connection, Endpoint, Token};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use domain::{SignedDuration, Timestamp};

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) bearer: String,
    pub(crate) body: Json,
}

impl Request {
    pub(crate) fn is_list_of(&self, plural: &str) -> bool {
        self.method == "GET" && self.path.ends_with(&format!("/{plural}"))
    }

    pub(crate) fn is_watch(&self) -> bool {
        self.query.contains("watch=true")
    }
}

/// What is answered.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    code: u16,
    headers: Vec<(&'static str, String)>,
    lines: Vec<String>,
    /// The answer stays open for so long after its last line.
    held: Duration,
}

impl Reply {
    pub(crate) fn json(body: &Json) -> Self {
        Self { code: 200, headers: Vec::new(), lines: vec![body.to_string()], held: Duration::ZERO }
    }

    /// A list of items at a resource version.
    pub(crate) fn list(items: &[Json], version: u32) -> Self {
        Self::page(items, version, "")
    }

    pub(crate) fn page(items: &[Json], version: u32, next: &str) -> Self {
        let metadata = json!({ "resourceVersion": version.to_string(), "continue": next });
        Self::json(&json!({ "kind": "List", "metadata": metadata, "items": items }))
    }

    pub(crate) fn status(code: u16, reason: &str, message: &str) -> Self {
        let body = json!({ "kind": "Status", "code": code, "reason": reason, "message": message });
        Self { code, ..Self::json(&body) }
    }

    /// Events of a watch, which then stays open for a while.
    pub(crate) fn events(events: &[(&str, Json)], held: Duration) -> Self {
        let lines = events
            .iter()
            .map(|(kind, object)| format!("{}\n", json!({ "type": kind, "object": object })));
        Self { code: 200, headers: Vec::new(), lines: lines.collect(), held }
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn with_cause(mut self, reason: &str) -> Self {
        let mut body: Json = serde_json::from_str(&self.lines[0]).unwrap();
        body["details"] = json!({ "causes": [{ "reason": reason }] });
        self.lines = vec![body.to_string()];
        self
    }
}

/// A server that runs until its test ends.
pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub(crate) async fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (script, seen) = (Arc::new(script), asked.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, seen) = (script.clone(), seen.clone());
                tokio::spawn(async move { serve(stream, &*script, &seen).await });
            }
        });
        Self { url, asked }
    }

    /// Everything that was asked so far.
    pub(crate) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }

    /// How often something was asked.
    pub(crate) fn count(&self, is: impl Fn(&Request) -> bool) -> usize {
        self.asked().iter().filter(|request| is(request)).count()
    }

    /// A connection to it; the n-th token is `token-n`.
    pub(crate) async fn connection(&self) -> Connection {
        let made = Arc::new(Mutex::new(0));
        let tokens = move || {
            let mut made = made.lock().unwrap();
            *made += 1;
            let expires = Timestamp::now() + SignedDuration::from_mins(15);
            let token = Token { secret: format!("token-{made}").into(), expires };
            async move { Ok(token) }
        };
        let endpoint = Endpoint { url: self.url.as_str().into(), certificate_authority: None };
        Connection::with_tokens(&endpoint, tokens).await.unwrap()
    }
}

/// Answers one request.
async fn serve(
    mut stream: TcpStream,
    script: &(dyn Fn(&Request) -> Reply + Send + Sync),
    asked: &Mutex<Vec<Request>>,
) {
    let Some(request) = read(&mut stream).await else { return };
    asked.lock().unwrap().push(request.clone());
    let reply = script(&request);
    let headers: Vec<String> =
        reply.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head =
        format!("HTTP/1.1 {} X\r\nconnection: close\r\n{}\r\n", reply.code, headers.concat());
    let _ = stream.write_all(head.as_bytes()).await;
    for line in &reply.lines {
        let _ = stream.write_all(line.as_bytes()).await;
    }
    let _ = stream.flush().await;
    tokio::time::sleep(reply.held).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        let length = stream.read(&mut buffer).await.ok().filter(|length| *length > 0)?;
        bytes.extend_from_slice(&buffer[..length]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let length: usize = header("content-length").map_or(0, |length| length.parse().unwrap());
    while bytes.len() < end + length {
        let length = stream.read(&mut buffer).await.ok().filter(|length| *length > 0)?;
        bytes.extend_from_slice(&buffer[..length]);
    }
    let mut words = head.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Some(Request {
        method,
        path: path.to_owned(),
        query: query.to_owned(),
        bearer: header("authorization").unwrap_or_default(),
        body: serde_json::from_slice(&bytes[end..]).unwrap_or(Json::Null),
    })
}

/// A pod, as an API server sends it.
pub(crate) fn pod(name: &str, version: u32, rest: &Json) -> Json {
    let mut pod = json!({
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": format!("uid-{name}"),
            "resourceVersion": version.to_string(),
            "managedFields": [{ "manager": "kubelet", "fieldsV1": { "f:spec": {} } }],
        },
        "spec": { "containers": [{ "resources": { "requests": { "cpu": "100m" } } }] },
        "status": { "phase": "Pending" },
    });
    for (key, value) in rest.as_object().unwrap() {
        for (inner, value) in value.as_object().unwrap() {
            pod[key][inner] = value.clone();
        }
    }
    pod
}

/// A pod that the scheduler found no node for.
pub(crate) fn waiting_pod(name: &str, version: u32) -> Json {
    let condition = json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable" });
    pod(name, version, &json!({ "status": { "conditions": [condition] } }))
}
