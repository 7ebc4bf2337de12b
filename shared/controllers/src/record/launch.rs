//! What EC2 is asked for on behalf of a claim: complete, so that a retry asks the very same.

use std::collections::BTreeMap;

use domain::label::Labels;
use domain::plan::LaunchOffering;
use domain::taint::Taint;
use domain::{Text, Timestamp};

/// The resource of fabric adapters (Elastic Fabric Adapter).
pub const EFA: &str = "vpc.amazonaws.com/efa";

/// A request for one instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchRequest {
    /// The claim's uid, which tags of the instance bear; client tokens begin with it.
    pub token: Text,
    /// The attempt that is under way, or that made the instance.
    pub attempt: LaunchAttempt,
    /// The claim's name, for tags.
    pub claim: Text,
    /// The NodePool, for tags; empty for a claim that no pool made.
    pub node_pool: Text,
    /// The EC2NodeClass by name.
    pub node_class: Text,
    /// What may be launched, cheapest first: all of one capacity type, at least one.
    pub offerings: Vec<LaunchOffering>,
    /// Labels that user data tells the kubelet.
    pub labels: Labels,
    /// Taints that user data tells the kubelet, those of startup among them.
    pub taints: Vec<Taint>,
    /// Pods request Elastic Fabric Adapters (`vpc.amazonaws.com/efa`): the instance gets as many as
    /// its type supports.
    pub wants_efa: bool,
}

impl LaunchRequest {
    /// CreateFleet's client token: another for each attempt, since EC2 keeps what it answered to a
    /// token, failures too.
    ///
    /// Source: <https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html>.
    pub fn client_token(&self) -> String {
        match self.attempt.number {
            0 | 1 => self.token.to_string(),
            number => format!("{}-{number}", self.token),
        }
    }
}

/// One attempt at a launch. All that is asked for under its client token is recorded before EC2 is
/// called, so that a repeat asks the very same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchAttempt {
    /// Counted from 1.
    pub number: u32,
    /// When it was recorded, or when a call for it was last left without an answer: an instance of
    /// it has been launched by then, or never.
    pub since: Timestamp,
    /// What was chosen for it; `None` leaves the choice to the call.
    pub choices: Option<LaunchChoices>,
    /// EC2 has answered without an instance: the next attempt is recorded before it is made.
    pub is_over: bool,
}

/// What a plan leaves open, chosen just before a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchChoices {
    /// The subnet's id, by zone.
    pub subnets: BTreeMap<Text, Text>,
    /// Prices are those of NodeOverlays: EC2 follows their order rather than its own prices.
    pub is_overlaid: bool,
}

impl Default for LaunchAttempt {
    fn default() -> Self {
        Self { number: 1, since: Timestamp::UNIX_EPOCH, choices: None, is_over: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attempt_has_a_token_of_its_own() {
        let token = |number| {
            let attempt = LaunchAttempt { number, ..LaunchAttempt::default() };
            let uid = "9bf4c6ae-4a5e-5b3c-9d2e-0c6f5f0f9a11".into();
            LaunchRequest { token: uid, attempt, ..LaunchRequest::default() }.client_token()
        };
        assert_eq!(token(1), "9bf4c6ae-4a5e-5b3c-9d2e-0c6f5f0f9a11");
        assert_eq!(token(2), "9bf4c6ae-4a5e-5b3c-9d2e-0c6f5f0f9a11-2");
        assert!(token(u32::MAX).len() <= 64, "EC2 takes no longer token");
    }
}
