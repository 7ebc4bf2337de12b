//! A quick plan of a large workload costs little more than a full one.

use domain::settings::SearchEffort;
use outrigger_tests::workload::{Market, Workload, snapshot};
use planning::scheduling::schedule;

#[test]
fn a_quick_plan_of_ten_thousand_pods_costs_two_percent_more_than_a_full_one_at_most() {
    let [quick, full] = [SearchEffort::Quick, SearchEffort::Full].map(|effort| {
        let mut cluster = snapshot(Workload::Micro, Market::Ec2, 10_000, 1).unwrap();
        cluster.settings.search_effort = effort;
        schedule(&cluster).totals.hourly_after.to_f64()
    });
    assert!(quick <= full * 1.02, "${quick}/h quick, ${full}/h in full");
}
