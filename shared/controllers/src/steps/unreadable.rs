//! What authors of malformed objects are shown, beside the log that operators read.

use crate::event::{Event, EventReason};
use crate::ports::cluster::ClusterListing;

/// Events about malformed ClusterLimits and Commitments, and about a scheduler configuration that
/// cannot be read.
///
/// Those about schedules and buffers are [`super::schedule::schedule_warnings`].
pub fn unreadable_warnings(listing: &ClusterListing) -> Vec<Event> {
    let about = listing.unreadable_objects.iter();
    about
        .map(|own| Event::new(own.about.clone(), EventReason::InvalidSpecification, &own.problem))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Subject;
    use crate::ports::cluster::UnreadableObject;

    #[test]
    fn the_author_of_a_malformed_object_is_shown_what_holds_in_its_place() {
        let about = Subject::ClusterLimit("all".into(), "u1".into());
        let problem = "nothing new is launched until it can be read: spec.limits.cpu: \"lots\"";
        let own = UnreadableObject { about: about.clone(), problem: problem.into() };
        let listing = ClusterListing { unreadable_objects: vec![own], ..ClusterListing::default() };
        let events = unreadable_warnings(&listing);
        assert_eq!(events, [Event::new(about, EventReason::InvalidSpecification, problem)]);
        assert!(unreadable_warnings(&ClusterListing::default()).is_empty());
    }
}
