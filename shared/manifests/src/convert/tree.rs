//! Building objects of the new version from parts of the old, each keeping its line.

use crate::intern::Interner;
use documents::Origin;

use crate::field::{Field, ObjectReader};
use documents::{Data, Value};

/// A part of the old object, to stand in a new one; `None` for an absent field.
///
/// Every value knows its line afterwards, so that what is found wrong later still names the place
/// in the user's file.
pub(super) fn own(field: Field<'_>) -> Option<Value<'static>> {
    let value = field.value()?;
    let line = if value.line > 0 { value.line } else { field.place().line };
    let data = match &value.data {
        Data::Null => return None,
        Data::Bool(truth) => Data::Bool(*truth),
        Data::Integer(number) => Data::Integer(*number),
        Data::Decimal(number) => Data::Decimal(number.to_string().into()),
        Data::Text(text) => Data::Text(text.to_string().into()),
        Data::List(_) => Data::List(field.items().filter_map(own).collect()),
        Data::Object(_) => Data::Object(
            field
                .entries()
                .filter_map(|(key, member)| Some((key.to_owned().into(), own(member)?)))
                .collect(),
        ),
    };
    Some(Value::new(line, data))
}

/// A whole object as it is.
pub(crate) fn own_document(value: &Value<'_>, origin: &Origin<'_>) -> Option<Value<'static>> {
    let interner = Interner::default();
    let reader = ObjectReader::new(value, origin, &interner);
    own(reader.root())
}

/// The line of a field, or of what is around it.
pub(super) fn line_of(field: Field<'_>) -> u32 {
    field.place().line
}

/// A string.
pub(super) fn text(line: u32, text: impl Into<String>) -> Value<'static> {
    Value::text(line, text.into())
}

/// A whole number.
pub(super) fn integer(line: u32, number: i64) -> Value<'static> {
    Value::new(line, Data::Integer(number))
}

/// A list.
pub(super) fn list(line: u32, items: Vec<Value<'static>>) -> Value<'static> {
    Value::new(line, Data::List(items))
}

/// An object of the members that are there, in this order.
pub(super) fn object<'k>(
    line: u32,
    members: impl IntoIterator<Item = (&'k str, Option<Value<'static>>)>,
) -> Value<'static> {
    let present = members
        .into_iter()
        .filter_map(|(key, member)| Some((key.to_owned().into(), member?)))
        .collect();
    Value::new(line, Data::Object(present))
}

/// The object, unless it has no member.
pub(crate) fn unless_empty(value: Value<'static>) -> Option<Value<'static>> {
    let is_empty = value.members().next().is_none();
    if is_empty { None } else { Some(value) }
}

/// The object with a member set, in its place if it is there and last otherwise. Other values stay.
pub(crate) fn set(value: &mut Value<'static>, path: &[&str], member: Value<'static>) {
    let Some((key, inner)) = path.split_first() else {
        *value = member;
        return;
    };
    let line = value.line;
    let Data::Object(members) = &mut value.data else { return };
    let index = members.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
        members.push(((*key).to_owned().into(), object(line, [])));
        members.len() - 1
    });
    set(&mut members[index].1, inner, member);
}

/// A member of an object, to be changed.
pub(super) fn member_mut<'v>(
    value: &'v mut Value<'static>,
    key: &str,
) -> Option<&'v mut Value<'static>> {
    let Data::Object(members) = &mut value.data else { return None };
    members.iter_mut().find(|(name, _)| name == key).map(|(_, member)| member)
}

/// The object without some of its members.
pub(crate) fn without(mut value: Value<'static>, keys: &[&str]) -> Value<'static> {
    if let Data::Object(members) = &mut value.data {
        members.retain(|(key, _)| !keys.contains(&key.as_ref()));
    }
    value
}

/// Whether two values are equal, whatever lines they stand on.
pub(crate) fn is_same(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (&a.data, &b.data) {
        (Data::List(a), Data::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Data::Object(_), Data::Object(_)) => {
            a.members().count() == b.members().count()
                && a.members().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        (a, b) => a == b,
    }
}
