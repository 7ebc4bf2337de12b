//! Commitments.

use domain::commitment::{Commitment, ReservedInstances, SavingsPlan, Terms};
use domain::money::UsdPerHour;

use super::{errors, only_object, read};
use crate::object::Object;

fn text(spec: &str) -> String {
    format!(
        "apiVersion: outrigger.dev/v1alpha1\nkind: Commitment\nmetadata: {{name: own}}\nspec: {spec}\n"
    )
}

#[track_caller]
fn commitment(spec: &str) -> Commitment {
    match only_object(&text(spec)) {
        Object::Commitment(commitment) => commitment,
        other => panic!("{other:?}"),
    }
}

/// The problems of a specification, with their fields.
#[track_caller]
fn refused(spec: &str) -> Vec<String> {
    let problems = errors(&text(spec)).into_iter().map(|error| {
        let (what, place) = error.rsplit_once(" (").unwrap();
        assert!(place.contains("object own"), "{place}");
        let field = place.rsplit_once("field ").map_or("", |(_, field)| field);
        format!("{}: {what}", field.trim_end_matches(')').trim_start_matches("spec."))
    });
    problems.collect()
}

fn usd(dollars: f64) -> UsdPerHour {
    UsdPerHour::from_f64(dollars).unwrap()
}

#[test]
fn a_savings_plan_for_a_family_has_dollars_and_rates() {
    let own = commitment(
        "{type: EC2InstanceSavingsPlan, hourlyCommitmentUsd: \"2.5\", instanceFamily: m7g, \
         discountPercent: 37.5, rates: {m7g.large: \"0.05\"}, share: 40, \
         start: \"2026-01-01T00:00:00Z\", end: \"2027-01-01T00:00:00Z\"}",
    );
    let terms = SavingsPlan {
        family: Some("m7g".into()),
        hourly: usd(2.5),
        discount: Some(3_750),
        rates: [("m7g.large".into(), usd(0.05))].into(),
    };
    assert_eq!((own.terms, own.share), (Terms::SavingsPlan(terms), 40));
    assert_eq!(own.start, "2026-01-01T00:00:00Z".parse().ok());
    assert_eq!(own.end, "2027-01-01T00:00:00Z".parse().ok());
}

#[test]
fn a_compute_savings_plan_holds_for_all_families() {
    let own =
        commitment("{type: ComputeSavingsPlan, hourlyCommitmentUsd: 3, discountPercent: \"20\"}");
    let Terms::SavingsPlan(plan) = &own.terms else { panic!("{own:?}") };
    assert_eq!((&plan.family, plan.hourly, plan.discount), (&None, usd(3.0), Some(2_000)));
    assert_eq!((own.share, own.start, own.end), (100, None, None));
}

#[test]
fn reserved_instances_have_a_type_a_count_and_a_scope() {
    let regional = "{type: ReservedInstances, instanceType: m5.large, count: 3, scope: Region}";
    let terms = |zone: Option<&str>, hourly| {
        let (instance_type, zone) = ("m5.large".into(), zone.map(Into::into));
        Terms::ReservedInstances(ReservedInstances { instance_type, count: 3, zone, hourly })
    };
    assert_eq!(commitment(regional).terms, terms(None, None));
    let zonal = "{type: ReservedInstances, instanceType: m5.large, count: 3, \
                 scope: AvailabilityZone, zone: us-east-1a, hourlyUsd: \"0.06\"}";
    assert_eq!(commitment(zonal).terms, terms(Some("us-east-1a"), Some(usd(0.06))));
}

#[test]
fn what_a_type_does_not_have_is_refused() {
    assert_eq!(
        refused(
            "{type: ComputeSavingsPlan, hourlyCommitmentUsd: 1, discountPercent: 20, instanceFamily: m5, count: 2}"
        ),
        [
            "count: a Commitment of type ComputeSavingsPlan has no such field",
            "instanceFamily: a Commitment of type ComputeSavingsPlan has no such field",
        ]
    );
    assert_eq!(
        refused(
            "{type: ReservedInstances, instanceType: m5.large, count: 1, scope: Region, rates: {m5.large: 1}}"
        ),
        ["rates: a Commitment of type ReservedInstances has no such field"]
    );
}

#[test]
fn what_is_missing_is_named() {
    let missing = refused("{type: EC2InstanceSavingsPlan}");
    assert!(missing.iter().any(|own| own.starts_with("instanceFamily: ")), "{missing:?}");
    let missing = refused("{type: ComputeSavingsPlan}");
    assert!(missing.iter().any(|own| own.starts_with("hourlyCommitmentUsd: ")), "{missing:?}");
    let no_rates = "a Savings Plan needs discountPercent, rates, or both";
    assert!(missing.iter().any(|own| own.ends_with(no_rates)), "{missing:?}");
}

#[test]
fn figures_out_of_range_are_refused() {
    let plan = |change: &str| {
        refused(&format!(
            "{{type: EC2InstanceSavingsPlan, instanceFamily: m5, hourlyCommitmentUsd: 1, {change}}}"
        ))
    };
    assert_eq!(
        plan("discountPercent: 100"),
        [
            "discountPercent: \"100\" is not a discount: it takes a percentage above 0 and below 100 with at most two decimals, such as 37.5"
        ]
    );
    assert_eq!(plan("rates: {m5.large: 0}"), ["rates[\"m5.large\"]: has to be above zero"]);
    assert_eq!(
        plan("rates: {c5.large: 1}"),
        ["rates[\"c5.large\"]: the plan holds for family m5 only"]
    );
    assert_eq!(
        plan("discountPercent: 20, share: 0"),
        ["share: share 0 is out of range: it takes 1 to 100, in percent"]
    );
    assert_eq!(
        plan("discountPercent: 20, start: \"2026-01-02T00:00:00Z\", end: \"2026-01-01T00:00:00Z\""),
        ["end: the end is not after the start"]
    );
}

#[test]
fn a_zone_goes_with_its_scope() {
    let reserved = |rest: &str| {
        refused(&format!("{{type: ReservedInstances, instanceType: m5.large, count: 1, {rest}}}"))
    };
    let rule = "zone: zone goes with scope AvailabilityZone, and scope AvailabilityZone needs one";
    assert_eq!(reserved("scope: AvailabilityZone"), [rule]);
    assert_eq!(reserved("scope: Region, zone: us-east-1a"), [rule]);
    let named = refused("{type: ReservedInstances, instanceType: m5, count: 1, scope: Region}");
    assert_eq!(named, ["instanceType: \"m5\" is not an instance type, such as m7g.large"]);
}

#[test]
fn a_bad_commitment_is_left_out_alone() {
    let good = text("{type: ComputeSavingsPlan, hourlyCommitmentUsd: 1, discountPercent: 20}");
    let bad = text("{type: ComputeSavingsPlan, hourlyCommitmentUsd: -1, discountPercent: 20}");
    let objects = read(&format!("{bad}---\n{good}"));
    assert_eq!((objects.objects.len(), objects.errors.len()), (1, 1));
}
