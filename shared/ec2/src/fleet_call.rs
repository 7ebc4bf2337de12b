//! Sending CreateFleet.
//!
//! A fleet that EC2 refuses as a whole launched nothing, which a claim relies on; one to which no
//! answer came may have launched an instance. The SDK's own retries would hide which of the two
//! came before the last try, so that the fleet is sent without them and tried again here.

use aws::budget::Bucket;
use aws::error::{aws_error, is_refusal, port_error};
use aws_sdk_ec2::operation::create_fleet::CreateFleetOutput;
use aws_sdk_ec2::operation::create_fleet::builders::CreateFleetInputBuilder;
use controllers::ports::{ErrorKind, PortError};
use controllers::steps::backoff;
use domain::{SignedDuration, Timestamp};

use super::client::Ec2;
use super::fleet_answer::is_profile_unknown;
use crate::calls::ec2;

/// The most tries of a call that is throttled or not answered; the next run goes on from there.
const TRIES_MAX: u32 = 3;
const PAUSE_FIRST: SignedDuration = SignedDuration::from_millis(250);
const PAUSE_MAX: SignedDuration = SignedDuration::from_secs(5);
/// A call that has taken as long is not tried again: other claims wait for the run.
const TRY_WITHIN: SignedDuration = SignedDuration::from_secs(20);

/// The last answer to a fleet.
pub(super) struct FleetResponse {
    /// What EC2 answered.
    pub(super) answer: Result<CreateFleetOutput, FleetRefusal>,
    /// A try had no answer, or an internal error: it may have launched an instance.
    pub(super) is_unsure: bool,
}

/// A fleet for which there is no answer about single pools.
pub(super) struct FleetRefusal {
    /// EC2's error code, or a word for what came instead of an answer.
    pub(super) code: String,
    pub(super) error: PortError,
}

impl Ec2 {
    /// Sends a fleet, under one token however often it is tried.
    pub(super) async fn send_fleet(&self, call: &CreateFleetInputBuilder) -> FleetResponse {
        let began = Timestamp::now();
        let token = call.get_client_token().as_deref().unwrap_or_default();
        let mut is_unsure = false;
        let mut number = 0;
        loop {
            let sent = call.clone().send_with(&self.calls.launches);
            let error = match self.calls.send_raw(Bucket::Launch, sent).await {
                Ok(output) => return FleetResponse { answer: Ok(output), is_unsure },
                Err(error) => error,
            };
            is_unsure |= !is_refusal(&error);
            let mut refusal = FleetRefusal {
                code: aws_error(&error).code,
                error: port_error(ec2("CreateFleet"), &error),
            };
            // It takes minutes rather than a pause of this call.
            let is_profile_unknown = is_profile_unknown(&refusal.error.message);
            let may_pass =
                matches!(refusal.error.kind, ErrorKind::Throttled | ErrorKind::Unavailable);
            number += 1;
            if is_profile_unknown {
                refusal.error.kind = ErrorKind::Unavailable;
            }
            if !may_pass
                || number >= TRIES_MAX
                || Timestamp::now().duration_since(began) >= TRY_WITHIN
            {
                return FleetResponse { answer: Err(refusal), is_unsure };
            }
            let pause = backoff::pause(PAUSE_FIRST, PAUSE_MAX, token, number);
            tokio::time::sleep(pause.unsigned_abs()).await;
        }
    }
}
