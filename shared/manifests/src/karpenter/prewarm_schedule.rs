//! PrewarmSchedule (`outrigger.dev/v1alpha1`): KEDA's cron triggers without KEDA.

use domain::buffer::{PrewarmSchedule, PrewarmTarget};

use super::metadata::read_namespaced;
use super::scaled_object::{read_range, read_target, read_triggers};
use crate::duration;
use crate::field::Field;
use crate::kubernetes::read_pod_template_spec;

/// Which rule a PrewarmSchedule breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PrewarmRule {
    /// Pods of no shape, or of two.
    #[error("exactly one of scaleTargetRef and template is needed")]
    OneTarget,
    /// There is nothing to scale.
    #[error("scaleTarget needs scaleTargetRef beside it")]
    NothingToScale,
}

/// Reads a PrewarmSchedule. One whose target is no workload of Kubernetes' own is left out with a
/// warning.
pub(crate) fn read_prewarm_schedule(root: Field<'_>) -> Option<PrewarmSchedule> {
    let (metadata, key) = read_namespaced(root);
    let spec = root.get("spec").required();
    spec.only(&[
        "scaleTargetRef",
        "template",
        "scaleTarget",
        "minReplicas",
        "maxReplicas",
        "leadTime",
        "triggers",
    ]);
    let (min_replicas, max_replicas) = read_range(spec, ["minReplicas", "maxReplicas"]);
    let triggers = read_triggers(spec);
    let lead_time = spec.get("leadTime").parsed(duration::parse);
    let (reference, template) = (spec.get("scaleTargetRef"), spec.get("template"));
    let scale = spec.get("scaleTarget").bool().unwrap_or(false);
    if reference.exists() == template.exists() {
        spec.note_rule(PrewarmRule::OneTarget);
    } else if scale && template.exists() {
        spec.get("scaleTarget").note_rule(PrewarmRule::NothingToScale);
    }
    let target = if template.exists() {
        PrewarmTarget::Template(read_pod_template_spec(template, &key.namespace))
    } else {
        let (kind, name) = read_target(reference)?;
        PrewarmTarget::Workload { kind, name, scale }
    };
    let uid = metadata.uid;
    Some(PrewarmSchedule { key, uid, target, min_replicas, max_replicas, triggers, lead_time })
}
