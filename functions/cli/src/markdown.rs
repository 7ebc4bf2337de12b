//! Output as Markdown, for a comment on a pull request.

pub(crate) mod diff;
mod escape;
