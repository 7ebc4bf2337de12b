//! What commitments cover, in words.

use std::fmt;

use domain::commitment::{Bill, CommitmentUse};
use domain::money::UsdPerHour;

/// `m7g-plan (EC2InstanceSavingsPlan, m7g): 83.0 % of $2.0000/h used`.
pub(crate) struct UseLine<'u>(pub(crate) &'u CommitmentUse);

impl fmt::Display for UseLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.0;
        write!(f, "{} ({}", own.name, own.kind)?;
        if let Some(holds_for) = &own.holds_for {
            write!(f, ", {holds_for}")?;
        }
        write!(f, "): {} of {} used", Percent(own.per_mille()), Budget(own))
    }
}

/// Tenths of a percent, as `83.0 %`.
pub(crate) struct Percent(pub(crate) u32);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} %", self.0 / 10, self.0 % 10)
    }
}

/// What there is of a commitment: `$2.0000/h`, or `3 instances`.
struct Budget<'u>(&'u CommitmentUse);

impl fmt::Display for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CommitmentUse { budget, parts_of_instance, .. } = self.0;
        let Some(parts) = parts_of_instance else {
            return UsdPerHour::from_nanos(*budget).fmt(f);
        };
        let tenths = i128::from(*budget) * 10 / i128::from((*parts).max(1));
        match (tenths / 10, tenths % 10) {
            (1, 0) => f.write_str("1 instance"),
            (whole, 0) => write!(f, "{whole} instances"),
            (whole, tenth) => write!(f, "{whole}.{tenth} instances"),
        }
    }
}

/// `$0.3000/h of it covered by commitments, $0.9000/h remain`, of all that nodes cost.
pub(crate) fn covered_line(bill: &Bill, hourly: UsdPerHour) -> String {
    let remaining = hourly - bill.covered;
    format!("{} of it covered by commitments, {remaining} remain", bill.covered)
}

/// A line a commitment, with what was used of it before a plan where that differs.
pub(crate) fn use_lines(bill: &Bill, before: Option<&Bill>) -> Vec<String> {
    let line = |own: &CommitmentUse| {
        let known = before.and_then(|bill| bill.commitments.iter().find(|it| it.name == own.name));
        let was = known.filter(|known| known.per_mille() != own.per_mille());
        let was = was.map(|was| format!(", {} before", Percent(was.per_mille())));
        format!("{}{}", UseLine(own), was.unwrap_or_default())
    };
    bill.commitments.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(drawn: i64) -> CommitmentUse {
        CommitmentUse {
            name: "web".into(),
            kind: "EC2InstanceSavingsPlan",
            holds_for: Some("m7g".into()),
            hourly: None,
            budget: 2_000_000_000,
            drawn,
            parts_of_instance: None,
            covered: UsdPerHour::ZERO,
        }
    }

    #[test]
    fn a_plan_says_how_much_of_its_dollars_is_used() {
        let before = Bill { commitments: vec![plan(0)], ..Bill::default() };
        let after = Bill { commitments: vec![plan(1_660_000_000)], ..Bill::default() };
        let expected = "web (EC2InstanceSavingsPlan, m7g): 83.0 % of $2.0000/h used";
        assert_eq!(use_lines(&after, Some(&after)), [expected]);
        assert_eq!(use_lines(&after, Some(&before)), [format!("{expected}, 0.0 % before")]);
    }

    #[test]
    fn reserved_instances_are_counted() {
        let own = CommitmentUse {
            budget: 48_000,
            drawn: 16_000,
            parts_of_instance: Some(32_000),
            kind: "ReservedInstances",
            holds_for: Some("m7g.xlarge".into()),
            ..plan(0)
        };
        let line = UseLine(&own).to_string();
        assert_eq!(line, "web (ReservedInstances, m7g.xlarge): 33.3 % of 1.5 instances used");
    }
}
