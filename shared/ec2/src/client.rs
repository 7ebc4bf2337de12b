//! EC2 as one cluster uses it: clients, settings, and what the process remembers between calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws::cluster::ClusterFacts;
use catalog::CatalogOptions;
use domain::Text;

use super::addresses::Addresses;
use super::cache::{CleanUpTimes, KnownProfiles, KnownResolutions, PassedValidations};
use super::tags::Owner;
use super::templates::Templates;
use crate::calls::Calls;
use crate::catalogue::Catalogue;

/// Settings of EC2 that Karpenter's users know as environment variables and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ec2Settings {
    /// `VM_MEMORY_OVERHEAD_PERCENT`, in millionths.
    pub vm_memory_overhead_ppm: u32,
    /// `RESERVED_ENIS`.
    pub reserved_enis: u32,
    /// The opposite of `DISABLE_DRY_RUN`: node classes pass dry runs before they count as ready.
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
    pub(super) calls: Calls,
    pub(super) cluster: ClusterFacts,
    pub(super) settings: Ec2Settings,
    installation: Text,
    catalogue: Mutex<Arc<Catalogue>>,
    addresses: Mutex<Addresses>,
    pub(super) templates: Templates,
    pub(super) validations: PassedValidations,
    pub(super) profiles: KnownProfiles,
    pub(super) resolutions: KnownResolutions,
    pub(super) clean_ups: CleanUpTimes,
}

impl Ec2 {
    /// EC2 for a cluster, with the catalogue of its region; see [`Ec2::set_catalogue`].
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
            installation: Text::default(),
            catalogue: Mutex::new(Arc::new(catalogue)),
            addresses: Mutex::default(),
            templates: Templates::default(),
            validations: PassedValidations::default(),
            profiles: KnownProfiles::default(),
            resolutions: KnownResolutions::default(),
            clean_ups: CleanUpTimes::default(),
        }
    }

    /// Has launched instances bear the id of an installation.
    #[must_use]
    pub fn of_installation(mut self, id: &Text) -> Self {
        self.installation = id.clone();
        self
    }

    /// Whose instances are.
    pub(super) fn owner(&self) -> Owner<'_> {
        Owner { cluster: &self.cluster.name, installation: &self.installation }
    }

    /// Replaces the catalogue, for a process that outlives the hour in which one is fresh.
    pub fn set_catalogue(&self, catalogue: Catalogue) {
        *self.catalogue.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalogue);
    }

    /// The catalogue in use.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn addresses(&self) -> MutexGuard<'_, Addresses> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn options(&self, catalogue: &Catalogue) -> CatalogOptions {
        CatalogOptions {
            vm_memory_overhead_ppm: self.settings.vm_memory_overhead_ppm,
            reserved_enis: self.settings.reserved_enis,
            spot_prices: catalogue.spot_prices.clone(),
            pricing: catalogue.pricing(),
            ..CatalogOptions::of(&catalogue.region)
        }
    }
}
