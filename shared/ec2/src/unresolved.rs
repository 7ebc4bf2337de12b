//! Why a part of a node class is not resolved.

use controllers::ports::cloud::Unresolved;
use controllers::ports::{ErrorKind, PortError};

/// A part that is not resolved. `is_passing` says that it may resolve by itself.
pub(super) fn unresolved(reason: &str, message: &str, is_passing: bool) -> Unresolved {
    Unresolved { reason: reason.into(), message: message.into(), is_passing }
}

/// A part whose call failed.
pub(super) fn call_failed(error: &PortError) -> Unresolved {
    let reason = match error.kind {
        ErrorKind::Denied => "AccessDenied",
        ErrorKind::Throttled => "Throttled",
        ErrorKind::Unavailable => "Unavailable",
        ErrorKind::Invalid => "InvalidRequest",
        _ => "RequestFailed",
    };
    // What stands until somebody changes it; all else (not found just after it was made, changed
    // concurrently, a code that nobody knows) may pass.
    let stands = matches!(error.kind, ErrorKind::Denied | ErrorKind::Invalid);
    unresolved(reason, &error.to_string(), !stands)
}
