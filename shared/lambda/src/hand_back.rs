//! What an invocation answers to whoever hands a cluster back to Karpenter.

use controllers::handback::{HandBackReport, LeftClaim};
use controllers::run::RunOutcome;
use serde::Serialize;

/// The answer: which NodeClaims Karpenter manages from now on, which are left, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HandBackAnswer {
    /// Whether everything was handed back.
    pub complete: bool,
    /// NodeClaims that this invocation handed back.
    pub handed_back: Vec<String>,
    /// Claims that were not handed back yet.
    pub left: Vec<Left>,
    /// Disruption commands that are still in progress.
    pub commands: Vec<String>,
    /// What to do next.
    pub next: String,
}

/// A claim that was not handed back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    /// Its name.
    pub claim: String,
    /// Why not.
    pub why: String,
}

impl HandBackAnswer {
    /// The answer to an attempt; one that another run held the lease against did nothing.
    pub fn of(outcome: &RunOutcome<HandBackReport>) -> Self {
        match outcome {
            RunOutcome::Ran(report) => Self::of_report(report),
            RunOutcome::Stopped(why) => Self {
                complete: false,
                handed_back: Vec::new(),
                left: Vec::new(),
                commands: Vec::new(),
                next: format!("nothing was handed back: {why}"),
            },
            // It continues no run.
            RunOutcome::Superseded => Self {
                complete: false,
                handed_back: Vec::new(),
                left: Vec::new(),
                commands: Vec::new(),
                next: "nothing was handed back: call again".to_owned(),
            },
            RunOutcome::Held(lease) => Self {
                complete: false,
                handed_back: Vec::new(),
                left: Vec::new(),
                commands: Vec::new(),
                next: format!(
                    "nothing was handed back: run {} of {} does not make room; call again",
                    lease.holder, lease.function
                ),
            },
        }
    }

    fn of_report(report: &HandBackReport) -> Self {
        let left = report.left.iter().map(|LeftClaim { claim, why }| Left {
            claim: claim.to_string(),
            why: why.to_string(),
        });
        let next = if report.is_complete() {
            "all is handed back: start Karpenter"
        } else {
            "call again until it is complete, and start Karpenter only then"
        };
        Self {
            complete: report.is_complete(),
            handed_back: report.handed_back.iter().map(ToString::to_string).collect(),
            left: left.collect(),
            commands: report.commands.iter().map(ToString::to_string).collect(),
            next: next.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_says_what_is_left_and_to_call_again() {
        let report = HandBackReport {
            handed_back: vec!["a".into()],
            left: vec![LeftClaim { claim: "b".into(), why: "it ends".into() }],
            ..HandBackReport::default()
        };
        let answer = HandBackAnswer::of(&RunOutcome::Ran(report));
        let expected = json!({
            "complete": false,
            "handedBack": ["a"],
            "left": [{"claim": "b", "why": "it ends"}],
            "commands": [],
            "next": "call again until it is complete, and start Karpenter only then",
        });
        assert_eq!(serde_json::to_value(answer).unwrap(), expected);
    }
}
