//! Errors of an invocation, as Lambda reports them: a type that alarms and people can tell apart,
//! and a message that names what failed.

use aws::calls::NoRegion;
use controllers::ports::{ErrorKind, PortError};
use ec2::catalogue::CatalogueError;
use lambda_runtime::Diagnostic;

use crate::environment::EnvironmentError;
use crate::event::EventError;

/// Why an invocation failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The environment is invalid.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// No AWS region is configured.
    #[error(transparent)]
    Region(#[from] NoRegion),
    /// The event is invalid.
    #[error(transparent)]
    Event(#[from] EventError),
    /// A call to AWS or to the API server failed.
    #[error(transparent)]
    Call(#[from] PortError),
    /// The instance catalogue could not be loaded.
    #[error("{0}: {cause}", cause = source_of(.0))]
    Catalogue(#[from] CatalogueError),
    /// A plan was not carried out: the checker found that it breaks rules.
    #[error("plan refused by the checker: {0}")]
    Refused(String),
}

impl Failure {
    /// The type that Lambda shows as `errorType`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Environment(_) | Self::Region(_) => "InvalidEnvironment",
            Self::Event(_) => "InvalidEvent",
            Self::Catalogue(_) => "NoCatalogue",
            Self::Refused(_) => "PlanRefused",
            Self::Call(error) => match error.kind {
                ErrorKind::Denied => "AccessDenied",
                ErrorKind::Throttled => "Throttled",
                ErrorKind::Unavailable => "Unavailable",
                ErrorKind::Invalid => "InvalidRequest",
                ErrorKind::NotFound => "NotFound",
                ErrorKind::Conflict => "Conflict",
                ErrorKind::NoCapacity => "NoCapacity",
                ErrorKind::Unknown => "Unknown",
            },
        }
    }
}

fn source_of(error: &dyn std::error::Error) -> String {
    error.source().map(ToString::to_string).unwrap_or_default()
}

impl From<Failure> for Diagnostic {
    fn from(failure: Failure) -> Self {
        Self { error_type: failure.kind().to_owned(), error_message: failure.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_that_is_denied_is_named() {
        let denied = PortError::new(
            ErrorKind::Denied,
            "CreateFleet",
            "UnauthorizedOperation: not authorized to perform ec2:CreateFleet",
        );
        let diagnostic = Diagnostic::from(Failure::from(denied));
        assert_eq!(diagnostic.error_type, "AccessDenied");
        assert!(diagnostic.error_message.contains("ec2:CreateFleet"));
    }
}
