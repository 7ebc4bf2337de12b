//! NodePools: their registration health and their status.

use std::collections::BTreeMap;

use domain::Text;
use domain::node_class::Ec2NodeClass;
use domain::node_pool::NodePool;
use domain::stamp::Stamp;

use super::LifecycleRun;
use crate::event::{Event, EventReason, Subject};
use crate::ports::cluster::NodePoolUpdate;
use crate::ports::error::found;
use crate::ports::{ClaimStore, Cluster, ObjectRef, Ports, Version};
use crate::record::claim::ClaimRecord;
use crate::record::pool::{PoolRecord, REGISTRATIONS_KEPT};
use crate::status::Observed;
use crate::steps::drift_waves::{Attempt, DriftState, drift_state};
use crate::steps::pool_status::{Member, PoolFacts, node_pool_status};

impl<P: Ports> LifecycleRun<'_, P> {
    /// Records whether a claim's node registered.
    pub(super) fn record_registration(&mut self, record: &ClaimRecord, has_joined: bool) {
        if let Some(pool) = record.claim.node_pool() {
            self.registrations.entry(pool.clone()).or_default().push(has_joined);
        }
    }

    /// Updates records and status of every NodePool.
    pub(super) async fn update_pools(&mut self) {
        let records = self.ports.store().pools().await;
        let operation = || "read records of NodePools".to_owned();
        let Some(records) = self.report.problems.record(operation, records) else { return };
        let observed = self.observed;
        for old in &records {
            let name = &old.record.node_pool;
            if !observed.listing.objects.node_pools.iter().any(|pool| pool.name == *name) {
                let deleted = self.ports.store().delete_pool(name, old.version).await;
                self.report
                    .problems
                    .record(|| format!("delete the record of NodePool {name}"), deleted);
            }
        }
        let known: BTreeMap<&Text, (&PoolRecord, Version)> =
            records.iter().map(|own| (&own.record.node_pool, (&own.record, own.version))).collect();
        for pool in &observed.listing.objects.node_pools {
            let record = self.update_record(pool, known.get(&pool.name).copied()).await;
            self.update_pool_status(pool, record.as_ref()).await;
        }
    }

    /// The pool's record with the registrations of this run; reset when the pool or its node class
    /// has changed.
    async fn update_record(
        &mut self,
        pool: &NodePool,
        own: Option<(&PoolRecord, Version)>,
    ) -> Option<PoolRecord> {
        let class = &pool.template.node_class_ref.name;
        let listing = &self.observed.listing;
        let generation = listing.node_pool_states.get(&pool.name).map_or(0, |own| own.generation);
        let of_class = listing.node_class_states.get(class).map_or(0, |own| own.generation);
        let fresh = PoolRecord {
            node_pool: pool.name.clone(),
            uid: pool.uid.clone(),
            generation,
            node_class_generation: of_class,
            registrations: Vec::new(),
        };
        let is_current = |record: &PoolRecord| {
            record.uid == fresh.uid
                && record.generation == generation
                && record.node_class_generation == of_class
        };
        let before = own.map(|(record, _)| record);
        let mut record = before.filter(|own| is_current(own)).unwrap_or(&fresh).clone();
        record.registrations.extend(self.registrations.remove(&pool.name).unwrap_or_default());
        let surplus = record.registrations.len().saturating_sub(REGISTRATIONS_KEPT);
        record.registrations.drain(..surplus);
        if before != Some(&record) {
            let version = own.map(|(_, version)| version);
            let written = self.ports.store().put_pool(&record, version).await;
            self.report
                .problems
                .record(|| format!("write the record of NodePool {}", pool.name), written);
        }
        Some(record)
    }

    async fn update_pool_status(&mut self, pool: &NodePool, record: Option<&PoolRecord>) {
        let observed = self.observed;
        let nothing = Observed::default();
        let before = observed.listing.node_pool_states.get(&pool.name).unwrap_or(&nothing);
        let members: Vec<Member<'_>> = observed
            .claims
            .iter()
            .map(|claim| &claim.record)
            .filter(|record| record.claim.node_pool() == Some(&pool.name))
            .filter(|record| record.instance.is_some())
            .map(|record| Member { claim: &record.claim, node: self.node(record) })
            .collect();
        let class = observed
            .listing
            .objects
            .node_classes
            .iter()
            .find(|class| class.name == pool.template.node_class_ref.name);
        let drift = self.drift_state(pool, class);
        let halted = drift.as_ref().and_then(|own| own.halted.as_ref()).map(|own| &own.cause);
        let facts = PoolFacts { pool, class, record, halted, before };
        let status = node_pool_status(facts, &members, self.now);
        let annotations = pool.stamp().map(|own: Stamp| own.node_pool_annotations());
        let mut annotations = annotations.unwrap_or_default();
        annotations.extend(drift.map(|own| own.annotations(pool)).unwrap_or_default());
        let is_annotated =
            annotations.iter().all(|(key, value)| pool.annotations.get(key) == Some(value));
        if status == before.status && is_annotated {
            return;
        }
        let update = NodePoolUpdate { annotations, status: Some(status) };
        let written = self.ports.cluster().update_node_pool(&ObjectRef::from(pool), &update).await;
        self.report.problems.record(|| format!("write NodePool {}", pool.name), found(written));
    }

    /// What is known of drift of a pool that drifts in waves or halts.
    fn drift_state(&mut self, pool: &NodePool, class: Option<&Ec2NodeClass>) -> Option<DriftState> {
        pool.options.drift_waves.as_ref()?;
        let of_pool = self.observed.claims.iter().map(|claim| &claim.record);
        let attempts: Vec<Attempt<'_>> = of_pool
            .filter(|record| record.claim.node_pool() == Some(&pool.name))
            .map(|record| Attempt { record, node: self.node(record) })
            .collect();
        let state = drift_state(pool, class, &attempts, self.now)?;
        if let Some(halt) = state.halted.as_ref().filter(|_| state.is_new) {
            let about = Subject::NodePool(pool.name.clone());
            self.events.push(Event::new(about, EventReason::DriftHalted, &halt.cause));
        }
        Some(state)
    }
}
