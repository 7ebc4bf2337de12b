//! Announcements of writes of claims, by which processes know whether what they read of claims is
//! still what is there: `controllers::claim_cache` says why that is right.
//!
//! They are one item a cluster, which lies among the leases: its latest announcement, and a set of
//! those that are open. Both are changed by updates that may be sent again.

use aws_sdk_dynamodb::types::AttributeValue;
use controllers::claim_cache::{Announced, Announcement};
use controllers::ports::{ErrorKind, FunctionName, PortError};
use domain::{Text, Timestamp};

use super::attribute::{Attributes, Place, integer, key_of, string, text};
use super::error::DocumentError;
use super::expression::Condition;
use super::lease::lease_in;
use super::schema::{ANNOUNCER, ANNOUNCING, CLAIM_WRITES, LATEST, LEASES, OPEN};
use super::table::{Table, Written};

const ANNOUNCE: &str = "SET #latest = :latest ADD #open :own";
const WITHDRAW: &str = "DELETE #open :done";
/// Any item, and none.
const IS_ANY: &str = "attribute_not_exists(#record) OR attribute_exists(#record)";

/// What is announced, strongly consistent. What cannot be read, such as what a later version wrote,
/// counts as a writer that is at work.
pub(super) async fn read(table: &Table, cluster: &str) -> Result<Announced, PortError> {
    let mut announced = Announced::default();
    for item in table.query(cluster, LEASES).await? {
        let key = key_of(&item);
        let noted = if key == CLAIM_WRITES {
            note_announcements(&mut announced, &item)
        } else {
            note_lease(&mut announced, key, &item)
        };
        if let Err(error) = noted {
            tracing::warn!(%cluster, record = key, %error, "cannot tell who writes claims");
            announced.silent_until = Some(Timestamp::MAX);
        }
    }
    Ok(announced)
}

fn note_announcements(announced: &mut Announced, item: &Attributes) -> Result<(), DocumentError> {
    announced.latest = string(item, LATEST).map(Text::from);
    announced.open = open_in(item)?;
    Ok(())
}

/// Announcements in an item that were not withdrawn.
fn open_in(item: &Attributes) -> Result<Vec<Announcement>, DocumentError> {
    let Some(open) = item.get(OPEN) else { return Ok(Vec::new()) };
    let open = open.as_ss().map_err(|_| DocumentError::Attribute(OPEN))?;
    open.iter().map(|own| parsed(own).ok_or(DocumentError::Attribute(OPEN))).collect()
}

/// Versions that announce nothing acquire a lease and leave the count of those that do as it is.
fn note_lease(
    announced: &mut Announced,
    key: &str,
    item: &Attributes,
) -> Result<(), DocumentError> {
    // The function is of no account: what counts is who held the lease.
    let lease = lease_in(FunctionName::Provisioning, item)?;
    let announcing = match item.get(ANNOUNCING) {
        Some(_) => integer(item, ANNOUNCING)?,
        None => 0_u64,
    };
    announced.silent_runs.insert(key.into(), lease.token.saturating_sub(announcing));
    if !lease.holder.is_empty() && string(item, ANNOUNCER) != Some(&*lease.holder) {
        announced.silent_until = announced.silent_until.max(Some(lease.until));
    }
    Ok(())
}

/// Announces writes; returns announcements that count no longer, which nobody has withdrawn.
pub(super) async fn announce(
    table: &Table,
    cluster: &str,
    own: &Announcement,
    now: Timestamp,
) -> Result<Vec<Announcement>, PortError> {
    let condition =
        Condition::new(IS_ANY).with(":latest", text(&*own.name)).with(":own", set([own]));
    let (Written::Done(item) | Written::Refused(Some(item))) =
        table.update(place(cluster), ANNOUNCE, condition).await?
    else {
        let why = "DynamoDB refused what has no condition";
        return Err(PortError::new(ErrorKind::Unknown, "announce writes of claims", why));
    };
    // One that cannot be read is kept.
    let open = open_in(&item).unwrap_or_default();
    Ok(open.into_iter().filter(|other| other.until <= now).collect())
}

/// Withdraws announcements whose writes are over.
pub(super) async fn withdraw(
    table: &Table,
    cluster: &str,
    done: &[&Announcement],
) -> Result<(), PortError> {
    let condition = Condition::new(IS_ANY).with(":done", set(done.iter().copied()));
    let (Written::Done(_) | Written::Refused(_)) =
        table.update(place(cluster), WITHDRAW, condition).await?;
    Ok(())
}

const fn place(cluster: &str) -> Place<'_> {
    Place { partition: cluster, key: CLAIM_WRITES }
}

fn set<'a>(announcements: impl IntoIterator<Item = &'a Announcement>) -> AttributeValue {
    AttributeValue::Ss(announcements.into_iter().map(written).collect())
}

fn written(Announcement { until, name }: &Announcement) -> String {
    format!("{}/{name}", until.as_millisecond())
}

fn parsed(text: &str) -> Option<Announcement> {
    let (until, name) = text.split_once('/')?;
    let until = Timestamp::from_millisecond(until.parse().ok()?).ok()?;
    Some(Announcement { until, name: name.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    use crate::store::attribute::number;
    use crate::store::schema::{HOLDER, TOKEN, UNTIL};

    fn lease(of: &[(&str, AttributeValue)]) -> Attributes {
        let item = of.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let mut all: Attributes =
            HashMap::from([(TOKEN.to_owned(), number(9)), (UNTIL.to_owned(), number(60_000))]);
        all.extend(item);
        all
    }

    fn noted(item: &Attributes) -> (Option<u64>, Option<i64>) {
        let mut announced = Announced::default();
        note_lease(&mut announced, "lease#lifecycle", item).unwrap();
        let runs = announced.silent_runs.get("lease#lifecycle").copied();
        (runs, announced.silent_until.map(Timestamp::as_second))
    }

    #[test]
    fn holders_that_announce_nothing_are_counted_apart() {
        let released = (HOLDER, text(""));
        assert_eq!(noted(&lease(std::slice::from_ref(&released))), (Some(9), None));
        let announcing = (ANNOUNCING, number(4));
        assert_eq!(noted(&lease(&[released, announcing.clone()])), (Some(5), None));
        let theirs = [(HOLDER, text("old")), (ANNOUNCER, text("new")), announcing.clone()];
        assert_eq!(noted(&lease(&theirs)), (Some(5), Some(60)), "it may be writing");
        let ours = [(HOLDER, text("new")), (ANNOUNCER, text("new")), announcing];
        assert_eq!(noted(&lease(&ours)), (Some(5), None));
    }

    #[test]
    fn an_announcement_is_read_as_it_was_written() {
        let own = Announcement::new("a/b".into(), Timestamp::from_second(7).unwrap());
        assert_eq!(parsed(&written(&own)), Some(own));
        assert_eq!(parsed("nonsense"), None);
    }

    #[test]
    fn what_is_no_announcement_is_not_taken_for_none() {
        let item = Attributes::from([(OPEN.to_owned(), AttributeValue::Ss(vec!["x".into()]))]);
        assert!(open_in(&item).is_err(), "it may be one of a later version, which is writing");
    }
}
