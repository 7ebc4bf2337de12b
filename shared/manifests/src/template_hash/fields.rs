//! Fields of a Go struct, read from an object as users write it.

use std::borrow::Cow;

use documents::{Data, Value};
use domain::SignedDuration;

use super::hashstructure::Shape;
use crate::duration;

/// Fields of a struct in the making. The order of calls is the order in which Go declares the
/// fields.
pub(super) struct Fields<'v> {
    of: Option<&'v Value<'v>>,
    pub(super) list: Vec<(&'static str, Shape<'v>)>,
    /// Names that objects have for the fields that this version knows.
    known: Vec<&'static str>,
    /// Something was of another type than the API has.
    pub(super) is_odd: bool,
}

impl<'v> Fields<'v> {
    pub(super) fn of(object: Option<&'v Value<'v>>) -> Self {
        let is_odd = object.is_some_and(|value| !matches!(value.data, Data::Object(_)));
        Self { of: object, list: Vec::new(), known: Vec::new(), is_odd }
    }

    /// Fields that do not count, or are added otherwise.
    pub(super) fn beside(mut self, keys: &[&'static str]) -> Self {
        self.known.extend(keys);
        self
    }

    pub(super) fn get(&self, key: &str) -> Option<&'v Value<'v>> {
        self.of.and_then(|object| object.get(key))
    }

    /// Adds a field that is present, converted by `read`.
    pub(super) fn with(
        mut self,
        (name, key): (&'static str, &'static str),
        read: impl FnOnce(&'v Value<'v>) -> Option<Shape<'v>>,
    ) -> Self {
        self.known.push(key);
        if let Some(value) = self.get(key) {
            match read(value) {
                Some(shape) => self.list.push((name, shape)),
                None => self.is_odd = true,
            }
        }
        self
    }

    /// Adds a field that Go holds by value, so that its zero counts as absent.
    pub(super) fn with_nonzero(
        self,
        names: (&'static str, &'static str),
        read: impl FnOnce(&'v Value<'v>) -> Option<Shape<'v>>,
    ) -> Self {
        let is_zero = |value: &Value| match &value.data {
            Data::Bool(truth) => !truth,
            Data::Integer(number) => *number == 0,
            Data::Text(text) => text.is_empty(),
            _ => false,
        };
        if self.get(names.1).is_some_and(is_zero) {
            self.beside(&[names.1])
        } else {
            self.with(names, read)
        }
    }

    /// Whether everything that is written is understood. A field of a newer API may count, and in
    /// which place is not known.
    pub(super) fn is_understood(&self) -> bool {
        let is_known = |(key, value): &(Cow<'_, str>, Value<'_>)| {
            matches!(value.data, Data::Null) || self.known.contains(&key.as_ref())
        };
        let members = match self.of.map(|object| &object.data) {
            Some(Data::Object(members)) => members.as_slice(),
            _ => &[],
        };
        !self.is_odd && members.iter().all(is_known)
    }

    /// The struct; `None` where something in it cannot be hashed.
    pub(super) fn finish(self, name: &'static str) -> Option<Shape<'v>> {
        self.is_understood().then_some(Shape::Struct(name, self.list))
    }
}

pub(super) fn text<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    value.as_str().map(Shape::text)
}

pub(super) fn boolean<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    match value.data {
        Data::Bool(truth) => Some(Shape::Bool(truth)),
        _ => None,
    }
}

pub(super) fn int64<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    match value.data {
        Data::Integer(number) => Some(Shape::Int64(number)),
        _ => None,
    }
}

pub(super) fn int32<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    match value.data {
        Data::Integer(number) => i32::try_from(number).ok().map(Shape::Int32),
        _ => None,
    }
}

pub(super) fn set<'v>(
    value: &'v Value<'v>,
    read: impl Fn(&'v Value<'v>) -> Option<Shape<'v>>,
) -> Option<Shape<'v>> {
    value.as_list()?.iter().map(read).collect::<Option<Vec<_>>>().map(Shape::Set)
}

pub(super) fn map<'v>(
    value: &'v Value<'v>,
    read: impl Fn(&'v Value<'v>) -> Option<Shape<'v>>,
) -> Option<Shape<'v>> {
    let Data::Object(members) = &value.data else { return None };
    let entry = |(key, value): &'v (Cow<'v, str>, Value<'v>)| {
        Some((Cow::Borrowed(key.as_ref()), read(value)?))
    };
    members.iter().map(entry).collect::<Option<Vec<_>>>().map(Shape::Map)
}

/// Strings by string, such as labels.
pub(super) fn texts<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    map(value, text)
}

/// Go's `metav1.Duration`.
pub(super) fn duration<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    nanoseconds(value).map(|nanos| duration_of("Duration", nanos))
}

/// A struct around a duration; zero counts as absent.
fn duration_of(name: &'static str, nanos: i64) -> Shape<'static> {
    let field = ("Duration", Shape::Int64(nanos));
    Shape::Struct(name, if nanos == 0 { Vec::new() } else { vec![field] })
}

pub(super) fn nanoseconds(value: &Value<'_>) -> Option<i64> {
    let duration: SignedDuration = duration::parse(value.as_str()?).ok()?;
    i64::try_from(duration.as_nanos()).ok()
}
