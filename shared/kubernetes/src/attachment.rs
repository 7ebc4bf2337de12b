//! VolumeAttachments: which volumes are still attached to a Node.

use controllers::ports::PortError;
use controllers::ports::cluster::VolumeAttachment;
use domain::Text;
use serde::Deserialize;

use crate::call::{Call, Verb};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::kind::VOLUME_ATTACHMENT;

/// Attachments per page.
const PAGE: &str = "500";

#[derive(Deserialize)]
struct Page {
    metadata: PageMetadata,
    items: Option<Vec<Attachment>>,
}

#[derive(Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    next: String,
}

#[derive(Deserialize)]
struct Attachment {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
struct Metadata {
    name: Text,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: Text,
    source: Source,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Source {
    persistent_volume_name: Option<Text>,
}

/// The VolumeAttachments of a Node. The API has no field selector for the Node, so all are listed.
pub(crate) async fn of_node(
    connection: &Connection,
    node: &str,
) -> Result<Vec<VolumeAttachment>, PortError> {
    let kind = &VOLUME_ATTACHMENT;
    let mut found = Vec::new();
    let mut next = String::new();
    loop {
        let mut query = vec![("limit", PAGE)];
        if !next.is_empty() {
            query.push(("continue", &next));
        }
        let call = Call::new(Verb::List, kind.resource(), kind.path(kind.version())).query(&query);
        let body =
            connection.call(&call).await.map_err(|failure| failure.into_port_error(&call))?;
        let page: Page = serde_json::from_slice(&body).map_err(|error| {
            Failure::Broken(format!("not a list: {error}")).into_port_error(&call)
        })?;
        let items = page.items.unwrap_or_default().into_iter();
        found.extend(items.filter(|it| &*it.spec.node_name == node).map(|it| VolumeAttachment {
            name: it.metadata.name,
            node: it.spec.node_name,
            persistent_volume: it.spec.source.persistent_volume_name,
        }));
        next = page.metadata.next;
        if next.is_empty() {
            return Ok(found);
        }
    }
}
