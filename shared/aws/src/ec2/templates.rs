//! Launch templates in EC2: made when first needed, deleted when old.
//!
//! Nobody counts who uses a template: whoever finds one missing makes it again, and one is deleted a day
//! after it was made. An instance does not need its template once it is launched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use aws_sdk_ec2::types::{Filter, LaunchTemplate, ResourceType};
use controllers::ports::{ErrorKind, PortError};
use domain::label::{self, Labels};
use domain::node_class::Ec2NodeClass;
use domain::{SignedDuration, Text, Timestamp};
use futures_util::{StreamExt, stream};

use super::instance::filter;
use super::tags;
use super::template::Template;
use crate::budget::Bucket;
use crate::calls::{Calls, ec2, from_aws_time};

/// Names in one filter.
const NAMES_A_CALL: usize = 200;
/// Templates that are made at once.
const CREATIONS_AT_ONCE: usize = 8;
/// How long a template that was seen is taken to be there.
const SEEN_LASTS: Duration = Duration::from_mins(10);
/// How old a template grows.
const AGE_MAX: SignedDuration = SignedDuration::from_hours(24);
const TEMPLATES_A_PAGE: i32 = 200;

/// The launch templates of a cluster.
#[derive(Debug, Default)]
pub(super) struct Templates {
    /// By name, when each was last known to be there.
    seen: Mutex<BTreeMap<String, Instant>>,
}

/// A template that a launch needs, and the tags that say whose it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needed<'a> {
    pub(super) template: &'a Template,
    pub(super) tags: &'a Labels,
}

impl Templates {
    /// Makes those that are not there. The answer holds what could not be made, by name.
    pub(super) async fn ensure(
        &self,
        calls: &Calls,
        needed: &[Needed<'_>],
    ) -> BTreeMap<String, PortError> {
        let mut missing: BTreeMap<&str, Needed<'_>> =
            needed.iter().map(|own| (own.template.name.as_str(), *own)).collect();
        let now = Instant::now();
        missing.retain(|name, _| !self.is_seen(name, now));
        if missing.is_empty() {
            return BTreeMap::new();
        }
        let names: Vec<&str> = missing.keys().copied().collect();
        match existing(calls, &names).await {
            Ok(existing) => {
                for name in existing {
                    missing.remove(name.as_str());
                    self.note(name, now);
                }
            }
            // Making one that is there says so: looking first only saves calls.
            Err(error) => tracing::debug!(%error, "launch templates could not be listed"),
        }
        let made = stream::iter(missing.into_values())
            .map(|own| async move { (own.template.name.clone(), create(calls, own).await) })
            .buffer_unordered(CREATIONS_AT_ONCE)
            .collect::<Vec<_>>()
            .await;
        let mut failed = BTreeMap::new();
        for (name, outcome) in made {
            match outcome {
                Ok(()) => self.note(name, now),
                Err(error) => {
                    failed.insert(name, error);
                }
            }
        }
        failed
    }

    /// Forgets that a template was seen: EC2 says that it is not there.
    pub(super) fn forget<'n>(&self, names: impl IntoIterator<Item = &'n str>) {
        let mut seen = self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for name in names {
            seen.remove(name);
        }
    }

    /// Deletes the templates of a class that are a day old and that this process does not use.
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
        let at = Instant::now();
        let unused = |template: &LaunchTemplate| {
            !template.launch_template_name().is_some_and(|name| self.is_seen(name, at))
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

    fn is_seen(&self, name: &str, now: Instant) -> bool {
        let seen = self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        seen.get(name).is_some_and(|at| now.duration_since(*at) < SEEN_LASTS)
    }

    fn note(&self, name: String, now: Instant) {
        self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(name, now);
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

async fn create(calls: &Calls, own: Needed<'_>) -> Result<(), PortError> {
    let call = calls
        .ec2
        .create_launch_template()
        .launch_template_name(&own.template.name)
        .launch_template_data(own.template.data.clone())
        .tag_specifications(tags::specification(ResourceType::LaunchTemplate, own.tags))
        .send();
    match calls.ask(Bucket::Mutate, ec2("CreateLaunchTemplate"), call).await {
        // Somebody else made it: the same, since the name says what is in it.
        Err(error) if error.kind == ErrorKind::Conflict => Ok(()),
        outcome => outcome.map(drop),
    }
}

/// Deletes templates; one that is gone counts as done. The last error is told once all were tried.
async fn delete<'t>(
    calls: &Calls,
    templates: impl Iterator<Item = &'t LaunchTemplate>,
) -> Result<(), PortError> {
    let mut result = Ok(());
    for id in templates.filter_map(LaunchTemplate::launch_template_id) {
        let call = calls.ec2.delete_launch_template().launch_template_id(id).send();
        match calls.ask(Bucket::Mutate, ec2("DeleteLaunchTemplate"), call).await {
            Err(error) if error.kind != ErrorKind::NotFound => result = Err(error),
            _ => {}
        }
    }
    result
}
