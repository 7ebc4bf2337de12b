//! `outrigger catalog`: the instance types as the scheduler sees them.

use std::collections::BTreeMap;

use ::catalog::document::InstanceCatalog;
use domain::instance_type::{InstanceType, InstanceTypes};
use domain::spot::{SpotHistory, SpotRates};
use manifests::{Object, Objects};

use crate::args::{CatalogArgs, CatalogCommand, CatalogFormat};
use crate::commands::CommandError;
use crate::commands::node_class::node_classes;
use crate::snapshot_source::{Chosen, catalog_file, embedded, print_problems};
use crate::status::Status;
use crate::terminal::Canvas;
use crate::view::pricing::{PriceNote, SaidBy};
use crate::wire::json;
use crate::{console, input, text};

/// Reads or computes the catalogue, filters it by the named types, and prints it.
pub(crate) fn run(args: &CatalogArgs) -> Result<Status, CommandError> {
    match &args.command {
        Some(CatalogCommand::Import(args)) => return super::import::run(args),
        Some(CatalogCommand::SpotHistory(args)) => return super::spot_history::run(args),
        None => {}
    }
    let (node_classes, mut status) = node_classes(args.node_class.as_deref())?;
    let history = match (&args.spot_history, &args.table) {
        (Some(path), _) => {
            let objects = manifests::read(&input::sources(std::slice::from_ref(path))?);
            print_problems(&objects);
            if !objects.errors.is_empty() {
                status = Status::BadInput;
            }
            Some(spot_history(&objects))
        }
        (None, Some(table)) => Some(super::spot_history::of_table(table, args.region.as_deref())?),
        (None, None) => None,
    };
    let rates = history.map(|history| SpotRates::of(&history, history.as_of()));
    let (instance_types, said_by) = if let Some(path) = &args.catalog {
        (catalog_file(path)?, SaidBy::Catalog)
    } else {
        let (types, Chosen { said_by, warnings }) =
            embedded(&node_classes, args.region.as_deref())?;
        for warning in &warnings {
            console::warning(warning);
        }
        (types, said_by)
    };
    let class = node_classes.first().map_or("default", |class| &*class.name);
    let shown: Vec<InstanceType> = instance_types
        .of(class)
        .iter()
        .filter(|known| is_selected(&args.instance_types, &known.name))
        .cloned()
        .collect();
    if let Some(unknown) = args
        .instance_types
        .iter()
        .find(|pattern| !shown.iter().any(|known| matches(pattern, &known.name)))
    {
        return Err(CommandError::UnknownInstanceType(unknown.clone()));
    }
    let output = match args.output {
        CatalogFormat::Table => {
            let prices = PriceNote::of(&instance_types, said_by);
            let table = text::catalog::catalog(&shown, rates.as_ref(), Canvas::of_stdout());
            format!("{table}\n{prices}\n")
        }
        CatalogFormat::Json => {
            let narrowed = InstanceTypes {
                default: shown.into(),
                by_node_class: BTreeMap::new(),
                ..instance_types
            };
            let document = InstanceCatalog::new(&narrowed, class);
            json(&match &rates {
                Some(rates) => document.with_rates(rates),
                None => document,
            })?
        }
    };
    console::write(&output)?;
    Ok(status)
}

/// What the SpotHistories of a file say together.
fn spot_history(objects: &Objects) -> SpotHistory {
    let mut all = SpotHistory::default();
    for located in &objects.objects {
        if let Object::SpotHistory(own) = &located.value {
            all.merge(own.history.clone());
        }
    }
    all
}

fn is_selected(patterns: &[String], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, name))
}

/// A name, or its beginning with a `*` behind it.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_ending() {
        assert!(matches("m7i.*", "m7i.large") && !matches("m7i.*", "m7i-flex.large"));
        assert!(matches("m7i.large", "m7i.large") && !matches("m7i", "m7i.large"));
    }

    #[test]
    fn without_names_every_type_is_selected() {
        assert!(is_selected(&[], "m7i.large"));
        assert!(!is_selected(&["c7i.*".to_owned()], "m7i.large"));
    }
}
