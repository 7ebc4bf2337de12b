//! DescribeInstances: what EC2 shows of its instances, which is not always what they are.
//!
//! Source: <https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html>.

use domain::{SignedDuration, Text, Timestamp};

use super::cloud::Ec2;
use super::instance::{Instance, InstanceState};

/// How often a list is stale while it may be, of a thousand.
const STALE_PER_MILLE: u32 = 500;

impl Ec2 {
    /// Instances whose tags are shown at a moment, by id, each in the state that it is shown in.
    /// Terminated ones are among them.
    pub(crate) fn described(
        &self,
        now: Timestamp,
    ) -> impl Iterator<Item = (&Instance, InstanceState)> {
        self.instances()
            .filter(move |own| now >= self.tags_shown_at(own))
            .map(move |own| (own, self.shown_state(own, now)))
    }

    /// An instance by id, unless EC2 does not know it yet.
    pub(crate) fn known(&self, id: &str, now: Timestamp) -> Option<&Instance> {
        self.instance(id).filter(|own| now >= self.described_at(own))
    }

    fn described_at(&self, instance: &Instance) -> Timestamp {
        let most = self.behaviour.described_after_max;
        instance.launched + self.lag("described", &instance.id, most)
    }

    fn tags_shown_at(&self, instance: &Instance) -> Timestamp {
        let most = self.behaviour.tags_after_max;
        self.described_at(instance) + self.lag("tags-shown", &instance.id, most)
    }

    fn shown_state(&self, instance: &Instance, now: Timestamp) -> InstanceState {
        let most = self.behaviour.stale_reads_max;
        let Some(ended) = self.ended_at(&instance.id).filter(|_| !most.is_zero()) else {
            return instance.state;
        };
        let may_be_stale = now < ended + self.lag("stale-until", &instance.id, most);
        let mut draw = self.seed.draw("stale", &format!("{} {now}", instance.id));
        if may_be_stale && draw.happens(STALE_PER_MILLE) {
            InstanceState::Running
        } else {
            instance.state
        }
    }

    fn lag(&self, what: &str, id: &Text, most: SignedDuration) -> SignedDuration {
        if most.is_zero() {
            return SignedDuration::ZERO;
        }
        self.seed.draw(what, id).between(SignedDuration::ZERO, most)
    }
}
