//! The way to an API server: where it is, who we are, and connections that are renewed when they went stale.

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
use crate::token::{Token, TokenSource, Tokens};

/// How long opening a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Connections that nobody used for so long are given up: a load balancer may have forgotten them while the
/// process was frozen, and a request on one of those would wait for its timeout.
const IDLE_MAX: SignedDuration = SignedDuration::from_mins(2);

/// Connections opened ahead of the first lists, which go out side by side.
const WARM_CONNECTIONS: usize = 4;

/// Where an API server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `https://…`, as `eks:DescribeCluster` gives it.
    pub url: Text,
    /// Base64 of the PEM certificates that its own is signed by (`certificateAuthority.data`); `None` trusts
    /// those that the system trusts.
    pub certificate_authority: Option<Text>,
}

/// The way to one API server.
///
/// Works on one thread: a run's calls share it by reference.
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
    /// To an endpoint, as whoever the tokens say. Nothing is sent yet.
    ///
    /// `Invalid` where the endpoint makes no sense. Must be called inside a Tokio runtime.
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

    /// As `kubectl` would connect: by `KUBECONFIG` or `~/.kube/config`, through a context of it (the current
    /// one where none is named), exec plugins included.
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

    /// Where the API server is.
    pub fn url(&self) -> String {
        self.config.cluster_url.to_string()
    }

    /// Opens connections and makes a token, so that the first look need not wait for either.
    pub async fn warm_up(&self) -> Result<(), PortError> {
        // Everybody may read it, and it is small.
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

    /// Gives up all connections: those under way end with their calls.
    pub(crate) fn renew(&self) -> Result<(), PortError> {
        *self.client.borrow_mut() = client_of(&self.config)?;
        Ok(())
    }

    /// The token to send; `None` where the client knows by itself who we are.
    pub(crate) async fn token(&self) -> Result<Option<Token>, PortError> {
        match &self.tokens {
            Some(tokens) => tokens.current(Timestamp::now()).await.map(Some),
            None => Ok(None),
        }
    }

    /// Notes that the API server did not take a token; says whether another one may do better.
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

/// An error with what it came from, in one line.
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
