//! Instance profiles, which give instances their role.
//!
//! IAM is eventually consistent: a launch that comes too early is refused, and retried.
//!
//! Source: <https://karpenter.sh/docs/concepts/nodeclasses/#specrole>.

use aws::budget::Bucket;
use aws::calls::iam;
use aws::error::built;
use aws_sdk_iam::types::{InstanceProfile, Tag};
use controllers::ports::{ErrorKind, PortError};
use domain::Text;
use domain::label;
use domain::node_class::Ec2NodeClass;
use uuid::Uuid;

use super::client::Ec2;
use super::tags;

/// The longest name of an instance profile, characters.
const NAME_CHARS_MAX: usize = 128;
const HASH_CHARS: usize = 20;
/// The code of a profile that has a role already.
const ONE_ROLE_ONLY: &str = "LimitExceeded";

impl Ec2 {
    /// The instance profile with the role, for nodes of the class; created where there is none. A
    /// profile that the class uses already (such as one of Karpenter's) stays in use while it has
    /// the role.
    pub(super) async fn profile_for(
        &self,
        class: &Ec2NodeClass,
        role: &Text,
    ) -> Result<Text, PortError> {
        let role: Text = role.rsplit('/').next().unwrap_or(role).into();
        let own = profile_name(&self.cluster.name, &self.calls.region, class, &role);
        let candidates = class.status.instance_profile.iter().chain([&own]);
        for name in candidates.clone() {
            if self.profiles.has_role(name, &role) {
                return Ok(name.clone());
            }
        }
        for name in candidates {
            if self.profile(name).await?.is_some_and(|profile| has_role(&profile, &role)) {
                self.profiles.insert(name.clone(), role);
                return Ok(name.clone());
            }
        }
        self.create_profile(class, &own, &role).await?;
        self.profiles.insert(own.clone(), role);
        Ok(own)
    }

    async fn create_profile(
        &self,
        class: &Ec2NodeClass,
        name: &Text,
        role: &Text,
    ) -> Result<(), PortError> {
        let tags = tags::of_class(&self.cluster.name, class);
        let region = [(Text::from(label::REGION), self.calls.region.clone())];
        let tags = tags
            .into_iter()
            .chain(region)
            .map(|(key, value)| {
                built("CreateInstanceProfile", Tag::builder().key(&*key).value(&*value).build())
            })
            .collect::<Result<_, _>>()?;
        let call = self
            .calls
            .iam
            .create_instance_profile()
            .instance_profile_name(&**name)
            .path(profile_path(&self.calls.region, &self.cluster.name, &class.uid))
            .set_tags(Some(tags))
            .send();
        let role_before =
            match self.calls.send(Bucket::Iam, iam("CreateInstanceProfile"), call).await {
                Ok(_) => None,
                Err(error) if error.kind == ErrorKind::Conflict => {
                    let profile = self.profile(name).await?;
                    profile.and_then(|own| own.roles.into_iter().next()).map(|own| own.role_name)
                }
                Err(error) => return Err(error),
            };
        match role_before {
            Some(before) if *before == **role => return Ok(()),
            Some(before) => self.remove_role(name, &before).await?,
            None => {}
        }
        let call = self
            .calls
            .iam
            .add_role_to_instance_profile()
            .instance_profile_name(&**name)
            .role_name(&**role)
            .send();
        match self.calls.send(Bucket::Iam, iam("AddRoleToInstanceProfile"), call).await {
            // IAM is eventually consistent, and does not know the profile everywhere yet.
            Err(error) if error.kind == ErrorKind::NotFound && is_about_profile(&error) => {
                Err(PortError { kind: ErrorKind::Unavailable, ..error })
            }
            // Another process has added one: the next run sees which.
            Err(error) if error.message.starts_with(ONE_ROLE_ONLY) => {
                Err(PortError { kind: ErrorKind::Conflict, ..error })
            }
            outcome => outcome.map(drop),
        }
    }

