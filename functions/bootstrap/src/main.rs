//! The binary of all Lambda functions: `bootstrap`, as Lambda calls it.
//!
//! The handler (`_HANDLER`) selects the function, so that six functions are linked and uploaded
//! once.

use std::process::ExitCode;

fn main() -> ExitCode {
    let handler = std::env::var("_HANDLER").unwrap_or_default();
    match handler.as_str() {
        provisioning::NAME => lambda::start(provisioning::NAME, provisioning::run),
        provisioning::WATCHER_NAME => {
            lambda::start(provisioning::WATCHER_NAME, provisioning::watch_for)
        }
        lifecycle::NAME => lambda::start(lifecycle::NAME, lifecycle::run),
        disruption::NAME => lambda::start(disruption::NAME, disruption::run),
        interruption::NAME => lambda::start_queue(interruption::NAME, interruption::run),
        catalog_function::NAME => lambda::start(catalog_function::NAME, catalog_function::run),
        other => lambda::unknown_handler(
            other,
            &[
                provisioning::NAME,
                provisioning::WATCHER_NAME,
                lifecycle::NAME,
                disruption::NAME,
                interruption::NAME,
                catalog_function::NAME,
            ],
        ),
    }
}
