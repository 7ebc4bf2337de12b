//! Annotations `outrigger.dev/…` of NodePools.

use domain::drift_waves::DEFAULT_SOAK;
use domain::expiration::Expiration;
use domain::node_pool_options::NodePoolOptions;
use domain::pdb::CountOrPercent;
use domain::zone_balance::ZoneBalance;
use domain::{SignedDuration, Timestamp};

use super::read;
use crate::object::Object;

/// What a NodePool with these annotations reads as, and the warnings about them.
#[track_caller]
fn annotated(annotations: &str) -> (NodePoolOptions, Vec<String>) {
    let text = format!(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: default\n  \
         annotations: {{{annotations}}}\nspec:\n  template:\n    spec:\n      \
         nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}\n      \
         requirements: []\n"
    );
    let mut objects = read(&text);
    assert!(objects.errors.is_empty(), "{:?}", objects.errors);
    let warnings = objects.warnings.iter().map(ToString::to_string).collect();
    match objects.objects.remove(0).value {
        Object::NodePool(pool) => (pool.options, warnings),
        other => panic!("{other:?}"),
    }
}

#[test]
fn expiration_is_read_from_three_annotations() {
    let (options, warnings) = annotated(
        "outrigger.dev/expiration: graceful, outrigger.dev/expiration-spread: 10%, \
         outrigger.dev/expire-by: 48h",
    );
    let expire_by = Some(SignedDuration::from_hours(48));
    assert_eq!(options.expiration, Expiration { is_graceful: true, spread_percent: 10, expire_by });
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(annotated("outrigger.dev/expiration: forceful").0, NodePoolOptions::default());
    assert_eq!(annotated("").0, NodePoolOptions::default());
}

#[test]
fn annotations_of_expiration_that_say_nothing_force_no_node() {
    let (options, warnings) = annotated(
        "outrigger.dev/expiration: gracefull, outrigger.dev/expiration-spread: '10', \
         outrigger.dev/expire-by: 2d",
    );
    assert_eq!(
        options.expiration,
        Expiration { is_graceful: true, spread_percent: 0, expire_by: None }
    );
    let said = [
        ("expiration", "\"gracefull\" is neither graceful nor forceful"),
        ("expiration-spread", "\"10\" is not a whole percentage"),
        ("expire-by", "\"2d\" is not a duration"),
    ];
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    for ((key, what), warning) in said.into_iter().zip(&warnings) {
        let field = format!("metadata.annotations[\"outrigger.dev/{key}\"]");
        assert!(warning.contains(&field) && warning.contains(what), "{warning}");
        assert!(warning.contains("default"), "{warning}");
    }
    for percent in ["101%", "-1%", "1.5%", "%", "+5%"] {
        let (options, warnings) =
            annotated(&format!("outrigger.dev/expiration-spread: '{percent}'"));
        assert_eq!((options.expiration.spread_percent, warnings.len()), (0, 1), "{percent}");
    }
}

#[test]
fn a_utilization_threshold_is_a_percentage() {
    let (options, warnings) = annotated("outrigger.dev/consolidate-below: 50%");
    assert_eq!((options.consolidate_below, warnings.len()), (Some(50), 0));
    for wrong in ["0.5", "0%", "101%", "half"] {
        let (options, warnings) = annotated(&format!("outrigger.dev/consolidate-below: '{wrong}'"));
        assert_eq!((options.consolidate_below, warnings.len()), (None, 1), "{wrong}");
        assert!(warnings[0].contains("outrigger.dev/consolidate-below"), "{warnings:?}");
    }
}

