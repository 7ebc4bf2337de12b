//! Where rules put what they find.

use std::fmt::Display;

use crate::violation::{Rule, Violation};

/// What was found so far, in the order in which it was found.
#[derive(Debug, Default)]
pub(crate) struct Report {
    violations: Vec<Violation>,
}

impl Report {
    /// One more broken rule.
    pub(crate) fn add(&mut self, rule: Rule, subject: impl Display, message: impl Into<String>) {
        self.violations.push(Violation {
            rule,
            subject: subject.to_string(),
            message: message.into(),
        });
    }

    /// Everything found, each once, in the order in which it was found.
    pub(crate) fn into_violations(self) -> Vec<Violation> {
        let mut seen = std::collections::BTreeSet::new();
        let mut violations = self.violations;
        violations.retain(|violation| seen.insert(violation.clone()));
        violations
    }
}
