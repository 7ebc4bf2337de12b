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
