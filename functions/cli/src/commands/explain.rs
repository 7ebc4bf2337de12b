//! `outrigger explain`: everything that a plan says about one pod or one node.

use domain::pod::PodKey;

use crate::args::{ExplainArgs, ExplainedKind};
use crate::commands::{CommandError, plan};
use crate::console;
use crate::observation::observe;
use crate::status::Status;
use crate::terminal::Canvas;
use crate::text::explain;

/// Plans, and tells what the plan says about the object.
pub(crate) fn run(args: &ExplainArgs) -> Result<Status, CommandError> {
    let observation = observe(&args.observation)?;
    let planned = planning::plan(&observation.snapshot);
    plan::violations(&observation, &planned);
    let (snapshot, canvas) = (&observation.snapshot, Canvas::of_stdout());
    let (kind, told) = match args.kind {
        ExplainedKind::Pod => {
            ("pod", explain::pod(&pod_key(&args.name), snapshot, &planned, canvas))
        }
        ExplainedKind::Node => ("node", explain::node(&args.name, snapshot, &planned, canvas)),
    };
    let text =
        told.ok_or_else(|| CommandError::NothingToExplain { kind, name: args.name.clone() })?;
    console::write(&text)?;
    Ok(if observation.has_bad_input { Status::BadInput } else { Status::Done })
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
