//! `outrigger explain`: everything that a plan says about one pod or one node.

use domain::plan::Plan;
use domain::pod::{Pod, PodKey};
use domain::snapshot::ClusterSnapshot;
use planning::explain::{explain_claim, explain_pod};

use crate::args::{ExplainArgs, ExplainFormat, ExplainedKind};
use crate::commands::{CommandError, plan};
use crate::console;
use crate::snapshot_source::{self, SnapshotSource};
use crate::status::Status;
use crate::terminal::Canvas;
use crate::text::explain;
use crate::view::node_row;
use crate::wire::explanation::{NodeDocument, PodDocument};
use crate::wire::json;

/// Plans, and prints everything that the plan says about the object.
pub(crate) fn run(args: &ExplainArgs) -> Result<Status, CommandError> {
    let loaded = snapshot_source::load(&SnapshotSource::from(&args.source))?;
    let planned = planning::plan(&loaded.snapshot);
    plan::violations(&loaded.snapshot, &planned);
    let (kind, text) = match args.kind {
        ExplainedKind::Pod => ("pod", pod(args, &loaded.snapshot, &planned)?),
        ExplainedKind::Node => ("node", node(args, &loaded.snapshot, &planned)?),
    };
    let text =
        text.ok_or_else(|| CommandError::NothingToExplain { kind, name: args.name.clone() })?;
    console::write(&text)?;
    Ok(if loaded.has_bad_input { Status::BadInput } else { Status::Done })
}

fn pod(
    args: &ExplainArgs,
    snapshot: &ClusterSnapshot,
    planned: &Plan,
) -> Result<Option<String>, serde_json::Error> {
    let key = pod_key(&args.name);
    let is_it = |pod: &&Pod| pod.key == key;
    let virtual_pods = planning::virtual_pods(snapshot);
    let Some(known) =
        snapshot.objects.pods.iter().find(is_it).or_else(|| virtual_pods.iter().find(is_it))
    else {
        return Ok(None);
    };
    let explanation = explain_pod(snapshot, &key);
    match args.output {
        ExplainFormat::Text => {
            Ok(Some(explain::pod(known, planned, explanation.as_ref(), Canvas::of_stdout())))
        }
        ExplainFormat::Json => {
            json(&PodDocument::new(known, planned, explanation.as_ref())).map(Some)
        }
    }
}

fn node(
    args: &ExplainArgs,
    snapshot: &ClusterSnapshot,
    planned: &Plan,
) -> Result<Option<String>, serde_json::Error> {
    let rows = node_row::rows(snapshot, planned);
    let Some(row) = rows.iter().find(|row| *row.name == *args.name) else { return Ok(None) };
    let claim = explain::new_claims(planned).find(|claim| *claim.name == *args.name);
    let explanation = claim.and_then(|claim| explain_claim(snapshot, claim));
    let claim = claim.map(|claim| (claim, explanation.as_ref()));
    match args.output {
        ExplainFormat::Text => {
            Ok(Some(explain::node(row, snapshot, planned, claim, Canvas::of_stdout())))
        }
        ExplainFormat::Json => {
            json(&NodeDocument::new(&args.name, snapshot, planned, claim)).map(Some)
        }
    }
}

/// `NAMESPACE/NAME`, or a name in the namespace `default`.
fn pod_key(name: &str) -> PodKey {
    let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
    PodKey::new(namespace, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_without_a_namespace_is_in_the_default_one() {
        assert_eq!(pod_key("web-0"), PodKey::new("default", "web-0"));
        assert_eq!(pod_key("shop/web-0"), PodKey::new("shop", "web-0"));
    }
}
