//! `outrigger explain`: everything that a plan says about one pod or one node.

use domain::plan::Plan;
use domain::pod::{Pod, PodKey};
use planning::explain::{explain_claim, explain_pod};

use crate::args::{ExplainArgs, ExplainFormat, ExplainedKind};
use crate::commands::{CommandError, plan};
use crate::console;
use crate::snapshot_source::{self, LoadedSnapshot, SnapshotSource};
use crate::status::Status;
use crate::terminal::Canvas;
use crate::text::explain;
use crate::view::node_row;
use crate::view::pricing::PriceNote;
use crate::wire::basis::{BasisDocument, BasisOptions};
use crate::wire::explanation::{NodeDocument, PodDocument, Remarks};
use crate::wire::json;

/// Plans, and prints everything that the plan says about the object.
pub(crate) fn run(args: &ExplainArgs) -> Result<Status, CommandError> {
    let loaded = snapshot_source::load(&SnapshotSource::from(&args.source))?;
    let planned = planning::plan(&loaded.snapshot);
    plan::violations(&loaded.snapshot, &planned);
    let (kind, text) = match args.kind {
        ExplainedKind::Pod => ("pod", pod(args, &loaded, &planned)?),
        ExplainedKind::Node => ("node", node(args, &loaded, &planned)?),
    };
    let text =
        text.ok_or_else(|| CommandError::NothingToExplain { kind, name: args.name.clone() })?;
    console::write(&text)?;
    Ok(if loaded.has_bad_input { Status::BadInput } else { Status::Done })
}

fn pod(
    args: &ExplainArgs,
    loaded: &LoadedSnapshot,
    planned: &Plan,
) -> Result<Option<String>, CommandError> {
    let snapshot = &loaded.snapshot;
    let prices = loaded.price_note();
    let virtual_pods = planning::virtual_pods(snapshot);
    let all: Vec<&Pod> = snapshot.objects.pods.iter().chain(&virtual_pods).collect();
    let Some(known) = find(&all, &args.name)? else { return Ok(None) };
    let explanation = explain_pod(snapshot, &known.key);
    match args.output {
        ExplainFormat::Text => {
            let text = explain::pod(known, planned, explanation.as_ref(), Canvas::of_stdout());
            Ok(Some(with_prices(text, &prices)))
        }
        ExplainFormat::Json => {
            let remarks = remarks(args, loaded, &prices);
            let document = PodDocument::new(known, planned, explanation.as_ref(), remarks);
            Ok(Some(json(&document)?))
        }
    }
}

fn node(
    args: &ExplainArgs,
    loaded: &LoadedSnapshot,
    planned: &Plan,
) -> Result<Option<String>, CommandError> {
    let snapshot = &loaded.snapshot;
    let prices = loaded.price_note();
    let rows = node_row::rows(snapshot, planned);
    let Some(row) = rows.iter().find(|row| *row.name == *args.name) else { return Ok(None) };
    let claim = explain::new_claims(planned).find(|claim| *claim.name == *args.name);
    let explanation = claim.and_then(|claim| explain_claim(snapshot, claim));
    let claim = claim.map(|claim| (claim, explanation.as_ref()));
    match args.output {
        ExplainFormat::Text => {
            let text = explain::node(row, snapshot, planned, claim, Canvas::of_stdout());
            Ok(Some(with_prices(text, &prices)))
        }
        ExplainFormat::Json => {
            let remarks = remarks(args, loaded, &prices);
            Ok(Some(json(&NodeDocument::new(&args.name, snapshot, planned, claim, remarks))?))
        }
    }
}

/// What stands in a document beside the explanation.
fn remarks(args: &ExplainArgs, loaded: &LoadedSnapshot, prices: &PriceNote) -> Remarks {
    let options = BasisOptions::from(&args.source);
    Remarks {
        basis: BasisDocument::new(loaded.snapshot.now, prices, options),
        warnings: loaded.warnings.clone(),
        errors: loaded.errors.clone(),
    }
}

/// What is to be said beside dollars, where there are any.
fn with_prices(text: String, prices: &PriceNote) -> String {
    if text.contains('$') { format!("{text}  {prices}\n") } else { text }
}

/// A pod by `NAMESPACE/NAME`, or by a name that is in the namespace `default` or in one only.
fn find<'p>(pods: &[&'p Pod], name: &str) -> Result<Option<&'p Pod>, CommandError> {
    if let Some((namespace, name)) = name.split_once('/') {
        let key = PodKey::new(namespace, name);
        return Ok(pods.iter().find(|pod| pod.key == key).copied());
    }
    let named: Vec<&'p Pod> = pods.iter().filter(|pod| *pod.key.name == *name).copied().collect();
    let by_default = named.iter().find(|pod| &*pod.key.namespace == "default").copied();
    match named.as_slice() {
        [one] => Ok(Some(one)),
        several if by_default.is_none() && !several.is_empty() => {
            let keys: Vec<String> = several.iter().map(|pod| pod.key.to_string()).collect();
            Err(CommandError::SeveralPods { name: name.to_owned(), keys: keys.join(", ") })
        }
        _ => Ok(by_default),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_pod_without_a_namespace_is_in_the_default_one_or_in_the_only_one_that_has_it() {
        let pod = |namespace: &str, name: &str| Pod {
            key: PodKey::new(namespace, name),
            ..testing::pod(name, None)
        };
        let pods = [
            pod("default", "web-0"),
            pod("shop", "web-0"),
            pod("shop", "db-0"),
            pod("a", "cache-0"),
            pod("b", "cache-0"),
        ];
        let pods: Vec<&Pod> = pods.iter().collect();
        let found = |name| find(&pods, name).unwrap().map(|pod| pod.key.to_string());
        assert_eq!(found("web-0").as_deref(), Some("default/web-0"));
        assert_eq!(found("shop/web-0").as_deref(), Some("shop/web-0"));
        assert_eq!(found("db-0").as_deref(), Some("shop/db-0"));
        assert_eq!(found("default/db-0"), None);
        assert_eq!(
            find(&pods, "cache-0").unwrap_err().to_string(),
            "several pods are named cache-0: a/cache-0, b/cache-0"
        );
    }
}
