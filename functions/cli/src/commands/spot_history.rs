//! `outrigger catalog spot-history`: what an installation remembers of spot offerings, as a
//! manifest.
//!
//! Only with the feature `live`, which brings clients of AWS.

#[cfg(feature = "live")]
pub(crate) use table::{of_table, run};

#[cfg(feature = "live")]
mod table {
    use domain::spot::SpotHistory;
    use manifests::SpotHistoryObject;

    use crate::args::SpotHistoryArgs;
    use crate::commands::CommandError;
    use crate::console;
    use crate::snapshot_source::spot_table::{self, SpotTable};
    use crate::status::Status;

    /// Prints what a table remembers.
    pub(crate) fn run(args: &SpotHistoryArgs) -> Result<Status, CommandError> {
        let SpotTable { history, region, .. } = read(&args.table, args.region.as_deref())?;
        let name = region.unwrap_or_else(|| "spot".to_owned()).into();
        let manifest = SpotHistoryObject { name, history }.to_manifest();
        console::write(&manifests::to_yaml(&[manifest])?)?;
        Ok(Status::Done)
    }

    /// What a table remembers.
    pub(crate) fn of_table(table: &str, region: Option<&str>) -> Result<SpotHistory, CommandError> {
        Ok(read(table, region)?.history)
    }

    fn read(table: &str, region: Option<&str>) -> Result<SpotTable, CommandError> {
        let read = spot_table::read(table, region)?;
        for warning in &read.warnings {
            console::warning(warning);
        }
        Ok(read)
    }
}

#[cfg(not(feature = "live"))]
pub(crate) use not_built_in::{of_table, run};

#[cfg(not(feature = "live"))]
mod not_built_in {
    use domain::spot::SpotHistory;

    use crate::args::SpotHistoryArgs;
    use crate::commands::CommandError;
    use crate::status::Status;

    /// A table needs clients of AWS, which the feature `live` brings.
    pub(crate) fn run(_: &SpotHistoryArgs) -> Result<Status, CommandError> {
        Err(CommandError::NotBuiltIn)
    }

    /// What a table remembers: that needs clients of AWS too.
    pub(crate) fn of_table(_: &str, _: Option<&str>) -> Result<SpotHistory, CommandError> {
        Err(CommandError::NotBuiltIn)
    }
}
