//! How a command ended, for scripts.

use std::process::ExitCode;

/// The exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// 0: done.
    Done,
    /// 1: the work was done, and something has no place, breaks a rule or is not as expected.
    Unmet,
    /// 2: bad usage or bad input.
    BadInput,
    /// 3: what was compared became worse by more than is allowed.
    Worse,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => Self::SUCCESS,
            Status::Unmet => Self::from(1),
            Status::BadInput => Self::from(2),
            Status::Worse => Self::from(3),
        }
    }
}
