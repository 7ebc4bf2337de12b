//! The connection to an API server: its address, our identity, and clients that are renewed when
//! stale.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::time::Duration;

use controllers::ports::{ErrorKind, PortError};
use domain::{SignedDuration, Text, Timestamp};
use futures_util::future::try_join_all;
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::json;

use crate::call::{Call, Verb};
use crate::failure::shown;
use crate::token::{Token, TokenSource, Tokens};

/// How long opening a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Connections that were idle for longer are dropped: a load balancer may have closed them while
/// the process was frozen, and a request on one of those would run into its timeout.
const IDLE_MAX: SignedDuration = SignedDuration::from_mins(2);

/// Connections opened ahead of the first lists, which run concurrently.
const WARM_CONNECTIONS: usize = 4;

/// The address of an API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `https://…`, as `eks:DescribeCluster` gives it.
    pub url: Text,
    /// The certificate authority, PEM in base64 (`certificateAuthority.data`); `None` trusts the
    /// system's.
    pub certificate_authority: Option<Text>,
}

/// The connection to one API server.
///
/// Not thread-safe: the calls of one thread share it by reference.
pub struct Connection {
    config: Config,
    tokens: Option<Tokens>,
    client: RefCell<Client>,
    last_used: Cell<Timestamp>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The configuration may hold credentials.
        f.debug_struct("Connection")
            .field("url", &self.config.cluster_url)
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects to an endpoint with bearer tokens. Nothing is sent yet.
    ///
    /// `Invalid` where the endpoint is invalid. Must be called inside a Tokio runtime.
    pub async fn with_tokens(
        endpoint: &Endpoint,
        tokens: impl TokenSource + 'static,
    ) -> Result<Self, PortError> {
        let cluster = json!({
            "server": &*endpoint.url,
            "certificate-authority-data": endpoint.certificate_authority.as_deref(),
        });
        let kubeconfig = json!({
            "clusters": [{ "name": "cluster", "cluster": cluster }],
            "users": [{ "name": "user", "user": {} }],
            "contexts": [{ "name": "context", "context": { "cluster": "cluster", "user": "user" } }],
            "current-context": "context",
        });
        let invalid = |error: &dyn std::error::Error| {
            PortError::new(ErrorKind::Invalid, "connect to cluster", shown(error))
        };
        let kubeconfig: Kubeconfig =
            serde_json::from_value(kubeconfig).map_err(|error| invalid(&error))?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .map_err(|error| invalid(&error))?;
        Self::open(config, Some(Tokens::new(tokens)))
    }

    /// Connects as `kubectl` does: by `KUBECONFIG` or `~/.kube/config`, with the named context or
    /// the current one, exec plugins included.
    ///
    /// `Invalid` where there is no such file or context. Must be called inside a Tokio runtime.
    pub async fn from_kubeconfig(context: Option<&str>) -> Result<Self, PortError> {
        let options =
            KubeConfigOptions { context: context.map(str::to_owned), ..Default::default() };
        let config = Config::from_kubeconfig(&options).await.map_err(|error| {
            PortError::new(ErrorKind::Invalid, "read kubeconfig", shown(&error)).because(error)
        })?;
        Self::open(config, None)
    }

    fn open(mut config: Config, tokens: Option<Tokens>) -> Result<Self, PortError> {
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        // Calls have time limits and retries of their own.
        config.default_retry = false;
        let client = RefCell::new(client_of(&config)?);
        Ok(Self { config, tokens, client, last_used: Cell::new(Timestamp::now()) })
    }

    /// The address of the API server.
    pub fn url(&self) -> String {
        self.config.cluster_url.to_string()
    }

    /// Opens connections and gets a token, so that the first list waits for neither.
    pub async fn warm_up(&self) -> Result<(), PortError> {
        // Every identity may read it, and it is small.
        let version = || async {
            let call = Call::new(Verb::Get, "version", "/version");
            self.call(&call).await.map_err(|failure| failure.into_port_error(&call))
        };
        try_join_all((0..WARM_CONNECTIONS).map(|_| version())).await?;
        Ok(())
    }

    /// A client whose connections are not stale.
    pub(crate) fn client(&self) -> Result<Client, PortError> {
        let now = Timestamp::now();
        let idle = now.duration_since(self.last_used.replace(now));
        if idle > IDLE_MAX {
            self.renew()?;
        }
        Ok(self.client.borrow().clone())
    }

    /// Drops all connections; calls in flight keep theirs.
    pub(crate) fn renew(&self) -> Result<(), PortError> {
        *self.client.borrow_mut() = client_of(&self.config)?;
        Ok(())
    }

    /// The token to send; `None` where the client authenticates by itself.
    pub(crate) async fn token(&self) -> Result<Option<Token>, PortError> {
        match &self.tokens {
            Some(tokens) => tokens.current(Timestamp::now()).await.map(Some),
            None => Ok(None),
        }
    }

    /// Forgets a token that the API server rejected. Returns whether another one may be accepted.
    pub(crate) fn refuse(&self, token: Option<&Token>) -> bool {
        match (&self.tokens, token) {
            (Some(tokens), Some(token)) => {
                tokens.refuse(token);
                true
            }
            _ => false,
        }
    }
}

fn client_of(config: &Config) -> Result<Client, PortError> {
    Client::try_from(config.clone()).map_err(|error| {
        PortError::new(ErrorKind::Invalid, "connect to cluster", shown(&error)).because(error)
    })
}
