//! `outrigger catalog import`: a catalogue with exact prices, from what the AWS CLI prints.

use catalog::import::{Import, import};

use super::node_class::node_classes;
use crate::args::ImportArgs;
use crate::commands::CommandError;
use crate::status::Status;
use crate::wire::json;
use crate::{console, input};

/// Reads the lists, says what is wrong with them and what is missing, and prints the catalogue.
pub(crate) fn run(args: &ImportArgs) -> Result<Status, CommandError> {
    let (node_classes, mut status) = node_classes(args.node_class.as_deref())?;
    let sources = input::sources(&args.files)?;
    let known = catalog::embedded()?;
    let Import { catalog, problems, remarks } = import(&sources, args.region.as_deref(), &known);
    for problem in &problems {
        console::error_text(problem);
        status = Status::BadInput;
    }
    for remark in &remarks {
        if remark.is_warning() {
            console::warning(remark);
        } else {
            console::note(remark);
        }
    }
    let types = catalog?.instance_types(&node_classes);
    let class = node_classes.first().map_or("default", |class| &*class.name);
    console::write(&json(&catalog::document::write(&types, class))?)?;
    Ok(status)
}
