use domain::SignedDuration;
use domain::image_age::ImageAge;
use domain::instance_overhead::InstanceOverhead;
use domain::node_class::{
    AmiFamily, Ec2NodeClass, EvictionThreshold, MetadataOptions, PlacementGroupSelector,
};
use domain::quantity::Quantity;
use domain::resource::{CPU, MEMORY};

use super::{errors, indented, only_object, read};
use crate::object::Object;

/// What every EC2NodeClass needs; parts are replaced by `with`.
const SPEC: &str = "role: KarpenterNodeRole
amiSelectorTerms: [{alias: al2023@latest}]
subnetSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
";

fn manifest(spec: &str) -> String {
    let spec = indented(spec, 2);
    format!(
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {{name: default}}\nspec:\n{spec}"
    )
}

/// The usual specification with fields replaced or added, one a line.
fn with(fields: &str) -> String {
    let key = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    let replaced: Vec<String> = fields.lines().map(key).collect();
    let kept = SPEC.lines().filter(|line| !replaced.contains(&key(line)));
    kept.chain(fields.lines())
        .flat_map(|line| {
            [
                line, "
",
            ]
        })
        .collect()
}

#[track_caller]
fn class(fields: &str) -> Ec2NodeClass {
    match only_object(&manifest(&with(fields))) {
        Object::Ec2NodeClass(class) => *class,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refuses(fields: &str, expected: &[&str]) {
    let shown: Vec<String> = errors(&manifest(&with(fields)))
        .iter()
        .map(|error| {
            let (what, place) = error.rsplit_once(" (").unwrap();
            let field = place.rsplit_once("field ").map_or("", |(_, field)| field);
            format!("{}: {what}", field.trim_end_matches(')').trim_start_matches("spec."))
        })
        .collect();
    assert_eq!(shown, expected, "{fields}");
}

#[test]
fn what_is_left_out_has_karpenters_default() {
    let class = class("");
    assert_eq!(class.spec.ami_family, AmiFamily::Al2023);
    assert_eq!(class.spec.metadata_options, MetadataOptions::default());
    assert_eq!(class.spec.metadata_options.hop_limit, 1);
    assert!(!class.spec.detailed_monitoring && !class.spec.instance_store_raid0);
    assert_eq!(class.status.ready, None);
}

#[test]
fn every_field_is_read() {
    let class = class(
        "capacityReservationSelectorTerms: [{ownerID: '123456789012', instanceMatchCriteria: open}]
placementGroupSelector: {id: pg-0123}
associatePublicIPAddress: false
ipPrefixCount: 2
amiSelectorTerms: [{alias: bottlerocket@v1.20.0}]
userData: echo hello
tags: {team: blue}
blockDeviceMappings: [{deviceName: /dev/xvda, rootVolume: true, ebs: {volumeSize: 1000Gi, volumeType: gp3, iops: 3000, throughput: 125, encrypted: true, deleteOnTermination: true, kmsKeyID: k, snapshotID: snap-1, volumeInitializationRate: 200}}]
instanceStorePolicy: RAID0
networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 1, deviceIndex: 1, interfaceType: efa-only}]
detailedMonitoring: true
metadataOptions: {httpEndpoint: disabled, httpProtocolIPv6: enabled, httpPutResponseHopLimit: 2, httpTokens: optional}
connectionTracking: {tcpEstablishedTimeout: 3600, udpTimeout: 30}
context: ctx
cpuOptions: {nestedVirtualization: enabled}
kubelet: {maxPods: 42, kubeReserved: {cpu: 100m, memory: 1Gi}, evictionHard: {memory.available: 5%, nodefs.available: 1Gi}, evictionSoft: {memory.available: 10%}, evictionSoftGracePeriod: {memory.available: 1m30s}, clusterDNS: [10.0.1.100], imageGCHighThresholdPercent: 85, imageGCLowThresholdPercent: 80, cpuCFSQuota: true}",
    );
    let spec = class.spec;
    assert_eq!(spec.ami_family, AmiFamily::Bottlerocket);
    assert_eq!(spec.placement_group, Some(PlacementGroupSelector::Id("pg-0123".into())));
    assert_eq!(spec.capacity_reservation_selector_terms[0].owner.as_deref(), Some("123456789012"));
    assert_eq!(spec.block_device_mappings[0].volume_size_bytes, Some(1000 << 30));
    assert_eq!(spec.block_device_mappings[0].volume_initialization_rate, Some(200));
    assert!(spec.network_interfaces[1].is_efa_only);
    assert_eq!(spec.metadata_options.hop_limit, 2);
    assert!(!spec.metadata_options.tokens_required && !spec.metadata_options.http_endpoint);
    assert_eq!(spec.connection_tracking.unwrap().tcp_established_seconds, Some(3600));
    assert_eq!(spec.nested_virtualization, Some(true));
    let kubelet = spec.kubelet;
    assert_eq!(kubelet.max_pods, Some(42));
    assert_eq!(kubelet.kube_reserved.get(CPU), 100);
    assert_eq!(kubelet.kube_reserved.get(MEMORY), 1 << 30);
    assert_eq!(kubelet.eviction_hard["memory.available"], EvictionThreshold::PercentMillis(5000));
    assert_eq!(
        kubelet.eviction_hard["nodefs.available"],
        EvictionThreshold::Amount(Quantity::from_units(1 << 30))
    );
    assert_eq!(kubelet.eviction_soft_grace_period["memory.available"], 90);
}

