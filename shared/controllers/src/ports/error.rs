//! Errors of ports, classified once by the adapter.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use domain::Text;

/// Kinds of failure, as far as controllers treat them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// The object or instance does not exist (404, `InvalidInstanceID.NotFound`).
    NotFound,
    /// It exists already, or has changed since it was read (409,
    /// `ConditionalCheckFailedException`).
    Conflict,
    /// Too many requests; the same call may succeed later (429, `RequestLimitExceeded`).
    Throttled,
    /// EC2 lacks capacity (`InsufficientInstanceCapacity` and the like).
    NoCapacity,
    /// Not allowed (401, 403, `UnauthorizedOperation`).
    Denied,
    /// The call timed out, or the server failed (5xx, timeouts, connections). Whether it took
    /// effect is unknown.
    Unavailable,
    /// The request is invalid (400, 422, `InvalidParameterValue`).
    Invalid,
    /// Any other failure.
    Unknown,
}

impl ErrorKind {
    /// Whether the same call may succeed later without any change.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Throttled | Self::NoCapacity | Self::Unavailable | Self::Unknown)
    }

    /// The word in metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::Conflict => "conflict",
            Self::Throttled => "throttled",
            Self::NoCapacity => "no-capacity",
            Self::Denied => "denied",
            Self::Unavailable => "unavailable",
            Self::Invalid => "invalid",
            Self::Unknown => "unknown",
        }
    }

    /// The words in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not found",
            Self::Conflict => "changed concurrently",
            Self::Throttled => "throttled",
            Self::NoCapacity => "out of capacity",
            Self::Denied => "not allowed",
            Self::Unavailable => "not available",
            Self::Invalid => "not valid",
            Self::Unknown => "failed",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A call of a port that failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{operation}: {kind}: {message}")]
pub struct PortError {
    /// What kind of failure.
    pub kind: ErrorKind,
    /// The call, such as `CreateFleet` or `evict pod default/web-0`.
    pub operation: Text,
    /// The server's message.
    pub message: Text,
    /// The adapter's own error.
    #[source]
    pub cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl PortError {
    /// An error without a cause.
    pub fn new(kind: ErrorKind, operation: impl Into<Text>, message: impl Into<Text>) -> Self {
        Self { kind, operation: operation.into(), message: message.into(), cause: None }
    }

    /// Adds the adapter's own error as the cause.
    pub fn because(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
        self.cause = Some(Arc::new(cause));
        self
    }

    /// Whether the same call may succeed later.
    pub const fn is_retryable(&self) -> bool {
        self.kind.is_retryable()
    }
}

impl PartialEq for PortError {
    /// Equal in kind, operation and message; causes cannot be compared.
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.operation == other.operation
            && self.message == other.message
    }
}

impl Eq for PortError {}

/// Turns `NotFound` into `None`.
pub fn found<T>(result: Result<T, PortError>) -> Result<Option<T>, PortError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_by_itself_is_retryable() {
        let retryable = |kind| PortError::new(kind, "RunInstances", "no").is_retryable();
        assert!(retryable(ErrorKind::Throttled) && retryable(ErrorKind::Unavailable));
        assert!(!retryable(ErrorKind::Denied) && !retryable(ErrorKind::Conflict));
    }

    #[test]
    fn an_error_names_its_operation_and_keeps_its_cause() {
        let error = PortError::new(ErrorKind::Throttled, "CreateFleet", "slow down")
            .because(std::fmt::Error);
        assert_eq!(error.to_string(), "CreateFleet: throttled: slow down");
        assert!(error.source().is_some());
    }
}
