//! Overlays, buffers and schedules.

use domain::SignedDuration;
use domain::buffer::{BufferSource, PrewarmTarget};
use domain::money::UsdPerHour;
use domain::overlay::PriceChange;
use domain::workload::WorkloadKind;

use super::{errors, only_object, read};
use crate::object::Object;

fn overlay(spec: &str) -> String {
    format!(
        "apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {{name: cheap}}\nspec: {spec}\n"
    )
}

fn buffer(spec: &str) -> String {
    format!(
        "apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {{name: spare, namespace: web}}\nspec: {spec}\n"
    )
}

fn scaled_object(spec: &str) -> String {
    format!(
        "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {{name: evening}}\nspec: {spec}\n"
    )
}

#[track_caller]
fn refuses(text: &str, expected: &[&str]) {
    let shown: Vec<String> = errors(text)
        .iter()
        .map(|error| {
            let (what, place) = error.rsplit_once(" (").unwrap();
            let field = place.rsplit_once("field ").map_or("", |(_, field)| field);
            format!("{}: {what}", field.trim_end_matches(')').trim_start_matches("spec."))
        })
        .collect();
    assert_eq!(shown, expected, "{text}");
}

#[test]
fn an_overlay_sets_a_price_and_adds_resources() {
    let text = overlay(
        "{requirements: [{key: karpenter.sh/nodepool, operator: In, values: [leased]}], price: '0.01', \
         capacity: {smarter-devices/fuse: '2'}, weight: 10000}",
    );
    let Object::NodeOverlay(overlay) = only_object(&text) else { panic!() };
    assert_eq!(overlay.price, Some(PriceChange::Absolute(UsdPerHour::from_f64(0.01).unwrap())));
    assert_eq!(overlay.capacity.get("smarter-devices/fuse"), 2);
    assert_eq!((overlay.weight, overlay.requirements.len()), (10_000, 1));
}

#[test]
fn an_overlay_sets_how_many_gpus_are_shared() {
    let text = overlay(
        "{requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}], \
         capacity: {nvidia.com/gpu: 8}}",
    );
    let Object::NodeOverlay(overlay) = only_object(&text) else { panic!() };
    assert_eq!(overlay.capacity.get("nvidia.com/gpu"), 8);
}

#[test]
fn overlays_keep_the_rules_of_the_api() {
    for (spec, expected) in [
        ("{price: '1'}", "requirements: the field is missing"),
        (
            "{requirements: [], price: '1', priceAdjustment: '+1'}",
            "price: price cannot stand beside priceAdjustment",
        ),
        (
            "{requirements: [], price: '-1'}",
            "price: \"-1\" is not a price: it takes a decimal figure in US dollars an hour, such as 0.25",
        ),
        (
            "{requirements: [], priceAdjustment: 10%}",
            "priceAdjustment: \"10%\" is not a price adjustment: it takes a sign and an amount or a percentage, \
             such as -0.05, +10% or -100%",
        ),
        (
            "{requirements: [], capacity: {memory: 1Gi}}",
            "capacity.memory: memory cannot be overlaid: instance types have it by themselves; only devices and \
             other extended resources can be set",
        ),
        (
            "{requirements: [], weight: 10001}",
            "weight: weight 10001 is out of range: it takes 1 to 10000",
        ),
        (
            "{requirements: [{key: kubernetes.io/hostname, operator: In, values: [a]}]}",
            "requirements[0].key: label kubernetes.io/hostname is restricted: it differs on every node",
        ),
        (
            "{requirements: [{key: karpenter.sh/team, operator: In, values: [a]}]}",
            "requirements[0].key: label karpenter.sh/team is restricted: keys under karpenter.sh are \
             Karpenter's own, except its well-known labels",
        ),
        (
            "{requirements: [{key: team, operator: NotIn}]}",
            "requirements[0].values: operator NotIn needs at least one value",
        ),
        (
            "{requirements: [{key: team, operator: Exists, minValues: 2}]}",
            "requirements[0].minValues: the field is not known",
        ),
    ] {
        refuses(&overlay(spec), &[expected]);
    }
}

