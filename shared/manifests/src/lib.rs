//! manifests