#[test]
fn off_hours_are_read_from_five_annotations() {
    let text = "outrigger.dev/off-schedule: 0 20 * * mon-fri, outrigger.dev/off-duration: 12h, \
                outrigger.dev/off-time-zone: Asia/Seoul, outrigger.dev/off-grace: 30m, \
                outrigger.dev/awake-until: 2026-11-23T15:00:00Z";
    let (options, warnings) = annotated(text);
    assert!(warnings.is_empty(), "{warnings:?}");
    let own = options.off_hours.unwrap();
    assert_eq!(own.window.duration, SignedDuration::from_hours(12));
    assert_eq!(own.grace, Some(SignedDuration::from_mins(30)));
    assert_eq!(own.awake_until, "2026-11-23T15:00:00Z".parse().ok());
    for (from, to) in
        [("0 20 * * mon-fri", "every evening"), ("12h", "half a day"), ("Asia/Seoul", "Mars/Base")]
    {
        let (options, warnings) = annotated(&text.replace(from, to));
        assert_eq!((options.off_hours, warnings.len()), (None, 1), "{to}: {warnings:?}");
    }
    let (options, warnings) = annotated("outrigger.dev/off-schedule: 0 20 * * *");
    assert_eq!((options.off_hours, warnings.len()), (None, 1));
    let (options, warnings) = annotated(&text.replace("2026-11-23T15:00:00Z", "tonight"));
    assert_eq!((options.off_hours.unwrap().awake_until, warnings.len()), (Some(Timestamp::MAX), 1));
}

#[test]
fn drift_waves_are_read_from_five_annotations() {
    let text = "outrigger.dev/drift-waves: '1, 10%, 50%, 100%', outrigger.dev/drift-soak: 20m, \
                outrigger.dev/drift-halt-after: '2', \
                outrigger.dev/drift-halted: 0123456789abcdef image ami-2, \
                outrigger.dev/drift-failures: 0123456789abcdef web-1=2026-11-23T15:00:00Z!";
    let (options, warnings) = annotated(text);
    assert!(warnings.is_empty(), "{warnings:?}");
    let own = options.drift_waves.unwrap();
    let (count, percent) = (CountOrPercent::Count, CountOrPercent::Percent);
    assert_eq!(own.sizes, [count(1), percent(10), percent(50), percent(100)]);
    assert_eq!((own.soak, own.halt_after), (SignedDuration::from_mins(20), Some(2)));
    assert_eq!(&*own.halt_of("0123456789abcdef").unwrap(), "image ami-2");
    assert!(own.failures.contains("web-1"));
    assert_eq!(annotated("outrigger.dev/drift-soak: 20m").0.drift_waves, None);
}

#[test]
fn nothing_drifts_where_waves_say_nothing() {
    for wrong in ["", "1, 0%", "1, 101%", "0", "a few", "1,,2", "-1"] {
        let (options, warnings) = annotated(&format!("outrigger.dev/drift-waves: '{wrong}'"));
        let own = options.drift_waves.unwrap();
        assert!(own.halt_of("0123456789abcdef").is_some(), "{wrong}");
        assert!(warnings.len() == 1 && warnings[0].contains("drift-waves"), "{warnings:?}");
    }
    let (options, warnings) = annotated(
        "outrigger.dev/drift-halt-after: never, outrigger.dev/drift-soak: soon, \
         outrigger.dev/drift-failures: x y",
    );
    let own = options.drift_waves.unwrap();
    assert_eq!((own.halt_after, own.soak, warnings.len()), (Some(1), DEFAULT_SOAK, 3));
}

#[test]
fn balance_over_zones_is_a_percentage_with_a_premium_beside_it() {
    let (options, warnings) =
        annotated("outrigger.dev/zone-balance: 20%, outrigger.dev/zone-balance-premium: 10%");
    let expected = ZoneBalance { above_percent: 20, premium_percent: 10 };
    assert_eq!((options.zone_balance, warnings.len()), (Some(expected), 0));
    let (options, _) = annotated("outrigger.dev/zone-balance: 0%");
    assert_eq!(options.zone_balance.map(|own| own.premium_percent), Some(5));
    let (options, warnings) = annotated("outrigger.dev/zone-balance: even");
    assert_eq!((options.zone_balance, warnings.len()), (None, 1));
    let (options, warnings) = annotated("outrigger.dev/zone-balance-premium: 5%");
    assert_eq!((options.zone_balance, warnings.len()), (None, 1), "{warnings:?}");
}
