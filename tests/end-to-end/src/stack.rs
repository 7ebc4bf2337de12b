//! The functions of one stack, and the minute in which each is invoked once.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use kube::api::{DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::aws::Aws;
use crate::lambda::{Function, Invocation, Outcome};
use crate::world::{
    CLUSTER, Installation, LIFECYCLE_WAKES, OTHERS, OURS, PATIENCE, PROVISIONING_WAKES, World,
};

/// So long after a tick in which nothing was done the next one comes: machines boot, pods end, and
/// nobody is served by functions that list it all the time.
const IDLE_PAUSE: Duration = Duration::from_secs(2);
/// How often it is checked whether what a case waits for has come about by itself.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The functions, each with at most one process.
#[derive(Debug)]
pub struct Stack {
    /// Launches nodes.
    pub provisioning: Function,
    /// Brings claims through their lives.
    pub lifecycle: Function,
    /// Takes nodes away.
    pub disruption: Function,
    /// Looks up what EC2 has and costs.
    pub catalog: Function,
}

/// The event that EventBridge's schedule sends: one run.
pub fn poll() -> Value {
    scheduled("poll")
}

/// The scheduled event of watch mode: run on, and act on changes.
pub fn watch() -> Value {
    scheduled("watch")
}

/// The scheduled event of tick mode: one run, and demand checks after it.
pub fn tick() -> Value {
    scheduled("tick")
}

/// What infra/cluster.yaml gives lifecycle; the others leave the schedules alone.
fn scheduled(mode: &str) -> Value {
    let every_minute = "rate(1 minute)";
    let schedules = json!({"provisioning": every_minute, "disruption": every_minute});
    json!({"cluster": CLUSTER, "mode": mode, "schedules": schedules})
}

impl Stack {
    /// The functions, cold; the catalogue has been looked up once, as an hourly schedule has long
    /// done.
    pub async fn deploy(world: &World) -> Result<Self> {
        let mut stack = Self::of(world, &OURS)?;
        let catalog = &mut stack.catalog;
        world
            .store_catalogue(async move || catalog.invoke(&poll()).await?.answer().map(drop))
            .await?;
        Ok(stack)
    }

    /// The functions of another installation, cold, with a new table that holds the catalogue and
    /// nothing else. Ours were deployed before.
    pub async fn deploy_another(world: &World) -> Result<Self> {
        world.make_table(&OTHERS).await?;
        Self::of(world, &OTHERS)
    }

    fn of(world: &World, installation: &Installation) -> Result<Self> {
        Ok(Self {
            provisioning: world.function_of(installation, "provisioning")?,
            lifecycle: world.function_of(installation, "lifecycle")?,
            disruption: world.function_of(installation, "disruption")?,
            catalog: world.function_of(installation, "catalog")?,
        })
    }

    /// Sets a variable of all functions, which start cold with it.
    pub async fn set(&mut self, variable: &str, value: &str) -> Result<()> {
        self.cool().await?;
        let Self { provisioning, lifecycle, disruption, catalog } = self;
        for function in [provisioning, lifecycle, disruption, catalog] {
            let environment = &mut function.deployment().environment;
            environment.insert(variable.to_owned(), value.to_owned());
        }
        Ok(())
    }

    /// The function that watches for provisioning, and the queue that it sends messages to: the
    /// stack is in `watch` mode from here on, whose functions wake each other.
    pub async fn watcher(&mut self, world: &World) -> Result<(Function, String)> {
        let aws = Aws::at(world.aws_endpoint());
        let queue = aws.make_queue(PROVISIONING_WAKES).await?;
        self.set("PROVISIONING_WAKES_URL", &queue).await?;
        // Nobody takes messages from this one: cases run lifecycle themselves.
        let lifecycle_wakes = aws.make_queue(LIFECYCLE_WAKES).await?;
        self.set("LIFECYCLE_WAKES_URL", &lifecycle_wakes).await?;
        let mut watcher = world.function("watcher")?;
        // What cases have set; not whose keys it has.
        for (variable, value) in &self.provisioning.deployment().environment {
            let own = &mut watcher.deployment().environment;
            own.entry(variable.clone()).or_insert_with(|| value.clone());
        }
        Ok((watcher, queue))
    }

    /// Ends all processes, so that the next invocations start cold.
    pub async fn cool(&mut self) -> Result<()> {
        let Self { provisioning, lifecycle, disruption, catalog } = self;
        for function in [provisioning, lifecycle, disruption, catalog] {
            function.cool().await?;
        }
        Ok(())
    }

