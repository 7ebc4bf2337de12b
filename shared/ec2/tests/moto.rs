//! The adapter against moto, which speaks EC2's, IAM's and Systems Manager's protocols.
//!
//! Where `moto_server` is not installed (PyPI: `moto[server]`), each test says so and passes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy does not exempt as it does tests"
)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws::budget::Unmetered;
use aws::cluster::{ClusterFacts, IpFamily, KubernetesVersion};
use aws::store::CatalogStore;
use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_ec2::config::{Credentials, Region};
use aws_sdk_ec2::types::{Filter, Tag};
use controllers::ports::cloud::{LaunchCall, NodeClassResolution, TagRequest};
use controllers::ports::{Cloud, InstanceState, LaunchOutcome, PortError, Termination};
use controllers::record::launch::LaunchRequest;
use domain::instance_type::CapacityType;
use domain::label::Labels;
use domain::node_class::{
    AmiFamily, Ec2NodeClass, Ec2NodeClassSpec, Ec2NodeClassStatus, SelectorTerm,
};
use domain::plan::LaunchOffering;
use domain::{Text, Timestamp};
use ec2::catalogue::{Catalogue, refresh};
use ec2::{Calls, Ec2, Ec2Settings};

const REGION: &str = "us-east-1";
/// How long moto may take to answer for the first time.
const START_MAX: Duration = Duration::from_mins(1);

/// A moto server of its own, which ends with the test.
struct Moto {
    process: Child,
    config: SdkConfig,
}

