//! Filters of EC2's Describe calls.

use aws_sdk_ec2::types::Filter;
use domain::label::Labels;

/// The tag value of a selector term that matches any value.
const ANY: &str = "*";

/// A filter: the attribute has one of the values.
pub(super) fn filter<V: Into<String>>(
    name: impl Into<String>,
    values: impl IntoIterator<Item = V>,
) -> Filter {
    let values = values.into_iter().map(Into::into).collect();
    Filter::builder().name(name).set_values(Some(values)).build()
}

/// One filter per tag: resources must match all of them.
pub(super) fn tag_filters(tags: &Labels) -> impl Iterator<Item = Filter> + '_ {
    tags.iter().map(|(key, value)| {
        if &**value == ANY {
            filter("tag-key", [&**key])
        } else {
            filter(format!("tag:{key}"), [&**value])
        }
    })
}
