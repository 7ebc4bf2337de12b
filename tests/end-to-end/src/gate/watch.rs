//! A watch on its way through the gate.

use std::collections::BTreeSet;

use anyhow::anyhow;
use futures_util::stream::{self, Stream};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use tokio::sync::{broadcast, watch};

use super::Failure;
use super::answer;
use super::call::Side;

/// Passes a watch on until its side is cut off (it breaks) or it expires (it ends with `410 Gone`).
pub(super) fn until_cut(
    body: Incoming,
    side: Side,
    cut: watch::Receiver<BTreeSet<Side>>,
    expired: broadcast::Receiver<()>,
) -> StreamBody<impl Stream<Item = Result<Frame<Bytes>, Failure>> + Send + Sync> {
    StreamBody::new(stream::unfold(Some((body, cut, expired)), move |state| async move {
        let (mut body, mut cut, mut expired) = state?;
        let next = tokio::select! {
            frame = body.frame() => frame?.map_err(Failure::from),
            _ = cut.wait_for(|sides| sides.contains(&side)) => return Some((Err(anyhow!("the connection is cut")), None)),
            _ = expired.recv() => return Some((Ok(Frame::data(Bytes::from(answer::expired()))), None)),
        };
        Some((next, Some((body, cut, expired))))
    }))
}
