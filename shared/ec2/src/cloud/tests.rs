//! The adapter against answers of EC2 on the wire.

use std::sync::Arc;

use aws::budget::Unmetered;
use aws_script::Script;
use controllers::ports::ErrorKind;
use controllers::ports::cloud::Exhausted;
use controllers::record::launch::LaunchAttempt;
use domain::instance_type::CapacityType;
use domain::plan::LaunchOffering;
use domain::{SignedDuration, Timestamp};

use super::*;
use crate::calls::Calls;
use crate::catalogue::Catalogue;
use crate::client::Ec2Settings;
use crate::testkit::{node_class, offering, request};
use crate::user_data::testkit::cluster;

const A: &str = "us-east-1a";
const B: &str = "us-east-1b";
const UID: &str = "9bf4c6ae-4a5e-5b3c-9d2e-0c6f5f0f9a11";

fn ec2(script: &Script) -> Ec2 {
    let calls = Calls::new(&script.config(), Arc::new(Unmetered)).unwrap();
    let catalogue = Catalogue::embedded("us-east-1").unwrap();
    Ec2::new(calls, cluster(), catalogue, Ec2Settings { dry_runs: false, ..Ec2Settings::default() })
}

fn offerings() -> Vec<LaunchOffering> {
    let on_demand = |name, zone| offering(name, zone, CapacityType::OnDemand, 96);
    vec![on_demand("m5.large", A), on_demand("m5.large", B)]
}

/// A request whose attempt was recorded so many seconds ago.
fn recorded(seconds_ago: i64) -> LaunchRequest {
    let since = Timestamp::now() - SignedDuration::from_secs(seconds_ago);
    let attempt = LaunchAttempt { since, ..LaunchAttempt::default() };
    LaunchRequest { attempt, ..request(offerings()) }
}

async fn launch(script: &Script, requests: &[LaunchRequest]) -> Vec<LaunchOutcome> {
    let call = |own: &LaunchRequest| LaunchCall { request: own.clone().into(), is_repeat: false };
    let calls: Vec<LaunchCall> = requests.iter().map(call).collect();
    ec2(script).launch(&calls, &[node_class("default")]).await.unwrap()
}

async fn launch_one(script: &Script) -> LaunchOutcome {
    launch(script, &[recorded(0)]).await.remove(0)
}

/// The outcome of asking again for what an earlier run recorded so many seconds ago.
async fn repeat(script: &Script, seconds_ago: i64) -> LaunchOutcome {
    let call = LaunchCall { request: recorded(seconds_ago).into(), is_repeat: true };
    ec2(script).launch(&[call], &[node_class("default")]).await.unwrap().remove(0)
}

fn tried(name: &str, zone: &str, subnet: &str) -> String {
    format!(
        "<launchTemplateAndOverrides><launchTemplateSpecification>\
         <launchTemplateName>outrigger/1</launchTemplateName></launchTemplateSpecification>\
         <overrides><instanceType>{name}</instanceType><availabilityZone>{zone}</availabilityZone>\
         <subnetId>{subnet}</subnetId></overrides></launchTemplateAndOverrides>"
    )
}

fn fleet_error(code: &str, zone: &str, subnet: &str) -> String {
    let tried = tried("m5.large", zone, subnet);
    format!("<item><errorCode>{code}</errorCode><errorMessage>no</errorMessage>{tried}</item>")
}

fn fleet(instances: &str, errors: &str) -> String {
    format!(
        "<fleetId>fleet-1</fleetId><errorSet>{errors}</errorSet>\
         <fleetInstanceSet>{instances}</fleetInstanceSet>"
    )
}

fn launched(id: &str, zone: &str) -> String {
    let tried = tried("m5.large", zone, "subnet-b1");
    format!(
        "<item><instanceIds><item>{id}</item></instanceIds>\
         <instanceType>m5.large</instanceType>{tried}</item>"
    )
}

fn described(id: &str) -> String {
    format!(
        "<reservationSet><item><instancesSet><item><instanceId>{id}</instanceId>\
         <imageId>ami-amd64</imageId><instanceType>m5.large</instanceType>\
         <launchTime>2026-11-21T12:00:00.000Z</launchTime>\
         <placement><availabilityZone>us-east-1b</availabilityZone></placement>\
         <instanceState><code>0</code><name>pending</name></instanceState>\
         <tagSet><item><key>outrigger.dev/claim-uid</key><value>{UID}</value></item></tagSet>\
         </item></instancesSet></item></reservationSet>"
    )
}

