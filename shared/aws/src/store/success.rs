//! When functions did last what their schedules wake them for: one item, an attribute for each.

use std::collections::BTreeMap;

use controllers::ports::{ErrorKind, FunctionName, PortError};
use domain::Timestamp;

use super::attribute::{Place, integer, number};
use super::expression::Condition;
use super::schema::SUCCESSES;
use super::table::{Table, Written};

/// Functions that note it.
const NOTING: [FunctionName; 2] = [FunctionName::Provisioning, FunctionName::Disruption];

/// Notes a moment, unless a later one is noted.
pub(super) async fn note(
    table: &Table,
    cluster: &str,
    function: FunctionName,
    now: Timestamp,
) -> Result<(), PortError> {
    let place = Place { partition: cluster, key: SUCCESSES };
    let is_later = format!("attribute_not_exists(#{function}) OR #{function} < :now");
    let condition = Condition::new(&is_later).with(":now", number(now.as_millisecond()));
    let change = format!("SET #{function} = :now");
    let (Written::Done(_) | Written::Refused(_)) = table.update(place, &change, condition).await?;
    Ok(())
}

/// Every moment that is noted.
pub(super) async fn read(
    table: &Table,
    cluster: &str,
) -> Result<BTreeMap<FunctionName, Timestamp>, PortError> {
    let place = Place { partition: cluster, key: SUCCESSES };
    let Some(item) = table.get(place).await? else { return Ok(BTreeMap::new()) };
    let noted = NOTING.into_iter().filter(|function| item.contains_key(function.as_str()));
    noted
        .map(|function| {
            let moment =
                integer(&item, function.as_str()).map_err(|error| error.to_string()).and_then(
                    |own| Timestamp::from_millisecond(own).map_err(|error| error.to_string()),
                );
            let invalid =
                |why| PortError::new(ErrorKind::Invalid, format!("read {SUCCESSES}"), why);
            Ok((function, moment.map_err(invalid)?))
        })
        .collect()
}
