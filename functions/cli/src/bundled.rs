//! Scenarios and recordings that come with the binary: each is a file to copy and change.

/// A scenario or a recording that comes with the binary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bundled {
    /// The name that `simulate` takes.
    pub(crate) name: &'static str,
    /// The file.
    pub(crate) text: &'static str,
}

/// The one that runs without any argument.
pub(crate) const QUICK_START: Bundled =
    Bundled { name: "consolidation", text: include_str!("../scenarios/consolidation.yaml") };

/// All of them.
pub(crate) const ALL: [Bundled; 8] = [
    QUICK_START,
    Bundled { name: "inflate", text: include_str!("../scenarios/inflate.yaml") },
    Bundled { name: "notebooks", text: include_str!("../scenarios/notebooks.yaml") },
    Bundled { name: "evening-peak", text: include_str!("../scenarios/evening-peak.yaml") },
    Bundled { name: "evening-ahead", text: include_str!("../scenarios/evening-ahead.yaml") },
    Bundled { name: "quarter-hours", text: include_str!("../scenarios/quarter-hours.yaml") },
    Bundled {
        name: "capacity-runs-out",
        text: include_str!("../scenarios/capacity-runs-out.yaml"),
    },
    Bundled { name: "spot-notice", text: include_str!("../scenarios/spot-notice.yaml") },
];

/// Recordings that come with the binary.
pub(crate) const RECORDINGS: [Bundled; 2] = [
    Bundled { name: "openb", text: include_str!("../recordings/openb.jsonl") },
    Bundled { name: "shop", text: include_str!("../recordings/shop.jsonl") },
];

/// The recording of that name.
pub(crate) fn find_recording(name: &str) -> Option<Bundled> {
    RECORDINGS.into_iter().find(|recording| recording.name == name)
}

/// The scenario of that name.
pub(crate) fn find(name: &str) -> Option<Bundled> {
    ALL.into_iter().find(|scenario| scenario.name == name)
}
