//! The port `Cloud` over Amazon EC2.

use std::collections::BTreeMap;
use std::sync::Arc;

use controllers::ports::PortError;
use controllers::ports::cloud::{
    Cloud, Instance, InstanceEnd, InstanceStatus, LaunchCall, LaunchOutcome, NodeClassResolution,
    TagRequest, Termination,
};
use controllers::record::launch::{LaunchChoices, LaunchRequest};
use domain::Text;
use domain::instance_type::InstanceTypes;
use domain::node_class::Ec2NodeClass;

use crate::client::Ec2;

impl Cloud for Ec2 {
    async fn instance_types(
        &self,
        node_classes: &[Ec2NodeClass],
    ) -> Result<InstanceTypes, PortError> {
        let catalogue = self.catalogue();
        let mut options = self.options(&catalogue);
        let reservations: Vec<&Text> = node_classes
            .iter()
            .flat_map(|class| class.status.capacity_reservations.iter().map(|own| &own.id))
            .collect();
        if !reservations.is_empty() {
            match self.reservations_remaining(&reservations).await {
                Ok(remaining) => options.reservations_remaining = remaining,
                // Unknown is not none: a launch finds out.
                Err(error) => {
                    tracing::warn!(%error, "failed to read the remaining capacity of reservations");
                }
            }
        }
        Ok(catalogue.catalog.instance_types(node_classes, &options))
    }

    async fn launch_choices(
        &self,
        requests: &[Arc<LaunchRequest>],
        node_classes: &[Ec2NodeClass],
    ) -> Vec<Option<LaunchChoices>> {
        self.choose(requests, node_classes).await
    }

    async fn launch(
        &self,
        calls: &[LaunchCall],
        node_classes: &[Ec2NodeClass],
    ) -> Result<Vec<LaunchOutcome>, PortError> {
        Ok(self.launch_all(calls, node_classes).await)
    }

    async fn instances(&self) -> Result<Vec<Instance>, PortError> {
        self.list_instances().await
    }

    async fn instance_statuses(&self) -> Result<Vec<InstanceStatus>, PortError> {
        self.failing_statuses().await
    }

    async fn ends(&self, instance_ids: &[Text]) -> Result<BTreeMap<Text, InstanceEnd>, PortError> {
        self.describe_ends(instance_ids).await
    }

    async fn terminate(&self, instance_ids: &[Text]) -> Result<Vec<Termination>, PortError> {
        Ok(self.terminate_instances(instance_ids).await)
    }

    async fn tag(&self, requests: &[TagRequest]) -> Result<Vec<Result<(), PortError>>, PortError> {
        Ok(self.tag_instances(requests).await)
    }

    async fn resolve_node_class(
        &self,
        node_class: &Ec2NodeClass,
    ) -> Result<NodeClassResolution, PortError> {
        Ok(self.resolved(node_class).await)
    }

    async fn release_node_class(&self, node_class: &Ec2NodeClass) -> Result<(), PortError> {
        self.release(node_class).await
    }
}

#[cfg(test)]
mod tests;
