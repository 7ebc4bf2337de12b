//! Errors of AWS, classified.
//!
//! They are fit for logs: account ids are redacted, and the encoded part of an authorization
//! failure (which spells out the request) is removed.

use std::borrow::Cow;
use std::error::Error;

use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_runtime_api::http::Response as HttpResponse;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use aws_smithy_types::error::operation::BuildError;
use controllers::ports::{ErrorKind, PortError};
use domain::account_id::without_account_ids;

/// An error of AWS, fit for logs: the cause of a [`PortError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct AwsError {
    /// The error code, such as `UnauthorizedOperation`; `Timeout`, `NotSent`, `UnreadableAnswer` or
    /// `NotBuilt` where AWS did not answer.
    pub code: String,
    /// The message, without account ids.
    pub message: String,
}

/// An action of AWS, as IAM names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// The IAM prefix, such as `ec2`.
    pub service: &'static str,
    /// The operation, such as `CreateFleet`.
    pub name: &'static str,
}

/// Suffixes of codes that mean that the resource does not exist.
const NOT_FOUND_SUFFIXES: [&str; 3] = [".NotFound", ".NotFoundException", "NotFound"];
const NOT_FOUND: [&str; 3] = ["NoSuchEntity", "ParameterNotFound", "ResourceNotFoundException"];
/// `MaxFleetCountExceeded` is a quota, but of fleets rather than of any pool: it passes as fleets
/// end.
const THROTTLED: [&str; 10] = [
    "RequestLimitExceeded",
    "MaxFleetCountExceeded",
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "TooManyRequestsException",
    "RequestThrottled",
    "RequestThrottledException",
    "ProvisionedThroughputExceededException",
    "SlowDown",
];
const DENIED: [&str; 12] = [
    "UnauthorizedOperation",
    "AccessDenied",
    "AccessDeniedException",
    "AuthFailure",
    "UnrecognizedClientException",
    "InvalidClientTokenId",
    "ExpiredToken",
    "ExpiredTokenException",
    "OptInRequired",
    "SignatureDoesNotMatch",
    "InvalidSignatureException",
    "MissingAuthenticationToken",
];
const UNAVAILABLE: [&str; 7] = [
    "InternalError",
    "InternalFailure",
    "InternalServerError",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "Unavailable",
    "RequestTimeout",
];
const CONFLICT: [&str; 5] = [
    "IdempotentParameterMismatch",
    "EntityAlreadyExists",
    "ConcurrentModification",
    "ConditionalCheckFailedException",
    "InvalidLaunchTemplateName.AlreadyExistsException",
];
/// Codes that mean that EC2 has no capacity left, or the account no quota. Karpenter treats them as
/// unfulfillable capacity.
///
/// Source: <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html>.
pub const NO_CAPACITY: [&str; 8] = [
    "InsufficientInstanceCapacity",
    "MaxSpotInstanceCountExceeded",
    "VcpuLimitExceeded",
    "InstanceLimitExceeded",
    "UnfulfillableCapacity",
    "Unsupported",
    "InsufficientFreeAddressesInSubnet",
    "ReservationCapacityExceeded",
];

/// The kind of failure that an error code stands for.
pub fn kind_of(code: &str) -> ErrorKind {
    let is = |codes: &[&str]| codes.contains(&code);
    if is(&THROTTLED) {
        ErrorKind::Throttled
    } else if is(&DENIED) || code.starts_with("AuthFailure") {
        ErrorKind::Denied
    } else if is(&NO_CAPACITY) {
        ErrorKind::NoCapacity
    } else if is(&UNAVAILABLE) {
        ErrorKind::Unavailable
    } else if is(&CONFLICT) {
        ErrorKind::Conflict
    } else if is(&NOT_FOUND) || NOT_FOUND_SUFFIXES.iter().any(|suffix| code.ends_with(suffix)) {
        ErrorKind::NotFound
    } else if ["Invalid", "Malformed", "Missing", "Validation", "Unknown"]
        .iter()
        .any(|prefix| code.starts_with(prefix))
    {
        ErrorKind::Invalid
    } else {
        ErrorKind::Unknown
    }
}

/// The error of a call, for its caller.
pub fn port_error<E, R>(action: Action, error: &SdkError<E, R>) -> PortError
where
    E: ProvideErrorMetadata + Error + 'static,
    R: std::fmt::Debug + 'static,
{
    let said = aws_error(error);
    let kind = match error {
        SdkError::ServiceError(_) => kind_of(&said.code),
        SdkError::ConstructionFailure(_) => ErrorKind::Invalid,
        // No answer, or none that could be parsed: the call may have taken effect.
        _ => ErrorKind::Unavailable,
    };
    from_code(action, kind, said)
}

/// Whether AWS has answered that it did nothing, or was never asked. `false` where the call may
/// have taken effect: no answer came, none that could be read, or one that speaks of a failure
/// inside.
pub fn is_refusal<E, R>(error: &SdkError<E, HttpResponse<R>>) -> bool
where
    E: ProvideErrorMetadata + Error + 'static,
    R: std::fmt::Debug + 'static,
{
    match error {
        SdkError::ConstructionFailure(_) => true,
        SdkError::ServiceError(context) => {
            // RequestLimitExceeded comes with status 503.
            match context.err().code().map(kind_of) {
                Some(ErrorKind::Throttled) => true,
                Some(ErrorKind::Unavailable) => false,
                _ => context.raw().status().is_client_error(),
            }
        }
        _ => false,
    }
}

