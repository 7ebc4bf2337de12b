//! Resolves a node class: the subnets, security groups, images and so on that it selects now.

use std::collections::BTreeSet;

use catalog::describe::region_of;
use controllers::ports::cloud::{NodeClassResolution, Resolution};
use controllers::ports::{ErrorKind, PortError};
use domain::addresses::FreeAddresses;
use domain::image_age::HeldBackImage;
use domain::label::AMI_MIN_AGE;
use domain::node_class::{Ec2NodeClass, Ec2NodeClassStatus, ResolvedAmi, ResolvedSubnet};
use domain::stamp::NODE_CLASS_RULES;
use domain::{Text, Timestamp};

use super::client::Ec2;
use super::image::ImageError;
use super::unresolved::{call_failed, unresolved};

impl Ec2 {
    /// What the class resolves to; for a class whose every part was found, what it did within the
    /// last minutes.
    pub(super) async fn resolved(&self, class: &Ec2NodeClass) -> NodeClassResolution {
        if let Some(known) = self.resolutions.get(class) {
            return known;
        }
        let resolution = self.resolved_now(class).await;
        // What was not found may be mended any moment.
        if resolution.validation.is_ok() && with_status(class, &resolution).is_some() {
            self.resolutions.insert(class, &resolution);
        }
        resolution
    }

    async fn resolved_now(&self, class: &Ec2NodeClass) -> NodeClassResolution {
        let now = Timestamp::now();
        let (
            (subnets, free_addresses),
            security_groups,
            (amis, held_back),
            instance_profile,
            capacity_reservations,
            placement_group,
        ) = tokio::join!(
            self.resolved_subnets(class),
            self.resolved_groups(class),
            self.resolved_images(class, now),
            self.resolved_profile(class),
            self.select_reservations(&class.spec.capacity_reservation_selector_terms, now),
            self.resolved_placement_group(class),
        );
        let zones_without_offerings = subnets.as_deref().map(without_offerings).unwrap_or_default();
        // Logged once: from the next run on the class's status holds the subnets.
        let is_news = |zone: &&Text| !class.status.subnets.iter().any(|own| own.zone == **zone);
        for zone in zones_without_offerings.iter().filter(is_news) {
            tracing::warn!(
                class = &*class.name,
                zone = &**zone,
                "subnets in this zone have no offerings: Local Zones and Wavelength Zones are not \
                 supported yet"
            );
        }
        let mut resolution = NodeClassResolution {
            subnets,
            free_addresses,
            zones_without_offerings,
            security_groups,
            amis,
            held_back,
            instance_profile,
            capacity_reservations: capacity_reservations.map_err(|error| call_failed(&error)),
            placement_group,
            validation: Ok(()),
            stamp: class.stamp(NODE_CLASS_RULES, &self.cluster.certificate_authority),
        };
        if self.settings.dry_runs {
            resolution.validation = match with_status(class, &resolution) {
                Some(resolved) => self.validated(&resolved).await,
                None => Err(unresolved(
                    "DependenciesNotReady",
                    "waiting for subnets, security groups, images and instance profile",
                    true,
                )),
            };
        }
        if self.clean_ups.is_due(&class.name) {
            let cluster = &self.cluster.name;
            let deleted = self.templates.delete_old(&self.calls, cluster, &class.name, now).await;
            if let Err(error) = deleted {
                tracing::warn!(class = &*class.name, %error, "failed to delete old launch templates");
            }
        }
        resolution
    }

    pub(super) async fn release(&self, class: &Ec2NodeClass) -> Result<(), PortError> {
        self.templates.delete_all(&self.calls, &self.cluster.name, class).await?;
        if class.spec.role.is_some() { self.delete_profiles(class).await } else { Ok(()) }
    }

    /// The subnets, and how many addresses are free in them.
    async fn resolved_subnets(
        &self,
        class: &Ec2NodeClass,
    ) -> (Resolution<Vec<ResolvedSubnet>>, Vec<FreeAddresses>) {
        let found = match self.select_subnets(&class.spec.subnet_selector_terms).await {
            Ok(found) => found,
            Err(error) => return (Err(call_failed(&error)), Vec::new()),
        };
        let mut addresses = self.addresses();
        for own in &found {
            addresses.set_free(own.subnet.id.clone(), own.free_addresses);
        }
        let mut free: Vec<FreeAddresses> = found
            .iter()
            .map(|own| FreeAddresses {
                zone: own.subnet.zone.clone(),
                subnet: own.subnet.id.clone(),
                count: u32::try_from(own.free_addresses).unwrap_or(0),
            })
            .collect();
        free.sort();
        let subnets: Vec<ResolvedSubnet> = found.into_iter().map(|own| own.subnet).collect();
        (some(subnets, "SubnetsNotFound", "no subnet matches subnetSelectorTerms"), free)
    }