    /// Invokes provisioning, lifecycle and disruption side by side, as their schedules do. An error
    /// that a function reports is an error here.
    pub async fn tick(&mut self) -> Result<()> {
        for invocation in self.tick_whatever().await? {
            invocation.answer()?;
        }
        Ok(())
    }

    /// Runs the functions once; whether nothing was done.
    async fn is_idle_tick(&mut self) -> Result<bool> {
        let mut is_idle = true;
        for invocation in self.tick_whatever().await? {
            is_idle &= invocation.answer()?["done"] == json!({});
        }
        Ok(is_idle)
    }

    /// Runs the functions once and returns what they report.
    pub async fn tick_whatever(&mut self) -> Result<[Invocation; 3]> {
        let event = poll();
        let (provisioning, lifecycle, disruption) = tokio::try_join!(
            self.provisioning.invoke(&event),
            self.lifecycle.invoke(&event),
            self.disruption.invoke(&event),
        )?;
        Ok([provisioning, lifecycle, disruption])
    }

    /// Ticks until something holds.
    pub async fn until<T: std::fmt::Debug>(
        &mut self,
        what: &str,
        read: impl AsyncFn() -> Result<T>,
        holds: impl Fn(&T) -> bool,
    ) -> Result<T> {
        let started = Instant::now();
        loop {
            let pause = if self.is_idle_tick().await? { IDLE_PAUSE } else { Duration::ZERO };
            let paused = Instant::now();
            loop {
                let found = read().await?;
                if holds(&found) {
                    return Ok(found);
                }
                if started.elapsed() > PATIENCE {
                    bail!("{what}: not so after {PATIENCE:?}; last found: {found:?}");
                }
                if paused.elapsed() >= pause {
                    break;
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
    }

    /// Ticks until nothing is in flight that [`is_consistent`] minds.
    pub async fn until_consistent(&mut self, world: &World) -> Result<()> {
        let wrong = async || Ok(is_consistent(world).await.err().map(|error| format!("{error:#}")));
        self.until("claims and instances agree", wrong, Option::is_none).await.map(drop)
    }

    /// Ticks until all pods run, so many of them.
    pub async fn until_running(&mut self, world: &World, pods: usize) -> Result<()> {
        let what = format!("{pods} pods run");
        let until =
            self.until(&what, async || world.running().await, |found| *found == (pods, pods));
        if let Err(error) = until.await {
            bail!(
                "{error:#}\nnodes that did not join:\n{}",
                crate::world::listed(&world.kubelets.failures())
            );
        }
        Ok(())
    }
}

/// What must hold whenever nothing is in flight: one instance a claim, one claim an instance, and
/// every machine joined.
pub async fn is_consistent(world: &World) -> Result<()> {
    let failures = world.kubelets.failures();
    ensure!(failures.is_empty(), "machines that did not join: {failures:?}");
    let claims = node_claims(world).await?;
    let found = launched_claims(world).await?;
    let orphans: Vec<_> = found.difference(&claims).collect();
    ensure!(orphans.is_empty(), "instances are there for claims that are not: {orphans:?}");
    let without: Vec<_> = claims.difference(&found).collect();
    ensure!(without.is_empty(), "claims without an instance: {without:?}");
    Ok(())
}

/// The claims that instances were launched for, each of which must be there once at any time.
pub async fn launched_claims(world: &World) -> Result<BTreeSet<String>> {
    let mut claims = BTreeSet::new();
    for instance in world.cloud.alive().await? {
        let Some(claim) = instance.claim() else { bail!("{} bears no claim's name", instance.id) };
        ensure!(claims.insert(claim.to_owned()), "claim {claim} has two instances");
    }
    Ok(claims)
}

/// The names of NodeClaim objects.
pub async fn node_claims(world: &World) -> Result<BTreeSet<String>> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("karpenter.sh", "v1", "NodeClaim"));
    let claims: Api<DynamicObject> = Api::all_with(world.client.clone(), &resource);
    let list = claims.list(&ListParams::default()).await?;
    Ok(list.items.iter().map(ResourceExt::name_any).collect())
}

/// Whether a function was killed in a call.
pub const fn was_killed(invocation: &Invocation) -> bool {
    matches!(invocation.outcome, Outcome::Killed(_))
}
