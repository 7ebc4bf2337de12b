use domain::SignedDuration;
use domain::pdb::CountOrPercent;
use domain::pod::{DoNotDisrupt, OwnerKind, Pod, VolumeUse};
use domain::resource::CPU;
use domain::rollout::{EvictBy, RolloutSpec};

use super::read_as;
use crate::kubernetes::WorkloadObject;
use crate::object::Object;

fn workload(kind: &str, rest: &str) -> WorkloadObject {
    let text =
        format!("kind: {kind}\nmetadata: {{name: web, namespace: shop, uid: w-1}}\n{rest}\n");
    read_as!(&text, Object::Workload)
}

fn replicas(kind: &str, rest: &str) -> u32 {
    workload(kind, rest).workload.replicas
}

#[test]
fn replicas_default_to_one() {
    for kind in ["Deployment", "StatefulSet", "ReplicaSet"] {
        assert_eq!(replicas(kind, "spec: {}"), 1, "{kind}");
        assert_eq!(replicas(kind, "spec: {replicas: 3}"), 3, "{kind}");
        assert_eq!(replicas(kind, "spec: {replicas: 0}"), 0, "{kind}");
    }
}

#[test]
fn a_job_asks_for_its_parallelism_within_what_is_left() {
    assert_eq!(replicas("Job", "spec: {}"), 1);
    assert_eq!(replicas("Job", "spec: {parallelism: 5}"), 5);
    assert_eq!(
        replicas("Job", "spec: {parallelism: 5, completions: 8}\nstatus: {succeeded: 6}"),
        2
    );
    assert_eq!(
        replicas("Job", "spec: {parallelism: 5, completions: 3}\nstatus: {succeeded: 4}"),
        0
    );
    assert_eq!(replicas("Job", "spec: {suspend: true, parallelism: 5}"), 0);
    let over = "spec: {parallelism: 5}\nstatus: {conditions: [{type: Failed, status: \"True\"}]}";
    assert_eq!(replicas("Job", over), 0);
}

#[test]
fn a_job_says_how_often_its_pods_have_to_succeed() {
    let job = |spec: &str| workload("Job", spec).job.unwrap();
    let plain = job("spec: {}");
    assert_eq!((plain.completions, plain.parallelism, plain.backoff_limit), (Some(1), 1, 6));
    assert_eq!(job("spec: {parallelism: 5}").completions, None, "its pods end it together");
    let rest = job("spec: {completions: 8, completionMode: Indexed, backoffLimit: 0, \
                    ttlSecondsAfterFinished: 60, suspend: true}\nstatus: {succeeded: 6}");
    assert_eq!((rest.completions, rest.parallelism, rest.succeeded), (Some(8), 1, 6));
    assert_eq!((rest.is_indexed, rest.is_suspended, rest.backoff_limit), (true, true, 0));
    assert_eq!(rest.ttl_after_finished, Some(SignedDuration::from_secs(60)));
    assert_eq!(workload("Deployment", "spec: {}").job, None);
}

#[test]
fn pods_are_made_from_the_template_and_owned_by_the_workload() {
    let deployment = workload(
        "Deployment",
        "\
spec:
  replicas: 2
  template:
    metadata: {labels: {app: web}, annotations: {karpenter.sh/do-not-disrupt: \"true\"}}
    spec: {containers: [{resources: {requests: {cpu: 1}}}]}",
    );
    let pods: Vec<Pod> = deployment.pods().collect();
    let keys: Vec<_> = pods.iter().map(|pod| pod.key.to_string()).collect();
    assert_eq!(keys, ["shop/web-0", "shop/web-1"]);
    let owner = pods[0].owner.clone().unwrap();
    assert_eq!((owner.kind, &*owner.name, &*owner.uid), (OwnerKind::Deployment, "web", "w-1"));
    assert_eq!(pods[0].do_not_disrupt, Some(DoNotDisrupt::Always));
    assert_eq!((pods[0].spec.requests.get(CPU), &*pods[0].labels["app"]), (1000, "web"));
    assert!(std::sync::Arc::ptr_eq(&pods[0].spec, &pods[1].spec));
    assert_eq!(&*deployment.pod("web-abcde".into()).key.name, "web-abcde");
}

#[test]
fn a_stateful_sets_pods_mount_claims_of_their_own() {
    let set = workload("StatefulSet", "\
spec:
  replicas: 2
  template:
    spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: replaced}}, {name: more, persistentVolumeClaim: {claimName: kept}}]}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: gp3}}]");
    let volumes = &set.pods().nth(1).unwrap().spec.volumes;
    let [
        VolumeUse::Pvc { name: own, template: Some(template) },
        VolumeUse::Pvc { name: kept, template: None },
    ] = volumes.as_slice()
    else {
        panic!("two claims, found {volumes:?}");
    };
    assert_eq!((&**own, &**kept), ("data-web-1", "kept"));
    assert_eq!(template.storage_class.as_deref(), Some("gp3"));
}

#[test]
fn a_daemon_sets_pods_tolerate_what_their_controller_adds() {
    let set = read_as!(
        "kind: DaemonSet\nmetadata: {name: agent}\nspec: {template: {spec: {tolerations: [{key: gpu, operator: Exists}]}}}\n",
        Object::DaemonSet
    );
    let keys: Vec<_> = set
        .daemon_set
        .template
        .spec
        .tolerations
        .iter()
        .filter_map(|toleration| toleration.key.as_deref())
        .collect();
    assert_eq!(
        keys,
        [
            "gpu",
            "node.kubernetes.io/disk-pressure",
            "node.kubernetes.io/memory-pressure",
            "node.kubernetes.io/network-unavailable",
            "node.kubernetes.io/not-ready",
            "node.kubernetes.io/pid-pressure",
            "node.kubernetes.io/unreachable",
            "node.kubernetes.io/unschedulable",
        ]
    );
}

#[test]
fn a_pod_template_keeps_its_shape() {
    let template = read_as!(
        "kind: PodTemplate\nmetadata: {name: room, namespace: shop}\ntemplate: {metadata: {labels: {a: b}}, spec: {containers: [{resources: {requests: {cpu: 2}}}]}}\n",
        Object::PodTemplate
    );
    assert_eq!(template.key.to_string(), "shop/room");
    assert_eq!(template.template.spec.requests.get(CPU), 2000);
}

#[test]
fn a_deployment_says_how_it_replaces_its_pods() {
    let text = "metadata: {name: web, namespace: shop, annotations: {outrigger.dev/evict-by: rollout, \
                outrigger.dev/restarted-at: then}}\nspec: {paused: true, progressDeadlineSeconds: 60, \
                strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 10%}}, \
                template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: now}}}}";
    let text = format!("kind: Deployment\n{text}\n");
    let own = read_as!(&text, Object::Workload).rollout.unwrap();
    let expected = RolloutSpec {
        evict_by: Some(EvictBy::Rollout),
        is_recreate: false,
        max_surge: CountOrPercent::Count(1),
        max_unavailable: CountOrPercent::Percent(10),
        is_paused: true,
        progress_deadline: SignedDuration::from_mins(1),
        restarted_at: Some("now".into()),
        asked_at: Some("then".into()),
    };
    assert_eq!(own, expected);
    assert_eq!(workload("Deployment", "spec: {}").rollout, Some(RolloutSpec::default()));
    let recreate = workload("Deployment", "spec: {strategy: {type: Recreate}}").rollout;
    assert!(recreate.unwrap().is_recreate);
    assert_eq!(workload("StatefulSet", "spec: {}").rollout, None);
}
