//! Amounts of resources: what pods request and what nodes have.

use std::fmt;
use std::sync::Arc;

use crate::Text;
use crate::money::UsdPerHour;
use crate::quantity::Quantity;

/// CPU, in millicores.
pub const CPU: &str = "cpu";
/// Memory, in bytes.
pub const MEMORY: &str = "memory";
/// Node-local scratch space, in bytes.
pub const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
/// Pod slots.
pub const PODS: &str = "pods";
/// The synthetic resource that `spec.limits` of a NodePool counts nodes with.
pub const NODES: &str = "nodes";
/// NVIDIA's device plugin.
pub const NVIDIA_GPU: &str = "nvidia.com/gpu";
/// AMD's device plugin.
pub const AMD_GPU: &str = "amd.com/gpu";
/// AWS Neuron's device plugin.
pub const AWS_NEURON: &str = "aws.amazon.com/neuron";

/// The synthetic resource that `spec.limits` of a NodePool bounds the price of its nodes with.
pub const USD_PER_HOUR: &str = "outrigger.dev/usd-per-hour";

/// Amounts by resource name: CPU in millicores, dollars an hour in billionths, everything else in
/// whole units (bytes, devices, pods).
///
/// Sorted by name, each name once. A name that is absent counts as zero. A copy is shared until one
/// of those who have it changes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resources(Option<Arc<Vec<(Text, i64)>>>);

impl Resources {
    /// Nothing.
    pub const fn new() -> Self {
        Self(None)
    }

    /// The amount in this crate's units that a quantity of the named resource stands for, rounded
    /// up.
    pub fn amount_of(name: &str, quantity: Quantity) -> i64 {
        match name {
            CPU => quantity.to_millis_ceil(),
            USD_PER_HOUR => quantity.to_nanos(),
            _ => quantity.to_units_ceil(),
        }
    }

    /// The quantity that an amount of the named resource stands for.
    pub fn quantity_of(name: &str, amount: i64) -> Quantity {
        match name {
            CPU => Quantity::from_millis(amount),
            USD_PER_HOUR => Quantity::from_nanos(amount),
            _ => Quantity::from_units(amount),
        }
    }

    fn entries(&self) -> &[(Text, i64)] {
        self.0.as_deref().map(Vec::as_slice).unwrap_or_default()
    }

    /// Has the change made to an amount, which is zero where it was absent.
    fn change(&mut self, name: &Text, change: impl FnOnce(&mut i64)) {
        let entries = Arc::make_mut(self.0.get_or_insert_default());
        let index = position_or_insert(entries, name);
        change(&mut entries[index].1);
    }

    /// Has the change made to each amount that the other names.
    fn change_by(&mut self, other: &Self, change: impl Fn(i64, i64) -> i64) {
        if other.is_empty() {
            return;
        }
        let entries = Arc::make_mut(self.0.get_or_insert_default());
        // Both are sorted, and most name the same resources: the next is tried first.
        let mut next = 0;
        for (name, amount) in other.entries() {
            let is_next = entries.get(next).is_some_and(|(key, _)| key == name);
            let index = if is_next { next } else { position_or_insert(entries, name) };
            entries[index].1 = change(entries[index].1, *amount);
            next = index + 1;
        }
    }

    /// The amount of one resource; zero when absent.
    pub fn get(&self, name: &str) -> i64 {
        self.find(name).unwrap_or(0)
    }

    /// The amount of one resource; `None` when absent.
    pub fn find(&self, name: &str) -> Option<i64> {
        // There are few, mostly of different lengths: comparing for equality is quicker than a
        // search by order.
        self.entries().iter().find(|(key, _)| **key == *name).map(|(_, amount)| *amount)
    }

    /// With one resource set to an amount.
    pub fn with(mut self, name: &str, amount: i64) -> Self {
        self.set(&Text::from(name), amount);
        self
    }

    /// Sets one resource to an amount.
    pub fn set(&mut self, name: &Text, amount: i64) {
        self.change(name, |own| *own = amount);
    }

    /// Adds every amount of the other.
    pub fn add(&mut self, other: &Self) {
        self.change_by(other, i64::saturating_add);
    }

    /// Subtracts every amount of the other; results may be negative.
    pub fn subtract(&mut self, other: &Self) {
        self.change_by(other, i64::saturating_sub);
    }

    /// Raises each amount to the other's where that is larger.
    pub fn raise_to(&mut self, other: &Self) {
        for (name, amount) in other.entries() {
            let largest = self.find(name).map_or(*amount, |own| own.max(*amount));
            self.set(name, largest);
        }
    }

    /// Names and amounts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, i64)> {
        self.entries().iter().map(|(name, amount)| (name, *amount))
    }

    /// Whether no resource is named.
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// Without the resources whose amount is zero.
    pub fn without_zeros(mut self) -> Self {
        if self.iter().any(|(_, amount)| amount == 0) {
            let kept = self.iter().filter(|(_, amount)| *amount != 0);
            self = kept.map(|(name, amount)| (name.clone(), amount)).collect();
        }
        self
    }
}

