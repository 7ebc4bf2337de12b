//! The binary of all Lambda functions: `bootstrap`, as Lambda calls it.
//!
//! Which function it is, the function's handler says (`_HANDLER`), so that five functions are one link and
//! one upload.

use std::process::ExitCode;

fn main() -> ExitCode {
    let handler = std::env::var("_HANDLER").unwrap_or_default();
    match handler.as_str() {
        provisioning::NAME => lambda::start(provisioning::NAME, provisioning::run),
        lifecycle::NAME => lambda::start(lifecycle::NAME, lifecycle::run),
        disruption::NAME => lambda::start(disruption::NAME, disruption::run),
        catalog_function::NAME => lambda::start(catalog_function::NAME, catalog_function::run),
        other => lambda::unknown_handler(
            other,
            &[provisioning::NAME, lifecycle::NAME, disruption::NAME, catalog_function::NAME],
        ),
    }
}
