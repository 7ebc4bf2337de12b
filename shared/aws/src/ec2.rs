//! The port `Cloud` over Amazon EC2.
//!
//! [`Ec2`] belongs to one cluster and lives as long as the process: what it remembers between calls (launch
//! templates that are there, subnets that are full, dry runs that passed) only saves calls, and is right
//! when empty.

mod addresses;
mod fleet;
mod fleet_answer;
mod image;
mod image_alias;
mod instance;
mod launch;
mod network;
mod node_class;
mod placement_group;
mod profile;
mod reservation;
mod status;
mod tags;
mod template;
mod templates;
mod termination;
mod validation;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use catalog::CatalogOptions;
use controllers::ports::PortError;
use controllers::ports::cloud::{
    Cloud, Instance, InstanceStatus, LaunchOutcome, NodeClassResolution, TagRequest, Termination,
};
use controllers::record::launch::LaunchRequest;
use domain::Text;
use domain::instance_type::InstanceTypes;
use domain::node_class::Ec2NodeClass;

use crate::calls::Calls;
use crate::catalogue::Catalogue;
use crate::cluster::ClusterFacts;
use addresses::Addresses;
use node_class::CleanUps;
use profile::Profiles;
use templates::Templates;
use validation::Validations;

/// What Karpenter's users set by environment variables and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ec2Settings {
    /// `VM_MEMORY_OVERHEAD_PERCENT`, in millionths.
    pub vm_memory_overhead_ppm: u32,
    /// `RESERVED_ENIS`.
    pub reserved_enis: u32,
    /// Not `DISABLE_DRY_RUN`: node classes are tried out before they count as ready.
    pub dry_runs: bool,
}

impl Default for Ec2Settings {
    fn default() -> Self {
        let vm_memory_overhead_ppm = catalog::VM_MEMORY_OVERHEAD_PPM;
        Self { vm_memory_overhead_ppm, reserved_enis: 0, dry_runs: true }
    }
}

/// EC2, as one cluster uses it.
#[derive(Debug)]
pub struct Ec2 {
    calls: Calls,
    cluster: ClusterFacts,
    settings: Ec2Settings,
    catalogue: Mutex<Arc<Catalogue>>,
    addresses: Mutex<Addresses>,
    templates: Templates,
    validations: Validations,
    profiles: Profiles,
    clean_ups: CleanUps,
}

impl Ec2 {
    /// EC2 for a cluster. `catalogue` is what is sold; see [`Ec2::set_catalogue`].
    pub fn new(
        calls: Calls,
        cluster: ClusterFacts,
        catalogue: Catalogue,
        settings: Ec2Settings,
    ) -> Self {
        Self {
            calls,
            cluster,
            settings,
            catalogue: Mutex::new(Arc::new(catalogue)),
            addresses: Mutex::default(),
            templates: Templates::default(),
            validations: Validations::default(),
            profiles: Profiles::default(),
            clean_ups: CleanUps::default(),
        }
    }

    /// Takes a newer catalogue, for a process that lives longer than the hour in which one is fresh.
    pub fn set_catalogue(&self, catalogue: Catalogue) {
        *self.catalogue.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalogue);
    }

    /// The catalogue in use.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn addresses(&self) -> std::sync::MutexGuard<'_, Addresses> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn options(&self, catalogue: &Catalogue) -> CatalogOptions {
        CatalogOptions {
            vm_memory_overhead_ppm: self.settings.vm_memory_overhead_ppm,
            reserved_enis: self.settings.reserved_enis,
            spot_prices: catalogue.spot_prices.clone(),
            ..CatalogOptions::of(&catalogue.region)
        }
    }
}

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
                // Not known is not none: EC2 says so at the launch.
                Err(error) => tracing::warn!(%error, "what is left of reservations is not known"),
            }
        }
        Ok(catalogue.catalog.instance_types(node_classes, &options))
    }

    async fn launch(
        &self,
        requests: &[LaunchRequest],
        node_classes: &[Ec2NodeClass],
    ) -> Result<Vec<LaunchOutcome>, PortError> {
        Ok(self.launch_all(requests, node_classes).await)
    }

    async fn instances(&self) -> Result<Vec<Instance>, PortError> {
        self.list_instances().await
    }

    async fn instance_statuses(&self) -> Result<Vec<InstanceStatus>, PortError> {
        self.failing_statuses().await
    }

    async fn terminate(&self, instance_ids: &[Text]) -> Result<Vec<Termination>, PortError> {
        Ok(self.end_instances(instance_ids).await)
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

/// Things by a name of theirs.
type ByName<T> = BTreeMap<Text, T>;

#[cfg(test)]
mod tests;