#[tokio::test]
async fn a_launch_tells_the_instance_and_what_had_none_left() {
    let script = Script::default()
        .answers(
            "CreateFleet",
            &fleet(
                &launched("i-1", B),
                &fleet_error("InsufficientInstanceCapacity", A, "subnet-a1"),
            ),
        )
        .answers("DescribeInstances", &described("i-1"));
    let LaunchOutcome::Launched { instance, exhausted } = launch_one(&script).await else {
        panic!("there is an instance")
    };
    assert_eq!((&*instance.id, &*instance.zone), ("i-1", B));
    assert_eq!(&*instance.provider_id, "aws:///us-east-1b/i-1");
    assert_eq!(instance.launched.to_string(), "2026-11-21T12:00:00Z");
    assert_eq!(instance.claim.as_deref(), Some("default-1"), "known though not described yet");
    assert_eq!(
        exhausted,
        [Exhausted {
            instance_type: "m5.large".into(),
            zone: A.into(),
            capacity_type: CapacityType::OnDemand,
            code: "InsufficientInstanceCapacity".into(),
        }]
    );
    let asked = script.asked("CreateFleet");
    assert!(asked[0].contains(&format!("ClientToken={UID}&")), "{}", asked[0]);
}

#[tokio::test]
async fn an_instance_that_the_answer_only_names_is_described() {
    let bare = "<item><instanceIds><item>i-1</item></instanceIds></item>";
    let script = Script::default()
        .answers("CreateFleet", &fleet(bare, ""))
        .answers("DescribeInstances", &described("i-1"));
    let LaunchOutcome::Launched { instance, .. } = launch_one(&script).await else {
        panic!("there is an instance")
    };
    assert_eq!((&*instance.id, &*instance.zone), ("i-1", B));
    let hidden = Script::default().answers("CreateFleet", &fleet(bare, ""));
    let outcome = launch_one(&hidden).await;
    assert!(
        matches!(outcome, LaunchOutcome::Failed { .. }),
        "another must not be risked: {outcome:?}"
    );
}

