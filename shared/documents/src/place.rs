//! Where something stands, as errors show it.

use std::fmt;
use std::sync::Arc;

use crate::excerpt::Excerpt;

/// Where something stands: `FILE:LINE, object NAMESPACE/NAME, field PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The source's name.
    pub file: Arc<str>,
    /// The line, counted from 1.
    pub line: u32,
    /// `NAMESPACE/NAME`, or `NAME` for kinds that live outside namespaces; `None` where no object
    /// could be read.
    pub object: Option<String>,
    /// The field's path, such as `spec.template.spec.requirements[2].operator`.
    pub field: Option<String>,
}

impl Place {
    /// A line of a source, of which no object or field is known.
    pub const fn line(file: Arc<str>, line: u32) -> Self {
        Self { file, line, object: None, field: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if let Some(object) = &self.object {
            write!(f, ", object {}", Excerpt(object))?;
        }
        if let Some(field) = &self.field {
            write!(f, ", field {}", Excerpt(field))?;
        }
        Ok(())
    }
}
