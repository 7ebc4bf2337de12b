//! Leases: which run may execute a function, with a fencing token that grows with every new holder.

use controllers::ports::{ErrorKind, FunctionName, Lease, LeaseAnswer, PortError};
use domain::{SignedDuration, Text, Timestamp};

use super::attribute::{Attributes, Place, integer, number, string, text};
use super::error::DocumentError;
use super::expression::Condition;
use super::schema::{self, HOLDER, TOKEN, UNTIL};
use super::table::{Table, Written};

/// Attempts at a lease that others release or acquire in between.
const ATTEMPTS_MAX: usize = 4;

/// Acquires a lease that is free or expired. The holder's own is extended instead.
/// Tells that its holder announces writes of claims, too: see `announcements`.
const TAKE: &str = "SET #holder = :holder, #until = :until, #announcer = :holder \
    ADD #token :one, #announcing :one";
const IS_FREE: &str = "attribute_not_exists(#record) OR (#holder <> :holder AND #until <= :now)";
const EXTEND: &str = "SET #until = :until";
const IS_OURS: &str = "#holder = :holder AND #token = :token";
/// Keeps the token, so that the next holder gets a newer one.
const RELEASE: &str = "SET #until = :never, #holder = :nobody";

/// The condition under which a lease is still in force.
pub(super) fn in_force(lease: &Lease) -> Condition {
    Condition::new("#token = :token").with(":token", number(lease.token))
}

/// Who wants a lease, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeaseRequest<'a> {
    pub(super) function: FunctionName,
    pub(super) holder: &'a str,
    pub(super) now: Timestamp,
    pub(super) term: SignedDuration,
}

/// Acquires a lease that is free or expired, or extends the holder's own.
pub(super) async fn acquire(
    table: &Table,
    cluster: &str,
    LeaseRequest { function, holder, now, term }: LeaseRequest<'_>,
) -> Result<LeaseAnswer, PortError> {
    let key = schema::lease(function);
    let place = Place { partition: cluster, key: &key };
    let until = now.checked_add(term).unwrap_or(Timestamp::MAX);
    let lease = |token| Lease { function, holder: holder.into(), token, until };
    for _ in 0..ATTEMPTS_MAX {
        let free = Condition::new(IS_FREE)
            .with(":holder", text(holder))
            .with(":until", number(until.as_millisecond()))
            .with(":now", number(now.as_millisecond()))
            .with(":one", number(1));
        let current = match table.update(place, TAKE, free).await? {
            Written::Done(item) => {
                let token = integer(&item, TOKEN).map_err(|error| unreadable(&key, &error))?;
                return Ok(LeaseAnswer::Acquired(lease(token)));
            }
            Written::Refused(Some(item)) => lease_in(function, &item),
            // It was there a moment ago, or the answer does not say: try again.
            Written::Refused(None) => continue,
        };
        let current = current.map_err(|error| unreadable(&key, &error))?;
        if &*current.holder != holder {
            return Ok(LeaseAnswer::Held(current));
        }
        let ours = Condition::new(IS_OURS)
            .with(":holder", text(holder))
            .with(":token", number(current.token))
            .with(":until", number(until.as_millisecond()));
        if let Written::Done(_) = table.update(place, EXTEND, ours).await? {
            return Ok(LeaseAnswer::Acquired(lease(current.token)));
        }
    }
    let why = "its holder keeps changing";
    Err(PortError::new(ErrorKind::Conflict, format!("acquire {key}"), why))
}

pub(super) async fn read(
    table: &Table,
    cluster: &str,
    function: FunctionName,
) -> Result<Option<Lease>, PortError> {
    let lease = stored(table, cluster, function).await?;
    Ok(lease.filter(|lease| !lease.holder.is_empty()))
}

pub(super) async fn last_token(
    table: &Table,
    cluster: &str,
    function: FunctionName,
) -> Result<Option<u64>, PortError> {
    Ok(stored(table, cluster, function).await?.map(|lease| lease.token))
}

/// A lease as it was acquired last; nobody holds it once it was released.
async fn stored(
    table: &Table,
    cluster: &str,
    function: FunctionName,
) -> Result<Option<Lease>, PortError> {
    let key = schema::lease(function);
    let item = table.get(Place { partition: cluster, key: &key }).await?;
    let lease = item.map(|item| lease_in(function, &item)).transpose();
    lease.map_err(|error| unreadable(&key, &error))
}

pub(super) async fn release(table: &Table, cluster: &str, lease: &Lease) -> Result<(), PortError> {
    let key = schema::lease(lease.function);
    let ours = Condition::new(IS_OURS)
        .with(":holder", text(&*lease.holder))
        .with(":token", number(lease.token))
        .with(":never", number(0))
        .with(":nobody", text(""));
    // Refused: another run holds it by now, and keeps it.
    let (Written::Done(_) | Written::Refused(_)) =
        table.update(Place { partition: cluster, key: &key }, RELEASE, ours).await?;
    Ok(())
}

/// The lease in an item.
pub(super) fn lease_in(function: FunctionName, item: &Attributes) -> Result<Lease, DocumentError> {
    let until = Timestamp::from_millisecond(integer(item, UNTIL)?);
    Ok(Lease {
        function,
        holder: Text::from(string(item, HOLDER).ok_or(DocumentError::Attribute(HOLDER))?),
        token: integer(item, TOKEN)?,
        until: until.map_err(|_| DocumentError::Attribute(UNTIL))?,
    })
}

fn unreadable(key: &str, error: &DocumentError) -> PortError {
    PortError::new(ErrorKind::Invalid, format!("read {key}"), error.to_string())
}