#[test]
fn any_setting_of_the_kubelet_is_kept_for_images_that_can_pass_it_on() {
    let class = class("kubelet: {cpuManagerPolicy: static, featureGates: {B: true, A: false}}");
    assert_eq!(&*class.spec.kubelet.other["featureGates"], r#"{"A":false,"B":true}"#);
    refuses(
        "kubelet: {cpuManagerPolicy: static}\namiSelectorTerms: [{alias: al2@latest}]",
        &[
            "kubelet.cpuManagerPolicy: images of family AL2 cannot pass cpuManagerPolicy on to the kubelet",
        ],
    );
}

#[test]
fn the_family_comes_from_the_alias_or_must_be_given() {
    refuses(
        "amiSelectorTerms: [{id: ami-0123}]",
        &["amiFamily: amiFamily is needed where no alias of amiSelectorTerms names the family"],
    );
    refuses(
        "amiFamily: AL2",
        &["amiFamily: amiFamily AL2 does not match the alias, whose family is AL2023"],
    );
    refuses(
        "amiFamily: Ubuntu",
        &[
            "amiFamily: \"Ubuntu\" is not one of AL2, AL2023, Bottlerocket, Custom, Windows2019, Windows2022, Windows2025",
        ],
    );
    assert_eq!(class("amiFamily: Custom").spec.ami_family, AmiFamily::Custom);
    assert_eq!(
        class("amiSelectorTerms: [{id: ami-0123}]\namiFamily: AL2").spec.ami_family,
        AmiFamily::Al2
    );
}

#[test]
fn role_and_instance_profile_exclude_each_other() {
    refuses("instanceProfile: p", &["spec: exactly one of role and instanceProfile is needed"]);
    refuses("role:", &["spec: exactly one of role and instanceProfile is needed"]);
    refuses("role: ''", &["role: it may not be empty"]);
}

#[test]
fn selector_terms_keep_the_rules_of_the_api() {
    for (fields, expected) in [
        ("subnetSelectorTerms: []", "subnetSelectorTerms: at least one term is needed"),
        ("subnetSelectorTerms:", "subnetSelectorTerms: the field is missing"),
        (
            "subnetSelectorTerms: [{}]",
            "subnetSelectorTerms[0]: the term selects nothing: it needs one of tags, id",
        ),
        (
            "subnetSelectorTerms: [{id: subnet-1, tags: {a: b}}]",
            "subnetSelectorTerms[0]: id cannot stand beside tags in a term",
        ),
        (
            "subnetSelectorTerms: [{id: sg-1}]",
            "subnetSelectorTerms[0].id: \"sg-1\" is not of the form subnet-0123456789abcdef0",
        ),
        (
            "subnetSelectorTerms: [{tags: {a: ''}}]",
            "subnetSelectorTerms[0].tags: a tag's key and value may not be empty: write \"*\" for any value",
        ),
        (
            "securityGroupSelectorTerms: [{name: web, tags: {a: b}}]",
            "securityGroupSelectorTerms[0]: name cannot stand beside tags in a term",
        ),
        (
            "securityGroupSelectorTerms: [{nam: web, id: sg-1}]",
            "securityGroupSelectorTerms[0].nam: the field is not known",
        ),
        (
            "capacityReservationSelectorTerms: [{ownerID: '1', id: cr-1}]",
            "capacityReservationSelectorTerms[0]: id cannot stand beside ownerID in a term",
        ),
        (
            "amiSelectorTerms: [{alias: al2023@latest}, {id: ami-1}]",
            "amiSelectorTerms[0].alias: an alias must be the only term",
        ),
        (
            "amiSelectorTerms: [{alias: al2023}]",
            "amiSelectorTerms[0].alias: \"al2023\" is not an alias: it takes a family and a version of at most \
             30 characters together, such as al2023@latest",
        ),
        (
            "amiSelectorTerms: [{alias: windows2022@v1}]",
            "amiSelectorTerms[0].alias: \"windows2022@v1\" is not an alias: Windows images have no version but latest",
        ),
        (
            "placementGroupSelector: {}",
            "placementGroupSelector: exactly one of name and id is needed",
        ),
    ] {
        let manifest = manifest(&with(fields));
        let shown = errors(&manifest);
        let (field, what) = expected.split_once(": ").unwrap();
        assert!(
            shown.iter().any(|error| error.starts_with(&format!("{what} ("))
                && error.ends_with(&format!("field spec.{field})"))),
            "{fields}: {shown:#?}"
        );
    }
    let many = format!("subnetSelectorTerms: [{}]", vec!["{id: subnet-1}"; 31].join(", "));
    refuses(&many, &["subnetSelectorTerms: 31 terms are too many: at most 30 are allowed"]);
}

#[test]
fn tags_that_say_whose_an_instance_is_are_restricted() {
    refuses(
        "tags: {eks:eks-cluster-name: a, kubernetes.io/cluster/demo: owned, karpenter.sh/nodeclaim: b, team: c}",
        &[
            "tags.eks:eks-cluster-name: tag eks:eks-cluster-name is restricted: it says whose the instance is",
            "tags[\"kubernetes.io/cluster/demo\"]: tag kubernetes.io/cluster/demo is restricted: it says whose the instance is",
            "tags[\"karpenter.sh/nodeclaim\"]: tag karpenter.sh/nodeclaim is restricted: it says whose the instance is",
        ],
    );
}

#[test]
fn kubelet_settings_keep_their_rules() {
    for (kubelet, expected) in [
        (
            "{registerWithTaints: []}",
            ".registerWithTaints: registerWithTaints is set from the NodePool's taints and startupTaints",
        ),
        ("{maxpods: 5}", ".maxpods: unknown field: a kubelet's configuration has no maxpods"),
        (
            "{maxPods: 'min(110, vcpus * 8)'}",
            ".maxPods: CEL expressions in spec.kubelet are not supported: write the number or quantity itself",
        ),
        (
            "{kubeReserved: {memory: 'memory_mib / 10'}}",
            ".kubeReserved.memory: CEL expressions in spec.kubelet are not supported: write the number or quantity itself",
        ),
        (
            "{kubeReserved: {gpu: 1}}",
            ".kubeReserved.gpu: \"gpu\" cannot be reserved: cpu, memory, ephemeral-storage and pid can",
        ),
        ("{systemReserved: {cpu: -1}}", ".systemReserved.cpu: -1 is below zero"),
        (
            "{evictionHard: {memory.free: 5%}}",
            ".evictionHard[\"memory.free\"]: \"memory.free\" is not an eviction signal: they are memory.available, \
             nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, pid.available",
        ),
        (
            "{evictionHard: {memory.available: 105%}}",
            ".evictionHard[\"memory.available\"]: \"105%\" is not an eviction threshold: it takes a percentage of \
             0% to 100%, or a quantity of at least 0",
        ),
        (
            "{evictionSoft: {memory.available: 5%}}",
            ".evictionSoft[\"memory.available\"]: signal memory.available is needed in evictionSoftGracePeriod too",
        ),
        (
            "{imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 50}",
            ".imageGCHighThresholdPercent: imageGCHighThresholdPercent 50 must be above imageGCLowThresholdPercent 50",
        ),
        (
            "{imageGCHighThresholdPercent: 101}",
            ".imageGCHighThresholdPercent: 101 is out of range: it takes 0 to 100 percent",
        ),
    ] {
        refuses(&format!("kubelet: {kubelet}"), &[&format!("kubelet{expected}")]);
    }
    refuses(
        "kubelet: {podsPerCore: 5, clusterDNS: [10.0.0.1, 10.0.0.2]}\namiSelectorTerms: [{alias: bottlerocket@latest}]",
        &[
            "kubelet.podsPerCore: images of family Bottlerocket cannot pass podsPerCore on to the kubelet",
            "kubelet.clusterDNS: images of family Bottlerocket take one clusterDNS only",
        ],
    );
}

#[test]
fn volumes_keep_their_rules() {
    for (mappings, expected) in [
        ("[{rootVolume: true}, {rootVolume: true}]", ": only one volume can be the rootVolume"),
        ("[{ebs: {volumeType: gp3}}]", "[0].ebs: snapshotID or volumeSize is needed"),
        (
            "[{ebs: {volumeSize: 100Mi}}]",
            "[0].ebs.volumeSize: \"100Mi\" is not a volume's size: it takes a whole number of Gi, G, Ti or T, at \
             most 58Ti or 64T",
        ),
        (
            "[{ebs: {volumeSize: 1Gi, volumeType: gp4}}]",
            "[0].ebs.volumeType: \"gp4\" is not one of standard, io1, io2, gp2, sc1, st1, gp3",
        ),
        (
            "[{ebs: {volumeSize: 1Gi, volumeInitializationRate: 100}}]",
            "[0].ebs.volumeInitializationRate: volumeInitializationRate needs snapshotID beside it",
        ),
        (
            "[{ebs: {snapshotID: snap-1, volumeInitializationRate: 99}}]",
            "[0].ebs.volumeInitializationRate: volumeInitializationRate 99 is out of range: it takes 100 to 300 MiB/s",
        ),
    ] {
        refuses(
            &format!("blockDeviceMappings: {mappings}"),
            &[&format!("blockDeviceMappings{expected}")],
        );
    }
}

#[test]
fn network_settings_keep_their_rules() {
    let primary = "{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}";
    let efa = "{networkCardIndex: 1, deviceIndex: 1, interfaceType: efa-only}";
    for (fields, expected) in [
        (
            format!("networkInterfaces: [{efa}]"),
            "networkInterfaces: the primary interface is needed: networkCardIndex 0, deviceIndex 0, interfaceType interface",
        ),
        (
            format!("networkInterfaces: [{primary}, {primary}]"),
            "networkInterfaces[1]: networkCardIndex 0 and deviceIndex 0 are taken by another interface",
        ),
        (
            format!(
                "networkInterfaces: [{primary}, {efa}, {}]",
                efa.replace("deviceIndex: 1", "deviceIndex: 2")
            ),
            "networkInterfaces[2]: network card 1 has another interface of type efa-only: one is allowed",
        ),
        (
            "metadataOptions: {httpPutResponseHopLimit: 65}".to_owned(),
            "metadataOptions.httpPutResponseHopLimit: 65 is out of range: it takes 1 to 64",
        ),
        (
            "metadataOptions: {httpTokens: yes-please}".to_owned(),
            "metadataOptions.httpTokens: \"yes-please\" is not one of required, optional",
        ),
        (
            "connectionTracking: {}".to_owned(),
            "connectionTracking: at least one of tcpEstablishedTimeout, udpStreamTimeout and udpTimeout is needed",
        ),
        (
            "connectionTracking: {udpTimeout: 61}".to_owned(),
            "connectionTracking.udpTimeout: 61 is out of range: it takes 30 to 60",
        ),
    ] {
        refuses(&fields, &[expected]);
    }
}

/// A class with these annotations and a status of two images, and the warnings about it.
fn annotated(annotations: &str) -> (Ec2NodeClass, Vec<String>) {
    let text = manifest(SPEC)
        .replace("{name: default}", &format!("{{name: default, annotations: {{{annotations}}}}}"));
    let mut objects = read(&format!("{text}status: {{amis: [{{id: ami-1}}, {{id: ami-2}}]}}\n"));
    assert!(objects.errors.is_empty(), "{:?}", objects.errors);
    let warnings = objects.warnings.iter().map(ToString::to_string).collect();
    match objects.objects.remove(0).value {
        Object::Ec2NodeClass(class) => (*class, warnings),
        other => panic!("{other:?}"),
    }
}

#[test]
fn images_that_a_minimum_age_holds_back_are_not_those_of_the_status() {
    let held_back = "outrigger.dev/amis-held-back: 'ami-1=2026-11-30T00:00:00Z'";
    let (class, warnings) = annotated(&format!("outrigger.dev/ami-min-age: 168h, {held_back}"));
    assert_eq!(class.image_age.min, Some(SignedDuration::from_hours(168)));
    let ids: Vec<&str> = class.status.amis.iter().map(|own| &*own.id).collect();
    assert_eq!((ids, warnings.len()), (vec!["ami-2"], 0));
    let (class, _) = annotated(held_back);
    assert_eq!((class.status.amis.len(), class.image_age), (2, ImageAge::default()));
}

#[test]
fn a_minimum_age_that_is_no_duration_holds_nothing_back_and_is_a_warning() {
    let (class, warnings) = annotated("outrigger.dev/ami-min-age: a week");
    assert_eq!((class.image_age, warnings.len()), (ImageAge::default(), 1));
    assert!(warnings[0].contains("outrigger.dev/ami-min-age"), "{warnings:?}");
    let wrong = "outrigger.dev/ami-min-age: 1h, outrigger.dev/amis-held-back: ami-1";
    assert_eq!(annotated(wrong).1.len(), 1);
}

#[test]
fn a_class_says_what_addresses_its_nodes_take_and_leave() {
    let free = "outrigger.dev/free-addresses: 'us-east-1b/subnet-2=5,us-east-1a/subnet-1=120'";
    let own = "outrigger.dev/addresses-per-pod: '2', outrigger.dev/min-free-addresses: '32'";
    let (class, warnings) = annotated(&format!("{own}, {free}"));
    let policy = class.addresses.unwrap();
    assert_eq!((policy.per_pod, policy.min_free, warnings.len()), (2, 32, 0));
    let counts: Vec<u32> = policy.free.iter().map(|own| own.count).collect();
    assert_eq!(counts, [120, 5]);
    let (class, _) = annotated("outrigger.dev/min-free-addresses: '32'");
    assert_eq!(class.addresses.unwrap().per_pod, 1);
    let (class, _) = annotated("outrigger.dev/addresses-per-pod: '0'");
    assert_eq!(class.addresses.map(|own| (own.per_pod, own.min_free)), Some((0, 0)));
    assert_eq!(annotated(free).0.addresses, None, "nothing is asked");
}

#[test]
fn what_is_no_count_of_addresses_has_no_effect_and_is_a_warning() {
    let (class, warnings) = annotated("outrigger.dev/min-free-addresses: a few");
    assert_eq!((class.addresses, warnings.len()), (None, 1));
    assert!(warnings[0].contains("outrigger.dev/min-free-addresses"), "{warnings:?}");
    let wrong =
        "outrigger.dev/min-free-addresses: '32', outrigger.dev/free-addresses: us-east-1a=5";
    let (class, warnings) = annotated(wrong);
    assert_eq!((class.addresses.map(|own| own.free.len()), warnings.len()), (Some(0), 1));
}

#[test]
fn a_class_says_what_pods_of_its_instances_cannot_use() {
    let own = "outrigger.dev/vm-memory-overhead-percent: '0.05', outrigger.dev/reserved-enis: '1'";
    let (class, warnings) = annotated(own);
    let overhead =
        InstanceOverhead { vm_memory_overhead_ppm: Some(50_000), reserved_enis: Some(1) };
    assert_eq!((class.instance_overhead, warnings.len()), (overhead, 0));
    assert_eq!(class.spec.hashes, annotated("").0.spec.hashes, "no node drifts");
    assert_eq!(annotated("").0.instance_overhead, InstanceOverhead::default());
}

#[test]
fn an_overhead_that_cannot_be_read_has_no_effect_and_costs_nothing_else() {
    let own = "outrigger.dev/vm-memory-overhead-percent: 7.5%, outrigger.dev/reserved-enis: '2'";
    let (class, warnings) = annotated(own);
    let overhead = InstanceOverhead { vm_memory_overhead_ppm: None, reserved_enis: Some(2) };
    assert_eq!((class.instance_overhead, warnings.len()), (overhead, 1));
    for part in ["outrigger.dev/vm-memory-overhead-percent", "\"7.5%\" is not a number"] {
        assert!(warnings[0].contains(part), "{warnings:?}");
    }
    assert_eq!(annotated("outrigger.dev/reserved-enis: '15'").1.len(), 1);
}
