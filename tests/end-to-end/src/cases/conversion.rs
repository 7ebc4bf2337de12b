//! What `outrigger convert` makes of older manifests, shown to a real kube-apiserver with the
//! definitions that are shipped.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use end_to_end::world::World;
use serde_json::Value;

use super::provisioning::with_defaults;

crate::cases![an_api_server_takes_what_convert_prints_unless_something_is_to_be_filled_in];

/// How its first line begins where a manifest lacks what a newer version needs.
const GAPS: &str = "# fill in:";

/// The older manifests that the tests of the conversion read.
fn manifests() -> Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/manifests/tests/older");
    let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut files =
        entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    files.sort();
    Ok(files)
}

/// Why the server refuses one of the documents, if it does.
async fn refusal(world: &World, yaml: &str) -> Result<Option<String>> {
    for mut object in serde_saphyr::from_multiple::<Value>(yaml)? {
        if object.is_null() {
            continue;
        }
        // As kubectl does with what is in a namespace.
        let group = object["apiVersion"].as_str().unwrap_or_default();
        if !group.starts_with("karpenter.") && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = "default".into();
        }
        if let Err(error) = world.try_apply(&object).await {
            return Ok(Some(format!("{error:#}")));
        }
    }
    Ok(None)
}

async fn an_api_server_takes_what_convert_prints_unless_something_is_to_be_filled_in(
    world: Arc<World>,
) -> Result<()> {
    // The definitions are there.
    let _stack = with_defaults(&world).await?;
    let (mut taken, mut refused, mut wrong) = (0, 0, Vec::new());
    for file in manifests()? {
        let text = std::fs::read_to_string(&file)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (status, yaml) = World::convert(&file).await?;
        let has_gaps = text.starts_with(GAPS);
        if status != i32::from(has_gaps) {
            wrong.push(format!("{name}: status {status}"));
        }
        match refusal(&world, &yaml).await? {
            None if has_gaps => wrong.push(format!("{name}: taken, although it has gaps")),
            None => taken += 1,
            Some(_) if has_gaps => refused += 1,
            Some(why) => wrong.push(format!("{name}: {why}")),
        }
    }
    crate::figures::say(format!(
        "of {} older manifests, converted, an API server takes {taken} and refuses {refused}",
        taken + refused
    ));
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    ensure!(taken > 60 && refused > 10, "{taken} were taken, and {refused} refused");
    Ok(())
}
