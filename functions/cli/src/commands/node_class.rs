//! The EC2NodeClass that a catalogue is seen through.

use std::path::Path;

use domain::node_class::Ec2NodeClass;

use crate::commands::CommandError;
use crate::status::Status;
use crate::{input, snapshot_source};

/// The node classes in the file of `--nodeclass`, and how well it could be read.
pub(super) fn node_classes(
    path: Option<&Path>,
) -> Result<(Vec<Ec2NodeClass>, Status), CommandError> {
    let Some(path) = path else { return Ok((Vec::new(), Status::Done)) };
    let objects = manifests::read(&input::sources(&[path.to_owned()])?);
    snapshot_source::print_problems(&objects);
    let status = if objects.errors.is_empty() { Status::Done } else { Status::BadInput };
    let node_classes = snapshot_source::node_classes(&objects);
    if node_classes.is_empty() && status == Status::Done {
        return Err(CommandError::NoNodeClass(path.display().to_string()));
    }
    Ok((node_classes, status))
}
