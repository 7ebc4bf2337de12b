//! What is wrong with a manifest, and where.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

pub(crate) use documents::Place;
use documents::{SyntaxError, SyntaxProblem, with_short_quotes};
use domain::quantity::QuantityError;

/// What is wrong with a field, an object or a whole file.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text is neither YAML nor JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxProblem),
    /// A field that must be there is not.
    #[error("the field is missing")]
    Missing,
    /// A field that its kind does not have.
    #[error("the field is not known{}", suggestion(.0.as_deref()))]
    UnknownField(Option<String>),
    /// A value of another type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// What the field holds.
        expected: &'static str,
        /// What was written.
        found: String,
    },
    /// A word that is not among those the field takes.
    #[error("{found:?} is not one of {}", .allowed.join(", "))]
    UnknownValue {
        /// What was written.
        found: String,
        /// What the field takes.
        allowed: Vec<&'static str>,
    },
    /// Not a quantity.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// An amount below zero where none can be.
    #[error("{0} is below zero")]
    Negative(String),
    /// Not an RFC 3339 time.
    #[error("{0:?} is not a time of the form 2006-01-02T15:04:05Z")]
    Timestamp(String),
    /// A rule of the kind is broken.
    #[error("{0}")]
    Rule(Arc<dyn Error + Send + Sync>),
}

fn suggestion(meant: Option<&str>) -> String {
    meant.map(|meant| format!(" (did you mean {meant}?)")).unwrap_or_default()
}

impl Problem {
    /// A broken rule, as an error type of its own or as a sentence.
    pub fn rule(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Rule(Arc::from(error.into()))
    }
}

/// Why an object was left out.
///
/// Shown as `WHAT (FILE:LINE, object NAMESPACE/NAME, field PATH)`.
#[derive(Clone, Debug)]
pub struct ManifestError {
    /// What is wrong.
    pub problem: Problem,
    /// Where.
    pub place: Place,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", with_short_quotes(&self.problem.to_string()), self.place)
    }
}

impl Error for ManifestError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.problem.source()
    }
}

impl From<SyntaxError> for ManifestError {
    fn from(error: SyntaxError) -> Self {
        Self { problem: error.problem.into(), place: error.place }
    }
}

/// Something that was read in a way its author may not expect.
///
/// Shown as `WHAT (FILE:LINE, object NAMESPACE/NAME, field PATH)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What was done, and why.
    pub what: String,
    /// Where; `None` if it concerns no single place.
    pub place: Option<Place>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{} ({place})", with_short_quotes(&self.what)),
            None => f.write_str(&with_short_quotes(&self.what)),
        }
    }
}