impl Moto {
    /// `None` where it is not installed.
    async fn start() -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let spawned = Command::new("moto_server")
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let process = match spawned {
            Ok(process) => process,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                println!("skipped: moto_server is not installed");
                return None;
            }
            Err(error) => panic!("moto_server does not start: {error}"),
        };
        let config = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::from_static(REGION))
            .credentials_provider(Credentials::new("AKIA", "secret", None, None, "test"))
            .endpoint_url(format!("http://127.0.0.1:{port}"))
            .retry_config(RetryConfig::disabled())
            .load()
            .await;
        let own = Self { process, config };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < START_MAX, "moto_server does not answer");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Some(own)
    }

    fn ec2(&self) -> aws_sdk_ec2::Client {
        aws_sdk_ec2::Client::new(&self.config)
    }

    fn calls(&self) -> Calls {
        Calls::new(&self.config, Arc::new(Unmetered)).unwrap()
    }

    fn cloud(&self) -> Ec2 {
        let catalogue = Catalogue::embedded(REGION).unwrap();
        Ec2::new(self.calls(), cluster(), catalogue, Ec2Settings::default())
    }

    /// A node class over moto's default VPC, with a role and an image that are there.
    async fn node_class(&self) -> Ec2NodeClass {
        let ec2 = self.ec2();
        let subnets = ec2.describe_subnets().send().await.unwrap();
        let ids = subnets.subnets().iter().filter_map(|own| own.subnet_id().map(str::to_owned));
        let tag = Tag::builder().key("karpenter.sh/discovery").value("prod").build();
        ec2.create_tags().set_resources(Some(ids.collect())).tags(tag).send().await.unwrap();
        let amd64 = Filter::builder().name("architecture").values("x86_64").build();
        let images = ec2.describe_images().filters(amd64).send().await.unwrap();
        let image: Text = images.images()[0].image_id().unwrap().into();
        aws_sdk_iam::Client::new(&self.config)
            .create_role()
            .role_name("nodes")
            .assume_role_policy_document("{}")
            .send()
            .await
            .unwrap();
        let discovered = SelectorTerm {
            tags: Labels::from([("karpenter.sh/discovery".into(), "*".into())]),
            ..SelectorTerm::default()
        };
        let group = SelectorTerm { name: Some("default".into()), ..SelectorTerm::default() };
        let image = SelectorTerm { id: Some(image), ..SelectorTerm::default() };
        Ec2NodeClass {
            uid: "7b4a".into(),
            spec: Ec2NodeClassSpec {
                subnet_selector_terms: vec![discovered],
                security_group_selector_terms: vec![group],
                ami_selector_terms: vec![image],
                ami_family: AmiFamily::Al2023,
                role: Some("nodes".into()),
                tags: Labels::from([("team".into(), "blue".into())]),
                ..Ec2NodeClassSpec::default()
            },
            ..testkit::node_class("default")
        }
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn cluster() -> ClusterFacts {
    ClusterFacts {
        name: "prod".into(),
        endpoint: "https://ABC.gr7.us-east-1.eks.amazonaws.com".into(),
        certificate_authority: "Q0E=".into(),
        version: KubernetesVersion { major: 1, minor: 33 },
        service_cidr: Some("10.100.0.0/16".into()),
        ip_family: IpFamily::Ipv4,
    }
}

/// The class, with a status of what was resolved.
fn resolved(class: &Ec2NodeClass, resolution: NodeClassResolution) -> Ec2NodeClass {
    let groups = resolution.security_groups.unwrap();
    let status = Ec2NodeClassStatus {
        subnets: resolution.subnets.unwrap(),
        security_groups: groups.into_iter().map(|own| own.id).collect(),
        amis: resolution.amis.unwrap(),
        instance_profile: Some(resolution.instance_profile.unwrap()),
        ready: Some(true),
        ..Ec2NodeClassStatus::default()
    };
    Ec2NodeClass { status, ..class.clone() }
}

fn request(name: &str, offerings: Vec<LaunchOffering>) -> LaunchRequest {
    LaunchRequest {
        token: format!("uid-of-{name}").into(),
        claim: name.into(),
        node_pool: "default".into(),
        node_class: "default".into(),
        offerings,
        labels: Labels::from([("karpenter.sh/nodepool".into(), "default".into())]),
        ..LaunchRequest::default()
    }
}

#[tokio::test]
async fn a_claim_comes_to_an_instance_and_to_nothing_again() {
    let Some(moto) = Moto::start().await else { return };
    let cloud = moto.cloud();
    let class = moto.node_class().await;
    let class = resolved(&class, cloud.resolve_node_class(&class).await.unwrap());

    let types = cloud.instance_types(std::slice::from_ref(&class)).await.unwrap();
    let m5 = types.of("default").iter().find(|own| &*own.name == "m5.large").unwrap();
    let offerings = |capacity_type: CapacityType| -> Vec<LaunchOffering> {
        m5.offerings
            .iter()
            .filter(|own| own.capacity_type == capacity_type && own.is_usable())
            .map(|own| LaunchOffering {
                price: own.price,
                instance_type: m5.name.clone(),
                zone: own.zone.clone(),
                capacity_type,
                reservation_id: None,
            })
            .collect()
    };
    let requests = [
        request("default-1", offerings(CapacityType::Spot)),
        request("default-2", offerings(CapacityType::OnDemand)),
    ];
    let calls = requests.map(|own| LaunchCall { request: own.into(), is_repeat: false });
    let outcomes = cloud.launch(&calls, std::slice::from_ref(&class)).await.unwrap();
    let mut ids = Vec::new();
    for (outcome, wanted) in outcomes.iter().zip([CapacityType::Spot, CapacityType::OnDemand]) {
        let LaunchOutcome::Launched { instance, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!((&*instance.instance_type, instance.capacity_type), ("m5.large", wanted));
        ids.push(instance.id.clone());
    }

    let listed = cloud.instances().await.unwrap();
    let mut claims: Vec<_> = listed.iter().filter_map(|own| own.claim.as_deref()).collect();
    claims.sort_unstable();
    assert_eq!(claims, ["default-1", "default-2"]);
    assert!(listed.iter().all(|own| own.state == InstanceState::Running));
    assert_eq!(listed[0].node_pool.as_deref(), Some("default"));

    let name = |id: &Text| TagRequest {
        instance_id: id.clone(),
        tags: Labels::from([("Name".into(), format!("node-of-{id}").into())]),
    };
    let tagged = cloud.tag(&ids.iter().map(name).collect::<Vec<_>>()).await.unwrap();
    assert_eq!(tagged, [Ok(()), Ok(())]);

    let unknown: Text = "i-0123456789abcdef0".into();
    let all = [ids[0].clone(), unknown, ids[1].clone()];
    let ended = cloud.terminate(&all).await.unwrap();
    assert_eq!(ended, [Termination::ShuttingDown, Termination::Unknown, Termination::ShuttingDown]);
    assert_eq!(cloud.instances().await.unwrap(), []);
}

#[tokio::test]
async fn a_launch_template_holds_what_the_class_says_and_goes_with_it() {
    let Some(moto) = Moto::start().await else { return };
    let cloud = moto.cloud();
    let class = moto.node_class().await;
    let resolution = cloud.resolve_node_class(&class).await.unwrap();
    assert_eq!(resolution.validation, Ok(()), "dry runs pass");
    assert_eq!(resolution.subnets.as_ref().unwrap().len(), 6);
    let profile = resolution.instance_profile.clone().unwrap();
    // What is there is found again, by a process that never saw it made.
    let again = moto.cloud().resolve_node_class(&class).await.unwrap();
    assert_eq!(again.instance_profile.as_ref(), Ok(&profile));

    let ec2 = moto.ec2();
    let templates = ec2.describe_launch_templates().send().await.unwrap();
    let [template] = templates.launch_templates() else { panic!("{templates:?}") };
    let tag =
        |key: &str| template.tags().iter().find(|tag| tag.key() == Some(key)).and_then(Tag::value);
    assert_eq!(tag("outrigger.dev/cluster"), Some("prod"));
    assert_eq!(tag("karpenter.k8s.aws/ec2nodeclass"), Some("default"));

    let class = resolved(&class, resolution);
    cloud.release_node_class(&class).await.unwrap();
    let templates = ec2.describe_launch_templates().send().await.unwrap();
    assert_eq!(templates.launch_templates(), []);
    let profiles =
        aws_sdk_iam::Client::new(&moto.config).list_instance_profiles().send().await.unwrap();
    assert_eq!(profiles.instance_profiles(), []);
    cloud.release_node_class(&class).await.unwrap();
}

#[tokio::test]
async fn a_class_whose_role_or_subnets_are_missing_says_so() {
    let Some(moto) = Moto::start().await else { return };
    let mut class = moto.node_class().await;
    class.spec.role = Some("nobody".into());
    let unknown = SelectorTerm { id: Some("subnet-0".into()), ..SelectorTerm::default() };
    class.spec.subnet_selector_terms = vec![unknown];
    let resolution = moto.cloud().resolve_node_class(&class).await.unwrap();
    assert_eq!(&*resolution.subnets.unwrap_err().reason, "SubnetsNotFound");
    let profile = resolution.instance_profile.unwrap_err();
    assert_eq!((&*profile.reason, profile.is_passing), ("InstanceProfileRoleNotFound", false));
    assert_eq!(&*resolution.validation.unwrap_err().reason, "DependenciesNotReady");
    assert!(resolution.amis.is_ok() && resolution.security_groups.is_ok());
}

/// A store in memory.
#[derive(Default)]
struct Memory(RefCell<BTreeMap<String, Vec<u8>>>);

impl CatalogStore for Memory {
    async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<(), PortError> {
        self.0.borrow_mut().insert(key.to_owned(), bytes);
        Ok(())
    }

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, PortError> {
        Ok(self.0.borrow().get(key).cloned())
    }
}

#[tokio::test]
async fn the_catalogue_is_gathered_once_and_read_by_all() {
    let Some(moto) = Moto::start().await else { return };
    let store = Memory::default();
    let before = Catalogue::load(&store, REGION).await.unwrap();
    assert_eq!(before.made, None, "nothing is stored yet: the embedded one");
    let now = Timestamp::from_second(1_795_262_400).unwrap();
    let refreshed = refresh(&moto.calls(), &before, now).await.unwrap();
    // moto has no price list: list prices known before stay.
    assert_eq!(refreshed.stale.len(), 1, "{:?}", refreshed.stale);
    assert_eq!(&*refreshed.stale[0].operation, "GetProducts");
    refreshed.catalogue.save(&store).await.unwrap();
    let stored: usize = store.0.borrow().values().map(Vec::len).sum();
    println!("the stored catalogue has {stored} bytes");
    assert!(stored < 400_000, "{stored} bytes");

    let read = Catalogue::load(&store, REGION).await.unwrap();
    assert_eq!(read, refreshed.catalogue);
    assert_eq!(read.made, Some(now));
    assert!(read.catalog.types().len() > 1000);
    let facts = read.catalog.find("m5.large").unwrap();
    assert_eq!(Some(facts), before.catalog.find("m5.large"), "EC2 says what is embedded");
    let spot = read.spot_prices.unwrap();
    assert!(spot["m5.large"].contains_key("us-east-1a"));
}
