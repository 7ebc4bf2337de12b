//! Annotations `outrigger.dev/expiration`, `expiration-spread` and `expire-by` of a NodePool.

use domain::expiration::Expiration;
use domain::label::{EXPIRATION, EXPIRATION_SPREAD, EXPIRE_BY};

use super::percent::read_percent;
use crate::duration;
use crate::field::Field;

/// How nodes expire. Where an annotation says nothing, the safe side is that no node goes by force
/// that might have been meant to be held: what has gone does not come back, and what stays can
/// still go. So an unknown word for `expiration` is read as `graceful`, a malformed `expire-by` as
/// none, and a malformed spread as none, by which no node goes early.
pub(super) fn read_expiration(annotations: Field<'_>) -> Expiration {
    Expiration {
        is_graceful: read_is_graceful(annotations.get(EXPIRATION)),
        spread_percent: read_percent(
            annotations.get(EXPIRATION_SPREAD),
            0,
            "every node's age limit is expireAfter",
        )
        .unwrap_or(0),
        expire_by: read_expire_by(annotations.get(EXPIRE_BY)),
    }
}

fn read_is_graceful(field: Field<'_>) -> bool {
    match field.str() {
        None | Some("forceful") => false,
        Some("graceful") => true,
        Some(other) => {
            field.warn(format!(
                "{other:?} is neither graceful nor forceful: until it is one of them, nodes expire gracefully"
            ));
            true
        }
    }
}

fn read_expire_by(field: Field<'_>) -> Option<domain::SignedDuration> {
    match duration::parse(field.str()?) {
        Ok(duration) => Some(duration),
        Err(error) => {
            field.warn(format!("{error}: no node that expires gracefully goes by force"));
            None
        }
    }
}
