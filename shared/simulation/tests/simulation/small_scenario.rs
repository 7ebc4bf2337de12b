//! What most small scenarios begin with: EC2NodeClass `default`.

use simulation::scenario::Scenario;

/// A scenario that applies its EC2NodeClass and other objects at the start.
pub(crate) struct SmallScenario<'a> {
    pub(crate) name: &'a str,
    /// Entries of `spec`, in flow style.
    pub(crate) spec: &'a str,
    /// Annotations of the EC2NodeClass, in flow style.
    pub(crate) class_annotations: &'a str,
    /// Entries of the `apply` list after it, each of lines that begin with four spaces, and
    /// steps of the timeline after them, of lines that begin with two.
    pub(crate) objects: &'a str,
    /// Expectations, in flow style.
    pub(crate) expect: &'a str,
}

impl SmallScenario<'_> {
    /// Reads it.
    pub(crate) fn read(&self) -> Scenario {
        let Self { name, spec, class_annotations, objects, expect } = self;
        let spec: Vec<&str> = spec.lines().map(str::trim).collect();
        let spec = spec.join("\n  ");
        let text = format!(
            "apiVersion: outrigger.dev/v1alpha1
kind: Scenario
metadata: {{name: {name}}}
spec:
  {spec}
  timeline:
  - apply:
    - apiVersion: karpenter.k8s.aws/v1
      kind: EC2NodeClass
      metadata: {{name: default, annotations: {{{class_annotations}}}}}
      spec:
        role: n
        amiSelectorTerms: [{{alias: al2023@latest}}]
        subnetSelectorTerms: [{{tags: {{a: b}}}}]
        securityGroupSelectorTerms: [{{tags: {{a: b}}}}]
{objects}  expect: {expect}
"
        );
        Scenario::read("scenario.yaml", &text).unwrap()
    }
}

/// A Deployment as an entry of [`SmallScenario::objects`], whose pods request so many millicores
/// and 1 GiB.
pub(crate) fn deployment(name: &str, replicas: u32, cpu_millis: u32) -> String {
    let requests = format!("{{cpu: {cpu_millis}m, memory: 1Gi}}");
    format!(
        "    - apiVersion: apps/v1
      kind: Deployment
      metadata: {{name: {name}}}
      spec:
        replicas: {replicas}
        selector: {{matchLabels: {{app: {name}}}}}
        template:
          metadata: {{labels: {{app: {name}}}}}
          spec: {{containers: [{{name: c, image: x, resources: {{requests: {requests}}}}}]}}
"
    )
}

/// A PodDisruptionBudget as an entry of [`SmallScenario::objects`], that lets go of one pod of a
/// Deployment at a time.
pub(crate) fn guard(deployment: &str) -> String {
    format!(
        "    - apiVersion: policy/v1
      kind: PodDisruptionBudget
      metadata: {{name: {deployment}}}
      spec: {{maxUnavailable: 1, selector: {{matchLabels: {{app: {deployment}}}}}}}
"
    )
}

/// An InstanceCatalog of these types as an entry of [`SmallScenario::spec`].
pub(crate) fn catalog(types: &[String]) -> String {
    format!(
        "catalog: {{apiVersion: outrigger.dev/v1alpha1, kind: InstanceCatalog, metadata: {{name: \
         small}}, spec: {{region: us-east-1, instanceTypes: [{}]}}}}",
        types.join(", ")
    )
}

/// An instance type of a [`catalog`], of which pods may use all, sold in these zones at these
/// dollars per hour.
pub(crate) fn instance_type(
    name: &str,
    [cpus, memory_gib, pods]: [u32; 3],
    capacity_type: &str,
    zones: &[(&str, f64)],
) -> String {
    let resources = format!("{{cpu: '{cpus}', memory: {memory_gib}Gi, pods: '{pods}'}}");
    let offering = |(zone, price): &(&str, f64)| {
        format!(
            "{{zone: {zone}, capacityType: {capacity_type}, hourlyUsd: {price}, available: true}}"
        )
    };
    let offerings: Vec<String> = zones.iter().map(offering).collect();
    format!(
        "{{name: {name}, architecture: amd64, operatingSystems: [linux], capacity: {resources}, \
         allocatable: {resources}, offerings: [{}]}}",
        offerings.join(", ")
    )
}
