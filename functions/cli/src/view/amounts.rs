//! Resources as a list.

use std::fmt;

use domain::resource::{PODS, Resources, RoundedAmount};

/// Amounts as `cpu 500m, memory 2Gi`; pod slots are left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amounts<'a>(pub(crate) &'a Resources);

impl fmt::Display for Amounts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (name, amount) in self.0.iter().filter(|(name, _)| &***name != PODS) {
            write!(f, "{separator}{name} {}", RoundedAmount { name, amount })?;
            separator = ", ";
        }
        if separator.is_empty() { f.write_str("nothing") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn amounts_are_listed_without_pod_slots() {
        assert_eq!(Amounts(&testing::requests(500, 2048, 1)).to_string(), "cpu 500m, memory 2Gi");
        assert_eq!(Amounts(&Resources::new().with(PODS, 1)).to_string(), "nothing");
    }
}
