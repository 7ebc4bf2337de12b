use super::*;
use crate::label::{Labels, SPOT_INTERRUPTION_COST, SPOT_INTERRUPTIONS_MAX};

fn at(hours: i64) -> Timestamp {
    Timestamp::from_second(1_767_603_600 + hours * 3600).unwrap()
}

fn event(instance_type: &str, zone: &str, hours: i64, kind: SpotEventKind) -> SpotEvent {
    SpotEvent { instance_type: instance_type.into(), zone: zone.into(), at: at(hours), kind }
}

fn seen(all: &[(&str, &str, f64, f64)]) -> SpotHistory {
    let offering = |(name, zone, node_hours, interruptions): &(&str, &str, f64, f64)| {
        let last_interruption = (*interruptions > 0.0).then(|| at(0));
        let own = OfferingHistory {
            node_hours: *node_hours,
            interruptions: *interruptions,
            last_interruption,
            ..OfferingHistory::default()
        };
        (Text::from(*name), Text::from(*zone), own)
    };
    SpotHistory::new(at(0), all.iter().map(offering))
}

fn in_100(rates: &SpotRates, name: &str, zone: &str) -> f64 {
    rates.get(name, zone).rate.in_100_node_hours()
}

#[test]
fn what_was_seen_counts_half_after_its_half_life() {
    let mut history = SpotHistory::default();
    history.record(&event("m5.large", "a", 0, SpotEventKind::Interruption));
    history.record(&event("m5.large", "a", 0, SpotEventKind::NodeHours(8.0)));
    history.record(&event("m5.large", "a", 0, SpotEventKind::CapacityError));
    let later = history.clone().decayed_to(at(72));
    let own = later.get("m5.large", "a").unwrap();
    assert!((own.interruptions - 0.5).abs() < 1e-9 && (own.node_hours - 4.0).abs() < 1e-9);
    let sooner = history.decayed_to(at(6));
    assert!((sooner.get("m5.large", "a").unwrap().capacity_errors - 0.5).abs() < 1e-9);
}

#[test]
fn the_order_in_which_events_are_heard_of_makes_no_difference() {
    let events = [
        event("m5.large", "a", 5, SpotEventKind::Interruption),
        event("m5.large", "a", 1, SpotEventKind::NodeHours(3.0)),
        event("m5.large", "a", 9, SpotEventKind::Launch),
    ];
    let heard = |order: [usize; 3]| {
        let mut history = SpotHistory::default();
        for index in order {
            history.record(&events[index]);
        }
        *history.decayed_to(at(9)).get("m5.large", "a").unwrap()
    };
    let (first, second) = (heard([0, 1, 2]), heard([2, 0, 1]));
    assert!((first.interruptions - second.interruptions).abs() < 1e-12);
    assert!((first.node_hours - second.node_hours).abs() < 1e-12);
    assert_eq!(first.last_interruption, second.last_interruption);
}

#[test]
fn clusters_of_an_installation_know_more_together() {
    let mut all = seen(&[("m5.large", "a", 10.0, 1.0)]);
    all.merge(seen(&[("m5.large", "a", 30.0, 2.0), ("c5.large", "b", 5.0, 0.0)]));
    let own = all.get("m5.large", "a").unwrap();
    assert!((own.node_hours - 40.0).abs() < 1e-9 && (own.interruptions - 3.0).abs() < 1e-9);
    assert!(all.get("c5.large", "b").is_some());
}

#[test]
fn one_bad_hour_does_not_condemn_an_offering_and_a_bad_day_does() {
    let calm = [("m5.large", "b", 500.0, 4.0), ("c5.large", "a", 500.0, 6.0)];
    let rate = |own: (&'static str, &'static str, f64, f64)| {
        let all: Vec<_> = calm.into_iter().chain([own]).collect();
        in_100(&SpotRates::of(&seen(&all), at(0)), "r5.large", "a")
    };
    let bad_hour = rate(("r5.large", "a", 1.0, 1.0));
    let bad_day = rate(("r5.large", "a", 24.0, 24.0));
    assert!(bad_hour < 10.0, "{bad_hour} in 100 node-hours after one interruption");
    assert!(bad_day > 60.0, "{bad_day} in 100 node-hours after 24 in 24");
}

#[test]
fn where_all_are_interrupted_alike_an_unlucky_one_is_not_taken_for_worse() {
    let names: Vec<String> = (0..20).map(|n| format!("m{n}.large")).collect();
    let mut all: Vec<(&str, &str, f64, f64)> =
        names.iter().map(|name| (name.as_str(), "a", 100.0, 5.0)).collect();
    all.push(("c5.large", "b", 20.0, 3.0));
    let rates = SpotRates::of(&seen(&all), at(0));
    let unlucky = in_100(&rates, "c5.large", "b");
    assert!((4.0..8.0).contains(&unlucky), "{unlucky} where 5 are expected and 15 were seen");
}

#[test]
fn a_difference_weighs_as_far_as_it_is_more_than_chance_makes_of_none() {
    let weighed = |own: (&'static str, &'static str, f64, f64)| {
        let all = [("c5.large", "b", 400.0, 20.0), own];
        let rates = SpotRates::of(&seen(&all), at(0));
        let estimate = rates.get(own.0, own.1);
        let calm = rates.get("c5.large", "b").weighed;
        (estimate.rate.in_100_node_hours(), estimate.weighed, calm)
    };
    let (mean, unlucky, calm) = weighed(("m5.large", "a", 20.0, 2.0));
    assert!(mean > 4.8 && unlucky == calm, "{mean}: {unlucky:?} and {calm:?}");
    let (mean, bad, calm) = weighed(("m5.large", "a", 20.0, 20.0));
    let bad = bad.in_100_node_hours();
    assert!(bad > 3.0 * calm.in_100_node_hours() && bad < mean, "{mean}: {bad} and {calm:?}");
}

