//! Recordings: what happened in a cluster, one fact a line, to be replayed in a simulation.
//!
//! A recording is JSON Lines. Its first line is a [`document::Header`], every other one a
//! [`document::Fact`] at a moment in milliseconds after the header's `start`. What pods have in
//! common (labels and what of `spec` matters to scheduling) is written once and referred to by
//! number, so that a pod's life takes a few hundred bytes.
//!
//! A [`Recorder`] writes one from pods, Nodes and NodeClaims as they are seen to change; [`read`]
//! gives a [`Recording`], and what is wrong with single lines beside it. [`audit`] makes one of an
//! audit log, [`events`] of Kubernetes' own Events, [`openb`] of a public trace.

pub mod audit;
pub mod document;
pub mod events;
pub mod live;
mod manifest;
pub mod openb;
mod pseudonym;
mod read;
mod recorder;
mod usage;
mod value;
mod workload;

pub use pseudonym::{Pseudonyms, PseudonymsError};
pub use read::{LineProblem, ReadRecording, RecordingError, read};
pub use recorder::{ContainerPeak, Recorder};
pub use usage::Sample;
pub use value::{
    ContainerUse, ObjectChange, PodEnd, RecordedEnd, RecordedObject, RecordedPod, Recording,
};
pub use workload::WorkloadKey;
