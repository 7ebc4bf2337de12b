//! What most small scenarios apply: a NodePool of on-demand `m5.large`, of EC2NodeClass `default`,
//! and Deployments.

/// A Deployment, in flow style where it has several values.
pub(crate) struct Deployment<'a> {
    pub(crate) name: &'a str,
    pub(crate) replicas: u32,
    pub(crate) cpu: &'a str,
    /// Annotations of its pods.
    pub(crate) annotations: &'a str,
}

/// Entries of an `apply` list, each in a line of its own after `indent`.
pub(crate) fn pool_and_pods(indent: &str, pool: &str, deployments: &[Deployment<'_>]) -> String {
    let pool = format!(
        "{indent}- {{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {{{pool}}}, spec: {{template: {{spec: \
         {{nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}, requirements: \
         [{{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}}, \
         {{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}}]}}}}}}}}\n"
    );
    let workload = |own: &Deployment<'_>| {
        let Deployment { name, replicas, cpu, annotations } = own;
        format!(
            "{indent}- {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}}}, spec: {{replicas: \
             {replicas}, selector: {{matchLabels: {{app: {name}}}}}, template: {{metadata: {{labels: {{app: \
             {name}}}, annotations: {{{annotations}}}}}, spec: {{containers: [{{name: c, image: x, resources: \
             {{requests: {{cpu: {cpu}, memory: 1Gi}}}}}}]}}}}}}}}\n"
        )
    };
    std::iter::once(pool).chain(deployments.iter().map(workload)).collect()
}
