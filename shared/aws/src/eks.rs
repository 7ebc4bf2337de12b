//! EKS: the address of a cluster's API server, and bearer tokens for it.
//!
//! The API server accepts a bearer token that proves an AWS identity: a presigned
//! `GetCallerIdentity` of STS that names the cluster in a signed header, which EKS sends to STS to
//! learn who signed it
//! (<https://github.com/kubernetes-sigs/aws-iam-authenticator>).

mod presign;

use aws_config::SdkConfig;
use aws_sdk_eks::Client;
use aws_sdk_sts::config::endpoint::{DefaultResolver, Params, ResolveEndpoint as _};
use aws_sdk_sts::config::{Credentials, ProvideCredentials as _, SharedCredentialsProvider};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use controllers::ports::{ErrorKind, PortError};
use domain::{SignedDuration, Text, Timestamp};

use crate::cluster::ClusterFacts;
use crate::error::{Action, port_error, redacted};
use presign::{Caller, presigned_caller_identity};

/// The prefix of every token.
const TOKEN_PREFIX: &str = "k8s-aws-v1.";
/// How long a token is used after it was signed. The API server accepts it for fifteen minutes; one
/// is left for clock skew, as in `aws eks get-token`.
const TOKEN_TTL: SignedDuration = SignedDuration::from_mins(14);
const DESCRIBE_CLUSTER: Action = Action { service: "eks", name: "DescribeCluster" };

/// EKS in one region, with the credentials of the process.
#[derive(Clone, Debug)]
pub struct Eks {
    client: Client,
    credentials: Option<SharedCredentialsProvider>,
    region: Option<Text>,
}

/// A bearer token for one cluster.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterToken {
    /// The token. A secret.
    pub secret: Text,
    /// When it must no longer be used.
    pub expires: Timestamp,
}

impl std::fmt::Debug for ClusterToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { secret: _, expires } = self;
        f.debug_struct("ClusterToken").field("expires", expires).finish_non_exhaustive()
    }
}

impl Eks {
    /// A client of EKS with the region and credentials of the configuration.
    pub fn new(config: &SdkConfig) -> Self {
        Self {
            client: Client::new(config),
            credentials: config.credentials_provider(),
            region: config.region().map(|region| region.as_ref().into()),
        }
    }

    /// Describes a cluster: its API server, and what its nodes must know. `NotFound` where the
    /// region has no such cluster; `Unavailable` while it is being created.
    pub async fn describe(&self, cluster: &str) -> Result<ClusterFacts, PortError> {
        let answer = self
            .client
            .describe_cluster()
            .name(cluster)
            .send()
            .await
            .map_err(|error| port_error(DESCRIBE_CLUSTER, &error))?;
        let Some(described) = answer.cluster else {
            let what = format!("no cluster {cluster} in the answer");
            return Err(PortError::new(ErrorKind::NotFound, DESCRIBE_CLUSTER.name, what));
        };
        ClusterFacts::from_eks(&described).map_err(|error| {
            let what = format!("cluster {cluster}: {error}");
            PortError::new(ErrorKind::Unavailable, DESCRIBE_CLUSTER.name, what).because(error)
        })
    }

    /// A token for a cluster, signed now. Calls AWS only where the credentials must be renewed.
    pub async fn token(&self, cluster: &str) -> Result<ClusterToken, PortError> {
        let credentials = self.credentials().await?;
        let region = self
            .region
            .as_deref()
            .ok_or_else(|| refused("no region is configured: set AWS_REGION"))?;
        let caller =
            Caller { credentials: &credentials, region, endpoint: &endpoint(region).await? };
        let now = Timestamp::now();
        let url = presigned_caller_identity(&caller, cluster, now)
            .map_err(|error| refused("the request could not be signed").because(error))?;
        let own_end = now.checked_add(TOKEN_TTL).unwrap_or(now);
        let credentials_end = credentials.expiry().and_then(|end| Timestamp::try_from(end).ok());
        Ok(ClusterToken {
            secret: token(&url).into(),
            expires: credentials_end.map_or(own_end, |end| end.min(own_end)),
        })
    }

    async fn credentials(&self) -> Result<Credentials, PortError> {
        let provider = self
            .credentials
            .as_ref()
            .ok_or_else(|| refused("no AWS credentials are configured"))?;
        provider.provide_credentials().await.map_err(|error| {
            let why = redacted(&format!("no AWS credentials: {error}")).into_owned();
            PortError::new(ErrorKind::Unavailable, "sign a token", why)
        })
    }
}

fn refused(why: &str) -> PortError {
    PortError::new(ErrorKind::Invalid, "sign a token", why)
}

/// The endpoint of STS in a region of any partition. Ignores endpoints that the environment sets:
/// EKS accepts tokens for the real one only.
async fn endpoint(region: &str) -> Result<String, PortError> {
    let unknown = |error: &dyn std::fmt::Display| refused(&format!("no STS in {region}: {error}"));
    let params = Params::builder()
        .region(region)
        .use_fips(false)
        .use_dual_stack(false)
        .use_global_endpoint(false)
        .build()
        .map_err(|error| unknown(&error))?;
    let endpoint = DefaultResolver::new().resolve_endpoint(&params).await;
    Ok(endpoint.map_err(|error| unknown(&error))?.url().to_owned())
}

fn token(url: &str) -> String {
    format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(url))
}

#[cfg(test)]
mod tests;
