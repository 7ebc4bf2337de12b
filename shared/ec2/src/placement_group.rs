//! Placement groups.

use aws::budget::Bucket;
use controllers::ports::PortError;
use domain::node_class::PlacementGroupSelector;

use super::client::Ec2;
use super::filter::filter;
use crate::calls::ec2;

impl Ec2 {
    /// Whether the group exists and is available.
    pub(super) async fn has_placement_group(
        &self,
        selector: &PlacementGroupSelector,
    ) -> Result<bool, PortError> {
        // By filter: an unknown name or id would be an error.
        let selected = match selector {
            PlacementGroupSelector::Name(name) => filter("group-name", [&**name]),
            PlacementGroupSelector::Id(id) => filter("group-id", [&**id]),
        };
        let call = self
            .calls
            .ec2
            .describe_placement_groups()
            .filters(selected)
            .filters(filter("state", ["available"]))
            .send();
        let action = ec2("DescribePlacementGroups");
        let answer = self.calls.send(Bucket::Describe, action, call).await?;
        Ok(!answer.placement_groups().is_empty())
    }
}
