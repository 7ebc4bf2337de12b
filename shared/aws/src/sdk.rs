//! Retries and timeouts of all AWS clients.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader, Region, SdkConfig};

/// Attempts of one call, including the first. Further ones are left to the next run.
const ATTEMPTS_MAX: u32 = 4;
const BACKOFF_INITIAL: Duration = Duration::from_millis(200);
const BACKOFF_MAX: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest that one attempt may take: pages of instance types and of price lists take seconds.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(20);
/// The longest that a call may take with all its attempts.
const CALL_TIMEOUT: Duration = Duration::from_secs(45);

/// The configuration of every client, from the environment as the SDK reads it: region,
/// credentials, `AWS_ENDPOINT_URL` and the like. Every call is bounded in attempts and in time.
pub async fn config() -> SdkConfig {
    loader().load().await
}

/// The configuration of every client for a region, whichever one the environment names; else as
/// [`config`].
pub async fn config_in(region: &str) -> SdkConfig {
    loader().region(Region::new(region.to_owned())).load().await
}

fn loader() -> ConfigLoader {
    aws_config::defaults(BehaviorVersion::latest())
        .retry_config(retries())
        .timeout_config(timeouts())
}

fn retries() -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(ATTEMPTS_MAX)
        .with_initial_backoff(BACKOFF_INITIAL)
        .with_max_backoff(BACKOFF_MAX)
}

fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .operation_timeout(CALL_TIMEOUT)
        .build()
}
