//! Commitment.

use super::kind::{AGE, Kind, column};
use super::schema::Schema;
use crate::karpenter::commitment::{SCOPES, TYPES};

const FAMILY: &str = "^[a-z0-9-]+$";
const INSTANCE_TYPE: &str = r"^[a-z0-9-]+\.[a-z0-9-]+$";
const RATES_MAX: usize = 500;

pub(super) fn kind() -> Kind {
    Kind {
        group: "outrigger.dev",
        version: "v1alpha1",
        name: "Commitment",
        plural: "commitments",
        short_names: &[],
        categories: &["karpenter"],
        is_namespaced: false,
        about: "A Savings Plan or Reserved Instances, which are paid for whether used or not.",
        spec: spec(),
        status: None,
        scale: None,
        columns: vec![
            column("Type", "string", ".spec.type"),
            column("Family", "string", ".spec.instanceFamily"),
            column("USD/h", "string", ".spec.hourlyCommitmentUsd"),
            column("Instance", "string", ".spec.instanceType"),
            column("Count", "integer", ".spec.count"),
            column("End", "string", ".spec.end"),
            AGE,
        ],
    }
}

fn spec() -> Schema {
    let rates = Schema::map(Schema::decimal().about("Dollars an hour."))
        .entries_at_most(RATES_MAX)
        .about("Rates of the plan by instance type, which hold in place of discountPercent.");
    Schema::object([
        ("type", Schema::word(&TYPES)),
        (
            "hourlyCommitmentUsd",
            Schema::decimal().about("What the Savings Plan commits to, in dollars an hour."),
        ),
        (
            "instanceFamily",
            Schema::text()
                .length(1, 63)
                .pattern(FAMILY)
                .about("The family that an EC2 Instance Savings Plan holds for, such as m7g."),
        ),
        (
            "discountPercent",
            Schema::decimal().about("By how much the plan's rates are below on-demand prices."),
        ),
        ("rates", rates),
        ("instanceType", Schema::text().length(1, 63).pattern(INSTANCE_TYPE)),
        ("count", Schema::count_32(1).about("How many instances are reserved.")),
        ("scope", Schema::word(&SCOPES)),
        ("zone", Schema::text().length(1, 63).about("The zone of scope AvailabilityZone.")),
        (
            "hourlyUsd",
            Schema::decimal().about("What one reserved instance costs, in dollars an hour."),
        ),
        (
            "share",
            Schema::count_32(1).at_most(100).default(100).about(
                "The percentage that this cluster counts on, where others use the commitment too.",
            ),
        ),
        ("start", Schema::time()),
        ("end", Schema::time()),
    ])
    .required(&["type"])
    .rule(
        "self.type == 'ReservedInstances' || has(self.hourlyCommitmentUsd)",
        "a Savings Plan needs hourlyCommitmentUsd",
    )
    .rule(
        "self.type == 'ReservedInstances' || has(self.discountPercent) || has(self.rates)",
        "a Savings Plan needs discountPercent, rates, or both",
    )
    .rule(
        "(self.type == 'EC2InstanceSavingsPlan') == has(self.instanceFamily)",
        "instanceFamily goes with type EC2InstanceSavingsPlan, which needs one",
    )
    .rule(
        "self.type != 'ReservedInstances' || !(has(self.hourlyCommitmentUsd) || has(self.discountPercent) || has(self.rates))",
        "Reserved Instances have no hourlyCommitmentUsd, discountPercent or rates",
    )
    .rule(
        "self.type == 'ReservedInstances' || !(has(self.instanceType) || has(self.count) || has(self.scope) || has(self.zone) || has(self.hourlyUsd))",
        "a Savings Plan has no instanceType, count, scope, zone or hourlyUsd",
    )
    .rule(
        "self.type != 'ReservedInstances' || (has(self.instanceType) && has(self.count) && has(self.scope))",
        "Reserved Instances need instanceType, count and scope",
    )
    .rule(
        "(has(self.scope) && self.scope == 'AvailabilityZone') == has(self.zone)",
        "zone goes with scope AvailabilityZone, which needs one",
    )
}