#[test]
fn a_new_type_is_taken_for_what_its_family_is_like() {
    let rates = SpotRates::of(
        &seen(&[
            ("m5.large", "a", 400.0, 60.0),
            ("m5.large", "b", 400.0, 60.0),
            ("c5.large", "a", 400.0, 4.0),
            ("c5.large", "b", 400.0, 4.0),
        ]),
        at(0),
    );
    let (risky, calm) = (in_100(&rates, "m5.xlarge", "c"), in_100(&rates, "c5.xlarge", "c"));
    assert!(risky > 3.0 * calm, "{risky} and {calm}");
    let nothing = SpotRates::of(&SpotHistory::default(), at(0));
    assert!((in_100(&nothing, "m5.xlarge", "c") - 1.0).abs() < 1e-9);
}

#[test]
fn an_offering_over_the_maximum_comes_back_when_its_rate_has_halved_and_not_within_two_hours() {
    let max = InterruptionRate::per_100_node_hours(2.0);
    let mut history = seen(&[("c5.large", "b", 500.0, 2.0), ("m5.large", "a", 10.0, 3.0)]);
    let is_out = |history: &SpotHistory, hours: i64| {
        let rates = SpotRates::of(history, at(hours));
        rates.is_over(&rates.get("m5.large", "a"), max)
    };
    assert!(is_out(&history, 0));
    // A thousand calm hours at once say that it is not like that after all.
    history.record(&event("m5.large", "a", 1, SpotEventKind::NodeHours(2000.0)));
    let rates = SpotRates::of(&history, at(1));
    assert!(rates.get("m5.large", "a").rate < max);
    assert!(!is_out(&history, 3));
    let calm = SpotRates::of(&seen(&[("c5.large", "b", 500.0, 2.0)]), at(0));
    assert!(!calm.is_over(&calm.get("c5.large", "b"), max));
}

#[test]
fn what_no_longer_counts_is_forgotten() {
    let history = seen(&[("m5.large", "a", 10.0, 3.0)]);
    assert!(!history.clone().decayed_to(at(24 * 20)).pruned().is_empty());
    assert!(history.decayed_to(at(24 * 60)).pruned().is_empty());
}

#[test]
fn a_history_keeps_no_more_offerings_than_a_region_has() {
    let all = (0..OFFERINGS_MAX + 100).map(|n| {
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let own = OfferingHistory { node_hours: 1.0 + n as f64, ..OfferingHistory::default() };
        (Text::from(format!("m{n}.large")), Text::from("a"), own)
    });
    let pruned = SpotHistory::new(at(0), all).pruned();
    assert_eq!(pruned.iter().count(), OFFERINGS_MAX);
    assert!(pruned.get("m0.large", "a").is_none(), "that of which least is known goes first");
}

#[test]
fn annotations_say_what_an_interruption_costs() {
    let policy = |cost: &str, max: &str| {
        let own: Labels = [
            (SPOT_INTERRUPTION_COST.into(), cost.into()),
            (SPOT_INTERRUPTIONS_MAX.into(), max.into()),
        ]
        .into();
        let errors = SpotPolicy::errors(&own).iter().map(|(_, own)| own.to_string()).collect();
        (SpotPolicy::of(&own), errors)
    };
    let (own, errors): (SpotPolicy, Vec<String>) = policy("15m", "2");
    assert_eq!(own.cost, Some(InterruptionCost::NodeTime(SignedDuration::from_mins(15))));
    assert_eq!(own.max, Some(InterruptionRate::from_micros(20_000)));
    assert!(errors.is_empty());
    assert_eq!(policy("$0.02", "0.5").0.cost, Some(InterruptionCost::PerPod(20_000_000)));
    assert_eq!(policy("0m", "2").0.cost, None, "zero is the default");
    for wrong in ["soon", "15", "-5m", "$", "$-1", "$1e3", ""] {
        let (own, errors) = policy(wrong, "two");
        assert_eq!((own, errors.len()), (SpotPolicy::default(), 2), "{wrong:?}");
    }
    assert!(!SpotPolicy::of(&Labels::new()).is_set());
}

#[test]
fn an_interruption_cost_is_written_as_it_is_read() {
    for text in ["15m", "1h30m", "90s", "$0.02", "$3", "0s"] {
        let cost = InterruptionCost::parse(text).unwrap();
        assert_eq!(InterruptionCost::parse(&cost.to_string()), Some(cost), "{text} {cost}");
    }
    assert_eq!(InterruptionCost::parse("90m").unwrap().to_string(), "1h30m");
    assert_eq!(InterruptionCost::parse("soon"), None);
}

#[test]
fn a_share_is_whole_percent_and_lets_one_replica_be_anywhere() {
    let share = SpotOfferingShare::parse("30%").unwrap();
    assert_eq!([0, 1, 3, 4, 10, 11].map(|count| share.most_of(count)), [1, 1, 1, 1, 3, 3]);
    for wrong in ["30", "0%", "101%", "-5%", "%", "1.5%"] {
        assert!(SpotOfferingShare::parse(wrong).is_err(), "{wrong}");
    }
}
