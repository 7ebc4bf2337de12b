//! How the cloud behaves where EC2's documentation leaves it open, or where strictness would cost
//! every case time. What EC2 is documented to do always holds.

use serde::Serialize;

/// All knobs; see `moto/behaviour.py`. The default is what cases get that do not ask.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "knobs that have nothing to do with each other")]
pub struct Behaviour {
    /// For so long after its launch EC2 does not know an instance.
    pub instance_lag_seconds: f64,
    /// For so long after its launch an instance is shown without tags, and not found by them.
    pub tag_lag_seconds: f64,
    /// For so long after its creation launches do not find a launch template.
    pub template_lag_seconds: f64,
    /// A missing launch template stands in the answer of a fleet, and is no error of the call.
    pub unknown_template_in_answer: bool,
    /// For so long after its creation EC2 does not know an instance profile.
    pub profile_lag_seconds: f64,
    /// For so long after the end of an instance reads show it as it was.
    pub stale_read_seconds: f64,
    /// Which of several unknown ids an error names.
    pub unknown_ids_named: UnknownIds,
    /// Who changes an instance that has vanished is denied that, rather than not finding it.
    pub vanished_is_denied: bool,
    /// CreateFleet's answer names the launch template beside its id.
    pub answer_names_template: bool,
    /// CreateFleet's answer has zone and subnet of instances.
    pub answer_places_instances: bool,
    /// CreateFleet's answer repeats nothing of the request beside what was launched, or was not.
    pub answer_omits_overrides: bool,
    /// What CreateFleet answers to the token of a fleet that launched nothing.
    pub failed_token: FailedToken,
    /// What CreateFleet answers to the token of a fleet that launched something.
    pub repeated_success: RepeatedSuccess,
    /// What a dry run of CreateLaunchTemplate answers for a name that is taken.
    pub taken_template_name: TakenName,
    /// How many more instances a fleet launches than were asked for.
    pub surplus_instances: u32,
    /// How many of the next fleets answer with neither instances nor errors.
    pub empty_fleets: u32,
    /// What becomes of the next fleets.
    pub fleet_failures: Vec<FleetFailure>,
    /// What becomes of the next calls of an action.
    pub call_failures: Vec<CallFailure>,
    /// Requests and launches draw on EC2's token buckets.
    pub rate_buckets: bool,
    /// What others have left at first of each bucket for requests that change something.
    pub requests_left: Option<u32>,
    /// What others have left at first of the bucket for launched instances.
    pub launches_left: Option<u32>,
    /// The family of the cluster's addresses.
    pub ip_family: IpFamily,
}

/// Which of several unknown ids an error names.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum UnknownIds {
    /// All of them.
    #[default]
    All,
    /// The first.
    One,
    /// None.
    None,
}

/// What the token of a fleet that launched nothing is answered with.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FailedToken {
    /// The same errors again.
    #[default]
    SameAnswer,
    /// It counts as new.
    NewAttempt,
    /// `IdempotentParameterMismatch`.
    Mismatch,
}

/// What the token of a fleet that launched something is answered with.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RepeatedSuccess {
    /// The same instances.
    #[default]
    SameInstances,
    /// Neither instances nor errors.
    Nothing,
    /// `IdempotentParameterMismatch`.
    Error,
}

/// What a dry run of CreateLaunchTemplate answers for a name that is taken.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TakenName {
    /// `InvalidLaunchTemplateName.AlreadyExistsException`.
    #[default]
    Exists,
    /// It would succeed.
    DryRunOperation,
}

/// A family of addresses.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum IpFamily {
    /// IPv4.
    #[default]
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// What becomes of the next fleets: an error in an answer whose status is 200.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetFailure {
    /// Of how many fleets.
    pub times: u32,
    /// Only each so many-th fleet fails; each, where it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
    /// EC2's error code.
    pub code: &'static str,
    /// Its message; a usual one where it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'static str>,
    /// Only pools of this instance type fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<&'static str>,
    /// Only pools of this zone fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<&'static str>,
    /// Only the pool fails that would have been launched from.
    pub cheapest_only: bool,
    /// The others launch nothing either: `UnfulfillableCapacity` stands beside each.
    pub fillers: bool,
}

impl FleetFailure {
    /// Nothing of the next fleet is launched, for this code.
    pub fn once(code: &'static str) -> Self {
        Self { times: 1, code, ..Self::default() }
    }
}

/// What becomes of the next calls of an action: an error of the whole call.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallFailure {
    /// Of how many calls.
    pub times: u32,
    /// Only each so many-th call fails; each, where it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
    /// Such as `RunInstances`.
    pub action: &'static str,
    /// Only of dry runs, or only of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// The HTTP status.
    pub status: u16,
    /// EC2's error code.
    pub code: &'static str,
    /// Its message.
    pub message: &'static str,
}