/// An error that EC2 reported inside a successful answer.
pub fn reported(action: Action, code: &str, message: &str) -> PortError {
    let said = AwsError { code: code.to_owned(), message: redacted(message).into_owned() };
    from_code(action, kind_of(code), said)
}

/// A part of a request; an error where the SDK misses a field.
pub fn built<T>(operation: &'static str, part: Result<T, BuildError>) -> Result<T, PortError> {
    part.map_err(|error| {
        PortError::new(ErrorKind::Invalid, operation, "the request cannot be built").because(error)
    })
}

fn from_code(action: Action, kind: ErrorKind, said: AwsError) -> PortError {
    let message = if kind == ErrorKind::Denied {
        let denied = denied_action(&said.message)
            .map_or_else(|| format!("{}:{}", action.service, action.name), str::to_owned);
        format!("{}: not authorized to perform {denied}", said.code)
    } else {
        said.to_string()
    };
    PortError::new(kind, action.name, message).because(said)
}

/// The error that AWS returned; where it did not answer, the one of the SDK.
pub fn aws_error<E, R>(error: &SdkError<E, R>) -> AwsError
where
    E: ProvideErrorMetadata + Error + 'static,
    R: std::fmt::Debug + 'static,
{
    match error {
        SdkError::ServiceError(context) => {
            let error = context.err();
            AwsError {
                code: error.code().unwrap_or("Unknown").to_owned(),
                message: redacted(error.message().unwrap_or("no message")).into_owned(),
            }
        }
        SdkError::TimeoutError(_) => no_answer("Timeout", error),
        SdkError::DispatchFailure(_) => no_answer("NotSent", error),
        SdkError::ResponseError(_) => no_answer("UnreadableAnswer", error),
        _ => no_answer("NotBuilt", error),
    }
}

fn no_answer(code: &str, error: &(dyn Error + 'static)) -> AwsError {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let inner = error.to_string();
        if !message.ends_with(&inner) {
            message = format!("{message}: {inner}");
        }
        cause = error.source();
    }
    AwsError { code: code.to_owned(), message: redacted(&message).into_owned() }
}

/// The action that a policy does not allow, as the message names it: it may differ from the one
/// called (for example `iam:PassRole`).
fn denied_action(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("not authorized to perform: ")?;
    let action = rest.split_whitespace().next()?;
    action.contains(':').then_some(action)
}

const ENCODED: &str = "Encoded authorization failure message";

/// Redacts account ids and encoded authorization messages.
pub fn redacted(text: &str) -> Cow<'_, str> {
    without_account_ids(match text.split_once(ENCODED) {
        Some((before, _)) => before.trim_end(),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATE_FLEET: Action = Action { service: "ec2", name: "CreateFleet" };

    #[test]
    fn account_ids_and_encoded_messages_are_cut_out() {
        let message = "User: arn:aws:sts::123456789012:assumed-role/outrigger/run is not authorized \
                       to perform: iam:PassRole on resource: arn:aws:iam::123456789012:role/nodes. \
                       Encoded authorization failure message: AbCdEf";
        let clean = redacted(message);
        assert!(!clean.contains("123456789012") && !clean.contains("AbCdEf"), "{clean}");
        assert!(clean.contains("arn:aws:sts::ACCOUNT:assumed-role/outrigger/run"), "{clean}");
    }

    #[test]
    fn a_denial_names_the_action_that_is_missing() {
        let denied = reported(
            CREATE_FLEET,
            "UnauthorizedOperation",
            "You are not authorized to perform this operation. User: arn:aws:sts::123456789012:x is \
             not authorized to perform: iam:PassRole on resource: y",
        );
        assert_eq!(denied.kind, ErrorKind::Denied);
        assert!(denied.to_string().contains("perform iam:PassRole"), "{denied}");
        let silent = reported(CREATE_FLEET, "UnauthorizedOperation", "You are not authorized.");
        assert!(silent.to_string().contains("perform ec2:CreateFleet"), "{silent}");
    }

    #[test]
    fn codes_are_told_apart_by_what_can_be_done_about_them() {
        for (code, kind) in [
            ("RequestLimitExceeded", ErrorKind::Throttled),
            ("MaxFleetCountExceeded", ErrorKind::Throttled),
            ("InvalidInstanceID.NotFound", ErrorKind::NotFound),
            ("InvalidLaunchTemplateName.NotFoundException", ErrorKind::NotFound),
            ("NoSuchEntity", ErrorKind::NotFound),
            ("InsufficientInstanceCapacity", ErrorKind::NoCapacity),
            ("Unsupported", ErrorKind::NoCapacity),
            ("AuthFailure.ServiceLinkedRoleCreationNotPermitted", ErrorKind::Denied),
            ("InternalError", ErrorKind::Unavailable),
            ("IdempotentParameterMismatch", ErrorKind::Conflict),
            ("InvalidParameterValue", ErrorKind::Invalid),
            ("InvalidInput", ErrorKind::Invalid),
            ("InvalidFleetConfig", ErrorKind::Invalid),
            ("InvalidBlockDeviceMapping", ErrorKind::Invalid),
            ("InvalidUserData.Malformed", ErrorKind::Invalid),
            ("InvalidAMIID.NotFound", ErrorKind::NotFound),
            ("InvalidGroup.NotFound", ErrorKind::NotFound),
            ("InvalidSubnetID.NotFound", ErrorKind::NotFound),
            ("InstanceLimitExceeded", ErrorKind::NoCapacity),
            ("OptInRequired", ErrorKind::Denied),
            ("AuthFailure", ErrorKind::Denied),
            ("SomethingNew", ErrorKind::Unknown),
        ] {
            assert_eq!(kind_of(code), kind, "{code}");
        }
    }
}
