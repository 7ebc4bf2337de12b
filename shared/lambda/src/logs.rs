//! Logs: one JSON object a line on standard output, as CloudWatch Logs wants them.

use tracing_subscriber::EnvFilter;

/// Starts logging. Invalid directives fall back to `info`; a second start changes nothing.
pub fn init(directives: &str) {
    let filter = EnvFilter::try_new(directives).unwrap_or_else(|_| EnvFilter::new("info"));
    let started = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_ansi(false)
        .with_env_filter(filter)
        .try_init();
    if started.is_err() {
        tracing::debug!("logging is already initialised");
    }
}
