//! How much is planned at a time, so that a slip of the keyboard ends in an error and not in hours.

use domain::pod::OwnerKind;

use crate::error::Problem;
use crate::field::Field;
use crate::object::Object;

/// Most pods that all workloads and buffers of the sources may ask for together.
///
/// Source: <https://kubernetes.io/docs/setup/best-practices/cluster-large/>.
pub const PODS_MAX: u64 = 150_000;

/// Most nodes that static NodePools of the sources may ask for together: the largest clusters that
/// EKS supports.
pub const NODES_MAX: u64 = 100_000;

/// Which limit an object exceeds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum ExtentRule {
    #[error(
        "{own} replicas, {total} with those before: at most {PODS_MAX} pods are planned at a time"
    )]
    Pods { own: u64, total: u64 },
    #[error(
        "{own} replicas, {total} with those before: at most {NODES_MAX} nodes are planned at a time"
    )]
    Nodes { own: u64, total: u64 },
    #[error("{0} percent is more than the 10000 that a buffer may have")]
    Percentage(u32),
}

/// Most percent that a buffer may have of its workload's replicas.
const PERCENTAGE_MAX: u32 = 10_000;

/// What the objects read so far ask for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    pods: u64,
    nodes: u64,
}

impl Extent {
    /// Counts an object, or notes at its field that there would be too many.
    pub(super) fn add(&mut self, object: &Object, root: Field<'_>) {
        let spec = root.get("spec");
        match object {
            // A Deployment counts for the ReplicaSets that it owns.
            Object::Workload(workload)
                if workload.owner.as_ref().is_none_or(|by| by.kind != OwnerKind::Deployment) =>
            {
                let replicas = spec.get("replicas");
                let field = if replicas.exists() { replicas } else { spec.get("parallelism") };
                self.pods(workload.workload.replicas, field);
            }
            Object::CapacityBuffer(buffer) => {
                self.pods(buffer.replicas.unwrap_or(0), spec.get("replicas"));
                let field = spec.get("percentage");
                if let Some(share) = buffer.percentage.filter(|share| *share > PERCENTAGE_MAX) {
                    field.note(Problem::rule(ExtentRule::Percentage(share)));
                }
            }
            Object::ScaledObject(scaled) => {
                let wanted = scaled.triggers.iter().map(|trigger| trigger.desired_replicas).max();
                let most = wanted.unwrap_or(0).min(scaled.max_replicas).max(scaled.min_replicas);
                self.pods(most, spec.get("triggers"));
            }
            Object::PrewarmSchedule(schedule) => {
                let wanted = schedule.triggers.iter().map(|trigger| trigger.desired_replicas).max();
                let most =
                    wanted.unwrap_or(0).min(schedule.max_replicas).max(schedule.min_replicas);
                self.pods(most, spec.get("triggers"));
            }
            Object::NodePool(pool) => {
                let own = u64::from(pool.replicas.unwrap_or(0));
                let total = self.nodes + own;
                if total > NODES_MAX {
                    spec.get("replicas").note(Problem::rule(ExtentRule::Nodes { own, total }));
                } else {
                    self.nodes = total;
                }
            }
            _ => {}
        }
    }

    fn pods(&mut self, replicas: u32, field: Field<'_>) {
        let own = u64::from(replicas);
        let total = self.pods + own;
        if total > PODS_MAX {
            field.note(Problem::rule(ExtentRule::Pods { own, total }));
        } else {
            self.pods = total;
        }
    }
}

#[cfg(test)]
mod tests {
    use documents::Source;

    fn errors(text: &str) -> Vec<String> {
        let objects = crate::read(&[Source::new("in.yaml", text)]);
        objects.errors.iter().map(ToString::to_string).collect()
    }

    fn deployment(name: &str, replicas: u32) -> String {
        format!(
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: {replicas}\n  \
             selector: {{matchLabels: {{app: a}}}}\n  template: {{metadata: {{labels: {{app: a}}}}}}\n"
        )
    }

    #[test]
    fn more_pods_than_a_cluster_can_have_are_an_error_that_names_the_limit() {
        assert_eq!(
            errors(&deployment("web", 100_000_000)),
            [
                "100000000 replicas, 100000000 with those before: at most 150000 pods are planned at a time \
                 (in.yaml:6, object default/web, field spec.replicas)"
            ]
        );
        let both = deployment("a", 100_000) + &deployment("b", 60_000) + &deployment("c", 50_000);
        let errors = errors(&both);
        assert_eq!(errors.len(), 1, "only what exceeds the limit is left out: {errors:?}");
        assert!(errors[0].contains("60000 replicas, 160000 with those before"), "{errors:?}");
    }

    #[test]
    fn a_replica_set_counts_with_its_deployment() {
        let set = "---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web-1, ownerReferences: [{kind: Deployment, name: web, controller: true}]}\n\
                   spec: {replicas: 100000, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}}}\n";
        assert_eq!(errors(&(deployment("web", 100_000) + set)), Vec::<String>::new());
    }

    #[test]
    fn jobs_buffers_schedules_and_static_pools_have_the_same_limits() {
        let window = "triggers: [{type: cron, metadata: {timezone: UTC, start: 0 8 * * *, end: 0 9 * * *, desiredReplicas: '100000000'}}]";
        for (text, limit) in [
            ("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {parallelism: 100000000, completions: 100000000, template: {}}\n".to_owned(), "150000 pods"),
            ("apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {name: a}\nspec: {podTemplateRef: {name: a}, replicas: 100000000}\n".to_owned(), "150000 pods"),
            ("apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {name: a}\nspec: {scalableRef: {kind: Deployment, name: a}, percentage: 100000000}\n".to_owned(), "10000"),
            (format!("apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {{name: a}}\nspec: {{scaleTargetRef: {{name: a}}, maxReplicaCount: 100000000, {window}}}\n"), "150000 pods"),
            (format!("apiVersion: outrigger.dev/v1alpha1\nkind: PrewarmSchedule\nmetadata: {{name: a}}\nspec: {{scaleTargetRef: {{name: a}}, maxReplicas: 100000000, {window}}}\n"), "150000 pods"),
            ("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {replicas: 100000000, template: {spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}}}}\n".to_owned(), "100000 nodes"),
        ] {
            let errors = errors(&text);
            assert!(matches!(errors.as_slice(), [error] if error.contains(limit)), "{errors:?}");
        }
    }
}
