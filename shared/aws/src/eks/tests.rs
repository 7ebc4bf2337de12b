use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::*;

/// A case, and the address that botocore makes of it.
#[derive(Clone, Serialize, Deserialize)]
struct Case {
    region: String,
    cluster: String,
    time: String,
    access_key: String,
    secret_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_token: Option<String>,
    address: String,
}

fn committed() -> Vec<Case> {
    serde_json::from_str(include_str!("../../tests/data/eks_tokens.json")).unwrap()
}

async fn presigned(case: &Case) -> String {
    let credentials = Credentials::new(
        &*case.access_key,
        &*case.secret_key,
        case.session_token.clone(),
        None,
        "test",
    );
    let endpoint = endpoint(&case.region).await.unwrap();
    let caller = Caller { credentials: &credentials, region: &case.region, endpoint: &endpoint };
    presigned_caller_identity(&caller, &case.cluster, case.time.parse().unwrap()).unwrap()
}

#[tokio::test]
async fn an_address_is_byte_for_byte_what_botocore_makes_in_every_partition() {
    let cases = committed();
    assert!(cases.iter().any(|case| case.session_token.is_some()));
    for case in cases {
        assert_eq!(presigned(&case).await, case.address, "{} in {}", case.cluster, case.region);
    }
}

/// What botocore makes of cases now; `None` where there is none.
fn botocore(cases: &[Case]) -> Option<Vec<String>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/eks_tokens.py");
    let has_botocore = Command::new("python3")
        .args(["-c", "import botocore"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !has_botocore {
        return None;
    }
    let mut child = Command::new("python3")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    serde_json::to_writer(child.stdin.take().unwrap(), cases).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "botocore failed");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[tokio::test]
async fn botocore_itself_makes_the_same_of_other_regions_and_names() {
    let regions = ["sa-east-1", "eu-central-2", "cn-northwest-1", "us-gov-east-1", "il-central-1"];
    let cases: Vec<Case> = regions
        .iter()
        .enumerate()
        .map(|(index, region)| Case {
            region: (*region).to_owned(),
            cluster: format!("Cluster_{index}-x"),
            time: format!("2026-0{}-01T0{index}:00:59Z", index + 1),
            access_key: format!("ASIA{index}"),
            secret_key: "key+of/forty=characters".repeat(index + 1),
            session_token: (index % 2 == 0).then(|| "a+b/c==~ d".repeat(50)),
            address: String::new(),
        })
        .collect();
    let Some(addresses) = botocore(&cases) else {
        eprintln!("skipped: python3 has no botocore here");
        return;
    };
    for (case, address) in cases.iter().zip(addresses) {
        assert_eq!(presigned(case).await, address, "{}", case.region);
    }
}

#[test]
fn a_token_is_the_address_in_base64_without_padding() {
    let case = &committed()[0];
    let token = token(&case.address);
    let encoded = token.strip_prefix("k8s-aws-v1.").unwrap();
    assert!(!encoded.contains(['=', '+', '/']));
    assert_eq!(URL_SAFE_NO_PAD.decode(encoded).unwrap(), case.address.as_bytes());
}

fn eks(expiry: Option<std::time::SystemTime>) -> Eks {
    let credentials = Credentials::new("AKID", "secret", None, expiry, "test");
    let config = SdkConfig::builder()
        .behavior_version(aws_config::BehaviorVersion::latest())
        .region(aws_config::Region::new("eu-west-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build();
    Eks::new(&config)
}

#[tokio::test]
async fn a_token_ends_a_minute_before_the_api_server_says_so_and_with_its_credentials() {
    let now = Timestamp::now();
    let token = eks(None).token("prod").await.unwrap();
    let lasts = token.expires.duration_since(now);
    assert!(lasts <= SignedDuration::from_mins(14) + SignedDuration::from_secs(5), "{lasts}");
    assert!(lasts > SignedDuration::from_mins(13), "{lasts}");
    let soon = std::time::SystemTime::now() + std::time::Duration::from_mins(2);
    let token = eks(Some(soon)).token("prod").await.unwrap();
    assert!(token.expires.duration_since(now) <= SignedDuration::from_secs(121));
}

#[tokio::test]
async fn a_token_is_never_shown() {
    let token = eks(None).token("prod").await.unwrap();
    assert!(!format!("{token:?}").contains("k8s-aws"));
}

#[tokio::test]
async fn without_credentials_the_error_says_so() {
    let config = SdkConfig::builder()
        .behavior_version(aws_config::BehaviorVersion::latest())
        .region(aws_config::Region::new("eu-west-1"))
        .build();
    let error = Eks::new(&config).token("prod").await.unwrap_err();
    assert!(error.to_string().contains("credentials"), "{error}");
}
