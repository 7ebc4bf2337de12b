//! Worlds that cases have to themselves: as many as cases run side by side, each with a control
//! plane, a cloud and a table of its own. One is started when a case finds none that is free.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::cloud::{ACCOUNT, NODE_ROLE, REGION};
use crate::gate::Usage;
use crate::process::Workplace;
use crate::world::{
    CLUSTER, DISRUPTION_WAKES, FUNCTIONS, LIFECYCLE_WAKES, PROVISIONING_WAKES, TABLE, World,
    access_key,
};

/// The worlds of one run.
pub struct Worlds {
    workplace: Workplace,
    started: AtomicUsize,
    free: Mutex<Vec<Arc<World>>>,
    /// Held by all cases that run; by one that measures, alone.
    company: RwLock<()>,
    record: Mutex<Record>,
}

/// What functions called in worlds that have ended.
#[derive(Default)]
struct Record {
    usage: Usage,
    permissions: Vec<Value>,
}

/// Who may be at work beside a case; until it is dropped.
pub enum Company<'a> {
    /// Others.
    Others(RwLockReadGuard<'a, ()>),
    /// Nobody: what takes time takes it for itself.
    Nobody(RwLockWriteGuard<'a, ()>),
}

impl Worlds {
    /// None yet.
    pub fn new(workplace: Workplace) -> Self {
        Self {
            workplace,
            started: AtomicUsize::new(0),
            free: Mutex::default(),
            company: RwLock::new(()),
            record: Mutex::default(),
        }
    }

    /// Waits until a case may begin. For one that is to be alone all worlds but one end, whose
    /// servers would go on working.
    pub async fn company(&self, is_alone: bool) -> Result<Company<'_>> {
        if !is_alone {
            return Ok(Company::Others(self.company.read().await));
        }
        let company = Company::Nobody(self.company.write().await);
        self.end_all_but(1).await?;
        Ok(company)
    }

    /// A world that nobody uses; started, where there is none. Whoever is done gives it back.
    pub async fn take(&self) -> Result<Arc<World>> {
        let free = self.free().pop();
        if let Some(world) = free {
            return Ok(world);
        }
        let number = self.started.fetch_add(1, Ordering::Relaxed) + 1;
        let workplace = self.workplace.within(&format!("world-{number}"))?;
        Ok(Arc::new(World::start(workplace).await?))
    }

    /// Gives a world back.
    pub fn give_back(&self, world: Arc<World>) {
        self.free().push(world);
    }

    /// Ends worlds that nobody uses, but for so many; what was called in them is kept.
    pub async fn end_all_but(&self, left: usize) -> Result<()> {
        loop {
            let world = {
                let mut free = self.free();
                if free.len() <= left {
                    return Ok(());
                }
                free.pop()
            };
            let Some(world) = world else { return Ok(()) };
            let (usage, permissions) = world.usage().await?;
            let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
            record.usage.add(usage);
            record.permissions.extend(permissions);
        }
    }

    /// What each function has called in all worlds (see [`Usage`]), what IAM had to permit for
    /// that, and what the things are called that template.yaml would have made. All worlds have
    /// ended by then.
    pub fn document(&self) -> Result<Value> {
        ensure!(self.free().is_empty(), "worlds are there whose calls are not known yet");
        let name_of = |caller: &str| {
            FUNCTIONS.into_iter().find(|name| access_key(name) == caller).map(str::to_owned)
        };
        let record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let mut document = record.usage.document(name_of);
        let mut permissions = record.usage.permissions(name_of);
        permissions.extend(record.permissions.iter().cloned());
        document["permissions"] = each_once(permissions).into();
        document["names"] = json!({
            "TABLE": format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{TABLE}"),
            "NODE_ROLE": format!("arn:aws:iam::{ACCOUNT}:role/{NODE_ROLE}"),
            "PROVISIONING_WAKES": format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{PROVISIONING_WAKES}"),
            "LIFECYCLE_WAKES": format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{LIFECYCLE_WAKES}"),
            "DISRUPTION_WAKES": format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{DISRUPTION_WAKES}"),
            "CLUSTER": CLUSTER,
            "ACCOUNT": ACCOUNT,
            "REGION": REGION,
        });
        Ok(document)
    }

    fn free(&self) -> MutexGuard<'_, Vec<Arc<World>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was needed in several worlds is one permission, needed as often as in all of them.
fn each_once(permissions: Vec<Value>) -> Vec<Value> {
    let mut merged: BTreeMap<String, (Value, u64)> = BTreeMap::new();
    for mut permission in permissions {
        let times = permission["times"].take().as_u64().unwrap_or(1);
        merged.entry(permission.to_string()).or_insert((permission, 0)).1 += times;
    }
    let with_times = merged.into_values().map(|(mut permission, times)| {
        permission["times"] = times.into();
        permission
    });
    with_times.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_worlds_needed_is_one_permission() {
        let needed = |action: &str, times: u64| json!({"action": action, "times": times});
        let merged = each_once(vec![needed("a", 2), needed("b", 1), needed("a", 3)]);
        assert_eq!(merged, [needed("a", 5), needed("b", 1)]);
    }
}