#[test]
fn a_buffer_follows_a_template_or_a_workload() {
    let text =
        buffer("{scalableRef: {apiGroup: apps, kind: Deployment, name: api}, percentage: 50}");
    let Object::CapacityBuffer(read) = only_object(&text) else { panic!() };
    assert_eq!(read.source, BufferSource::Workload(WorkloadKind::Deployment, "api".into()));
    assert_eq!((read.percentage, read.replicas), (Some(50), None));
    assert_eq!(&*read.provisioning_strategy, "buffer.x-k8s.io/active-capacity");
    assert_eq!(read.key.to_string(), "web/spare");
    let Object::CapacityBuffer(read) =
        only_object(&buffer("{podTemplateRef: {name: chunk}, replicas: 0}"))
    else {
        panic!()
    };
    assert_eq!(read.source, BufferSource::PodTemplate("chunk".into()));
}

#[test]
fn a_buffer_that_says_no_size_is_a_warning() {
    let warnings = |size: &str| {
        let text = buffer(&format!(
            "{{scalableRef: {{apiGroup: apps, kind: Deployment, name: api}}{size}}}"
        ));
        read(&text).warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        warnings(""),
        [
            "replicas, percentage or limits is needed beside it to say how many pods: the buffer has no effect \
          (pool.yaml:4, object web/spare, field spec.scalableRef)"
        ]
    );
    assert_eq!(warnings(", percentage: 10"), [""; 0]);
}

#[test]
fn a_buffer_may_refer_to_what_no_pod_template_is_read_from() {
    for (reference, expected) in [
        ("{apiGroup: batch, kind: Job, name: nightly}", "batch/Job nightly"),
        ("{apiGroup: batch, kind: Deployment, name: web}", "batch/Deployment web"),
        ("{kind: ReplicationController, name: web}", "ReplicationController web"),
        ("{apiGroup: '', kind: Deployment, name: web}", "Deployment web"),
    ] {
        let text = buffer(&format!("{{scalableRef: {reference}, replicas: 1}}"));
        let Object::CapacityBuffer(read) = only_object(&text) else { panic!() };
        assert_eq!(read.source, BufferSource::Unsupported(expected.into()));
    }
}

#[test]
fn a_share_of_a_template_is_a_warning() {
    let text = buffer("{podTemplateRef: {name: chunk}, replicas: 1, percentage: 10}");
    assert_eq!(
        read(&text).warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["scalableRef is needed beside it, whose replicas it is a share of: it has no effect \
          (pool.yaml:4, object web/spare, field spec.percentage)"]
    );
}

#[test]
fn buffers_keep_the_rules_of_the_api() {
    let deployment = "scalableRef: {apiGroup: apps, kind: Deployment, name: api}";
    for (spec, expected) in [
        (
            "{podTemplateRef: {name: chunk}}",
            "podTemplateRef: podTemplateRef needs replicas or limits beside it",
        ),
        (
            &format!("{{podTemplateRef: {{name: chunk}}, {deployment}, replicas: 1}}"),
            "spec: exactly one of podTemplateRef and scalableRef is needed",
        ),
        ("{replicas: 1}", "spec: exactly one of podTemplateRef and scalableRef is needed"),
        ("{podTemplateRef: {name: ''}, replicas: 1}", "podTemplateRef.name: it is empty"),
        (
            "{scalableRef: {apiGroup: apps, kind: '', name: x}, replicas: 1}",
            "scalableRef.kind: it is empty",
        ),
        (
            "{scalableRef: {apiGroup: apps, kind: Job, name: ''}, replicas: 1}",
            "scalableRef.name: it is empty",
        ),
        (&format!("{{{deployment}, replicas: -1}}"), "replicas: -1 is below zero"),
    ] {
        refuses(&buffer(spec), &[expected]);
    }
}

#[test]
fn a_schedule_is_read_from_cron_triggers_alone() {
    let text = scaled_object(
        "{scaleTargetRef: {name: web}, triggers: [{type: cpu, metadata: {value: '50'}}, {type: cron, metadata: \
         {timezone: Asia/Seoul, start: 0 21 * * *, end: 0 23 * * *, desiredReplicas: '30'}}]}",
    );
    let objects = read(&text);
    assert_eq!(
        objects.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "a trigger of type cpu is not known beforehand: it has no effect (pool.yaml:4, object default/evening, \
             field spec.triggers[0])"
        ]
    );
    let Object::ScaledObject(read) = only_object(&text) else { panic!() };
    assert_eq!(read.target, (WorkloadKind::Deployment, "web".into()));
    assert_eq!((read.min_replicas, read.max_replicas), (0, 100));
    let [trigger] = read.triggers.as_slice() else { panic!() };
    assert_eq!(trigger.timezone.iana_name(), Some("Asia/Seoul"));
    assert_eq!((trigger.start.to_string().as_str(), trigger.desired_replicas), ("0 21 * * *", 30));
}

