//! A value of the document that knows where it stands, so that every error can say so.

use std::borrow::Cow;
use std::collections::BTreeMap;

use documents::{Data, Value};
use domain::money::UsdPerHour;
use domain::quantity::Quantity;
use domain::resource::Resources;

use crate::error::{CatalogError, FieldProblem};

/// What fields belong to, for errors.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'a> {
    Catalog,
    InstanceType(&'a str),
}

/// One field's place in the document: the object it is in, and the name it has there.
///
/// Links rather than a text, because a path is needed only where something is wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'a> {
    pub(super) place: Place<'a>,
    pub(super) parent: Option<&'a Path<'a>>,
    pub(super) step: Step<'a>,
}

/// One step of a path.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// The members of an object by name, those that are `null` among them.
#[derive(Clone, Debug)]
pub(super) struct Members<'v>(BTreeMap<&'v str, &'v Value<'v>>);

impl<'v> Members<'v> {
    /// The member, also where it is `null`.
    pub(super) fn get(&self, key: &str) -> Option<&'v Value<'v>> {
        self.0.get(key).copied()
    }

    /// The member, unless it is `null`: the field is then left to its default.
    pub(super) fn unless_null(&self, key: &str) -> Option<&'v Value<'v>> {
        self.get(key).filter(|value| !value.is_null())
    }

    /// All members, by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'v str, &'v Value<'v>)> {
        self.0.iter().map(|(key, value)| (*key, *value))
    }
}

/// A member of an object, also where it is `null`; `None` where the value is no object.
pub(super) fn member<'v>(value: &'v Value<'v>, key: &str) -> Option<&'v Value<'v>> {
    let Data::Object(members) = &value.data else { return None };
    members.iter().find(|(name, _)| name == key).map(|(_, member)| member)
}

impl<'a> Path<'a> {
    pub(super) fn of(place: Place<'a>, key: &'a str) -> Self {
        Self { place, parent: None, step: Step::Key(key) }
    }

    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self { place: self.place, parent: Some(self), step: Step::Key(key) }
    }

    pub(super) fn index(&'a self, index: usize) -> Self {
        Self { place: self.place, parent: Some(self), step: Step::Index(index) }
    }

    fn shown(&self) -> String {
        let shown = self.parent.map(Path::shown).unwrap_or_default();
        match self.step {
            Step::Key(key) if shown.is_empty() => key.to_owned(),
            Step::Key(key) => format!("{shown}.{key}"),
            Step::Index(index) => format!("{shown}[{index}]"),
        }
    }

    pub(super) fn error(&self, problem: FieldProblem) -> CatalogError {
        CatalogError::Field {
            place: match self.place {
                Place::Catalog => "the catalogue".to_owned(),
                Place::InstanceType(name) => format!("instance type {name}"),
            },
            field: self.shown(),
            problem,
        }
    }

    pub(super) fn wrong_type(&self, expected: &'static str, found: &Value<'_>) -> CatalogError {
        let found = match &found.data {
            Data::Null => "nothing".to_owned(),
            Data::List(_) => "a list".to_owned(),
            Data::Object(_) => "an object".to_owned(),
            _ => found.to_json().to_string(),
        };
        self.error(FieldProblem::WrongType { expected, found })
    }

    pub(super) fn object<'v>(&self, value: &'v Value<'v>) -> Result<Members<'v>, CatalogError> {
        let Data::Object(members) = &value.data else {
            return Err(self.wrong_type("an object", value));
        };
        Ok(Members(members.iter().map(|(key, member)| (key.as_ref(), member)).collect()))
    }

    pub(super) fn list<'v>(&self, value: &'v Value<'v>) -> Result<&'v [Value<'v>], CatalogError> {
        value.as_list().ok_or_else(|| self.wrong_type("a list", value))
    }

    pub(super) fn string<'v>(&self, value: &'v Value<'v>) -> Result<&'v str, CatalogError> {
        value.as_str().ok_or_else(|| self.wrong_type("a string", value))
    }

    pub(super) fn boolean(&self, value: &Value<'_>) -> Result<bool, CatalogError> {
        match value.data {
            Data::Bool(truth) => Ok(truth),
            _ => Err(self.wrong_type("true or false", value)),
        }
    }

    /// A whole number from zero up.
    pub(super) fn count(&self, value: &Value<'_>) -> Result<u32, CatalogError> {
        let Data::Integer(number) = value.data else {
            return Err(self.wrong_type("a whole number", value));
        };
        u32::try_from(number).map_err(|_| self.wrong_type("a whole number", value))
    }

    /// A price in dollars an hour, exact to the billionth.
    pub(super) fn price(&self, value: &Value<'_>) -> Result<UsdPerHour, CatalogError> {
        let price = number(value)
            .and_then(|number| number.as_f64())
            .and_then(UsdPerHour::from_f64)
            .ok_or_else(|| self.wrong_type("a number of US dollars", value))?;
        if price < UsdPerHour::ZERO {
            return Err(self.error(FieldProblem::Negative));
        }
        Ok(price)
    }

    /// A label's value: a string, or a YAML scalar that the author did not quote.
    pub(super) fn label_value<'v>(
        &self,
        value: &'v Value<'v>,
    ) -> Result<Cow<'v, str>, CatalogError> {
        match &value.data {
            Data::Text(text) => Ok(text.as_ref().into()),
            Data::Bool(truth) => Ok(truth.to_string().into()),
            _ => number(value)
                .map(|number| number.to_string().into())
                .ok_or_else(|| self.wrong_type("a string", value)),
        }
    }

    /// The amount that a quantity (a string, or a plain number) of the named resource stands for.
    pub(super) fn amount(&self, name: &str, value: &Value<'_>) -> Result<i64, CatalogError> {
        let text = match &value.data {
            Data::Text(text) => Cow::Borrowed(text.as_ref()),
            _ => number(value)
                .map(|number| number.to_string().into())
                .ok_or_else(|| self.wrong_type("a quantity", value))?,
        };
        let quantity: Quantity =
            text.parse().map_err(|error| self.error(FieldProblem::Quantity(error)))?;
        if quantity.is_negative() {
            return Err(self.error(FieldProblem::Negative));
        }
        Ok(Resources::amount_of(name, quantity))
    }

    /// Refuses fields that are not among those known.
    pub(super) fn check_fields(
        place: Place<'_>,
        parent: Option<&Path<'_>>,
        fields: &Members<'_>,
        known: &[&str],
    ) -> Result<(), CatalogError> {
        match fields.iter().map(|(key, _)| key).find(|key| !known.contains(key)) {
            None => Ok(()),
            Some(key) => {
                Err(Path { place, parent, step: Step::Key(key) }.error(FieldProblem::Unknown))
            }
        }
    }
}

/// A number in its shortest notation: `1.50` is 1.5.
fn number(value: &Value<'_>) -> Option<serde_json::Number> {
    match value.to_json() {
        serde_json::Value::Number(number) => Some(number),
        _ => None,
    }
}
