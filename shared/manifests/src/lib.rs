//! Kubernetes and Karpenter objects as users write them, read into the vocabulary of `domain`.
//!
//! [`read`] takes texts (YAML of many documents, JSON, `List` objects) and gives objects, errors
//! that name file, line, object and field, and counts of what it skipped. One bad object is left
//! out and costs nothing else. [`snapshot()`] then puts the objects together into what plans are
//! made from. Readers of other documents (scenarios) can use the same cursor: [`documents`],
//! [`ObjectReader`] and [`Field`].

mod convert;
mod duration;
mod error;
mod field;
mod intern;
mod karpenter;
mod kubernetes;
mod label_rule;
mod object;
mod print;
mod reader;
mod rewrite;
mod snapshot;
mod template_hash;

pub use documents::{Data, Document, Origin, Place, Source, Value, documents};
pub use error::{ManifestError, Problem, Warning};
pub use field::{Field, ObjectReader};
pub use intern::Interner;
pub use karpenter::{
    CustomResource, SpotHistoryObject, custom_resources, unreadable_cluster_limit,
};
pub use kubernetes::{
    ClaimTemplate, DaemonSetObject, JobSpec, PodObject, PodTraits, PriorityClass, PriorityRef,
    ReadSchedulerConfig, SCHEDULER_CONFIG_KEY, WorkloadObject, read_scheduler_config,
};
pub use object::{Identity, Located, Object, Objects};
pub use print::{PrintError, to_yaml};
pub use reader::{ApiKind, ApiRead, NODES_MAX, PODS_MAX, Reader, read, read_api_object};
pub use rewrite::{Converted, ConvertedFile, convert};
pub use snapshot::{CollectedObjects, ObjectCollector, snapshot, unknown_daemon_sets};
