//! Chains of messages by which functions wake themselves: which link is the last one.

use controllers::ports::{ErrorKind, FunctionName, PortError};

use super::attribute::{Attributes, Place, integer, number, string, text};
use super::expression::Condition;
use super::schema::{self, LINK, WRITE};
use super::table::{Table, Written};

const ADVANCE: &str = "SET #write = :write ADD #link :one";
const IS_LAST: &str = "#link = :after";
/// Any chain, and none.
const IS_ANY: &str = "attribute_not_exists(#record) OR attribute_exists(#record)";

/// Adds a link after another, or begins a new chain; returns its number. `None` where the other is
/// not the last. `write` is unique to the call.
pub(super) async fn advance(
    table: &Table,
    cluster: &str,
    function: FunctionName,
    after: Option<u64>,
    write: &str,
) -> Result<Option<u64>, PortError> {
    let key = schema::chain(function);
    let link = |item: &Attributes| link_in(item, &key).map(Some);
    let condition = match after {
        Some(after) => Condition::new(IS_LAST).with(":after", number(after)),
        None => Condition::new(IS_ANY),
    };
    let condition = condition.with(":one", number(1)).with(":write", text(write));
    let place = Place { partition: cluster, key: &key };
    match table.update(place, ADVANCE, condition).await? {
        Written::Done(item) => link(&item),
        // It was sent again after its answer had been lost.
        Written::Refused(Some(item)) if string(&item, WRITE) == Some(write) => link(&item),
        Written::Refused(_) => Ok(None),
    }
}

/// The last link of a chain; `None` where there never was any.
pub(super) async fn last(
    table: &Table,
    cluster: &str,
    function: FunctionName,
) -> Result<Option<u64>, PortError> {
    let key = schema::chain(function);
    let item = table.get(Place { partition: cluster, key: &key }).await?;
    item.map(|item| link_in(&item, &key)).transpose()
}

fn link_in(item: &Attributes, key: &str) -> Result<u64, PortError> {
    integer(item, LINK).map_err(|error| {
        PortError::new(ErrorKind::Invalid, format!("read {key}"), error.to_string())
    })
}
