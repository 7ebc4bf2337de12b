//! Logs: one JSON object a line on standard output, as CloudWatch Logs wants them.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts logging. `directives` are a level, or levels by crate or module, such as
/// `info,aws=debug`. Invalid ones fall back to `info`; a second start changes nothing.
pub fn init(directives: &str) {
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_ansi(false);
    let started = tracing_subscriber::registry().with(targets(directives)).with(lines).try_init();
    if started.is_err() {
        tracing::debug!("logging is already initialised");
    }
}

/// What is logged. Filters by the fields of spans would take a matcher of regular expressions,
/// which every cold start would load.
fn targets(directives: &str) -> Targets {
    directives.parse().unwrap_or_else(|_| Targets::new().with_default(LevelFilter::INFO))
}

#[cfg(test)]
mod tests {
    use super::targets;
    use tracing::Level;

    #[test]
    fn a_level_holds_for_everything_and_directives_for_their_crates() {
        assert!(targets("warn").would_enable("kube_client::client", &Level::WARN));
        assert!(!targets("warn").would_enable("kube_client::client", &Level::INFO));
        let some = targets("info,aws=debug");
        assert!(some.would_enable("aws::ec2", &Level::DEBUG));
        assert!(!some.would_enable("kubernetes", &Level::DEBUG));
        assert!(some.would_enable("kubernetes", &Level::INFO));
    }

    #[test]
    fn invalid_directives_fall_back_to_info() {
        let some = targets("loud and clear");
        assert!(some.would_enable("aws", &Level::INFO) && !some.would_enable("aws", &Level::DEBUG));
    }
}