/// Where a name stands among entries that are sorted by name; with an amount of zero where it was
/// absent.
fn position_or_insert(entries: &mut Vec<(Text, i64)>, name: &Text) -> usize {
    if let Some(index) = entries.iter().position(|(key, _)| key == name) {
        return index;
    }
    let index = entries.partition_point(|(key, _)| key < name);
    entries.insert(index, (name.clone(), 0));
    index
}

impl FromIterator<(Text, i64)> for Resources {
    fn from_iter<I: IntoIterator<Item = (Text, i64)>>(items: I) -> Self {
        let mut resources = Self::new();
        for (name, amount) in items {
            resources.set(&name, amount);
        }
        resources
    }
}

/// One amount as people write it: `1500m`, `3.5Gi`, `2`.
#[derive(Clone, Copy, Debug)]
pub struct ShownAmount<'a> {
    /// The resource's name, which decides the unit.
    pub name: &'a str,
    /// The amount in this crate's units.
    pub amount: i64,
}

/// Whether amounts of the resource are bytes.
pub fn is_bytes(name: &str) -> bool {
    name == MEMORY || name == EPHEMERAL_STORAGE || is_huge_pages(name)
}

/// Whether the resource is huge pages of some size, which a node sets aside from its memory.
pub fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

impl fmt::Display for ShownAmount<'_> {
    /// Exact, in the largest binary suffix that divides a byte amount.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name == USD_PER_HOUR {
            return UsdPerHour::from_nanos(self.amount).fmt(f);
        }
        if !is_bytes(self.name) {
            return Resources::quantity_of(self.name, self.amount).fmt(f);
        }
        for (shift, suffix) in [(40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")] {
            if self.amount != 0 && self.amount % (1_i64 << shift) == 0 {
                return write!(f, "{}{suffix}", self.amount >> shift);
            }
        }
        write!(f, "{}", self.amount)
    }
}

/// One amount to two digits behind the point, in the unit that people think in: `8.97Gi` of memory,
/// `1.25` or `250m` of CPU.
///
/// For sentences; where a script or a comparison reads it, use [`ShownAmount`], which is exact.
#[derive(Clone, Copy, Debug)]
pub struct RoundedAmount<'a> {
    /// The resource's name, which decides the unit.
    pub name: &'a str,
    /// The amount in this crate's units.
    pub amount: i64,
}

impl fmt::Display for RoundedAmount<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, amount } = *self;
        let units: &[(i128, &str)] = if is_bytes(name) {
            &[(1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")]
        } else if name == CPU {
            &[(1000, "")]
        } else {
            &[]
        };
        let amount = i128::from(amount);
        let Some((unit, suffix)) = units.iter().find(|(unit, _)| amount.abs() >= *unit) else {
            return ShownAmount { name, amount: self.amount }.fmt(f);
        };
        let hundredths = (amount * 100 + unit / 2).div_euclid(*unit);
        let (whole, part) = (hundredths / 100, (hundredths % 100).abs());
        match (part / 10, part % 10) {
            (0, 0) => write!(f, "{whole}{suffix}"),
            (tenths, 0) => write!(f, "{whole}.{tenths}{suffix}"),
            _ => write!(f, "{whole}.{part:02}{suffix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_add_by_name() {
        let mut sum = Resources::new().with(CPU, 100).with(MEMORY, 10);
        sum.add(&Resources::new().with(CPU, 50).with(PODS, 1));
        assert_eq!(sum, Resources::new().with(MEMORY, 10).with(PODS, 1).with(CPU, 150));
    }

    #[test]
    fn amounts_show_in_the_unit_people_use() {
        let shown = |name, amount| ShownAmount { name, amount }.to_string();
        assert_eq!(shown(CPU, 1500), "1500m");
        assert_eq!(shown(CPU, 2000), "2");
        assert_eq!(shown(MEMORY, 3 << 30), "3Gi");
        assert_eq!(shown(MEMORY, 7), "7");
        assert_eq!(shown(NVIDIA_GPU, 4), "4");
    }

    #[test]
    fn amounts_in_sentences_are_rounded() {
        let rounded = |name, amount| RoundedAmount { name, amount }.to_string();
        assert_eq!(rounded(MEMORY, 15_926_000_000), "14.83Gi");
        assert_eq!(rounded(MEMORY, 3 << 29), "1.5Gi");
        assert_eq!(rounded(MEMORY, 1 << 30), "1Gi");
        assert_eq!(rounded(MEMORY, 1 << 20), "1Mi");
        assert_eq!(rounded(MEMORY, 7), "7");
        assert_eq!(rounded(MEMORY, 0), "0");
        assert_eq!(rounded(CPU, 250), "250m");
        assert_eq!(rounded(CPU, 1250), "1.25");
        assert_eq!(rounded(CPU, 510_100), "510.1");
        assert_eq!(rounded(NVIDIA_GPU, 4), "4");
    }
}
