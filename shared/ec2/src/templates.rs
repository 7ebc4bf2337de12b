//! Launch templates in EC2: created when first needed, deleted when old.
//!
//! Uses are not counted: a launch that finds its template missing creates it again, and templates
//! are deleted a day after they were created. A running instance does not need its template.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use aws::budget::Bucket;
use aws::calls::from_aws_time;
use aws::error::redacted;
use aws::freshness::is_fresh;
use aws_sdk_ec2::types::{Filter, LaunchTemplate, ResourceType, ValidationWarning};
use controllers::ports::{ErrorKind, PortError};
use domain::label::{self, Labels};
use domain::node_class::Ec2NodeClass;
use domain::{SignedDuration, Text, Timestamp};
use futures_util::{StreamExt, stream};

use super::filter::filter;
use super::tags;
use super::template::Template;
use crate::calls::{Calls, ec2};

/// The most names of a filter.
const NAMES_A_CALL: usize = 200;
/// The most CreateLaunchTemplate calls in flight.
const CREATE_CONCURRENCY_MAX: usize = 8;
/// How long a template is assumed to exist after it was found or created.
const KNOWN_TTL: SignedDuration = SignedDuration::from_mins(10);
/// How long after its creation a template may be unknown to other parts of EC2.
const FRESH_TTL: SignedDuration = SignedDuration::from_mins(1);
/// The age at which a template is deleted.
const AGE_MAX: SignedDuration = SignedDuration::from_hours(24);
const TEMPLATES_A_PAGE: i32 = 200;

/// The launch templates of a cluster.
#[derive(Debug, Default)]
pub(super) struct Templates {
    /// Those that exist, by name.
    known: Mutex<BTreeMap<String, Known>>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    /// When it was last found or created.
    at: Timestamp,
    /// It was created then.
    is_new: bool,
}

/// A template that a launch needs, and its tags.
#[derive(Clone, Copy, Debug)]
pub(super) struct NeededTemplate<'a> {
    pub(super) template: &'a Template,
    pub(super) tags: &'a Labels,
}

impl Templates {
    /// Creates the templates that do not exist. Returns the errors of those that could not be
    /// created, by name.
    pub(super) async fn ensure(
        &self,
        calls: &Calls,
        needed: &[NeededTemplate<'_>],
    ) -> BTreeMap<String, PortError> {
        let mut missing: BTreeMap<&str, NeededTemplate<'_>> =
            needed.iter().map(|own| (own.template.name.as_str(), *own)).collect();
        let now = Timestamp::now();
        missing.retain(|name, _| !self.is_known(name, now));
        if missing.is_empty() {
            return BTreeMap::new();
        }
        let names: Vec<&str> = missing.keys().copied().collect();
        match existing(calls, &names).await {
            Ok(existing) => {
                for name in existing {
                    missing.remove(name.as_str());
                    self.note(name, Known { at: now, is_new: false });
                }
            }
            // Creating one that exists is harmless: listing them only saves calls.
            Err(error) => tracing::debug!(%error, "failed to list launch templates"),
        }
        let made = stream::iter(missing.into_values())
            .map(|own| async move { (own.template.name.clone(), create(calls, own).await) })
            .buffer_unordered(CREATE_CONCURRENCY_MAX)
            .collect::<Vec<_>>()
            .await;
        let mut failed = BTreeMap::new();
        for (name, outcome) in made {
            match outcome {
                Ok(()) => self.note(name, Known { at: now, is_new: true }),
                Err(error) => {
                    failed.insert(name, error);
                }
            }
        }
        failed
    }

    /// Forgets templates that EC2 reports as missing.
    pub(super) fn forget<'n>(&self, names: impl IntoIterator<Item = &'n str>) {
        let mut known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for name in names {
            known.remove(name);
        }
    }

    /// Deletes templates of a class that are older than a day and that this process does not use.
    pub(super) async fn delete_old(
        &self,
        calls: &Calls,
        cluster: &str,
        class: &Text,
        now: Timestamp,
    ) -> Result<(), PortError> {
        let is_old = |template: &LaunchTemplate| {
            let made = template.create_time().and_then(from_aws_time);
            made.is_some_and(|made| now.duration_since(made) > AGE_MAX)
        };
        let unused = |template: &LaunchTemplate| {
            !template.launch_template_name().is_some_and(|name| self.is_known(name, now))
        };
        let all = of_class(calls, cluster, class).await?;
        delete(calls, all.iter().filter(|own| is_old(own) && unused(own))).await
    }

