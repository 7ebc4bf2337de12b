//! Where pods stand that keep another one out: what topology reasons are made of.

use std::fmt;

use crate::Text;

/// A topology domain as a constraint sees it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainCount {
    /// The value of the topology key, such as the zone `us-east-1a`.
    pub domain: Text,
    /// How many pods of the constraint are in it.
    pub pods: u32,
    /// Whether the NodePool could launch a node for the pod there.
    pub is_launchable: bool,
}

/// Domains with their counts, cut after a number of them: `a has 3, b has 3`.
pub(super) struct Counts<'a>(pub(super) &'a [DomainCount]);

/// More domains than this are counted, not listed.
const DOMAINS_SHOWN_MAX: usize = 8;

impl fmt::Display for Counts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, DomainCount { domain, pods, is_launchable }) in
            self.0.iter().take(DOMAINS_SHOWN_MAX).enumerate()
        {
            let separator = if index == 0 { "" } else { ", " };
            let closed = if *is_launchable { "" } else { " and it launches nothing there" };
            write!(f, "{separator}{domain} has {pods}{closed}")?;
        }
        match self.0.len().saturating_sub(DOMAINS_SHOWN_MAX) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_domains_are_counted_not_listed() {
        let domain = |index: u32| DomainCount {
            domain: format!("d{index}").into(),
            pods: index,
            is_launchable: index != 1,
        };
        let domains: Vec<DomainCount> = (0..10).map(domain).collect();
        assert_eq!(
            Counts(&domains[..2]).to_string(),
            "d0 has 0, d1 has 1 and it launches nothing there"
        );
        assert!(Counts(&domains).to_string().ends_with("d7 has 7 and 2 more"));
    }
}