#[test]
fn schedules_keep_the_rules_of_keda() {
    let cron = |metadata: &str| {
        scaled_object(&format!(
            "{{scaleTargetRef: {{name: web}}, triggers: [{{type: cron, metadata: {{{metadata}}}}}]}}"
        ))
    };
    refuses(
        &cron("timezone: UTC, start: 0 21 * *, end: 0 23 * * *, desiredReplicas: many"),
        &[
            "triggers[0].metadata.start: \"0 21 * *\" is not a cron schedule: it has 4 fields instead of 5",
            "triggers[0].metadata.desiredReplicas: \"many\" is not a number of replicas",
        ],
    );
    refuses(
        &cron("timezone: Asia/Soul, start: 0 21 * * *, end: 0 21 * * *, desiredReplicas: 3"),
        &[
            "triggers[0].metadata.timezone: \"Asia/Soul\" is not an IANA time zone",
            "triggers[0].metadata.end: start and end are the same: \"0 21 * * *\"",
        ],
    );
    refuses(
        &scaled_object(
            "{scaleTargetRef: {name: web}, minReplicaCount: 5, maxReplicaCount: 3, triggers: []}",
        ),
        &["minReplicaCount: minReplicaCount 5 is above maxReplicaCount 3"],
    );
}

#[test]
fn a_lead_time_may_be_annotated() {
    let text = "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: evening, annotations: \
                {outrigger.dev/lead-time: 90s}}\nspec: {scaleTargetRef: {name: web}, triggers: []}\n";
    let Object::ScaledObject(read) = only_object(text) else { panic!() };
    assert_eq!(read.lead_time, Some(SignedDuration::from_secs(90)));
    refuses(
        &text.replace("90s", "soon"),
        &[
            "metadata.annotations[\"outrigger.dev/lead-time\"]: \"soon\" is not a duration: it takes whole numbers with h, m or s, such as 720h or 1h30m",
        ],
    );
}

fn prewarm_schedule(spec: &str) -> String {
    format!(
        "apiVersion: outrigger.dev/v1alpha1\nkind: PrewarmSchedule\nmetadata: {{name: evening, namespace: shop}}\nspec: {spec}\n"
    )
}

const EVENING: &str = "triggers: [{type: cron, metadata: {timezone: Asia/Seoul, start: 0 21 * * *, end: 0 23 * * *, \
                       desiredReplicas: '30'}}]";

#[test]
fn a_prewarm_schedule_follows_a_workload_or_has_pods_of_its_own() {
    let text = prewarm_schedule(&format!(
        "{{scaleTargetRef: {{name: web}}, scaleTarget: true, leadTime: 2m, maxReplicas: 40, {EVENING}}}"
    ));
    let Object::PrewarmSchedule(read) = only_object(&text) else { panic!() };
    assert_eq!(
        read.target,
        PrewarmTarget::Workload { kind: WorkloadKind::Deployment, name: "web".into(), scale: true }
    );
    assert_eq!((read.min_replicas, read.max_replicas), (0, 40));
    assert_eq!(read.lead_time, Some(SignedDuration::from_mins(2)));
    assert_eq!(read.triggers.len(), 1);
    let text = prewarm_schedule(&format!(
        "{{template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: [{{name: c, resources: {{requests: {{cpu: 2}}}}}}]}}}}, {EVENING}}}"
    ));
    let Object::PrewarmSchedule(read) = only_object(&text) else { panic!() };
    let PrewarmTarget::Template(template) = read.target else { panic!() };
    assert_eq!(template.spec.requests.get(domain::resource::CPU), 2000);
}

#[test]
fn a_prewarm_schedule_has_one_target() {
    refuses(
        &prewarm_schedule(&format!("{{{EVENING}}}")),
        &["spec: exactly one of scaleTargetRef and template is needed"],
    );
    refuses(
        &prewarm_schedule(&format!(
            "{{template: {{spec: {{containers: []}}}}, scaleTarget: true, {EVENING}}}"
        )),
        &["scaleTarget: scaleTarget needs scaleTargetRef beside it"],
    );
}

#[test]
fn a_schedule_of_a_foreign_workload_is_left_out() {
    let objects =
        read(&scaled_object("{scaleTargetRef: {kind: Rollout, name: web}, triggers: []}"));
    assert!(objects.errors.is_empty() && objects.objects.is_empty());
    assert_eq!(objects.warnings.len(), 1);
}
