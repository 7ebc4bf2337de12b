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

/// What is logged: everything that no directive names from `info` on, unless a directive is a level
/// alone. A misspelt level is taken for the name of a crate, and must not silence all others.
///
/// Filters by the fields of spans would take a matcher of regular expressions, which every cold
/// start would load.
fn targets(directives: &str) -> Targets {
    let targets: Targets = directives.parse().unwrap_or_default();
    match targets.default_level() {
        Some(_) => targets,
        None => targets.with_default(LevelFilter::INFO),
    }
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
        assert!(some.would_enable("aws::store", &Level::DEBUG));
        assert!(!some.would_enable("kubernetes", &Level::DEBUG));
        assert!(some.would_enable("kubernetes", &Level::INFO));
    }

    #[test]
    fn invalid_directives_and_misspelt_levels_leave_everything_at_info() {
        for wrong in ["loud and clear", "inf", "aws=loud"] {
            let some = targets(wrong);
            assert!(some.would_enable("kubernetes", &Level::INFO), "{wrong:?}");
            assert!(!some.would_enable("kubernetes", &Level::DEBUG), "{wrong:?}");
        }
        assert!(!targets("off").would_enable("kubernetes", &Level::ERROR), "off is a level");
    }
}
