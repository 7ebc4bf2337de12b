//! Stacks with the functions, and the keys of their roles.

use crate::cloud::{ACCOUNT, AccessEntry, REGION, Session};

/// The table of the stack.
pub const TABLE: &str = "outrigger";
/// The queue by which function provisioning wakes itself, where a case makes one.
pub const PROVISIONING_WAKES: &str = "outrigger-provisioning-wakes";
/// The queue through which function lifecycle is woken, where a case makes one.
pub const LIFECYCLE_WAKES: &str = "outrigger-lifecycle-wakes";
/// The same of function disruption.
pub const DISRUPTION_WAKES: &str = "outrigger-disruption-wakes";

/// A stack with the functions: clusters and instances bear its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Installation {
    /// Its id.
    pub id: &'static str,
    /// Its table.
    pub table: &'static str,
    /// What tells its keys from those of others.
    pub(super) mark: &'static str,
}

/// The stack, whose rights are those that the template has.
pub const OURS: Installation =
    Installation { id: "outrigger/00000000-0000-0000-0000-000000000001", table: TABLE, mark: "" };

/// Another stack in the same account, with access to the same cluster. IAM lets it do whatever it
/// wants: what was called for the sake of the template's policies is ours alone.
pub const OTHERS: Installation = Installation {
    id: "another/00000000-0000-0000-0000-000000000002",
    table: "another",
    mark: "2",
};

/// The access key of a function: tells in the record of calls who made them.
pub fn access_key(function: &str) -> String {
    access_key_of(&OURS, function)
}

/// The access key of a function of an installation.
pub fn access_key_of(installation: &Installation, function: &str) -> String {
    session(installation, function).access_key
}

/// The keys of a function's role.
pub(super) fn session(installation: &Installation, function: &str) -> Session {
    let function = format!("{function}{}", installation.mark);
    Session {
        access_key: format!("ASIARIG{}", function.to_uppercase()),
        secret: format!("secret-of-{function}-in-{REGION}"),
        session_token: format!("session-of-{function}"),
    }
}

pub(super) fn entry(installation: &Installation, function: &str) -> AccessEntry {
    let (stack, _) = installation.id.split_once('/').unwrap_or((installation.id, ""));
    AccessEntry {
        secret: session(installation, function).secret,
        username: format!("arn:aws:sts::{ACCOUNT}:assumed-role/{stack}-{function}/rig"),
        groups: vec![
            if function == "watcher" { "outrigger-watcher" } else { "outrigger" }.to_owned(),
        ],
    }
}
