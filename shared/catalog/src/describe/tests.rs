use super::*;

fn described(network_performance: &str) -> InstanceTypeFacts {
    let answer = serde_json::json!({"InstanceTypes": [{
        "InstanceType": "x9gd.large",
        "CurrentGeneration": true,
        "Hypervisor": "nitro",
        "SupportedUsageClasses": ["on-demand", "spot"],
        "SupportedVirtualizationTypes": ["hvm"],
        "ProcessorInfo": {
            "Manufacturer": "AWS",
            "SupportedArchitectures": ["arm64"],
            "SustainedClockSpeedInGhz": 2.65,
        },
        "VCpuInfo": {"DefaultVCpus": 2},
        "MemoryInfo": {"SizeInMiB": 8192},
        "InstanceStorageInfo": {"TotalSizeInGB": 118, "NvmeSupport": "required"},
        "EbsInfo": {
            "EbsOptimizedSupport": "default",
            "EbsOptimizedInfo": {"MaximumBandwidthInMbps": 4750},
        },
        "NetworkInfo": {
            "NetworkPerformance": network_performance,
            "Ipv4AddressesPerInterface": 10,
            "NetworkCards": [
                {"NetworkCardIndex": 1, "MaximumNetworkInterfaces": 2, "BaselineBandwidthInGbps": 0.5},
                {"NetworkCardIndex": 0, "MaximumNetworkInterfaces": 3, "BaselineBandwidthInGbps": 0.75},
            ],
        },
    }]});
    let answer: Answer = serde_json::from_value(answer).unwrap();
    let figures = |text: &str| Figures::parse("figures", text).unwrap();
    let mut all = facts(
        &[answer],
        OtherFigures {
            prices: &figures("x9gd\t30000"),
            branch_interfaces: &figures("x9gd\t-\tlarge=9"),
            bandwidths: &figures(""),
        },
    );
    all.pop().unwrap()
}

#[test]
fn a_described_type_becomes_facts() {
    let facts = described("Up to 10 Gigabit");
    assert_eq!(facts.architecture, Some(Architecture::Arm64));
    assert_eq!((facts.vcpus, facts.memory_mib, facts.clock_mhz), (2, 8192, 2650));
    assert_eq!(facts.hypervisor, Some(Hypervisor::Nitro));
    assert!(facts.features.has(Feature::Spot) && facts.features.has(Feature::LocalNvme));
    assert!(!facts.features.has(Feature::BareMetal));
    assert_eq!(facts.network.interfaces_by_card, [3, 2]);
    assert_eq!(facts.network.branch_interfaces, 9);
    assert_eq!(facts.ebs_bandwidth_mbps, Some(4750));
    assert_eq!(facts.on_demand, Some(UsdPerHour::from_nanos(60_000_000)));
}

#[test]
fn bandwidth_is_what_is_sustained() {
    assert_eq!(described("Up to 10 Gigabit").network.bandwidth_mbps, Some(1250));
    assert_eq!(described("12.5 Gigabit").network.bandwidth_mbps, Some(12_500));
    assert_eq!(described("4x 100 Gigabit").network.bandwidth_mbps, Some(400_000));
    assert_eq!(described("Low to Moderate").network.bandwidth_mbps, None);
}

#[test]
fn the_region_of_a_zone_is_known_in_every_partition_and_with_or_without_opt_in() {
    for region in [
        "us-east-1",
        "eu-central-2",
        "me-central-1",
        "ap-southeast-7",
        "ap-east-2",
        "mx-central-1",
        "ca-west-1",
        "il-central-1",
        "af-south-1",
        "us-gov-west-1",
        "us-gov-east-1",
        "cn-north-1",
        "cn-northwest-1",
        "us-iso-east-1",
        "us-isob-east-1",
        "eu-isoe-west-1",
        "eusc-de-east-1",
    ] {
        for letter in ["a", "c", "f"] {
            assert_eq!(region_of(&format!("{region}{letter}")), Some(region));
        }
        assert_eq!(region_of(region), None, "it is no zone");
    }
    for zone in [
        "us-west-2-lax-1a",
        "us-west-2-lax-1b",
        "us-east-1-dfw-2a",
        "ap-southeast-1-mnl-1a",
        "us-east-1-wl1-bos-wlz-1",
        "eu-west-2-wl1-lon-wlz-1",
        "",
        "a",
        "us-east-a",
    ] {
        assert_eq!(region_of(zone), None, "{zone}");
    }
}

#[test]
fn zones_are_grouped_by_region() {
    let offered = |zone: &str| serde_json::json!({"InstanceType": "x9gd.large", "Location": zone});
    let answer: Answer = serde_json::from_value(serde_json::json!({"InstanceTypeOfferings": [
        offered("us-west-2b"), offered("us-west-2a"), offered("us-west-2-lax-1a"), offered("eu-west-1c"),
        offered("us-gov-west-1a"), offered("us-east-1-wl1-bos-wlz-1"), offered("cn-north-1b"),
        offered("ap-southeast-7a"), offered("me-central-1c"),
    ]}))
    .unwrap();
    let regions = regions(&[answer], &[described("Low")]);
    let zones: Vec<_> =
        regions.values().flat_map(|region| region.zones_of(0)).map(|zone| &**zone).collect();
    let known = [
        "ap-southeast-7a",
        "cn-north-1b",
        "eu-west-1c",
        "me-central-1c",
        "us-gov-west-1a",
        "us-west-2a",
        "us-west-2b",
    ];
    assert_eq!(zones, known);
}