#[tokio::test]
async fn a_quota_is_that_of_every_type_as_large_that_draws_on_it() {
    let on_demand = |name, zone| offering(name, zone, CapacityType::OnDemand, 96);
    let mixed = LaunchRequest {
        offerings: vec![
            on_demand("m5.large", A),
            on_demand("m5.large", B),
            on_demand("r5.xlarge", B),
            on_demand("t3.medium", A),
            on_demand("m5.2xlarge", A),
            on_demand("g4dn.2xlarge", A),
            on_demand("t2.micro", A),
        ],
        ..recorded(0)
    };
    let script = Script::default()
        .answers("CreateFleet", &fleet("", &fleet_error("VcpuLimitExceeded", A, "subnet-a1")));
    let LaunchOutcome::OutOfCapacity { exhausted } = launch(&script, &[mixed]).await.remove(0)
    else {
        panic!("nothing was left")
    };
    let names: Vec<_> = exhausted
        .iter()
        .map(|own| format!("{} {}", own.instance_type, own.zone.trim_start_matches("us-east-1")))
        .collect();
    // Of two vCPUs or more, graphics apart; a smaller one may fit yet.
    let expected = ["m5.2xlarge a", "m5.large a", "m5.large b", "r5.xlarge b", "t3.medium a"];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn an_instance_that_ec2_does_not_describe_yet_is_known_from_the_fleet() {
    let script = Script::default().answers("CreateFleet", &fleet(&launched("i-1", B), ""));
    let LaunchOutcome::Launched { instance, .. } = launch_one(&script).await else {
        panic!("there is an instance")
    };
    assert_eq!((&*instance.instance_type, &*instance.image_id), ("m5.large", "ami-amd64"));
    assert_eq!(instance.claim_uid.as_deref(), Some(UID));
    assert_eq!(instance.state, controllers::ports::InstanceState::Pending);
}

#[tokio::test]
async fn neither_instance_nor_error_means_that_nothing_was_left_the_second_time() {
    let nothing = || Script::default().answers("CreateFleet", &fleet("", ""));
    let outcome = launch_one(&nothing()).await;
    assert!(matches!(outcome, LaunchOutcome::Refused { is_mended: false, .. }), "{outcome:?}");
    let mut second = recorded(0);
    second.attempt.number = 2;
    let outcome = launch(&nothing(), &[second]).await.remove(0);
    assert_eq!(outcome, LaunchOutcome::OutOfCapacity { exhausted: Vec::new() });
    let errors = fleet_error("InsufficientInstanceCapacity", A, "subnet-a1")
        + &fleet_error("UnfulfillableCapacity", B, "subnet-b1");
    let refused = Script::default().answers("CreateFleet", &fleet("", &errors));
    let LaunchOutcome::OutOfCapacity { exhausted } = launch_one(&refused).await else {
        panic!("nothing was left")
    };
    let zones: Vec<&str> = exhausted.iter().map(|own| &*own.zone).collect();
    assert_eq!(zones, [A], "what fills the answer up says nothing of its pool");
}

#[tokio::test]
async fn a_token_with_other_parameters_leads_to_the_instance_of_the_first_call() {
    let script = Script::default()
        .refuses("CreateFleet", "IdempotentParameterMismatch", "other parameters")
        .answers("DescribeInstances", &described("i-before"));
    let LaunchOutcome::Launched { instance, .. } = launch_one(&script).await else {
        panic!("there is an instance")
    };
    assert_eq!(&*instance.id, "i-before");
    let asked = &script.asked("DescribeInstances")[0];
    assert!(asked.contains("outrigger.dev%2Fclaim-uid"), "{asked}");

    let hidden =
        Script::default().refuses("CreateFleet", "IdempotentParameterMismatch", "other parameters");
    let LaunchOutcome::NotShown { error, .. } = launch_one(&hidden).await else {
        panic!("nobody knows")
    };
    assert!(error.is_retryable(), "{error}");
    assert_eq!(hidden.asked("CreateFleet").len(), 1, "a second instance must not be risked");

    let gone =
        Script::default().refuses("CreateFleet", "IdempotentParameterMismatch", "other parameters");
    let outcome = repeat(&gone, 91).await;
    assert!(matches!(outcome, LaunchOutcome::Refused { is_mended: true, .. }), "{outcome:?}");
}

#[tokio::test]
async fn a_repeat_that_names_no_instance_leads_to_that_of_the_first_call() {
    let refusal = fleet_error("InsufficientInstanceCapacity", A, "subnet-a1");
    for answer in [fleet("", ""), fleet("", &refusal)] {
        let script = Script::default()
            .answers("CreateFleet", &answer)
            .answers("DescribeInstances", &described("i-before"));
        let LaunchOutcome::Launched { instance, .. } = repeat(&script, 91).await else {
            panic!("there is an instance")
        };
        assert_eq!(&*instance.id, "i-before");
        let hidden = Script::default().answers("CreateFleet", &answer);
        assert!(
            matches!(repeat(&hidden, 5).await, LaunchOutcome::NotShown { .. }),
            "it may appear yet"
        );
        let without = Script::default().answers("CreateFleet", &answer);
        assert!(!matches!(
            repeat(&without, 91).await,
            LaunchOutcome::Launched { .. }
                | LaunchOutcome::NotShown { .. }
                | LaunchOutcome::Failed { .. }
        ));
    }
}

#[tokio::test]
async fn what_a_repeat_says_of_pools_counts_whether_or_not_it_names_an_instance() {
    let zones = |outcome: &LaunchOutcome| -> Vec<String> {
        outcome.exhausted().iter().map(|own| own.zone.to_string()).collect()
    };
    let answering = |code: &str| {
        let errors = fleet_error(code, A, "subnet-a1");
        Script::default().answers("CreateFleet", &fleet("", &errors))
    };
    let hidden = repeat(&answering("InsufficientInstanceCapacity"), 5).await;
    assert!(matches!(hidden, LaunchOutcome::NotShown { .. }), "{hidden:?}");
    assert_eq!(zones(&hidden), [A]);
    let shown = answering("InsufficientInstanceCapacity")
        .answers("DescribeInstances", &described("i-before"));
    let shown = repeat(&shown, 5).await;
    assert!(matches!(shown, LaunchOutcome::Launched { .. }), "{shown:?}");
    assert_eq!(zones(&shown), [A]);
    // A try that was not answered, and one that was.
    let lost = Script::default().loses("CreateFleet");
    let errors = fleet_error("InsufficientInstanceCapacity", A, "subnet-a1");
    let unsure = launch_one(&lost.answers("CreateFleet", &fleet("", &errors))).await;
    assert!(matches!(unsure, LaunchOutcome::Failed { .. }), "{unsure:?}");
    assert_eq!(zones(&unsure), [A]);
    // Nobody knows what EC2 says of a token whose instance is there.
    let unfulfillable = repeat(&answering("UnfulfillableCapacity"), 5).await;
    assert_eq!(zones(&unfulfillable), [""; 0]);
}

#[tokio::test]
async fn a_repeat_that_cannot_be_asked_any_more_leads_to_the_instance_of_the_first_call() {
    let again = async |script: &Script, seconds_ago| {
        let call = LaunchCall { request: recorded(seconds_ago).into(), is_repeat: true };
        // Its class has been deleted since.
        ec2(script).launch(&[call], &[]).await.unwrap().remove(0)
    };
    let script = Script::default().answers("DescribeInstances", &described("i-before"));
    let LaunchOutcome::Launched { instance, .. } = again(&script, 91).await else {
        panic!("there is an instance")
    };
    assert_eq!(&*instance.id, "i-before");
    let hidden = again(&Script::default(), 5).await;
    assert!(matches!(hidden, LaunchOutcome::NotShown { .. }), "it may appear yet: {hidden:?}");
    let gone = again(&Script::default(), 91).await;
    assert!(matches!(gone, LaunchOutcome::NodeClassNotReady { .. }), "{gone:?}");
}

#[tokio::test]
async fn an_attempt_that_ec2_refused_is_over() {
    for (code, is_passing) in [
        ("RequestLimitExceeded", true),
        ("InternalError", true),
        ("UnauthorizedOperation", false),
        ("InvalidAMIID.NotFound", false),
    ] {
        let errors = fleet_error(code, A, "subnet-a1")
            + &fleet_error("UnfulfillableCapacity", B, "subnet-b1");
        let script = Script::default().answers("CreateFleet", &fleet("", &errors));
        let LaunchOutcome::Refused { error, exhausted, is_mended } = launch_one(&script).await
        else {
            panic!("{code}: it is over")
        };
        assert_eq!((error.is_retryable(), is_mended), (is_passing, false), "{code}");
        assert_eq!(exhausted, [], "{code}: what fills an answer up says nothing of its pool");
    }
}

/// Codes of whole calls, with the status that EC2 gives them.
const REFUSED_CALLS: [(&str, u16, ErrorKind); 9] = [
    ("RequestLimitExceeded", 503, ErrorKind::Throttled),
    ("MaxFleetCountExceeded", 400, ErrorKind::Throttled),
    ("UnauthorizedOperation", 403, ErrorKind::Denied),
    ("AuthFailure", 401, ErrorKind::Denied),
    ("InvalidFleetConfig", 400, ErrorKind::Invalid),
    ("InvalidInput", 400, ErrorKind::Invalid),
    ("InvalidParameterValue", 400, ErrorKind::Invalid),
    ("InvalidAMIID.NotFound", 400, ErrorKind::NotFound),
    ("PendingVerification", 400, ErrorKind::Unknown),
];

/// An EC2 that refuses every try of a call.
fn refusing(code: &str, status: u16) -> Script {
    let refuse = |script: Script, _| script.fails("CreateFleet", status, code, "no");
    (0..3).fold(Script::default(), refuse)
}

#[tokio::test]
async fn a_first_call_that_ec2_refused_as_a_whole_launched_nothing_and_is_over() {
    for (code, status, kind) in REFUSED_CALLS {
        let script = refusing(code, status);
        let LaunchOutcome::Refused { error, exhausted, is_mended } = launch_one(&script).await
        else {
            panic!("{code}: nothing was launched")
        };
        assert_eq!((error.kind, exhausted, is_mended), (kind, Vec::new(), false), "{code}");
        let tries = if kind == ErrorKind::Throttled { 3 } else { 1 };
        assert_eq!(script.asked("CreateFleet").len(), tries, "{code}");
        assert!(script.asked("DescribeInstances").is_empty(), "{code}: there is none to look for");
    }
    let outcome = launch_one(&refusing("InsufficientInstanceCapacity", 400)).await;
    assert_eq!(outcome, LaunchOutcome::OutOfCapacity { exhausted: Vec::new() });
}

#[tokio::test]
async fn a_repeat_that_ec2_refused_as_a_whole_says_nothing_of_the_first_call() {
    for (code, status, kind) in REFUSED_CALLS {
        let LaunchOutcome::NotShown { error, .. } = repeat(&refusing(code, status), 91).await
        else {
            panic!("{code}: the first call may have launched it")
        };
        assert_eq!(error.kind, kind, "{code}");
    }
    let script = refusing("InsufficientInstanceCapacity", 400)
        .answers("DescribeInstances", &described("i-before"));
    assert!(matches!(repeat(&script, 91).await, LaunchOutcome::Launched { .. }));
}

#[tokio::test]
async fn a_call_of_which_a_try_was_not_answered_may_have_launched_an_instance() {
    let lost = || Script::default().loses("CreateFleet");
    let failing = |script: Script| script.fails("CreateFleet", 500, "InternalError", "inside");
    let unavailable =
        |script: Script| script.fails("CreateFleet", 503, "ServiceUnavailable", "come back");
    for script in
        [
            lost().loses("CreateFleet").loses("CreateFleet"),
            lost().refuses("CreateFleet", "UnauthorizedOperation", "no"),
            failing(failing(failing(Script::default()))),
            failing(Script::default()).refuses("CreateFleet", "InvalidFleetConfig", "no"),
            unavailable(Script::default())
                .refuses("CreateFleet", "RequestLimitExceeded", "no")
                .fails("CreateFleet", 503, "RequestLimitExceeded", "no"),
            lost().answers(
                "CreateFleet",
                &fleet("", &fleet_error("UnfulfillableCapacity", A, "subnet-a1")),
            ),
        ]
    {
        let outcome = launch_one(&script).await;
        assert!(matches!(outcome, LaunchOutcome::Failed { .. }), "{outcome:?}");
    }
    // However old the attempt is: the try that was not answered is not.
    let outcome = repeat(&lost().answers("CreateFleet", &fleet("", "")), 91).await;
    assert!(matches!(outcome, LaunchOutcome::Failed { .. }), "{outcome:?}");
    let script = lost().answers("CreateFleet", &fleet(&launched("i-1", B), ""));
    assert!(matches!(launch_one(&script).await, LaunchOutcome::Launched { .. }));
    let asked = script.asked("CreateFleet");
    assert_eq!((asked.len(), &asked[0]), (2, &asked[1]), "the very same, under the same token");
}

#[tokio::test]
async fn a_profile_that_ec2_does_not_know_yet_may_pass_though_the_whole_call_is_refused() {
    let message = "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance \
                   Profile name";
    let script = Script::default().refuses("CreateFleet", "InvalidParameterValue", message);
    let LaunchOutcome::Refused { error, .. } = launch_one(&script).await else {
        panic!("nothing was launched")
    };
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert_eq!(script.asked("CreateFleet").len(), 1, "it takes minutes, not a pause");
}

#[tokio::test]
async fn a_template_that_ec2_warns_of_is_used() {
    let warning = "<warning><errorSet><item><code>InvalidAMIID.NotFound</code>\
                   <message>The image id does not exist</message></item></errorSet></warning>";
    let script = Script::default()
        .answers("CreateLaunchTemplate", warning)
        .answers("CreateFleet", &fleet(&launched("i-1", B), ""));
    assert!(matches!(launch_one(&script).await, LaunchOutcome::Launched { .. }));
}

#[tokio::test]
async fn without_its_launch_template_a_fleet_is_not_asked_for() {
    let denied =
        || Script::default().fails("CreateLaunchTemplate", 403, "UnauthorizedOperation", "no");
    let script = denied();
    let LaunchOutcome::Refused { error, is_mended, .. } = launch_one(&script).await else {
        panic!("nothing was asked for")
    };
    assert_eq!((error.kind, is_mended), (ErrorKind::Denied, false));
    assert!(script.asked("CreateFleet").is_empty());
    let outcome = repeat(&denied(), 91).await;
    assert!(matches!(outcome, LaunchOutcome::NotShown { .. }), "an earlier run asked: {outcome:?}");
}

#[tokio::test]
async fn an_instance_runs_the_image_of_its_own_type() {
    let arm = |name: &str, zone: &str, subnet: &str| {
        format!(
            "<item><instanceIds><item>i-1</item></instanceIds><instanceType>{name}</instanceType>\
             <launchTemplateAndOverrides><launchTemplateSpecification>\
             <launchTemplateId>lt-1</launchTemplateId><version>1</version>\
             </launchTemplateSpecification><overrides><instanceType>{name}</instanceType>\
             <availabilityZone>{zone}</availabilityZone><subnetId>{subnet}</subnetId></overrides>\
             </launchTemplateAndOverrides></item>"
        )
    };
    let on_demand = |name| offering(name, A, CapacityType::OnDemand, 96);
    let mixed = LaunchRequest {
        offerings: vec![on_demand("m5.large"), on_demand("m6g.large")],
        ..recorded(0)
    };
    for (name, image) in [("m5.large", "ami-amd64"), ("m6g.large", "ami-arm64")] {
        let answer = fleet(&arm(name, A, "subnet-a1"), "");
        let script = Script::default().answers("CreateFleet", &answer);
        let outcome = launch(&script, std::slice::from_ref(&mixed)).await.remove(0);
        let LaunchOutcome::Launched { instance, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(&*instance.image_id, image, "{name}");
    }
}

#[tokio::test]
async fn of_more_instances_than_were_asked_for_the_first_is_the_claims() {
    let two = launched("i-1", A) + &launched("i-2", B);
    let script = Script::default().answers("CreateFleet", &fleet(&two, ""));
    let LaunchOutcome::Launched { instance, .. } = launch_one(&script).await else {
        panic!("there is an instance")
    };
    assert_eq!(&*instance.id, "i-1");
}

#[tokio::test]
async fn what_was_chosen_for_an_attempt_is_asked_for_again() {
    let script = Script::default();
    let ec2 = ec2(&script);
    let classes = [node_class("default")];
    let mut request = recorded(0);
    let choices = ec2.launch_choices(&[request.clone().into()], &classes).await.remove(0).unwrap();
    assert_eq!(choices.subnets.len(), 2, "a subnet in each zone");
    let subnets = [(Text::from(A), Text::from("subnet-gone"))].into();
    request.attempt.choices = Some(LaunchChoices { subnets, is_overlaid: true });
    let script = Script::default().answers("CreateFleet", &fleet(&launched("i-1", A), ""));
    launch(&script, &[request]).await;
    let asked = &script.asked("CreateFleet")[0];
    assert!(asked.contains("subnet-gone") && !asked.contains("subnet-b1"), "{asked}");
    assert!(asked.contains("AllocationStrategy=prioritized"), "{asked}");
    assert!(script.asked("DescribeSubnets").is_empty(), "nothing is left to choose");
}

#[tokio::test]
async fn a_template_that_is_gone_is_made_again() {
    let missing = "InvalidLaunchTemplateName.NotFoundException";
    let script = Script::default()
        .refuses("CreateFleet", missing, "no such template")
        .answers("CreateFleet", &fleet(&launched("i-1", B), ""));
    assert!(matches!(launch_one(&script).await, LaunchOutcome::Launched { .. }));
    assert_eq!(script.asked("CreateLaunchTemplate").len(), 2);
    let tokens = script.asked("CreateFleet");
    assert!(tokens[1].contains(&format!("ClientToken={UID}&")), "a refused call spends no token");

    let script =
        Script::default().answers("CreateFleet", &fleet("", &fleet_error(missing, A, "subnet-a1")));
    let outcome = launch_one(&script).await;
    assert!(matches!(outcome, LaunchOutcome::Refused { is_mended: true, .. }), "{outcome:?}");
    assert_eq!(script.asked("CreateLaunchTemplate").len(), 2);
}

#[tokio::test]
async fn a_full_subnet_leaves_the_zones_others() {
    let full = fleet_error("InsufficientFreeAddressesInSubnet", A, "subnet-a1");
    let script = Script::default().answers("CreateFleet", &fleet("", &full));
    let (ec2, classes) = (ec2(&script), [node_class("default")]);
    let call = LaunchCall { request: recorded(0).into(), is_repeat: false };
    let outcome = ec2.launch(&[call], &classes).await.unwrap().remove(0);
    let LaunchOutcome::Refused { exhausted, is_mended, .. } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!((exhausted, is_mended), (Vec::new(), true), "the zone has another subnet");
    assert!(script.asked("CreateFleet")[0].contains("subnet-a1"));
    let next = ec2.launch_choices(&[recorded(0).into()], &classes).await.remove(0).unwrap();
    assert_eq!(next.subnets.get(A).map(|id| &**id), Some("subnet-a2"));
}

#[tokio::test]
async fn the_subnet_with_most_free_addresses_is_used() {
    let subnet = |id: &str, free: u32| {
        format!(
            "<item><subnetId>{id}</subnetId><availabilityZone>us-east-1a</availabilityZone>\
             <availableIpAddressCount>{free}</availableIpAddressCount></item>"
        )
    };
    let subnets =
        format!("<subnetSet>{}{}</subnetSet>", subnet("subnet-a1", 10), subnet("subnet-a2", 200));
    let script = Script::default()
        .answers("DescribeSubnets", &subnets)
        .answers("CreateFleet", &fleet(&launched("i-1", A), ""));
    launch_one(&script).await;
    assert!(script.asked("CreateFleet")[0].contains("subnet-a2"));
}

#[tokio::test]
async fn one_launch_that_fails_spoils_no_other() {
    let script = Script::default()
        .refuses("CreateFleet", "InvalidFleetConfig", "no such pool")
        .answers("CreateFleet", &fleet(&launched("i-2", B), ""));
    let other =
        LaunchRequest { token: "other".into(), claim: "default-2".into(), ..request(offerings()) };
    let without_class = LaunchRequest { node_class: "gone".into(), ..request(offerings()) };
    let outcomes = launch(&script, &[request(offerings()), without_class, other]).await;
    let LaunchOutcome::Refused { error, .. } = &outcomes[0] else { panic!("it was refused") };
    assert_eq!(error.kind, ErrorKind::Invalid);
    assert_eq!(
        outcomes[1],
        LaunchOutcome::NodeClassNotReady { message: "EC2NodeClass gone does not exist".into() }
    );
    assert!(matches!(outcomes[2], LaunchOutcome::Launched { .. }));
}

#[tokio::test]
async fn templates_are_made_once_for_all_launches_that_need_them() {
    let script = Script::default()
        .answers("CreateFleet", &fleet(&launched("i-1", B), ""))
        .answers("CreateFleet", &fleet(&launched("i-2", B), ""));
    let other =
        LaunchRequest { token: "other".into(), claim: "default-2".into(), ..request(offerings()) };
    launch(&script, &[request(offerings()), other]).await;
    assert_eq!(script.asked("DescribeLaunchTemplates").len(), 1);
    assert_eq!(script.asked("CreateLaunchTemplate").len(), 1);
}

#[tokio::test]
async fn a_denial_names_the_action_and_no_account() {
    let message = "You are not authorized to perform this operation. User: \
                   arn:aws:sts::123456789012:assumed-role/x/y is not authorized to perform: \
                   ec2:CreateFleet on resource: arn:aws:ec2:us-east-1:123456789012:fleet/*";
    let script = Script::default().refuses("CreateFleet", "UnauthorizedOperation", message);
    let LaunchOutcome::Refused { error, .. } = launch_one(&script).await else {
        panic!("it is denied")
    };
    assert_eq!(error.kind, ErrorKind::Denied);
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("ec2:CreateFleet") && !shown.contains("123456789012"), "{shown}");
}

fn ending(id: &str) -> String {
    format!(
        "<item><instanceId>{id}</instanceId>\
         <currentState><code>32</code><name>shutting-down</name></currentState></item>"
    )
}

#[tokio::test]
async fn an_instance_that_is_gone_keeps_no_other_alive() {
    let script = Script::default()
        .refuses(
            "TerminateInstances",
            "InvalidInstanceID.NotFound",
            "The instance ID 'i-2' does not exist",
        )
        .answers(
            "TerminateInstances",
            &format!("<instancesSet>{}{}</instancesSet>", ending("i-1"), ending("i-3")),
        );
    let ids: Vec<Text> = ["i-1", "i-2", "i-3"].map(Text::from).to_vec();
    let outcomes = ec2(&script).terminate(&ids).await.unwrap();
    assert_eq!(
        outcomes,
        [Termination::ShuttingDown, Termination::Unknown, Termination::ShuttingDown]
    );
}

#[tokio::test]
async fn a_batch_that_is_refused_is_split_until_the_bad_one_stands_alone() {
    let refused =
        |script: Script| script.refuses("TerminateInstances", "OperationNotPermitted", "no");
    // Both; then the second alone, which is taken first; then the first alone.
    let script = refused(refused(Script::default()))
        .answers("TerminateInstances", &format!("<instancesSet>{}</instancesSet>", ending("i-1")));
    let ids: Vec<Text> = ["i-1", "i-2"].map(Text::from).to_vec();
    let outcomes = ec2(&script).terminate(&ids).await.unwrap();
    assert_eq!(outcomes[0], Termination::ShuttingDown);
    assert!(matches!(&outcomes[1], Termination::Failed(error) if error.kind == ErrorKind::Unknown));
}

#[tokio::test]
async fn a_vanished_instance_that_a_policy_denies_keeps_no_other_alive() {
    let script = Script::default()
        .refuses("TerminateInstances", "UnauthorizedOperation", "not yours")
        .answers("DescribeInstances", &described("i-1"))
        .answers("TerminateInstances", &format!("<instancesSet>{}</instancesSet>", ending("i-1")));
    let ids: Vec<Text> = ["i-1", "i-2"].map(Text::from).to_vec();
    let outcomes = ec2(&script).terminate(&ids).await.unwrap();
    assert_eq!(outcomes, [Termination::ShuttingDown, Termination::Unknown]);
}

#[tokio::test]
async fn a_role_that_may_end_nothing_is_not_asked_for_each_instance() {
    let all: String = (0..9)
        .map(|index| described(&format!("i-{index}")))
        .map(|set| set.replace("<reservationSet>", "").replace("</reservationSet>", ""))
        .collect();
    let all = format!("<reservationSet>{all}</reservationSet>");
    let mut script = Script::default().answers("DescribeInstances", &all);
    for _ in 0..4 {
        script = script.refuses("TerminateInstances", "UnauthorizedOperation", "not yours");
    }
    let ids: Vec<Text> = (0..9).map(|index| format!("i-{index}").into()).collect();
    let outcomes = ec2(&script).terminate(&ids).await.unwrap();
    let is_denied = |own: &Termination| matches!(own, Termination::Failed(error) if error.kind == ErrorKind::Denied);
    assert!(outcomes.iter().all(is_denied), "{outcomes:?}");
    assert_eq!(script.asked("TerminateInstances").len(), 4);
}

#[tokio::test]
async fn a_throttled_batch_is_not_asked_again_in_pieces() {
    let script =
        Script::default().refuses("TerminateInstances", "RequestLimitExceeded", "slow down");
    let ids: Vec<Text> = ["i-1", "i-2"].map(Text::from).to_vec();
    let outcomes = ec2(&script).terminate(&ids).await.unwrap();
    assert!(
        outcomes
            .iter()
            .all(|own| matches!(own, Termination::Failed(error) if error.is_retryable()))
    );
    assert_eq!(script.asked("TerminateInstances").len(), 1);
}

#[tokio::test]
async fn each_part_of_a_node_class_fails_by_itself() {
    let group = "<securityGroupInfo><item><groupId>sg-9</groupId><groupName>nodes</groupName></item>\
                 </securityGroupInfo>";
    let script = Script::default()
        .refuses("DescribeSubnets", "RequestLimitExceeded", "slow down")
        .answers("DescribeSecurityGroups", group);
    let mut class = node_class("default");
    let by_id = |id: &str| domain::node_class::SelectorTerm {
        id: Some(id.into()),
        ..domain::node_class::SelectorTerm::default()
    };
    class.spec.subnet_selector_terms = vec![by_id("subnet-1")];
    class.spec.security_group_selector_terms = vec![by_id("sg-9")];
    class.spec.ami_selector_terms = vec![by_id("ami-9")];
    class.spec.instance_profile = Some("nodes".into());
    let resolution = ec2(&script).resolve_node_class(&class).await.unwrap();
    let subnets = resolution.subnets.unwrap_err();
    assert_eq!((&*subnets.reason, subnets.is_passing), ("Throttled", true));
    assert_eq!(&*resolution.security_groups.unwrap()[0].id, "sg-9");
    let images = resolution.amis.unwrap_err();
    assert_eq!((&*images.reason, images.is_passing), ("AMINotFound", false));
    assert_eq!(resolution.instance_profile.as_deref(), Ok("nodes"));
}

#[tokio::test]
async fn a_class_whose_every_part_was_found_is_not_resolved_again_at_once() {
    let by_id = |id: &str| domain::node_class::SelectorTerm {
        id: Some(id.into()),
        ..domain::node_class::SelectorTerm::default()
    };
    let mut class = node_class("default");
    class.spec.subnet_selector_terms = vec![by_id("subnet-1")];
    class.spec.security_group_selector_terms = vec![by_id("sg-9")];
    class.spec.ami_selector_terms = vec![by_id("ami-9")];
    class.spec.instance_profile = Some("nodes".into());
    let subnets = "<subnetSet><item><subnetId>subnet-1</subnetId>\
                   <availabilityZone>us-east-1a</availabilityZone>\
                   <availableIpAddressCount>10</availableIpAddressCount></item></subnetSet>";
    let groups = "<securityGroupInfo><item><groupId>sg-9</groupId><groupName>nodes</groupName></item>\
                  </securityGroupInfo>";
    let images = "<imagesSet><item><imageId>ami-9</imageId><name>ami-9</name>\
                  <architecture>x86_64</architecture>\
                  <creationDate>2026-01-01T00:00:00.000Z</creationDate></item></imagesSet>";
    let mut script = Script::default();
    for _ in 0..3 {
        script = script
            .answers("DescribeSubnets", subnets)
            .answers("DescribeSecurityGroups", groups)
            .answers("DescribeImages", images);
    }
    let cloud = ec2(&script);
    let asked = || script.asked("DescribeSubnets").len();
    let first = cloud.resolve_node_class(&class).await.unwrap();
    assert!(first.subnets.is_ok() && first.security_groups.is_ok() && first.amis.is_ok());
    assert_eq!(cloud.resolve_node_class(&class).await.unwrap(), first);
    assert_eq!(asked(), 1);
    // A change of its specification, or a count of addresses that it asks for, does not wait.
    class.spec.user_data = Some("echo".into());
    let _resolution = cloud.resolve_node_class(&class).await.unwrap();
    assert_eq!(asked(), 2);
    let policy =
        domain::addresses::AddressPolicy { per_pod: 1, min_free: 0, daemon_pods: 0, free: vec![] };
    class.addresses = Some(policy);
    let _resolution = cloud.resolve_node_class(&class).await.unwrap();
    assert_eq!(asked(), 3);
}

#[tokio::test]
async fn a_class_whose_images_are_all_too_young_says_until_when() {
    let image = |id: &str, created: &str| {
        format!(
            "<item><imageId>{id}</imageId><name>{id}</name><architecture>x86_64</architecture>\
             <creationDate>{created}</creationDate></item>"
        )
    };
    let of_2020 = image("ami-old", "2020-01-01T00:00:00.000Z");
    let of_2199 = image("ami-new", "2199-01-01T00:00:00.000Z");
    let mut class = node_class("default");
    class.image_age.min = Some(domain::SignedDuration::from_hours(168));
    class.spec.ami_selector_terms = vec![domain::node_class::SelectorTerm {
        name: Some("ami-*".into()),
        ..domain::node_class::SelectorTerm::default()
    }];
    let images = |items: &[&str]| format!("<imagesSet>{}</imagesSet>", items.concat());
    let script = Script::default().answers("DescribeImages", &images(&[&of_2199]));
    let resolution = ec2(&script).resolve_node_class(&class).await.unwrap();
    let why = resolution.amis.unwrap_err();
    assert_eq!((&*why.reason, why.is_passing), ("TooYoung", false));
    assert!(why.message.contains("ami-new") && why.message.contains("2199-01-08"), "{why}");

    let script = Script::default().answers("DescribeImages", &images(&[&of_2020, &of_2199]));
    let resolution = ec2(&script).resolve_node_class(&class).await.unwrap();
    assert_eq!(&*resolution.amis.unwrap()[0].id, "ami-old");
    assert_eq!(&*resolution.held_back[0].id, "ami-new");
}

#[tokio::test]
async fn subnets_of_local_zones_are_resolved_and_said_to_have_no_offerings() {
    let subnet = |id: &str, zone: &str| {
        format!(
            "<item><subnetId>{id}</subnetId><availabilityZone>{zone}</availabilityZone>\
             <availableIpAddressCount>10</availableIpAddressCount></item>"
        )
    };
    let subnets = [
        subnet("subnet-1", "us-west-2-lax-1a"),
        subnet("subnet-2", A),
        subnet("subnet-3", "us-west-2-lax-1a"),
        subnet("subnet-4", "us-east-1-wl1-bos-wlz-1"),
    ];
    let script = Script::default()
        .answers("DescribeSubnets", &format!("<subnetSet>{}</subnetSet>", subnets.concat()));
    let mut class = node_class("default");
    let id = domain::node_class::SelectorTerm {
        id: Some("subnet-1".into()),
        ..domain::node_class::SelectorTerm::default()
    };
    class.spec.subnet_selector_terms = vec![id];
    let resolution = ec2(&script).resolve_node_class(&class).await.unwrap();
    assert_eq!(resolution.subnets.unwrap().len(), 4);
    let free: Vec<String> = resolution.free_addresses.iter().map(ToString::to_string).collect();
    assert!(free.len() == 4 && free.contains(&format!("{A}/subnet-2=10")), "{free:?}");
    let zones = ["us-east-1-wl1-bos-wlz-1", "us-west-2-lax-1a"].map(Text::from);
    assert_eq!(resolution.zones_without_offerings, zones);
}

#[tokio::test]
async fn only_instances_of_this_cluster_are_listed() {
    let script = Script::default().answers("DescribeInstances", &described("i-1"));
    let instances = ec2(&script).instances().await.unwrap();
    assert_eq!(instances.len(), 1);
    let asked = &script.asked("DescribeInstances")[0];
    assert!(asked.contains("kubernetes.io%2Fcluster%2Fprod"), "{asked}");
}
