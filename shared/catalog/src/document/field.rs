//! A value of the document that knows where it stands, so that every error can say so.

use std::borrow::Cow;

use domain::money::UsdPerHour;
use domain::quantity::Quantity;
use domain::resource::Resources;
use serde_json::{Map, Value};

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

    pub(super) fn wrong_type(&self, expected: &'static str, found: &Value) -> CatalogError {
        let found = match found {
            Value::Null => "nothing".to_owned(),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
            scalar => scalar.to_string(),
        };
        self.error(FieldProblem::WrongType { expected, found })
    }

    pub(super) fn object<'v>(
        &self,
        value: &'v Value,
    ) -> Result<&'v Map<String, Value>, CatalogError> {
        value.as_object().ok_or_else(|| self.wrong_type("an object", value))
    }

    pub(super) fn list<'v>(&self, value: &'v Value) -> Result<&'v [Value], CatalogError> {
        let list = value.as_array().ok_or_else(|| self.wrong_type("a list", value))?;
        Ok(list)
    }

    pub(super) fn string<'v>(&self, value: &'v Value) -> Result<&'v str, CatalogError> {
        value.as_str().ok_or_else(|| self.wrong_type("a string", value))
    }

    pub(super) fn boolean(&self, value: &Value) -> Result<bool, CatalogError> {
        value.as_bool().ok_or_else(|| self.wrong_type("true or false", value))
    }

    /// A whole number from zero up.
    pub(super) fn count(&self, value: &Value) -> Result<u32, CatalogError> {
        value
            .as_u64()
            .and_then(|count| u32::try_from(count).ok())
            .ok_or_else(|| self.wrong_type("a whole number", value))
    }

    /// A price in dollars an hour, exact to the billionth.
    pub(super) fn price(&self, value: &Value) -> Result<UsdPerHour, CatalogError> {
        let price = value
            .as_f64()
            .and_then(UsdPerHour::from_f64)
            .ok_or_else(|| self.wrong_type("a number of US dollars", value))?;
        if price < UsdPerHour::ZERO {
            return Err(self.error(FieldProblem::Negative));
        }
        Ok(price)
    }

    /// A label's value: a string, or a YAML scalar that the author did not quote.
    pub(super) fn label_value<'v>(&self, value: &'v Value) -> Result<Cow<'v, str>, CatalogError> {
        match value {
            Value::String(text) => Ok(text.as_str().into()),
            Value::Number(number) => Ok(number.to_string().into()),
            Value::Bool(truth) => Ok(truth.to_string().into()),
            _ => Err(self.wrong_type("a string", value)),
        }
    }

    /// The amount that a quantity (a string, or a plain number) of the named resource stands for.
    pub(super) fn amount(&self, name: &str, value: &Value) -> Result<i64, CatalogError> {
        let quantity: Quantity = match value {
            Value::String(text) => text.parse(),
            Value::Number(number) => number.to_string().parse(),
            _ => return Err(self.wrong_type("a quantity", value)),
        }
        .map_err(|error| self.error(FieldProblem::Quantity(error)))?;
        if quantity.is_negative() {
            return Err(self.error(FieldProblem::Negative));
        }
        Ok(Resources::amount_of(name, quantity))
    }

    /// Refuses fields that are not among those known.
    pub(super) fn check_fields(
        place: Place<'_>,
        parent: Option<&Path<'_>>,
        fields: &Map<String, Value>,
        known: &[&str],
    ) -> Result<(), CatalogError> {
        match fields.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                Err(Path { place, parent, step: Step::Key(key) }.error(FieldProblem::Unknown))
            }
        }
    }
}
