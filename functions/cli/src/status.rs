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
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => Self::SUCCESS,
            Status::Unmet => Self::from(1),
            Status::BadInput => Self::from(2),
        }
    }
}
