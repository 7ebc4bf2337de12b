//! What a recorder writes is read back, and a line that is wrong costs nothing else.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what cannot be written or read ends the test"
)]

use domain::pod::{Pod, PodPhase};
use domain::{SignedDuration, Timestamp};
use manifests::{Object, Source};
use recording::document::{Header, HowEnded};
use recording::{PodEnd, ReadRecording, Recorder, read};

/// Everything of a pod that scheduling depends on.
const POD: &str = "
apiVersion: v1
kind: Pod
metadata:
  name: web-1
  namespace: shop
  uid: 7f3d
  labels: {app: web, tier: front}
  annotations: {karpenter.sh/do-not-disrupt: 90m, controller.kubernetes.io/pod-deletion-cost: '5'}
  ownerReferences: [{kind: ReplicaSet, name: web-5d9, controller: true, apiVersion: apps/v1, uid: a}]
spec:
  nodeSelector: {kubernetes.io/arch: arm64}
  priority: 100
  priorityClassName: system-cluster-critical
  terminationGracePeriodSeconds: 5
  schedulingGates: [{name: example.com/wait}]
  tolerations:
  - {key: team, value: blue, effect: NoSchedule}
  - {operator: Exists, effect: NoExecute, key: spot}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - {key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ['3']}
          - {key: example.com/disk, operator: Exists}
        - matchFields: [{key: metadata.name, operator: In, values: [n1]}]
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 7
        preference:
          matchExpressions: [{key: topology.kubernetes.io/zone, operator: NotIn, values: [b, a]}]
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector: {matchLabels: {app: cache}}
        namespaceSelector: {}
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 50
        podAffinityTerm:
          topologyKey: topology.kubernetes.io/zone
          labelSelector: {matchExpressions: [{key: app, operator: NotIn, values: [web, db]}]}
  topologySpreadConstraints:
  - maxSkew: 2
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
    matchLabelKeys: [tier]
    nodeTaintsPolicy: Honor
    minDomains: 2
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: data-web}}
  - name: scratch
    ephemeral:
      volumeClaimTemplate: {spec: {accessModes: [ReadWriteOncePod], storageClassName: fast}}
  - {name: config, configMap: {name: c}}
  containers:
  - name: web
    image: example.com/secret:1
    resources: {requests: {cpu: 250m, memory: 1Gi}, limits: {nvidia.com/gpu: 1}}
    ports: [{containerPort: 80, hostPort: 8080, protocol: UDP}]
  - {name: side, resources: {requests: {cpu: 10m, ephemeral-storage: 1G}}}
";

fn start() -> Timestamp {
    "2026-01-05T09:00:00Z".parse().unwrap()
}

fn at(seconds: i64) -> Timestamp {
    start() + SignedDuration::from_secs(seconds)
}

fn pod(text: &str) -> Pod {
    let read = manifests::read(&[Source::new("pod.yaml", text)]);
    assert!(read.errors.is_empty(), "{:?}", read.errors);
    match read.objects.into_iter().next().unwrap().value {
        Object::Pod(own) => own.pod,
        other => panic!("{other:?}"),
    }
}

fn recorder() -> Recorder {
    let header = Header { cluster: Some("test".to_owned()), ..Header::default() };
    Recorder::new(start(), header, None)
}

/// A pod that is created, bound, and has run for a minute.
fn life() -> String {
    let mut recorder = recorder();
    let mut own = Pod { created: Some(at(1)), ..pod(POD) };
    recorder.pod(at(1), &own, None, HowEnded::Deleted);
    own.node_name = Some("n1".into());
    recorder.pod(at(3), &own, None, HowEnded::Deleted);
    own.phase = PodPhase::Running;
    own.started = Some(at(5));
    recorder.pod(at(5), &own, None, HowEnded::Deleted);
    own.phase = PodPhase::Succeeded;
    recorder.pod(at(65), &own, None, HowEnded::Deleted);
    recorder.stop(at(100));
    recorder.take().unwrap()
}

