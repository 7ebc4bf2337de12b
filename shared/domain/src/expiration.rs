//! Expiration: at which age a node is to go, and from when on nothing holds it.

use crate::drift::fnv;
use crate::node_claim::NodeClaim;
use crate::node_pool::NeverOr;
use crate::{SignedDuration, Timestamp};

pub use crate::node_pool_options::Expiration;

impl Expiration {
    /// The age at which a claim is to go; `None` where it never expires.
    ///
    /// With a spread, it is drawn evenly from the last percents of `expireAfter` by the claim's
    /// uid, by its name where it has none: it stays what it is from one run to the next, and
    /// claims that were made together do not go together.
    pub fn age_limit(&self, claim: &NodeClaim) -> Option<SignedDuration> {
        let NeverOr::After(lifetime) = claim.expire_after else { return None };
        if self.spread_percent == 0 {
            return Some(lifetime);
        }
        let id = if claim.uid.is_empty() { &claim.name } else { &claim.uid };
        let spread = i128::from(lifetime.as_secs()) * i128::from(self.spread_percent.min(100));
        let short = (spread * i128::from(draw(id))) / (100 << 32);
        let short = i64::try_from(short).unwrap_or(i64::MAX);
        Some(lifetime.saturating_sub(SignedDuration::from_secs(short)))
    }

    /// When a claim is past its age limit; `None` for never.
    pub fn due(&self, claim: &NodeClaim) -> Option<Timestamp> {
        claim.created?.checked_add(self.age_limit(claim)?).ok()
    }

    /// From when on a claim's node goes whatever holds it; `None` for never.
    pub fn forced(&self, claim: &NodeClaim) -> Option<Timestamp> {
        let due = self.due(claim)?;
        if self.is_graceful { due.checked_add(self.expire_by?).ok() } else { Some(due) }
    }
}

/// A number below 2^32 that an id stands for, evenly spread also over ids that differ in little.
fn draw(id: &str) -> u32 {
    // FNV leaves the last letters in the low bits: they are mixed into the high ones, as
    // MurmurHash3 ends (fmix64).
    let mut hash = fnv(id.as_bytes());
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    u32::try_from(hash >> 32).unwrap_or(u32::MAX)
}