    /// Deletes the profiles that were created for a class. One that does not exist any more is
    /// ignored.
    pub(super) async fn delete_profiles(&self, class: &Ec2NodeClass) -> Result<(), PortError> {
        let pages = self
            .calls
            .iam
            .list_instance_profiles()
            .path_prefix(profile_path(&self.calls.region, &self.cluster.name, &class.uid))
            .into_paginator()
            .send();
        let pages = self.calls.pages(Bucket::Iam, iam("ListInstanceProfiles"), pages).await?;
        for profile in pages.iter().flat_map(|page| page.instance_profiles()) {
            let name = profile.instance_profile_name();
            for role in profile.roles() {
                self.remove_role(name, role.role_name()).await?;
            }
            let call = self.calls.iam.delete_instance_profile().instance_profile_name(name).send();
            let deleted = self.calls.send(Bucket::Iam, iam("DeleteInstanceProfile"), call).await;
            controllers::ports::error::found(deleted)?;
        }
        Ok(())
    }

    async fn profile(&self, name: &str) -> Result<Option<InstanceProfile>, PortError> {
        let call = self.calls.iam.get_instance_profile().instance_profile_name(name).send();
        let answer = self.calls.send(Bucket::Iam, iam("GetInstanceProfile"), call).await;
        Ok(controllers::ports::error::found(answer)?.and_then(|answer| answer.instance_profile))
    }

    async fn remove_role(&self, profile: &str, role: &str) -> Result<(), PortError> {
        let call = self
            .calls
            .iam
            .remove_role_from_instance_profile()
            .instance_profile_name(profile)
            .role_name(role)
            .send();
        let action = iam("RemoveRoleFromInstanceProfile");
        controllers::ports::error::found(self.calls.send(Bucket::Iam, action, call).await).map(drop)
    }
}

/// Whether IAM misses the profile, as its message says, rather than the role.
fn is_about_profile(error: &PortError) -> bool {
    error.message.contains("Instance Profile")
}

fn has_role(profile: &InstanceProfile, role: &str) -> bool {
    profile.roles().iter().any(|own| own.role_name() == role)
}

/// The path of the profiles of a class. It contains the uid, so that a new class of the same name
/// has its own.
fn profile_path(region: &str, cluster: &str, uid: &str) -> String {
    format!("/karpenter/{region}/{cluster}/{uid}/")
}

/// A name for each region (profiles are global), cluster, class and role: a class whose role
/// changes gets another profile, and instances keep theirs.
fn profile_name(cluster: &str, region: &str, class: &Ec2NodeClass, role: &str) -> Text {
    let content = [region, cluster, &*class.uid, role].join("\n");
    let hash = Uuid::new_v5(&Uuid::NAMESPACE_OID, content.as_bytes()).simple().to_string();
    let hash = &hash[..HASH_CHARS];
    let room = NAME_CHARS_MAX - HASH_CHARS - 1;
    let cluster = cluster.get(..room).unwrap_or(cluster);
    format!("{cluster}_{hash}").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::node_class;

    #[test]
    fn only_a_missing_role_is_reported_as_one() {
        let missing = |message: &str| {
            let message = format!("NoSuchEntity: {message}");
            is_about_profile(&PortError::new(
                ErrorKind::NotFound,
                "AddRoleToInstanceProfile",
                message,
            ))
        };
        assert!(!missing("The role with name nodes cannot be found."));
        assert!(missing("Instance Profile prod_1 cannot be found."));
    }

    #[test]
    fn each_role_of_each_class_has_its_profile() {
        let name = |region, role| profile_name("prod", region, &node_class("default"), role);
        assert_eq!(name("eu-west-1", "nodes"), name("eu-west-1", "nodes"));
        assert_ne!(name("eu-west-1", "nodes"), name("eu-west-1", "others"));
        assert_ne!(name("eu-west-1", "nodes"), name("us-east-1", "nodes"));
        assert!(name("eu-west-1", "nodes").starts_with("prod_"));
        let long = "c".repeat(100);
        assert!(profile_name(&long, "eu-west-1", &node_class("d"), "r").len() <= NAME_CHARS_MAX);
    }
}