    /// Deletes all templates of a class.
    pub(super) async fn delete_all(
        &self,
        calls: &Calls,
        cluster: &str,
        class: &Ec2NodeClass,
    ) -> Result<(), PortError> {
        let all = of_class(calls, cluster, &class.name).await?;
        self.forget(all.iter().filter_map(LaunchTemplate::launch_template_name));
        delete(calls, all.iter()).await
    }

    fn is_known(&self, name: &str, now: Timestamp) -> bool {
        let known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.get(name).is_some_and(|own| is_fresh(own.at, KNOWN_TTL, now))
    }

    fn note(&self, name: String, known: Known) {
        self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(name, known);
    }

    /// Whether this process created one of them so recently that other parts of EC2 may not know
    /// it, or its tags.
    pub(super) fn is_fresh<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> bool {
        let known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let now = Timestamp::now();
        let is_unknown = |own: &Known| own.is_new && is_fresh(own.at, FRESH_TTL, now);
        names.any(|name| known.get(name).is_some_and(is_unknown))
    }
}

async fn existing(calls: &Calls, names: &[&str]) -> Result<BTreeSet<String>, PortError> {
    let mut found = BTreeSet::new();
    for names in names.chunks(NAMES_A_CALL) {
        // By filter: an unknown name would fail the whole call.
        let filters = vec![filter("launch-template-name", names.iter().copied())];
        let templates = list(calls, filters).await?;
        found.extend(
            templates.iter().filter_map(|own| own.launch_template_name().map(str::to_owned)),
        );
    }
    Ok(found)
}

async fn of_class(
    calls: &Calls,
    cluster: &str,
    class: &Text,
) -> Result<Vec<LaunchTemplate>, PortError> {
    let filters = vec![
        filter(format!("tag:{}", tags::TEMPLATE_OWNER), [cluster]),
        filter(format!("tag:{}", label::NODE_CLASS), [&**class]),
    ];
    list(calls, filters).await
}

async fn list(calls: &Calls, filters: Vec<Filter>) -> Result<Vec<LaunchTemplate>, PortError> {
    let pages = calls
        .ec2
        .describe_launch_templates()
        .set_filters(Some(filters))
        .into_paginator()
        .page_size(TEMPLATES_A_PAGE)
        .send();
    let pages = calls.pages(Bucket::Describe, ec2("DescribeLaunchTemplates"), pages).await?;
    Ok(pages.into_iter().flat_map(|page| page.launch_templates.unwrap_or_default()).collect())
}

async fn create(calls: &Calls, own: NeededTemplate<'_>) -> Result<(), PortError> {
    let call = calls
        .ec2
        .create_launch_template()
        .launch_template_name(&own.template.name)
        .launch_template_data(own.template.data.clone())
        .tag_specifications(tags::specification(ResourceType::LaunchTemplate, own.tags))
        .send();
    match calls.send(Bucket::Mutate, ec2("CreateLaunchTemplate"), call).await {
        // Another process created it: with the same content, since the name is its hash.
        Err(error) if error.kind == ErrorKind::Conflict => Ok(()),
        Err(error) => Err(error),
        Ok(output) => {
            // It exists even so; launches from it will tell whether that matters.
            let faults = output.warning().map(ValidationWarning::errors).unwrap_or_default();
            for fault in faults {
                let (code, message) = (fault.code(), fault.message().map(redacted));
                tracing::warn!(
                    name = &*own.template.name,
                    code,
                    message = message.as_deref(),
                    "EC2 made a launch template with reservations"
                );
            }
            Ok(())
        }
    }
}

/// Deletes templates; one that does not exist is ignored. Tries all, and returns the last error.
async fn delete<'t>(
    calls: &Calls,
    templates: impl Iterator<Item = &'t LaunchTemplate>,
) -> Result<(), PortError> {
    let mut result = Ok(());
    for id in templates.filter_map(LaunchTemplate::launch_template_id) {
        let call = calls.ec2.delete_launch_template().launch_template_id(id).send();
        match calls.send(Bucket::Mutate, ec2("DeleteLaunchTemplate"), call).await {
            Err(error) if error.kind != ErrorKind::NotFound => result = Err(error),
            _ => {}
        }
    }
    result
}