    async fn resolved_groups(
        &self,
        class: &Ec2NodeClass,
    ) -> Resolution<Vec<controllers::status::ResolvedSecurityGroup>> {
        let found = self.select_security_groups(&class.spec.security_group_selector_terms).await;
        let what = "no security group matches securityGroupSelectorTerms";
        some(found.map_err(|error| call_failed(&error))?, "SecurityGroupsNotFound", what)
    }

    async fn resolved_images(
        &self,
        class: &Ec2NodeClass,
        now: Timestamp,
    ) -> (Resolution<Vec<ResolvedAmi>>, Vec<HeldBackImage>) {
        let terms = &class.spec.ami_selector_terms;
        let (found, held_back) = match self.select_images(terms, class.image_age.min, now).await {
            Ok(found) => found,
            Err(ImageError::Call(error)) => return (Err(call_failed(&error)), Vec::new()),
            Err(ImageError::Alias(error)) => {
                return (Err(unresolved("AMINotFound", &error.to_string(), false)), Vec::new());
            }
        };
        let too_young = held_back.iter().min_by_key(|own| own.until).filter(|_| found.is_empty());
        let resolution = match too_young {
            Some(first) => {
                let message = format!(
                    "all images are younger than {AMI_MIN_AGE}; the first, {}, is old enough at {}",
                    first.id, first.until
                );
                Err(unresolved("TooYoung", &message, false))
            }
            None => some(found, "AMINotFound", "no image matches amiSelectorTerms"),
        };
        (resolution, held_back)
    }

    async fn resolved_profile(&self, class: &Ec2NodeClass) -> Resolution<Text> {
        match (&class.spec.instance_profile, &class.spec.role) {
            (Some(profile), _) => Ok(profile.clone()),
            (None, Some(role)) => {
                self.profile_for(class, role).await.map_err(|error| match error.kind {
                    ErrorKind::NotFound => {
                        let message = format!("IAM has no role {role}");
                        unresolved("InstanceProfileRoleNotFound", &message, false)
                    }
                    // Another process is creating the same profile.
                    ErrorKind::Conflict => unresolved("InstanceProfileInUse", &error.message, true),
                    _ => call_failed(&error),
                })
            }
            (None, None) => {
                let message = "neither role nor instanceProfile is given";
                Err(unresolved("InstanceProfileNotFound", message, false))
            }
        }
    }

    async fn resolved_placement_group(&self, class: &Ec2NodeClass) -> Resolution<()> {
        let Some(selector) = &class.spec.placement_group else { return Ok(()) };
        match self.has_placement_group(selector).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                let message = "no available placement group matches placementGroupSelector";
                Err(unresolved("PlacementGroupNotFound", message, false))
            }
            Err(error) => Err(call_failed(&error)),
        }
    }
}

/// The class with the resolved parts as its status; `None` while a part is missing.
fn with_status(class: &Ec2NodeClass, resolution: &NodeClassResolution) -> Option<Ec2NodeClass> {
    let groups = resolution.security_groups.as_ref().ok()?;
    let reservations = resolution.capacity_reservations.as_ref().ok()?;
    resolution.placement_group.as_ref().ok()?;
    let status = Ec2NodeClassStatus {
        subnets: resolution.subnets.as_ref().ok()?.clone(),
        security_groups: groups.iter().map(|own| own.id.clone()).collect(),
        amis: resolution.amis.as_ref().ok()?.clone(),
        capacity_reservations: reservations.iter().map(|own| own.reservation.clone()).collect(),
        instance_profile: Some(resolution.instance_profile.as_ref().ok()?.clone()),
        ready: None,
    };
    Some(Ec2NodeClass { status, ..class.clone() })
}

/// The Local Zones and Wavelength Zones among those of subnets: the catalogue has none of their
/// offerings, since the region's prices do not hold there.
fn without_offerings(subnets: &[ResolvedSubnet]) -> Vec<Text> {
    let zones: BTreeSet<&Text> = subnets.iter().map(|own| &own.zone).collect();
    zones.into_iter().filter(|zone| region_of(zone).is_none()).cloned().collect()
}

/// What was found; unresolved where that is nothing.
fn some<T>(found: Vec<T>, reason: &str, message: &str) -> Resolution<Vec<T>> {
    if found.is_empty() { Err(unresolved(reason, message, false)) } else { Ok(found) }
}
