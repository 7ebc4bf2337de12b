//! AWS on a script, for tests of what is built on its clients: answers by action, in order, and a
//! record of what was asked.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;

/// What AWS answers to one call.
#[derive(Clone, Debug)]
pub struct Answer {
    status: u16,
    body: String,
    /// The connection ends before the answer.
    is_lost: bool,
}

/// A call that was made: the action, and its parameters as they were sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Such as `CreateFleet`.
    pub action: String,
    /// A form or a JSON object.
    pub body: String,
}

/// What AWS will answer. An action without an answer left is answered with an empty success.
#[derive(Clone, Debug, Default)]
pub struct Script(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    answers: Mutex<BTreeMap<String, VecDeque<Answer>>>,
    asked: Mutex<Vec<Asked>>,
}

impl Script {
    /// The next answer to an action: the inner XML of a success.
    pub fn answers(self, action: &str, inner: &str) -> Self {
        let body = format!("<{action}Response>{inner}</{action}Response>");
        self.add(action, Answer { status: 200, body, is_lost: false })
    }

    /// The next answer to an action of a service that speaks JSON.
    pub fn answers_json(self, action: &str, body: &serde_json::Value) -> Self {
        self.add(action, Answer { status: 200, body: body.to_string(), is_lost: false })
    }

    /// The next answer to an action of a service that speaks JSON: an error.
    pub fn refuses_json(self, action: &str, code: &str) -> Self {
        let body = serde_json::json!({ "__type": code, "message": "no" }).to_string();
        self.add(action, Answer { status: 400, body, is_lost: false })
    }

    /// The next answer to an action: an error of EC2 with status 400.
    pub fn refuses(self, action: &str, code: &str, message: &str) -> Self {
        self.fails(action, 400, code, message)
    }

    /// The next answer to an action: an error of EC2.
    pub fn fails(self, action: &str, status: u16, code: &str, message: &str) -> Self {
        let body = format!(
            "<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>\
             <RequestID>1</RequestID></Response>"
        );
        self.add(action, Answer { status, body, is_lost: false })
    }

    /// The next answer to an action is lost: the connection ends first.
    pub fn loses(self, action: &str) -> Self {
        self.add(action, Answer { status: 200, body: String::new(), is_lost: true })
    }

    fn add(self, action: &str, answer: Answer) -> Self {
        locked(&self.0.answers).entry(action.to_owned()).or_default().push_back(answer);
        self
    }

    /// The bodies of the calls of an action, in order.
    pub fn asked(&self, action: &str) -> Vec<String> {
        let asked = locked(&self.0.asked);
        asked.iter().filter(|own| own.action == action).map(|own| own.body.clone()).collect()
    }

    /// The actions that were asked for, in order.
    pub fn actions(&self) -> Vec<String> {
        locked(&self.0.asked).iter().map(|own| own.action.clone()).collect()
    }

    /// A configuration whose calls all come here, each once.
    pub fn config(&self) -> SdkConfig {
        let connector = SharedHttpConnector::new(Connector(self.0.clone()));
        let credentials = Credentials::new("AKIA", "secret", None, None, "test");
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .retry_config(RetryConfig::disabled())
            .http_client(http_client_fn(move |_, _| connector.clone()))
            .build()
    }
}

#[derive(Debug)]
struct Connector(Arc<Inner>);

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = request.body().bytes().map(String::from_utf8_lossy).unwrap_or_default();
        // `DynamoDB_20120810.PutItem`: a service that speaks JSON.
        let target = request.headers().get("x-amz-target").and_then(|own| own.split('.').nth(1));
        let is_json = target.is_some();
        let action = target
            .or_else(|| body.split('&').find_map(|parameter| parameter.strip_prefix("Action=")))
            .unwrap_or_default()
            .to_owned();
        let asked = Asked { action: action.clone(), body: body.into_owned() };
        locked(&self.0.asked).push(asked);
        let next = locked(&self.0.answers).get_mut(&action).and_then(VecDeque::pop_front);
        let body = if is_json { "{}".to_owned() } else { format!("<{action}Response/>") };
        let empty = || Answer { status: 200, body, is_lost: false };
        let Answer { status, body, is_lost } = next.unwrap_or_else(empty);
        if is_lost {
            let error = ConnectorError::io("connection reset by peer".into());
            return HttpConnectorFuture::ready(Err(error));
        }
        let answer = status.try_into().map(|status| HttpResponse::new(status, SdkBody::from(body)));
        HttpConnectorFuture::ready(answer.map_err(|error| ConnectorError::user(Box::new(error))))
    }
}

/// What a test that failed left behind is as good as ever.
fn locked<T>(own: &Mutex<T>) -> MutexGuard<'_, T> {
    own.lock().unwrap_or_else(PoisonError::into_inner)
}
