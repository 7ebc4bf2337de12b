//! What is wrong with a text that is no YAML or JSON.

use std::error::Error;
use std::fmt;

use crate::excerpt::with_short_quotes;
use crate::place::Place;

/// The two notations that documents come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// RFC 8259, any number of values one after another.
    Json,
    /// YAML 1.2 with its core schema.
    Yaml,
}

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "JSON",
            Self::Yaml => "YAML",
        })
    }
}

/// A language that manifests are written in before something renders them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Terraform's.
    Hcl,
    /// Go templates, as Helm has them.
    Template,
}

impl Language {
    const fn described(self) -> &'static str {
        match self {
            Self::Hcl => "HCL (Terraform)",
            Self::Template => "a template with {{ … }}",
        }
    }

    /// What to give in its place.
    const fn advice(self) -> &'static str {
        match self {
            Self::Hcl => "give the manifests that it applies, as kubectl get -o yaml prints them",
            Self::Template => "give what helm template, or the tool it is for, renders from it",
        }
    }
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyntaxProblem {
    /// It breaks the grammar of its notation.
    #[error("not {syntax}: {message}")]
    Malformed {
        /// The notation that it was read as.
        syntax: Syntax,
        /// What the parser says.
        message: String,
    },
    /// It is well-formed, and means nothing: too deep, too many aliases, a key that is no string.
    #[error("{0}")]
    Refused(String),
    /// It is written in a language that is not read.
    #[error("this is {}, neither YAML nor JSON: {}", .0.described(), .0.advice())]
    Foreign(Language),
    /// A mapping has one key twice; which of the values was meant, nobody can say.
    #[error("key {0:?} is given twice")]
    DuplicateKey(String),
}

impl SyntaxProblem {
    pub(crate) fn malformed(syntax: Syntax, message: impl Into<String>) -> Self {
        Self::Malformed { syntax, message: message.into() }
    }
}

/// Why a document was left out.
///
/// Shown as `WHAT (FILE:LINE)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub problem: SyntaxProblem,
    /// Where.
    pub place: Place,
    /// The column, counted from 1; `None` where the line is all that is known.
    pub column: Option<usize>,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", with_short_quotes(&self.problem.to_string()), self.place)
    }
}

impl Error for SyntaxError {}
