//! What can be wrong with a catalogue.

use std::fmt;

use documents::{Syntax, SyntaxError, SyntaxProblem};
use domain::quantity::QuantityError;

/// Why a catalogue could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The text is neither JSON nor YAML.
    #[error("the catalogue is not valid {syntax}")]
    Malformed {
        /// The notation that the text looks like.
        syntax: Syntax,
        /// What the parser says.
        source: TextError,
    },
    /// The text is well-formed and means nothing, or two things.
    #[error("the catalogue cannot be read")]
    Refused(#[source] TextError),
    /// The text holds no document, or several.
    #[error("a catalogue file holds one document, this one holds {0}")]
    Documents(usize),
    /// The document is of another kind.
    #[error("expected kind InstanceCatalog of outrigger.dev/v1alpha1, found {found}")]
    Kind {
        /// `kind` and `apiVersion` as they are in the document.
        found: String,
    },
    /// A field is missing, unknown or malformed.
    #[error("{place}, field {field}: {problem}")]
    Field {
        /// What the field belongs to: `the catalogue` or `instance type NAME`.
        place: String,
        /// The path of the field below that.
        field: String,
        /// What is wrong with it.
        problem: FieldProblem,
    },
    /// The embedded catalogue cannot be read; it was damaged when it was built.
    #[error("the table of {table} is damaged at line {line}, column {column}")]
    Table {
        /// Which table.
        table: &'static str,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
}

impl From<SyntaxError> for CatalogError {
    fn from(error: SyntaxError) -> Self {
        match error.problem {
            SyntaxProblem::Malformed { syntax, .. } => {
                Self::Malformed { syntax, source: TextError(Box::new(error)) }
            }
            _ => Self::Refused(TextError(Box::new(error))),
        }
    }
}

/// What is wrong with the text of a catalogue: `WHAT at line LINE column COLUMN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError(Box<SyntaxError>);

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.problem {
            SyntaxProblem::Malformed { message, .. } => f.write_str(message)?,
            problem => problem.fmt(f)?,
        }
        write!(f, " at line {}", self.0.place.line)?;
        self.0.column.map_or(Ok(()), |column| write!(f, " column {column}"))
    }
}

impl std::error::Error for TextError {}

/// What is wrong with one field of a catalogue.
#[derive(Debug, thiserror::Error)]
pub enum FieldProblem {
    /// It must be there.
    #[error("it is missing")]
    Missing,
    /// There is no such field.
    #[error("there is no such field")]
    Unknown,
    /// It is of another type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// It is a malformed quantity.
    #[error(transparent)]
    Quantity(QuantityError),
    /// It may not be below zero.
    #[error("it may not be negative")]
    Negative,
    /// Another instance type has the same name.
    #[error("{0} is listed twice")]
    Duplicate(String),
}
