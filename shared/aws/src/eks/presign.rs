//! A presigned `GetCallerIdentity` that names a cluster, byte for byte as botocore signs it.

use std::time::{Duration, SystemTime};

use aws_sdk_sts::config::Credentials;
use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SignatureLocation, SigningError, SigningSettings, sign,
};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use domain::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The header that binds a token to one cluster.
const CLUSTER_HEADER: &str = "x-k8s-aws-id";
const QUERY: &str = "/?Action=GetCallerIdentity&Version=2011-06-15";
/// How long the URL itself is valid. EKS requires one minute; the token outlives the URL.
const URL_TTL: Duration = Duration::from_mins(1);
/// Characters to encode: all but the unreserved ones of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Whose identity the URL proves, and where.
pub(super) struct Caller<'a> {
    pub(super) credentials: &'a Credentials,
    pub(super) region: &'a str,
    /// The endpoint of STS, with `https://`.
    pub(super) endpoint: &'a str,
}

/// Why a URL could not be signed.
#[derive(Debug, thiserror::Error)]
pub(super) enum PresignError {
    #[error("the parameters of the signature are not complete")]
    Parameters(#[from] v4::signing_params::BuildError),
    #[error("the request cannot be signed")]
    Signing(#[from] SigningError),
}

/// The presigned URL, signed at `now`.
pub(super) fn presigned_caller_identity(
    caller: &Caller<'_>,
    cluster: &str,
    now: Timestamp,
) -> Result<String, PresignError> {
    let mut settings = SigningSettings::default();
    settings.signature_location = SignatureLocation::QueryParams;
    settings.expires_in = Some(URL_TTL);
    let identity: Identity = caller.credentials.clone().into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(caller.region)
        .name("sts")
        .time(SystemTime::from(now))
        .settings(settings)
        .build()?
        .into();
    let url = format!("{}{QUERY}", caller.endpoint.trim_end_matches('/'));
    let headers = [(CLUSTER_HEADER, cluster)];
    let request = SignableRequest::new("GET", &url, headers.into_iter(), SignableBody::Bytes(&[]))?;
    let (instructions, _) = sign(request, &params)?.into_parts();
    let mut signed = url;
    // STS accepts any order; botocore puts the signature last.
    let (signature, others): (Vec<_>, Vec<_>) =
        instructions.params().iter().partition(|(name, _)| *name == "X-Amz-Signature");
    for (name, value) in others.into_iter().chain(signature) {
        signed = format!("{signed}&{name}={}", utf8_percent_encode(value, RESERVED));
    }
    Ok(signed)
}
