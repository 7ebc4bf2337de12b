//! The binary as scripts use it, and small inputs for it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A NodePool, its EC2NodeClass, and a Deployment of three replicas that has no pods yet.
pub(crate) const SHOP: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {shop: '1'}}]
  securityGroupSelectorTerms: [{tags: {shop: '1'}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        resources: {requests: {cpu: 500m, memory: 256Mi}}
";

/// The EC2NodeClass `default`, and a spot node of NodePool `default` with its NodeClaim, both of 20
/// October 2026, that expires after 30 days.
pub(crate) fn launched_in_october(node: &str) -> String {
    const OBJECTS: &str = "\
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  role: node
  subnetSelectorTerms: [{id: subnet-12345678}]
  securityGroupSelectorTerms: [{id: sg-12345678}]
---
apiVersion: v1
kind: Node
metadata:
  name: NODE
  creationTimestamp: 2026-10-20T00:00:00Z
  labels:
    karpenter.sh/nodepool: default
    karpenter.sh/capacity-type: spot
    karpenter.sh/initialized: 'true'
    karpenter.sh/registered: 'true'
    node.kubernetes.io/instance-type: small
    topology.kubernetes.io/zone: us-east-1a
spec: {providerID: aws:///us-east-1a/i-00000000000000001}
status:
  allocatable: {cpu: '2', memory: 4Gi, pods: '20'}
  capacity: {cpu: '2', memory: 4Gi, pods: '20'}
  conditions: [{type: Ready, status: 'True'}]
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: default-NODE
  creationTimestamp: 2026-10-20T00:00:00Z
  labels: {karpenter.sh/nodepool: default, karpenter.sh/capacity-type: spot}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  expireAfter: 720h
  requirements: []
status:
  providerID: aws:///us-east-1a/i-00000000000000001
  nodeName: NODE
  conditions:
  - {type: Launched, status: 'True', lastTransitionTime: 2026-10-20T00:00:00Z}
  - {type: Registered, status: 'True', lastTransitionTime: 2026-10-20T00:00:30Z}
  - {type: Initialized, status: 'True', lastTransitionTime: 2026-10-20T00:01:00Z}
";
    OBJECTS.replace("NODE", node)
}

/// A pod that fits no instance type there is.
pub(crate) const HUGE: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: huge}
spec:
  containers:
  - name: huge
    resources: {requests: {cpu: '5000'}}
";

/// A NodePool whose operator does not exist, on line 9.
pub(crate) const WRONG_OPERATOR: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: broken}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: kubernetes.io/arch, operator: Within, values: [amd64]}
";

/// Two instance types, so that tests do not depend on the embedded catalogue.
pub(crate) const CATALOG: &str = "\
apiVersion: outrigger.dev/v1alpha1
kind: InstanceCatalog
metadata: {name: two}
spec:
  region: us-east-1
  instanceTypes:
  - name: small
    architecture: amd64
    operatingSystems: [linux]
    capacity: {cpu: '2', memory: 4Gi, pods: '20'}
    offerings:
    - {zone: us-east-1a, capacityType: spot, hourlyUsd: 0.031, available: true}
    - {zone: us-east-1a, capacityType: on-demand, hourlyUsd: 0.1, available: true}
  - name: large
    architecture: amd64
    operatingSystems: [linux]
    capacity: {cpu: '8', memory: 16Gi, pods: '60'}
    offerings:
    - {zone: us-east-1a, capacityType: spot, hourlyUsd: 0.13, available: true}
";

/// How a run of the binary ended.
#[derive(Debug)]
pub(crate) struct Run {
    /// The exit status.
    pub(crate) status: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Run {
    /// Standard output as one JSON document, which is valid by the schema of its kind.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        let document: serde_json::Value =
            serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        let kind = document["kind"].as_str().unwrap();
        let schema = serde_json::from_str(&schema(kind)).unwrap();
        let options = jsonschema::options().should_validate_formats(true);
        let errors: Vec<String> = options
            .build(&schema)
            .unwrap()
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{kind}:\n{}", errors.join("\n"));
        document
    }
}

/// The committed schema of a kind of document.
#[track_caller]
pub(crate) fn schema(kind: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    std::fs::read_to_string(folder.join(format!("{kind}.json")))
        .unwrap_or_else(|error| panic!("{kind} has no schema: {error}"))
}

/// Dollars of a document in billionths.
#[track_caller]
pub(crate) fn nanos(dollars: &serde_json::Value) -> i64 {
    domain::money::UsdPerHour::from_f64(dollars.as_f64().unwrap()).unwrap().nanos()
}

/// A folder of files to run the binary in.
pub(crate) struct Workspace {
    folder: tempfile::TempDir,
    environment: Vec<(&'static str, String)>,
}

impl Workspace {
    /// With these files, and `catalog.yaml`.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let workspace = Self { folder: tempfile::tempdir().unwrap(), environment: Vec::new() };
        for (name, text) in files.iter().chain(&[("catalog.yaml", CATALOG)]) {
            let path = workspace.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        workspace
    }

    /// With an environment variable set.
    pub(crate) fn environment(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Where a file stands.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the binary with the words of a line.
    pub(crate) fn run(&self, line: &str) -> Run {
        self.run_with_input(line, "")
    }

    /// Runs the binary with the words of a line and a text on standard input.
    pub(crate) fn run_with_input(&self, line: &str, input: &str) -> Run {
        let mut child = Command::new(env!("CARGO_BIN_EXE_outrigger"))
            .args(line.split_whitespace())
            .current_dir(self.folder.path())
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .env_remove("COLUMNS")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Whoever refuses its arguments does not read, and may be gone by now.
        match child.stdin.take().unwrap().write_all(input.as_bytes()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => panic!("{error}"),
            _ => {}
        }
        let output = child.wait_with_output().unwrap();
        Run {
            status: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
