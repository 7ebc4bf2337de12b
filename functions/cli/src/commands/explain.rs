//! `outrigger explain`: everything that a plan says about one pod or one node.

use domain::plan::Plan;
use domain::pod::Pod;
use planning::explain::{explain_claim, explain_pod, explain_resident};

use crate::args::{ExplainArgs, ExplainFormat, ExplainedKind};
use crate::commands::names::{find_node, find_pod, nodes_meant, pods_meant};
use crate::commands::{CommandError, plan};
use crate::console;
use crate::html;
use crate::html::explain::Explained;
use crate::snapshot_source::{self, LoadedSnapshot, SnapshotSource};
use crate::status::Status;
use crate::terminal::Canvas;
use crate::text::explain::{self, NewNode};
use crate::text::plan::PodNaming;
use crate::view::node_row::{self, NodeRow};
use crate::view::pricing::PriceNote;
use crate::view::spot::{PassedOver, Remembered};
use crate::wire::basis::{BasisDocument, BasisOptions};
use crate::wire::explanation::{NodeDocument, PodDocument, Remarks};
use crate::wire::json;

/// Plans, and prints everything that the plan says about the object.
pub(crate) fn run(args: &ExplainArgs) -> Result<Status, CommandError> {
    let loaded = snapshot_source::load(&SnapshotSource::from(&args.source))?;
    let planned = planning::plan(&loaded.snapshot);
    plan::violations(&loaded.snapshot, &planned);
    let text = match args.kind {
        ExplainedKind::Pod => pod(args, &loaded, &planned)?,
        ExplainedKind::Node => node(args, &loaded, &planned)?,
    };
    console::write(&text)?;
    Ok(if loaded.has_bad_input { Status::BadInput } else { Status::Done })
}

fn pod(
    args: &ExplainArgs,
    loaded: &LoadedSnapshot,
    planned: &Plan,
) -> Result<String, CommandError> {
    let snapshot = &loaded.snapshot;
    let prices = loaded.price_note();
    let virtual_pods = planning::virtual_pods(snapshot);
    let all: Vec<&Pod> = snapshot.objects.pods.iter().chain(&virtual_pods).collect();
    let Some(known) = find_pod(&all, &args.name)? else {
        let rows = node_row::rows(snapshot, planned);
        let is_node = rows.iter().any(|row| *row.name == *args.name);
        return Err(CommandError::NothingToExplain {
            kind: "pod",
            name: args.name.clone(),
            is_of: is_node.then_some("node"),
            meant: pods_meant(&all, &args.name),
        });
    };
    let explanation = explain_pod(snapshot, &known.key);
    let resident = explain_resident(snapshot, planned, &known.key);
    let (explanation, resident) = (explanation.as_ref(), resident.as_ref());
    match args.output {
        ExplainFormat::Text => {
            let canvas = Canvas::of_stdout();
            let text = explain::pod(known, planned, explanation, resident, canvas);
            Ok(with_prices(text + &about_place(known, loaded, planned), &prices))
        }
        ExplainFormat::Html => {
            let text = explain::about_pod(known, planned, explanation, resident, Canvas::PLAIN)
                + &about_place(known, loaded, planned);
            let name = known.key.to_string();
            let explained = Explained { kind: "pod", name: &name, text: &text };
            Ok(html::explain::explain(explained, snapshot, planned, &prices)?)
        }
        ExplainFormat::Json => {
            let remarks = remarks(args, loaded, &prices);
            let document = PodDocument::new(known, planned, explanation, resident, remarks);
            let place = place_of(known, loaded, planned);
            Ok(json(&document.with_place(place.as_ref()))?)
        }
    }
}

fn node(
    args: &ExplainArgs,
    loaded: &LoadedSnapshot,
    planned: &Plan,
) -> Result<String, CommandError> {
    let snapshot = &loaded.snapshot;
    let prices = loaded.price_note();
    let rows = node_row::rows(snapshot, planned);
    let names: Vec<&str> = rows.iter().map(|row| &*row.name).collect();
    let found = find_node(&names, &args.name);
    let Some(row) = rows.iter().find(|row| Some(&*row.name) == found) else {
        let is_pod = find_pod(&snapshot.objects.pods.iter().collect::<Vec<_>>(), &args.name);
        return Err(CommandError::NothingToExplain {
            kind: "node",
            name: args.name.clone(),
            is_of: is_pod.ok().flatten().map(|_| "pod"),
            meant: nodes_meant(&names, &args.name),
        });
    };
    let claim = explain::new_claims(planned).find(|claim| claim.name == row.name);
    let explanation = claim.and_then(|claim| explain_claim(snapshot, claim));
    let explanation = explanation.as_ref();
    let new = claim.map(|claim| NewNode { claim, explanation, naming: PodNaming::Named });
    match args.output {
        ExplainFormat::Text => {
            let text = explain::node(row, snapshot, planned, new, Canvas::of_stdout())
                + &about_offering(row);
            Ok(with_prices(text, &prices))
        }
        ExplainFormat::Html => {
            let text = explain::about_node(row, snapshot, planned, new, Canvas::PLAIN)
                + &about_offering(row);
            let explained = Explained { kind: "node", name: &row.name, text: &text };
            Ok(html::explain::explain(explained, snapshot, planned, &prices)?)
        }
        ExplainFormat::Json => {
            let remarks = remarks(args, loaded, &prices);
            let claim = new.map(|own| (own.claim, own.explanation));
            Ok(json(&NodeDocument::new(&row.name, snapshot, planned, claim, remarks))?)
        }
    }
}

/// What is remembered of the spot offering of a pod's place: its new node, one that has room for
/// it, or that which it runs on.
fn about_place(pod: &Pod, loaded: &LoadedSnapshot, planned: &Plan) -> String {
    place_of(pod, loaded, planned).as_ref().map(about_offering).unwrap_or_default()
}

/// A pod's place: its new node, one that has room for it, or that which it runs on.
fn place_of(pod: &Pod, loaded: &LoadedSnapshot, planned: &Plan) -> Option<NodeRow> {
    let new = || planned.node_claims.iter().find(|claim| claim.pods.contains(&pod.key));
    let there = || planned.placements.iter().find(|placement| placement.pod == pod.key);
    let place = new().map(|claim| &claim.name).or_else(|| there().map(|own| &own.node));
    let place = place.or(pod.node_name.as_ref())?;
    let rows = node_row::rows(&loaded.snapshot, planned);
    rows.into_iter().rev().find(|row| row.name == *place)
}

/// What is remembered of a node's spot offering, or of that which was passed over for it, where
/// there is anything.
fn about_offering(row: &NodeRow) -> String {
    if let Some(passed_over) = &row.spot_passed_over {
        return format!("  {}\n", PassedOver(passed_over));
    }
    let NodeRow { instance_type: Some(instance_type), zone: Some(zone), spot: Some(spot), .. } =
        row
    else {
        return String::new();
    };
    format!("  {instance_type} spot in {zone}: {}\n", Remembered(*spot))
}

/// What stands in a document beside the explanation.
fn remarks(args: &ExplainArgs, loaded: &LoadedSnapshot, prices: &PriceNote) -> Remarks {
    let options = BasisOptions::new(&args.source, loaded.is_catalog_fetched);
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