#[test]
fn a_pod_reads_back_with_all_that_scheduling_depends_on() {
    let text = life();
    assert!(!text.contains("example.com/secret"), "images are nobody's business: {text}");
    let ReadRecording { recording, problems } = read("r", &text).unwrap();
    assert_eq!(problems, []);
    assert_eq!(recording.length, SignedDuration::from_secs(100));
    let [own] = recording.pods.as_slice() else { panic!("{:?}", recording.pods) };
    let original = pod(POD);
    assert_eq!(own.pod.spec, original.spec);
    assert_eq!(own.pod.labels, original.labels);
    assert_eq!(own.pod.key, original.key);
    assert_eq!(own.pod.do_not_disrupt, original.do_not_disrupt);
    assert_eq!(own.pod.deletion_cost, original.deletion_cost);
    let owner = own.pod.owner.as_ref().unwrap();
    assert_eq!((owner.kind, &*owner.name), (domain::pod::OwnerKind::ReplicaSet, "web-5d9"));
    assert_eq!(own.created, SignedDuration::from_secs(1));
    assert_eq!(own.bound, Some((SignedDuration::from_secs(3), "n1".into())));
    let end = own.end.unwrap();
    assert_eq!(end.how, PodEnd::Finished(SignedDuration::from_secs(60)));
    assert_eq!(end.at, SignedDuration::from_secs(65));
}

#[test]
fn pods_alike_share_what_they_have_in_common() {
    let mut recorder = recorder();
    for index in 0..100 {
        let mut own = Pod { created: Some(at(1)), ..pod(POD) };
        own.key.name = format!("web-{index}").into();
        own.uid = format!("uid-{index}").into();
        recorder.pod(at(1), &own, None, HowEnded::Deleted);
    }
    let text = recorder.take().unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("{\"spec\"")).count(), 1);
    assert!(text.len() < 100 * 120 + 4000, "{} bytes for a hundred pods", text.len());
}

#[test]
fn lines_that_are_wrong_are_named_and_the_rest_is_read() {
    let text = life();
    let mut lines: Vec<&str> = text.lines().collect();
    let broken = [
        "{\"pod\":{\"at\":1,",
        "{\"rumour\":{\"at\":1}}",
        "{\"bound\":{\"at\":1,\"id\":99,\"node\":\"n1\"}}",
        "{\"pod\":{\"at\":1,\"id\":7,\"name\":\"x\",\"spec\":42}}",
        "{\"object\":{\"at\":1,\"object\":{\"apiVersion\":\"karpenter.sh/v1\",\"kind\":\"NodePool\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"weight\":\"heavy\"}}}}",
    ];
    for line in broken {
        lines.insert(2, line);
    }
    let ReadRecording { recording, problems } = read("r.jsonl", &lines.join("\n")).unwrap();
    assert_eq!(recording.pods.len(), 1);
    assert!(recording.pods[0].end.is_some());
    let places: Vec<usize> = problems.iter().map(|own| own.line).collect();
    let found: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!([3, 4, 5, 6, 7].iter().all(|line| places.contains(line)), "{found:#?}");
    assert!(
        found.iter().any(|own| own == "no line before tells of pod 99 (r.jsonl:5)"),
        "{found:#?}"
    );
    assert!(
        found.iter().any(|own| own.contains("field spec.template") && own.contains("(r.jsonl:3)")),
        "{found:#?}"
    );
}

#[test]
fn what_is_no_recording_is_said_so() {
    let error = read("r.jsonl", "{}\n").unwrap_err().to_string();
    assert_eq!(
        error,
        "r.jsonl is no recording: its first line is no header (missing field `apiVersion`)"
    );
    let other = "{\"apiVersion\":\"outrigger.dev/v1\",\"kind\":\"Recording\",\"start\":\"x\"}";
    let error = read("r.jsonl", other).unwrap_err().to_string();
    assert!(error.contains("not Recording of outrigger.dev/v1alpha1"), "{error}");
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let read = read("r.jsonl", &format!("\u{feff}{}", life())).unwrap();
    assert_eq!((read.recording.pods.len(), read.problems.len()), (1, 0), "{:?}", read.problems);
}

#[test]
fn a_pod_made_again_under_its_name_is_another_pod() {
    let mut recorder = recorder();
    let own = Pod { created: Some(at(1)), ..pod(POD) };
    recorder.pod(at(1), &own, None, HowEnded::Deleted);
    let again = Pod { created: Some(at(9)), uid: "another".into(), ..pod(POD) };
    recorder.pod(at(9), &again, None, HowEnded::Evicted);
    recorder.pod_gone(at(20), &again.key, HowEnded::Deleted);
    let recording = read("r", &recorder.take().unwrap()).unwrap().recording;
    let ends: Vec<_> = recording.pods.iter().map(|own| own.end.unwrap().how).collect();
    assert_eq!(ends, [PodEnd::Displaced, PodEnd::Deleted]);
}
